"""Coefficients of one flat list of items under many sets of weights at once, in O(n log k) each.

Items are sorted once; a resample only changes how much each weighs. All arrays carry resamples along the last axis, so
that every step is a whole-row operation. Counts are whole numbers and exact.
"""

from __future__ import annotations

import numpy as np

from . import kernels
from .checks import Floats
from .groups import Groups
from .kernels import Ints
from .running import Running
from .spearman import Spearman


class Flat:
    """One coefficient of x and y (flat, no NaN) as a function of item weights.

    Source: Knight 1966 for Kendall in n log n; here the merge runs over the values of the side with fewer of them.
    """

    def __init__(self, x: Floats, y: Floats, coef: str, places: Ints | None = None) -> None:
        self.coef, self.x, self.y, self.places = coef, x, y, places
        self.power = {"pearson": 0, "spearman": 3}.get(coef, 2)
        if coef == "spearman":
            self.spearman = Spearman(x, y, places)
        elif coef == "pearson":
            self._prepare_pearson()
        else:
            self._prepare_kendall()

    def values(self, weights: Ints, powers: Floats | None = None) -> Floats:
        """The coefficient for each column of weights, whole numbers >= 0: (b,); NaN where not defined.

        powers: the sum of `self.power`-th powers of each column, where the caller has it cheaply.
        """
        if self.coef == "spearman":
            return self.spearman.values(weights, powers)
        if self.coef != "pearson":
            return self._kendall(weights, powers)
        if self.places is not None:
            weights = kernels.workspace().take("items", weights, self.places)
        return self._pearson(weights)

    def _prepare_kendall(self) -> None:
        # the coefficients are symmetric; the tree is over the side with fewer values
        (code_x, size_x), (code_y, size_y), self.turned = kernels.finer_first(self.x, self.y)
        _, here, cells = np.unique(code_x * size_y + code_y, return_index=True, return_inverse=True)
        self.cells = Groups("cells", cells, len(here), self.places)
        self.in_x, self.in_y = Groups("x", code_x[here], size_x), Groups("y", code_y[here], size_y)
        self.up_to_y = Running("up to y", np.arange(size_y))
        self.levels = list(_tree(code_x[here], size_x, code_y[here], size_y, self.up_to_y.at))

    def _kendall(self, weights: Ints, powers: Floats | None) -> Floats:
        space = kernels.workspace()
        weights = self.cells.sum(weights)
        if not self.cells.alone:
            powers = None
        counts = [groups.sum(weights) for groups in (self.in_x, self.in_y)]
        alone = space.dot(weights, weights) if powers is None else powers
        same = [
            alone if groups.alone else space.dot(count, count)
            for groups, count in zip((self.in_x, self.in_y), counts, strict=True)
        ]
        _, up_to_y = self.up_to_y.sums(counts[1])
        n = up_to_y[self.up_to_y.at[-1]].astype(float)
        differ = [(n**2 - squares) / 2 for squares in same]
        differ_both = (n**2 - same[0] - same[1] + alone) / 2
        classes = None
        if self.coef == "kendall-c":
            classes = np.minimum(*((count > 0).sum(axis=0) for count in counts))
        agree = np.zeros(weights.shape[1])
        for level in self.levels:
            _, lower = level.lower.sums(weights)
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
    """One level of the merge: running sums of the cells in lower halves, the cells in upper halves, where they meet."""

    __slots__ = ("lower", "node_high", "node_middle", "node_start", "node_stop", "start", "stop", "upper")


def _tree(code_x: Ints, size_x: int, code_y: Ints, size_y: int, at_y: Ints):
    """Levels of a binary split over the values of y. Within a node every upper cell meets every lower cell once.

    For an upper cell, lower cells with smaller x are concordant and those with larger x discordant; with P the
    running weight of lower cells in order of (node, x), the difference is P[start] + P[stop] - P[node] - P[node end].
    at_y: where the running sum over the first values of y is.
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
        level.lower, level.upper = Running("lower", lower), upper
        at = level.lower.at
        level.start = at[np.searchsorted(key[lower], key[upper], side="left")]
        level.stop = at[np.searchsorted(key[lower], key[upper], side="right")]
        nodes = np.unique(node[upper])
        level.node_start = at[np.searchsorted(key[lower], nodes * size_x, side="left")]
        level.node_stop = at[np.searchsorted(key[lower], (nodes + 1) * size_x, side="left")]
        level.node_middle = at_y[((nodes << 1) + 1) << shift]
        level.node_high = at_y[np.minimum((nodes + 1) << (shift + 1), size_y)]
        yield level
