"""Recorded judge outputs in a store: all of them, under keys that an evaluator finds again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cli_tools import call

from nlgeval_lib import datasets
from nlgeval_lib.datasets import recordings
from nlgeval_lib.engines import EngineError, ReplayEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import Prometheus, TigerScore
from nlgeval_lib.records import Sample
from nlgeval_lib.study import recorded_judges


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("recorded"))


# the parts that a test of each recording takes: small enough to be quick, all of its peculiarities in them
PARTS = {
    "acloserlook": {"aspects": ("groundedness",), "prompt_forms": ("analyze_rate", "geval")},
    "tigerscore_outputs": {},
    "prometheus_gpt4": {},
    "instructscore_webnlg": {},
}


@pytest.mark.parametrize("name", PARTS)
def test_every_text_is_stored_once_under_its_key(name, store, needs):
    needs(name)
    options = PARTS[name]
    frame = recordings.load(name, **options)
    frame = frame[frame["prompt_form"] != "output"]  # TIGERScore's texts whose prompt is not known
    done = recorded_judges.fill(store, name, **options)
    assert done.completions == len(frame) and done.new == len(frame) - done.repeated
    assert done.requests == len(
        frame.drop_duplicates(["input_id", "system_id", "aspect", "judge", "prompt_form", "dataset"])
    )
    again = recorded_judges.fill(store, name, **options)
    assert again.new == 0 and again.completions == done.completions
    texts = {store.get(key).text for key in store}
    if name not in ("prometheus_gpt4", "tigerscore_outputs"):
        assert set(frame["text"]) <= texts
    assert store.verify() == []


def test_prometheus_itself_is_answered_by_the_recording(store, needs, data):
    needs("prometheus_gpt4")
    recorded_judges.fill(store, "prometheus_gpt4")
    frame = data("mt_bench")
    judge = Prometheus(sampling=recorded_judges.of("prometheus_gpt4").sampling)
    strict = judge.score(frame, engine=ReplayEngine(store, "gpt-4-0613"))
    assert (strict["status"] == "ok").all()
    lost = strict["details"].map(lambda details: details["n_missing"]).to_numpy()
    np.testing.assert_allclose(strict["value"][lost == 0], frame["gpt4"][lost == 0])
    assert lost.sum() == 1, "one text says '[RESULT] Score: 1.'"
    lenient = Prometheus(sampling=judge.sampling, verbalizer=True).score(
        frame, engine=ReplayEngine(store, "gpt-4-0613")
    )
    np.testing.assert_allclose(lenient["value"], frame["gpt4"])
    other = Prometheus(sampling={"n": 3})
    with pytest.raises(EngineError, match="960 completions are not in"):
        other.score(frame, engine=ReplayEngine(store, "gpt-4-0613"))


def test_tigerscore_itself_is_answered_where_the_prompt_is_known(store, needs):
    needs("tigerscore_outputs")
    recorded_judges.fill(store, "tigerscore_outputs")
    sample = Sample("two", "2 + 3 = 15, so the answer is 12.", instruction="Calculate 2 + 3.")
    [judged] = TigerScore().judge([sample], engine=ReplayEngine(store, "TIGERScore-7B"))
    assert judged.value == -10.0 and len(judged.details["errors"]) == 2


def test_a_text_that_ended_for_want_of_room_is_marked(tmp_path, needs, monkeypatch):
    needs("instructscore_wmt22")
    whole = recordings.load("instructscore_wmt22")
    part = whole[whole["input_id"].isin(whole.loc[whole["text"] == "", "input_id"].iloc[:3])]
    monkeypatch.setattr(recordings, "load", lambda name: part)
    store = Store(tmp_path)
    recorded_judges.fill(store, "instructscore_wmt22")
    kept = [store.get(key) for key in store]
    assert {one.finish_reason for one in kept if one.text} == {"stop"}
    assert {one.finish_reason for one in kept if not one.text} == {"length"}


def test_the_command(needs, tmp_path, monkeypatch, capsys):
    needs("prometheus_gpt4", "alttest_summeval")
    monkeypatch.chdir(tmp_path)
    listed = call(monkeypatch, capsys, "recordings").out
    assert all(name in listed for name in recordings.NAMES) and "prompts unknown" in listed
    done = call(monkeypatch, capsys, "recordings", "prometheus_gpt4", "--store", "kept")
    assert done.code == 0 and "1,920 completions of gpt-4-0613 for 640 requests, 1,920 new" in done.out
    replay = ["--engine", "replay", "-m", "gpt-4-0613", "--store", "kept"]
    replay += ["-s", "repetition_penalty=1", "-s", "seed=none"]
    got = call(monkeypatch, capsys, "score", "-e", "prometheus", "--data", "vicuna_bench", *replay, "-o", "gpt4.csv")
    assert got.code == 0 and "960 stored, 0 made" in got.out
    frame = pd.read_csv("gpt4.csv")
    assert frame["value"].tolist() == pytest.approx(datasets.load("vicuna_bench")["gpt4"].tolist())
    got = call(monkeypatch, capsys, "recordings", "alttest_summeval", "--output", "alt.csv")
    assert got.code == 0 and "6,400 rows, 6 judges" in got.out
    assert {"gpt-4o", "gpt-4o_status", "human", "aspect"} <= set(pd.read_csv("alt.csv", nrows=5).columns)
    for arguments, said in (
        (["alttest_summeval"], "no recording 'alttest_summeval' with known prompts"),
        (["acloserlok"], "did you mean"),
        (["acloserlook", "-o", "x.csv"], "has texts only"),
        (["gemba_wmt22", "-o", "x.csv"], "several"),
    ):
        got = call(monkeypatch, capsys, "recordings", *arguments)
        assert got.code == 2 and said in got.err
