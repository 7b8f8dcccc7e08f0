"""Closed-form tests and intervals for correlations. All assume i.i.d. items, which matrices of outputs are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from . import checks

ASSUMES = "iid-rows"
NO_VARIANCE = "no test: the correlations leave no variance to compare with"


@dataclass(frozen=True)
class Classical:
    """One closed-form test. df is NaN for a normal statistic; p is NaN with a reason where not defined."""

    test: str
    statistic: float
    df: float
    p: float
    alternative: str
    n: int
    reason: str = ""

    def signature(self) -> str:
        """What was computed, in one line, with what it takes for granted."""
        return f"test:{self.test}|alt:{self.alternative}|n:{self.n}|assumes:{ASSUMES}"


def williams(r_first: float, r_second: float, r_between: float, n: int, alternative: str = "two-sided") -> Classical:
    """Do two judges' correlations with the same ratings differ, given how the judges correlate with each other?

    r_first, r_second: each judge with the ratings; r_between: the judges with each other; all in [-1, 1]. n: items.
    Raises: ValueError for a correlation outside [-1, 1], n < 4 or an unknown alternative.

    Source: Williams 1959, as recommended by Steiger 1980; for metrics Graham and Baldwin 2014.
    """
    _check(alternative, n, 4, r_first, r_second, r_between)
    determinant = _determinant(r_first, r_second, r_between)
    if impossible := _impossible("williams", alternative, n, n - 3.0, determinant):
        return impossible
    mean = (r_first + r_second) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r_between) ** 3
    if not below > 0:
        return _undefined("williams", alternative, n, n - 3.0)
    t = (r_first - r_second) * np.sqrt((n - 1) * (1 + r_between) / below)
    return Classical("williams", float(t), n - 3.0, _tail(stats.t(n - 3), t, alternative), alternative, n)


def steiger(r_first: float, r_second: float, r_between: float, n: int, alternative: str = "two-sided") -> Classical:
    """The same question on Fisher's z scale, with the dependence taken at the pooled correlation.

    Arguments and errors as `williams`.

    Source: Steiger 1980; Dunn and Clark 1969.
    """
    _check(alternative, n, 4, r_first, r_second, r_between)
    determinant = _determinant(r_first, r_second, r_between)
    if impossible := _impossible("steiger", alternative, n, float("nan"), determinant):
        return impossible
    mean = (r_first + r_second) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = r_between * (1 - 2 * mean**2) - mean**2 * (1 - 2 * mean**2 - r_between**2) / 2
        joint = np.divide(joint, (1 - mean**2) ** 2)
        z = (np.arctanh(r_first) - np.arctanh(r_second)) * np.sqrt((n - 3) / np.float64(2 - 2 * joint))
    if not np.isfinite(z):
        return _undefined("steiger", alternative, n, float("nan"))
    return Classical("steiger", float(z), float("nan"), _tail(stats.norm, z, alternative), alternative, n)


def fisher_test(
    r_first: float, n_first: int, r_second: float, n_second: int, alternative: str = "two-sided"
) -> Classical:
    """Do two correlations from separate, independent samples differ?

    Raises: ValueError for a correlation outside [-1, 1], fewer than 4 items in a sample or an unknown alternative.
    Source: Fisher 1921.
    """
    for n in (n_first, n_second):
        _check(alternative, n, 4, r_first, r_second)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.arctanh(r_first) - np.arctanh(r_second)
    z = gap / np.sqrt(1 / (n_first - 3) + 1 / (n_second - 3))
    if not np.isfinite(z):
        return _undefined("fisher", alternative, n_first + n_second, float("nan"))
    n = n_first + n_second
    return Classical("fisher", float(z), float("nan"), _tail(stats.norm, z, alternative), alternative, n)


def fisher_interval(r: float, n: int, coef: str = "pearson", confidence: float = 0.95) -> tuple[float, float]:
    """Ends of the interval of one correlation from n i.i.d. items; NaN where n is too small or |r| is 1.

    coef: pearson, spearman or kendall-b, each with its own standard error.
    Raises: ValueError for r outside [-1, 1], an unknown coefficient or a confidence outside (0, 1).
    Source: Bonett and Wright 2000.
    """
    checks.choice(coef, ("pearson", "spearman", "kendall-a", "kendall-b"), "coef")
    checks.between(confidence, "confidence")
    _check("two-sided", n, 1, r)
    less, scale = {"pearson": (3, 1.0), "spearman": (3, float(np.sqrt(1 + r**2 / 2)))}.get(coef, (4, np.sqrt(0.437)))
    if n <= less or abs(r) >= 1:
        return float("nan"), float("nan")
    half = stats.norm.ppf((1 + confidence) / 2) * scale / np.sqrt(n - less)
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


def _check(alternative: str, n: int, least: int, *values: float) -> None:
    checks.choice(alternative, ("two-sided", "greater", "less"), "alternative")
    checks.whole(n, "n", low=least)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not -1 <= value <= 1:
            raise ValueError(f"got a correlation of {value!r}; it must lie in [-1, 1]")


def _impossible(test: str, alternative: str, n: int, df: float, determinant: float) -> Classical | None:
    """No test for three correlations that no three columns can have; a hair is left for rounding."""
    if determinant >= -1e-9:
        return None
    return _undefined(test, alternative, n, df, "no test: no three columns can have these correlations together")


def _determinant(r_first: float, r_second: float, r_between: float) -> float:
    return 1 - r_first**2 - r_second**2 - r_between**2 + 2 * r_first * r_second * r_between


def _tail(distribution: object, statistic: float, alternative: str) -> float:
    if alternative == "two-sided":
        return float(2 * distribution.sf(abs(statistic)))
    return float(distribution.sf(statistic) if alternative == "greater" else distribution.cdf(statistic))


def _undefined(test: str, alternative: str, n: int, df: float, reason: str = NO_VARIANCE) -> Classical:
    nan = float("nan")
    return Classical(test, nan, df, nan, alternative, n, reason)
