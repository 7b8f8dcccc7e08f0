"""What was run in this checkout: one small JSON an output and mode, below `.nlgeval/runs/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nlgeval_lib import files, paths
from nlgeval_lib.runner import fingerprint

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Record:
    """The last run of one output in one mode."""

    id: str
    mode: str
    status: str  # ok or failed
    parts: Mapping[str, str]
    seconds: float
    finished: str  # UTC, to the second
    saved: Mapping[str, Any] = field(default_factory=dict)  # what Output.save() reported
    files: Mapping[str, str | None] = field(default_factory=dict)  # sha256 of each result file, by its name
    format: int = FORMAT

    def stale(self, parts: Mapping[str, str]) -> str:
        """Why the output must be made again, in words; empty where it need not be."""
        if self.status != "ok":
            return "the last run failed"
        now = {**parts, fingerprint.CODE: fingerprint.code(self.saved.get("modules", ()))}
        different = fingerprint.changed(self.parts, now)
        if different:
            return f"changed: {', '.join(different)}"
        for name, sha in self.files.items():
            there = fingerprint.file_hash(located(name))
            if there is None:
                return f"gone: {name}"
            if there != sha:
                return f"altered since: {name}"
        return ""


def located(name: str) -> Path:
    """The place of a result file that a record names as `results/...` or `figures/...`."""
    top, _, rest = name.partition("/")
    return {"results": paths.results(), "figures": paths.figures()}[top] / rest


def path(mode: str, output: str) -> Path:
    """Where the record of one output lies."""
    return paths.state("runs", mode, f"{output}.json")


def read(mode: str, output: str) -> Record | None:
    """The record of one output; None where there is none that can be read."""
    try:
        raw = json.loads(path(mode, output).read_text(encoding="utf-8"))
        if raw.get("format") != FORMAT:
            return None
        record = Record(**raw)
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    sound = all(isinstance(one, dict) for one in (record.parts, record.saved, record.files))
    return record if sound and isinstance(record.seconds, float | int) else None


def write(record: Record) -> None:
    """Keep `record`. Raises: OSError where the state folder cannot be written."""
    text = json.dumps(asdict(record), indent=1, sort_keys=True)
    files.write_text(path(record.mode, record.id), text + "\n")
