"""A coefficient of one list of items without each of many groups of items in turn, such
as the outputs for one input, or single items: closed forms, so that a list of n items
in groups of k takes n k log n steps, and not n a group.

Each form takes the group's items off the sums of all; pairs of items within the group,
which go twice, are put back. To the same numbers as `Lists.values` with each group's
weights at 0, but for rounding.
"""

from __future__ import annotations

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

    size, agree, *tied = counts(items)
    of_cell = np.repeat(np.arange(len(size)), size.astype(int))
    in_order = of_cell[groups.order]
    x, y = items.prepared[2:]
    within = np.zeros((6, groups.number))
    sides = (values[in_order] for values in (x, y, *tied))
    _kernels.pairs_within(groups.starts, *sides, within)
    # an item counts as tied with itself
    of_item = np.array([agree, *tied, size]) - [[0.0], [1.0], [1.0], [1.0]]
    remaining = []
    for column, inside in zip(of_item, within, strict=False):
        total = column @ size / 2
        remaining.append(total - groups.sums(column[of_cell]) + inside)
    agree, same_x, same_y, same_both = remaining
    n = (size.sum() - groups.sizes).astype(float)
    every = n * (n - 1) / 2
    classes = []
    for ties, removed in zip(tied, within[4:], strict=True):
        classes.append(np.round((size / ties).sum() - removed))
    out = np.empty(groups.number)
    differ = every - same_x, every - same_y, every - same_x - same_y + same_both
    number = COEFFICIENTS.index(items.coef)
    _kernels.of_counts(number, n, agree, *differ, np.minimum(*classes), out)
    return out


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
    ranks = [-above(code, size) for code in codes]
    rank_x, rank_y = ranks
    moved = above(x, size * rank_y) + above(y, size * rank_x)
    cross = size * rank_x @ rank_y - groups.sums(moved[of_cell])
    order = np.argsort(x[of_cell], kind="stable")
    in_groups = of_cell[groups.order]
    both = np.zeros(groups.number)
    in_x = (groups.codes[order], x[of_cell][order], y[of_cell][order])
    _kernels.both_moved(groups.starts, y[in_groups], rank_y[in_groups], *in_x, both)
    # Of each group: products of the moved ranks of its own items, which go; and of
    # either side the squares of all moves less the squares of those ranks.
    below = []
    tied = []
    for code in codes:
        number = np.bincount(code, size)
        below.append((np.cumsum(number) - number)[code])
        tied.append(number[code])
    inside = np.zeros((3, groups.number))
    sides = [values[in_groups] for values in (*codes, *ranks, *below, *tied)]
    _kernels.own_ranks(groups.starts, *sides, size.sum(), inside)
    cross = cross + both - inside[0]
    squares = []
    for code, rank, own_moves in zip(codes, ranks, inside[1:], strict=True):
        moved = 2 * above(code, size * rank)
        squares.append(size * rank @ rank - groups.sums(moved[of_cell]) + own_moves)
    return quotient(cross, *squares)


def counts(items: Lists) -> tuple[Floats, ...]:
    """What each cell of a single list is compared with, four arrays (cells,): its
    items; concordant less discordant items of other cells; items tied in x, and in y,
    itself too.
    """
    from . import _kernels

    cell, _, x, y = items.prepared
    size = np.diff(cell).astype(float)
    until = np.cumsum(size)
    # Of the earlier cells: the lower in y less the higher.
    lower = np.empty(len(size))
    _kernels.lower_before(size, x, y, lower)
    in_x = np.bincount(x, size)
    tied_x = in_x[x]
    tied_y = np.bincount(y, size)[y]
    # Of those tied in x: the lower less the higher.
    within = 2 * (until - np.cumsum(in_x)[x]) - size + tied_x
    # `above` has the higher less the lower in y, of all cells. Of those of smaller x
    # the sign is to turn, hence twice `lower`; those tied in x are to go.
    agree = 2 * lower + within + above(y, size)
    return size, agree, tied_x, tied_y


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
