"""Spearman's coefficient of one flat list of items under many sets of weights at once.

Items are sorted once. Twice the mid-rank of an item is the weight below it plus the weight up to it: a whole number, as
is everything here until the last division, so that results are exact up to the rounding of that.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from . import kernels
from .checks import Floats
from .groups import Groups
from .kernels import Ints
from .running import Running

MODULUS = 2**32


class Spearman:
    """The coefficient of x and y (flat, no NaN) as a function of item weights.

    places: which row of the weights is each item's; None where they are in the items' order.
    """

    def __init__(self, x: Floats, y: Floats, places: Ints | None = None) -> None:
        # the coefficient is symmetric; x is the side with more values
        (self.code_x, self.size_x), (self.code_y, self.size_y), _ = kernels.finer_first(x, y)
        n = len(x)
        self.places = np.arange(n) if places is None else places
        if self.size_x < n:
            self._prepare_tied()
            self._values = self._tied
            return
        order = np.argsort(self.code_x)
        self.in_x = Running("x", self.places[order])
        if self.size_y == n:
            self._prepare_untied(order)
            self._values = self._untied
        else:
            self._prepare_half_tied(order)
            self._values = self._half_tied

    def values(self, weights: Ints, cubes: Floats | None = None) -> Floats:
        """The coefficient for each column of weights, whole numbers >= 0: (b,); NaN where not defined.

        cubes: the sum of the third powers of each column's weights, where the caller has it cheaply.
        """
        return self._values(weights, cubes)

    def _prepare_untied(self, order: Ints) -> None:
        self.in_y = Running("y", self.places[np.argsort(self.code_y)])
        self.up_to_y = np.zeros(len(self.in_x.rows), dtype=np.intp)
        self.up_to_y[self.in_x.at[1:] - 1] = self.in_y.at[1:][self.code_y[order]]

    def _untied(self, weights: Ints, cubes: Floats | None) -> Floats:
        """No ties: the doubled ranks of an item differ by twice the difference of the weights up to it."""
        space = kernels.workspace()
        _, up_to_y = self.in_y.sums(weights)
        up_to_y = space.take("y in order of x", up_to_y, self.up_to_y)
        taken, up_to_x = self.in_x.sums(weights)
        n = up_to_x[self.in_x.at[-1]].astype(float)
        apart = np.subtract(up_to_x[1:], up_to_y, out=up_to_y)
        square = n**3 - _cubes(taken, cubes)
        return kernels.from_moments(square - 6 * _weighted_squares(taken, apart, n), square, square, square > 0)

    def _prepare_half_tied(self, order: Ints) -> None:
        self.groups = Groups("y", self.code_y, self.size_y, self.places)
        self.in_y = Running("y", np.arange(self.size_y))
        group, at = self.code_y[order], self.in_x.at
        ones = np.ones(len(group), dtype=np.int64)
        signed = sparse.csr_array(
            (np.concatenate([ones, -ones]), (np.concatenate([group, group]), np.concatenate([at[1:], at[:-1]]))),
            shape=(self.size_y, 1 + len(self.in_x.rows)),
        )
        signed.sum_duplicates()
        signed.eliminate_zeros()
        self.steps = signed

    def _half_tied(self, weights: Ints, cubes: Floats | None) -> Floats:
        """Ties in y only: weight times doubled rank is the step of the squared weight up to here, summed for each y."""
        space = kernels.workspace()
        count = self.groups.sum(weights)
        doubled = _doubled(self.in_y, count)
        taken, up_to_x = self.in_x.sums(weights)
        n = up_to_x[self.in_x.at[-1]].astype(float)
        # differences of squares are below n**2; modulo 2**32 nothing is lost on the way to them
        wide = np.dtype(np.uint32 if n.max(initial=0) ** 2 < MODULUS else np.int64)
        squares = space.array("squares", up_to_x.shape, wide)
        np.copyto(squares, up_to_x, casting="unsafe")
        np.multiply(squares, squares, out=squares)
        if self.steps.dtype != wide:
            self.steps = self.steps.astype(np.int64).astype(wide)
        cross = space.dot(self.steps @ squares, doubled)
        square_x, square_y = ((n**3 - cube) / 3 for cube in (_cubes(taken, cubes), space.dot(count, count, count)))
        return kernels.from_moments(cross - n**3, square_x, square_y, (square_x > 0) & (square_y > 0))

    def _prepare_tied(self) -> None:
        cell = self.code_x * self.size_y + self.code_y
        _, here, cells = np.unique(cell, return_index=True, return_inverse=True)
        self.cells = Groups("cells", cells, len(here), self.places)
        self.sides = [
            (Groups(name, code[here], size), Running(name, np.arange(size)))
            for name, code, size in (("x", self.code_x, self.size_x), ("y", self.code_y, self.size_y))
        ]

    def _tied(self, weights: Ints, _: Floats | None) -> Floats:
        """Ties on both sides: items that are tied on both at once count as one, with their common weight."""
        space = kernels.workspace()
        weights = self.cells.sum(weights)
        ranks, squares = [], []
        for groups, running in self.sides:
            count = groups.sum(weights)
            ranks.append(groups.spread(_doubled(running, count)))
            n = count.sum(axis=0, dtype=float)
            squares.append((n**3 - space.dot(count, count, count)) / 3)
        cross = space.dot(weights, *ranks)
        return kernels.from_moments(cross - n**3, *squares, (squares[0] > 0) & (squares[1] > 0))


def _doubled(running: Running, count: Ints) -> Ints:
    """Twice the mid-rank of each value: (size, b)."""
    space = kernels.workspace()
    _, sums = running.sums(count)
    doubled = space.take(f"{running.name} doubled", sums, running.at[1:])
    doubled += space.take(f"{running.name} below", sums, running.at[:-1])
    return doubled


def _cubes(weights: Ints, cubes: Floats | None) -> Floats:
    return kernels.workspace().dot(weights, weights, weights) if cubes is None else cubes


def _weighted_squares(weights: Ints, apart: Ints, n: Floats) -> Floats:
    """Sum down the rows of weights * apart**2: (b,), in whole numbers of 32 bits where that is exact.

    The sum is at most n**3 / 3 (that of opposite orders). Below 2**32 it may be taken modulo 2**32.
    """
    space = kernels.workspace()
    if n.max(initial=0) ** 3 / 3 >= MODULUS:
        return space.dot(apart, apart, weights)
    b = weights.shape[1]
    total = np.zeros(b, dtype=np.uint32)
    for rows in kernels.blocks(*weights.shape):
        squares = space.array("squares", apart[rows].shape, np.uint32)
        np.copyto(squares, apart[rows], casting="unsafe")
        np.multiply(squares, squares, out=squares)
        wide = space.array("wide weights", squares.shape, np.uint32)
        np.copyto(wide, weights[rows], casting="unsafe")
        np.multiply(squares, wide, out=squares)
        total += np.add.reduce(squares, axis=0, dtype=np.uint32)
    return total.astype(float)
