"""How far a value would move with other inputs, other systems or other splits: bootstrap and closed-form intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from . import arrays, draws
from .arrays import Floats
from .draws import Draws
from .result import NAN, Interval, Result

METHODS = ("boot", "bca")  # percentile; bias-corrected and accelerated

Statistic = Callable[[Draws], Floats]


def parse(ci: str, shape: tuple[int, ...]) -> tuple[str, str]:
    """Method and units that an interval's name stands for: "boot-both" is ("boot", "both").

    Raises: ValueError for an unknown name, or units that flat data do not have.
    """
    arrays.choice(ci, [f"{method}-{unit}" for method in METHODS for unit in draws.UNITS], "ci")
    method, units = ci.split("-")
    return method, draws.check_units(units, shape, "ci")


def bootstrap(
    statistic: Statistic,
    value: float,
    shape: tuple[int, ...],
    ci: str,
    n_boot: int = 1000,
    seed: int = 0,
) -> Interval:
    """Within what limits would a value fall for other inputs, other systems, or both?

    statistic: the value of each of b resamples, (b,); value: that of the data, of this shape; ci: as `parse`.
    Raises: ValueError for an unknown `ci`, n_boot < 1 and a negative seed.
    Source: Deutsch, Dror and Roth 2021 (BOOT-INPUTS, -SYSTEMS, -BOTH); Efron 1987 (BCa), for two units with their
    jackknives joined.
    """
    method, units = parse(ci, shape)
    n_boot, seed = arrays.whole(n_boot, "n_boot"), arrays.whole(seed, "seed", low=0)
    replicates = np.concatenate([statistic(chunk) for chunk in draws.bootstrap(shape, units, n_boot, seed)])
    with_bca = method == "bca" and not np.isnan(value)
    ends = interval(replicates, value, jackknife(statistic, shape, units) if with_bca else None)
    return replace(ends, replicates=replicates, name=ci, how=f"/{n_boot}|seed:{seed}")


def jackknife(statistic: Statistic, shape: tuple[int, ...], units: str) -> dict[str, Floats]:
    """The statistic without each unit: {"systems": (systems,), ...}."""
    parts: dict[str, list[Floats]] = {}
    for unit, chunk in draws.left_out(shape, units):
        parts.setdefault(unit, []).append(statistic(chunk))
    return {unit: np.concatenate(values) for unit, values in parts.items()}


def interval(replicates: Floats, value: float, left_out: dict[str, Floats] | None = None) -> Interval:
    """Within what limits do the replicates put the value, at 95 %?

    Percentile, or BCa where the jackknife values are given: {unit: value without each}.
    """
    good = replicates[~np.isnan(replicates)]
    undefined = len(replicates) - len(good)
    if np.isnan(value):
        return Interval(n_undefined=undefined, reason="no interval: the coefficient itself is not defined")
    if len(good) * 2 < len(replicates):
        why = f"no interval: undefined in {undefined} of {len(replicates)} resamples"
        return Interval(n_undefined=undefined, reason=why)
    if len(good) < 2:
        why = f"no interval: {len(good)} resample(s) with a value, at least 2 are needed"
        return Interval(n_undefined=undefined, reason=why)
    notes = [f"undefined in {undefined} of {len(replicates)} resamples, interval of the rest"] if undefined else []
    if len(good) < 40:
        notes.append(f"{len(good)} resamples are too few for the tails of a 95 % interval")
    tails = np.array([0.025, 0.975])
    if left_out is not None:
        tails = _bca_tails(good, value, tails, left_out)
        if np.isnan(tails).any():
            why = "no BCa interval: replicates or jackknife values do not vary, or are too skewed; use 'boot-'"
            return Interval(n_undefined=undefined, reason=why)
    low, high = np.quantile(good, tails)
    return Interval(float(low), float(high), n_undefined=undefined, reason="; ".join(notes))


def _bca_tails(replicates: Floats, value: float, tails: Floats, left_out: dict[str, Floats]) -> Floats:
    """Shares of the replicates to cut: bias and acceleration moved. The influences of several units add up."""
    shift = special.ndtri(np.mean(replicates < value) + np.mean(replicates == value) / 2)
    kept = [values[~np.isnan(values)] for values in left_out.values()]
    influence = [(values.mean() - values) * (len(values) - 1) / len(values) for values in kept if len(values)]
    joined = np.concatenate(influence) if influence else np.zeros(1)
    spread = (joined**2).sum()
    if not np.isfinite(shift) or spread == 0:
        return np.full(2, np.nan)
    acceleration = (joined**3).sum() / (6 * spread**1.5)
    normal = shift + special.ndtri(tails)
    if (acceleration * normal >= 1).any():
        return np.full(2, np.nan)
    return special.ndtr(shift + normal / (1 - acceleration * normal))


def fisher_interval(r: float, n: int, coef: str = "pearson", confidence: float = 0.95) -> tuple[float, float]:
    """Ends of the interval of one correlation from n i.i.d. items; NaN where n is too small or |r| is 1.

    coef: pearson, spearman or kendall-b, each with its own standard error.
    Raises: ValueError for r outside [-1, 1], an unknown coefficient or a confidence outside (0, 1).
    Source: Bonett and Wright 2000.
    """
    arrays.choice(coef, ("pearson", "spearman", "kendall-b"), "coef")
    arrays.share(confidence, "confidence")
    arrays.number(r, "correlation", -1, 1)
    arrays.whole(n, "n")
    less, scale = {"pearson": (3, 1.0), "spearman": (3, np.sqrt(1 + r**2 / 2)), "kendall-b": (4, np.sqrt(0.437))}[coef]
    if n <= less or abs(r) >= 1:
        return NAN, NAN
    half = special.ndtri((1 + confidence) / 2) * scale / np.sqrt(n - less)
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


@dataclass(frozen=True, repr=False)
class Resampled(Result):
    """The mean over splits, its interval, and a two-sided p-value that it is `null`.

    value, low, high: in the unit of the values; p: in [0, 1]; NaN with a reason where not defined.
    """

    value: float
    low: float
    high: float
    p: float
    sd: float
    n_splits: int
    n_train: float
    n_test: float
    null: float
    reason: str = ""

    def signature(self) -> str:
        test = f"ci:resampled-t({self.n_test:g}/{self.n_train:g})"
        return f"mean-of-splits:{self.n_splits}|{test}" + (f"|null:{arrays.exactly(self.null)}" if self.null else "")


def resampled_t(values: Any, n_train: float, n_test: float, null: float = 0.0) -> Resampled:
    """What do values on repeated train-test splits say, where the splits share their data?

    values: one a split, of a quality or of a difference between two models. The splits overlap, so their spread is
    too small for an ordinary t-test: the variance of the mean is taken as (1 / splits + n_test / n_train) s^2.
    n_train, n_test: rows (or documents) on each side of a split.
    Raises: ValueError for no value or NaN among them, and sizes below 1 and what is no finite number.
    Source: Nadeau and Bengio 2003, Inference for the Generalization Error, section 3.
    """
    found = arrays.vector(values, "values")
    if np.isnan(found).any():
        raise ValueError(f"values: got {len(found)}, {int(np.isnan(found).sum())} of them NaN; pass one number a split")
    n_train, n_test = (arrays.number(size, name, 1) for size, name in ((n_train, "n_train"), (n_test, "n_test")))
    null = arrays.number(null, "null")
    mean, number = float(found.mean()), len(found)
    settings = number, n_train, n_test, null
    if number < 2:
        return Resampled(mean, NAN, NAN, NAN, NAN, *settings, reason="one split has no spread")
    rounding = 8 * np.finfo(float).eps * max(float(np.abs(found).max()), abs(null))
    if np.ptp(found) <= rounding:
        p = 1.0 if abs(mean - null) <= rounding else NAN
        why = "all splits gave one value: the interval has no width, and a difference cannot be tested"
        return Resampled(mean, mean, mean, p, 0.0, *settings, reason=why)
    sd = float(found.std(ddof=1))
    error = float(sd * np.sqrt(1 / number + n_test / n_train))
    reach = float(special.stdtrit(number - 1, 0.975)) * error
    p = float(2 * special.stdtr(number - 1, -abs(mean - null) / error))
    return Resampled(mean, mean - reach, mean + reach, p, sd, *settings)
