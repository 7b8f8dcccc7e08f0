"""How far a statistic moves when a system, an input, or a cell of both is left out:
standard errors, tests, intervals.

`spread` leaves every unit out of a `levels.Statistic` in turn and gives a `Spread`: the
variance by kind of unit, the degrees of freedom, and what to be careful about.
`p_value` and `interval` turn a value and its spread into a test and an interval by t;
`mean_of` gives the spread of a mean of several statistics.

Measured by `make levels` with SummEval's variances (nominal .05 and .95, 600 data sets
a cell, 6 x 60 to 16 x 100, 8 x 200): the test over both rejects 0 to .03 of true nulls
where judges are exchangeable, .05 to .09 where one follows systems and the other
outputs, .05 to .11 where they do so nearly perfectly; the interval covers .91 to 1.
Where systems have heavy tails it covers .74 to .94 (Kendall .88 to .99), and the data
do not show it: one system makes most of the spread in many harmless data sets, and
where it does the interval is wide enough; it is too narrow where no such system is
among those at hand. "careful" holds there, too (.90 or more at dataset level), at two
to four times the width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from . import draws
from .classical import special
from .levels import Combined, Statistic
from .result import NAN, Floats, Interval

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
    """The squared standard error of a statistic over other systems, other inputs, or
    both; NaN with a reason.

    units: a key of `KINDS`.
    parts: jackknife variance over each kind of unit, in squared units of the statistic
        (of Fisher's z where `fisher`).
    counts: how many units of each kind the variance rests on.
    added: over both, whether the variance is V_systems + V_inputs, which is meant for
        one coefficient at dataset level; else V_cells is taken off, and the result is
        never below either.
    fisher: the parts are on Fisher's z scale.
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
        cells = self.parts["cells"]
        return max(systems + inputs - cells, systems, inputs)

    @property
    def df(self) -> float:
        """The degrees of freedom of t, a rule found by simulation.

        Half of the units less one for systems and for groups; the units less one for
        inputs and rows. Careful: at most half of the units that carry the variance.
        """
        least = min(self.counts.values(), default=0)
        df = float(least - 1)
        if self.units in ("both", "systems") or self.grouped:
            df = df / 2
        if self.careful:
            df = min(df, self.effective / 2)
        return df

    def settings(self) -> str:
        """What the name of the units leaves open, as signatures say it: "|df:7.5", and
        "|groups:systems(6)" where units are groups.
        """
        groups = [f"{kind}({self.counts[kind]})" for kind in self.grouped]
        text = f"|df:{self.df:g}"
        if groups:
            text += f"|groups:{'+'.join(groups)}"
        return text

    @property
    def name(self) -> str:
        """The name of the interval or test: "jack-both", "careful-systems"."""
        method = "careful" if self.careful else "jack"
        return f"{method}-{self.units}"

    def signature(self) -> str:
        """Name and settings: "jack-both|df:7.5"."""
        return self.name + self.settings()

    def scaled(self, systems: int, inputs: int) -> Spread:
        """What it would be with as many systems and inputs, drawn from the same
        populations.

        systems, inputs: of the other design.
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
    """The jackknife of a statistic over units: rows, inputs, systems or both.

    A value that is not defined without a unit is dropped, and counted in the reason.
    Of groups the variances are added: without V_cells they are never too small.

    statistic: with the items that take part, and groups of units that are left out as a
        whole.
    units: a key of `KINDS`.
    added: over both, add the variances, as `Spread` says.
    fisher: take the values to Fisher's z scale, if all are finite there.
    careful: as `Spread`.
    Returns: a spread without a variance where fewer than two values, or fewer than half
        of them, are defined; over both, where a kind has fewer than three units, too.
    Source: Efron and Stein 1981; two-way as V_s + V_i - V_c, Owen 2007; df by
    simulation.
    """
    kinds = KINDS[units]
    grouped = tuple(kind for kind in kinds if _drawn(kind) in statistic.groups)
    if grouped and units == "both":
        # Without V_cells the sum is never too small.
        kinds = ("systems", "inputs")
        added = True
    blank = Spread(units, added=added, grouped=grouped)
    without = {}
    notes = []
    for kind in kinds:
        values = _reduced(statistic, kind)
        without[kind] = values[~np.isnan(values)]
        number = len(values)
        undefined = number - len(without[kind])
        gaps = f"undefined without {undefined} of {number} {kind}"
        if undefined * 2 > number or len(without[kind]) < 2:
            blank = replace(blank, parts={kind: NAN}, counts={kind: number})
            return replace(blank, undefined=True, reason=gaps)
        if undefined:
            notes.append(f"{gaps}, which are left aside")
    return _from_values(without, replace(blank, careful=careful), fisher, notes)


def _from_values(
    without: dict[str, Floats], blank: Spread, fisher: bool, notes: list[str]
) -> Spread:
    """The spread from the defined values without each unit.

    without: the values by kind of unit.
    blank: the spread without variances.
    fisher: take the values to his z scale, where they are finite there.
    notes: for the reason.
    """
    parts = {}
    counts = {}
    effective = np.inf
    for kind, values in without.items():
        fisher = fisher and np.abs(values).max() < 1 - NOTHING
        if fisher:
            values = np.arctanh(values)
        parts[kind] = _variance(values)
        counts[kind] = len(values)
        effective = min(effective, carrying(values))
    if blank.units in ("both", "systems"):
        notes = notes + _few(counts, blank.grouped)
    too_few = False
    if blank.units == "both":
        too_few = min(counts["systems"], counts["inputs"]) < 3
    return replace(
        blank,
        parts=parts,
        counts=counts,
        fisher=fisher,
        undefined=too_few,
        reason="; ".join(notes),
        effective=effective,
    )


def _drawn(kind: str) -> str:
    """The name that `draws` has for a kind of unit."""
    return "rows" if kind == "cells" else kind


def _reduced(statistic: Statistic, kind: str) -> Floats:
    """The statistic without each unit, or group, that takes part: one value each, NaN
    where it is not defined.
    """
    units = draws.taking_part(statistic.present, _drawn(kind), statistic.groups)
    return statistic.without(kind)[units]


def _variance(values: Floats) -> float:
    """The jackknife variance from the values without each unit."""
    if np.ptp(values) <= NOTHING:
        return 0.0
    squares = (values - values.mean()) ** 2
    return float(squares.sum() * (len(values) - 1) / len(values))


def carrying(values: Floats) -> float:
    """How many units carry the jackknife variance: all alike count as all, one alone
    as 1. Of normal data it is about a third of the units.

    values: the statistic without each unit, without NaN.
    Returns: from 1 to the number of units; all of them where the values do not differ.
    """
    squares = (values - values.mean()) ** 2
    # (sum of squares)^2 / (sum of their squares), the participation ratio.
    total = (squares**2).sum()
    if np.ptp(values) <= NOTHING or total == 0:
        return float(len(values))
    return float(squares.sum() ** 2 / total)


def _few(counts: dict[str, int], grouped: tuple[str, ...] = ()) -> list[str]:
    """What few units mean, in words: notes for the reason, none for enough units.

    counts: units of each kind.
    grouped: the kinds whose units are groups.
    """
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
        notes.append(
            f"{least} {kind}: t with {(least - 1) / 2:g} degrees of freedom "
            "has little power"
        )
    if counts.get("inputs", 0) > 25 * counts["systems"]:
        notes.append("inputs far outnumber systems: more inputs will not narrow this")
    return notes


def p_value(
    difference: float, of: Spread, alternative: str = "two-sided"
) -> tuple[float, str]:
    """Is a difference 0? p by t, and a reason where there is none.

    difference: the observed one, on the scale of its spread.
    of: its spread.
    alternative: "two-sided", "greater" or "less".
    Returns: (p, reason). Where the spread is 0, p is 1 for a difference of 0 and NaN
        for another one; NaN for an undefined spread, too.
    """
    if of.undefined:
        return NAN, f"no test: {of.reason}"
    if of.variance <= 0:
        if abs(difference) <= NOTHING:
            return 1.0, of.reason
        return NAN, "no test: the difference is the same whatever is left out"
    t = difference / np.sqrt(of.variance)
    if alternative == "two-sided":
        p = 2 * special.stdtr(of.df, -abs(t))
    elif alternative == "greater":
        p = special.stdtr(of.df, -t)
    else:
        p = special.stdtr(of.df, t)
    return float(p), of.reason


def interval(
    value: float,
    of: Spread,
    confidence: float = 0.95,
    ends: tuple[float, float] = (-1, 1),
) -> Interval:
    """Value -+ t standard errors, cut at the ends.

    value: of the statistic itself.
    of: its spread; on Fisher's z scale the interval is made there and turned back.
    confidence: in (0, 1).
    ends: the least and greatest value that the statistic can have.
    Returns: an interval whose ends are NaN, with a reason, where the value or its
        spread is undefined or the spread is 0.
    """
    name = of.name
    settings = of.settings()
    reason = ""
    if np.isnan(value):
        reason = "the coefficient itself is not defined"
    elif of.undefined:
        reason = of.reason
    elif of.variance <= 0:
        reason = "the value is the same whatever is left out"
    if reason:
        return Interval(name=name, settings=settings, reason=f"no interval: {reason}")
    quantile = special.stdtrit(of.df, (1 + confidence) / 2)
    reach = float(quantile * np.sqrt(of.variance))
    if of.fisher:
        z = np.arctanh(value)
        low = float(np.tanh(z - reach))
        high = float(np.tanh(z + reach))
    else:
        low = max(value - reach, ends[0])
        high = min(value + reach, ends[1])
    return Interval(low, high, name, settings, reason=of.reason)


def mean_of(statistics: Sequence[Statistic], of: Spread) -> Spread:
    """The spread of the mean of several statistics.

    statistics: data of one shape are the same items; others are independent.
    of: a spread of any of them, whose units and settings are taken.
    Returns: its degrees of freedom are those of the statistic with the fewest where the
        data are independent.
    """
    shapes = {statistic.present.shape for statistic in statistics}
    if len(shapes) == 1:
        mean = Combined(lambda *parts: np.mean(parts, axis=0), statistics)
        return spread(mean, of.units, of.added, careful=of.careful)
    spreads = []
    for statistic in statistics:
        single = spread(statistic, of.units, of.added, careful=of.careful)
        spreads.append(single)
    # The variance of a mean of independent values.
    parts = {}
    for kind in of.parts:
        total = sum(single.parts[kind] for single in spreads)
        parts[kind] = total / len(spreads) ** 2
    least = min(spreads, key=lambda single: single.df)
    reasons = dict.fromkeys(single.reason for single in spreads if single.reason)
    return replace(
        least,
        parts=parts,
        undefined=any(single.undefined for single in spreads),
        reason="; ".join(reasons),
    )
