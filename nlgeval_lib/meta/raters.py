"""The judge beside the raters: how well a person follows the others, and whether a judge may take a person's place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import checks, intervals, levels, missing
from .checks import Floats
from .correlation import correlate
from .multiplicity import correct

SCORES = ("rmse", "accuracy")
TESTS = ("t", "wilcoxon")
NAN = float("nan")


@dataclass(frozen=True)
class Ceiling:
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
    low: float = NAN
    high: float = NAN
    ci: str | None = None
    n_boot: int = 0
    seed: int | None = None
    reason: str = ""

    def __float__(self) -> float:
        return self.value

    def signature(self) -> str:
        """What was computed, in one line."""
        ci = f"|ci:{self.ci}/{self.n_boot}|seed:{self.seed}" if self.ci else ""
        gone = f"({self.total - self.n}/{self.total})" if self.n < self.total else ""
        return f"level:{self.level}|coef:{self.coef}|{self.who}:leave-one-out({self.n_raters})|nan:drop{gone}{ci}"


def human_ceiling(
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> Ceiling:
    """How well does each rater follow the mean of the others, on average?

    ratings: `R[rater, item]` (dataset level) or `R[rater, system, input]`, NaN missing; at least two raters. An item
    counts for a rater who rated it and whom at least one other joined. ci as in `correlate`, one set of resamples for
    all raters.
    Raises: ValueError as `correlate`, and for fewer than two raters.
    """
    stack = _stack(ratings)
    pairs = [(stack[r], _others(stack, r)) for r in range(len(stack))]
    return _leave_one_out(pairs, "raters", coef, level, ci, n_boot, seed)


def against_leave_one_out(
    judge: Any,
    ratings: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> Ceiling:
    """How well does a judge follow the same leave-one-out means as the raters of `human_ceiling`?

    judge: shaped like one rater's ratings. The mean of all raters is less noisy than that of all but one, so a judge's
    plain correlation is not comparable with the ceiling; this one is. Each mean is used on the items that the left-out
    rater rated.
    Raises: ValueError as `human_ceiling`, and for unequal shapes.
    """
    checks.same_labels("item", judge=checks.items(judge), ratings=checks.items(ratings, last=True))
    stack = _stack(ratings)
    x = checks.floats(judge, "judge")
    checks.same_shape(judge=x, rating=stack[0])
    pairs = [(np.where(np.isnan(stack[r]), np.nan, x), _others(stack, r)) for r in range(len(stack))]
    return _leave_one_out(pairs, "judge", coef, level, ci, n_boot, seed)


def _stack(ratings: Any) -> Floats:
    stack = checks.floats(ratings, "ratings")
    if stack.ndim not in (2, 3) or len(stack) < 2:
        raise ValueError(
            f"ratings: got shape {stack.shape}; pass R[rater, item] or R[rater, system, input] with at least 2 raters"
        )
    return checks.nonempty(stack, "ratings")


def _others(stack: Floats, rater: int) -> Floats:
    rest = np.delete(stack, rater, axis=0)
    count = (~np.isnan(rest)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.nansum(rest, axis=0) / np.where(count > 0, count, np.nan)


def _leave_one_out(
    pairs: list[tuple[Floats, Floats]], who: str, coef: str, level: str, ci: str | None, n_boot: int, seed: int
) -> Ceiling:
    coef = levels.named(coef)
    results = []
    for rater, (x, y) in enumerate(pairs):
        with checks.about(f"rater {rater}"):
            results.append(correlate(x, y, coef, level))
    each = tuple(result.value for result in results)
    value, shape = float(np.mean(each)), pairs[0][0].shape
    reason = next((f"rater {r}: {result.reason}" for r, result in enumerate(results) if result.reason), "")
    interval: tuple[Any, ...] = ()
    if ci is not None:
        method, units = intervals.parse(ci, shape)
        if method != "percentile":
            raise ValueError(f"ci: got {ci!r}; means over raters have percentile intervals only ('boot-...')")
        plans = [levels.plan(*missing.common(x, y), coef, level) for x, y in pairs]
        (low, high, _, why), _ = intervals.resampled(
            lambda drawn: np.mean([plan.values(drawn) for plan in plans], axis=0),
            value, shape, units, method, n_boot, seed,
        )  # fmt: skip
        reason, interval = reason or why, (low, high, ci, n_boot, seed)
    n = min(result.n for result in results)
    return Ceiling(value, each, who, coef, level, n, len(pairs), pairs[0][0].size, *interval, reason=reason)


@dataclass(frozen=True)
class AltTest:
    """The alternative annotator test of one judge.

    winning_rate: share of raters whom the judge beats significantly, in [0, 1]; advantage: mean over raters of the
    probability that the judge is as close to the others as the rater or closer; passed: winning_rate >= 0.5.
    judge_advantage, rater_advantage, p, adjusted, won: one a rater, in order; NaN and False for a rater left out.
    """

    winning_rate: float
    advantage: float
    passed: bool
    judge_advantage: tuple[float, ...]
    rater_advantage: tuple[float, ...]
    p: tuple[float, ...]
    adjusted: tuple[float, ...]
    won: tuple[bool, ...]
    epsilon: float
    score: str
    test: str
    q: float
    n_items: int
    n_left_out: int
    raters_left_out: tuple[int, ...]
    least: tuple[int, int] = (2, 30)  # ratings an item, items a rater
    reason: str = ""

    def signature(self) -> str:
        """What was computed, in one line."""
        least = "" if self.least == (2, 30) else f"|least:{self.least[0]} raters, {self.least[1]} items"
        epsilon, q = checks.exactly(self.epsilon), checks.exactly(self.q)
        return (
            f"test:alt-test|score:{self.score}|eps:{epsilon}|{self.test}|correct:by|q:{q}{least}"
            f"|raters:{len(self.p) - len(self.raters_left_out)}/{len(self.p)}"
            f"|items:{self.n_items}/{self.n_items + self.n_left_out}"
        )


def alt_test(
    judge: Any,
    ratings: Any,
    score: str | Callable[[Floats, Floats], Floats] = "rmse",
    epsilon: float = 0.2,
    q: float = 0.05,
    min_raters: int = 2,
    min_items: int = 30,
    test: str = "t",
) -> AltTest:
    """Does the judge represent the raters better than a rater left out represents the rest?

    judge: (items,); ratings: `R[rater, item]`, NaN missing. score: closeness to the remaining raters: "rmse" (scales),
    "accuracy" (labels as numbers), or a function of (values (n,), others `[rater, n]` with NaN) that returns (n,) with
    higher meaning closer. epsilon: what a person costs, as advantage given to the judge: 0.2 for experts, 0.15 skilled,
    0.1 crowd. test: t, or wilcoxon for fewer than 30 items. Items with fewer than `min_raters` ratings or no judgment,
    and raters with fewer than `min_items` such items, are left out and counted.
    Raises: ValueError for bad arrays, unknown words, epsilon outside [0, 1), fewer than 2 raters. No rater with enough
    items gives NaN and a reason.
    Source: Calderon, Reichart and Dror 2025, section 3 (alt-test, winning rate, advantage probability).
    """
    if not callable(score):
        checks.choice(score, SCORES, "score")
    checks.choice(test, TESTS, "test")
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float, np.number)) or not 0 <= epsilon < 1:
        raise ValueError(f"epsilon: got {epsilon!r}; pass a number from 0 (people cost nothing) to below 1")
    checks.between(q, "q")
    checks.whole(min_raters, "min_raters", low=2)
    checks.whole(min_items, "min_items", low=2)
    checks.same_labels("item", judge=checks.items(judge), ratings=checks.items(ratings, last=True))
    x, every = checks.vector(judge, "judge"), checks.matrix(ratings, "ratings")
    if every.shape[1] != len(x) or len(every) < 2:
        raise ValueError(f"got judge {x.shape} and ratings {every.shape}; pass R[rater, item] with at least 2 raters")
    usable = ((~np.isnan(every)).sum(axis=0) >= min_raters) & ~np.isnan(x)
    x, every = x[usable], every[:, usable]
    if score == "rmse":  # squares neither overflow nor vanish; who is closer does not depend on the unit
        x, *every = levels.rescaled(np.vstack([x, every]))
        every = np.array(every)
    closeness = score if callable(score) else _rmse if score == "rmse" else _accuracy
    rows = [_one_rater(x, every, rater, closeness, epsilon, min_items, test) for rater in range(len(every))]
    judge_advantage, rater_advantage, p = (tuple(column) for column in zip(*rows, strict=True))
    tested = ~np.isnan(p)
    corrected = correct(p, "by", alpha=q)
    won = tuple(bool(reject) for reject in corrected.rejected)
    rate = sum(won) / int(tested.sum()) if tested.any() else NAN
    return AltTest(
        winning_rate=rate,
        advantage=float(np.mean(np.array(judge_advantage)[tested])) if tested.any() else NAN,
        passed=rate >= 0.5,
        judge_advantage=judge_advantage,
        rater_advantage=rater_advantage,
        p=p,
        adjusted=corrected.adjusted,
        won=won,
        epsilon=float(epsilon),
        test=test,
        q=q,
        score=score if isinstance(score, str) else getattr(score, "__name__", "function"),
        n_items=int(usable.sum()),
        n_left_out=int((~usable).sum()),
        raters_left_out=tuple(np.flatnonzero(~tested).tolist()),
        least=(min_raters, min_items),
        reason="" if tested.any() else f"no rater has {min_items} items with another rater and a judgment",
    )


def _one_rater(
    x: Floats, every: Floats, rater: int, closeness: Callable[..., Floats], epsilon: float, min_items: int, test: str
) -> tuple[float, float, float]:
    """Advantage of the judge, advantage of the rater, and p of "the rater's lead over the judge is below epsilon"."""
    here = ~np.isnan(every[rater])
    if here.sum() < min_items:
        return NAN, NAN, NAN
    others = np.delete(every, rater, axis=0)[:, here]
    of_judge, of_rater = (_close(closeness, values, others) for values in (x[here], every[rater, here]))
    slack = 1e-12
    judge_wins = (of_judge >= of_rater - slack).astype(float)
    rater_wins = (of_rater >= of_judge - slack).astype(float)
    lead = rater_wins - judge_wins
    return float(judge_wins.mean()), float(rater_wins.mean()), _below(lead, epsilon, test)


def _close(closeness: Callable[..., Floats], values: Floats, others: Floats) -> Floats:
    """How close each value is to the others. Raises: ValueError unless that is one number an item."""
    found = checks.floats(closeness(values, others), "score")
    if found.shape != values.shape or np.isnan(found).any():
        raise ValueError(
            f"score: the function returned shape {found.shape} with {int(np.isnan(found).sum())} NaN for "
            f"{len(values)} items; it must return one finite number an item, higher meaning closer"
        )
    return found


def _below(lead: Floats, epsilon: float, test: str) -> float:
    if np.ptp(lead) == 0:  # no spread: the answer is certain either way
        return 0.0 if lead[0] < epsilon else 1.0
    from scipy import stats

    if test == "wilcoxon":
        return float(stats.wilcoxon(lead - epsilon, alternative="less").pvalue)
    return float(stats.ttest_1samp(lead, epsilon, alternative="less").pvalue)


def _rmse(values: Floats, others: Floats) -> Floats:
    return -np.sqrt(np.nanmean((others - values) ** 2, axis=0))


def _accuracy(values: Floats, others: Floats) -> Floats:
    here = ~np.isnan(others)
    return ((others == values) & here).sum(axis=0) / here.sum(axis=0)
