"""From a path in the registry to a verified file, and to its content: data/raw, then a
mirror folder, then the URL. Nothing is read that was not verified.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from nlgeval_lib import files, progress
from nlgeval_lib.datasets import registry, unreachable
from nlgeval_lib.datasets.registry import (
    ChecksumError,
    DataError,
    DataUnavailable,
    Entry,
)
from nlgeval_lib.files import BESIDE, MIRROR, mirror

TIMEOUT = (3.0, 20.0)  # seconds to connect, and between two pieces
ATTEMPTS = 3
BACKOFF = 0.5  # seconds before the second attempt, doubled before the third
_verified: set[tuple[Any, ...]] = set()  # the files that were found right


def mirror_line() -> str:
    """Where files come from that are not in data/raw, in one line."""
    folder = mirror()
    is_set = MIRROR in os.environ
    if folder is None:
        reason = f"{MIRROR} is empty" if is_set else f"no {MIRROR}, no ../{BESIDE}"
        return f"data mirror: none ({reason})"
    origin = MIRROR if is_set else f"beside the checkout; {MIRROR}= for none"
    return f"data mirror: {folder} ({origin})"


# -- one file


def local(relpath: str) -> Path | None:
    """The verified file in data/raw or in the mirror; None where neither has it. Never
    uses the network.

    Raises: UnknownName; ChecksumError where another file is there; DataUnavailable
    where it cannot be read.
    """
    entry = registry.entry(relpath)
    for folder in filter(None, (files.raw(), mirror())):
        candidate = folder / relpath
        try:
            if candidate.is_file():
                verify(candidate, entry)
                return candidate
        except OSError as error:
            raise DataUnavailable(
                f"{candidate} cannot be read: {error.strerror or error}; "
                "make it readable, or take it away"
            ) from error
    return None


def path(relpath: str, optional: bool = False) -> Path:
    """The verified local file for a registry path, downloaded to data/raw where no copy
    is here; one that is optional only where `optional`.

    Raises: UnknownName, ChecksumError, DataUnavailable (what was tried, the way out),
    OSError where data/raw cannot be written.
    """
    local_path = local(relpath)
    if local_path is not None:
        return local_path
    entry = registry.entry(relpath)
    if entry.optional and not optional:
        raise DataUnavailable(elsewhere(entry))
    target = files.raw() / relpath
    try:
        if downloads_are_off():
            raise DataUnavailable("downloads are off (NLGEVAL_OFFLINE)")
        _download(entry, target)
    except DataUnavailable as error:
        folder = mirror()
        tried = f"not in the mirror {folder}" if folder else f"no mirror set ({MIRROR})"
        inside = entry.url.partition(f"{entry.commit}/")[2] or relpath
        _, *archives = entry.places()
        further = f"; archives may have it: {', '.join(archives)}" if archives else ""
        raise DataUnavailable(
            f"{relpath} is unavailable: not in data/raw, {tried}; {error}. Set {MIRROR} "
            "to a folder that has it, or run `make data` where the network reaches the "
            f"address. It is the file {inside} of {entry.repository} at commit "
            f"{entry.commit}{further}"
        ) from None
    return target


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


def text(relpath: str) -> str:
    """A registered file's text, read as UTF-8. Raises: as `path`."""
    return path(relpath).read_bytes().decode("utf-8")


def json_file(relpath: str) -> Any:
    """The JSON value in a registered file. Raises: as `path`; json.JSONDecodeError."""
    return json.loads(path(relpath).read_bytes())


def json_lines(relpath: str) -> list[Any]:
    """The JSON values in a registered file, one a line (only a line feed ends one).
    Raises: as `json_file`.
    """
    lines = path(relpath).read_bytes().split(b"\n")
    return [json.loads(line) for line in lines if line.strip()]


# -- is it the file that the registry names?


