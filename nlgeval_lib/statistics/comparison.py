"""Is one judge better than another, and how small a difference would be found?
Jackknife and permutation, paired.

A test is named by its method and by what would be drawn anew. "jack-": t from the
difference without each unit; "both" holds for other systems and inputs, "inputs" for
these systems only. "perm-" (the prefix may be left out): the scores of the two judges
are exchangeable within each row, input, system, or both (a coin for each system and
each input, exchanged where the two differ); "exact-systems" takes all patterns of
systems where they are at most `MOST_PATTERNS`. "careful-" is "jack-" that holds where
a system unlike these may exist. Their levels are in docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import arrays, draws, groups, intervals, jackknife, levels, questions
from .cautions import cautions
from .classical import ALTERNATIVES
from .draws import Draws, Groups, Ints, Weights
from .jackknife import Spread
from .levels import Combined
from .result import NAN, NO_INTERVAL, Floats, Interval, together

# what `units=` may name; a unit alone is "perm-" of it
TESTS = (
    *draws.UNITS,
    *(f"perm-{unit}" for unit in draws.UNITS),
    *(f"jack-{unit}" for unit in draws.UNITS),
    *intervals.CAREFUL,
    "exact-systems",
    "auto",
)
# of systems whose scores are exchanged; beyond this number patterns are drawn
MOST_PATTERNS = 10_000


@dataclass(frozen=True, repr=False)
class Comparison(questions.Questioned):
    """Two judges against the same ratings on their common items.

    first, second, difference: the coefficient of each judge, and first minus second.
    p: NaN with a reason where not defined.
    coef, level, nan: as in `correlate`.
    test: its name and settings, such as jack-both|df:7.5.
    n, n_missing, total: items that took part, items that any side lacked, and all.
    scaling: "z" where the judges were standardised to be exchanged, else "".
    seed: of random exchanges; None for a test without them.
    spread: of a jackknife test, else None.
    null: the difference after each exchange; empty for a jackknife test.
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
    seed: int | None = None
    interval: Interval = NO_INTERVAL
    reason: str = ""
    spread: Spread | None = field(default=None, compare=False)
    basis: questions.Basis | None = field(default=None, repr=False, compare=False)
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
        """What is the smallest difference that the two-sided jackknife test finds?

        power, alpha: with this probability, at this level.
        systems, inputs: how many another design has, at least 3 each, with the same
            variances; None for those of the data.
        Returns: in units of the coefficient; NaN where the test was none or not by
            jackknife.
        Raises: ValueError for shares outside (0, 1), fewer than 3 units, and another
            design of a test that is not over both.
        """
        arrays.share(power, "power")
        arrays.share(alpha, "alpha")
        for name, number in {"systems": systems, "inputs": inputs}.items():
            if number is not None:
                arrays.whole(number, name, low=3)
        spread = self.spread
        if spread is None or np.isnan(spread.detectable()):
            return NAN
        if systems is not None or inputs is not None:
            systems = systems or spread.counts.get("systems", 0)
            inputs = inputs or spread.counts.get("inputs", 0)
            spread = spread.scaled(systems, inputs)
        return spread.detectable(power, alpha)


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
    system_groups: Any = None,
    input_groups: Any = None,
) -> Comparison:
    """Does the first judge follow the ratings better than the second?

    first, second, y: of one shape, flat or `X[system, input]`; what any lacks is out.
    coef, level, nan: as in `correlate`.
    units: a test of `TESTS`; None follows `ci`, and is "auto" without it.
    n_perm, seed: random exchanges of a permutation test.
    alternative: two-sided, greater (the first follows better) or less.
    ci, n_boot, confidence: interval of the difference, as in `correlate`.
    system_groups, input_groups: as `correlate`; exchanged as a whole, too.
    Raises: ValueError as `correlate`, and for unknown words.
    Source: Deutsch, Dror and Roth 2021; p as in Phipson and Smyth 2010.
    """
    coef = levels.named(coef, level)
    arrays.choice(alternative, ALTERNATIVES, "alternative")
    n_perm = arrays.whole(n_perm, "n_perm")
    seed = arrays.whole(seed, "seed", low=0)
    sides = arrays.alike(first=first, second=second, y=y)
    filled = [arrays.fill(scores, sides[2], nan)[0] for scores in sides[:2]]
    *judges, ratings = arrays.common(*filled, sides[2])
    labels = system_groups, input_groups
    families = groups.encode_groups(ratings.shape, *labels)
    test, note = _named(units or following(ci), level, ratings, families)
    levels.check(ratings, level)
    plans = [levels.plan(x, ratings, coef, level, families) for x in judges]
    pair = levels.Combined(np.subtract, plans)
    values = [plan.value for plan in plans]
    difference = values[0] - values[1]
    names = groups.names(ratings.shape, y, *labels)
    result = Comparison(
        first=values[0],
        second=values[1],
        difference=difference,
        p=NAN,
        coef=coef,
        level=level,
        test=test,
        alternative=alternative,
        scaling="",
        n=int(pair.present.sum()),
        n_missing=int(np.isnan(sides).any(axis=0).sum()),
        total=ratings.size,
        nan=nan,
        reason=_undefined(values),
        basis=questions.Basis(pair, difference, level, coef, names, True),
    )
    if test.startswith(("jack", "careful")):
        result = _by_jackknife(result, pair)
    else:
        result = _by_exchange(result, pair, (*judges, ratings), n_perm, seed)
    if np.isnan(difference):
        return result
    settings = ci, level, coef, n_boot, seed, confidence, True
    ends = intervals.compute_interval(pair, difference, *settings)
    result = replace(result, interval=ends)
    warning = ""
    if ends.name and result.influence:
        warning = result.influence.warning
    caution = ""
    for name in (test, ends.name):
        caution = caution or cautions(name, pair, judges, ratings, level, coef, names)
    reason = together(note, result.reason, ends.reason, warning, caution)
    return replace(result, reason=reason)


