"""One URL to one verified file, by pooch: bounded waiting and attempts, nothing left behind on failure."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.parse import urlsplit

from nlgeval_lib import files
from nlgeval_lib.datasets.registry import ChecksumError, DataUnavailable, Entry

TIMEOUT = (5.0, 20.0)  # seconds to connect, and between two pieces
ATTEMPTS = 3
BACKOFF = 0.5  # seconds before the second attempt, doubled before the third
_down: dict[str, str] = {}  # host -> why: asked once in a process, not once a file


class _Passing(Exception):
    """Worth another attempt; the message says what happened."""


def offline() -> bool:
    """Is the network switched off by NLGEVAL_OFFLINE?"""
    return os.environ.get("NLGEVAL_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def download(entry: Entry, target: Path) -> None:
    """Fetch `entry` to `target`, which appears whole and verified or not at all.

    Raises: DataUnavailable where the URL gives no such file; ChecksumError where it gives another one; OSError where
    `target` cannot be written.
    """
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

    attempts = Retrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(BACKOFF),
        retry=retry_if_exception_type(_Passing),
        reraise=True,
    )
    try:
        attempts(_attempt, entry, target)
    except _Passing as error:
        raise DataUnavailable(f"{entry.url}: {error}, after {ATTEMPTS} attempts") from error


def _attempt(entry: Entry, target: Path) -> None:
    with files.replacing(target) as tmp:
        _ask(entry, tmp)
        content = tmp.read_bytes()
        got = hashlib.sha256(content).hexdigest()
        if got == entry.sha256:
            return
        if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:14].lower().startswith((b"<!doctype html", b"<html")):
            raise DataUnavailable(f"{entry.url}: got what looks like an HTML page instead of the file {entry.path}")
        if len(content) < entry.bytes:
            raise _Passing(f"truncated download: {len(content):,} of {entry.bytes:,} bytes")
        raise ChecksumError(
            f"{entry.url}: sha256 is {got}, expected {entry.sha256}; nothing was kept. The file there is not the one "
            f"that data/registry.csv names: put the right one to data/raw/{entry.path} or into a mirror"
        )


def _ask(entry: Entry, path: Path) -> None:
    """Everything that can go wrong on the way, in our words: requests' errors are OSErrors, as those of files are."""
    import pooch
    import requests

    host = urlsplit(entry.url).netloc
    if host in _down:
        raise DataUnavailable(f"{entry.url}: {host} is unreachable ({_down[host]})")
    try:
        pooch.HTTPDownloader(timeout=TIMEOUT)(entry.url, str(path), None)
    except requests.HTTPError as error:
        assert error.response is not None
        said = f"the server answered {error.response.status_code} {error.response.reason}"
        if error.response.status_code == 429 or error.response.status_code >= 500:
            raise _Passing(said) from error
        raise DataUnavailable(f"{entry.url}: {said}") from error
    except requests.RequestException as error:
        said = _said(error)
        chunked = isinstance(error, requests.exceptions.ChunkedEncodingError)
        if chunked or isinstance(error, requests.ReadTimeout) or "Read timed out" in said:
            raise _Passing(said) from error
        _down[host] = said  # no connection, no such name, a proxy that cannot be used
        raise DataUnavailable(f"{entry.url}: {host} is unreachable ({said})") from error


def _said(error: Exception) -> str:
    """The innermost cause in one line: what requests wraps around it names objects."""
    while error.args and isinstance(error.args[0], Exception):
        error = error.args[0]
    cause = getattr(error, "reason", None)
    text = " ".join(str(cause or error).split())
    return f"{type(cause or error).__name__}: {text.partition('>: ')[2] or text}"
