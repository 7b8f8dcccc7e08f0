"""One output over values of its parameters: its notebook is run at every point, and the saved frames become one table.

points = sweep.points(entry, {"n_aspects": "5,10,20"})
done = sweep.run(entry, points, jobs=2)
sweep.joined(entry, done)["cells"]
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.runner import session, stale
from nlgeval_lib.runner.pool import Job, Pool
from nlgeval_lib.runner.progress import Progress, plain
from nlgeval_lib.study.catalogue import Catalogue, Entry

CELLS = "cells"  # the name of the comparison's own frame, <id>.csv
_OPEN, _CLOSED = "([{", ")]}"


@dataclass(frozen=True)
class Point:
    """One run of a sweep: the parameters' values as they were given, and the folder of what it saved."""

    given: Mapping[str, str]
    values: Mapping[str, Any]  # all parameters, typed
    parts: Mapping[str, str]  # hashes of what it is made from
    folder: Path

    @property
    def label(self) -> str:
        """`n_aspects=5 seed=1`."""
        return " ".join(f"{name}={text}" for name, text in self.given.items())

    @property
    def record(self) -> dict[str, Any]:
        """What the last run of this point left; empty where it has to be run."""
        try:
            kept = json.loads((self.folder / "point.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        whole = all((self.folder / name).is_file() for name in kept.get("files", ()))
        return kept if whole and not stale.changed(kept.get("parts", {}), self.parts, kept.get("modules", ())) else {}


class SweepError(ValueError):
    """The sweep cannot be run as it was asked for."""


def values(text: str) -> list[str]:
    """`5,10,20` as three values; commas within brackets or quotes belong to a value.

    Raises: SweepError where there is none, or one is empty or given twice.
    """
    found, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        depth += (sign in _OPEN) - (sign in _CLOSED) if not quote else 0
        if sign == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += sign
    found = [value.strip() for value in found]
    if "" in found:
        raise SweepError(f"{text!r}: a value is empty; the form is NAME=VALUE,VALUE,...")
    if len(set(found)) < len(found):
        raise SweepError(f"{text!r}: a value is given twice")
    return found


def points(listed: Catalogue, entry: Entry, given: Mapping[str, str], mode: str = "full") -> list[Point]:
    """Every combination of the values, the last parameter varying fastest.

    given: parameter -> its values as text (see `values`).
    Raises: SweepError for parameters and values that the notebook refuses; CatalogueError.
    """
    if not given:
        raise SweepError("which parameter? Give -p NAME=VALUE,VALUE,...")
    if not entry.saves:
        raise SweepError(f"{entry.id} saves no result: there is nothing to join")
    stale.forget()
    found = []
    for chosen in itertools.product(*map(values, given.values())):
        point = dict(zip(given, chosen, strict=True))
        decided = stale.step(entry, listed, stale.Options(mode=mode, overrides=point))
        if decided.action == "refused":
            raise SweepError(decided.reason)
        folder = _folder(entry, mode) / _name(point)
        found.append(Point(point, decided.values, dict(decided.parts), folder))
    typed = [json.dumps({name: point.values[name] for name in given}, default=str) for point in found]
    if len(set(typed)) < len(typed):
        raise SweepError("two of the values are the same")
    return found


def run(
    entry: Entry,
    todo: Sequence[Point],
    *,
    jobs: int = 1,
    force: bool = False,
    timeout: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[Point], list[Point]]:
    """Run the points that are not there yet; those that are there now, and those that failed.

    What a point saved is kept as soon as it is finished: a sweep that is stopped goes on from there.
    Raises: KeyboardInterrupt; OSError where results cannot be written.
    """
    show = progress or Progress(len(todo))
    lacking = stale.missing(entry.inputs)
    if lacking:
        raise SweepError("; ".join(f"{name} cannot be had here: {why}" for name, why in lacking.items()))
    failed: list[Point] = []
    waiting = []
    for point in todo:
        if point.record and not force:
            show.outcome(point.label, "cached")
        else:
            waiting.append(point)
    open_points: dict[str, Point] = {}
    pool = Pool(jobs) if waiting else None
    try:
        while pool and (waiting or open_points):
            while waiting and pool.free:
                point = waiting.pop(0)
                open_points[point.label] = point
                pool.submit(_job(entry, point, timeout))
            show.tick(pool.running)
            if finished := pool.next(timeout=1.0):
                job, answer, seconds = finished
                point = open_points.pop(job.name)
                problem = _keep(entry, point, answer, seconds)
                show.outcome(point.label, "failed" if problem else "ran", seconds)
                if problem:
                    failed.append(point)
                    show.say(textwrap.indent(problem, "    "))
    finally:
        if pool:
            pool.close()
        show.close()
    return [point for point in todo if point not in failed], failed


def joined(entry: Entry, done: Sequence[Point]) -> dict[str, pd.DataFrame]:
    """Every saved frame of the points under each other, the swept parameters as first columns.

    `cells` is the comparison with the paper, the others have the names that the notebook gave them. A column that the
    frame has already is called `NAME (parameter)`.
    """
    found: dict[str, list[pd.DataFrame]] = {}
    for point in done:
        for name, path in _frames(entry, point):
            frame = pd.read_csv(path)
            for number, (parameter, text) in enumerate(point.given.items()):
                value = point.values[parameter]
                column = f"{parameter} (parameter)" if parameter in frame.columns else parameter
                frame.insert(number, column, value if isinstance(value, (int, float, str, bool)) else text)
            found.setdefault(name, []).append(frame)
    return {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}


def save(entry: Entry, tables: Mapping[str, pd.DataFrame], mode: str = "full") -> list[Path]:
    """Write the joined frames below `results/sweeps/<id>/`; the paths."""
    written = []
    for name, frame in tables.items():
        path = _folder(entry, mode) / f"{entry.id}{'' if name == CELLS else f'__{name}'}.csv"
        files.write_text(path, frame.to_csv(index=False, float_format="%.10g", lineterminator="\n"))
        written.append(path)
    return written


def brief(frame: pd.DataFrame, swept: Sequence[str]) -> pd.DataFrame:
    """The columns of a joined frame that tell points apart: parameters, and what is not the same text in every row."""
    first = [column for column in frame.columns if column.removesuffix(" (parameter)") in swept]
    texts = [
        column for column in frame.columns if column not in first and not pd.api.types.is_numeric_dtype(frame[column])
    ]
    dull = {column for column in texts if frame[column].nunique(dropna=False) == 1} | {"signature", "reason", "route"}
    dull |= {column for column in frame.columns if frame[column].isna().all()}
    return frame.drop(columns=[column for column in dull if column in frame.columns and column not in first])


def _folder(entry: Entry, mode: str) -> Path:
    return files.results() / "sweeps" / ("quick" if mode == "quick" else "") / entry.id


def _name(point: Mapping[str, str]) -> str:
    """A folder's name for a point: readable, and different for different points."""
    text = ",".join(f"{name}={value}" for name, value in point.items())
    plain_text = re.sub(r"[^\w.,=+-]", "_", text)
    if plain_text == text and len(text) <= 80:
        return text
    return f"{plain_text[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _job(entry: Entry, point: Point, timeout: int | None) -> Job:
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
    return Job(point.label, entry.path.resolve(), place / "executed.ipynb", dict(point.values), environment, timeout)


def _keep(entry: Entry, point: Point, answer: Mapping[str, Any], seconds: float) -> str:
    """Note a finished point; what is wrong with it, in words."""
    if not answer["ok"]:
        return "\n".join(filter(None, [answer["error"], plain(answer.get("traceback", "")).rstrip()]))
    saved, problem = session.reported(entry, point.folder / "saved.json")
    if problem:
        return problem
    record = {
        "given": dict(point.given),
        "values": dict(point.values),
        "parts": {**point.parts, stale.CODE: stale.code(saved.get("modules", ()))},
        "modules": saved.get("modules", ()),
        "seconds": round(seconds, 2),
        "files": list(saved["files"]),
    }
    files.write_text(point.folder / "point.json", json.dumps(record, indent=1, default=str) + "\n")
    return ""


def _frames(entry: Entry, point: Point) -> Iterator[tuple[str, Path]]:
    for name in point.record.get("files", ()):
        if name.endswith(".csv"):
            stem = Path(name).stem
            yield (CELLS if stem == entry.id else stem.removeprefix(f"{entry.id}__")), point.folder / name
