"""A coefficient of many lists of items as a function of the items' weights; that of
one without each item in turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import rescaled
from .draws import Draws, Ints, Weights, exact
from .result import Floats

COEFFICIENTS = (
    "pearson",
    "spearman",
    "kendall-a",
    "kendall-b",
    "kendall-c",
    "acc-eq",
)
LANES = 256


class Lists:
    """A coefficient of each of many lists of items: one of all items a judge, or one of
    each input's systems.

    x, y: `[judge, item]` or `[judge, system, input]`; an entry with NaN on either side
    takes no part. zero: a coefficient that is not defined is 0, where the list has two
    items of a judge.
    """

    def __init__(
        self,
        x: Floats,
        y: Floats,
        coef: str,
        level: str,
        zero: bool = False,
    ) -> None:
        self.coef = coef
        self.zero = zero
        self.inputs = x.shape[-1]
        positions = np.arange(x[0].size).reshape(x.shape[1:])
        places = _as_lists(np.broadcast_to(positions, x.shape), level)
        x = _as_lists(x, level)
        y = _as_lists(y, level)
        if coef == "pearson":
            x = rescaled(x, axis=1)
            y = rescaled(y, axis=1)
        present = ~(np.isnan(x) | np.isnan(y))
        self.sizes = present.sum(axis=1)
        self.places = places[present]
        edges = np.append(0, np.cumsum(self.sizes))
        self.space = np.empty(0)
        self.prepared: tuple[Any, ...] = edges, x[present], y[present]
        if coef != "pearson" and len(self.places):
            self._prepare_ranks(x, y, places, present, edges)

    def _prepare_ranks(
        self,
        x: Floats,
        y: Floats,
        places: Ints,
        present: npt.NDArray[np.bool_],
        edges: Ints,
    ) -> None:
        """Put the items in order of their ranks, and those that are tied on both sides
        into one cell.
        """
        a = _codes(np.where(present, x, np.nan))
        b = _codes(np.where(present, y, np.nan))
        # All coefficients are symmetric. What costs time is the number of different
        # values on the second side, so the side with fewer of them becomes the second.
        fewer_in_x = bool(a[present].max() < b[present].max())
        self.turned = self.coef != "spearman" and fewer_in_x
        if self.turned:
            a, b = b, a
        width = x.shape[1]
        rank = np.where(present, a * width + b, width**2)
        order = np.argsort(rank, axis=1)
        present = np.take_along_axis(present, order, axis=1)
        number = np.nonzero(present)[0]
        a = np.take_along_axis(a, order, axis=1)[present]
        b = np.take_along_axis(b, order, axis=1)[present]
        self.places = np.take_along_axis(places, order, axis=1)[present]
        differs = np.zeros(len(a) - 1, dtype=bool)
        for column in (a, b, number):
            differs |= column[1:] != column[:-1]
        opens = np.append(True, differs)
        cells = np.append(np.flatnonzero(opens), len(opens))
        bounds = np.searchsorted(cells[:-1], edges)
        self.prepared = cells, bounds, a[opens], b[opens]

    def values(self, drawn: Draws, pooled: bool = False) -> Floats:
        """The coefficient of each list in each resample: (lists, b); NaN where not
        defined.

        pooled: the items are two judges', and draws are coins of one half up or down:
        an item is in (1) or out (0). (2 * lists, b): then of those that are out.
        """
        judges = 2 if pooled else 1
        out = np.full((len(self.sizes) * judges, len(drawn)), np.nan)
        if not len(self.places):
            return out
        base = 0.5 if pooled else 0.0
        rows_a, a, rows_b, b = drawn.factors(self.places, self.inputs)
        for start in range(0, len(drawn), LANES):
            block = slice(start, start + LANES)
            block_a = np.ascontiguousarray(a[:, block])
            block_b = np.ascontiguousarray(b[:, block])
            out[:, block] = self._block(
                rows_a,
                block_a,
                rows_b,
                block_b,
                base,
                len(out),
            )
        if self.zero:
            enough = np.resize(self.sizes > judges, len(out))
            out[np.isnan(out) & enough[:, None]] = 0.0
        return out

    def _block(
        self,
        rows_a: Ints,
        a: Weights,
        rows_b: Ints,
        b: Weights,
        base: float,
        lists: int,
    ) -> Floats:
        """The coefficients of a block of resamples, by the compiled loops."""
        from . import _kernels

        out = np.empty((lists, a.shape[1]))
        items = rows_a, rows_b, *self.prepared
        if self.coef == "pearson":
            _kernels.pearson(*items, a, b, base, out)
            return out
        _kernels.ranked(
            COEFFICIENTS.index(self.coef),
            *items,
            self.turned,
            a,
            b,
            base,
            self._scratch(a),
            out,
        )
        return out

    def _scratch(self, a: Weights) -> Weights:
        """Room for the weights of all cells of a list and of all values of either
        side.
        """
        _, bounds, x, y = self.prepared
        in_tree = y.max()
        if self.coef == "spearman":
            in_tree = x.max()
        rows = int(np.diff(bounds).max() + y.max() + in_tree + 3)
        size = a.shape[1] * rows
        if len(self.space) < size or self.space.dtype != a.dtype:
            self.space = np.empty(size, dtype=a.dtype)
        return self.space[:size]

    def without_each(self, value: float, size: int) -> Floats:
        """The coefficient of a single list without each of `size` items; of an
        absent one `value`, that of all.
        """
        out = np.full(size, value)
        if self.coef == "pearson":
            reduced = self._pearson_without(size)
        elif self.coef == "spearman":
            reduced = _spearman_without(self)
        else:
            reduced = _pairs_without(self)
        out[self.places] = reduced
        if self.zero:
            out[np.isnan(out)] = 0.0
        return out

    def _pearson_without(self, size: int) -> Floats:
        """Each item's share leaves the centred sums.

        Weighted anew where that loses digits.
        """
        _, x, y = self.prepared
        rounding_x = 1e-12 * abs(x.mean())
        rounding_y = 1e-12 * abs(y.mean())
        x = x - x.mean()
        y = y - y.mean()
        share = len(x) / (len(x) - 1)
        cross = x @ y - x * y * share
        square_x = x @ x - x**2 * share
        square_y = y @ y - y**2 * share
        out = _quotient(cross, square_x, square_y)
        sure = square_x > max(1e-9 * (x @ x), rounding_x**2)
        sure &= square_y > max(1e-9 * (y @ y), rounding_y**2)
        if not sure.all():
            unsure = self.places[~sure]
            weights = np.ones((size, len(unsure)), dtype=exact(size))
            weights[unsure, np.arange(len(unsure))] = 0
            out[~sure] = self.values(Draws(rows=weights))[0]
        return out


def _as_lists(values: Any, level: str) -> Any:
    """One row a list: of all items of a judge, or of an input's systems."""
    if level != "input":
        return values.reshape(len(values), -1)
    by_input = np.ascontiguousarray(values.transpose(0, 2, 1))
    return by_input.reshape(-1, values.shape[1])


