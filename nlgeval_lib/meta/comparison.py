"""Is one judge better than another, and how small a difference would be found? Jackknife and permutation, paired."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import arrays, draws, intervals, jackknife, levels
from .classical import ALTERNATIVES, special
from .jackknife import Spread
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured

TESTS = (*draws.UNITS, *(f"{m}-{unit}" for m in ("perm", "jack") for unit in draws.UNITS), "exact-systems", "auto")
MOST_PATTERNS = 10_000  # of systems whose scores are exchanged; beyond, they are drawn


@dataclass(frozen=True, repr=False)
class Comparison(Measured):
    """Two judges against the same ratings on their common items.

    difference: first minus second, of the scores as they came. p: NaN with a reason where not defined. low, high: of
    the difference, where asked for. test: its name and settings. spread: of a jackknife test.
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
        data = f"level:{self.level}|coef:{self.coef}|nan:{self.nan}({self.n_missing}/{self.total})"
        test = f"test:{self.test}|alt:{self.alternative}" + (f"|scale:{self.scaling}" if self.scaling else "")
        ci = self.interval.signature()
        return f"{data}|{test}{ci}" + ("" if self.seed is None or "|seed:" in ci else f"|seed:{self.seed}")

    def detectable(
        self, power: float = 0.8, alpha: float = 0.05, systems: int | None = None, inputs: int | None = None
    ) -> float:
        """The smallest difference that the two-sided jackknife test at alpha finds with this power.

        systems, inputs: of another design with these variances. NaN where the test was none or not by jackknife.
        Raises: ValueError for shares outside (0, 1), and for another design of a test that is not over both.
        """
        arrays.share(power, "power")
        arrays.share(alpha, "alpha")
        found = self.spread
        if found is None or found.undefined or not found.variance > 0:
            return NAN
        if systems is not None or inputs is not None:
            counts = found.counts
            found = found.scaled(systems or counts.get("systems", 0), inputs or counts.get("inputs", 0))
        reach = special.stdtrit(found.df, 1 - alpha / 2) + special.stdtrit(found.df, power)
        return float(reach * found.variance**0.5)


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

    first, second, y: one shape, flat or `X[system, input]`; items that any of the three lacks are left out.
    units: None is `DEFAULT_TEST`, "auto" as `intervals.chosen` says; else a test and what would be drawn anew.
    "jack-": t from the difference without each unit; "both" holds for other systems and inputs, "inputs" for these
    systems only. "perm-" (the prefix may be left out): the scores of the two are exchangeable within each row, input,
    system, or both (a coin for each system and each input, exchanged where the two differ); "exact-systems" takes all
    patterns of systems where they are at most 10,000. Measured level at .05 with SummEval's variances: jack-both 0 to
    .11; perm-systems .02 to .19; perm-both, the field's practice, .05 to .85 where judges differ in what they see.
    ci, n_boot, confidence: interval of the difference, as `intervals.of` says.
    Raises: ValueError as `correlate`, and for unknown words.
    Source: Deutsch, Dror and Roth 2021 (PERM-INPUTS, -SYSTEMS, -BOTH); p as in Phipson and Smyth 2010.
    """
    coef = levels.named(coef, level)
    arrays.choice(alternative, ALTERNATIVES, "alternative")
    n_perm, seed = arrays.whole(n_perm, "n_perm"), arrays.whole(seed, "seed", low=0)
    *sides, ratings = arrays.alike(first=first, second=second, y=y)
    lost = int(np.isnan([*sides, ratings]).any(axis=0).sum())
    *sides, ratings = arrays.common(*(arrays.fill(side, ratings, nan)[0] for side in sides), ratings)
    here = ~np.isnan(ratings)
    name = arrays.choice(units or intervals.DEFAULT_TEST, TESTS, "units")
    name, note = intervals.chosen("test", level, coef, here) if name == "auto" else (name, "")
    method, _, unit = name.rpartition("-")
    draws.check_units(unit, ratings.shape)
    levels.check(ratings, level)
    pair = levels.Combined(np.subtract, [levels.plan(side, ratings, coef, level, nan) for side in sides])
    values = [part.value for part in pair.parts]
    difference = values[0] - values[1]
    found = jackknife.spread(pair, unit) if method == "jack" and difference == difference else None
    patterns = draws.every_pattern(here, MOST_PATTERNS) if method == "exact" else None
    test, scaling, drawn = f"perm-{unit}/{n_perm}", "z", method != "jack" and patterns is None
    if method == "jack":
        test, scaling = found.signature() if found else name, ""
    elif patterns is not None:
        test = f"exact-systems/{patterns.shape[1]}"
    counts = int(here.sum()), lost, ratings.size
    settings = coef, level, test, alternative, scaling, *counts, nan, seed if drawn else None
    if np.isnan(difference):
        which = " and ".join(n for n, v in zip(("first", "second"), values, strict=True) if np.isnan(v))
        why = f"no test: the coefficient of the {which} judge is not defined"
        return Comparison(values[0], values[1], difference, NAN, *settings, reason=why)
    ends = intervals.of(pair, difference, ci, level, coef, n_boot, seed, confidence, difference=True)
    null = np.empty(0)
    if found:
        p, reason = jackknife.p_value(difference, found, alternative)
    else:
        masks = draws.resamples(ratings.shape, unit, n_perm, seed, swap=True)
        if patterns is not None:
            step = draws.chunk_size(2 * here.size)
            masks = (draws.Draws(patterns[:, at : at + step]) for at in range(0, patterns.shape[1], step))
        one, two = map(standardised, sides)
        pool = levels.Swapped(one, joined(two, one), ratings, coef, level, nan)
        nobody = draws.Draws(rows=np.zeros((ratings.size, 1), dtype=draws.exact(2 * ratings.size)))
        observed = float(np.subtract(*pool.values(nobody))[0])  # as the rest, on the common scale
        null = np.concatenate([np.subtract(*pool.values(mask)) for mask in masks])
        p, reason = p_value(null, observed, alternative, patterns is not None)
    reason = "; ".join(dict.fromkeys(filter(None, (note, reason, ends.reason))))
    return Comparison(values[0], values[1], difference, p, *settings, ends, reason, found, null)


def p_value(null: Floats, observed: float, alternative: str = "two-sided", every: bool = False) -> tuple[float, str]:
    """Share of permutations at least as extreme as observed, the data themselves counted in; a reason if some failed.

    Permutations without a defined statistic count as extreme: they can only make the test more careful. every: these
    are all but the mirror images, which exchange what these do not; the data themselves are among them.
    """
    if every:
        null = np.concatenate([null, -null])
    side: Any = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[alternative]
    undefined = np.isnan(null)
    count, lost = int((undefined | (side(null) >= side(observed) - 1e-12)).sum()), int(undefined.sum())
    reason = f"undefined in {lost} of {len(null)} permutations, counted as extreme" if lost else ""
    if every and len(null) < (40 if alternative == "two-sided" else 20):
        reason = f"{int(np.log2(len(null)))} systems cannot reach .05"
    return (count / len(null) if every else (count + 1) / (len(null) + 1)), reason


def standardised(side: Floats) -> Floats:
    """Scores on the common scale of exchange: mean 0, spread 1; a constant side becomes zero. NaN stays."""
    side = arrays.rescaled(side)  # squares neither overflow nor vanish
    above = side - np.nanmin(side)  # scores far from zero lose digits otherwise
    known = above[~np.isnan(side)]
    spread = known.std()
    return (above - known.mean()) / spread if known.max() > 0 and spread > 0 else above * 0


def joined(two: Floats, one: Floats) -> Floats:
    """A judge's standardised scores, those that differ by rounding error only from one of the other's made that one.

    Standardising the same scores in another order, or on another scale, moves their last bits; exchanged scores would
    otherwise tie or not at random. Values of one judge are never joined.
    """
    mine, theirs = (np.unique(side[~np.isnan(side)]) for side in (one, two))
    near, back = (
        np.searchsorted((among[1:] + among[:-1]) / 2, values) for values, among in ((theirs, mine), (mine, theirs))
    )
    slack = 64 * np.finfo(float).eps * np.maximum(1.0, np.abs(theirs))
    same = (back[near] == np.arange(len(theirs))) & (np.abs(theirs - mine[near]) <= slack)
    here, out = ~np.isnan(two), two.copy()
    out[here] = np.where(same, mine[near], theirs)[np.searchsorted(theirs, two[here])]
    return out
