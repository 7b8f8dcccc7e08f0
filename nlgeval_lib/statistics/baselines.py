"""Judges that cost nothing, which any real judge has to beat; how far one follows
length; how it uses its scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from . import arrays, groups, intervals, levels
from .result import NAN, Floats, Interval, Measured, Result, together

# of the length of a text
UNITS = ("characters", "words")
# leverage from which an item's residual is zero whatever its score
SURE = 1 - 1e-10
# slope, low and high end of its interval, p
Slope = tuple[float, float, float, float]
NO_SLOPE: Slope = (NAN, NAN, NAN, NAN)
# how the slope's errors are estimated: of independent items, or by input
COVARIANCES = ("HC3", "cluster-inputs")


def constant(shape: tuple[int, ...], value: float = 1.0) -> Floats:
    """What if every item has the same score? Correlations with it are not defined; its
    acc_eq is the share of tied ratings.

    shape: of the scores, such as (systems, inputs).
    Raises: ValueError for a value that is not a finite number.
    """
    return np.full(shape, arrays.number(value, "value"))


def uniform(
    shape: tuple[int, ...], seed: int, values: Sequence[float] | None = None
) -> Floats:
    """What if scores are random: uniform in [0, 1), or evenly from a scale's values?

    shape: of the scores, such as (systems, inputs).
    values: those of the scale; None for [0, 1).
    Raises: ValueError for a negative seed or an empty scale.
    """
    rng = np.random.default_rng(arrays.whole(seed, "seed", low=0))
    if values is None:
        return rng.random(shape)
    return rng.choice(arrays.floats(list(values), "values", "value"), shape)


def length(texts: Sequence[str], unit: str = "characters") -> Floats:
    """How long is each output? (items,)

    texts: the outputs, None where there is none, whose length is NaN.
    unit: characters, or words between blanks.
    Raises: ValueError for anything that is neither text nor None, and another unit.
    """
    arrays.choice(unit, UNITS, "unit")
    if isinstance(texts, str):
        raise ValueError("texts: got one text; pass a list of outputs")
    lengths = []
    for number, text in enumerate(texts):
        # a text, or what stands for one and knows how long it is
        if text is None:
            lengths.append(np.nan)
        elif not hasattr(text, "split"):
            raise ValueError(
                f"texts: item {number} is {type(text).__name__}; "
                "pass text, or None where there is none"
            )
        elif unit == "characters":
            lengths.append(len(text))
        else:
            lengths.append(len(text.split()))
    return np.array(lengths, dtype=float)


@dataclass(frozen=True, repr=False)
class LengthBias(Measured):
    """How far scores follow length where ratings do not.

    score_length, rating_length: plain correlations with length.
    partial: correlation of score with length at equal rating; `interval` is its own.
    slope: change of the score, in its SDs, for one SD of length at equal rating, from
        the regression score ~ rating + length, with 95 % interval and p that it is 0;
        NaN with a reason where there is none.
    covariance: of the slope, one of `COVARIANCES`.
    n, n_missing: items that have score, rating and length, and the others.
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
        method = f"coef:partial-{self.coef}|ols:{self.covariance}"
        missing = f"nan:drop({self.n_missing}/{self.n + self.n_missing})"
        return f"bias:length|{method}|{missing}{self.interval.signature()}"


def length_bias(
    x: Any,
    y: Any,
    length: Any,
    coef: str = "spearman",
    covariance: str = "HC3",
    ci: str | bool | None = True,
    n_boot: int = 1000,
    seed: int = 0,
    system_groups: Any = None,
    input_groups: Any = None,
) -> LengthBias:
    """Do longer outputs get higher scores than their ratings warrant?

    x, y, length: scores, ratings and output lengths (any unit), one shape, flat or
        `X[system, input]`; all items are one list (dataset level).
    coef: pearson or spearman; a partial tau does not vanish for independent sides.
    covariance: HC3 (independent items) or cluster-inputs.
    ci, n_boot, seed, system_groups, input_groups: as in `correlate`, of the partial
        correlation.
    Returns: NaN and a reason where a side is constant.
    Raises: ValueError for bad arrays or words, fewer than 5 items or 2 clusters.
    Source: Fisher 1924 (partial correlation); MacKinnon and White 1985 (HC3).
    """
    arrays.choice(coef, ("pearson", "spearman"), "coef")
    arrays.choice(covariance, COVARIANCES, "covariance")
    sides = arrays.alike(x=x, y=y, length=length)
    # Rescaled, so that squares neither overflow nor vanish.
    scaled = [arrays.rescaled(side) for side in sides]
    sides = list(arrays.common(*scaled))
    present = ~np.isnan(sides[0])
    clusters = None
    if covariance == "cluster-inputs":
        if present.ndim != 2 or present.any(axis=0).sum() < 2:
            raise ValueError(
                f"covariance={covariance!r} needs x[system, input] with common items "
                f"of at least 2 inputs; got shape {present.shape}"
            )
        clusters = np.nonzero(present)[1]
    n = int(present.sum())
    if n < 5:
        raise ValueError(
            f"got {n} common items; at least 5 are needed to hold the rating constant"
        )
    families = groups.encode_groups(present.shape, system_groups, input_groups)
    # The partial correlation is a function of three, computed anew in each resample.
    plans = []
    for a, b in combinations(sides, 2):
        plans.append(levels.plan(a, b, coef, "dataset", families))
    values = [plan.value for plan in plans]
    combined = levels.Combined(_partial, plans)
    partial = float(_partial(*values))
    ends = intervals.compute_interval(
        combined, partial, ci, "dataset", coef, n_boot, seed
    )
    slope = NO_SLOPE
    reason = "a side is constant, or two sides agree perfectly"
    if not np.isnan(partial):
        slope, no_slope = _slope([side[present] for side in sides], clusters)
        reason = together(ends.reason, no_slope)
    numbers = values[1], values[2], partial, *slope
    return LengthBias(*numbers, coef, covariance, n, present.size - n, ends, reason)


