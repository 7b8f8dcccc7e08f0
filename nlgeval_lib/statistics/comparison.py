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

from . import arrays, cautions, draws, groups, intervals, jackknife, levels, questions
from .classical import ALTERNATIVES
from .draws import Draws, Ints, Weights
from .jackknife import Spread
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
    scaling: "z" where the judges were standardised to be exchanged, else "".
    n, n_missing, total: items that took part, items that any side lacked, and all.
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
    seed: int | None
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
        if spread is None or spread.undefined or not spread.variance > 0:
            return NAN
        if systems is not None or inputs is not None:
            systems = systems or spread.counts.get("systems", 0)
            inputs = inputs or spread.counts.get("inputs", 0)
            spread = spread.scaled(systems, inputs)
        return questions.smallest(spread, power, alpha)


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
    units: a test of `TESTS`; None follows `ci`, and is `DEFAULT_TEST` without it.
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
    families = system_groups, input_groups
    test = units or following(ci)
    judges = _Judges(first, second, y, coef, level, nan, test, families)
    if judges.method in ("jack", "careful"):
        result = judges.by_jackknife(alternative)
    else:
        result = judges.by_exchange(alternative, n_perm, seed)
    if np.isnan(result.difference):
        return result
    settings = ci, level, coef, n_boot, seed, confidence, True
    ends = intervals.compute_interval(judges.pair, result.difference, *settings)
    result = replace(result, interval=ends)
    warning = ""
    if ends.name and result.influence:
        warning = result.influence.warning
    caution = judges.caution(ends.name)
    reason = together(judges.note, result.reason, ends.reason, warning, caution)
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
    return Comparison(
        first=NAN,
        second=NAN,
        difference=NAN,
        p=NAN,
        coef=levels.named(coef, level),
        level=level,
        test="none",
        alternative="two-sided",
        scaling="",
        n=total - n_missing,
        n_missing=n_missing,
        total=total,
        nan=nan,
        seed=None,
        reason=f"no test: {reason}",
    )


def following(ci: str | bool | None) -> str:
    """The test of the population that an interval is about: the jackknife over the
    same units; `DEFAULT_TEST` where the interval names no units.
    """
    method, _, units = str(ci).partition("-")
    if method == "careful":
        return str(ci)
    if method in intervals.METHODS and units:
        return f"jack-{units}"
    return intervals.DEFAULT_TEST


