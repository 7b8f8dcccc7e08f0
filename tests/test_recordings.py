"""Recorded judge outputs: counts, alignment with the data sets, and published numbers that follow from them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgeval_lib import datasets
from nlgeval_lib.datasets import UnknownName, recordings
from nlgeval_lib.datasets.recordings import acloserlook


@pytest.fixture(scope="module")
def recorded(needs):
    """`recorded(name)` loads a recording once, or skips."""
    loaded: dict = {}

    def load(name: str) -> pd.DataFrame:
        needs(name)
        if name not in loaded:
            loaded[name] = recordings.load(name)
        return loaded[name]

    return load


@pytest.mark.parametrize("name", recordings.NAMES)
def test_form_and_counts(recorded, name):
    frame = recorded(name)
    assert len(frame) == recordings.spec(name).n_rows
    assert tuple(frame.columns[: len(recordings.KEYS)]) == recordings.KEYS
    assert ("text" in frame) == ("text" in recordings.spec(name).kept)
    assert ("value" in frame) == ("value" in recordings.spec(name).kept)
    # raw texts never have to be unique, ids always
    assert not frame.duplicated(list(recordings.KEYS)).any()
    assert frame.attrs["name"] == name


# recordings whose prompts are known, and another two -> the data set whose ids they have, and its options
WITH_PROMPTS = {
    "acloserlook": ("topical_chat", {}),
    "instructscore_wmt22": ("wmt22_zhen", {"systems": "all"}),
    "instructscore_webnlg": ("webnlg2020", {}),
}
OF = {**WITH_PROMPTS, "alttest_summeval": ("summeval", {}), "llm_summeval": ("summeval", {})}


@pytest.mark.parametrize("name", OF)
def test_ids_are_those_of_the_data_set(recorded, data, name):
    dataset, options = OF[name]
    frame = data(dataset, **options)
    known = set(zip(frame["input_id"], frame["system_id"], strict=True))
    raw = recorded(name)
    assert set(zip(raw["input_id"], raw["system_id"], strict=True)) <= known


def test_prompts_show_the_outputs_they_are_about(data, needs):
    needs(*WITH_PROMPTS)
    for name, (dataset, options) in WITH_PROMPTS.items():
        prompts = recordings.prompts(name)
        wide = datasets.items(data(dataset, **options)).set_index(["input_id", "system_id"])["output"]
        outputs = wide.reindex(pd.MultiIndex.from_frame(prompts[["input_id", "system_id"]]))
        shown = [output.strip() in prompt for output, prompt in zip(outputs, prompts["prompt"], strict=True)]
        # the judge's tokenizer changed rare characters, and cut prompts that were too long
        assert np.mean(shown) > 0.98, name


def test_alttest_coherence_of_one_judge(recorded, data):
    """One judge on the same data: .535 over the data set, .797 over systems."""
    raw = recorded("alttest_summeval")
    joined = recordings.attach(data("summeval"), raw[raw["judge"] == "gpt-4o"], "judge")
    coherence = joined[joined["aspect"] == "coherence"]
    assert stats.spearmanr(coherence["human"], coherence["judge"])[0] == pytest.approx(0.535, abs=1e-3)


@pytest.mark.parametrize(
    ("aspect", "form", "outputs"),
    [("coherence", "geval", 359), ("engagingness", "rate_explain", 359), ("naturalness", "llm_eval_no_cot", 359)],
)
def test_acloserlook_stands_beside_the_right_ratings(data, needs, mirror, aspect, form, outputs):
    """The file keeps the human scores beside the texts: joining by ids must give the same pairs."""
    needs("acloserlook")
    path = mirror / "acloserlook" / f"gpt3.5_{aspect[:3]}_{form}.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    raw = recordings.load("acloserlook", aspects=[aspect], prompt_forms=[form])
    raw["value"] = raw["text"].str.len().astype(float)
    longest = raw.groupby(["input_id", "system_id", "aspect"], as_index=False)["value"].max()
    joined = recordings.attach(data("topical_chat"), longest, "longest")
    pairs = joined.loc[joined["longest"].notna(), ["human", "longest"]].to_numpy().tolist()
    assert len(pairs) == outputs
    assert pairs == [[r["scores"][aspect], max(map(len, r["all_responses"]))] for r in records]


def test_acloserlook_draws_and_templates(needs):
    needs("acloserlook")
    raw = recordings.load("acloserlook", aspects=["groundedness"], prompt_forms=["llm_eval_no_cot"])
    assert len(raw) == 353 * 20
    assert (raw.groupby(["input_id", "system_id"])["draw"].apply(list).map(tuple) == tuple(range(20))).all()
    prompts = recordings.prompts("acloserlook", aspects=["groundedness"], prompt_forms=["geval"])
    first = datasets.fetch.text(acloserlook.template_file("groundedness", "geval")).partition("{{Document}}")[0]
    assert len(prompts) == 357 and prompts["prompt"].str.startswith(first[:200]).all()


def test_llm_summeval_texts_are_those_of_the_files(recorded, mirror):
    raw = recorded("llm_summeval")
    path = mirror / "llm_summeval" / "gpt-4-0314" / "eval_M10_generations" / "coherence_rts.txt"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    rows = raw[(raw["judge"] == "gpt-4-0314") & (raw["system_id"] == "M10") & (raw["aspect"] == "coherence")]
    assert rows["text"].tolist() == [record["resp"] for record in records]
    assert rows["input_id"].tolist() == [record["id"] for record in records]
    assert raw.loc[raw["judge"].str.startswith("llama"), "prompt_tokens"].isna().all()
    repeated = raw[raw["draw"] > 0]
    assert len(repeated) == 312 and set(repeated["prompt_form"]) == {"mcq", "altmcq"}


def test_instructscore_texts_begin_after_the_prompt(recorded):
    wmt, webnlg = recorded("instructscore_wmt22"), recorded("instructscore_webnlg")
    assert (wmt["text"] == "").sum() == 54
    assert wmt.loc[wmt["text"] != "", "text"].str.match(r"Your Translation contains").all()
    assert webnlg["text"].str.startswith("Your generation contains").mean() > 0.99
    assert "1124" not in set(webnlg["input_id"])


def test_gemba_rated_systems(needs, data):
    needs("gemba_wmt22")
    rated = recordings.load("gemba_wmt22", rated=True)
    assert len(rated) == 4 * 14 * 1875 and rated["value"].between(0, 100).all()
    one = rated[(rated["judge"] == "GPT4") & (rated["prompt_form"] == "DA-refA")]
    joined = recordings.attach(data("wmt22_zhen"), one, "gemba")
    assert joined["gemba"].notna().all()
    assert stats.kendalltau(joined["human"], joined["gemba"])[0] > 0.3


def test_prometheus_feedback_stands_beside_its_score(recorded, data):
    raw = recorded("prometheus_gpt4")
    frame = data("mt_bench")
    second = raw[(raw["dataset"] == "mt_bench") & (raw["draw"] == 1)]
    assert second["text"].tolist() == frame["feedback_gpt4_1"].tolist()
    assert second["value"].tolist() == frame["rater_gpt4_1"].tolist()
    assert raw["text"].str.contains("[RESULT]", regex=False).sum() == 1  # the one that was not taken off


def test_unknown_names_and_options_are_named():
    with pytest.raises(UnknownName, match="unknown recording 'alttest'; nearest: alttest_summeval"):
        recordings.load("alttest")
    with pytest.raises(TypeError, match="unexpected keyword argument 'aspect'"):
        recordings.load("acloserlook", aspect="coherence")
    with pytest.raises(ValueError, match="gemba_wmt22: its publisher kept no prompts"):
        recordings.prompts("gemba_wmt22")
    with pytest.raises(UnknownName, match="unknown aspect 'fluency'"):
        recordings.load("acloserlook", aspects=["fluency"])
    with pytest.raises(TypeError, match="pass a list or tuple"):
        recordings.load("acloserlook", aspects="coherence")


def test_attach_is_exact_about_rows():
    frame = pd.DataFrame({"input_id": ["a", "b", "c"], "human": [1.0, 2.0, 3.0]}).assign(system_id="s", aspect="x")
    scored = pd.DataFrame({"input_id": ["c", "a"], "system_id": "s", "aspect": "x", "value": [30.0, 10.0]})
    joined = recordings.attach(frame, scored, "judge")
    np.testing.assert_array_equal(joined["judge"], [10, np.nan, 30])
    assert "judge" not in frame
    with pytest.raises(ValueError, match="not unique"):
        recordings.attach(frame, pd.concat([scored, scored]), "judge")
