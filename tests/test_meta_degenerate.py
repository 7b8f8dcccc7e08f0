"""Input at the edge of what statistics are defined for: an error or NaN with a reason, never a number by rounding."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import meta
from nlgeval_lib.meta import baselines

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(4, 10)), RNG.normal(size=(4, 10))
FLAT, OTHER, LENGTH = (RNG.normal(size=30) for _ in range(3))
TURNED = range(30)[::-1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: meta.weighted_kappa(pd.Series([1, 2, 3]), pd.Series([1, 2, 3], index=[2, 1, 0])),
        lambda: meta.correlate(pd.DataFrame(X), pd.DataFrame(Y)[list(range(10))[::-1]]),
        lambda: meta.coefficients(pd.DataFrame([FLAT, OTHER]), pd.Series(OTHER, index=TURNED)),
        lambda: meta.against_leave_one_out(pd.Series(FLAT, index=TURNED), pd.DataFrame([OTHER, LENGTH])),
        lambda: meta.alt_test(pd.Series(FLAT, index=TURNED), pd.DataFrame([OTHER, LENGTH])),
        lambda: meta.by_stratum(pd.Series(FLAT), pd.Series(OTHER), pd.Series(["a"] * 30, index=TURNED)),
    ],
)
def test_tables_in_another_order_are_refused(call):
    with pytest.raises(ValueError, match="labels; align them"):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: meta.williams(None, 0.4, 0.3, 50), "correlation: got None"),
        (lambda: meta.fisher_test(0.5, 10, 0.3, 10.5), "n: got 10.5"),
        (lambda: meta.fisher_test(0.5, 10, 0.3, None), "n: got None"),
        (lambda: meta.weighted_kappa([1, 2], [2, 1], scale=5), "scale: got shape"),
        (lambda: meta.scale_use([1, 2, 3], 1, 5, steps=2), "3 different scores"),
        (lambda: meta.scale_use([1, 2], "1", 5), "low end of the scale"),
        (lambda: meta.bounds([1, 2, 3], [1, 2, 3], 1, None), "high end of the scale"),
        (lambda: meta.resampled_t([1, 2, 3], math.nan, 1), "n_train: got nan"),
        (lambda: meta.resampled_t([1, 2, 3], 5, "1"), "n_test: got '1'"),
        (lambda: meta.by_stratum(FLAT, OTHER, [math.nan] * 10 + [1.0] * 20), "10 of 30 labels are missing"),
        (lambda: baselines.constant((2,), "a"), "value: got 'a'"),
        (lambda: baselines.length("abc"), "one text"),
    ],
)
def test_arguments_that_no_statistic_can_use_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_correlations_that_cannot_go_together_are_not_tested():
    test = meta.williams
    found = test(0.9, -0.9, 0.9, 50)
    assert math.isnan(found.p) and "no three columns" in found.reason
    assert test(0.7, 0.3, 0.4, 50).statistic > 0 > test(0.3, 0.7, 0.4, 50).statistic


@pytest.mark.parametrize("coef", ["pearson", "spearman"])
def test_a_partial_correlation_is_not_made_of_rounding(coef):
    for x, y, length in ((FLAT, 2 * FLAT + 1 / 3, LENGTH), (FLAT, OTHER, 0.3 * OTHER + 0.1)):
        found = meta.length_bias(x, y, length, coef, n_boot=10)
        assert math.isnan(found.partial) and math.isnan(found.slope) and "agree perfectly" in found.reason
    assert meta.length_bias(FLAT, OTHER, FLAT, coef, n_boot=10).partial == pytest.approx(1)


@pytest.mark.parametrize("kind", ["1,1", "2,1", "3,1", "1,k", "2,k", "3,k"])
def test_icc_of_degenerate_ratings(kind):
    for ratings in ([[1, 1, 1], [2, 2, 2]], [[1, 2, 3], [3, 2, 1]]):
        found = meta.icc(ratings, kind)
        ends = np.array([found.low, found.high])
        assert found.value <= 1 or found.reason
        assert np.isfinite(ends).all() or (np.isnan(ends).all() and found.reason)
        assert not math.isinf(found.value) and not (math.isnan(found.value) and not found.reason)
    perfect = meta.icc([[1, 2, 3], [1, 2, 3]], kind)
    assert (perfect.value, perfect.low, perfect.high) == pytest.approx((1, 1, 1))
    spread = np.array([[1, 2, 3], [2, 3, 5]])
    assert meta.icc(spread + 1e9, kind).value == pytest.approx(meta.icc(spread, kind).value, abs=1e-12)


def test_icc_interval_without_error_is_the_limit_of_small_errors():
    exact = meta.icc([[1, 2, 3, 5], [2, 3, 4, 6]])
    near = meta.icc([[1, 2, 3, 5 + 1e-6], [2, 3, 4, 6]])
    assert (exact.low, exact.high) == pytest.approx((near.low, near.high), abs=1e-4)


def test_intervals_of_too_few_resamples_say_so():
    one, few, enough = (meta.correlate(FLAT, OTHER, ci="boot-rows", n_boot=n) for n in (1, 20, 40))
    assert math.isnan(one.low) and "at least 2" in one.reason
    assert few.low < few.high and "too few for the tails" in few.reason
    assert not enough.reason


def test_splits_without_spread():
    found = meta.resampled_t([0.1, 0.1, 0.1], 5, 5)
    assert found.low == found.high and math.isnan(found.p) and "one value" in found.reason
    assert meta.resampled_t([0.1, 0.1, 0.1], 5, 5, null=0.1).p == 1
