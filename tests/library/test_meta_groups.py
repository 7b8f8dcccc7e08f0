"""Families and topics: what is left out, drawn or exchanged is the whole group."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from meta_oracles import at_level, judged
from scipy import stats

from nlgeval_lib import datasets, statistics
from nlgeval_lib.datasets import families as known

FAMILIES = ["a", "b", "a", "c", "d", "d", "b", "e"]
TOPICS = [f"t{number % 4}" for number in range(12)]


def variance(values):
    values = np.asarray(values)
    squares = (values - values.mean()) ** 2
    return (len(values) - 1) / len(values) * squares.sum()


def without_groups(x, y, coef, level, labels, axis):
    """The coefficient without each group, counted anew by the oracle."""
    values = []
    for label in dict.fromkeys(labels):
        member = np.array(labels) == label
        lacking = member[:, None] if axis == 0 else member[None, :]
        values.append(at_level(np.where(lacking, np.nan, x), y, coef, level))
    return np.array(values)


@pytest.mark.parametrize("level", ["dataset", "input", "system"])
@pytest.mark.parametrize("coef", ["pearson", "kendall-b"])
def test_the_jackknife_leaves_out_whole_groups(level, coef):
    x, y = judged(8, 12, 3)
    by_family = without_groups(x, y, coef, level, FAMILIES, 0)
    by_topic = without_groups(x, y, coef, level, TOPICS, 1)
    result = statistics.correlate(
        x,
        y,
        coef,
        level,
        ci="jack-both",
        system_groups=FAMILIES,
        input_groups=TOPICS,
    )
    error = np.sqrt(variance(by_family) + variance(by_topic))
    reach = stats.t.ppf(0.975, (4 - 1) / 2) * error
    assert result.low == pytest.approx(max(result.value - reach, -1))
    assert result.high == pytest.approx(min(result.value + reach, 1))
    assert "|df:1.5|groups:systems(5)+inputs(4)" in result.signature()
    assert "groups of inputs" in result.reason


def test_a_paired_test_leaves_out_whole_groups():
    (first, y), (second, _) = judged(8, 12, 3), judged(8, 12, 4)
    sides = [
        without_groups(side, y, "pearson", "dataset", FAMILIES, 0)
        for side in (first, second)
    ]
    result = statistics.compare(
        first, second, y, "pearson", units="jack-systems", system_groups=FAMILIES
    )
    t = result.difference / np.sqrt(variance(sides[0] - sides[1]))
    assert result.p == pytest.approx(2 * stats.t.sf(abs(t), 2))


def test_families_change_places_as_a_whole():
    (first, y), (second, _) = judged(8, 12, 3), judged(8, 12, 4)
    result = statistics.compare(
        first, second, y, "pearson", "system", "exact-systems", system_groups=FAMILIES
    )
    means = [side.mean(axis=1) for side in (first, second, y)]
    scaled = [
        (side.mean(axis=1) - side.mean()) / side.std() for side in (first, second)
    ]
    labels = np.array(FAMILIES)
    null = []
    for flips in itertools.product([False, True], repeat=5):
        flipped = dict(zip("abcde", flips, strict=True))
        turned = np.array([flipped[label] for label in labels])
        one = np.where(turned, scaled[1], scaled[0])
        two = np.where(turned, scaled[0], scaled[1])
        gap = np.corrcoef(one, means[2])[0, 1] - np.corrcoef(two, means[2])[0, 1]
        null.append(gap)
    expected = np.mean(np.abs(null) >= abs(null[0]) - 1e-12)
    assert result.p == pytest.approx(expected)
    assert "exact-systems/16|groups:systems" in result.test


def test_rows_of_one_topic_are_left_out_together():
    x, y = judged(1, 60, 5)
    topics = np.repeat(np.arange(12), 5)
    x, y = x[0], y[0]
    reduced = [stats.pearsonr(x[topics != t], y[topics != t])[0] for t in range(12)]
    error = np.sqrt(variance(np.arctanh(reduced)))
    result = statistics.correlate(x, y, "pearson", ci="auto", input_groups=topics)
    reach = stats.t.ppf(0.975, 5.5) * error
    assert result.low == pytest.approx(np.tanh(np.arctanh(result.value) - reach))
    assert "ci:jack-rows|df:5.5|groups:cells(12)" in result.signature()


def test_a_bootstrap_draws_whole_families():
    """Two families that each hold alike systems: a drawn data set has at most two
    different system means.
    """
    y = np.repeat([[1.0, 2, 3, 4], [4, 3, 1, 2]], 3, axis=0)
    x = y + 0.1 * np.arange(4)
    interval = statistics.correlate(
        x, y, "pearson", ci="boot-systems", system_groups=[0, 0, 0, 1, 1, 1], n_boot=50
    ).interval
    assert len(np.unique(interval.replicates.round(9))) <= 3


def test_two_families_speak_for_themselves_only():
    x, y = judged(6, 12, 1)
    result = statistics.correlate(
        x, y, "pearson", ci="auto", system_groups=list("aaabbb")
    )
    assert result.interval.name == "jack-inputs"
    assert "2 group(s) of systems: what is said holds for these systems" in (
        result.reason
    )
    same = statistics.correlate(
        x, y, "pearson", ci="auto", system_groups=list("abcdef")
    )
    assert same == statistics.correlate(x, y, "pearson", ci="auto")


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["a"] * 3, "got 3 labels for 6"), (["a", None, *"bbbb"], "1 of 6 labels")],
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    x, y = judged(6, 12, 1)
    with pytest.raises(ValueError, match=message):
        statistics.correlate(x, y, system_groups=labels)
    with pytest.raises(ValueError, match="flat data"):
        statistics.correlate(x[0], y[0], system_groups=labels)


# -- influence


def test_influence_names_the_two_that_carry_the_estimate():
    """Ten systems of noise, and two at one far place."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 12, 20))
    x[[3, 7]] += 6
    y[[3, 7]] += 6
    names = [f"M{number}" for number in range(12)]
    sides = [pd.DataFrame(side, index=names) for side in (x, y)]
    result = statistics.correlate(*sides, "pearson", ci="auto")
    rest = np.delete(np.arange(12), [3, 7])
    expected = stats.pearsonr(x[rest].ravel(), y[rest].ravel())[0]
    assert set(result.influence.units) == {"M3", "M7"}
    assert result.influence.value == pytest.approx(expected)
    assert result.influence.outside
    assert "outside the interval" in result.reason
    assert str(result.influence) in repr(result)


