"""How long a notebook takes: `notebooks/durations.csv`, seconds on two cores, which
`make durations` writes from the runner's records. No result depends on it.
"""

from __future__ import annotations

import csv

from nlgeval_lib import files

# Seconds with nothing stored, and once what is asked and computed is stored.
COLUMNS = ("output", "cold", "cached")
NAME = "durations.csv"


def table() -> dict[str, dict[str, str]]:
    """The rows of the table by output, each with the texts of `COLUMNS`."""
    path = files.notebooks() / NAME
    if not path.is_file():
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {row["output"]: row for row in csv.DictReader(file)}


def sentence(output: str) -> str:
    """How long the notebook of an output takes; empty where it was not measured."""
    row = table().get(output, {})
    seconds = [float(row[name]) for name in ("cold", "cached") if row.get(name)]
    words = list(map(in_words, seconds))
    if not words:
        return ""
    if len(words) == 1:
        return f"Takes about {words[0]} (two cores)."
    return (
        f"Takes about {words[0]}, and {words[1]} once what it asks and computes is "
        "stored (two cores)."
    )


def in_words(seconds: float) -> str:
    """A duration for readers: `5 s`, `40 s`, `3 min`."""
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    if seconds < 90:
        return f"{round(seconds, -1):.0f} s"
    return f"{round(seconds / 60)} min"
