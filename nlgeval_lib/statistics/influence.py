"""Which one or two systems, families or topics move an estimate most, and what it is
without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from . import draws
from .groups import SINGLE, Names
from .levels import Statistic
from .result import NAN, Floats, Interval

# fewer units have none that can be spared; of as many as MANY two are left out
FEWEST = 4
MANY = 10
# pairs are tried of so many units that move the estimate most on their own
TRIED = 8


@dataclass(frozen=True)
class Influence:
    """The estimate without the one or two units that move it most.

    units: their names, the one that alone moves it more first.
    value: the estimate without them.
    share: of the jackknife variance over these units, the largest that one unit makes,
        in [0, 1].
    outside: the value leaves the interval of all.
    turns: a difference that was found is not, or is turned round, at the standard error
        of all.
    """

    units: tuple[str, ...]
    value: float
    share: float
    outside: bool = False
    turns: bool = False

    @property
    def is_notable(self) -> bool:
        """Is it to be said beside the number? So if it changes what the number says, or
        if one unit makes more than half of the variance.
        """
        return self.outside or self.turns or self.share > 0.5

    def __str__(self) -> str:
        return f"without {' and '.join(self.units)}: {self.value:.3f}"

    @property
    def warning(self) -> str:
        """What is a reason for doubt; "" for none."""
        if self.outside:
            return f"{self}, outside the interval"
        if self.turns:
            return f"{self}, no longer significant"
        return ""


def find_influence(
    statistic: Statistic,
    value: float,
    names: Names,
    ends: Interval,
    reach: float = NAN,
) -> Influence | None:
    """The units that move the statistic's value most; None where there are too few, or
    the data are flat.

    names: of systems and of groups of inputs, as `groups.names`.
    ends: the interval of the value.
    reach: how far from 0 a difference has to be; NaN where it was not found.
    """
    if statistic.present.ndim < 2 or np.isnan(value):
        return None
    # Single inputs are never named; groups of them are.
    strongest = None
    for kind in ("systems", "inputs"):
        if kind == "inputs" and kind not in statistic.groups:
            continue
        candidate = _of_kind(statistic, value, kind, names)
        if candidate is None:
            continue
        moved = abs(candidate.value - value)
        if strongest is None or moved > abs(strongest.value - value):
            strongest = candidate
    if strongest is None:
        return None
    without = strongest.value
    outside = bool(without < ends.low or without > ends.high)
    # a sign turned round counts, too
    turns = bool(without * np.sign(value) < reach)
    return replace(strongest, outside=outside, turns=turns)


def _of_kind(
    statistic: Statistic, value: float, kind: str, names: Names
) -> Influence | None:
    """The one or two units of a kind that move the value most; None for fewer than
    `FEWEST`, or where nothing is defined without them.
    """
    units = draws.taking_part(statistic.present, kind, statistic.groups)
    if len(units) < FEWEST:
        return None
    # The value without each unit, and the units by how far they move it.
    single = statistic.without(kind)[units]
    if np.isnan(single).all():
        return None
    moves = np.nan_to_num(np.abs(single - value))
    order = np.argsort(-moves)
    # Sets of units to leave out: the strongest alone, or pairs of the strong ones.
    sets = units[order[:1]][:, None]
    values = single[order[:1]]
    if len(units) >= MANY:
        strong = units[order[:TRIED]]
        sets = np.array(list(combinations(strong, 2)))
        values = statistic.without_these(kind, sets)
    if np.isnan(values).all():
        return None
    most = int(np.nanargmax(np.abs(values - value)))
    reduced = dict(zip(units.tolist(), single.tolist(), strict=True))
    members = sorted(sets[most].tolist(), key=lambda unit: -abs(reduced[unit] - value))
    labels = []
    for unit in members:
        label = names[kind][unit] if kind in names else f"{SINGLE[kind]} {unit}"
        labels.append(label)
    without = float(values[most])
    return Influence(tuple(labels), without, _share(single))


def _share(single: Floats) -> float:
    """The largest share of the jackknife variance that one unit makes."""
    squares = (single - np.nanmean(single)) ** 2
    total = np.nansum(squares)
    if total == 0:
        return 0.0
    return float(np.nanmax(squares) / total)
