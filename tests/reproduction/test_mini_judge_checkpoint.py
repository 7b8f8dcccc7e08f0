"""The miniature judge as a model: the committed checkpoint in all engines, and
training that can be stopped.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from engine_fixtures import CACHE, no_vllm, told

from mini_judge import card, measure, quality
from mini_judge.recipe import Recipe
from nlgeval_lib import datasets, engines, files, weights
from nlgeval_lib.datasets import mini_judge
from nlgeval_lib.engines import Request, Sampling, models
from nlgeval_lib.evaluators import LLMScore, TigerScore
from reproduction.training import mini

FOLDER = mini_judge.folder()
GREEDY = Sampling(max_tokens=160)


# -- the committed files


def test_the_card_has_the_hashes_of_the_files_and_what_was_measured():
    text = (FOLDER / card.CARD).read_text(encoding="utf-8")
    for name in card.HASHED:
        assert f"| {name} | `{files.sha256(FOLDER / name)}` |" in text
    assert f"sha256:{weights.folder_hash(FOLDER)[:16]}" in text
    judgments, _ = mini_judge.judgments()
    for form, part in judgments.groupby("form"):
        assert (
            f"\n| {form} | {len(part)} | {(part['status'] == 'ok').mean():.1%} |"
            in text
        )
    assert "What it must not be used for" in text


def test_the_judge_by_its_short_name(tmp_path, monkeypatch):
    made = engines.make("transformers", model="mini")
    assert made.model == models.identify(str(FOLDER), None, None)[0]
    [[answer]] = engines.complete(
        made, [Request.chat("Score:")], Sampling(max_tokens=4)
    )
    assert answer.finish_reason in ("stop", "length")
    # what a script is called is its own affair
    assert engines.make("scripted", answers=["4"], model="mini").model == "mini"
    monkeypatch.setattr(files, "data", lambda: tmp_path)
    with pytest.raises(engines.EngineError, match="make mini-judge"):
        engines.make("transformers", model="mini")


# -- one answer from every engine


@pytest.fixture(scope="module")
def frame():
    return datasets.quick(datasets.load("mini_judge"), 1)


@pytest.fixture(scope="module")
def batch(frame):
    """Raw prompts with long answers and chats with short ones."""
    outputs = frame[frame["aspect"] == "overall"]
    [analyses] = TigerScore(**mini.settings("tigerscore")).plan(outputs)
    [scores] = LLMScore(**mini.settings("llmscore")).plan(frame)
    assert {
        request.messages is None for request in (*analyses.requests, *scores.requests)
    } == {True, False}
    return [
        *analyses.requests,
        *scores.requests[:12],
        Request(prompt="Unknown words: ä, ß."),
    ]


@pytest.fixture(scope="module")
def in_transformers():
    with engines.make("transformers", model=str(FOLDER), device="cpu") as engine:
        yield engine


@pytest.fixture(scope="module")
def written(in_transformers, batch):
    return engines.complete(in_transformers, batch, GREEDY)


def test_transformers_writes_what_was_measured(in_transformers, frame):
    """The committed judgments come again, on the first record."""
    judgments, _ = mini_judge.judgments()
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    key = ["input_id", "system_id"]
    for form, judge, asked in (
        (measure.ANALYSIS, TigerScore(**mini.settings("tigerscore")), outputs),
        ("plain score", LLMScore(**mini.settings("llmscore")), frame),
    ):
        kept = judgments[judgments["form"] == form].set_index([*key, "aspect"])["value"]
        scores = judge.score(asked, engine=in_transformers)
        expected = kept.loc[
            list(
                zip(asked["input_id"], asked["system_id"], asked["aspect"], strict=True)
            )
        ]
        np.testing.assert_array_equal(scores["value"].to_numpy(), expected.to_numpy())


@pytest.mark.vllm
@pytest.mark.skipif(bool(no_vllm()), reason=no_vllm())
def test_vllm_writes_what_transformers_writes(written, batch):
    with engines.make(
        "vllm", model=str(FOLDER), max_model_len=512, kv_cache_memory_bytes=CACHE
    ) as engine:
        assert told(engines.complete(engine, batch, GREEDY)) == told(written)


def test_measured_quality_is_that_of_the_kept_judgments():
    """The card's line of each form from the committed judgments, by scipy."""
    from scipy.stats import kendalltau

    text = (FOLDER / card.CARD).read_text(encoding="utf-8")
    judgments, _ = mini_judge.judgments()
    part = judgments[judgments["form"] == measure.ANALYSIS].dropna()
    tau = kendalltau(part["value"], part["gold"]).statistic
    assert re.search(rf"^\| error analysis \|.*\| {tau:.3f} \[", text, re.M)
    assert judgments["form"].nunique() == 16
    two = judgments[judgments["form"].isin([measure.ANALYSIS, "aspect scores"])]
    head = quality.headline(two, quality.taus(two)).set_index("form")
    assert set(head.index) == {measure.ANALYSIS, "aspect scores"}
    assert head.loc[measure.ANALYSIS, "tau"] == pytest.approx(tau)


