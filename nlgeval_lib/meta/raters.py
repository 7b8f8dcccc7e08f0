"""The judge beside the raters: how well a person follows the others, and whether a
judge may take a person's place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import arrays, groups, intervals, levels
from .correlation import correlate
from .multiplicity import correct
from .questions import Basis, Questioned
from .result import NAN, NO_INTERVAL, Floats, Interval, Result

SCORES = ("rmse", "accuracy")


@dataclass(frozen=True, repr=False)
class Ceiling(Questioned):
    """Mean correlation with the leave-one-out means of the raters.

    value: mean over raters of `each`, NaN with a reason where one is not defined. who:
    "raters" (each rater against the others) or "judge" (the judge against the same
    means, to be set beside them).
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
    basis: Basis | None = field(default=None, repr=False, compare=False)

    def signature(self) -> str:
        method = f"{self.who}:leave-one-out({self.n_raters})"
        missing = "nan:drop"
        if self.n < self.total:
            missing += f"({self.total - self.n}/{self.total})"
        data = f"level:{self.level}|coef:{self.coef}|{method}|{missing}"
        return data + self.interval.signature()


def human_ceiling(
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Ceiling:
    """How well does each rater follow the mean of the others, on average?

    ratings: `R[rater, item]` (dataset level) or `R[rater, system, input]`, NaN missing;
    at least two raters, of one kind (experts, or crowd workers). An item counts for a
    rater who rated it and whom at least one other joined. ci and groups as in
    `correlate`, one set of resamples for all raters.
    Raises: ValueError as `correlate`, and for fewer than two raters.
    """
    together = system_groups, input_groups
    interval = ci, n_boot, seed, confidence
    return _leave_one_out(None, ratings, coef, level, together, *interval)


def against_leave_one_out(
    judge: Any,
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Ceiling:
    """How well does a judge follow the same leave-one-out means as the raters of
    `human_ceiling`?

    judge: shaped like one rater's ratings. The mean of all raters is less noisy than
    that of all but one, so a judge's plain correlation is not comparable with the
    ceiling; this one is. Each mean is used on the items that the left-out rater rated.
    Raises: ValueError as `human_ceiling`, and for unequal shapes.
    """
    together = system_groups, input_groups
    interval = ci, n_boot, seed, confidence
    return _leave_one_out(judge, ratings, coef, level, together, *interval)


def _leave_one_out(
    judge: Any,
    ratings: Any,
    coef: str,
    level: str,
    together: tuple[Any, Any],
    *interval: Any,
) -> Ceiling:
    """The raters, or a judge in the place of each, against the others' means.

    judge: None for the raters themselves. together: groups of systems and of inputs.
    interval: arguments of `intervals.of`.
    """
    arrays.same_labels(judge=judge, ratings=ratings)
    stack = arrays.floats(ratings, "ratings", "rater, item", "rater, system, input")
    if len(stack) < 2:
        raise ValueError(
            f"ratings: got shape {stack.shape}; at least 2 raters are needed"
        )
    x = None
    if judge is not None:
        x = arrays.alike(judge=judge, rating=stack[0])[0]
    coef = levels.named(coef, level)
    grouped = groups.of(stack[0].shape, *together)
    results = []
    plans = []
    for rater, side in enumerate(stack):
        mean = _mean_of_peers(stack, rater)
        if x is not None:
            side = np.where(np.isnan(side), np.nan, x)
        results.append(correlate(side, mean, coef, level))
        side, mean = arrays.common(side, mean)
        plans.append(levels.plan(side, mean, coef, level, groups=grouped))
    values = tuple(result.value for result in results)
    value = float(np.mean(values))
    combined = levels.Combined(lambda *parts: np.mean(parts, axis=0), plans)
    names = groups.names(stack[0].shape, judge, *together)
    basis = Basis(combined, value, level, coef, names)
    ci, *settings = interval
    ends = intervals.of(combined, value, ci, level, coef, *settings)
    reason = ends.reason
    for rater, result in enumerate(results):
        if result.reason:
            reason = f"rater {rater}: {result.reason}"
            break
    return Ceiling(
        value=value,
        each=values,
        who="raters" if x is None else "judge",
        coef=coef,
        level=level,
        n=min(result.n for result in results),
        n_raters=len(stack),
        total=stack[0].size,
        interval=ends,
        reason=reason,
        basis=basis,
    )


def _mean_of_peers(stack: Floats, rater: int) -> Floats:
    """The mean of all raters but one, shaped like one rater's ratings; NaN where no
    other rated.
    """
    peers = np.delete(stack, rater, axis=0)
    count = (~np.isnan(peers)).sum(axis=0)
    divisor = np.where(count > 0, count, np.nan)
    return np.nansum(peers, axis=0) / divisor


@dataclass(frozen=True, repr=False)
class AltTest(Result):
    """The alternative annotator test of one judge.

    winning_rate: share of raters whom the judge beats significantly, in [0, 1];
    advantage: mean over raters of the probability that the judge is as close to the
    others as the rater or closer; passed: winning_rate >= 0.5.
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

    def answer(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "winning_rate": self.winning_rate,
            "advantage": self.advantage,
            "raters": len(self.p) - len(self.raters_left_out),
            "n": self.n_items,
        }

    def signature(self) -> str:
        epsilon = arrays.exactly(self.epsilon)
        q = arrays.exactly(self.q)
        test = f"score:{self.score}|eps:{epsilon}|t|correct:by|q:{q}"
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
) -> AltTest:
    """Does the judge represent the raters better than a rater left out represents the
    rest?

    judge: (items,); ratings: `R[rater, item]`, NaN missing. score: closeness to the
    other raters: "rmse" (scales) or "accuracy" (labels as numbers). epsilon: what a
    person costs, as advantage given to the judge: 0.2 for experts, 0.15 skilled, 0.1
    crowd. Items with fewer than 2 ratings or no judgment, and raters with fewer than
    `min_items` such items, are left out and counted.
    Raises: ValueError for bad arrays, unknown words, epsilon outside [0, 1), fewer than
    2 raters. No rater with enough items gives NaN and a reason.
    Source: Calderon, Reichart and Dror 2025, section 3 (alt-test, winning rate,
    advantage probability).
    """
    arrays.choice(score, SCORES, "score")
    epsilon = arrays.number(epsilon, "epsilon", 0, np.nextafter(1, 0))
    arrays.share(q, "q")
    arrays.whole(min_items, "min_items", low=2)
    columns, n_left_out = _usable_items(judge, ratings)
    advantages, p = _each_rater(columns, score, epsilon, min_items)
    tested = ~np.isnan(p)
    won = correct(p, "by", alpha=q).rejected
    rate = NAN
    mean_advantage = NAN
    reason = f"no rater has {min_items} items with another rater and a judgment"
    if tested.any():
        rate = sum(won) / int(tested.sum())
        mean_advantage = float(np.mean(np.array(advantages)[tested]))
        reason = ""
    return AltTest(
        winning_rate=rate,
        advantage=mean_advantage,
        passed=rate >= 0.5,
        p=tuple(p),
        won=won,
        epsilon=epsilon,
        score=score,
        q=q,
        n_items=columns.shape[1],
        n_left_out=n_left_out,
        raters_left_out=tuple(np.flatnonzero(~tested).tolist()),
        min_items=min_items,
        reason=reason,
    )


def _usable_items(judge: Any, ratings: Any) -> tuple[Floats, int]:
    """The judge's scores and below them the raters', of the items with a judgment and
    at least 2 ratings; how many other items there are.

    Raises: ValueError for bad arrays and fewer than 2 raters.
    """
    arrays.same_labels(judge=judge, ratings=ratings)
    x = arrays.floats(judge, "judge", "item")
    stack = arrays.floats(ratings, "ratings", "rater, item")
    if stack.shape[1] != len(x) or len(stack) < 2:
        raise ValueError(
            f"got judge {x.shape} and ratings {stack.shape}; "
            "pass R[rater, item] with at least 2 raters"
        )
    n_ratings = (~np.isnan(stack)).sum(axis=0)
    usable = (n_ratings >= 2) & ~np.isnan(x)
    columns = np.vstack([x, stack])[:, usable]
    return columns, int((~usable).sum())


def _each_rater(
    columns: Floats, score: str, epsilon: float, min_items: int
) -> tuple[list[float], list[float]]:
    """Advantage of the judge over each rater, and p, as `_one_rater` says."""
    if score == "rmse":
        # So that squares neither overflow nor vanish. Which of two is closer does not
        # depend on the unit.
        columns = arrays.rescaled(columns)
    advantages = []
    p_values = []
    x = columns[0]
    stack = columns[1:]
    for rater in range(len(stack)):
        advantage, p = _one_rater(x, stack, rater, score, epsilon, min_items)
        advantages.append(advantage)
        p_values.append(p)
    return advantages, p_values


def _one_rater(
    x: Floats, stack: Floats, rater: int, score: str, epsilon: float, min_items: int
) -> tuple[float, float]:
    """Advantage of the judge, and p of "the rater's lead over the judge is below
    epsilon".
    """
    rated = ~np.isnan(stack[rater])
    if rated.sum() < min_items:
        return NAN, NAN
    peers = np.delete(stack, rater, axis=0)[:, rated]
    of_judge = _closeness(x[rated], peers, score)
    of_rater = _closeness(stack[rater, rated], peers, score)
    judge_wins = (of_judge >= of_rater - 1e-12).astype(float)
    lead = (of_rater >= of_judge - 1e-12).astype(float) - judge_wins
    if np.ptp(lead) == 0:
        # Without a spread the answer is certain either way.
        p = 0.0 if lead[0] < epsilon else 1.0
    else:
        from scipy import stats

        p = float(stats.ttest_1samp(lead, epsilon, alternative="less").pvalue)
    return float(judge_wins.mean()), p


def _closeness(values: Floats, peers: Floats, score: str) -> Floats:
    """How close each value is to the others' (`[rater, item]`, NaN missing):
    (items,), higher is closer.
    """
    if score == "rmse":
        return -np.sqrt(np.nanmean((peers - values) ** 2, axis=0))
    equal = (peers == values).sum(axis=0)
    return equal / (~np.isnan(peers)).sum(axis=0)
