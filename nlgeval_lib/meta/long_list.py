"""A coefficient of one long list of items, once, where it need not be a function of
the items' weights. To the same numbers as `lists`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays
from .draws import Ints
from .lists import COEFFICIENTS
from .result import NAN, Floats

# items from which on this is worth its while
LONG = 50_000
# a side with no more different values needs no sorting
FEW_VALUES = 64
# items that are looked at to see whether values are few
SAMPLE = 1000
# items at a time: their products stay in the cache, and one thread does for them
BLOCK = 2**13
# magnitudes whose squares, summed, neither overflow nor vanish
MODERATE = (1e-100, 1e100)


def coefficient(coef: str, x: Floats, y: Floats) -> float:
    """Any coefficient of x and y, (items,) without NaN; NaN where it is not defined."""
    if coef == "pearson":
        return _pearson(x, y)
    ranked = _Ranked(x), _Ranked(y)
    if coef == "spearman":
        ranks_x, ranks_y = [side.centred_ranks() for side in ranked]
        # Zero is the mean of centred ranks already.
        return _of_products(ranks_x, ranks_y, 0.0, 0.0)
    return _of_pairs(coef, *ranked)


def _pearson(x: Floats, y: Floats) -> float:
    """Pearson's coefficient in two passes."""
    sides = []
    for side in (x, y):
        low = side.min()
        high = side.max()
        if not high > low:
            return NAN
        if not MODERATE[0] < max(abs(low), abs(high)) < MODERATE[1]:
            side = arrays.rescaled(side)
        sides.append(side)
    first, second = sides
    return _of_products(first, second, float(first.mean()), float(second.mean()))


def _of_products(x: Floats, y: Floats, mean_x: float, mean_y: float) -> float:
    """From sums of products about the means; NaN where a side varies by rounding only
    or not at all.
    """
    from . import _kernels

    sums = []
    for start in range(0, len(x), BLOCK):
        gap_x = x[start : start + BLOCK] - mean_x
        gap_y = y[start : start + BLOCK] - mean_y
        sums.append((gap_x @ gap_y, gap_x @ gap_x, gap_y @ gap_y))
    cross, square_x, square_y = np.sum(sums, axis=0)
    spread_x = np.sqrt(square_x)
    spread_y = np.sqrt(square_y)
    varies = spread_x > 0 and spread_y > 0
    varies = varies and spread_x >= _kernels.NEARLY_CONSTANT * abs(mean_x)
    varies = varies and spread_y >= _kernels.NEARLY_CONSTANT * abs(mean_y)
    if not varies:
        return NAN
    return float(np.clip(cross / spread_x / spread_y, -1, 1))


class _Ranked:
    """One side's values in order.

    counts: items of each different value, from the lowest up. Of few values, codes: the
    number of each item's value; else order: the places of the items from the lowest up.
    """

    def __init__(self, values: Floats) -> None:
        self.values = values
        sample = np.unique(values[:: max(1, len(values) // SAMPLE)])
        distinct = sample
        if len(sample) <= FEW_VALUES:
            distinct = np.unique(values)
        self.few = len(distinct) <= FEW_VALUES
        if self.few:
            self.few_codes = np.searchsorted(distinct, values)
            self.counts: Ints = np.bincount(self.few_codes)
            return
        self.order = np.argsort(values)
        self.counts = _runs(values[self.order])

    def of_items(self, by_value: Any) -> Any:
        """What each item has, from what each value has."""
        if self.few:
            return by_value[self.few_codes]
        out = np.empty(len(self.values), dtype=by_value.dtype)
        out[self.order] = np.repeat(by_value, self.counts)
        return out

    def codes(self) -> Ints:
        """The number of each item's value."""
        return self.of_items(np.arange(len(self.counts)))

    def centred_ranks(self) -> Floats:
        """The mid-rank of each item less the mean of all."""
        upto = np.cumsum(self.counts)
        return self.of_items(upto - (self.counts + len(self.values)) / 2)

    def inversions(self, order: Ints) -> int:
        """How many pairs of the items, in this order, stand in falling order."""
        from . import _kernels

        if not self.few:
            return _inversions(self.values[order])
        count = np.zeros(1, dtype=np.int64)
        higher = np.zeros(len(self.counts), dtype=np.int64)
        _kernels.inversions_of_few(self.few_codes[order], higher, count)
        return int(count[0])

    def all_differ(self) -> bool:
        """Whether no two of many items are tied."""
        return not self.few and len(self.counts) == len(self.values)


def _runs(ordered: Any) -> Ints:
    """How often each value comes, of values in order."""
    opens = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return np.diff(opens, prepend=0, append=len(ordered))


def _of_pairs(coef: str, x: _Ranked, y: _Ranked) -> float:
    """A Kendall coefficient or acc-eq, from counts of pairs.

    Source: Knight 1966.
    """
    from . import _kernels

    n = len(x.values)
    discordant, tied_both = _discordant(x, y)
    every = n * (n - 1) // 2
    tied_x = _pairs_within(x.counts)
    tied_y = _pairs_within(y.counts)
    differ_both = every - tied_x - tied_y + tied_both
    numbers = (
        n,
        differ_both - 2 * discordant,
        every - tied_x,
        every - tied_y,
        differ_both,
        min(len(x.counts), len(y.counts)),
    )
    out = np.empty(1)
    columns = [np.array([float(number)]) for number in numbers]
    _kernels.of_counts(COEFFICIENTS.index(coef), *columns, out)
    return float(out[0])


def _discordant(x: _Ranked, y: _Ranked) -> tuple[int, int]:
    """Pairs of items that the two sides order differently, and pairs that are tied on
    both.
    """
    if x.all_differ():
        return y.inversions(x.order), 0
    if y.all_differ():
        return x.inversions(y.order), 0
    values_y = len(y.counts)
    cells = len(x.counts) * values_y
    key = x.codes() * values_y + y.codes()
    if cells <= len(key):
        table = np.bincount(key, minlength=cells)
        in_table = _discordant_in(table.reshape(-1, values_y))
        return in_table, _pairs_within(table)
    # In order of x, and of y where x is tied.
    key.sort()
    return _inversions(key % values_y), _pairs_within(_runs(key))


def _pairs_within(counts: Ints) -> int:
    """How many pairs there are within groups of these sizes."""
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: Any) -> int:
    """How many pairs of a sequence stand in falling order."""
    from . import _kernels

    count = np.zeros(1, dtype=np.int64)
    _kernels.inversions(values.astype(np.float64), np.empty(len(values)), count)
    return int(count[0])


def _discordant_in(table: Ints) -> int:
    """Pairs of items of which one is higher in x and lower in y: `[x, y]` counts."""
    # Of each cell: the items of a lower x that are higher in y.
    below = np.cumsum(table, axis=0) - table
    higher = below.sum(axis=1, keepdims=True) - np.cumsum(below, axis=1)
    return int((table * higher).sum())
