"""Recorded judge outputs: counts, alignment with the data sets, and published
numbers that follow from them.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import public_data
import pytest
from cli_tools import cases, frame_hash, has_texts, numbers_hash
from scipy import stats

from judgecard import recorded_store, recordings
from nlgeval_lib import datasets
from nlgeval_lib.datasets import UnknownName
from nlgeval_lib.engines import EngineError, ReplayEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import Prometheus


def attach(frame: pd.DataFrame, scored: pd.DataFrame, name: str) -> pd.DataFrame:
    """The long frame with the judge's `value` of the same output and aspect."""
    keys = ["input_id", "system_id", "aspect"]
    column = scored[[*keys, "value"]].rename(columns={"value": name})
    return frame.merge(column, how="left", on=keys, validate="one_to_one")


@pytest.mark.parametrize("name", recordings.NAMES)
def test_form_and_counts(recorded, name):
    frame = recorded(name)
    [case] = [case for case in cases("frames") if case["name"] == name]
    assert len(frame) == recordings.spec(name).n_rows
    assert numbers_hash(frame) == case["numbers"]
    assert not has_texts(frame) or frame_hash(frame) == case["hash"]
    keys = recordings.keys(name)
    assert tuple(frame.columns[: len(keys)]) == keys
    assert ("text" in frame) == ("text" in recordings.spec(name).kept)
    assert ("value" in frame) == ("value" in recordings.spec(name).kept)
    # raw texts never have to be unique, ids always
    assert not frame.duplicated(list(keys)).any()
    assert frame.attrs["name"] == name


# recording -> the data set whose ids it has, and its options
OF = {
    "acloserlook": ("topical_chat", {}),
    "instructscore_wmt22": ("wmt22_zhen", {"systems": "all"}),
    "instructscore_webnlg": ("webnlg2020", {}),
    "alttest_summeval": ("summeval", {}),
    "llm_summeval": ("summeval", {}),
}


@pytest.mark.parametrize("name", OF)
def test_ids_are_those_of_the_data_set(recorded, data, name):
    dataset, options = OF[name]
    frame = data(dataset, **options)
    known = set(zip(frame["input_id"], frame["system_id"], strict=True))
    raw = recorded(name)
    assert set(zip(raw["input_id"], raw["system_id"], strict=True)) <= known


def test_prompts_show_the_outputs_they_are_about(data, needs):
    needs("acloserlook")
    prompts = recordings.prompts("acloserlook")
    places = ["input_id", "system_id"]
    wide = datasets.items(data("topical_chat")).set_index(places)["output"]
    outputs = wide.reindex(pd.MultiIndex.from_frame(prompts[places]))
    shown = [
        output.strip() in prompt
        for output, prompt in zip(outputs, prompts["prompt"], strict=True)
    ]
    assert np.mean(shown) > 0.98


def test_alttest_coherence_of_one_judge(recorded, data):
    """One judge on the same data: .535 over the data set, .797 over systems."""
    raw = recorded("alttest_summeval")
    joined = attach(data("summeval"), raw[raw["judge"] == "gpt-4o"], "judge")
    coherence = joined[joined["aspect"] == "coherence"]
    assert stats.spearmanr(coherence["human"], coherence["judge"])[0] == pytest.approx(
        0.535, abs=1e-3
    )


@pytest.mark.parametrize(
    ("aspect", "form", "outputs"),
    [
        ("coherence", "geval", 359),
        ("engagingness", "rate_explain", 359),
        ("naturalness", "llm_eval_no_cot", 359),
    ],
)
def test_acloserlook_stands_beside_the_right_ratings(
    data, needs, mirror, aspect, form, outputs
):
    """The file keeps the human scores beside the texts: joining by ids must give the
    same pairs.
    """
    needs("acloserlook")
    path = mirror / "acloserlook" / f"gpt3.5_{aspect[:3]}_{form}.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    raw = recordings.load("acloserlook", aspects=[aspect], prompt_forms=[form])
    raw["value"] = raw["text"].str.len().astype(float)
    longest = raw.groupby(["input_id", "system_id", "aspect"], as_index=False)[
        "value"
    ].max()
    joined = attach(data("topical_chat"), longest, "longest")
    pairs = (
        joined.loc[joined["longest"].notna(), ["human", "longest"]].to_numpy().tolist()
    )
    assert len(pairs) == outputs
    assert pairs == [
        [r["scores"][aspect], max(map(len, r["all_responses"]))] for r in records
    ]


