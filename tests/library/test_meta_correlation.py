"""Every coefficient equals scipy's or a count of pairs, at every level; bad input is
refused or explained.
"""

from __future__ import annotations

import dataclasses
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from meta_oracles import (
    COEFFICIENTS,
    LEVELS,
    by_scipy,
    coefficient,
    fields,
    judged,
    summeval_judge,
)
from scipy import stats

from nlgeval_lib import statistics
from nlgeval_lib.statistics import correlate, levels

tied = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=3, max_size=40
)
halves = st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v * 2) / 2)
loose = st.lists(st.tuples(halves, halves), min_size=3, max_size=40)


def same(a: float, b: float, tolerance: float = 1e-12) -> bool:
    return (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance


@pytest.mark.parametrize("coef", COEFFICIENTS)
@settings(max_examples=120, deadline=None)
@given(pairs=st.one_of(tied, loose))
def test_flat_coefficients_equal_scipy(coef, pairs):
    x, y = np.array(pairs, dtype=float).T
    result = statistics.correlate(x, y, coef)
    assert same(
        result.value,
        by_scipy(x, y, coef),
        0 if coef in ("kendall-b", "kendall-c") else 1e-12,
    )
    assert same(coefficient(x, y, coef), by_scipy(x, y, coef))
    assert (result.reason == "") == (result.value == result.value)


def test_many_judges_at_once_equal_one_by_one():
    stack = np.stack(
        [judged(8, 12, seed, "gaps")[0] for seed in range(5)] + [np.ones((8, 12))]
    )
    y = judged(8, 12, 99, "ordinal")[1]
    for level in LEVELS:
        for coef in COEFFICIENTS:
            together = statistics.coefficients(stack, y, coef, level)
            alone = [statistics.correlate(x, y, coef, level).value for x in stack]
            np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)
    flat = statistics.coefficients(stack.reshape(6, -1), y.ravel(), "spearman")
    np.testing.assert_allclose(
        flat, statistics.coefficients(stack, y, "spearman"), rtol=0, atol=1e-12
    )


def test_ties_of_means_do_not_break_by_rounding():
    thirds = np.array([[1, 2, 4], [4, 2, 1], [2, 4, 1], [5, 5, 5]]) / 3
    y = np.array([[1.0, 1, 1], [2, 2, 2], [3, 3, 3], [4, 4, 4]])
    expected = stats.kendalltau([0, 0, 0, 1], [1, 2, 3, 4]).statistic
    assert statistics.correlate(thirds, y, "kendall-b", "system").value == expected
    swapped = statistics.correlate(thirds[:, ::-1], y, "spearman", "system").value
    assert swapped == statistics.correlate(thirds, y, "spearman", "system").value


def test_result_counts_and_signature():
    x, y = judged(4, 5, 0)
    x[0, 0], y[1, 1], x[:, 2] = np.nan, np.nan, 1.0
    result = statistics.correlate(x, y, level="input")
    assert (
        result.n,
        result.n_units,
        result.n_skipped,
        result.n_missing,
        result.total,
    ) == (18, 4, 1, 2, 20)
    assert result.signature() == "level:input|coef:kendall-b|nan:drop(2/20)|skipped:1"
    flat = statistics.correlate(x, y, ci="boot-both", n_boot=50)
    assert (
        flat.signature()
        == "level:dataset|coef:kendall-b|nan:drop(2/20)|ci:boot-both/50|seed:0"
    )
    assert flat.low <= flat.value <= flat.high
    assert float(flat) == flat.value
    with pytest.raises(dataclasses.FrozenInstanceError):
        flat.value = 1.0
    short, full = (
        statistics.correlate(x, y, "kendall"),
        statistics.correlate(x, y, "kendall-b"),
    )
    assert fields(short) == fields(full)


def test_policies_fill_only_scores_and_count_them():
    x = np.array([1.0, np.nan, 3, 4, 5])
    y = np.array([2.0, 1, 4, np.nan, 5])
    values = {
        policy: statistics.correlate(x, y, "pearson", nan=policy).value
        for policy in statistics.POLICIES
        if policy != "error"
    }
    kept = [0, 1, 2, 4]
    for policy, fill in (("zero", 0.0), ("mean", 3.25), ("min", 1.0), ("max", 5.0)):
        filled = np.where(np.isnan(x), fill, x)
        assert values[policy] == pytest.approx(
            coefficient(filled[kept], y[kept], "pearson"), abs=1e-12
        )
    assert values["drop"] == pytest.approx(
        coefficient(x[[0, 2, 4]], y[[0, 2, 4]], "pearson"), abs=1e-12
    )
    assert "nan:zero(2/5)" in statistics.correlate(x, y, nan="zero").signature()


