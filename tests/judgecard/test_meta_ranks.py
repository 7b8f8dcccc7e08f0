"""Sets of ranks hold the true ranks of all at once; corrected p-values are those of
others.
"""

from __future__ import annotations

import numpy as np
import pytest
import thorough
from meta_oracles import judged
from scipy import stats

from judgecard.estimates import estimate
from nlgeval_lib import statistics
from tools import estimate_coverage as coverage

WORLD = coverage.WORLDS["normal"]


def estimates(systems, rng, spread=1.0):
    """Of systems whose true order is that of their places."""
    level = spread * np.arange(systems)[:, None]
    ratings = level + rng.normal(size=(1, 80)) + rng.normal(size=(systems, 80))
    scores = ratings + rng.normal(size=ratings.shape)
    return estimate(scores, coverage.labelled(ratings, "input", 30, rng))


@pytest.mark.parametrize("spread", thorough.but([0.2], [0.0, 0.2]))
def test_all_true_ranks_lie_in_their_sets(spread):
    rng = np.random.default_rng(3)
    systems = 6
    held = 0
    for _ in range(200):
        sets = estimates(systems, rng, spread).rank_sets()
        if spread:
            truth = systems - np.arange(systems)
            inside = (sets.best <= truth) & (truth <= sets.worst)
        else:
            inside = (np.array(sets.best) == 1) & (np.array(sets.worst) == systems)
        held += inside.all()
    assert held / 200 >= 0.91


def test_systems_that_lie_far_apart_have_one_rank_each():
    sets = estimates(4, np.random.default_rng(0), spread=3).rank_sets()
    assert sets.best == sets.worst == (4, 3, 2, 1)
    assert sets["4"] == range(1, 2)
    assert sets.to_frame()["name"].tolist() == ["4", "3", "2", "1"]


def test_rank_sets_by_hand():
    p = np.full((3, 3), np.nan)
    p[0, 1] = p[1, 0] = 0.2
    p[0, 2] = p[2, 0] = 0.01
    p[1, 2] = p[2, 1] = 0.03
    sets = statistics.rank_sets([0.6, 0.5, 0.1], p)
    assert (sets.best, sets.worst) == ((1, 1, 3), (2, 2, 3))
    strict = statistics.rank_sets([0.6, 0.5, 0.1], p, alpha=0.02)
    assert (strict.best, strict.worst) == ((1, 1, 2), (2, 3, 3))


def test_p_of_independent_contrasts_is_sidaks_and_of_equal_ones_unchanged():
    p = np.array([0.01, 0.03, 0.4])
    independent = statistics.stepdown_p(p, np.eye(3), n_draws=200_000)
    expected = 1 - (1 - p) ** np.array([3, 2, 1])
    assert independent == pytest.approx(expected, abs=0.003)
    same = statistics.stepdown_p([0.02, 0.02], np.ones((2, 5)), n_draws=200_000)
    assert same == pytest.approx([0.02, 0.02], abs=0.001)
    gaps = statistics.stepdown_p([np.nan, 0.02], np.ones((2, 5)))
    assert np.isnan(gaps[0])


def test_correlated_contrasts_are_those_of_tukey():
    """All pairs of means with equal errors: the studentised range."""
    rng = np.random.default_rng(1)
    ratings = rng.normal(size=(5, 4000)) + np.array([0, 0, 0.05, 0.05, 0.07])[:, None]
    found = estimate(np.ones_like(ratings), ratings)
    largest = max(found.differences, key=lambda pair: abs(pair.value))
    place = found.differences.index(largest)
    z = abs(stats.norm.ppf(largest.p / 2))
    expected = stats.studentized_range.sf(z * np.sqrt(2), 5, 10_000)
    assert found.corrected(200_000)[place] == pytest.approx(expected, abs=0.004)


def test_a_league_has_rank_sets():
    x, y = judged(8, 40, 0)
    noise = np.random.default_rng(0).normal(size=y.shape)
    judges = {"good": x, "copy": x + 0.01 * noise, "noise": noise}
    league = statistics.league(judges, y)
    assert league.rank_sets()["noise"] == range(3, 4)
    assert league.rank_sets()["good"] == range(1, 3)
    with pytest.raises(ValueError, match="holm"):
        statistics.league(judges, y, method="bh").rank_sets()


def test_a_design_of_fewer_than_three_systems_has_no_detectable_difference():
    x, y = judged(8, 40, 0)
    noise = np.random.default_rng(0).normal(size=y.shape)
    found = statistics.compare(x, noise, y, units="jack-both")
    assert 0 < found.detectable(systems=16) < found.detectable()
    for design in ({"systems": -3}, {"inputs": 0}, {"systems": 2.5}):
        with pytest.raises(ValueError, match=next(iter(design))):
            found.detectable(**design)


def many(number, rng, noise=None):
    """Ratings, and judges that see them with so much noise each."""
    quality = 0.6 * rng.normal(size=(16, 1)) + rng.normal(size=(16, 60))
    if noise is None:
        noise = np.ones(number)
    judges = {}
    for place, spread in enumerate(noise):
        judges[str(place)] = quality + spread * rng.normal(size=quality.shape)
    return judges, quality


def test_many_judges_have_the_ranks_of_a_league_or_fewer():
    """The same tests, and a correction that is less careful."""
    judges, ratings = many(6, np.random.default_rng(0), (0.2, 0.6, 1, 1.4, 2, 4))
    sets = statistics.rank_judges(judges, ratings, "pearson")
    league = statistics.league(judges, ratings, "pearson", units="auto").rank_sets()
    assert sets.values == pytest.approx(league.values, abs=1e-12)
    assert np.all(np.array(sets.best) >= league.best)
    assert np.all(np.array(sets.worst) <= league.worst)
    two = {name: judges[name] for name in "23"}
    p = statistics.compare(*two.values(), ratings, "pearson", units="auto").p
    for alpha, best in ((p * 0.9, (1, 1)), (p * 1.1, (1, 2))):
        assert statistics.rank_judges(two, ratings, "pearson", alpha=alpha).best == best


def test_sixty_five_equal_judges_could_have_any_rank():
    judges, ratings = many(65, np.random.default_rng(1))
    sets = statistics.rank_judges(judges, ratings, "kendall-b", n_draws=1000)
    assert set(sets.best) == {1} and set(sets.worst) == {65}
    assert sets.in_words("3") == "1 to 65"


def test_equal_judges_are_seldom_ranked():
    rng = np.random.default_rng(2)
    ranked = 0
    for _ in range(60):
        judges, ratings = many(5, rng)
        sets = statistics.rank_judges(judges, ratings, "pearson", n_draws=500)
        ranked += set(sets.best) != {1}
    assert ranked <= 8  # 3 are expected at most; 9 or more have a chance of .004


def test_judges_are_not_ranked_over_systems_this_way():
    judges, ratings = many(3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="league"):
        statistics.rank_judges(judges, ratings, level="system")
    with pytest.raises(ValueError, match="units"):
        statistics.rank_judges(judges, ratings, units="nothing")


def test_corrected_p_hang_on_correlations_alone() -> None:
    """Not on how rounding turns the units, which differs from processor to processor."""
    rng = np.random.default_rng(3)
    judges = rng.normal(size=(6, 40))
    first, second = np.triu_indices(6, 1)
    parts = judges[first] - judges[second]
    p = rng.uniform(size=len(parts))
    rotation = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    plain = statistics.stepdown_p(p, parts)
    assert np.array_equal(plain, statistics.stepdown_p(p, parts @ rotation))
