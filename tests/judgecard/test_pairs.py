"""Pairs: their frame, what ratings and raters make of them, and what a judge of pairs is
worth; against small tables done by hand, scikit-learn, and the publishers' counts.
"""

from __future__ import annotations

import io
import itertools

import numpy as np
import pandas as pd
import pytest
from cli_tools import cases, frame_hash, has_texts, numbers_hash
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from judgecard import pair_judges, recordings
from nlgeval_lib import datasets, statistics
from nlgeval_lib.datasets import pairs

NAN = float("nan")
PAIRED = [name for name in datasets.NAMES if datasets.kind(name) == "pairs"]
verdicts = st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=2, max_size=30)


@pytest.mark.parametrize("name", PAIRED)
def test_counts_and_form(data, name):
    frame = data(name)
    [case] = [case for case in cases("frames") if case["name"] == name]
    assert numbers_hash(frame) == case["numbers"]
    assert not has_texts(frame) or frame_hash(frame) == case["hash"]
    assert list(frame.columns[:6]) == list(pairs.KEYS[:6])
    counts = [frame.attrs[key] for key in ("n_items", "n_inputs", "n_systems")]
    assert counts == case["counts"]
    assert frame.attrs["kind"] == "pairs" and frame["pair_id"].is_unique
    pd.testing.assert_frame_equal(pairs.swapped(pairs.swapped(frame)), frame)


def test_llmbar_has_its_subsets_and_labels(data):
    """Sizes by the paper (Zeng et al. 2024, Table 1), labels counted in the files."""
    frame = data("llmbar")
    sizes = {"Natural": 100, "Neighbor": 134, "GPTInst": 92, "GPTOut": 47, "Manual": 46}
    assert frame["subset"].value_counts().to_dict() == sizes
    assert frame["preference"].value_counts().to_dict() == {1.0: 206, 2.0: 213}


def test_pandalm_labels_are_the_majority_of_its_raters(data):
    """105 ties, 422 and 472, as its authors count."""
    frame = data("pandalm")
    counts = frame["preference"].value_counts().to_dict()
    assert counts == {0.0: 105, 1.0: 422, 2.0: 472}


def rated(*ratings: float, aspect: str = "fluency") -> pd.DataFrame:
    """One input with an output a rating."""
    rows = []
    for number, rating in enumerate(ratings):
        rows.append(
            {
                "dataset": "mine",
                "input_id": "one",
                "system_id": f"s{number}",
                "aspect": aspect,
                "human": rating,
                "rater_a": rating + 1,
                "output": f"text {number}",
            }
        )
    return pd.DataFrame(rows)


def test_ratings_give_every_pair_of_an_input():
    frame = pairs.from_ratings(rated(3, 1, 3, NAN))
    assert frame[["system_1", "system_2"]].agg("".join, axis=1).tolist() == [
        "s0s1",
        "s0s2",
        "s1s2",
    ]
    assert frame["preference"].tolist() == [1, 0, 2]
    assert frame["rater_a"].tolist() == [1, 0, 2]
    assert frame["output_2"].tolist() == ["text 1", "text 2", "text 2"]
    assert frame.attrs["left_out"] == 3
    with pytest.raises(ValueError, match="name one aspect; there are fluency, other"):
        pairs.from_ratings(pd.concat([rated(1, 2), rated(1, 2, aspect="other")]))
    with pytest.raises(ValueError, match="no aspect 'x'; there are fluency"):
        pairs.from_ratings(rated(1, 2), "x")
    with pytest.raises(ValueError, match="no input has two outputs"):
        pairs.from_ratings(rated(1))


def test_a_rated_set_gives_pairs_too(data, monkeypatch):
    frame = data("hhh")
    monkeypatch.setattr(datasets, "load", lambda name: frame)
    halves = datasets.load_pairs("hhh")
    assert len(halves) == 221 and set(halves["preference"]) == {1.0}


def test_the_majority_is_a_tie_where_no_verdict_has_most_votes():
    ratings = [[1, 1, 1, 0, NAN, NAN], [1, 2, 2, 0, 2, NAN], [2, 0, 2, 1, 1, NAN]]
    expected = [1, 0, 2, 0, 0, NAN]
    np.testing.assert_array_equal(pairs.majority(ratings), expected)


FAULTY = {
    "a preference that is none": (
        {"preference": [1.0, 3.0]},
        "pair b: preference 3.0 is not 1, 2 or 0 for a tie",
    ),
    "a pair twice": (
        {"pair_id": ["a", "a"], "preference": [1.0, 2.0]},
        "pair a is there more than once",
    ),
    "no preferences": ({}, "a frame of pairs has no column 'preference'"),
}


@pytest.mark.parametrize("columns, message", FAULTY.values(), ids=FAULTY)
def test_a_faulty_frame_is_refused(columns, message):
    frame = pd.DataFrame({"pair_id": ["a", "b"], **columns})
    with pytest.raises(ValueError, match=message):
        pairs.check(frame)


# --- what a judge of pairs is worth


