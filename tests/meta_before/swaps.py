"""Two judges' correlations with the ratings after exchanging some of their scores, for many exchanges at once.

An exchange is again a matter of weights: both judges' scores are pooled, and each judge holds the half that the mask
gives it.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from . import kernels
from .checks import Floats
from .columns import Crossed, columns
from .draws import Draws
from .flat import Flat
from .kernels import Ints
from .levels import levelled, mean_of_defined, rounding
from .running import Running


def plan(first: Floats, second: Floats, y: Floats, coef: str, level: str) -> Dataset | Inputs | Systems:
    """The prepared pair. All three flat or `[system, input]`, NaN in all three where an item takes no part."""
    return {"dataset": Dataset, "input": Inputs, "system": Systems}[level](first, second, y, coef)


class Dataset:
    """All items in one list."""

    def __init__(self, first: Floats, second: Floats, y: Floats, coef: str) -> None:
        self.shape = y.shape
        self.places = np.flatnonzero(~np.isnan(y).ravel())
        sides = [side.ravel()[self.places] for side in (first, second, y)]
        self.spearman = PooledSpearman(*sides) if coef == "spearman" else None
        self.pooled = None
        if coef != "spearman":
            self.pooled = Flat(np.concatenate(sides[:2]), np.concatenate([sides[2], sides[2]]), coef)

    def values(self, masks: Draws) -> tuple[Floats, Floats]:
        """Both coefficients after each exchange: (b,) and (b,)."""
        mask = _item_mask(masks, self.shape, self.places)
        if self.spearman is not None:
            return self.spearman.values(mask)
        n, b = mask.shape
        weights = np.empty((2 * n, b), dtype=kernels.counting_type(2 * n))
        weights[:n], weights[n:] = 1 - mask, mask
        first = self.pooled.values(weights)
        weights[:n], weights[n:] = mask, 1 - mask
        return first, self.pooled.values(weights)


class PooledSpearman:
    """Spearman for both judges from one pass: the ratings' ranks never change, and what one gains the other loses.

    Pooled scores are sorted once; below is the running number of those that the first judge holds. Twice its mid-rank
    is below + up to; the other judge's is that of the whole pool minus this, so that its cross product with the ratings
    differs by something linear in the mask.
    """

    def __init__(self, first: Floats, second: Floats, y: Floats) -> None:
        self.n = n = len(y)
        code, size = kernels.codes(np.concatenate([first, second]))
        order = np.argsort(code, kind="stable")
        code, self.item, of_second = code[order], order % n, order >= n
        self.own = (~of_second).astype(np.int8)[:, None]
        ranks = _doubled_ranks(y)
        self.square_y = (ranks**2).sum()
        self.rank = ranks[self.item]
        held = np.bincount(code, minlength=size)  # pooled entries of each value
        up_to = np.concatenate([[0], held.cumsum()])
        pool = up_to[1:] + up_to[:-1]
        share = np.bincount(code, weights=self.rank, minlength=size)
        tail = share[::-1].cumsum()[::-1]
        after = tail + np.concatenate([tail[1:], [0.0]])
        linear = -self.rank * pool[code] - after[code]
        if_own, if_not = (np.bincount(self.item, linear * (of_second == side), n) for side in (False, True))
        self.constant = (self.rank * pool[code]).sum() + if_own.sum()
        self.linear = if_not - if_own
        self.alone = size == 2 * n
        entries = np.arange(2 * n)
        if self.alone:
            self.running = Running("pool", entries)
            self.steps = np.zeros(1 + len(self.running.rows))
            self.steps[self.running.at[1:]] = self.rank - np.append(self.rank[1:], 0.0)
            self.item, self.own = self.item[self.running.rows], self.own[self.running.rows]
        else:
            values = np.concatenate([np.ones(2 * n), self.rank]).astype(np.int32 if n < 2**15 else np.int64)
            places = np.concatenate([code, code + size]), np.concatenate([entries, entries])
            self.sums = sparse.csr_array((values, places), shape=(2 * size, 2 * n))
            self.held = held.astype(float)[:, None]

    def values(self, mask: Ints) -> tuple[Floats, Floats]:
        """mask: (n, b), 1 where the item's scores are exchanged. Both coefficients: (b,) and (b,)."""
        space = kernels.workspace()
        mine = space.take("swap mask", mask, self.item)
        np.bitwise_xor(mine, self.own, out=mine)  # the first judge holds its own unless exchanged
        kind = kernels.counting_type(2 * self.n) if self.alone else self.sums.dtype
        weights = space.array("swap weights", mine.shape, kind)
        np.copyto(weights, mine)
        if self.alone:
            sums = self.running.below(weights)
            cross = np.zeros(mask.shape[1])
            for rows in kernels.blocks(*sums.shape):
                up_to = space.wide("wide 0", sums[rows])
                cross += self.steps[rows] @ np.multiply(up_to, up_to, out=up_to)
            cubes = float(self.n), float(self.n)
        else:
            count, ranks = (part.astype(float) for part in np.split(self.sums @ weights, 2))
            below = np.cumsum(count, axis=0)
            cross = np.einsum("kb,kb->b", 2 * below - count, ranks)
            cubes = _power_sum(count), _power_sum(self.held - count)
        other = self.constant + space.project(self.linear, mask) + cross
        out = []
        for product, cube in ((cross, cubes[0]), (other, cubes[1])):
            square = np.broadcast_to((float(self.n) ** 3 - cube) / 3, product.shape)
            out.append(kernels.from_moments(product, square, self.square_y, (square > 0) & (self.square_y > 0)))
        return out[0], out[1]


