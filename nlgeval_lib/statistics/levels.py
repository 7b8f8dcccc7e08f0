"""A coefficient at one level as a function of the resample: prepared once, evaluated
for many resamples at once.

A `Statistic` gives its value for the data, for each resample (`values`), and without
each unit in turn (`without`). `plan` makes one from scores and ratings.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, draws, leaving
from .draws import NO_GROUPS, Draws, Groups, Ints, Weights
from .lists import COEFFICIENTS, Lists
from .result import Floats

# one list of all items; one coefficient an input, averaged; one over system means
LEVELS = ("dataset", "input", "system")
# From so many items on, one value without resamples is numpy's and scipy's.
LONG = 100_000
OF_LONG = ("pearson", "spearman", "kendall-b", "kendall-c")
# squares of numbers in between neither overflow nor vanish
SAFE = (1e-150, 1e150)


def named(coef: str, level: str) -> str:
    """The coefficient's full name; "kendall" alone is kendall-b.

    Raises: ValueError for an unknown coefficient or level.
    """
    arrays.choice(level, LEVELS, "level")
    coef = arrays.choice(coef, ("kendall", *COEFFICIENTS), "coef")
    return "kendall-b" if coef == "kendall" else coef


def check(side: Floats, level: str) -> None:
    """Refuse data on which a coefficient cannot be computed at this level.

    side: scores or ratings, flat or `[system, input]`, NaN where an item takes no part.
    Raises: TooFew for fewer than 3 common items, fewer than 2 systems at input level
        or 3 with items at system level; ValueError for flat data at input or system
        level.
    """
    present = ~np.isnan(side)
    n = int(present.sum())
    if n < 3:
        raise arrays.TooFew(
            f"got {n} common item(s) of {side.size}; "
            "at least 3 need both a score and a rating"
        )
    if level == "dataset":
        return
    if side.ndim != 2:
        raise ValueError(
            f"level={level!r}: got a flat vector of {side.size}; "
            "pass x[system, input] and y alike"
        )
    systems = len(side)
    least = 2
    consequence = "an input's outputs cannot be ordered"
    if level == "system":
        systems = int(present.any(axis=1).sum())
        least = 3
        consequence = "too few with common items"
    if systems < least:
        raise arrays.TooFew(
            f"level={level!r}: got {systems} system(s), "
            f"at least {least} are needed: {consequence}"
        )


class Statistic:
    """A number as a function of the resample.

    present: which items take part, shaped like the data, (items,) or `[system, input]`.
    groups: which systems, inputs or rows are left out, or drawn anew, as a whole.
    """

    present: npt.NDArray[np.bool_]
    groups: Groups = NO_GROUPS

    @functools.cached_property
    def left_out(self) -> dict[str, Floats]:
        """What `without` gave, by unit: a test and an interval both need it."""
        return {}

    @functools.cached_property
    def value(self) -> float:
        """That of the data themselves; NaN where not defined."""
        return float(self.values(draws.everything(self.present.shape))[0])

    def values(self, drawn: Draws) -> Floats:
        """That of each resample, (b,), NaN where not defined; a subclass says how."""
        raise NotImplementedError

    def without(self, unit: str) -> Floats:
        """That without each unit in turn, (units,): the jackknife.

        unit: "systems", "inputs", "rows", or "cells" (in row-major order; of flat data,
            items). Of grouped units, each group is left out as a whole.
        """
        if unit not in self.left_out:
            self.left_out[unit] = self._without(unit)
        return self.left_out[unit]

    def _without(self, unit: str) -> Floats:
        """As `without`, computed anew; a subclass may know a faster way."""
        return self.without_these(unit, None)

    def without_these(self, unit: str, together: Ints | None) -> Floats:
        """That without each of these sets of units or groups, (sets,).

        together: (sets, units), the numbers of the units that are left out together;
            None for each unit alone.
        """
        chunks = draws.left_out(self.present.shape, unit, self.groups, together)
        return np.concatenate([self.values(chunk) for chunk in chunks])


class Combined(Statistic):
    """A function of several statistics of the same data and groups, such as their
    difference or their mean.

    function: from one array a statistic, all of one length, to such an array.
    """

    def __init__(
        self, function: Callable[..., Any], parts: Sequence[Statistic]
    ) -> None:
        self.function = function
        self.parts = parts
        self.present = np.any([part.present for part in parts], axis=0)
        self.groups = parts[0].groups

    def values(self, drawn: Draws) -> Floats:
        columns = [part.values(drawn) for part in self.parts]
        return np.asarray(self.function(*columns))

    def _without(self, unit: str) -> Floats:
        columns = [part.without(unit) for part in self.parts]
        return np.asarray(self.function(*columns))


def plan(
    x: Floats, y: Floats, coef: str, level: str, groups: Groups = NO_GROUPS
) -> Listed | Systems:
    """The prepared coefficient of one judge.

    x, y: scores and ratings, flat or `[system, input]`, NaN in both where an item takes
        no part.
    coef, level: of `COEFFICIENTS` and `LEVELS`.
    """
    prepared: Listed | Systems
    if level == "system":
        prepared = Systems(x, y, coef)
    else:
        prepared = Listed(x, y, coef, level)
    prepared.groups = groups
    return prepared


def stacked(x: Floats, y: Floats, coef: str, level: str) -> Floats:
    """The coefficient of each of many judges, (judges,), without resamples.

    x, y: `[judge, item]` or `[judge, system, input]`; the others as `plan`.
    """
    if level == "system":
        sides = zip(x, y, strict=True)
        return np.array([Systems(*side, coef).value for side in sides])
    values_by_list = Lists(x, y, coef, level).values(draws.everything(x.shape[1:]))
    return mean_of_defined(values_by_list.reshape(len(x), -1).T)


class Listed(Statistic):
    """All items in one list; or one coefficient an input, over the systems, and the
    mean of those that are defined. As `plan`; level is "dataset" or "input".
    """

    def __init__(self, x: Floats, y: Floats, coef: str, level: str) -> None:
        self.present = ~(np.isnan(x) | np.isnan(y))
        self.level = level
        self.sides = x, y
        self.coef = coef

    @functools.cached_property
    def lists(self) -> Lists:
        """The items, prepared for many resamples."""
        x, y = self.sides
        return Lists(x[None], y[None], self.coef, self.level)

    @functools.cached_property
    def value(self) -> float:
        """That of the data themselves, by scipy where it is here and the list long."""
        n = self.present.sum()
        if self.level == "dataset" and n >= LONG and self.coef in OF_LONG:
            x, y = self.sides
            if n < self.present.size:
                x, y = x[self.present], y[self.present]
            with contextlib.suppress(ImportError):
                return _of_long(x.ravel(), y.ravel(), self.coef)
        return super().value

    def by_list(self, drawn: Draws) -> Floats:
        """The coefficient of each list and resample, before any mean over the lists:
        (lists, b), a list being an input or the whole data set; (inputs, 1) where no
        system was redrawn.
        """
        if self.level == "input":
            # An input that is drawn twice has the same coefficient: inputs are only
            # weights of the mean, and one resample is enough where nothing else is.
            drawn = replace(drawn, inputs=None)
            if drawn.rows is None and drawn.systems is None:
                once = np.ones((len(self.present), 1), dtype=np.float32)
                drawn = Draws(systems=once)
        return self.lists.values(drawn)

    def values(self, drawn: Draws) -> Floats:
        values = self.by_list(drawn)
        if self.level == "dataset":
            return values[0]
        return mean_of_defined(values, drawn.inputs)

    def _without(self, unit: str) -> Floats:
        in_closed_form = self.level != "dataset" or self._are_many(unit)
        if draws.drawn_as(unit) in self.groups or not in_closed_form:
            return self.without_these(unit, None)
        if self.level == "dataset":
            return self._without_many(unit)
        if unit == "systems":
            return self.without_these(unit, None)
        if unit == "inputs":
            return self._mean_without_inputs()
        return self._mean_without_cells()

    def _are_many(self, unit: str) -> bool:
        """Whether units are at least as many as the items of each: then it pays to look
        at all pairs within each of them.
        """
        if unit not in ("systems", "inputs"):
            return unit == "cells"
        systems, inputs = self.present.shape
        return inputs >= systems if unit == "inputs" else systems >= inputs

    def _without_many(self, unit: str) -> Floats:
        """The coefficient of all items without each of many units."""
        codes = np.arange(self.present.size)
        if unit != "cells":
            codes = np.indices(self.present.shape)[int(unit == "inputs")].ravel()
        number = int(codes[-1]) + 1
        reduced, sure = leaving.without_groups(self.lists, codes, number)
        if not sure.all():
            unsure = np.flatnonzero(~sure)[:, None]
            reduced[~sure] = self.without_these(unit, unsure)
        return reduced

    def _mean_without_inputs(self) -> Floats:
        """The mean over inputs without each input in turn."""
        values = self.by_list(draws.everything(self.present.shape))[:, 0]
        defined = ~np.isnan(values)
        number = defined.sum() - defined
        with np.errstate(invalid="ignore", divide="ignore"):
            return (np.nansum(values) - np.nan_to_num(values)) / number

    def _mean_without_cells(self) -> Floats:
        """The mean over inputs without each cell in turn: (cells,), row-major."""
        shape = self.present.shape
        full = self.by_list(draws.everything(shape))
        chunks = draws.left_out(shape, "systems")
        reduced = np.hstack([self.by_list(chunk) for chunk in chunks])
        # full: the coefficient of each input, (inputs, 1); reduced: that without each
        # system, (inputs, systems). A cell is part of one input: the input's reduced
        # coefficient takes the place of its full one in the mean over the inputs.
        undefined = np.isnan(full)
        total_of_others = np.nansum(full) - np.nan_to_num(full)
        total = total_of_others + np.nan_to_num(reduced)
        number = len(full) - undefined.sum() + undefined - np.isnan(reduced)
        number = np.where(number > 0, number, np.nan)
        with np.errstate(invalid="ignore"):
            return (total / number).T.ravel()


class Systems(Statistic):
    """One mean an output system, over its common items; then one coefficient over the
    systems. As `plan`; level is "system".

    sides: scores and ratings, 0 where an item takes no part, so that sums need no mask.
    slack: for either side, how far rounding alone can move each system's mean:
        (systems,).
    """

    def __init__(self, x: Floats, y: Floats, coef: str) -> None:
        self.present = ~(np.isnan(x) | np.isnan(y))
        self.coef = coef
        self.sides = []
        self.slack = []
        for scores in (x, y):
            scores = np.where(self.present, scores, 0.0)
            # The sums of very large numbers would overflow.
            if np.abs(scores).max() > 1e280:
                scores = arrays.rescaled(scores)
            self.sides.append(scores)
            largest = np.abs(scores).max(axis=1)
            self.slack.append(16 * np.finfo(float).eps * largest)

    def means(self, drawn: Draws) -> tuple[Floats, Floats, Floats]:
        """System means of scores and of ratings, and the number of items behind them.

        Returns: three arrays (systems, b); a mean of no item is NaN. Means do not
            depend on how often a system is drawn, so b is 1 where inputs and rows are
            as in the data.
        """
        if drawn.rows is not None:
            # weights: [system, input, resample]
            weights = drawn.rows.reshape(*self.present.shape, -1)
            # What takes no part counts neither in the sums nor in the numbers.
            weights = weights * self.present[:, :, None]
            n = weights.sum(axis=1)
            sums = [np.einsum("sib,si->sb", weights, scores) for scores in self.sides]
        else:
            weights = np.ones((self.present.shape[1], 1))
            if drawn.inputs is not None:
                weights = drawn.inputs.astype(float)
            n = self.present.astype(float) @ weights
            sums = [scores @ weights for scores in self.sides]
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums[0] / n, sums[1] / n, n

    def across(self, x: Floats, y: Floats, weights: Weights) -> Floats:
        """The coefficient over systems, whose means differ by resample: (b,); NaN where
        not defined.

        Means no further apart than rounding are tied: sums of thirds in another order
        differ in the last bit.

        x, y: means of scores and of ratings, (systems, b).
        weights: how often each system counts, (systems, b); 0 leaves it out.
        """
        from . import _kernels

        x = np.where(weights > 0, x, np.nan)
        y = np.where(weights > 0, y, np.nan)
        # Squares neither overflow nor vanish then; ranks have no squares.
        if self.coef == "pearson":
            x = arrays.rescaled(x, axis=0)
            y = arrays.rescaled(y, axis=0)
        out = np.empty(weights.shape[1])
        sides = [np.ascontiguousarray(rows.T, dtype=float) for rows in (x, y, weights)]
        number = COEFFICIENTS.index(self.coef)
        _kernels.across(number, *sides[:2], *self.slack, sides[2], out)
        return out

    def values(self, drawn: Draws) -> Floats:
        x, y, n = self.means(drawn)
        # A system counts as often as it is drawn, if it has an item.
        weights = (n > 0).astype(float)
        if drawn.systems is not None:
            weights = weights * drawn.systems
        return self.across(x, y, weights)

    def _without(self, unit: str) -> Floats:
        if unit == "systems" or unit in self.groups:
            return self.without_these(unit, None)
        cells = np.arange(self.present.size)
        systems = cells // self.present.shape[1]
        # Without an input its values are off the sums of all systems; a cell changes
        # its own system's only.
        reduced = []
        for values in (*self.sides, self.present):
            sums = values.sum(axis=1, keepdims=True)
            if unit == "inputs":
                reduced.append(sums - values)
                continue
            sums = np.repeat(sums, len(cells), axis=1)
            sums[systems, cells] -= values.ravel()
            reduced.append(sums)
        sum_x, sum_y, n = reduced
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.across(sum_x / n, sum_y / n, (n > 0).astype(float))


class Swapped:
    """Two judges' coefficients after exchanges of their scores.

    first, second, y: scores of the two judges and ratings, flat or `[system, input]`,
        NaN in all where an item takes no part. The others as `plan`.

    What it keeps:
    pools: at dataset and input level, the items of both judges in common lists, of
        which either judge holds a half; one of each judge, its own items first.
    systems: at system level, the plan of the first judge, for its ratings.
    lead, total: at system level, the judges' scores, the difference and the sum.
    """

    def __init__(
        self, first: Floats, second: Floats, y: Floats, coef: str, level: str
    ) -> None:
        self.shape = y.shape
        self.level = level
        if level != "system":
            ratings = np.concatenate([y, y])[None]
            self.pools = []
            for sides in ((first, second), (second, first)):
                scores = np.concatenate(sides)[None]
                self.pools.append(Lists(scores, ratings, coef, level))
            return
        self.systems = Systems(first, y, coef)
        opponent = Systems(second, y, coef)
        slack = np.maximum(self.systems.slack[0], opponent.slack[0])
        self.systems.slack[0] = slack
        # With these, each judge's scores are (total +- lead) / 2, and an exchange turns
        # the sign of the lead.
        self.lead = self.systems.sides[0] - opponent.sides[0]
        self.total = self.systems.sides[0] + opponent.sides[0]

    def values(self, masks: Draws) -> tuple[Floats, Floats]:
        """Both coefficients after each exchange, (b,) of the first judge and (b,) of
        the second.

        masks: 1 where the two judges exchange their scores, 0 where each keeps its own;
            of systems, inputs, both (exchanged where the two differ) or rows.
        """
        if self.level == "system":
            return self._of_means(masks)
        swapped = masks.rows
        if swapped is None:
            none = np.zeros((1, len(masks)), dtype=np.float32)
            systems = none if masks.systems is None else masks.systems
            inputs = none if masks.inputs is None else masks.inputs
            differ = np.abs(systems[:, None] - inputs)
            swapped = np.broadcast_to(differ, (*self.shape, len(masks)))
        swapped = swapped.reshape(-1, len(masks))
        # Of the pool: the items that a judge keeps, and the opponent's that it gets.
        held = Draws(rows=np.concatenate([1 - swapped, swapped]))
        first, second = (pool.values(held) for pool in self.pools)
        if self.level == "dataset":
            return first[0], second[0]
        return mean_of_defined(first), mean_of_defined(second)

    def _of_means(self, masks: Draws) -> tuple[Floats, Floats]:
        """Both coefficients over the systems' means after each exchange."""
        # Coins of 1 or -1: a judge has its own score, or the opponent's.
        coins = Draws(_coins(masks.systems), _coins(masks.inputs), _coins(masks.rows))
        if coins.rows is not None:
            rows = coins.rows.reshape(*self.shape, -1).astype(float)
            lead = np.einsum("si,sib->sb", self.lead, rows)
        else:
            inputs = np.ones((self.shape[1], 1))
            if coins.inputs is not None:
                inputs = coins.inputs.astype(float)
            lead = self.lead @ inputs
            if coins.systems is not None:
                lead = lead * coins.systems
        total = self.total.sum(axis=1, keepdims=True)
        _, y, n = self.systems.means(Draws())
        weights = np.broadcast_to((n > 0).astype(float), lead.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            first = self.systems.across((total + lead) / 2 / n, y, weights)
            second = self.systems.across((total - lead) / 2 / n, y, weights)
        return first, second


def _of_long(x: Floats, y: Floats, coef: str) -> float:
    """One coefficient of two flat lists; NaN where a side is constant."""
    from scipy import stats

    if coef.startswith("kendall"):
        variant = coef.removeprefix("kendall-")
        return float(stats.kendalltau(x, y, variant=variant).statistic)
    if coef == "spearman":
        x = stats.rankdata(x)
        y = stats.rankdata(y)
    first = _standardised(x)
    second = _standardised(y)
    return float(np.clip(first @ second, -1, 1))


def _standardised(values: Floats) -> Floats:
    """Values less their mean, with squares that sum to 1; NaN where they are constant
    but for rounding.
    """
    from ._kernels import NEARLY_CONSTANT

    low = values.min()
    high = values.max()
    largest = max(-low, high)
    if not SAFE[0] < largest < SAFE[1]:
        values = arrays.rescaled(values)
    mean = values.mean()
    centred = values - mean
    spread = np.sqrt(centred @ centred)
    if low == high or spread < NEARLY_CONSTANT * abs(mean):
        return np.full_like(values, np.nan)
    return centred / spread


def _coins(mask: Weights | None) -> Weights | None:
    """1 where a mask is 0, -1 where it is 1."""
    return None if mask is None else 1 - 2 * mask


def mean_of_defined(values: Floats, weights: Weights | None = None) -> Floats:
    """Weighted mean down the first axis over what is not NaN, (b,); NaN where nothing
    is left.

    values: (lists, b), or (lists, 1) for one value in all resamples.
    weights: how often each list counts, (lists, b); None for once each.
    """
    if weights is None:
        weights = np.ones((len(values), 1))
    defined = ~np.isnan(values)
    if not defined.all():
        values = np.where(defined, values, 0.0)
        weights = defined * weights
    values, weights = np.broadcast_arrays(values, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.einsum("ib,ib->b", values, weights, dtype=float)
        return total / weights.sum(axis=0, dtype=float)
