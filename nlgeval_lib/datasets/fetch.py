"""From a path in the registry to a verified file, and to its content: data/raw, then
a mirror folder, then the URL.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from nlgeval_lib import files
from nlgeval_lib.datasets import registry, unreachable
from nlgeval_lib.datasets.registry import (
    ChecksumError,
    DataError,
    DataUnavailable,
    Entry,
)

MIRROR, BESIDE = files.MIRROR, files.BESIDE
TIMEOUT = (5.0, 20.0)  # seconds to connect, and between two pieces
ATTEMPTS = 3
BACKOFF = 0.5  # seconds before the second attempt, doubled before the third
# A file changed within the same clock tick keeps its time stamps, so a stamp this young
# proves nothing.
_SETTLED_NS = 50_000_000


def mirror() -> Path | None:
    """The folder with copies of the public files (`files.mirror`)."""
    return files.mirror()


def mirror_line() -> str:
    """Where files come from that are not in data/raw, in one line."""
    folder = mirror()
    named = MIRROR in os.environ
    if folder is None:
        return f"data mirror: none ({f'{MIRROR} is empty' if named else f'no {MIRROR}, no ../{BESIDE}'})"
    return f"data mirror: {folder} ({MIRROR if named else f'beside the checkout; {MIRROR}= for none'})"


# -- one file


def local(relpath: str) -> Path | None:
    """The verified file in data/raw or in the mirror, or None where neither has it.
    Never uses the network.

    Raises: UnknownName for a path that is not in the registry; ChecksumError where a
    file is there but is another one; DataUnavailable where it cannot be read.
    """
    entry = registry.entry(relpath)
    for folder in filter(None, (files.raw(), mirror())):
        candidate = folder / relpath
        try:
            if candidate.is_file():
                verify(candidate, entry)
                return candidate
        except OSError as error:
            said = f"cannot be read: {error.strerror or error}; make it readable, or take it away"
            raise DataUnavailable(f"{candidate} {said}") from error
    return None


def path(relpath: str, optional: bool = False) -> Path:
    """The verified local file for a registry path; downloaded to data/raw where no copy
    is here.

    optional: also an optional file is downloaded; else it is used only where it lies.
    Raises: UnknownName, ChecksumError, DataUnavailable (what was tried, the way out),
    OSError where data/raw cannot be written.
    """
    found = local(relpath)
    if found is not None:
        return found
    entry = registry.entry(relpath)
    if entry.optional and not optional:
        raise DataUnavailable(elsewhere(entry))
    target = files.raw() / relpath
    try:
        if downloads_are_off():
            raise DataUnavailable("downloads are off (NLGEVAL_OFFLINE)")
        download(entry, target)
        return target
    except DataUnavailable as error:
        raise DataUnavailable(
            f"{relpath} is unavailable: {_not_local()}; {error}. Set {MIRROR} to a "
            "folder that has it, or run `make data` where the network reaches the "
            f"address. It is {origin(entry)}"
        ) from None


def downloads_are_off() -> bool:
    """Whether NLGEVAL_OFFLINE forbids downloads."""
    value = os.environ.get("NLGEVAL_OFFLINE", "").strip().lower()
    return value not in ("", "0", "false", "no")


def elsewhere(entry: Entry) -> str:
    """Where an optional file is published that is not here, and how to get it."""
    size = f" ({entry.bytes / 1e6:.1f} MB)" if entry.bytes else ""
    return (
        f"published at {entry.url}, not here: {entry.holds}{size}; "
        f"to get it: nlgeval data --fetch {entry.path}"
    )


def origin(entry: Entry) -> str:
    """What a file is, and where else it is known to be, for when no address answers."""
    inside = entry.url.partition(f"{entry.commit}/")[2] or entry.path
    others = entry.places()[1:]
    said = f"the file {inside} of {entry.repository} at commit {entry.commit}"
    if others:
        said += f"; archives may have it: {', '.join(others)}"
    return said


def _not_local() -> str:
    folder = mirror()
    if folder is None:
        return f"not in data/raw, no mirror set ({MIRROR})"
    return f"not in data/raw, not in the mirror {folder}"


def text(relpath: str) -> str:
    """A registered file's text."""
    return path(relpath).read_bytes().decode("utf-8")


def json_file(relpath: str) -> Any:
    """The JSON value in a registered file."""
    return json.loads(path(relpath).read_bytes())


