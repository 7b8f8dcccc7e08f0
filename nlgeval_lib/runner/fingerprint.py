"""What an output is made from, as content hashes: when none of them changed, neither did the output."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nlgeval_lib
from nlgeval_lib import paths
from nlgeval_lib.catalogue import META, PAPERS, Entry, Question
from nlgeval_lib.notebook import Source

LIBRARY = (".py", ".txt", ".json", ".toml", ".csv", ".yaml", ".gz")


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


def tree_hash(folder: Path, suffixes: tuple[str, ...] = ()) -> str:
    """One hash over the names and contents of the files below `folder` (of the given endings, where given)."""
    found = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files = {
        path.relative_to(folder).as_posix(): file_hash(path)
        for path in found
        if not suffixes or path.suffix in suffixes
    }
    return digest(files)


def library() -> Path:
    """The folder of the code that runs."""
    return Path(nlgeval_lib.__file__).parent


@functools.cache
def _shared_parts() -> Mapping[str, Any]:
    printed = paths.data() / "paper_tables"
    rules = {path.name: file_hash(path) for path in sorted(printed.glob("*.csv"))}  # roundings, and what is no evidence
    locks = {path.name: file_hash(path) for path in sorted((paths.root() / "requirements").glob("*.txt"))}
    return {
        "library": tree_hash(library(), LIBRARY),
        "environment": digest([locks, list(sys.version_info[:2])]),
        "printed": {paper: digest([tree_hash(printed / paper), rules]) for paper in PAPERS},
        "mini": tree_hash(paths.data() / "mini"),
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
    judges: Sequence[Question] = (),
) -> dict[str, str]:
    """The hashes that decide whether `entry` must be made again, by what they are of.

    `data`: sha256 of each input file by its registry path; `results`: what the outputs named in `after` hold now;
    `judges`: what this output reads of judges, whose completions in the store count.
    """
    shared = _shared_parts()
    printed = shared["printed"] if entry.paper == META else shared["printed"][entry.paper]
    inputs: dict[str, Any] = dict(data)
    if entry.route == "mini" or judges or "mini" in entry.inputs:  # an output with a judge may show the miniature one
        inputs["data/mini"] = shared["mini"]
    completions = {}
    if judges:
        named = [dataclasses.astuple(question) for question in judges]
        held = {f"{model}@{revision}": n for (model, revision), n in _stored().items()}
        models = tuple(f"{question.judge.model}@" for question in judges)
        completions["completions"] = digest([named, {key: n for key, n in held.items() if key.startswith(models)}])
    return completions | {
        "notebook": digest(source.cells),
        "parameters": digest(values),
        "entry": digest([entry.id, entry.paper, entry.route, list(entry.covers)]),
        "library code": shared["library"],
        "data": digest(inputs),
        "printed tables": digest(printed),
        "environment": shared["environment"],
        "other results": digest(results),
    }


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The names of the parts that differ."""
    return [name for name in new if old.get(name) != new[name]]
