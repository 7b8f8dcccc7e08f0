"""Does a claim hold with another judge? The difference of two arms, and a verdict.

A claim of a paper that is a difference or an order ("CoAScore follows people better
than the judge asked directly") can be asked of any judge. `compare` takes the scores of
both arms and gives the difference of their coefficients with two intervals: over the
inputs, for these systems, and over systems and inputs, for others like them. `verdict`
says what that means for the claim. It is a replication of the claim, not of the
paper's number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import statistics
from nlgeval_lib.scoring import correlations
from reproduction.study import catalogue, variant_tests
from reproduction.study.questions import judge_scores

OUTPUT = ["input_id", "system_id"]  # what names an output

# A difference that may be taken for none: what an interval must stay above for its
# direction to be called the same, though it holds 0.
MARGIN = 0.05
TOLD_APART = "same direction, told apart"
SAME = "same direction"
OPPOSITE = "opposite"
OPPOSITE_TOLD_APART = "opposite, told apart"
CANNOT_TELL = "these data cannot tell"
VERDICTS = (TOLD_APART, SAME, CANNOT_TELL, OPPOSITE, OPPOSITE_TOLD_APART)


@dataclass(frozen=True)
class Arms:
    """Scores of several arms of one design on the same outputs.

    items: a row an output, with `input_id`, `system_id` and ratings.
    human: {aspect: the ratings, a value an output}.
    scores: {arm: {aspect: scores, a value an output, NaN for none}}.
    why: {arm: why it has no scores}.
    signatures: {arm: how its scores were made}.
    """

    items: pd.DataFrame
    human: Mapping[str, np.ndarray]
    scores: Mapping[str, Mapping[str, np.ndarray]]
    why: Mapping[str, str]
    signatures: Mapping[str, str]

    def asked(self, *names: str) -> bool:
        """Whether the judge was asked for all of these arms, read or not."""
        return all(name in self.scores for name in names)


def of_questions(output: str, judge: str, mode: str) -> Arms:
    """The questions of a catalogue's output as arms, each under its name there.

    output: its id, and after "|" further settings of the evaluator.
    judge: a model of `saved_judges`. mode: "quick" takes 20 inputs.
    """
    output, _, settings = output.partition("|")
    scores = {}
    why = {}
    signatures = {}
    frames = {}
    for question in catalogue.load().questions_of(output):
        answers = judge_scores(
            output,
            question.name,
            engine="saved",
            model=judge,
            mode=mode,
            settings=settings.split(),
        )
        if not answers.available:
            why[question.name] = answers.why
            continue
        frames[question.name] = answers.frame
        signatures[question.name] = answers.signature
    if not frames:
        return Arms(pd.DataFrame(), {}, {}, why, {})
    # All questions of these outputs are about the same responses.
    first = next(iter(frames.values()))
    places = pd.MultiIndex.from_frame(first[OUTPUT].drop_duplicates())
    human = wide(first, variant_tests.rated_by(first), places)
    for name, frame in frames.items():
        scores[name] = wide(frame, "value", places)
    items = places.to_frame(index=False)
    return Arms(items, human, scores, why, signatures)


def wide(
    frame: pd.DataFrame, column: str, places: pd.MultiIndex
) -> dict[str, np.ndarray]:
    """A column of judged rows, {aspect: a value an output}, in the outputs' order."""
    wide = frame.pivot(index=OUTPUT, columns="aspect", values=column)
    wide = wide.reindex(places)
    return {str(aspect): wide[aspect].to_numpy(float) for aspect in wide}


