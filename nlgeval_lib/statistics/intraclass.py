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
    variances = _mean_squares(data)
    # Ratings that differ by rounding only have nothing to share out.
    if variances.total <= 1e-24 * max((data**2).sum(), 1e-300):
        reason = "all ratings are equal: no variance to share out"
        return replace(result, reason=reason)
    value = _icc(kind, variances, n, k)
    if not value <= 1 + 1e-9 or value == -np.inf:
        reason = "the variance that is to be shared out is estimated as 0 or less"
        return replace(result, reason=reason)
    # The F interval treats items as independent, so unasked it serves flat lists only.
    grouped = groups.encode_groups(complete.shape, system_groups, input_groups)
    independent = table.ndim == 2 and not grouped
    if ci == "f" or (ci in ("auto", True) and independent):
        ends = _f_interval(kind, variances, n, k, confidence)
    else:

        def of_counts(counts: Floats) -> float:
            drawn = np.repeat(data, counts.astype(int), axis=0)
            if len(drawn) < 2:
                return NAN
            variances = _mean_squares(drawn)
            return _icc(kind, variances, len(drawn), k) if variances.total > 0 else NAN

        settings = (ci, n_boot, seed, confidence, grouped)
        ends = interval_of(of_counts, complete, value, *settings)
    return replace(result, value=value, interval=ends, reason=ends.reason)


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


def _icc(kind: str, variances: _MeanSquares, n: int, k: int) -> float:
    """The coefficient of n items and k raters; not finite where there is none."""
    noise = variances.within if kind[0] == "1" else variances.error
    raters = (variances.columns - noise) / n if kind[0] == "2" else 0.0
    signal = np.float64(variances.rows - noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind[-1] == "k":
            return float(signal / (variances.rows + raters))
        return float(signal / (variances.rows + (k - 1) * noise + k * raters))


def _f_interval(
    kind: str, variances: _MeanSquares, n: int, k: int, confidence: float
) -> Interval:
    """The interval from the F distribution, or the reason that there is none.

    Source: McGraw and Wong 1996, with Satterthwaite's degrees of freedom where raters
    are a sample.
    """
    from scipy import special

    tail = round((1 + confidence) / 2, 15)
    rows = np.float64(variances.rows)
    noise = variances.within if kind[0] == "1" else variances.error
    df: Any = (n if kind[0] == "1" else n - 1) * (k - 1)
    # Where the noise is 0 the ratios are infinite or NaN, and so are the ends.
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind[0] == "2":
            value = _icc("2,1", variances, n, k)
            spread = n * (1 + (k - 1) * value) - k * value
            of_raters = k * value * (np.float64(variances.columns) / noise)
            df = (k - 1) * (n - 1) * (of_raters + spread) ** 2
            df /= (n - 1) * of_raters**2 + spread**2
            if noise == 0 and value != 0:
                # The limit for an error that goes to 0.
                df = k - 1
        # The coefficient's formula, with the mean square of items at either F limit.
        ends = []
        for limit in (
            1 / special.fdtri(n - 1, df, tail),
            special.fdtri(df, n - 1, tail),
        ):
            at_limit = variances._replace(rows=rows * limit)
            ends.append(_icc(f"{kind[0]},1", at_limit, n, k))
        if kind[-1] == "k":
            # Spearman and Brown
            ends = [k * end / (1 + (k - 1) * end) for end in ends]
    settings = arrays.confidence_setting(confidence)
    if np.isfinite(ends).all():
        low, high = ends
        return Interval(low, high, "f", settings)
    reason = "no interval: the variance between items or the error is estimated as 0"
    return Interval(name="f", settings=settings, reason=reason)
