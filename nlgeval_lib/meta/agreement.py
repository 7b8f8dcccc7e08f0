"""How far raters agree with each other.

Ratings come as `R[rater, item]`, NaN where a rater did not rate an item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from . import arrays, draws, intervals
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured

METRICS = ("nominal", "ordinal", "interval")
EQUAL = "all ratings are equal: chance alone explains them"
ICC_KINDS = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")
# the F distribution below the upper end of a 95 % interval
TAIL = 0.975


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
    table = arrays.floats(ratings, "ratings", "rater, item")
    rated_twice = (~np.isnan(table)).sum(axis=0) >= 2
    items = int(rated_twice.sum())
    if not items:
        raise ValueError(
            "ratings: no item has two ratings; agreement needs at least one that has"
        )
    alpha = _Alpha(arrays.rescaled(table[:, rated_twice]), metric)
    value = float(alpha(np.ones(items)))
    ends = NO_INTERVAL
    if ci:
        n_boot = arrays.whole(n_boot, "n_boot")
        seed = arrays.whole(seed, "seed", low=0)
        ends = _over_items(alpha, items, value, n_boot, seed)
    return Agreement(
        value=value,
        name=f"alpha-{metric}",
        n=items,
        n_raters=len(table),
        n_left_out=table.shape[1] - items,
        interval=ends,
        reason=EQUAL if np.isnan(value) else ends.reason,
    )


class _Alpha:
    """Krippendorff's alpha as a function of how often each item is drawn.

    ratings: `R[rater, item]`, at least two of each item. Called with counts (items,);
    NaN where chance leaves no disagreement.
    """

    def __init__(self, ratings: Floats, metric: str) -> None:
        self.ratings = ratings
        self.nominal = metric == "nominal"
        self.ordinal = metric == "ordinal"
        self.rated = ~np.isnan(ratings)
        self.other_ratings = self.rated.sum(axis=0) - 1.0
        self.item = np.nonzero(self.rated)[1]
        self.values, self.code = np.unique(ratings[self.rated], return_inverse=True)
        if not self.ordinal:
            self.disagreement = self._disagreement(ratings)

    def _disagreement(self, ratings: Floats) -> Floats:
        """The distances within each item, over the other ratings that it has."""
        return _within(ratings, self.nominal) / self.other_ratings

    def __call__(self, counts: Floats) -> float:
        tally = np.bincount(self.code, counts[self.item], len(self.values))
        totals = tally.astype(float)
        places = self.values
        if self.ordinal:
            # The distance between two ordered values is how many ratings lie between
            # them, so it differs by resample.
            places = np.cumsum(totals) - totals / 2
            ranks = self.ratings.copy()
            ranks[self.rated] = places[self.code]
            disagreement = self._disagreement(ranks)
        else:
            disagreement = self.disagreement
        expected = _between(places, totals, totals, self.nominal)
        if expected <= 0:
            return NAN
        observed = counts @ disagreement
        return 1 - (totals.sum() - 1) * observed / expected


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
        _check_on_scale(both, allowed)
        name += f"({','.join(map(arrays.exactly, allowed))})"
    values, codes = np.unique(arrays.rescaled(both), return_inverse=True)
    code_first, code_second = codes.reshape(both.shape)
    n = both.shape[1]
    p = np.bincount(code_first, minlength=len(values)).astype(float)
    q = np.bincount(code_second, minlength=len(values)).astype(float)
    expected = _between(values, p, q)
    gaps = values[code_first] - values[code_second]
    observed = float((gaps**2).sum())
    value = NAN
    reason = EQUAL
    if expected > 0:
        value = 1 - n * observed / expected
        reason = ""
    return Agreement(value, name, n, 2, len(a) - n, reason=reason)


def _check_on_scale(ratings: Floats, allowed: Floats) -> None:
    """Refuse ratings that are not on the scale.

    Raises: ValueError naming the first.
    """
    off = np.setdiff1d(ratings, allowed)
    if len(off):
        values_on_scale = ", ".join(f"{value:g}" for value in allowed)
        raise ValueError(f"got {off[0]:g}, which is not on the scale {values_on_scale}")


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
    table = arrays.rescaled(arrays.floats(ratings, "ratings", "rater, item"))
    complete = ~np.isnan(table).any(axis=0)
    data = table[:, complete].T
    n, k = data.shape
    if k < 2 or n < 2:
        raise ValueError(
            f"ratings: got {k} rater(s) and {n} complete item(s); "
            "at least 2 of each are needed"
        )
    result = Agreement(NAN, f"icc({kind})", n, k, int((~complete).sum()))
    variances = _mean_squares(data)
    raw_squares = (table[:, complete] ** 2).sum()
    if variances.total <= 1e-24 * max(raw_squares, 1e-300):
        reason = "all ratings are equal: there is no variance to share out"
        return replace(result, reason=reason)
    value, low, high = map(float, _icc(kind, variances, n, k))
    if not value <= 1 + 1e-9 or value == -np.inf:
        reason = "the variance that is to be shared out is estimated as 0 or less"
        return replace(result, reason=reason)
    reason = ""
    if not (np.isfinite(low) and np.isfinite(high)):
        low = NAN
        high = NAN
        reason = (
            "no interval: the variance between items or the error is estimated as 0"
        )
    return replace(
        result, value=value, interval=Interval(low, high, "f"), reason=reason
    )


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
    square_of_items = ((data.mean(axis=1) - grand) ** 2).sum()
    square_of_raters = ((data.mean(axis=0) - grand) ** 2).sum()
    rows = k * square_of_items / (n - 1)
    columns = n * square_of_raters / (k - 1)
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
    kind: str, variances: _MeanSquares, n: int, k: int
) -> tuple[float, float, float]:
    """The coefficient of a kind and the ends of its 95 % interval; of n items and k
    raters.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind[0] == "2":
            single = _icc_of_sampled_raters(variances, n, k)
        elif kind[0] == "1":
            single = _icc_from_f(variances.rows, variances.within, n, n * (k - 1), k)
        else:
            df = (n - 1) * (k - 1)
            single = _icc_from_f(variances.rows, variances.error, n, df, k)
        if kind[2] == "1":
            return single
        value, low, high = [_of_mean(coefficient, k) for coefficient in single]
        if kind[0] == "2":
            between_raters = variances.columns - variances.error
            signal = variances.rows - variances.error
            value = signal / (variances.rows + between_raters / n)
    return value, low, high


