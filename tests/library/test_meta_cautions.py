"""What results say of the data that speaks against an interval over systems."""

import numpy as np
import pytest

from nlgeval_lib import statistics

SHAPE = 8, 60


def data(copied: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and ratings; of the last system, this share of outputs is the first's."""
    rng = np.random.default_rng(1)
    quality = rng.normal(size=(8, 1)) + rng.normal(size=SHAPE)
    is_copied = rng.random(60) < copied
    ratings = quality + 0.5 * rng.normal(size=SHAPE)
    scores = quality + 0.5 * rng.normal(size=SHAPE)
    for side in (scores, ratings):
        side[7] = np.where(is_copied, side[0], side[7])
    return scores, ratings


@pytest.mark.parametrize("level", statistics.LEVELS)
@pytest.mark.parametrize("coef", ["pearson", "kendall-b"])
def test_near_copies_are_named_where_an_interval_is_about_systems(level, coef):
    copied = data(0.8)
    found = statistics.correlate(*copied, coef, level, ci="auto")
    assert "system 0 and system 7" in found.reason
    independent = statistics.correlate(*data(), coef, level, ci="auto")
    assert "near-copies" not in independent.reason
    for silent in ({}, {"ci": "jack-inputs"}):
        assert (
            "near-copies"
            not in statistics.correlate(*copied, coef, level, **silent).reason
        )


def test_near_copies_need_both_sides_and_no_family_that_names_them():
    scores, ratings = data(0.8)
    independent = data()
    one_side = statistics.correlate(scores, independent[1], ci="auto")
    assert "near-copies" not in one_side.reason
    named = statistics.correlate(
        scores, ratings, ci="auto", system_groups=[*"abcdefg", "a"]
    )
    assert "near-copies" not in named.reason
    other = statistics.correlate(
        scores, ratings, ci="auto", system_groups=[*"abcdef", "a", "h"]
    )
    assert "system 0 and system 7" in other.reason


def test_near_copies_are_found_with_gaps_and_in_tests():
    scores, ratings = data(0.8)
    scores[2, ::3] = np.nan
    found = statistics.correlate(scores, ratings, ci="auto")
    assert "system 0 and system 7" in found.reason
    rival = ratings + np.random.default_rng(2).normal(size=SHAPE)
    for level in statistics.LEVELS:
        test = statistics.compare(scores, rival, ratings, level=level)
        assert "system 0 and system 7" in test.reason


@pytest.mark.parametrize("level", ["dataset", "system"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_skewed_ratings_are_told(level, sign):
    scores, ratings = data()
    long_tailed = sign * np.exp(ratings)
    found = statistics.correlate(scores, long_tailed, "pearson", level, ci="auto")
    assert "skewed ratings" in found.reason
    assert ("far above" if sign > 0 else "far below") in found.reason
    even = statistics.correlate(scores, ratings, "pearson", level, ci="auto")
    assert "skewed ratings" not in even.reason
    for silent in (("pearson", "input"), ("kendall-b", "system")):
        other = statistics.correlate(scores, long_tailed, *silent, ci="auto")
        assert "skewed ratings" not in other.reason


def test_ratings_of_two_values_are_not_called_skewed():
    scores, ratings = data()
    passed = (ratings > -2).astype(float)
    assert "skewed" not in statistics.correlate(scores, passed, ci="auto").reason


def test_few_systems_that_agree_nearly_perfectly_are_told():
    scores, ratings = data()
    close = ratings + 0.1 * scores
    told = statistics.correlate(close, ratings, "pearson", "system", ci="auto")
    assert told.value > 0.9
    assert "agree nearly perfectly" in told.reason
    ranks = statistics.correlate(close, ratings, "kendall-b", "system", ci="auto")
    assert "agree nearly perfectly" not in ranks.reason


def test_judges_told_apart_by_exchange_alone_are_named():
    """Systems that two judges see from one side, but not by the same amount."""
    rng = np.random.default_rng(0)
    said = []
    for _ in range(40):
        systems = rng.normal(size=(8, 1))
        ratings = systems + rng.normal(size=SHAPE)
        first = systems + 0.3 * rng.normal(size=SHAPE)
        second = 0.7 * systems + rng.normal(size=(8, 1)) + rng.normal(size=SHAPE)
        sides = (first, second, ratings, "pearson", "system")
        test = statistics.compare(*sides, "exact-systems")
        by_jackknife = statistics.compare(*sides)
        only = test.p <= 0.05 < by_jackknife.p
        assert ("jack-systems" in test.reason) == only
        said.append(only)
    assert any(said)
