"""How far a correlation would move with other inputs or other systems: bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from . import checks, draws, kernels, levels
from .checks import Floats

METHODS = {"boot": "percentile", "bca": "bca"}
NAN = float("nan")


@dataclass(frozen=True)
class Bootstrap:
    """A bootstrap interval and its replicates.

    low, high: ends of the interval, NaN where most replicates are undefined (`reason` says so).
    n_undefined: replicates without a defined coefficient; the interval is of the others. n: common items of `total`.
    """

    value: float
    low: float
    high: float
    coef: str
    level: str
    units: str
    method: str
    confidence: float
    n_boot: int
    n_undefined: int
    seed: int
    n: int = 0
    total: int = 0
    reason: str = ""
    replicates: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    def signature(self) -> str:
        """What was computed, in one line."""
        name = next(short for short, method in METHODS.items() if method == self.method)
        confidence = "" if self.confidence == 0.95 else f"|conf:{checks.exactly(self.confidence)}"
        kept = f"nan:drop({self.total - self.n}/{self.total})"
        interval = f"ci:{name}-{self.units}/{self.n_boot}{confidence}|seed:{self.seed}"
        return f"level:{self.level}|coef:{self.coef}|{kept}|{interval}"


def parse_interval(ci: str, shape: tuple[int, ...]) -> tuple[str, str]:
    """Method and units that an interval's name stands for: "boot-both" is ("percentile", "both").

    Raises: ValueError for an unknown name, or units that flat data do not have.
    """
    checks.choice(ci, [f"{method}-{unit}" for method in METHODS for unit in draws.UNITS], "ci")
    method, units = ci.split("-")
    draws.check_units(units, shape, "ci")
    return METHODS[method], units


def bootstrap(
    x: Any,
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    units: str = "both",
    method: str = "percentile",
    n_boot: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Bootstrap:
    """Within what limits would the correlation fall for other inputs, other systems, or both?

    x, y: one shape, flat or `X[system, input]`; an item with NaN on either side takes no part. units: rows (i.i.d.
    items), inputs, systems or both; method: percentile or bca.
    Raises: ValueError for bad arrays, unknown words, n_boot < 1 and a confidence outside (0, 1).
    Source: Deutsch, Dror and Roth 2021 (BOOT-INPUTS, -SYSTEMS, -BOTH); Efron 1987 (BCa), for two units with their
    jackknives joined.
    """
    x, y = checks.pair(x, y)
    x, y = common(x, y)
    coef = kernels.named(coef)
    checks.choice(method, METHODS.values(), "method")
    levels.check(x, checks.choice(level, levels.LEVELS, "level"))
    draws.check_units(units, x.shape)
    n_boot = checks.whole(n_boot, "n_boot")
    checks.between(confidence, "confidence")
    checks.whole(seed, "seed", low=0)
    plan = levels.plan(x, y, coef, level)
    value = float(plan.values(draws.everything(x.shape))[0])
    replicates = np.concatenate([plan.values(chunk) for chunk in draws.bootstrap(x.shape, units, n_boot, seed)])
    jackknife = _jackknife(plan, x.shape, units) if method == "bca" and not np.isnan(value) else None
    low, high, undefined, reason = interval(replicates, value, confidence, jackknife)
    n = int((~np.isnan(x)).sum())
    return Bootstrap(
        value, low, high, coef, level, units, method, confidence, n_boot, undefined, seed, n, x.size, reason, replicates
    )


def interval(
    replicates: Floats, value: float, confidence: float = 0.95, jackknife: dict[str, Floats] | None = None
) -> tuple[float, float, int, str]:
    """Ends of the interval, undefined replicates, and a reason where there is none or not all replicates served.

    Percentile, or BCa where the jackknife values are given: {unit: value without each}.
    """
    good = replicates[~np.isnan(replicates)]
    undefined = len(replicates) - len(good)
    if np.isnan(value):
        return NAN, NAN, undefined, "no interval: the coefficient itself is not defined"
    if len(good) * 2 < len(replicates):
        return NAN, NAN, undefined, f"no interval: undefined in {undefined} of {len(replicates)} resamples"
    if len(good) < 2:
        return NAN, NAN, undefined, f"no interval: {len(good)} resample(s) with a value, at least 2 are needed"
    reason = f"undefined in {undefined} of {len(replicates)} resamples, interval of the rest" if undefined else ""
    if len(good) < 2 / (1 - confidence) - 1e-9:
        few = f"{len(good)} resamples are too few for the tails of a {100 * confidence:g} % interval"
        reason = f"{reason}; {few}" if reason else few
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if jackknife is not None:
        tails = _bca_tails(good, value, tails, jackknife)
        if np.isnan(tails).any():
            why = "no BCa interval: replicates or jackknife values do not vary, or are too skewed; use 'boot-'"
            return NAN, NAN, undefined, why
    low, high = np.quantile(good, tails)
    return float(low), float(high), undefined, reason


def common(*sides: Floats) -> tuple[Floats, ...]:
    """The arrays with NaN in all of them wherever any has it.

    Raises: ValueError when fewer than 3 items are left.
    """
    gone = np.isnan(sides[0])
    for side in sides[1:]:
        gone = gone | np.isnan(side)
    if gone.size - gone.sum() < 3:
        raise ValueError(f"got {gone.size - int(gone.sum())} common item(s) of {gone.size}; at least 3 are needed")
    return tuple(np.where(gone, np.nan, side) for side in sides)


def _jackknife(plan: Any, shape: tuple[int, ...], units: str) -> dict[str, Floats]:
    parts: dict[str, list[Floats]] = {}
    for unit, chunk in draws.left_out(shape, units):
        parts.setdefault(unit, []).append(plan.values(chunk))
    return {unit: np.concatenate(values) for unit, values in parts.items()}


def _bca_tails(replicates: Floats, value: float, tails: Floats, jackknife: dict[str, Floats]) -> Floats:
    """Shares of the replicates to cut: bias and acceleration moved. The influences of several units add up."""
    below = np.mean(replicates < value) + np.mean(replicates == value) / 2
    shift = stats.norm.ppf(below)
    influence = []
    for values in jackknife.values():
        values = values[~np.isnan(values)]
        if len(values):
            influence.append((values.mean() - values) * (len(values) - 1) / len(values))
    joined = np.concatenate(influence) if influence else np.zeros(1)
    spread = (joined**2).sum()
    if not np.isfinite(shift) or spread == 0:
        return np.full(2, np.nan)
    acceleration = (joined**3).sum() / (6 * spread**1.5)
    normal = shift + stats.norm.ppf(tails)
    if (acceleration * normal >= 1).any():
        return np.full(2, np.nan)
    return stats.norm.cdf(shift + normal / (1 - acceleration * normal))
