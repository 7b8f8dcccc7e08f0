"""How well does a person follow the other people? The height that a judge can be measured by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import checks, draws, kernels, levels, resampling
from .checks import Floats
from .correlation import correlate

NAN = float("nan")


@dataclass(frozen=True)
class Ceiling:
    """Mean correlation with the leave-one-out means of the raters.

    value: mean over raters of `each`, NaN with a reason where one is not defined. who: "raters" (each rater against the
    others) or "judge" (the judge against the same means, to be set beside them).
    """

    value: float
    each: tuple[float, ...]
    who: str
    coef: str
    level: str
    n: int
    n_raters: int
    total: int
    low: float = NAN
    high: float = NAN
    ci: str | None = None
    n_boot: int = 0
    seed: int | None = None
    reason: str = ""

    def __float__(self) -> float:
        return self.value

    def signature(self) -> str:
        """What was computed, in one line."""
        ci = f"|ci:{self.ci}/{self.n_boot}|seed:{self.seed}" if self.ci else ""
        gone = f"({self.total - self.n}/{self.total})" if self.n < self.total else ""
        return f"level:{self.level}|coef:{self.coef}|{self.who}:leave-one-out({self.n_raters})|nan:drop{gone}{ci}"


def human_ceiling(
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> Ceiling:
    """How well does each rater follow the mean of the others, on average?

    ratings: `R[rater, item]` (dataset level) or `R[rater, system, input]`, NaN missing; at least two raters. An item
    counts for a rater who rated it and whom at least one other joined. ci as in `correlate`, one set of resamples for
    all raters.
    Raises: ValueError as `correlate`, and for fewer than two raters.
    """
    stack = _stack(ratings)
    pairs = [(stack[r], _others(stack, r)) for r in range(len(stack))]
    return _leave_one_out(pairs, "raters", coef, level, ci, n_boot, seed)


def against_leave_one_out(
    judge: Any,
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> Ceiling:
    """How well does a judge follow the same leave-one-out means as the raters of `human_ceiling`?

    judge: shaped like one rater's ratings. The mean of all raters is less noisy than that of all but one, so a judge's
    plain correlation is not comparable with the ceiling; this one is. Each mean is used on the items that the left-out
    rater rated.
    Raises: ValueError as `human_ceiling`, and for unequal shapes.
    """
    checks.same_labels("item", judge=checks.items(judge), ratings=checks.items(ratings, last=True))
    stack = _stack(ratings)
    x = checks.floats(judge, "judge")
    checks.same_shape(judge=x, rating=stack[0])
    pairs = [(np.where(np.isnan(stack[r]), np.nan, x), _others(stack, r)) for r in range(len(stack))]
    return _leave_one_out(pairs, "judge", coef, level, ci, n_boot, seed)


def _stack(ratings: Any) -> Floats:
    stack = checks.floats(ratings, "ratings")
    if stack.ndim not in (2, 3) or len(stack) < 2:
        raise ValueError(
            f"ratings: got shape {stack.shape}; pass R[rater, item] or R[rater, system, input] with at least 2 raters"
        )
    return checks.nonempty(stack, "ratings")


def _others(stack: Floats, rater: int) -> Floats:
    rest = np.delete(stack, rater, axis=0)
    count = (~np.isnan(rest)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.nansum(rest, axis=0) / np.where(count > 0, count, np.nan)


def _leave_one_out(
    pairs: list[tuple[Floats, Floats]], who: str, coef: str, level: str, ci: str | None, n_boot: int, seed: int
) -> Ceiling:
    coef = kernels.named(coef)
    results = []
    for rater, (x, y) in enumerate(pairs):
        try:
            results.append(correlate(x, y, coef, level))
        except ValueError as error:
            raise ValueError(f"rater {rater}: {error}") from error
    each = tuple(result.value for result in results)
    value = float(np.mean(each))
    reason = next((f"rater {r}: {result.reason}" for r, result in enumerate(results) if result.reason), "")
    low = high = NAN
    if ci is not None:
        method, units = resampling.parse_interval(ci, pairs[0][0].shape)
        if method != "percentile":
            raise ValueError(f"ci: got {ci!r}; means over raters have percentile intervals only ('boot-...')")
        checks.whole(n_boot, "n_boot")
        checks.whole(seed, "seed", low=0)
        shape = pairs[0][0].shape
        plans = [levels.plan(*resampling.common(x, y), coef, level) for x, y in pairs]
        chunks = draws.bootstrap(shape, units, n_boot, seed)
        replicates = np.concatenate([np.mean([plan.values(chunk) for plan in plans], axis=0) for chunk in chunks])
        low, high, _, why = resampling.interval(replicates, value)
        reason = reason or why
    return Ceiling(
        value=value,
        each=each,
        who=who,
        coef=coef,
        level=level,
        n=min(result.n for result in results),
        n_raters=len(pairs),
        total=pairs[0][0].size,
        low=low,
        high=high,
        ci=ci,
        n_boot=n_boot if ci else 0,
        seed=seed if ci else None,
        reason=reason,
    )
