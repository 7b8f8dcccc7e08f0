"""How many outputs people must rate until an interval is as narrow as is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays
from .classical import special
from .result import NAN, Result


@dataclass(frozen=True, repr=False)
class LabelPlan(Result):
    """Labels a system for an interval of a wanted width; NaN with a reason where no
    number of these inputs is enough.

    alone: labels without a judge, more than there are inputs where so many would be
    needed. narrowest: the width with every input labelled.
    """

    width: float
    labels: float
    alone: float
    narrowest: float
    inputs: int
    confidence: float
    reason: str = ""

    def answer(self) -> dict[str, Any]:
        names = ("width", "labels", "alone", "inputs")
        return {name: getattr(self, name) for name in names}

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
    """How many of a system's outputs must people rate, before any are rated?

    width: of the interval, from end to end. sd: of ratings of one system. correlation:
    of the judge with ratings within a system, in [-1, 1]. inputs: that the judge
    scores.
    Raises: ValueError for numbers outside these ranges.
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
    """The fewest labels of a system for an interval of a width.

    The variance is residual / labels + shared with a judge, alone / labels without.
    Raises: ValueError for a width that is not above 0, a confidence outside (0, 1).
    """
    arrays.number(width, "width", np.nextafter(0, 1))
    arrays.share(confidence, "confidence")
    labels = float(_fewest(width, residual, shared, confidence))
    needed_alone = float(_fewest(width, alone, 0.0, confidence))
    narrowest = _width(inputs, alone, 0.0, confidence)
    reason = ""
    # With everything rated the judge adds nothing.
    labels = min(labels, needed_alone)
    if labels > inputs:
        labels = NAN
        reason = (
            f"with all {inputs} inputs rated the interval is {narrowest:.3g} wide: "
            "more inputs are needed"
        )
    return LabelPlan(
        width=width,
        labels=labels,
        alone=needed_alone,
        narrowest=narrowest,
        inputs=inputs,
        confidence=confidence,
        reason=reason,
    )


def _width(
    labels: float,
    residual: float,
    shared: float,
    confidence: float,
) -> float:
    """The width of the interval with so many labels."""
    quantile = special.stdtrit(labels - 1, (1 + confidence) / 2)
    variance = max(residual / labels + shared, 0.0)
    return float(2 * quantile * np.sqrt(variance))


def _fewest(
    width: float,
    residual: float,
    shared: float,
    confidence: float,
) -> float:
    """The fewest labels, at least 2, whose interval is no wider; infinity where none
    is.
    """
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
