"""How far raters agree with each other, for any number of raters: Krippendorff's
alpha; and what all measures of agreement share.

Ratings come as `R[rater, item]` or `R[rater, system, input]`, NaN where a rater did not
rate an item. Intervals are about other items, or other systems and inputs, with these
raters. Items that share inputs or systems are not independent: of 95 % intervals from a
flat list .80 hold the truth with 6 x 10 outputs and .55 with 6 x 60; over systems and
inputs all do (200 data sets).

The parts: `krippendorff_alpha` gives an `Agreement`, as all measures of agreement do.
Each measure is a function of how often each item counts; `OfItems` makes a statistic
of it that `intervals` can resample, and `interval_of` gives its interval. `distances`
and `chance_distance` are what alpha and the kappas (`kappas`) weigh disagreement by.
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

# how far two values are apart, by Krippendorff's names
METRICS = ("nominal", "ordinal", "interval")
# the reason where agreement is not defined
EQUAL = "all ratings are equal: chance alone explains them"


@dataclass(frozen=True, repr=False)
class Agreement(Measured):
    """One agreement coefficient: 1 is perfect, 0 what chance would give; NaN with a
    reason where not defined.

    value: the coefficient.
    name: of the coefficient, such as alpha-nominal.
    n: items with at least two ratings.
    n_raters: raters, or sides that are compared.
    n_left_out: the other items.
    interval: its ends are `low` and `high`; NaN where none was asked for.
    reason: why there is no value or no interval, or what to doubt; "" for nothing.
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
    """How often each item that takes part counts in each resample: (items, b).

    present: which items take part, shaped like the data.
    """
    places = np.flatnonzero(present)
    rows_a, a, rows_b, b = drawn.factors(places, present.shape[-1])
    return np.asarray(a[rows_a] * b[rows_b], dtype=float)


class OfItems(Statistic):
    """A function of how often each item counts, as a statistic that can be resampled
    or have units left out.

    of_counts: from counts of the items that take part, (items,), to a number.
    present: which items take part, shaped like the data.
    groups: families and topics, which are drawn or left out as a whole.
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
        # `draws` calls a cell of a system and an input a row.
        if unit == "cells":
            unit = "rows"
        return super().without_these(unit, together)


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

    ratings: `R[rater, item]` or `R[rater, system, input]`, NaN missing. Items with
    fewer than two ratings are left out.
    metric: how far two values are apart: nominal (equal or not), ordinal (by how many
    ratings lie between them), interval (by their squared difference).
    ci, n_boot, seed, confidence: the interval, as `intervals.compute_interval` says.
    system_groups, input_groups: families and topics, as in `correlate`.
    Returns: 1 is perfect, 0 what chance would give; NaN where all ratings are equal.
    Raises: ValueError for bad arrays, no item with two ratings, an unknown metric or
    interval, and labels of groups that do not fit.
    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.

    Example:
        >>> round(krippendorff_alpha([[1, 2, 3, 3], [1, 2, 3, 4]]).value, 3)
        0.889
    """
    arrays.choice(metric, METRICS, "metric")
    table = arrays.ratings_by_rater(ratings)
    rated_twice = (~np.isnan(table)).sum(axis=0) >= 2
    items = int(rated_twice.sum())
    if not items:
        raise ValueError(
            "ratings: no item has two ratings; agreement needs at least one that has"
        )
    # Rescaled, so that squares neither overflow nor vanish.
    ratings_used = arrays.rescaled(table[:, rated_twice])
    alpha = _Alpha(ratings_used, metric)
    value = float(alpha(np.ones(items)))
    grouped = groups.encode_groups(rated_twice.shape, system_groups, input_groups)
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
    """The interval of a function of how often each item counts; as
    `intervals.compute_interval`.

    of_counts, present, grouped: as `OfItems`.
    value: the function's value where each item counts once.
    """
    return intervals.compute_interval(
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

    Called with counts (items,), it gives a number; NaN where chance leaves no
    disagreement.
    ratings: `R[rater, item]`, at least two of each item.
    metric: one of `METRICS`.
    """

    def __init__(self, ratings: Floats, metric: str) -> None:
        self.ratings = ratings
        # The ordinal distance is the squared difference of mid-ranks.
        self.metric = "nominal" if metric == "nominal" else "quadratic"
        self.ordinal = metric == "ordinal"
        self.rated = ~np.isnan(ratings)
        self.other_ratings = self.rated.sum(axis=0) - 1.0
        self.item = np.nonzero(self.rated)[1]
        self.values, self.code = np.unique(ratings[self.rated], return_inverse=True)
        if not self.ordinal:
            self.disagreement = self._disagreement(ratings)

    def _disagreement(self, ratings: Floats) -> Floats:
        """The distances within each item, over the other ratings that it has: (items,).

        ratings: values or, of ordinal ones, ranks: `R[rater, item]`.
        """
        return _within(ratings, self.metric) / self.other_ratings

    def __call__(self, counts: Floats) -> float:
        # How many ratings have each value.
        counts_of_ratings = counts[self.item]
        tally = np.bincount(self.code, counts_of_ratings, len(self.values))
        totals = tally.astype(float)
        places = self.values
        if self.ordinal:
            # The distance between two ordered values is how many ratings lie between
            # them, so it differs by resample. Places are mid-ranks.
            places = np.cumsum(totals) - totals / 2
            ranks = self.ratings.copy()
            ranks[self.rated] = places[self.code]
            disagreement = self._disagreement(ranks)
        else:
            disagreement = self.disagreement
        expected = chance_distance(places, totals, totals, self.metric)
        if expected <= 0:
            return NAN
        # 1 - D_o / D_e, with D_o = observed / n and D_e = expected / (n (n - 1)).
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
    """How far two values are apart, one by one.

    metric: nominal (0 or 1), linear (the difference) or quadratic (its square).

    Example:
        >>> distances(np.array([1.0, 2.0]), np.array([1.0, 4.0]), "quadratic")
        array([0., 4.])
    """
    if metric == "nominal":
        return (first != second).astype(float)
    if metric == "linear":
        return np.abs(first - second)
    return np.asarray((first - second) ** 2)


def chance_distance(values: Floats, p: Floats, q: Floats, metric: str) -> float:
    """The distance of each pair of values times `p` of the one and `q` of the other,
    summed over all pairs.

    values: (values,), in ascending order.
    p, q: (values,), counts or shares of each value, of two raters or of all.
    metric: as `distances`.

    Example:
        >>> chance_distance(np.array([1.0, 3.0]), np.ones(2), np.ones(2), "linear")
        4.0
    """
    if metric == "nominal":
        every = p.sum() * q.sum()
        equal = (p * q).sum()
        return float(every - equal)
    occurring = np.flatnonzero((p > 0) | (q > 0))
    if not len(occurring):
        return 0.0
    x = values[occurring] - values[occurring[0]]
    p = p[occurring]
    q = q[occurring]
    if metric == "linear":
        # Each gap between neighbours counts for all pairs that lie across it.
        below_p = np.cumsum(p)[:-1]
        below_q = np.cumsum(q)[:-1]
        above_p = p.sum() - below_p
        above_q = q.sum() - below_q
        across = below_p * above_q + below_q * above_p
        return float(across @ np.diff(x))
    # sum p q (x - y)^2 multiplied out; about the mean, so that few digits are lost.
    weights = p + q
    mean = weights @ x / weights.sum()
    x = x - mean
    squares = p.sum() * (q @ x**2)
    squares = squares + q.sum() * (p @ x**2)
    cross = 2 * (p @ x) * (q @ x)
    return float(squares - cross)
