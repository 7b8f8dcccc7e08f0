"""Agreement against krippendorff, pingouin, scikit-learn and hand counts; ceilings;
the alternative annotator test.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import thorough
from meta_oracles import LEVELS, alttest_summeval, at_level, judged
from scipy import stats

from nlgeval_lib import statistics


def panel(seed: int, gaps: float = 0.2, raters: int = 4, items: int = 40) -> np.ndarray:
    """Ratings from 1 to 5, `R[rater, item]`, that agree in part."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=items)
    out = np.clip(np.round(quality + 0.7 * rng.normal(size=(raters, items)) + 3), 1, 5)
    out[rng.random(out.shape) < gaps] = np.nan
    return out


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_alpha_equals_krippendorffs_package(metric):
    oracle = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(2)
    different = np.where(
        rng.random((3, 40)) < 0.2,
        np.nan,
        rng.normal(size=40) + 0.5 * rng.normal(size=(3, 40)),
    )
    different[1, :5] = different[0, :5]
    for ratings in [
        different,
        *(panel(seed, gaps=0.4 if seed % 2 else 0.1) for seed in range(12)),
    ]:
        expected = oracle.alpha(ratings, level_of_measurement=metric)
        assert statistics.krippendorff_alpha(ratings, metric).value == pytest.approx(
            expected, abs=1e-12
        )
    one, two = (
        statistics.krippendorff_alpha(
            ratings, metric, ci="boot-rows", n_boot=200, seed=4
        )
        for _ in range(2)
    )
    assert (
        one == two
        and one.low < one.value < one.high
        and one.signature().endswith("ci:boot-rows/200|seed:4")
    )


def test_coefficients_of_tens_of_thousands_of_different_scores():
    """Without gaps, and with squared distances, each is one minus a quotient of
    variances.
    """
    rng = np.random.default_rng(3)
    ratings = rng.normal(size=10_000) + 0.5 * rng.normal(size=(4, 10_000))
    within = ratings.var(axis=0, ddof=1).mean()
    every = ratings.var(ddof=1)
    assert statistics.krippendorff_alpha(ratings).value == pytest.approx(
        1 - within / every, rel=1e-12
    )
    a, b = ratings[:2]
    seen = ((a - b) ** 2).mean()
    chance = a.var() + b.var() + (a.mean() - b.mean()) ** 2
    assert statistics.weighted_kappa(a, b).value == pytest.approx(
        1 - seen / chance, rel=1e-12
    )


def test_alpha_of_the_published_example():
    """Krippendorff 2011's worked example: four observers, twelve units, .743, .815,
    .849.
    """
    text = """1 2 3 3 2 1 4 1 2 . . .
              1 2 3 3 2 2 4 1 2 5 . 3
              . 3 3 3 2 3 4 2 2 5 1 .
              1 2 3 3 2 4 4 1 2 5 1 ."""
    ratings = [
        [math.nan if cell == "." else float(cell) for cell in row.split()]
        for row in text.splitlines()
    ]
    values = [
        round(statistics.krippendorff_alpha(ratings, m).value, 3)
        for m in ("nominal", "ordinal", "interval")
    ]
    assert values == [0.743, 0.815, 0.849]
    assert (
        statistics.krippendorff_alpha(ratings).signature()
        == "agree:alpha-interval|raters:4|items:11|left-out:1"
    )


def test_kappa_equals_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    for seed in range(8):
        a, b = panel(seed, gaps=0, raters=2).astype(int)
        expected = metrics.cohen_kappa_score(
            a, b, weights="quadratic", labels=[1, 2, 3, 4, 5]
        )
        assert statistics.weighted_kappa(
            a, b, scale=range(1, 6)
        ).value == pytest.approx(expected, abs=1e-12)
        assert statistics.weighted_kappa(a, b).value == pytest.approx(
            expected, abs=1e-12
        )


def test_icc_equals_pingouin():
    pingouin = pytest.importorskip("pingouin")
    import pandas as pd

    for seed in range(4):
        ratings = panel(seed, gaps=0)
        ratings[1] += 0.5
        cells = [(r, i, ratings[r, i]) for r in range(4) for i in range(40)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = pingouin.intraclass_corr(
                pd.DataFrame(cells, columns=["r", "i", "v"]), "i", "r", "v"
            )
        for kind, (_, row) in zip(
            ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k"), table.iterrows(), strict=True
        ):
            ours = statistics.icc(ratings, kind)
            assert ours.value == pytest.approx(row["ICC"], abs=1e-9)
            ends = next(row[name] for name in row.index if name.startswith("CI95"))
            assert (ours.low, ours.high) == pytest.approx(tuple(ends), abs=0.0051)


def test_icc_published_example():
    """Shrout and Fleiss 1979, table 2 and 4: .17, .29, .71 and .44, .62, .91."""
    ratings = np.array(
        [
            [9, 6, 8, 7, 10, 6],
            [2, 1, 4, 1, 5, 2],
            [5, 3, 6, 2, 6, 4],
            [8, 2, 8, 6, 9, 7],
        ],
        dtype=float,
    )
    values = [
        round(statistics.icc(ratings, kind).value, 2)
        for kind in ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")
    ]
    assert values == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]


