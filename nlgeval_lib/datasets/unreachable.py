"""Hosts that do not answer: each is asked once a run, over all its processes, so that
not every file of one waits for its own time limit.

A host is tried for at most three seconds; after nine seconds of vain waiting in all no
further one is. What was found is noted in this process and in a file beside the caches
(`hosts.jsonl`), which the run's other processes read.
"""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib import files

TRIED_FOR = 3.0  # seconds for looking a host up and connecting to it
WAITED_AT_MOST = 9.0  # seconds of a run
FORGOTTEN_AFTER = 600.0  # seconds, where no run began anew
PORTS = {"http": 80, "https": 443}  # where an address names none
_lock = threading.Lock()  # one thread tries a host at a time
_answering: set[str] = set()  # the hosts that this process reached


def why(url: str) -> str:
    """Why nothing is asked of the address's host (or of a proxy before it), in words;
    "" where it can be asked. A host that was tried in this run is not tried again.
    """
    host = urlsplit(url).netloc
    with _lock:
        notes = _notes()
        if host in notes:
            return str(notes[host]["why"])
        if host in _answering:
            return ""
        waited = sum(note["seconds"] for note in notes.values())
        # Half a try is slack: two that ran out took a little over six seconds in all,
        # and a third is still made.
        if waited + TRIED_FOR > WAITED_AT_MOST + TRIED_FOR / 2:
            return f"no other host answered within {waited:.0f} seconds"
        began = time.monotonic()
        reason = _tried(_through(url))
        if reason:
            note(host, reason, time.monotonic() - began)
        else:
            _answering.add(host)
        return reason


def note(host: str, reason: str, seconds: float = 0.0) -> None:
    """Tell this process and the run's others that a host cannot be reached, for which
    one line of reason, after so many seconds of vain waiting.
    """
    row = {"host": host, "why": reason, "seconds": seconds, "at": time.time()}
    _here(_path())[host] = row
    with contextlib.suppress(OSError):  # without a note each process asks for itself
        _path().parent.mkdir(parents=True, exist_ok=True)
        with open(_path(), "a", encoding="utf-8") as handle:
            handle.write(json.dumps(row) + "\n")


def forget() -> None:
    """Begin a new run, which asks every host again."""
    _answering.clear()
    _here.cache_clear()
    with contextlib.suppress(OSError):
        _path().unlink()


def _notes() -> dict[str, dict[str, Any]]:
    """What is known of hosts, by this process and others: host -> why, seconds, at.
    Notes `FORGOTTEN_AFTER` old (or as far ahead) are left out, and lines that cannot
    be read.
    """
    rows = dict(_here(_path()))
    with contextlib.suppress(OSError):
        for line in _path().read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                rows[row["host"]] = {
                    "why": str(row["why"]),
                    "seconds": float(row["seconds"]),
                    "at": float(row["at"]),
                }
    now = time.time()
    recent = (host for host in rows if abs(now - rows[host]["at"]) <= FORGOTTEN_AFTER)
    return {host: rows[host] for host in recent}


@functools.lru_cache(maxsize=4)
def _here(path: Path) -> dict[str, dict[str, Any]]:
    """What this process noted itself, for where no file can be written: one dict a
    path, to which `note` adds.
    """
    return {}


def _path() -> Path:
    """The file of notes."""
    return files.state("hosts.jsonl")


def _through(url: str) -> str:
    """The address that a request for `url` connects to: its own, or a proxy's."""
    from requests.utils import get_environ_proxies, select_proxy

    proxy = select_proxy(url, get_environ_proxies(url))
    if not proxy:
        return url
    return proxy if "://" in proxy else f"http://{proxy}"


def _tried(url: str) -> str:
    """Why no connection to an address's host is made in time; "" where one is. The
    look-up of a name knows no time limit: a thread does it, and is left behind.
    """
    parts = urlsplit(url)
    port = parts.port or PORTS.get(parts.scheme, 443)
    outcome: list[str] = []

    def connect() -> None:
        try:
            socket.create_connection((parts.hostname, port), TRIED_FOR).close()
            outcome.append("")
        except OSError as error:
            outcome.append(f"{type(error).__name__}: {error.strerror or error}")

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(TRIED_FOR)
    return outcome[0] if outcome else f"no connection within {TRIED_FOR:g} seconds"
