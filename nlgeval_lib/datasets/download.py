"""One URL to one verified file: timeouts, bounded retries, nothing left behind on failure."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
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
    longest_wait: float = 10.0  # where a server asks for a pause
    grace: float = 60.0  # all attempts together may take `grace` + bytes / `bytes_per_second`
    bytes_per_second: float = 50_000.0


LIMITS = Limits()

_lock = threading.Lock()
_down: dict[str, str] = {}  # host -> why: asked once in a process, not once a file


class _Retry(Exception):
    """Worth another attempt; the message says what happened."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class _HostDown(Exception):
    """The host itself cannot be reached."""


def offline() -> bool:
    """Is the network switched off by NLGEVAL_OFFLINE?"""
    return os.environ.get("NLGEVAL_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def forget_hosts() -> None:
    """Ask hosts again that were found unreachable in this process, and read proxy settings anew."""
    with _lock:
        _down.clear()
    _client.cache_clear()
    _name_known.cache_clear()


def download(entry: Entry, target: Path, progress: Progress | None = None, limits: Limits | None = None) -> None:
    """Fetch `entry` to `target`, which appears whole and verified or not at all.

    `progress` is told the number of bytes of each piece (negative where an attempt starts over).

    Raises: DataUnavailable where the URL gives no such file; ChecksumError where it gives another one; OSError where
    `target` cannot be written.
    """
    limits = limits or LIMITS
    host = urlsplit(entry.url).netloc
    deadline = time.monotonic() + limits.grace + entry.bytes / limits.bytes_per_second
    for attempt in range(1, limits.attempts + 1):
        with _lock:
            why = _down.get(host)
        if why:
            raise DataUnavailable(f"{entry.url}: {host} is unreachable ({why})", f"{host} is unreachable")
        try:
            _attempt(entry, target, progress or (lambda count: None), limits, deadline)
            return
        except _HostDown as error:
            with _lock:
                _down[host] = str(error)
            raise DataUnavailable(f"{entry.url}: {host} is unreachable ({error})", f"{host} is unreachable") from error
        except _Retry as error:
            pause = max(limits.backoff * 2 ** (attempt - 1), min(error.wait, limits.longest_wait))
            if attempt == limits.attempts or time.monotonic() + pause >= deadline:
                tries = f"{attempt} attempt{'s' if attempt > 1 else ''}"
                raise DataUnavailable(f"{entry.url}: {error}, after {tries}", str(error)) from error
            time.sleep(pause)


def _attempt(entry: Entry, target: Path, progress: Progress, limits: Limits, deadline: float) -> None:
    import httpx

    _resolve(entry.url, limits.connect)
    client = _client(os.getpid(), limits.read, limits.connect)
    try:
        with contextlib.closing(_begin(client, entry.url, deadline)) as response:
            code, phrase = response.status_code, response.reason_phrase
            if code == 429 or code >= 500:
                asked = response.headers.get("retry-after", "")
                raise _Retry(f"the server answered {code} {phrase}", float(asked) if asked.isdigit() else 0.0)
            if code != 200:
                said = f"the server answered {code} {phrase}"
                raise DataUnavailable(f"{entry.url}: {said}", said)
            with files.replacing(target) as tmp:
                _receive(response.iter_bytes(), entry, tmp, progress, deadline)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
        raise _HostDown(_said(error)) from error
    except (httpx.TransportError, httpx.DecodingError) as error:
        raise _Retry(_said(error)) from error
    except (httpx.TooManyRedirects, httpx.InvalidURL) as error:
        raise DataUnavailable(f"{entry.url}: {_said(error)}") from error


def _begin(client: Any, url: str, deadline: float) -> Any:
    """The response up to its body: a server may send headers for ever, a byte now and then, and no read takes long."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    late = threading.Event()

    def ask() -> None:
        try:
            answer = client.send(client.build_request("GET", url), stream=True)
        except Exception as error:
            answer = error
        answers.put(answer)
        if late.is_set() and not isinstance(answer, Exception):
            answer.close()

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        late.set()
        raise _Retry("too slow: no whole answer in the time allowed") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


@lru_cache(maxsize=8)
def _client(pid: int, read: float, connect: float):
    """One client a process: making one costs more than a small file."""
    import httpx

    try:
        return httpx.Client(timeout=httpx.Timeout(read, connect=connect), follow_redirects=True)
    except (ImportError, ValueError) as error:  # a proxy setting that httpx cannot use
        raise _HostDown(f"the proxy settings of this machine cannot be used: {error}") from error


def _resolve(url: str, seconds: float) -> None:
    """Look the host's name up within a time limit: the system's own look-up has none that we could set."""
    parts = urlsplit(url)
    proxies = urllib.request.getproxies()
    if (parts.scheme in proxies or "all" in proxies) and not urllib.request.proxy_bypass(parts.hostname or ""):
        return  # the proxy looks it up
    why = _name_known(parts.hostname or "", parts.port, seconds)
    if why:
        raise _HostDown(why)


@lru_cache(maxsize=64)
def _name_known(hostname: str, port: int | None, seconds: float) -> str:
    outcome = [f"looking up {hostname} took more than {seconds:g} s"]

    def look() -> None:
        try:
            socket.getaddrinfo(hostname, port, type=socket.SOCK_STREAM)
            outcome[0] = ""
        except (OSError, UnicodeError) as error:
            outcome[0] = f"{hostname}: {error}"

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0]


def _receive(pieces, entry: Entry, tmp: Path, progress: Progress, deadline: float) -> None:
    """Write the pieces to `tmp` and hold the result against the registry."""
    got, start = 0, b""
    try:
        with open(tmp, "wb") as handle:
            for piece in pieces:
                if len(start) < 512:
                    start += piece[:512]
                handle.write(piece)
                got += len(piece)
                progress(len(piece))
                if got > entry.bytes:
                    break
                if time.monotonic() > deadline:
                    raise _Retry(f"too slow: {got:,} of {entry.bytes:,} bytes in the time allowed")
        _hold(tmp, entry, got, start)
    except BaseException:
        progress(-got)
        raise


def _hold(tmp: Path, entry: Entry, got: int, start: bytes) -> None:
    if got == entry.bytes and verify.sha256(tmp) == entry.sha256:
        return
    if verify.is_html(start):
        said = "got what looks like an HTML page instead of the file"
        raise DataUnavailable(f"{entry.url}: {said} {entry.path}", said)
    if got < entry.bytes:
        raise _Retry(f"truncated download: {got:,} of {entry.bytes:,} bytes")
    if got > entry.bytes:
        found = f"more than the expected {entry.bytes:,} bytes"
    else:
        found = f"sha256 is {verify.sha256(tmp)}, expected {entry.sha256}"
    raise ChecksumError(
        f"{entry.url}: {found}; nothing was kept. The file there is not the one that data/registry.csv names: "
        f"put the right one to data/raw/{entry.path} or into a mirror",
        "the file at the URL has changed",
    )


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
