"""A coefficient of each of many lists of items as a function of the items' weights: prepared once, for all of them.

And that of one list without each item in turn, in closed form: the others are not looked at again for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .draws import Draws, Weights, exact
from .result import Floats

COEFFICIENTS = ("pearson", "spearman", "kendall-a", "kendall-b", "kendall-c", "acc-eq")
LANES = 256
Ints = npt.NDArray[np.integer]


class Lists:
    """A coefficient of each of many lists of items as a function of the items' weights.

    x, y: `[list, item]`, an entry with NaN on either side takes no part. places: each entry's place in row-major order
    of `X[system, input]` (or in flat data). inputs: how many inputs there are.
    """

    def __init__(self, x: Floats, y: Floats, coef: str, places: Ints, inputs: int) -> None:
        self.coef, self.number, self.inputs = coef, len(x), inputs
        self.space: Weights | None = None
        here = ~(np.isnan(x) | np.isnan(y))
        edges = np.append(0, np.cumsum(here.sum(axis=1)))
        self.prepared: tuple[Any, ...] = edges, x[here], y[here]
        self.places = np.broadcast_to(places, x.shape)[here]
        if coef == "pearson" or not len(self.places):
            return
        # all are symmetric; what costs is the number of different values of the second side
        a, b = (_codes(np.where(here, side, np.nan)) for side in (x, y))
        self.turned = coef != "spearman" and bool(a[here].max() < b[here].max())
        a, b = (b, a) if self.turned else (a, b)
        order = np.argsort(np.where(here, a * x.shape[1] + b, x.shape[1] ** 2), axis=1)
        here = np.take_along_axis(here, order, axis=1)
        number = np.nonzero(here)[0]
        a, b, self.places = (
            np.take_along_axis(side, order, axis=1)[here] for side in (a, b, np.broadcast_to(places, x.shape))
        )
        new = np.append(True, (a[1:] != a[:-1]) | (b[1:] != b[:-1]) | (number[1:] != number[:-1]))
        cells = np.append(np.flatnonzero(new), len(new))  # items tied on both sides share one
        self.prepared = cells, np.searchsorted(cells[:-1], edges), a[new], b[new]

    def values(self, drawn: Draws) -> Floats:
        """The coefficient of each list in each resample: (lists, b); NaN where not defined.

        Where items are in or out, (2 * lists, b): then of those that are out.
        """
        out = np.full((self.number * (2 if drawn.base else 1), len(drawn)), np.nan)
        if not len(self.places):
            return out
        from . import _kernels

        left, a, right, b = _factors(drawn, self.places, self.inputs)
        for start in range(0, len(drawn), LANES):
            block = slice(start, start + LANES)
            part_a, part_b = np.ascontiguousarray(a[:, block]), np.ascontiguousarray(b[:, block])
            part = np.empty((len(out), part_a.shape[1]))
            data = left, right, *self.prepared
            if self.coef == "pearson":
                _kernels.pearson(*data, part_a, part_b, drawn.base, part)
            else:
                space, number = self._scratch(part_a), COEFFICIENTS.index(self.coef)
                _kernels.ranked(number, *data, self.turned, part_a, part_b, drawn.base, space, part)
            out[:, block] = part
        return out

    def _scratch(self, a: Weights) -> Weights:
        """Room for the weights of all cells of a list and of all values, twice."""
        _, bounds, _, y = self.prepared
        size = a.shape[1] * int(np.diff(bounds).max() + 2 * y.max() + 3)
        if self.space is None or len(self.space) < size or self.space.dtype != a.dtype:
            self.space = np.empty(size, dtype=a.dtype)
        return self.space


def _factors(drawn: Draws, places: Ints, inputs: int) -> tuple[Ints, Weights, Ints, Weights]:
    """Rows and weights of both factors of the items' weights; ones where there is but one factor."""
    given = next(a for a in (drawn.rows, drawn.systems, drawn.inputs) if a is not None)
    alone = np.zeros_like(places), np.ones((1, len(drawn)), dtype=given.dtype)
    if drawn.rows is not None:
        return places, drawn.rows, *alone
    left = alone if drawn.systems is None else (places // inputs, drawn.systems)
    return *left, *(alone if drawn.inputs is None else (places % inputs, drawn.inputs))


def _codes(side: Floats) -> Ints:
    """Dense ranks from 0 of the values of each row; NaN comes after all."""
    order = np.argsort(side, axis=1)
    ordered = np.take_along_axis(side, order, axis=1)
    code = np.zeros(side.shape, dtype=np.int64)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=code[:, 1:])
    out = np.empty_like(code)
    np.put_along_axis(out, order, code, axis=1)
    return out


