"""Which ranks can each of many judges have? All pairs are tested from what each judge's
coefficient is without each system and input, which is reckoned once a judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from . import arrays, draws, groups, intervals, jackknife, levels
from .draws import Ints
from .levels import Combined, Statistic
from .multiplicity import common_scores
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

    judges: name to scores shaped like y; all are ranked on the items that every judge
    scored. units: what the jackknife leaves out, systems, inputs, both or rows; None as
    `compare` does unasked. Every two judges are tested, and the p-values corrected step
    by step with what the differences share, as `stepdown_p` does: with many judges far
    less careful than Holm's correction in `league`, and in a time that hardly grows
    with the number of pairs.
    Raises: ValueError as `league`, and at system level, whose test exchanges scores.
    Source: Romano and Wolf 2005; Mogstad, Romano, Shaikh and Wilhelm 2024.
    """
    coef = levels.named(coef, level)
    if level == "system":
        raise ValueError("level: got 'system'; `league` ranks judges over systems")
    scores, ratings, _ = common_scores(judges, y, nan)
    levels.check(ratings, level)
    together = groups.of(ratings.shape, system_groups, input_groups)
    policy = nan if nan == "constant-zero" else "drop"
    single = []
    for side in scores.values():
        plan = levels.plan(side, ratings, coef, level, policy, together)
        single.append(_Remembered(plan))
    if units is None:
        test, _ = intervals.chosen("test", level, coef, ~np.isnan(ratings), together)
        units = test.removeprefix("jack-")
    arrays.choice(units, jackknife.KINDS, "units")
    draws.check_units(units, ratings.shape)
    values = np.array([judge.value for judge in single])
    p, parts = _tests(single, values, units)
    adjusted = stepdown_p(p, parts, n_draws, seed)
    first, second = np.triu_indices(len(single), 1)
    matrix = np.full((len(single), len(single)), np.nan)
    matrix[first, second] = adjusted
    matrix[second, first] = adjusted
    return rank_sets(values, matrix, alpha, list(scores))


class _Remembered(Statistic):
    """A statistic whose values without each unit are reckoned once."""

    def __init__(self, statistic: Statistic) -> None:
        self.statistic = statistic
        self.present = statistic.present
        self.groups = statistic.groups
        self.all_items = statistic.value
        self.left_out: dict[str, Floats] = {}

    @property
    def value(self) -> float:
        return self.all_items

    def without(self, unit: str) -> Floats:
        if unit not in self.left_out:
            self.left_out[unit] = self.statistic.without(unit)
        return self.left_out[unit]


def _tests(
    judges: list[_Remembered], values: Floats, units: str
) -> tuple[Floats, Floats]:
    """p of the difference of every two judges, and what each unit contributes to its
    error: `[pair, unit]`. The cells of both, which only correct the variance, are left
    out of these.
    """
    kinds = jackknife.KINDS[units][:2]
    numbers = {kind: _units(judges[0], kind) for kind in kinds}
    by_kind = []
    for kind in kinds:
        without = np.array([judge.without(kind)[numbers[kind]] for judge in judges])
        by_kind.append(np.nan_to_num(without - np.nanmean(without, axis=1)[:, None]))
    moves = np.hstack(by_kind)
    pairs = list(combinations(range(len(judges)), 2))
    p = np.empty(len(pairs))
    for place, (first, second) in enumerate(pairs):
        pair = Combined(np.subtract, [judges[first], judges[second]])
        spread = jackknife.spread(pair, units)
        p[place], _ = jackknife.p_value(values[first] - values[second], spread)
    one, other = np.array(pairs).T
    return p, moves[one] - moves[other]


def _units(judge: Statistic, kind: str) -> Ints:
    """The numbers of the units that take part."""
    drawn = "rows" if kind == "cells" else kind
    return draws.taking_part(judge.present, drawn, judge.groups)
