"""Runs on the side, which leave the results alone: a sweep over parameter values; a
check that results come out again.

points = trials.points(entry, {"n_aspects": "5,10,20"})
done, failed = trials.sweep(entry, points, jobs=2)
trials.joined(entry, done)["cells"]
"""

from __future__ import annotations

import ast
import io
import itertools
import json
import os
import re
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.report import saving
from nlgeval_lib.runner import pool, session, stale
from nlgeval_lib.study.catalogue import Catalogue, Entry

CELLS = "cells"  # the name of the comparison's own frame, <id>.csv


@dataclass(frozen=True)
class Point:
    """One run of a sweep: the parameters' values as they were given, and the folder
    of what it saved.
    """

    given: Mapping[str, str]
    step: stale.Step
    folder: Path

    @property
    def label(self) -> str:
        """`n_aspects=5 seed=1`."""
        return " ".join(f"{name}={text}" for name, text in self.given.items())

    @property
    def saved(self) -> list[Path]:
        """The files that the last run of this point left; none where it has to be
        run.
        """
        record = stale.Record.read(self.folder / "point.json")
        if record is None or record.stale(self.step.parts):
            return []
        found = [self.folder / name for name in record.saved["files"]]
        return found if all(path.is_file() for path in found) else []


class SweepError(ValueError):
    """The sweep cannot be run as it was asked for."""


def values(text: str) -> list[str]:
    """`5,10,20` as three values, `[1,2],[3]` as two; what is no Python value is parted
    at its commas.

    Raises: SweepError where one is empty.
    """
    try:
        found = [
            repr(value) if not isinstance(value, str) else value
            for value in ast.literal_eval(f"({text},)")
        ]
    except (ValueError, SyntaxError):
        found = [value.strip() for value in text.split(",")]
    if "" in found:
        raise SweepError(
            f"{text!r}: a value is empty; the form is NAME=VALUE,VALUE,..."
        )
    return found


def points(
    listed: Catalogue, entry: Entry, given: Mapping[str, str], mode: str = "full"
) -> list[Point]:
    """Every combination of the values, the last parameter varying fastest.

    given: parameter -> its values as text (see `values`).
    Raises: SweepError for parameters and values that the notebook refuses;
    CatalogueError.
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
        found.append(Point(point, decided, _folder(entry, mode) / _name(point)))
    typed = [
        json.dumps({name: point.step.values[name] for name in given}, default=str)
        for point in found
    ]
    if len(set(typed)) < len(typed):
        raise SweepError("two of the values are the same")
    return found


def sweep(
    entry: Entry,
    todo: Sequence[Point],
    *,
    jobs: int = 1,
    force: bool = False,
    timeout: int | None = None,
) -> tuple[list[Point], list[Point]]:
    """Run the points that are not there yet; those that are there now, and those that
    failed.

    What a point saved is kept as soon as it is finished: a sweep that is stopped goes
    on from there.
    Raises: KeyboardInterrupt; OSError where results cannot be written.
    """
    if lacking := stale.missing(entry.inputs):
        raise SweepError(
            "; ".join(
                f"{name} cannot be had here: {why}" for name, why in lacking.items()
            )
        )
    show = session.Progress(len(todo))
    failed = list[Point]()
    waiting = {point.label: point for point in todo if force or not point.saved}
    for point in todo:
        if point.label not in waiting:
            show.outcome(point.label, "cached")
    following = (_job(point, timeout) for point in waiting.values())
    try:
        for job, answer, seconds in pool.executed(
            jobs, lambda: next(following, None), show.tick
        ):
            point = waiting[job.name]
            saved, said = session.came(entry, answer, point.folder / "saved.json")
            if not said:
                code = stale.code(saved.get("modules", ()))
                stale.Record(
                    "ok", point.step.parts, code, round(seconds, 2), saved
                ).write(point.folder / "point.json")
            show.outcome(job.name, "failed" if said else "ran", seconds)
            failed += [point] if said else []
            for line in said:
                show.say(textwrap.indent(line, "    "))
    finally:
        show.close()
    return [point for point in todo if point not in failed], failed


def joined(entry: Entry, done: Sequence[Point]) -> dict[str, pd.DataFrame]:
    """Every saved frame of the points under each other, the swept parameters as first
    columns.

    `cells` is the comparison with the paper, the others have the names that the
    notebook gave them. A column that the frame has already is called `NAME
    (parameter)`.
    """
    found: dict[str, list[pd.DataFrame]] = {}
    for point in done:
        for path in (path for path in point.saved if path.suffix == ".csv"):
            frame = pd.read_csv(path)
            for number, (parameter, text) in enumerate(point.given.items()):
                value = point.step.values[parameter]
                column = (
                    f"{parameter} (parameter)"
                    if parameter in frame.columns
                    else parameter
                )
                frame.insert(
                    number,
                    column,
                    value if isinstance(value, (int, float, str, bool)) else text,
                )
            found.setdefault(
                path.stem.removeprefix(entry.id).strip("_") or CELLS, []
            ).append(frame)
    return {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}


def save(
    entry: Entry, tables: Mapping[str, pd.DataFrame], mode: str = "full"
) -> list[Path]:
    """Write the joined frames below `results/sweeps/<id>/`; the paths."""
    written = []
    for name, frame in tables.items():
        written.append(
            _folder(entry, mode)
            / f"{entry.id}{'' if name == CELLS else f'__{name}'}.csv"
        )
        files.write_text(written[-1], saving.csv_text(frame))
    return written


def brief(frame: pd.DataFrame, swept: Sequence[str]) -> pd.DataFrame:
    """The columns of a joined frame that tell points apart: parameters, and what is
    not the same text in every row.
    """
    texts = [
        column
        for column in frame.columns
        if not pd.api.types.is_numeric_dtype(frame[column])
    ]
    dull = {column for column in texts if frame[column].nunique(dropna=False) == 1} | {
        "signature",
        "reason",
        "route",
    }
    dull |= {column for column in frame.columns if frame[column].isna().all()}
    return frame[
        [
            name
            for name in frame
            if name.removesuffix(" (parameter)") in swept or name not in dull
        ]
    ]


def _folder(entry: Entry, mode: str) -> Path:
    return files.results() / "sweeps" / ("quick" if mode == "quick" else "") / entry.id


def _name(point: Mapping[str, str]) -> str:
    """A folder's name for a point: readable, and different for different points."""
    text = ",".join(f"{name}={value}" for name, value in point.items())
    plain = re.sub(r"[^\w.,=+-]", "_", text)
    return (
        text
        if plain == text and len(text) <= 80
        else f"{plain[:60]}-{stale.digest(text)[:8]}"
    )


