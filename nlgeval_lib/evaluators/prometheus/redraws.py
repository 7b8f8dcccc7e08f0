"""Responses put in order by grading each, and grading again those that are tied, until they differ."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nlgeval_lib.evaluators.prometheus.results import Group, Ranking
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.schema import Judgment, Sample

if TYPE_CHECKING:
    from nlgeval_lib.evaluators.prometheus.grading import Prometheus


@dataclass(slots=True)
class _Response:
    """One response while its group is ranked: all its draws, and the score that it has in the open comparison."""

    name: str
    sample: Sample
    draws: list[Judgment] = field(default_factory=list)
    score: float = math.nan


@dataclass(slots=True)
class _Bundle:
    """Responses not told apart yet. compared: whether all of them had a score once, and the scores were equal."""

    members: list[_Response]
    compared: bool = False

    def split(self) -> list[_Bundle]:
        """By score, the best first; itself where a member has none. Those that stay together begin a new comparison."""
        if len(self.members) == 1 or any(math.isnan(one.score) for one in self.members):
            return [self]
        by_score = sorted(self.members, key=lambda one: -one.score)
        parts = [list(part) for _, part in itertools.groupby(by_score, key=lambda one: one.score)]
        for one in itertools.chain.from_iterable(part for part in parts if len(part) > 1):
            one.score = math.nan
        return [_Bundle(part, compared=True) for part in parts]

    def settle(self) -> tuple[list[_Bundle], list[_Response]]:
        """When no draws are left: the bundles that are ties or single responses, and the responses without a score."""
        if len(self.members) == 1 or self.compared:
            return [self], []
        scored = [one for one in self.members if not math.isnan(one.score)]
        unscored = [one for one in self.members if math.isnan(one.score)]
        return (_Bundle(scored).split() if scored else []), unscored


def stages(judge: Prometheus, groups: Sequence[Group], redraws: int) -> Stages[list[Ranking]]:
    """Grade, and grade again what is tied or has no score, in rounds; draws that are stored are not asked again."""
    fields = [list(map(_Response, group.responses, group.samples)) for group in groups]
    orders = [[_Bundle(members)] for members in fields]
    for number in range(1 + redraws):
        open_ = [one for order in orders for bundle in order if len(bundle.members) > 1 for one in bundle.members]
        waiting = sorted((one for one in open_ if math.isnan(one.score)), key=_drawn)
        for count, members in itertools.groupby(waiting, key=_drawn):
            yield from _draw(judge, list(members), count, f"round {number + 1}")
        orders = [[part for bundle in order for part in bundle.split()] for order in orders]
    return [_ranking(group, members, order) for group, members, order in zip(groups, fields, orders, strict=True)]


def _drawn(response: _Response) -> int:
    return len(response.draws)


def _draw(judge: Prometheus, members: list[_Response], count: int, name: str) -> Stages[None]:
    """One more draw of responses that have `count` of them; the store has those."""
    requests = [judge.chat.request(judge.render(one.sample), one.sample.id) for one in members]
    sampling = judge.shaped("score", dataclasses.replace(judge.sampling, n=count + 1))
    answers = yield Stage(name, requests, sampling, judge.stand_in)
    for one, draws in zip(members, answers, strict=True):
        one.draws.append(judge.read(draws[count], one.sample))
        one.score = one.draws[-1].value


def _ranking(group: Group, members: list[_Response], order: list[_Bundle]) -> Ranking:
    ranks: dict[str, float] = {}
    unscored: list[_Response] = []
    for bundle in order:
        settled, without = bundle.settle()
        unscored += without
        for part in settled:
            ranks |= dict.fromkeys((one.name for one in part.members), len(ranks) + 1.0)
    reasons = [f"{one.name}: no score in {len(one.draws)} draws ({one.draws[-1].reason})" for one in unscored]
    return Ranking(
        group.name,
        group.responses,
        tuple(ranks.get(name, math.nan) for name in group.responses),
        tuple(tuple(draw.value for draw in one.draws) for one in members),
        reason="; ".join(reasons),
    )
