"""Is one judge better than another, and how small a difference would be found?
Jackknife and permutation, paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, draws, intervals, jackknife, levels
from .classical import ALTERNATIVES, special
from .draws import Draws, Weights
from .jackknife import Spread
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured

TESTS = (
    *draws.UNITS,
    *(f"perm-{unit}" for unit in draws.UNITS),
    *(f"jack-{unit}" for unit in draws.UNITS),
    "exact-systems",
    "auto",
)
# of systems whose scores are exchanged; beyond this number patterns are drawn
MOST_PATTERNS = 10_000


@dataclass(frozen=True, repr=False)
class Comparison(Measured):
    """Two judges against the same ratings on their common items.

    difference: first minus second, of the scores as they came. p: NaN with a reason
    where not defined. low, high: of the difference, where asked for. test: its name and
    settings. spread: of a jackknife test.
    """

    first: float
    second: float
    difference: float
    p: float
    coef: str
    level: str
    test: str
    alternative: str
    scaling: str
    n: int
    n_missing: int
    total: int
    nan: str
    seed: int | None
    interval: Interval = NO_INTERVAL
    reason: str = ""
    spread: Spread | None = field(default=None, compare=False)
    null: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    def signature(self) -> str:
        missing = f"nan:{self.nan}({self.n_missing}/{self.total})"
        data = f"level:{self.level}|coef:{self.coef}|{missing}"
        test = f"test:{self.test}|alt:{self.alternative}"
        if self.scaling:
            test += f"|scale:{self.scaling}"
        ci = self.interval.signature()
        signature = f"{data}|{test}{ci}"
        if self.seed is not None and "|seed:" not in ci:
            signature += f"|seed:{self.seed}"
        return signature

    def detectable(
        self,
        power: float = 0.8,
        alpha: float = 0.05,
        systems: int | None = None,
        inputs: int | None = None,
    ) -> float:
        """The smallest difference that the two-sided jackknife test at alpha finds with
        this power.

        systems, inputs: of another design with these variances. NaN where the test was
        none or not by jackknife.
        Raises: ValueError for shares outside (0, 1), and for another design of a test
        that is not over both.
        """
        arrays.share(power, "power")
        arrays.share(alpha, "alpha")
        spread = self.spread
        if spread is None or spread.undefined or not spread.variance > 0:
            return NAN
        if systems is not None or inputs is not None:
            systems = systems or spread.counts.get("systems", 0)
            inputs = inputs or spread.counts.get("inputs", 0)
            spread = spread.scaled(systems, inputs)
        reach = special.stdtrit(spread.df, 1 - alpha / 2)
        reach += special.stdtrit(spread.df, power)
        return float(reach * spread.variance**0.5)


def compare(
    first: Any,
    second: Any,
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    units: str | None = None,
    n_perm: int = 1000,
    seed: int = 0,
    alternative: str = "two-sided",
    nan: str = "drop",
    ci: str | bool | None = None,
    n_boot: int = 1000,
    confidence: float = 0.95,
) -> Comparison:
    """Does the first judge follow the ratings better than the second?

    first, second, y: one shape, flat or `X[system, input]`; items that any of the three
    lacks are left out.
    units: None is `DEFAULT_TEST`, "auto" as `intervals.chosen` says; else a test and
    what would be drawn anew. "jack-": t from the difference without each unit; "both"
    holds for other systems and inputs, "inputs" for these systems only. "perm-" (the
    prefix may be left out): the scores of the two are exchangeable within each row,
    input, system, or both (a coin for each system and each input, exchanged where the
    two differ); "exact-systems" takes all patterns of systems where they are at most
    10,000. Measured level at .05 with SummEval's variances: jack-both 0 to .11;
    perm-systems .02 to .19; perm-both, the field's practice, .05 to .85 where judges
    differ in what they see.
    ci, n_boot, confidence: interval of the difference, as `intervals.of` says.
    Raises: ValueError as `correlate`, and for unknown words.
    Source: Deutsch, Dror and Roth 2021 (PERM-INPUTS, -SYSTEMS, -BOTH); p as in Phipson
    and Smyth 2010.
    """
    coef = levels.named(coef, level)
    arrays.choice(alternative, ALTERNATIVES, "alternative")
    n_perm = arrays.whole(n_perm, "n_perm")
    seed = arrays.whole(seed, "seed", low=0)
    sides = arrays.alike(first=first, second=second, y=y)
    lacking = int(np.isnan(sides).any(axis=0).sum())
    ratings = sides[2]
    a = arrays.fill(sides[0], ratings, nan)[0]
    b = arrays.fill(sides[1], ratings, nan)[0]
    a, b, ratings = arrays.common(a, b, ratings)
    present = ~np.isnan(ratings)
    name = arrays.choice(units or intervals.DEFAULT_TEST, TESTS, "units")
    note = ""
    if name == "auto":
        name, note = intervals.chosen("test", level, coef, present)
    method, _, unit = name.rpartition("-")
    draws.check_units(unit, ratings.shape)
    levels.check(ratings, level)
    plans = [
        levels.plan(a, ratings, coef, level, nan),
        levels.plan(b, ratings, coef, level, nan),
    ]
    pair = levels.Combined(np.subtract, plans)
    values = [part.value for part in plans]
    difference = values[0] - values[1]
    result = Comparison(
        first=values[0],
        second=values[1],
        difference=difference,
        p=NAN,
        coef=coef,
        level=level,
        test=name,
        alternative=alternative,
        scaling="",
        n=int(present.sum()),
        n_missing=lacking,
        total=ratings.size,
        nan=nan,
        seed=None,
    )
    patterns = None
    if method == "exact":
        patterns = draws.every_pattern(present, MOST_PATTERNS)
    if patterns is not None:
        test = f"exact-systems/{patterns.shape[1]}"
        result = replace(result, test=test, scaling="z")
    elif method != "jack":
        result = replace(result, test=f"perm-{unit}/{n_perm}", scaling="z", seed=seed)
    if np.isnan(difference):
        return replace(result, reason=_undefined(values))
    if method == "jack":
        spread = jackknife.spread(pair, unit)
        p, reason = jackknife.p_value(difference, spread, alternative)
        result = replace(result, test=spread.signature(), spread=spread)
    else:
        if patterns is None:
            masks = draws.resamples(ratings.shape, unit, n_perm, seed, swap=True)
        else:
            masks = _chunks(patterns, 2 * present.size)
        first_z = standardised(a)
        second_z = joined(standardised(b), first_z)
        swapped = levels.Swapped(first_z, second_z, ratings, coef, level, nan)
        observed, null = _permuted(swapped, masks, ratings.size)
        p, reason = p_value(null, observed, alternative, patterns is not None)
        result = replace(result, null=null)
    ends = intervals.of(
        pair, difference, ci, level, coef, n_boot, seed, confidence, difference=True
    )
    reasons = filter(None, (note, reason, ends.reason))
    reason = "; ".join(dict.fromkeys(reasons))
    return replace(result, p=p, interval=ends, reason=reason)


def _undefined(values: Sequence[float]) -> str:
    """Why there is no test where a coefficient of the two judges is not defined."""
    judges = []
    for judge, value in zip(("first", "second"), values, strict=True):
        if np.isnan(value):
            judges.append(judge)
    which = " and ".join(judges)
    return f"no test: the coefficient of the {which} judge is not defined"


def _chunks(patterns: Weights, items: int) -> Iterator[Draws]:
    """All patterns of exchanged systems, chunk by chunk."""
    step = draws.chunk_size(items)
    for start in range(0, patterns.shape[1], step):
        yield Draws(patterns[:, start : start + step])


def _permuted(
    swapped: levels.Swapped, masks: Iterator[Draws], items: int
) -> tuple[float, Floats]:
    """The difference of two judges without an exchange, on the common scale as the
    others, and after each exchange.
    """
    no_exchange = Draws(rows=np.zeros((items, 1), dtype=draws.exact(2 * items)))
    first, second = swapped.values(no_exchange)
    observed = float((first - second)[0])
    differences = []
    for mask in masks:
        first, second = swapped.values(mask)
        differences.append(first - second)
    return observed, np.concatenate(differences)


def p_value(
    null: Floats, observed: float, alternative: str = "two-sided", every: bool = False
) -> tuple[float, str]:
    """Share of permutations at least as extreme as observed, the data themselves
    counted in; a reason if some failed.

    Permutations without a defined statistic count as extreme: they can only make the
    test more careful. every: these are all but the mirror images, which exchange what
    these do not; the data themselves are among them.
    """
    if every:
        null = np.concatenate([null, -null])
    if alternative == "two-sided":
        null = np.abs(null)
        observed = abs(observed)
    elif alternative == "less":
        null = -null
        observed = -observed
    undefined = np.isnan(null)
    count = int((undefined | (null >= observed - 1e-12)).sum())
    number = len(null)
    lacking = int(undefined.sum())
    reason = ""
    if lacking:
        reason = f"undefined in {lacking} of {number} permutations, counted as extreme"
    if not every:
        return (count + 1) / (number + 1), reason
    least = 40 if alternative == "two-sided" else 20
    if number < least:
        reason = f"{int(np.log2(number))} systems cannot reach .05"
    return count / number, reason


def standardised(side: Floats) -> Floats:
    """Scores on the common scale of exchange: mean 0, spread 1; a constant side becomes
    zero.

    NaN stays.
    """
    # So that squares neither overflow nor vanish.
    side = arrays.rescaled(side)
    # Scores far from zero would lose digits.
    above = side - np.nanmin(side)
    scores = above[~np.isnan(side)]
    spread = scores.std()
    if scores.max() > 0 and spread > 0:
        return (above - scores.mean()) / spread
    return above * 0


def joined(second: Floats, first: Floats) -> Floats:
    """The second judge's standardised scores; a score that differs by rounding error
    only from one of the first's becomes that one.

    Standardising the same scores in another order, or on another scale, moves their
    last bits; exchanged scores would otherwise tie or not at random. Values of one
    judge are never joined.
    """
    present = ~np.isnan(second)
    values = np.unique(second[present])
    targets = np.unique(first[~np.isnan(first)])
    nearest = _nearest(values, targets)
    nearest_back = _nearest(targets, values)
    slack = 64 * np.finfo(float).eps * np.maximum(1.0, np.abs(values))
    same = nearest_back[nearest] == np.arange(len(values))
    same &= np.abs(values - targets[nearest]) <= slack
    values_joined = np.where(same, targets[nearest], values)
    out = second.copy()
    out[present] = values_joined[np.searchsorted(values, second[present])]
    return out


def _nearest(values: Floats, among: Floats) -> npt.NDArray[np.integer]:
    """The place of the nearest entry of `among`, which is sorted, for each value."""
    return np.searchsorted((among[1:] + among[:-1]) / 2, values)
