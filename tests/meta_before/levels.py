"""A coefficient at one level as a function of the resample: prepared once, evaluated for many resamples at once."""

from __future__ import annotations

import numpy as np

from . import kernels
from .checks import Floats
from .columns import Crossed, columns
from .draws import Draws
from .flat import Flat

LEVELS = ("dataset", "input", "system")


def plan(x: Floats, y: Floats, coef: str, level: str) -> Dataset | Inputs | Systems:
    """The prepared coefficient. x, y: flat or `[system, input]`, NaN in both where an item takes no part."""
    return {"dataset": Dataset, "input": Inputs, "system": Systems}[level](x, y, coef)


def check(side: Floats, level: str) -> None:
    """Passes silently where the level can be had from one side of the common items, NaN elsewhere.

    Raises: ValueError for fewer than 3 items, flat data at input or system level, and too few systems.
    """
    here = ~np.isnan(side)
    n = int(here.sum())
    if n < 3:
        raise ValueError(f"got {n} common item(s) of {side.size}; at least 3 need both a score and a rating")
    if level == "dataset":
        return
    if side.ndim != 2:
        raise ValueError(f"level={level!r}: got a flat vector of {side.size}; pass x[system, input] and y alike")
    systems, least = (len(side), 2) if level == "input" else (int(here.any(axis=1).sum()), 3)
    if systems < least:
        what = "an input's outputs cannot be ordered" if level == "input" else "too few with common items"
        raise ValueError(f"level={level!r}: got {systems} system(s), at least {least} are needed: {what}")


class Dataset:
    """All items in one list."""

    def __init__(self, x: Floats, y: Floats, coef: str) -> None:
        self.shape = x.shape
        places = np.flatnonzero(~(np.isnan(x) | np.isnan(y)).ravel())
        self.complete = len(places) == x.size
        self.flat = Flat(x.ravel()[places], y.ravel()[places], coef, None if self.complete else places)

    def values(self, draws: Draws) -> Floats:
        """The coefficient for each resample: (b,)."""
        powers = draws.power_sum(self.shape, self.flat.power) if self.complete and self.flat.power else None
        return self.flat.values(draws.items(self.shape), powers)


class Inputs:
    """One coefficient an input, over the systems; then the mean of those that are defined."""

    def __init__(self, x: Floats, y: Floats, coef: str) -> None:
        self.x, self.y, self.coef = x, y, coef
        self.here = ~(np.isnan(x) | np.isnan(y))
        self.crossed: Crossed | None = None
        self.fixed: Floats | None = None

    def each(self, draws: Draws) -> Floats:
        """The coefficient for each resample and input: (b, inputs), or (1, inputs) where no system was redrawn."""
        if draws.rows is not None:
            n_systems, n_inputs = self.x.shape
            weights = draws.rows.reshape(n_systems, -1) * np.repeat(self.here, len(draws), axis=1)
            wide = [np.repeat(side, len(draws), axis=1) for side in (self.x, self.y)]
            return columns(*wide, weights, self.coef).reshape(n_inputs, -1).T
        if draws.systems is None or (len(draws.systems) == 1 and (draws.systems == 1).all()):
            if self.fixed is None:
                self.fixed = columns(self.x, self.y, self.here.astype(np.int16), self.coef)[None]
            return self.fixed
        if self.crossed is None:
            self.crossed = Crossed(self.x, self.y, self.coef)
        return self.crossed.values(draws.systems)

    def values(self, draws: Draws) -> Floats:
        """The mean coefficient for each resample: (b,); NaN where no input has one."""
        each = self.each(draws)
        weights = np.ones((len(draws), 1)) if draws.inputs is None else draws.inputs.astype(float)
        return mean_of_defined(each, weights)


class Systems:
    """One mean an output system, over its common items; then one coefficient over the systems."""

    def __init__(self, x: Floats, y: Floats, coef: str) -> None:
        self.coef = coef
        here = ~(np.isnan(x) | np.isnan(y))
        self.here = here.astype(float)
        self.sides = [tame(np.where(here, side, 0.0)) for side in (x, y)]
        self.rounding = [rounding(side) for side in self.sides]

    def means(self, draws: Draws) -> tuple[Floats, Floats, Floats]:
        """System means of scores and of ratings, and the number of items behind them: three times (systems, b)."""
        if draws.rows is not None:
            weights = draws.rows.reshape(*self.here.shape, -1) * self.here[:, :, None]
            n = weights.sum(axis=1)
            sums = [np.einsum("sib,si->sb", weights, side) for side in self.sides]
        else:
            weights = np.ones((1, self.here.shape[1])) if draws.inputs is None else draws.inputs.astype(float)
            n = self.here @ weights.T
            sums = [side @ weights.T for side in self.sides]
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums[0] / n, sums[1] / n, n

    def values(self, draws: Draws) -> Floats:
        """The coefficient for each resample: (b,)."""
        x, y, n = self.means(draws)
        weights = (n > 0).astype(np.int64)
        if draws.systems is not None:
            weights = weights * draws.systems.T
        x, y = np.broadcast_to(x, weights.shape), np.broadcast_to(y, weights.shape)
        if self.coef != "pearson":
            x, y = (levelled(side, size) for side, size in zip((x, y), self.rounding, strict=True))
        return columns(x, y, weights, self.coef)


def tame(side: Floats) -> Floats:
    """The values, scaled down where they are so large that their sum would overflow."""
    return kernels.rescaled(side) if np.abs(side).max(initial=0.0) > 1e280 else side


def rounding(side: Floats) -> Floats:
    """How far rounding alone can move each system's mean: (systems, 1)."""
    return 16 * np.finfo(float).eps * np.abs(side).max(axis=1, keepdims=True)


def levelled(means: Floats, size: Floats) -> Floats:
    """Ranks of means down each column in which means that differ by rounding error only are tied.

    Sums of thirds taken in another order differ in the last bit; without this such ties would break at random.
    """
    order = np.argsort(means, axis=0, kind="stable")
    ordered = np.take_along_axis(means, order, axis=0)
    slack = np.take_along_axis(np.broadcast_to(size, means.shape), order, axis=0)
    with np.errstate(invalid="ignore"):
        apart = np.diff(ordered, axis=0) > np.maximum(slack[1:], slack[:-1])
    rank = np.zeros(means.shape)
    np.cumsum(apart, axis=0, out=rank[1:])
    out = np.empty_like(rank)
    np.put_along_axis(out, order, rank, axis=0)
    return out


def mean_of_defined(each: Floats, weights: Floats) -> Floats:
    """Weighted mean along the last axis over what is not NaN; NaN where nothing is left."""
    defined = ~np.isnan(each)
    filled = np.where(defined, each, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (filled * weights).sum(axis=1) / (defined * weights).sum(axis=1)
