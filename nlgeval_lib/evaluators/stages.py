"""Questions to a judge in stages: one generator says what is asked; with an engine it
scores, without one it plans, so that plan and run cannot differ.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from nlgeval_lib.parsers.reasoning import apart
from nlgeval_lib.records import Completion

if TYPE_CHECKING:  # only who asks loads an engine's protocol and the store
    from nlgeval_lib.engines import Engine, Request, Sampling
    from nlgeval_lib.engines.store import Store

T = TypeVar("T")
Draws = Sequence[Completion]


@dataclass(frozen=True)
class Stage:
    """Requests that can be asked together, as none waits for another's answer.

    sampling: its `n` is how many draws each request gets.
    stand_in: a completion as the judge might write it, for all requests or one for
    each, to plan the stages after this one.
    exact: in plans: whether these will be asked, or hang on answers to come.
    last: no stage comes after this one, and no stand-in is read.
    keys: in plans: the keys of each request's draws, where a store was looked into.
    """

    name: str
    requests: Sequence[Request]
    sampling: Sampling
    stand_in: str | Sequence[str] = field(default="3", repr=False)
    exact: bool = True
    last: bool = False
    keys: Sequence[Sequence[str]] = field(default=(), repr=False)

    @property
    def completions(self) -> int:
        """How many completions answer this stage."""
        return len(self.requests) * self.sampling.n


Stages = Generator[Stage, Sequence[Draws], T]


def drive(stages: Stages[T], answer: Callable[[Stage], Sequence[Draws]]) -> T:
    """The generator's result; `answer` gives a list of draws for each request."""
    try:
        stage = next(stages)
        while True:
            answers = answer(stage)
            if len(answers) != len(stage.requests):
                raise ValueError(
                    f"stage {stage.name!r}: {len(answers)} answers "
                    f"for {len(stage.requests)} requests"
                )
            stage = stages.send(answers)
    except StopIteration as finished:
        return finished.value


def run(
    stages: Stages[T], engine: Engine, store: Store | None = None, progress: Any = None
) -> T:
    """The generator's result with an engine, through a store."""
    from nlgeval_lib.engines import complete

    def answer(stage: Stage) -> Sequence[Draws]:
        if not stage.requests:
            return []
        return complete(engine, stage.requests, stage.sampling, store, progress)

    return drive(stages, answer)


def plan(
    stages: Stages[Any], engine: Engine | None = None, store: Store | None = None
) -> list[Stage]:
    """The stages that would be asked, none of them asked; stored completions of this
    engine and store answer a stage, else stand-ins, after which they are not `exact`.
    """
    planned: list[Stage] = []
    answers: Any = None
    exact = True
    with contextlib.closing(stages), contextlib.suppress(StopIteration):
        while True:
            stage = stages.send(answers)
            keys: Sequence[Sequence[str]] = ()
            if engine is not None and has_completions(engine, store):
                keys = [
                    request.keys(engine, stage.sampling) for request in stage.requests
                ]
            requests = tuple(stage.requests)
            planned.append(replace(stage, requests=requests, exact=exact, keys=keys))
            if stage.last:
                break
            # After an estimated stage nothing is looked up: its requests are guesses.
            stored: Sequence[Draws | None] = [None] * len(requests)
            if exact and keys:
                stored = _stored(keys, store)
            exact = exact and None not in stored
            answers = _filled_up(stage, stored)
    return planned


def _filled_up(stage: Stage, stored: Sequence[Draws | None]) -> list[Draws]:
    """The stored answers of a stage, its stand-in where there is none."""
    texts = stage.stand_in
    if isinstance(texts, str):
        texts = [texts] * len(stored)
    answers: list[Draws] = []
    for draws, text in zip(stored, texts, strict=True):
        if draws is None:
            draws = [Completion(key="", text=text)] * stage.sampling.n
        answers.append(draws)
    return answers


def has_completions(engine: Engine | None, store: Store | None) -> bool:
    """Whether a store has completions of an engine's model at all."""
    if engine is None or store is None:
        return False
    return (engine.model, engine.revision) in store.census()


def _stored(keys: Sequence[Sequence[str]], store: Any) -> list[Draws | None]:
    """The completions of each request, None where one of its draws is not stored."""
    completions = store.get_many(itertools.chain.from_iterable(keys))
    stored: list[Draws | None] = []
    for draws in keys:
        if all(key in completions for key in draws):
            stored.append([apart(completions[key]) for key in draws])
        else:
            stored.append(None)
    return stored
