"""How many outputs people must rate until an interval is as narrow as is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nlgeval_lib.statistics import arrays
from nlgeval_lib.statistics.classical import special
from nlgeval_lib.statistics.result import NAN, Result


@dataclass(frozen=True, repr=False)
class LabelPlan(Result):
    """Labels a system for an interval of a wanted width.

    width: from end to end, in units of the ratings.
    labels: outputs of a system that people must rate, at least 2; NaN with a reason
        where no number of these inputs is enough.
    alone: labels without a judge; infinity where no number is enough.
    inputs: that the judge scores.
    """

    width: float
    labels: float
    alone: float
    inputs: int
    confidence: float
    reason: str = ""

    def answer(self) -> dict[str, Any]:
        return self._fields("width", "labels", "alone", "inputs")

    def signature(self) -> str:
        confidence = arrays.exactly(self.confidence)
        width = arrays.exactly(self.width)
        return f"plan:labels|width:{width}|inputs:{self.inputs}|conf:{confidence}"


def plan_labels(
    width: float,
    sd: float,
    correlation: float,
    inputs: int,
    confidence: float = 0.95,
) -> LabelPlan:
    """How many of a system's outputs must people rate, before any are rated? The judge
    scores every input, and its scores stand in for ratings by regression.

    width: of the interval for the system's mean rating, from end to end.
    sd: standard deviation of the ratings of one system.
    correlation: of the judge with the ratings within a system, in [-1, 1].
    inputs: that the judge scores, at least 2.
    confidence: of the interval, in (0, 1).
    Raises: ValueError for numbers outside these ranges, and for a width or an sd that
        is not above 0.
    Source: Cochran 1977, equation 12.67 (double sampling with regression).
    """
    variance = arrays.number(sd, "sd", np.nextafter(0, 1)) ** 2
    explained = arrays.number(correlation, "correlation", -1, 1) ** 2
    inputs = arrays.whole(inputs, "inputs", low=2)
    return fewest_labels(
        width,
        residual=variance * (1 - explained),
        shared=variance * explained / inputs,
        alone=variance,
        inputs=inputs,
        confidence=confidence,
    )


def fewest_labels(
    width: float,
    *,
    residual: float,
    shared: float,
    alone: float,
    inputs: int,
    confidence: float,
) -> LabelPlan:
    """The fewest labels of a system for an interval of a width, from end to end. The
    variance of the system's mean is `residual / labels + shared` with a judge,
    `alone / labels` without.

    Raises: ValueError for a width that is not above 0, a confidence outside (0, 1).
    """
    arrays.number(width, "width", np.nextafter(0, 1))
    arrays.share(confidence, "confidence")
    needed_alone = float(_fewest(width, alone, 0.0, confidence))
    # With everything rated the judge adds nothing.
    labels = min(float(_fewest(width, residual, shared, confidence)), needed_alone)
    reason = ""
    if labels > inputs:
        narrowest = _width(inputs, alone, 0.0, confidence)
        labels = NAN
        reason = (
            f"with all {inputs} inputs rated the interval is {narrowest:.3g} wide: "
            "more inputs are needed"
        )
    return LabelPlan(width, labels, needed_alone, inputs, confidence, reason)


def _width(labels: float, residual: float, shared: float, confidence: float) -> float:
    """The width of the interval, by t with labels - 1 degrees of freedom."""
    quantile = special.stdtrit(labels - 1, (1 + confidence) / 2)
    variance = max(residual / labels + shared, 0.0)
    return float(2 * quantile * np.sqrt(variance))


def _fewest(width: float, residual: float, shared: float, confidence: float) -> float:
    """The fewest labels, at least 2, whose interval is no wider."""
    # Double until a number is enough, then halve the range in which the fewest lies.
    low = 2
    high = 2
    while _width(high, residual, shared, confidence) > width:
        low = high
        high *= 2
        if high > 2**40:
            return np.inf
    while low < high:
        middle = (low + high) // 2
        if _width(middle, residual, shared, confidence) > width:
            low = middle + 1
        else:
            high = middle
    return low