@dataclass(frozen=True)
class Replicated:
    """The difference of two arms' coefficients, first minus second.

    first, second: the coefficient of each, the mean over the aspects.
    difference: of the two; NaN with a reason.
    low, high: its 95 % interval over inputs, for these systems; p: of that test.
    low_both, high_both: over systems and inputs.
    n: outputs that both arms scored and people rated, over all aspects.
    n_all: outputs that people rated.
    reason: why there is none, or what to be careful about.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    low_both: float
    high_both: float
    n: int
    n_all: int
    signature: str = ""
    reason: str = ""

    @property
    def verdict(self) -> str:
        """What these outputs say of a claim that the first arm is ahead."""
        return verdict(self.difference, self.low, self.high)

    @property
    def other_systems(self) -> str:
        """Whether that holds for other systems, too: "yes", or what can be said."""
        return verdict(self.difference, self.low_both, self.high_both)


def verdict(difference: float, low: float, high: float) -> str:
    """What a difference and its interval say of a claim that it is above 0.

    Where the interval holds 0, the direction counts only if the other one is excluded
    down to `MARGIN`.

    Example:
    >>> verdict(0.17, 0.05, 0.31), verdict(0.02, -0.03, 0.07), verdict(0.1, -0.2, 0.4)
    ('same direction, told apart', 'same direction', 'these data cannot tell')
    """
    if np.isnan(difference) or np.isnan(low) or np.isnan(high):
        return CANNOT_TELL
    if low > 0:
        return TOLD_APART
    if high < 0:
        return OPPOSITE_TOLD_APART
    if difference > 0 and low > -MARGIN:
        return SAME
    if difference < 0 and high < MARGIN:
        return OPPOSITE
    return CANNOT_TELL


def compare(
    arms: Arms,
    first: str,
    second: str,
    aspects: Sequence[str],
    coef: str = "spearman",
    level: str = "dataset",
) -> Replicated:
    """The difference of two arms, on the outputs that both scored.

    arms: with their scores. first, second: two of them; the claim is that the first
    is ahead.
    aspects: of several, the mean of their coefficients is compared.
    coef, level: of the correlation, as `statistics.correlate` has them.
    Returns: NaN and the reason where an arm has no scores.
    """
    for arm in (first, second):
        if reason := _unasked(arms, arm, aspects):
            return _none(reason)
    grid = correlations.Grid(arms.items, level)
    # Ranks of systems move in steps, for which a jackknife is too wide.
    kind = "boot" if level == "system" else "jack"
    pair = (first, second)
    ours, theirs = _sides(grid, arms, pair, aspects, coef, f"{kind}-inputs")
    over_both = _sides(grid, arms, pair, aspects, coef, f"{kind}-both")
    difference = ours.value - theirs.value
    n_all = sum(int(np.isfinite(arms.human[name]).sum()) for name in aspects)
    if np.isnan(difference):
        return _none(ours.reason or theirs.reason or "undefined", ours.n, n_all)
    replicates = ours.replicates, theirs.replicates
    inputs = statistics.intervals.of_difference(*replicates, difference)
    wide_ours, wide_theirs = (side.replicates for side in over_both)
    both = statistics.intervals.of_difference(wide_ours, wide_theirs, difference)
    missing = f"nan:drop({n_all - ours.n}/{n_all})"
    signature = f"level:{level}|coef:{coef}|{missing}|ci:{kind}-inputs|ci:{kind}-both"
    return Replicated(
        ours.value,
        theirs.value,
        difference,
        inputs.low,
        inputs.high,
        statistics.intervals.p_of_difference(*replicates, difference),
        both.low,
        both.high,
        ours.n,
        n_all,
        signature,
        both.reason,
    )


def _unasked(arms: Arms, arm: str, aspects: Sequence[str]) -> str:
    """Why an arm has no scores of all these aspects; "" where it has."""
    if arm not in arms.scores:
        return arms.why.get(arm, f"there is no arm {arm!r}")
    unasked = [aspect for aspect in aspects if aspect not in arms.scores[arm]]
    return f"{arm}: not asked for {', '.join(unasked)}" if unasked else ""


@dataclass(frozen=True)
class _Side:
    """One arm's mean coefficient, and what its interval is made from."""

    value: float
    replicates: list[Any]
    n: int
    reason: str


def _sides(
    grid: correlations.Grid,
    arms: Arms,
    pair: tuple[str, str],
    aspects: Sequence[str],
    coef: str,
    units: str,
) -> list[_Side]:
    """Both arms, each on the outputs that the other one scored, too."""
    first, second = pair
    return [
        _side(grid, arms, first, second, aspects, coef, units),
        _side(grid, arms, second, first, aspects, coef, units),
    ]


def _side(
    grid: correlations.Grid,
    arms: Arms,
    arm: str,
    other: str,
    aspects: Sequence[str],
    coef: str,
    units: str,
) -> _Side:
    """One arm's coefficients on the outputs that the other arm scored, too."""
    values = []
    replicates = []
    n = 0
    reasons: dict[str, None] = {}
    for aspect in aspects:
        scores = arms.scores[arm][aspect]
        lacking = np.isnan(scores) | np.isnan(arms.scores[other][aspect])
        human = np.where(lacking, np.nan, arms.human[aspect])
        result, parts = grid.correlate(scores, human, coef, grid.level, ci=units)
        values.append(result.value)
        replicates.append(parts)
        n += int(np.isfinite(human).sum())
        if np.isnan(result.value):
            reasons[f"{arm}: {result.reason}"] = None
    return _Side(float(np.mean(values)), replicates, n, "; ".join(reasons))


def _none(reason: str, n: int = 0, n_all: int = 0) -> Replicated:
    """No difference, and why."""
    nan = float("nan")
    return Replicated(nan, nan, nan, nan, nan, nan, nan, nan, n, n_all, "", reason)
