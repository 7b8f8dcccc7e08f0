"""Coefficients down every column of `X[system, column]`, for few systems and many columns.

`columns` takes any weights; `Crossed` takes weights of systems only and turns the work into matrix products.
"""

from __future__ import annotations

import numpy as np

from . import kernels
from .checks import Floats
from .flat import Flat
from .kernels import Ints

PAIRS_UP_TO = 64  # systems; beyond, pairs cost more than sorting


def columns(x: Floats, y: Floats, weights: Ints, coef: str) -> Floats:
    """The coefficient down each column: x, y `[system, column]`, whole-number weights of that shape or `[system, 1]`.

    Entries of weight 0 take no part, whatever they hold. Returns (columns,), NaN where not defined.
    """
    weights = np.broadcast_to(weights, x.shape)
    n = weights.sum(axis=0, dtype=float)
    if coef == "pearson":
        return kernels.pearson(x, y, weights.astype(float))
    most = float(n.max(initial=0))
    x, y = np.where(weights > 0, x, 0), np.where(weights > 0, y, 0)
    exact = np.float32 if most ** (3 if coef == "spearman" else 2) < 2**24 else np.float64
    weights = weights.astype(exact)
    if coef == "spearman":
        return _spearman(x, y, weights)
    agree, differ_x, differ_y, differ_both = np.zeros((4, x.shape[1]))
    for t in range(1, len(x)):
        sign_x, sign_y = _sign(x[:t], x[t]).astype(exact), _sign(y[:t], y[t]).astype(exact)
        pair = weights[:t] * weights[t]
        both = pair * sign_x * sign_y
        agree += both.sum(axis=0)
        differ_x += (pair * np.abs(sign_x)).sum(axis=0)
        differ_y += (pair * np.abs(sign_y)).sum(axis=0)
        if coef == "acc-eq":
            differ_both += np.abs(both).sum(axis=0)
    classes = np.minimum(_classes(x, weights), _classes(y, weights)) if coef == "kendall-c" else None
    return kernels.from_pairs(coef, n, agree, differ_x, differ_y, differ_both, classes)


def _sign(a: Floats, b: Floats) -> np.ndarray:
    """Sign of a - b without the overflow of a difference, as int8."""
    return (a > b).view(np.int8) - (a < b).view(np.int8)


def _spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    rank_x, rank_y = np.zeros((2, *x.shape), dtype=weights.dtype)  # twice the centred mid-ranks
    for t in range(len(x)):
        rank_x += weights[t] * _sign(x, x[t])
        rank_y += weights[t] * _sign(y, y[t])
    cross = (weights * rank_x * rank_y).sum(axis=0, dtype=float)
    square_x = (weights * rank_x**2).sum(axis=0, dtype=float)
    square_y = (weights * rank_y**2).sum(axis=0, dtype=float)
    return kernels.from_moments(cross, square_x, square_y, (square_x > 0) & (square_y > 0))


def _classes(values: Floats, weights: Floats) -> Floats:
    """Distinct values with weight in each column."""
    here = weights > 0
    count = here[0].astype(float)
    for t in range(1, len(values)):
        count += here[t] & ~((values[:t] == values[t]) & here[:t]).any(axis=0)
    return count