def _power_sum(count: Floats) -> Floats:
    return np.einsum("kb,kb,kb->b", count, count, count)


class Inputs:
    """One coefficient an input, averaged over the inputs where it is defined."""

    def __init__(self, first: Floats, second: Floats, y: Floats, coef: str) -> None:
        self.first, self.second, self.y, self.coef = first, second, y, coef
        self.here = (~np.isnan(y)).astype(np.int16)
        self.crossed: Crossed | None = None
        self.fixed: tuple[Floats, Floats] | None = None

    def values(self, masks: Draws) -> tuple[Floats, Floats]:
        """Both coefficients after each exchange: (b,) and (b,)."""
        each = self._by_rows(masks.rows) if masks.rows is not None else self._by_systems(masks.systems)
        if masks.inputs is not None:
            flip = masks.inputs.astype(bool)
            each = np.where(flip, each[1], each[0]), np.where(flip, each[0], each[1])
        once = np.ones((1, 1))
        return mean_of_defined(each[0], once), mean_of_defined(each[1], once)

    def _by_systems(self, mask: Ints | None) -> tuple[Floats, Floats]:
        if mask is None:
            if self.fixed is None:
                sides = (columns(side, self.y, self.here, self.coef)[None] for side in (self.first, self.second))
                self.fixed = tuple(sides)
            return self.fixed
        if self.crossed is None:
            pooled = np.concatenate([self.first, self.second]), np.concatenate([self.y, self.y])
            self.crossed = Crossed(*pooled, self.coef)
        kept = 1 - mask
        return (
            self.crossed.values(np.concatenate([kept, mask], axis=1)),
            self.crossed.values(np.concatenate([mask, kept], axis=1)),
        )

    def _by_rows(self, mask: Ints) -> tuple[Floats, Floats]:
        n_systems, n_inputs = self.y.shape
        b = mask.shape[1]
        wide = [np.repeat(side, b, axis=1) for side in (self.first, self.second, self.y)]
        here = np.repeat(self.here, b, axis=1)
        swap = mask.reshape(n_systems, n_inputs * b).astype(bool)
        sides = np.where(swap, wide[1], wide[0]), np.where(swap, wide[0], wide[1])
        return tuple(columns(side, wide[2], here, self.coef).reshape(n_inputs, b).T for side in sides)


class Systems:
    """One mean an output system, then one coefficient over the systems."""

    def __init__(self, first: Floats, second: Floats, y: Floats, coef: str) -> None:
        self.coef = coef
        here = ~np.isnan(y)
        self.n = here.sum(axis=1, keepdims=True)
        self.first, self.second, ratings = (np.where(here, side, 0.0) for side in (first, second, y))
        self.rounding = np.maximum(rounding(self.first), rounding(self.second))
        with np.errstate(invalid="ignore"):
            self.ratings = ratings.sum(axis=1, keepdims=True) / self.n
        self.ranks = levelled(self.ratings, rounding(ratings))

    def values(self, masks: Draws) -> tuple[Floats, Floats]:
        """Both coefficients after each exchange: (b,) and (b,)."""
        total = (self.first + self.second).sum(axis=1, keepdims=True)
        gain = self.second - self.first
        base = self.first.sum(axis=1, keepdims=True)
        if masks.rows is not None:
            sums = base + np.einsum("si,sib->sb", gain, masks.rows.reshape(*gain.shape, -1).astype(float))
        elif masks.inputs is not None:
            sums = base + gain @ masks.inputs.T.astype(float)
        else:
            sums = np.broadcast_to(base, (len(base), len(masks)))
        if masks.systems is not None:
            sums = np.where(masks.systems.T == 1, total - sums, sums)
        return self._coefficient(sums), self._coefficient(total - sums)

    def _coefficient(self, sums: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            means = sums / self.n
        y = self.ratings
        if self.coef != "pearson":
            means, y = levelled(means, self.rounding), self.ranks
        weights = np.broadcast_to((self.n > 0).astype(np.int16), means.shape)
        return columns(means, np.broadcast_to(y, means.shape), weights, self.coef)


def _item_mask(masks: Draws, shape: tuple[int, ...], places: Ints) -> Ints:
    """The mask of each item: (len(places), b) of 0 and 1 in int8."""
    if masks.rows is not None:
        return masks.rows if len(places) == len(masks.rows) else masks.rows.take(places, axis=0)
    sides = []
    for mask, number in ((masks.systems, places // shape[1]), (masks.inputs, places % shape[1])):
        if mask is not None:
            sides.append(np.ascontiguousarray(mask.T).take(number, axis=0))
    return sides[0] if len(sides) == 1 else np.bitwise_xor(*sides, out=sides[0])


def _doubled_ranks(y: Floats) -> Floats:
    code, size = kernels.codes(y)
    held = np.bincount(code, minlength=size)
    up_to = held.cumsum()
    return (2 * up_to - held - len(y))[code].astype(float)
