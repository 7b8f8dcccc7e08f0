"""Which of two responses is better: asked of the judge in both orders, so that a liking for the first place cancels."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nlgeval_lib import prompts
from nlgeval_lib.engines import Sampling
from nlgeval_lib.evaluators.judge import read as judged
from nlgeval_lib.evaluators.prometheus.results import Group, Ranking
from nlgeval_lib.evaluators.prometheus.wrapping import asked, verdict_form
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.parsers.choice import preference
from nlgeval_lib.prompts import Template
from nlgeval_lib.schema import Completion, Judgment, Sample, Status

if TYPE_CHECKING:
    from nlgeval_lib.evaluators.prometheus.grading import Prometheus

_POINTS = {"A": 1.0, "B": 0.0, "TIE": 0.5}
STAND_IN = "Feedback: Response A meets the criterion, Response B in part. [RESULT] A"


def template_of(reference: bool) -> Template:
    """The prompt, with or without a reference answer."""
    return prompts.template("prometheus/relative" if reference else "prometheus/relative_no_reference")


def render(judge: Prometheus, first: Sample, second: Sample, tie: bool = False) -> str:
    """The prompt that shows `first` as Response A and `second` as Response B.

    Raises: ValueError for a judge without rubric or without feedback: the prompt has both.
    """
    rubric = judge.rubric_of(first)
    if rubric is None or not judge.feedback:
        raise ValueError("relative grading has a rubric and a feedback in its prompt; leave rubric and feedback on")
    reference = {"reference": first.references[0]} if judge.reference else {}
    return template_of(judge.reference).render(
        verdicts='"A", "B", "TIE"' if tie else '"A", "B"',
        instruction=asked(first),
        response_a=first.output,
        response_b=second.output,
        rubric=rubric.text(),
        **reference,
    )


def sampling(judge: Prometheus, tie: bool = False) -> Sampling:
    """The judge's sampling settings, held to a verdict where it is structured."""
    if not judge.structured:
        return judge.sampling
    form = verdict_form(("A", "B", "TIE") if tie else ("A", "B"), judge.sampling.max_tokens)
    return dataclasses.replace(judge.sampling, regex=form)


def read(judge: Prometheus, completion: Completion, tie: bool = False) -> Judgment:
    """1 for Response A, 0 for B, .5 for a tie; missing with the reason else."""

    def parse(completion: Completion) -> Judgment:
        found = preference(completion.text, tie)
        if found.value is None:
            return Judgment.missing(found.status, found.reason, rule=found.rule)
        return Judgment(_POINTS[found.value], Status.OK, "", {"rule": found.rule, "verdict": found.value})

    return judged(completion, parse)


def stages(judge: Prometheus, groups: Sequence[Group], tie: bool = False) -> Stages[list[Ranking]]:
    """Every two responses of a group in both orders, all in one stage."""
    pairs = [list(itertools.combinations(range(len(group.samples)), 2)) for group in groups]
    orders = [
        (group, a, b) for group, its in zip(groups, pairs, strict=True) for i, j in its for a, b in ((i, j), (j, i))
    ]
    requests = [
        judge.chat.request(
            render(judge, group.samples[a], group.samples[b], tie), f"{group.samples[a].id} | {group.samples[b].id}"
        )
        for group, a, b in orders
    ]
    answers = iter((yield Stage("compare", requests, sampling(judge, tie), STAND_IN)))
    rankings = []
    for group, its in zip(groups, pairs, strict=True):
        votes = {}
        for pair in its:
            as_shown, swapped = ([read(judge, draw, tie) for draw in next(answers)] for _ in range(2))
            votes[pair] = (as_shown, swapped)
        rankings.append(_ranking(group, votes))
    return rankings


def _ranking(group: Group, votes: dict[tuple[int, int], tuple[list[Judgment], list[Judgment]]]) -> Ranking:
    outcomes: dict[tuple[int, int], float] = {}
    stays: list[bool] = []
    reasons: list[str] = []
    for (i, j), (as_shown, swapped) in votes.items():
        first = _mean(vote.value for vote in as_shown)
        second = 1 - _mean(vote.value for vote in swapped)
        share = _mean((first, second))
        outcome = share if math.isnan(share) else (share > 0.5) + 0.5 * (share == 0.5)
        outcomes[i, j], outcomes[j, i] = outcome, 1 - outcome
        if not (math.isnan(first) or math.isnan(second)):
            stays.append((first > 0.5) == (second > 0.5) and (first < 0.5) == (second < 0.5))
        if math.isnan(share):
            why = next(vote.reason for vote in as_shown + swapped)
            reasons.append(f"{group.responses[i]} and {group.responses[j]}: no verdict ({why})")
    size = len(group.responses)
    scores = [tuple(outcomes[i, j] for j in range(size) if j != i) for i in range(size)]
    points = [math.fsum(won) for won in scores]
    ranks = [math.nan if math.isnan(mine) else 1.0 + sum(other > mine for other in points) for mine in points]
    agreement = sum(stays) / len(stays) if stays else math.nan
    return Ranking(group.name, group.responses, tuple(ranks), tuple(scores), "relative", "; ".join(reasons), agreement)


def _mean(values: Iterable[float]) -> float:
    """The mean of what is there, NaN where nothing is."""
    there = [value for value in values if not math.isnan(value)]
    return math.fsum(there) / len(there) if there else math.nan