@given(verdicts, st.randoms())
def test_accuracy_and_kappa_are_scikit_learns(labels, random):
    said = [random.choice([0.0, 1.0, 2.0]) for _ in labels]
    share = np.mean(np.array(said) == np.array(labels))
    assert statistics.pair_accuracy(said, labels).value == pytest.approx(share)
    kappa = statistics.order_effect(said, labels).kappa
    if len({*said, *labels}) > 1:
        assert kappa == pytest.approx(cohen_kappa_score(said, labels))
    else:
        assert np.isnan(kappa)


@given(verdicts)
def test_a_judge_that_follows_the_order_alone_is_biased_in_full(labels):
    always_first = np.ones(len(labels))
    effect = statistics.order_effect(always_first, pairs.flipped(always_first))
    assert (effect.bias, effect.value, effect.ties) == (1, 0, 0)
    fair = statistics.order_effect(labels, labels)
    assert fair.bias == 0 and fair.value == 1


@pytest.mark.parametrize("groups", [["a", "b"], ["a"] * 4])
def test_groups_of_other_pairs_are_refused(groups):
    verdicts = [1, 2, 1]
    message = f"got {len(groups)} groups for 3 pairs"
    with pytest.raises(ValueError, match=message):
        statistics.order_effect(verdicts, verdicts, groups)
    with pytest.raises(ValueError, match=message):
        statistics.pair_accuracy(verdicts, verdicts, groups)


def test_what_becomes_of_a_pair_without_a_verdict():
    said, labels = [1, 2, NAN, NAN], [1, 1, 0, 2]
    values = {
        unread: statistics.pair_accuracy(said, labels, unread=unread).value
        for unread in statistics.verdicts.UNREAD
    }
    assert values == {"drop": 1 / 2, "wrong": 1 / 4, "tie": 2 / 4}
    decided = statistics.pair_accuracy(said, labels, ties=False)
    assert (decided.n, decided.n_unread, decided.n_left_out) == (2, 1, 1)
    nothing = statistics.pair_accuracy([NAN], [1])
    assert np.isnan(nothing.value) and nothing.reason


def test_two_orders_become_one_verdict_by_a_named_rule():
    given_order = [1, 1, 1, 0, 2, NAN]
    swapped = [1, 2, 0, 0, 0, 1]
    expected = {
        "agree": [1, 0, 0, 0, 0, NAN],
        "first": given_order,
        "mean": [1, 0, 1, 0, 2, NAN],
    }
    for rule, verdict in expected.items():
        combined = statistics.combined(given_order, swapped, rule)
        np.testing.assert_array_equal(combined, verdict)


def test_the_interval_is_the_jackknife_over_groups_done_by_hand():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 12, 90)
    labels = rng.integers(0, 3, 90).astype(float)
    said = np.where(rng.random(90) < 0.6, labels, 0)
    right = said == labels
    left = [right[groups != group].mean() for group in np.unique(groups)]
    n = len(left)
    spread = np.sqrt((n - 1) / n * np.sum((left - np.mean(left)) ** 2))
    result = statistics.pair_accuracy(said, labels, groups)
    reach = 2.2009851601  # t with 11 degrees of freedom, from a table
    assert result.low == pytest.approx(right.mean() - reach * spread)
    assert result.high == pytest.approx(right.mean() + reach * spread)


def test_the_interval_covers_a_known_share():
    """600 simulated sets of 40 inputs x 5 pairs, inputs of different difficulty."""
    rng = np.random.default_rng(1)
    covered = 0
    labels = np.ones(200)
    inputs = np.repeat(np.arange(40), 5)
    for _ in range(600):
        share = np.repeat(rng.beta(6, 3, 40), 5)
        said = np.where(rng.random(200) < share, 1.0, 2.0)
        result = statistics.pair_accuracy(said, labels, inputs)
        covered += result.low <= 6 / 9 <= result.high
    assert 0.92 <= covered / 600 <= 0.98


def test_where_all_are_right_the_interval_is_the_exact_one():
    result = statistics.pair_accuracy(np.ones(20), np.ones(20))
    exact = stats.binomtest(20, 20).proportion_ci(method="exact")
    assert (result.low, result.high) == pytest.approx((exact.low, exact.high))
    halves = statistics.pair_accuracy([1, 2, 1, 2], [1, 1, 1, 1], [0, 0, 1, 1])
    assert np.isnan(halves.low) and halves.value == 0.5


REFUSED = {
    "another verdict": (([1, 3], [1, 1]), {}, "verdicts: 3 is not 1, 2, 0"),
    "another length": (([1], [1, 1]), {}, "verdicts: got 1 for 2 pairs"),
    "another word": (([1], [1]), {"unread": "no"}, "unread"),
}


@pytest.mark.parametrize("arguments, options, message", REFUSED.values(), ids=REFUSED)
def test_bad_verdicts_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        statistics.pair_accuracy(*arguments, **options)


# --- the recordings