def test_influence_of_a_difference_that_one_system_makes():
    rng = np.random.default_rng(1)
    y = rng.normal(size=(8, 40))
    y[2] += 3
    first = y + 0.5 * rng.normal(size=y.shape)
    second = first.copy()
    second[2] = first[2] - 6
    result = statistics.compare(first, second, y, "pearson", units="jack-inputs")
    assert result.p < 0.05
    assert result.influence.units == ("system 2",)
    assert result.influence.value == pytest.approx(0, abs=1e-9)
    assert result.influence.turns


def test_few_systems_have_no_influence_told():
    x, y = judged(3, 12, 1)
    assert statistics.correlate(x, y, ci="auto").influence is None
    assert statistics.correlate(x[0], y[0], ci="auto").influence is None


# -- two questions


@pytest.mark.parametrize("coef", ["pearson", "kendall-b"])
def test_both_questions_are_answered(coef):
    (first, y), (second, _) = judged(8, 30, 3), judged(8, 30, 4)
    result = statistics.correlate(first, y, coef)
    for answer, ci in (
        (result.these_systems, "jack-inputs"),
        (result.other_systems, "jack-both"),
    ):
        expected = statistics.correlate(first, y, coef, ci=ci)
        assert (answer.low, answer.high) == (expected.low, expected.high)
    careful = statistics.correlate(first, y, coef, ci="careful-both")
    assert result.other_systems.careful_low == careful.low
    assert result.other_systems.careful_high == careful.high
    compared = statistics.compare(first, second, y, coef)
    for answer, units in (
        (compared.these_systems, "jack-inputs"),
        (compared.other_systems, "jack-both"),
    ):
        expected = statistics.compare(first, second, y, coef, units=units)
        assert answer.p == pytest.approx(expected.p)
        assert answer.detectable == pytest.approx(expected.detectable())


def test_the_test_follows_the_interval():
    (first, y), (second, _) = judged(8, 30, 3), judged(8, 30, 4)
    result = statistics.compare(first, second, y, "pearson", ci="jack-inputs")
    assert result.test.startswith("jack-inputs")
    assert (result.p < 0.05) == (not result.low <= 0 <= result.high)
    careful = statistics.compare(first, second, y, "pearson", ci="careful-both")
    assert careful.test.startswith("careful-both")


def test_careful_counts_the_systems_that_carry_the_variance():
    x, y = judged(8, 30, 3)
    plain = statistics.correlate(x, y, "pearson", ci="jack-both")
    careful = statistics.correlate(x, y, "pearson", ci="careful-both")
    reduced = without_groups(x, y, "pearson", "dataset", list(range(8)), 0)
    squares = (reduced - reduced.mean()) ** 2
    carrying = squares.sum() ** 2 / (squares**2).sum()
    spread = careful.replicates[1]
    assert spread.effective <= carrying + 1e-9
    assert spread.df == pytest.approx(min(3.5, spread.effective / 2))
    assert careful.high - careful.low >= plain.high - plain.low


# -- families of the known data sets


def test_families_name_systems_that_the_sets_have():
    for name, rows in known.table().groupby("dataset"):
        assert datasets.has(name)
        listed = datasets.frame.systems(name)
        if listed:
            families = rows[rows["kind"] == "family"]
            assert set(families["name"]) <= set(listed)
    assert known.of_systems("topical_chat", ["Argmax Decoding", "x"]) == [
        "Transformer",
        "x",
    ]


def test_ranks_of_systems_hardly_move_with_one_input():
    """The jackknife over inputs has no spread there; the answer resamples inputs."""
    x, y = judged(6, 30, 2)
    result = statistics.correlate(x, y, "kendall-b", "system", ci="jack-inputs")
    assert "hardly move with one input" in result.reason
    these = result.these_systems
    wide = statistics.correlate(x, y, "kendall-b", "system", ci="wide-inputs")
    assert (these.low, these.high) == (wide.low, wide.high)


def test_the_interval_that_says_something_comes_first():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(6, 1)) + rng.normal(size=(6, 30))
    x = y + 2 * rng.normal(size=(6, 30))
    few = statistics.correlate(x, y, "pearson", "system", ci="auto")
    assert list(few.answer()) == [
        "value",
        "low_these",
        "high_these",
        "low",
        "high",
        "n",
    ]
    assert few.answer()["low_these"] == few.these_systems.low > few.low
    many = statistics.correlate(x, y, "kendall-b", ci="auto")
    assert list(many.answer()) == ["value", "low", "high", "n"]
