"""Paired permutation equals loops and nlpstats; p is uniform under the null;
corrections and clusters hold.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from meta_oracles import (
    COEFFICIENTS,
    LEVELS,
    at_level,
    judged,
    nlpstats_cases,
    swap_masks,
)
from scipy import stats
from statsmodels.stats.multitest import multipletests

from nlgeval_lib import statistics
from nlgeval_lib.statistics import arrays, comparison, draws, levels


def exchanged(masks: dict, b: int, shape: tuple[int, int]) -> np.ndarray:
    """The whole mask of permutation b: True where the two judges' scores change
    places.
    """
    places = {"rows": shape, "systems": (-1, 1), "inputs": (1, -1)}
    mask = np.zeros(shape, dtype=bool)
    for unit, coins in masks.items():
        mask ^= coins[b].reshape(places[unit]).astype(bool)
    return mask


def three(systems: int, inputs: int, seed: int, kind: str):
    """Two judges and ratings with the same gaps."""
    first, y = judged(systems, inputs, seed, kind)
    second = judged(
        systems, inputs, seed + 50, "continuous" if kind == "mixed" else kind
    )[0]
    return arrays.common(first, second, y)


@pytest.mark.parametrize("units", draws.UNITS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["continuous", "ordinal", "gaps", "mixed"])
def test_every_permutation_equals_a_loop(kind, level, units):
    for seed, (systems, inputs) in enumerate([(4, 6), (40, 3), (70, 2)]):
        first, second, y = three(systems, inputs, seed, kind)
        masks = swap_masks(y.shape, units, 4, seed)
        for coef in COEFFICIENTS:
            pair = levels.Swapped(first, second, y, coef, level)
            chunks = [
                pair.values(chunk)
                for chunk in draws.resamples(y.shape, units, 4, seed, swap=True)
            ]
            for b in range(4):
                mask = exchanged(masks, b, y.shape)
                expected = [
                    at_level(np.where(mask, one, other), y, coef, level)
                    for one, other in ((second, first), (first, second))
                ]
                got = [np.concatenate(side)[b] for side in zip(*chunks, strict=True)]
                np.testing.assert_allclose(
                    got, expected, rtol=0, atol=1e-11, err_msg=coef
                )


def test_nlpstats_gives_the_same_differences(monkeypatch):
    nlpstats = pytest.importorskip("nlpstats.correlations")
    first, second, y = three(6, 9, 3, "continuous")
    for units, level, their_level, coef, name in nlpstats_cases():
        masks = swap_masks(y.shape, units, 15, 2).values()
        rows = itertools.chain.from_iterable(zip(*masks, strict=True))
        monkeypatch.setattr(
            np.random,
            "rand",
            lambda *shape, rows=rows: next(rows).astype(float).reshape(shape),
        )
        theirs = nlpstats.permutation_test(
            first, second, y, their_level, name, units, n_resamples=15
        )
        ours = statistics.compare(
            first, second, y, coef, level, units, n_perm=15, seed=2
        )
        np.testing.assert_allclose(ours.null, theirs.samples, rtol=0, atol=1e-11)
        assert ours.p == pytest.approx((round(theirs.pvalue * 15) + 1) / 16)


def test_p_counts_the_data_and_undefined_permutations():
    null = np.array([0.1, -0.3, 0.2, np.nan])
    assert comparison.p_value(null, 0.2)[0] == 4 / 5
    assert comparison.p_value(null, 0.2, "greater")[0] == 3 / 5
    assert comparison.p_value(null, -0.3, "less")[0] == 3 / 5
    assert "undefined in 1 of 4" in comparison.p_value(null, 0.2)[1]
    assert comparison.p_value(np.zeros(99), 0.5)[0] == 0.01


def test_comparison_of_a_judge_with_itself_and_with_noise():
    x, y = judged(8, 40, 0)
    same = statistics.compare(x, x, y, units="both")
    assert same.difference == 0 and same.p == 1.0
    noise = np.random.default_rng(1).normal(size=y.shape)
    for level in ("dataset", "input"):
        better = statistics.compare(
            x, noise, y, "spearman", level, "both", ci="boot-both", n_boot=200, seed=3
        )
        assert better.p < 0.01 and 0 < better.low < better.difference < better.high
        assert (
            statistics.compare(
                noise, x, y, "spearman", level, seed=3, alternative="greater"
            ).p
            > 0.9
        )
    assert better.signature() == (
        "level:input|coef:spearman|nan:drop(0/320)|test:perm-both/1000|alt:two-sided|scale:z|ci:boot-both/200|seed:3"
    )


def test_first_and_second_are_the_plain_correlations_on_common_items():
    first, second, y = (side.copy() for side in three(6, 12, 4, "ordinal"))
    first[0, 0], second[1, 1] = np.nan, np.nan
    both = np.isnan(first) | np.isnan(second)
    for level in LEVELS:
        result = statistics.compare(
            first, second, y, "kendall-b", level, "perm-both", n_perm=20
        )
        assert (
            result.first
            == statistics.correlate(
                np.where(both, np.nan, first), y, "kendall-b", level
            ).value
        )
        assert result.n_missing == 2 and result.n == 70


def test_williams_equals_nlpstats_and_its_formula():
    nlpstats = pytest.importorskip("nlpstats.correlations")
    first, y = judged(5, 20, 0)
    second = judged(5, 20, 0, noise=2.0)[0]
    r = [
        statistics.correlate(a, b, "pearson").value
        for a, b in ((first, y), (second, y), (first, second))
    ]
    for alternative in ("two-sided", "greater", "less"):
        theirs = nlpstats.williams_test(
            first, second, y, "global", "pearson", alternative=alternative
        )
        assert statistics.williams(*r, 100, alternative).p == pytest.approx(
            theirs.pvalue, abs=1e-12
        )
    assert "assumes:iid-rows" in statistics.williams(*r, 100).signature()


def test_williams_holds_its_level():
    rng = np.random.default_rng(0)
    cover = np.array([[1, 0.5, 0.5], [0.5, 1, 0.6], [0.5, 0.6, 1]])
    p = []
    for _ in range(1000):
        y, a, b = rng.multivariate_normal(np.zeros(3), cover, 60).T
        r = np.corrcoef([y, a, b])
        p.append(statistics.williams(r[0, 1], r[0, 2], r[1, 2], 60).p)
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_fisher_equals_nlpstats_and_textbook():
    nlpstats = pytest.importorskip("nlpstats.correlations")
    x, y = judged(5, 20, 0)
    for coef, name in (
        ("pearson", "pearson"),
        ("spearman", "spearman"),
        ("kendall-b", "kendall"),
    ):
        theirs = nlpstats.fisher(x, y, "global", name)
        ours = statistics.fisher_interval(
            statistics.correlate(x, y, coef).value, 100, coef
        )
        assert ours == pytest.approx((theirs.lower, theirs.upper), abs=1e-12)
    ours = statistics.fisher_interval(
        stats.pearsonr(x.ravel(), y.ravel()).statistic, 100
    )
    assert ours == pytest.approx(
        tuple(stats.pearsonr(x.ravel(), y.ravel()).confidence_interval()), abs=1e-12
    )
    z = (np.arctanh(0.6) - np.arctanh(0.4)) / np.sqrt(1 / 47 + 1 / 27)
    assert statistics.fisher_test(0.6, 50, 0.4, 30).p == pytest.approx(
        2 * stats.norm.sf(z)
    )


def test_classical_tests_explain():
    undefined = statistics.williams(1.0, 1.0, 1.0, 10)
    assert math.isnan(undefined.p) and undefined.reason
    assert all(math.isnan(end) for end in statistics.fisher_interval(0.5, 3))


def test_corrections_are_statsmodels_within_families():
    p = {"a": 0.01, "b": 0.04, "c": float("nan"), "d": 0.03, "e": 0.2}
    family = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2}
    for method, name in (
        ("holm", "holm"),
        ("bh", "fdr_bh"),
        ("by", "fdr_by"),
        ("bonferroni", "bonferroni"),
    ):
        result = statistics.correct(p, method, family)
        assert [result["a"], result["b"]] == pytest.approx(
            list(multipletests([0.01, 0.04], method=name)[1])
        )
        assert [result["d"], result["e"]] == pytest.approx(
            list(multipletests([0.03, 0.2], method=name)[1])
        )
        assert math.isnan(result["c"]) and result.rejected[2] is False
    assert statistics.correct([0.01, 0.2], "none").adjusted == (0.01, 0.2)
    assert result.signature() == "correct:bonferroni|families:2|tests:4|alpha:0.05"


def test_rank_clusters_open_where_any_member_differs():
    p = np.full((4, 4), 0.5)
    for a, b in ((0, 2), (1, 3)):
        p[a, b] = p[b, a] = 0.01
    assert statistics.rank_clusters([0.9, 0.8, 0.7, 0.6], p) == (1, 1, 2, 2)
    assert statistics.rank_clusters([0.6, 0.7, 0.8, 0.9], p[::-1, ::-1]) == (2, 2, 1, 1)
    assert statistics.rank_clusters([0.9, float("nan"), 0.7, 0.6], p) == (1, 0, 2, 2)


def test_league_puts_judges_on_common_items_and_corrects():
    x, y = judged(8, 30, 0)
    rng = np.random.default_rng(0)
    twin = x + 0.1 * rng.normal(size=x.shape)
    noise = rng.normal(size=x.shape)
    judges = dict(good=x, twin=twin, random=noise, flat=np.ones_like(x))
    judges["good"] = judges["good"].copy()
    judges["good"][0, :3] = np.nan
    result = statistics.league(judges, y, "spearman", "input", n_perm=200)
    assert result.n == 8 * 30 - 3 and {r.n for r in result.correlations} == {result.n}
    assert result.ranks == (1, 1, 2, 0)
    adjusted = np.array(result.corrected.adjusted)
    plain = np.array(result.corrected.p)
    assert np.isnan(adjusted).sum() == 3 and result.corrected["good", "random"] < 0.05
    assert (adjusted[~np.isnan(plain)] >= plain[~np.isnan(plain)]).all()
    assert (
        "judges:4|common:237" in result.signature()
        and "correct:holm" in result.signature()
    )


@pytest.mark.parametrize(
    ("offset", "factor"), [(0, 1), (0, 1e-200), (0, 1e200), (1e9, 1), (3.3, 0.1)]
)
@pytest.mark.parametrize("coef", ["spearman", "kendall-b", "acc-eq"])
def test_standardising_breaks_no_tie_between_judges(coef, offset, factor):
    """A judge against its own scores in another order: their z-scores are the same
    numbers but for the last bits.
    """
    rng = np.random.default_rng(39)
    for _ in range(4):
        y = rng.integers(1, 6, (9, 21)).astype(float)
        x = np.clip(y + rng.integers(-1, 2, y.shape), 1, 5) / 3
        other = x.copy()
        moved = rng.random(y.shape) < 0.3
        other[moved] = rng.permutation(x[moved])
        plain = levels.Swapped(x, other, y, coef, "dataset")
        expected = np.concatenate(
            [
                np.subtract(*plain.values(mask))
                for mask in draws.resamples(y.shape, "both", 60, 0, swap=True)
            ]
        )
        found = statistics.compare(
            3 * x * factor + offset, other, y, coef, units="perm-both", n_perm=60
        ).null
        np.testing.assert_allclose(found, expected, atol=1e-12)
