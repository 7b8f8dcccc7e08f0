"""Labelled sets, and the printed numbers of papers other than the five: how many of them
follow from the published labels and verdicts.
"""

from __future__ import annotations

import json

import learned_rubric
import numpy as np
import others
import pandas as pd
import pytest
from cli_tools import cases, frame_hash, has_texts, numbers_hash

from nlgeval_lib import datasets
from nlgeval_lib.datasets import alttest, labelled, llmbar

LABELLED = [name for name in datasets.NAMES if datasets.kind(name) == "labels"]

COMPARED = {
    "LLMBar": others.llmbar,
    "AltTest": others.alttest,
    "JUDGE-BENCH": others.judge_bench,
    "LLM-Rubric": others.llm_rubric,
    "PandaLM": others.pandalm,
    "UniEval": others.unieval,
}
# paper, statistic ("" for all) -> how many printed numbers are compared, all of them equal
GOLDEN = {
    ("AltTest", ""): 104,
    ("LLMBar", "kappa_orders"): 325,
    ("LLMBar", ""): 2925,
    ("JUDGE-BENCH", ""): 13,
    ("LLM-Rubric", "pearson spearman kendall"): 9,
    ("LLM-Rubric", ""): 18,
    ("PandaLM", ""): 14,
    ("UniEval", ""): 36,
}


@pytest.fixture(scope="module")
def comparisons():
    """The comparison of a paper, made once; from the numbers in the checkout."""
    made: dict = {}

    def compare(paper: str) -> pd.DataFrame:
        if paper not in made:
            made[paper] = COMPARED[paper]()
        return made[paper]

    return compare


@pytest.mark.parametrize("paper, statistics", GOLDEN)
def test_every_printed_number_follows(comparisons, paper, statistics):
    table = comparisons(paper)
    if statistics:
        table = table[table["statistic"].isin(statistics.split())]
    assert len(table) == GOLDEN[paper, statistics]
    assert table["equal"].all(), table[~table["equal"]].to_string()


def test_at_least_900_numbers_are_compared(comparisons):
    assert sum(len(comparisons(paper)) for paper in COMPARED) >= 900


def test_pandalms_printed_row_is_that_of_silent_ties():
    """25 answers of GPT-3.5 without a verdict: ties 71.07, left out 71.56, wrong 69.77."""
    accuracies = {}
    for unread in ("tie", "drop", "wrong"):
        table = others.pandalm(unread).set_index(["statistic", "of"])
        accuracies[unread] = round(table.loc[("accuracy", "gpt-3.5-turbo"), "ours"], 2)
    assert accuracies == {"tie": 71.07, "drop": 71.56, "wrong": 69.77}


def test_an_equal_number_is_equal_to_its_last_digit():
    assert others.is_equal("0.69", 0.6949) and not others.is_equal("0.69", 0.6951)
    assert others.is_equal("71.07", 71.071) and not others.is_equal("71.07", 71.0)
    assert others.is_equal("0.26775689528923596", 0.267756895289236)
    assert not others.is_equal("0.26775689528923596", 0.2677568)
    assert others.is_equal("", float("nan")) and not others.is_equal("", 0.0)


def test_llmbars_printed_statistics_are_those_of_its_files(mirror):
    """The table in the checkout against one of the publisher's own files."""
    listed = others.printed("llmbar").set_index(["judge", "prompt_form", "subset"])
    row = listed.loc[("GPT-4", "Metrics_Reference", "Neighbor")]
    path = mirror / llmbar.SUBSETS["Neighbor"] / "evaluators/GPT-4/Metrics_Reference"
    file = json.loads((path / "statistics.json").read_text())
    assert float(row["kappa_orders"]) == file["kappa_agreement"]
    assert file["correct_False"].startswith(f"{row['correct_given']} / {row['pairs']}")


# --- labelled sets


@pytest.mark.parametrize("name", LABELLED)
def test_counts_and_form(data, name):
    frame = data(name)
    [case] = [case for case in cases("frames") if case["name"] == name]
    assert numbers_hash(frame) == case["numbers"]
    assert not has_texts(frame) or frame_hash(frame) == case["hash"]
    counts = [frame.attrs[key] for key in ("n_items", "n_inputs", "n_systems")]
    assert counts == case["counts"]
    columns = [name for name in frame if name.startswith("rater_")]
    for aspect, (low, high) in frame.attrs["scale"].items():
        rows = frame.loc[frame["aspect"] == aspect, ["human", *columns]]
        values = rows.to_numpy(dtype=float)
        assert np.nanmin(values) >= low and np.nanmax(values) <= high


def test_labels_are_those_of_the_file(data, mirror, needs):
    """One rater's labels of one set, read here."""
    needs("alttest_mtbench")
    text = (mirror / "alttest/mtbench/human_annotations.json").read_text()
    by_rater = json.loads(text)
    items = list(dict.fromkeys(item for said in by_rater.values() for item in said))
    last = list(by_rater.values())[-1]
    words = alttest.LABELS["mtbench"]
    expected = [words.index(last[item]) if item in last else np.nan for item in items]
    np.testing.assert_array_equal(data("alttest_mtbench")["rater_2"], expected)


def test_the_label_of_most_raters_stands_unless_two_have_as_many():
    table = pd.DataFrame(
        {"0": ["a", "a", None, "b"], "1": ["a", "b", None, None]}, index=list("wxyz")
    )
    coded = labelled.coded_table(table, ("a", "b"))
    np.testing.assert_array_equal(coded["0"], [0, 0, np.nan, 1])
    assert labelled._human(coded, 2)[0] == 0 and labelled._human(coded, 2)[3] == 1
    assert np.isnan(labelled._human(coded, 2)[1:3]).all()
    with pytest.raises(ValueError, match="unknown label 'b'; known: a"):
        labelled.coded_table(table, ("a",))


def test_an_aggregator_predicts_only_what_it_did_not_see():
    """Features that hold the answer: held out it is found again, and the mean of the
    features is plain arithmetic.
    """
    rng = np.random.default_rng(0)
    human = rng.normal(size=60)
    features = pd.DataFrame({"a": human, "b": -human / 2})
    predicted = learned_rubric.cross_fitted("lr", features, human, folds=5)
    np.testing.assert_allclose(predicted, human, atol=1e-8)
    average = learned_rubric.cross_fitted("average", features, human, folds=5)
    np.testing.assert_allclose(average, human / 4, atol=1e-12)
    noise = learned_rubric.cross_fitted("dt", features * 0, human, folds=60)
    # the mean of all others is lower where the left-out value is higher
    assert np.corrcoef(noise, human)[0, 1] < -0.99
