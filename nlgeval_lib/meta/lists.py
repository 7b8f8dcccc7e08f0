"""A coefficient of many lists of items as a function of the items' weights; that of one without each item in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import rescaled
from .draws import Draws, Ints, Weights, exact
from .result import Floats

COEFFICIENTS = ("pearson", "spearman", "kendall-a", "kendall-b", "kendall-c", "acc-eq")
LANES = 256


class Lists:
    """A coefficient of each of many lists of items: one of all items a judge, or one of each input's systems.

    x, y: `[judge, item]` or `[judge, system, input]`; an entry with NaN on either side takes no part. zero: a
    coefficient that is not defined is 0, where the list has two items of a judge.
    """

    def __init__(self, x: Floats, y: Floats, coef: str, level: str, zero: bool = False) -> None:
        self.coef, self.zero, self.inputs, size = coef, zero, x.shape[-1], x[0].size
        places = np.broadcast_to(np.arange(size).reshape(x.shape[1:]), x.shape)
        x, y, places = (
            np.ascontiguousarray(side.transpose(0, 2, 1)).reshape(-1, side.shape[1])
            if level == "input"
            else side.reshape(len(side), -1)
            for side in (x, y, places)
        )
        if coef == "pearson":
            x, y = rescaled(x, axis=1), rescaled(y, axis=1)
        here = ~(np.isnan(x) | np.isnan(y))
        self.sizes, self.places = here.sum(axis=1), places[here]
        edges = np.append(0, np.cumsum(self.sizes))
        self.space = np.empty(0)
        self.prepared: tuple[Any, ...] = edges, x[here], y[here]
        if coef == "pearson" or not len(self.places):
            return
        # all are symmetric; what costs is the number of different values of the second side
        a, b = (_codes(np.where(here, side, np.nan)) for side in (x, y))
        self.turned = coef != "spearman" and bool(a[here].max() < b[here].max())
        a, b = (b, a) if self.turned else (a, b)
        order = np.argsort(np.where(here, a * x.shape[1] + b, x.shape[1] ** 2), axis=1)
        here = np.take_along_axis(here, order, axis=1)
        number = np.nonzero(here)[0]
        a, b, self.places = (np.take_along_axis(side, order, axis=1)[here] for side in (a, b, places))
        new = np.append(True, (a[1:] != a[:-1]) | (b[1:] != b[:-1]) | (number[1:] != number[:-1]))
        cells = np.append(np.flatnonzero(new), len(new))  # items tied on both sides share one
        self.prepared = cells, np.searchsorted(cells[:-1], edges), a[new], b[new]

    def values(self, drawn: Draws, pooled: bool = False) -> Floats:
        """The coefficient of each list in each resample: (lists, b); NaN where not defined.

        pooled: the items are two judges', and draws are coins of one half up or down: an item is in (1) or out (0).
        (2 * lists, b): then of those that are out.
        """
        out = np.full((len(self.sizes) * (2 if pooled else 1), len(drawn)), np.nan)
        if not len(self.places):
            return out
        from . import _kernels

        left, a, right, b = drawn.factors(self.places, self.inputs)
        base = 0.5 if pooled else 0.0
        for start in range(0, len(drawn), LANES):
            block = slice(start, start + LANES)
            part_a, part_b = np.ascontiguousarray(a[:, block]), np.ascontiguousarray(b[:, block])
            part = np.empty((len(out), part_a.shape[1]))
            data = left, right, *self.prepared
            if self.coef == "pearson":
                _kernels.pearson(*data, part_a, part_b, base, part)
            else:
                space, number = self._scratch(part_a), COEFFICIENTS.index(self.coef)
                _kernels.ranked(number, *data, self.turned, part_a, part_b, base, space, part)
            out[:, block] = part
        if self.zero:
            enough = np.resize(self.sizes > (2 if pooled else 1), len(out))
            out[np.isnan(out) & enough[:, None]] = 0.0
        return out

    def _scratch(self, a: Weights) -> Weights:
        """Room for the weights of all cells of a list and of all values of either side."""
        _, bounds, x, y = self.prepared
        rows = np.diff(bounds).max() + y.max() + (x if self.coef == "spearman" else y).max() + 3
        size = a.shape[1] * int(rows)
        if len(self.space) < size or self.space.dtype != a.dtype:
            self.space = np.empty(size, dtype=a.dtype)
        return self.space[:size]

    def without_each(self, value: float, size: int) -> Floats:
        """The coefficient of a single list without each of `size` items; of an absent one `value`, that of all."""
        out = np.full(size, value)
        if self.coef == "pearson":
            out[self.places] = self._pearson_without(size)
        else:
            out[self.places] = (_spearman_without if self.coef == "spearman" else _pairs_without)(self)
        if self.zero:
            out[np.isnan(out)] = 0.0
        return out

    def _pearson_without(self, size: int) -> Floats:
        """Each item's share leaves the centred sums. Weighted anew where that loses digits."""
        sides = self.prepared[1:]
        near = [1e-12 * abs(side.mean()) for side in sides]
        x, y = (side - side.mean() for side in sides)
        share = len(x) / (len(x) - 1)
        square_x, square_y = x @ x - x**2 * share, y @ y - y**2 * share
        out = _quotient(x @ y - x * y * share, square_x, square_y)
        sure = (square_x > max(1e-9 * (x @ x), near[0] ** 2)) & (square_y > max(1e-9 * (y @ y), near[1] ** 2))
        if not sure.all():
            lost = self.places[~sure]
            weights = np.ones((size, len(lost)), dtype=exact(size))
            weights[lost, np.arange(len(lost))] = 0
            out[~sure] = self.values(Draws(rows=weights))[0]
        return out


