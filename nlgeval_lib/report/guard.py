"""May a run's result stand where the saved one stands? Not with other parameters, and never with less."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nlgeval_lib import notebook, paths
from nlgeval_lib.catalogue import RESERVED, Entry

_TEXT = re.compile(rb"<!-- ([^\d<>]{2,}) -->")  # matplotlib draws letters as paths, and names the text before them


@dataclass(frozen=True, slots=True)
class Loss:
    """What a saved file holds and a run has not. kind: "cells" of a comparison, "rows" of a frame, "figures"."""

    file: str
    kind: str
    count: int
    what: str = ""  # the first few, by name

    def __str__(self) -> str:
        if self.kind == "figures":
            return self.file + (f" ({self.what})" if self.what else "")
        kind = self.kind if self.count > 1 else self.kind[:-1]
        return f"{self.count} {kind} of {self.file}" + (f" ({self.what})" if self.what else "")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is saved: the folder below results/ and, where it is set apart, why, and what is kept since when."""

    folder: str
    why: str = ""
    losses: tuple[Loss, ...] = ()
    since: str = ""


def others(entry: Entry, parameters: Mapping[str, Any]) -> str:
    """How `parameters` differ from the catalogue's over the notebook's own, in words; empty where they do not.

    1 and 1.0 are the same value, 1 and True are not. `mode` and `output_id` are no parameters in this sense.
    """
    try:
        own = notebook.read(entry.path).parameters
    except notebook.NotebookRefused as error:
        return f"the catalogue's parameters cannot be read: {error}"
    wanted = {name: one.default for name, one in own.items()} | dict(entry.parameters)
    said = []
    for name in sorted({*wanted, *parameters} - set(RESERVED)):
        if name not in parameters:
            said.append(f"{name} is not passed to Output")
        elif name not in wanted:
            said.append(f"{name} is no parameter of {entry.notebook}")
        elif not _alike(wanted[name], parameters[name]):
            said.append(f"{name} is {parameters[name]!r}, the catalogue's is {wanted[name]!r}")
    return "; ".join(said)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


def lesser(old: Mapping[str, Any], new: Mapping[str, Any], losses: list[Loss], alone: bool) -> str:
    """Why a result with the record `new`, lacking `losses`, must not replace that of `old`; empty where it may.

    alone: the notebook runs without the runner. An editor saves a changed parameters cell by itself, so that the
    notebook's own defaults say nothing then; those of the saved result do.
    """
    if old.get("route") == "run" and new["route"] != "run":
        return f"the result there was made by running the judge, this one is {new['route']!r}"
    if losses:
        return f"{listed(losses)} would be lost (nlgeval run {new['output']} --replace lets it shrink)"
    before, now = old.get("parameters", {}), new["parameters"]
    moved = [name for name in now if name in before and not _alike(before[name], now[name])] if alone else []
    if moved:
        said = ", ".join(f"{name} {before[name]!r}, here {now[name]!r}" for name in moved)
        return f"the result there was made with {said} (nlgeval run {new['output']} publishes this one)"
    return ""


def listed(losses: list[Loss]) -> str:
    """Losses in words."""
    return ", ".join(map(str, losses))


def lost(old: Mapping[str, Any], contents: Mapping[str, bytes]) -> list[Loss]:
    """What the files of the saved result hold that `contents` does not.

    old: the saved record, which names its files. contents: what this run would write, by the same names. Rows are
    known by their first columns of text, as many as tell them apart; numbers by row and column. A drawing has less
    where fewer names stand in it. Texts and values that differ are no loss.
    """
    found = []
    for name in old.get("files", ()):
        try:
            there = paths.located(name).read_bytes()
        except OSError:
            continue
        file, here = name.rpartition("/")[2], contents.get(name)
        if name.endswith(".csv"):
            rows = _rows_lost(there.decode("utf-8", "replace"), (here or b"").decode("utf-8", "replace"))
            if rows:
                kind = "rows" if "__" in file else "cells"
                found.append(Loss(file, kind, sum(rows.values()), _some([key for key in rows if key])))
        elif name.endswith(".svg"):
            gone = [] if here is None else _names_lost(there, here)
            if here is None or gone:
                found.append(Loss(file, "figures", 1, _some(gone)))
    return found


def _some(names: list[str], most: int = 3) -> str:
    return "; ".join(names[:most]) + ("; …" if len(names) > most else "")


def _rows_lost(old: str, new: str) -> Counter[str]:
    """How often a row of this name is gone, or lacks a number."""
    before = list(csv.DictReader(io.StringIO(old)))
    labels = _labels(before)
    telling = [name for name in labels if len({row[name] for row in before}) > 1]
    gone = _tally(before, labels) - _tally(list(csv.DictReader(io.StringIO(new))), labels)
    rows: Counter[str] = Counter()
    for (key, _), count in gone.items():
        row = dict(zip(labels, key, strict=True))
        name = ", ".join(row[label] for label in telling)
        rows[name] = max(rows[name], count)
    return rows


def _labels(rows: list[dict[str, str]]) -> list[str]:
    """The leading columns of text that tell rows apart; fewer where a column of numbers comes first."""
    labels: list[str] = []
    for column in rows[0] if rows else ():
        if all(_number(row[column]) for row in rows if row[column]):
            break
        labels.append(column)
        if len({tuple(row[name] for name in labels) for row in rows}) == len(rows):
            break
    return labels


def _tally(rows: list[dict[str, str]], labels: list[str]) -> Counter[tuple[tuple[str, ...], str]]:
    """How many rows there are of each key, and how many numbers by key and column."""
    found: Counter[tuple[tuple[str, ...], str]] = Counter()
    for row in rows:
        key = tuple(row.get(name, "") for name in labels)
        found[key, ""] += 1
        found.update((key, name) for name, cell in row.items() if name not in labels and _number(cell))
    return found


def _number(text: str | None) -> bool:
    try:
        return float(text or "nan") == float(text or "nan")
    except ValueError:
        return False


def _names_lost(old: bytes, new: bytes) -> list[str]:
    """The names that stand in a drawing no longer, where fewer do than before: one put for another is no loss."""
    before, now = ({text.decode("utf-8", "replace") for text in _TEXT.findall(svg)} for svg in (old, new))
    return sorted(before - now) if len(before) > len(now) else []
