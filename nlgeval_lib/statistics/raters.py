"""How well a person follows the others, and a judge beside them: what a judge can be
expected to reach.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import arrays, groups, intervals, jackknife, levels
from .classical import special
from .correlation import Correlation, coefficients, correlate
from .questions import Basis, Questioned
from .result import NO_INTERVAL, Floats, Interval


@dataclass(frozen=True, repr=False)
class Ceiling(Questioned):
    """Mean correlation with the leave-one-out means of the raters, in [-1, 1].

    value: mean over raters of `each`; NaN with a reason where one is not defined.
    who: "raters" (each rater against the others) or "judge" (the judge against the same
        means, to be set beside them).
    n: common items of the rater with the fewest.
    total: items of the data, missing ones included.
    """

    value: float
    each: tuple[float, ...]
    who: str
    coef: str
    level: str
    n: int
    n_raters: int
    total: int
    interval: Interval = NO_INTERVAL
    reason: str = ""
    basis: Basis | None = field(default=None, repr=False, compare=False)

    def signature(self) -> str:
        method = f"{self.who}:leave-one-out({self.n_raters})"
        missing = "nan:drop"
        if self.n < self.total:
            missing += f"({self.total - self.n}/{self.total})"
        data = f"level:{self.level}|coef:{self.coef}|{method}|{missing}"
        return data + self.interval.signature()


def human_ceiling(
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Ceiling:
    """How well does each rater follow the mean of the others, on average?

    ratings: `R[rater, item]` (dataset level) or `R[rater, system, input]`, NaN missing;
        at least two raters, of one kind (experts, or crowd workers). An item counts for
        a rater who rated it and whom at least one other joined.
    coef, level, ci, n_boot, seed, confidence, system_groups, input_groups: as in
        `correlate`, with one set of resamples for all raters.
    Raises: ValueError as `correlate`, and for fewer than two raters.
    """
    labels = system_groups, input_groups
    return _leave_one_out(
        None, ratings, coef, level, labels, ci, n_boot, seed, confidence
    )


def against_leave_one_out(
    judge: Any,
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Ceiling:
    """How well does a judge follow the same leave-one-out means as the raters of
    `human_ceiling`, which are noisier than the mean of all?

    judge: scores shaped like one rater's ratings, NaN missing; each mean is used on the
        items that the left-out rater rated.
    ratings and the other parameters: as in `human_ceiling`.
    Raises: ValueError as `human_ceiling`, and for unequal shapes.
    """
    labels = system_groups, input_groups
    settings = labels, ci, n_boot, seed, confidence
    return _leave_one_out(judge, ratings, coef, level, *settings)


def other_raters(correlation: Correlation, judge: Any, ratings: Any) -> Interval:
    """Within what limits is a correlation with the mean of raters, where other raters
    like these would have rated?

    The interval of a correlation takes its raters as they are. Here each is left out in
    turn, and what that moves, by t with raters - 1 degrees of freedom, is added to the
    correlation's own interval: distances from its value add as squares.

    correlation: of the judge with the mean of the ratings, with an interval.
    judge, ratings: as in `against_leave_one_out`.
    Returns: NaN with a reason for fewer than three raters.
    Raises: ValueError for bad arrays, and a correlation that is not with their mean.
    Source: Zou and Donner 2008, for the interval of a sum from those of its parts.
    """
    stack = _of_raters(ratings, judge)
    scores = arrays.alike(judge=judge, rating=stack[0])[0]
    rated = ~np.isnan(stack) & ~np.isnan(scores)
    raters = np.flatnonzero(rated.reshape(len(stack), -1).any(axis=1))
    means = [_mean_of_peers(stack, rater) for rater in raters]
    means.append(_mean_of_peers(stack, []))
    *values, value = coefficients(means, scores, correlation.coef, correlation.level)
    if abs(value - correlation.value) > 1e-9:
        raise ValueError("ratings: the correlation is not with their mean")
    without = np.array(values)[~np.isnan(values)]
    number = len(without)
    ends = correlation.interval
    name = f"{ends.name}+raters"
    blank = Interval(name=name, settings=ends.settings, confidence=ends.confidence)
    if np.isnan(ends.low):
        return replace(blank, reason=ends.reason)
    if number < 3:
        return replace(
            blank, reason=f"no interval: {number} raters say little of others"
        )
    quantile = special.stdtrit(number - 1, (1 + ends.confidence) / 2)
    reach = quantile * np.sqrt(jackknife.variance(without))
    least = 0 if correlation.coef == "acc-eq" else -1
    return replace(
        blank,
        low=float(max(value - np.hypot(value - ends.low, reach), least)),
        high=float(min(value + np.hypot(ends.high - value, reach), 1)),
        settings=f"{ends.settings}|raters:{number}",
    )


def _leave_one_out(
    judge: Any,
    ratings: Any,
    coef: str,
    level: str,
    labels: tuple[Any, Any],
    ci: str | bool | None,
    *settings: Any,
) -> Ceiling:
    """The raters (judge None), or a judge in the place of each, against the others'
    means. labels: of systems and of inputs.
    """
    stack = _of_raters(ratings, judge)
    x = None
    if judge is not None:
        x = arrays.alike(judge=judge, rating=stack[0])[0]
    coef = levels.named(coef, level)
    grouped = groups.encode_groups(stack[0].shape, *labels)
    results = []
    plans = []
    reason = ""
    for rater, scores in enumerate(stack):
        if x is not None:
            scores = np.where(np.isnan(scores), np.nan, x)
        mean = _mean_of_peers(stack, rater)
        result = correlate(scores, mean, coef, level)
        results.append(result)
        scores, mean = arrays.common(scores, mean)
        plans.append(levels.plan(scores, mean, coef, level, grouped))
        if result.reason and not reason:
            reason = f"rater {rater}: {result.reason}"
    values = tuple(result.value for result in results)
    value = float(np.mean(values))
    names = groups.names(stack[0].shape, judge, *labels)
    # One statistic of all raters, so that they share the resamples.
    combined = levels.Combined(lambda *parts: np.mean(parts, axis=0), plans)
    ends = intervals.compute_interval(combined, value, ci, level, coef, *settings)
    return Ceiling(
        value=value,
        each=values,
        who="raters" if x is None else "judge",
        coef=coef,
        level=level,
        n=min(result.n for result in results),
        n_raters=len(stack),
        total=stack[0].size,
        interval=ends,
        reason=reason or ends.reason,
        basis=Basis(combined, value, level, coef, names),
    )


def _of_raters(ratings: Any, judge: Any) -> Floats:
    """The ratings. Raises: ValueError for bad arrays and fewer than two raters."""
    arrays.same_labels(judge=judge, ratings=ratings)
    stack = arrays.ratings_by_rater(ratings)
    if len(stack) < 2:
        raise ValueError(
            f"ratings: got shape {stack.shape}; at least 2 raters are needed"
        )
    return stack


def _mean_of_peers(stack: Floats, rater: Any) -> Floats:
    """The mean of all raters but one, or none ([]); NaN where no other rated."""
    peers = np.delete(stack, rater, axis=0)
    count = (~np.isnan(peers)).sum(axis=0)
    return np.nansum(peers, axis=0) / np.where(count > 0, count, np.nan)
