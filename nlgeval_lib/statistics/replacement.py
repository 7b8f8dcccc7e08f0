"""May a judge take a person's place among the raters? The alternative annotator test,
with a constant judge and output length beside it: where they pass, too, the test says
nothing for the judge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import arrays, groups, jackknife
from .agreement import Flags, OfItems, item_counts
from .draws import Draws, Groups
from .multiplicity import correct
from .result import NAN, Floats, Result, together

# how close a judgment is to the other raters': for scales, and for labels as numbers
SCORES = ("rmse", "accuracy")
# what is taken as independent: items, or systems and inputs
UNITS = ("auto", "items", "jack-both", "jack-inputs", "jack-systems")
# constant judges that are tried at most, of all ratings that occur
MOST_CONSTANTS = 25


@dataclass(frozen=True, repr=False)
class AltTest(Result):
    """The alternative annotator test of one judge.

    winning_rate: share of raters whom the judge beats significantly, in [0, 1]; NaN
        with a reason where no rater has enough items.
    advantage: mean over raters of the probability that the judge is as close to the
        others as the rater or closer, in [0, 1].
    passed: whether winning_rate is at least 0.5.
    p, won: one a rater, in order: p before correction, NaN for a rater left out, and
        whether the corrected p is at most q.
    n_items, n_left_out: items with a judgment and at least 2 ratings, and the others.
    raters_left_out: numbers, from 0, of the raters with too few items.
    units: what was taken as independent, of `UNITS`, never "auto".
    reason: why there is no rate, or why passing says nothing.
    constant, constant_rate: the constant judge that fares best, and its winning rate.
    length_rate: that of output length, put on the raters' scale; NaN where unknown.
    """

    winning_rate: float
    advantage: float
    passed: bool
    p: tuple[float, ...]
    won: tuple[bool, ...]
    epsilon: float
    score: str
    q: float
    n_items: int
    n_left_out: int
    raters_left_out: tuple[int, ...]
    min_items: int = 30
    units: str = "items"
    reason: str = ""
    constant: float = NAN
    constant_rate: float = NAN
    length_rate: float = NAN

    def answer(self) -> dict[str, Any]:
        names = "passed", "winning_rate", "advantage", "constant_rate"
        raters = len(self.p) - len(self.raters_left_out)
        return {**self._fields(*names), "raters": raters, "n": self.n_items}

    def signature(self) -> str:
        epsilon = arrays.exactly(self.epsilon)
        q = arrays.exactly(self.q)
        units = "t" if self.units == "items" else self.units
        test = f"score:{self.score}|eps:{epsilon}|{units}|correct:by|q:{q}"
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
    q: float = 0.05,
    min_items: int = 30,
    length: Any = None,
    units: str = "auto",
    system_groups: Any = None,
    input_groups: Any = None,
) -> AltTest:
    """Does the judge represent the raters better than a rater left out represents the
    rest?

    judge: (items,) or `[system, input]`, NaN missing.
    ratings: `R[rater, item]` or `R[rater, system, input]`, NaN missing. Items with
        fewer than 2 ratings or no judgment are left out and counted.
    score: closeness to the others: "rmse" (scales) or "accuracy" (labels as numbers).
    epsilon: what a person costs, as advantage given to the judge, in [0, 1): 0.2 for
        experts, 0.15 skilled, 0.1 crowd.
    q: the share of false rejections that the correction over raters allows, in (0, 1).
    min_items: items that a rater must have, at least 2; others are left out.
    length: of the outputs, shaped like the judge, for the length judge; None for none.
    units: "items", the authors' t-test over independent items; "jack-both" and the like
        over systems and inputs, which is meant where raters prefer systems; "auto" is
        over both where there are at least 3 systems and 3 inputs.
    system_groups, input_groups: labels of what the jackknife leaves out as a whole.
    Raises: ValueError for bad arrays, unknown words, epsilon outside [0, 1), fewer than
        2 raters, units that flat data do not have.
    Source: Calderon, Reichart and Dror 2025, section 3 (alt-test, winning rate,
        advantage probability).
    """
    arrays.choice(score, SCORES, "score")
    arrays.choice(units, UNITS, "units")
    epsilon = arrays.number(epsilon, "epsilon", 0, np.nextafter(1, 0))
    arrays.share(q, "q")
    arrays.whole(min_items, "min_items", low=2)
    x, stack, usable = _usable_items(judge, ratings)
    units = _resolved(units, usable)
    grouped = groups.encode_groups(x.shape, system_groups, input_groups)
    test = _Test(stack, usable, score, epsilon, q, min_items, units, grouped)
    result = test.test_judge(x)
    if np.isnan(result.winning_rate):
        return result
    result = _beside_constants(result, test)
    if length is not None:
        lengths, _ = arrays.alike(length=length, judge=x)
        result = _beside_length(result, test, lengths)
    return result


def _usable_items(judge: Any, ratings: Any) -> tuple[Floats, Floats, Flags]:
    """The judge's scores, the raters', and where there is a judgment and at least 2
    ratings. Raises: ValueError for bad arrays and fewer than 2 raters.
    """
    arrays.same_labels(judge=judge, ratings=ratings)
    x = arrays.floats(judge, "judge", "item", "system, input")
    stack = arrays.ratings_by_rater(ratings)
    if stack.shape[1:] != x.shape or len(stack) < 2:
        raise ValueError(
            f"got judge {x.shape} and ratings {stack.shape}; "
            "pass R[rater, item] with at least 2 raters"
        )
    n_ratings = (~np.isnan(stack)).sum(axis=0)
    return x, stack, (n_ratings >= 2) & ~np.isnan(x)


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
    values: Any = np.unique(test.ratings)
    if len(values) > MOST_CONSTANTS:
        values = np.quantile(values, np.linspace(0, 1, MOST_CONSTANTS))
    # The quick t-test over items finds the best constant, which is then tested as the
    # judge was.
    shape = test.usable.shape
    fares = []
    for value in values:
        quick = test.test_judge(np.full(shape, value), "items")
        fares.append((quick.winning_rate, quick.advantage))
    value = float(values[fares.index(max(fares))])
    constant = test.test_judge(np.full(shape, value))
    rate = constant.winning_rate
    reason = result.reason
    if constant.passed:
        reason = (
            f"always {value:g} passes, too (winning rate {rate:.2f}): "
            "passing says nothing for a judge here"
        )
    return replace(result, constant=value, constant_rate=rate, reason=reason)


def _beside_length(result: AltTest, test: _Test, lengths: Floats) -> AltTest:
    """The result with the judge that gives the longest outputs the highest ratings."""
    present = test.usable & ~np.isnan(lengths)
    # The output whose length has a rank gets the rating that has this rank.
    rank = np.argsort(np.argsort(lengths[present], kind="stable"))
    share = (rank + 0.5) / max(len(rank), 1)
    scores = np.full(lengths.shape, np.nan)
    scores[present] = np.quantile(test.ratings, share, method="inverted_cdf")
    of_length = test.test_judge(scores)
    rate = of_length.winning_rate
    note = ""
    if of_length.passed:
        note = f"output length passes, too (winning rate {rate:.2f})"
    return replace(result, length_rate=rate, reason=together(result.reason, note))


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
    q: float
    min_items: int
    units: str
    groups: Groups

    @property
    def ratings(self) -> Floats:
        """All of the items that count."""
        ratings = self.stack[:, self.usable]
        return ratings[~np.isnan(ratings)]

    def test_judge(self, x: Floats, units: str = "") -> AltTest:
        """The test of one judge.

        x: its scores, shaped like the usable items.
        units: in place of the test's own; "" for these.
        """
        units = units or self.units
        advantages = []
        p = []
        for advantage, lead, places in self._leads(x):
            advantages.append(advantage)
            p.append(self._p(lead, places, units))
        tested = ~np.isnan(p)
        # Raters share items, so the correction is the one for any dependence.
        won = correct(p, "by", alpha=self.q).rejected
        rate = NAN
        mean_advantage = NAN
        least = self.min_items
        reason = f"no rater has {least} items with another rater and a judgment"
        if tested.any():
            rate = sum(won) / int(tested.sum())
            mean_advantage = float(np.array(advantages)[tested].mean())
            reason = ""
        return AltTest(
            winning_rate=rate,
            advantage=mean_advantage,
            passed=rate >= 0.5,
            p=tuple(p),
            won=won,
            epsilon=self.epsilon,
            score=self.score,
            q=self.q,
            n_items=int(self.usable.sum()),
            n_left_out=int((~self.usable).sum()),
            raters_left_out=tuple(np.flatnonzero(~tested).tolist()),
            min_items=least,
            units=units,
            reason=reason,
        )

    def _leads(self, x: Floats) -> list[tuple[float, Floats, Flags]]:
        """How the judge and each rater compare, item by item.

        Returns: of each rater the judge's advantage, in [0, 1]; the rater's lead on
            each item that counts (1, 0 where both are as close, -1); and which items
            these are, shaped like the data. NaN and no item for a rater with too few.
        """
        usable = self.usable & ~np.isnan(x)
        columns = np.vstack([x[None, usable], self.stack[:, usable]])
        if self.score == "rmse":
            # So that squares neither overflow nor vanish. Which of two is closer does
            # not depend on the unit.
            columns = arrays.rescaled(columns)
        leads = []
        for rater, own in enumerate(columns[1:]):
            rated = ~np.isnan(own)
            if rated.sum() < self.min_items:
                leads.append((NAN, np.empty(0), usable))
                continue
            peers = np.delete(columns[1:], rater, axis=0)[:, rated]
            of_judge = _closeness(columns[0, rated], peers, self.score)
            of_rater = _closeness(own[rated], peers, self.score)
            # Who is as close as the other wins, too: a tie is a win of both.
            judge_wins = (of_judge >= of_rater - 1e-12).astype(float)
            rater_wins = (of_rater >= of_judge - 1e-12).astype(float)
            places = usable.copy()
            places[usable] = rated
            advantage = float(judge_wins.mean())
            leads.append((advantage, rater_wins - judge_wins, places))
        return leads

    def _p(self, lead: Floats, places: Flags, units: str) -> float:
        """p of "the rater's mean lead over the judge is epsilon or more"; NaN without
        an item.
        """
        if not len(lead):
            return NAN
        if np.ptp(lead) == 0:
            # Without a spread the answer is certain either way.
            return 0.0 if lead[0] < self.epsilon else 1.0
        if units == "items":
            from scipy import stats

            test = stats.ttest_1samp(lead, self.epsilon, alternative="less")
            return float(test.pvalue)
        statistic = _MeanLead(lead, places, self.groups)
        spread = jackknife.spread(statistic, units.removeprefix("jack-"))
        excess = float(lead.mean()) - self.epsilon
        return jackknife.p_value(excess, spread, "less")[0]


class _MeanLead(OfItems):
    """The mean of leads, one an item that is present, row-major."""

    def __init__(self, leads: Floats, present: Flags, groups: Groups) -> None:
        super().__init__(lambda counts: float(leads @ counts), present, groups)
        self.leads = leads

    def values(self, drawn: Draws) -> Floats:
        # All resamples at once.
        counts = item_counts(drawn, self.present)
        totals = counts.sum(axis=0)
        sums = self.leads @ counts
        return np.where(totals > 0, sums / np.maximum(totals, 1), np.nan)


def _closeness(values: Floats, peers: Floats, score: str) -> Floats:
    """How close each value is to the others' (`[rater, item]`): (items,), higher is
    closer: less the root mean square distance, or the share of equal labels.
    """
    if score == "rmse":
        return -np.sqrt(np.nanmean((peers - values) ** 2, axis=0))
    equal = (peers == values).sum(axis=0)
    return equal / (~np.isnan(peers)).sum(axis=0)
