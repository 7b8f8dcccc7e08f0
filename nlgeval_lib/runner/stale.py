"""Must an output be made again? Hashes of all that it is made from, against those
that its last run wrote down.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

import pydantic

import nlgeval_lib
from nlgeval_lib import files
from nlgeval_lib.report import notebook
from nlgeval_lib.study.catalogue import (
    META,
    PAPERS,
    SCOREBOARD,
    Catalogue,
    CatalogueError,
    Entry,
)

LIBRARY = (
    ".py",
    ".txt",
    ".json",
    ".jsonl",
    ".toml",
    ".csv",
    ".yaml",
    ".gz",
    ".css",
)  # .html and .js: pages alone


@dataclass(frozen=True, slots=True)
class Options:
    """How a run goes. `overrides` are parameter values from the command line, as
    text.
    """

    mode: str = "full"
    jobs: int = 1
    force: bool = False
    replace: bool = False  # let a result with less replace one with more
    timeout: int | None = None  # seconds a cell may take
    overrides: Mapping[str, str] = field(default_factory=dict)
    records: bool = (
        True  # False: a run on the side; no scoreboard, and no trace for the next run
    )

    @property
    def aside(self) -> bool:
        """Does this run leave the outputs' records and the scoreboard alone?"""
        return bool(self.overrides) or not self.records


@dataclass(frozen=True, slots=True)
class Step:
    """The decision about one output.

    parts: the hashes of what it is made from but the library, by what they are of.
    """

    entry: Entry
    action: str  # run, cached, refused
    reason: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)


@pydantic.dataclasses.dataclass(frozen=True, config=pydantic.ConfigDict(extra="forbid"))
class Record:
    """The last run of one output in one mode, as a small JSON below
    `.nlgeval/runs/`.
    """

    status: str  # ok or failed
    parts: Mapping[str, str]
    code: str  # of the library, as far as the notebook loaded it
    seconds: float
    saved: Mapping[str, Any] = field(
        default_factory=dict
    )  # what Output.save() reported
    files: Mapping[str, str | None] = field(
        default_factory=dict
    )  # sha256 of each result file, by its name

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """The record at `path`; None where there is none that can be read."""
        try:
            return pydantic.TypeAdapter(cls).validate_json(path.read_bytes())
        except (OSError, ValueError):
            return None

    def write(self, path: Path) -> None:
        """Keep this record. Raises: OSError where it cannot be written."""
        files.write_text(
            path, json.dumps(asdict(self), indent=1, sort_keys=True, default=str) + "\n"
        )

    def stale(self, parts: Mapping[str, str]) -> str:
        """Why the output must be made again, in words; empty where it need not be."""
        if self.status != "ok":
            return "the last run failed"
        different = [name for name, now in parts.items() if self.parts.get(name) != now]
        if self.code != code(self.saved.get("modules", ())):
            different.append("library code")
        if different:
            return f"changed: {', '.join(different)}"
        for name, sha in self.files.items():
            now = file_hash(files.located(name))
            if now != sha:
                return f"{'gone' if now is None else 'altered since'}: {name}"
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
        given = dict(entry.parameters)
        for (
            name,
            text,
        ) in (
            options.overrides.items()
        ):  # an unknown name is refused below, with those that are known
            given[name] = (
                source.parameters[name].read(text)
                if name in source.parameters
                else text
            )
        if options.mode == "quick" and entry.saves and "mode" not in source.parameters:
            raise notebook.NotebookRefused(
                f"{notebook.shown(entry.path)}: no parameter 'mode', so it has no quick mode"
            )
        values = source.resolve(given, {"mode": options.mode})
    except notebook.NotebookRefused as error:
        return Step(entry, "refused", str(error))
    made_from = parts(entry, catalogue, options.mode)
    said = " ".join(text for _, text, _ in source.cells)
    beside = [
        file_hash(path)
        for path in sorted(entry.path.parent.glob("*.py"))
        if path.stem in said
    ]
    made_from |= {
        "notebook": digest([source.cells, beside]),
        "parameters": digest(values),
    }
    if options.force or (options.replace and entry.id != SCOREBOARD):
        reason = "--force" if options.force else "--replace"
    elif options.overrides:
        reason = "parameters from the command line"
    else:
        record = Record.read(record_path(options.mode, entry.id))
        reason = "never run here" if record is None else record.stale(made_from)
    return Step(entry, "run" if reason else "cached", reason, values, made_from)


def waits_for(entry: Entry, catalogue: Catalogue) -> set[str]:
    """The outputs that must be finished before `entry`."""
    return (
        {other.id for other in catalogue.outputs}
        if "*" in entry.after
        else set(entry.after)
    )


# ---- what an output is made from


