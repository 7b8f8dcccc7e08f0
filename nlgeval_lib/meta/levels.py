"""A coefficient at one level as a function of the resample: prepared once, evaluated for many resamples at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, draws
from .draws import Draws, Weights
from .lists import COEFFICIENTS, Lists
from .result import Floats

LEVELS = ("dataset", "input", "system")


def named(coef: str, level: str) -> str:
    """The coefficient's full name; "kendall" alone is kendall-b. Raises: ValueError for an unknown one, or level."""
    arrays.choice(level, LEVELS, "level")
    return arrays.choice("kendall-b" if coef == "kendall" else coef, COEFFICIENTS, "coef")


def check(side: Floats, level: str) -> None:
    """Raises: ValueError for fewer than 3 common items, flat data at input or system level, too few systems."""
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


class Statistic:
    """A number as a function of the resample. here: which items take part, shaped like the data."""

    here: npt.NDArray[np.bool_]

    @property
    def value(self) -> float:
        """That of the data themselves."""
        return float(self.values(draws.everything(self.here.shape))[0])

    def values(self, drawn: Draws) -> Floats:
        """That of each resample: (b,); NaN where not defined."""
        raise NotImplementedError

    def without(self, unit: str) -> Floats:
        """That without each system, input, or cell (row-major; of flat data, item): (units,), unchanged if absent."""
        return np.concatenate([self.values(chunk) for chunk in draws.left_out(self.here.shape, unit)])


class Combined(Statistic):
    """A function of several statistics of the same data, such as their difference or their mean."""

    def __init__(self, function: Callable[..., Any], parts: Sequence[Statistic]) -> None:
        self.function, self.parts = function, parts
        self.here = np.any([part.here for part in parts], axis=0)
        self.left_out: dict[str, Floats] = {}

    def values(self, drawn: Draws) -> Floats:
        return np.asarray(self.function(*(part.values(drawn) for part in self.parts)))

    def without(self, unit: str) -> Floats:
        if unit not in self.left_out:  # a test and an interval both ask
            self.left_out[unit] = np.asarray(self.function(*(part.without(unit) for part in self.parts)))
        return self.left_out[unit]


def plan(x: Floats, y: Floats, coef: str, level: str, nan: str = "drop") -> Listed | Systems:
    """The prepared coefficient. x, y: flat or `[system, input]`, NaN in both where an item takes no part."""
    return (Systems if level == "system" else Listed)(x, y, coef, level, nan)


def stacked(x: Floats, y: Floats, coef: str, level: str, nan: str = "drop") -> Floats:
    """The coefficient of each of many judges: x, y `[judge, item]` or `[judge, system, input]` to (judges,)."""
    if level == "system":
        return np.array([plan(*sides, coef, level, nan).value for sides in zip(x, y, strict=True)])
    each = Lists(x, y, coef, level, zero_for_constant(coef, level, nan)).values(draws.everything(x.shape[1:]))
    return mean_of_defined(each.reshape(len(x), -1).T)


def zero_for_constant(coef: str, level: str, nan: str) -> bool:
    """Does a constant side give 0? No pair is ordered alike or otherwise: kendall-a is 0 then, the others are not."""
    return nan == "constant-zero" and (level == "input" or coef == "kendall-a")


class Listed(Statistic):
    """All items in one list; or one coefficient an input, over the systems, and the mean of those that are defined."""

    def __init__(self, x: Floats, y: Floats, coef: str, level: str, nan: str) -> None:
        self.here, self.level = ~(np.isnan(x) | np.isnan(y)), level
        self.lists = Lists(x[None], y[None], coef, level, zero_for_constant(coef, level, nan))

    def each(self, drawn: Draws) -> Floats:
        """The coefficient of each list and resample: (lists, b), or (inputs, 1) where no system was redrawn."""
        if self.level == "input":
            drawn = replace(drawn, inputs=None)
            if drawn.rows is None and drawn.systems is None:
                drawn = Draws(systems=np.ones((len(self.here), 1), dtype=np.float32))
        return self.lists.values(drawn)

    def values(self, drawn: Draws) -> Floats:
        each = self.each(drawn)
        return each[0] if self.level == "dataset" else mean_of_defined(each, drawn.inputs)

    def without(self, unit: str) -> Floats:
        if unit != "cells":
            return super().without(unit)
        if self.level == "dataset":
            return self.lists.without_each(self.value, self.here.size)
        whole = self.each(draws.everything(self.here.shape))
        reduced = np.hstack([self.each(chunk) for chunk in draws.left_out(self.here.shape, "systems")])
        found, lost = np.nansum(whole), np.isnan(whole).sum()  # one input's coefficient takes the place of the whole's
        total = found - np.nan_to_num(whole) + np.nan_to_num(reduced)
        number = len(whole) - lost + np.isnan(whole) - np.isnan(reduced)
        with np.errstate(invalid="ignore"):
            return (total / np.where(number > 0, number, np.nan)).T.ravel()


