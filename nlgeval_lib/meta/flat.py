"""Coefficients of one flat list of items under many sets of weights at once, in O(n log k) each.

Items are sorted once; a resample only changes how much each weighs. All arrays carry resamples along the last axis, so
that every step is a whole-row operation. Counts are whole numbers and exact.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from . import kernels
from .checks import Floats
from .kernels import Ints


class Groups:
    """Sums of rows that share a code; a plain reordering where each row is alone."""

    def __init__(self, name: str, code: Ints, size: int) -> None:
        self.name, self.code, self.size = name, code, size
        self.alone = size == len(code)
        self.order = np.argsort(code, kind="stable") if self.alone else None
        self.sorted = self.alone and bool((self.order == np.arange(size)).all())
        self._sum: sparse.csr_array | None = None

    def sum(self, weights: Ints) -> Ints:
        """(rows, b) to (size, b)."""
        if self.sorted:
            return weights
        if self.alone:
            return kernels.workspace().take(self.name + " sum", weights, self.order)
        if self._sum is None or self._sum.dtype != weights.dtype:
            ones = np.ones(len(self.code), dtype=weights.dtype)
            places = (self.code, np.arange(len(self.code)))
            self._sum = sparse.csr_array((ones, places), shape=(self.size, len(self.code)))
        return self._sum @ weights

    def spread(self, values: Ints) -> Ints:
        """(size, b) back to (rows, b)."""
        return values if self.sorted else kernels.workspace().take(self.name + " spread", values, self.code)


class Flat:
    """One coefficient of x and y (flat, no NaN) as a function of item weights.

    Source: Knight 1966 for Kendall in n log n; here the merge runs over the values of the side with fewer of them.
    """

    def __init__(self, x: Floats, y: Floats, coef: str) -> None:
        self.coef, self.x, self.y = coef, x, y
        self.power = {"pearson": 0, "spearman": 3}.get(coef, 2)
        code_x, self.size_x = kernels.codes(x)
        code_y, self.size_y = kernels.codes(y)
        self.turned = coef != "pearson" and self.size_x < self.size_y
        if self.turned:  # all coefficients are symmetric; the tree is over the side with fewer values
            code_x, code_y, self.size_x, self.size_y = code_y, code_x, self.size_y, self.size_x
        if coef == "pearson":
            cells = np.arange(len(x))
            here = cells
        else:
            _, here, cells = np.unique(code_x * self.size_y + code_y, return_index=True, return_inverse=True)
        self.cells = Groups("cells", cells, len(here))
        self.in_x = Groups("x", code_x[here], self.size_x)
        self.in_y = Groups("y", code_y[here], self.size_y)
        if coef == "pearson":
            self._prepare_pearson()
        elif coef != "spearman":
            self.levels = list(_tree(self.in_x.code, self.size_x, self.in_y.code, self.size_y))

    def values(self, weights: Ints, places: Ints | None = None, powers: Floats | None = None) -> Floats:
        """The coefficient for each column of weights, whole numbers >= 0: (b,); NaN where not defined.

        weights: (n, b); or (any, b), and `places` says which row is each item's. powers: the sum of `self.power`-th
        powers of each column, where the caller has it cheaply.
        """
        ordered = self.coef == "spearman" and self.cells.sorted and self.in_y.alone and self.in_x.sorted
        if places is not None and not (ordered and powers is not None):
            weights, places = kernels.workspace().take("items", weights, places), None
        if self.coef == "pearson":
            return self._pearson(weights)
        if ordered:
            return self._untied(weights, places, powers)
        weights = self.cells.sum(weights)
        if not self.cells.alone:
            powers = None
        return self._spearman(weights, powers) if self.coef == "spearman" else self._kendall(weights, powers)

    def _untied(self, weights: Ints, places: Ints | None, powers: Floats | None) -> Floats:
        """Spearman where each item is alone on both sides and x is in order: no sums over ties, one pass less."""
        space = kernels.workspace()
        powers = space.dot(weights, weights, weights) if powers is None else powers
        by_y = self.in_y.order if places is None else places[self.in_y.order]
        below = space.running("below", weights, by_y)
        doubled = np.add(below[1:], below[:-1], out=space.array("y doubled", below[1:].shape, below.dtype))
        below = space.running("below", weights, places)
        n = below[-1].astype(float)
        square = (n**3 - powers) / 3
        return kernels.from_moments(self._by_parts(below, doubled, n) - n**3, square, square, square > 0)

    def _spearman(self, weights: Ints, powers: Floats | None) -> Floats:
        """Twice the mid-rank is the weight below plus the weight up to here: no halves, and the mean is n."""
        space = kernels.workspace()
        cubes, doubled = [], []
        for groups in (self.in_y, self.in_x):
            count = groups.sum(weights)
            below = space.running("below", count)
            if groups.alone:
                powers = space.dot(weights, weights, weights) if powers is None else powers
            cubes.append(powers if groups.alone else space.dot(count, count, count))
            if groups is self.in_y or not groups.sorted:
                out = space.array(f"{groups.name} doubled", count.shape, count.dtype)
                doubled.append(np.add(below[1:], below[:-1], out=out))
        n = below[-1].astype(float)
        if self.in_x.sorted:
            cross = self._by_parts(below, doubled[0], n)
        else:
            cross = space.dot(weights, self.in_y.spread(doubled[0]), self.in_x.spread(doubled[1]))
        square_y, square_x = ((n**3 - cube) / 3 for cube in cubes)
        return kernels.from_moments(cross - n**3, square_x, square_y, (square_x > 0) & (square_y > 0))

    def _by_parts(self, below: Ints, doubled: Ints, n: Floats) -> Floats:
        """The cross product of doubled mid-ranks where each row has its own x.

        Weight times doubled rank is then the step of the squared running weight, and summing by parts moves the step to
        the other side, where numbers are small and whole.
        """
        space, code, b = kernels.workspace(), self.in_y.code, doubled.shape[1]
        size = min(len(code), kernels.block_rows(b))
        ranks = space.array("ranks", (size + 1, b), doubled.dtype)
        steps, inner = space.array("wide 0", (2, size, b), np.float64)
        cross = n**2 * doubled[code[-1]]
        for start in range(0, len(code) - 1, size):
            rows = slice(start, min(start + size, len(code) - 1))
            m = rows.stop - start
            doubled.take(code[start : rows.stop + 1], axis=0, out=ranks[: m + 1], mode="clip")
            np.subtract(ranks[:m], ranks[1 : m + 1], out=ranks[:m])
            np.copyto(steps[:m], ranks[:m])
            np.copyto(inner[:m], below[1:][rows])
            np.multiply(steps[:m], inner[:m], out=steps[:m])
            cross += np.einsum("ij,ij->j", steps[:m], inner[:m])
        return cross

    def _kendall(self, weights: Ints, powers: Floats | None) -> Floats:
        space = kernels.workspace()
        counts = [groups.sum(weights) for groups in (self.in_x, self.in_y)]
        alone = space.dot(weights, weights) if powers is None else powers
        same = [
            alone if groups.alone else space.dot(count, count)
            for groups, count in zip((self.in_x, self.in_y), counts, strict=True)
        ]
        up_to_y = space.running("up to y", counts[1])
        n = up_to_y[-1].astype(float)
        differ = [(n**2 - squares) / 2 for squares in same]
        differ_both = (n**2 - same[0] - same[1] + alone) / 2
        classes = None
        if self.coef == "kendall-c":
            classes = np.minimum(*((count > 0).sum(axis=0) for count in counts))
        agree = np.zeros(weights.shape[1])
        for level in self.levels:
            lower = space.running("lower", weights, level.lower)
            gain = space.take("gain", lower, level.start)
            gain += space.take("stop", lower, level.stop)
            agree += space.dot(space.take("taken", weights, level.upper), gain)
            upper = space.take("node high", up_to_y, level.node_high)
            upper -= space.take("node middle", up_to_y, level.node_middle)
            edges = space.take("node start", lower, level.node_start)
            edges += space.take("node stop", lower, level.node_stop)
            agree -= space.dot(upper, edges)
        differ_x, differ_y = reversed(differ) if self.turned else differ  # in scipy's order, to the last bit
        return kernels.from_pairs(self.coef, n, agree, differ_x, differ_y, differ_both, classes)

    def _prepare_pearson(self) -> None:
        x, y = kernels.rescaled(self.x), kernels.rescaled(self.y)
        self.x, self.y = x - x.mean(), y - y.mean()
        self.offsets = (x.mean(), y.mean())
        x, y = self.x, self.y
        self.moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])

    def _pearson(self, weights: Ints) -> Floats:
        n, x, y, xx, yy, xy = kernels.workspace().project(self.moments, weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            square_x, square_y, cross = xx - x * x / n, yy - y * y / n, xy - x * y / n
            means = x / n + self.offsets[0], y / n + self.offsets[1]
        # where little of the raw sum of squares is left, the quick formula has lost digits: take the accurate one
        lost = kernels.digits_lost(square_x, xx, means[0]) | kernels.digits_lost(square_y, yy, means[1])
        value = kernels.from_moments(cross, square_x, square_y, ~lost)
        if lost.any():
            x, y = (side[:, None] + offset for side, offset in zip((self.x, self.y), self.offsets, strict=True))
            value[lost] = kernels.pearson(x, y, weights[:, lost].astype(float))
        return value


class _Level:
    """One level of the merge: which cells are in the lower and upper half of their node, and where they meet."""

    __slots__ = ("lower", "node_high", "node_middle", "node_start", "node_stop", "start", "stop", "upper")


def _tree(code_x: Ints, size_x: int, code_y: Ints, size_y: int):
    """Levels of a binary split over the values of y. Within a node every upper cell meets every lower cell once.

    For an upper cell, lower cells with smaller x are concordant and those with larger x discordant; with P the
    running weight of lower cells in order of (node, x), the difference is P[start] + P[stop] - P[node] - P[node end].
    """
    bits = max(1, int(size_y - 1).bit_length())
    for shift in reversed(range(bits)):
        node, half = code_y >> (shift + 1), (code_y >> shift) & 1
        key = node.astype(np.int64) * size_x + code_x
        lower = np.flatnonzero(half == 0)
        lower = lower[np.argsort(key[lower], kind="stable")]
        upper = np.flatnonzero(half == 1)
        if not len(upper):
            continue
        level = _Level()
        level.lower, level.upper = lower, upper
        level.start = np.searchsorted(key[lower], key[upper], side="left")
        level.stop = np.searchsorted(key[lower], key[upper], side="right")
        nodes = np.unique(node[upper])
        level.node_start = np.searchsorted(key[lower], nodes * size_x, side="left")
        level.node_stop = np.searchsorted(key[lower], (nodes + 1) * size_x, side="left")
        level.node_middle = ((nodes << 1) + 1) << shift
        level.node_high = np.minimum((nodes + 1) << (shift + 1), size_y)
        yield level