def test_perfect_and_empty_agreement():
    assert (
        statistics.krippendorff_alpha(np.tile(np.arange(1.0, 6), (3, 1))).value == 1.0
    )
    constant = np.ones((3, 5))
    for result in (
        statistics.krippendorff_alpha(constant, ci=True, n_boot=10),
        statistics.weighted_kappa(constant[0], constant[1]),
        statistics.icc(constant),
    ):
        assert math.isnan(result.value) and result.reason


def mean_of_others(stack: np.ndarray, rater: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nanmean(np.delete(stack, rater, axis=0), axis=0)


def test_ceiling_is_the_mean_of_leave_one_out_correlations():
    rng = np.random.default_rng(0)
    stack = judged(5, 8, 0)[1] + rng.normal(size=(3, 5, 8))
    stack[0, 0, 0], stack[1:, 2, 2] = np.nan, np.nan
    for level in LEVELS:
        result = statistics.human_ceiling(
            stack, "spearman", level, ci="boot-both", n_boot=50
        )
        expected = [
            at_level(stack[r], mean_of_others(stack, r), "spearman", level)
            for r in range(3)
        ]
        np.testing.assert_allclose(result.each, expected, atol=1e-12)
        assert (
            result.value == pytest.approx(np.mean(expected))
            and result.low <= result.high
        )
    judge = judged(5, 8, 0)[0]
    beside = statistics.against_leave_one_out(judge, stack, "spearman", "input")
    assert beside.who == "judge" and len(beside.each) == 3
    own = statistics.against_leave_one_out(stack[1], stack, "spearman", "input")
    assert own.each[1] == pytest.approx(
        statistics.human_ceiling(stack, "spearman", "input").each[1]
    )


def rated_by_few(rng, raters, each, taste, shape=(12, 60)):
    """A judge, and ratings by some of a few raters who weigh two qualities in their own
    way: `taste` is how much they differ in it.
    """
    good, fluent = rng.normal(size=(2, *shape))
    judge = good + 0.3 * fluent + 0.8 * rng.normal(size=shape)
    weights = taste * rng.normal(size=(raters, 1, 1))
    ratings = good + weights * fluent + 0.6 * rng.normal(size=(raters, *shape))
    order = rng.random(ratings.shape).argsort(axis=0).argsort(axis=0)
    return judge, np.where(order < each, ratings, np.nan)


@pytest.mark.parametrize("coef", thorough.but(["pearson"], ["pearson", "kendall-b"]))
@pytest.mark.parametrize(("raters", "each", "taste"), [(3, 3, 0.5), (6, 2, 0.8)])
def test_the_interval_for_other_raters_holds_what_the_usual_one_does_not(
    coef, raters, each, taste
):
    rng = np.random.default_rng(3)
    truths = []
    for _ in range(300):
        judge, ratings = rated_by_few(rng, raters, each, taste, (30, 60))
        mean = np.nanmean(ratings, axis=0)
        truths.append(statistics.correlate(judge, mean, coef).value)
    truth = np.mean(truths)
    usual = []
    widened = []
    for _ in range(150):
        judge, ratings = rated_by_few(rng, raters, each, taste)
        mean = np.nanmean(ratings, axis=0)
        found = statistics.correlate(judge, mean, coef, ci="auto")
        others = statistics.other_raters(found, judge, ratings)
        usual.append(found.low <= truth <= found.high)
        widened.append(others.low <= truth <= others.high)
    assert np.mean(usual) < 0.88, np.mean(usual)
    assert np.mean(widened) >= 0.91, np.mean(widened)


def test_raters_who_agree_make_it_hardly_wider():
    judge, ratings = rated_by_few(np.random.default_rng(0), 8, 8, taste=0)
    found = statistics.correlate(judge, ratings.mean(axis=0), ci="auto")
    others = statistics.other_raters(found, judge, ratings)
    assert others.low < found.low < found.high < others.high
    assert others.high - others.low < 1.1 * (found.high - found.low)
    assert others.signature() == "|ci:jack-both+raters|df:5.5|raters:8"


def test_what_is_moved_without_each_rater_is_added_as_squares():
    judge, ratings = rated_by_few(np.random.default_rng(1), 5, 3, 0.5)
    mean = np.nanmean(ratings, axis=0)
    found = statistics.correlate(judge, mean, "pearson", ci="auto", confidence=0.9)
    others = statistics.other_raters(found, judge, ratings)
    without = []
    for rater in range(5):
        peers = mean_of_others(ratings, rater)
        both = ~np.isnan(peers)
        without.append(np.corrcoef(judge[both], peers[both])[0, 1])
    error = np.sqrt(0.8 * ((without - np.mean(without)) ** 2).sum())
    reach = stats.t.ppf(0.95, 4) * error
    expected = found.value - np.hypot(found.value - found.low, reach)
    assert others.low == pytest.approx(expected, abs=1e-12)


def test_other_raters_are_not_told_of_by_two_or_of_other_ratings():
    judge, ratings = rated_by_few(np.random.default_rng(2), 2, 2, 0.5)
    found = statistics.correlate(judge, ratings.mean(axis=0), ci="auto")
    others = statistics.other_raters(found, judge, ratings)
    assert math.isnan(others.low) and "2 raters" in others.reason
    with pytest.raises(ValueError, match="not with their mean"):
        statistics.other_raters(found, judge, ratings**3)


def alt_loop(judge, ratings, epsilon, score):
    """The test item by item, as its authors describe it."""
    p = []
    advantages = []
    for rater in range(len(ratings)):
        leads = []
        wins = []
        for item in range(len(judge)):
            others = [
                r[item]
                for k, r in enumerate(ratings)
                if k != rater and not math.isnan(r[item])
            ]
            if (
                math.isnan(ratings[rater][item])
                or math.isnan(judge[item])
                or not others
            ):
                continue
            close = [
                score(value, others) for value in (judge[item], ratings[rater][item])
            ]
            wins.append(close[0] >= close[1] - 1e-12)
            leads.append((close[1] >= close[0] - 1e-12) - int(wins[-1]))
        p.append(stats.ttest_1samp(leads, epsilon, alternative="less").pvalue)
        advantages.append(np.mean(wins))
    order = np.argsort(p)
    m = len(p)
    limits = np.arange(1, m + 1) / m * 0.05 / (1 / np.arange(1, m + 1)).sum()
    below = np.flatnonzero(np.array(p)[order] <= limits)
    return (below.max() + 1 if len(below) else 0) / m, np.mean(advantages)


def test_alternative_annotator_test_equals_a_loop():
    scores = {
        "rmse": lambda value, others: (
            -math.sqrt(np.mean([(value - other) ** 2 for other in others]))
        ),
        "accuracy": lambda value, others: np.mean([value == other for other in others]),
    }
    seen = set()
    for seed in range(8):
        ratings = panel(seed, gaps=0.15, raters=5, items=90)
        judge = (
            panel(seed, gaps=0.05, raters=1, items=90)[0]
            if seed % 2
            else np.nanmedian(ratings, axis=0).round()
        )
        for name, score in scores.items():
            for epsilon in (0.0, 0.1, 0.3):
                result = statistics.alt_test(
                    judge, ratings, name, epsilon, min_items=10
                )
                rate, advantage = alt_loop(judge, ratings, epsilon, score)
                assert result.winning_rate == pytest.approx(rate)
                assert result.advantage == pytest.approx(advantage)
                assert result.passed == (rate >= 0.5)
                seen.add(round(rate, 2))
    assert len(seen) > 2


def test_published_winning_rates_and_advantages(needs):
    """The authors' notebook for SummEval: RMSE, epsilon 0.2, all aspects: no winner,
    advantages .44 to .62.
    """
    human, llm = alttest_summeval(needs)
    keys = list(next(iter(human.values())))
    ratings = np.array(
        [[scores[key] for key in keys] for scores in human.values()], dtype=float
    )
    published = {
        "gemini_flash": 0.46,
        "gemini_pro": 0.44,
        "gpt-4o": 0.48,
        "llama-31": 0.58,
        "gpt-4o-mini": 0.54,
    }
    for judge, advantage in {**published, "mistral-v03": 0.62}.items():
        result = statistics.alt_test(
            [llm[judge][key] for key in keys], ratings, "rmse", 0.2
        )
        assert result.winning_rate == 0.0 and not result.passed
        assert round(result.advantage, 2) == advantage


def test_alternative_annotator_test_leaves_out_and_says_so():
    ratings = panel(0, gaps=0, raters=3, items=60)
    ratings[2, 20:] = np.nan
    judge = np.nanmean(ratings[:2], axis=0).round()
    judge[0] = np.nan
    result = statistics.alt_test(judge, ratings)
    assert (
        result.raters_left_out == (2,)
        and math.isnan(result.p[2])
        and result.won[2] is False
    )
    assert (result.n_items, result.n_left_out) == (59, 1)
    assert "raters:2/3|items:59/60" in result.signature()
    few = statistics.alt_test(judge[:20], ratings[:, :20])
    assert (
        math.isnan(few.winning_rate)
        and not few.passed
        and "no rater has 30 items" in few.reason
    )
    same = statistics.alt_test(ratings[0], np.stack([ratings[0], ratings[0]]))
    assert same.winning_rate == 1.0 and same.p == (0.0, 0.0)
