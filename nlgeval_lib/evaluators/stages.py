"""Questions to a judge in stages: one generator says what is asked; with an engine
it scores, without one it plans.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from nlgeval_lib.engines import Engine, Request, Sampling, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion

T = TypeVar("T")
Draws = Sequence[Completion]


@dataclass(frozen=True)
class Stage:
    """Requests that can be asked together, as none waits for another's answer.

    stand_in: a completion as the judge might write it, for all requests or one for
    each, to plan the stages after this one. exact (in plans): whether these requests
    will be asked; else they hang on answers to come, and are estimates.
    """

    name: str
    requests: Sequence[Request]
    sampling: Sampling
    stand_in: str | Sequence[str] = field(default="3", repr=False)
    exact: bool = True

    @property
    def completions(self) -> int:
        """How many completions answer this stage; an engine asks equal requests
        once.
        """
        return len(self.requests) * self.sampling.n


Stages = Generator[Stage, Sequence[Draws], T]


def drive(stages: Stages[T], answer: Callable[[Stage], Sequence[Draws]]) -> T:
    """Run the generator to its result, each stage answered by `answer`.

    Raises: ValueError for too few or many.
    """
    try:
        stage = next(stages)
        while True:
            answers = answer(stage)
            if len(answers) != len(stage.requests):
                raise ValueError(
                    f"stage {stage.name!r}: {len(answers)} answers for {len(stage.requests)} requests"
                )
            stage = stages.send(answers)
    except StopIteration as done:
        return done.value


def run(
    stages: Stages[T], engine: Engine, store: Store | None = None, progress: Any = None
) -> T:
    """Run the generator with an engine, through a store if there is one; an empty
    stage asks nothing.
    """
    return drive(
        stages,
        lambda one: (
            complete(engine, one.requests, one.sampling, store, progress)
            if one.requests
            else []
        ),
    )


def plan(
    stages: Stages[Any], engine: Engine | None = None, store: Store | None = None
) -> list[Stage]:
    """The stages that would be asked, none of them asked; after an answer that is
    not stored they are not `exact`.
    """
    planned: list[Stage] = []
    exact = True

    def answer(stage: Stage) -> Sequence[Draws]:
        nonlocal exact
        planned.append(replace(stage, requests=tuple(stage.requests), exact=exact))
        found = _stored(stage, engine, store) if exact else [None] * len(stage.requests)
        exact = exact and None not in found
        texts = (
            [stage.stand_in] * len(found)
            if isinstance(stage.stand_in, str)
            else stage.stand_in
        )
        return [
            [Completion(key="", text=text)] * stage.sampling.n
            if draws is None
            else draws
            for draws, text in zip(found, texts, strict=True)
        ]

    drive(stages, answer)
    return planned


def _stored(
    stage: Stage, engine: Engine | None, store: Store | None
) -> list[Draws | None]:
    """The completions of each request, None where one of its draws is not stored."""
    if engine is None or store is None:
        return [None] * len(stage.requests)
    keys = [request.keys(engine, stage.sampling) for request in stage.requests]
    found = store.get_many(key for draws in keys for key in draws)
    return [
        [found[key] for key in draws] if all(key in found for key in draws) else None
        for draws in keys
    ]
