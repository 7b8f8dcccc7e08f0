"""`data/registry.csv`: every public file with its address, checksum, size and licence;
and the errors for one that cannot be used.
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
from nlgeval_lib.errors import Told
from nlgeval_lib.names import near


class DataError(Told, Exception):
    """A data file cannot be used; in one line which, what was found, the way out."""


class DataUnavailable(DataError):
    """A data file is not available on this machine now."""


class ChecksumError(DataError):
    """A data file is there, but is not the file that the registry names."""


class UnknownName(Told, ValueError):
    """No data set, recording or file of this name; the message has the nearest."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One public file, a row of the registry; "" or 0 for what is not known.

    path: relative, with forward slashes: below data/raw and below a mirror folder.
    repository, commit: that the file comes from; the commit is part of the address.
    git_blob: the sha1 that git gives the content; checked where no sha256 is known.
    holds: of an optional file, what is in it; "" for a file that is fetched by default.
    """

    path: str
    url: str
    sha256: str
    bytes: int
    licence: str
    repository: str
    commit: str
    git_blob: str = ""
    holds: str = ""

    @property
    def optional(self) -> bool:
        """Whether the file is left out unless somebody asks for it."""
        return bool(self.holds)

    @property
    def checksum(self) -> str:
        """The sha256, or where that is not known the git blob id."""
        return self.sha256 or self.git_blob

    def places(self) -> list[str]:
        """The addresses that the file is asked for at: its own, then those of archives
        (`data/places.csv`, with columns of the registry in braces).
        """
        addresses = [self.url]
        archives = files.place("places.csv")
        templates: list[str] = []
        if archives.is_file():
            with open(archives, encoding="utf-8", newline="") as handle:
                templates = [row["url"] for row in csv.DictReader(handle)]
        for template in templates:
            # A template whose column is empty would give an address of nothing.
            fields = re.findall(r"{(\w+)}", template)
            if all(getattr(self, field) for field in fields):
                addresses.append(template.format(**asdict(self)))
        return list(dict.fromkeys(addresses))


def entries() -> dict[str, Entry]:
    """Every registered file by its relative path. Raises: FileNotFoundError where there
    is no table.
    """
    path = files.committed(files.place("registry.csv"))
    return _read(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _read(path: Path, mtime_ns: int) -> dict[str, Entry]:
    # the time of change only tells the cache one version from another
    # Hexadecimal digits stay texts, also where they look like a number.
    hexadecimal = {"sha256": str, "commit": str, "git_blob": str}
    rows = pd.read_csv(path, dtype=hexadecimal, keep_default_na=False)
    return {row["path"]: Entry(**row) for row in rows.to_dict("records")}


def entry(relpath: str) -> Entry:
    """The registry's row for one path, such as `summeval/bartscore_data.pkl`. Raises:
    UnknownName with the nearest paths.
    """
    if relpath not in entries():
        raise unknown(relpath, entries(), "data file")
    return entries()[relpath]


def unknown(name: str, allowed: Collection[str], kind: str) -> UnknownName:
    """The error for a name of some `kind` ("data set"), to be raised: with the nearest
    of the `allowed` names, or with all where they are few.
    """
    close = near(name, allowed)
    if close:
        hint = "nearest: " + ", ".join(close)
    elif len(allowed) <= 30:
        hint = "known: " + ", ".join(allowed)
    else:
        hint = f"{len(allowed)} names are known, none of them near"
    return UnknownName(f"unknown {kind} {name!r}; {hint}")


def choose(names: Iterable[str] | None, allowed: Sequence[str], kind: str) -> list[str]:
    """The names that are asked for (None: all), in the allowed order; `kind` is for
    messages.

    Raises: UnknownName for one that is not allowed; TypeError for a single text.
    """
    if isinstance(names, str):
        raise TypeError(f"{kind}s is one text {names!r}; pass a list or tuple of names")
    chosen = list(allowed if names is None else names)
    for name in chosen:
        if name not in allowed:
            raise unknown(name, allowed, kind)
    return [name for name in allowed if name in chosen]
