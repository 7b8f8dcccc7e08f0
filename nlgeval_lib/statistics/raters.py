"""How well a person follows the others, and a judge beside them: what a judge can be
expected to reach.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import arrays, groups, intervals, levels
from .correlation import correlate
from .questions import Basis, Questioned
from .result import NO_INTERVAL, Interval


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
    arrays.same_labels(judge=judge, ratings=ratings)
    stack = arrays.ratings_by_rater(ratings)
    if len(stack) < 2:
        raise ValueError(
            f"ratings: got shape {stack.shape}; at least 2 raters are needed"
        )
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
        peers = np.delete(stack, rater, axis=0)
        count = (~np.isnan(peers)).sum(axis=0)
        mean = np.nansum(peers, axis=0) / np.where(count > 0, count, np.nan)
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
