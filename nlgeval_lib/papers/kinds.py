"""What each printed number is about: the paper's own method, its ablation, or what it
is compared with; and what sort of evidence an equal number is.

`data/paper_tables/kinds.csv` declares the kind of every printed cell, `own_methods.csv`
what would test a paper's own method, `evidence.csv` examples and reprints that the
numbers themselves do not tell. In all three a star stands for any text, and the first
line that fits a cell decides.
"""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from nlgeval_lib.papers.numbers import parse
from nlgeval_lib.papers.printed_tables import (
    KEY,
    PAPERS,
    folder,
    index,
    keys_in_words,
    load,
    strings,
    tables,
)

OWN = "own method"
ABLATION = "ablation"
COUNT = "count"
ROW_KINDS = (
    OWN,
    ABLATION,
    "LLM judge",
    "learned metric",
    "lexical metric",
    "human",
    COUNT,
)
DISTINCT = "distinct"
REPRINT = "reprint"
MEAN = "average"
CHANGE = "difference"
SIZE = "size"
EXAMPLE = "single example"
EVIDENCE = (DISTINCT, REPRINT, MEAN, CHANGE, SIZE, EXAMPLE)
TEXT_CLAIMS = "text_claims"  # numbers of the running text, in no printed table
_KIND_COLUMNS = ("paper", "table", "row", "column", "kind", "method")
_NEEDS_COLUMNS = ("paper", "table", "method", "needs")
_EVIDENCE_COLUMNS = ("paper", "table", "row", "column", "evidence", "why")


def kind_of(paper: str, table: str, row: str, column: str) -> tuple[str, str]:
    """The kind of a printed cell and the method it is of.

    Raises: ValueError where `kinds.csv` has no line for the cell.
    """
    path = folder() / "kinds.csv"
    return _kind_of((paper, table, row, column), path, _modified(path))


@functools.lru_cache(maxsize=8192)
def _kind_of(
    place: tuple[str, str, str, str], path: Path, modified: int
) -> tuple[str, str]:
    for *patterns, kind, method in _read_lines(path, _KIND_COLUMNS, modified):
        if _fits(place, patterns):
            return kind, method
    raise ValueError(f"{keys_in_words([place])} has no kind; add a line to {path}")


def own_method(paper: str, table: str = "*") -> tuple[str, str]:
    """The name of a paper's own method, and what would test it in one table.

    Raises: ValueError where `own_methods.csv` has no line for the paper.
    """
    for *patterns, method, needs in _lines("own_methods.csv", _NEEDS_COLUMNS):
        if _fits((paper, table), patterns):
            return method, needs
    raise ValueError(
        f"{paper} has no own method; add a line to {folder() / 'own_methods.csv'}"
    )


def with_kinds(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells with the columns `kind`, `method` and `evidence`.

    cells: `paper, table, row, column, statistic, verdict`; rows that have no printed
    counterpart (verdict `extra`) get empty texts.
    Raises: ValueError for a printed cell without a kind.
    """
    kinds = []
    methods = []
    evidence = []
    for cell in cells.itertuples(index=False):
        kind = ""
        method = ""
        sort = ""
        if cell.verdict != "extra":
            place = (cell.paper, cell.table, cell.row, cell.column)
            kind, method = kind_of(*place)
            sort = evidence_of(*place, cell.statistic)
        kinds.append(kind)
        methods.append(method)
        evidence.append(sort)
    return cells.assign(kind=kinds, method=methods, evidence=evidence)


def evidence_of(paper: str, table: str, row: str, column: str, statistic: str) -> str:
    """What an equal number is evidence of: one of EVIDENCE.

    A reprint stands in an earlier table under the same row, column and statistic, or is
    declared; averages, differences and sizes are recognised by their names.
    """
    cell = (paper, table, row, column)
    for *patterns, evidence, _ in _lines("evidence.csv", _EVIDENCE_COLUMNS):
        if _fits(cell, patterns):
            return evidence
    if statistic.startswith("count") or kind_of(*cell)[0] == COUNT:
        return SIZE
    if (table, row, column, statistic) in _reprinted(paper, folder()):
        return REPRINT
    if is_change(row, statistic):
        return CHANGE
    return MEAN if is_average(row, column) else DISTINCT


def is_average(row: str, column: str) -> bool:
    """Whether a cell is printed as the mean or total of others."""
    names = f"{row} | {column}".lower().split(" | ")
    return any(name.startswith(("average", "total")) for name in names)


def is_change(row: str, statistic: str) -> bool:
    """Whether a cell is printed as a difference or gain between others."""
    return (
        row.startswith("delta")
        or row.endswith("Gain (%)")
        or statistic.startswith(("difference", "gain"))
    )


def printed_cells() -> pd.DataFrame:
    """Every printed number of the tables and figures: `paper, table, row, column,
    statistic, printed, kind, method, evidence`.
    """
    frames = []
    for paper in PAPERS:
        for table in tables(paper):
            frame = load(paper, table)
            if table != TEXT_CLAIMS:
                frames.append(frame[frame["number"].notna()])
    columns = ["paper", "table", *KEY, "printed"]
    joined = pd.concat(frames, ignore_index=True)[columns]
    return with_kinds(joined.assign(verdict="")).drop(columns="verdict")


def own_numbers(paper: str, table: str) -> int:
    """How many of a table's printed numbers are the paper's own method's."""
    if table not in tables(paper):
        return 0
    frame = load(paper, table)
    numbers = frame[frame["number"].notna()]
    pairs = zip(numbers["row"], numbers["column"], strict=True)
    return sum(kind_of(paper, table, *pair)[0] == OWN for pair in pairs)


def _fits(cell: tuple[str, ...], patterns: list[str]) -> bool:
    return all(map(fnmatchcase, cell, patterns))


def _lines(name: str, columns: tuple[str, ...]) -> list[list[str]]:
    path = folder() / name
    return _read_lines(path, columns, _modified(path))


def _modified(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@functools.lru_cache(maxsize=16)
def _read_lines(path: Path, columns: tuple[str, ...], modified: int) -> list[list[str]]:
    """The rows of a file; `modified`: so that a changed file is read anew."""
    return strings(path, columns).to_numpy().tolist()


@functools.lru_cache(maxsize=16)
def _reprinted(paper: str, place: Path) -> frozenset[tuple[str, str, str, str]]:
    """The cells whose number an earlier table prints under the same names.

    place: the folder of the tables, so that another checkout is read anew.
    """
    listed = set(index().query("paper == @paper")["id"]) & set(tables(paper))
    # Tables stand before figures, each in the order of their names.
    in_order = sorted(listed, key=lambda name: (not name.startswith("table_"), name))
    first_print: dict[tuple[str, ...], tuple[object, str]] = {}
    reprints = set()
    for table in in_order:
        cells = load(paper, table)[[*KEY, "printed"]]
        for row, column, statistic, printed in cells.to_numpy().tolist():
            number = parse(printed).value
            if number is None:
                continue
            key = (row, column, statistic)
            value, source = first_print.setdefault(key, (number, table))
            if value == number and source != table:
                reprints.add((table, *key))
    return frozenset(reprints)