CONSTANT = np.ones((3, 4))
FINE = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("coef", COEFFICIENTS[:-1])
def test_constants_are_nan_with_a_reason(coef, level):
    for x, y in ((CONSTANT, FINE), (FINE, CONSTANT), (CONSTANT, CONSTANT)):
        for ci in (None, "boot-inputs", "jack-inputs", "auto"):
            result = statistics.correlate(x, y, coef, level, ci=ci, n_boot=20)
            assert math.isnan(result.value) and math.isnan(result.low) and result.reason


def test_a_side_that_varies_by_rounding_only_is_constant_for_pearson():
    x = np.full(6, 0.1) + np.array([0, 0, 1, 0, 1, 0]) * 1e-17
    nearly = np.array([1e16, 1e16 + 2, 1e16, 1e16 + 2, 1e16, 1e16 + 2])
    for side in (x, nearly):
        result = statistics.correlate(side, np.arange(6.0), "pearson")
        assert math.isnan(result.value) and "constant" in result.reason


messy = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-3, 3).map(float),
    st.just(float("nan")),
    st.just(0.0),
)


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    systems=st.integers(1, 5),
    inputs=st.integers(1, 5),
    coef=st.sampled_from(COEFFICIENTS),
    level=st.sampled_from(LEVELS),
    nan=st.sampled_from(sorted(statistics.POLICIES)),
)
def test_never_a_silent_number(data, systems, inputs, coef, level, nan):
    cells = st.lists(messy, min_size=systems * inputs, max_size=systems * inputs)
    x = np.array(data.draw(cells)).reshape(systems, inputs)
    y = np.array(data.draw(cells)).reshape(systems, inputs)
    try:
        result = statistics.correlate(x, y, coef, level, nan, ci="boot-both", n_boot=10)
    except ValueError as error:
        assert len(str(error)) > 10
        return
    assert not np.isinf(x).any() and not np.isinf(y).any()
    if math.isnan(result.value):
        assert result.reason and math.isnan(result.low) and math.isnan(result.high)
    else:
        assert -1 <= result.value <= 1 and result.n >= 3
        assert math.isnan(result.low) == math.isnan(result.high)
        if math.isnan(result.low):
            assert result.reason


def test_the_numbers_on_record_for_one_judge(needs):
    """gpt-4o on SummEval coherence: the choice of level moves the same judge from
    .535 to .797.
    """
    x, y = summeval_judge(needs, "gpt-4o", "coherence")
    values = [
        round(statistics.correlate(x, y, "spearman", level).value, 3)
        for level in LEVELS
    ]
    assert values == [0.535, 0.542, 0.797]
    rows, both = (
        statistics.correlate(x, y, "spearman", ci=f"boot-{unit}")
        for unit in ("rows", "both")
    )
    assert 0.07 < rows.high - rows.low < 0.085
    assert both.high - both.low > 2.8 * (rows.high - rows.low)


@pytest.mark.parametrize("coef", COEFFICIENTS)
@pytest.mark.parametrize("kind", ["continuous", "mixed", "ordinal"])
def test_one_coefficient_of_a_long_list_is_scipys(coef, kind):
    x, y = (side.ravel() for side in judged(1, 60_000, 5, kind))
    x[:10] = np.nan
    value = statistics.correlate(x, y, coef).value
    by_scipy = {
        "pearson": lambda a, b: stats.pearsonr(a, b).statistic,
        "spearman": lambda a, b: stats.spearmanr(a, b).statistic,
        "kendall-b": lambda a, b: stats.kendalltau(a, b).statistic,
        "kendall-c": lambda a, b: stats.kendalltau(a, b, variant="c").statistic,
    }
    if coef in by_scipy:
        expected = by_scipy[coef](x[10:], y[10:])
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("coef", COEFFICIENTS)
def test_a_long_constant_judge_is_treated_as_a_short_one(coef):
    """Five classes of equal size: two ratings of 100 are tied in 19 of 99 pairs."""
    ratings = np.arange(50_000) % 5.0
    found = statistics.correlate(np.full(len(ratings), 0.1), ratings, coef)
    short = statistics.correlate(np.full(100, 0.1), ratings[:100], coef)
    assert found.reason == short.reason
    assert np.isnan(found.value) == np.isnan(short.value)
    if coef == "acc-eq":
        size = len(ratings)
        assert found.value == pytest.approx((size / 5 - 1) / (size - 1), abs=1e-12)
        assert short.value == pytest.approx(19 / 99, abs=1e-12)


@pytest.mark.parametrize("coef", levels.OF_LONG)
@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
def test_a_long_list_has_the_value_of_a_short_one(coef, scale, monkeypatch):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 9, 400) * scale
    y = rng.normal(size=400) + np.arange(400) % 9
    y[::50] = np.nan
    short = correlate(x, y, coef).value
    monkeypatch.setattr(levels, "LONG", 10)
    assert correlate(x, y, coef).value == pytest.approx(short, abs=1e-12)
    assert np.isnan(correlate(np.full(400, 0.1), y, coef).value)
