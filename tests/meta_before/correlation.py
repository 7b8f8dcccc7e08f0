"""How well a judge's scores follow human ratings: over all items, input by input, or over systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import checks, kernels, levels, missing, resampling
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
            parts.append(f"ci:{self.ci}/{self.n_boot}")
            if self.confidence != 0.95:
                parts.append(f"conf:{checks.exactly(self.confidence)}")
            parts.append(f"seed:{self.seed}")
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
    coef = kernels.named(coef)
    checks.choice(level, LEVELS, "level")
    x, y = checks.pair(x, y)
    filled = missing.apply(x, y, nan)
    result = _point(filled, coef, level)
    if ci is None:
        return result
    method, units = resampling.parse_interval(ci, x.shape)
    checks.whole(n_boot, "n_boot")
    boot = resampling.bootstrap(filled.x, filled.y, coef, level, units, method, n_boot, confidence, seed)
    return replace(
        result,
        low=boot.low,
        high=boot.high,
        ci=ci,
        confidence=confidence,
        n_boot=n_boot,
        n_undefined=boot.n_undefined,
        seed=seed,
        reason=result.reason or boot.reason,
    )


def correlate_many(
    judges: Mapping[str, Any],
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    nan: str = "drop",
    ci: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Correlation]:
    """How strongly does each of many judges follow the same ratings?

    judges: name to scores, each shaped like y. The same resamples serve all judges. Else as `correlate`.
    Raises: ValueError as `correlate`, naming the judge.
    """
    if not isinstance(judges, Mapping) or not judges:
        raise ValueError(f"judges: got {type(judges).__name__}; pass a mapping from name to scores, with one at least")
    out = {}
    for name, x in judges.items():
        try:
            out[name] = correlate(x, y, coef, level, nan, ci, n_boot, seed, confidence)
        except ValueError as error:
            raise ValueError(f"judge {name!r}: {error}") from error
    return out


def by_input(x: Any, y: Any, coef: str = "kendall-b", nan: str = "drop") -> Floats:
    """The coefficient of each input over its systems: x, y `X[system, input]` to (inputs,), NaN where not defined.

    Raises: ValueError as `correlate` with level="input".
    """
    coef = kernels.named(coef)
    checks.same_index(x=x, y=y)
    x, y = checks.pair(checks.matrix(x, "x"), checks.matrix(y, "y"))
    filled = missing.apply(x, y, nan)
    levels.check(filled.x, "input")
    return levels.Inputs(filled.x, filled.y, coef).each(everything(x.shape))[0]


def _point(filled: missing.Filled, coef: str, level: str) -> Correlation:
    levels.check(filled.x, level)
    here = ~np.isnan(filled.x)
    n = units = int(here.sum())
    skipped = 0
    plan = levels.plan(filled.x, filled.y, coef, level)
    whole = everything(filled.x.shape)
    value = float(plan.values(whole)[0])
    reason = ""
    if isinstance(plan, levels.Inputs):
        skipped = int(np.isnan(plan.each(whole)).sum())
        units = here.shape[1] - skipped
        if np.isnan(value):
            reason = f"none of {skipped} inputs has two systems that differ in scores and in ratings"
    if isinstance(plan, levels.Systems):
        units = int(here.any(axis=1).sum())
        skipped = len(here) - units
    if np.isnan(value) and not reason:
        sides = plan.means(whole)[:2] if isinstance(plan, levels.Systems) else (filled.x, filled.y)
        reason = _why(*sides, level)
    return Correlation(
        value=value,
        coef=coef,
        level=level,
        n=n,
        n_units=units,
        n_missing=filled.n_missing,
        n_skipped=skipped,
        total=filled.total,
        nan=filled.policy,
        reason=reason,
    )


def _why(x: Floats, y: Floats, level: str) -> str:
    what = "mean " if level == "system" else ""
    sides = []
    for name, side in ((f"{what}scores", x), (f"{what}ratings", y)):
        low, high = np.nanmin(side), np.nanmax(side)
        if low == high:
            sides.append(f"constant {name} (all {low:g})")
        elif high - low <= 1e-12 * max(abs(low), abs(high)):
            sides.append(f"{name} constant but for rounding (all near {low:g})")
    return f"{' and '.join(sides) or 'constant ranks'}: the coefficient is not defined"
