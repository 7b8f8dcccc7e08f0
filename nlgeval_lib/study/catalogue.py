"""`notebooks/catalogue.toml`: every output of this project, the judges that it shows, and every row without a notebook.

Reads and checks only; at its top it needs nothing but the standard library.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.names import near

PAPERS = ("tigerscore", "semscore", "hdeval", "prometheus", "coascore")
META = "meta"  # outputs that belong to no single paper
ROUTES = ("published", "public", "recorded", "run", "mini")
ROW_STATUSES = ("needs GPU", "no public data", "no numbers", "not built yet")
SCOREBOARD = "scoreboard"  # made last, from all the others; needs no entry
RESERVED = ("mode", "output_id")  # parameters that the runner sets where a notebook has them
_OUTPUT_KEYS = {
    "id": str,
    "paper": str,
    "covers": list,
    "notebook": str,
    "route": str,
    "inputs": list,
    "parameters": dict,
    "title": str,
    "after": list,
    "saves": bool,
    "judges": dict,
}
_OUTPUT_NEEDED = ("id", "paper", "notebook", "route")
_ROW_KEYS = {"paper": str, "id": str, "status": str, "reason": str}
_JUDGE_KEYS = {
    "id": str,
    "evaluator": str,
    "data": str,
    "model": str,
    "revision": str,
    "settings": list,
    "api": bool,
}
_JUDGE_NEEDED = ("id", "evaluator", "data", "model")
_QUESTION_KEYS = {"judge": str, "map": list, "fill": list, "where": list}
_SECTIONS = ("output", "row", "judge")


class CatalogueError(ValueError):
    """The catalogue cannot be used; the message lists every fault found, an entry a line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One output: a notebook with fixed parameters."""

    id: str
    paper: str
    notebook: str  # relative to notebooks/
    route: str
    covers: tuple[str, ...] = ()  # printed tables and figures of `paper`
    inputs: tuple[str, ...] = ()  # data sets and recordings it cannot do without
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    title: str = ""
    after: tuple[str, ...] = ()  # outputs whose results it reads; "*": all others
    saves: bool = True  # False: a notebook to read, which saves no result

    @property
    def path(self) -> Path:
        """The notebook's source."""
        return files.notebooks() / self.notebook


@dataclass(frozen=True, slots=True)
class Row:
    """A printed table or figure that no notebook makes, and why."""

    paper: str
    id: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class Judge:
    """A language model as a judge of a data set, declared once: evaluator, its settings, and the model of the paper.

    settings: as `nlgeval score --set`. api: the model is served, its weights are not public.
    """

    id: str
    evaluator: str
    data: str
    model: str
    revision: str = ""
    settings: tuple[str, ...] = ()
    api: bool = False

    @property
    def engine(self) -> str:
        """The engine that runs it by default."""
        return "openai" if self.api else "vllm"


@dataclass(frozen=True, slots=True)
class Question:
    """What an output reads of a judge: which rows of its data.

    where: `COLUMN=VALUE` or `COLUMN!=VALUE`, all of which must hold. map, fill: as `nlgeval score --map`, `--fill`.
    """

    output: str
    name: str  # unique within the output
    judge: Judge
    map: tuple[str, ...] = ()
    fill: tuple[str, ...] = ()
    where: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[Any, ...]:
        """Judge and rows: equal where two outputs ask the very same."""
        return (self.judge.id, self.map, self.fill, self.where)

    def __str__(self) -> str:
        return " ".join((self.judge.id, *self.map, *self.fill, *self.where))


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All outputs in the file's order, the rows without one, the judges, and what outputs read of these."""

    outputs: tuple[Entry, ...]
    rows: tuple[Row, ...] = ()
    judges: tuple[Judge, ...] = ()
    questions: tuple[Question, ...] = ()

    def __getitem__(self, name: str) -> Entry:
        for entry in self.outputs:
            if entry.id == name:
                return entry
        raise CatalogueError(
            f"no output {name!r} in notebooks/catalogue.toml{_near(name, [e.id for e in self.outputs])}"
        )

    def question(self, output: str, name: str) -> Question:
        """One of an output's. Raises: CatalogueError naming those that it has."""
        for question in self.questions_of(output):
            if question.name == name:
                return question
        known = ", ".join(question.name for question in self.questions_of(output))
        raise CatalogueError(f"output {output!r} reads no judge as {name!r}; it has {known or 'none'}")

    def questions_of(self, output: str) -> tuple[Question, ...]:
        """What an output reads of judges, in the file's order. Raises: CatalogueError for an unknown output."""
        wanted = self[output].id if output != SCOREBOARD else SCOREBOARD
        return tuple(question for question in self.questions if question.output == wanted)

    def select(self, ids: Sequence[str] = (), papers: Sequence[str] = ()) -> tuple[Entry, ...]:
        """The outputs with these ids and of these papers; all where neither is given.

        Raises: CatalogueError naming unknown ids and papers.
        """
        for name in papers:
            if name not in (*PAPERS, META):
                raise CatalogueError(f"unknown paper {name!r}; one of {', '.join((*PAPERS, META))}")
        wanted = {self[name].id for name in ids if name != SCOREBOARD}
        if not ids and not papers:
            return self.outputs
        return tuple(entry for entry in self.outputs if entry.id in wanted or entry.paper in papers)


