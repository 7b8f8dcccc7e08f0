"""The jackknife: each left-out value counted anew, the formulas by hand, the edges
with their reasons.
"""

from __future__ import annotations

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from meta_oracles import COEFFICIENTS, LEVELS, at_level, judged
from scipy import stats

from nlgeval_lib import statistics
from nlgeval_lib.statistics import arrays, levels


def without(x, y, coef, level):
    """The coefficient without each system, input and cell, counted anew by the
    oracle.
    """
    systems, inputs = np.indices(x.shape)
    found = {}
    for unit, numbers in {
        "systems": systems,
        "inputs": inputs,
        "cells": systems * x.shape[1] + inputs,
    }.items():
        left = [np.where(numbers == one, np.nan, x) for one in np.unique(numbers)]
        found[unit] = np.array([at_level(side, y, coef, level) for side in left])
    return found


def test_left_out_values_keep_their_digits():
    """Without the outlier little is left of the sums of squares; without the odd
    one, nothing.
    """
    y = np.array([3.0, 1, 2, 5, 4, 7, 6, 1])
    for x in (
        np.array([1e7, 1.0, 2, 4, 3, 5, 9, 7]),
        np.array([1.0, 1, 1, 1, 1, 1, 2, 1]),
        1e160 * y + 1e150,
    ):
        found = levels.plan(x, y, "pearson", "dataset").without("cells")
        expected = without(x[None], y[None], "pearson", "dataset")["cells"]
        np.testing.assert_allclose(found, expected, atol=1e-10)


def variance(values):
    good = values[~np.isnan(values)]
    return (len(good) - 1) / len(good) * ((good - good.mean()) ** 2).sum()


@pytest.mark.parametrize("coef", COEFFICIENTS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["continuous", "ordinal", "gaps"])
def test_test_and_intervals_are_the_formulas(kind, level, coef):
    (first, y), (second, _) = (
        judged(6, 9, 1, kind),
        judged(6, 9, 2, "ordinal" if kind == "ordinal" else "continuous"),
    )
    if kind == "gaps":
        # a system with few items, an input without any
        first[1, :3], y[:, 2] = (
            np.nan,
            np.nan,
        )
    first, second, y = arrays.common(first, second, y)
    sides = [without(side, y, coef, level) for side in (first, second)]
    v = {
        unit: variance(sides[0][unit][keep] - sides[1][unit][keep])
        for unit, keep in present(y).items()
    }
    found = statistics.compare(
        first, second, y, coef, level, "jack-both", ci="jack-both", confidence=0.9
    )
    two = max(v["systems"] + v["inputs"] - v["cells"], v["systems"], v["inputs"])
    assert found.p == pytest.approx(
        2 * stats.t.sf(abs(found.difference) / math.sqrt(two), 2.5), rel=1e-8
    )
    reach = stats.t.ppf(0.95, 2.5) * math.sqrt(two)
    assert (found.low, found.high) == pytest.approx(
        (max(found.difference - reach, -2), min(found.difference + reach, 2)), abs=1e-9
    )
    assert (
        "|test:jack-both|df:2.5|alt:two-sided|ci:jack-both|df:2.5|conf:0.9"
        in found.signature()
    )
    for units, df in (("systems", 2.5), ("inputs", present(y)["inputs"].sum() - 1)):
        one = statistics.compare(
            first, second, y, coef, level, f"jack-{units}", alternative="greater"
        )
        assert one.p == pytest.approx(
            stats.t.sf(one.difference / math.sqrt(v[units]), df), rel=1e-8
        )
    tails = [
        statistics.compare(
            *sides, y, coef, level, "jack-both", alternative=alternative
        ).p
        for sides, alternative in (
            ((first, second), "greater"),
            ((second, first), "less"),
        )
    ]
    assert tails[0] == pytest.approx(tails[1]) and 2 * min(
        tails[0], 1 - tails[0]
    ) == pytest.approx(found.p)

    own = {unit: variance(sides[0][unit][keep]) for unit, keep in present(y).items()}
    total = own["systems"] + own["inputs"]
    if level != "dataset":
        total = max(total - own["cells"], own["systems"], own["inputs"])
    one = statistics.correlate(first, y, coef, level, ci="jack-both")
    reach = stats.t.ppf(0.975, 2.5) * math.sqrt(total)
    bottom = 0 if coef == "acc-eq" else -1
    assert (one.low, one.high) == pytest.approx(
        (max(one.value - reach, bottom), min(one.value + reach, 1)), abs=1e-9
    )