class Crossed:
    """One coefficient down every input of `X[system, input]` as a function of system weights; NaN is missing."""

    def __init__(self, x: Floats, y: Floats, coef: str) -> None:
        self.coef = coef
        here = ~(np.isnan(x) | np.isnan(y))
        self.x, self.y, self.here = np.where(here, x, 0.0), np.where(here, y, 0.0), here
        self.n_systems, self.n_inputs = x.shape
        self.flats: list[Flat] | None = None
        if self.n_systems > PAIRS_UP_TO:
            self.flats = [Flat(x[h, i], y[h, i], coef) for i, h in enumerate(here.T)]
        elif coef == "pearson":
            self._prepare_pearson()
        elif coef == "spearman":
            self.signs = [self._all_signs(side) for side in (self.x, self.y)]
        else:
            self._prepare_pairs()

    def values(self, weights: Ints) -> Floats:
        """The coefficient for each set of system weights and input: (b, systems) to (b, inputs)."""
        if self.flats is not None:
            down = np.ascontiguousarray(weights.T)
            each = [flat.values(down[h]) for flat, h in zip(self.flats, self.here.T, strict=True)]
            return np.stack(each, axis=1)
        if self.coef == "pearson":
            return self._pearson(weights.astype(float))
        if self.coef == "spearman":
            return self._spearman(weights.astype(np.float32))
        return self._pairs(weights)

    def _all_signs(self, side: Floats) -> Floats:
        """signs[t, s, input]: +1 where system s stands above t, both present; in float32, exact for small counts."""
        signs = _sign(side[None, :, :], side[:, None, :])
        return (signs * (self.here[None] & self.here[:, None])).astype(np.float32)

    def _spearman(self, weights: Floats) -> Floats:
        ranks = [
            (weights @ signs.reshape(self.n_systems, -1)).reshape(-1, self.n_systems, self.n_inputs)
            for signs in self.signs
        ]
        cross = np.einsum("bs,bsi,bsi->bi", weights, ranks[0], ranks[1]).astype(float)
        square_x = np.einsum("bs,bsi,bsi->bi", weights, ranks[0], ranks[0]).astype(float)
        square_y = np.einsum("bs,bsi,bsi->bi", weights, ranks[1], ranks[1]).astype(float)
        return kernels.from_moments(cross, square_x, square_y, (square_x > 0) & (square_y > 0))

    def _prepare_pairs(self) -> None:
        self.first, self.second = np.triu_indices(self.n_systems, 1)
        present = self.here[self.first] & self.here[self.second]
        sign_x = _sign(self.x[self.first], self.x[self.second]) * present
        sign_y = _sign(self.y[self.first], self.y[self.second]) * present
        tables = [sign_x * sign_y, np.abs(sign_x), np.abs(sign_y)]
        if self.coef == "acc-eq":
            tables.append(np.abs(tables[0]))
        self.tables = [table.astype(np.float32) for table in tables]

    def _pairs(self, weights: Ints) -> Floats:
        narrow = weights.astype(np.float32)
        pair = narrow[:, self.first] * narrow[:, self.second]
        counts = [(pair @ table).astype(float) for table in self.tables]
        n = (narrow @ self.here.astype(np.float32)).astype(float)
        classes = None
        if self.coef == "kendall-c":
            classes = np.minimum(self._distinct(self.x, weights), self._distinct(self.y, weights))
        return kernels.from_pairs(self.coef, n, *counts[:3], counts[3] if len(counts) > 3 else None, classes)

    def _distinct(self, side: Floats, weights: Ints) -> Floats:
        wide = (np.broadcast_to(weights.T[:, :, None], (*weights.T.shape, self.n_inputs)) > 0) & self.here[:, None]
        flat = np.broadcast_to(side[:, None], wide.shape).reshape(self.n_systems, -1)
        return _classes(flat, wide.reshape(self.n_systems, -1)).reshape(len(weights), -1)

    def _prepare_pearson(self) -> None:
        sides, self.offsets = [], []
        for side in (self.x, self.y):
            side = kernels.rescaled(np.where(self.here, side, np.nan), axis=0)
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = np.where(self.here, side, 0.0).sum(axis=0) / self.here.sum(axis=0)
            sides.append(np.where(self.here, side - mean, 0.0))
            self.offsets.append(mean)
        x, y = sides
        self.moments = np.stack([self.here.astype(float), x, y, x * x, y * y, x * y], axis=1)

    def _pearson(self, weights: Floats) -> Floats:
        sums = (weights @ self.moments.reshape(self.n_systems, -1)).reshape(len(weights), 6, self.n_inputs)
        n, x, y, xx, yy, xy = sums.transpose(1, 0, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            square_x, square_y, cross = xx - x * x / n, yy - y * y / n, xy - x * y / n
            means = x / n + self.offsets[0], y / n + self.offsets[1]
        lost = kernels.digits_lost(square_x, xx, means[0]) | kernels.digits_lost(square_y, yy, means[1])
        value = kernels.from_moments(cross, square_x, square_y, ~lost)
        if lost.any():
            b, i = np.nonzero(lost)
            value[lost] = kernels.pearson(self.x[:, i], self.y[:, i], weights[b].T * self.here[:, i])
        return value
