"""Responses to one instruction put in order: each is graded, and what is tied is graded again until it differs.

Source: Prometheus, appendix A.1 (ranking grading).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.records import Judgment, Sample


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of one group's responses.

    `ranks`: 1 is best; tied responses share the better rank; NaN for a response that got no score, and `reason` says
    why. `scores`: those of each response, draw by draw, NaN for a draw without one.
    """

    group: str
    responses: tuple[str, ...]
    ranks: tuple[float, ...]
    scores: tuple[tuple[float, ...], ...]
    reason: str = ""

    @property
    def winner(self) -> str | None:
        """The response that is better than all others; None where the best are tied or a response has no rank."""
        best = [name for name, rank in zip(self.responses, self.ranks, strict=True) if rank == 1]
        return best[0] if len(best) == 1 and not any(map(math.isnan, self.ranks)) else None


@dataclass(slots=True, eq=False)
class _Response:
    """One response while its group is ranked: all its draws, and the score that it has in the open comparison."""

    name: str
    sample: Sample
    draws: list[Judgment] = field(default_factory=list)
    score: float = math.nan


@dataclass(slots=True)
class _Tied:
    """Responses not told apart yet. compared: whether all of them had a score once, and the scores were equal."""

    members: list[_Response]
    compared: bool = False

    def split(self) -> list[_Tied]:
        """By score, the best first; itself where a member has none. Those that stay together begin a new comparison."""
        if len(self.members) == 1 or any(math.isnan(one.score) for one in self.members):
            return [self]
        by_score = sorted(self.members, key=lambda one: -one.score)
        parts = [list(part) for _, part in itertools.groupby(by_score, key=lambda one: one.score)]
        for one in itertools.chain.from_iterable(part for part in parts if len(part) > 1):
            one.score = math.nan
        return [_Tied(part, compared=True) for part in parts]

    def settle(self) -> list[_Tied]:
        """When no draws are left: the order of those that have a score, or of all where they were equal once."""
        if len(self.members) == 1 or self.compared:
            return [self]
        scored = [one for one in self.members if not math.isnan(one.score)]
        return _Tied(scored).split() if scored else []


def rank(judge: Prometheus, frame: pd.DataFrame, *, redraws: int = 9, **ways: Any) -> list[Ranking]:
    """One `Ranking` of the responses (`system_id`) to each instruction (`input_id`) of a frame, a row a response.

    Every response is graded once; those with equal scores, or without one, are drawn again, at most `redraws` times,
    until they differ. What is still equal then is a tie. ways: engine, store, progress.

    Raises: ValueError for fewer than two responses to an instruction, or two of one system; for redraws with
    temperature 0, as they would be the same; without an engine.
    """
    if redraws and judge.sampling.temperature == 0:
        raise ValueError("redraws with temperature 0 would all be the same; give redraws=0 or a temperature above 0")
    groups: dict[str, list[_Response]] = {}
    for name, who, sample in zip(frame["input_id"], frame["system_id"], judge.given(frame), strict=True):
        groups.setdefault(str(name), []).append(_Response(str(who), sample))
    for name, members in groups.items():
        if len(members) < 2 or len({one.name for one in members}) < len(members):
            who = ", ".join(one.name for one in members)
            raise ValueError(f"input {name!r} has responses of {who}; two or more of different systems can be ranked")
    bound = judge.for_engine(ways.get("engine"))
    if ways.get("store") is not None or judge.store is not None:
        return staged.run(_stages(bound, groups, redraws), judge.ask(**ways))
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:  # the earlier draws of a redraw
        return staged.run(_stages(bound, groups, redraws), judge.ask(**{**ways, "store": store}))


def _stages(judge: Prometheus, groups: dict[str, list[_Response]], redraws: int) -> Stages[list[Ranking]]:
    """Grade, and grade again what is tied or has no score, in rounds; draws that are stored are not asked again."""
    orders = {name: [_Tied(members)] for name, members in groups.items()}
    for number in range(1 + redraws):
        tied = [one for order in orders.values() for part in order if len(part.members) > 1 for one in part.members]
        waiting = sorted((one for one in tied if math.isnan(one.score)), key=lambda one: len(one.draws))
        for count, members in itertools.groupby(waiting, key=lambda one: len(one.draws)):
            yield from _draw(judge, list(members), count, f"round {number + 1}")
        orders = {name: [new for part in order for new in part.split()] for name, order in orders.items()}
    return [_ranking(name, members, orders[name]) for name, members in groups.items()]


def _draw(judge: Prometheus, members: Sequence[_Response], count: int, name: str) -> Stages[None]:
    """One more draw of responses that have `count` of them; the store has those."""
    requests = [judge.chat.request(judge.render(one.sample), one.sample.id) for one in members]
    sampling = judge.shaped("score", dataclasses.replace(judge.sampling, n=count + 1))
    answers = yield Stage(name, requests, sampling, judge.stand_in)
    for one, draws in zip(members, answers, strict=True):
        one.draws.append(judge.read(draws[count], one.sample))
        one.score = one.draws[-1].value


def _ranking(name: str, members: Sequence[_Response], order: Sequence[_Tied]) -> Ranking:
    ranks: dict[str, float] = {}
    for part in (settled for tied in order for settled in tied.settle()):
        ranks |= dict.fromkeys((one.name for one in part.members), len(ranks) + 1.0)
    lost = [one for one in members if one.name not in ranks]
    reasons = [f"{one.name}: no score in {len(one.draws)} draws ({one.draws[-1].reason})" for one in lost]
    return Ranking(
        name,
        tuple(one.name for one in members),
        tuple(ranks.get(one.name, math.nan) for one in members),
        tuple(tuple(draw.value for draw in one.draws) for one in members),
        "; ".join(reasons),
    )
