"""The papers' printed numbers as data, and our numbers beside them.

`data/paper_tables/<paper>/<table>.csv` holds one printed table or figure each, a row a cell, the value exactly as
printed. `data/paper_tables/<paper>/index.csv` lists every table and figure of a paper, numeric or not.
"""

from __future__ import annotations

import csv
import difflib
import functools
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import paths
from nlgeval_lib.printed import TOLERANCE, Number, agrees, difference, exact, is_blank, parse

__all__ = [
    "COLUMNS", "INDEX_COLUMNS", "KEY", "KINDS", "PAPERS", "RESULT", "TOLERANCE", "Number", "agrees", "cell", "compare",
    "difference", "exact", "folder", "index", "is_blank", "load", "parse", "tables",
]  # fmt: skip

PAPERS = ("tigerscore", "semscore", "hdeval", "prometheus", "coascore")
COLUMNS = ("paper", "table", "row", "column", "statistic", "value")
KEY = ("row", "column", "statistic")
INDEX_COLUMNS = ("paper", "id", "number", "kind", "title", "cells", "place", "note")
KINDS = ("numeric", "figure", "prompt", "text", "diagram")
OPTIONAL = ("route", "reason", "n", "ci_low", "ci_high", "signature")
RESULT = ("paper", "table", *KEY, "printed", "ours", "difference", "verdict", *OPTIONAL)


def folder() -> Path:
    """Where the printed tables lie."""
    return paths.data() / "paper_tables"


def tables(paper: str) -> list[str]:
    """The transcribed tables and figures of a paper, by name.

    Raises: ValueError for an unknown paper.
    """
    _known(paper, PAPERS, "paper")
    return sorted(path.stem for path in (folder() / paper).glob("*.csv") if path.stem != "index")


def load(paper: str, table: str) -> pd.DataFrame:
    """One printed table, a row a cell: `paper, table, row, column, statistic, value` and what the value says.

    Added columns: `printed` (the value as printed), `number` (float, NaN where the cell holds no single number; a
    percentage stays in percent), `decimals` (int), `percent` (bool).
    Raises: ValueError for an unknown paper or table, naming the nearest, and for a malformed file.
    """
    names = tables(paper)
    _known(table, names, f"table of {paper}")
    path = folder() / paper / f"{table}.csv"
    return _read(path, path.stat().st_mtime_ns).copy()


def index() -> pd.DataFrame:
    """Every printed table and figure of the five papers: `paper, id, number, kind, title, cells, place, note`.

    `kind` is one of numeric, figure, prompt, text, diagram; `cells` counts the printed numbers that are transcribed.
    """
    frames = []
    for paper in PAPERS:
        path = folder() / paper / "index.csv"
        if not path.exists():
            continue
        frame = _strings(path, INDEX_COLUMNS)
        wrong = frame[~frame["kind"].isin(KINDS) | (frame["paper"] != paper) | frame["id"].duplicated()]
        if len(wrong):
            raise ValueError(
                f"{path.name} of {paper}: bad rows {wrong['id'].tolist()}; kind is one of {KINDS}, ids are unique"
            )
        frames.append(frame)
    if not frames:
        return pd.DataFrame(columns=list(INDEX_COLUMNS)).astype({"cells": int})
    return pd.concat(frames, ignore_index=True).astype({"cells": int})


def cell(paper: str, table: str, row: str, column: str, statistic: str) -> float:
    """The printed number at one place; NaN where the cell holds no single number.

    Raises: ValueError for an unknown name, naming the nearest.
    """
    frame = load(paper, table)
    for name, value in zip(KEY, (row, column, statistic), strict=True):
        _known(value, frame[name].unique(), f"{name} of {paper} {table}")
        frame = frame[frame[name] == value]
    return float(frame["number"].iloc[0])


def compare(paper: str, table: str, ours: pd.DataFrame, *, reason: str = "not computed") -> pd.DataFrame:
    """Our numbers beside the printed ones, a row a printed number, in the printed order; extras at the end.

    `ours` has the columns `row, column, statistic, value` in printed units (percent where percent is printed), and
    where wanted `n, ci_low, ci_high, signature, route, reason` and `extra` (bool: a row that has no printed
    counterpart and is meant so). Verdicts: `equal` (within 0.51 steps of the last printed digit), `differs`,
    `missing` (no value; the reason says why, `reason` where ours has no such row), `extra`.
    Printed cells without a number take no part.
    Raises: ValueError for unknown or double keys, unknown columns, infinite or non-numeric values.
    """
    printed = load(paper, table)
    ours = _checked(ours, paper, table)
    records = printed.to_dict("records")
    numeric = {_key(record): record["printed"] for record in records if not math.isnan(record["number"])}
    wordy = {_key(record): record["printed"] for record in records if math.isnan(record["number"])}
    rows = {_key(record): record for record in ours.to_dict("records")}
    _refuse_unknown([key for key in rows if key not in numeric | wordy and not rows[key]["extra"]], printed)
    if clash := [key for key in rows if key in numeric and rows[key]["extra"]]:
        raise ValueError(f"{paper} {table} prints these cells, yet they are marked extra: {_keys(clash)}")
    out = []
    for key, text in numeric.items():
        mine = rows.get(key, {"reason": reason})
        gap = difference(mine.get("value"), text)
        if gap is None:
            filled = {"verdict": "missing", "reason": mine.get("reason") or "the value is NaN and no reason was given"}
        else:
            filled = {"verdict": "equal" if abs(gap) <= TOLERANCE * parse(text).unit else "differs"}
        out.append(_row(paper, table, key, mine) | {"printed": text, "difference": _float(gap)} | filled)
    for key, mine in rows.items():
        if key in numeric:
            continue
        filled = {"verdict": "extra", "printed": wordy.get(key, "")}
        if key in wordy:
            filled["reason"] = mine.get("reason") or f"the printed cell holds no number: {wordy[key]!r}"
        out.append(_row(paper, table, key, mine) | filled)
    frame = pd.DataFrame(out, columns=list(RESULT))
    return frame.astype({"ours": float, "difference": float, "ci_low": float, "ci_high": float, "n": "Int64"})


