"""Must an output be made again? Hashes of all that it is made from, against those that
its last run wrote down.

`step` decides about one output and gives a `Step`. It hashes what the output is made
from (`parts`, its notebook, its parameters) and asks the `Record` of the last run
whether it is `stale`; that also compares the library's code and the result files.
`missing` looks for the data that an output needs.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

import pydantic

from nlgeval_lib import files
from reproduction.report import notebook
from reproduction.study.catalogue import (
    META,
    PAPERS,
    SCOREBOARD,
    Catalogue,
    CatalogueError,
    Entry,
)
from reproduction.used_code import HOUSES, ROOT

# The endings of the library's files that results depend on; .html and .js are for
# pages alone.
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
)


@dataclass(frozen=True, slots=True)
class Options:
    """How a run goes.

    mode: "full", or "quick" for small samples.
    jobs: notebooks at a time.
    force: run all, also what is not stale.
    replace: let a result with less replace one with more.
    timeout: seconds a cell may take; None for no limit.
    overrides: parameter -> value from the command line, as text.
    records: False: a run on the side; no scoreboard, and no trace for the next run.
    """

    mode: str = "full"
    jobs: int = 1
    force: bool = False
    replace: bool = False
    timeout: int | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    records: bool = True

    @property
    def aside(self) -> bool:
        """Does this run leave the outputs' records and the scoreboard alone?"""
        return bool(self.overrides) or not self.records


@dataclass(frozen=True, slots=True)
class Step:
    """The decision about one output.

    entry: its entry in the catalogue.
    action: run, cached or refused.
    reason: why it is run or refused; "" for cached.
    values: the notebook's parameters in this run.
    parts: the hashes of what it is made from but the library, by what they are of.
    """

    entry: Entry
    action: str
    reason: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)


@pydantic.dataclasses.dataclass(frozen=True, config=pydantic.ConfigDict(extra="forbid"))
class Record:
    """The last run of one output in one mode, as a small JSON below `.nlgeval/runs/`.

    status: ok or failed.
    parts: the hashes of what it was made from, as in `Step`.
    code: the hash of the library, as far as the notebook loaded it.
    seconds: how long it took.
    saved: the report of `Output.save()`.
    files: the sha256 of each result file, by its name; None for one that was not there.
    cold_seconds: what it took in the last session that began with nothing stored; None
    where there was none.
    """

    status: str
    parts: Mapping[str, str]
    code: str
    seconds: float
    saved: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str | None] = field(default_factory=dict)
    cold_seconds: float | None = None

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

    def stale(self, parts: Mapping[str, str]) -> str:
        """Why the output must be made again, in words; "" where it need not be.

        parts: what it would be made from now.
        """
        if self.status != "ok":
            return "the last run failed"
        different = []
        for name, sha256 in parts.items():
            if self.parts.get(name) != sha256:
                different.append(name)
        if self.code != code(self.saved.get("modules", ())):
            different.append("library code")
        if different:
            return f"changed: {', '.join(different)}"
        for name, recorded in self.files.items():
            present = file_hash(files.located(name))
            if present is None and recorded is not None:
                return f"gone: {name}"
            if present != recorded:
                return f"altered since: {name}"
        return ""


def nothing_stored() -> bool:
    """Are the scores and completions that notebooks keep for the next run still
    lacking?
    """
    for name in ("metrics", "completions"):
        folder = files.state(name)
        if folder.is_dir() and any(folder.iterdir()):
            return False
    return True


def record_path(mode: str, output: str) -> Path:
    """Where the record of one output lies.

    output: its id.
    """
    return files.state("runs", mode, f"{output}.json")


def step(
    entry: Entry,
    catalogue: Catalogue,
    options: Options,
) -> Step:
    """Decide about one output from content hashes alone; no data file is read.

    options: force, replace and overrides make it run whatever the hashes say.

    Raises: CatalogueError where its inputs are unknown names.
    """
    try:
        source = notebook.read(entry.path)
        values = _values(entry, source, options)
    except notebook.NotebookRefused as error:
        return Step(entry, "refused", str(error))
    made_from = parts(entry, catalogue, options.mode)
    # The notebook, with the modules beside it that its cells name.
    hashes = [file_hash(path) for path in notebook.modules_beside(source)]
    made_from["notebook"] = digest([source.cells, hashes])
    # Its parameters, with the content of files that they name.
    all_values = {name: given.default for name, given in source.parameters.items()}
    all_values.update(values)
    made_from["parameters"] = digest(values)
    files_named = list(_files_named(all_values))
    if files_named:
        made_from["parameters"] = digest([values, *files_named])
    if options.force or (options.replace and entry.id != SCOREBOARD):
        reason = "--force" if options.force else "--replace"
    elif options.overrides:
        reason = "parameters from the command line"
    else:
        record = Record.read(record_path(options.mode, entry.id))
        reason = "never run here" if record is None else record.stale(made_from)
    return Step(entry, "run" if reason else "cached", reason, values, made_from)


