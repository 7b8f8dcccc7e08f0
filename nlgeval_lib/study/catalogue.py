"""`notebooks/catalogue.toml`: every output, the judges that outputs ask, and every
printed row without a notebook.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from nlgeval_lib import files
from nlgeval_lib.names import meant, pair

Paper = Literal["tigerscore", "semscore", "hdeval", "prometheus", "coascore"]
Route = Literal["published", "public", "recorded", "run", "mini"]
RowStatus = Literal["needs GPU", "no public data", "no numbers", "not built yet"]
PAPERS = get_args(Paper)
ROUTES = get_args(Route)
META: Final = "meta"  # outputs that belong to no single paper
SCOREBOARD = "scoreboard"  # made last, from all the others; needs no entry
# in a signature: who answered in the place of the catalogue's model
JUDGED_BY = "|judged-by:"
RESERVED = ("mode",)  # parameters that the runner sets where a notebook has them
_STRICT = ConfigDict(extra="forbid")


class CatalogueError(ValueError):
    """The catalogue cannot be used; the message lists every fault found, an entry a
    line.
    """


Words = Annotated[str, Field(pattern=r"\S")]
Pairs = tuple[Annotated[str, AfterValidator(lambda text: "=".join(pair(text)))], ...]
# of a printed row: {aspect: ids of the metrics whose mean it is}; a bare list is for
# all aspects, under ""
RowMetrics = Annotated[
    Mapping[str, tuple[str, ...]],
    BeforeValidator(lambda given: given if isinstance(given, dict) else {"": given}),
]


@dataclass(frozen=True, config=_STRICT)
class Read:
    """What an output says of a judge that it reads: its id, and which rows of its data.

    where: `COLUMN=VALUE` or `COLUMN!=VALUE`, all of which must hold. map, fill: as
    `nlgeval score --map`, `--fill`.
    """

    judge: str
    map: Pairs = ()
    fill: Pairs = ()
    where: Pairs = ()


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
    texts: bool = (
        False  # shows or reads texts of its inputs: their numbers are not enough
    )
    judges: Mapping[str, Read] = field(
        default_factory=dict
    )  # by the name that the notebook has for each
    metrics: Mapping[str, RowMetrics] = field(
        default_factory=dict
    )  # by the printed table's row

    @property
    def path(self) -> Path:
        """The notebook's source."""
        return files.notebooks() / self.notebook

    @property
    def metric_ids(self) -> list[str]:
        """The metrics that it reads."""
        return [
            name
            for row in self.metrics.values()
            for names in row.values()
            for name in names
        ]


@dataclass(frozen=True, config=_STRICT)
class Row:
    """A printed table or figure that no notebook makes, and why."""

    paper: Paper
    id: str
    status: RowStatus
    reason: Words


@dataclass(frozen=True, config=_STRICT)
class Metric:
    """A metric that a model's weights give, declared once: evaluator, its settings, and
    the model that a paper names.

    settings: as `nlgeval score --set`, but the model.
    """

    id: str
    evaluator: str
    model: Words
    settings: Pairs = ()


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class Judge(Metric):
    """A language model as a judge of a data set, declared once as a metric is.

    api: the model is served, its weights are not public.
    """

    data: str
    revision: str = ""
    api: bool = False

    @property
    def engine(self) -> str:
        """The engine that runs it by default."""
        return "openai" if self.api else "vllm"


@dataclass(frozen=True, kw_only=True)
class Question(Read):
    """What an output reads of a judge."""

    output: str
    name: str  # unique within the output
    judge: Judge  # type: ignore[assignment]  # found by the id that was read

    @property
    def asked(self) -> tuple[Any, ...]:
        """Judge and rows: equal where two outputs ask the very same."""
        return (self.judge.id, self.map, self.fill, self.where)

    def __str__(self) -> str:
        return " ".join((self.judge.id, *self.map, *self.fill, *self.where))