def verify(path: Path, entry: Entry) -> None:
    """Hold a file against its registry entry, once a process while its size and time
    stamps stay.

    Raises: ChecksumError naming the file, what was found, what to do.
    """
    stat = path.stat()
    times = (stat.st_mtime_ns, stat.st_ctime_ns)
    stamp = (entry.checksum, str(path.resolve()), stat.st_size, *times)
    if stamp in _verified:
        return
    found = _found(path, entry)
    if found:
        advice = "put the right file there, or take it away"
        if path.is_relative_to(files.raw()):
            advice = "delete it and fetch again (make data)"
        size = ""
        if entry.bytes and stat.st_size != entry.bytes:
            size = f" and {stat.st_size:,} bytes where {entry.bytes:,} are"
        raise ChecksumError(
            f"{path}: {found}{size}, expected {entry.checksum}; {advice}"
        )
    _verified.add(stamp)


def git_blob(path: Path) -> str:
    """The id that git gives the file's content, 40 hexadecimal digits."""
    content = path.read_bytes()
    head = f"blob {len(content)}\0".encode()
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


def _found(path: Path, entry: Entry) -> str:
    """What the checksum of another file than the entry's is; "" for the entry's."""
    kind = "sha256" if entry.sha256 else "git blob id"
    checksum = files.sha256(path) if entry.sha256 else git_blob(path)
    return "" if checksum == entry.checksum else f"{kind} is {checksum}"


# -- one URL, by pooch: bounded waiting and attempts, nothing left behind on failure


class _Passing(DataUnavailable):
    """Worth another attempt."""


def _download(entry: Entry, target: Path) -> None:
    """Fetch `entry` to `target`, whole and verified or not at all: from its address,
    then the archives', each several times where a fault may pass.

    Raises: DataUnavailable; ChecksumError where an address gives another file and none
    the right one; OSError where `target` cannot be written.
    """
    from tenacity import (
        retry,
        retry_if_exception_type,
        stop_after_attempt,
        wait_exponential,
    )

    @retry(
        retry=retry_if_exception_type(_Passing),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(BACKOFF),
        reraise=True,
    )
    def from_address(url: str) -> None:
        with files.replacing(target) as partial:
            _ask(url, partial)
            _check(entry, url, partial)

    failures: list[DataError] = []
    for url in entry.places():
        try:
            return from_address(url)
        except DataError as error:
            failures.append(error)
    # That another file came says more than that nothing came.
    for failure in failures:
        if isinstance(failure, ChecksumError):
            raise failure
    raise DataUnavailable("; ".join(map(str, failures)))


def _ask(url: str, path: Path) -> None:
    """Ask a host for a file; one that cannot be reached is put down as such.

    Raises: DataUnavailable in our words (requests' errors are OSErrors, as those of
    files are); _Passing where another attempt may help.
    """
    import pooch
    import requests

    host = urlsplit(url).netloc
    reason = unreachable.why(host)
    if reason:
        raise DataUnavailable(f"{url}: {host} is unreachable ({reason})")
    try:
        pooch.HTTPDownloader(timeout=TIMEOUT)(url, str(path), None)
    except requests.HTTPError as error:
        response = error.response
        assert response is not None
        passing = response.status_code == 429 or response.status_code >= 500
        kind = _Passing if passing else DataUnavailable
        answer = f"the server answered {response.status_code} {response.reason}"
        raise kind(f"{url}: {answer}") from error
    except requests.RequestException as error:
        cause = _cause(error)
        passing = isinstance(error, requests.exceptions.ChunkedEncodingError)
        if passing or "Read timed out" in cause:
            raise _Passing(f"{url}: {cause}") from error
        # no connection, no such name, a proxy that cannot be used
        unreachable.note(host, cause)
        raise DataUnavailable(f"{url}: {host} is unreachable ({cause})") from error


