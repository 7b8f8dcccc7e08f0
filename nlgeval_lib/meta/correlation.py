"""How well a judge's scores follow human ratings, at the level of items, inputs or systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import checks, kernels, missing

LEVELS = ("dataset", "input", "system")


@dataclass(frozen=True)
class Correlation:
    """One correlation and everything needed to know what it is."""

    value: float
    coef: str
    level: str
    n: int  # items that took part
    n_units: int  # what the coefficient ran over: items, inputs averaged, or systems
    n_missing: int
    n_skipped: int  # inputs (input level) or systems (system level) left out
    total: int
    nan: str = "drop"
    low: float = float("nan")
    high: float = float("nan")
    ci: str | None = None
    n_boot: int = 0
    seed: int | None = None
    confidence: float = 0.95
    reason: str = ""

    def __float__(self) -> float:
        return self.value

    def signature(self) -> str:
        parts = [f"level:{self.level}", f"coef:{self.coef}", f"nan:{self.nan}({self.n_missing}/{self.total})"]
        if self.level == "input":
            parts.append(f"skipped:{self.n_skipped}")
        if self.ci:
            parts += [f"ci:{self.ci}/{self.n_boot}", f"seed:{self.seed}"]
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
    """How strongly judge scores x and human ratings y agree.

    x, y: one shape, flat (dataset level) or `X[system, input]`; NaN is missing.
    """
    coef = "kendall-b" if coef == "kendall" else coef
    checks.choice(coef, kernels.COEFFICIENTS, "coef")
    checks.choice(level, LEVELS, "level")
    a, b = checks.pair(x, y)
    if level != "dataset" and a.ndim != 2:
        raise ValueError(f"level={level!r} needs x[system, input]; got a flat vector of {a.size}")
    filled = missing.apply(a, b, nan)
    value, n, units, skipped, reason = _point(filled.x, filled.y, coef, level)
    common = dict(coef=coef, level=level, n=n, n_units=units, n_missing=filled.n_missing, n_skipped=skipped)
    low = high = float("nan")
    if ci is not None:
        low, high = _interval(filled.x, filled.y, coef, level, ci, n_boot, seed, confidence)
    return Correlation(
        value=value,
        total=filled.total,
        nan=nan,
        low=low,
        high=high,
        ci=ci,
        n_boot=n_boot if ci else 0,
        seed=seed if ci else None,
        confidence=confidence,
        reason=reason,
        **common,
    )


def _point(x: Any, y: Any, coef: str, level: str) -> tuple[float, int, int, int, str]:
    here = ~np.isnan(x)
    n = int(here.sum())
    if n < 3:
        raise ValueError(f"got {n} common item(s) of {x.size}; at least 3 with both a score and a rating are needed")
    if level == "dataset":
        value = kernels.coefficient(x[here], y[here], coef)
        return value, n, n, 0, "" if value == value else _constant(x[here], y[here])
    if level == "system":
        rows = here.any(axis=1)
        if rows.sum() < 3:
            raise ValueError(f"level='system': got {int(rows.sum())} system(s) with common items; at least 3 needed")
        mx, my = np.nanmean(x[rows], axis=1), np.nanmean(y[rows], axis=1)
        value = kernels.coefficient(mx, my, coef)
        return value, n, int(rows.sum()), int((~rows).sum()), "" if value == value else _constant(mx, my)
    values = np.array([kernels.coefficient(x[h, j], y[h, j], coef) for j, h in enumerate(here.T)])
    fine = ~np.isnan(values)
    if not fine.any():
        return float("nan"), n, 0, len(values), "every input is constant or has fewer than 2 common systems"
    return float(values[fine].mean()), n, int(fine.sum()), int((~fine).sum()), ""


def _constant(x: Any, y: Any) -> str:
    sides = [name for name, v in (("scores", x), ("ratings", y)) if np.ptp(v) <= 1e-12 * np.abs(v).max()]
    return f"constant {' and '.join(sides) or 'ranks'}: the coefficient is not defined"


def _interval(x: Any, y: Any, coef: str, level: str, ci: str, n_boot: int, seed: int, confidence: float) -> Any:
    checks.choice(ci, ("boot-rows", "boot-inputs", "boot-systems", "boot-both"), "ci")
    if x.ndim == 1 and ci != "boot-rows":
        raise ValueError(f"ci={ci!r} needs x[system, input]; a flat vector allows 'boot-rows' only")
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(n_boot):
        if ci == "boot-rows":
            take = rng.integers(0, x.size, x.size)
            xs, ys = x.ravel()[take], y.ravel()[take]
            xs, ys = xs.reshape(x.shape), ys.reshape(x.shape)
        else:
            s, i = np.arange(x.shape[0]), np.arange(x.shape[1])
            if ci in ("boot-systems", "boot-both"):
                s = rng.integers(0, len(s), len(s))
            if ci in ("boot-inputs", "boot-both"):
                i = rng.integers(0, len(i), len(i))
            xs, ys = x[np.ix_(s, i)], y[np.ix_(s, i)]
        try:
            values.append(_point(xs, ys, coef, level)[0])
        except ValueError:
            continue
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(values, [tail, 1 - tail]) if values else (np.nan, np.nan)
    return float(low), float(high)
