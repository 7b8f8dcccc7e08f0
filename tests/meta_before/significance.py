"""Is one judge better than another? Paired permutation, and the classical tests that assume i.i.d. items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from . import checks, draws, kernels, levels, missing, resampling, swaps
from .checks import Floats

ALTERNATIVES = ("two-sided", "greater", "less")
SCALINGS = ("z", "rank", "none")
NAN = float("nan")


@dataclass(frozen=True)
class Comparison:
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
    low: float = NAN
    high: float = NAN
    ci: str | None = None
    n_boot: int = 0
    reason: str = ""
    null: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    def signature(self) -> str:
        """What was computed, in one line."""
        parts = [
            f"level:{self.level}",
            f"coef:{self.coef}",
            f"nan:{self.nan}({self.n_missing}/{self.total})",
            f"test:perm-{self.units}/{self.n_perm}",
            f"alt:{self.alternative}",
            f"scale:{self.scaling}",
        ]
        if self.ci:
            parts.append(f"ci:{self.ci}/{self.n_boot}")
        return "|".join([*parts, f"seed:{self.seed}"])


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
    coef = kernels.named(coef)
    checks.choice(level, levels.LEVELS, "level")
    checks.choice(alternative, ALTERNATIVES, "alternative")
    checks.choice(scaling, SCALINGS, "scaling")
    n_perm = checks.whole(n_perm, "n_perm")
    checks.whole(seed, "seed", low=0)
    one, two, ratings, lost = together(first, second, y, nan)
    draws.check_units(units, ratings.shape)
    levels.check(ratings, level)
    raw = one, two
    whole = draws.everything(ratings.shape)
    value_one, value_two = (float(levels.plan(side, ratings, coef, level).values(whole)[0]) for side in raw)
    difference = value_one - value_two
    common = dict(
        first=value_one,
        second=value_two,
        difference=difference,
        coef=coef,
        level=level,
        units=units,
        alternative=alternative,
        scaling=scaling,
        n=int((~np.isnan(ratings)).sum()),
        n_missing=lost,
        total=ratings.size,
        nan=nan,
        n_perm=n_perm,
        seed=seed,
    )
    if np.isnan(difference):
        which = " and ".join(n for n, v in (("first", value_one), ("second", value_two)) if np.isnan(v))
        return Comparison(p=NAN, reason=f"no test: the coefficient of the {which} judge is not defined", **common)
    pair = swaps.plan(*alike(*(scaled(side, scaling) for side in raw), scaling), ratings, coef, level)
    observed = np.subtract(*pair.values(draws.Draws(rows=np.zeros((ratings.size, 1), dtype=np.int8))))[0]
    chunks = [pair.values(masks) for masks in draws.swaps(ratings.shape, units, n_perm, seed)]
    null = np.concatenate([a - b for a, b in chunks])
    p, reason = p_value(null, float(observed), alternative)
    low = high = NAN
    if ci is not None:
        low, high, why = _difference_interval(*raw, ratings, coef, level, ci, n_boot, seed)
        reason = reason or why
    return Comparison(p=p, reason=reason, null=null, low=low, high=high, ci=ci, n_boot=n_boot if ci else 0, **common)


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
    """Both judges and the ratings with NaN in all three wherever one lacks a value; and how many items lacked one.

    Raises: ValueError as `checks.pair`, and with fewer than 3 common items.
    """
    checks.same_index(first=first, second=second, y=y)
    one, ratings = checks.pair(first, y, ("first", "y"))
    two, _ = checks.pair(second, y, ("second", "y"))
    lost = int((np.isnan(one) | np.isnan(two) | np.isnan(ratings)).sum())
    filled = missing.apply(one, ratings, nan), missing.apply(two, ratings, nan)
    one, two, ratings = resampling.common(filled[0].x, filled[1].x, filled[0].y)
    return one, two, ratings, lost


def scaled(side: Floats, scaling: str) -> Floats:
    """Scores brought to a common scale: z, rank or none; a constant side becomes zero under z. NaN stays."""
    here = ~np.isnan(side)
    side = kernels.rescaled(side) if scaling == "z" else levels.tame(side)  # squares neither overflow nor vanish
    out = side.copy()
    if scaling == "z":
        above = side[here] - side[here].min()  # scores far from zero lose digits otherwise
        spread = above.std()
        out[here] = (above - above.mean()) / spread if above.max() > 0 and spread > 0 else 0.0
    elif scaling == "rank":
        out[here] = stats.rankdata(side[here])
    return out


def alike(one: Floats, two: Floats, scaling: str) -> tuple[Floats, Floats]:
    """Both judges' scaled scores, values of the two that differ by rounding error only made one.

    Standardising the same scores in another order, or on another scale, moves their last bits; exchanged scores would
    otherwise tie or not at random. Values of one judge are never joined.
    """
    if scaling != "z":
        return one, two
    mine, theirs = (np.unique(side[~np.isnan(side)]) for side in (one, two))
    near = _nearest(theirs, mine)
    slack = 64 * np.finfo(float).eps * np.maximum(1.0, np.abs(theirs))
    joined = (_nearest(mine, theirs)[near] == np.arange(len(theirs))) & (np.abs(theirs - mine[near]) <= slack)
    if not joined.any():
        return one, two
    here = ~np.isnan(two)
    out = two.copy()
    out[here] = np.where(joined, mine[near], theirs)[np.searchsorted(theirs, two[here])]
    return one, out


def _nearest(values: Floats, among: Floats) -> npt.NDArray[np.intp]:
    """For each value the place of the nearest of sorted numbers."""
    if len(among) < 2:
        return np.zeros(len(values), dtype=np.intp)
    right = np.searchsorted(among, values).clip(1, len(among) - 1)
    return right - (values - among[right - 1] <= among[right] - values)


def _difference_interval(
    one: Floats, two: Floats, y: Floats, coef: str, level: str, ci: str, n_boot: int, seed: int
) -> tuple[float, float, str]:
    method, units = resampling.parse_interval(ci, y.shape)
    checks.whole(n_boot, "n_boot")
    plans = [levels.plan(side, y, coef, level) for side in (one, two)]
    whole = draws.everything(y.shape)
    value = float((plans[0].values(whole) - plans[1].values(whole))[0])
    chunks = draws.bootstrap(y.shape, units, n_boot, seed)
    replicates = np.concatenate([plans[0].values(chunk) - plans[1].values(chunk) for chunk in chunks])
    jackknife = None
    if method == "bca":
        parts: dict[str, list[Floats]] = {}
        for unit, chunk in draws.left_out(y.shape, units):
            parts.setdefault(unit, []).append(plans[0].values(chunk) - plans[1].values(chunk))
        jackknife = {unit: np.concatenate(values) for unit, values in parts.items()}
    low, high, _, reason = resampling.interval(replicates, value, 0.95, jackknife)
    return low, high, reason
