"""`notebooks/catalogue.toml`: every output, the judges that outputs ask, and every printed row without a notebook."""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from nlgeval_lib import files
from nlgeval_lib.names import near

Paper = Literal["tigerscore", "semscore", "hdeval", "prometheus", "coascore"]
Route = Literal["published", "public", "recorded", "run", "mini"]
RowStatus = Literal["needs GPU", "no public data", "no numbers", "not built yet"]
PAPERS, ROUTES = get_args(Paper), get_args(Route)
META: Final = "meta"  # outputs that belong to no single paper
SCOREBOARD = "scoreboard"  # made last, from all the others; needs no entry
RESERVED = ("mode", "output_id")  # parameters that the runner sets where a notebook has them
_STRICT = ConfigDict(extra="forbid")


class CatalogueError(ValueError):
    """The catalogue cannot be used; the message lists every fault found, an entry a line."""


@dataclass(frozen=True, config=_STRICT)
class Entry:
    """One output: a notebook with fixed parameters."""

    id: str
    paper: Paper | Literal["meta"]
    notebook: str  # relative to notebooks/
    route: Route
    covers: tuple[str, ...] = ()  # printed tables and figures of `paper`
    inputs: tuple[str, ...] = ()  # data sets and recordings it cannot do without
    parameters: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    after: tuple[str, ...] = ()  # outputs whose results it reads; "*": all others
    saves: bool = True  # False: a notebook to read, which saves no result

    @property
    def path(self) -> Path:
        """The notebook's source."""
        return files.notebooks() / self.notebook


@dataclass(frozen=True, config=_STRICT)
class Row:
    """A printed table or figure that no notebook makes, and why."""

    paper: Paper
    id: str
    status: RowStatus
    reason: str


@dataclass(frozen=True, config=_STRICT)
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


@dataclass(frozen=True, config=_STRICT)
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


@dataclass(frozen=True)
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
        known = [entry.id for entry in self.outputs]
        raise CatalogueError(f"no output {name!r} in notebooks/catalogue.toml{_near(name, known)}")

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
    return Entry(id=SCOREBOARD, paper="meta", notebook="99_scoreboard.ipynb", route="published", after=("*",))


def load(path: Path | None = None) -> Catalogue:
    """The catalogue, checked: keys and their types, ids, notebooks, routes, covered tables, order, judges.

    Raises: CatalogueError listing all faults; FileNotFoundError where there is no such file.
    """
    path = path or files.notebooks() / "catalogue.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CatalogueError(f"{path.name} is not valid TOML in UTF-8: {error}") from None
    faults = [f"unknown section [[{key}]]; allowed: [[output]], [[row]], [[judge]]" for key in raw if key not in _KINDS]
    items = {name: _typed(_LISTS, raw.get(name, []), f"[[{name}]]", faults) or [] for name in _KINDS}
    given = [(item, item.get("judges", {})) for item in items["output"]]
    outputs = [
        entry
        for item, _ in given
        if (entry := _read("output", {k: v for k, v in item.items() if k != "judges"}, faults))
    ]
    rows = [row for item in items["row"] if (row := _read("row", item, faults))]
    judges = [judge for item in items["judge"] if (judge := _read("judge", item, faults))]
    by_id = {judge.id: judge for judge in judges}
    questions = [one for item, read in given for one in _questions(str(item.get("id")), read, by_id, faults)]
    if not faults:  # of entries that could all be read
        printed = printed_ids()
        faults += [fault for entry in outputs for fault in _entry_faults(entry, path.parent, printed)]
        faults += [fault for row in rows for fault in _row_faults(row, printed)]
        faults += [fault for judge in judges for fault in _judge_faults(judge)]
        faults += _faults_together(outputs, rows, judges, questions)
    if faults:
        raise CatalogueError(f"{path.name}: {len(faults)} fault(s)\n" + "\n".join(f"  {fault}" for fault in faults))
    return Catalogue(tuple(outputs), tuple(rows), tuple(judges), tuple(questions))


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


# -- reading and checking ----------------------------------------------------------------------------------------------

_KINDS: dict[str, TypeAdapter[Any]] = {"output": TypeAdapter(Entry), "row": TypeAdapter(Row)}
_KINDS |= {"judge": TypeAdapter(Judge)}
_QUESTION = TypeAdapter(Question)
_LISTS = TypeAdapter(list[dict[str, Any]])
_TABLES = TypeAdapter(dict[str, dict[str, Any]])