def test_recorded_verdicts_are_about_the_frames_pairs(recorded, data):
    rows = recorded("llmbar_judges")
    frame = data("llmbar")
    assert len(rows) == 65 * 419 * 2 and rows["value"].isna().sum() == 134
    for _, of_judge in rows.groupby(["judge", "prompt_form"]):
        per_order = of_judge.pivot(index="pair_id", columns="order", values="value")
        assert set(per_order.index) == set(frame["pair_id"])
    forms = rows.groupby("judge")["prompt_form"].nunique().to_dict()
    assert sum(forms.values()) == 65 and forms["GPT-4"] == 15


def test_recorded_verdicts_of_pandalm(recorded):
    counts = recorded("pandalm_judges").groupby("judge")["value"].count().to_dict()
    assert counts == {"PandaLM-7B": 999, "gpt-3.5-turbo": 974}


def test_every_recording_of_pairs_has_both_keys():
    named = {recordings.keys(name) for name in recordings.NAMES}
    assert named == {recordings.KEYS, recordings.PAIR_KEYS}
    assert list(itertools.chain(recordings.keys("llmbar_judges")))[2] == "pair_id"


# --- judges of anyone's pairs


def test_a_file_of_verdicts_becomes_a_table(nl, tmp_path):
    """From the command line: words and numbers, both orders, a rater each."""
    lines = ["pair_id,input_id,winner,value,given,swapped,rater_a,rater_b"]
    lines += [
        "a,1,A,1,1,1,1,1",
        "b,2,B,0,1,2,2,2",
        "c,3,tie,2,2,2,0,1",
        "d,4,1,,1,,1,1",
    ]
    (tmp_path / "my.csv").write_text("\n".join(lines) + "\n")
    got = nl("meta", "--pairs", "my.csv", "--human", "winner", "--format", "csv")
    assert got.code == 0, got.err
    table = pd.read_csv(io.StringIO(got.out)).set_index("judge")
    both = table.loc["value, each order"]
    # right: a twice, b once of two, c never, d once of one
    assert both["accuracy"] == pytest.approx(4 / 7)
    assert both["consistency"] == pytest.approx(2 / 3)
    assert both["coverage"] == pytest.approx(7 / 8)
    assert table.loc["value", "accuracy"] == pytest.approx(1 / 3)
    assert table.loc[pair_judges.CEILING, "accuracy"] == pytest.approx(3 / 4)
    wrong = nl("meta", "--pairs", "my.csv", "--human", "winner", "--score", "pair_id")
    assert wrong.code == 2
    assert "my.csv, line 5, column 'pair_id': 'd'; a verdict is 1 or 2" in wrong.err
    lacking = nl("meta", "--pairs", "my.csv")
    assert lacking.code == 2 and "my.csv has no column 'preference'" in lacking.err


def test_pairs_have_marks_of_a_missing_verdict_and_names_of_ones_own(nl, tmp_path):
    """What stands for none counts as nothing; a text that is missing has no length."""
    lines = ["doc,human,mine,output_1,output_2,rater_a,rater_b"]
    lines += ["a,A,1,long,s,1,1", "b,B,99,,xyz,2,99", "c,B,2,y,zz,2,1"]
    (tmp_path / "my.csv").write_text("\n".join(lines) + "\n")
    columns = ("--map", "preference=human", "--map", "input_id=doc", "--score", "mine")
    call = ("meta", "--pairs", "my.csv", *columns, "--missing-values", "99,98")
    got = nl(*call, "--format", "csv")
    assert got.code == 0, got.err
    table = pd.read_csv(io.StringIO(got.out)).set_index("judge")
    assert table.loc["mine", "coverage"] == pytest.approx(2 / 3)
    assert table.loc["mine", "accuracy"] == 1
    assert table.loc["longer output (baseline)", "accuracy"] == 1
    assert table.loc[pair_judges.CEILING, "n"] == 2
    assert "of ratings and scores 99, 98 stand for none" in got.err
    assert "my.csv has no rating or score 98; is it another mark" in got.err


def test_the_baselines_are_beside_the_judges():
    frame = pd.DataFrame(
        {
            "preference": [1.0, 2.0, 0.0],
            "output_1": ["longer", "x", "y"],
            "output_2": ["short", "xyz", "z"],
        }
    )
    table = pair_judges.table(frame, {}).set_index("judge")["accuracy"]
    assert table["longer output (baseline)"] == 1
    assert table["output 1 (baseline)"] == pytest.approx(1 / 3)
    assert table["a tie (baseline)"] == pytest.approx(1 / 3)


def test_the_bias_of_order_has_an_interval_that_holds():
    """A judge that prefers what stands first in a tenth more of verdicts."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        better = rng.integers(1, 3, 150)
        given = np.where(rng.random(150) < 0.2, 1, better)
        swapped = np.where(rng.random(150) < 0.2, 2, better)
        effect = statistics.order_effect(given, swapped)
        held += effect.bias_low <= 0.2 <= effect.bias_high
        middle = (effect.bias_low + effect.bias_high) / 2
        assert middle == pytest.approx(effect.bias)
    assert 0.91 <= held / 200 <= 0.99