def _files_named(value: Any) -> Iterator[tuple[str, str]]:
    """(name, sha256) of each file that the parameters name, such as a prompt of one's
    own, or `@FILE`.

    value: a text, or mappings and lists of texts.
    """
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, str):
        is_path = 0 < len(value) < 256 and "\n" not in value
        if is_path and (sha256 := file_hash(files.root() / value.removeprefix("@"))):
            yield value, sha256
    elif isinstance(value, Iterable):
        for part in value:
            yield from _files_named(part)


def _values(
    entry: Entry,
    source: Any,
    options: Options,
) -> dict[str, Any]:
    """The values of the notebook's parameters in this run: its defaults, those of the
    entry, and over them those of the command line.

    source: the notebook, read.

    Raises: notebook.NotebookRefused.
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


def parts(
    entry: Entry,
    catalogue: Catalogue,
    mode: str,
) -> dict[str, str]:
    """The hashes that decide whether `entry` must be made again, but those of its
    notebook and of the library.

    mode: "full" or "quick".

    Returns: what is hashed, in words -> hash. The words stand in the reason of a run
    ("changed: data").
    Raises: CatalogueError where its inputs are unknown names.
    """
    inputs: dict[str, Any] = {}
    for name in entry.inputs:
        try:
            inputs |= checksums(name)
        except ValueError as error:
            raise CatalogueError(f"output {entry.id!r}: inputs: {error}") from None
    questions = catalogue.questions_of(entry.id)
    shared = _shared()
    # Judges that are asked here may be the miniature one.
    if entry.route == "mini" or questions or "mini" in entry.inputs:
        inputs["data/mini"] = shared["mini"]
    simulated = file_hash(files.data() / "simulated" / f"{entry.id}.csv")
    if simulated:
        inputs["data/simulated"] = simulated
    # What open models said once, beside the paper's own judges.
    if entry.route == "run" or questions:
        inputs["data/judged"] = shared["judged"]
    # Where the recorded judges' cards lie is a parameter of what shows them.
    if "cards" in entry.parameters:
        inputs["data/cards"] = shared["cards"]
    printed = shared["printed"]
    if entry.paper != META:
        printed = printed[entry.paper]
    hashes = {
        "entry": digest([entry.id, entry.paper, entry.route, list(entry.covers)]),
        "data": digest(inputs),
        "printed tables": digest(printed),
        "environment": shared["environment"],
        "other results": digest(_results_read(entry, catalogue, mode)),
    }
    if questions:
        hashes["completions"] = _hash_of_completions(questions)
    if entry.metrics:
        hashes["metrics"] = _hash_of_metrics(entry, catalogue)
    return hashes


def _hash_of_completions(questions: Sequence[Any]) -> str:
    """The hash of questions and of how many completions of their judges are stored."""
    models = {question.judge.model for question in questions}
    counts = {}
    for (model, revision), count in _stored().items():
        if model in models:
            counts[f"{model}@{revision}"] = count
    return digest([list(map(astuple, questions)), counts])


def _hash_of_metrics(entry: Entry, catalogue: Catalogue) -> str:
    """The hash of an output's metrics and of their scores that were computed here."""
    computed = {}
    path = files.state("metrics", "made.json")
    if path.is_file():
        computed = json.loads(path.read_bytes())
    names = sorted({*entry.metric_ids})
    declared = [astuple(catalogue.metrics[name]) for name in names]
    scores = {name: computed.get(name) for name in names}
    return digest([entry.metrics, declared, scores])


def _results_read(
    entry: Entry,
    catalogue: Catalogue,
    mode: str,
) -> dict[str, Any]:
    """The hashes of the results that `entry` reads: those of the outputs that it waits
    for, and for the scoreboard the catalogue.
    """
    hashes: dict[str, Any] = {}
    folders = ("quick",) if mode == "quick" else ("", "mini")
    for name in sorted(waits_for(entry, catalogue)):
        for folder in folders:
            base = files.results() / folder / catalogue[name].paper / name
            hashes[f"{folder}/{name}"] = [
                file_hash(Path(f"{base}.csv")),
                _hash_of_record(Path(f"{base}.json")),
            ]
    if entry.id == SCOREBOARD:
        hashes["catalogue"] = file_hash(files.notebooks() / "catalogue.toml")
    return hashes