def _check(entry: Entry, url: str, path: Path) -> None:
    """Pass where what came is the file of the entry. Raises: DataUnavailable for a web
    page in its place; _Passing for a download that broke off; ChecksumError.
    """
    found = _found(path, entry)
    if not found:
        return
    content = path.read_bytes()
    begin = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:14].lower()
    if begin.startswith((b"<!doctype html", b"<html")):
        raise DataUnavailable(
            f"{url}: got what looks like an HTML page instead of the file {entry.path}"
        )
    if len(content) < entry.bytes:
        size = f"{len(content):,} of {entry.bytes:,} bytes"
        raise _Passing(f"{url}: truncated download: {size}")
    raise ChecksumError(
        f"{url}: {found}, expected {entry.checksum}; nothing was kept. The file there "
        "is not the one that data/registry.csv names: put the right one to "
        f"data/raw/{entry.path} or into a mirror"
    )


def _cause(error: Exception) -> str:
    """The innermost cause in one line: what requests wraps around it names objects."""
    while error.args and isinstance(error.args[0], Exception):
        error = error.args[0]
    cause = getattr(error, "reason", None) or error
    text = " ".join(str(cause).split())
    return f"{type(cause).__name__}: {text.partition('>: ')[2] or text}"


# -- many files


class Fetched(NamedTuple):
    """What became of one data set: its registry paths, how many are here and verified,
    and why the first of the others is not.
    """

    name: str
    files: list[str]
    here: int
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether all files are here and verified."""
        return self.here == len(self.files)


def all(
    names: Iterable[str] | None = None,
    say: Callable[[str], object] = print,
    optional: bool = False,
) -> list[Fetched]:
    """Fetch the files of the named data sets, recordings or files (None: all that are
    fetched by default), also optional ones where `optional`; a line each and a summary
    are said. A file that is not available ends only its own data set.

    Raises: UnknownName; OSError where data/raw cannot be written.
    """
    from nlgeval_lib import datasets

    results = []
    for name in datasets.groups() if names is None else names:
        relpaths = [name] if name in registry.entries() else datasets.files(name)
        result = _fetched(name, relpaths, optional)
        line = "part of the repository"
        if not result.ok:
            reason = result.reason.partition(". Set ")[0]
            line = f"{result.here:4} of {len(relpaths)} files  unavailable: {reason}"
        elif relpaths:
            line = f"{len(relpaths):4} files {megabytes(relpaths):8.1f} MB  ready"
        say(f"{name:24} {line}")
        results.append(result)
    unavailable = [result.name for result in results if not result.ok]
    distinct = {relpath for result in results for relpath in result.files}
    size = f"{len(distinct)} files, {megabytes(distinct):.0f} MB"
    complete = len(results) - len(unavailable)
    summary = f"{complete} of {len(results)} data sets ready ({size})"
    if unavailable:
        summary += f"; unavailable: {', '.join(unavailable)}"
    say(summary)
    if unavailable and not mirror():
        say(f"To use a copy of the files, set {MIRROR} to its folder.")
    return results


def together(name: str, relpaths: Iterable[str]) -> None:
    """Download those files of a data set that lie nowhere here, several at once; what
    cannot be fetched is left to the reader, which says why.
    """
    missing = list(relpaths)
    for folder in filter(None, (files.raw(), mirror())):
        missing = [file for file in missing if not (folder / file).is_file()]
    if len(missing) < 2:
        return
    # Where the first cannot be fetched, nobody is asked for the rest.
    with contextlib.suppress(DataError):
        path(missing[0])
        _fetched(name, missing[1:], optional=False)


def _fetched(name: str, relpaths: list[str], optional: bool) -> Fetched:
    """Fetch the files of one data set, several at once, with a bar of progress."""

    def failure(relpath: str) -> str:
        try:
            path(relpath, optional)
        except DataError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as pool:
        outcomes = progress.bar(
            pool.map(failure, relpaths), name, len(relpaths), unit="file"
        )
        failures = list(filter(None, outcomes))
    first = failures[0] if failures else ""
    return Fetched(name, relpaths, len(relpaths) - len(failures), first)


def megabytes(relpaths: Iterable[str]) -> float:
    """The size of these files together, in millions of bytes, by the registry."""
    return sum(registry.entry(relpath).bytes for relpath in relpaths) / 1e6
