"""`notebooks/catalogue.toml`: every output, the judges that outputs ask, and every
printed row without a notebook.

`load` reads and checks it, and gives a `Catalogue`. An `Entry` is an output, a `Row` a
printed table or figure that no notebook makes. A `Metric` or `Judge` is declared once;
what an output reads of a judge is a `Read` in the file, and a `Question` once the
judge's id is resolved. Outputs of one's own are in no file: `PRIVATE` has their
notebooks, which say the entry in their metadata.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from nlgeval_lib import files
from nlgeval_lib.errors import Told
from nlgeval_lib.names import meant, pair

# The words that the file may use.
Paper = Literal["tigerscore", "semscore", "hdeval", "prometheus", "coascore"]
Route = Literal["published", "public", "recorded", "run", "mini", "own"]
RowStatus = Literal["needs GPU", "no public data", "no numbers", "not built yet"]
PAPERS = get_args(Paper)
ROUTES = get_args(Route)
META: Final = "meta"  # outputs that belong to no single paper
SCOREBOARD = "scoreboard"  # made last, from all the others; needs no entry
# The folder below notebooks/, results/ and figures/ of outputs that are one's own:
# git-ignored, in no count and on no page of the others.
PRIVATE: Final = "private"
METADATA: Final = "nlgeval"  # what such a notebook's metadata have its entry under
# In a signature: who answered in the place of the catalogue's model.
JUDGED_BY = "|judged-by:"
QUICK_INPUTS = 20  # inputs of a data set in mode "quick"
RESERVED = ("mode",)  # parameters that the runner sets where a notebook has them
ID = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
# A key that is not a field is a fault.
_STRICT = ConfigDict(extra="forbid")


class CatalogueError(Told, ValueError):
    """The catalogue cannot be used; the message lists every fault found, an entry a
    line.
    """


def _as_pair(text: str) -> str:
    """The text where it is `NAME=VALUE`. Raises: ValueError where it is not."""
    return "=".join(pair(text))


def _by_aspect(ids: Any) -> Any:
    """A bare list of ids is for all aspects, under "".

    Example:
    >>> _by_aspect(["bleu"])
    {'': ['bleu']}
    """
    if isinstance(ids, dict):
        return ids
    return {"": ids}


TOLERANCE: Final = 1e-6  # of an output that declares none
# Text that is not empty; and settings, each `NAME=VALUE`.
Words = Annotated[str, Field(pattern=r"\S")]
Pairs = tuple[Annotated[str, AfterValidator(_as_pair)], ...]
# Of a printed row: {aspect: ids of the metrics whose mean it is}.
RowMetrics = Annotated[Mapping[str, tuple[str, ...]], BeforeValidator(_by_aspect)]


@dataclass(frozen=True, config=_STRICT)
class Read:
    """What an output says of a judge that it reads: its id, and which rows of its data.

    judge: the id of a `[[judge]]`.
    map, fill: as `nlgeval score --map`, `--fill`.
    where: `COLUMN=VALUE` or `COLUMN!=VALUE`, all of which must hold.
    """

    judge: str
    map: Pairs = ()
    fill: Pairs = ()
    where: Pairs = ()


@dataclass(frozen=True, config=_STRICT)
class Entry:
    """One output: a notebook with fixed parameters.

    Each field is a key of an `[[output]]` in the file.
    """

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
    # Shows or reads texts of its inputs: their numbers are not enough.
    texts: bool = False
    # How far its numbers move with the processor that computes them: nearer ones are
    # taken for equal. Absolute up to 1, relative above.
    tolerance: Annotated[float, Field(ge=TOLERANCE, le=1e-3)] = TOLERANCE
    # By the name that the notebook has for each.
    judges: Mapping[str, Read] = field(default_factory=dict)
    # By the printed table's row.
    metrics: Mapping[str, RowMetrics] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The notebook's source."""
        return files.notebooks() / self.notebook

    @property
    def is_private(self) -> bool:
        """Whether it is one's own, which git ignores."""
        return self.notebook.startswith(f"{PRIVATE}/")

    @property
    def metric_ids(self) -> list[str]:
        """The metrics that it reads; one that several rows read is there several
        times.
        """
        ids: list[str] = []
        for by_aspect in self.metrics.values():
            for metrics in by_aspect.values():
                ids += metrics
        return ids


@dataclass(frozen=True, config=_STRICT)
class Row:
    """A printed table or figure that no notebook makes, and why.

    id: as the paper's index has it, in `data/paper_tables`.
    status: the reason in a few words; `reason` says it in full.
    """

    paper: Paper
    id: str
    status: RowStatus
    reason: Words