def untested(
    first: Any,
    second: Any,
    y: Any,
    coef: str,
    level: str,
    reason: str,
    nan: str = "drop",
) -> Comparison:
    """What stands for judges for which `compare` finds too few items? NaN, and why.

    first, second, y, coef, level, nan: as in `compare`.
    reason: what it said.
    """
    sides = arrays.alike(first=first, second=second, y=y)
    total = sides[0].size
    n_missing = int(np.isnan(sides).any(axis=0).sum())
    coef = levels.named(coef, level)
    counts = total - n_missing, n_missing, total
    test = coef, level, "none", "two-sided", ""
    reason = f"no test: {reason}"
    return Comparison(NAN, NAN, NAN, NAN, *test, *counts, nan, reason=reason)


def following(ci: str | bool | None) -> str:
    """The test of the population that an interval is about: the jackknife over the
    same units; "auto" where the interval names none.
    """
    method, _, units = str(ci).partition("-")
    if method == "careful":
        return str(ci)
    if method in intervals.METHODS and units:
        return f"jack-{units}"
    return "auto"


def _named(test: str, level: str, ratings: Floats, families: Groups) -> tuple[str, str]:
    """The test that a word of `TESTS` means, and what is to be said of the choice."""
    note = ""
    if arrays.choice(test, TESTS, "units") == "auto":
        test, note = intervals.chosen("test", level, ~np.isnan(ratings), families)
    draws.check_units(test.rpartition("-")[2], ratings.shape)
    return test, note


def _undefined(values: list[float]) -> str:
    """Why there is no test of two judges' coefficients; "" where both are defined."""
    judges = []
    for judge, value in zip(("first", "second"), values, strict=True):
        if np.isnan(value):
            judges.append(judge)
    if not judges:
        return ""
    which = " and ".join(judges)
    return f"no test: the coefficient of the {which} judge is not defined"


def _by_jackknife(result: Comparison, pair: Combined) -> Comparison:
    """The comparison with p by t from the difference without each unit."""
    if result.reason:
        return result
    method, _, unit = result.test.partition("-")
    spread = jackknife.spread(pair, unit, careful=method == "careful")
    p, reason = jackknife.p_value(result.difference, spread, result.alternative)
    test = spread.name + spread.settings()
    return replace(result, p=p, reason=reason, test=test, spread=spread)


def _by_exchange(
    result: Comparison,
    pair: Combined,
    sides: tuple[Floats, ...],
    n_perm: int,
    seed: int,
) -> Comparison:
    """The comparison with p by exchanging the judges' scores, at random in
    "exact-systems", too, where there are too many patterns.

    sides: scores of both judges, and ratings.
    """
    method, _, unit = result.test.rpartition("-")
    grouped = f"|groups:{'+'.join(pair.groups)}" if pair.groups else ""
    present = pair.present
    patterns = None
    if method == "exact":
        patterns = draws.every_pattern(present, MOST_PATTERNS, pair.groups)
    if patterns is not None:
        test = f"exact-systems/{patterns.shape[1]}{grouped}"
        result = replace(result, test=test, scaling="z")
        masks = _chunks(patterns, 2 * present.size)
    else:
        test = f"perm-{unit}/{n_perm}{grouped}"
        result = replace(result, test=test, scaling="z", seed=seed)
        masks = draws.resamples(present.shape, unit, n_perm, seed, True, pair.groups)
    if result.reason:
        return result
    observed, null = _exchanged(sides, result.coef, result.level, masks)
    every = patterns is not None
    p, reason = p_value(null, observed, result.alternative, every)
    if result.level == "system" and p <= 0.05:
        reason = together(reason, _not_by_jackknife(pair, result.alternative))
    return replace(result, p=p, reason=reason, null=null)


