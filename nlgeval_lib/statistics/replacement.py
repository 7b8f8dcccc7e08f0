"""May a judge take a person's place among the raters? The alternative annotator test,
with a constant judge beside it: where that passes, too, the test says nothing for the
judge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import arrays, jackknife
from .agreement import Flags, OfItems
from .draws import Draws
from .multiplicity import correct
from .result import NAN, Floats, Result

# how close a judgment is to the other raters': for scales, and for labels as numbers
SCORES = ("rmse", "accuracy")
# what is taken as independent: items, or systems and inputs
UNITS = ("auto", "items", "jack-both", "jack-inputs", "jack-systems")
# constant judges that are tried at most, of all ratings that occur
MOST_CONSTANTS = 25
# the share of false rejections that the correction over raters allows
Q = 0.05


@dataclass(frozen=True, repr=False)
class AltTest(Result):
    """The alternative annotator test of one judge.

    winning_rate: share of raters whom the judge beats significantly, in [0, 1]; NaN
        with a reason where no rater has enough items.
    advantage: mean over raters of the probability that the judge is as close to the
        others as the rater or closer, in [0, 1].
    passed: whether winning_rate is at least 0.5.
    p, won: one a rater, in order: p before correction, NaN for a rater left out, and
        whether the corrected p is at most `Q`.
    n_items, n_left_out: items with a judgment and at least 2 ratings, and the others.
    raters_left_out: numbers, from 0, of the raters with too few items.
    units: what was taken as independent, of `UNITS`, never "auto".
    reason: why there is no rate, or why passing says nothing.
    constant, constant_rate: the constant judge that fares best, and its winning rate.
    """

    winning_rate: float
    advantage: float
    passed: bool
    p: tuple[float, ...]
    won: tuple[bool, ...]
    epsilon: float
    score: str
    n_items: int
    n_left_out: int
    raters_left_out: tuple[int, ...]
    min_items: int
    units: str
    reason: str = ""
    constant: float = NAN
    constant_rate: float = NAN

    def answer(self) -> dict[str, Any]:
        names = "passed", "winning_rate", "advantage", "constant_rate"
        raters = len(self.p) - len(self.raters_left_out)
        return {**self._fields(*names), "raters": raters, "n": self.n_items}

    def signature(self) -> str:
        epsilon = arrays.exactly(self.epsilon)
        units = "t" if self.units == "items" else self.units
        test = f"score:{self.score}|eps:{epsilon}|{units}|correct:by|q:{Q}"
        if self.min_items != 30:
            test += f"|least:2 raters, {self.min_items} items"
        raters = f"raters:{len(self.p) - len(self.raters_left_out)}/{len(self.p)}"
        items = f"items:{self.n_items}/{self.n_items + self.n_left_out}"
        return f"test:alt-test|{test}|{raters}|{items}"


def alt_test(
    judge: Any,
    ratings: Any,
    score: str = "rmse",
    epsilon: float = 0.2,
    min_items: int = 30,
    units: str = "auto",
) -> AltTest:
    """Does the judge represent the raters better than a rater left out represents the
    rest?

    judge: (items,) or `[system, input]`, NaN missing.
    ratings: `R[rater, item]` or `R[rater, system, input]`, NaN missing. Items with
        fewer than 2 ratings or no judgment are left out and counted.
    score: closeness to the others: "rmse" (scales) or "accuracy" (labels as numbers).
    epsilon: what a person costs, as advantage given to the judge, in [0, 1): 0.2 for
        experts, 0.15 skilled, 0.1 crowd.
    min_items: items that a rater must have, at least 2; others are left out.
    units: "items", the authors' t-test over independent items; "jack-both" and the like
        over systems and inputs, which is meant where raters prefer systems; "auto" is
        over both where there are at least 3 systems and 3 inputs.
    Raises: ValueError for bad arrays, unknown words, epsilon outside [0, 1), fewer than
        2 raters, units that flat data do not have.
    Source: Calderon, Reichart and Dror 2025, section 3 (alt-test, winning rate,
        advantage probability).
    """
    arrays.choice(score, SCORES, "score")
    arrays.choice(units, UNITS, "units")
    epsilon = arrays.number(epsilon, "epsilon", 0, np.nextafter(1, 0))
    arrays.whole(min_items, "min_items", low=2)
    arrays.same_labels(judge=judge, ratings=ratings)
    x = arrays.floats(judge, "judge", "item", "system, input")
    stack = arrays.ratings_by_rater(ratings)
    if stack.shape[1:] != x.shape or len(stack) < 2:
        raise ValueError(
            f"got judge {x.shape} and ratings {stack.shape}; "
            "pass R[rater, item] with at least 2 raters"
        )
    usable = ((~np.isnan(stack)).sum(axis=0) >= 2) & ~np.isnan(x)
    units = _resolved(units, usable)
    test = _Test(stack, usable, score, epsilon, min_items, units)
    result = test.of_judge(x)
    if np.isnan(result.winning_rate):
        return result
    return _beside_constants(result, test)


def _resolved(units: str, usable: Flags) -> str:
    """What is taken as independent, "auto" replaced by what it stands for."""
    if units == "auto":
        units = "items"
        if usable.ndim > 1:
            kinds = [usable.any(axis=axis).sum() for axis in (0, 1)]
            units = "jack-both" if min(kinds) >= 3 else "items"
    if units != "items" and usable.ndim < 2:
        raise ValueError(
            f"units: got {units!r}; pass ratings R[rater, system, input] for it"
        )
    return units


def _beside_constants(result: AltTest, test: _Test) -> AltTest:
    """The result with the constant judge that fares best."""
    ratings = test.stack[:, test.usable]
    values: Any = np.unique(ratings[~np.isnan(ratings)])
    if len(values) > MOST_CONSTANTS:
        values = np.quantile(values, np.linspace(0, 1, MOST_CONSTANTS))
    # The quick t-test over items finds the best constant, which is then tested as the
    # judge was.
    shape = test.usable.shape
    quick = replace(test, units="items")
    fares = []
    for value in values:
        tested = quick.of_judge(np.full(shape, value))
        fares.append((tested.winning_rate, tested.advantage))
    value = float(values[fares.index(max(fares))])
    constant = test.of_judge(np.full(shape, value))
    rate = constant.winning_rate
    reason = result.reason
    if constant.passed:
        reason = (
            f"always {value:g} passes, too (winning rate {rate:.2f}): "
            "passing says nothing for a judge here"
        )
    return replace(result, constant=value, constant_rate=rate, reason=reason)


@dataclass
class _Test:
    """The test of any judge against the same raters.

    stack: ratings, `[rater, ...]`, NaN missing.
    usable: which items count, of the judge that is asked about.
    The others: as in `alt_test`, units without "auto".
    """

    stack: Floats
    usable: Flags
    score: str
    epsilon: float
    min_items: int
    units: str

    def of_judge(self, x: Floats) -> AltTest:
        """The test of one judge; x: its scores, shaped like the usable items."""
        columns = np.vstack([x[None, self.usable], self.stack[:, self.usable]])
        if self.score == "rmse":
            # So that squares neither overflow nor vanish. Which of two is closer does
            # not depend on the unit.
            columns = arrays.rescaled(columns)
        advantages = []
        p = []
        for rater, own in enumerate(columns[1:]):
            rated = ~np.isnan(own)
            if rated.sum() < self.min_items:
                p.append(NAN)
                continue
            peers = np.delete(columns[1:], rater, axis=0)[:, rated]
            of_judge = _closeness(columns[0, rated], peers, self.score)
            of_rater = _closeness(own[rated], peers, self.score)
            # Who is as close as the other wins, too: a tie is a win of both.
            judge_wins = (of_judge >= of_rater - 1e-12).astype(float)
            rater_wins = (of_rater >= of_judge - 1e-12).astype(float)
            places = self.usable.copy()
            places[self.usable] = rated
            advantages.append(float(judge_wins.mean()))
            p.append(self._p(rater_wins - judge_wins, places))
        # Raters share items, so the correction is the one for any dependence.
        won = correct(p, "by", alpha=Q).rejected
        rate = NAN
        reason = (
            f"no rater has {self.min_items} items with another rater and a judgment"
        )
        if advantages:
            rate = sum(won) / len(advantages)
            reason = ""
        return AltTest(
            winning_rate=rate,
            advantage=float(np.mean(advantages)) if advantages else NAN,
            passed=rate >= 0.5,
            p=tuple(p),
            won=won,
            epsilon=self.epsilon,
            score=self.score,
            n_items=int(self.usable.sum()),
            n_left_out=int((~self.usable).sum()),
            raters_left_out=tuple(np.flatnonzero(np.isnan(p)).tolist()),
            min_items=self.min_items,
            units=self.units,
            reason=reason,
        )

    def _p(self, lead: Floats, places: Flags) -> float:
        """p of "the rater's mean lead over the judge is epsilon or more".

        lead: of the rater, 1, 0 or -1, on each of the items that are in `places`.
        """
        if np.ptp(lead) == 0:
            # Without a spread the answer is certain either way.
            return 0.0 if lead[0] < self.epsilon else 1.0
        if self.units == "items":
            from scipy import stats

            test = stats.ttest_1samp(lead, self.epsilon, alternative="less")
            return float(test.pvalue)
        spread = jackknife.spread(
            _MeanLead(lead, places), self.units.removeprefix("jack-")
        )
        excess = float(lead.mean()) - self.epsilon
        return jackknife.p_value(excess, spread, "less")[0]


class _MeanLead(OfItems):
    """The mean of leads, one an item that is present, row-major."""

    def __init__(self, leads: Floats, present: Flags) -> None:
        super().__init__(lambda counts: float(leads @ counts), present)
        self.leads = leads

    def values(self, drawn: Draws) -> Floats:
        # All resamples at once.
        counts = self.counts(drawn)
        totals = counts.sum(axis=0)
        sums = self.leads @ counts
        return np.where(totals > 0, sums / np.maximum(totals, 1), np.nan)


def _closeness(values: Floats, peers: Floats, score: str) -> Floats:
    """How close each value is to the other raters': (items,), higher is closer."""
    if score == "rmse":
        return -np.sqrt(np.nanmean((peers - values) ** 2, axis=0))
    equal = (peers == values).sum(axis=0)
    return equal / (~np.isnan(peers)).sum(axis=0)
