"""How far raters agree with each other: Krippendorff's alpha; and what all measures of
agreement share.

Ratings are `R[rater, item]` or `R[rater, system, input]`, NaN missing. A measure is a
function of how often each item counts, which `measured` makes an `Agreement` of, with
an interval about other items, or systems and inputs, and these raters. Items that share
inputs or systems are not independent: docs/statistics.md has what that costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, groups, intervals
from .draws import NO_GROUPS, Draws, Groups
from .levels import Statistic
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured

# how far two values are apart, by Krippendorff's names
METRICS = ("nominal", "ordinal", "interval")
# the reason where agreement is not defined
EQUAL = "all ratings are equal: chance alone explains them"
# from how often each item counts, (items,), to a number
OfCounts = Callable[[Floats], float]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Agreement(Measured):
    """One agreement coefficient: 1 is perfect, 0 what chance would give; NaN with a
    reason where not defined.

    name: of the coefficient, such as alpha-nominal.
    n, n_left_out: items with at least two ratings, and the others.
    n_raters: raters, or sides that are compared.
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


class OfItems(Statistic):
    """A function of how often each item counts, as a statistic that can be resampled
    or have units left out.
    """

    def __init__(
        self, of_counts: OfCounts, present: Flags, groups: Groups = NO_GROUPS
    ) -> None:
        self.of_counts = of_counts
        self.present = present
        self.groups = groups

    def counts(self, drawn: Draws) -> Floats:
        """How often each item that takes part counts in each resample: (items, b)."""
        places = np.flatnonzero(self.present)
        return drawn.of_items(places, self.present.shape[-1]).astype(float)

    def values(self, drawn: Draws) -> Floats:
        counts = self.counts(drawn)
        return np.array([self.of_counts(column) for column in counts.T])


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

    ratings: as this module; items with fewer than two ratings are left out.
    metric: how far two values are apart: nominal (equal or not), ordinal (by how many
        ratings lie between them), interval (by their squared difference).
    ci, n_boot, seed, confidence: the interval, as `intervals.compute_interval` says.
    system_groups, input_groups: families and topics, as in `correlate`.
    Raises: ValueError for bad arrays, no item with two ratings, an unknown metric or
        interval, and labels of groups that do not fit.
    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.
    """
    arrays.choice(metric, METRICS, "metric")
    table = arrays.ratings_by_rater(ratings)
    rated_twice = (~np.isnan(table)).sum(axis=0) >= 2
    if not rated_twice.any():
        raise ValueError(
            "ratings: no item has two ratings; agreement needs at least one that has"
        )
    # Rescaled, so that squares neither overflow nor vanish.
    alpha = _Alpha(arrays.rescaled(table[:, rated_twice]), metric)
    grouped = groups.encode_groups(rated_twice.shape, system_groups, input_groups)
    settings = ci, n_boot, seed, confidence, grouped
    name = f"alpha-{metric}"
    return measured(alpha, rated_twice, name, EQUAL, *settings, n_raters=len(table))


def measured(
    of_counts: OfCounts,
    present: Flags,
    name: str,
    undefined: str,
    *settings: Any,
    n_raters: int = 2,
) -> Agreement:
    """A function of how often each item counts, with its interval.

    present: which items take part, shaped like the data.
    undefined: the reason where there is no value.
    settings: as `interval_of`, from `ci` on.
    """
    n = int(present.sum())
    value = float(of_counts(np.ones(n)))
    ends = interval_of(of_counts, present, value, *settings)
    reason = undefined if np.isnan(value) else ends.reason
    return Agreement(value, name, n, n_raters, present.size - n, ends, reason)


def interval_of(
    of_counts: OfCounts,
    present: Flags,
    value: float,
    ci: str | bool | None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    grouped: Groups = NO_GROUPS,
) -> Interval:
    """The interval of a function of how often each item counts, as
    `intervals.compute_interval`; value: the function's where each counts once.
    """
    statistic = OfItems(of_counts, present, grouped)
    settings = n_boot, seed, confidence
    return intervals.compute_interval(
        statistic, value, ci, "dataset", "agreement", *settings
    )


class _Alpha:
    """Krippendorff's alpha as a function of how often each item is drawn; NaN where
    chance leaves no disagreement.

    ratings: `R[rater, item]`, at least two of each item. metric: one of `METRICS`.
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
        """The distances between the ratings (or ranks) of each item, over ordered pairs
        and by the other ratings that it has: (items,).
        """
        out = np.zeros(ratings.shape[1])
        for a, b in combinations(ratings, 2):
            absent = np.isnan(a) | np.isnan(b)
            out += np.where(absent, 0.0, distances(a, b, self.metric))
        return 2 * out / self.other_ratings

    def __call__(self, counts: Floats) -> float:
        # How many ratings have each value.
        tally = np.bincount(self.code, counts[self.item], len(self.values))
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
        return 1 - (totals.sum() - 1) * (counts @ disagreement) / expected


def distances(first: Floats, second: Floats, metric: str) -> Floats:
    """How far two values are apart, one by one: nominal (0 or 1), linear (the
    difference) or quadratic (its square).
    """
    if metric == "nominal":
        return (first != second).astype(float)
    if metric == "linear":
        return np.abs(first - second)
    return np.asarray((first - second) ** 2)


def chance_distance(values: Floats, p: Floats, q: Floats, metric: str) -> float:
    """The distance of each pair of values times `p` of the one and `q` of the other,
    summed over all pairs.

    values: in ascending order. p, q: counts or shares of each. All (values,).
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
        # Each gap between neighbours counts for all pairs that lie across it.
        below_p = np.cumsum(p)[:-1]
        below_q = np.cumsum(q)[:-1]
        across = below_p * (q.sum() - below_q) + below_q * (p.sum() - below_p)
        return float(across @ np.diff(x))
    # sum p q (x - y)^2 multiplied out; about the mean, so that few digits are lost.
    weights = p + q
    x = x - weights @ x / weights.sum()
    squares = p.sum() * (q @ x**2) + q.sum() * (p @ x**2)
    return float(squares - 2 * (p @ x) * (q @ x))
