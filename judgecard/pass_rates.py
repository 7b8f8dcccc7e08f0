"""Each system's pass rate when a judge says pass or fail and is sometimes wrong, for
systems that nobody rated, too, as long as the judge errs with them as with the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgeval_lib.statistics import arrays
from nlgeval_lib.statistics.classical import special
from nlgeval_lib.statistics.result import NAN, Floats, Interval, Measured, Result

if TYPE_CHECKING:
    import pandas as pd

# rated outputs that pass, or fail, below which the judge's errors are not known
FEW_LABELS = 10


@dataclass(frozen=True, repr=False)
class PassRate(Measured):
    """The share of a system's outputs that people would pass, in [0, 1]; NaN with a
    reason where the judge scored none of them or is no better than chance.

    apparent: the share that the judge passes. n: outputs that the judge scored.
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

    sensitivity, specificity: share of the outputs that people pass (fail) which the
        judge passes (fails), too.
    n_passed, n_failed: rated and judged outputs that pass, and that fail.
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
        return self._fields("sensitivity", "specificity", "n_passed", "n_failed")

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

    The errors are assumed to be the same for every system; `estimate` assumes nothing
    of it where every system has labels.

    judge, human: 1 pass, 0 fail, NaN where there is no verdict or rating; `X[system,
        input]`, or flat for one system.
    Raises: ValueError for other values, names that do not fit, no rated output that
        passes, or none that fails.
    Source: Rogan and Gladen 1978; Lang and Reiczigel 2014, section 2.
    """
    arrays.share(confidence, "confidence")
    verdicts, ratings = _passes(judge, human)
    names = arrays.unit_names(names, len(verdicts), "systems")
    judged = ~np.isnan(verdicts)
    # 1 where the judge is right, of the outputs that people pass, and that they fail
    passed = verdicts[judged & (ratings == 1)]
    failed = 1 - verdicts[judged & (ratings == 0)]
    counts = len(passed), len(failed)
    if 0 in counts:
        raise ValueError(
            f"human: {counts[0]} rated outputs pass and {counts[1]} fail; "
            "the judge's errors need some of both"
        )
    rates = []
    for name, row in zip(names, verdicts, strict=True):
        rates.append(_rate(name, row, passed, failed, confidence))
    errors = float(passed.mean()), float(failed.mean())
    return PassRates(names, tuple(rates), *errors, *counts, _few(*counts))


def _passes(judge: Any, human: Any) -> list[Floats]:
    """Verdicts and ratings, each `[system, input]`, checked to be 1, 0 or NaN."""
    checked = []
    sides = arrays.alike(judge=judge, human=human)
    for name, values in zip(("judge", "human"), sides, strict=True):
        wrong = np.setdiff1d(values[~np.isnan(values)], (0, 1))
        if len(wrong):
            raise ValueError(f"{name}: got {wrong[0]:g}; pass 1 for pass, 0 for fail")
        checked.append(np.atleast_2d(values))
    return checked


def _few(passed: int, failed: int) -> str:
    """That the labels of one kind are too few to know the judge's errors; else ""."""
    least = min(passed, failed)
    if least >= FEW_LABELS:
        return ""
    kind = "passed" if passed == least else "failed"
    return f"{least} rated outputs {kind}: how often the judge errs there is not known"


def _rate(
    name: str, verdicts: Floats, passed: Floats, failed: Floats, confidence: float
) -> PassRate:
    """One system's rate from its verdicts and where the judge is right (1) of rated
    outputs that pass, and that fail.
    """
    own = verdicts[~np.isnan(verdicts)]
    apparent = float(own.mean()) if len(own) else NAN
    # Youden's index: 0 for a judge that guesses.
    informed = float(passed.mean() + failed.mean() - 1)
    reason = ""
    if not len(own):
        reason = "the judge scored no output"
    elif informed <= 0:
        reason = "the judge tells passed from failed outputs no better than chance"
    value = low = high = NAN
    if not reason:
        value = (apparent + float(failed.mean()) - 1) / informed
        low, high = _lang_reiczigel(own, passed, failed, confidence)
    settings = arrays.confidence_setting(confidence)
    interval = Interval(low, high, "lang-reiczigel", settings, reason=reason)
    value = float(np.clip(value, 0, 1))
    return PassRate(value, name, apparent, len(own), interval, reason)


def _lang_reiczigel(
    verdicts: Floats, passed: Floats, failed: Floats, confidence: float
) -> tuple[float, float]:
    """The interval of a rate, (low, high), cut at [0, 1].

    Source: Lang and Reiczigel 2014, section 2.
    """
    z = float(special.ndtri((1 + confidence) / 2))
    # Shares with pseudo-observations, so that none is 0 or 1: z^2 verdicts of the
    # judge, 2 of each error rate.
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
    low, high = np.clip([rate + shift - reach, rate + shift + reach], 0, 1)
    return float(low), float(high)
