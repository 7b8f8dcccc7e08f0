"""One URL to one verified file: timeouts, bounded retries, nothing left behind on failure."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from nlgeval_lib import files
from nlgeval_lib.datasets import verify
from nlgeval_lib.datasets.errors import ChecksumError, DataUnavailable
from nlgeval_lib.datasets.registry import Entry


@dataclass(frozen=True, slots=True)
class Limits:
    """How patient a download is. Seconds, except `attempts` and `bytes_per_second`."""

    connect: float = 5.0
    read: float = 20.0
    attempts: int = 3
    backoff: float = 0.5  # doubled after each attempt
    grace: float = 60.0  # a file may take `grace` + bytes / `bytes_per_second` over all attempts
    bytes_per_second: float = 50_000.0


LIMITS = Limits()

_lock = threading.Lock()
_down: dict[str, str] = {}  # host -> why: asked once in a process, not once a file


class _Retry(Exception):
    """Worth another attempt; the message says what happened."""


class _HostDown(Exception):
    """The host itself cannot be reached."""


def offline() -> bool:
    """Is the network switched off by NLGEVAL_OFFLINE?"""
    return os.environ.get("NLGEVAL_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def forget_hosts() -> None:
    """Ask hosts again that were found unreachable in this process."""
    with _lock:
        _down.clear()


def download(
    entry: Entry, target: Path, progress: Callable[[int], None] | None = None, limits: Limits | None = None
) -> None:
    """Fetch `entry` to `target`, which appears whole and verified or not at all.

    `progress` is told the number of bytes of each piece (negative when an attempt starts over).

    Raises: DataUnavailable where the URL gives no such file; ChecksumError where it gives another one; OSError where
    `target` cannot be written.
    """
    limits = limits or LIMITS
    host = urlsplit(entry.url).netloc
    with _lock:
        why = _down.get(host)
    if why:
        raise DataUnavailable(f"{entry.url}: {host} was unreachable before in this run ({why})")
    deadline = time.monotonic() + limits.grace + entry.bytes / limits.bytes_per_second
    for attempt in range(1, limits.attempts + 1):
        try:
            _attempt(entry, target, progress or (lambda count: None), limits, deadline)
            return
        except _HostDown as error:
            with _lock:
                _down[host] = str(error)
            raise DataUnavailable(f"{entry.url}: {host} is unreachable ({error})") from error
        except _Retry as error:
            pause = limits.backoff * 2 ** (attempt - 1)
            if attempt == limits.attempts or time.monotonic() + pause >= deadline:
                raise DataUnavailable(f"{entry.url}: {error}, after {attempt} attempts") from error
            time.sleep(pause)


def _attempt(entry: Entry, target: Path, progress: Callable[[int], None], limits: Limits, deadline: float) -> None:
    import httpx

    timeout = httpx.Timeout(limits.read, connect=limits.connect)
    try:
        with (
            httpx.Client(timeout=timeout, follow_redirects=True) as client,
            client.stream("GET", entry.url) as response,
        ):
            code = response.status_code
            if code == 429 or code >= 500:
                raise _Retry(f"the server answered {code} {response.reason_phrase}")
            if code != 200:
                raise DataUnavailable(f"{entry.url}: the server answered {code} {response.reason_phrase}")
            with files.replacing(target) as tmp:
                _receive(response, entry, tmp, progress, deadline)
                _hold(tmp, entry)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
        raise _HostDown(_said(error)) from error
    except (httpx.TransportError, httpx.DecodingError) as error:
        raise _Retry(_said(error)) from error
    except (httpx.TooManyRedirects, httpx.InvalidURL) as error:
        raise DataUnavailable(f"{entry.url}: {_said(error)}") from error


def _receive(response, entry: Entry, tmp: Path, progress: Callable[[int], None], deadline: float) -> None:
    got, start = 0, b""
    try:
        with open(tmp, "wb") as handle:
            for piece in response.iter_bytes(65536):
                if not start:
                    start = piece[:512]
                handle.write(piece)
                got += len(piece)
                progress(len(piece))
                if got > entry.bytes:
                    break
                if time.monotonic() > deadline:
                    raise _Retry(f"too slow: {got:,} of {entry.bytes:,} bytes in the time allowed")
    except BaseException:
        progress(-got)
        raise
    if got != entry.bytes:
        progress(-got)
        if verify.is_html(start):
            raise DataUnavailable(f"{entry.url}: got what looks like an HTML page instead of the file {entry.path}")
        if got < entry.bytes:
            raise _Retry(f"truncated download: {got:,} of {entry.bytes:,} bytes")
        raise ChecksumError(f"{entry.url}: more than the expected {entry.bytes:,} bytes; the file there has changed")


def _hold(tmp: Path, entry: Entry) -> None:
    got = verify.sha256(tmp)
    if got != entry.sha256:
        with open(tmp, "rb") as handle:
            page = " (it looks like an HTML page)" if verify.is_html(handle.read(512)) else ""
        raise ChecksumError(
            f"{entry.url}: sha256 is {got}, expected {entry.sha256}{page}; nothing was kept, "
            f"the file there differs from the one in data/registry.csv"
        )


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