def parts(entry: Entry, catalogue: Catalogue, mode: str) -> dict[str, str]:
    """The hashes that decide whether `entry` must be made again, but those of its
    notebook and of the library.
    """
    inputs: dict[str, Any] = {}
    for name in entry.inputs:
        try:
            inputs |= checksums(name)
        except ValueError as error:
            raise CatalogueError(f"output {entry.id!r}: inputs: {error}") from None
    questions = catalogue.questions_of(entry.id)
    shared = _shared()
    if (
        entry.route == "mini" or questions or "mini" in entry.inputs
    ):  # a judge may be the miniature one
        inputs["data/mini"] = shared["mini"]
    if own := file_hash(files.data() / "simulated" / f"{entry.id}.csv"):
        inputs["data/simulated"] = own
    found = {
        "entry": digest([entry.id, entry.paper, entry.route, list(entry.covers)]),
        "data": digest(inputs),
        "printed tables": digest(
            shared["printed"] if entry.paper == META else shared["printed"][entry.paper]
        ),
        "environment": shared["environment"],
        "other results": digest(_others(entry, catalogue, mode)),
    }
    if questions:  # of its judges, the completions in the store count
        models = {question.judge.model for question in questions}
        held = {
            f"{model}@{revision}": n
            for (model, revision), n in _stored().items()
            if model in models
        }
        found["completions"] = digest(
            [[astuple(question) for question in questions], held]
        )
    if entry.metrics:  # of its metrics, what was computed
        made = (
            json.loads(path.read_bytes())
            if (path := files.state("metrics", "made.json")).is_file()
            else {}
        )
        names = sorted({*entry.metric_ids})
        declared = [astuple(catalogue.metrics[name]) for name in names]
        found["metrics"] = digest(
            [entry.metrics, declared, {name: made.get(name) for name in names}]
        )
    return found


def _others(entry: Entry, catalogue: Catalogue, mode: str) -> dict[str, Any]:
    """What the outputs that `entry` reads hold now."""
    found: dict[str, Any] = {}
    for name in sorted(waits_for(entry, catalogue)):
        other = catalogue[name]
        for folder in {"quick"} if mode == "quick" else {"", "mini"}:
            base = files.results() / folder / other.paper
            found[f"{folder}/{name}"] = [
                file_hash(base / f"{name}{end}") for end in (".csv", ".json")
            ]
    if entry.id == SCOREBOARD:
        found["catalogue"] = file_hash(files.notebooks() / "catalogue.toml")
    return found


def code(loaded: Collection[str]) -> str:
    """One hash over the library's files that an output hangs on; over all of them where
    `loaded` is empty.

    loaded: the modules that its notebook had loaded when it saved, as paths below the
    library's folder. A file that is no Python counts where anything of its room was
    loaded.
    """
    held: Mapping[str, str | None] = _shared()["library"]
    if not loaded:
        return digest(held)
    rooms = {name.partition("/")[0] for name in loaded if "/" in name}
    beside = [
        name
        for name in held
        if not name.endswith(".py") and ("/" not in name or name.split("/")[0] in rooms)
    ]
    return digest({name: held.get(name) for name in [*loaded, *beside]})


def _numbers(folder: Path) -> dict[str, str | None]:
    """The hashes of a paper's printed tables, but where their cells stand."""
    found = file_hashes(folder)
    found.pop("witnesses.csv", None)
    return found


@functools.cache
def _shared() -> Mapping[str, Any]:
    """What is the same for every output of a run."""
    printed = files.data() / "paper_tables"
    rules = {
        path.name: file_hash(path)
        for path in sorted(printed.glob("*.csv"))
        if path.name != "papers.csv"
    }  # roundings, and what is no evidence
    locks = {
        path.name: file_hash(path)
        for path in sorted((files.root() / "requirements").glob("*.txt"))
    }
    return {
        "library": {
            name: sha
            for name, sha in file_hashes(library()).items()
            if name.endswith(LIBRARY)
        },
        "environment": digest([locks, list(sys.version_info[:2])]),
        "printed": {
            paper: digest([digest(_numbers(printed / paper)), rules])
            for paper in PAPERS
        },
        "mini": digest(file_hashes(files.data() / "mini")),
    }


@functools.cache
def _stored() -> Mapping[tuple[str, str], int]:
    """How many completions the store has of each model and revision."""
    from nlgeval_lib.engines.store import Store

    with Store(files.state("completions")) as store:
        return store.census()


def forget() -> None:
    """Read library, printed tables, locks and registry anew at the next call; a run
    calls this once when it starts.
    """
    for cached in (_shared, _stored, checksums):
        cached.cache_clear()


def library() -> Path:
    """The folder of the code that runs."""
    return Path(nlgeval_lib.__file__).parent


def digest(value: Any) -> str:
    """The sha256 of a JSON-like value."""
    text = json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def file_hash(path: Path) -> str | None:
    """The sha256 of a file's bytes; None where there is no such file."""
    try:
        with open(path, "rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def file_hashes(folder: Path) -> dict[str, str | None]:
    """The sha256 of the files below `folder`, by their relative paths."""
    found = [
        path
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return {path.relative_to(folder).as_posix(): file_hash(path) for path in found}


# ---- the data that an output needs


@functools.cache
def checksums(name: str) -> Mapping[str, str]:
    """The sha256 of each file of a data set or recording, by its registry path.

    Raises: datasets.UnknownName.
    """
    from nlgeval_lib import datasets
    from nlgeval_lib.datasets import registry

    return {
        relpath: registry.entry(relpath).checksum for relpath in datasets.files(name)
    }


def from_numbers(entry: Entry, names: Iterable[str]) -> bool:
    """Whether an output can do with the numbers of these sets, without their texts."""
    from nlgeval_lib.datasets import numbers

    return not entry.texts and all(numbers.has(name) for name in names)


def missing(names: Iterable[str]) -> dict[str, str]:
    """Of these data sets, those that cannot be had here, and why; the others are on
    this machine afterwards.

    Files that are in no local place are fetched, several at a time; a host that does
    not answer is asked once.
    """
    names = list(dict.fromkeys(names))
    if not names:
        return {}
    from nlgeval_lib.datasets import fetch

    return {
        result.name: result.reason
        for result in fetch.all(names, say=lambda line: None)
        if not result.ok
    }