@dataclass(frozen=True)
class Catalogue:
    """All outputs in the file's order, the rows without one, judges and metrics,
    what outputs read of judges.
    """

    outputs: tuple[Entry, ...]
    rows: tuple[Row, ...] = ()
    judges: tuple[Judge, ...] = ()
    questions: tuple[Question, ...] = ()
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # by id

    def __getitem__(self, name: str) -> Entry:
        entries = {entry.id: entry for entry in self.outputs}
        if name not in entries:
            raise CatalogueError(
                f"no output {name!r} in notebooks/catalogue.toml{meant(name, entries, '', 3)}"
            )
        return entries[name]

    def question(self, output: str, name: str) -> Question:
        """One of an output's. Raises: CatalogueError naming those that it has."""
        asked = {question.name: question for question in self.questions_of(output)}
        if name in asked:
            return asked[name]
        raise CatalogueError(
            f"output {output!r} reads no judge as {name!r}; it has {', '.join(asked) or 'none'}"
        )

    def questions_of(self, output: str) -> tuple[Question, ...]:
        """What an output reads of judges, in the file's order.

        Raises: CatalogueError for an unknown output.
        """
        if output != SCOREBOARD:
            self[output]  # is it one?
        return tuple(
            question for question in self.questions if question.output == output
        )

    def select(
        self, ids: Sequence[str] = (), papers: Sequence[str] = ()
    ) -> tuple[Entry, ...]:
        """The outputs with these ids and of these papers; all where neither is given.

        Raises: CatalogueError naming unknown ids and papers.
        """
        for name in papers:
            if name not in (*PAPERS, META):
                raise CatalogueError(
                    f"unknown paper {name!r}; one of {', '.join((*PAPERS, META))}"
                )
        wanted = {self[name].id for name in ids if name != SCOREBOARD}
        if not ids and not papers:
            return self.outputs
        return tuple(
            entry
            for entry in self.outputs
            if entry.id in wanted or entry.paper in papers
        )


def scoreboard_entry() -> Entry:
    """The scoreboard, as an output that comes after all others."""
    return Entry(
        id=SCOREBOARD,
        paper="meta",
        notebook="99_scoreboard.ipynb",
        route="published",
        after=("*",),
    )


def load(path: Path | None = None) -> Catalogue:
    """The catalogue, checked: keys and their types, ids, notebooks, routes, covered
    tables, order, judges.

    Raises: CatalogueError listing all faults; FileNotFoundError where there is no such
    file.
    """
    path = files.committed(path or files.notebooks() / "catalogue.toml")
    read = _File()
    faults = list[str]()
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        read = _File(**raw)
        faults += _faults(read, path.parent)
    except ValidationError as error:
        faults += [_told(raw, **fault) for fault in error.errors()]
    except ValueError as error:
        raise CatalogueError(
            f"{path.name} is not valid TOML in UTF-8: {error}"
        ) from None
    if faults:
        raise CatalogueError(
            f"{path.name}: {len(faults)} fault(s)\n"
            + "\n".join(f"  {fault}" for fault in faults)
        )
    judges = {judge.id: judge for judge in read.judge}
    questions = [
        Question(
            **vars(one) | {"output": entry.id, "name": name, "judge": judges[one.judge]}
        )
        for entry in read.output
        for name, one in entry.judges.items()
    ]
    return Catalogue(
        read.output,
        read.row,
        read.judge,
        tuple(questions),
        {metric.id: metric for metric in read.metric},
    )


# -- checking


@dataclass(frozen=True, config=_STRICT)
class _File:
    output: tuple[Entry, ...] = ()
    row: tuple[Row, ...] = ()
    judge: tuple[Judge, ...] = ()
    metric: tuple[Metric, ...] = ()


def _told(
    raw: Mapping[str, Any], loc: Sequence[Any], msg: str, input: Any, **_: Any
) -> str:
    """One of pydantic's faults, with the entry's id in the place of its number."""
    section, *rest = loc
    if not rest:
        known = section in ("output", "row", "judge", "metric")
        said = f"[[{section}]]: {msg}" if known else f"unknown section [[{section}]]"
        return f"{said}; allowed: [[output]], [[row]], [[judge]], [[metric]]"
    item = raw[section][rest[0]]
    name = item.get("id", item) if isinstance(item, dict) else item
    return f"{section} {name!r}: {'.'.join(map(str, rest[1:]))}: {msg}, got {input!r}"


