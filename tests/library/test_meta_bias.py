"""Biases that were put in are found, those that were not are not; baselines and
missing policies do what they say.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from meta_oracles import LEVELS, at_level, judged
from scipy import stats

from nlgeval_lib import statistics


def test_length_bias_is_found_only_where_it_is():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(10, 60))
    length = 100 + 30 * y + 30 * rng.normal(size=y.shape)
    fair = y + rng.normal(size=y.shape)
    biased = y + 0.02 * length + rng.normal(size=y.shape)
    for coef in ("pearson", "spearman"):
        clean, found = (
            statistics.length_bias(x, y, length, coef, ci="boot-both", n_boot=300)
            for x in (fair, biased)
        )
        assert (
            clean.score_length > 0.2
            and clean.low < 0 < clean.high
            and clean.slope_p > 0.01
        )
        assert found.low > 0.1 and found.slope_low > 0 and found.slope_p < 1e-6
    clustered = statistics.length_bias(
        biased, y, length, covariance="cluster-inputs", n_boot=20
    )
    assert (
        clustered.slope == pytest.approx(found.slope)
        and clustered.slope_high != found.slope_high
    )
    assert (
        "bias:length|coef:partial-spearman|ols:HC3|nan:drop(0/600)|ci:boot-both/300"
        in found.signature()
    )


def test_partial_correlation_and_slope_equal_their_definitions():
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    y, length = rng.normal(size=(2, 80))
    x = y + length + rng.normal(size=80)
    result = statistics.length_bias(x, y, length, "pearson", ci="boot-rows", n_boot=10)
    left = [side - np.polyval(np.polyfit(y, side, 1), y) for side in (x, length)]
    assert result.partial == pytest.approx(stats.pearsonr(*left).statistic, abs=1e-12)
    z = [stats.zscore(side) for side in (x, y, length)]
    fit = sm.OLS(z[0], np.column_stack([np.ones(80), z[1], z[2]])).fit(cov_type="HC3")
    assert (result.slope, result.slope_p) == pytest.approx(
        (fit.params[2], fit.pvalues[2])
    )
    assert "ci:boot-rows" in result.signature()


def test_length_bias_among_equal_ratings_is_not_defined():
    found = statistics.length_bias(
        np.arange(10.0), np.ones(10), np.arange(10.0), n_boot=5
    )
    assert math.isnan(found.partial) and found.reason


def test_scale_use():
    result = statistics.scale_use([1, 1, 2, 5, 5, 5, 5, np.nan], 1, 5, steps=5)
    share = np.array([2, 1, 4]) / 7
    assert result.entropy == pytest.approx(stats.entropy(share, base=2))
    assert result.evenness == pytest.approx(result.entropy / np.log2(5))
    assert (result.floor, result.ceiling) == pytest.approx((2 / 7, 4 / 7))
    assert result.ties == pytest.approx((1 + 6) / 21)
    assert result.counts == ((1.0, 2), (2.0, 1), (5.0, 4)) and (
        result.n,
        result.n_missing,
    ) == (7, 1)
    assert statistics.scale_use([2, 2], 1, 5).entropy == 0 and math.isnan(
        statistics.scale_use([2, 3], 1, 5).evenness
    )


def test_strata_equal_the_parts():
    x, y = judged(6, 12, 0, "gaps")
    labels = np.array(["news"] * 7 + ["talk"] * 4 + ["rare"])
    for level in LEVELS:
        result = statistics.by_stratum(x, y, labels, "spearman", level)
        assert list(result) == ["news", "talk", "rare"]
        for name in ("news", "talk"):
            part = statistics.correlate(
                x[:, labels == name], y[:, labels == name], "spearman", level
            )
            assert result[name].value == pytest.approx(part.value, abs=1e-12)
            assert (result[name].n, result[name].n_missing, result[name].total) == (
                part.n,
                part.n_missing,
                part.total,
            )
    by_item = statistics.by_stratum(x, y, np.where(x > 3, "high", "low"))
    assert by_item["high"].value == pytest.approx(
        at_level(np.where(x > 3, x, np.nan), y, "kendall-b", "dataset")
    )
    few = statistics.by_stratum(
        np.arange(5.0), np.arange(5.0), ["a", "a", "a", "a", "b"]
    )
    assert (
        few["a"].value == 1.0
        and math.isnan(few["b"].value)
        and "1 common item" in few["b"].reason
    )


def test_baselines_are_score_producers():
    y = judged(5, 8, 0, "gaps")[1]
    assert (statistics.baselines.constant(y.shape, 3) == 3).all()
    drawn = statistics.baselines.uniform(y.shape, 4, values=[1, 2, 3])
    assert (
        set(np.unique(drawn)) <= {1, 2, 3}
        and (drawn == statistics.baselines.uniform(y.shape, 4, [1, 2, 3])).all()
    )
    assert (
        statistics.baselines.uniform(y.shape, 4)
        != statistics.baselines.uniform(y.shape, 5)
    ).any()
    np.testing.assert_array_equal(
        statistics.baselines.length(["ab c", "", None]), [4, 0, np.nan]
    )
    np.testing.assert_array_equal(
        statistics.baselines.length(["ab c", ""], "words"), [2, 0]
    )


def test_samples_are_joined_by_named_rules():
    draws = np.array([[np.nan, 1, np.nan], [4, 3, np.nan]])
    expected = {
        "nan-mean": [4, 2, np.nan],
        "zero": [2, 2, 0],
        "all": [np.nan, 2, np.nan],
        "first": [4, 1, np.nan],
    }
    for rule, scores in expected.items():
        result = statistics.mean_of_samples(draws, rule)
        np.testing.assert_array_equal(result.scores, scores)
        assert (result.n_failed, result.n_empty, result.n_draws) == (3, 1, 2)
    assert (
        statistics.mean_of_samples(draws).signature()
        == "samples:nan-mean(3/6 failed, 1 empty)"
    )
    assert set(statistics.SAMPLE_RULES) == set(expected)


def test_bounds_hold_every_policy_and_random_fills():
    x, y = judged(5, 8, 0, "gaps")
    rng = np.random.default_rng(0)
    for coef in ("pearson", "spearman", "kendall-b"):
        for level in LEVELS:
            result = statistics.bounds(x, y, 1, 5, coef, level)
            assert result.low <= result.value <= result.high
        result = statistics.bounds(x, y, 1, 5, coef)
        for _ in range(30):
            filled = np.where(np.isnan(x), rng.integers(1, 6, x.shape), x)
            assert (
                result.low - 1e-9
                <= statistics.correlate(filled, y, coef).value
                <= result.high + 0.02
            )
    complete = statistics.bounds(np.arange(5.0), np.arange(5.0), 0, 5)
    assert complete.low == complete.high == complete.value and complete.n_fills == 0


def test_lowest_pearson_is_exact():
    x = np.array([1.0, 2, 3, 4, 5, np.nan, np.nan, np.nan])
    y = np.array([1.0, 2, 2, 4, 5, 3, 1, 4])
    fills = itertools.product(np.linspace(1, 5, 9), repeat=3)
    values = [
        stats.pearsonr(np.concatenate([x[:5], fill]), y).statistic for fill in fills
    ]
    assert min(values) > 0
    assert statistics.bounds(x, y, 1, 5, "pearson").low == pytest.approx(
        min(values), abs=1e-12
    )
