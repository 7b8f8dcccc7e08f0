"""What share of the variance of ratings is between items: intraclass correlations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from . import arrays, groups
from .agreement import Agreement, interval_of
from .result import NAN, Floats, Interval

ICC_KINDS = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")


def icc(
    ratings: Any,
    kind: str = "2,1",
    ci: str | bool | None = "auto",
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Agreement:
    """What share of the variance of ratings is between items, not between raters or
    noise?

    ratings: `R[rater, item]` or `R[rater, system, input]`; items that a rater left out
    are dropped and counted.
    kind: "1,1" raters differ by item, "2,1" raters are a sample (absolute agreement),
    "3,1" these raters only (consistency); "1,k", "2,k", "3,k" the same for the mean of
    all raters. ci: "f", for independent items; else as in `correlate`; "auto" is "f"
    for a flat list.
    Raises: ValueError for fewer than 2 raters or 2 complete items, an unknown kind or
    interval.
    Source: Shrout and Fleiss 1979; intervals as in McGraw and Wong 1996.
    """
    arrays.choice(kind, ICC_KINDS, "kind")
    arrays.share(confidence, "confidence")
    given = arrays.floats(ratings, "ratings", "rater, item", "rater, system, input")
    table = arrays.rescaled(given)
    complete = np.asarray(~np.isnan(table).any(axis=0))
    data = table[:, complete].T
    n, k = data.shape
    if k < 2 or n < 2:
        raise ValueError(
            f"ratings: got {k} rater(s) and {n} complete item(s); "
            "at least 2 of each are needed"
        )
    result = Agreement(
        NAN,
        f"icc({kind})",
        n,
        k,
        int((~complete).sum()),
    )
    variances = _mean_squares(data)
    if variances.total <= 1e-24 * max((data**2).sum(), 1e-300):
        return replace(result, reason="all ratings are equal: no variance to share out")
    value, low, high = map(float, _icc(kind, variances, n, k, confidence))
    if not value <= 1 + 1e-9 or value == -np.inf:
        reason = "the variance that is to be shared out is estimated as 0 or less"
        return replace(result, reason=reason)
    grouped = groups.of(complete.shape, system_groups, input_groups)
    if ci == "f" or (ci in ("auto", True) and table.ndim == 2 and not grouped):
        ends = _from_f_distribution(low, high, confidence)
    else:
        settings = (ci, n_boot, seed, confidence, grouped)
        ends = interval_of(_OfComplete(data, kind), complete, value, *settings)
    return replace(result, value=value, interval=ends, reason=ends.reason)


def _from_f_distribution(low: float, high: float, confidence: float) -> Interval:
    """The interval from the F distribution, or the reason that there is none."""
    how = ""
    if confidence != 0.95:
        how = f"|conf:{arrays.exactly(confidence)}"
    if np.isfinite(low) and np.isfinite(high):
        return Interval(low, high, "f", how)
    reason = "no interval: the variance between items or the error is estimated as 0"
    return Interval(name="f", how=how, reason=reason)


class _OfComplete:
    """The coefficient as a function of how often each item counts, `data[item, rater]`;
    NaN where it is not defined.
    """

    def __init__(self, data: Floats, kind: str) -> None:
        self.data = data
        self.kind = kind

    def __call__(self, counts: Floats) -> float:
        places = np.arange(len(self.data))
        drawn = self.data[np.repeat(places, counts.astype(int))]
        n, k = drawn.shape
        if n < 2:
            return NAN
        variances = _mean_squares(drawn)
        if variances.total <= 0:
            return NAN
        return float(_icc(self.kind, variances, n, k, 0.95)[0])


class _MeanSquares(NamedTuple):
    """The analysis of variance of `data[item, rater]`.

    rows: between items. columns: between raters. within: within items. error: what
    items and raters leave over. total: sum of squares around the mean.
    """

    rows: float
    columns: float
    within: float
    error: float
    total: float


def _mean_squares(data: Floats) -> _MeanSquares:
    """The mean squares of complete data; what is only rounding is 0."""
    n, k = data.shape
    # Large ratings lose digits otherwise.
    data = data - data[:1, :1]
    grand = data.mean()
    items = data.mean(axis=1) - grand
    raters = data.mean(axis=0) - grand
    rows = k * (items**2).sum() / (n - 1)
    columns = n * (raters**2).sum() / (k - 1)
    total = ((data - grand) ** 2).sum()
    within = (total - rows * (n - 1)) / (n * (k - 1))
    residual = total - rows * (n - 1) - columns * (k - 1)
    error = residual / ((n - 1) * (k - 1))
    rounding = 1e-14 * total
    if not within > rounding:
        within = 0.0
    if not error > rounding:
        error = 0.0
    return _MeanSquares(rows, columns, within, error, total)


def _icc(
    kind: str,
    variances: _MeanSquares,
    n: int,
    k: int,
    confidence: float,
) -> tuple[float, float, float]:
    """The coefficient of a kind and the ends of its interval; of n items and k raters."""
    tail = round((1 + confidence) / 2, 15)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind[0] == "2":
            single = _icc_of_sampled_raters(variances, n, k, tail)
        elif kind[0] == "1":
            single = _icc_from_f(
                variances.rows, variances.within, n, n * (k - 1), k, tail
            )
        else:
            df = (n - 1) * (k - 1)
            single = _icc_from_f(variances.rows, variances.error, n, df, k, tail)
        if kind[2] == "1":
            return single
        value, low, high = [_of_mean(coefficient, k) for coefficient in single]
        if kind[0] == "2":
            between_raters = variances.columns - variances.error
            signal = variances.rows - variances.error
            value = signal / (variances.rows + between_raters / n)
    return value, low, high


def _icc_from_f(
    rows: float,
    noise: float,
    n: int,
    df: int,
    k: int,
    tail: float,
) -> tuple[float, float, float]:
    """The coefficient of a single rater, and its ends from the F statistic.

    rows: mean square between n items; noise: that of the noise, with df degrees of
    freedom.
    """
    from scipy import special

    value = (rows - noise) / (rows + (k - 1) * noise)
    ratio = np.float64(rows) / noise
    low = _from_f(ratio / special.fdtri(n - 1, df, tail), k)
    high = _from_f(ratio * special.fdtri(df, n - 1, tail), k)
    return value, low, high


def _icc_of_sampled_raters(
    variances: _MeanSquares,
    n: int,
    k: int,
    tail: float,
) -> tuple[float, float, float]:
    """The coefficient of a single rater who is one of a sample, and its ends.

    Source: McGraw and Wong 1996, with Satterthwaite's degrees of freedom.
    """
    from scipy import special

    rows = variances.rows
    columns = variances.columns
    error = variances.error
    noise = k * (columns - error) / n
    value = (rows - error) / (rows + (k - 1) * error + noise)
    ratio = np.float64(columns) / error
    spread = n * (1 + (k - 1) * value) - k * value
    of_raters = k * value * ratio
    df: Any = (k - 1) * (n - 1) * (of_raters + spread) ** 2
    df /= (n - 1) * of_raters**2 + spread**2
    if error == 0 and value != 0:
        # The limit for an error that goes to 0.
        df = k - 1
    upper = special.fdtri(n - 1, df, tail)
    lower = special.fdtri(df, n - 1, tail)
    raters_share = k * columns + (k * n - k - n) * error
    low = n * (rows - upper * error)
    low = low / (upper * raters_share + n * rows)
    high = n * (lower * rows - error)
    high = high / (raters_share + n * lower * rows)
    return value, low, high


def _from_f(f: float, k: int) -> float:
    """The coefficient of a single rater with this F statistic."""
    if not np.isfinite(f):
        return 1.0
    return (f - 1) / (f + k - 1)


def _of_mean(value: float, k: int) -> float:
    """The coefficient of the mean of k raters from that of a single one."""
    return k * value / (1 + (k - 1) * value)
