"""How well a judge's scores follow human ratings: over all items, input by input, or over systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import checks, intervals, levels, missing
from .checks import Floats
from .draws import everything
from .levels import LEVELS

NAN = float("nan")


@dataclass(frozen=True)
class Correlation:
    """One correlation and all that is needed to know what it is.

    value: NaN where the coefficient is not defined; `reason` then says why. n: items that took part. n_units: what the
    coefficient ran over: items, inputs averaged, or systems. n_missing: items that lacked a score or a rating.
    n_skipped: inputs without a defined coefficient (input level) or systems without a common item (system level).
    low, high: the interval named by `ci`, NaN without one.
    """

    value: float
    coef: str
    level: str
    n: int
    n_units: int
    n_missing: int
    n_skipped: int
    total: int
    nan: str = "drop"
    low: float = NAN
    high: float = NAN
    ci: str | None = None
    confidence: float = 0.95
    n_boot: int = 0
    n_undefined: int = 0
    seed: int | None = None
    reason: str = ""

    def __float__(self) -> float:
        return self.value

    def signature(self) -> str:
        """What was computed, in one line."""
        parts = [f"level:{self.level}", f"coef:{self.coef}", f"nan:{self.nan}({self.n_missing}/{self.total})"]
        if self.level == "input" or self.n_skipped:
            parts.append(f"skipped:{self.n_skipped}")
        if self.ci:
            parts.append(f"ci:{self.ci}/{self.n_boot}{checks.unusual(self.confidence)}|seed:{self.seed}")
        return "|".join(parts)


def correlate(
    x: Any,
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    nan: str = "drop",
    ci: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Correlation:
    """How strongly do judge scores x follow human ratings y?

    x, y: one shape, flat (dataset level only) or `X[system, input]`; NaN is missing.
    coef: pearson, spearman, kendall-a, kendall-b, kendall-c ("kendall" is kendall-b), or acc-eq, in [-1, 1]; acc-eq is
    the share of pairs ordered or tied alike, in [0, 1]. nan: a policy of `missing.POLICIES`.
    level: dataset, one list of items; input, one coefficient an input, averaged over the inputs where it is defined;
    system, over the systems' means. ci: None, or "boot-" (percentile) or "bca-" with rows, inputs, systems or both.
    Rows are drawn i.i.d., which is too narrow where items share inputs or systems. A unit drawn twice is tied with its
    copy: this leaves kendall-b alone but shifts kendall-a, kendall-c and acc-eq, for which "bca-" corrects.
    Raises: ValueError for unequal shapes, infinity, text, nothing to compare, fewer than 3 common items (or systems, at
    system level), fewer than 2 systems at input level, and unknown words. A constant side gives NaN with a reason.
    Source: levels and resampling units as in Deutsch, Dror and Roth 2021.
    """
    coef = levels.named(coef)
    checks.choice(level, LEVELS, "level")
    filled = missing.apply(*checks.pair(x, y), nan)
    result = _point(filled, coef, level)
    if ci is None:
        return result
    method, units = intervals.parse(ci, filled.x.shape)
    boot = intervals.bootstrap(filled.x, filled.y, coef, level, units, method, n_boot, confidence, seed)
    return replace(
        result,
        **{name: getattr(boot, name) for name in ("low", "high", "confidence", "n_boot", "n_undefined", "seed")},
        ci=ci,
        reason=result.reason or boot.reason,
    )


def coefficients(x: Any, y: Any, coef: str = "kendall-b", level: str = "dataset", nan: str = "drop") -> Floats:
    """How strongly does each of many judges follow the same ratings? Numbers only; `correlate` explains one.

    x: `X[judge, item]` or `X[judge, system, input]`; y: one judge's shape. Returns (judges,), equal to `correlate` of
    each; NaN where a coefficient is not defined or a judge has fewer than 3 common items (systems at system level).
    Raises: ValueError for bad arrays, shapes that do not fit, unknown words.
    """
    coef = levels.named(coef)
    checks.choice(level, LEVELS, "level")
    checks.same_labels("item", x=checks.items(x, last=True), y=checks.items(y) if np.ndim(y) == 1 else None)
    stack, ratings = checks.floats(x, "x"), checks.nonempty(checks.floats(y, "y"), "y")
    if stack.ndim != ratings.ndim + 1 or stack.shape[1:] != ratings.shape or ratings.ndim not in (1, 2):
        raise ValueError(f"got x {stack.shape} and y {ratings.shape}; pass X[judge, item] or X[judge, system, input]")
    if level != "dataset" and ratings.ndim != 2:
        raise ValueError(f"level={level!r} needs x[judge, system, input]; got {stack.shape}")
    if len(stack) == 0:
        return np.empty(0)
    filled = [missing.apply(side, ratings, nan) for side in stack]
    a, b = np.stack([one.x for one in filled]), np.stack([one.y for one in filled])
    here = ~np.isnan(a)
    few = here.reshape(len(a), -1).sum(axis=1) < 3
    if level == "system":
        few |= here.any(axis=2).sum(axis=1) < 3
    return np.where(few, np.nan, levels.stacked(a, b, coef, level))


def _point(filled: missing.Filled, coef: str, level: str) -> Correlation:
    levels.check(filled.x, level)
    here = ~np.isnan(filled.x)
    n = units = int(here.sum())
    skipped, reason = 0, ""
    plan, whole = levels.plan(filled.x, filled.y, coef, level), everything(filled.x.shape)
    value = float(plan.values(whole)[0])
    sides: tuple[Floats, ...] = (filled.x, filled.y)
    if isinstance(plan, levels.Inputs):
        skipped = int(np.isnan(plan.each(whole)).sum())
        units = here.shape[1] - skipped
        reason = f"none of {skipped} inputs has two systems that differ in scores and in ratings"
    if isinstance(plan, levels.Systems):
        units = int(here.any(axis=1).sum())
        skipped = len(here) - units
        sides = plan.means(whole)[:2]
    if value == value:
        reason = ""
    elif not reason:
        reason = _why(*sides, "mean " if level == "system" else "")
    return Correlation(
        value, coef, level, n, units, filled.n_missing, skipped, filled.total, filled.policy, reason=reason
    )


def _why(x: Floats, y: Floats, what: str) -> str:
    sides = []
    for name, side in ((f"{what}scores", x), (f"{what}ratings", y)):
        low, high = np.nanmin(side), np.nanmax(side)
        if low == high:
            sides.append(f"constant {name} (all {low:g})")
        elif high - low <= 1e-12 * max(abs(low), abs(high)):
            sides.append(f"{name} constant but for rounding (all near {low:g})")
    return f"{' and '.join(sides) or 'constant ranks'}: the coefficient is not defined"