def scoreboard_entry() -> Entry:
    """The scoreboard, as an output that comes after all others."""
    return Entry(id=SCOREBOARD, paper=META, notebook="99_scoreboard.ipynb", route="published", after=("*",))


def load(path: Path | None = None) -> Catalogue:
    """The catalogue, checked: keys and their types, ids, notebooks, routes, covered tables, order, judges.

    Raises: CatalogueError listing all faults; FileNotFoundError where there is no such file.
    """
    path = path or files.notebooks() / "catalogue.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(f"{path.name} is not valid TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise CatalogueError(f"{path.name} is not UTF-8 text: {error}") from None
    allowed = ", ".join(f"[[{name}]]" for name in _SECTIONS)
    faults = [f"unknown section [[{key}]]; allowed: {allowed}" for key in raw.keys() - set(_SECTIONS)]
    sections = {}
    for name in _SECTIONS:
        items = raw.get(name, [])
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            faults.append(f"{name!r} must be written as [[{name}]]")
            items = []
        sections[name] = items
    printed = printed_ids()
    entries = [_entry(item, number, path.parent, printed, faults) for number, item in enumerate(sections["output"], 1)]
    rows = [_row(item, number, printed, faults) for number, item in enumerate(sections["row"], 1)]
    outputs = tuple(entry for entry in entries if entry is not None)
    stated = tuple(row for row in rows if row is not None)
    _check_together(outputs, stated, faults)
    found = [_judge(item, number, faults) for number, item in enumerate(sections["judge"], 1)]
    judges = {judge.id: judge for judge in found if judge is not None}
    ids = [item.get("id") for item in sections["judge"]]
    faults += [f"judge {name!r} is there {ids.count(name)} times" for name in judges if ids.count(name) > 1]
    questions = tuple(_questions(sections["output"], judges, faults))
    read = {question.judge.id for question in questions}
    if not faults:
        faults += [f"judge {name!r} is read by no output" for name in judges if name not in read]
    if faults:
        raise CatalogueError(f"{path.name}: {len(faults)} fault(s)\n" + "\n".join(f"  {fault}" for fault in faults))
    return Catalogue(outputs, stated, tuple(judges.values()), questions)


