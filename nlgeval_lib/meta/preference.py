"""Does a judge favour one system, such as its own model's, beyond what people see?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays, jackknife
from .agreement import OfItems
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured


@dataclass(frozen=True, repr=False)
class SelfPreference(Measured):
    """How much higher a judge scores its own systems than people's ratings explain, on
    the judge's scale.

    value: the effect; NaN with a reason where it is not defined.
    in_sd: the effect over the standard deviation of the judge's scores.
    others: the same effect of each other system in turn, as if it were the judge's own.
    p: share of systems, the own one among them, whose effect is as far from 0.
    n: outputs with a score and a rating.
    interval: of the effect, over other inputs.
    reason: why the value or the interval is NaN, or what to be careful about.
    """

    value: float
    in_sd: float
    others: tuple[float, ...]
    p: float
    n: int
    interval: Interval = NO_INTERVAL
    reason: str = ""

    def signature(self) -> str:
        counts = f"others:{len(self.others)}|n:{self.n}"
        return f"bias:self-preference|{counts}{self.interval.signature()}"


def self_preference(
    judge: Any,
    human: Any,
    own: Sequence[int],
    confidence: float = 0.95,
) -> SelfPreference:
    """How much does a judge favour its own systems?

    On the other systems' outputs the judge's scores are regressed on the ratings; the
    effect is the own outputs' mean distance from that line. The scatter that other
    systems show in the same way is what a difference must exceed: the interval is about
    inputs, p about systems (least: 1 over their number).

    judge, human: scores and ratings, `X[system, input]`, NaN missing.
    own: numbers of the rows, from 0, that are the judge's own systems.
    confidence: of the interval, in (0, 1).
    Raises: ValueError for bad arrays, rows that are not there, fewer than 3 others.
    Source: after Panickssery, Bowman and Feng 2024, who compare without ratings.
    """
    arrays.share(confidence, "confidence")
    x, y = arrays.alike(judge=judge, human=human)
    rows = _own_rows(own, x)
    # From here on flat: one entry an output that has both, with its system's number.
    present = ~(np.isnan(x) | np.isnan(y))
    scores = x[present]
    ratings = y[present]
    system = np.nonzero(present)[0]
    is_own = np.isin(system, rows)
    effect = _Effect(scores, ratings, is_own)
    value = effect(np.ones(len(system)))
    placebos = _in_its_place(scores[~is_own], ratings[~is_own], system[~is_own])
    spread = jackknife.spread(OfItems(effect, present), "inputs")
    ends = jackknife.interval(value, spread, confidence, (-np.inf, np.inf))
    sd = float(scores.std(ddof=1))
    p = NAN
    reason = "people's ratings of the others, or the own outputs, do not vary"
    if not np.isnan(value):
        # The own system counts among those that are as far from 0.
        as_far = sum(abs(placebo) >= abs(value) for placebo in placebos)
        p = (1 + as_far) / (1 + len(placebos))
        reason = ends.reason
    return SelfPreference(
        value=value,
        in_sd=value / sd if sd > 0 else NAN,
        others=tuple(placebos),
        p=p,
        n=len(system),
        interval=ends,
        reason=reason,
    )


def _own_rows(own: Sequence[int], scores: Floats) -> list[int]:
    """The rows of the judge's own systems, ascending.

    Raises: ValueError for flat scores, no row, rows that are not there, fewer than 3
        others.
    """
    if scores.ndim != 2:
        raise ValueError("judge: pass X[system, input]")
    systems = len(scores)
    rows = sorted({arrays.whole(row, "own", low=0) for row in own})
    others = systems - len(rows)
    if not rows or rows[-1] >= systems or others < 3:
        raise ValueError(
            f"own: got rows {rows} of {systems} systems; at least 3 others are needed"
        )
    return rows


def _in_its_place(scores: Floats, ratings: Floats, system: Any) -> list[float]:
    """The effect of each system in turn, as if it were the judge's own.

    scores, ratings, system: (outputs,), without the judge's own systems.
    """
    effects = []
    for number in np.unique(system):
        placebo = _Effect(scores, ratings, system == number)
        effects.append(placebo(np.ones(len(system))))
    return effects


class _Effect:
    """The mean distance of own outputs from the line of the others, as a function of
    how often each output counts; NaN without a line or own outputs.

    scores, ratings: (outputs,).
    own: which outputs are the judge's own, (outputs,).
    """

    def __init__(
        self,
        scores: Floats,
        ratings: Floats,
        own: Any,
    ) -> None:
        self.scores = scores
        self.ratings = ratings
        self.own = own

    def __call__(self, counts: Floats) -> float:
        weights = np.where(self.own, 0.0, counts)
        of_own = np.where(self.own, counts, 0.0)
        if not weights.sum() > 0 or not of_own.sum() > 0:
            return NAN
        # The line of the others: weighted least squares of scores on ratings.
        mean_score = np.average(self.scores, weights=weights)
        mean_rating = np.average(self.ratings, weights=weights)
        centred = self.ratings - mean_rating
        squares = weights @ centred**2
        if not squares > 0:
            return NAN
        products = weights @ (centred * (self.scores - mean_score))
        slope = products / squares
        distance = self.scores - mean_score - slope * centred
        return float(np.average(distance, weights=of_own))
