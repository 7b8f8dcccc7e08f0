"""The judge beside the raters: how well a person follows the others, and whether a judge may take a person's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays, intervals, levels
from .correlation import correlate
from .multiplicity import correct
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured, Result

SCORES = ("rmse", "accuracy")


@dataclass(frozen=True, repr=False)
class Ceiling(Measured):
    """Mean correlation with the leave-one-out means of the raters.

    value: mean over raters of `each`, NaN with a reason where one is not defined. who: "raters" (each rater against the
    others) or "judge" (the judge against the same means, to be set beside them).
    """

    value: float
    each: tuple[float, ...]
    who: str
    coef: str
    level: str
    n: int
    n_raters: int
    total: int
    interval: Interval = NO_INTERVAL
    reason: str = ""

    def signature(self) -> str:
        gone = f"({self.total - self.n}/{self.total})" if self.n < self.total else ""
        who = f"{self.who}:leave-one-out({self.n_raters})"
        return f"level:{self.level}|coef:{self.coef}|{who}|nan:drop{gone}{self.interval.signature()}"


def human_ceiling(
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Ceiling:
    """How well does each rater follow the mean of the others, on average?

    ratings: `R[rater, item]` (dataset level) or `R[rater, system, input]`, NaN missing; at least two raters. An item
    counts for a rater who rated it and whom at least one other joined. ci as in `correlate`, one set of resamples for
    all raters.
    Raises: ValueError as `correlate`, and for fewer than two raters.
    """
    return _leave_one_out(None, ratings, coef, level, ci, n_boot, seed, confidence)


def against_leave_one_out(
    judge: Any,
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Ceiling:
    """How well does a judge follow the same leave-one-out means as the raters of `human_ceiling`?

    judge: shaped like one rater's ratings. The mean of all raters is less noisy than that of all but one, so a judge's
    plain correlation is not comparable with the ceiling; this one is. Each mean is used on the items that the left-out
    rater rated.
    Raises: ValueError as `human_ceiling`, and for unequal shapes.
    """
    return _leave_one_out(judge, ratings, coef, level, ci, n_boot, seed, confidence)


def _leave_one_out(judge: Any, ratings: Any, coef: str, level: str, *interval: Any) -> Ceiling:
    arrays.same_labels(judge=judge, ratings=ratings)
    stack = arrays.floats(ratings, "ratings", "rater, item", "rater, system, input")
    if len(stack) < 2:
        raise ValueError(f"ratings: got shape {stack.shape}; at least 2 raters are needed")
    x = None if judge is None else arrays.alike(judge=judge, rating=stack[0])[0]
    coef = levels.named(coef, level)
    results, plans = [], []
    for r, own in enumerate(stack):
        rest = np.delete(stack, r, axis=0)
        count = (~np.isnan(rest)).sum(axis=0)
        others = np.nansum(rest, axis=0) / np.where(count > 0, count, np.nan)
        side = own if x is None else np.where(np.isnan(own), np.nan, x)
        results.append(correlate(side, others, coef, level))
        side, others = arrays.common(side, others)
        plans.append(levels.plan(side, others, coef, level))
    each = tuple(result.value for result in results)
    value = float(np.mean(each))
    mean = levels.Combined(lambda *parts: np.mean(parts, axis=0), plans)
    ends = intervals.of(mean, value, interval[0], level, coef, *interval[1:])
    reason = next((f"rater {r}: {result.reason}" for r, result in enumerate(results) if result.reason), ends.reason)
    counts = min(result.n for result in results), len(stack), stack[0].size
    return Ceiling(value, each, "raters" if x is None else "judge", coef, level, *counts, ends, reason)


@dataclass(frozen=True, repr=False)
class AltTest(Result):
    """The alternative annotator test of one judge.

    winning_rate: share of raters whom the judge beats significantly, in [0, 1]; advantage: mean over raters of the
    probability that the judge is as close to the others as the rater or closer; passed: winning_rate >= 0.5.
    p, won: one a rater, in order; NaN and False for a rater left out.
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
    reason: str = ""

    def signature(self) -> str:
        least = "" if self.min_items == 30 else f"|least:2 raters, {self.min_items} items"
        test = f"score:{self.score}|eps:{arrays.exactly(self.epsilon)}|t|correct:by|q:{arrays.exactly(self.q)}{least}"
        raters = f"raters:{len(self.p) - len(self.raters_left_out)}/{len(self.p)}"
        return f"test:alt-test|{test}|{raters}|items:{self.n_items}/{self.n_items + self.n_left_out}"


