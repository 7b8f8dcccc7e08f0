"""Statistics do not depend on the unit of the scores, and signatures tell different
settings apart.
"""

from __future__ import annotations

import numpy as np
import pytest

from nlgeval_lib import statistics

RNG = np.random.default_rng(4)
Y = RNG.integers(1, 6, (6, 20)).astype(float)
X, Z = Y + RNG.normal(size=(2, *Y.shape))
GAP = np.where(np.arange(120).reshape(6, 20) < 3, np.nan, X)

STATISTICS = {
    "pearson": lambda c: [
        statistics.correlate(c * X, c * Y, "pearson", level).value
        for level in statistics.LEVELS
    ],
    "alpha": lambda c: statistics.krippendorff_alpha(c * X).value,
    "kappa-quadratic": lambda c: statistics.weighted_kappa(c * Y[0], c * Y[1]).value,
    "icc": lambda c: statistics.icc(c * X).value,
    "icc, low end": lambda c: statistics.icc(c * X, "3,k").low,
    "alt-test": lambda c: statistics.alt_test(c * X[0], c * Y[1:], min_items=5).p,
    "length": lambda c: statistics.length_bias(c * X, c * Y, c * Z, n_boot=20).slope_p,
    "length, partial": lambda c: (
        statistics.length_bias(c * X, c * Y, c * Z, "pearson", n_boot=20).low
    ),
    "comparison": lambda c: (
        statistics.compare(c * X, Z, c * Y, "pearson", n_perm=50).null
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("power", [-660, -12, 660])
def test_the_unit_of_the_scores_does_not_matter(name, power):
    found = STATISTICS[name](2.0**power)
    expected = STATISTICS[name](1.0)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.isfinite(expected).all()


SETTINGS = {
    "interval": [
        lambda n=n: statistics.correlate(X, Y, ci="boot-both", n_boot=n)
        for n in (50, 60)
    ],
    "league": [
        lambda p=p: statistics.league({"a": GAP, "b": Z}, Y, nan=p, n_perm=5)
        for p in ("drop", "zero", "mean")
    ],
    "ceiling": [
        lambda x=x: statistics.human_ceiling(np.stack([x, Y, Z])) for x in (X, GAP)
    ],
    "kappa": [
        lambda s=s: statistics.weighted_kappa([1, 2, 3, 4], [1, 2, 4, 4], s)
        for s in (None, range(1, 8))
    ],
    "ties": [lambda e=e: statistics.acc_eq(X, Y, e) for e in (0.1, 0.1000000001)],
    "alt-test": [
        lambda m=m: statistics.alt_test(X[0], Y[1:], min_items=m) for m in (30, 5)
    ],
    "scale": [
        lambda s=s: statistics.scale_use(Y, *s) for s in ((0, 10), (1, 5), (1, 5, 5))
    ],
    "splits": [lambda n=n: statistics.resampled_t([1, 2, 3], n, 5) for n in (10, 11)],
    "test": [
        lambda u=u: statistics.compare(X, Z, Y, units=u, n_perm=9)
        for u in ("both", "jack-both", "jack-inputs")
    ],
    "confidence": [
        lambda c=c: statistics.correlate(X, Y, ci="jack-both", confidence=c)
        for c in (0.9, 0.95)
    ],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_other_settings_have_another_signature(name):
    signatures = [made().signature() for made in SETTINGS[name]]
    assert len(set(signatures)) == len(signatures)


def test_a_league_says_what_it_filled():
    filled = statistics.league({"a": GAP, "b": Z}, Y, nan="zero", n_perm=5)
    dropped = statistics.league({"a": GAP, "b": Z}, Y, n_perm=5)
    assert (
        "nan:zero(3/120)" in filled.signature()
        and "nan:drop(3/120)" in dropped.signature()
    )
    assert [(one.n, one.n_missing, one.nan) for one in filled.correlations] == [
        (120, 3, "zero")
    ] * 2
    assert [(one.n, one.n_missing, one.nan) for one in dropped.correlations] == [
        (117, 3, "drop")
    ] * 2


def test_an_item_that_alone_decides_the_slope_gives_no_interval():
    found = statistics.length_bias(
        [1, 2, 3, 4, 5, 3.0], [1, 3, 2, 5, 4, 2.0], [5, 5, 5, 5, 5, 9.0], n_boot=50
    )
    assert (
        np.isnan([found.slope_low, found.slope_high, found.slope_p]).all()
        and "one item alone" in found.reason
    )
