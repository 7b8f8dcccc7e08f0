"""Input at the edge of what statistics are defined for: an error or NaN with a
reason, never a number by rounding.
"""

from __future__ import annotations

import json
import math
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import statistics

RNG = np.random.default_rng(5)
X = RNG.normal(size=(4, 10))
Y = RNG.normal(size=(4, 10))
FLAT, OTHER, LENGTH = (RNG.normal(size=30) for _ in range(3))
TURNED = range(30)[::-1]
SQUARE = pd.DataFrame(X[:, :4], list("abcd"), list("efgh"))


CASES = [
    json.loads(line)
    for line in (
        Path(__file__).parents[1] / "cases" / "statistics_refused.jsonl"
    ).open()
]


def made(value: Any) -> Any:
    """An argument of a case: as it stands, or an array of the shape, of one value or
    drawn.
    """
    if not isinstance(value, dict):
        return value
    if "shape" not in value:
        return {name: made(one) for name, one in value.items()}
    return (
        np.full(value["shape"], value["all"])
        if "all" in value
        else RNG.normal(size=value["shape"])
    )


@pytest.mark.parametrize("case", CASES, ids=json.dumps)
def test_what_no_statistic_can_use_is_refused(case):
    call = operator.attrgetter(case["call"])(statistics)
    with pytest.raises(ValueError, match=case["says"]):
        call(*map(made, case.get("given", ())), **case.get("how", {}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1, "a", 3], dtype=object), "got 'a'"),
        ([1j, 2, 3], "complex"),
        (
            np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]"),
            "pass numbers",
        ),
    ],
)
def test_arrays_that_hold_no_numbers_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        statistics.correlate(values, [1, 2, 3])


def test_arrays_of_any_kind_are_read():
    assert statistics.correlate(pd.Series([1, None, 3, 4]), [1, 2, 3, 4]).n_missing == 1
    assert (
        statistics.correlate(
            np.ma.masked_equal([9, 1, 2, 3], 9), [1, 1, 2, 3]
        ).n_missing
        == 1
    )
    assert statistics.correlate([True, False, True, True], [1, 0, 1, 1]).value == 1.0
    turned = pd.Series([1.0, 2, 3], index=[2, 1, 0])
    assert statistics.correlate(pd.Series([1.0, 2, 3]), turned.to_numpy()).value == 1.0
    assert np.isfinite(float(statistics.correlate(SQUARE.T, SQUARE.T, level="input")))


@pytest.mark.parametrize(
    "call",
    [
        lambda: statistics.correlate(pd.Series(FLAT), pd.Series(OTHER, index=TURNED)),
        lambda: statistics.weighted_kappa(
            pd.Series([1, 2, 3]), pd.Series([1, 2, 3], index=[2, 1, 0])
        ),
        lambda: statistics.correlate(
            pd.DataFrame(X), pd.DataFrame(Y)[list(range(10))[::-1]]
        ),
        lambda: statistics.correlate(SQUARE.T, SQUARE),
        lambda: statistics.correlate(SQUARE.rename_axis("input").T, SQUARE),
        lambda: statistics.correlate(SQUARE[::-1], SQUARE),
        lambda: statistics.coefficients(
            pd.DataFrame([FLAT, OTHER]), pd.Series(OTHER, index=TURNED)
        ),
        lambda: statistics.against_leave_one_out(
            pd.Series(FLAT, index=TURNED), pd.DataFrame([OTHER, LENGTH])
        ),
        lambda: statistics.alt_test(
            pd.Series(FLAT, index=TURNED), pd.DataFrame([OTHER, LENGTH])
        ),
        lambda: statistics.by_stratum(
            pd.Series(FLAT), pd.Series(OTHER), pd.Series(["a"] * 30, index=TURNED)
        ),
    ],
)
def test_tables_in_another_order_are_refused(call):
    with pytest.raises(ValueError, match="labels; align them"):
        call()


def test_correlations_that_cannot_go_together_are_not_tested():
    test = statistics.williams
    found = test(0.9, -0.9, 0.9, 50)
    assert math.isnan(found.p) and "no three columns" in found.reason
    assert test(0.7, 0.3, 0.4, 50).statistic > 0 > test(0.3, 0.7, 0.4, 50).statistic


@pytest.mark.parametrize("coef", ["pearson", "spearman"])
def test_a_partial_correlation_is_not_made_of_rounding(coef):
    for x, y, length in (
        (FLAT, 2 * FLAT + 1 / 3, LENGTH),
        (FLAT, OTHER, 0.3 * OTHER + 0.1),
    ):
        found = statistics.length_bias(x, y, length, coef, n_boot=10)
        assert (
            math.isnan(found.partial)
            and math.isnan(found.slope)
            and "agree perfectly" in found.reason
        )
    assert statistics.length_bias(
        FLAT, OTHER, FLAT, coef, n_boot=10
    ).partial == pytest.approx(1)


@pytest.mark.parametrize("kind", ["1,1", "2,1", "3,1", "1,k", "2,k", "3,k"])
def test_icc_of_degenerate_ratings(kind):
    for ratings in ([[1, 1, 1], [2, 2, 2]], [[1, 2, 3], [3, 2, 1]]):
        found = statistics.icc(ratings, kind)
        ends = np.array([found.low, found.high])
        assert found.value <= 1 or found.reason
        assert np.isfinite(ends).all() or (np.isnan(ends).all() and found.reason)
        assert not math.isinf(found.value) and not (
            math.isnan(found.value) and not found.reason
        )
    perfect = statistics.icc([[1, 2, 3], [1, 2, 3]], kind)
    assert (perfect.value, perfect.low, perfect.high) == pytest.approx((1, 1, 1))
    spread = np.array([[1, 2, 3], [2, 3, 5]])
    assert statistics.icc(spread + 1e9, kind).value == pytest.approx(
        statistics.icc(spread, kind).value, abs=1e-12
    )


def test_icc_interval_without_error_is_the_limit_of_small_errors():
    exact = statistics.icc([[1, 2, 3, 5], [2, 3, 4, 6]])
    near = statistics.icc([[1, 2, 3, 5 + 1e-6], [2, 3, 4, 6]])
    assert (exact.low, exact.high) == pytest.approx((near.low, near.high), abs=1e-4)


def test_intervals_of_too_few_resamples_say_so():
    one, few, enough = (
        statistics.correlate(FLAT, OTHER, ci="boot-rows", n_boot=n) for n in (1, 20, 40)
    )
    assert math.isnan(one.low) and "at least 2" in one.reason
    assert few.low < few.high and "too few for the tails" in few.reason
    assert not enough.reason


def test_splits_without_spread():
    found = statistics.resampled_t([0.1, 0.1, 0.1], 5, 5)
    assert (
        found.low == found.high and math.isnan(found.p) and "one value" in found.reason
    )
    assert statistics.resampled_t([0.0, 0.0, 0.0], 5, 5).p == 1
