"""A coefficient of one list without each unit in turn, in closed form: no item is looked at again for each unit."""

from __future__ import annotations

import numpy as np

from . import draws
from .lists import COEFFICIENTS, Ints, Lists
from .result import Floats

ITSELF = np.array([[0.0], [1.0], [1.0], [1.0]])  # what `_counts` holds of an item alone


def of_list(x: Floats, y: Floats, lists: Lists, unit: str, value: float) -> Floats:
    """The coefficient of one list without each system, input or cell: (units,).

    x, y: flat or `[system, input]`; lists: the same as one list; value: of all. Pearson and Spearman: cells only.
    Source: a pair of items counts in the list unless one of the two is gone; pairs inside a unit are gone once.
    """
    here = ~(np.isnan(x) | np.isnan(y)).ravel()
    place = np.flatnonzero(here)
    whole = _counts(lists) if lists.coef != "pearson" else np.empty(0)
    if unit != "cells":
        group = place // x.shape[1] if unit == "systems" else place % x.shape[1]
        turn = np.asarray if unit == "systems" else np.transpose
        a, b, places = (np.ascontiguousarray(turn(side)) for side in (x, y, np.arange(x.size).reshape(x.shape)))
        inside = _counts(Lists(a, b, lists.coef, places.astype(int), x.shape[1]))
        return _pairs(lists.coef, whole, inside, group, x.shape[0 if unit == "systems" else 1])
    out = np.full(x.size, value)
    if lists.coef == "pearson":
        out[here] = _pearson(x.ravel()[here], y.ravel()[here], lists, place, x.size)
    elif lists.coef == "spearman":
        out[here] = _spearman(x.ravel()[here], y.ravel()[here], whole)
    else:
        out[here] = _pairs(lists.coef, whole, np.repeat(ITSELF, len(place), axis=1), np.arange(len(place)), len(place))
    return out


def _counts(lists: Lists) -> Floats:
    """`_kernels.of_each` for each item, among its list, in the order of the places: (4, items)."""
    from . import _kernels

    cell, bounds, x, y = lists.prepared
    out = np.zeros((4, len(x)))
    _kernels.of_each(cell, bounds, x, y, out)
    if lists.turned:
        out = out[[0, 2, 1, 3]]
    order = np.argsort(lists.places)
    return np.repeat(out, np.diff(cell), axis=1)[:, order]


def _pairs(coef: str, whole: Floats, inside: Floats, group: Ints, groups: int) -> Floats:
    """A coefficient of counts of pairs without each group. whole, inside: `_counts` among all, among the own group."""
    from . import _kernels

    pairs = (whole - ITSELF).sum(axis=1) / 2

    def each(values: Floats) -> Floats:
        return np.bincount(group, values, groups).astype(float)

    agree, same_x, same_y, same_both = (
        every - each(own) + each(within) / 2
        for every, own, within in zip(pairs, whole - ITSELF, inside - ITSELF, strict=True)
    )
    n = len(group) - each(np.ones(len(group)))
    classes = [  # a value is gone where all that have it are in the group
        np.round((1 / whole[side]).sum() - each((inside[side] == whole[side]) / whole[side])) for side in (1, 2)
    ]
    every = n * (n - 1) / 2
    out = np.empty(len(n))
    differ = every - same_x, every - same_y, every - same_x - same_y + same_both
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
        weights = np.ones((size, len(lost)), dtype=draws.exact(size))
        weights[lost, np.arange(len(lost))] = 0
        out[~sure] = lists.values(draws.Draws(rows=weights))[0]
    return out


def _quotient(cross: Floats, square_x: Floats, square_y: Floats) -> Floats:
    """Of centred sums of products; NaN where a side does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.clip(cross / np.sqrt(square_x) / np.sqrt(square_y), -1, 1)
    return np.where((square_x > 0) & (square_y > 0), value, np.nan)
