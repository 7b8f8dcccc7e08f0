"""What the data pipelines share: pieces that a teacher's text fills, stages that ask it, and the set that is left."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pandas as pd

from nlgeval_lib.engines import Engine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import make_sampling
from nlgeval_lib.evaluators.stages import Draws, Stage, Stages
from nlgeval_lib.records import Completion
from nlgeval_lib.training import sets
from nlgeval_lib.training.filters import Filters, Rule


class Unreadable(ValueError):
    """What is wrong with a teacher's text; `fields` has what could be read of it nevertheless."""

    def __init__(self, problem: str, **fields: Any) -> None:
        super().__init__(problem)
        self.fields = fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of a set in the making. failure: why the teacher gave nothing; problem: why its text cannot be read."""

    failure: str = ""
    problem: str = ""

    def filled(self, completion: Completion, read: Callable[[Any, Completion], dict[str, Any]]) -> Any:
        """The piece with the fields that `read` finds in the teacher's text, or with what is wrong with it."""
        if nothing := no_text(completion):
            return replace(self, failure=nothing)
        try:
            return replace(self, **read(self, completion))
        except Unreadable as error:
            cut = "; it was cut at the token limit" if completion.finish_reason == "length" else ""
            return replace(self, problem=f"{error}{cut}", **error.fields)

    def content(self) -> dict[str, Any]:
        """What is known of the piece."""
        raise NotImplementedError

    def record(self) -> dict[str, Any]:
        """What the list of the removed keeps of it."""
        return {**self.content(), "failure": self.failure, "problem": self.problem}


P = TypeVar("P", bound=Piece)


def fill(pieces: Sequence[P], answers: Sequence[Draws], read: Callable[[P, Completion], dict[str, Any]]) -> list[P]:
    """The pieces with what the teacher wrote for each, one draw each."""
    return [piece.filled(draws[0], read) for piece, draws in zip(pieces, answers, strict=True)]


def no_text(completion: Completion) -> str:
    """Why there is no text in a completion, empty where there is one."""
    if completion.error or completion.finish_reason == "error":
        return completion.error or "the engine gave no completion"
    return "" if completion.text.strip() else "the completion is empty"


def answered(says: str = "the text is not in the form that was asked for", origin: str = "ours") -> list[Rule]:
    """The rules that each answer of the teacher has to pass first."""
    return [
        Rule("failed", "the teacher gave no completion; asked again next time", lambda one: one.failure, "ours"),
        Rule("malformed", says, lambda one: one.problem, origin),
    ]


@dataclass
class TrainingSet(Generic[P]):
    """A built set: the pieces that stayed, and `Filters` with what was removed. facts: how it was made."""

    kept: list[P]
    filters: Filters
    facts: dict[str, Any] = field(default_factory=dict)
    title: ClassVar[str]

    def examples(self) -> list[dict[str, Any]]:
        """The training examples, each with `id`, `prompt` and `completion`."""
        raise NotImplementedError

    def statistics(self) -> dict[str, pd.DataFrame]:
        """The set in numbers, a table of the paper each."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        """Lines before the tables of the readable report."""
        raise NotImplementedError

    def report(self) -> dict[str, Any]:
        """Counts, filters and statistics as plain values."""
        return {
            **self.facts,
            "removed": len(self.filters.removed),
            "filters": self.filters.table(),
            "filters_by_part": self.filters.table(by_group=True),
            "statistics": self.statistics(),
        }

    def save(self, folder: Path | str, **view: Any) -> Path:
        """Write the set, as `sets.save` does. view: as for `examples`. Raises: OSError; ValueError."""
        gone = ({"id": r.id, "rule": r.rule, "reason": r.reason, **r.item.record()} for r in self.filters.removed)
        tables = {"Filters, in order": self.filters.table(), self.by_part: self.filters.by_part(), **self.statistics()}
        readable = sets.markdown(self.title, tables, self.notes())
        return sets.save(folder, self.examples(**view), gone, self.report(), readable)

    by_part: ClassVar[str] = "Removed, by part"


S = TypeVar("S", bound=TrainingSet)


@dataclass(kw_only=True)
class Pipeline(Generic[S]):
    """A paper's training set from a teacher, stage by stage. sampling: of the teacher (a `Sampling`, or settings that
    replace `defaults`).

    Completions go through the store: a run that was stopped goes on, and a repeated one asks nothing.
    """

    sampling: Any = None
    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]]
    one_draw: ClassVar[str]  # why the teacher is not asked for several
    stages: ClassVar[Callable[..., Stages]]  # what is asked, stage by stage, and the built set in the end

    def __post_init__(self) -> None:
        self.sampling = make_sampling(self.defaults, self.sampling)
        if self.sampling.n != 1:
            raise ValueError(f"n={self.sampling.n}: {self.one_draw}")

    def build(self, engine: Engine, store: Store | None = None, progress: Any = None, **given: Any) -> S:
        """The built set, from an engine as the teacher; `given` as for `stages`. Raises: ValueError; EngineError."""
        given.setdefault("teacher", engine.model)
        return staged.run(self.stages(**given), staged.bind(engine, store, progress))

    def plan(self, engine: Engine | None = None, store: Store | None = None, **given: Any) -> list[Stage]:
        """The stages that would be asked, none of them asked."""
        return staged.plan(self.stages(**given), engine, store)

    def facts(self, teacher: str) -> dict[str, Any]:
        """How a set is made: pipeline, teacher and settings."""
        own = [f.name for f in dataclasses.fields(self) if f.name != "sampling"]
        return {
            "pipeline": self.name,
            "teacher": teacher,
            "sampling": self.sampling.signature(),
            "settings": {name: getattr(self, name) for name in own},
        }
