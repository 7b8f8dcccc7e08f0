"""Values measured on repeated random splits of the same data: their mean, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from . import checks


@dataclass(frozen=True)
class Resampled:
    """The mean over splits, its interval, and a two-sided p-value that it is `null`.

    value, low, high: in the unit of the values; p: in [0, 1]; NaN with a reason where not defined.
    """

    value: float
    low: float
    high: float
    p: float
    sd: float
    n_splits: int
    n_train: float
    n_test: float
    null: float
    confidence: float
    reason: str = ""

    def signature(self) -> str:
        """What was computed, in one line."""
        text = f"mean-of-splits:{self.n_splits}|ci:resampled-t({self.n_test:g}/{self.n_train:g})"
        if self.confidence != 0.95:
            text += f"|conf:{checks.exactly(self.confidence)}"
        return text + (f"|null:{checks.exactly(self.null)}" if self.null else "")


def resampled_t(values: Any, n_train: float, n_test: float, null: float = 0.0, confidence: float = 0.95) -> Resampled:
    """What do values on repeated train-test splits say, where the splits share their data?

    values: one a split, of a quality or of a difference between two models. The splits overlap, so their spread is
    too small for an ordinary t-test: the variance of the mean is taken as (1 / splits + n_test / n_train) s^2.
    n_train, n_test: rows (or documents) on each side of a split.
    Raises: ValueError for no value or NaN among them, and sizes below 1 and what is no finite number.
    Source: Nadeau and Bengio 2003, Inference for the Generalization Error, section 3.
    """
    found = checks.vector(values, "values")
    checks.between(confidence, "confidence")
    if np.isnan(found).any():
        raise ValueError(f"values: got {len(found)}, {int(np.isnan(found).sum())} of them NaN; pass one number a split")
    n_train, n_test = (checks.number(size, name, 1) for size, name in ((n_train, "n_train"), (n_test, "n_test")))
    null = checks.number(null, "null")
    mean, number = float(found.mean()), len(found)
    nan = float("nan")
    common = dict(n_splits=number, n_train=n_train, n_test=n_test, null=null, confidence=confidence)
    if number < 2:
        return Resampled(mean, nan, nan, nan, nan, reason="one split has no spread", **common)
    rounding = 8 * np.finfo(float).eps * max(float(np.abs(found).max()), abs(null))
    if np.ptp(found) <= rounding:
        p = 1.0 if abs(mean - null) <= rounding else nan
        why = "all splits gave one value: the interval has no width, and a difference cannot be tested"
        return Resampled(mean, mean, mean, p, 0.0, reason=why, **common)
    sd = float(found.std(ddof=1))
    error = float(sd * np.sqrt(1 / number + n_test / n_train))
    reach = float(stats.t.ppf(0.5 + confidence / 2, number - 1)) * error
    p = float(2 * stats.t.sf(abs(mean - null) / error, number - 1))
    return Resampled(mean, mean - reach, mean + reach, p, sd, **common)
