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

    others: the same of each other system in turn; p: share of systems, the own one
    among them, that are as far from 0. low, high: over other inputs. in_sd: the effect
    over the judge's standard deviation.
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

    judge, human: `X[system, input]`, NaN missing. own: numbers of the rows that are the
    judge's own. On the other systems' outputs the judge's scores are regressed on the
    ratings; the effect is the own outputs' mean distance from that line. The scatter
    that other systems show in the same way is what a difference must exceed: the
    interval is about inputs, p about systems (least: 1 over their number).
    Raises: ValueError for bad arrays, rows that are not there, fewer than 3 others.
    Source: after Panickssery, Bowman and Feng 2024, who compare without ratings.
    """
    arrays.share(confidence, "confidence")
    x, y = arrays.alike(judge=judge, human=human)
    if x.ndim != 2:
        raise ValueError("judge: pass X[system, input]")
    rows = sorted({arrays.whole(row, "own", low=0) for row in own})
    if not rows or rows[-1] >= len(x) or len(x) - len(rows) < 3:
        raise ValueError(
            f"own: got rows {rows} of {len(x)} systems; at least 3 others are needed"
        )
    present = ~(np.isnan(x) | np.isnan(y))
    system = np.nonzero(present)[0]
    effect = _Effect(x[present], y[present], np.isin(system, rows))
    value = effect(np.ones(len(system)))
    kept = ~effect.own
    others = _in_its_place(x[present][kept], y[present][kept], system[kept])
    spread = jackknife.spread(OfItems(effect, present), "inputs")
    ends = jackknife.interval(value, spread, confidence, (-np.inf, np.inf))
    as_far = sum(abs(other) >= abs(value) for other in others)
    sd = float(x[present].std(ddof=1))
    reason = ends.reason
    if np.isnan(value):
        reason = "people's ratings of the others, or the own outputs, do not vary"
    return SelfPreference(
        value=value,
        in_sd=value / sd if sd > 0 else NAN,
        others=tuple(others),
        p=(1 + as_far) / (1 + len(others)) if value == value else NAN,
        n=len(system),
        interval=ends,
        reason=reason,
    )


def _in_its_place(scores: Floats, ratings: Floats, system: Any) -> list[float]:
    """The effect of each system in turn, as if it were the judge's own."""
    effects = []
    for other in np.unique(system):
        placebo = _Effect(scores, ratings, system == other)
        effects.append(placebo(np.ones(len(system))))
    return effects


class _Effect:
    """The mean distance of own outputs from the line of the others, as a function of
    how often each output counts; NaN without a line or own outputs.
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
        score = np.average(self.scores, weights=weights)
        rating = np.average(self.ratings, weights=weights)
        centred = self.ratings - rating
        squares = weights @ centred**2
        if not squares > 0:
            return NAN
        slope = (weights @ (centred * (self.scores - score))) / squares
        distance = self.scores - score - slope * centred
        return float(np.average(distance, weights=of_own))