def without_each(x: Floats, y: Floats, lists: Lists, value: float) -> Floats:
    """The coefficient of one list without each item in turn: (items,), row-major; an absent one changes nothing.

    x, y: flat or `[system, input]`; lists: the same as one list; value: of all.
    """
    x, y = x.ravel(), y.ravel()
    here = ~(np.isnan(x) | np.isnan(y))
    out = np.full(x.size, value)
    if lists.coef == "pearson":
        out[here] = _pearson(x[here], y[here], lists, np.flatnonzero(here), x.size)
    elif lists.coef == "spearman":
        out[here] = _spearman(x[here], y[here], _counts(lists))
    else:
        out[here] = _pairs(lists.coef, _counts(lists))
    return out


def _counts(lists: Lists) -> Floats:
    """`_kernels.of_each` for each item, in the order of the places: (4, items)."""
    from . import _kernels

    cell, bounds, x, y = lists.prepared
    out = np.zeros((4, len(x)))
    _kernels.of_each(cell, bounds, x, y, out)
    if lists.turned:
        out = out[[0, 2, 1, 3]]
    return np.repeat(out, np.diff(cell), axis=1)[:, np.argsort(lists.places)]


def _pairs(coef: str, counts: Floats) -> Floats:
    """A coefficient of counts of pairs without each item, whose own pairs are gone."""
    from . import _kernels

    own = counts - np.array([[0.0], [1.0], [1.0], [1.0]])  # an item counts as tied with itself
    agree, same_x, same_y, same_both = own.sum(axis=1, keepdims=True) / 2 - own
    n = np.full(len(agree), len(agree) - 1.0)
    every = n * (n - 1) / 2
    differ = every - same_x, every - same_y, every - same_x - same_y + same_both
    classes = (np.round((1 / side).sum()) - (side == 1) for side in counts[1:3])  # a value that one item has goes too
    out = np.empty(len(n))
    _kernels.of_counts(COEFFICIENTS.index(coef), n, agree, *differ, np.minimum(*classes), out)
    return out


def _spearman(x: Floats, y: Floats, whole: Floats) -> Floats:
    """Without each item: those above it come down by one rank, those tied with it by half a rank."""
    codes = [np.unique(side, return_inverse=True)[1] for side in (x, y)]
    agree, same_x, same_y, _ = whole
    rank_x, rank_y = (-_above(code, np.ones(len(x))) for code in codes)  # twice the mid-rank, less its mean
    cross = rank_x @ rank_y - rank_x * rank_y + agree - _above(codes[0], rank_y) - _above(codes[1], rank_x)
    squares = [
        rank @ rank - rank**2 - 2 * _above(code, rank) + len(x) - same
        for code, rank, same in zip(codes, (rank_x, rank_y), (same_x, same_y), strict=True)
    ]
    return _quotient(cross, *squares)


def _above(code: Ints, values: Floats) -> Floats:
    """For each item: the values of those above it less the values of those below it."""
    sums = np.bincount(code, values)
    return (values.sum() - 2 * (np.cumsum(sums) - sums) - sums)[code]


def _pearson(x: Floats, y: Floats, lists: Lists, place: Ints, size: int) -> Floats:
    """Without each item: its share leaves the centred sums. Weighted anew where that loses digits."""
    near = [1e-12 * abs(side.mean()) for side in (x, y)]
    x, y = x - x.mean(), y - y.mean()
    share = len(x) / (len(x) - 1)
    square_x, square_y = x @ x - x**2 * share, y @ y - y**2 * share
    out = _quotient(x @ y - x * y * share, square_x, square_y)
    sure = (square_x > max(1e-9 * (x @ x), near[0] ** 2)) & (square_y > max(1e-9 * (y @ y), near[1] ** 2))
    if not sure.all():
        lost = place[~sure]
        weights = np.ones((size, len(lost)), dtype=exact(size))
        weights[lost, np.arange(len(lost))] = 0
        out[~sure] = lists.values(Draws(rows=weights))[0]
    return out


def _quotient(cross: Floats, square_x: Floats, square_y: Floats) -> Floats:
    """Of centred sums of products; NaN where a side does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.clip(cross / np.sqrt(square_x) / np.sqrt(square_y), -1, 1)
    return np.where((square_x > 0) & (square_y > 0), value, np.nan)
