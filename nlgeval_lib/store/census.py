"""How many completions a store has of each model, without opening it: counted once, then only what was added."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from nlgeval_lib import files, paths
from nlgeval_lib.store import lines

# in a record every quote within a text is escaped, so these are fields
_MODEL = re.compile(rb'"model":("(?:[^"\\]|\\.)*")')
_REVISION = re.compile(rb'"revision":("(?:[^"\\]|\\.)*")')
_BLOCK = 1 << 24


def census(folder: Path | str) -> dict[tuple[str, str], int]:
    """Completions by (model, revision); a completion that two processes stored at once may count twice.

    What was counted is kept below `.nlgeval/census/`, so that a store which grew is read from where it ended.
    """
    folder = Path(folder)
    kept = paths.state("census", f"{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}.json")
    before, after = _read(kept), {}
    for path in sorted(folder.glob("*.jsonl")):
        with contextlib.suppress(FileNotFoundError):  # compacted meanwhile
            after[path.name] = _segment(path, before.get(path.name))
    if after != before:
        with contextlib.suppress(OSError):  # a count can be made again
            files.write_text(kept, json.dumps(after))
    total: Counter[tuple[str, str]] = Counter()
    for segment in after.values():
        for model, revision, count in segment["counts"]:
            total[model, revision] += count
    return dict(sorted(total.items()))


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def _segment(path: Path, known: Any) -> dict[str, Any]:
    """The counts of one segment, and up to which byte of which file they go."""
    with open(path, "rb") as file:
        stat = os.fstat(file.fileno())
        identity = [stat.st_dev, stat.st_ino]
        seen, counts = _counted(known, identity, stat.st_size)
        want = _BLOCK
        while seen < stat.st_size:
            file.seek(seen)
            block = file.read(want)
            end = block.rfind(b"\n") + 1
            if end == 0:
                if len(block) < want:
                    break  # a line that is being written
                want *= 2
                continue
            for line in lines.scan(block[:end]):
                if line.key and not line.is_request:
                    record = block[line.start : line.start + line.length]
                    counts[_field(_MODEL, record), _field(_REVISION, record)] += 1
            seen += end
            want = _BLOCK
    return {"file": identity, "seen": seen, "counts": [[*key, count] for key, count in sorted(counts.items())]}


def _counted(known: Any, identity: list[int], size: int) -> tuple[int, Counter[tuple[str, str]]]:
    """How far a segment was counted, and what; from its start where that was another file or cannot be read."""
    try:
        if known["file"] == identity and 0 <= known["seen"] <= size:
            return known["seen"], Counter({(model, revision): count for model, revision, count in known["counts"]})
    except (KeyError, TypeError, ValueError):
        pass
    return 0, Counter()


def _field(pattern: re.Pattern[bytes], record: bytes) -> str:
    found = pattern.search(record)
    return json.loads(found[1]) if found else ""
