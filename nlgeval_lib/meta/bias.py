"""What else than quality moves a judge: an output's length, whose it is, its place; and how the scale is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import checks, draws, intervals, levels, missing
from .checks import Floats

NAN = float("nan")
SURE = 1 - 1e-10  # leverage from which an item's residual is zero whatever its score
ALONE = "no HC3 interval of the slope: one item alone decides part of the regression"
COVARIANCES = ("HC3", "cluster-inputs", "cluster-systems")


@dataclass(frozen=True)
class LengthBias:
    """How far scores follow length where ratings do not.

    score_length, rating_length: plain correlations with length. partial: score with length at equal rating; low, high:
    its bootstrap interval. slope: change of the score, in its SDs, for one SD of length at equal rating, with its
    interval and p from the regression score ~ rating + length.
    """

    score_length: float
    rating_length: float
    partial: float
    low: float
    high: float
    slope: float
    slope_low: float
    slope_high: float
    slope_p: float
    coef: str
    covariance: str
    n: int
    n_missing: int
    units: str
    n_boot: int
    seed: int
    reason: str = ""

    def signature(self) -> str:
        """What was computed, in one line."""
        total = self.n + self.n_missing
        return (
            f"bias:length|coef:partial-{self.coef}|ols:{self.covariance}|nan:drop({self.n_missing}/{total})"
            f"|ci:boot-{self.units}/{self.n_boot}|seed:{self.seed}"
        )


def length_bias(
    x: Any,
    y: Any,
    length: Any,
    coef: str = "spearman",
    covariance: str = "HC3",
    units: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> LengthBias:
    """Do longer outputs get higher scores than their ratings warrant?

    x, y, length: scores, ratings and output lengths (any unit), one shape, flat or `X[system, input]`; dataset level.
    coef: pearson or spearman (a partial tau does not vanish where score and length are independent given the rating).
    covariance: HC3 (independent items of unequal noise), or cluster-inputs, cluster-systems for matrices. units of the
    bootstrap: both for matrices, rows for flat data, unless given.
    Raises: ValueError for bad arrays, unknown words, fewer than 5 common items. Constant sides give NaN and a reason.
    Source: Fisher 1924 (partial correlation); MacKinnon and White 1985 (HC3).
    """
    checks.choice(coef, ("pearson", "spearman"), "coef")
    checks.choice(covariance, COVARIANCES, "covariance")
    checks.same_index(x=x, y=y, length=length)
    sides = [checks.floats(side, name) for name, side in (("x", x), ("y", y), ("length", length))]
    checks.same_shape(x=sides[0], y=sides[1], length=sides[2])
    checks.pair(sides[0], sides[1])
    units = units or ("both" if sides[0].ndim == 2 else "rows")
    draws.check_units(units, sides[0].shape)
    if covariance != "HC3" and sides[0].ndim != 2:
        raise ValueError(f"covariance={covariance!r} needs x[system, input]; got a flat vector")
    sides = [levels.rescaled(side) for side in sides]  # squares neither overflow nor vanish
    a, b, c = missing.common(*sides)
    if covariance != "HC3":
        groups = (~np.isnan(a)).any(axis=0 if covariance == "cluster-inputs" else 1).sum()
        if groups < 2:
            raise ValueError(f"covariance={covariance!r}: got {groups} group with common items; at least 2, or 'HC3'")
    n = int((~np.isnan(a)).sum())
    if n < 5:
        raise ValueError(f"got {n} common items; at least 5 are needed to hold the rating constant")
    plans = [levels.plan(*pair, coef, "dataset") for pair in ((a, b), (a, c), (b, c))]
    score_rating, score_length, rating_length = (plan.values(draws.everything(a.shape))[0] for plan in plans)
    partial = float(_partial(score_rating, score_length, rating_length))
    (low, high, _, reason), _ = intervals.resampled(
        lambda drawn: _partial(*(plan.values(drawn) for plan in plans)),
        partial, a.shape, units, "percentile", n_boot, seed,
    )  # fmt: skip
    flat = any(_flat(side[~np.isnan(side)]) for side in (a, b, c))
    slope = (NAN, NAN, NAN, NAN) if flat or partial != partial else _slope(a, b, c, covariance)
    if flat and partial == partial:
        reason = "; ".join(filter(None, (reason, "no slope: a side is constant but for rounding")))
    if np.isnan(slope[1]) and slope[0] == slope[0]:
        reason = "; ".join(filter(None, (reason, ALONE)))
    reason = reason if partial == partial else "a side is constant, or two sides agree perfectly"
    found = float(score_length), float(rating_length), partial, low, high, *slope
    return LengthBias(*found, coef, covariance, n, a.size - n, units, n_boot, seed, reason)


def _partial(xy: Floats, xl: Floats, yl: Floats) -> Floats:
    """Score with length at equal rating; NaN where the rating says all about either, but for rounding."""
    left = np.minimum(1 - xy**2, 1 - yl**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > 1e-12, np.clip((xl - xy * yl) / np.sqrt((1 - xy**2) * (1 - yl**2)), -1, 1), np.nan)


def _flat(side: Floats) -> bool:
    """Whether values are all equal but for rounding."""
    return bool(np.ptp(side) <= 1e-12 * np.abs(side).max())


def _slope(x: Floats, y: Floats, length: Floats, covariance: str) -> tuple[float, float, float, float]:
    import statsmodels.api as sm
    from scipy import stats

    here = ~np.isnan(x)
    design = sm.add_constant(np.column_stack([stats.zscore(y[here]), stats.zscore(length[here])]))
    model = sm.OLS(stats.zscore(x[here]), design)
    if covariance == "HC3":
        fit = model.fit(cov_type="HC3")
    else:
        groups = np.indices(x.shape)[1 if covariance == "cluster-inputs" else 0][here]
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups})
    if covariance == "HC3" and fit.get_influence().hat_matrix_diag.max() > SURE:
        return float(fit.params[2]), NAN, NAN, NAN
    low, high = fit.conf_int()[2]
    return float(fit.params[2]), float(low), float(high), float(fit.pvalues[2])


@dataclass(frozen=True)
class SelfPreference:
    """Whether a judge is kinder to its own kin than raters are.

    gap: extra score, in SDs of the scores, on own outputs at equal rating; low, high, p: from score ~ rating + own with
    HC3. p_systems: share of equally many other systems whose gap would be as large (needs `X[system, input]`).
    """

    gap: float
    low: float
    high: float
    p: float
    p_systems: float
    n_own: int
    n_other: int
    n_missing: int
    reason: str = ""

    def signature(self) -> str:
        """What was computed, in one line."""
        total = self.n_own + self.n_other + self.n_missing
        return f"bias:self-preference|ols:HC3|own:{self.n_own}|nan:drop({self.n_missing}/{total})"


def self_preference(x: Any, y: Any, own: Any) -> SelfPreference:
    """Does the judge score outputs of its own model higher than their ratings warrant?

    x, y: scores and ratings, one shape, flat or `X[system, input]`; own: True for the judge's own outputs, of that
    shape or one a system.
    Raises: ValueError for bad arrays, fewer than 3 own or 3 other common items.
    Source: Panickssery, Bowman and Feng 2024 (the question); regression as in `length_bias`.
    """
    checks.same_index(x=x, y=y, own=own)
    a, b = checks.pair(x, y)
    mask = np.asarray(own)
    if mask.dtype != bool:
        raise ValueError(f"own: got values of type {mask.dtype}; pass True for the judge's own outputs, else False")
    if a.ndim == 2 and mask.shape == (a.shape[0],):
        mask = np.broadcast_to(mask[:, None], a.shape)
    checks.same_shape(x=a, own=mask)
    here = ~(np.isnan(a) | np.isnan(b))
    n_own, n_other = int((here & mask).sum()), int((here & ~mask).sum())
    if min(n_own, n_other) < 3:
        raise ValueError(f"got {n_own} own and {n_other} other common items; at least 3 of each are needed")
    counts = dict(n_own=n_own, n_other=n_other, n_missing=int((~here).sum()))
    if _flat(a[here]) or _flat(b[here]):
        return SelfPreference(NAN, NAN, NAN, NAN, NAN, reason="constant scores or ratings", **counts)
    import statsmodels.api as sm
    from scipy import stats

    target, rating = (stats.zscore(levels.rescaled(side[here])) for side in (a, b))
    design = np.column_stack([np.ones(len(target)), rating, mask[here]])
    if np.linalg.matrix_rank(design) < 3:
        why = "ratings say whose output it is: the two cannot be told apart"
        return SelfPreference(NAN, NAN, NAN, NAN, NAN, reason=why, **counts)
    fit = sm.OLS(target, design).fit(cov_type="HC3")
    if fit.ssr < 1e-20 * len(target):
        why = "scores follow from ratings and origin without error: there is no noise to test against"
        return SelfPreference(float(fit.params[2]), NAN, NAN, NAN, NAN, reason=why, **counts)
    low, high = fit.conf_int()[2]
    p_systems = _system_share(target, rating, mask, here, float(fit.params[2])) if a.ndim == 2 else NAN
    return SelfPreference(float(fit.params[2]), float(low), float(high), float(fit.pvalues[2]), p_systems, **counts)


def _system_share(target: Floats, rating: Floats, mask: np.ndarray, here: np.ndarray, gap: float) -> float:
    """How many single systems, own among them, show a gap as large; NaN unless exactly one whole system is own."""
    whole = mask.all(axis=1)
    if whole.sum() != 1 or (mask.any(axis=1) != whole).any():
        return NAN
    system = np.indices(here.shape)[0][here]
    count = 0
    candidates = np.unique(system)
    for candidate in candidates:
        design = np.column_stack([np.ones(len(target)), rating, system == candidate])
        count += np.linalg.lstsq(design, target, rcond=None)[0][2] >= gap - 1e-12
    return float(count / len(candidates))


@dataclass(frozen=True)
class PositionBias:
    """How a pairwise judge changes its mind when the two outputs change places.

    consistency: share of pairs with the same winner in both orders, low, high its Wilson interval. first_rate: share of
    all decided verdicts that went to the output shown first; 0.5 is fair. first_both, second_both: pairs where the same
    place won twice; p: exact two-sided test that these are equally likely.
    """

    consistency: float
    low: float
    high: float
    first_rate: float
    first_both: int
    second_both: int
    p: float
    n: int
    n_missing: int
    reason: str = ""

    def signature(self) -> str:
        """What was computed, in one line."""
        return f"bias:position|nan:drop({self.n_missing}/{self.n + self.n_missing})|ci:wilson|test:binomial"


def position_bias(order: Any, swapped: Any) -> PositionBias:
    """Does the place of an output decide for the judge?

    order, swapped: verdicts on the same pairs in both orders, flat: +1 for the output shown first, -1 for the one shown
    second, 0 for a tie, NaN where there is none.
    Raises: ValueError for other values, unequal lengths, no pair judged in both orders.
    Source: Wang et al. 2023, Large Language Models are not Fair Evaluators (swapping).
    """
    from scipy import stats
    from statsmodels.stats.proportion import proportion_confint

    checks.same_index(order=order, swapped=swapped)
    a, b = checks.pair(checks.vector(order, "order"), checks.vector(swapped, "swapped"), ("order", "swapped"))
    for name, side in (("order", a), ("swapped", b)):
        odd = side[~np.isnan(side) & ~np.isin(side, (-1, 0, 1))]
        if len(odd):
            raise ValueError(f"{name}: got {odd[0]:g}; a verdict is +1 (first), -1 (second), 0 (tie) or NaN")
    here = ~(np.isnan(a) | np.isnan(b))
    n = int(here.sum())
    if n == 0:
        raise ValueError(f"got no pair of {len(a)} with a verdict in both orders")
    a, b = a[here], b[here]
    same = int((a == -b).sum())
    low, high = proportion_confint(same, n, method="wilson")
    first, second = int(((a == 1) & (b == 1)).sum()), int(((a == -1) & (b == -1)).sum())
    verdicts = np.concatenate([a, b])
    decided = verdicts[verdicts != 0]
    first_rate = float((decided == 1).mean()) if len(decided) else NAN
    p = float(stats.binomtest(first, first + second).pvalue) if first + second else NAN
    reason = "" if first + second else "no pair was won by one place twice: nothing to test"
    missing = int((~here).sum())
    return PositionBias(same / n, float(low), float(high), first_rate, first, second, p, n, missing, reason)


@dataclass(frozen=True)
class ScaleUse:
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
        """What was computed, in one line."""
        low, high = map(checks.exactly, self.scale)
        steps = f"/{self.steps}" if self.steps else ""
        return f"bias:scale-use|scale:{low}-{high}{steps}|nan:drop({self.n_missing}/{self.n + self.n_missing})"


def scale_use(x: Any, low: float, high: float, steps: int | None = None) -> ScaleUse:
    """How much of the scale do the scores use?

    x: scores of any shape, NaN missing; low, high: ends of the scale; steps: values on it, None if continuous.
    Raises: ValueError for low >= high, scores off the scale, more different scores than steps, fewer than 2 scores.
    """
    values = checks.floats(x, "x").ravel()
    low, high = checks.scale(low, high)
    if steps is not None:
        checks.whole(steps, "steps", low=2)
    here = values[~np.isnan(values)]
    if len(here) < 2:
        raise ValueError(f"x: got {len(here)} scores; at least 2 are needed")
    if here.min() < low or here.max() > high:
        raise ValueError(f"x: got scores from {here.min():g} to {here.max():g} on a scale from {low:g} to {high:g}")
    distinct, counts = np.unique(here, return_counts=True)
    if steps is not None and len(distinct) > steps:
        raise ValueError(f"x: got {len(distinct)} different scores on a scale of {steps} steps; pass steps=None")
    share = counts / len(here)
    entropy = float(max(-(share * np.log2(share)).sum(), 0.0))
    return ScaleUse(
        n=len(here),
        n_missing=len(values) - len(here),
        distinct=len(distinct),
        mean=float(here.mean()),
        sd=float(here.std(ddof=1)),
        entropy=entropy,
        evenness=float(entropy / np.log2(steps)) if steps else NAN,
        ties=float((counts * (counts - 1.0)).sum() / (len(here) * (len(here) - 1.0))),
        floor=float((here == low).mean()),
        ceiling=float((here == high).mean()),
        counts=tuple((float(value), int(count)) for value, count in zip(distinct, counts, strict=True)),
        scale=(low, high),
        steps=steps,
    )
