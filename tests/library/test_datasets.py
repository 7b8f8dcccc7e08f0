"""Data sets: counts, scales, values that stand in the files, and facts known about
them from elsewhere.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from cli_tools import cases, frame_hash, has_texts, numbers_hash
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib import datasets, files
from nlgeval_lib.datasets import UnknownName, mini_judge, prometheus

LEADING = ["dataset", "input_id", "system_id", "aspect", "human"]

# a data set's counts, and the hash of its frame, which changes on purpose only; those of
# pairs are held in test_pairs.py
KNOWN = [case for case in cases("frames") if case["name"] in datasets.NAMES]
FRAMES = [case for case in KNOWN if datasets.kind(case["name"]) == "ratings"]


def test_every_data_set_has_its_case():
    assert {case["name"] for case in KNOWN} == set(datasets.NAMES)


@pytest.mark.parametrize(
    "case", FRAMES, ids=lambda case: " ".join([case["name"], *case["options"]])
)
def test_counts_and_form(data, case):
    name, (outputs, inputs, systems) = case["name"], case["counts"]
    long = data(name, **case["options"])
    assert numbers_hash(long) == case["numbers"]
    assert not has_texts(long) or frame_hash(long) == case["hash"]
    aspects = len(datasets.spec(name).scale)
    assert list(long.columns[:5]) == LEADING
    assert len(long) == outputs * aspects
    assert set(long["dataset"]) == {name}
    assert (long["input_id"].nunique(), long["system_id"].nunique()) == (
        inputs,
        systems,
    )
    assert long["aspect"].nunique() == aspects
    # aspects are the inner loop: the first rows are one output's
    assert list(long["aspect"][:aspects]) == list(long.attrs["aspects"])
    assert long["output"][:aspects].nunique() == 1
    known = long.attrs
    assert (known["name"], known["n_items"], known["n_inputs"], known["n_systems"]) == (
        name,
        outputs,
        inputs,
        systems,
    )
    for aspect, (low, high) in known["scale"].items():
        rated = long.loc[long["aspect"] == aspect, "human"].dropna()
        assert rated.empty or (rated.min() >= low and rated.max() <= high)
    if "references" in long:
        assert all(isinstance(texts, tuple) for texts in long["references"])
        assert all(
            text == (texts[0] if texts else "")
            for text, texts in zip(long["reference"], long["references"], strict=True)
        )


def test_summeval_raters(data):
    long = data("summeval")
    experts = long[[f"rater_expert_{n}" for n in range(3)]].to_numpy()
    crowd = long[[f"rater_crowd_{n}" for n in range(5)]].to_numpy()
    np.testing.assert_allclose(experts.mean(axis=1), long["human"], atol=1e-9)
    assert set(np.unique(experts)) == {1, 2, 3, 4, 5}
    without = long["system_id"].isin(["M0", "M1", "M2", "M5"]).to_numpy()
    assert np.isnan(crowd[without]).all() and not np.isnan(crowd[~without]).any()
    assert without.sum() == 4 * 100 * 4
    # the first output of the file: experts 2, 3 ... and mean 4/3 in coherence
    assert long["human"].iloc[0] == pytest.approx(4 / 3)
    assert {len(texts) for texts in long["references"]} == {11}


def test_crowd_ratings_are_those_of_the_files(data, mirror):
    """Against the annotation file of one system, read here."""
    record = json.loads(
        (mirror / "summeval" / "M10_outputs_annotations.jsonl")
        .read_text()
        .split("\n")[17]
    )
    long = data("summeval")
    rows = long[
        (long["input_id"] == record["id"]) & (long["system_id"] == "M10")
    ].set_index("aspect")
    for number in range(5):
        assert (
            rows[f"rater_crowd_{number}"].to_dict()
            == record["turker_annotations"][number]
        )
    for number in range(3):
        assert (
            rows[f"rater_expert_{number}"].to_dict()
            == record["expert_annotations"][number]
        )


def test_topical_chat_references_are_the_ground_truth(data, needs):
    needs("topical_chat")
    long = data("topical_chat")
    truth = long["system_id"] == "Original Ground Truth"
    assert (long.loc[truth, "reference"] == "").all()
    said = long[truth].drop_duplicates("input_id").set_index("input_id")["output"]
    others = long[~truth]
    pd.testing.assert_frame_equal(
        data("topical_chat", ground_truth=False), others.reset_index(drop=True)
    )
    assert (others["reference"].to_numpy() == said[others["input_id"]].to_numpy()).all()
    wide = datasets.items(long)
    assert (
        wide["output"] != wide["output"].str.strip()
    ).sum() == 68  # nothing is stripped
    assert wide["source"].str.endswith("\n\n").all()
    assert wide["unieval_naturalness"].iloc[0] == pytest.approx(0.9767997580649153)
    assert wide["human_overall"].iloc[0] == pytest.approx(14 / 3)


def test_wmt22(data, mirror):
    long = data("wmt22_zhen")
    assert (
        long["human"].min() == -80
        and long["human"].max() == 0
        and not np.signbit(long["human"]).all()
    )
    assert not (np.signbit(long["human"]) & (long["human"] == 0)).any()
    references = (
        (mirror / "wmt22_zhen" / "generaltest2022.zh-en.ref.B.en")
        .read_text(encoding="utf-8")
        .split("\n")
    )
    assert [texts[1] for texts in long["references"][:1875]] == references[:1875]
    assert long["source"].iloc[1874] == long["source"].iloc[-1]
    assert long.iloc[0][["system_id", "input_id"]].tolist() == [
        "AISP-SJTU",
        "zhen-0000",
    ]
    # no output contains a trace of the prompt that it was cut out of
    assert (
        not long["output"].str.contains("Please identify all errors", regex=False).any()
    )
    everything = data("wmt22_zhen", systems="all")
    by_human = everything[everything["system_id"] == "refB"]
    assert by_human["output"].tolist() == [texts[1] for texts in by_human["references"]]


def test_mini_needs_its_file_and_names_a_broken_line(tmp_path, monkeypatch):
    lines = (files.data() / mini_judge.MINI).read_text(encoding="utf-8").split("\n")
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path))
    with pytest.raises(
        datasets.DataUnavailable, match=r"data/mini/mini\.jsonl is not in this checkout"
    ):
        datasets.load("mini")
    assert datasets.available("mini") == (
        False,
        "data/mini/mini.jsonl is not in this checkout",
    )
    target = files.data() / mini_judge.MINI
    target.parent.mkdir(parents=True)
    target.write_text("\n".join([*lines[:2], "{", *lines[3:]]))
    with pytest.raises(ValueError, match="line 3: not JSON"):
        datasets.load("mini")
    target.write_text("\n".join(lines[:8]))
    with pytest.raises(
        ValueError,
        match=r"mini: outputs, inputs, systems: got \(8, 1, 8\), expected \(600, 75, 8\)",
    ):
        datasets.load("mini")


def test_load_names_unknown_data_sets_and_options():
    with pytest.raises(
        UnknownName, match="unknown data set 'sumeval'; nearest: summeval"
    ):
        datasets.load("sumeval")
    with pytest.raises(UnknownName, match=r"\d+ names are known, none of them near"):
        datasets.load("zzz")


def test_describe_works_without_data(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "registry.csv").write_bytes(
        (files.data() / "registry.csv").read_bytes()
    )
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path))
    monkeypatch.delenv("NLGEVAL_DATA_MIRROR", raising=False)
    monkeypatch.setattr(
        datasets.fetch,
        "_download",
        lambda *a, **k: pytest.fail("describe used the network"),
    )
    table = datasets.describe()
    assert list(table.index) == list(datasets.NAMES)
    assert not table["here"].any() and table["reason"].str.len().gt(0).all()
    assert table.loc["summeval", ["rows", "outputs", "inputs", "systems"]].tolist() == [
        6400,
        1600,
        100,
        16,
    ]
    assert table.loc["wmt22_zhen", "scale"] == "-inf to 0"
    monkeypatch.setenv("NLGEVAL_OFFLINE", "1")
    here, reason = datasets.available("summeval")
    assert not here and "summeval/bartscore_data.pkl" in reason and "\n" not in reason


def test_a_wrong_count_names_data_set_got_and_expected(tmp_path, monkeypatch, mirror):
    """A file that passes its checksum but has fewer records: the registry's row is
    made to fit it.
    """
    records = json.loads(
        (mirror / "topical_chat" / "unieval_topical_chat_result.json").read_text()
    )[:-6]
    shorter = json.dumps(records).encode()
    monkeypatch.setattr(
        datasets.fetch, "json_file", lambda relpath: json.loads(shorter)
    )
    with pytest.raises(
        ValueError, match=r"topical_chat: .*got \(354, 59, 6\), expected \(360, 60, 6\)"
    ):
        datasets.load("topical_chat")


# --- the frame itself ---


def _frame(rows: list[tuple[str, str, str, float]]) -> pd.DataFrame:
    long = pd.DataFrame(rows, columns=["input_id", "system_id", "aspect", "human"])
    long.insert(0, "dataset", "toy")
    return long.assign(output=[f"text {n}" for n in range(len(long))])


def test_items_of_a_small_frame():
    long = _frame(
        [
            ("a", "s", "x", 1.0),
            ("a", "s", "y", 2.0),
            ("b", "s", "x", 3.0),
            ("b", "s", "y", 4.0),
        ]
    )
    long["output"] = ["one", "one", "two", "two"]
    long["judge"] = [0.1, 0.2, 0.3, 0.4]
    long["length"] = [3, 3, 3, 3]
    wide = datasets.items(long)
    assert (
        " ".join(wide)
        == "dataset input_id system_id human_x human_y output judge_x judge_y length"
    )
    assert wide["judge_y"].tolist() == [0.2, 0.4]
    with pytest.raises(
        ValueError, match="the rows of aspect y are not the outputs of x"
    ):
        datasets.items(long[:3])


def test_quick_keeps_the_first_inputs_whole(data):
    long = data("summeval")
    part = datasets.quick(long, inputs=3)
    assert len(part) == 3 * 16 * 4 and part.attrs["n_items"] == 48
    assert part["input_id"].unique().tolist() == long["input_id"].unique()[:3].tolist()


def test_quick_takes_pairs_of_every_category(data):
    part = datasets.quick(data("hhh"), inputs=8)
    assert part.drop_duplicates("input_id")["category"].value_counts().eq(2).all()
    assert part["category"].nunique() == 4 and len(part) == 16


PROMPT = (
    "###Task Description:\nJudge it.\n\n###The instruction to evaluate:\n{i}\n\n###Response to evaluate:\n{o}\n\n"
    "###Reference Answer (Score 5):\n{r}\n\n###Score Rubrics:\n{s}\n\n###Feedback: "
)
TEXT = st.text("ab5 \n\t.:()[]é\u2028\x00字😀", max_size=40)


@settings(max_examples=100, deadline=None)
@given(i=TEXT, o=TEXT, r=TEXT, s=TEXT)
def test_splitting_a_prompt_gives_back_its_parts(i, o, r, s):
    assert prometheus.split(PROMPT.format(i=i, o=o, r=r, s=s)) == (i, o, r, s)


@pytest.mark.parametrize(
    "broken",
    [
        PROMPT.replace("###Score Rubrics:\n", ""),
        PROMPT.format(i="###Response to evaluate:\nx", o="o", r="r", s="s"),
        PROMPT + "Good. [RESULT] 5",
        "before\n" + PROMPT,
        "",
    ],
)
def test_a_prompt_of_another_form_is_refused(broken):
    with pytest.raises(ValueError, match="heading"):
        prometheus.split(broken)
