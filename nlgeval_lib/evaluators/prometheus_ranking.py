"""Responses to one instruction put in order: each is graded, and what is tied is graded again until it differs.

Source: Prometheus, appendix A.1 (ranking grading).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.records import Judgment, Sample, Status


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
    """One response while its group is ranked: all its draws, and the scores of those that have one."""

    name: str
    sample: Sample
    draws: list[Judgment] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)


def _parts(members: Sequence[_Response], depth: int = 0) -> Iterator[tuple[Sequence[_Response], int]]:
    """Responses that are not told apart, the best first, and how many scores they have in common.

    Scores are compared one by one, each only when all that are equal so far have it.
    """
    if len(members) == 1 or any(len(one.scores) <= depth for one in members):
        yield members, depth
        return
    ordered = sorted(members, key=lambda one: -one.scores[depth])
    for _, part in itertools.groupby(ordered, key=lambda one: one.scores[depth]):
        yield from _parts(list(part), depth + 1)


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
    for number in range(1 + redraws):
        open_ = [part for members in groups.values() for part in _parts(members) if len(part[0]) > 1]
        waiting = [one for members, depth in open_ for one in members if len(one.scores) <= depth]
        waiting.sort(key=lambda one: len(one.draws))
        for count, found in itertools.groupby(waiting, key=lambda one: len(one.draws)):
            members = list(found)
            requests = [judge.chat.request(judge.render(one.sample), one.sample.id) for one in members]
            # the store has the earlier draws
            sampling = judge.shaped("score", dataclasses.replace(judge.sampling, n=count + 1))
            answers = yield Stage(f"round {number + 1}", requests, sampling, judge.stand_in)
            for one, draws in zip(members, answers, strict=True):
                one.draws.append(judge.read(draws[count], one.sample))
                one.scores += [one.draws[-1].value] if one.draws[-1].status is Status.OK else []
    return [_ranking(name, members) for name, members in groups.items()]


def _ranking(name: str, members: Sequence[_Response]) -> Ranking:
    ranks: dict[str, float] = {}
    for part, _ in _parts([one for one in members if one.scores]):
        ranks |= dict.fromkeys((one.name for one in part), len(ranks) + 1.0)
    lost = [one for one in members if one.name not in ranks]
    reasons = [f"{one.name}: no score in {len(one.draws)} draws ({one.draws[-1].reason})" for one in lost]
    return Ranking(
        name,
        tuple(one.name for one in members),
        tuple(ranks.get(one.name, math.nan) for one in members),
        tuple(tuple(draw.value for draw in one.draws) for one in members),
        "; ".join(reasons),
    )
