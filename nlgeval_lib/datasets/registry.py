"""`data/registry.csv`: every public file with its address, checksum, size and
licence; what may be wrong with one.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.names import near


class DataError(Exception):
    """A data file cannot be used.

    The message is one line: which file, what was found, the way out.
    """


class DataUnavailable(DataError):
    """A data file cannot be had on this machine now."""


class ChecksumError(DataError):
    """A data file is there, but is not the file that the registry names."""


class UnknownName(ValueError):
    """A data set, recording or file name that the registry does not know; the
    message has the nearest names.
    """


@dataclass(frozen=True, slots=True)
class Entry:
    """One public file; `optional` where it is fetched only when asked for."""

    path: (
        str  # relative, with forward slashes: below data/raw and below a mirror folder
    )
    url: str
    sha256: str
    bytes: int
    licence: str
    repository: str
    commit: str
    git_blob: str = (
        ""  # sha1 that git gives the content; checked where no sha256 is known
    )
    holds: str = ""  # of an optional file: what is in it

    @property
    def optional(self) -> bool:
        """Whether the file is left out unless somebody asks for it."""
        return bool(self.holds)

    @property
    def checksum(self) -> str:
        """The sha256, or where that is not known the git blob id."""
        return self.sha256 or self.git_blob

    def places(self) -> list[str]:
        """The file's address, then those of archives (`data/places.csv`), none twice."""
        found = [self.url]
        for template in _archives():
            fields = re.findall(r"{(\w+)}", template)
            if all(getattr(self, field) for field in fields):
                found.append(template.format(**asdict(self)))
        return list(dict.fromkeys(found))


def entries() -> dict[str, Entry]:
    """Every registered file by its relative path.

    Raises: FileNotFoundError where this is no checkout.
    """
    path = files.committed(files.data() / "registry.csv")
    return _read(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _read(path: Path, mtime_ns: int) -> dict[str, Entry]:
    rows = pd.read_csv(
        path,
        dtype={"sha256": str, "commit": str, "git_blob": str},
        keep_default_na=False,
    )
    return {row["path"]: Entry(**row) for row in rows.to_dict("records")}


def _archives() -> list[str]:
    """The addresses of archives, with a registry column in braces."""
    path = files.data() / "places.csv"
    if not path.is_file():
        return []
    with open(path, encoding="utf-8", newline="") as handle:
        return [row["url"] for row in csv.DictReader(handle)]


def entry(relpath: str) -> Entry:
    """The registry's row for one file. Raises: UnknownName with the nearest paths."""
    if relpath not in entries():
        raise unknown(relpath, entries(), "data file")
    return entries()[relpath]


def unknown(name: str, known: Collection[str], what: str) -> UnknownName:
    """The error for `name`, with the nearest of the `known` names, or all where they
    are few.
    """
    close = near(name, known)
    few = (
        "known: " + ", ".join(known)
        if len(known) <= 30
        else f"{len(known)} names are known, none of them near"
    )
    return UnknownName(
        f"unknown {what} {name!r}; {'nearest: ' + ', '.join(close) if close else few}"
    )


def choose(asked: Iterable[str] | None, known: Sequence[str], what: str) -> list[str]:
    """The asked names, or all known ones, in the known order.

    Raises: UnknownName; TypeError for a single text.
    """
    if isinstance(asked, str):
        raise TypeError(f"{what}s is one text {asked!r}; pass a list or tuple of names")
    asked = list(known if asked is None else asked)
    if strange := [name for name in asked if name not in known]:
        raise unknown(strange[0], known, what)
    return [name for name in known if name in asked]
