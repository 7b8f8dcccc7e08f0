"""Each system's pass rate when a judge says pass or fail and is sometimes wrong: for
systems that nobody rated, too, as long as the judge errs with them as with the others.
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

FEW_LABELS = 10


@dataclass(frozen=True, repr=False)
class PassRate(Measured):
    """The share of a system's outputs that people would pass.

    apparent: the share that the judge passes, of n outputs.
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

    sensitivity: share of outputs that people pass and the judge passes, too, of
    n_passed; specificity: the same of those that fail, of n_failed.
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

    judge, human: 1 pass, 0 fail, NaN not there, `X[system, input]` or flat. The judge's
    errors are taken from all rated outputs together: assumed is that they are the same
    for every system. Where every system has labels `estimate` assumes nothing of it.
    Interval: with estimated sensitivity and specificity, cut at [0, 1].
    Raises: ValueError for other values, no rated output that passes, or none that
    fails.
    Source: Rogan and Gladen 1978; Lang and Reiczigel 2014, section 2.
    """
    arrays.share(confidence, "confidence")
    verdicts, ratings = arrays.alike(judge=judge, human=human)
    verdicts = np.atleast_2d(verdicts)
    ratings = np.atleast_2d(ratings)
    for name, values in {"judge": verdicts, "human": ratings}.items():
        others = np.setdiff1d(values[~np.isnan(values)], (0, 1))
        if len(others):
            raise ValueError(f"{name}: got {others[0]:g}; pass 1 for pass, 0 for fail")
    if names is None:
        names = range(1, len(verdicts) + 1)
    if len(names) != len(verdicts):
        raise ValueError(f"names: got {len(names)} for {len(verdicts)} systems")
    judged = ~np.isnan(verdicts)
    passed = verdicts[judged & (ratings == 1)]
    failed = 1 - verdicts[judged & (ratings == 0)]
    if not len(passed) or not len(failed):
        raise ValueError(
            f"human: {len(passed)} rated outputs pass and {len(failed)} fail; "
            "the judge's errors need some of both"
        )
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


def _few(passed: int, failed: int) -> str:
    least = min(passed, failed)
    if least >= FEW_LABELS:
        return ""
    kind = "passed" if passed == least else "failed"
    return f"{least} rated outputs {kind}: how often the judge errs there is not known"


def _rate(
    name: str,
    verdicts: Floats,
    passed: Floats,
    failed: Floats,
    confidence: float,
) -> PassRate:
    """One system's rate from its verdicts and the judge's being right on outputs that
    passed and that failed.
    """
    own = verdicts[~np.isnan(verdicts)]
    n = len(own)
    how = ""
    if confidence != 0.95:
        how = f"|conf:{arrays.exactly(confidence)}"
    if not n:
        no_interval = Interval(name="lang-reiczigel", how=how)
        return PassRate(
            NAN,
            name,
            NAN,
            0,
            no_interval,
            "the judge scored no output",
        )
    apparent = float(own.mean())
    informed = float(passed.mean() + failed.mean() - 1)
    if informed <= 0:
        reason = "the judge tells passed from failed outputs no better than chance"
        no_interval = Interval(name="lang-reiczigel", how=how, reason=reason)
        return PassRate(
            NAN,
            name,
            apparent,
            n,
            no_interval,
            reason,
        )
    value = (apparent + float(failed.mean()) - 1) / informed
    low, high = _lang_reiczigel(own, passed, failed, confidence)
    interval = Interval(low, high, "lang-reiczigel", how)
    return PassRate(
        float(np.clip(value, 0, 1)),
        name,
        apparent,
        n,
        interval,
    )


def _lang_reiczigel(
    verdicts: Floats,
    passed: Floats,
    failed: Floats,
    confidence: float,
) -> tuple[float, float]:
    """The interval of a rate, cut at [0, 1].

    Pseudo-observations are added to all three shares, so that none is 0 or 1.
    """
    z = float(special.ndtri((1 + confidence) / 2))
    n = len(verdicts) + z**2
    apparent = (verdicts.sum() + z**2 / 2) / n
    sensitivity = (passed.sum() + 1) / (len(passed) + 2)
    specificity = (failed.sum() + 1) / (len(failed) + 2)
    of_passed = sensitivity * (1 - sensitivity) / (len(passed) + 2)
    of_failed = specificity * (1 - specificity) / (len(failed) + 2)
    informed = sensitivity + specificity - 1
    if informed <= 0:
        return 0.0, 1.0
    rate = (apparent + specificity - 1) / informed
    shift = 2 * z**2 * (rate * of_passed - (1 - rate) * of_failed)
    variance = apparent * (1 - apparent) / n
    variance += rate**2 * of_passed + (1 - rate) ** 2 * of_failed
    reach = z * np.sqrt(variance) / informed
    low = np.clip(rate + shift - reach, 0, 1)
    high = np.clip(rate + shift + reach, 0, 1)
    return float(low), float(high)