def _codes(values: Floats) -> Ints:
    """Dense ranks from 0 of the values of each row; NaN comes after all."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    rises = ordered[:, 1:] != ordered[:, :-1]
    code = np.zeros(values.shape, dtype=np.int64)
    np.cumsum(rises, axis=1, out=code[:, 1:])
    out = np.empty_like(code)
    np.put_along_axis(out, order, code, axis=1)
    return out


def _counts(lists: Lists) -> tuple[Floats, ...]:
    """Of each cell: its items; concordant less discordant ones; ones tied in x, in
    y, itself too.
    """
    from . import _kernels

    cell, _, x, y = lists.prepared
    size = np.diff(cell).astype(float)
    lower = np.empty(len(size))
    until = np.cumsum(size)
    _kernels.lower_before(size, x, y, lower)
    in_x = np.bincount(x, size)
    tied_x = in_x[x]
    tied_y = np.bincount(y, size)[y]
    # Of those tied in x: the lower less the higher.
    within = 2 * (until - np.cumsum(in_x)[x]) - size + tied_x
    agree = 2 * lower + within + _above(y, size)
    if lists.turned:
        return size, agree, tied_y, tied_x
    return size, agree, tied_x, tied_y


def _pairs_without(lists: Lists) -> Floats:
    """A coefficient of counts of pairs without each item, whose own pairs are gone."""
    from . import _kernels

    size, agree, *tied = _counts(lists)
    # An item counts as tied with itself.
    itself = [[0.0], [1.0], [1.0], [1.0]]
    of_item = np.array([agree, *tied, size]) - itself
    left_over = (of_item @ size)[:, None] / 2 - of_item
    agree, same_x, same_y, same_both = left_over
    n = np.full(len(size), size.sum() - 1)
    every = n * (n - 1) / 2
    classes = []
    for ties in tied:
        # A value that only one item has goes with it.
        classes.append(np.round((size / ties).sum()) - (ties == 1))
    out = np.empty(len(n))
    _kernels.of_counts(
        COEFFICIENTS.index(lists.coef),
        n,
        agree,
        every - same_x,
        every - same_y,
        every - same_x - same_y + same_both,
        np.minimum(*classes),
        out,
    )
    return np.repeat(out, size.astype(int))


def _spearman_without(lists: Lists) -> Floats:
    """Those above each item come down by one rank, those tied with it by half a
    rank.
    """
    size, agree, *tied = _counts(lists)
    codes = lists.prepared[2:]
    # Twice the mid-rank, less its mean.
    rank_x, rank_y = ranks = [-_above(code, size) for code in codes]
    cross = size * rank_x @ rank_y - rank_x * rank_y + agree
    moved = _above(codes[0], size * rank_y)
    moved = moved + _above(codes[1], size * rank_x)
    cross -= moved
    squares = []
    for code, rank, ties in zip(codes, ranks, tied, strict=True):
        square = size * rank @ rank - rank**2
        square = square - 2 * _above(code, size * rank)
        squares.append(square + size.sum() - ties)
    return np.repeat(_quotient(cross, *squares), size.astype(int))


def _above(code: Ints, values: Floats) -> Floats:
    """For each cell: the values of those above it less the values of those below it."""
    sums = np.bincount(code, values)
    below = np.cumsum(sums) - sums
    return (values.sum() - 2 * below - sums)[code]


def _quotient(cross: Floats, square_x: Floats, square_y: Floats) -> Floats:
    """Of centred sums of products; NaN where a side does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = cross / np.sqrt(square_x) / np.sqrt(square_y)
    value = np.clip(value, -1, 1)
    varies = (square_x > 0) & (square_y > 0)
    return np.where(varies, value, np.nan)