@dataclass(frozen=True, config=_STRICT)
class Metric:
    """A metric that a model's weights give, declared once: evaluator, its settings (as
    `nlgeval score --set`), and the model that a paper names.
    """

    id: str
    evaluator: str
    model: Words
    settings: Pairs = ()


@dataclass(frozen=True, config=_STRICT, kw_only=True)
class Judge(Metric):
    """A language model as a judge of a data set, declared once as a metric is; `api`
    says that it is served and its weights are not public.
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
    """What an output reads of a judge, with the judge itself in the place of its id.

    output: the id of the output.
    name: how the output's notebook calls it.
    """

    output: str
    name: str  # unique within the output
    judge: Judge  # type: ignore[assignment]  # found by the id that was read

    @property
    def asked(self) -> tuple[Any, ...]:
        """Judge and rows: equal where two outputs ask the very same."""
        return (self.judge.id, self.map, self.fill, self.where)

    def __str__(self) -> str:
        words = [self.judge.id]
        words += self.map + self.fill + self.where
        return " ".join(words)


@dataclass(frozen=True)
class Catalogue:
    """All outputs in the file's order, the rows without one, judges and metrics, what
    outputs read of judges; and the outputs of one's own, which are chosen by id alone.

    `catalogue["semscore_table_01"]` is the output of this id; an unknown id raises
    CatalogueError with the nearest ones.
    """

    outputs: tuple[Entry, ...]
    rows: tuple[Row, ...] = ()
    judges: tuple[Judge, ...] = ()
    questions: tuple[Question, ...] = ()
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # by id
    private: tuple[Entry, ...] = ()

    def __getitem__(self, name: str) -> Entry:
        entries = (*self.outputs, *self.private)
        for entry in entries:
            if entry.id == name:
                return entry
        ids = [entry.id for entry in entries]
        hint = meant(name, ids, "", 3)
        raise CatalogueError(f"no output {name!r} in notebooks/catalogue.toml{hint}")

    def question(self, output: str, name: str) -> Question:
        """What an output reads of a judge under a name.

        Raises: CatalogueError for an unknown output, and for a name that it does not
        have, naming those that it has.
        """
        questions = self.questions_of(output)
        for question in questions:
            if question.name == name:
                return question
        names = ", ".join(question.name for question in questions) or "none"
        raise CatalogueError(
            f"output {output!r} reads no judge as {name!r}; it has {names}"
        )

    def questions_of(self, output: str) -> tuple[Question, ...]:
        """What an output reads of judges, in the file's order; nothing for the
        scoreboard.

        Raises: CatalogueError for an unknown output.
        """
        if output != SCOREBOARD:
            self[output]  # an unknown output raises here
        questions = []
        for question in self.questions:
            if question.output == output:
                questions.append(question)
        return tuple(questions)

    def select(
        self, ids: Sequence[str] = (), papers: Sequence[str] = ()
    ) -> tuple[Entry, ...]:
        """The outputs with these ids or of these papers; where neither is given, all
        but those of one's own.

        ids: of outputs; that of the scoreboard is allowed and selects none.
        Raises: CatalogueError naming an unknown id or paper.
        """
        known_papers = (*PAPERS, META)
        for name in papers:
            if name not in known_papers:
                allowed = ", ".join(known_papers)
                raise CatalogueError(f"unknown paper {name!r}; one of {allowed}")
        for name in ids:
            if name != SCOREBOARD:
                self[name]  # an unknown output raises here
        if not ids and not papers:
            return self.outputs
        entries = []
        for entry in self.outputs:
            if entry.id in ids or entry.paper in papers:
                entries.append(entry)
        entries += [entry for entry in self.private if entry.id in ids]
        return tuple(entries)


def scoreboard_entry() -> Entry:
    """The scoreboard, as an output that comes after all others."""
    return Entry(
        id=SCOREBOARD,
        paper="meta",
        notebook="99_scoreboard.ipynb",
        route="published",
        after=("*",),
    )


def load(path: Path | None = None, *, notebooks: bool = True) -> Catalogue:
    """The catalogue, checked: keys and their types, ids, notebooks, routes, covered
    tables, order, judges.

    path: another file; None: `notebooks/catalogue.toml`.
    notebooks: whether every notebook must be there; False for what only asks judges.
    Raises: CatalogueError listing all faults, or for a file that is no TOML;
    FileNotFoundError where there is no such file.
    """
    if not path:
        path = files.notebooks() / "catalogue.toml"
    path = files.committed(path)
    # Faults are collected, so that one reading shows them all.
    sections = _File()
    faults: list[str] = []
    try:
        text = path.read_text(encoding="utf-8")
        sections = _sections(text)
        faults += _faults(sections)
        if notebooks:
            faults += _missing_notebooks(sections, path.parent)
    except ValidationError as error:
        raw = tomllib.loads(text)
        for fault in error.errors():
            faults.append(_described(raw, **fault))
    except ValueError as error:
        raise CatalogueError(
            f"{path.name} is not valid TOML in UTF-8: {error}"
        ) from None
    ids = {entry.id for entry in sections.output}
    private = tuple(_private(path.parent / PRIVATE, ids, faults))
    if faults:
        listed = "\n".join(f"  {fault}" for fault in faults)
        raise CatalogueError(f"{path.name}: {len(faults)} fault(s)\n{listed}")
    # All ids are known by now, so each judge can take the place of its id.
    judges = {judge.id: judge for judge in sections.judge}
    questions = []
    for entry in sections.output:
        for name, read in entry.judges.items():
            fields = vars(read) | {"judge": judges[read.judge]}
            questions.append(Question(output=entry.id, name=name, **fields))
    metrics = {metric.id: metric for metric in sections.metric}
    return Catalogue(
        sections.output,
        sections.row,
        sections.judge,
        tuple(questions),
        metrics,
        private,
    )


def _private(folder: Path, ids: Collection[str], faults: list[str]) -> Iterator[Entry]:
    """The outputs of the notebooks in a folder, each called as its file is; nothing
    where there is no such folder. A notebook whose name is no id, or is taken, is none.
    """
    for path in sorted(folder.glob("*.ipynb")):
        if not ID.fullmatch(path.stem) or path.stem in ids:
            continue
        notebook = f"{folder.name}/{path.name}"
        metadata: dict[str, Any] = {}
        # One that cannot be read is refused when it is to be run.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            document = json.loads(path.read_text(encoding="utf-8"))
            metadata = document["metadata"].get(METADATA, {})
        fixed = {"id": path.stem, "paper": META, "notebook": notebook}
        fields = {"route": "run", **metadata, **fixed}
        try:
            yield Entry(**fields)
        except ValidationError as error:
            for fault in error.errors():
                details: dict[str, Any] = {**fault}
                details["loc"] = ("output", 0, *fault["loc"])
                faults.append(_described({"output": [fixed]}, **details))


# -- checking


@dataclass(frozen=True, config=_STRICT)
class _File:
    """The file's sections as they are read."""

    output: tuple[Entry, ...] = ()
    row: tuple[Row, ...] = ()
    judge: tuple[Judge, ...] = ()
    metric: tuple[Metric, ...] = ()


