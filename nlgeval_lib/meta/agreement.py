"""How far raters agree with each other.

Ratings come as `R[rater, item]`, NaN where a rater did not rate an item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from . import arrays, draws, intervals
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured

METRICS = ("nominal", "ordinal", "interval")
EQUAL = "all ratings are equal: chance alone explains them"
ICC_KINDS = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")


@dataclass(frozen=True, repr=False)
class Agreement(Measured):
    """One agreement coefficient: 1 is perfect, 0 what chance would give; NaN with a
    reason where not defined.

    n: items with at least two ratings. n_left_out: the other items. low, high: interval
    over resampled items (ICC: from the F distribution).
    """

    value: float
    name: str
    n: int
    n_raters: int
    n_left_out: int
    interval: Interval = NO_INTERVAL
    reason: str = ""

    def signature(self) -> str:
        counts = f"raters:{self.n_raters}|items:{self.n}|left-out:{self.n_left_out}"
        return f"agree:{self.name}|{counts}{self.interval.signature()}"


def krippendorff_alpha(
    ratings: Any,
    metric: str = "interval",
    ci: bool = False,
    n_boot: int = 1000,
    seed: int = 0,
) -> Agreement:
    """How much more do raters agree than chance, for any number of raters and any gaps?

    ratings: `R[rater, item]`, NaN missing. metric: how far two values are apart:
    nominal, ordinal, interval.
    ci: bootstrap over items.
    Raises: ValueError for bad arrays, no item with two ratings.
    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.
    """
    arrays.choice(metric, METRICS, "metric")
    every = arrays.floats(ratings, "ratings", "rater, item")
    size = (~np.isnan(every)).sum(axis=0)
    shared = arrays.rescaled(every[:, size >= 2])
    rated = ~np.isnan(shared)
    size = size[size >= 2].astype(float)
    if not len(size):
        raise ValueError(
            "ratings: no item has two ratings; agreement needs at least one that has"
        )
    values, code = np.unique(shared[rated], return_inverse=True)
    item = np.nonzero(rated)[1]
    nominal = metric == "nominal"
    observed = None
    if metric != "ordinal":
        observed = _within(shared, nominal) / (size - 1)

    def alpha(counts: Floats) -> float:
        totals = np.bincount(code, counts[item], len(values)).astype(float)
        places = values
        disagreement = observed
        if disagreement is None:
            # The distance between two ordered values is how many ratings lie between
            # them, so it differs by resample.
            places = np.cumsum(totals) - totals / 2
            ranks = shared.copy()
            ranks[rated] = places[code]
            disagreement = _within(ranks, nominal) / (size - 1)
        expected = _between(places, totals, totals, nominal)
        if expected <= 0:
            return NAN
        return 1 - (totals.sum() - 1) * (counts @ disagreement) / expected

    value = float(alpha(np.ones(len(size))))
    ends = NO_INTERVAL
    if ci:
        n_boot = arrays.whole(n_boot, "n_boot")
        seed = arrays.whole(seed, "seed", low=0)
        ends = _over_items(alpha, len(size), value, n_boot, seed)
    return Agreement(
        value=value,
        name=f"alpha-{metric}",
        n=len(size),
        n_raters=len(every),
        n_left_out=every.shape[1] - len(size),
        interval=ends,
        reason=EQUAL if np.isnan(value) else ends.reason,
    )


def _over_items(
    statistic: Callable[[Floats], float],
    items: int,
    value: float,
    n_boot: int,
    seed: int,
) -> Interval:
    """The percentile interval of a statistic of how often each item is drawn."""
    replicates = []
    for chunk in draws.resamples((items,), "rows", n_boot, seed):
        assert chunk.rows is not None
        for counts in chunk.rows.T:
            replicates.append(statistic(counts.astype(float)))
    ends = intervals.percentile(np.array(replicates), value)
    return replace(
        ends,
        name="boot-items",
        how=f"/{n_boot}|seed:{seed}",
        replicates=np.array(replicates),
    )


def weighted_kappa(
    first: Any, second: Any, scale: Sequence[float] | None = None
) -> Agreement:
    """How much more do two raters agree than their own habits would give by chance,
    distances squared?

    first, second: flat, NaN missing. scale: all values that could be given; those seen
    when None.
    Raises: ValueError for unequal shapes, values off the scale, no common item.
    Source: Cohen 1968.
    """
    a, b = arrays.alike(first=first, second=second)
    present = ~(np.isnan(arrays.floats(a, "first", "item")) | np.isnan(b))
    if not present.any():
        raise ValueError(
            f"got no common item of {len(a)}; both raters must have rated at least one"
        )
    both = np.stack([a[present], b[present]])
    name = "kappa-quadratic"
    if scale is not None:
        allowed = np.unique(arrays.floats(scale, "scale", "value"))
        off = np.setdiff1d(both, allowed)
        if len(off):
            values_on_scale = ", ".join(f"{value:g}" for value in allowed)
            raise ValueError(
                f"got {off[0]:g}, which is not on the scale {values_on_scale}"
            )
        name += f"({','.join(map(arrays.exactly, allowed))})"
    values, codes = np.unique(arrays.rescaled(both), return_inverse=True)
    codes = codes.reshape(both.shape)
    n = both.shape[1]
    p = np.bincount(codes[0], minlength=len(values)).astype(float)
    q = np.bincount(codes[1], minlength=len(values)).astype(float)
    expected = _between(values, p, q)
    apart = float(((values[codes[0]] - values[codes[1]]) ** 2).sum())
    value = 1 - n * apart / expected if expected > 0 else NAN
    return Agreement(
        value,
        name,
        n,
        2,
        len(a) - n,
        reason=EQUAL if np.isnan(value) else "",
    )


def icc(ratings: Any, kind: str = "2,1") -> Agreement:
    """What share of the variance of ratings is between items, not between raters or
    noise?

    ratings: `R[rater, item]`; items that a rater left out are dropped and counted.
    kind: "1,1" raters differ by item, "2,1" raters are a sample (absolute agreement),
    "3,1" these raters only (consistency); "1,k", "2,k", "3,k" the same for the mean of
    all raters.
    Raises: ValueError for fewer than 2 raters or 2 complete items, an unknown kind.
    Source: Shrout and Fleiss 1979; intervals as in McGraw and Wong 1996.
    """
    arrays.choice(kind, ICC_KINDS, "kind")
    every = arrays.rescaled(arrays.floats(ratings, "ratings", "rater, item"))
    complete = ~np.isnan(every).any(axis=0)
    data = every[:, complete].T
    # Large ratings lose digits otherwise.
    data = data - data[:1, :1]
    n, k = data.shape
    if k < 2 or n < 2:
        raise ValueError(
            f"ratings: got {k} rater(s) and {n} complete item(s); "
            "at least 2 of each are needed"
        )
    grand = data.mean()
    rows = k * ((data.mean(axis=1) - grand) ** 2).sum() / (n - 1)
    columns = n * ((data.mean(axis=0) - grand) ** 2).sum() / (k - 1)
    total = ((data - grand) ** 2).sum()
    within = (total - rows * (n - 1)) / (n * (k - 1))
    residual = total - rows * (n - 1) - columns * (k - 1)
    error = residual / ((n - 1) * (k - 1))
    rounding = 1e-14 * total
    if not within > rounding:
        within = 0.0
    if not error > rounding:
        error = 0.0
    counts = f"icc({kind})", n, k, int((~complete).sum())
    if total <= 1e-24 * max((every[:, complete] ** 2).sum(), 1e-300):
        return Agreement(
            NAN,
            *counts,
            reason="all ratings are equal: there is no variance to share out",
        )
    value, low, high = map(float, _icc(kind, rows, columns, error, within, n, k))
    if not value <= 1 + 1e-9 or value == -np.inf:
        return Agreement(
            NAN,
            *counts,
            reason="the variance that is to be shared out is estimated as 0 or less",
        )
    if not (np.isfinite(low) and np.isfinite(high)):
        low = high = NAN
    reason = ""
    if np.isnan(low):
        reason = (
            "no interval: the variance between items or the error is estimated as 0"
        )
    return Agreement(value, *counts, Interval(low, high, "f"), reason)


def _icc(
    kind: str, rows: float, columns: float, error: float, within: float, n: int, k: int
) -> tuple[float, float, float]:
    from scipy import special

    tail = 0.975
    single = kind[2] == "1"
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind[0] == "2":
            noise = k * (columns - error) / n
            value = (rows - error) / (rows + (k - 1) * error + noise)
            ratio = np.float64(columns) / error
            spread = n * (1 + (k - 1) * value) - k * value
            df: Any = (k - 1) * (n - 1) * (k * value * ratio + spread) ** 2
            df /= (n - 1) * k**2 * value**2 * ratio**2 + spread**2
            if error == 0 and value != 0:
                # The limit for an error that goes to 0.
                df = k - 1
            upper = special.fdtri(n - 1, df, tail)
            lower = special.fdtri(df, n - 1, tail)
            others_share = k * columns + (k * n - k - n) * error
            low = n * (rows - upper * error) / (upper * others_share + n * rows)
            high = n * (lower * rows - error) / (others_share + n * lower * rows)
            if not single:
                value = (rows - error) / (rows + (columns - error) / n)
        else:
            noise = error
            df = (n - 1) * (k - 1)
            if kind[0] == "1":
                noise = within
                df = n * (k - 1)
            value = (rows - noise) / (rows + (k - 1) * noise)
            ratio = np.float64(rows) / noise
            low = _from_f(ratio / special.fdtri(n - 1, df, tail), k)
            high = _from_f(ratio * special.fdtri(df, n - 1, tail), k)
            if not single:
                value = _of_mean(value, k)
        if not single:
            low = _of_mean(low, k)
            high = _of_mean(high, k)
    return value, low, high


def _from_f(f: float, k: int) -> float:
    """The coefficient of a single rater with this F statistic."""
    if not np.isfinite(f):
        return 1.0
    return (f - 1) / (f + k - 1)


def _of_mean(value: float, k: int) -> float:
    """The coefficient of the mean of k raters from that of a single one."""
    return k * value / (1 + (k - 1) * value)


def _within(ratings: Floats, nominal: bool) -> Floats:
    """The distances between the ratings of each item, `R[rater, item]`, summed over
    ordered pairs: (items,).
    """
    out = np.zeros(ratings.shape[1])
    for a, b in combinations(ratings, 2):
        gaps = (a != b).astype(float) if nominal else (a - b) ** 2
        out += np.where(np.isnan(a) | np.isnan(b), 0.0, gaps)
    return 2 * out


def _between(values: Floats, p: Floats, q: Floats, nominal: bool = False) -> float:
    """The distance (squared, or 0 and 1) of each pair of values times `p` of the one
    and `q` of the other, summed.
    """
    if nominal:
        return float(p.sum() * q.sum() - (p * q).sum())
    occurring = np.flatnonzero((p > 0) | (q > 0))
    if not len(occurring):
        return 0.0
    x = values[occurring] - values[occurring[0]]
    p = p[occurring]
    q = q[occurring]
    x = x - (p + q) @ x / (p + q).sum()
    squares = p.sum() * (q @ x**2) + q.sum() * (p @ x**2)
    return float(squares - 2 * (p @ x) * (q @ x))
