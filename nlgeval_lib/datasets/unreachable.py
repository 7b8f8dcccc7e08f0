"""Hosts that could not be reached: no process of a run waits for one again. They are
noted in this process and in a file beside the caches (`hosts.jsonl`).
"""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

from nlgeval_lib import files

FORGOTTEN_AFTER = 600.0  # seconds, where no run began anew
_noted: dict[str, str] = {}  # host -> why, by this process


def why(host: str) -> str:
    """Why nothing is asked of a host; "" where it can be asked."""
    if host in _noted:
        return _noted[host]
    reason = ""
    with contextlib.suppress(OSError):
        for line in _path().read_text(encoding="utf-8").splitlines():
            # a line that another process is writing is passed over
            with contextlib.suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                recent = abs(time.time() - row["at"]) <= FORGOTTEN_AFTER
                if recent and row["host"] == host:
                    reason = str(row["why"])
    return reason


def note(host: str, reason: str) -> None:
    """Tell this process and the run's others why a host cannot be reached."""
    _noted[host] = reason
    row = {"host": host, "why": reason, "at": time.time()}
    with contextlib.suppress(OSError):  # without a file each process asks for itself
        _path().parent.mkdir(parents=True, exist_ok=True)
        with open(_path(), "a", encoding="utf-8") as handle:
            handle.write(json.dumps(row) + "\n")


def forget() -> None:
    """Begin a new run, which asks every host again."""
    _noted.clear()
    with contextlib.suppress(OSError):
        _path().unlink()


def _path() -> Path:
    return files.state("hosts.jsonl")
