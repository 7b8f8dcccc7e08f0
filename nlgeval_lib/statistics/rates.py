"""Each system's pass rate when a judge says pass or fail and is sometimes wrong: for
systems that nobody rated, too, as long as the judge errs with them as with the others.

`pass_rates` learns from the rated outputs how often the judge is right, and corrects
the share that it passes of each system: a `PassRates` with one `PassRate` a system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays
from .classical import special
from .result import NAN, Floats, Interval, Measured, Result

if TYPE_CHECKING:
    import pandas as pd

# rated outputs that pass, or fail, below which the judge's errors are not known
FEW_LABELS = 10


@dataclass(frozen=True, repr=False)
class PassRate(Measured):
    """The share of a system's outputs that people would pass.

    value: in [0, 1]; NaN with a reason where the judge scored no output of the system
        or is no better than chance.
    name: of the system.
    apparent: the share that the judge passes, in [0, 1].
    n: outputs that the judge scored.
    interval: of the value, within [0, 1].
    reason: why the value is NaN.
    """

    value: float
    name: str
    apparent: float
    n: int
    interval: Interval
    reason: str = ""

    def signature(self) -> str:
        return f"pass-rate:rogan-gladen|outputs:{self.n}{self.interval.signature()}"


@dataclass(frozen=True, repr=False)
class PassRates(Result):
    """Pass rates of systems, corrected for a judge's errors.

    names: of the systems.
    rates: one a system.
    sensitivity: share of the outputs that people pass which the judge passes, too.
    specificity: share of the outputs that people fail which the judge fails, too.
    n_passed, n_failed: rated and judged outputs that pass, and that fail.
    reason: that one of them is below `FEW_LABELS`; else "".
    """

    names: tuple[str, ...]
    rates: tuple[PassRate, ...]
    sensitivity: float
    specificity: float
    n_passed: int
    n_failed: int
    reason: str = ""

    def to_frame(self) -> pd.DataFrame:
        """A row a system."""
        import pandas as pd

        return pd.DataFrame([rate.row() for rate in self.rates])

    def answer(self) -> dict[str, Any]:
        names = ("sensitivity", "specificity", "n_passed", "n_failed")
        return {name: getattr(self, name) for name in names}

    def signature(self) -> str:
        labels = f"labels:{self.n_passed}+{self.n_failed}"
        return f"pass-rate:rogan-gladen|systems:{len(self.names)}|{labels}"


def pass_rates(
    judge: Any,
    human: Any,
    names: Sequence[Any] | None = None,
    confidence: float = 0.95,
) -> PassRates:
    """What share of each system's outputs would people pass, given the judge's verdicts
    and its errors on the outputs that they rated?

    The judge's errors are taken from all rated outputs together: assumed is that they
    are the same for every system. Where every system has labels `estimate` assumes
    nothing of it. The intervals take the judge's sensitivity and specificity as
    estimated, too, and are cut at [0, 1].

    judge, human: 1 pass, 0 fail, NaN where there is no verdict or rating; `X[system,
        input]`, or flat for one system.
    names: one a system; numbers from 1 when None.
    confidence: of the intervals, in (0, 1).
    Raises: ValueError for other values, names that do not fit, no rated output that
        passes, or none that fails.
    Source: Rogan and Gladen 1978; Lang and Reiczigel 2014, section 2.

    Example:
        >>> human = [1] * 10 + [0] * 10
        >>> judge = [1] * 9 + [0] + [1] * 2 + [0] * 8
        >>> rates = pass_rates(judge, human)
        >>> rates.sensitivity, rates.specificity
        (0.9, 0.8)
        >>> rates.rates[0].apparent, round(float(rates.rates[0]), 2)
        (0.55, 0.5)
    """
    arrays.share(confidence, "confidence")
    verdicts, ratings = _passes(judge, human)
    if names is None:
        names = range(1, len(verdicts) + 1)
    if len(names) != len(verdicts):
        raise ValueError(f"names: got {len(names)} for {len(verdicts)} systems")
    passed, failed = _right(verdicts, ratings)
    rates = []
    for name, row in zip(names, verdicts, strict=True):
        rates.append(_rate(str(name), row, passed, failed, confidence))
    return PassRates(
        names=tuple(map(str, names)),
        rates=tuple(rates),
        sensitivity=float(passed.mean()),
        specificity=float(failed.mean()),
        n_passed=len(passed),
        n_failed=len(failed),
        reason=_few(len(passed), len(failed)),
    )


def _passes(judge: Any, human: Any) -> list[Floats]:
    """Verdicts and ratings, each `[system, input]`, checked to be 1, 0 or NaN.

    Raises: ValueError for bad arrays and other values.
    """
    checked = []
    sides = arrays.alike(judge=judge, human=human)
    for name, values in zip(("judge", "human"), sides, strict=True):
        wrong = np.setdiff1d(values[~np.isnan(values)], (0, 1))
        if len(wrong):
            raise ValueError(f"{name}: got {wrong[0]:g}; pass 1 for pass, 0 for fail")
        checked.append(np.atleast_2d(values))
    return checked


def _right(verdicts: Floats, ratings: Floats) -> tuple[Floats, Floats]:
    """1 where the judge is right, else 0, of the rated outputs that people pass and of
    those that they fail.

    Raises: ValueError where there are none of either.
    """
    judged = ~np.isnan(verdicts)
    passed = verdicts[judged & (ratings == 1)]
    failed = 1 - verdicts[judged & (ratings == 0)]
    if not len(passed) or not len(failed):
        raise ValueError(
            f"human: {len(passed)} rated outputs pass and {len(failed)} fail; "
            "the judge's errors need some of both"
        )
    return passed, failed


def _few(passed: int, failed: int) -> str:
    """That the labels of one kind are too few to know the judge's errors; else ""."""
    least = min(passed, failed)
    if least >= FEW_LABELS:
        return ""
    kind = "failed"
    if passed == least:
        kind = "passed"
    return f"{least} rated outputs {kind}: how often the judge errs there is not known"


