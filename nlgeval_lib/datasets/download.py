"""One URL to one verified file, by pooch: bounded time and attempts, nothing left behind on failure."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from nlgeval_lib import files
from nlgeval_lib.datasets import verify
from nlgeval_lib.datasets.errors import ChecksumError, DataUnavailable
from nlgeval_lib.datasets.registry import Entry

Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Limits:
    """How patient a download is. Seconds, except `attempts` and `bytes_per_second`."""

    connect: float = 5.0
    read: float = 20.0
    attempts: int = 3
    backoff: float = 0.5  # doubled after each attempt
    grace: float = 60.0  # an attempt may take `grace` + bytes / `bytes_per_second`
    bytes_per_second: float = 50_000.0


LIMITS = Limits()
_down: dict[str, str] = {}  # host -> why: asked once in a process, not once a file
_lock = threading.Lock()


class _Passing(Exception):
    """Worth another attempt; the message says what happened."""


def offline() -> bool:
    """Is the network switched off by NLGEVAL_OFFLINE?"""
    return os.environ.get("NLGEVAL_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def forget_hosts() -> None:
    """Ask hosts again that were found unreachable in this process."""
    _down.clear()


def download(entry: Entry, target: Path, progress: Progress | None = None, limits: Limits | None = None) -> None:
    """Fetch `entry` to `target`, which appears whole and verified or not at all.

    `progress` is told the number of bytes of each piece (negative where an attempt starts over).

    Raises: DataUnavailable where the URL gives no such file; ChecksumError where it gives another one; OSError where
    `target` cannot be written.
    """
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

    limits = limits or LIMITS
    attempts = Retrying(
        stop=stop_after_attempt(limits.attempts),
        wait=wait_exponential(limits.backoff),
        retry=retry_if_exception_type(_Passing),
        reraise=True,
    )
    try:
        attempts(_attempt, entry, target, progress or (lambda count: None), limits)
    except _Passing as error:
        tries = f"{limits.attempts} attempt{'s' if limits.attempts > 1 else ''}"
        raise DataUnavailable(f"{entry.url}: {error}, after {tries}", str(error)) from error


def _attempt(entry: Entry, target: Path, progress: Progress, limits: Limits) -> None:
    with files.replacing(target) as tmp, open(tmp, "wb") as out:
        received = _Received(out, entry, progress, limits)
        try:
            _ask(entry, received, limits)
            received.hold()
        except BaseException:
            progress(-received.bytes)
            raise


def _ask(entry: Entry, received: _Received, limits: Limits) -> None:
    """Everything that can go wrong on the way, in our words: requests' errors are OSErrors, as those of files are."""
    import pooch
    import requests

    host = urlsplit(entry.url).netloc
    if host in _down:
        raise DataUnavailable(f"{entry.url}: {host} is unreachable ({_down[host]})", f"{host} is unreachable")
    try:
        pooch.HTTPDownloader(timeout=(limits.connect, limits.read))(entry.url, received, None)
    except requests.HTTPError as error:
        said = f"the server answered {error.response.status_code} {error.response.reason}"
        if error.response.status_code == 429 or error.response.status_code >= 500:
            raise _Passing(said) from error
        raise DataUnavailable(f"{entry.url}: {said}", said) from error
    except (requests.ReadTimeout, requests.exceptions.ChunkedEncodingError) as error:
        raise _Passing(_said(error)) from error
    except requests.RequestException as error:  # no connection, no such name, a proxy that cannot be used
        if "Read timed out" in str(error):
            raise _Passing(_said(error)) from error
        with _lock:
            _down[host] = _said(error)
        raise DataUnavailable(
            f"{entry.url}: {host} is unreachable ({_said(error)})", f"{host} is unreachable"
        ) from error


class _Received:
    """What a download writes to: counts, hashes and ends what is too long or too slow."""

    def __init__(self, out: BinaryIO, entry: Entry, progress: Progress, limits: Limits) -> None:
        self._out, self._entry, self._progress = out, entry, progress
        self._until = time.monotonic() + limits.grace + entry.bytes / limits.bytes_per_second
        self._hash, self._start, self.bytes = hashlib.sha256(), b"", 0

    def write(self, piece: bytes) -> None:
        """Take a piece. Raises: _Passing where the time allowed is over; ChecksumError where it is too much."""
        self._out.write(piece)
        self._hash.update(piece)
        self._start = self._start or piece[:512]
        self.bytes += len(piece)
        self._progress(len(piece))
        if self.bytes > self._entry.bytes:
            self.hold()
        if time.monotonic() > self._until:
            raise _Passing(f"too slow: {self.bytes:,} of {self._entry.bytes:,} bytes in the time allowed")

    def flush(self) -> None:
        """For the downloader; the file is flushed when it is closed."""

    def hold(self) -> None:
        """Hold what came against the registry. Raises: DataUnavailable, ChecksumError, _Passing."""
        entry, got = self._entry, self._hash.hexdigest()
        if self.bytes == entry.bytes and got == entry.sha256:
            return
        if verify.is_html(self._start):
            said = "got what looks like an HTML page instead of the file"
            raise DataUnavailable(f"{entry.url}: {said} {entry.path}", said)
        if self.bytes < entry.bytes:
            raise _Passing(f"truncated download: {self.bytes:,} of {entry.bytes:,} bytes")
        more = f"more than the expected {entry.bytes:,} bytes"
        found = more if self.bytes > entry.bytes else f"sha256 is {got}, expected {entry.sha256}"
        raise ChecksumError(
            f"{entry.url}: {found}; nothing was kept. The file there is not the one that data/registry.csv names: "
            f"put the right one to data/raw/{entry.path} or into a mirror",
            "the file at the URL has changed",
        )


def _said(error: Exception) -> str:
    """The innermost cause in one line: what requests wraps around it names objects."""
    while error.args and isinstance(error.args[0], Exception):
        error = error.args[0]
    cause = getattr(error, "reason", None)
    text = " ".join(str(cause or error).split())
    return f"{type(cause or error).__name__}: {text.partition('>: ')[2] or text}"