def _icc_from_f(
    rows: float, noise: float, n: int, df: int, k: int
) -> tuple[float, float, float]:
    """The coefficient of a single rater, and its ends from the F statistic.

    rows: mean square between n items; noise: that of the noise, with df degrees of
    freedom.
    """
    from scipy import special

    value = (rows - noise) / (rows + (k - 1) * noise)
    ratio = np.float64(rows) / noise
    low = _from_f(ratio / special.fdtri(n - 1, df, TAIL), k)
    high = _from_f(ratio * special.fdtri(df, n - 1, TAIL), k)
    return value, low, high


def _icc_of_sampled_raters(
    variances: _MeanSquares, n: int, k: int
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
    df: Any = (k - 1) * (n - 1) * (k * value * ratio + spread) ** 2
    df /= (n - 1) * k**2 * value**2 * ratio**2 + spread**2
    if error == 0 and value != 0:
        # The limit for an error that goes to 0.
        df = k - 1
    upper = special.fdtri(n - 1, df, TAIL)
    lower = special.fdtri(df, n - 1, TAIL)
    raters_share = k * columns + (k * n - k - n) * error
    low = n * (rows - upper * error) / (upper * raters_share + n * rows)
    high = n * (lower * rows - error) / (raters_share + n * lower * rows)
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
        if nominal:
            gaps = (a != b).astype(float)
        else:
            gaps = (a - b) ** 2
        absent = np.isnan(a) | np.isnan(b)
        out += np.where(absent, 0.0, gaps)
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
    weights = p + q
    x = x - weights @ x / weights.sum()
    squares = p.sum() * (q @ x**2)
    squares = squares + q.sum() * (p @ x**2)
    cross = 2 * (p @ x) * (q @ x)
    return float(squares - cross)
