"""Is one judge better than another, and how small a difference would be found? Paired permutation; classical tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from . import arrays, draws, intervals, levels
from .arrays import Floats
from .result import NAN, NO_INTERVAL, Interval, Measured, Result

ALTERNATIVES = ("two-sided", "greater", "less")
SCALINGS = ("z", "rank", "none")
NO_VARIANCE = "no test: the correlations leave no variance to compare with"
IMPOSSIBLE = "no test: no three columns can have these correlations together"


@dataclass(frozen=True, repr=False)
class Comparison(Measured):
    """Two judges against the same ratings on their common items.

    difference: first minus second, of the scores as they came. p: (c + 1) / (permutations + 1), NaN with a reason where
    not defined. low, high: bootstrap interval of the difference where asked for.
    """

    first: float
    second: float
    difference: float
    p: float
    coef: str
    level: str
    units: str
    alternative: str
    scaling: str
    n: int
    n_missing: int
    total: int
    nan: str
    n_perm: int
    seed: int
    interval: Interval = NO_INTERVAL
    reason: str = ""
    null: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    def signature(self) -> str:
        data = f"level:{self.level}|coef:{self.coef}|nan:{self.nan}({self.n_missing}/{self.total})"
        test = f"test:perm-{self.units}/{self.n_perm}|alt:{self.alternative}|scale:{self.scaling}"
        return f"{data}|{test}{self.interval.signature() or f'|seed:{self.seed}'}"


def compare(
    first: Any,
    second: Any,
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    units: str = "both",
    n_perm: int = 1000,
    seed: int = 0,
    alternative: str = "two-sided",
    nan: str = "drop",
    scaling: str = "z",
    ci: str | None = None,
    n_boot: int = 1000,
) -> Comparison:
    """Does the first judge follow the ratings better than the second, beyond what exchanging their scores would give?

    first, second, y: one shape, flat (units "rows") or `X[system, input]`. The null: the two judges' scores are
    exchangeable within each unit: rows (items), inputs, systems, or both (a coin for each system and each input, an
    item exchanged where the two differ). scaling makes scores of different scales exchangeable: "z" standardises each
    judge, "rank" takes ranks over all its items, "none" leaves them. Items that any of the three lacks are left out.
    Choose the units by the claim. Where judges differ in how they treat whole systems, "rows", "inputs" and "both" mix
    the two within every system and call too many equally good judges different (10 to 13 % at .05 in a world with
    SummEval's variances; "systems": 7 %; see notebooks/meta/intervals_and_tests.ipynb).
    Raises: ValueError as `correlate`, and for unknown words.
    Source: Deutsch, Dror and Roth 2021 (PERM-INPUTS, PERM-SYSTEMS, PERM-BOTH); p as in Phipson and Smyth 2010.
    """
    coef = levels.named(coef, level)
    arrays.choice(alternative, ALTERNATIVES, "alternative")
    arrays.choice(scaling, SCALINGS, "scaling")
    n_perm, seed = arrays.whole(n_perm, "n_perm"), arrays.whole(seed, "seed", low=0)
    one, two, ratings, lost = together(first, second, y, nan)
    draws.check_units(units, ratings.shape)
    levels.check(ratings, level)
    plans = [levels.plan(side, ratings, coef, level) for side in (one, two)]
    values = [plan.value for plan in plans]
    difference = values[0] - values[1]
    data = int((~np.isnan(ratings)).sum()), lost, ratings.size, nan
    settings = coef, level, units, alternative, scaling, *data, n_perm, seed
    if np.isnan(difference):
        which = " and ".join(n for n, v in zip(("first", "second"), values, strict=True) if np.isnan(v))
        why = f"no test: the coefficient of the {which} judge is not defined"
        return Comparison(values[0], values[1], difference, NAN, *settings, reason=why)
    one, two = scaled(one, scaling), scaled(two, scaling)
    pair = levels.Swapped(*(alike(one, two) if scaling == "z" else (one, two)), ratings, coef, level)
    nobody = draws.Draws(rows=np.zeros((ratings.size, 1), dtype=draws.exact(2 * ratings.size)))
    observed = np.subtract(*pair.values(nobody))[0]
    null = np.concatenate([np.subtract(*pair.values(m)) for m in draws.swaps(ratings.shape, units, n_perm, seed)])
    p, reason = p_value(null, float(observed), alternative)
    ends = NO_INTERVAL
    if ci is not None:
        ends = intervals.bootstrap(
            lambda drawn: plans[0].values(drawn) - plans[1].values(drawn), difference, ratings.shape, ci, n_boot, seed
        )
    return Comparison(values[0], values[1], difference, p, *settings, ends, reason or ends.reason, null)


def p_value(null: Floats, observed: float, alternative: str = "two-sided") -> tuple[float, str]:
    """Share of permutations at least as extreme as observed, the data themselves counted in; a reason if some failed.

    Permutations without a defined statistic count as extreme: they can only make the test more careful.
    """
    slack = 1e-12
    undefined = np.isnan(null)
    with np.errstate(invalid="ignore"):
        if alternative == "two-sided":
            extreme = np.abs(null) >= abs(observed) - slack
        elif alternative == "greater":
            extreme = null >= observed - slack
        else:
            extreme = null <= observed + slack
    count, lost = int((extreme | undefined).sum()), int(undefined.sum())
    reason = f"undefined in {lost} of {len(null)} permutations, counted as extreme" if lost else ""
    return (count + 1) / (len(null) + 1), reason


def together(first: Any, second: Any, y: Any, nan: str = "drop") -> tuple[Floats, Floats, Floats, int]:
    """Both judges and the ratings with NaN in all three wherever one lacks a value; and how many items lacked one."""
    one, two, ratings = arrays.alike(first=first, second=second, y=y)
    lost = int((np.isnan(one) | np.isnan(two) | np.isnan(ratings)).sum())
    one, two, ratings = arrays.common(*(arrays.fill(side, ratings, nan).x for side in (one, two)), ratings)
    return one, two, ratings, lost


def scaled(side: Floats, scaling: str) -> Floats:
    """Scores brought to a common scale: z, rank or none; a constant side becomes zero under z. NaN stays."""
    here = ~np.isnan(side)
    side = levels.rescaled(side) if scaling == "z" else levels.tame(side)  # squares neither overflow nor vanish
    out = side.copy()
    if scaling == "z":
        above = side[here] - side[here].min()  # scores far from zero lose digits otherwise
        spread = above.std()
        out[here] = (above - above.mean()) / spread if above.max() > 0 and spread > 0 else 0.0
    elif scaling == "rank":
        _, code, count = np.unique(side[here], return_inverse=True, return_counts=True)
        out[here] = (np.cumsum(count) - (count - 1) / 2)[code]
    return out


def alike(one: Floats, two: Floats) -> tuple[Floats, Floats]:
    """Both judges' standardised scores, values of the two that differ by rounding error only made one.

    Standardising the same scores in another order, or on another scale, moves their last bits; exchanged scores would
    otherwise tie or not at random. Values of one judge are never joined.
    """
    mine, theirs = (np.unique(side[~np.isnan(side)]) for side in (one, two))
    near = _nearest(theirs, mine)
    slack = 64 * np.finfo(float).eps * np.maximum(1.0, np.abs(theirs))
    joined = (_nearest(mine, theirs)[near] == np.arange(len(theirs))) & (np.abs(theirs - mine[near]) <= slack)
    here, out = ~np.isnan(two), two.copy()
    out[here] = np.where(joined, mine[near], theirs)[np.searchsorted(theirs, two[here])]
    return one, out


def _nearest(values: Floats, among: Floats) -> npt.NDArray[np.intp]:
    """For each value the place of the nearest of sorted numbers."""
    if len(among) < 2:
        return np.zeros(len(values), dtype=np.intp)
    right = np.searchsorted(among, values).clip(1, len(among) - 1)
    return right - (values - among[right - 1] <= among[right] - values)


@dataclass(frozen=True, repr=False)
class Classical(Result):
    """One closed-form test, for i.i.d. items. df is NaN for a normal statistic; p is NaN with a reason if undefined."""

    test: str
    statistic: float
    df: float
    p: float
    alternative: str
    n: int
    reason: str = ""

    def signature(self) -> str:
        return f"test:{self.test}|alt:{self.alternative}|n:{self.n}|assumes:iid-rows"


def williams(r_first: float, r_second: float, r_between: float, n: int, alternative: str = "two-sided") -> Classical:
    """Do two judges' correlations with the same ratings differ, given how the judges correlate with each other?

    r_first, r_second: each judge with the ratings; r_between: the judges with each other; all in [-1, 1]. n: items.
    Raises: ValueError for a correlation outside [-1, 1], n < 4 or an unknown alternative.
    Source: Williams 1959, as recommended by Steiger 1980; for metrics Graham and Baldwin 2014.
    """
    determinant = _determinant(r_first, r_second, r_between, n)
    mean = (r_first + r_second) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r_between) ** 3
    t = (r_first - r_second) * np.sqrt((n - 1) * (1 + r_between) / below) if below > 0 else NAN
    return _classical("williams", t, n - 3.0, alternative, n, IMPOSSIBLE if determinant < -1e-9 else "")


def steiger(r_first: float, r_second: float, r_between: float, n: int, alternative: str = "two-sided") -> Classical:
    """The same question on Fisher's z scale, with the dependence taken at the pooled correlation.

    Arguments and errors as `williams`. Source: Steiger 1980; Dunn and Clark 1969.
    """
    determinant = _determinant(r_first, r_second, r_between, n)
    mean = (r_first + r_second) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = r_between * (1 - 2 * mean**2) - mean**2 * (1 - 2 * mean**2 - r_between**2) / 2
        joint = np.divide(joint, (1 - mean**2) ** 2)
        z = (np.arctanh(r_first) - np.arctanh(r_second)) * np.sqrt((n - 3) / np.float64(2 - 2 * joint))
    return _classical("steiger", z, NAN, alternative, n, IMPOSSIBLE if determinant < -1e-9 else "")


def _determinant(r_first: float, r_second: float, r_between: float, n: int) -> float:
    """Of the three correlations, checked; below 0, but for rounding, where no three columns can have them together."""
    for r in (r_first, r_second, r_between):
        arrays.number(r, "correlation", -1, 1)
    arrays.whole(n, "n", low=4)
    return 1 - r_first**2 - r_second**2 - r_between**2 + 2 * r_first * r_second * r_between


def fisher_test(
    r_first: float, n_first: int, r_second: float, n_second: int, alternative: str = "two-sided"
) -> Classical:
    """Do two correlations from separate, independent samples differ?

    Raises: ValueError for a correlation outside [-1, 1], fewer than 4 items in a sample or an unknown alternative.
    Source: Fisher 1921.
    """
    for r, n in ((r_first, n_first), (r_second, n_second)):
        arrays.number(r, "correlation", -1, 1)
        arrays.whole(n, "n", low=4)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.arctanh(r_first) - np.arctanh(r_second)
    z = gap / np.sqrt(1 / (n_first - 3) + 1 / (n_second - 3))
    return _classical("fisher", z, NAN, alternative, n_first + n_second)


def _classical(test: str, statistic: float, df: float, alternative: str, n: int, reason: str = "") -> Classical:
    arrays.choice(alternative, ALTERNATIVES, "alternative")
    if reason or not np.isfinite(statistic):
        return Classical(test, NAN, df, NAN, alternative, n, reason or NO_VARIANCE)
    below, above = (special.stdtr(df, t) if df == df else special.ndtr(t) for t in (statistic, -statistic))
    p = {"two-sided": 2 * min(below, above), "greater": above, "less": below}[alternative]
    return Classical(test, float(statistic), df, float(p), alternative, n)


@dataclass(frozen=True, repr=False)
class Detectable(Result):
    """The smallest difference that the paired permutation test finds with the wanted power, by simulation.

    difference: NaN with a reason where even the largest simulated difference was found too seldom. curve: (share of
    scores disturbed, mean difference, power) of each step.
    """

    difference: float
    power: float
    alpha: float
    coef: str
    level: str
    units: str
    n_systems: int
    n_inputs: int
    n_sim: int
    n_perm: int
    seed: int
    curve: tuple[tuple[float, float, float], ...]
    reason: str = ""

    def signature(self) -> str:
        return (
            f"level:{self.level}|coef:{self.coef}|mdd:perm-{self.units}/{self.n_perm}|power:{arrays.exactly(self.power)}"
            f"|alpha:{arrays.exactly(self.alpha)}|shares:{','.join(arrays.exactly(step[0]) for step in self.curve)}"
            f"|systems:{self.n_systems}|inputs:{self.n_inputs}|sim:{self.n_sim}|seed:{self.seed}"
        )


def minimum_detectable_difference(
    x: Any,
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    units: str = "both",
    power: float = 0.8,
    alpha: float = 0.05,
    n_sim: int = 200,
    n_perm: int = 199,
    shares: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0),
    seed: int = 0,
) -> Detectable:
    """How much worse must a second judge be before this design would notice?

    x, y: a judge's scores and ratings, `X[system, input]`. Each simulated data set redraws the inputs and disturbs a
    share of the judge's scores by exchanging them among items, which leaves their distribution alone; the disturbed
    judge is compared with the judge. The power at each share is the rate of p <= alpha; the answer is read off between
    the shares.
    Raises: ValueError as `compare`, for shares outside (0, 1] or not rising.
    """
    coef = levels.named(coef, level)
    arrays.share(power, "power")
    arrays.share(alpha, "alpha")
    n_sim, n_perm = arrays.whole(n_sim, "n_sim"), arrays.whole(n_perm, "n_perm")
    seed, shares = arrays.whole(seed, "seed", low=0), tuple(arrays.vector(shares, "shares").tolist())
    if not all(0 < share <= 1 for share in shares) or list(shares) != sorted(set(shares)):
        raise ValueError(f"shares: got {shares}; pass rising numbers above 0, at most 1")
    a, b = arrays.alike(x=x, y=y)
    filled = arrays.fill(arrays.matrix(a, "x"), b)
    draws.check_units(units, a.shape)
    levels.check(filled.y, level)
    if alpha * (n_perm + 1) < 1:
        raise ValueError(f"n_perm: got {n_perm}; p cannot fall to {alpha:g} with fewer than {round(1 / alpha) - 1}")
    curve = []
    for number, share in enumerate(shares):
        rng = np.random.default_rng([seed, number])
        outcome = [_one(filled, share, rng, coef, level, units, n_perm) for _ in range(n_sim)]
        defined = [(d, p) for d, p in outcome if d == d]
        found = sum(p <= alpha and d > 0 for d, p in defined) / n_sim
        curve.append((share, float(np.mean([d for d, _ in defined])) if defined else NAN, found))
    difference = _read_off(curve, power)
    reason = ""
    if np.isnan(difference):
        reason = f"power was at most {max(step[2] for step in curve):g} of {power:g}"
        if all(np.isnan(step[1]) for step in curve):
            reason = "no simulated difference is defined: scores or ratings are constant, or too few are left"
    settings = power, alpha, coef, level, units, a.shape[0], a.shape[1], n_sim, n_perm, seed
    return Detectable(difference, *settings, tuple(curve), reason)


def _one(
    data: arrays.Filled, share: float, rng: np.random.Generator, coef: str, level: str, units: str, n_perm: int
) -> tuple[float, float]:
    """Difference and p of one simulated data set."""
    inputs = rng.integers(0, data.x.shape[1], data.x.shape[1])
    x, y = data.x[:, inputs], data.y[:, inputs]
    here = np.flatnonzero(~np.isnan(x))
    moved = here[rng.random(len(here)) < share]
    worse = x.copy()
    worse.flat[moved] = x.flat[rng.permutation(moved)]
    try:
        result = compare(x, worse, y, coef, level, units, n_perm, int(rng.integers(2**31)))
    except ValueError:
        return NAN, NAN
    return result.difference, result.p


def _read_off(curve: list[tuple[float, float, float]], power: float) -> float:
    before = (0.0, 0.0, 0.0)
    for step in curve:
        if step[2] >= power:
            part = (power - before[2]) / (step[2] - before[2])
            return before[1] + part * (step[1] - before[1])
        before = step
    return NAN