def present(y):
    here = ~np.isnan(y)
    return {
        "systems": here.any(axis=1),
        "inputs": here.any(axis=0),
        "cells": here.ravel(),
    }


def test_rows_of_flat_data():
    x, y = (side.ravel() for side in judged(1, 40, 3))
    found = statistics.correlate(x, y, "spearman", ci="auto")
    z = np.arctanh(
        [stats.spearmanr(np.delete(x, i), np.delete(y, i)).statistic for i in range(40)]
    )
    reach = stats.t.ppf(0.975, 39) * math.sqrt(variance(z))
    assert (found.low, found.high) == pytest.approx(
        tuple(np.tanh(np.arctanh(found.value) + reach * np.array([-1, 1])))
    )
    assert found.signature().endswith("|ci:jack-rows|df:39")
    test = statistics.compare(x, -x, y, "spearman", units="auto")
    assert test.p == pytest.approx(
        2 * stats.t.sf(2 * found.value / math.sqrt(variance(2 * np.tanh(z))), 39)
    )


def test_permutation_of_systems_takes_every_pattern():
    first = judged(5, 6, 0)[0]
    second = judged(5, 6, 9, noise=3.0)[0]
    y = judged(5, 6, 0)[1]
    one, two = (stats.zscore(side, axis=None) for side in (first, second))
    gap = []
    for coins in itertools.product((False, True), repeat=5):
        mask = np.array(coins)[:, None]
        sides = np.where(mask, two, one), np.where(mask, one, two)
        gap.append(
            np.subtract(*(at_level(side, y, "pearson", "system") for side in sides))
        )
    gap = np.array(gap)
    for alternative, extreme in (
        ("two-sided", abs(gap) >= abs(gap[0]) - 1e-12),
        ("greater", gap >= gap[0] - 1e-12),
        ("less", gap <= gap[0] + 1e-12),
    ):
        found = statistics.compare(
            first,
            second,
            y,
            "pearson",
            "system",
            "exact-systems",
            alternative=alternative,
        )
        assert found.p == pytest.approx(extreme.mean(), abs=1e-12)
    assert (
        "test:exact-systems/16|alt:less|scale:z" in found.signature()
        and "seed" not in found.signature()
    )
    least = statistics.compare(y, -y, y, "pearson", "system", "exact-systems")
    assert least.p == 1 / 16 and "5 systems cannot reach .05" in least.reason
    sides = (*judged(15, 4, 0), judged(15, 4, 1)[0])
    many = statistics.compare(*sides, level="system", units="exact-systems", n_perm=50)
    assert "test:perm-systems/50|" in many.signature() and "seed:0" in many.signature()


def test_wide_tails_are_those_of_t():
    x, y = judged(8, 30, 0)
    found = statistics.correlate(x, y, "spearman", "system", ci="wide-both", n_boot=500)
    tail = stats.norm.cdf(-math.sqrt(8 / 7) * stats.t.ppf(0.975, 7))
    plain = statistics.correlate(x, y, "spearman", "system", ci="boot-both", n_boot=500)
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(plain.replicates, [tail, 1 - tail]))
    )


with (Path(__file__).parents[1] / "cases" / "intervals_chosen.csv").open(
    newline=""
) as table:
    CHOSEN = list(csv.DictReader(table))


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: "-".join(case.values()))
def test_auto_chooses_by_level_and_size(case):
    (x, y), (other, _) = (
        judged(int(case["systems"]), int(case["inputs"]), seed) for seed in (0, 5)
    )
    one = statistics.correlate(x, y, case["coef"], case["level"], ci="auto")
    assert (
        ("|ci:" + case["interval"] in one.signature())
        if case["interval"]
        else ("|ci:" not in one.signature())
    )
    assert math.isnan(one.low) == (not case["interval"]) and case["words"] in one.reason
    test = statistics.compare(x, other, y, case["coef"], case["level"], "auto")
    assert f"|test:{case['test']}|" in test.signature()


