"""From a path in the registry to a verified file, and to its content: data/raw, then a mirror folder, then the URL."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.datasets import download, registry
from nlgeval_lib.datasets.registry import ChecksumError, DataError, DataUnavailable, Entry

MIRROR = "NLGEVAL_DATA_MIRROR"
BESIDE = "shared/data"
# A file changed within the same clock tick keeps its time stamps, so a stamp this young proves nothing.
_SETTLED_NS = 50_000_000


def mirror() -> Path | None:
    """The folder with copies of the public files: NLGEVAL_DATA_MIRROR, or None where that is set and empty; where it
    is not set, the folder `shared/data` beside the checkout, if there is one.
    """
    value = os.environ.get(MIRROR)
    if value is not None:
        return Path(value.strip()).expanduser() if value.strip() else None
    beside = files.root().parent / BESIDE
    return beside if beside.is_dir() else None


def mirror_line() -> str:
    """Where files come from that are not in data/raw, in one line."""
    folder = mirror()
    if folder is None:
        why = f"{MIRROR} is empty" if MIRROR in os.environ else f"no {MIRROR}, no ../{BESIDE}"
        return f"data mirror: none ({why})"
    return f"data mirror: {folder} ({MIRROR if MIRROR in os.environ else f'beside the checkout; {MIRROR}= for none'})"


# -- one file ----------------------------------------------------------------------------------------------------------


def local(relpath: str) -> Path | None:
    """The verified file in data/raw or in the mirror, or None where neither has it. Never uses the network.

    Raises: UnknownName for a path that is not in the registry; ChecksumError where a file is there but is another one;
    DataUnavailable where it cannot be read.
    """
    entry = registry.entry(relpath)
    for folder in filter(None, (files.raw(), mirror())):
        candidate = folder / relpath
        try:
            if candidate.is_file():
                verify(candidate, entry)
                return candidate
        except OSError as error:
            said = f"{candidate} cannot be read: {error.strerror or error}"
            raise DataUnavailable(f"{said}; make it readable, or take it away") from error
    return None


def path(relpath: str) -> Path:
    """The verified local file for a registry path; downloaded to data/raw where no copy is here.

    Raises: UnknownName, ChecksumError, DataUnavailable (what was tried, the way out), OSError where data/raw cannot be
    written.
    """
    found = local(relpath)
    if found is not None:
        return found
    folder, target = mirror(), files.raw() / relpath
    tried = "not in data/raw, " + (f"not in the mirror {folder}" if folder else f"no mirror set ({MIRROR})")
    try:
        if download.offline():
            raise DataUnavailable("downloads are off (NLGEVAL_OFFLINE)")
        download.download(registry.entry(relpath), target)
        return target
    except DataUnavailable as error:
        raise DataUnavailable(
            f"{relpath} is unavailable: {tried}; {error}. Set {MIRROR} to a folder that has it, or run `make data` "
            "where the network reaches the address"
        ) from None


def text(relpath: str) -> str:
    """A registered file's text."""
    return path(relpath).read_bytes().decode("utf-8")


def json_file(relpath: str) -> Any:
    """The JSON value in a registered file."""
    return json.loads(path(relpath).read_bytes())


def json_lines(relpath: str) -> list[Any]:
    """The JSON values in a registered file, one a line. Only a line feed ends one: texts may hold other separators."""
    return [json.loads(line) for line in path(relpath).read_bytes().split(b"\n") if line.strip()]


# -- is it the file that the registry names? ---------------------------------------------------------------------------


def verify(path: Path, entry: Entry) -> None:
    """Hold the file at `path` against its registry entry. Raises: ChecksumError: file, what was found, what to do.

    A file found right is not hashed again, in any process, while its size and its time stamps stay as they were.
    """
    stat = path.stat()
    stamp = f"{entry.sha256} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {path.resolve()}"
    log = files.state("verified.txt")
    if stamp in _verified(log):
        return
    got = sha256(path)
    if got != entry.sha256:
        inside = path.is_relative_to(files.raw())
        way = "delete it and fetch again (make data)" if inside else "put the right file there, or take it away"
        size = f" and {stat.st_size:,} bytes where {entry.bytes:,} are" if stat.st_size != entry.bytes else ""
        raise ChecksumError(f"{path}: sha256 is {got}{size}, expected {entry.sha256}; {way}")
    if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > _SETTLED_NS:
        _verified(log).add(stamp)
        with contextlib.suppress(OSError):  # where no state can be kept, files are hashed anew in each process
            log.parent.mkdir(parents=True, exist_ok=True)
            with open(log, "a", encoding="utf-8", errors="backslashreplace") as out:
                out.write(f"\n{stamp}\n")  # one write; the first line feed ends a line that a crash tore


def sha256(path: Path) -> str:
    """The sha256 of the file's content, 64 hexadecimal digits."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@functools.cache
def _verified(log: Path) -> set[str]:
    with contextlib.suppress(OSError):
        return set(log.read_text(encoding="utf-8", errors="replace").split("\n"))
    return set()


# -- many files --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one data set: its files, those here, and why not the rest."""

    name: str
    files: tuple[str, ...]
    here: int
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Are all files here and verified?"""
        return self.here == len(self.files)

    def line(self) -> str:
        """One line for people."""
        if not self.files:
            return f"{self.name:24} part of the repository"
        if self.ok:
            return f"{self.name:24} {self.here:4} files {_megabytes(self.files):8.1f} MB  ready"
        why = self.reason.partition(". Set ")[0]
        return f"{self.name:24} {self.here:4} of {len(self.files)} files  unavailable: {why}"


def all(names: Iterable[str] | None = None, stream=None) -> list[Fetched]:
    """Fetch the files of the named data sets and recordings (default: every one), a line each and a summary.

    A file that cannot be had is reported and ends only its own data set. Returns one `Fetched` a name.

    Raises: UnknownName; OSError where data/raw cannot be written.
    """
    from nlgeval_lib import datasets

    stream = stream or sys.stdout
    results = []
    for name in names if names is not None else datasets.groups():
        results.append(_fetched(name, tuple(datasets.files(name))))
        print(results[-1].line(), file=stream, flush=True)
    gone = [result.name for result in results if not result.ok]
    seen = {relpath for result in results for relpath in result.files}
    summary = (
        f"{len(results) - len(gone)} of {len(results)} data sets ready ({len(seen)} files, {_megabytes(seen):.0f} MB)"
    )
    print(summary + (f"; unavailable: {', '.join(gone)}" if gone else ""), file=stream, flush=True)
    if gone and not mirror():
        print(f"To use a copy of the files, set {MIRROR} to its folder.", file=stream, flush=True)
    return results


def _fetched(name: str, relpaths: tuple[str, ...]) -> Fetched:
    from tqdm import tqdm

    def one(relpath: str) -> str:
        try:
            path(relpath)
        except DataError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as pool:
        told = tqdm(pool.map(one, relpaths), name, len(relpaths), unit="file", leave=False, delay=1, disable=None)
        lost = [why for why in told if why]
    return Fetched(name, relpaths, len(relpaths) - len(lost), lost[0] if lost else "")


def _megabytes(relpaths: Iterable[str]) -> float:
    return sum(registry.entry(relpath).bytes for relpath in relpaths) / 1e6
