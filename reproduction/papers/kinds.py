"""What each printed number is about: the paper's own method, its ablation, or what it
is compared with; and what sort of evidence an equal number is.

`data/paper_tables/kinds.csv` declares the kind of every printed cell, `own_methods.csv`
what would test a paper's own method, `evidence.csv` examples and reprints that the
numbers themselves do not tell. In all three a star stands for any text, and the first
line that fits a cell decides. `not_rivals.csv` names judges that are held against gold
of their own.
"""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from reproduction.papers.numbers import parse
from reproduction.papers.printed_tables import (
    KEY,
    PAPERS,
    folder,
    index,
    keys_in_words,
    load,
    strings,
    tables,
)

OWN = "own method"  # the evaluator that the paper is about
ABLATION = "ablation"  # the same with something left out or exchanged
COUNT = "count"  # a size: of data, of votes
# what a printed number can be about, in the order in which counts list them
ROW_KINDS = (
    OWN,
    ABLATION,
    "LLM judge",
    "learned metric",
    "lexical metric",
    "human",
    COUNT,
)
DISTINCT = "distinct"  # a measurement that stands nowhere else
REPRINT = "reprint"  # the number of an earlier table once more
MEAN = "average"  # the mean or total of printed numbers
CHANGE = "difference"  # a difference or gain between printed numbers
SIZE = "size"  # a count of data
EXAMPLE = "single example"  # about one text
EVIDENCE = (DISTINCT, REPRINT, MEAN, CHANGE, SIZE, EXAMPLE)
TEXT_CLAIMS = "text_claims"  # numbers of the running text, in no printed table
_DECLARED = "evidence.csv"  # what sort of evidence a cell is, where it is declared
# columns of the three files
_KIND_COLUMNS = ("paper", "table", "row", "column", "kind", "method")
_NEEDS_COLUMNS = ("paper", "table", "method", "needs")
_EVIDENCE_COLUMNS = ("paper", "table", "row", "column", "evidence", "why")


def kind_of(paper: str, table: str, row: str, column: str) -> tuple[str, str]:
    """The kind of a printed cell (of `ROW_KINDS`) and the method it is of.

    Raises: ValueError where `kinds.csv` has no line for the cell.
    """
    path = folder() / "kinds.csv"
    return _kind_of((paper, table, row, column), path, _modified(path))


@functools.lru_cache(maxsize=8192)
def _kind_of(
    place: tuple[str, str, str, str], path: Path, modified: int
) -> tuple[str, str]:
    """`kind_of` with the file given; `place`: paper, table, row, column; `modified`:
    the file's time.
    """
    for *patterns, kind, method in _read_lines(path, _KIND_COLUMNS, modified):
        if fits(place, patterns):
            return kind, method
    raise ValueError(f"{keys_in_words([place])} has no kind; add a line to {path}")


def own_method(paper: str, table: str = "*") -> tuple[str, str]:
    """The name of a paper's own method, and what would test it in one table.

    table: "*" for what would test it in general.
    Returns: two texts, such as ("SemScore", "the weights of all-mpnet-base-v2").
    Raises: ValueError where `own_methods.csv` has no line for the paper.
    """
    for *patterns, method, needs in declared("own_methods.csv", _NEEDS_COLUMNS):
        if fits((paper, table), patterns):
            return method, needs
    raise ValueError(
        f"{paper} has no own method; add a line to {folder() / 'own_methods.csv'}"
    )


