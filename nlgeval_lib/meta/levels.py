"""A coefficient at one level as a function of the resample: prepared once, evaluated for many resamples at once.

dataset: all items in one list; input: a list an input, over its systems, then the mean; system: one list of the
systems' means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, draws
from .draws import Draws, Weights
from .lists import COEFFICIENTS, Lists, without_each
from .result import Floats

LEVELS = ("dataset", "input", "system")


def named(coef: str, level: str) -> str:
    """The coefficient's full name; "kendall" alone is kendall-b. Raises: ValueError for an unknown one, or level."""
    arrays.choice(level, LEVELS, "level")
    return arrays.choice("kendall-b" if coef == "kendall" else coef, COEFFICIENTS, "coef")


def check(side: Floats, level: str) -> None:
    """Passes silently where the level can be had from one side of the common items, NaN elsewhere.

    Raises: ValueError for fewer than 3 items, flat data at input or system level, too few systems.
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


def plan(x: Floats, y: Floats, coef: str, level: str, nan: str = "drop") -> Dataset | Inputs | Systems:
    """The prepared coefficient. x, y: flat or `[system, input]`, NaN in both where an item takes no part."""
    kinds: dict[str, type[Dataset | Inputs | Systems]] = {"dataset": Dataset, "input": Inputs, "system": Systems}
    return kinds[level](x, y, coef, zero_for_constant(coef, level, nan))


def zero_for_constant(coef: str, level: str, nan: str) -> bool:
    """Does a constant side give 0? No pair is ordered alike or otherwise: kendall-a is 0 then, the others are not."""
    return nan == "constant-zero" and (level == "input" or coef == "kendall-a")


def counted(values: Floats, zero: bool | npt.NDArray[np.bool_]) -> Floats:
    """Coefficients with 0 where one is not defined and `zero` says so."""
    return np.where(np.isnan(values) & zero, 0.0, values)


def stacked(x: Floats, y: Floats, coef: str, level: str, nan: str = "drop") -> Floats:
    """The coefficient of each of many judges: x, y `[judge, item]` or `[judge, system, input]` to (judges,)."""
    judges = len(x)
    if level == "system":
        return np.array([plan(*sides, coef, level, nan).value for sides in zip(x, y, strict=True)])
    if level == "input":
        x, y = (np.ascontiguousarray(side.transpose(0, 2, 1)).reshape(-1, side.shape[1]) for side in (x, y))
    else:
        x, y = (side.reshape(len(side), -1) for side in (x, y))
    if coef == "pearson":
        x, y = rescaled(x, axis=1), rescaled(y, axis=1)
    lists = Lists(x, y, coef, np.arange(x.shape[1]), x.shape[1])
    zero = zero_for_constant(coef, level, nan) & ((~np.isnan(x)).sum(axis=1) > 1)[:, None]
    each = counted(lists.values(draws.everything(x.shape[1:])), zero)
    return each[:, 0] if level == "dataset" else mean_of_defined(each.reshape(judges, -1).T)


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
        """That without each system, each input, or each cell (row-major; for flat data, each item) in turn.

        (units,); an absent one changes nothing.
        """
        kind = "rows" if unit == "cells" else unit
        return np.concatenate([self.values(chunk) for chunk in draws.left_out(self.here.shape, kind)])


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


class Plan(Statistic):
    """A coefficient at one level."""

    def __init__(self, x: Floats, y: Floats, coef: str, zero: bool = False) -> None:
        self.x, self.y, self.coef, self.zero = x, y, coef, zero
        self.here = ~(np.isnan(x) | np.isnan(y))


class Dataset(Plan):
    """All items in one list."""

    def __init__(self, x: Floats, y: Floats, coef: str, zero: bool = False) -> None:
        x, y = (rescaled(x), rescaled(y)) if coef == "pearson" else (x, y)
        super().__init__(x, y, coef, zero)
        self.lists = Lists(x.reshape(1, -1), y.reshape(1, -1), coef, np.arange(x.size)[None], x.shape[-1])

    def values(self, drawn: Draws) -> Floats:
        return counted(self.lists.values(drawn)[0], self.zero)

    def without(self, unit: str) -> Floats:
        if unit != "cells":
            return super().without(unit)
        return counted(without_each(self.x, self.y, self.lists, self.value), self.zero)


class Inputs(Plan):
    """One coefficient an input, over the systems; then the mean of those that are defined."""

    def __init__(self, x: Floats, y: Floats, coef: str, zero: bool = False) -> None:
        super().__init__(x, y, coef, zero)
        self.constant = zero & (self.here.sum(axis=0) > 1)[:, None]  # an input with one system has no coefficient
        places = np.arange(x.size).reshape(x.shape).T
        x, y = (rescaled(side.T, 1) if coef == "pearson" else np.ascontiguousarray(side.T) for side in (x, y))
        self.lists = Lists(x, y, coef, places, len(x))
        self.once = np.ones((x.shape[1], 1), dtype=np.float32)

    def each(self, drawn: Draws) -> Floats:
        """The coefficient for each input and resample: (inputs, b), or (inputs, 1) where no system was redrawn."""
        if drawn.rows is None and drawn.systems is None:
            return counted(self.lists.values(Draws(systems=self.once)), self.constant)
        return counted(self.lists.values(replace(drawn, inputs=None)), self.constant)

    def values(self, drawn: Draws) -> Floats:
        return mean_of_defined(self.each(drawn), drawn.inputs)

    def without(self, unit: str) -> Floats:
        if unit != "cells":
            return super().without(unit)
        whole = self.each(draws.everything(self.here.shape))
        reduced = np.hstack([self.each(chunk) for chunk in draws.left_out(self.here.shape, "systems")])
        found, lost = np.nansum(whole), np.isnan(whole).sum()  # one input's coefficient takes the place of the whole's
        total = found - np.nan_to_num(whole) + np.nan_to_num(reduced)
        number = len(whole) - lost + np.isnan(whole) - np.isnan(reduced)
        with np.errstate(invalid="ignore"):
            return (total / np.where(number > 0, number, np.nan)).T.ravel()


class Systems(Plan):
    """One mean an output system, over its common items; then one coefficient over the systems."""

    def __init__(self, x: Floats, y: Floats, coef: str, zero: bool = False) -> None:
        super().__init__(x, y, coef, zero)
        self.sides = [tame(np.where(self.here, side, 0.0)) for side in (x, y)]
        self.rounding = [rounding(side) for side in self.sides]

    def means(self, drawn: Draws) -> tuple[Floats, Floats, Floats]:
        """System means of scores and of ratings, and the number of items behind them: three times (systems, b)."""
        if drawn.rows is not None:
            weights = drawn.rows.reshape(*self.here.shape, -1) * self.here[:, :, None]
            n = weights.sum(axis=1)
            sums = [np.einsum("sib,si->sb", weights, side) for side in self.sides]
        else:
            once = np.ones((self.here.shape[1], 1))
            weights = once if drawn.inputs is None else drawn.inputs.astype(float)
            n, *sums = (side @ weights for side in (self.here.astype(float), *self.sides))
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums[0] / n, sums[1] / n, n

    def values(self, drawn: Draws) -> Floats:
        x, y, n = self.means(drawn)
        weights = (n > 0) * (1.0 if drawn.systems is None else drawn.systems)
        return counted(across(x, y, self.rounding[0], self.rounding[1], weights, self.coef), self.zero)

    def without(self, unit: str) -> Floats:
        if unit != "cells":
            return super().without(unit)
        of = np.arange(self.here.size) // self.here.shape[1]
        columns = np.arange(self.here.size)
        n, *sums = (np.repeat(side.sum(axis=1)[:, None], len(of), axis=1) for side in (self.here, *self.sides))
        for side, taken in zip((n, *sums), (self.here, *self.sides), strict=True):
            side[of, columns] -= taken.ravel()
        with np.errstate(invalid="ignore", divide="ignore"):
            x, y = sums[0] / n, sums[1] / n
        found = across(x, y, self.rounding[0], self.rounding[1], (n > 0).astype(float), self.coef)
        return counted(found, self.zero)


def across(x: Floats, y: Floats, slack_x: Floats, slack_y: Floats, weights: Weights, coef: str) -> Floats:
    """The coefficient over systems, whose values differ by resample: all `[system, b]`, slack (systems,), to (b,).

    Values that differ by no more than rounding are tied: sums of thirds taken in another order differ in the last bit.
    """
    from . import _kernels

    out = np.empty(weights.shape[1])
    x, y = (np.where(weights > 0, side, np.nan) for side in (x, y))
    if coef == "pearson":
        x, y = rescaled(x, axis=0), rescaled(y, axis=0)
    x, y, weights = (np.ascontiguousarray(side.T, dtype=float) for side in (x, y, weights))
    _kernels.across(COEFFICIENTS.index(coef), x, y, slack_x, slack_y, weights, out)
    return out


class Swapped:
    """Two judges' coefficients after exchanging some of their scores: both judges' scores are pooled, and each judge
    holds the half that the mask gives it.

    first, second, y: flat or `[system, input]`, NaN in all three where an item takes no part.
    """

    def __init__(self, first: Floats, second: Floats, y: Floats, coef: str, level: str, nan: str = "drop") -> None:
        self.shape, self.level, self.coef = y.shape, level, coef
        self.zero: bool | npt.NDArray[np.bool_] = zero_for_constant(coef, level, nan)
        if level == "input":
            self.zero = self.zero & ((~np.isnan(y)).sum(axis=0) > 1)[:, None]
        if level != "system":
            pool = plan(np.concatenate([first, second]), np.concatenate([y, y]), coef, level)
            assert not isinstance(pool, Systems)
            self.pool = pool.lists
            return
        here = ~np.isnan(y)
        self.n = here.sum(axis=1, keepdims=True)
        self.first, self.second, ratings = (np.where(here, side, 0.0) for side in (first, second, y))
        with np.errstate(invalid="ignore"):
            self.ratings = ratings.sum(axis=1, keepdims=True) / self.n
        self.slack = np.maximum(rounding(self.first), rounding(self.second)), rounding(ratings)

    def values(self, masks: Draws) -> tuple[Floats, Floats]:
        """Both coefficients after each exchange: (b,) and (b,)."""
        if self.level == "system":
            return self._of_means(masks)
        # as coins of one half up or down, so that their product says which judge has what
        mask = masks.systems if masks.rows is None else masks.rows
        if mask is None and masks.inputs is not None:
            mask = np.zeros((self.shape[0], 1 if self.level == "input" else len(masks)), masks.inputs.dtype)
        assert mask is not None
        half = np.float32(0.5)
        coins = {"systems" if masks.rows is None else "rows": np.concatenate([half - mask, mask - half])}
        if self.level == "dataset":
            if masks.inputs is not None:
                coins["inputs"] = 1 - 2 * masks.inputs
            one, other = self.pool.values(Draws(**coins, base=0.5))
            return counted(one, self.zero), counted(other, self.zero)
        one, other = (counted(side, self.zero) for side in np.split(self.pool.values(Draws(**coins, base=0.5)), 2))
        if masks.inputs is not None:
            flip = masks.inputs.astype(bool)
            one, other = np.where(flip, other, one), np.where(flip, one, other)
        return mean_of_defined(one), mean_of_defined(other)

    def _of_means(self, masks: Draws) -> tuple[Floats, Floats]:
        total = (self.first + self.second).sum(axis=1, keepdims=True)
        gain = self.second - self.first
        sums = self.first.sum(axis=1, keepdims=True)
        if masks.rows is not None:
            sums = sums + np.einsum("si,sib->sb", gain, masks.rows.reshape(*gain.shape, -1).astype(float))
        elif masks.inputs is not None:
            sums = sums + gain @ masks.inputs.astype(float)
        sums = np.broadcast_to(sums, (len(sums), len(masks)))
        if masks.systems is not None:
            sums = np.where(masks.systems == 1, total - sums, sums)
        weights = np.broadcast_to(self.n > 0, sums.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / self.n, (total - sums) / self.n
        y = np.broadcast_to(self.ratings, sums.shape)
        one, other = (counted(across(side, y, *self.slack, weights, self.coef), self.zero) for side in means)
        return one, other


def tame(side: Floats) -> Floats:
    """The values, scaled down where they are so large that their sum would overflow."""
    return rescaled(side) if np.abs(side).max(initial=0.0) > 1e280 else side


def rescaled(values: Floats, axis: int | None = None) -> Floats:
    """Values divided by a power of two near their largest magnitude: squares neither overflow nor vanish, no rounding.

    NaN is left alone.
    """
    with np.errstate(invalid="ignore"):
        largest = np.fmax.reduce(np.abs(values), axis=axis, keepdims=axis is not None, initial=0.0)
    return np.ldexp(values, -np.frexp(largest)[1])


def rounding(side: Floats) -> Floats:
    """How far rounding alone can move each system's mean: (systems,)."""
    return 16 * np.finfo(float).eps * np.abs(side).max(axis=1)


def mean_of_defined(each: Floats, weights: Weights | None = None) -> Floats:
    """Weighted mean down the first axis over what is not NaN; NaN where nothing is left."""
    weights = np.ones((len(each), 1)) if weights is None else weights
    defined = ~np.isnan(each)
    if not defined.all():
        each, weights = np.where(defined, each, 0.0), defined * weights
    each, weights = np.broadcast_arrays(each, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.einsum("ib,ib->b", each, weights, dtype=float) / weights.sum(axis=0, dtype=float)