def json_lines(relpath: str) -> list[Any]:
    """The JSON values in a registered file, one a line.

    Only a line feed ends one: texts may hold other separators.
    """
    return [
        json.loads(line)
        for line in path(relpath).read_bytes().split(b"\n")
        if line.strip()
    ]


# -- is it the file that the registry names?


def verify(path: Path, entry: Entry) -> None:
    """Hold the file at `path` against its registry entry. Raises: ChecksumError: file,
    what was found, what to do.

    A file found right is not hashed again, in any process, while its size and its time
    stamps stay as they were.
    """
    stat = path.stat()
    stamp = f"{entry.checksum} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {path.resolve()}"
    log = files.state("verified.txt")
    if stamp in _verified(log):
        return
    got = _hashed(path, entry)
    if got != entry.checksum:
        inside = path.is_relative_to(files.raw())
        way = (
            "delete it and fetch again (make data)"
            if inside
            else "put the right file there, or take it away"
        )
        size = (
            f" and {stat.st_size:,} bytes where {entry.bytes:,} are"
            if entry.bytes and stat.st_size != entry.bytes
            else ""
        )
        raise ChecksumError(
            f"{path}: {_kind(entry)} is {got}{size}, expected {entry.checksum}; {way}"
        )
    if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > _SETTLED_NS:
        _verified(log).add(stamp)
        with contextlib.suppress(
            OSError
        ):  # where no state can be kept, files are hashed anew in each process
            log.parent.mkdir(parents=True, exist_ok=True)
            with open(log, "a", encoding="utf-8", errors="backslashreplace") as out:
                out.write(
                    f"\n{stamp}\n"
                )  # one write; the first line feed ends a line that a crash tore


def sha256(path: Path) -> str:
    """The sha256 of the file's content, 64 hexadecimal digits."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def git_blob(path: Path) -> str:
    """The id that git gives the file's content, 40 hexadecimal digits."""
    content = path.read_bytes()
    head = f"blob {len(content)}\0".encode()
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


def _hashed(path: Path, entry: Entry) -> str:
    """The file's checksum, of the kind that its entry has."""
    return sha256(path) if entry.sha256 else git_blob(path)


def _kind(entry: Entry) -> str:
    return "sha256" if entry.sha256 else "git blob id"


@functools.cache
def _verified(log: Path) -> set[str]:
    with contextlib.suppress(OSError):
        return set(log.read_text(encoding="utf-8", errors="replace").split("\n"))
    return set()


# -- one URL, by pooch: bounded waiting and attempts, nothing left behind on failure


class _Passing(Exception):
    """Worth another attempt; the message says what happened."""


def download(entry: Entry, target: Path) -> None:
    """Fetch `entry` to `target`, which appears whole and verified or not at all; its
    address is asked first, then the archives' (`Entry.places`).

    Raises: DataUnavailable where no address gives such a file; ChecksumError where the
    last one that answers gives another one; OSError where `target` cannot be written.
    """
    failures: list[DataError] = []
    for url in entry.places():
        try:
            _download(replace(entry, url=url), target)
            return
        except DataError as error:
            failures.append(error)
    wrong = [error for error in failures if isinstance(error, ChecksumError)]
    if wrong:
        raise wrong[0]
    raise DataUnavailable("; ".join(map(str, failures)))


def _download(entry: Entry, target: Path) -> None:
    """Fetch from the entry's one address."""
    from tenacity import (
        Retrying,
        retry_if_exception_type,
        stop_after_attempt,
        wait_exponential,
    )

    how: dict[str, Any] = {
        "stop": stop_after_attempt(ATTEMPTS),
        "wait": wait_exponential(BACKOFF),
        "reraise": True,
    }
    try:
        for attempt in Retrying(retry=retry_if_exception_type(_Passing), **how):
            with attempt, files.replacing(target) as partial:
                _ask(entry, partial)
                _check(entry, partial)
    except _Passing as error:
        raise DataUnavailable(
            f"{entry.url}: {error}, after {ATTEMPTS} attempts"
        ) from error


def _check(entry: Entry, path: Path) -> None:
    """Passes where what came is the file of the entry."""
    content = path.read_bytes()
    got = _hashed(path, entry)
    if got == entry.checksum:
        return
    if (
        content.lstrip(b"\xef\xbb\xbf \t\r\n")[:14]
        .lower()
        .startswith((b"<!doctype html", b"<html"))
    ):
        raise DataUnavailable(
            f"{entry.url}: got what looks like an HTML page instead of the file {entry.path}"
        )
    if len(content) < entry.bytes:
        raise _Passing(f"truncated download: {len(content):,} of {entry.bytes:,} bytes")
    raise ChecksumError(
        f"{entry.url}: {_kind(entry)} is {got}, expected {entry.checksum}; nothing was "
        "kept. The file there is not the one that data/registry.csv names: put the "
        f"right one to data/raw/{entry.path} or into a mirror"
    )


