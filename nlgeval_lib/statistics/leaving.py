"""A coefficient of one list of items without each of many groups of items in turn, such
as the outputs for one input, or single items: closed forms, so that a list of n items
in groups of k takes n k log n steps, and not n a group.

Each form takes the group's items off the sums of all. To the same numbers as
`Lists.values` with each group's weights at 0, but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .draws import Ints
from .lists import COEFFICIENTS, Lists
from .result import Floats

Flags = npt.NDArray[np.bool_]


class Groups:
    """The items of a list, group by group.

    codes: the group of each item. number: of groups; some may have no item.
    starts: the first item of each group in `order`, and the number of all items.
    """

    def __init__(self, codes: Ints, number: int) -> None:
        self.codes = codes
        self.number = number
        self.sizes = np.bincount(codes, minlength=number)
        self.starts = np.append(0, np.cumsum(self.sizes))
        self.order = np.argsort(codes, kind="stable")

    def sums(self, values: Floats) -> Floats:
        """The sum of the items' values, (items,), in each group, (groups,)."""
        return np.bincount(self.codes, values, self.number).astype(float)


def without_groups(items: Lists, codes: Ints, number: int) -> tuple[Floats, Flags]:
    """The coefficient of a single list without each group of items in turn, (groups,),
    NaN where not defined; and which of them are sure: the others are to be computed
    anew.

    codes: the group of each place of the data, row-major. number: of groups.
    """
    groups = Groups(codes[items.places], number)
    sure = np.ones(number, dtype=bool)
    if items.coef == "pearson":
        out, sure = pearson(items, groups)
    elif items.coef == "spearman":
        out = spearman(items, groups)
    else:
        out = pairs(items, groups)
    return out, sure


def pearson(items: Lists, groups: Groups) -> tuple[Floats, Flags]:
    """Pearson's coefficient without each group, and which groups it is sure of: where
    almost all of a side's spread is the group's own, few digits are left.
    """
    _, x, y = items.prepared
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        # nor does a constant side vary without some of its items
        return np.full(groups.number, np.nan), np.ones(groups.number, dtype=bool)
    rounding = [1e-12 * abs(values.mean()) for values in (x, y)]
    x = x - x.mean()
    y = y - y.mean()
    remaining = np.maximum(len(x) - groups.sizes, 1)
    # what is left of the sums, about the mean of what is left
    sum_x = x.sum() - groups.sums(x)
    sum_y = y.sum() - groups.sums(y)
    cross = x @ y - groups.sums(x * y) - sum_x * sum_y / remaining
    sure = groups.sizes < len(x) - 1
    squares = []
    for values, total, error in zip((x, y), (sum_x, sum_y), rounding, strict=True):
        square = values @ values - groups.sums(values**2) - total**2 / remaining
        sure = sure & (square > max(1e-9 * (values @ values), error**2))
        squares.append(square)
    return quotient(cross, *squares), sure


def pairs(items: Lists, groups: Groups) -> Floats:
    """A coefficient of counts of pairs without each group."""
    from . import _kernels

    x, y, cell = _codes(items)
    # Pairs within a group go twice with its items, and are put back.
    within = np.zeros(groups.number)
    in_groups = groups.order
    _kernels.agree_within(groups.starts, x[in_groups], y[in_groups], within)
    # Of each item, concordant less discordant others.
    agree = _signs(x, y, Groups(np.arange(len(x)), len(x)))
    agree = agree.sum() / 2 - groups.sums(agree) + within
    n = (len(x) - groups.sizes).astype(float)
    every = _pairs_of(n)
    tied = [_remaining(code, groups, _pairs_of) for code in (x, y, cell)]
    same_x, same_y, same_both = tied
    differ = every - same_x, every - same_y, every - same_x - same_y + same_both
    classes = [_remaining(code, groups, np.sign) for code in (x, y)]
    out = np.empty(groups.number)
    number = COEFFICIENTS.index(items.coef)
    _kernels.of_counts(number, n, agree, *differ, np.minimum(*classes), out)
    return out


def spearman(items: Lists, groups: Groups) -> Floats:
    """Spearman's coefficient without each group: the ranks of all others move."""
    from . import _kernels

    x, y, _ = _codes(items)
    # the side with fewer values second: its tree is the smaller one
    if x.max() < y.max():
        x, y = y, x
    rank_x = _ranks(x)
    rank_y = _ranks(y)
    moved = _above(x, rank_y) + _above(y, rank_x)
    cross = rank_x @ rank_y - groups.sums(moved) + _signs(x, y, groups)
    # The group's own items go, too.
    own = np.zeros(groups.number)
    sides = [values[groups.order] for values in (x, y, rank_x, rank_y)]
    _kernels.own_products(groups.starts, *sides, own)
    n = len(x) - groups.sizes
    ties = [_remaining(code, groups, lambda number: number**3) for code in (x, y)]
    return quotient(cross - own, *((n**3.0 - cubes) / 3 for cubes in ties))


def _codes(items: Lists) -> tuple[Ints, Ints, Ints]:
    """The rank of each item in x and in y, and its cell: three arrays (items,)."""
    cell, _, x, y = items.prepared
    of_cell = np.repeat(np.arange(len(x)), np.diff(cell))
    return x[of_cell], y[of_cell], of_cell


def _above(code: Ints, values: Floats) -> Floats:
    """For each item: the values of those above it less the values of those below it."""
    sums = np.bincount(code, values)
    below = np.cumsum(sums) - sums
    return np.asarray((values.sum() - 2 * below - sums)[code])


def _ranks(code: Ints) -> Floats:
    """Twice the mid-rank of each item less its mean: items below less those above."""
    return -_above(code, np.ones(len(code)))


def _signs(x: Ints, y: Ints, groups: Groups) -> Floats:
    """Of each group, over all items: the signs of the item's gaps in x to the group's
    items, summed, times the same in y.
    """
    from . import _kernels

    out = np.zeros(groups.number)
    in_x = np.argsort(x, kind="stable")
    of_groups = y[groups.order], _ranks(y)[groups.order]
    in_order = groups.codes[in_x], x[in_x], y[in_x]
    _kernels.both_moved(groups.starts, *of_groups, *in_order, out)
    return out


def _pairs_of(number: Floats) -> Floats:
    """How many pairs so many items make."""
    return number * (number - 1) / 2


def _remaining(code: Ints, groups: Groups, of: Callable[[Floats], Floats]) -> Floats:
    """Without each group, a function of how many items have a value, summed over the
    values.
    """
    number = np.bincount(code).astype(float)
    pairs, gone = np.unique(groups.codes * len(number) + code, return_counts=True)
    group, value = np.divmod(pairs, len(number))
    less = of(number[value]) - of(number[value] - gone)
    return of(number).sum() - np.bincount(group, less, groups.number)


def quotient(cross: Floats, square_x: Floats, square_y: Floats) -> Floats:
    """Pearson's coefficient from centred sums of products; NaN where a side does not
    vary.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        value = cross / np.sqrt(square_x) / np.sqrt(square_y)
    varies = (square_x > 0) & (square_y > 0)
    return np.where(varies, np.clip(value, -1, 1), np.nan)
