"""A coefficient of many lists of items as a function of the items' weights.

A list is what one coefficient is computed over: all items of a judge, or the outputs
for one input. The items of every list are sorted once, and all lists evaluated for many
resamples at once, by the compiled loops of `_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import rescaled
from .draws import Draws, Ints
from .result import Floats

COEFFICIENTS = (
    "pearson",
    "spearman",
    "kendall-a",
    "kendall-b",
    "kendall-c",
    "acc-eq",
)


class Lists:
    """A coefficient of each of many lists of items: one of all items a judge, or one of
    each input's systems.

    x, y: `[judge, item]` or `[judge, system, input]`; an entry with NaN on either side
        takes no part.
    level: "input" for one list an input; else one a judge.

    What it keeps:
    number: of lists. inputs: of a judge's data (of flat data, items).
    places: of all items that take part, list by list and sorted within, the number in
        the judge's row-major order.
    prepared: what the compiled loops read. For Pearson the first item of each list, x
        and y; else the first item of each cell, the first cell of each list, and the
        ranks of the cells in x and in y.
    """

    def __init__(self, x: Floats, y: Floats, coef: str, level: str) -> None:
        self.coef = coef
        self.inputs = x.shape[-1]
        # Where each entry stands among its judge's, arranged as the scores are.
        positions = np.arange(x[0].size).reshape(x.shape[1:])
        places = _as_lists(np.broadcast_to(positions, x.shape), level)
        x = _as_lists(x, level)
        y = _as_lists(y, level)
        if coef == "pearson":
            x = rescaled(x, axis=1)
            y = rescaled(y, axis=1)
        present = ~(np.isnan(x) | np.isnan(y))
        self.number = len(present)
        self.places = places[present]
        edges = np.append(0, np.cumsum(present.sum(axis=1)))
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
        into one cell. All are `[list, item]`.

        places: the number of each entry in its judge's order.
        edges: the first item of each list, and the number of all items.
        """
        a = _codes(np.where(present, x, np.nan))
        b = _codes(np.where(present, y, np.nan))
        # In order of the first side, then of the second; what takes no part comes last.
        width = x.shape[1]
        rank = np.where(present, a * width + b, width**2)
        order = np.argsort(rank, axis=1)
        present = np.take_along_axis(present, order, axis=1)
        of_list = np.nonzero(present)[0]
        a = np.take_along_axis(a, order, axis=1)[present]
        b = np.take_along_axis(b, order, axis=1)[present]
        self.places = np.take_along_axis(places, order, axis=1)[present]
        # A cell opens where either rank, or the list, differs from the item before.
        differs = np.zeros(len(a) - 1, dtype=bool)
        for column in (a, b, of_list):
            differs |= column[1:] != column[:-1]
        opens = np.append(True, differs)
        cells = np.append(np.flatnonzero(opens), len(opens))
        bounds = np.searchsorted(cells[:-1], edges)
        self.prepared = cells, bounds, a[opens], b[opens]

    def values(self, drawn: Draws) -> Floats:
        """The coefficient of each list in each resample, (lists, b); NaN where not
        defined.
        """
        from . import _kernels

        out = np.full((self.number, len(drawn)), np.nan)
        if not len(self.places):
            return out
        # The weight of an item is a product: a by system, b by input, or a by row.
        rows_a, a, rows_b, b = drawn.factors(self.places, self.inputs)
        items = rows_a, rows_b, *self.prepared
        if self.coef == "pearson":
            _kernels.pearson(*items, a, b, out)
        else:
            number = COEFFICIENTS.index(self.coef)
            _kernels.ranked(number, *items, a, b, out)
        return out


def _as_lists(values: Any, level: str) -> Any:
    """One row a list, of all items of a judge or of an input's systems: `[list, item]`
    from `[judge, item]` or `[judge, system, input]`.
    """
    if level != "input":
        return values.reshape(len(values), -1)
    by_input = np.ascontiguousarray(values.transpose(0, 2, 1))
    return by_input.reshape(-1, values.shape[1])


def _codes(values: Floats) -> Ints:
    """Dense ranks from 0 of the values of each row; NaN comes after all."""
    # In ascending order the rank rises by 1 with each new value; then back in place.
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    rises = ordered[:, 1:] != ordered[:, :-1]
    code = np.zeros(values.shape, dtype=np.int64)
    np.cumsum(rises, axis=1, out=code[:, 1:])
    out = np.empty_like(code)
    np.put_along_axis(out, order, code, axis=1)
    return out
