"""How far a value would move with other inputs, systems or splits; which interval and test are taken unasked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, draws, jackknife
from .classical import special
from .levels import Combined, Statistic
from .result import NAN, Floats, Interval, Result

DEFAULT_TEST = DEFAULT_CI = "auto"  # the jackknife, and permutation of systems at system level
METHODS = ("boot", "wide", "jack")
NAMES = (*(f"{method}-{unit}" for method in METHODS for unit in draws.UNITS), "fisher", "auto")
FISHER = ("pearson", "spearman", "kendall-b")  # have a standard error on Fisher's z scale


def of(
    statistic: Statistic,
    value: float,
    ci: str | bool | None,
    level: str,
    coef: str,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    difference: bool = False,
) -> Interval:
    """Within what limits would a statistic fall for other inputs, other systems, or both?

    ci: None or False for no interval; True for `DEFAULT_CI`; "auto", as `chosen` says; "fisher"; or a
    method and what is drawn anew (rows, inputs, systems or both): "boot-" percentile bootstrap (measured coverage of
    95 % .65 to .90 where systems are few), "wide-" the same with tails widened for few units, "jack-" jackknife and t.
    value: the statistic of the data. difference: it is a difference of two coefficients.
    Raises: ValueError for an unknown `ci`, units that flat data do not have, n_boot < 1, a negative seed.
    Source: Deutsch, Dror and Roth 2021 (BOOT-INPUTS, -SYSTEMS, -BOTH); Hesterberg 2015 (expanded percentile).
    """
    name, note = known(ci, level, coef, statistic.here, "difference" if difference else "value")
    arrays.share(confidence, "confidence")
    if not name:
        return Interval(reason=note)
    n_boot, seed = arrays.whole(n_boot, "n_boot"), arrays.whole(seed, "seed", low=0)
    method, _, units = name.partition("-")
    if method == "fisher":
        n = int(statistic.here.any(axis=1).sum()) if level == "system" else int(statistic.here.sum())
        ends = fisher_interval(value, n, coef, confidence) if value == value else (NAN, NAN)
        made = Interval(*ends, name, f"|n:{n}", reason="" if ends[0] == ends[0] else f"no interval: {n} items")
    elif method == "jack":
        rows = units == "rows" and not difference and coef != "acc-eq" and abs(value) < 1 - jackknife.NOTHING
        found = jackknife.spread(statistic, units, level == "dataset" and not difference, rows)
        limits = (-2, 2) if difference else (0, 1) if coef == "acc-eq" else (-1, 1)
        made = replace(jackknife.interval(value, found, confidence, limits), replicates=(statistic, found, limits))
    else:
        chunks = draws.resamples(statistic.here.shape, units, n_boot, seed)
        replicates = np.concatenate([statistic.values(chunk) for chunk in chunks])
        wide = method == "wide"
        tail = _widened(statistic.here, units, confidence) if wide else round((1 - confidence) / 2, 15)
        made = percentile(replicates, value, tail, confidence)
        made = replace(
            made, name=name, how=f"/{n_boot}|seed:{seed}", replicates=made.replicates if wide else replicates
        )
    how = made.how if confidence == 0.95 else f"{made.how}|conf:{arrays.exactly(confidence)}"
    return replace(made, how=how, reason="; ".join(filter(None, (note, made.reason))))


def known(ci: str | bool | None, level: str, coef: str, here: Any, what: str) -> tuple[str, str]:
    """The name of the interval that is meant, or none ("") with a reason. As `of`."""
    if ci is None or ci is False:
        return "", ""
    name = arrays.choice(DEFAULT_CI if ci is True else ci, NAMES, "ci")
    if name == "auto":
        return chosen(what, level, coef, here)
    if name != "fisher":
        draws.check_units(name.split("-")[1], here.shape, "ci")
        return name, ""
    arrays.choice(coef, FISHER, "coef of ci='fisher'")
    if what == "difference":
        raise ValueError("ci: got 'fisher', which is no interval of a difference")
    return name, ""


def chosen(what: str, level: str, coef: str, here: npt.NDArray[np.bool_]) -> tuple[str, str]:
    """What "auto" stands for: the name of the test or of the interval of a "value" or "difference", or "" and why.

    here: which items take part.
    """
    systems, inputs = (int(here.any(axis=axis).sum()) for axis in (1, 0)) if here.ndim == 2 else (1, here.size)
    if level == "system":
        if what == "test":
            return "exact-systems", ""
        least, name = (4, "fisher") if coef == "pearson" and what == "value" else (5, "wide-both")
        few = f"no interval: {systems} systems at system level, at least {least} are needed"
        return (name, "") if systems >= least else ("", few)
    if systems == 1 or inputs == 1:
        return "jack-rows", ""
    if systems == 2:
        return "jack-inputs", "2 systems: what is said holds for these two only"
    return ("jack-both", "") if inputs > 2 else ("jack-systems", "2 inputs: what is said holds for these two only")


def of_mean(parts: Sequence[Any], value: float) -> Interval:
    """The interval of a mean, as one statistic, from the `replicates` of its parts' intervals.

    NaN with a reason where the parts' are not of one kind, or have none (system level by default).
    """
    if parts and all(isinstance(part, np.ndarray) and len(part) for part in parts):
        return percentile(np.mean(parts, axis=0), value)
    if parts and all(isinstance(part, tuple) for part in parts) and len({part[1].units for part in parts}) == 1:
        statistics, (_, found, limits) = [part[0] for part in parts], parts[0]
        return jackknife.interval(value, jackknife.mean_of(statistics, found), ends=limits)
    why = "no interval of the mean: those of its parts are not of one kind, or cannot be joined"
    return Interval(reason=why if parts and value == value else "")


def of_difference(first: Sequence[Any], second: Sequence[Any], value: float) -> Interval:
    """The interval of the difference of two means of as many parts, as one statistic. first, second: as `of_mean`."""
    parts = [times(one, factor) for side, factor in ((first, 2), (second, -2)) for one in side]
    if all(isinstance(part, tuple) for part in parts):
        parts = [(one, replace(found, added=False), limits) for one, found, limits in parts]
    return of_mean(parts, value)


def times(replicates: Any, factor: float) -> Any:
    """The `replicates` of an interval where the value is multiplied by a factor."""
    if not isinstance(replicates, tuple):
        return replicates * factor
    statistic, found, (low, high) = replicates
    ends = sorted((low * factor, high * factor))
    return Combined(lambda values: values * factor, [statistic]), found, (ends[0], ends[1])


def percentile(replicates: Floats, value: float, tail: float = 0.025, confidence: float = 0.95) -> Interval:
    """Within what limits do the replicates put the value, with this share of them cut off at either end?"""
    good = replicates[~np.isnan(replicates)]
    undefined = len(replicates) - len(good)
    lost = f"undefined in {undefined} of {len(replicates)} resamples"
    why = "the coefficient itself is not defined" if np.isnan(value) else ""
    if not why and len(good) < max(2, len(replicates) / 2):
        why = (
            f"{len(good)} resample(s) with a value, at least 2 are needed" if len(good) * 2 >= len(replicates) else lost
        )
    if why:
        return Interval(n_undefined=undefined, reason=f"no interval: {why}")
    notes = [f"{lost}, interval of the rest"] if undefined else []
    if len(good) * tail < 1:
        notes.append(f"{len(good)} resamples are too few for the tails of a {100 * confidence:g} % interval")
    low, high = np.quantile(good, [tail, 1 - tail])
    return Interval(float(low), float(high), n_undefined=undefined, reason="; ".join(notes))


def _widened(here: npt.NDArray[np.bool_], units: str, confidence: float) -> float:
    """The tail that makes the percentile interval of a mean of few units as wide as its t interval."""
    axes = {"systems": [1], "inputs": [0], "both": [1, 0]}.get(units)
    k = min(int(here.any(axis=axis).sum()) for axis in axes) if axes else int(here.sum())
    t = special.stdtrit(k - 1, (1 + confidence) / 2)
    return float(special.ndtr(-np.sqrt(k / (k - 1)) * t)) if k > 1 else 0.0


def fisher_interval(r: float, n: int, coef: str = "pearson", confidence: float = 0.95) -> tuple[float, float]:
    """Ends of the interval of one correlation from n i.i.d. items; NaN where n is too small or |r| is 1.

    coef: pearson, spearman or kendall-b, each with its own standard error.
    Raises: ValueError for r outside [-1, 1], an unknown coefficient or a confidence outside (0, 1).
    Source: Bonett and Wright 2000.
    """
    arrays.choice(coef, FISHER, "coef")
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
    found = arrays.floats(values, "values", "split")
    if np.isnan(found).any():
        raise ValueError(f"values: got {len(found)}, {int(np.isnan(found).sum())} of them NaN; pass one number a split")
    n_train, n_test = (arrays.number(size, name, 1) for size, name in ((n_train, "n_train"), (n_test, "n_test")))
    null = arrays.number(null, "null")
    mean, number = float(found.mean()), len(found)
    made = Resampled(mean, NAN, NAN, NAN, NAN, number, n_train, n_test, null, reason="one split has no spread")
    if number < 2:
        return made
    rounding = 8 * np.finfo(float).eps * max(float(np.abs(found).max()), abs(null))
    if np.ptp(found) <= rounding:
        p = 1.0 if abs(mean - null) <= rounding else NAN
        why = "all splits gave one value: the interval has no width, and a difference cannot be tested"
        return replace(made, low=mean, high=mean, p=p, sd=0.0, reason=why)
    sd = float(found.std(ddof=1))
    error = float(sd * np.sqrt(1 / number + n_test / n_train))
    reach = float(special.stdtrit(number - 1, 0.975)) * error
    p = float(2 * special.stdtr(number - 1, -abs(mean - null) / error))
    return replace(made, low=mean - reach, high=mean + reach, p=p, sd=sd, reason="")
