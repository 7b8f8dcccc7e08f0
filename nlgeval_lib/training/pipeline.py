"""What the data pipelines share: pieces that a teacher's text fills, stages that ask it, and the set that is left.

A set on disk is its examples, what was removed and why, and a report that names both by their hashes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import html
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pandas as pd

from nlgeval_lib.engines import Engine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import make_sampling
from nlgeval_lib.evaluators.stages import Draws, Stage, Stages
from nlgeval_lib.files import markdown_table, write_text
from nlgeval_lib.records import Completion
from nlgeval_lib.training.filters import Filters

TRAIN, REMOVED, REPORT, READABLE = "train.jsonl", "removed.jsonl", "report.json", "report.md"

# -- pieces ------------------------------------------------------------------------------------------------------------


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


P = TypeVar("P", bound=Piece)


def fill(pieces: Sequence[P], answers: Sequence[Draws], read: Callable[[P, Completion], dict[str, Any]]) -> list[P]:
    """The pieces with what the teacher wrote for each, one draw each."""
    return [piece.filled(draws[0], read) for piece, draws in zip(pieces, answers, strict=True)]


def no_text(completion: Completion) -> str:
    """Why there is no text in a completion, empty where there is one."""
    if completion.error or completion.finish_reason == "error":
        return completion.error or "the engine gave no completion"
    return "" if completion.text.strip() else "the completion is empty"


# -- a pipeline and its set --------------------------------------------------------------------------------------------


@dataclass
class TrainingSet(Generic[P]):
    """A built set: the pieces that stayed, and `Filters` with what was removed. facts: how it was made."""

    kept: list[P]
    filters: Filters
    facts: dict[str, Any] = field(default_factory=dict)
    title: ClassVar[str]
    by_part: ClassVar[str] = "Removed, by part"

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
        """Write `train.jsonl`, `removed.jsonl`, `report.md` and, last, `report.json` with the hashes of the others.

        Each file is written whole or not at all, and a set counts only with a report that fits it: a save that is
        stopped leaves the earlier files or a set that `load` refuses, and the stored completions make it again.
        view: as for `examples`. Raises: ValueError for an example without a prompt or completion; OSError.
        """
        folder, kept = Path(folder), self.examples(**view)
        for example in kept:
            if gone := _lacking(example, "id", "prompt", "completion"):
                raise ValueError(f"example {example.get('id')!r} has no {gone}; nothing was written")
        removed = (
            {"id": one.id, "rule": one.rule, "reason": one.reason, **one.item.content()}
            | {"failure": one.item.failure, "problem": one.item.problem}
            for one in self.filters.removed
        )
        tables = {"Filters, in order": self.filters.table(), self.by_part: self.filters.by_part(), **self.statistics()}
        parts = [f"# {self.title}", *self.notes(), *(f"## {name}\n\n{_table(table)}" for name, table in tables.items())]
        texts = {TRAIN: _lines(kept), REMOVED: _lines(removed), READABLE: "\n\n".join(parts).rstrip() + "\n"}
        for name, text in texts.items():
            write_text(folder / name, text)
        files = {name: hashlib.sha256(text.encode("utf-8")).hexdigest() for name, text in texts.items()}
        whole = _plain({**self.report(), "examples": len(kept), "sha256": files})
        write_text(folder / REPORT, json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
        return folder


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
        return staged.run(self.stages(**given), engine, store, progress)

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


# -- a set on disk -----------------------------------------------------------------------------------------------------


def load(folder: Path | str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The examples and the report of a set that was saved whole.

    Raises: ValueError where a file is missing or is not the one that the report names.
    """
    folder = Path(folder)
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in report["sha256"]}
    except FileNotFoundError as error:
        raise ValueError(f"{folder} is no whole training set: no {Path(error.filename).name}; make it again") from None
    for name, wanted in report["sha256"].items():
        if found[name] != wanted:
            raise ValueError(
                f"{folder / name} is not the file that {REPORT} names: a save was stopped, or the file was changed; "
                "make the set again, which asks only what is not stored"
            )
    return read(folder / TRAIN), report


def read(path: Path | str) -> pd.DataFrame:
    """The examples of a JSONL file: one object a line, each with a prompt and a completion; ids are made if absent.

    Raises: ValueError naming the line that is none.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such file; give a JSONL file with prompt and completion, or a set's folder")
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        if line.strip():
            try:
                row = json.loads(line)
                gone = _lacking(row, "prompt", "completion")
            except (ValueError, AttributeError) as error:
                raise ValueError(f"{path}, line {number}: no JSON object: {error}") from None
            if gone:
                raise ValueError(f"{path}, line {number}: no text in {gone!r}; each example needs prompt, completion")
            rows.append({"id": f"line-{number}", **row})
    if not rows:
        raise ValueError(f"{path} holds no examples")
    return pd.DataFrame(rows)


def _table(frame: pd.DataFrame) -> str:
    """A frame as a Markdown table, a named index as its first column."""
    flat = frame.set_axis([" ".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in frame.columns], axis=1)
    if not isinstance(flat.index, pd.RangeIndex):
        label = str(flat.index.name or "")
        flat.insert(0, label if label not in flat.columns else "index", [str(value) for value in flat.index])
    return markdown_table(flat.columns, ([_cell(value) for value in row] for row in flat.itertuples(index=False)))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.3f}".rstrip("0").rstrip(".")
    return html.escape(" ".join(str(value).split()), quote=False).replace("|", "\\|")


def _lacking(example: Mapping[str, Any], *names: str) -> str:
    return ", ".join(name for name in names if not isinstance(example.get(name), str) or not example[name].strip())


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(_plain(record), ensure_ascii=False, allow_nan=False) + "\n" for record in records)


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: NaN is null, numpy's numbers are Python's, lone surrogates are replaced."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, pd.DataFrame):
        return _plain(value.reset_index().to_dict("records"))
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
