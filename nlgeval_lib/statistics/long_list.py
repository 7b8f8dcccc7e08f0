"""A coefficient of one long list of items, once, where it need not be a function of the
items' weights. To the same numbers as `lists`.
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
    """Any coefficient of two long sides, (items,), without NaN, in n log n time or
    less; NaN where it is not defined.
    """
    if coef == "pearson":
        return _pearson(x, y)
    ranked_x = _Ranked(x)
    ranked_y = _Ranked(y)
    if coef == "spearman":
        # Zero is the mean of centred ranks already.
        ranks = ranked_x.centred_ranks(), ranked_y.centred_ranks()
        return _of_products(*ranks, 0.0, 0.0)
    return _of_pairs(coef, ranked_x, ranked_y)


def _pearson(x: Floats, y: Floats) -> float:
    """Pearson's coefficient in two passes: means first, then products about them; NaN
    where a side is constant.
    """
    sides = []
    for side in (x, y):
        low = side.min()
        high = side.max()
        if not high > low:
            return NAN
        largest = max(abs(low), abs(high))
        if not MODERATE[0] < largest < MODERATE[1]:
            side = arrays.rescaled(side)
        sides.append(side)
    x, y = sides
    return _of_products(x, y, float(x.mean()), float(y.mean()))


def _of_products(x: Floats, y: Floats, mean_x: float, mean_y: float) -> float:
    """Pearson's coefficient from sums of products about the means; NaN where a side
    varies by rounding only or not at all.
    """
    from . import _kernels

    sums = []
    for start in range(0, len(x), BLOCK):
        block = slice(start, start + BLOCK)
        gap_x = x[block] - mean_x
        gap_y = y[block] - mean_y
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

    counts: items of each different value, from the lowest up.
    few: whether the different values are at most `FEW_VALUES`; then few_codes has the
        number of each item's value.
    order: of many values, the places of the items from the lowest up.
    """

    def __init__(self, values: Floats) -> None:
        self.values = values
        # A sample with many different values makes a look at all of them needless.
        step = max(1, len(values) // SAMPLE)
        sample = np.unique(values[::step])
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
        """What each item has, from what each different value has, lowest first."""
        if self.few:
            return by_value[self.few_codes]
        out = np.empty(len(self.values), dtype=by_value.dtype)
        out[self.order] = np.repeat(by_value, self.counts)
        return out

    def codes(self) -> Ints:
        """The number of each item's value among the different ones, from 0."""
        return self.of_items(np.arange(len(self.counts)))

    def centred_ranks(self) -> Floats:
        """The mid-rank of each item less the mean of all."""
        upto = np.cumsum(self.counts)
        # mid-rank: upto - (counts - 1) / 2; mean of all: (n + 1) / 2
        centred = upto - (self.counts + len(self.values)) / 2
        return self.of_items(centred)

    def all_differ(self) -> bool:
        """Whether no two of many items are tied."""
        return not self.few and len(self.counts) == len(self.values)


def _runs(ordered: Any) -> Ints:
    """How often each value comes, of values in order."""
    opens = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return np.diff(opens, prepend=0, append=len(ordered))


def _of_pairs(coef: str, x: _Ranked, y: _Ranked) -> float:
    """A Kendall coefficient or acc-eq, from counts of pairs.

    Source: Knight 1966, who counts the discordant pairs by sorting.
    """
    from . import _kernels

    n = len(x.values)
    every = n * (n - 1) // 2
    tied_x = _pairs_within(x.counts)
    tied_y = _pairs_within(y.counts)
    if x.all_differ() and y.all_differ():
        discordant = _inversions(y.values[x.order])
        concordant = every - discordant
    else:
        concordant, discordant = _ordered(x, y)
    agree = concordant - discordant
    differ_both = concordant + discordant
    classes = min(len(x.counts), len(y.counts))
    numbers = n, agree, every - tied_x, every - tied_y, differ_both, classes
    out = np.empty(1)
    columns = [np.array([float(number)]) for number in numbers]
    _kernels.of_counts(COEFFICIENTS.index(coef), *columns, out)
    return float(out[0])


def _ordered(x: _Ranked, y: _Ranked) -> tuple[int, int]:
    """Pairs of items that the two sides order alike, and otherwise."""
    from . import _kernels

    if x.few and y.few:
        return _ordered_in_table(x, y)
    many, fewer = (x, y) if len(x.counts) >= len(y.counts) else (y, x)
    values = len(fewer.counts)
    tree = np.zeros(values + 1, dtype=np.int64)
    at_value = np.zeros(values, dtype=np.int64)
    found = np.zeros(2, dtype=np.int64)
    codes = fewer.codes()[many.order]
    _kernels.ordered_pairs(many.counts, codes, tree, at_value, found)
    return int(found[0]), int(found[1])


def _ordered_in_table(x: _Ranked, y: _Ranked) -> tuple[int, int]:
    """`_ordered` of few values, from how many items have each pair of them."""
    values_y = len(y.counts)
    cells = len(x.counts) * values_y
    key = x.few_codes * values_y + y.few_codes
    table = np.bincount(key, minlength=cells).reshape(-1, values_y)
    # Of each cell: the items of a lower x, and those of them that are not higher in y.
    of_lower_x = np.cumsum(table, axis=0) - table
    upto_y = np.cumsum(of_lower_x, axis=1)
    higher = of_lower_x.sum(axis=1, keepdims=True) - upto_y
    alike = (table * (upto_y - of_lower_x)).sum()
    return int(alike), int((table * higher).sum())


def _pairs_within(counts: Ints) -> int:
    """How many pairs there are within groups of these sizes."""
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: Any) -> int:
    """How many pairs of a sequence stand in falling order, by a merge sort."""
    from . import _kernels

    count = np.zeros(1, dtype=np.int64)
    _kernels.inversions(values.astype(np.float64), np.empty(len(values)), count)
    return int(count[0])