def test_edges_have_a_reason():
    x, y = judged(6, 10, 0)
    same = statistics.compare(x, 2 * x, y, units="jack-both")
    assert same.p == 1 and same.difference == 0 and math.isnan(same.detectable())
    nothing = statistics.compare(y, -y, y, "spearman", units="jack-both")
    assert math.isnan(nothing.p) and "same whatever is left out" in nothing.reason
    for which, pair in (
        ("first", (np.ones_like(x), x)),
        ("second", (x, np.ones_like(x))),
    ):
        none = statistics.compare(*pair, y, units="jack-both")
        assert math.isnan(none.p) and f"{which} judge" in none.reason
    assert not math.isnan(statistics.compare(np.ones_like(x), x, y, "acc-eq").p)
    assert (
        "nothing can be said across both"
        in statistics.compare(x[:2], x[2:4], y[:2], units="jack-both").reason
    )
    rare = np.zeros((6, 10))
    often = np.zeros((6, 10))
    rare[0, 0] = often[0, 0] = often[1, 3] = often[1, 4] = (
        1  # without system 1, the first is constant
    )
    one = statistics.correlate(rare, y, "pearson", ci="jack-both")
    assert "undefined without 1 of 6 systems" in one.reason and one.low < one.high
    line = np.arange(10.0)
    assert "no interval" in statistics.correlate(line, line, ci="auto").reason


def test_detectable_difference_is_closed_and_plans():
    x, y = judged(8, 30, 0)
    found = statistics.compare(x, judged(8, 30, 4)[0], y, "pearson", units="jack-both")
    error = abs(found.difference) / stats.t.isf(found.p / 2, 3.5)
    assert found.detectable(0.8) == pytest.approx(
        (stats.t.ppf(0.975, 3.5) + stats.t.ppf(0.8, 3.5)) * error, rel=1e-6
    )
    assert found.detectable(systems=8, inputs=30) == pytest.approx(found.detectable())
    assert (
        found.detectable(systems=32) < found.detectable()
        and found.detectable(inputs=10) > found.detectable()
    )
    by_inputs = statistics.compare(x, y, y, "pearson", units="jack-inputs")
    assert by_inputs.detectable() > 0
    with pytest.raises(ValueError, match="over both"):
        by_inputs.detectable(systems=9)
    assert math.isnan(statistics.compare(x, y, y, units="both", n_perm=9).detectable())


def test_the_mean_of_intervals():
    (x, y), other = judged(6, 12, 0), judged(6, 12, 4)[0]
    parts = [
        statistics.correlate(side, y, "pearson", ci="jack-both") for side in (x, other)
    ]
    mean = np.mean([part.value for part in parts])
    found = statistics.intervals.of_mean([part.replicates for part in parts], mean)
    scaled = statistics.intervals.of_mean(
        [statistics.intervals.times(part.replicates, 100) for part in parts], 100 * mean
    )
    assert (scaled.low, scaled.high) == pytest.approx(
        (100 * found.low, 100 * found.high)
    )
    apart = statistics.correlate(
        judged(6, 20, 1)[0], judged(6, 20, 1)[1], "pearson", ci="jack-both"
    )
    independent = statistics.intervals.of_mean(
        [parts[0].replicates, apart.replicates], mean
    )
    reach = [part.high - part.value for part in (parts[0], apart)]
    assert independent.high - mean == pytest.approx(math.hypot(*reach) / 2)


@pytest.mark.parametrize("units", ["jack-both", "boot-both"])
def test_a_difference_of_means_of_one_part_is_that_of_two_coefficients(units):
    x, y = judged(8, 12, 0)
    other = judged(8, 12, 3)[0]
    parts = [
        [statistics.correlate(one, y, ci=units, n_boot=200).replicates]
        for one in (x, other)
    ]
    plain = statistics.compare(x, other, y, ci=units, n_boot=200)
    ends = statistics.intervals.of_difference(*parts, plain.difference)
    assert (ends.low, ends.high) == pytest.approx((plain.low, plain.high))


@pytest.mark.parametrize("coef", COEFFICIENTS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["continuous", "ordinal", "gaps"])
def test_closed_forms_are_the_coefficient_without_each_unit(kind, level, coef):
    """Where inputs, or systems, are many they are not weighed one by one."""
    for systems, inputs in ((3, 17), (17, 3), (5, 5)):
        x, y = judged(systems, inputs, 3, kind if kind != "gaps" else "ordinal")
        if kind == "gaps":
            x[0, 1:] = np.nan
            x[:, 2] = np.nan
        x, y = arrays.common(x, y)
        plan = levels.plan(x, y, coef, level)
        for unit in ("systems", "inputs"):
            expected = plan.without_these(unit, None)
            np.testing.assert_allclose(plan.without(unit), expected, atol=1e-12)