def _read(kind: str, item: Mapping[str, Any], faults: list[str]) -> Any:
    """An entry of a section, or None and its faults."""
    return _typed(_KINDS[kind], item, f"{kind} {item.get('id', item)!r}", faults)


def _typed(kind: TypeAdapter[Any], item: Any, where: str, faults: list[str]) -> Any:
    try:
        return kind.validate_python(item)
    except ValidationError as error:
        for one in error.errors():
            at = ".".join(map(str, one["loc"]))
            faults.append(f"{where}: {at}: {one['msg']}, got {one['input']!r}")
        return None


def _questions(output: str, read: Any, judges: Mapping[str, Judge], faults: list[str]) -> Iterator[Question]:
    """What an output's table `judges` asks: {name: {judge, where, map, fill}}."""
    tables = _typed(_TABLES, read, f"output {output!r}: judges", faults) or {}
    for name, item in tables.items():
        where, judge = f"output {output!r}: judges {name!r}", str(item.get("judge"))
        if judge not in judges:
            faults.append(f"{where}: there is no [[judge]] {judge!r}{_near(judge, judges)}")
        elif found := _typed(
            _QUESTION, {**item, "output": output, "name": name, "judge": judges[judge]}, where, faults
        ):
            faults += _unpaired(where, (*found.map, *found.fill, *found.where))
            yield found


def _entry_faults(entry: Entry, folder: Path, printed: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    where = f"output {entry.id!r}"
    if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", entry.id) or entry.id == SCOREBOARD:
        yield f"{where}: an id is lower-case letters and digits joined by single underscores, and not {SCOREBOARD!r}"
    notebook = PurePosixPath(entry.notebook)
    if notebook.is_absolute() or ".." in notebook.parts or notebook.suffix != ".ipynb":
        yield f"{where}: notebook {entry.notebook!r} is not the path of an .ipynb below notebooks/"
    elif not (folder / notebook).is_file():
        yield f"{where}: there is no notebooks/{entry.notebook}"
    known = printed.get(entry.paper, {})
    for name in entry.covers:
        if name not in known:
            listed = f"data/paper_tables/{entry.paper}/index.csv"
            yield f"{where}: covers {name!r}, which {listed} does not list{_near(name, known)}"
    for name in {*entry.parameters} & {*RESERVED}:
        yield f"{where}: parameter {name!r} is set by the runner; leave it out"


def _row_faults(row: Row, printed: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if row.id not in printed[row.paper]:
        yield f"row {row.paper}/{row.id}: not listed in data/paper_tables/{row.paper}/index.csv"
    if not row.reason.strip():
        yield f"row {row.paper}/{row.id}: the reason is empty"


def _judge_faults(judge: Judge) -> Iterator[str]:
    from nlgeval_lib import datasets, evaluators

    where = f"judge {judge.id!r}"
    for key, name, known in (
        ("evaluator", judge.evaluator, evaluators.names()),
        ("data", judge.data, [*datasets.NAMES]),
    ):
        if name not in known:
            yield f"{where}: unknown {key} {name!r}{_near(name, known)}"
    if not judge.model.strip():
        yield f"{where}: the model is empty"
    yield from _unpaired(where, judge.settings)


def _faults_together(
    outputs: Sequence[Entry], rows: Sequence[Row], judges: Sequence[Judge], questions: Sequence[Question]
) -> Iterator[str]:
    ids = [entry.id for entry in outputs]
    named = [f"output {name!r}" for name in ids] + [f"judge {judge.id!r}" for judge in judges]
    for name, count in Counter([*named, *(f"row {row.paper}/{row.id}" for row in rows)]).items():
        if count > 1:
            yield f"{name} is there {count} times"
    read = {question.judge.id for question in questions}
    yield from (f"judge {judge.id!r} is read by no output" for judge in judges if judge.id not in read)
    for entry in outputs:
        for name in entry.after:
            if name not in ids or name == entry.id:
                yield f"output {entry.id!r}: after names {name!r}, which is no other output{_near(name, ids)}"
    waits = {entry.id: set(entry.after) & set(ids) for entry in outputs}
    while ready := [name for name, others in waits.items() if not others & waits.keys()]:
        for name in ready:
            del waits[name]
    if waits:
        yield f"these outputs wait for each other in a circle: {', '.join(sorted(waits))}"


def _near(name: object, known: Iterable[str]) -> str:
    found = near(name, known)
    return f"; nearest: {', '.join(found)}" if found else ""


def _unpaired(where: str, texts: Iterable[str]) -> list[str]:
    return [f"{where}: {text!r} is not NAME=VALUE" for text in texts if "=" not in text]
