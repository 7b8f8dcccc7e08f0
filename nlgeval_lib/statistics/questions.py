"""Two questions to one estimate: does it hold for these systems, judged on other
inputs, and does it hold for other systems like them? And which systems move it most?

A result that is `Questioned` (`Correlation`, `Comparison`, `Ceiling`) keeps its
`Basis`, the statistic that it was made from, and answers when it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from . import influence, intervals, jackknife
from .groups import Names
from .levels import Statistic
from .result import NAN, Interval, Measured, together

# so wide an interval, of a coefficient from -1 to 1, says hardly anything
EVERYTHING = 1.8
# said of every interval for these systems from ranks of systems
NEARLY_EQUAL = (
    "where systems are nearly equal their ranks say little, and this is too narrow "
    "(as few as .79 held the truth)"
)


@dataclass(frozen=True)
class Answer:
    """What an estimate says about one population.

    low, high: the interval; NaN with a reason where there is none.
    p: of a difference of 0; NaN of one coefficient.
    detectable: the smallest difference that the test finds with power .8; NaN without a
        jackknife.
    careful_low, careful_high: over systems and inputs, for systems unlike these, too
        ("careful-both"); else NaN.
    """

    low: float = NAN
    high: float = NAN
    p: float = NAN
    detectable: float = NAN
    reason: str = ""
    careful_low: float = NAN
    careful_high: float = NAN


@dataclass(frozen=True)
class Basis:
    """What a result was made from: a coefficient, or a difference of two judges, and
    its value on the data. names: of systems and groups of inputs, for `influence`.
    """

    statistic: Statistic
    value: float
    level: str
    coef: str
    names: Names
    difference: bool = False

    def answer(self, units: str, confidence: float, p: float | None = None) -> Answer:
        """The answer by the jackknife over "inputs" (these systems) or by what "auto"
        stands for ("both": other systems); flat data have rows only.

        p: of a test that was made by other means; None to test by this jackknife.
        """
        ci = "auto"
        if self.statistic.present.ndim == 1:
            ci = "jack-rows"
        elif units == "inputs":
            still = intervals.stands_still(self.level, self.coef)
            ci = "wide-inputs" if still else "jack-inputs"
        arguments = self.statistic, self.value, ci, self.level, self.coef
        ends = intervals.compute_interval(
            *arguments, confidence=confidence, difference=self.difference
        )
        detectable = NAN
        reason = ends.reason
        if ci == "wide-inputs":
            reason = together(NEARLY_EQUAL, reason)
        # A jackknife keeps the statistic and its spread as the interval's replicates.
        if self.difference and isinstance(ends.replicates, tuple):
            spread = ends.replicates[1]
            detectable = spread.detectable()
            if p is None:
                p, reason = jackknife.p_value(self.value, spread)
        p = NAN if p is None else p
        answer = Answer(ends.low, ends.high, p, detectable, reason)
        if ends.name != "jack-both":
            return answer
        # What holds for systems unlike these, too: fewer degrees of freedom.
        _, spread, limits = ends.replicates
        careful = replace(spread, careful=True)
        wider = jackknife.interval(self.value, careful, confidence, limits)
        return replace(answer, careful_low=wider.low, careful_high=wider.high)

    def influence(self, ends: Interval, p: float = NAN) -> influence.Influence | None:
        """The units that move the estimate most; None where there are too few.

        ends, p: the interval and the p-value of the result; NaN for one coefficient.
        """
        # How far from 0 a difference must be to be significant, where it was.
        reach = NAN
        if p <= 0.05:
            if np.isnan(ends.low):
                others = self.answer("both", ends.confidence)
                ends = Interval(others.low, others.high)
            reach = (ends.high - ends.low) / 2
        if not self.difference and ends.name.endswith(("-inputs", "-rows")):
            # It says nothing of other systems.
            ends = Interval()
        return influence.find_influence(
            self.statistic, self.value, self.names, ends, reach
        )


class Questioned(Measured):
    """A result that answers further questions, by what it was made from; None as its
    basis for a result that was made without one, and answers nothing.
    """

    basis: Basis | None

    def answer(self) -> dict[str, Any]:
        """As of every result; the interval for these systems comes before the one for
        other systems where that holds nearly everything.
        """
        answer = super().answer()
        these = self.these_systems if self.high - self.low >= EVERYTHING else None
        if these is None or np.isnan(these.low):
            return answer
        ends = {"low_these": these.low, "high_these": these.high}
        ordered: dict[str, Any] = {}
        for name, value in answer.items():
            if name == "low":
                ordered |= ends
            ordered[name] = value
        return ordered

    @cached_property
    def influence(self) -> influence.Influence | None:
        """What the value is without the one or two systems, families or topics that
        move it most; None where there are too few.
        """
        if self.basis is None:
            return None
        return self.basis.influence(self.interval, getattr(self, "p", NAN))

    @cached_property
    def these_systems(self) -> Answer | None:
        """What the value says about these systems, judged on other inputs; None for
        flat data.
        """
        if self.basis is None or self.basis.statistic.present.ndim == 1:
            return None
        return self.basis.answer("inputs", self.interval.confidence)

    @cached_property
    def other_systems(self) -> Answer | None:
        """What the value says about other systems and inputs that spread as these do;
        of flat data, about other items.
        """
        if self.basis is None:
            return None
        p = None
        test, _, _ = getattr(self, "test", "").partition("|")
        of_systems = self.basis.level == "system" and test == "jack-systems"
        if of_systems or test.startswith(("exact", "perm")):
            p = getattr(self, "p", None)
        return self.basis.answer("both", self.interval.confidence, p)
