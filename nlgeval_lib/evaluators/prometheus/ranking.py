"""Responses to one instruction put in order, by repeated absolute grading or by relative grading."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import pandas as pd

from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.prometheus import redraws as redraws_
from nlgeval_lib.evaluators.prometheus import relative
from nlgeval_lib.evaluators.prometheus.results import Group, Ranking
from nlgeval_lib.schema import Sample
from nlgeval_lib.store import Store

if TYPE_CHECKING:
    from nlgeval_lib.evaluators.prometheus.grading import Prometheus


def rank(
    judge: Prometheus,
    data: Any,
    *,
    by: str = "absolute",
    redraws: int = 9,
    tie: bool = False,
    group: str = "input_id",
    response: str = "system_id",
    **ways: Any,
) -> list[Ranking]:
    """One `Ranking` a group of two or more responses to the same instruction.

    data: a frame, one row a response, its groups in the column `group` and the responses' names in `response`; or a
    list of groups, each a list of samples.
    by="absolute": every response is graded once; those with equal scores, or without one, are drawn again, at most
    `redraws` times, until they differ. What is still equal then is a tie. by="relative": the judge is asked which of
    each two is better, in both orders; responses are ranked by the comparisons won. tie: whether it may call a tie.
    ways: engine, store, progress.

    Raises: ValueError for a group of fewer than two responses, or of different instructions; for redraws with
    temperature 0, as they would be the same; without an engine.
    Source: Prometheus, appendix A.1 (ranking grading); relative grading is ours.
    """
    groups = read_groups(judge, data, group, response)
    judge = judge.for_engine(ways.get("engine"))
    if by == "relative":
        return staged.run(relative.stages(judge, groups, tie), judge.ask(**ways))
    if by != "absolute":
        raise ValueError(f"by={by!r}; allowed: absolute, relative")
    if redraws < 0:
        raise ValueError(f"redraws={redraws}; 0 or more")
    if redraws and judge.sampling.temperature == 0:
        raise ValueError("redraws with temperature 0 would all be the same; give redraws=0 or a temperature above 0")
    if ways.get("store") is not None or judge.store is not None:
        return staged.run(redraws_.stages(judge, groups, redraws), judge.ask(**ways))
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:  # the earlier draws of a redraw
        return staged.run(redraws_.stages(judge, groups, redraws), judge.ask(**{**ways, "store": store}))


def read_groups(judge: Prometheus, data: Any, group: str, response: str) -> list[Group]:
    """The groups of a frame in the order of their first rows, or of a list of lists of samples."""
    if isinstance(data, pd.DataFrame):
        for column in (group, response):
            if column not in data.columns:
                raise ValueError(
                    f"ranking needs a column {column!r}; the frame has {', '.join(map(str, data.columns))}"
                )
        samples = judge.given(data)
        rows: dict[Any, list[int]] = {}
        for position, name in enumerate(data[group]):
            rows.setdefault(name, []).append(position)
        names = list(map(str, data[response]))
        groups = [
            Group(str(name), tuple(names[row] for row in held), tuple(samples[row] for row in held))
            for name, held in rows.items()
        ]
    else:
        groups = []
        for number, members in enumerate(data):
            if isinstance(members, Sample):
                raise ValueError("ranking takes groups: a list of lists of samples, or a frame")
            given = judge.given(list(members))
            groups.append(Group(str(number), tuple(sample.id for sample in given), tuple(given)))
    for one in groups:
        _check(one)
    return groups


def _check(group: Group) -> None:
    if len(group.samples) < 2:
        raise ValueError(f"group {group.name!r} has {len(group.samples)} response; a ranking needs two or more")
    if twice := sorted({name for name in group.responses if group.responses.count(name) > 1}):
        raise ValueError(f"group {group.name!r} has more than one response called {', '.join(twice)}")
    first = group.samples[0]
    for sample in group.samples[1:]:
        for name in ("instruction", "source", "context", "references", "rubric"):
            if getattr(sample, name) != getattr(first, name):
                raise ValueError(
                    f"group {group.name!r}: {first.id!r} and {sample.id!r} differ in {name}; responses to one "
                    "instruction, with one rubric and reference, can be ranked"
                )
