"""How far a value would move with other inputs, systems or splits; which interval and
test are taken unasked (`chosen`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, draws, jackknife
from .classical import share_of_t, special
from .levels import Combined, Statistic
from .result import NAN, Floats, Interval, Result, together

# each with the units that are drawn anew or left out
METHODS = ("boot", "wide", "jack")
# by degrees of freedom that count the systems which carry the variance
CAREFUL = ("careful-both", "careful-systems")
# what `ci=` may name
NAMES = (
    *(f"{method}-{unit}" for method in METHODS for unit in draws.UNITS),
    *CAREFUL,
    "fisher",
    "auto",
)
# the reason beside a jackknife over inputs of ranks of systems
STANDS_STILL = (
    "ranks of systems hardly move with one input: too narrow (.27 to .96 held the "
    "truth), 'wide-inputs' holds"
)
# below which no interval over systems is given at system level
LEAST_SYSTEMS = 5
# coefficients that have a standard error on Fisher's z scale
FISHER = ("pearson", "spearman", "kendall-b")


def compute_interval(
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
    """Within what limits would a statistic fall for other inputs, other systems, or
    both?

    statistic, value: prepared on the data, and its value there.
    ci: None or False for no interval; True or "auto", as `chosen` says; "fisher"; or a
        method and what is drawn anew (rows, inputs, systems or both): "boot-"
        percentile bootstrap (too narrow where systems are few; a unit that is drawn
        twice is tied with its copy, which shifts kendall-a, kendall-c and acc-eq),
        "wide-" the same with tails widened for few units, "jack-" jackknife and t,
        "careful-" the same, and holds where a system unlike these may exist. Rows are
        too narrow where items share inputs or systems.
    level, coef: of the statistic, as in `correlate`.
    n_boot, seed: random resamples of "boot-" and "wide-".
    confidence: share of data sets whose interval is to hold the truth, in (0, 1).
    difference: the statistic is a difference of two coefficients.
    Returns: ends NaN with a reason where no interval can be given.
    Raises: ValueError for an unknown `ci`, units that flat data do not have, "fisher"
        for a difference or a coefficient that has none, and bad numbers.
    Source: Deutsch, Dror and Roth 2021 (BOOT-INPUTS, -SYSTEMS, -BOTH); Hesterberg 2015
        (expanded percentile).
    """
    name, note = _named(ci, level, coef, statistic, difference)
    arrays.share(confidence, "confidence")
    if not name:
        return Interval(reason=note)
    n_boot = arrays.whole(n_boot, "n_boot")
    seed = arrays.whole(seed, "seed", low=0)
    if name == "fisher":
        ends = _fisher(statistic, value, level, coef, confidence)
    elif name.startswith(("jack", "careful")):
        ends = _jackknife(statistic, value, name, level, coef, confidence, difference)
    else:
        ends = _bootstrap(statistic, value, name, n_boot, seed, confidence)
    settings = ends.settings + arrays.confidence_setting(confidence)
    reason = together(note, ends.reason)
    return replace(ends, settings=settings, reason=reason, confidence=confidence)


def _named(
    ci: str | bool | None,
    level: str,
    coef: str,
    statistic: Statistic,
    difference: bool,
) -> tuple[str, str]:
    """The name of the interval that `ci` means, or none ("") with a reason."""
    if ci is None or ci is False:
        return "", ""
    name = arrays.choice("auto" if ci is True else ci, NAMES, "ci")
    if name == "auto":
        kind = "difference" if difference else "value"
        return chosen(kind, level, statistic.present, statistic.groups)
    if name != "fisher":
        draws.check_units(name.partition("-")[2], statistic.present.shape, "ci")
        return name, ""
    arrays.choice(coef, FISHER, "coef of ci='fisher'")
    if difference:
        raise ValueError("ci: got 'fisher', which is no interval of a difference")
    return name, ""


def _fisher(
    statistic: Statistic, value: float, level: str, coef: str, confidence: float
) -> Interval:
    """The interval of one coefficient on Fisher's z scale; its n is that of systems at
    system level, else of items.
    """
    units = statistic.present
    if level == "system":
        units = np.asarray(units.any(axis=1))
    n = int(units.sum())
    ends = NAN, NAN
    if not np.isnan(value):
        ends = fisher_interval(value, n, coef, confidence)
    reason = f"no interval: {n} items" if np.isnan(ends[0]) else ""
    return Interval(*ends, "fisher", f"|n:{n}", reason=reason)


def _jackknife(
    statistic: Statistic,
    value: float,
    name: str,
    level: str,
    coef: str,
    confidence: float,
    difference: bool,
) -> Interval:
    """The interval by jackknife and t, within the limits of the statistic."""
    units = name.partition("-")[2]
    limits = (0, 1) if coef == "acc-eq" else (-1, 1)
    if difference:
        limits = (-2, 2)
    # Fisher's scale for one coefficient over rows, where its z is finite.
    bounded = coef != "acc-eq" and abs(value) < 1 - jackknife.NOTHING
    fisher = units == "rows" and not difference and bounded
    # V_systems + V_inputs for one coefficient at dataset level: `jackknife.Spread`.
    added = level == "dataset" and not difference
    careful = name in CAREFUL
    spread = jackknife.spread(statistic, units, added, fisher, careful)
    ends = jackknife.interval(value, spread, confidence, limits)
    if units == "inputs" and stands_still(level, coef):
        ends = replace(ends, reason=together(STANDS_STILL, ends.reason))
    return replace(ends, replicates=(statistic, spread, limits))


def stands_still(level: str, coef: str) -> bool:
    """Does the coefficient often stay the same without any one input, so that a
    jackknife over inputs says too little? Ranks of a few systems do.
    """
    return level == "system" and coef != "pearson"


def _bootstrap(
    statistic: Statistic,
    value: float,
    name: str,
    n_boot: int,
    seed: int,
    confidence: float,
) -> Interval:
    """The percentile interval, "boot-" or "wide-", from resampled units."""
    method, _, units = name.partition("-")
    groups = statistic.groups
    shape = statistic.present.shape
    chunks = draws.resamples(shape, units, n_boot, seed, groups=groups)
    replicates = np.concatenate([statistic.values(chunk) for chunk in chunks])
    # Rounded: .95 has .025 and not a number just beside it.
    tail = round((1 - confidence) / 2, 15)
    if method == "wide":
        tail = _widened(statistic, units, confidence)
    ends = percentile(replicates, value, tail, confidence)
    if method == "boot":
        ends = replace(ends, replicates=replicates)
    grouped = f"|groups:{'+'.join(groups)}" if groups else ""
    return replace(ends, name=name, settings=f"/{n_boot}|seed:{seed}{grouped}")


def chosen(
    kind: str,
    level: str,
    present: npt.NDArray[np.bool_],
    groups: draws.Groups = draws.NO_GROUPS,
) -> tuple[str, str]:
    """What does "auto" stand for, for data of this shape?

    kind: "test" for a test of a difference; "value" or "difference" for its interval.
    present: which items take part, shaped like the data.
    groups: families and topics, which count as one each.
    Returns: the name of the test or interval, "" for none; and what is to be said of
        it, or why there is none.
    """
    # Units that take part; flat data are one system.
    units = {"systems": 1, "inputs": present.size}
    if present.ndim == 2:
        for unit in units:
            units[unit] = len(draws.taking_part(present, unit, groups))
    if level == "system":
        if kind == "test":
            return "jack-systems", ""
        if groups:
            return "jack-both", ""
        if units["systems"] >= LEAST_SYSTEMS:
            return "wide-both", ""
        return "", (
            f"no interval: {units['systems']} systems at system level, at least "
            f"{LEAST_SYSTEMS} are needed"
        )
    # One system, or one input, leaves a list of rows. One group of several does not.
    if present.ndim == 1 or 1 in present.shape:
        return "jack-rows", ""
    for unit, number in units.items():
        if number == 1 and unit not in groups:
            return "jack-rows", ""
    for unit, number in units.items():
        if number > 2:
            continue
        drawn = "inputs" if unit == "systems" else "systems"
        note = f"{number} {unit}: what is said holds for these two only"
        if unit in groups:
            note = (
                f"{number} group(s) of {unit}: what is said holds for these {unit} only"
            )
        return f"jack-{drawn}", note
    return "jack-both", ""


def of_mean(parts: Sequence[Any], value: float) -> Interval:
    """Within what 95 % limits is a mean, as one statistic, from its parts' intervals?

    parts: the `replicates` of each part's interval. value: the mean.
    Returns: NaN with a reason where the parts' are not of one kind, or have none
        (system level by default).
    """
    if not parts:
        return Interval()
    if all(isinstance(part, np.ndarray) and len(part) for part in parts):
        return percentile(np.mean(parts, axis=0), value)
    spread = _spread_of_mean(parts)
    if spread is not None:
        return jackknife.interval(value, spread, ends=parts[0][2])
    if np.isnan(value):
        return Interval()
    return Interval(
        reason="no interval of the mean: those of its parts are not of one kind, "
        "or cannot be joined"
    )


def _spread_of_mean(parts: Sequence[Any]) -> jackknife.Spread | None:
    """The spread of a mean of statistics, None where the parts are not by jackknife
    over the same units. parts: as `of_mean` takes them.
    """
    if not all(isinstance(part, tuple) for part in parts):
        return None
    if len({spread.units for _, spread, _ in parts}) != 1:
        return None
    statistics = [statistic for statistic, _, _ in parts]
    return jackknife.mean_of(statistics, parts[0][1])


def of_difference(
    first: Sequence[Any], second: Sequence[Any], value: float
) -> Interval:
    """Within what 95 % limits is the difference of two means of as many parts, as one
    statistic?

    first, second: the `replicates` of the parts' intervals, as in `of_mean`.
    value: the difference.
    """
    return of_mean(_difference(first, second), value)


def p_of_difference(first: Sequence[Any], second: Sequence[Any], value: float) -> float:
    """Is that difference 0? Two-sided p; NaN where the parts are not by jackknife.

    first, second, value: as `of_difference` takes them.
    """
    spread = _spread_of_mean(_difference(first, second))
    if spread is None:
        return NAN
    return jackknife.p_value(value, spread)[0]


def _difference(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """The parts whose mean is the difference of two means of as many parts."""
    # The mean of 2 n values of twice the size, the second's turned, is the difference.
    parts = [times(part, 2) for part in first]
    parts += [times(part, -2) for part in second]
    if all(isinstance(part, tuple) for part in parts):
        # A difference is no coefficient: its variance is not V_systems + V_inputs.
        for place, (statistic, spread, limits) in enumerate(parts):
            parts[place] = statistic, replace(spread, added=False), limits
    return parts


def times(replicates: Any, factor: float) -> Any:
    """The `replicates` of an interval where the value is multiplied by a factor."""
    if not isinstance(replicates, tuple):
        return replicates * factor
    statistic, spread, limits = replicates
    low, high = sorted(limit * factor for limit in limits)
    multiplied = Combined(lambda values: values * factor, [statistic])
    return multiplied, spread, (low, high)


def percentile(
    replicates: Floats, value: float, tail: float = 0.025, confidence: float = 0.95
) -> Interval:
    """Within what limits do the replicates put the value, with this share of them
    cut off at either end?

    replicates: the statistic in each resample, NaN where not defined.
    value: that of the data.
    confidence: of the interval, for the words of its reason.
    Returns: NaN with a reason where the value is NaN, more than half of the replicates
        are, or fewer than 2 are defined.
    """
    values = replicates[~np.isnan(replicates)]
    undefined = len(replicates) - len(values)
    gaps = f"undefined in {undefined} of {len(replicates)} resamples"
    reason = ""
    if np.isnan(value):
        reason = "the coefficient itself is not defined"
    elif len(values) * 2 < len(replicates):
        reason = gaps
    elif len(values) < 2:
        reason = f"{len(values)} resample(s) with a value, at least 2 are needed"
    if reason:
        return Interval(n_undefined=undefined, reason=f"no interval: {reason}")
    notes = []
    if undefined:
        notes.append(f"{gaps}, interval of the rest")
    if len(values) * tail < 1:
        notes.append(
            f"{len(values)} resamples are too few for the tails "
            f"of a {100 * confidence:g} % interval"
        )
    low, high = map(float, np.quantile(values, [tail, 1 - tail]))
    return Interval(low, high, n_undefined=undefined, reason="; ".join(notes))


def _widened(statistic: Statistic, units: str, confidence: float) -> float:
    """The tail that makes the percentile interval of a mean of few units as wide as
    its t interval: Phi(-sqrt(k / (k - 1)) t), with k units (of both, the fewer) and t
    with k - 1 degrees of freedom.

    Source: Hesterberg 2015 (expanded percentile).
    """
    kinds = ("systems", "inputs") if units == "both" else (units,)
    k = min(len(jackknife.taking_part(statistic, kind)) for kind in kinds)
    if k < 2:
        return 0.0
    t = special.stdtrit(k - 1, (1 + confidence) / 2)
    return float(special.ndtr(-np.sqrt(k / (k - 1)) * t))


def fisher_interval(
    r: float, n: int, coef: str = "pearson", confidence: float = 0.95
) -> tuple[float, float]:
    """Within what limits is one correlation from n i.i.d. items? NaN where n is too
    small or |r| is 1.

    r: the correlation. n: items.
    coef: pearson, spearman or kendall-b, each with its own standard error.
    Raises: ValueError for r outside [-1, 1], n below 1, an unknown coefficient or a
        confidence outside (0, 1).
    Source: Bonett and Wright 2000.
    """
    arrays.choice(coef, FISHER, "coef")
    arrays.share(confidence, "confidence")
    arrays.number(r, "correlation", -1, 1)
    arrays.whole(n, "n")
    # The standard error of z is sqrt(scale^2 / (n - less)).
    less = 3
    scale = 1.0
    if coef == "spearman":
        scale = np.sqrt(1 + r**2 / 2)
    elif coef == "kendall-b":
        less = 4
        scale = np.sqrt(0.437)
    if n <= less or abs(r) >= 1:
        return NAN, NAN
    quantile = special.ndtri((1 + confidence) / 2)
    reach = quantile * scale / np.sqrt(n - less)
    z = np.arctanh(r)
    return float(np.tanh(z - reach)), float(np.tanh(z + reach))


@dataclass(frozen=True, repr=False)
class Resampled(Result):
    """The mean over splits, its 95 % interval, and a two-sided p-value that it is 0;
    NaN with a reason where not defined.

    sd: standard deviation of the values, with splits - 1.
    n_train, n_test: rows (or documents) on each side of a split.
    """

    value: float
    low: float
    high: float
    p: float
    sd: float
    n_splits: int
    n_train: float
    n_test: float
    reason: str = ""

    def signature(self) -> str:
        test = f"ci:resampled-t({self.n_test:g}/{self.n_train:g})"
        return f"mean-of-splits:{self.n_splits}|{test}"


def resampled_t(values: Any, n_train: float, n_test: float) -> Resampled:
    """What do values on repeated train-test splits say, where the splits share their
    data?

    The splits overlap, so their spread is too small for an ordinary t-test: the
    variance of the mean is taken as (1 / splits + n_test / n_train) s^2.

    values: one a split, of a quality or of a difference between two models.
    n_train, n_test: rows (or documents) on each side of a split.
    Returns: a 95 % interval by t with splits - 1 degrees of freedom.
    Raises: ValueError for no value or NaN among them, sizes below 1, and what is no
        finite number.
    Source: Nadeau and Bengio 2003, Inference for the Generalization Error, section 3.
    """
    qualities = arrays.floats(values, "values", "split")
    number = len(qualities)
    undefined = int(np.isnan(qualities).sum())
    if undefined:
        raise ValueError(
            f"values: got {number}, {undefined} of them NaN; pass one number a split"
        )
    n_train = arrays.number(n_train, "n_train", 1)
    n_test = arrays.number(n_test, "n_test", 1)
    mean = float(qualities.mean())
    result = Resampled(mean, NAN, NAN, NAN, NAN, number, n_train, n_test)
    if number < 2:
        return replace(result, reason="one split has no spread")
    # Values that differ by rounding only have no spread.
    rounding = 8 * np.finfo(float).eps * np.abs(qualities).max()
    if np.ptp(qualities) <= rounding:
        reason = (
            "all splits gave one value: the interval has no width, "
            "and a difference cannot be tested"
        )
        p = 1.0 if abs(mean) <= rounding else NAN
        return replace(result, low=mean, high=mean, p=p, sd=0.0, reason=reason)
    sd = float(qualities.std(ddof=1))
    error = float(sd * np.sqrt(1 / number + n_test / n_train))
    reach = float(special.stdtrit(number - 1, 0.975)) * error
    p = share_of_t(mean / error, number - 1, "two-sided")
    return replace(result, low=mean - reach, high=mean + reach, p=p, sd=sd)