def _faults(read: _File, folder: Path) -> Iterator[str]:
    """What is wrong with entries that could all be read."""
    printed = {paper: _printed(paper) for paper in PAPERS}
    ids, judges, metrics = (
        [one.id for one in part] for part in (read.output, read.judge, read.metric)
    )
    named = [f"output {name!r}" for name in ids] + [
        f"judge {name!r}" for name in judges
    ]
    named += [f"metric {name!r}" for name in metrics] + [
        f"row {row.paper}/{row.id}" for row in read.row
    ]
    for name, count in Counter(named).items():
        if count > 1:
            yield f"{name} is there {count} times"
    for entry in read.output:
        where = f"output {entry.id!r}"
        known = printed.get(entry.paper, [])
        if (
            not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", entry.id)
            or entry.id == SCOREBOARD
        ):
            yield f"{where}: an id is lower-case letters and digits joined by single underscores, not {SCOREBOARD!r}"
        notebook = PurePosixPath(entry.notebook)
        if (
            notebook.is_absolute()
            or ".." in notebook.parts
            or notebook.suffix != ".ipynb"
        ):
            yield f"{where}: notebook {entry.notebook!r} is not the path of an .ipynb below notebooks/"
        elif not (folder / notebook).is_file():
            yield f"{where}: there is no notebooks/{entry.notebook}"
        for name in sorted({*entry.parameters} & {*RESERVED}):
            yield f"{where}: parameter {name!r} is set by the runner; leave it out"
        listed = f"data/paper_tables/{entry.paper}/index.csv"
        asked = {one.judge: name for name, one in reversed([*entry.judges.items()])}
        for names, there, said in (
            (entry.covers, known, f"covers {{!r}}, which {listed} does not list"),
            (
                entry.after,
                [name for name in ids if name != entry.id],
                "after names {!r}, which is no other output",
            ),
            (asked, judges, "judges {1!r}: there is no [[judge]] {0!r}"),
            (entry.metric_ids, metrics, "metrics: there is no [[metric]] {!r}"),
        ):
            for name in sorted({*names} - {*there}):
                yield f"{where}: {said.format(name, asked.get(name))}{meant(name, there, '', 3)}"
    for row in read.row:
        if row.id not in printed[row.paper]:
            yield f"row {row.paper}/{row.id}: not listed in data/paper_tables/{row.paper}/index.csv"
    asking = {one.judge for entry in read.output for one in entry.judges.values()}
    asking |= {name for entry in read.output for name in entry.metric_ids}
    for scorer in (*read.judge, *read.metric):
        from nlgeval_lib import (
            datasets,
            evaluators,
        )  # which load pandas: not where no judge is declared

        kind = type(scorer).__name__.lower()
        for key, all_of in (
            ("evaluator", evaluators.names()),
            ("data", [*datasets.NAMES, *datasets.OPTIONAL]),
        ):
            if (given := getattr(scorer, key, None)) not in (None, *all_of):
                yield f"{kind} {scorer.id!r}: unknown {key} {given!r}{meant(given, all_of, '', 3)}"
        if scorer.id not in asking:
            yield f"{kind} {scorer.id!r} is read by no output"
    try:
        TopologicalSorter(
            {entry.id: {*entry.after} & {*ids} for entry in read.output}
        ).prepare()
    except CycleError as error:
        yield f"these outputs wait for each other in a circle: {', '.join(sorted(set(error.args[1])))}"


def _printed(paper: str) -> list[str]:
    """Every table and figure that a paper prints, by the id that its index has."""
    path = files.data() / "paper_tables" / paper / "index.csv"
    return (
        [row["id"] for row in csv.DictReader(path.read_text("utf-8").splitlines())]
        if path.exists()
        else []
    )