def test_llm_summeval_texts_are_those_of_the_files(recorded, mirror):
    raw = recorded("llm_summeval")
    path = (
        mirror
        / "llm_summeval"
        / "gpt-4-0314"
        / "eval_M10_generations"
        / "coherence_rts.txt"
    )
    records = [
        json.loads(line)
        for line in path.read_text(encoding="utf-8").split("\n")
        if line
    ]
    rows = raw[
        (raw["judge"] == "gpt-4-0314")
        & (raw["system_id"] == "M10")
        & (raw["aspect"] == "coherence")
    ]
    assert rows["text"].tolist() == [record["resp"] for record in records]
    assert rows["input_id"].tolist() == [record["id"] for record in records]
    assert raw.loc[raw["judge"].str.startswith("llama"), "prompt_tokens"].isna().all()
    repeated = raw[raw["draw"] > 0]
    assert len(repeated) == 312 and set(repeated["prompt_form"]) == {"mcq", "altmcq"}


def test_gemba_rated_systems(data):
    public_data.show()
    rated = recordings.load("gemba_wmt22", rated=True)
    assert len(rated) == 4 * 14 * 1875 and rated["value"].between(0, 100).all()
    one = rated[(rated["judge"] == "GPT4") & (rated["prompt_form"] == "DA-refA")]
    joined = attach(data("wmt22_zhen"), one, "gemba")
    assert joined["gemba"].notna().all()
    assert stats.kendalltau(joined["human"], joined["gemba"])[0] > 0.3


def test_unknown_names_and_options_are_named():
    with pytest.raises(
        UnknownName, match=r"unknown recording 'alttest'; nearest: .*alttest_summeval"
    ):
        recordings.load("alttest")
    with pytest.raises(TypeError, match="unexpected keyword argument 'aspect'"):
        recordings.load("acloserlook", aspect="coherence")
    with pytest.raises(ValueError, match="gemba_wmt22: its publisher kept no prompts"):
        recordings.prompts("gemba_wmt22")
    with pytest.raises(UnknownName, match="unknown aspect 'fluency'"):
        recordings.load("acloserlook", aspects=["fluency"])
    with pytest.raises(TypeError, match="pass a list or tuple"):
        recordings.load("acloserlook", aspects="coherence")


# -- recorded judge outputs in a store: all of them, under keys that an evaluator finds again --------------------------


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded")


# the parts that a test of each recording takes: small enough to be quick, all of its
# peculiarities in them
PARTS = {
    "acloserlook": {"aspects": ("groundedness",), "prompt_forms": ("geval",)},
    "prometheus_gpt4": {},
}


@pytest.mark.parametrize("name", PARTS)
def test_every_text_is_stored_once_under_its_key(name, store, needs):
    needs(name)
    options = PARTS[name]
    frame = recordings.load(name, **options)
    done = recorded_store.fill(store, name, **options)
    assert done.completions == len(frame) and done.new == len(frame) - done.repeated
    assert done.requests == len(
        frame.drop_duplicates(
            ["input_id", "system_id", "aspect", "judge", "prompt_form", "dataset"]
        )
    )
    again = recorded_store.fill(store, name, **options)
    assert again.new == 0 and again.completions == done.completions
    texts = {store.get(key).text for key in store}
    if name != "prometheus_gpt4":
        assert set(frame["text"]) <= texts
    assert store.verify() == []


def test_prometheus_itself_is_answered_by_the_recording(store, needs, data):
    needs("prometheus_gpt4")
    recorded_store.fill(store, "prometheus_gpt4")
    frame = data("mt_bench")
    judge = Prometheus(sampling=recorded_store.find_asked("prometheus_gpt4").sampling)
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
