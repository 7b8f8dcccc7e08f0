"""How far a statistic moves when a system, an input, or a cell of both is left out:
standard errors, tests, intervals by t.

What was measured of them, where systems have heavy tails too: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from . import draws
from .classical import share_of_t, special
from .levels import Combined, Statistic
from .result import NAN, Floats, Interval, together

# what units are asked for -> the kinds of unit that are left out in turn; a cell is one
# output, of a system for an input, and in flat data one row
KINDS = {
    "both": ("systems", "inputs", "cells"),
    "systems": ("systems",),
    "inputs": ("inputs",),
    "rows": ("cells",),
}
# values that differ by less are one value and rounding
NOTHING = 1e-12


@dataclass(frozen=True)
class Spread:
    """The squared standard error of a statistic over other systems, inputs, or both.

    units: a key of `KINDS`.
    parts: jackknife variance over each kind of unit (of Fisher's z where `fisher`).
    counts: how many units of each kind the variance rests on.
    added: over both, V_systems + V_inputs, which is meant for one coefficient at
        dataset level; else V_cells is taken off.
    undefined: there is no variance, of too few units or too few defined values.
    reason: what to be careful about, or why there is no variance.
    grouped: the kinds of units that are groups, such as families of systems.
    effective: how many units carry the variance, of the kind with the fewest.
    careful: the degrees of freedom are by that number.
    """

    units: str
    parts: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    added: bool = False
    fisher: bool = False
    undefined: bool = False
    reason: str = ""
    grouped: tuple[str, ...] = ()
    effective: float = NAN
    careful: bool = False

    @property
    def variance(self) -> float:
        """The squared standard error; NaN where undefined.

        Source: Owen 2007 for the two-way form, V_systems + V_inputs - V_cells.
        """
        if self.undefined:
            return NAN
        if self.units != "both":
            return next(iter(self.parts.values()))
        systems = self.parts["systems"]
        inputs = self.parts["inputs"]
        if self.added:
            return systems + inputs
        # What both contain is counted once, unless that would leave less than either.
        return max(systems + inputs - self.parts["cells"], systems, inputs)

    @property
    def df(self) -> float:
        """The degrees of freedom of t, a rule found by simulation: half of the units
        less one for systems and groups, the units less one for inputs and rows.
        """
        df = min(self.counts.values(), default=0) - 1.0
        if self.units in ("both", "systems") or self.grouped:
            df = df / 2
        if self.careful:
            df = min(df, self.effective / 2)
        return df

    def settings(self) -> str:
        """What signatures say beside the name: "|df:7.5|groups:systems(6)"."""
        counted = [kind for kind in self.grouped if kind in self.counts]
        groups = "+".join(f"{kind}({self.counts[kind]})" for kind in counted)
        text = f"|df:{self.df:g}"
        return f"{text}|groups:{groups}" if groups else text

    @property
    def name(self) -> str:
        """The name of the interval or test: "jack-both", "careful-systems"."""
        method = "careful" if self.careful else "jack"
        return f"{method}-{self.units}"

    def detectable(self, power: float = 0.8, alpha: float = 0.05) -> float:
        """The smallest difference that the two-sided test at level alpha finds with this
        power; NaN where the variance is undefined or 0.
        """
        if self.undefined or not self.variance > 0:
            return NAN
        reach = special.stdtrit(self.df, 1 - alpha / 2)
        reach += special.stdtrit(self.df, power)
        return float(reach * self.variance**0.5)

    def scaled(self, systems: int, inputs: int) -> Spread:
        """What it would be with as many systems and inputs of the same populations.

        Raises: ValueError for a spread that is not over both.
        """
        if self.units != "both":
            raise ValueError(
                f"units {self.units!r}: only a spread over both says "
                "what more systems and inputs give"
            )
        counts = {"systems": systems, "inputs": inputs, "cells": systems * inputs}
        # Missing cells are not a part of the design: both count all of them.
        own_cells = self.counts["systems"] * self.counts["inputs"]
        own_counts = self.counts | {"cells": own_cells}
        parts = {}
        for kind, variance in self.parts.items():
            parts[kind] = variance * own_counts[kind] / counts[kind]
        return replace(self, parts=parts, counts=counts, reason="")


def spread(
    statistic: Statistic,
    units: str,
    added: bool = False,
    fisher: bool = False,
    careful: bool = False,
) -> Spread:
    """How far does a statistic move when each unit is left out in turn?

    units: a key of `KINDS`; units with groups are left out by the group.
    added, careful: as `Spread`.
    fisher: take the values to Fisher's z scale, if all are finite there.
    Returns: no variance where fewer than two values, or fewer than half, are defined,
        or over both a kind has fewer than three units. Of groups the variances are
        added, which is never too small.
    Source: Efron and Stein 1981; two-way Owen 2007; degrees of freedom by simulation.
    """
    kinds = KINDS[units]
    grouped = tuple(kind for kind in kinds if draws.drawn_as(kind) in statistic.groups)
    if grouped and units == "both":
        kinds = ("systems", "inputs")
        added = True
    blank = Spread(units, added=added, grouped=grouped)
    parts = {}
    counts = {}
    notes = []
    effective = np.inf
    for kind in kinds:
        values = statistic.without(kind)[taking_part(statistic, kind)]
        number = len(values)
        values = values[~np.isnan(values)]
        undefined = number - len(values)
        gaps = f"undefined without {undefined} of {number} {kind}"
        if undefined * 2 > number or len(values) < 2:
            blank = replace(blank, parts={kind: NAN}, counts={kind: number})
            return replace(blank, undefined=True, reason=gaps)
        if undefined:
            notes.append(f"{gaps}, which are left aside")
        fisher = fisher and np.abs(values).max() < 1 - NOTHING
        if fisher:
            values = np.arctanh(values)
        parts[kind] = variance(values)
        counts[kind] = len(values)
        effective = min(effective, carrying(values))
    if units in ("both", "systems"):
        notes += _few(counts, grouped)
    too_few = units == "both" and min(counts["systems"], counts["inputs"]) < 3
    return replace(
        blank,
        parts=parts,
        counts=counts,
        fisher=fisher,
        undefined=too_few,
        reason="; ".join(notes),
        effective=effective,
        careful=careful,
    )


def taking_part(statistic: Statistic, kind: str) -> draws.Ints:
    """The numbers of the units ("cells" among them), or groups, that take part."""
    return draws.taking_part(statistic.present, kind, statistic.groups)


def variance(values: Floats) -> float:
    """The jackknife variance from the values without each unit."""
    if np.ptp(values) <= NOTHING:
        return 0.0
    squares = (values - values.mean()) ** 2
    return float(squares.sum() * (len(values) - 1) / len(values))


def carrying(values: Floats) -> float:
    """How many units carry the jackknife variance: all alike count as all, one alone
    as 1; of normal data it is about a third of the units.

    values: the statistic without each unit, without NaN.
    """
    squares = (values - values.mean()) ** 2
    # (sum of squares)^2 / (sum of their squares), the participation ratio.
    total = (squares**2).sum()
    if np.ptp(values) <= NOTHING or total == 0:
        return float(len(values))
    return float(squares.sum() ** 2 / total)


def _few(counts: dict[str, int], grouped: tuple[str, ...] = ()) -> list[str]:
    """What few units of a kind mean, in words; none for enough units."""
    least = min(counts.values())
    kind = min(kind for kind, number in counts.items() if number == least)
    if kind in grouped:
        kind = f"groups of {kind}"
    if least < 3 and len(counts) > 1:
        return [f"{least} {kind}: nothing can be said across both"]
    notes = []
    if least < 5:
        notes.append(f"{least} {kind}: wide by necessity")
    elif least < 10:
        df = (least - 1) / 2
        notes.append(
            f"{least} {kind}: t with {df:g} degrees of freedom has little power"
        )
    if counts.get("inputs", 0) > 25 * counts["systems"]:
        notes.append("inputs far outnumber systems: more inputs will not narrow this")
    return notes


def p_value(
    difference: float, of: Spread, alternative: str = "two-sided"
) -> tuple[float, str]:
    """Is a difference 0, by t? p, and a reason where there is none.

    alternative: "two-sided", "greater" or "less".
    Returns: where the spread is 0, p is 1 for a difference of 0 and NaN for another;
        NaN for an undefined spread.
    """
    if of.undefined:
        return NAN, f"no test: {of.reason}"
    if of.variance <= 0:
        if abs(difference) <= NOTHING:
            return 1.0, of.reason
        return NAN, "no test: the difference is the same whatever is left out"
    t = difference / np.sqrt(of.variance)
    return share_of_t(t, of.df, alternative), of.reason


def interval(
    value: float,
    of: Spread,
    confidence: float = 0.95,
    ends: tuple[float, float] = (-1, 1),
) -> Interval:
    """Value -+ t standard errors, cut at the ends, the least and greatest value that
    the statistic can have; NaN with a reason where value or spread is undefined, or the
    spread is 0.
    """
    reason = ""
    if np.isnan(value):
        reason = "the coefficient itself is not defined"
    elif of.undefined:
        reason = of.reason
    elif of.variance <= 0:
        reason = "the value is the same whatever is left out"
    blank = Interval(name=of.name, settings=of.settings())
    if reason:
        return replace(blank, reason=f"no interval: {reason}")
    quantile = special.stdtrit(of.df, (1 + confidence) / 2)
    reach = float(quantile * np.sqrt(of.variance))
    if of.fisher:
        z = np.arctanh(value)
        low = float(np.tanh(z - reach))
        high = float(np.tanh(z + reach))
    else:
        low = max(value - reach, ends[0])
        high = min(value + reach, ends[1])
    return replace(blank, low=low, high=high, reason=of.reason)


def mean_of(statistics: Sequence[Statistic], of: Spread) -> Spread:
    """The spread of the mean of several statistics.

    statistics: data of one shape are the same items; others are independent, and the
        degrees of freedom then those of the statistic with the fewest.
    of: a spread of any of them, whose units and settings are taken.
    """
    if len({statistic.present.shape for statistic in statistics}) == 1:
        mean = Combined(lambda *parts: np.mean(parts, axis=0), statistics)
        return spread(mean, of.units, of.added, careful=of.careful)
    spreads = []
    for statistic in statistics:
        spreads.append(spread(statistic, of.units, of.added, careful=of.careful))
    # The variance of a mean of independent values.
    parts = {}
    for kind in of.parts:
        total = sum(single.parts[kind] for single in spreads)
        parts[kind] = total / len(spreads) ** 2
    return replace(
        min(spreads, key=lambda single: single.df),
        parts=parts,
        undefined=any(single.undefined for single in spreads),
        reason=together(*(single.reason for single in spreads)),
    )