def _key(record: dict[str, Any]) -> tuple[str, str, str]:
    return record["row"], record["column"], record["statistic"]


def _row(paper: str, table: str, key: tuple[str, str, str], mine: dict[str, Any]) -> dict[str, Any]:
    row = {"paper": paper, "table": table, **dict(zip(KEY, key, strict=True)), "ours": _float(mine.get("value"))}
    row |= dict(difference=math.nan, n=pd.NA, ci_low=math.nan, ci_high=math.nan, signature="", route="", reason="")
    return row | {name: mine[name] for name in OPTIONAL if name in mine}


def _float(value: Any) -> float:
    number = exact(value)
    return math.nan if number is None else float(number)


def _checked(ours: pd.DataFrame, paper: str, table: str) -> pd.DataFrame:
    """`ours` with its columns checked, keys as text, and a boolean `extra`."""
    needed = [*KEY, "value"]
    lacking = [name for name in needed if name not in ours.columns]
    unknown = [name for name in ours.columns if name not in (*needed, *OPTIONAL, "paper", "table", "extra")]
    if lacking or unknown:
        raise ValueError(
            f"ours for {paper} {table}: missing columns {lacking}, unknown columns {unknown}; "
            f"needed are {needed}, allowed besides {[*OPTIONAL, 'extra']}"
        )
    for name, wanted in (("paper", paper), ("table", table)):
        if name in ours.columns and (ours[name] != wanted).any():
            raise ValueError(f"ours has {name} {sorted(set(ours[name]) - {wanted})}, compared with {wanted!r}")
    ours = ours.drop(columns=["paper", "table"], errors="ignore").reset_index(drop=True)
    double = ours[ours.duplicated(list(KEY))]
    if len(double):
        raise ValueError(f"ours for {paper} {table} has keys twice: {_keys(double[list(KEY)].to_numpy().tolist())}")
    for record in ours.to_dict("records"):
        try:
            exact(record["value"])
        except ValueError as error:
            raise ValueError(f"ours for {paper} {table}, {_keys([[record[name] for name in KEY]])}: {error}") from None
    extra = ours["extra"].fillna(False).astype(bool) if "extra" in ours.columns else False
    for name in ("reason", "route", "signature"):
        if name in ours.columns:
            ours[name] = ours[name].astype(object).where(ours[name].notna(), "")
    return ours.assign(extra=extra)


def _refuse_unknown(keys: list[tuple[str, ...]], printed: pd.DataFrame) -> None:
    if not keys:
        return
    hints = []
    for position, name in enumerate(KEY):
        allowed = printed[name].unique().tolist()
        for bad in sorted({str(key[position]) for key in keys} - set(allowed)):
            hints.append(f"{name} {bad!r} (nearest: {_nearest(bad, allowed)})")
    raise ValueError(
        f"{printed['paper'].iloc[0]} {printed['table'].iloc[0]} prints no such cell: {_keys(keys)}. "
        f"{'; '.join(hints[:8])}{'. ' if hints else ''}Mark rows that are meant to be extra with extra=True."
    )


def _keys(keys: Iterable[Iterable[Any]], shown: int = 5) -> str:
    texts = ["[" + " / ".join(map(str, key)) + "]" for key in keys]
    return ", ".join(texts[:shown]) + (f" and {len(texts) - shown} more" if len(texts) > shown else "")


def _nearest(name: str, allowed: Iterable[str]) -> list[str]:
    by_fold = {str(item).casefold(): str(item) for item in allowed}
    close = difflib.get_close_matches(str(name).casefold(), by_fold, n=3, cutoff=0.4)
    return [by_fold[item] for item in close] or sorted(by_fold.values())[:8]


def _known(name: str, allowed: Iterable[str], what: str) -> None:
    allowed = list(allowed)
    if name not in allowed:
        raise ValueError(f"unknown {what}: {name!r}; nearest: {_nearest(name, allowed)}")


def _strings(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """A CSV file as text, nothing read as missing. Raises: ValueError where its header or a row is not `columns`."""
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    if tuple(header) != columns:
        raise ValueError(f"{path}: columns {header}, expected {list(columns)}")
    if ragged := [number for number, row in enumerate(rows, start=2) if len(row) != len(columns)]:
        raise ValueError(f"{path}: not {len(columns)} fields in row {ragged[0]}; quote values that hold a comma")
    return pd.DataFrame(rows, columns=list(columns), dtype=str)


@functools.lru_cache(maxsize=256)
def _read(path: Path, modified: int) -> pd.DataFrame:
    frame = _strings(path, COLUMNS)
    where = (frame["paper"] != path.parent.name) | (frame["table"] != path.stem)
    if where.any() or frame.duplicated(list(KEY)).any():
        bad = frame[where | frame.duplicated(list(KEY))][["paper", "table", *KEY]].to_numpy().tolist()
        raise ValueError(f"{path}: rows of another table, or a cell given twice: {_keys(bad)}")
    read = [parse(value) for value in frame["value"]]
    return frame.assign(
        printed=frame["value"],
        number=pd.Series([float(number) for number in read], dtype=float),
        decimals=pd.Series([number.decimals for number in read], dtype=int),
        percent=pd.Series([number.percent for number in read], dtype=bool),
    )