def _job(point: Point, timeout: int | None) -> pool.Job:
    shutil.rmtree(point.folder, ignore_errors=True)
    point.folder.mkdir(parents=True)
    place = point.folder.resolve()
    places = {
        "RESULTS": place / "results",
        "FIGURES": place / "figures",
        "RECORD": place / "saved.json",
    }
    environment = {f"NLGEVAL_{name}": str(path) for name, path in places.items()}
    environment |= {"NLGEVAL_TRIAL": "1", "NLGEVAL_REPLACE": ""}
    source = point.step.entry.path.resolve()
    return pool.Job(
        point.label,
        source,
        place / "executed.ipynb",
        point.step.values,
        environment,
        timeout,
    )


# ---- do the saved results come out again?


def check(
    catalogue: Catalogue,
    entries: Sequence[Entry],
    jobs: int,
    say: Callable[[str], None],
) -> int:
    """Run `entries` into a temporary folder and compare value by value; 0 where
    nothing differs or failed, else 1.
    """
    saved = files.results().resolve()
    with tempfile.TemporaryDirectory(prefix="nlgeval-check-") as name:
        fresh = Path(name, "results")
        places = {
            "NLGEVAL_RESULTS": str(fresh),
            "NLGEVAL_FIGURES": str(Path(name, "figures")),
        }
        with mock.patch.dict(os.environ, places):
            outcome = session.Session(
                catalogue, stale.Options(jobs=jobs, force=True, records=False)
            ).run(entries)
        words = []
        for entry in (entry for entry in entries if entry.saves):
            word, lines = (
                _verdict(entry, saved, fresh)
                if entry.id in outcome.ran
                else ("not run", [])
            )
            words.append(word)
            for line in (f"{word:11} {entry.id}", *(f"    {line}" for line in lines)):
                say(line)
    say(
        ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        or "nothing to compare"
    )
    return 1 if outcome.failed or "differs" in words else 0


def _verdict(entry: Entry, saved: Path, fresh: Path) -> tuple[str, list[str]]:
    folder = Path("mini" if entry.route == "mini" else "", entry.paper)
    lines = list[str]()
    lacking = list[str]()
    for path in sorted(
        [
            *(fresh / folder).glob(f"{entry.id}.csv"),
            *(fresh / folder).glob(f"{entry.id}__*.csv"),
        ]
    ):
        before = saved / folder / path.name
        found = list[str]()
        gaps = ["nothing saved to compare with"]
        if before.exists():
            found, gaps = compared(
                before.read_text(encoding="utf-8"), path.read_text(encoding="utf-8")
            )
        lines += [f"{path.name}: {text}" for text in found]
        lacking += [f"{path.name}: {text}" for text in gaps]
    if lines:
        return "differs", lines[:20]
    return ("equal, less" if lacking else "equal"), lacking


def compared(old: str, new: str) -> tuple[list[str], list[str]]:
    """Differences between two result files; and, of a comparison, how many of its
    cells cannot be had here.
    """
    before, after = (
        pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
        for text in (old, new)
    )
    if len(before) != len(after) or not {"verdict", "ours", "reason"} <= {*before} & {
        *after
    }:
        return saving.csv_differences(old, new), []
    gone = (before["ours"] != "") & (after["ours"] == "")
    found = saving.csv_differences(
        before[~gone].to_csv(index=False), after[~gone].to_csv(index=False)
    )
    reasons = "; ".join(dict.fromkeys(after.loc[gone, "reason"]))
    return found, [
        f"{gone.sum()} cells cannot be had here: {reasons}"
    ] if gone.any() else []
