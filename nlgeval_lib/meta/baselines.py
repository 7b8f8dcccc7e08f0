"""Judges that cost nothing, which any real judge has to beat; how far one follows length; how it uses its scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays, intervals, levels
from .result import NAN, Floats, Interval, Measured, Result

UNITS = ("characters", "words")
SURE = 1 - 1e-10  # leverage from which an item's residual is zero whatever its score
COVARIANCES = {"HC3": None, "cluster-inputs": 1, "cluster-systems": 0}  # the axis whose units are the clusters


def constant(shape: tuple[int, ...], value: float = 1.0) -> Floats:
    """The same score for every item. Correlations with it are not defined; its acc_eq is the share of tied ratings.

    Raises: ValueError for a value that is not a finite number.
    """
    return np.full(shape, arrays.number(value, "value"))


def uniform(shape: tuple[int, ...], seed: int, values: Sequence[float] | None = None) -> Floats:
    """Random scores: uniform in [0, 1), or drawn evenly from the values of a scale.

    Raises: ValueError for a negative seed or an empty scale.
    """
    rng = np.random.default_rng(arrays.whole(seed, "seed", low=0))
    return rng.random(shape) if values is None else rng.choice(arrays.floats(list(values), "values", "value"), shape)


def length(texts: Sequence[str], unit: str = "characters") -> Floats:
    """The length of each output: characters, or words between blanks. (items,); NaN where there is no text (None).

    Raises: ValueError for anything that is neither text nor None.
    """
    arrays.choice(unit, UNITS, "unit")
    if isinstance(texts, str):
        raise ValueError("texts: got one text; pass a list of outputs")
    out = []
    for number, text in enumerate(texts):
        if text is not None and not isinstance(text, str):
            raise ValueError(f"texts: item {number} is {type(text).__name__}; pass text, or None where there is none")
        out.append(np.nan if text is None else len(text) if unit == "characters" else len(text.split()))
    return np.array(out, dtype=float)


@dataclass(frozen=True, repr=False)
class LengthBias(Measured):
    """How far scores follow length where ratings do not.

    score_length, rating_length: plain correlations with length. partial: score with length at equal rating; low, high:
    its interval. slope: change of the score, in its SDs, for one SD of length at equal rating, with its
    interval and p from the regression score ~ rating + length.
    """

    score_length: float
    rating_length: float
    partial: float
    slope: float
    slope_low: float
    slope_high: float
    slope_p: float
    coef: str
    covariance: str
    n: int
    n_missing: int
    interval: Interval
    reason: str = ""

    def signature(self) -> str:
        gone = f"nan:drop({self.n_missing}/{self.n + self.n_missing}){self.interval.signature()}"
        return f"bias:length|coef:partial-{self.coef}|ols:{self.covariance}|{gone}"


def length_bias(
    x: Any,
    y: Any,
    length: Any,
    coef: str = "spearman",
    covariance: str = "HC3",
    ci: str | bool | None = True,
    n_boot: int = 1000,
    seed: int = 0,
) -> LengthBias:
    """Do longer outputs get higher scores than their ratings warrant?

    x, y, length: scores, ratings and output lengths (any unit), one shape, flat or `X[system, input]`; dataset level.
    coef: pearson or spearman (a partial tau does not vanish where score and length are independent given the rating).
    covariance: HC3 (independent items of unequal noise), or cluster-inputs, cluster-systems for matrices. ci: of the
    partial correlation, as `intervals.of`.
    Raises: ValueError for bad arrays, unknown words, fewer than 5 common items. Constant sides give NaN and a reason.
    Source: Fisher 1924 (partial correlation); MacKinnon and White 1985 (HC3).
    """
    arrays.choice(coef, ("pearson", "spearman"), "coef")
    arrays.choice(covariance, COVARIANCES, "covariance")
    sides = arrays.alike(x=x, y=y, length=length)
    if covariance != "HC3" and sides[0].ndim != 2:
        raise ValueError(f"covariance={covariance!r} needs x[system, input]; got a flat vector")
    a, b, c = arrays.common(*map(arrays.rescaled, sides))  # squares neither overflow nor vanish
    here = ~np.isnan(a)
    axis = COVARIANCES[covariance]
    if axis is not None and (groups := here.any(axis=1 - axis).sum()) < 2:
        raise ValueError(f"covariance={covariance!r}: got {groups} group with common items; at least 2, or 'HC3'")
    if (n := int(here.sum())) < 5:
        raise ValueError(f"got {n} common items; at least 5 are needed to hold the rating constant")
    plans = [levels.plan(one, two, coef, "dataset") for one, two in ((a, b), (a, c), (b, c))]
    partial = float(_partial(*(plan.value for plan in plans)))
    ends = intervals.of(levels.Combined(_partial, plans), partial, ci, "dataset", coef, n_boot, seed)
    flat = any(np.ptp(side) <= 1e-12 * np.abs(side).max() for side in (a[here], b[here], c[here]))
    if flat or partial != partial:
        slope, why = (NAN, NAN, NAN, NAN), "no slope: a side is constant but for rounding"
    else:
        groups = None if axis is None else np.indices(a.shape)[axis][here]
        slope, why = _slope(a[here], b[here], c[here], groups)
    reason = "; ".join(filter(None, (ends.reason, why)))
    if partial != partial:
        reason = "a side is constant, or two sides agree perfectly"
    found = plans[1].value, plans[2].value, partial, *slope
    return LengthBias(*found, coef, covariance, n, a.size - n, ends, reason)


def _partial(xy: Any, xl: Any, yl: Any) -> Floats:
    """Score with length at equal rating; NaN where the rating says all about either, but for rounding."""
    left = np.minimum(1 - xy**2, 1 - yl**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > 1e-12, np.clip((xl - xy * yl) / np.sqrt((1 - xy**2) * (1 - yl**2)), -1, 1), np.nan)


def _slope(x: Floats, y: Floats, length: Floats, groups: Any) -> tuple[tuple[float, float, float, float], str]:
    """Slope, its interval and p; and why these are none. groups: of the items, None for independent ones (HC3)."""
    import statsmodels.api as sm
    from scipy import stats

    model = sm.OLS(stats.zscore(x), sm.add_constant(np.column_stack([stats.zscore(y), stats.zscore(length)])))
    fit = model.fit(cov_type="HC3") if groups is None else model.fit(cov_type="cluster", cov_kwds={"groups": groups})
    slope = float(fit.params[2])
    if groups is None and fit.get_influence().hat_matrix_diag.max() > SURE:
        return (slope, NAN, NAN, NAN), "no HC3 interval of the slope: one item alone decides part of the regression"
    low, high = fit.conf_int()[2]
    return (slope, float(low), float(high), float(fit.pvalues[2])), ""


@dataclass(frozen=True, repr=False)
class ScaleUse(Result):
    """Which part of its scale a judge uses.

    entropy: bits; evenness: entropy over that of even use of all `steps` values, in [0, 1]; NaN for a continuous scale.
    ties: share of pairs of items with equal scores. floor, ceiling: share at the ends of the scale.
    """

    n: int
    n_missing: int
    distinct: int
    mean: float
    sd: float
    entropy: float
    evenness: float
    ties: float
    floor: float
    ceiling: float
    counts: tuple[tuple[float, int], ...]
    scale: tuple[float, float]
    steps: int | None = None

    def signature(self) -> str:
        low, high = map(arrays.exactly, self.scale)
        steps = f"/{self.steps}" if self.steps else ""
        return f"bias:scale-use|scale:{low}-{high}{steps}|nan:drop({self.n_missing}/{self.n + self.n_missing})"


def scale_use(x: Any, low: float, high: float, steps: int | None = None) -> ScaleUse:
    """How much of the scale do the scores use?

    x: scores of any shape, NaN missing; low, high: ends of the scale; steps: values on it, None if continuous.
    Raises: ValueError for low >= high, scores off the scale, more different scores than steps, fewer than 2 scores.
    """
    values = arrays.floats(x, "x").ravel()
    low, high = arrays.scale(low, high)
    if steps is not None:
        arrays.whole(steps, "steps", low=2)
    here = values[~np.isnan(values)]
    if (n := len(here)) < 2:
        raise ValueError(f"x: got {n} scores; at least 2 are needed")
    if here.min() < low or here.max() > high:
        raise ValueError(f"x: got scores from {here.min():g} to {here.max():g} on a scale from {low:g} to {high:g}")
    distinct, counts = np.unique(here, return_counts=True)
    if steps is not None and len(distinct) > steps:
        raise ValueError(f"x: got {len(distinct)} different scores on a scale of {steps} steps; pass steps=None")
    share = counts / n
    entropy = float(max(-(share * np.log2(share)).sum(), 0.0))
    evenness = float(entropy / np.log2(steps)) if steps else NAN
    ties = float((counts * (counts - 1.0)).sum() / (n * (n - 1.0)))
    moments = float(here.mean()), float(here.std(ddof=1))
    ends = float((here == low).mean()), float((here == high).mean())
    table = tuple(zip(distinct.tolist(), counts.tolist(), strict=True))
    total = n, len(values) - n, len(distinct)
    return ScaleUse(*total, *moments, entropy, evenness, ties, *ends, table, (low, high), steps)