class _Judges:
    """Two judges on their common items, and the test that is to compare them.

    first, second, ratings: NaN in all three where an item takes no part.
    n_missing: how many items any side lacked at first.
    groups, names: of systems and inputs, as the module `groups` has them.
    method, unit: of the test, such as "jack" and "both"; method "" is that of "perm-".
    note: what the choice of the test has to say.
    pair: the difference of the two coefficients, as a statistic.
    """

    def __init__(
        self,
        first: Any,
        second: Any,
        y: Any,
        coef: str,
        level: str,
        nan: str,
        test: str,
        families: tuple[Any, Any],
    ) -> None:
        """Raises: ValueError as `compare`.

        test: one of `TESTS`. families: labels of systems and of inputs, or None.
        """
        sides = arrays.alike(first=first, second=second, y=y)
        self.n_missing = int(np.isnan(sides).any(axis=0).sum())
        x_first = arrays.fill(sides[0], sides[2], nan)[0]
        x_second = arrays.fill(sides[1], sides[2], nan)[0]
        common = arrays.common(x_first, x_second, sides[2])
        self.first, self.second, self.ratings = common
        self.coef = coef
        self.level = level
        self.nan = nan
        self.groups = groups.encode_groups(self.ratings.shape, *families)
        self.names = groups.names(self.ratings.shape, y, *families)
        self.test = arrays.choice(test, TESTS, "units")
        self.note = ""
        if self.test == "auto":
            present = ~np.isnan(self.ratings)
            self.test, self.note = intervals.chosen("test", level, present, self.groups)
        self.method, _, self.unit = self.test.rpartition("-")
        draws.check_units(self.unit, self.ratings.shape)
        levels.check(self.ratings, level)
        settings = coef, level, nan, self.groups
        plans = []
        for scores in (self.first, self.second):
            plans.append(levels.plan(scores, self.ratings, *settings))
        self.pair = levels.Combined(np.subtract, plans)

    def caution(self, interval: str) -> str:
        """What in the data speaks against the test, or else the interval of this name,
        where it is about other systems.
        """
        sides = self.pair, (self.first, self.second), self.ratings
        said = ""
        for name in (self.test, interval):
            said = said or cautions.of_test(name, *sides, self.level, self.names)
        return said

    def _result(self, alternative: str, **settings: Any) -> Comparison:
        """The comparison without a p; with a reason where a coefficient is undefined.

        settings: of the test, as `Comparison` has them.
        """
        values = [plan.value for plan in self.pair.parts]
        difference = values[0] - values[1]
        judges = []
        for judge, value in zip(("first", "second"), values, strict=True):
            if np.isnan(value):
                judges.append(judge)
        which = " and ".join(judges)
        reason = f"no test: the coefficient of the {which} judge is not defined"
        settings_of_basis = self.level, self.coef, self.names, True
        result = Comparison(
            first=values[0],
            second=values[1],
            difference=difference,
            p=NAN,
            coef=self.coef,
            level=self.level,
            test=self.test,
            alternative=alternative,
            scaling="",
            n=int(self.pair.present.sum()),
            n_missing=self.n_missing,
            total=self.ratings.size,
            nan=self.nan,
            seed=None,
            reason=reason if judges else "",
            basis=questions.Basis(self.pair, difference, *settings_of_basis),
        )
        return replace(result, **settings)

    def by_jackknife(self, alternative: str) -> Comparison:
        """The comparison with p by t from the difference without each unit."""
        result = self._result(alternative)
        if result.reason:
            return result
        careful = self.method == "careful"
        spread = jackknife.spread(self.pair, self.unit, careful=careful)
        p, reason = jackknife.p_value(result.difference, spread, alternative)
        test = spread.signature()
        return replace(result, p=p, reason=reason, test=test, spread=spread)

    def by_exchange(self, alternative: str, n_perm: int, seed: int) -> Comparison:
        """The comparison with p by exchanging the judges' scores.

        n_perm, seed: of random exchanges, which "exact-systems" takes, too, where there
            are too many patterns.
        """
        present = self.pair.present
        patterns = None
        if self.method == "exact":
            patterns = draws.every_pattern(present, MOST_PATTERNS, self.groups)
        grouped = f"|groups:{'+'.join(self.groups)}" if self.groups else ""
        if patterns is not None:
            test = f"exact-systems/{patterns.shape[1]}{grouped}"
            result = self._result(alternative, test=test, scaling="z")
            masks = _chunks(patterns, 2 * present.size)
        else:
            test = f"perm-{self.unit}/{n_perm}{grouped}"
            result = self._result(alternative, test=test, scaling="z", seed=seed)
            masks = draws.resamples(
                present.shape, self.unit, n_perm, seed, True, self.groups
            )
        if np.isnan(result.difference):
            return result
        observed, null = self._exchanged(masks)
        every = patterns is not None
        p, reason = p_value(null, observed, alternative, every)
        if self.level == "system" and p <= 0.05:
            reason = together(reason, self._not_by_jackknife(alternative))
        return replace(result, p=p, reason=reason, null=null)

    def _not_by_jackknife(self, alternative: str) -> str:
        """What is to be said of a difference that exchanging systems found; "" where
        the jackknife over systems finds it, too.

        Judges that are equally good and see different things are not exchangeable:
        docs/statistics.md has how often they are found to differ.
        """
        spread = jackknife.spread(self.pair, "systems")
        p, _ = jackknife.p_value(self.pair.value, spread, alternative)
        if p <= 0.05:
            return ""
        return (
            "found by exchanging systems, as it often is of equally good judges that "
            f"see different things; not by 'jack-systems' (p {p:.2g})"
        )

    def _exchanged(self, masks: Iterator[Draws]) -> tuple[float, Floats]:
        """The difference without an exchange, on the common scale of both judges, and
        after each exchange, (exchanges,).

        masks: 1 where the judges' scores change places.
        """
        first = standardised(self.first)
        second = joined(standardised(self.second), first)
        settings = self.coef, self.level, self.nan
        swapped = levels.Swapped(first, second, self.ratings, *settings)
        # The data themselves, computed as the exchanges are: nothing changes places.
        items = self.ratings.size
        no_mask = np.zeros((items, 1), dtype=draws.exact(2 * items))
        observed = np.subtract(*swapped.values(Draws(rows=no_mask)))
        differences = [np.subtract(*swapped.values(mask)) for mask in masks]
        return float(observed[0]), np.concatenate(differences)


def _chunks(patterns: Weights, items: int) -> Iterator[Draws]:
    """All patterns of exchanged systems, (systems, patterns), chunk by chunk.

    items: of both judges, which say how large a chunk may be.
    """
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