def printed_ids() -> dict[str, dict[str, dict[str, str]]]:
    """For each paper, the rows of its `index.csv` by id: every table and figure it prints."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for paper in PAPERS:
        path = files.data() / "paper_tables" / paper / "index.csv"
        found[paper] = {}
        if path.exists():
            with open(path, encoding="utf-8", newline="") as handle:
                found[paper] = {row["id"]: row for row in csv.DictReader(handle) if row.get("id")}
    return found


def _near(name: str, known: Iterable[str]) -> str:
    found = near(name, known)
    return f"; nearest: {', '.join(found)}" if found else ""


def _typed(item: dict[str, Any], where: str, allowed: Mapping[str, type], needed: Iterable[str]) -> list[str]:
    faults = [
        f"{where}: unknown key {key!r}{_near(key, allowed)}; allowed: {', '.join(allowed)}"
        for key in item.keys() - allowed
    ]
    faults += [f"{where}: no {key!r}" for key in needed if key not in item]
    for key, kind in allowed.items():
        if key in item and type(item[key]) is not kind:
            faults.append(f"{where}: {key} is {item[key]!r}; it must be a {kind.__name__}")
        elif kind is list and not all(isinstance(part, str) for part in item.get(key, [])):
            faults.append(f"{where}: {key} is {item[key]!r}; it must be a list of names")
    return faults


def _entry(item: dict[str, Any], number: int, folder: Path, printed: dict, faults: list[str]) -> Entry | None:
    where = f"output {item['id']!r}" if isinstance(item.get("id"), str) else f"output number {number}"
    found = _typed(item, where, _OUTPUT_KEYS, _OUTPUT_NEEDED)
    if found:
        faults += found
        return None
    if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", item["id"]):
        found.append(f"{where}: an id is lower-case letters and digits joined by single underscores")
    if item["id"] == SCOREBOARD:
        found.append(f"{where}: this id is kept for notebooks/99_scoreboard.ipynb, which needs no entry")
    if item["paper"] not in (*PAPERS, META):
        found.append(f"{where}: paper {item['paper']!r} is none of {', '.join((*PAPERS, META))}")
    if item["route"] not in ROUTES:
        found.append(f"{where}: route {item['route']!r} is none of {', '.join(ROUTES)}")
    notebook = PurePosixPath(item["notebook"])
    if notebook.is_absolute() or ".." in notebook.parts or notebook.suffix != ".ipynb":
        found.append(f"{where}: notebook {item['notebook']!r} is not the path of an .ipynb below notebooks/")
    elif not (folder / notebook).is_file():
        found.append(f"{where}: there is no notebooks/{item['notebook']}")
    known = printed.get(item["paper"], {})
    found += [
        f"{where}: covers {name!r}, which data/paper_tables/{item['paper']}/index.csv does not list{_near(name, known)}"
        for name in item.get("covers", [])
        if name not in known
    ]
    found += [
        f"{where}: parameter {name!r} is set by the runner; leave it out"
        for name in item.get("parameters", {})
        if name in RESERVED
    ]
    faults += found
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in item.items() if key != "judges"}
    values["parameters"] = MappingProxyType(dict(item.get("parameters", {})))
    return Entry(**values)


def _row(item: dict[str, Any], number: int, printed: dict, faults: list[str]) -> Row | None:
    where = f"row {item.get('paper')}/{item.get('id')} (number {number})"
    found = _typed(item, where, _ROW_KEYS, _ROW_KEYS)
    if not found:
        if item["id"] not in printed.get(item["paper"], {}):
            found.append(f"{where}: not listed in data/paper_tables/{item['paper']}/index.csv")
        if item["status"] not in ROW_STATUSES:
            found.append(f"{where}: status {item['status']!r} is none of {', '.join(ROW_STATUSES)}")
        if not item["reason"].strip():
            found.append(f"{where}: the reason is empty")
    faults += found
    return None if found else Row(**item)


def _judge(item: dict[str, Any], number: int, faults: list[str]) -> Judge | None:
    where = f"judge {item.get('id')!r} (number {number})"
    found = _typed(item, where, _JUDGE_KEYS, _JUDGE_NEEDED)
    if not found:
        from nlgeval_lib import datasets, evaluators

        known: dict[str, Iterable[str]] = {"evaluator": evaluators.names(), "data": datasets.NAMES}
        for key, names in known.items():
            if item[key] not in names:
                found.append(f"{where}: unknown {key} {item[key]!r}{_near(item[key], names)}")
        found += [f"{where}: the {key} is empty" for key in ("id", "model") if not item[key].strip()]
        found += _unpaired(where, item, ("settings",))
    faults += found
    if found:
        return None
    return Judge(**{key: tuple(value) if isinstance(value, list) else value for key, value in item.items()})


def _questions(outputs: Sequence[dict], judges: Mapping[str, Judge], faults: list[str]) -> Iterator[Question]:
    """What the outputs' tables `judges` ask: {name: {judge, where, map, fill}}."""
    for output in outputs:
        given = output.get("judges")
        for name, item in given.items() if isinstance(given, dict) else ():
            where = f"output {output.get('id')!r}: judges {name!r}"
            if not isinstance(item, dict):
                faults.append(f"{where} is {item!r}; it must be a table with 'judge' and perhaps where, map, fill")
                continue
            found = _typed(item, where, _QUESTION_KEYS, ("judge",)) or _unpaired(where, item, ("where", "map", "fill"))
            if not found and item["judge"] not in judges:
                found.append(f"{where}: there is no [[judge]] {item['judge']!r}{_near(item['judge'], judges)}")
            faults += found
            if not found:
                rows = {key: tuple(item.get(key, ())) for key in ("map", "fill", "where")}
                yield Question(str(output.get("id")), name, judges[item["judge"]], **rows)


def _unpaired(where: str, item: dict[str, Any], keys: Iterable[str]) -> list[str]:
    texts = [(key, text) for key in keys for text in item.get(key, ()) if "=" not in text]
    return [f"{where}: {key} {text!r} is not NAME=VALUE" for key, text in texts]


def _check_together(outputs: Sequence[Entry], rows: Sequence[Row], faults: list[str]) -> None:
    ids = [entry.id for entry in outputs]
    faults += [f"output {name!r} is there {ids.count(name)} times" for name in sorted(set(ids)) if ids.count(name) > 1]
    stated = [(row.paper, row.id) for row in rows]
    faults += [f"row {'/'.join(key)} is there twice" for key in sorted(set(stated)) if stated.count(key) > 1]
    for entry in outputs:
        for name in entry.after:
            if name not in ids or name == entry.id:
                faults.append(f"output {entry.id!r}: after names {name!r}, which is no other output{_near(name, ids)}")
    waits = {entry.id: set(entry.after) & set(ids) for entry in outputs}
    while ready := [name for name, others in waits.items() if not others & waits.keys()]:
        for name in ready:
            del waits[name]
    if waits:
        faults.append(f"these outputs wait for each other in a circle: {', '.join(sorted(waits))}")