@functools.lru_cache(maxsize=2)
def _sections(text: str) -> _File:
    """The sections of a file; a run asks for those of one text dozens of times."""
    return _File(**tomllib.loads(text))


def _described(
    raw: Mapping[str, Any], loc: Sequence[Any], msg: str, input: Any, **_: Any
) -> str:
    """One of pydantic's faults, with the entry's id in the place of its number."""
    section, *keys = loc
    if not keys:
        fault = f"unknown section [[{section}]]"
        if section in ("output", "row", "judge", "metric"):
            fault = f"[[{section}]]: {msg}"
        return f"{fault}; allowed: [[output]], [[row]], [[judge]], [[metric]]"
    number, *fields = keys
    field_name = ".".join(map(str, fields))
    name = raw[section][number]
    if isinstance(name, dict):
        name = name.get("id", name)
    return f"{section} {name!r}: {field_name}: {msg}, got {input!r}"


def _faults(catalogue: _File) -> Iterator[str]:
    """What is wrong with entries that could all be read, a sentence each."""
    printed = {paper: _printed(paper) for paper in PAPERS}
    yield from _repeated(catalogue)
    for entry in catalogue.output:
        label = f"output {entry.id!r}"
        yield from _entry_faults(entry, label)
        yield from _unknown_names(entry, label, catalogue, printed)
    for row in catalogue.row:
        if row.id not in printed[row.paper]:
            yield (
                f"row {row.paper}/{row.id}: not listed in "
                f"data/paper_tables/{row.paper}/index.csv"
            )
    scorers = (*catalogue.judge, *catalogue.metric)
    if scorers:
        yield from _scorer_faults(scorers, catalogue.output)
    # Outputs that read others' results need an order in which they can be made.
    ids = {entry.id for entry in catalogue.output}
    order = {}
    for entry in catalogue.output:
        order[entry.id] = ids.intersection(entry.after)
    try:
        TopologicalSorter(order).prepare()
    except CycleError as error:
        circle = ", ".join(sorted(set(error.args[1])))
        yield f"these outputs wait for each other in a circle: {circle}"


