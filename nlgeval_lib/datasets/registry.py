"""`data/registry.csv`: every public file with its address, checksum, size and licence."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath

from nlgeval_lib import files
from nlgeval_lib.datasets.errors import UnknownName
from nlgeval_lib.names import near

COLUMNS = ("path", "url", "sha256", "bytes", "licence", "repository", "commit")


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


def nearest(name: str, known: Iterable[str], what: str) -> UnknownName:
    """The error for `name`, with the nearest of the `known` names."""
    known = list(known)
    close = near(name, known)
    if close:
        hint = "nearest: " + ", ".join(close)
    elif len(known) <= 30:
        hint = "known: " + ", ".join(known)
    else:
        hint = f"{len(known)} names are known, none of them near"
    return UnknownName(f"unknown {what} {name!r}; {hint}")


def read(path: Path) -> dict[str, Entry]:
    """The registry at `path` by relative file path, checked row by row.

    Raises: ValueError naming the line where a column is missing or a value cannot be right.
    """
    with open(path, encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle)
        missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
        if missing:
            raise ValueError(f"{path}: no column {', '.join(missing)}; expected {', '.join(COLUMNS)}")
        entries: dict[str, Entry] = {}
        for number, row in enumerate(reader, start=2):
            problem = _problem(row)
            if not problem and row["path"] in entries:
                problem = f"{row['path']} is listed twice"
            if problem:
                raise ValueError(f"{path}, line {number}: {problem}")
            values = {column: row[column] for column in COLUMNS}
            entries[row["path"]] = Entry(**{**values, "bytes": int(row["bytes"])})
    return entries


def _problem(row: dict[str, str]) -> str:
    if any(not isinstance(row[column], str) for column in COLUMNS):
        return "fewer values than columns"
    relative = PurePosixPath(row["path"])
    if not row["path"] or relative.is_absolute() or ".." in relative.parts or "\\" in row["path"]:
        return f"path {row['path']!r} is not a relative path below the data folder"
    if not re.fullmatch(r"[0-9a-f]{64}", row["sha256"]):
        return f"sha256 {row['sha256']!r} is not 64 hexadecimal digits"
    if not row["bytes"].isdigit():
        return f"bytes {row['bytes']!r} is not a number"
    if not re.match(r"https?://", row["url"]):
        return f"url {row['url']!r} is not an http address"
    return ""


@lru_cache(maxsize=4)
def _read_once(path: Path, mtime_ns: int) -> dict[str, Entry]:
    return read(path)


def entries() -> dict[str, Entry]:
    """Every registered file by its relative path; read once while the registry file does not change."""
    path = files.data() / "registry.csv"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: work in a checkout, or name it by NLGEVAL_ROOT")
    return _read_once(path, path.stat().st_mtime_ns)


def entry(relpath: str) -> Entry:
    """The registry's row for one file. Raises: UnknownName with the nearest paths."""
    known = entries()
    if relpath not in known:
        raise nearest(relpath, known, "data file")
    return known[relpath]


def match(patterns: Iterable[str]) -> list[str]:
    """The registered paths that fit the shell-style patterns, in the order of patterns, then sorted.

    Raises: ValueError where a pattern fits no registered file.
    """
    known = sorted(entries())
    found: dict[str, None] = {}
    for pattern in patterns:
        hits = [path for path in known if path == pattern or fnmatchcase(path, pattern)]
        if not hits:
            raise ValueError(f"no file in data/registry.csv fits {pattern!r}")
        found.update(dict.fromkeys(hits))
    return list(found)
