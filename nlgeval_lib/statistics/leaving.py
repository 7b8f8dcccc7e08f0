"""A coefficient of one list of items without each of many groups of items in turn, such
as the outputs for one input, or single items: closed forms, so that a list of n items
in groups of k takes n k log n steps, and not n a group.

Each form takes the group's items off the sums of all. To the same numbers as `Lists.values` with each group's
weights at 0, but for rounding.
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

    cell, _, x, y = items.prepared
    size = np.diff(cell)
    of_cell = np.repeat(np.arange(len(size)), size)
    in_groups = of_cell[groups.order]
    # Pairs within a group go twice with its items, and are put back.
    within = np.zeros(groups.number)
    _kernels.agree_within(groups.starts, x[in_groups], y[in_groups], within)
    agree = agreeing(size, x, y)[of_cell]
    agree = agree.sum() / 2 - groups.sums(agree) + within
    n = (size.sum() - groups.sizes).astype(float)
    every = n * (n - 1) / 2
    sides = x[of_cell], y[of_cell]
    tied = [remaining(code, groups, pairs_of) for code in (*sides, of_cell)]
    same_x, same_y, same_both = tied
    differ = every - same_x, every - same_y, every - same_x - same_y + same_both
    classes = [remaining(code, groups, np.sign) for code in sides]
    out = np.empty(groups.number)
    number = COEFFICIENTS.index(items.coef)
    _kernels.of_counts(number, n, agree, *differ, np.minimum(*classes), out)
    return out


def pairs_of(number: Floats) -> Floats:
    """How many pairs so many items make."""
    return number * (number - 1) / 2


def spearman(items: Lists, groups: Groups) -> Floats:
    """Spearman's coefficient without each group: the ranks of all others move."""
    from . import _kernels

    cell, _, *codes = items.prepared
    # the side with fewer values second: its tree is the smaller one
    if codes[0].max() < codes[1].max():
        codes.reverse()
    size = np.diff(cell).astype(float)
    of_cell = np.repeat(np.arange(len(size)), size.astype(int))
    x, y = codes
    # twice the mid-rank less its mean: the items below less those above
    rank_x, rank_y = (-above(code, size) for code in codes)
    moved = above(x, size * rank_y) + above(y, size * rank_x)
    cross = size * rank_x @ rank_y - groups.sums(moved[of_cell])
    in_x = np.argsort(x[of_cell], kind="stable")
    in_groups = of_cell[groups.order]
    both = np.zeros(groups.number)
    ordered = groups.codes[in_x], x[of_cell][in_x], y[of_cell][in_x]
    _kernels.both_moved(groups.starts, y[in_groups], rank_y[in_groups], *ordered, both)
    # The group's own items go, too.
    own = np.zeros(groups.number)
    sides = [values[in_groups] for values in (x, y, rank_x, rank_y)]
    _kernels.own_products(groups.starts, *sides, own)
    n = size.sum() - groups.sizes
    cubes = [remaining(code[of_cell], groups, cube) for code in codes]
    return quotient(cross + both - own, *((n**3 - ties) / 3 for ties in cubes))


def cube(number: Floats) -> Floats:
    """The third power."""
    return number**3


def remaining(code: Ints, groups: Groups, of: Callable[[Floats], Floats]) -> Floats:
    """Without each group, a function of how many items have a value, summed over the
    values.

    code: the rank of each item's value, (items,).
    """
    number = np.bincount(code).astype(float)
    pairs, gone = np.unique(groups.codes * len(number) + code, return_counts=True)
    group, value = np.divmod(pairs, len(number))
    less = of(number[value]) - of(number[value] - gone)
    return of(number).sum() - np.bincount(group, less, groups.number)


def agreeing(size: Ints, x: Ints, y: Ints) -> Floats:
    """Of each cell of a list, concordant less discordant items of other cells.

    size: items of each cell. x, y: their ranks.
    """
    from . import _kernels

    # Of the earlier cells: the lower in y less the higher.
    lower = np.empty(len(size))
    _kernels.lower_before(size.astype(float), x, y, lower)
    in_x = np.bincount(x, size)
    # Of those tied in x: the lower less the higher.
    within = 2 * (np.cumsum(size) - np.cumsum(in_x)[x]) - size + in_x[x]
    # `above` has the higher less the lower in y, of all cells. Of those of smaller x
    # the sign is to turn, hence twice `lower`; those tied in x are to go.
    return np.asarray(2 * lower + within + above(y, size.astype(float)))


def above(code: Ints, values: Floats) -> Floats:
    """For each cell: the values of those above it less the values of those below it.

    code, values: the rank on one side, and a value, of each cell, (cells,).
    """
    sums = np.bincount(code, values)
    below = np.cumsum(sums) - sums
    return (values.sum() - 2 * below - sums)[code]


def quotient(cross: Floats, square_x: Floats, square_y: Floats) -> Floats:
    """Pearson's coefficient from centred sums of products; NaN where a side does not
    vary.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        value = cross / np.sqrt(square_x) / np.sqrt(square_y)
    varies = (square_x > 0) & (square_y > 0)
    return np.where(varies, np.clip(value, -1, 1), np.nan)