def _rate(
    name: str,
    verdicts: Floats,
    passed: Floats,
    failed: Floats,
    confidence: float,
) -> PassRate:
    """One system's rate from its verdicts and the judge's errors.

    verdicts: of one system, 1, 0 or NaN.
    passed, failed: 1 where the judge is right, of rated outputs that pass and that
        fail.
    """
    own = verdicts[~np.isnan(verdicts)]
    n = len(own)
    settings = ""
    if confidence != 0.95:
        settings = f"|conf:{arrays.exactly(confidence)}"
    if not n:
        reason = "the judge scored no output"
        no_interval = Interval(name="lang-reiczigel", settings=settings)
        return PassRate(NAN, name, NAN, 0, no_interval, reason)
    apparent = float(own.mean())
    sensitivity = passed.mean()
    specificity = failed.mean()
    # Youden's index: 0 for a judge that guesses.
    informed = float(sensitivity + specificity - 1)
    if informed <= 0:
        reason = "the judge tells passed from failed outputs no better than chance"
        no_interval = Interval(name="lang-reiczigel", settings=settings, reason=reason)
        return PassRate(NAN, name, apparent, n, no_interval, reason)
    value = (apparent + float(specificity) - 1) / informed
    low, high = _lang_reiczigel(own, passed, failed, confidence)
    interval = Interval(low, high, "lang-reiczigel", settings)
    return PassRate(float(np.clip(value, 0, 1)), name, apparent, n, interval)


def _lang_reiczigel(
    verdicts: Floats,
    passed: Floats,
    failed: Floats,
    confidence: float,
) -> tuple[float, float]:
    """The interval of a rate, (low, high), cut at [0, 1].

    Pseudo-observations are added to all three shares, so that none is 0 or 1.

    verdicts: of one system, without NaN.
    passed, failed: 1 where the judge is right, of rated outputs that pass and that
        fail.
    Source: Lang and Reiczigel 2014, section 2.
    """
    z = float(special.ndtri((1 + confidence) / 2))
    # Shares with pseudo-observations: z^2 verdicts of the judge, 2 of each error rate.
    n = len(verdicts) + z**2
    apparent = (verdicts.sum() + z**2 / 2) / n
    sensitivity = (passed.sum() + 1) / (len(passed) + 2)
    specificity = (failed.sum() + 1) / (len(failed) + 2)
    of_passed = sensitivity * (1 - sensitivity) / (len(passed) + 2)
    of_failed = specificity * (1 - specificity) / (len(failed) + 2)
    informed = sensitivity + specificity - 1
    if informed <= 0:
        return 0.0, 1.0
    # The corrected rate, the interval's shift to the middle, and its variance by the
    # delta method.
    rate = (apparent + specificity - 1) / informed
    shift = 2 * z**2 * (rate * of_passed - (1 - rate) * of_failed)
    variance = apparent * (1 - apparent) / n
    variance += rate**2 * of_passed + (1 - rate) ** 2 * of_failed
    reach = z * np.sqrt(variance) / informed
    low = np.clip(rate + shift - reach, 0, 1)
    high = np.clip(rate + shift + reach, 0, 1)
    return float(low), float(high)
