"""Recorded judge outputs in a store: all of them, under keys that an evaluator finds again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cli_tools import call

from nlgeval_lib import datasets, parsers, recorded
from nlgeval_lib.datasets import recordings
from nlgeval_lib.engines import MissingCompletions, ReplayEngine, Request
from nlgeval_lib.evaluators import Prometheus, TigerScore
from nlgeval_lib.schema import Sample, Status
from nlgeval_lib.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("recorded"))


# the parts that a test of each recording takes: small enough to be quick, all of its peculiarities in them
PARTS = {
    "acloserlook": {"aspects": ("groundedness",), "prompt_forms": ("analyze_rate", "geval")},
    "llm_summeval": {"judges": ("gpt-3.5-turbo-0301",), "prompt_forms": ("mcq", "rts")},
    "tigerscore_outputs": {},
    "prometheus_gpt4": {},
    "instructscore_webnlg": {},
}


@pytest.mark.parametrize("name", PARTS)
def test_every_text_is_stored_once_under_its_key(name, store, needs):
    needs(name)
    options = PARTS[name]
    frame = recordings.load(name, **options)
    done = recorded.fill(store, name, **options)
    assert done.completions == len(frame) and done.new == len(frame) - done.repeated
    assert done.requests == len(
        frame.drop_duplicates(["input_id", "system_id", "aspect", "judge", "prompt_form", "dataset"])
    )
    again = recorded.fill(store, name, **options)
    assert again.new == 0 and again.completions == done.completions
    texts = {store.get(key).text for key in store}
    if name not in ("prometheus_gpt4", "tigerscore_outputs"):
        assert set(frame["text"]) <= texts
    assert store.verify() == []


def test_prompts_are_the_ones_that_were_sent_where_they_are_known(needs):
    needs("acloserlook")
    options = {"aspects": ("coherence",), "prompt_forms": ("geval",)}
    sent = recordings.prompts("acloserlook", **options)["prompt"].tolist()
    asked = list(recorded.rows("acloserlook", **options))
    assert [request.messages[0]["content"] for _, request, _, _ in asked] == sent
    assert {len(texts) for _, _, texts, _ in asked} == {20}
    frame = recordings.load("acloserlook", **options)
    assert [text for _, _, texts, _ in asked for text in texts] == frame["text"].tolist()


def test_prompts_that_are_not_known_are_told_apart_by_what_they_are_about(needs):
    needs("llm_summeval")
    options = {"judges": ("gpt-3.5-turbo-0301",), "prompt_forms": ("mcq", "altmcq")}
    asked = [request.text() for _, request, _, _ in recorded.rows("llm_summeval", **options)]
    assert len(set(asked)) == len(asked) == 2 * 4 * 12 * 100
    assert all(text.startswith(recorded.UNKNOWN) for text in asked)
    draws = {len(texts) for _, _, texts, _ in recorded.rows("llm_summeval", **options)}
    assert draws == {1, 2}, "the publisher's run wrote some twice"


def test_prometheus_itself_is_answered_by_the_recording(store, needs, data):
    needs("prometheus_gpt4")
    recorded.fill(store, "prometheus_gpt4")
    frame = data("mt_bench")
    judge = Prometheus(sampling=recorded.of("prometheus_gpt4").sampling)
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
    with pytest.raises(MissingCompletions, match="960 completions are not in"):
        other.score(frame, engine=ReplayEngine(store, "gpt-4-0613"))


def test_tigerscore_itself_is_answered_where_the_prompt_is_known(store, needs):
    needs("tigerscore_outputs")
    recorded.fill(store, "tigerscore_outputs")
    sample = Sample("two", "2 + 3 = 15, so the answer is 12.", instruction="Calculate 2 + 3.")
    [judged] = TigerScore().judge([sample], engine=ReplayEngine(store, "TIGERScore-7B"))
    assert judged.value == -10.0 and len(judged.details["errors"]) == 2


def test_a_recording_as_an_evaluator_with_any_parser(store, needs, data):
    needs("acloserlook")
    recorded.fill(store, "acloserlook", **PARTS["acloserlook"])
    frame = data("topical_chat").query("aspect == 'groundedness'")
    judge = recorded.Recorded("acloserlook", lambda text: parsers.rating(text, 0, 1), prompt_form="geval")
    scored = judge.score(frame, engine=judge.replay(store))
    assert scored.index.equals(frame.index) and judge.sampling.n == 20
    raw = recordings.load("acloserlook", aspects=("groundedness",), prompt_forms=("geval",))
    read = [parsers.rating(text, 0, 1).value for text in raw["text"]]
    means = raw.assign(read=read).groupby(["input_id", "system_id"])["read"].mean()
    for (_, row), value in zip(frame.iterrows(), scored["value"], strict=True):
        wanted = means.get((row["input_id"], row["system_id"]), np.nan)
        assert value == pytest.approx(wanted, nan_ok=True)
    there = set(zip(raw["input_id"], raw["system_id"], strict=True))
    gone = [key not in there for key in zip(frame["input_id"], frame["system_id"], strict=True)]
    assert 0 <= sum(gone) <= 7
    assert (scored["status"] == Status.UNAVAILABLE.value).tolist() == gone
    assert "recording:acloserlook|form:geval" in scored.attrs["signature"]
    with pytest.raises(ValueError, match="which prompt_form"):
        recorded.Recorded("acloserlook", parsers.error_analysis)


def test_a_text_that_ended_for_want_of_room_is_marked(store, needs):
    needs("instructscore_webnlg")
    recorded.fill(store, "instructscore_webnlg")
    asked = list(recorded.rows("instructscore_webnlg"))
    assert all(cut == [texts[0] == ""] for _, _, texts, cut in asked)
    judge = recorded.Recorded("instructscore_webnlg", parsers.instructscore)
    frame = recordings.load("instructscore_webnlg").assign(output="x")
    scored = judge.score(frame, engine=judge.replay(store))
    assert set(scored.loc[frame["text"] == "", "status"]) <= {Status.TRUNCATED.value}


def test_scores_that_were_published_without_texts(needs, data):
    needs("alttest_summeval")
    frame = recorded.scores("alttest_summeval")
    assert len(frame) == 38_400 and set(frame["status"]) == {"ok"} and frame["judge"].nunique() == 6
    gemini = frame[frame["judge"] == "gemini_pro"]
    beside = recordings.attach(data("summeval"), gemini, "judge")["judge"]
    np.testing.assert_array_equal(beside, gemini["value"])
    with pytest.raises(ValueError, match="has texts only"):
        recorded.scores("acloserlook", aspects=("coherence",), prompt_forms=("geval",))


def test_unknown_names():
    with pytest.raises(ValueError, match="did you mean 'acloserlook'"):
        recorded.of("acloserlok")
    with pytest.raises(ValueError, match="it has scores only"):
        recorded.of("alttest_summeval")
    assert set(recorded.NAMES) < set(recordings.NAMES)


def test_a_replay_of_what_is_not_there_names_it(tmp_path):
    kept = Store(tmp_path)
    engine = ReplayEngine(kept, "judge", recorded.REVISION)
    with pytest.raises(MissingCompletions, match="1 completions are not in"):
        from nlgeval_lib.engines import Sampling, complete

        complete(engine, [Request(prompt="never asked", id="me")], Sampling())


def test_the_command(needs, tmp_path, monkeypatch, capsys):
    needs("prometheus_gpt4", "alttest_summeval")
    monkeypatch.chdir(tmp_path)
    listed = call(monkeypatch, capsys, "recordings").out
    assert all(name in listed for name in recordings.NAMES) and "prompts unknown" in listed
    done = call(monkeypatch, capsys, "recordings", "prometheus_gpt4", "--store", "kept")
    assert done.code == 0 and "1,920 completions of gpt-4-0613 for 640 requests, 1,920 new" in done.out
    replay = (
        "--engine",
        "replay",
        "-m",
        "gpt-4-0613",
        "--store",
        "kept",
        "-s",
        "repetition_penalty=1",
        "-s",
        "seed=none",
    )
    got = call(monkeypatch, capsys, "score", "-e", "prometheus", "--data", "vicuna_bench", *replay, "-o", "gpt4.csv")
    assert got.code == 0 and "960 stored, 0 made" in got.out
    frame = pd.read_csv("gpt4.csv")
    assert frame["value"].tolist() == pytest.approx(datasets.load("vicuna_bench")["gpt4"].tolist())
    got = call(monkeypatch, capsys, "recordings", "alttest_summeval", "--output", "alt.csv")
    assert got.code == 0 and "6,400 rows, 6 judges" in got.out
    assert {"gpt-4o", "gpt-4o_status", "human", "aspect"} <= set(pd.read_csv("alt.csv", nrows=5).columns)
    for arguments, said in (
        (["alttest_summeval"], "it has scores only"),
        (["acloserlok"], "did you mean"),
        (["acloserlook", "-o", "x.csv"], "has texts only"),
        (["gemba_wmt22", "-o", "x.csv"], "several"),
    ):
        got = call(monkeypatch, capsys, "recordings", *arguments)
        assert got.code == 2 and said in got.err
