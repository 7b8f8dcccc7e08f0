"""Variance components against brute force, analysis of variance and REML."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from judgecard.variance import variance_components

FACETS = ("rater", "system", "input")
TRUTH = {
    "rater": 0.25,
    "system": 1.0,
    "input": 0.5,
    "rater:system": 0.1,
    "rater:input": 0.05,
    "system:input": 0.4,
    "residual": 0.6,
}


def scores(rng, raters=3, systems=8, inputs=12, gaps=0.0):
    """`[rater, system, input]` with the variances of TRUTH, some cells missing."""
    shape = (raters, systems, inputs)
    values = np.zeros(shape)
    for name, variance in TRUTH.items():
        part = FACETS if name == "residual" else name.split(":")
        own = [
            size if facet in part else 1
            for facet, size in zip(FACETS, shape, strict=True)
        ]
        values = values + np.sqrt(variance) * rng.normal(size=own)
    values[rng.random(shape) < gaps] = np.nan
    return values


def test_components_are_those_of_pairs_of_cells():
    """The definition, pair by pair, with cells missing."""
    values = scores(np.random.default_rng(0), 3, 4, 5, gaps=0.3)
    cells = np.argwhere(~np.isnan(values))
    apart = {}
    for first, second in combinations(cells, 2):
        shared = tuple(np.array(FACETS)[first == second])
        half_square = (values[tuple(first)] - values[tuple(second)]) ** 2 / 2
        apart.setdefault(shared, []).append(half_square)
    gamma = {shared: np.mean(squares) for shared, squares in apart.items()}
    found = variance_components(values, FACETS).values
    total = gamma[()]
    assert sum(found.values()) == pytest.approx(total)
    assert found["system"] == pytest.approx(total - gamma["system",])
    both = total - gamma["system", "input"]
    alone = found["system"] + found["input"]
    assert found["system:input"] == pytest.approx(both - alone)


def test_without_gaps_they_are_those_of_analysis_of_variance():
    values = scores(np.random.default_rng(1))
    found = variance_components(values, FACETS)
    raters, systems, inputs = values.shape

    def mean_over(*axes):
        return values.mean(axis=axes, keepdims=True)

    grand = values.mean()
    alone = mean_over(1, 2), mean_over(0, 2), mean_over(0, 1)
    pair = mean_over(0) - alone[1] - alone[2] + grand
    of_pair = raters * (pair**2).sum() / ((systems - 1) * (inputs - 1))
    rest = values - mean_over(0) - mean_over(1) - mean_over(2) + sum(alone) - grand
    degrees = (raters - 1) * (systems - 1) * (inputs - 1)
    residual = (rest**2).sum() / degrees
    assert found.values["residual"] == pytest.approx(residual)
    assert found.values["system:input"] == pytest.approx((of_pair - residual) / raters)


def test_without_gaps_they_are_those_of_reml():
    rng = np.random.default_rng(2)
    values = 2 * rng.normal(size=(6, 1)) + rng.normal(size=(1, 25))
    values = values + 0.7 * rng.normal(size=values.shape)
    table = pd.DataFrame(
        [
            {"score": value, "system": str(system), "input": str(place), "all": 1}
            for (system, place), value in np.ndenumerate(values)
        ]
    )
    parts = {"system": "0 + C(system)", "input": "0 + C(input)"}
    model = smf.mixedlm("score ~ 1", table, groups="all", vc_formula=parts)
    fitted = model.fit(reml=True)
    found = variance_components(values, ("system", "input")).values
    # statsmodels names them in the order of the alphabet
    expected = dict(zip(("input", "system"), fitted.vcomp, strict=True))
    assert found["input"] == pytest.approx(expected["input"], rel=1e-2)
    assert found["system"] == pytest.approx(expected["system"], rel=1e-2)
    assert found["residual"] == pytest.approx(fitted.scale, rel=1e-2)


def test_they_are_unbiased_with_cells_missing():
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(150):
        values = scores(rng, 3, 8, 12, gaps=0.4)
        rows.append(variance_components(values, FACETS).values)
    table = pd.DataFrame(rows)
    error = table.std() / np.sqrt(len(table))
    assert ((table.mean() - pd.Series(TRUTH)) / error).abs().max() < 3.5


def test_a_judge_asked_again():
    """Test and retest of one output: the residual is all that moves."""
    rng = np.random.default_rng(7)
    quality = rng.normal(size=(1, 10, 20))
    asked = quality + 0.5 * rng.normal(size=(4, 10, 20))
    shares = variance_components(asked, ("repeat", "system", "input")).shares()
    assert shares["residual"] == pytest.approx(0.2, abs=0.06)
    assert shares["repeat"] == pytest.approx(0, abs=0.01)
    assert sum(shares.values()) == pytest.approx(1)


def test_what_cannot_be_told_apart_is_nan():
    nested = np.full((3, 6), np.nan)
    for item in range(6):
        nested[item // 2, item] = item
    found = variance_components(nested, ("rater", "item"))
    assert np.isnan(found.values["item"])
    assert np.isnan(list(found.shares().values())).all()


def test_facets_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="one for each axis"):
        variance_components([[1, 2], [3, 4]], ["system"])
    with pytest.raises(ValueError, match="2 are needed"):
        variance_components([[1, 2]], ["system", "input"])