def _ask(entry: Entry, path: Path) -> None:
    """Ask a host for a file; one that does not answer is put down as such.

    Everything that can go wrong on the way is told in our words: requests' errors are
    OSErrors, as those of files are.
    """
    import pooch
    import requests

    host = urlsplit(entry.url).netloc
    if reason := unreachable.why(entry.url):
        raise DataUnavailable(f"{entry.url}: {host} is unreachable ({reason})")
    try:
        pooch.HTTPDownloader(timeout=TIMEOUT)(entry.url, str(path), None)
    except requests.HTTPError as error:
        assert error.response is not None
        said = (
            f"the server answered {error.response.status_code} {error.response.reason}"
        )
        if error.response.status_code == 429 or error.response.status_code >= 500:
            raise _Passing(said) from error
        raise DataUnavailable(f"{entry.url}: {said}") from error
    except requests.RequestException as error:
        said = _said(error)
        chunked = isinstance(error, requests.exceptions.ChunkedEncodingError)
        if (
            chunked
            or isinstance(error, requests.ReadTimeout)
            or "Read timed out" in said
        ):
            raise _Passing(said) from error
        # no connection, no such name, a proxy that cannot be used
        unreachable.note(host, said)
        raise DataUnavailable(f"{entry.url}: {host} is unreachable ({said})") from error


def _said(error: Exception) -> str:
    """The innermost cause in one line: what requests wraps around it names objects."""
    while error.args and isinstance(error.args[0], Exception):
        error = error.args[0]
    cause = getattr(error, "reason", None)
    text = " ".join(str(cause or error).split())
    return f"{type(cause or error).__name__}: {text.partition('>: ')[2] or text}"


# -- many files


class Fetched(NamedTuple):
    """What became of one data set: its files, how many of them are here, and why not
    the rest.
    """

    name: str
    files: list[str]
    here: int
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Are all files here and verified?"""
        return self.here == len(self.files)


def all(
    names: Iterable[str] | None = None,
    say: Callable[[str], object] = print,
    optional: bool = False,
) -> list[Fetched]:
    """Fetch the files of the named data sets and recordings (default: every one); a
    line each and a summary are said.

    A file that cannot be had is reported and ends only its own data set. Optional files
    are used where they lie, and fetched only where `optional` says so; the path of one
    stands for itself as a name. Returns one `Fetched` a name.

    Raises: UnknownName; OSError where data/raw cannot be written.
    """
    from tqdm import tqdm

    from nlgeval_lib import datasets

    def lacking(relpath: str) -> str:
        try:
            path(relpath, optional)
        except DataError as error:
            return str(error)
        return ""

    def megabytes(relpaths: Iterable[str]) -> float:
        return sum(registry.entry(relpath).bytes for relpath in relpaths) / 1e6

    results = []
    for name in names if names is not None else datasets.groups():
        paths = [name] if name in registry.entries() else datasets.files(name)
        with ThreadPoolExecutor(8) as pool:
            told = tqdm(
                pool.map(lacking, paths),
                name,
                len(paths),
                unit="file",
                leave=False,
                delay=1,
                disable=None,
            )
            lost = list(filter(None, told))
        results.append(
            Fetched(name, paths, len(paths) - len(lost), next(iter(lost), ""))
        )
        line = (
            f"{len(paths):4} files {megabytes(paths):8.1f} MB  ready"
            if paths
            else "part of the repository"
        )
        if lost:
            line = f"{results[-1].here:4} of {len(paths)} files  unavailable: {lost[0].partition('. Set ')[0]}"
        say(f"{name:24} {line}")
    gone = [result.name for result in results if not result.ok]
    seen = {relpath for result in results for relpath in result.files}
    unavailable = f"; unavailable: {', '.join(gone)}" if gone else ""
    counts = f"{len(seen)} files, {megabytes(seen):.0f} MB"
    say(
        f"{len(results) - len(gone)} of {len(results)} data sets ready ({counts}){unavailable}"
    )
    if gone and not mirror():
        say(f"To use a copy of the files, set {MIRROR} to its folder.")
    return results
