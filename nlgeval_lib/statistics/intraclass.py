"""What share of the variance of ratings is between items: intraclass correlations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from . import arrays, groups
from .agreement import Agreement, interval_of
from .result import NAN, Floats, Interval

# design (1, 2, 3), then what is rated: by one rater (1) or by the mean of all (k)
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
    """What share of the variance of ratings is between items, not raters or noise?

    ratings: `R[rater, item]` or `R[rater, system, input]`, NaN missing; items that a
        rater left out are dropped and counted.
    kind: "1,1" raters differ by item, "2,1" raters are a sample (absolute agreement),
        "3,1" these raters only (consistency); "1,k", "2,k", "3,k" the same for the mean
        of all raters.
    ci: "f", the interval from the F distribution, for independent items; else as in
        `correlate`; "auto" is "f" for a flat list without groups.
    n_boot, seed, confidence, system_groups, input_groups: as in `correlate`.
    Returns: at most 1; NaN with a reason where all ratings are equal, or the variance
        to be shared out is estimated as 0 or less.
    Raises: ValueError for bad arrays or groups, fewer than 2 raters or 2 complete
        items, an unknown kind or interval.
    Source: Shrout and Fleiss 1979; intervals as in McGraw and Wong 1996.
    """
    arrays.choice(kind, ICC_KINDS, "kind")
    arrays.share(confidence, "confidence")
    table = arrays.rescaled(arrays.ratings_by_rater(ratings))
    complete = np.asarray(~np.isnan(table).any(axis=0))
    data = table[:, complete].T
    n, k = data.shape
    if k < 2 or n < 2:
        raise ValueError(
            f"ratings: got {k} rater(s) and {n} complete item(s); "
            "at least 2 of each are needed"
        )
    result = Agreement(NAN, f"icc({kind})", n, k, complete.size - n)
    value, low, high, reason = _estimate(data, kind, confidence)
    if reason:
        return replace(result, reason=reason)
    # The F interval treats items as independent, so unasked it serves flat lists only.
    grouped = groups.encode_groups(complete.shape, system_groups, input_groups)
    independent = table.ndim == 2 and not grouped
    if ci == "f" or (ci in ("auto", True) and independent):
        ends = _from_f_distribution(low, high, confidence)
    else:
        settings = (ci, n_boot, seed, confidence, grouped)
        ends = interval_of(_OfComplete(data, kind), complete, value, *settings)
    return replace(result, value=value, interval=ends, reason=ends.reason)


def _estimate(
    data: Floats, kind: str, confidence: float
) -> tuple[float, float, float, str]:
    """The coefficient of complete `data[item, rater]` and the ends of its F interval,
    or three NaN and the reason.
    """
    n, k = data.shape
    variances = _mean_squares(data)
    # Ratings that differ by rounding only have nothing to share out.
    if variances.total <= 1e-24 * max((data**2).sum(), 1e-300):
        return NAN, NAN, NAN, "all ratings are equal: no variance to share out"
    value, low, high = map(float, _icc(kind, variances, n, k, confidence))
    if not value <= 1 + 1e-9 or value == -np.inf:
        reason = "the variance that is to be shared out is estimated as 0 or less"
        return NAN, NAN, NAN, reason
    return value, low, high, ""


def _from_f_distribution(low: float, high: float, confidence: float) -> Interval:
    """The interval from the F distribution, or the reason that there is none."""
    settings = arrays.confidence_setting(confidence)
    if np.isfinite(low) and np.isfinite(high):
        return Interval(low, high, "f", settings)
    reason = "no interval: the variance between items or the error is estimated as 0"
    return Interval(name="f", settings=settings, reason=reason)


class _OfComplete:
    """The coefficient of complete `data[item, rater]` as a function of how often each
    item counts; NaN for fewer than two items, or equal ratings.
    """

    def __init__(self, data: Floats, kind: str) -> None:
        self.data = data
        self.kind = kind

    def __call__(self, counts: Floats) -> float:
        drawn = np.repeat(self.data, counts.astype(int), axis=0)
        n, k = drawn.shape
        if n < 2:
            return NAN
        variances = _mean_squares(drawn)
        if variances.total <= 0:
            return NAN
        return float(_icc(self.kind, variances, n, k, 0.95)[0])


class _MeanSquares(NamedTuple):
    """Mean squares between items and between raters, within items, and of what items
    and raters leave over; and the sum of squares around the mean of all.
    """

    rows: float
    columns: float
    within: float
    error: float
    total: float


def _mean_squares(data: Floats) -> _MeanSquares:
    """The mean squares of complete data `[item, rater]`; what is only rounding is 0."""
    n, k = data.shape
    # Large ratings lose digits otherwise.
    data = data - data[:1, :1]
    grand = data.mean()
    items = data.mean(axis=1) - grand
    raters = data.mean(axis=0) - grand
    rows = k * (items**2).sum() / (n - 1)
    columns = n * (raters**2).sum() / (k - 1)
    # What the items leave over is within them; less the raters' part it is error.
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
    kind: str, variances: _MeanSquares, n: int, k: int, confidence: float
) -> tuple[float, float, float]:
    """The coefficient of a kind, of n items and k raters, and the ends of its interval,
    not finite where an F statistic is not defined.
    """
    design, _, unit = kind.partition(",")
    tail = round((1 + confidence) / 2, 15)
    # Where the noise is 0 the ratios are infinite or NaN, and so are the ends.
    with np.errstate(divide="ignore", invalid="ignore"):
        if design == "2":
            single = _icc_of_sampled_raters(variances, n, k, tail)
        else:
            noise = variances.within if design == "1" else variances.error
            df = (n if design == "1" else n - 1) * (k - 1)
            single = _icc_from_f(variances.rows, noise, n, df, k, tail)
        if unit == "1":
            return single
        value, low, high = [_of_mean(coefficient, k) for coefficient in single]
        if design == "2":
            # The same number by McGraw and Wong's own formula for the mean.
            between_raters = variances.columns - variances.error
            signal = variances.rows - variances.error
            value = signal / (variances.rows + between_raters / n)
    return value, low, high


def _of_mean(value: float, k: int) -> float:
    """The coefficient of the mean of k raters (Spearman and Brown)."""
    return k * value / (1 + (k - 1) * value)


def _icc_from_f(
    rows: float, noise: float, n: int, df: int, k: int, tail: float
) -> tuple[float, float, float]:
    """The coefficient of a single rater, and its ends from the F statistic.

    rows: mean square between n items.
    noise: mean square of the noise, with df degrees of freedom.
    tail: the quantile of the upper end, .975 for 95 %.
    """
    from scipy import special

    value = (rows - noise) / (rows + (k - 1) * noise)
    ratio = np.float64(rows) / noise
    ends = []
    for f in (
        ratio / special.fdtri(n - 1, df, tail),
        ratio * special.fdtri(df, n - 1, tail),
    ):
        ends.append((f - 1) / (f + k - 1) if np.isfinite(f) else 1.0)
    return value, ends[0], ends[1]


def _icc_of_sampled_raters(
    variances: _MeanSquares, n: int, k: int, tail: float
) -> tuple[float, float, float]:
    """The coefficient of a single rater who is one of a sample, and its ends.

    Source: McGraw and Wong 1996, with Satterthwaite's degrees of freedom.
    """
    from scipy import special

    rows = variances.rows
    columns = variances.columns
    error = variances.error
    # The noise is that of raters and error: k (MSC - MSE) / n in the divisor.
    noise = k * (columns - error) / n
    value = (rows - error) / (rows + (k - 1) * error + noise)
    # Degrees of freedom of the noise, which joins raters and error.
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
    # The coefficient's formula, with the mean square of items at either F limit.
    raters_share = k * columns + (k * n - k - n) * error
    low = n * (rows - upper * error) / (upper * raters_share + n * rows)
    high = n * (lower * rows - error) / (raters_share + n * lower * rows)
    return value, low, high
