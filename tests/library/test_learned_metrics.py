"""BARTScore and GPTScore equal the model's own loss; UniEval, SteamSHP, COMET and
BLEURT say what they need and read it right.
"""

from __future__ import annotations

import importlib.metadata
import math
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny_model

from nlgeval_lib import engines
from nlgeval_lib.evaluators import BartScore, Bleurt, Comet, GPTScore, SteamSHP, UniEval

OUTPUTS = ["a cat sat", "the dog", "a cat sat"]
REFERENCES = ["the cat sat down", "a dog", "one"]
SOURCES = ["a dog saw a cat", "one two three", "the dog"]
FRAME = pd.DataFrame(
    {
        "output": ["abcd", "", "ab"],
        "source": ["x", "y", "z"],
        "reference": ["ab", "ab", "abcd"],
    }
)
pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture(scope="module")
def bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.build_seq2seq(tmp_path_factory.mktemp("models") / "tiny-bart")


def losses(folder: Path, contexts: list[str], texts: list[str]) -> list[float]:
    """Minus the model's own mean loss, one pair at a time."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    found = []
    for context, text in zip(contexts, texts, strict=True):
        with torch.no_grad():
            labels = tokenizer(text, return_tensors="pt").input_ids
            found.append(
                -float(
                    model(**tokenizer(context, return_tensors="pt"), labels=labels).loss
                )
            )
    return found


def test_bartscore_is_minus_the_models_loss(bart: Path) -> None:
    precision = losses(bart, REFERENCES, OUTPUTS)
    recall = losses(bart, OUTPUTS, REFERENCES)
    expected = {
        "precision": precision,
        "recall": recall,
        "f": np.mean([precision, recall], axis=0),
    }
    for direction, values in expected.items():
        metric = BartScore(model=str(bart), direction=direction)
        np.testing.assert_allclose(
            metric.score(OUTPUTS, REFERENCES)["value"], values, atol=2e-6
        )
    assert len(set(np.round([*precision, *recall], 6))) == 6, (
        "the model tells the texts apart"
    )


def test_bartscore_of_the_source_reads_the_source_and_cuts_no_output(
    bart: Path,
) -> None:
    frame = pd.DataFrame(
        {"output": [*OUTPUTS, "a " * 300, " "], "source": [*SOURCES, "a", "a"]}
    )
    scored = BartScore(model=str(bart), direction="source").score(frame)
    np.testing.assert_allclose(
        scored["value"][:3], losses(bart, SOURCES, OUTPUTS), atol=2e-6
    )
    assert (
        scored["status"].tolist()[2:] == ["ok", "failed", "empty"]
        and "tokens" in scored["reason"][3]
    )
    with pytest.raises(ValueError, match="needs a column 'reference'"):
        BartScore(model=str(bart)).score(frame)


def test_gptscore_is_the_mean_log_probability_after_the_prompt(
    tiny_folder: Path,
) -> None:
    """The engine's log-likelihoods are held against the model's logits in
    `test_engines_models`.
    """
    metric = GPTScore(model=str(tiny_folder), prompt="Article: {{source}}\nSummary:\n")
    scored = metric.score(pd.DataFrame({"output": OUTPUTS, "source": SOURCES}))
    with engines.make("transformers", model=str(tiny_folder), device="cpu") as engine:
        expected = engine.loglikelihood(
            [f"Article: {source}\nSummary:\n" for source in SOURCES], OUTPUTS
        )
    np.testing.assert_allclose(
        scored["value"], [one.mean for one in expected], atol=2e-6
    )


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random T5."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    folder = tmp_path_factory.mktemp("models") / "tiny-t5"
    torch.manual_seed(1)
    words = "Yes No a the cat dog sat saw down one two three question : ? summary document Is this"
    tokenizer = tiny_model.word_tokenizer(words, eos_token="</s>", model_max_length=512)
    tokenizer.save_pretrained(folder)
    sizes = dict(
        d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, initializer_factor=5.0
    )
    tokens = dict(pad_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    config = T5Config(vocab_size=len(tokenizer), **sizes, **tokens)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def test_unieval_is_yes_against_no_at_the_first_step(t5: Path) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    frame = pd.DataFrame({"output": OUTPUTS, "source": SOURCES})
    metric = UniEval("summarization", "coherence", model=t5)
    scored = metric.score(frame)
    tokenizer = AutoTokenizer.from_pretrained(t5)
    model = AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    for value, output, source in zip(scored["value"], OUTPUTS, SOURCES, strict=True):
        text = f"question: Is this a coherent summary to the document? </s> summary: {output} </s> document: {source}"
        with torch.no_grad():  # one label: the model itself starts the decoder
            chances = (
                model(
                    **tokenizer(text, return_tensors="pt"), labels=torch.tensor([[5]])
                )
                .logits[0, 0]
                .softmax(-1)
            )
        assert value == pytest.approx(
            float(chances[4] / (chances[4] + chances[5])), abs=1e-5
        )
    assert 0 < scored["value"].min() < scored["value"].max() < 1
    again = UniEval("summarization", "coherence", model=t5)
    assert (
        again.score(frame)["value"].tolist() == scored["value"].tolist()
        and again.details["computed"] == 0
    )


def test_unieval_by_sentence(t5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame(
        {
            "output": ["a cat. the dog.", " "],
            "source": SOURCES[:2],
            "context": ["one", "two"],
        }
    )
    split = lambda text: [s + "." for s in text.split(".") if s.strip()]  # noqa: E731
    monkeypatch.setattr("nltk.sent_tokenize", split)
    for task, aspect, join in (
        ("summarization", "consistency", np.mean),
        ("dialogue", "engagingness", sum),
    ):
        metric = UniEval(task, aspect, model=t5)
        whole = metric.score(frame)
        parts = [
            metric.score(frame.assign(output=one))["value"][0]
            for one in ("a cat.", " the dog.")
        ]
        assert whole["value"][0] == pytest.approx(join(parts)) and whole[
            "status"
        ].tolist() == ["ok", "empty"]


def test_unieval_says_what_it_needs(t5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"output": ["a " * 50, "a"], "source": ["one", "one"]})
    metric = UniEval("dialogue", "naturalness", model=t5, max_tokens=30)
    scored = metric.score(frame)
    assert scored["status"].tolist() == ["ok", "ok"]
    assert scored["reason"].str.contains("is cut at 30 tokens").tolist() == [
        True,
        False,
    ]
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    scored = UniEval("summarization", "fluency", model=t5).score(frame)
    assert (
        set(scored["status"]) == {"unavailable"} and "punkt_tab" in scored["reason"][0]
    )
    with pytest.raises(ValueError, match="needs a column 'references' or 'reference'"):
        UniEval("summarization", "relevance", model=t5).score(frame)


def preferred(folder: Path, text: str) -> float:
    """The probability of A as the first token of a model's answer to a text."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    answer = tokenizer("A")["input_ids"][0]
    question = tokenizer(text, return_tensors="pt")
    with torch.no_grad():  # one label: the model itself starts the decoder
        logits = model(**question, labels=torch.tensor([[answer]])).logits
    return float(logits[0, 0].softmax(-1)[answer])


