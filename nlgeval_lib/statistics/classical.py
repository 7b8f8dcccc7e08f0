"""Closed-form tests of correlations, for items drawn independently; `special` is
scipy's module, or the few functions of it that `statistics` needs where that is not
installed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np

from . import arrays
from .result import NAN, Result

try:
    from scipy import special
except ModuleNotFoundError:
    # What takes its place is at the end of this file.
    special = None

# "greater": the first correlation is higher
ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True, repr=False)
class Classical(Result):
    """One closed-form test, williams or fisher, of independent items.

    statistic: t, or z for Fisher's, whose df is NaN.
    p: that the correlations are equal, by the alternative; NaN with a reason.
    n: items, of both samples together.
    """

    test: str
    statistic: float
    df: float
    p: float
    alternative: str
    n: int
    reason: str = ""

    def signature(self) -> str:
        return f"test:{self.test}|alt:{self.alternative}|n:{self.n}|assumes:iid-rows"


def williams(
    r_first: float,
    r_second: float,
    r_between: float,
    n: int,
    alternative: str = "two-sided",
    coef: str = "pearson",
) -> Classical:
    """Do two judges' correlations with the same ratings differ, given how the judges
    correlate with each other?

    r_first, r_second: each judge with the ratings, in [-1, 1].
    r_between: the judges with each other, in [-1, 1].
    n: items, at least 4, independent and near normal.
    alternative: two-sided, greater (the first is higher) or less.
    coef: pearson or spearman; a tau has another error.
    Returns: t with n - 3 degrees of freedom.
    Raises: ValueError for anything else.
    Source: Williams 1959; for metrics Graham and Baldwin 2014.
    """
    for r in (r_first, r_second, r_between):
        arrays.number(r, "correlation", -1, 1)
    arrays.whole(n, "n", low=4)
    arrays.choice(coef, ("pearson", "spearman"), "coef of a test that holds for no tau")
    # of the matrix of the three correlations: below 0 where no columns can have them
    determinant = (
        1 - r_first**2 - r_second**2 - r_between**2 + 2 * r_first * r_second * r_between
    )
    mean = (r_first + r_second) / 2
    # t = (r1 - r2) sqrt((n - 1)(1 + r12) / divisor), with
    # divisor = 2 (n - 1) / (n - 3) |R| + mean^2 (1 - r12)^3.
    divisor = 2 * (n - 1) / (n - 3) * determinant
    divisor = divisor + mean**2 * (1 - r_between) ** 3
    t = NAN
    if divisor > 0:
        ratio = (n - 1) * (1 + r_between) / divisor
        t = (r_first - r_second) * np.sqrt(ratio)
    return _classical("williams", t, n - 3.0, alternative, n, determinant)


def fisher_test(
    r_first: float,
    n_first: int,
    r_second: float,
    n_second: int,
    alternative: str = "two-sided",
) -> Classical:
    """Do two correlations from separate, independent samples differ?

    r_first, r_second: the correlations, in [-1, 1].
    n_first, n_second: items of each sample, at least 4.
    alternative: as `williams`.
    Returns: a normal z; no test (NaN) where a correlation is 1 or -1.
    Raises: ValueError for anything else.
    Source: Fisher 1921.
    """
    for r, n in ((r_first, n_first), (r_second, n_second)):
        arrays.number(r, "correlation", -1, 1)
        arrays.whole(n, "n", low=4)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.arctanh(r_first) - np.arctanh(r_second)
    z = gap / np.sqrt(1 / (n_first - 3) + 1 / (n_second - 3))
    return _classical("fisher", z, NAN, alternative, n_first + n_second)


def _classical(
    test: str,
    statistic: float,
    df: float,
    alternative: str,
    n: int,
    determinant: float = 0.0,
) -> Classical:
    """The test of a statistic; determinant: below 0 where the correlations cannot be."""
    arrays.choice(alternative, ALTERNATIVES, "alternative")
    reason = ""
    if determinant < -1e-9:
        reason = "no test: no three columns can have these correlations together"
    elif not np.isfinite(statistic):
        reason = "no test: the correlations leave no variance to compare with"
    if reason:
        return Classical(test, NAN, df, NAN, alternative, n, reason)
    p = share_of_t(statistic, df, alternative)
    return Classical(test, float(statistic), df, p, alternative, n)


def share_of_t(t: float, df: float, alternative: str) -> float:
    """p of a statistic, by t or, where df is NaN, by the normal law."""
    if alternative == "two-sided":
        return 2 * share_of_t(abs(t), df, "greater")
    if alternative == "greater":
        t = -t
    if np.isnan(df):
        return float(special.ndtr(t))
    return float(special.stdtr(df, t))


# -- without scipy: the same to 1e-12

# the nodes of the quadrature, and how far beyond its lower end each stands
_STEPS = np.linspace(-5, 5, 401)
_BEYOND = np.exp(np.pi / 2 * np.sinh(_STEPS))


def _above(df: float, t: float) -> float:
    """The share of t above t >= 0: exp-sinh quadrature, Takahasi and Mori 1974."""
    weights = _BEYOND * np.cosh(_STEPS)
    # Constants of the density and of the step cancel in the ratio.
    integrals = []
    for start in (t, 0.0):
        squares = (start + _BEYOND) ** 2
        log_density = -(df + 1) / 2 * np.log1p(squares / df)
        integrals.append((np.exp(log_density) * weights).sum())
    above, half = integrals
    return float(above / half / 2)


def _below(df: float, t: float) -> float:
    """The share of t below t; NaN where df is none."""
    if not df > 0 or t != t:
        return NAN
    if t < 0:
        return _above(df, -t)
    return 1 - _above(df, t)


def _quantile(df: float, p: float) -> float:
    """The value with a share p of t below it, 0 < p < 1; NaN where df is none."""
    if not df > 0:
        return NAN
    # Of the absolute value, by bisection to the last bit.
    low = 0.0
    high = 1.0
    share = min(p, 1 - p)
    while _above(df, high) > share:
        low = high
        high = 2 * high
    middle = (low + high) / 2
    while low < middle < high:
        if _above(df, middle) > share:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return math.copysign(high, p - 0.5)


if special is None:
    special = SimpleNamespace(
        stdtr=_below,
        stdtrit=_quantile,
        ndtri=np.vectorize(NormalDist().inv_cdf),  # also of an array, as scipy's
        ndtr=lambda z: math.erfc(-z / math.sqrt(2)) / 2,
    )
