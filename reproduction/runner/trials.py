"""A sweep: one notebook run for every combination of parameter values, beside the
results, and what these runs saved joined into one table each. What is finished is kept:
a sweep that was stopped goes on from there.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import shutil
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.errors import Told
from reproduction.report import notebook, saving
from reproduction.runner import pool, session, stale
from reproduction.study.catalogue import Catalogue, Entry

CELLS = "cells"  # the name of the comparison's own frame, <id>.csv


class Point(NamedTuple):
    """One run of a sweep, with the values as they were given, the decision about it,
    and where it saves.
    """

    given: Mapping[str, str]
    step: stale.Step
    folder: Path

    @property
    def label(self) -> str:
        """`n_aspects=5 seed=1`."""
        return " ".join(f"{name}={text}" for name, text in self.given.items())

    @property
    def record(self) -> Path:
        """Where it is kept how the run ended, and what it was made from."""
        return self.folder / "point.json"

    def saved(self) -> list[Path]:
        """The files of a finished run; none where it has to run."""
        record = stale.Record.read(self.record)
        if record is None or record.stale(self.step.parts):
            return []
        paths = [self.folder / name for name in record.saved["files"]]
        return paths if all(path.is_file() for path in paths) else []


class SweepError(Told, ValueError):
    """The sweep cannot be run with these values."""


def values(text: str) -> list[str]:
    """The values of one parameter from a text: `5,10,20` are three, `[1,2],[3]` two.

    A text that is no Python value is split at its commas.

    Raises: SweepError where one is empty.

    Example:
    >>> values("5,10,20"), values("[1,2],[3]"), values("mean,median")
    (['5', '10', '20'], ['[1, 2]', '[3]'], ['mean', 'median'])
    """
    texts = []
    try:
        for value in ast.literal_eval(f"({text},)"):
            texts.append(value if isinstance(value, str) else repr(value))
    except notebook.NO_LITERAL:
        texts = [value.strip() for value in text.split(",")]
    if "" in texts:
        raise SweepError(
            f"{text!r}: a value is empty; the form is NAME=VALUE,VALUE,..."
        )
    return texts


def points(
    catalogue: Catalogue, entry: Entry, swept: Mapping[str, str], mode: str = "full"
) -> list[Point]:
    """Every combination of the values, the last parameter varying fastest.

    swept: parameter -> its values as text (see `values`).
    mode: "full" or "quick".
    Raises: SweepError for parameters and values that the notebook refuses;
    CatalogueError.
    """
    if not swept:
        raise SweepError("which parameter? Give -p NAME=VALUE,VALUE,...")
    if not entry.saves:
        raise SweepError(f"{entry.id} saves no result: there is nothing to join")
    stale.forget()
    combinations = []
    typed = set()
    for texts in itertools.product(*map(values, swept.values())):
        texts_by_name = dict(zip(swept, texts, strict=True))
        options = stale.Options(mode=mode, overrides=texts_by_name)
        step = stale.step(entry, catalogue, options)
        if step.action == "refused":
            raise SweepError(step.reason)
        folder = _folder(entry, mode) / _name(texts_by_name)
        combinations.append(Point(texts_by_name, step, folder))
        # Different texts may be the same value to the notebook.
        read = {name: step.values[name] for name in swept}
        typed.add(json.dumps(read, default=str))
    if len(typed) < len(combinations):
        raise SweepError("two of the values are the same")
    return combinations


def sweep(
    entry: Entry, todo: Sequence[Point], jobs: int = 1
) -> tuple[dict[str, pd.DataFrame], list[Point]]:
    """Run the points that are not there yet, and join every saved frame under each
    other, the swept parameters as first columns: the frames, and the points that
    failed.

    Of the frames, `cells` is the comparison with the paper, the others have the names
    that the notebook gave them. A column that a frame has already is called `NAME
    (parameter)`.

    Raises: SweepError where data sets are missing; OSError.
    """
    missing = stale.missing(entry.inputs)
    if missing:
        gaps = [f"{name} are not available here: {missing[name]}" for name in missing]
        raise SweepError("; ".join(gaps))
    show = session.Progress(len(todo))
    waiting = {}
    for point in todo:
        if point.saved():
            show.outcome(point.label, "cached")
        else:
            waiting[point.label] = point
    following = iter([_job(entry, point) for point in waiting.values()])
    for job, answer, seconds in pool.executed(jobs, lambda: next(following, None)):
        point = waiting[job.name]
        report, problems = session.came(entry, answer, point.folder / "saved.json")
        show.outcome(job.name, "failed" if problems else "ran", seconds)
        for text in problems:
            show.say(textwrap.indent(text, "    "))
        if not problems:
            record = stale.Record("ok", point.step.parts, round(seconds, 2), report)
            record.write(point.record)
    frames = defaultdict[str, list[pd.DataFrame]](list)
    failed = []
    for point in todo:
        paths = point.saved()
        if not paths:
            failed.append(point)
        for path in paths:
            if path.suffix == ".csv":
                frame = _with_parameters(pd.read_csv(path), point)
                name = path.stem.removeprefix(entry.id).strip("_") or CELLS
                frames[name].append(frame)
    joined = {name: pd.concat(frames[name], ignore_index=True) for name in frames}
    return joined, failed


def _with_parameters(frame: pd.DataFrame, point: Point) -> pd.DataFrame:
    """A saved frame with the values of the point as its first columns."""
    for number, (parameter, text) in enumerate(point.given.items()):
        column = parameter
        if column in frame.columns:
            column = f"{parameter} (parameter)"
        value = point.step.values[parameter]
        if not isinstance(value, (int, float, str, bool)):
            value = text
        frame.insert(number, column, value)
    return frame


def save(
    entry: Entry, tables: Mapping[str, pd.DataFrame], mode: str = "full"
) -> list[Path]:
    """Write the joined frames below `results/sweeps/<id>/`; the paths."""
    paths = []
    for name, frame in tables.items():
        stem = entry.id if name == CELLS else f"{entry.id}__{name}"
        path = _folder(entry, mode) / f"{stem}.csv"
        files.write_text(path, saving.csv_text(frame))
        paths.append(path)
    return paths


def brief(frame: pd.DataFrame, swept: Sequence[str]) -> pd.DataFrame:
    """The columns of a joined frame in which points differ: the parameters, numbers,
    and texts that are not the same in every row.
    """
    columns = []
    for name in frame.columns:
        column = frame[name]
        is_text = not pd.api.types.is_numeric_dtype(column)
        dull = (
            name in ("signature", "reason", "route")
            or column.isna().all()
            or (is_text and column.nunique(dropna=False) == 1)
        )
        if not dull or name.removesuffix(" (parameter)") in swept:
            columns.append(name)
    return frame[columns]


def _folder(entry: Entry, mode: str) -> Path:
    """Where a sweep of an output saves, in a mode."""
    return files.results() / "sweeps" / ("quick" if mode == "quick" else "") / entry.id


def _name(point: Mapping[str, str]) -> str:
    """A folder's name for a point: readable, and different for different points."""
    text = ",".join(f"{name}={value}" for name, value in point.items())
    plain = re.sub(r"[^\w.,=+-]", "_", text)
    if plain == text and len(text) <= 80:
        return text
    return f"{plain[:60]}-{stale.digest(text)[:8]}"


def _job(entry: Entry, point: Point) -> pool.Job:
    """The job of a point; what an earlier run left in its folder is removed."""
    shutil.rmtree(point.folder, ignore_errors=True)
    point.folder.mkdir(parents=True)
    place = point.folder.resolve()
    environment = {
        "NLGEVAL_RESULTS": str(place / "results"),
        "NLGEVAL_FIGURES": str(place / "figures"),
        "NLGEVAL_RECORD": str(place / "saved.json"),
        "NLGEVAL_TRIAL": "1",
        "NLGEVAL_REPLACE": "",
    }
    copy = place / "executed.ipynb"
    source = entry.path.resolve()
    return pool.Job(point.label, source, copy, point.step.values, environment)
