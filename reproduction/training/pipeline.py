"""What the data pipelines share: pieces that a teacher's text fills, rules that remove
what is not fit to be trained on, stages that ask, and the set that is left.

A `Piece` is filled from the teacher's completion by a reader, which raises
`Unreadable` where it cannot. `Filters` applies `Rule`s to pieces and counts what they
remove. A `Pipeline` asks the teacher stage by stage and ends in a `TrainingSet`.

A set on disk is its examples, what was removed and why, and a report that names both by
their hashes. `load` reads a set that was saved whole, `read` any file of examples.
"""

from __future__ import annotations

import dataclasses
import hashlib
import html
import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from nlgeval_lib.engines import Engine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.errors import Told
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import failed, make_sampling
from nlgeval_lib.evaluators.stages import Draws, Stage, Stages
from nlgeval_lib.files import (
    from_json,
    json_lines,
    markdown_table,
    plain,
    whole,
    write_text,
)
from nlgeval_lib.records import Completion

# The files of a set's folder.
TRAIN = "train.jsonl"
REMOVED = "removed.jsonl"
REPORT = "report.json"
READABLE = "report.md"

# -- pieces


class Unreadable(Told, ValueError):
    """What is wrong with a teacher's text.

    problem: what is wrong, as the report says it.
    fields: what could be read of the piece nevertheless.
    """

    def __init__(self, problem: str, **fields: Any) -> None:
        super().__init__(problem)
        self.fields = fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of a set in the making.

    A subclass has `id`, and as `group` its part of the data, for counts.

    failure: why the teacher gave nothing; "" where it gave a text.
    problem: why its text cannot be read; "" where it can.
    """

    failure: str = ""
    problem: str = ""
    # What is known of the piece, as it is written where removed.
    content: ClassVar[Callable[..., dict[str, Any]]]

    def filled(
        self, completion: Completion, read: Callable[[Any, Completion], dict[str, Any]]
    ) -> Any:
        """The piece with the fields that `read` finds in the teacher's text, or with
        what is wrong with it, as `failure` or `problem`.

        read: gives the fields of a piece and a completion, or raises `Unreadable`.
        """
        if failure := no_text(completion):
            return replace(self, failure=failure)
        try:
            return replace(self, **read(self, completion))
        except Unreadable as error:
            problem = str(error)
            # A text that was cut often lacks what comes last, so the report says so.
            if completion.finish_reason == "length":
                problem += "; it was cut at the token limit"
            return replace(self, problem=problem, **error.fields)


def fill(
    items: Sequence[Any],
    answers: Sequence[Draws],
    read: Callable[[Any, Completion], dict[str, Any]],
) -> list:
    """The pieces with what the teacher wrote for each, one draw each."""
    return [
        item.filled(draws[0], read) for item, draws in zip(items, answers, strict=True)
    ]


def no_text(completion: Completion) -> str:
    """Why there is no text in a completion, empty where there is one."""
    if failure := failed(completion):
        return failure.reason
    return "" if completion.text.strip() else "the completion is empty"


# -- rules


class Rule(NamedTuple):
    """One reason to remove an item.

    name: of the rule, in reports and in `removed.jsonl`.
    says: what it removes, for reports.
    why: item -> what is wrong with it, empty where the rule has nothing against it.
    origin: `paper`, named there as a filter, or `ours`.
    """

    name: str
    says: str
    why: Callable[[Any], str]
    origin: str = "paper"


class Removed(NamedTuple):
    """An item that a rule removed, and why.

    rule: the rule's name.
    reason: what the rule said of this item.
    """

    id: str
    rule: str
    reason: str
    item: Any


@dataclass
class Filters:
    """Applies rules in order and counts, each `group` of the items apart: the first
    rule against an item removes it.

    rules: all that were applied, by name, in order.
    removed: what they removed, in order.
    reached: how many items of each (rule, group) no earlier rule had removed.
    """

    rules: dict[str, Rule] = field(default_factory=dict)
    removed: list[Removed] = field(default_factory=list)
    reached: Counter[tuple[str, str]] = field(default_factory=Counter)

    def apply(self, rules: Sequence[Rule], items: Iterable[Any]) -> list[Any]:
        """The items that no rule is against, in order; the others are kept in
        `removed`.
        """
        for rule in rules:
            self.rules.setdefault(rule.name, rule)
        remaining = []
        for item in items:
            for rule in rules:
                self.reached[rule.name, item.group] += 1
                if reason := rule.why(item):
                    self.removed.append(Removed(item.id, rule.name, reason, item))
                    break
            else:
                remaining.append(item)
        return remaining

    def count(self, rule: str, group: str | None = None) -> int:
        """How many items a rule removed, of one part or (None) of all."""
        return sum(
            removed.rule == rule and group in (None, removed.item.group)
            for removed in self.removed
        )

    def table(self, by_group: bool = False) -> pd.DataFrame:
        """What each rule removed: a row a rule, in order, with `rule, origin, reached,
        removed, share` and `says`. `share` is of the items that reached the rule; NaN
        where none did.

        by_group: a row a rule and part instead, with a column `group`.
        """
        rows = []
        for rule in self.rules.values():
            reached_by: dict[str | None, int] = {}
            for (name, part), count in self.reached.items():
                if name == rule.name:
                    reached_by[part] = count
            if not by_group:
                reached_by = {None: sum(reached_by.values())}
            for group, reached in reached_by.items():
                removed = self.count(rule.name, group)
                row = {
                    "rule": rule.name,
                    "group": group,
                    "origin": rule.origin,
                    "reached": reached,
                    "removed": removed,
                    "share": removed / reached if reached else math.nan,
                    "says": rule.says,
                }
                rows.append(row)
        columns = ["rule", "group", "origin", "reached", "removed", "share", "says"]
        table = pd.DataFrame(rows, columns=columns)
        return table if by_group else table.drop(columns="group")

    def by_part(self) -> pd.DataFrame:
        """How many items each rule removed of each part: a row a rule, a column a part,
        and a last row, `kept`, of what stayed.
        """
        # Every item of a part reaches the first rule that is applied to the part.
        totals: dict[str, int] = {}
        for (_, part), count in self.reached.items():
            totals[part] = max(count, totals.get(part, 0))
        removed = {}
        for part in totals:
            removed[part] = {name: self.count(name, part) for name in self.rules}
        table = pd.DataFrame(removed)
        table.loc["kept"] = pd.Series(totals) - table.sum()
        return table.rename_axis("rule")


def unique(key: Callable[[Any], Hashable], says: str) -> Rule:
    """A rule that removes an item whose key an earlier item had. It remembers: make one
    for each run.

    Example:
    >>> rule = unique(str.casefold, "a repeated word")
    >>> rule.why("Bell"), rule.why("bell")
    ('', 'the same as an earlier one')
    """
    earlier: set[Hashable] = set()

    def repetition(item: Any) -> str:
        item_key = key(item)
        if item_key in earlier:
            return "the same as an earlier one"
        earlier.add(item_key)
        return ""

    return Rule("duplicate", says, repetition, "ours")


def answered(
    says: str = "the text is not in the form that was asked for", origin: str = "ours"
) -> list[Rule]:
    """The rules that each answer of the teacher has to pass first: it came, and could
    be read.
    """
    no_completion = "the teacher gave no completion; asked again next time"
    return [
        Rule("failed", no_completion, lambda item: item.failure, "ours"),
        Rule("malformed", says, lambda item: item.problem, origin),
    ]


def missing_fields(item: Any, *names: str, form: str = "{}") -> str:
    """Which of an item's texts are empty or no texts; "" for none.

    names: the item's keys or fields that need a text.

    Example:
    >>> missing_fields({"prompt": "Judge this.", "completion": " "}, "prompt", "completion")
    'completion'
    """
    empty = []
    for name in names:
        text = item.get(name) if isinstance(item, Mapping) else getattr(item, name)
        if not isinstance(text, str) or not text.strip():
            empty.append(name)
    return form.format(", ".join(empty)) if empty else ""


# -- a set and its pipeline


@dataclass
class TrainingSet:
    """A built set: the pieces that stayed, in order, and what was removed.

    A subclass has `examples(**view)`, each with `id`, `prompt` and `completion`;
    `statistics()`, a table of the paper each; and `notes()`, lines before the tables of
    the readable report.
    """

    kept: list[Any]
    filters: Filters
    facts: dict[str, Any] = field(default_factory=dict)
    title: ClassVar[str]
    by_part: ClassVar[str] = "Removed, by part"
    examples: ClassVar[Callable[..., list[dict[str, Any]]]]
    statistics: ClassVar[Callable[..., dict[str, pd.DataFrame]]]
    notes: ClassVar[Callable[..., list[str]]]

    def report(self) -> dict[str, Any]:
        """Counts, filters and statistics as plain values, ready for JSON."""
        statistics = self.statistics()
        return {
            **self.facts,
            "removed": len(self.filters.removed),
            "filters": _records(self.filters.table()),
            "filters_by_part": _records(self.filters.table(by_group=True)),
            "statistics": {name: _records(statistics[name]) for name in statistics},
        }

    def save(self, folder: Path | str, **view: Any) -> Path:
        """Write `train.jsonl`, `removed.jsonl`, `report.md` and, last, `report.json`
        with the hashes of the others.

        A save that is stopped leaves the earlier files or a set that `load` refuses,
        and the stored completions make it again.

        view: as for `examples`.
        Raises: ValueError for an example without id, prompt or completion; OSError.
        """
        folder = Path(folder)
        # A bad example is refused before anything is written.
        examples = self.examples(**view)
        for example in examples:
            if empty := missing_fields(example, "id", "prompt", "completion"):
                raise ValueError(
                    f"example {example.get('id')!r} has no {empty}; nothing was written"
                )
        texts = {
            TRAIN: "".join(json_lines(examples)),
            REMOVED: "".join(json_lines(map(_removed, self.filters.removed))),
            READABLE: self._readable(),
        }
        hashes = {}
        for name, text in texts.items():
            write_text(folder / name, text)
            hashes[name] = hashlib.sha256(text.encode()).hexdigest()
        report = plain({**self.report(), "examples": len(examples), "sha256": hashes})
        text = json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False)
        write_text(folder / REPORT, text + "\n")
        return folder

    def _readable(self) -> str:
        """The report as Markdown."""
        tables = {
            "Filters, in order": self.filters.table(),
            self.by_part: self.filters.by_part(),
            **self.statistics(),
        }
        parts = [f"# {self.title}", *self.notes()]
        parts += [f"## {name}\n\n{_table(table)}" for name, table in tables.items()]
        return whole("\n\n".join(parts).rstrip() + "\n")


def _records(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """The rows of a table as mappings, its index as a column."""
    return table.reset_index().to_dict("records")


def _removed(removed: Removed) -> dict[str, Any]:
    """A removed piece as it is written."""
    return {
        "id": removed.id,
        "rule": removed.rule,
        "reason": removed.reason,
        **removed.item.content(),
        "failure": removed.item.failure,
        "problem": removed.item.problem,
    }


@dataclass(kw_only=True)
class Pipeline:
    """A paper's training set from a teacher, stage by stage.

    Completions go through the store: a run that was stopped goes on, and a repeated one
    asks nothing.

    sampling: of the teacher: a `Sampling`, or settings that replace `defaults`.

    Raises: ValueError for a sampling of several draws.
    """

    sampling: Any = None
    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]]
    one_draw: ClassVar[str]  # why the teacher is not asked for several
    # What is asked, stage by stage, and the built set in the end.
    stages: ClassVar[Callable[..., Stages]]

    def __post_init__(self) -> None:
        self.sampling = make_sampling(self.defaults, self.sampling)
        if self.sampling.n != 1:
            raise ValueError(f"n={self.sampling.n}: {self.one_draw}")

    def build(
        self,
        engine: Engine,
        store: Store | None = None,
        progress: Any = None,
        **inputs: Any,
    ) -> Any:
        """The built set, from an engine as the teacher.

        progress: shows how far the run is, as `evaluators.stages.run` takes it.
        inputs: as for `stages`.
        """
        stages = self.stages(**{"teacher": engine.model, **inputs})
        return staged.run(stages, engine, store, progress)

    def plan(
        self, engine: Engine | None = None, store: Store | None = None, **inputs: Any
    ) -> list[Stage]:
        """The stages that would be asked, none of them asked; without engine and store
        later ones are estimates.

        inputs: as for `stages`.
        """
        return staged.plan(self.stages(**inputs), engine, store)

    def facts(self, teacher: str) -> dict[str, Any]:
        """How a set is made: pipeline, teacher and settings."""
        names = [setting_field.name for setting_field in dataclasses.fields(self)]
        names.remove("sampling")
        return {
            "pipeline": self.name,
            "teacher": teacher,
            "sampling": self.sampling.signature(),
            "settings": {name: getattr(self, name) for name in names},
        }


# -- a set on disk


def load(folder: Path | str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The examples of a set that was saved whole, a row each, and its report.

    Raises: ValueError where a file is missing or is not the one that the report names.
    """
    folder = Path(folder)
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        hashes = {}
        for name in report["sha256"]:
            hashes[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    except FileNotFoundError as error:
        missing = Path(error.filename).name
        raise ValueError(
            f"{folder} is no whole training set: no {missing}; make it again"
        ) from None
    for name, digest in report["sha256"].items():
        if hashes[name] != digest:
            raise ValueError(
                f"{folder / name} is not the file that {REPORT} names: a save was "
                "stopped, or the file was changed; make the set again, which asks "
                "only what is not stored"
            )
    return read(folder / TRAIN), report


def read(path: Path | str) -> pd.DataFrame:
    """The examples of a JSONL file, a row each: one object a line, with a prompt and a
    completion; one without an id gets `line-N` as its id.

    Raises: ValueError naming the line that is none, or for a file without any.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(
            f"{path}: no such file; give a JSONL file with prompt and completion, "
            "or a set's folder"
        )
    rows = []
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = {"id": f"line-{number}", **from_json(line)}
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{path}, line {number}: no JSON object: {error}"
            ) from None
        if empty := missing_fields(row, "prompt", "completion"):
            raise ValueError(
                f"{path}, line {number}: no text in {empty!r}; "
                "each example needs prompt, completion"
            )
        rows.append(row)
    if not rows:
        raise ValueError(f"{path} holds no examples")
    return pd.DataFrame(rows)


def _table(frame: pd.DataFrame) -> str:
    """A frame as a Markdown table, a named index as its first column."""
    columns = []
    for column in frame.columns:
        levels = column if isinstance(column, tuple) else (column,)
        columns.append(" ".join(map(str, levels)))
    flat = frame.set_axis(columns, axis=1)
    if not isinstance(flat.index, pd.RangeIndex):
        label = str(flat.index.name or "")
        if label in columns:
            label = "index"
        flat.insert(0, label, [str(value) for value in flat.index])
    rows = [map(_cell, row) for row in flat.itertuples(index=False)]
    return markdown_table(flat.columns, rows)


def _cell(value: Any) -> str:
    """A value as it stands in a Markdown table: three decimals, no line breaks."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.3f}".rstrip("0").rstrip(".")
    text = html.escape(" ".join(str(value).split()), quote=False)
    return text.replace("|", "\\|")
