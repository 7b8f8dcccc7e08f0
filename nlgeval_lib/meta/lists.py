"""A coefficient of each of many lists of items as a function of the items' weights: prepared once, for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .draws import Draws, Weights
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