def alt_test(
    judge: Any, ratings: Any, score: str = "rmse", epsilon: float = 0.2, q: float = 0.05, min_items: int = 30
) -> AltTest:
    """Does the judge represent the raters better than a rater left out represents the rest?

    judge: (items,); ratings: `R[rater, item]`, NaN missing. score: closeness to the other raters: "rmse" (scales) or
    "accuracy" (labels as numbers). epsilon: what a person costs, as advantage given to the judge: 0.2 for experts, 0.15
    skilled, 0.1 crowd. Items with fewer than 2 ratings or no judgment, and raters with fewer than `min_items` such
    items, are left out and counted.
    Raises: ValueError for bad arrays, unknown words, epsilon outside [0, 1), fewer than 2 raters. No rater with enough
    items gives NaN and a reason.
    Source: Calderon, Reichart and Dror 2025, section 3 (alt-test, winning rate, advantage probability).
    """
    arrays.choice(score, SCORES, "score")
    epsilon = arrays.number(epsilon, "epsilon", 0, np.nextafter(1, 0))
    arrays.share(q, "q")
    arrays.whole(min_items, "min_items", low=2)
    arrays.same_labels(judge=judge, ratings=ratings)
    x, every = arrays.floats(judge, "judge", "item"), arrays.floats(ratings, "ratings", "rater, item")
    if every.shape[1] != len(x) or len(every) < 2:
        raise ValueError(f"got judge {x.shape} and ratings {every.shape}; pass R[rater, item] with at least 2 raters")
    usable = ((~np.isnan(every)).sum(axis=0) >= 2) & ~np.isnan(x)
    both = np.vstack([x, every])[:, usable]
    if score == "rmse":  # squares neither overflow nor vanish; who is closer does not depend on the unit
        both = arrays.rescaled(both)
    rows = [_one_rater(both[0], both[1:], rater, score, epsilon, min_items) for rater in range(len(every))]
    advantages, p = (tuple(column) for column in zip(*rows, strict=True))
    tested = ~np.isnan(p)
    won = correct(p, "by", alpha=q).rejected
    rate, advantage = NAN, NAN
    reason = f"no rater has {min_items} items with another rater and a judgment"
    if tested.any():
        rate, advantage, reason = sum(won) / int(tested.sum()), float(np.mean(np.array(advantages)[tested])), ""
    counts = int(usable.sum()), int((~usable).sum()), tuple(np.flatnonzero(~tested).tolist())
    return AltTest(rate, advantage, rate >= 0.5, p, won, epsilon, score, q, *counts, min_items, reason)


def _one_rater(x: Floats, every: Floats, rater: int, score: str, epsilon: float, min_items: int) -> tuple[float, float]:
    """Advantage of the judge, and p of "the rater's lead over the judge is below epsilon"."""
    here = ~np.isnan(every[rater])
    if here.sum() < min_items:
        return NAN, NAN
    others = np.delete(every, rater, axis=0)[:, here]
    of_judge, of_rater = (_closeness(values, others, score) for values in (x[here], every[rater, here]))
    judge_wins = (of_judge >= of_rater - 1e-12).astype(float)
    lead = (of_rater >= of_judge - 1e-12).astype(float) - judge_wins
    if np.ptp(lead) == 0:  # no spread: the answer is certain either way
        p = 0.0 if lead[0] < epsilon else 1.0
    else:
        from scipy import stats

        p = float(stats.ttest_1samp(lead, epsilon, alternative="less").pvalue)
    return float(judge_wins.mean()), p


def _closeness(values: Floats, others: Floats, score: str) -> Floats:
    """How close each value is to the others' (`[rater, item]`, NaN missing): (items,), higher is closer."""
    if score == "rmse":
        return -np.sqrt(np.nanmean((others - values) ** 2, axis=0))
    return (others == values).sum(axis=0) / (~np.isnan(others)).sum(axis=0)
