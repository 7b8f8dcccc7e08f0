"""What an output is made from, as content hashes: when none of them changed, neither did the output."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import nlgeval_lib
from nlgeval_lib import paths
from nlgeval_lib.catalogue import META, PAPERS, Entry, Judged
from nlgeval_lib.notebook import Source

LIBRARY = (".py", ".txt", ".json", ".toml", ".csv", ".yaml", ".gz")
CODE = "library code"  # the part that only the last run's record can narrow to what the notebook loads


def digest(value: Any) -> str:
    """The sha256 of a JSON-like value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def file_hash(path: Path) -> str | None:
    """The sha256 of a file's bytes; None where there is no such file."""
    try:
        with open(path, "rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def file_hashes(folder: Path, suffixes: tuple[str, ...] = ()) -> dict[str, str | None]:
    """The sha256 of the files below `folder` (of the given endings, where given), by their relative paths."""
    found = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {
        path.relative_to(folder).as_posix(): file_hash(path)
        for path in found
        if not suffixes or path.suffix in suffixes
    }


def code(loaded: Collection[str] = ()) -> str:
    """One hash over the library's files that an output hangs on; over all of them where `loaded` is empty.

    loaded: the modules that its notebook had loaded when it saved, as paths below the library's folder. A file that is
    no Python counts where the package that it lies in was loaded.
    """
    files: Mapping[str, str | None] = _shared_parts()["library"]
    if not loaded:
        return digest(files)
    packages = {name.rpartition("/")[0] for name in files if name.endswith("__init__.py")}
    used = {name.rpartition("/")[0] for name in loaded if name.endswith("__init__.py")}

    def counts(name: str) -> bool:
        folder = name.rpartition("/")[0]
        while folder and folder not in packages:
            folder = folder.rpartition("/")[0]
        return folder in used

    beside = [name for name in files if not name.endswith(".py") and counts(name)]
    return digest({name: files.get(name) for name in [*loaded, *beside]})


def library() -> Path:
    """The folder of the code that runs."""
    return Path(nlgeval_lib.__file__).parent


@functools.cache
def _shared_parts() -> Mapping[str, Any]:
    printed = paths.data() / "paper_tables"
    rules = {path.name: file_hash(path) for path in sorted(printed.glob("*.csv"))}  # roundings, and what is no evidence
    locks = {path.name: file_hash(path) for path in sorted((paths.root() / "requirements").glob("*.txt"))}
    return {
        "library": file_hashes(library(), LIBRARY),
        "environment": digest([locks, list(sys.version_info[:2])]),
        "printed": {paper: digest([digest(file_hashes(printed / paper)), rules]) for paper in PAPERS},
        "mini": digest(file_hashes(paths.data() / "mini")),
    }


def forget() -> None:
    """Read library, printed tables and locks anew at the next call; a run calls this once when it starts."""
    _shared_parts.cache_clear()
    _stored.cache_clear()


@functools.cache
def _stored() -> Mapping[tuple[str, str], int]:
    """How many completions the store has of each model and revision."""
    from nlgeval_lib.store import census

    return census(paths.state("completions"))


def parts(
    entry: Entry,
    source: Source,
    values: Mapping[str, Any],
    data: Mapping[str, str],
    results: Mapping[str, Any],
    judges: Sequence[Judged] = (),
) -> dict[str, str]:
    """The hashes that decide whether `entry` must be made again, by what they are of.

    `data`: sha256 of each input file by its registry path; `results`: what the outputs named in `after` hold now;
    `judges`: those of this output, whose completions in the store count.
    """
    shared = _shared_parts()
    printed = shared["printed"] if entry.paper == META else shared["printed"][entry.paper]
    inputs: dict[str, Any] = dict(data)
    if entry.route == "mini" or judges or "mini" in entry.inputs:  # an output with a judge may show the miniature one
        inputs["data/mini"] = shared["mini"]
    completions = {}
    if judges:
        named = [[getattr(judge, name) for name in judge.__slots__] for judge in judges]
        held = {f"{model}@{revision}": n for (model, revision), n in _stored().items()}
        models = tuple(f"{judge.model}@" for judge in judges)
        completions["completions"] = digest([named, {key: n for key, n in held.items() if key.startswith(models)}])
    return completions | {
        "notebook": digest(source.cells),
        "parameters": digest(values),
        "entry": digest([entry.id, entry.paper, entry.route, list(entry.covers)]),
        CODE: code(),
        "data": digest(inputs),
        "printed tables": digest(printed),
        "environment": shared["environment"],
        "other results": digest(results),
    }


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The names of the parts that differ."""
    return [name for name in new if old.get(name) != new[name]]