class Systems(Statistic):
    """One mean an output system, over its common items; then one coefficient over the systems."""

    def __init__(self, x: Floats, y: Floats, coef: str, level: str, nan: str) -> None:
        self.here = ~(np.isnan(x) | np.isnan(y))
        self.coef, self.zero = coef, zero_for_constant(coef, level, nan)
        sides = (np.where(self.here, side, 0.0) for side in (x, y))
        # sums of very large numbers would overflow
        self.sides = [arrays.rescaled(side) if np.abs(side).max() > 1e280 else side for side in sides]
        # how far rounding alone can move each mean
        self.slack = [16 * np.finfo(float).eps * np.abs(side).max(axis=1) for side in self.sides]
        self.number = self.here.astype(float)

    def means(self, drawn: Draws) -> tuple[Floats, Floats, Floats]:
        """System means of scores and of ratings, and the number of items behind them: three times (systems, b)."""
        if drawn.rows is not None:
            weights = drawn.rows.reshape(*self.here.shape, -1) * self.here[:, :, None]
            n = weights.sum(axis=1)
            sums = [np.einsum("sib,si->sb", weights, side) for side in self.sides]
        else:
            once = np.ones((self.here.shape[1], 1))
            weights = once if drawn.inputs is None else drawn.inputs.astype(float)
            n, *sums = (side @ weights for side in (self.number, *self.sides))
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums[0] / n, sums[1] / n, n

    def across(self, x: Floats, y: Floats, weights: Weights) -> Floats:
        """The coefficient over systems, whose means differ by resample: x, y, weights (systems, b) to (b,).

        Means no further apart than rounding are tied: sums of thirds in another order differ in the last bit.
        """
        from . import _kernels

        out = np.empty(weights.shape[1])
        x, y = (np.where(weights > 0, side, np.nan) for side in (x, y))
        if self.coef == "pearson":
            x, y = arrays.rescaled(x, axis=0), arrays.rescaled(y, axis=0)
        x, y, weights = (np.ascontiguousarray(side.T, dtype=float) for side in (x, y, weights))
        _kernels.across(COEFFICIENTS.index(self.coef), x, y, *self.slack, weights, out)
        return np.where(np.isnan(out), 0.0, out) if self.zero else out

    def values(self, drawn: Draws) -> Floats:
        x, y, n = self.means(drawn)
        return self.across(x, y, (n > 0) * (1.0 if drawn.systems is None else drawn.systems))

    def without(self, unit: str) -> Floats:
        if unit != "cells":
            return super().without(unit)
        columns = np.arange(self.here.size)
        n, *sums = (np.repeat(side.sum(axis=1)[:, None], len(columns), axis=1) for side in (self.here, *self.sides))
        for side, taken in zip((n, *sums), (self.here, *self.sides), strict=True):
            side[columns // self.here.shape[1], columns] -= taken.ravel()
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.across(sums[0] / n, sums[1] / n, (n > 0).astype(float))


class Swapped:
    """Two judges' coefficients after exchanges: their scores are pooled, and each holds the half that a mask gives it.

    first, second, y: flat or `[system, input]`, NaN in all three where an item takes no part.
    """

    def __init__(self, first: Floats, second: Floats, y: Floats, coef: str, level: str, nan: str = "drop") -> None:
        self.shape, self.level = y.shape, level
        if level != "system":
            pool = np.concatenate([first, second])[None], np.concatenate([y, y])[None]
            self.pool = Lists(*pool, coef, level, zero_for_constant(coef, level, nan))
            return
        self.systems, other = (Systems(side, y, coef, level, nan) for side in (first, second))
        self.systems.slack[0] = np.maximum(self.systems.slack[0], other.slack[0])
        self.lead, self.total = (f(self.systems.sides[0], other.sides[0]) for f in (np.subtract, np.add))

    def values(self, masks: Draws) -> tuple[Floats, Floats]:
        """Both coefficients after each exchange: (b,) and (b,)."""
        # as coins of one up or down: a judge has its own score or the other's
        coins = Draws(*(None if mask is None else 1 - 2 * mask for mask in (masks.systems, masks.inputs, masks.rows)))
        if self.level == "system":
            return self._of_means(coins)
        own = coins.systems if coins.rows is None else coins.rows
        if own is None and coins.inputs is not None:
            own = np.ones((self.shape[0], 1 if self.level == "input" else len(masks)), coins.inputs.dtype)
        assert own is not None
        half = np.concatenate([own, -own]) * np.float32(0.5)
        inputs = coins.inputs if self.level == "dataset" else None
        drawn = Draws(rows=half) if coins.rows is not None else Draws(systems=half, inputs=inputs)
        one, other = np.split(self.pool.values(drawn, pooled=True), 2)
        if self.level == "dataset":
            return one[0], other[0]
        if coins.inputs is not None:
            one, other = np.where(coins.inputs < 0, (other, one), (one, other))
        return mean_of_defined(one), mean_of_defined(other)

    def _of_means(self, coins: Draws) -> tuple[Floats, Floats]:
        if coins.rows is not None:
            lead = np.einsum("si,sib->sb", self.lead, coins.rows.reshape(*self.shape, -1).astype(float))
        else:
            inputs = np.ones((self.shape[1], 1)) if coins.inputs is None else coins.inputs.astype(float)
            lead = self.lead @ inputs * (1.0 if coins.systems is None else coins.systems)
        total = self.total.sum(axis=1, keepdims=True)
        _, y, n = self.systems.means(Draws())
        weights = np.broadcast_to((n > 0).astype(float), lead.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            one, other = (self.systems.across((total + side) / 2 / n, y, weights) for side in (lead, -lead))
        return one, other


def mean_of_defined(each: Floats, weights: Weights | None = None) -> Floats:
    """Weighted mean down the first axis over what is not NaN; NaN where nothing is left."""
    weights = np.ones((len(each), 1)) if weights is None else weights
    defined = ~np.isnan(each)
    if not defined.all():
        each, weights = np.where(defined, each, 0.0), defined * weights
    each, weights = np.broadcast_arrays(each, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.einsum("ib,ib->b", each, weights, dtype=float) / weights.sum(axis=0, dtype=float)