def _hash_of_record(path: Path) -> str | None:
    """The hash of a record without the code that made the result: other code that gives
    the same is no reason to run what reads it. None where there is none.
    """
    if not path.is_file():
        return None
    record = json.loads(path.read_bytes())
    record.pop("code", None)
    return digest(record)


def code(loaded: Collection[str]) -> str:
    """One hash over the files of the code that an output depends on; over all of them
    where `loaded` is empty.

    loaded: the modules that its notebook had loaded when it saved, as paths below the
    repository's root. A file that is no Python counts where anything of its room was
    loaded.
    """
    sources: Mapping[str, str | None] = _shared()["library"]
    if not loaded:
        return digest(sources)
    rooms = set(map(_room, loaded))
    hashes = {name: sources.get(name) for name in loaded}
    for name, sha256 in sources.items():
        if not name.endswith(".py") and _room(name) in rooms:
            hashes[name] = sha256
    # An encoder's scores are read from there where the texts are here, too.
    if "nlgeval_lib/evaluators/embedding_metrics.py" in loaded:
        hashes["data/numbers"] = _shared()["saved scores"]
    return digest(hashes)


def _room(path: str) -> str:
    """The folder that a file of the code belongs to, at most two names deep.

    Example:
    >>> _room("nlgeval_lib/prompts/templates/geval.txt"), _room("judgecard/rules.csv")
    ('nlgeval_lib/prompts', 'judgecard')
    """
    folders = path.split("/")[:-1][:2]
    return "/".join(folder for folder in folders if folder != "site")


def _numbers(folder: Path) -> dict[str, str | None]:
    """The hashes of a paper's printed tables; where a cell stands in the paper is not
    among them.
    """
    hashes = file_hashes(folder)
    hashes.pop("witnesses.csv", None)
    return hashes


@functools.cache
def _shared() -> Mapping[str, Any]:
    """What is the same for every output of a run.

    Returns: `library`: file -> hash; `printed`: paper -> hash of its tables;
    `environment`, `mini`, `saved scores`, `judged` and `cards`: a hash each.
    """
    folder = files.data() / "paper_tables"
    # The tables beside the papers' folders: roundings, and cells that are no evidence.
    rules = _hashes_by_name(folder.glob("*.csv"))
    rules.pop("papers.csv", None)
    printed = {}
    for paper in PAPERS:
        printed[paper] = digest([digest(_numbers(folder / paper)), rules])
    sources = {}
    for house in HOUSES:
        for name, sha256 in file_hashes(ROOT / house).items():
            if name.endswith(LIBRARY):
                sources[f"{house}/{name}"] = sha256
    locks = _hashes_by_name((files.root() / "requirements").glob("*.txt"))
    return {
        "library": sources,
        "environment": digest([locks, list(sys.version_info[:2])]),
        "printed": printed,
        "mini": digest(file_hashes(files.data() / "mini")),
        "saved scores": digest(
            _hashes_by_name((files.data() / "numbers").glob("*.scores.parquet"))
        ),
        "judged": digest(file_hashes(files.data() / "judged")),
        "cards": digest(file_hashes(files.data() / "cards")),
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


def digest(value: Any) -> str:
    """The sha256 of a JSON-like value, 64 hexadecimal digits; the order of keys does
    not count.
    """
    text = json.dumps(
        value,
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
        default=str,
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def file_hash(path: Path) -> str | None:
    """The sha256 of a file's bytes; None where there is no such file."""
    try:
        return files.sha256(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def file_hashes(folder: Path) -> dict[str, str | None]:
    """The sha256 of the files below `folder`, by their relative paths."""
    hashes = {}
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            hashes[path.relative_to(folder).as_posix()] = file_hash(path)
    return hashes


def _hashes_by_name(paths: Iterable[Path]) -> dict[str, str | None]:
    """The sha256 of files, by their names."""
    return {path.name: file_hash(path) for path in paths}


# ---- the data that an output needs


@functools.cache
def checksums(name: str) -> Mapping[str, str]:
    """The sha256 of each file of a data set or recording, by its registry path.

    name: of the data set or recording.

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
    """The data sets among these that are not available here, with the reason.

    All others are on this machine afterwards. Files that are in no local place are
    fetched, several at a time; a host that does not answer is asked once.
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