def with_kinds(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells with the columns `kind`, `method` and `evidence`.

    cells: with `paper, table, row, column, statistic, verdict`; rows that have no
    printed counterpart (verdict `extra`) get empty texts.
    Returns: a new frame, rows in the same order.
    Raises: ValueError for a printed cell without a kind.
    """
    # The files' times are asked once, not once a cell.
    read_from = folder()
    times = [_modified(read_from / name) for name in ("kinds.csv", _DECLARED)]
    names = ("paper", "table", "row", "column", "statistic")
    places = zip(*(cells[name] for name in names), strict=True)
    described = []
    for place, verdict in zip(places, cells["verdict"], strict=True):
        if verdict == "extra":
            described.append(("", "", ""))
        else:
            described.append(_described(place, read_from, *times))
    columns = ["kind", "method", "evidence"]
    found = pd.DataFrame(described, cells.index, columns, dtype=str)
    return cells.assign(**{name: found[name] for name in columns})


@functools.lru_cache(maxsize=16384)
def _described(
    place: tuple[str, str, str, str, str],
    read_from: Path,
    kinds_at: int,
    evidence_at: int,
) -> tuple[str, str, str]:
    """The kind, method and evidence of a printed cell."""
    kind, method = kind_of(*place[:4])
    return kind, method, evidence_of(*place)


def evidence_of(paper: str, table: str, row: str, column: str, statistic: str) -> str:
    """What an equal number is evidence of: one of EVIDENCE.

    Only `DISTINCT` numbers are evidence of their own. A reprint stands in an earlier
    table under the same row, column and statistic, or is declared; averages,
    differences and sizes are recognised by their names.

    Raises: ValueError for a printed cell without a kind.
    """
    cell = (paper, table, row, column)
    # What is declared goes before what names and numbers tell.
    for *patterns, evidence, _ in declared(_DECLARED, _EVIDENCE_COLUMNS):
        if fits(cell, patterns):
            return evidence
    kind, _ = kind_of(*cell)
    if statistic.startswith("count") or kind == COUNT:
        return SIZE
    if (table, row, column, statistic) in _reprinted(paper, folder()):
        return REPRINT
    if is_change(row, statistic):
        return CHANGE
    if is_average(row, column):
        return MEAN
    return DISTINCT


def not_rivals() -> list[list[str]]:
    """Printed cells whose judge made the gold that it is held against, so that they are
    no rivals of a paper's own method.

    Returns: paper, table, row, column ("*" for the whole row) and why, of each.
    """
    return declared("not_rivals.csv", ("paper", "table", "row", "column", "why"))


def is_average(row: str, column: str) -> bool:
    """Whether a cell is printed as the mean or total of others, by its row's or
    column's name.

    Example:
    >>> is_average("BLEU", "Average | pearson"), is_average("BLEU", "coherence")
    (True, False)
    """
    names = f"{row} | {column}".lower().split(" | ")
    return any(name.startswith(("average", "total")) for name in names)


def is_change(row: str, statistic: str) -> bool:
    """Whether a cell is printed as a difference or gain between others, by its row's or
    statistic's name.
    """
    return (
        row.startswith("delta")
        or row.endswith("Gain (%)")
        or statistic.startswith(("difference", "gain"))
    )


def printed_cells() -> pd.DataFrame:
    """Every printed number of the tables and figures, a row each.

    Returns: `paper, table, row, column, statistic, printed, kind, method, evidence`.
    Numbers of the running text are not among them.
    Raises: ValueError for a printed cell without a kind.
    """
    frames = []
    for paper in PAPERS:
        for table in tables(paper):
            frame = load(paper, table)
            if table != TEXT_CLAIMS:
                frames.append(frame[frame["number"].notna()])
    columns = ["paper", "table", *KEY, "printed"]
    joined = pd.concat(frames, ignore_index=True)[columns]
    # `with_kinds` asks for verdicts, and these cells have none.
    described = with_kinds(joined.assign(verdict=""))
    return described.drop(columns="verdict")


def own_numbers(paper: str, table: str) -> int:
    """How many of a table's printed numbers are the paper's own method's; 0 for a table
    that is not transcribed.
    """
    if table not in tables(paper):
        return 0
    frame = load(paper, table)
    numbers = frame[frame["number"].notna()]
    of_own_method = 0
    for row, column in zip(numbers["row"], numbers["column"], strict=True):
        kind, _ = kind_of(paper, table, row, column)
        of_own_method += kind == OWN
    return of_own_method


def fits(cell: tuple[str, ...], patterns: list[str]) -> bool:
    """Whether each name of a cell fits its pattern, in which a star stands for any
    text.
    """
    return all(map(fnmatchcase, cell, patterns))


def declared(name: str, columns: tuple[str, ...]) -> list[list[str]]:
    """The rows of one of the three files."""
    path = folder() / name
    return _read_lines(path, columns, _modified(path))


def _modified(path: Path) -> int:
    """When a file was changed, in nanoseconds; 0 without a file."""
    return path.stat().st_mtime_ns if path.exists() else 0


@functools.lru_cache(maxsize=16)
def _read_lines(path: Path, columns: tuple[str, ...], modified: int) -> list[list[str]]:
    """The rows of a file; `modified`: so that a changed file is read anew."""
    return strings(path, columns).to_numpy().tolist()


@functools.lru_cache(maxsize=16)
def _reprinted(paper: str, place: Path) -> frozenset[tuple[str, str, str, str]]:
    """The cells whose number an earlier table prints under the same names."""
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
            # The first table that prints a cell of these names is its source.
            key = (row, column, statistic)
            value, source = first_print.setdefault(key, (number, table))
            if value == number and source != table:
                reprints.add((table, *key))
    return frozenset(reprints)
