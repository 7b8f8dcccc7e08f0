"""How long a notebook takes: `notebooks/durations.csv`, seconds on two cores.

`make durations` writes the table from the runner's records. It is committed, so
that every machine says the same, and no result depends on it.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from pathlib import Path

from nlgeval_lib import files

# Seconds with nothing stored, and once what is asked and computed is stored.
COLUMNS = ("output", "cold", "cached")
NAME = "durations.csv"


def sentence(output: str) -> str:
    """How long the notebook of an output takes; empty where it was not measured.

    output: the id of an output.
    """
    path = files.notebooks() / NAME
    if not path.is_file():
        return ""
    row = table(path, path.stat().st_mtime_ns).get(output, {})
    cold = row.get("cold", "")
    cached = row.get("cached", "")
    if not cold and not cached:
        return ""
    if not cold or not cached:
        return f"Takes about {in_words(float(cold or cached))} (two cores)."
    return (
        f"Takes about {in_words(float(cold))}, and {in_words(float(cached))} once what "
        "it asks and computes is stored (two cores)."
    )


def in_words(seconds: float) -> str:
    """A duration for readers: `5 s`, `40 s`, `3 min`.

    Example:
    >>> in_words(43), in_words(100)
    ('40 s', '2 min')
    """
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    if seconds < 90:
        return f"{round(seconds, -1):.0f} s"
    return f"{round(seconds / 60)} min"


@functools.lru_cache(maxsize=2)
def table(path: Path, modified: int) -> Mapping[str, Mapping[str, str]]:
    """The rows of the table by output, each with the texts of `COLUMNS`.

    modified: when the file was written last, in nanoseconds; it is read again where
    this is another.
    """
    with open(path, encoding="utf-8", newline="") as file:
        return {row["output"]: row for row in csv.DictReader(file)}