def _repeated(catalogue: _File) -> Iterator[str]:
    """Entries that are there more than once."""
    counts: Counter[str] = Counter()
    for entry in catalogue.output:
        counts[f"output {entry.id!r}"] += 1
    for judge in catalogue.judge:
        counts[f"judge {judge.id!r}"] += 1
    for metric in catalogue.metric:
        counts[f"metric {metric.id!r}"] += 1
    for row in catalogue.row:
        counts[f"row {row.paper}/{row.id}"] += 1
    for label, count in counts.items():
        if count > 1:
            yield f"{label} is there {count} times"


def _missing_notebooks(catalogue: _File, folder: Path) -> Iterator[str]:
    """The outputs without their notebook. folder: that of the notebooks."""
    for entry in catalogue.output:
        if not (folder / entry.notebook).is_file():
            yield f"output {entry.id!r}: there is no notebooks/{entry.notebook}"


def _entry_faults(entry: Entry, label: str) -> Iterator[str]:
    """What is wrong with an output's id, the path of its notebook, and its parameters.
    label: names the output.
    """
    if not ID.fullmatch(entry.id) or entry.id == SCOREBOARD:
        yield (
            f"{label}: an id is lower-case letters and digits joined by single "
            f"underscores, not {SCOREBOARD!r}"
        )
    notebook = PurePosixPath(entry.notebook)
    outside = notebook.is_absolute() or ".." in notebook.parts
    if outside or notebook.suffix != ".ipynb":
        yield (
            f"{label}: notebook {entry.notebook!r} is not the path of an .ipynb "
            "below notebooks/"
        )
    reserved = set(RESERVED).intersection(entry.parameters)
    for name in sorted(reserved):
        yield f"{label}: parameter {name!r} is set by the runner; leave it out"


def _unknown_names(
    entry: Entry, label: str, catalogue: _File, printed: Mapping[str, list[str]]
) -> Iterator[str]:
    """Tables, outputs, judges and metrics that an output names and nobody has."""
    tables = printed.get(entry.paper, [])
    listed = f"data/paper_tables/{entry.paper}/index.csv"
    for name, hint in _unknown(entry.covers, tables):
        yield f"{label}: covers {name!r}, which {listed} does not list{hint}"
    outputs = [output.id for output in catalogue.output if output.id != entry.id]
    for name, hint in _unknown(entry.after, outputs):
        yield f"{label}: after names {name!r}, which is no other output{hint}"
    judges = [judge.id for judge in catalogue.judge]
    read_as: dict[str, str] = {}
    for name, read in entry.judges.items():
        read_as.setdefault(read.judge, name)
    for name, hint in _unknown(read_as, judges):
        yield f"{label}: judges {read_as[name]!r}: there is no [[judge]] {name!r}{hint}"
    metrics = [metric.id for metric in catalogue.metric]
    for name, hint in _unknown(entry.metric_ids, metrics):
        yield f"{label}: metrics: there is no [[metric]] {name!r}{hint}"


def _unknown(names: Iterable[str], choices: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names that are not among the choices, each with a hint at which of them may
    have been meant.
    """
    for name in sorted(set(names).difference(choices)):
        yield name, meant(name, choices, "", 3)


def _scorer_faults(
    scorers: Sequence[Metric], outputs: Sequence[Entry]
) -> Iterator[str]:
    """What is wrong with judges and metrics."""
    # These load pandas, which a catalogue without any scorer does not need.
    from nlgeval_lib import datasets, evaluators

    allowed_values = {
        "evaluator": evaluators.names(),
        "data": [*datasets.NAMES, *datasets.OPTIONAL],
    }
    names_read: set[str] = set()
    for entry in outputs:
        names_read.update(read.judge for read in entry.judges.values())
        names_read.update(entry.metric_ids)
    for scorer in scorers:
        label = f"{type(scorer).__name__.lower()} {scorer.id!r}"
        for key, allowed in allowed_values.items():
            value = getattr(scorer, key, None)
            if value is not None and value not in allowed:
                hint = meant(value, allowed, "", 3)
                yield f"{label}: unknown {key} {value!r}{hint}"
        if scorer.id not in names_read:
            yield f"{label} is read by no output"


def _printed(paper: str) -> list[str]:
    """Every table and figure that a paper prints, by the id that its index has; none
    for a paper without an index.
    """
    path = files.data() / "paper_tables" / paper / "index.csv"
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as lines:
        return [row["id"] for row in csv.DictReader(lines)]
