"""Must an output be made again? Hashes of all that it is made from (its notebook, its
parameters, `code`, `parts`), against those that its last run wrote down.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

import pydantic

from nlgeval_lib import files
from reproduction.import_graph import HOUSES, ROOT, Graph, Source
from reproduction.report import notebook, seal
from reproduction.study.catalogue import (
    META,
    SCOREBOARD,
    Catalogue,
    CatalogueError,
    Entry,
)

# The endings of the houses' files that results depend on, beside .py; .html and .js are
# for pages alone.
DATA_OF_CODE = (*seal.DATA_OF_CODE, ".css", ".jinja")


@dataclass(frozen=True, slots=True)
class Options:
    """How a run goes.

    mode: "full", or "quick" for small samples. jobs: notebooks at a time.
    force: run all, also what is not stale.
    replace: let a result with less replace one with more.
    overrides: parameter -> value from the command line, as text.
    records: False: a run on the side; no scoreboard, and no trace for the next run.
    """

    mode: str = "full"
    jobs: int = 1
    force: bool = False
    replace: bool = False
    overrides: Mapping[str, str] = field(default_factory=dict)
    records: bool = True

    @property
    def aside(self) -> bool:
        """Does this run leave the outputs' records and the scoreboard alone?"""
        return bool(self.overrides) or not self.records


@dataclass(frozen=True, slots=True)
class Step:
    """The decision about one output: run, cached or refused, and why.

    values: the notebook's parameters in this run.
    parts: the hashes of what it is made from, by what they are of.
    """

    entry: Entry
    action: str
    reason: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, str | None] = field(default_factory=dict)


@pydantic.dataclasses.dataclass(frozen=True, config=pydantic.ConfigDict(extra="forbid"))
class Record:
    """The last run of one output in one mode, as a small JSON below `.nlgeval/runs/`.

    status: ok or failed. parts: as in `Step`. saved: the report of `Output.save()`.
    files: the sha256 of each result file, by its name; None for one that was not there.
    """

    status: str
    parts: Mapping[str, str | None]
    seconds: float
    saved: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """The record at `path`; None where there is none that can be read."""
        try:
            return pydantic.TypeAdapter(cls).validate_json(path.read_bytes())
        except (OSError, ValueError):
            return None

    def write(self, path: Path) -> None:
        """Keep this record. Raises: OSError where it cannot be written."""
        text = json.dumps(asdict(self), indent=1, sort_keys=True, default=str)
        files.write_text(path, text + "\n")

    def stale(self, parts: Mapping[str, str | None]) -> str:
        """Why the output must be made again from these parts; "" where it need not be."""
        if self.status != "ok":
            return "the last run failed"
        different = []
        for name in sorted({*parts, *self.parts}):
            if parts.get(name) != self.parts.get(name):
                different.append(name)
        if different:
            more = f" and {len(different) - 3} more" if len(different) > 3 else ""
            return f"changed: {', '.join(different[:3])}{more}"
        for name, recorded in self.files.items():
            present = file_hash(files.located(name))
            if present is None and recorded is not None:
                return f"gone: {name}"
            if present != recorded:
                return f"altered since: {name}"
        return ""


def record_path(mode: str, output: str) -> Path:
    """Where the record of one output lies."""
    return files.state("runs", mode, f"{output}.json")


