"""How far raters agree with each other, for any number of raters: Krippendorff's
alpha; and what all measures of agreement share.

Ratings come as `R[rater, item]` or `R[rater, system, input]`, NaN where a rater did not
rate an item. Intervals are about other items, or other systems and inputs, with these
raters. Items that share inputs or systems are not independent: of 95 % intervals from a
flat list .80 hold the truth with 6 x 10 outputs and .55 with 6 x 60; over systems and
inputs all do (200 data sets).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, groups, intervals
from .draws import NO_GROUPS, Draws, Groups, Ints
from .levels import Statistic
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured

METRICS = ("nominal", "ordinal", "interval")
EQUAL = "all ratings are equal: chance alone explains them"


@dataclass(frozen=True, repr=False)
class Agreement(Measured):
    """One agreement coefficient: 1 is perfect, 0 what chance would give; NaN with a
    reason where not defined.

    n: items with at least two ratings. n_left_out: the other items. low, high: of the
    interval that was asked for.
    """

    value: float
    name: str
    n: int
    n_raters: int
    n_left_out: int
    interval: Interval = NO_INTERVAL
    reason: str = ""

    def signature(self) -> str:
        counts = f"raters:{self.n_raters}|items:{self.n}|left-out:{self.n_left_out}"
        return f"agree:{self.name}|{counts}{self.interval.signature()}"


def item_counts(drawn: Draws, present: npt.NDArray[np.bool_]) -> Floats:
    """How often each item that takes part counts in each resample: (items, b)."""
    places = np.flatnonzero(present)
    rows_a, a, rows_b, b = drawn.factors(places, present.shape[-1])
    return np.asarray(a[rows_a] * b[rows_b], dtype=float)


class OfItems(Statistic):
    """A function of how often each item counts, as a statistic that can be resampled
    or have units left out.

    of_counts: counts of the items that take part, (items,), to a number. present: which
    items do, shaped like the data.
    """

    def __init__(
        self,
        of_counts: Callable[[Floats], float],
        present: npt.NDArray[np.bool_],
        groups: Groups = NO_GROUPS,
    ) -> None:
        self.of_counts = of_counts
        self.present = present
        self.groups = groups

    def values(self, drawn: Draws) -> Floats:
        counts = item_counts(drawn, self.present)
        return np.array([self.of_counts(column) for column in counts.T])

    def without_these(self, unit: str, together: Ints | None) -> Floats:
        return super().without_these("rows" if unit == "cells" else unit, together)


def krippendorff_alpha(
    ratings: Any,
    metric: str = "interval",
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Agreement:
    """How much more do raters agree than chance, for any number of raters and any gaps?

    ratings: `R[rater, item]` or `R[rater, system, input]`, NaN missing. metric: how far
    two values are apart: nominal, ordinal, interval. ci and what follows: as in
    `correlate`.
    Raises: ValueError for bad arrays, no item with two ratings, an unknown interval.
    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.
    """
    arrays.choice(metric, METRICS, "metric")
    table = arrays.floats(ratings, "ratings", "rater, item", "rater, system, input")
    rated_twice = (~np.isnan(table)).sum(axis=0) >= 2
    items = int(rated_twice.sum())
    if not items:
        raise ValueError(
            "ratings: no item has two ratings; agreement needs at least one that has"
        )
    alpha = _Alpha(arrays.rescaled(table[:, rated_twice]), metric)
    value = float(alpha(np.ones(items)))
    grouped = groups.of(rated_twice.shape, system_groups, input_groups)
    ends = interval_of(alpha, rated_twice, value, ci, n_boot, seed, confidence, grouped)
    return Agreement(
        value=value,
        name=f"alpha-{metric}",
        n=items,
        n_raters=len(table),
        n_left_out=rated_twice.size - items,
        interval=ends,
        reason=EQUAL if np.isnan(value) else ends.reason,
    )


def interval_of(
    of_counts: Callable[[Floats], float],
    present: npt.NDArray[np.bool_],
    value: float,
    ci: str | bool | None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    grouped: Groups = NO_GROUPS,
) -> Interval:
    """The interval of a function of how often each item counts; as `intervals.of`."""
    return intervals.of(
        OfItems(of_counts, present, grouped),
        value,
        ci,
        "dataset",
        "agreement",
        n_boot=n_boot,
        seed=seed,
        confidence=confidence,
    )


class _Alpha:
    """Krippendorff's alpha as a function of how often each item is drawn.

    ratings: `R[rater, item]`, at least two of each item. Called with counts (items,);
    NaN where chance leaves no disagreement.
    """

    def __init__(self, ratings: Floats, metric: str) -> None:
        self.ratings = ratings
        self.metric = "nominal" if metric == "nominal" else "quadratic"
        self.ordinal = metric == "ordinal"
        self.rated = ~np.isnan(ratings)
        self.other_ratings = self.rated.sum(axis=0) - 1.0
        self.item = np.nonzero(self.rated)[1]
        self.values, self.code = np.unique(ratings[self.rated], return_inverse=True)
        if not self.ordinal:
            self.disagreement = self._disagreement(ratings)

    def _disagreement(self, ratings: Floats) -> Floats:
        """The distances within each item, over the other ratings that it has."""
        return _within(ratings, self.metric) / self.other_ratings

    def __call__(self, counts: Floats) -> float:
        tally = np.bincount(self.code, counts[self.item], len(self.values))
        totals = tally.astype(float)
        places = self.values
        if self.ordinal:
            # The distance between two ordered values is how many ratings lie between
            # them, so it differs by resample.
            places = np.cumsum(totals) - totals / 2
            ranks = self.ratings.copy()
            ranks[self.rated] = places[self.code]
            disagreement = self._disagreement(ranks)
        else:
            disagreement = self.disagreement
        expected = chance_distance(places, totals, totals, self.metric)
        if expected <= 0:
            return NAN
        observed = counts @ disagreement
        return 1 - (totals.sum() - 1) * observed / expected


def _within(ratings: Floats, metric: str) -> Floats:
    """The distances between the ratings of each item, `R[rater, item]`, summed over
    ordered pairs: (items,).
    """
    out = np.zeros(ratings.shape[1])
    for a, b in combinations(ratings, 2):
        gaps = distances(a, b, metric)
        absent = np.isnan(a) | np.isnan(b)
        out += np.where(absent, 0.0, gaps)
    return 2 * out


def distances(first: Floats, second: Floats, metric: str) -> Floats:
    """How far two values are apart, one by one: nominal, linear or quadratic."""
    if metric == "nominal":
        return (first != second).astype(float)
    if metric == "linear":
        return np.abs(first - second)
    return np.asarray((first - second) ** 2)


def chance_distance(values: Floats, p: Floats, q: Floats, metric: str) -> float:
    """The distance of each pair of values times `p` of the one and `q` of the other,
    summed; values in ascending order.
    """
    if metric == "nominal":
        return float(p.sum() * q.sum() - (p * q).sum())
    occurring = np.flatnonzero((p > 0) | (q > 0))
    if not len(occurring):
        return 0.0
    x = values[occurring] - values[occurring[0]]
    p = p[occurring]
    q = q[occurring]
    if metric == "linear":
        below_p = np.cumsum(p)[:-1]
        below_q = np.cumsum(q)[:-1]
        across = below_p * (q.sum() - below_q) + below_q * (p.sum() - below_p)
        return float(across @ np.diff(x))
    weights = p + q
    x = x - weights @ x / weights.sum()
    squares = p.sum() * (q @ x**2)
    squares = squares + q.sum() * (p @ x**2)
    cross = 2 * (p @ x) * (q @ x)
    return float(squares - cross)
