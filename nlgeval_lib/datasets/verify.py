"""Is this file the one that the registry names? Remembered, so that an unchanged file is hashed once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
from pathlib import Path

from nlgeval_lib import files
from nlgeval_lib.datasets.errors import ChecksumError
from nlgeval_lib.datasets.registry import Entry

# A file changed within the same clock tick keeps its time stamps, so a stamp this young proves nothing.
_SETTLED_NS = 50_000_000

_lock = threading.Lock()
_known: dict[Path, set[tuple]] = {}


def sha256(path: Path) -> str:
    """The sha256 of the file's content, 64 hexadecimal digits."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def check(path: Path, entry: Entry) -> None:
    """Hold the file at `path` against its registry entry: size first, then sha256.

    A file found right is not hashed again while its size and its time stamps stay as they were.

    Raises: ChecksumError naming file, what was found, what is expected, and what to do.
    """
    stat = path.stat()
    stamp = (str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, entry.sha256)
    log = files.state("verified.jsonl")
    if stamp in _stamps(log):
        return
    if stat.st_size != entry.bytes:
        raise ChecksumError(
            f"{path}: {stat.st_size:,} bytes, expected {entry.bytes:,}{_looks(path)}; {_way_out(path)}",
            f"{path} is another file",
        )
    got = sha256(path)
    if got != entry.sha256:
        raise ChecksumError(
            f"{path}: sha256 is {got}, expected {entry.sha256}{_looks(path)}; {_way_out(path)}",
            f"{path} is another file",
        )
    if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > _SETTLED_NS:
        _remember(log, stamp)


def is_html(start: bytes) -> bool:
    """Does this beginning of a file look like a web page?"""
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return text.startswith((b"<!doctype html", b"<html", b"<head", b"<body"))


def _looks(path: Path) -> str:
    with open(path, "rb") as handle:
        return " (it looks like an HTML page)" if is_html(handle.read(512)) else ""


def _way_out(path: Path) -> str:
    inside_raw = path.is_relative_to(files.raw())
    return "delete it and fetch again (make data)" if inside_raw else "put the right file there, or take it away"


def _stamps(log: Path) -> set[tuple]:
    with _lock:
        if log not in _known:
            _known[log] = _read(log)
        return _known[log]


def _read(log: Path) -> set[tuple]:
    stamps: set[tuple] = set()
    with contextlib.suppress(OSError):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, TypeError):  # a line torn by a crash is only a file hashed again
                stamp = json.loads(line)
                if isinstance(stamp, list) and len(stamp) == 5:
                    stamps.add(tuple(stamp))
    return stamps


def _remember(log: Path, stamp: tuple) -> None:
    """Append one line in one write: several processes may do so at once."""
    with _lock:
        _known.setdefault(log, set()).add(stamp)
        with contextlib.suppress(OSError):  # where no state can be kept, files are hashed anew in each process
            log.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(handle, ("\n" + json.dumps(stamp)).encode())
            finally:
                os.close(handle)
