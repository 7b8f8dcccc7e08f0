"""The transcribed tables: where they lie, how they are read, what they list.

A printed number has five names: paper, table, and the `KEY` row, column and statistic.
`load` gives a table's cells, `cell` a single number, `index` the list of all tables.
`strings` reads any of the text-only CSV files of this room and refuses a malformed one.
`known` and `nearest` make errors that name what was probably meant.
"""

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
from reproduction.papers.numbers import parse

PAPERS = ("tigerscore", "semscore", "hdeval", "prometheus", "coascore")
COLUMNS = ("paper", "table", "row", "column", "statistic", "value")  # of a table's file
KEY = ("row", "column", "statistic")  # what names a cell within its table
# a point too many, a decimal comma, a letter O or l for a digit, digits of another
# script, a footnote mark
_MISPRINT = re.compile(
    r"""
    [\s*$]*[+-]?
    (?=.*\d)[\dOolI.,]+      # at least one digit
    \s*%?
    [\s*$^{}\u2020\u2021]*   # daggers and other footnote marks
    """,
    re.VERBOSE,
)
MARK_COLUMNS = ("table", *KEY, "mark")  # of marks.csv
# of index.csv
INDEX_COLUMNS = ("paper", "id", "number", "kind", "title", "cells", "place", "note")
KINDS = ("numeric", "figure", "prompt", "text", "diagram")  # of tables and figures
SHOWN = 5  # keys that an error message names


def folder() -> Path:
    """The folder of the printed tables, `data/paper_tables`."""
    return files.data() / "paper_tables"


def tables(paper: str) -> list[str]:
    """The transcribed tables and figures of a paper, by name, such as "table_01".

    paper: one of `PAPERS`.
    Returns: sorted names; `text_claims`, the numbers of the running text, is among
    them.
    Raises: ValueError for an unknown paper.
    """
    known(paper, PAPERS, "paper")
    names = {path.stem for path in (folder() / paper).glob("*.csv")}
    # These files are about the tables and are none themselves.
    return sorted(names - {"index", "marks", "witnesses"})


def load(paper: str, table: str) -> pd.DataFrame:
    """One printed table, a row a cell, in the printed order.

    paper: one of `PAPERS`.
    table: one of `tables(paper)`.
    Returns: a copy with the columns `COLUMNS`, `printed` (the value as printed) and
    `number` (NaN where the cell holds no single number; a percentage stays in percent).
    Raises: ValueError for an unknown paper or table, naming the nearest, and for a
    malformed file.
    """
    known(table, tables(paper), f"table of {paper}")
    path = folder() / paper / f"{table}.csv"
    return _read(path, path.stat().st_mtime_ns).copy()


def index() -> pd.DataFrame:
    """Every printed table and figure of the five papers, a row each.

    Returns: the columns `INDEX_COLUMNS`. `kind` is one of `KINDS`; `cells` counts the
    printed numbers that are transcribed; `place` is where it stands in the paper.
    """
    frames = [
        strings(folder() / paper / "index.csv", INDEX_COLUMNS) for paper in PAPERS
    ]
    return pd.concat(frames, ignore_index=True).astype({"cells": int})


def marks(paper: str) -> pd.DataFrame:
    """The printed cells of a paper that are in bold or underlined, a row a mark.

    Returns: `table, row, column, statistic, mark`; no row where the paper's text keeps
    no marks.
    """
    return strings(folder() / paper / "marks.csv", MARK_COLUMNS)


def cell(paper: str, table: str, row: str, column: str, statistic: str) -> float:
    """The printed number at one place; NaN where the cell holds no single number.

    row, column, statistic: names as `load` gives them.
    Raises: ValueError for an unknown name, naming the nearest.
    """
    frame = load(paper, table)
    # Name by name, so that an error lists the columns of this row alone.
    for name, value in zip(KEY, (row, column, statistic), strict=True):
        known(value, frame[name].unique(), f"{name} of {paper} {table}")
        frame = frame[frame[name] == value]
    return float(frame["number"].iloc[0])


def keys_in_words(keys: Iterable[Iterable[Any]]) -> str:
    """The first few keys for an error message, and how many more there are.

    Example:
    >>> keys_in_words([("BLEU", "average"), ("ROUGE-1", "average")])
    '[BLEU / average], [ROUGE-1 / average]'
    """
    texts = ["[" + " / ".join(map(str, key)) + "]" for key in keys]
    words = ", ".join(texts[:SHOWN])
    if len(texts) > SHOWN:
        words += f" and {len(texts) - SHOWN} more"
    return words


def nearest(name: str, allowed: Iterable[str]) -> list[str]:
    """The allowed names most like `name`; the first eight, sorted, where none is like
    it.

    Example:
    >>> nearest("ROUGE1", ["BLEU", "METEOR", "ROUGE-1"])
    ['ROUGE-1']
    """
    names = list(map(str, allowed))
    return near(name, names) or sorted(names)[:8]


def known(name: str, allowed: Iterable[str], kind: str = "name") -> None:
    """Pass where a name is one of those allowed.

    Raises: ValueError naming the nearest of `allowed` for any other name.
    """
    names = list(allowed)
    if name not in names:
        raise ValueError(f"unknown {kind}: {name!r}; nearest: {nearest(name, names)}")


def strings(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """A CSV file as text, nothing read as missing; no row without a file.

    columns: the names that its header must have, in this order.
    Raises: ValueError for other columns, a row with more or fewer fields, and a quote
    that is not closed.
    """
    if not path.exists():
        return pd.DataFrame(columns=list(columns), dtype=str)
    text = path.read_text(encoding="utf-8-sig")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise ValueError(f"{path}: {error}; is a double quote not closed?") from None
    header = rows.pop(0) if rows else []
    if tuple(header) != columns:
        raise ValueError(f"{path}: columns {header}, expected {list(columns)}")
    # The header is row 1.
    for number, row in enumerate(rows, start=2):
        if len(row) != len(columns):
            raise ValueError(
                f"{path}: not {len(columns)} fields in row {number}; "
                "quote values that hold a comma"
            )
    return pd.DataFrame(rows, columns=list(columns), dtype=str)


@functools.lru_cache(maxsize=256)
def _read(path: Path, modified: int) -> pd.DataFrame:
    """A table's file, as `load` gives it; `modified`: its time, so that a changed file
    is read anew.
    """
    frame = strings(path, COLUMNS)
    of_another = frame["paper"] != path.parent.name
    of_another |= frame["table"] != path.stem
    foreign = frame[of_another | frame.duplicated(list(KEY))]
    if len(foreign):
        keys = foreign[["paper", "table", *KEY]].to_numpy().tolist()
        raise ValueError(
            f"{path}: rows of another table, or a cell given twice: "
            f"{keys_in_words(keys)}"
        )
    numbers = [float(parse(value)) for value in frame["value"]]
    frame = frame.assign(printed=frame["value"], number=numbers)
    # A cell without a number is a word, a range or a bound; one that looks like a
    # number was copied wrongly.
    without_number = frame.loc[frame["number"].isna(), [*KEY, "value"]]
    for *key, text in without_number.itertuples(index=False, name=None):
        if _MISPRINT.fullmatch(text):
            raise ValueError(
                f"{path}, {keys_in_words([key])}: "
                f"{text!r} looks like a number and is none"
            )
    return frame.astype({"number": float})
