"""`data/registry.csv`: every public file with its address, checksum, size and licence; what may be wrong with one."""

from __future__ import annotations

import csv
import functools
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fnmatch import filter as fitting
from pathlib import Path
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.names import near


class DataError(Exception):
    """A data file cannot be used. The message is one line: which file, what was found, the way out."""


class DataUnavailable(DataError):
    """A data file cannot be had on this machine now."""


class ChecksumError(DataError):
    """A data file is there, but is not the file that the registry names."""


class UnknownName(ValueError):
    """A data set, recording or file name that the registry does not know; the message has the nearest names."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One public file."""

    path: str  # relative, with forward slashes: below data/raw and below a mirror folder
    url: str
    sha256: str
    bytes: int
    licence: str
    repository: str
    commit: str


def entries() -> dict[str, Entry]:
    """Every registered file by its relative path. Raises: FileNotFoundError where this is no checkout."""
    path = files.data() / "registry.csv"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: work in a checkout, or name it by NLGEVAL_ROOT")
    return _read(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _read(path: Path, mtime_ns: int) -> dict[str, Entry]:
    with open(path, encoding="utf-8", newline="") as lines:
        rows: list[dict[str, Any]] = [row | {"bytes": int(row["bytes"])} for row in csv.DictReader(lines)]
    return {row["path"]: Entry(**row) for row in rows}


def entry(relpath: str) -> Entry:
    """The registry's row for one file. Raises: UnknownName with the nearest paths."""
    if relpath not in entries():
        raise unknown(relpath, entries(), "data file")
    return entries()[relpath]


def match(patterns: Iterable[str]) -> list[str]:
    """The registered paths that fit the shell-style patterns, in the order of patterns, then sorted.

    Raises: ValueError where a pattern fits no registered file.
    """
    known = sorted(entries())
    found: dict[str, None] = {}
    for pattern in patterns:
        hits = [pattern] if pattern in entries() else fitting(known, pattern)
        if not hits:
            raise ValueError(f"no file in data/registry.csv fits {pattern!r}")
        found |= dict.fromkeys(hits)
    return list(found)


def unknown(name: str, known: Collection[str], what: str) -> UnknownName:
    """The error for `name`, with the nearest of the `known` names, or all where they are few."""
    close = near(name, known)
    few = "known: " + ", ".join(known) if len(known) <= 30 else f"{len(known)} names are known, none of them near"
    return UnknownName(f"unknown {what} {name!r}; {'nearest: ' + ', '.join(close) if close else few}")