def test_steamshp_is_the_probability_of_a_against_a_full_stop(t5: Path) -> None:
    form = (
        "POST: {}\n\n RESPONSE A: {}\n\n RESPONSE B: .\n\n "
        "Which response is better? RESPONSE"
    )
    outputs = ["the dog\nsat", "a cat", " "]
    instructions = ["Is this\na dog ?", "one two", "three"]
    frame = pd.DataFrame({"output": outputs, "instruction": instructions})
    scored = SteamSHP(t5).score(frame)
    assert scored["status"].tolist() == ["ok", "ok", "empty"]
    for row in (0, 1):
        texts = [instructions[row], outputs[row]]
        asked = form.format(*(text.replace("\n", " ") for text in texts))
        assert scored["value"][row] == pytest.approx(preferred(t5, asked), abs=1e-6)
    assert scored["value"][0] != scored["value"][1]


def test_a_post_that_is_too_long_for_steamshp_loses_its_end(t5: Path) -> None:
    long = ["one " * 200, "one " * 200 + "dog", "dog " + "one " * 200]
    frame = pd.DataFrame({"output": ["the cat"] * 3, "instruction": long})
    values = SteamSHP(t5, max_tokens=40).score(frame)["value"]
    assert values[0] == values[1] != values[2]
    other = frame.assign(output="the dog")
    assert (SteamSHP(t5, max_tokens=40).score(other)["value"] != values).all()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list:
    """Stand-ins for the two packages: a score is the number of characters of the
    output over those of the reference.
    """
    calls: list = []

    def predict(data, batch_size, gpus, progress_bar):
        calls.append(data)
        return types.SimpleNamespace(
            scores=[len(d["mt"]) / len(d["ref"]) for d in data]
        )

    class BleurtScorer:
        def __init__(self, checkpoint: str) -> None:
            assert Path(checkpoint, "bleurt_config.json").is_file()

        def score(self, *, references, candidates, batch_size):
            calls.append(candidates)
            return [
                math.nan if c == "nan" else len(c) / len(r)
                for r, c in zip(references, candidates, strict=True)
            ]

    comet = types.SimpleNamespace(
        load_from_checkpoint=lambda path: types.SimpleNamespace(predict=predict)
    )
    score = types.SimpleNamespace(BleurtScorer=BleurtScorer)
    for name, module in {
        "comet": comet,
        "bleurt": types.SimpleNamespace(score=score),
        "bleurt.score": score,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    real = importlib.metadata.version
    known = {"unbabel-comet": "2.2", "BLEURT": "0.0.2"}
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: known.get(name) or real(name)
    )
    return calls