def _partial(xy: Any, xl: Any, yl: Any) -> Floats:
    """Score with length at equal rating; NaN where the rating says all about either,
    but for rounding.

    xy, xl, yl: correlations of score (x), rating (y) and length (l), numbers or
        (resamples,).
    """
    unexplained_x = 1 - xy**2
    unexplained_l = 1 - yl**2
    with np.errstate(divide="ignore", invalid="ignore"):
        partial = (xl - xy * yl) / np.sqrt(unexplained_x * unexplained_l)
    defined = np.minimum(unexplained_x, unexplained_l) > 1e-12
    return np.where(defined, np.clip(partial, -1, 1), np.nan)


def _slope(items: Sequence[Floats], clusters: Any) -> tuple[Slope, str]:
    """Slope, its interval and p; and why these are none, "" where they are there.

    items: scores, ratings, lengths. clusters: the input of each; None for HC3.
    """
    if any(np.ptp(side) <= 1e-12 * np.abs(side).max() for side in items):
        return NO_SLOPE, "no slope: a side is constant but for rounding"
    from scipy import stats
    from statsmodels.regression.linear_model import OLS
    from statsmodels.tools.tools import add_constant

    score, rating, length = [stats.zscore(side) for side in items]
    model = OLS(score, add_constant(np.column_stack([rating, length])))
    if clusters is None:
        fit = model.fit(cov_type="HC3")
    else:
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": clusters})
    # The coefficients are those of the constant, the rating and the length.
    slope = float(fit.params[2])
    # HC3 divides by 1 - leverage.
    if clusters is None and fit.get_influence().hat_matrix_diag.max() > SURE:
        reason = (
            "no HC3 interval of the slope: "
            "one item alone decides part of the regression"
        )
        return (slope, NAN, NAN, NAN), reason
    low, high = fit.conf_int()[2]
    return (slope, float(low), float(high), float(fit.pvalues[2])), ""


@dataclass(frozen=True, repr=False)
class ScaleUse(Result):
    """Which part of its scale a judge uses.

    n, n_missing: items with and without a score.
    distinct: how many different scores there are.
    mean, sd: of the scores; sd with n - 1.
    entropy: of the scores, in bits.
    evenness: entropy over that of even use of all `steps` values, in [0, 1]; NaN for a
        continuous scale, whose steps are None.
    ties: share of pairs of items with equal scores.
    floor, ceiling: share of scores at the low and at the high end of the scale.
    counts: (score, items with it), from the lowest up.
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

    def answer(self) -> dict[str, Any]:
        """The measures of use, and n."""
        names = ("distinct", "entropy", "evenness", "ties", "floor", "ceiling", "n")
        return self._fields(*names)

    def signature(self) -> str:
        low, high = self.scale
        scale = f"scale:{arrays.exactly(low)}-{arrays.exactly(high)}"
        if self.steps:
            scale += f"/{self.steps}"
        missing = f"nan:drop({self.n_missing}/{self.n + self.n_missing})"
        return f"bias:scale-use|{scale}|{missing}"


def scale_use(x: Any, low: float, high: float, steps: int | None = None) -> ScaleUse:
    """How much of the scale do the scores use?

    x: scores of any shape, NaN missing.
    low, high: ends of the scale.
    steps: how many values are on it, at least 2; None if it is continuous.
    Raises: ValueError for low >= high, scores off the scale, more different scores than
        steps, fewer than 2 scores, and steps below 2.
    """
    values = arrays.floats(x, "x").ravel()
    low, high = arrays.scale(low, high)
    if steps is not None:
        arrays.whole(steps, "steps", low=2)
    scores = values[~np.isnan(values)]
    n = len(scores)
    if n < 2:
        raise ValueError(f"x: got {n} scores; at least 2 are needed")
    if scores.min() < low or scores.max() > high:
        raise ValueError(
            f"x: got scores from {scores.min():g} to {scores.max():g} "
            f"on a scale from {low:g} to {high:g}"
        )
    distinct, counts = np.unique(scores, return_counts=True)
    if steps is not None and len(distinct) > steps:
        raise ValueError(
            f"x: got {len(distinct)} different scores on a scale of {steps} steps; "
            "pass steps=None"
        )
    share = counts / n
    # One value alone would have -0.
    entropy = float(max(-(share * np.log2(share)).sum(), 0.0))
    return ScaleUse(
        n=n,
        n_missing=len(values) - n,
        distinct=len(distinct),
        mean=float(scores.mean()),
        sd=float(scores.std(ddof=1)),
        entropy=entropy,
        evenness=float(entropy / np.log2(steps)) if steps else NAN,
        ties=float((counts * (counts - 1.0)).sum() / (n * (n - 1.0))),
        floor=float((scores == low).mean()),
        ceiling=float((scores == high).mean()),
        counts=tuple(zip(distinct.tolist(), counts.tolist(), strict=True)),
        scale=(low, high),
        steps=steps,
    )
