"""The transcribed tables: where they lie, how they are read, what they list."""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.names import near
from nlgeval_lib.papers.numbers import parse

PAPERS = ("tigerscore", "semscore", "hdeval", "prometheus", "coascore")
COLUMNS = ("paper", "table", "row", "column", "statistic", "value")
KEY = ("row", "column", "statistic")
# a point too many, a decimal comma, a letter O or l for a digit, digits of another
# script, a footnote mark
_MISPRINT = re.compile(r"[\s*$]*[+-]?(?=.*\d)[\dOolI.,]+\s*%?[\s*$^{}\u2020\u2021]*")
MARK_COLUMNS = ("table", *KEY, "mark")
INDEX_COLUMNS = ("paper", "id", "number", "kind", "title", "cells", "place", "note")
KINDS = ("numeric", "figure", "prompt", "text", "diagram")


def folder() -> Path:
    """Where the printed tables lie."""
    return files.data() / "paper_tables"


def tables(paper: str) -> list[str]:
    """The transcribed tables and figures of a paper, by name.

    Raises: ValueError for an unknown paper.
    """
    known(paper, PAPERS, "paper")
    return sorted(
        path.stem
        for path in (folder() / paper).glob("*.csv")
        if path.stem not in ("index", "marks", "witnesses")
    )


def load(paper: str, table: str) -> pd.DataFrame:
    """One printed table, a row a cell: `COLUMNS`, and added to them `printed` (the
    value as printed) and `number` (NaN where the cell holds no single number; a
    percentage stays in percent).

    Raises: ValueError for an unknown paper or table, naming the nearest, and for a
    malformed file.
    """
    known(table, tables(paper), f"table of {paper}")
    path = folder() / paper / f"{table}.csv"
    return _read(path, path.stat().st_mtime_ns).copy()


def index() -> pd.DataFrame:
    """Every printed table and figure of the five papers: `paper, id, number, kind,
    title, cells, place, note`.

    `kind` is one of numeric, figure, prompt, text, diagram; `cells` counts the printed
    numbers that are transcribed.
    """
    frames = [
        strings(folder() / paper / "index.csv", INDEX_COLUMNS) for paper in PAPERS
    ]
    return pd.concat(frames, ignore_index=True).astype({"cells": int})


def marks(paper: str) -> pd.DataFrame:
    """The printed cells in bold or underlined: `table, row, column, statistic,
    mark`; none where a text keeps none.
    """
    return strings(folder() / paper / "marks.csv", MARK_COLUMNS)


def cell(paper: str, table: str, row: str, column: str, statistic: str) -> float:
    """The printed number at one place; NaN for none.

    Raises: ValueError for an unknown name, naming the nearest.
    """
    frame = load(paper, table)
    for name, value in zip(KEY, (row, column, statistic), strict=True):
        known(value, frame[name].unique(), f"{name} of {paper} {table}")
        frame = frame[frame[name] == value]
    return float(frame["number"].iloc[0])


def keys_in_words(keys: Iterable[Iterable[Any]], shown: int = 5) -> str:
    """The first few keys for an error message, and how many more there are."""
    texts = ["[" + " / ".join(map(str, key)) + "]" for key in keys]
    return ", ".join(texts[:shown]) + (
        f" and {len(texts) - shown} more" if len(texts) > shown else ""
    )


def nearest(name: str, allowed: Iterable[str]) -> list[str]:
    """The allowed names most like `name`; the first few where none is."""
    known = list(map(str, allowed))
    return near(name, known) or sorted(known)[:8]


def known(name: str, allowed: Iterable[str], what: str = "name") -> None:
    """Raises: ValueError naming the nearest of `allowed`, where `name` is none of
    them.
    """
    if name not in (allowed := list(allowed)):
        raise ValueError(f"unknown {what}: {name!r}; nearest: {nearest(name, allowed)}")


def strings(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """A CSV file as text, nothing read as missing; no row without a file.

    Raises: ValueError for other columns.
    """
    if not path.exists():
        return pd.DataFrame(columns=list(columns), dtype=str)
    text = path.read_text(encoding="utf-8-sig")
    try:
        header, *rows = list(
            csv.reader(io.StringIO(text, newline=""), strict=True)
        ) or [[]]
    except csv.Error as error:
        raise ValueError(f"{path}: {error}; is a double quote not closed?") from None
    if tuple(header) != columns:
        raise ValueError(f"{path}: columns {header}, expected {list(columns)}")
    if ragged := [
        number for number, row in enumerate(rows, start=2) if len(row) != len(columns)
    ]:
        raise ValueError(
            f"{path}: not {len(columns)} fields in row {ragged[0]}; quote values that hold a comma"
        )
    return pd.DataFrame(rows, columns=list(columns), dtype=str)


@functools.lru_cache(maxsize=256)
def _read(path: Path, modified: int) -> pd.DataFrame:
    frame = strings(path, COLUMNS)
    foreign = (
        (frame["paper"] != path.parent.name)
        | (frame["table"] != path.stem)
        | frame.duplicated(list(KEY))
    )
    if foreign.any():
        bad = frame.loc[foreign, ["paper", "table", *KEY]].to_numpy().tolist()
        raise ValueError(
            f"{path}: rows of another table, or a cell given twice: {keys_in_words(bad)}"
        )
    frame = frame.assign(
        printed=frame["value"], number=[float(parse(value)) for value in frame["value"]]
    )
    for *key, text in frame.loc[frame["number"].isna(), [*KEY, "value"]].itertuples(
        index=False, name=None
    ):
        if _MISPRINT.fullmatch(text):
            raise ValueError(
                f"{path}, {keys_in_words([key])}: {text!r} looks like a number and is none"
            )
    return frame.astype({"number": float})