def test_comet_reads_three_texts(installed: list, tmp_path: Path) -> None:
    checkpoint = tmp_path / "model.ckpt"
    checkpoint.write_bytes(b"weights")
    metric = Comet(model=str(checkpoint))
    scored = metric.score(FRAME)
    assert scored["value"].tolist()[::2] == [2, 0.5] and scored["status"].tolist() == [
        "ok",
        "empty",
        "ok",
    ]
    assert {"mt": "abcd", "src": "x", "ref": "ab"} in installed[0]
    assert (
        Comet(model=str(checkpoint)).score(FRAME)["value"].tolist()[::2] == [2, 0.5]
        and len(installed) == 1
    )
    before = metric.signature()
    checkpoint.write_bytes(b"others!")
    assert (
        "model:model.ckpt@" in before
        and Comet(model=str(checkpoint)).signature() != before
    )
    gone = Comet(model="nowhere.ckpt").score(FRAME)
    assert gone["status"].tolist() == ["unavailable", "empty", "unavailable"]
    assert "comet.download_model" in gone["reason"][0]
    with pytest.raises(ValueError, match="comet needs a column 'source'"):
        metric.score(FRAME.drop(columns="source"))


def test_bleurt_reads_pairs_and_says_what_it_needs(
    installed: list, tmp_path: Path
) -> None:
    missing = Bleurt(tmp_path / "BLEURT-20").score(FRAME)
    assert missing["status"].tolist() == ["unavailable", "empty", "unavailable"]
    assert "BLEURT-20.zip" in missing["reason"][0]
    (tmp_path / "BLEURT-20").mkdir()
    (tmp_path / "BLEURT-20" / "bleurt_config.json").write_text("{}")
    frame = pd.concat([FRAME, FRAME.iloc[:1].assign(output="nan")])
    scored = Bleurt(tmp_path / "BLEURT-20").score(frame)
    assert scored["status"].tolist() == ["ok", "empty", "ok", "failed"] and scored[
        "value"
    ].tolist()[::2] == [2, 0.5]


def test_packages_that_are_not_installed_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    (tmp_path / "model.ckpt").write_bytes(b"weights")
    for metric, words in (
        (Comet(model=str(tmp_path / "model.ckpt")), "pip install unbabel-comet"),
        (Bleurt(), "pip install git+https://github.com/google-research/bleurt.git"),
    ):
        scored = metric.score(FRAME)
        assert (
            set(scored["status"]) == {"unavailable", "empty"}
            and words in scored["reason"][0]
        )