def step(entry: Entry, catalogue: Catalogue, options: Options) -> Step:
    """Decide about one output from content hashes alone; no data file is read.

    Raises: CatalogueError where its inputs are unknown names.
    """
    try:
        source = notebook.read(entry.path)
        values = _values(entry, source, options)
    except notebook.NotebookRefused as error:
        return Step(entry, "refused", str(error))
    made_from = parts(entry, catalogue, options.mode)
    made_from |= code(entry, catalogue, source)
    made_from["notebook"] = digest(source.cells)
    made_from["parameters"] = digest(values)
    # What the parameters name may be a file, such as a prompt of one's own, or @FILE.
    defaults = [parameter.default for parameter in source.parameters.values()]
    for text in _texts([defaults, values]):
        is_path = 0 < len(text) < 256 and "\n" not in text
        if is_path and (sha256 := file_hash(files.root() / text.removeprefix("@"))):
            made_from[text] = sha256
    if options.force or (options.replace and entry.id != SCOREBOARD):
        reason = "--force" if options.force else "--replace"
    elif options.overrides:
        reason = "parameters from the command line"
    else:
        record = Record.read(record_path(options.mode, entry.id))
        reason = "never run here" if record is None else record.stale(made_from)
    return Step(entry, "run" if reason else "cached", reason, values, made_from)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value: itself, or those of a mapping or list and what is in it."""
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, str):
        yield value
    elif isinstance(value, Iterable):
        for part in value:
            yield from _texts(part)


def _values(entry: Entry, source: notebook.Source, options: Options) -> dict[str, Any]:
    """The values of the notebook's parameters in this run: its defaults, those of the
    entry, and over them those of the command line.
    """
    parameters = dict(entry.parameters)
    for name, text in options.overrides.items():
        # `resolve` refuses an unknown name, and says which are known.
        parameters[name] = text
        if name in source.parameters:
            parameters[name] = source.parameters[name].read(text)
    if options.mode == "quick" and entry.saves and "mode" not in source.parameters:
        raise notebook.NotebookRefused(
            f"{notebook.shown(entry.path)}: no parameter 'mode', so it has no quick "
            "mode"
        )
    return source.resolve(parameters, {"mode": options.mode})


def waits_for(entry: Entry, catalogue: Catalogue) -> set[str]:
    """The ids of the outputs that must be finished before `entry`; `*` means all."""
    if "*" in entry.after:
        return {output.id for output in catalogue.outputs}
    return set(entry.after)


# ---- what an output is made from


def parts(entry: Entry, catalogue: Catalogue, mode: str) -> dict[str, str | None]:
    """The hashes that decide whether `entry` must be made again, but those of its
    notebook and of code, by the file, or in a word what else is hashed.

    Raises: CatalogueError where its inputs are unknown names.
    """
    questions = catalogue.questions_of(entry.id)
    simulated = f"data/simulated/{entry.id}.csv"
    declared = [entry.id, entry.paper, entry.route, list(entry.covers)]
    hashes: dict[str, str | None] = {
        "entry": digest(declared),
        "python": ".".join(map(str, sys.version_info[:2])),
        simulated: file_hash(files.root() / simulated),
        **_printed(entry.paper),
        **_results_read(entry, catalogue, mode),
    }
    for name in entry.inputs:
        try:
            hashes |= checksums(name)
        except ValueError as error:
            raise CatalogueError(f"output {entry.id!r}: inputs: {error}") from None
    for name, sha256 in _below(files.root(), "requirements").items():
        if name.endswith(".txt"):
            hashes[name] = sha256
    # Judges that are asked here may be the miniature one.
    if entry.route == "mini" or questions or "mini" in entry.inputs:
        hashes |= _below(files.root(), "data/mini")
    # What open models said once, beside the paper's own judges.
    if entry.route == "run" or questions:
        hashes |= _below(files.root(), "data/judged")
    # Where the recorded judges' cards lie is a parameter of what shows them.
    if "cards" in entry.parameters:
        hashes |= _below(files.root(), "data/cards")
    if questions:
        # How many completions of their judges are stored.
        models = {question.judge.model for question in questions}
        stored = {f"{at}": n for at, n in _stored().items() if at[0] in models}
        hashes["completions"] = digest([list(map(astuple, questions)), stored])
    if entry.metrics:
        # Which scores were computed here.
        path = files.state("metrics", "made.json")
        computed = json.loads(path.read_bytes()) if path.is_file() else {}
        names = sorted({*entry.metric_ids})
        declared_metrics = [astuple(catalogue.metrics[name]) for name in names]
        scores = {name: computed.get(name) for name in names}
        hashes["metrics"] = digest([entry.metrics, declared_metrics, scores])
    return hashes


def _printed(paper: str) -> dict[str, str | None]:
    """The hashes of a paper's printed tables, for META those of all, and of the tables
    beside them: roundings, and cells that are no evidence. Where a cell stands in its
    paper is not among them.
    """
    hashes = {}
    for name, sha256 in _below(files.root(), "data/paper_tables").items():
        folder, _, file = name.removeprefix("data/paper_tables/").rpartition("/")
        of_paper = bool(folder) and paper in (folder, META)
        beside = not folder and file.endswith(".csv")
        if (of_paper and file != "witnesses.csv") or (beside and file != "papers.csv"):
            hashes[name] = sha256
    return hashes


def _results_read(
    entry: Entry, catalogue: Catalogue, mode: str
) -> dict[str, str | None]:
    """The hashes of the results that `entry` reads: those of the outputs that it waits
    for, and for the scoreboard the catalogue.
    """
    hashes: dict[str, str | None] = {}
    folders = ("results/quick",) if mode == "quick" else ("results", "results/mini")
    for name in sorted(waits_for(entry, catalogue)):
        for folder in folders:
            base = f"{folder}/{catalogue[name].paper}/{name}"
            hashes[f"{base}.csv"] = file_hash(files.located(f"{base}.csv"))
            path = files.located(f"{base}.json")
            record = json.loads(path.read_bytes()) if path.is_file() else None
            if record:
                # Other code that gives the same is no reason to run what reads it.
                record.pop("code", None)
            hashes[f"{base}.json"] = record and digest(record)
    if entry.id == SCOREBOARD:
        path = files.notebooks() / "catalogue.toml"
        hashes["notebooks/catalogue.toml"] = file_hash(path)
    return hashes


def code(
    entry: Entry, catalogue: Catalogue, source: notebook.Source
) -> dict[str, str | None]:
    """The files of code that an output hangs on, by path: what its notebook imports,
    itself or through others, or loads by name; and the files beside it that it names. A
    file of a house that is no Python counts where a module of its room does.
    """
    beside = _beside(source)
    defaults = [parameter.default for parameter in source.parameters.values()]
    names = [*entry.inputs, *_texts([defaults, entry.parameters])]
    for question in catalogue.questions_of(entry.id):
        names += [question.judge.evaluator, question.judge.data]
    names += [catalogue.metrics[name].evaluator for name in entry.metric_ids]
    paths = set()
    for module in _graph().reached(beside.values(), names):
        paths.add(_graph().paths[module].relative_to(ROOT).as_posix())
    rooms = set(map(_room, paths))
    hashes = {}
    for house in HOUSES:
        for name, sha256 in _below(ROOT, house).items():
            in_room = name.endswith(DATA_OF_CODE) and _room(name) in rooms
            if name in paths or in_room:
                hashes[name] = sha256
    texts = set[str]().union(*(part.texts for part in beside.values()))
    for path in source.path.parent.iterdir():
        if path in beside or path.name in texts:
            hashes[notebook.shown(path)] = file_hash(path)
    hashes.pop(notebook.shown(source.path), None)
    # An encoder's scores are read from there where the texts are here, too.
    if "nlgeval_lib/evaluators/embedding_metrics.py" in paths:
        for name, sha256 in _below(files.root(), "data/numbers").items():
            if name.endswith(".scores.parquet"):
                hashes[name] = sha256
    return hashes


def _beside(source: notebook.Source) -> dict[Path, Source]:
    """The code of a notebook, and of the modules beside it that it imports, itself or
    through others.
    """
    cells = [text for kind, text, _ in source.cells if kind == "code"]
    found = {source.path: Source(*cells)}
    due = [*found.values()]
    while due:
        for module, _ in due.pop().imports.values():
            path = source.path.with_name(f"{module}.py")
            if path not in found and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                found[path] = Source(text)
                due.append(found[path])
    return found


def _room(path: str) -> str:
    """The folder that a file of the code belongs to, at most two names deep.

    Example:
    >>> _room("nlgeval_lib/prompts/templates/geval.txt"), _room("judgecard/rules.csv")
    ('nlgeval_lib/prompts', 'judgecard')
    """
    folders = path.split("/")[:-1][:2]
    return "/".join(folder for folder in folders if folder != "site")


@functools.cache
def _below(root: Path, folder: str) -> Mapping[str, str | None]:
    """The sha256 of each file below a folder, by its path from `root`."""
    hashes: dict[str, str | None] = {}
    for path in (root / folder).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            hashes[path.relative_to(root).as_posix()] = file_hash(path)
    return hashes


@functools.cache
def _graph() -> Graph:
    """Which modules of the houses import which."""
    return Graph(ROOT)


@functools.cache
def _stored() -> Mapping[tuple[str, str], int]:
    """How many completions the store has of each model and revision."""
    from nlgeval_lib.engines.store import Store

    with Store(files.state("completions")) as store:
        return store.census()


def forget() -> None:
    """Read code, printed tables, locks and registry anew at the next call."""
    for cached in (_below, _graph, _stored, checksums):
        cached.cache_clear()


def digest(value: Any) -> str:
    """The sha256 of a JSON-like value; the order of keys does not count."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def file_hash(path: Path) -> str | None:
    """The sha256 of a file's bytes; None where there is no such file."""
    try:
        return files.sha256(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


# ---- the data that an output needs


@functools.cache
def checksums(name: str) -> Mapping[str, str]:
    """The sha256 of each file of a data set or recording, by its registry path.

    Raises: datasets.UnknownName.
    """
    from nlgeval_lib import datasets
    from nlgeval_lib.datasets import registry

    return {path: registry.entry(path).checksum for path in datasets.files(name)}


def from_numbers(entry: Entry, names: Iterable[str]) -> bool:
    """Whether an output can do with the numbers of these sets, without their texts."""
    from nlgeval_lib.datasets import numbers

    return not entry.texts and all(numbers.has(name) for name in names)


def missing(names: Iterable[str]) -> dict[str, str]:
    """The data sets among these that are not available here, with the reason; all others
    are on this machine afterwards.
    """
    names = list(dict.fromkeys(names))
    if not names:
        return {}
    from nlgeval_lib.datasets import fetch

    reasons = {}
    for result in fetch.all(names, say=lambda line: None):
        if not result.ok:
            reasons[result.name] = result.reason
    return reasons