# -- training

TINY = Recipe(
    examples=96,
    chunk=32,
    tokens=1024,
    width=64,
    layers=2,
    heads=2,
    inner=64,
    easy=32,
    plain=32,
    lists=64,
)


def test_the_net_is_the_llama_that_transformers_load(tmp_path):
    """The checkpoint of a net with random weights, in float32 on both sides."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, LlamaConfig

    from mini_judge.model import Net, Shape, checkpoint

    torch.manual_seed(0)
    net = Net(Shape(100, 64, 3, 2, 96, 128), 3, 5)
    with torch.no_grad():
        for name, weight in net.named_parameters():
            weight.copy_(
                (weight + 0.3 * torch.randn_like(weight) * ("norm" in name))
                .bfloat16()
                .float()
            )
    named, config = checkpoint(dict(net.named_parameters()), net.shape)
    save_file(named, tmp_path / "model.safetensors", {"format": "pt"})
    LlamaConfig(**config, architectures=["LlamaForCausalLM"]).save_pretrained(tmp_path)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    ids = torch.randint(0, 100, (3, 40))
    with torch.no_grad():
        mine = torch.nn.functional.linear(net(ids)[0], net.embed)
        assert torch.allclose(mine, theirs(ids).logits, atol=1e-4)


@pytest.mark.slow  # trains three times; test_finetune kills a run of the library's
def test_a_run_that_was_stopped_goes_on_to_the_same_weights(
    tmp_path, monkeypatch, capsys, one_thread
):
    from mini_judge import train as training

    whole = training.train(TINY, tmp_path / "a", tmp_path / "one", every=0)
    real = training.Learner.learn
    steps = []

    def stop_later(learner, batch, rate):
        steps.append(learner.step)
        if len(steps) == whole.step // 2 + 1:
            raise KeyboardInterrupt
        return real(learner, batch, rate)

    monkeypatch.setattr(training.Learner, "learn", stop_later)
    with pytest.raises(KeyboardInterrupt):
        training.train(TINY, tmp_path / "b", tmp_path / "two", every=0)
    assert (
        not (tmp_path / "two").exists()
        and "goes on from the last save" in capsys.readouterr().err
    )
    monkeypatch.setattr(training.Learner, "learn", real)
    again = training.train(TINY, tmp_path / "b", tmp_path / "two", every=0)
    assert "going on from step" in capsys.readouterr().out
    assert (again.step, again.tokens) == (whole.step, whole.tokens)
    one, two = (
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")
    )
    assert one == two
    other = Recipe(**{**{f: getattr(TINY, f) for f in Recipe.__slots__}, "seed": 1})
    with pytest.raises(
        ValueError,
        match="begun with seed=0, not 1; give the same, or another --work folder",
    ):
        training.train(other, tmp_path / "b", tmp_path / "three")
    told = json.loads((tmp_path / "one" / "training.json").read_text())
    # vLLM in this process fixes how many
    assert told["steps"] == whole.step and told["machine"]["threads"] >= 1
