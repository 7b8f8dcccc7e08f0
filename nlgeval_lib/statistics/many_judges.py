"""Which ranks can each of many judges have? All pairs are tested from what each judge's
coefficient is without each system and input, which is reckoned once a judge; `league`
in `multiplicity` compares a few judges in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from . import arrays, draws, groups, intervals, jackknife, levels
from .levels import Combined, Statistic
from .multiplicity import both_ways, common_scores
from .ranks import RankSets, rank_sets, stepdown_p
from .result import Floats


def rank_judges(
    judges: Mapping[str, Any],
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    nan: str = "drop",
    alpha: float = 0.05,
    n_draws: int = 10_000,
    seed: int = 0,
    units: str | None = None,
    system_groups: Any = None,
    input_groups: Any = None,
) -> RankSets:
    """Between which ranks does each of many judges lie, for all judges at once?

    Every two judges are tested by the jackknife, and the p-values corrected with what
    the differences share (`stepdown_p`), far less careful than Holm's correction.

    judges: name to scores shaped like y; all are ranked on the items that every judge
        scored.
    y, coef, nan: ratings and settings, as in `correlate`.
    level: "dataset" or "input".
    alpha: the probability, at most, that any true rank lies outside its set, in (0, 1).
    n_draws, seed: normal draws of the correction, and their seed.
    units, system_groups, input_groups: what the jackknife leaves out: "systems",
        "inputs", "both" or "rows", None for what `compare` does unasked; as a whole.
    Raises: ValueError as `league`, for unknown units, and at system level.
    Source: Romano and Wolf 2005; Mogstad, Romano, Shaikh and Wilhelm 2024.
    """
    coef = levels.named(coef, level)
    if level == "system":
        raise ValueError("level: got 'system'; `league` ranks judges over systems")
    scores, ratings, _ = common_scores(judges, y, nan)
    levels.check(ratings, level)
    together = groups.encode_groups(ratings.shape, system_groups, input_groups)
    single: list[Statistic] = []
    for own in scores.values():
        single.append(levels.plan(own, ratings, coef, level, together))
    if units is None:
        present = ~np.isnan(ratings)
        test, _ = intervals.chosen("test", level, present, together)
        units = test.removeprefix("jack-")
    arrays.choice(units, jackknife.KINDS, "units")
    draws.check_units(units, ratings.shape)
    values = np.array([judge.value for judge in single])
    p, parts = _tests(single, values, units)
    adjusted = both_ways(stepdown_p(p, parts, n_draws, seed), len(single))
    return rank_sets(values, adjusted, alpha, list(scores))


def _tests(
    judges: list[Statistic], values: Floats, units: str
) -> tuple[Floats, Floats]:
    """p of the difference of every two judges, (pairs,), and what each unit contributes
    to its error, `[pair, unit]`, in the order of `combinations`.

    values: the coefficient of each judge. units: a key of `jackknife.KINDS`; the cells
    of "both", which only correct the variance, are no units here.
    """
    # How far a judge's coefficient moves without a unit, from its mean over the units;
    # a coefficient that is not defined without it counts as unmoved.
    by_kind = []
    for kind in jackknife.KINDS[units][:2]:
        numbers = jackknife.taking_part(judges[0], kind)
        without = np.array([judge.without(kind)[numbers] for judge in judges])
        mean = np.nanmean(without, axis=1)
        by_kind.append(np.nan_to_num(without - mean[:, None]))
    moves = np.hstack(by_kind)
    pairs = list(combinations(range(len(judges)), 2))
    p = np.empty(len(pairs))
    for place, (first, second) in enumerate(pairs):
        pair = Combined(np.subtract, [judges[first], judges[second]])
        spread = jackknife.spread(pair, units)
        p[place], _ = jackknife.p_value(values[first] - values[second], spread)
    firsts, seconds = np.array(pairs).T
    return p, moves[firsts] - moves[seconds]