def _not_by_jackknife(pair: Combined, alternative: str) -> str:
    """What is to be said of a difference that exchanging systems found; "" where the
    jackknife over systems finds it, too.

    Judges that are equally good and see different things are not exchangeable:
    docs/statistics.md has how often they are found to differ.
    """
    spread = jackknife.spread(pair, "systems")
    p, _ = jackknife.p_value(pair.value, spread, alternative)
    if p <= 0.05:
        return ""
    return (
        "found by exchanging systems, as it often is of equally good judges that "
        f"see different things; not by 'jack-systems' (p {p:.2g})"
    )


def _exchanged(
    sides: tuple[Floats, ...], coef: str, level: str, masks: Iterator[Draws]
) -> tuple[float, Floats]:
    """The difference without an exchange, on the common scale of both judges, and after
    each exchange, (exchanges,).
    """
    first, second, ratings = sides
    first = standardised(first)
    second = joined(standardised(second), first)
    swapped = levels.Swapped(first, second, ratings, coef, level)
    # The data themselves, computed as the exchanges are: nothing changes places.
    items = ratings.size
    no_mask = np.zeros((items, 1), dtype=draws.exact(2 * items))
    observed = np.subtract(*swapped.values(Draws(rows=no_mask)))
    differences = [np.subtract(*swapped.values(mask)) for mask in masks]
    return float(observed[0]), np.concatenate(differences)


def _chunks(patterns: Weights, items: int) -> Iterator[Draws]:
    """All patterns of exchanged systems, (systems, patterns), chunk by chunk."""
    step = draws.chunk_size(items)
    for start in range(0, patterns.shape[1], step):
        yield Draws(patterns[:, start : start + step])


def p_value(
    null: Floats, observed: float, alternative: str = "two-sided", every: bool = False
) -> tuple[float, str]:
    """Share of permutations at least as extreme as observed, the data themselves
    counted in; a reason if some are undefined, which count as extreme.

    null: the difference in each permutation, NaN where not defined.
    observed: that of the data.
    every: these are all but the mirror images, which exchange what these do not; the
        data themselves are among them. Else they were drawn at random.
    Source: Phipson and Smyth 2010, for random permutations.
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
    reason = ""
    if undefined.any():
        reason = (
            f"undefined in {undefined.sum()} of {number} permutations, "
            "counted as extreme"
        )
    if not every:
        return (count + 1) / (number + 1), reason
    # A pattern and its mirror are as extreme in a two-sided test: 2 of 40 are .05.
    least = 40 if alternative == "two-sided" else 20
    if number < least:
        reason = f"{int(np.log2(number))} systems cannot reach .05"
    return count / number, reason


def standardised(side: Floats) -> Floats:
    """Scores on the common scale of exchange: mean 0, standard deviation 1; a constant
    side becomes zero. NaN stays.
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
    only from one of the first's becomes that one. NaN where an item takes no part.

    Standardising the same scores in another order, or on another scale, moves their
    last bits; exchanged scores would otherwise tie or not at random. Values of one
    judge are never joined.
    """
    present = ~np.isnan(second)
    values = np.unique(second[present])
    targets = np.unique(first[~np.isnan(first)])
    nearest = _nearest(values, targets)
    slack = 64 * np.finfo(float).eps * np.maximum(1.0, np.abs(values))
    close = np.abs(values - targets[nearest]) <= slack
    # Each is the other's nearest, so no two values take one target.
    mutual = _nearest(targets, values)[nearest] == np.arange(len(values))
    values_joined = np.where(close & mutual, targets[nearest], values)
    out = second.copy()
    out[present] = values_joined[np.searchsorted(values, second[present])]
    return out


def _nearest(values: Floats, among: Floats) -> Ints:
    """The place of the nearest entry of `among`, which is sorted, for each value."""
    return np.searchsorted((among[1:] + among[:-1]) / 2, values)