def _codes(side: Floats) -> Ints:
    """Dense ranks from 0 of the values of each row; NaN comes after all."""
    order = np.argsort(side, axis=1)
    ordered = np.take_along_axis(side, order, axis=1)
    code = np.zeros(side.shape, dtype=np.int64)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=code[:, 1:])
    out = np.empty_like(code)
    np.put_along_axis(out, order, code, axis=1)
    return out


def _counts(lists: Lists) -> tuple[Floats, ...]:
    """Of each cell: its items; concordant less discordant ones; ones tied in x, in y, itself too."""
    from . import _kernels

    cell, _, x, y = lists.prepared
    size = np.diff(cell).astype(float)
    before, until = np.empty(len(size)), np.cumsum(size)
    _kernels.lower_before(size, x, y, before)
    tied_x, tied_y = (np.bincount(code, size)[code] for code in (x, y))
    within = 2 * (until - np.cumsum(np.bincount(x, size))[x]) - size + tied_x  # lower less higher of those tied in x
    agree = 2 * before + within + _above(y, size)
    return (size, agree, *((tied_y, tied_x) if lists.turned else (tied_x, tied_y)))


def _pairs_without(lists: Lists) -> Floats:
    """A coefficient of counts of pairs without each item, whose own pairs are gone."""
    from . import _kernels

    size, agree, *tied = _counts(lists)
    own = np.array([agree, *tied, size]) - [[0.0], [1.0], [1.0], [1.0]]  # an item counts as tied with itself
    agree, same_x, same_y, same_both = (own @ size)[:, None] / 2 - own
    n = np.full(len(size), size.sum() - 1)
    every = n * (n - 1) / 2
    differ = every - same_x, every - same_y, every - same_x - same_y + same_both
    classes = (np.round((size / side).sum()) - (side == 1) for side in tied)  # a value that one item has goes too
    out = np.empty(len(n))
    _kernels.of_counts(COEFFICIENTS.index(lists.coef), n, agree, *differ, np.minimum(*classes), out)
    return np.repeat(out, size.astype(int))


def _spearman_without(lists: Lists) -> Floats:
    """Those above each item come down by one rank, those tied with it by half a rank."""
    size, agree, *tied = _counts(lists)
    codes = lists.prepared[2:]
    rank_x, rank_y = ranks = [-_above(code, size) for code in codes]  # twice the mid-rank, less its mean
    cross = size * rank_x @ rank_y - rank_x * rank_y + agree
    cross -= _above(codes[0], size * rank_y) + _above(codes[1], size * rank_x)
    squares = [
        size * rank @ rank - rank**2 - 2 * _above(code, size * rank) + size.sum() - same
        for code, rank, same in zip(codes, ranks, tied, strict=True)
    ]
    return np.repeat(_quotient(cross, *squares), size.astype(int))


def _above(code: Ints, values: Floats) -> Floats:
    """For each cell: the values of those above it less the values of those below it."""
    sums = np.bincount(code, values)
    return (values.sum() - 2 * (np.cumsum(sums) - sums) - sums)[code]


def _quotient(cross: Floats, square_x: Floats, square_y: Floats) -> Floats:
    """Of centred sums of products; NaN where a side does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.clip(cross / np.sqrt(square_x) / np.sqrt(square_y), -1, 1)
    return np.where((square_x > 0) & (square_y > 0), value, np.nan)
