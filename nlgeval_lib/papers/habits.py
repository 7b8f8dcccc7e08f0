"""How a paper rounds, where that is not once to the printed digits: named properties of a paper with their evidence.

`data/paper_tables/rounding.csv` names the habits; `tried` holds each against the numbers of every paper.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib.papers.numbers import agrees, exact, parse
from nlgeval_lib.papers.tables import PAPERS, folder, strings

COEFFICIENTS = ("pearson", "spearman", "kendall")
AVERAGE = "average"
TWICE = "rounded to one decimal more, then to the printed ones, half up"
MEAN = "an average is the mean of rounded cells"
_COLUMNS = ("paper", "habit", "evidence")


def habits() -> pd.DataFrame:
    """The rounding habits of the papers: `paper, habit, evidence`, a row a habit.

    Raises: ValueError for a row with an unknown paper or habit, or without evidence.
    """
    path = folder() / "rounding.csv"
    return _read(path, path.stat().st_mtime_ns).copy() if path.exists() else pd.DataFrame(columns=list(_COLUMNS))


@functools.lru_cache(maxsize=8)
def _read(path: Path, modified: int) -> pd.DataFrame:
    frame = strings(path, _COLUMNS)
    odd = frame[~frame["paper"].isin(PAPERS) | ~frame["habit"].isin((TWICE, MEAN)) | (frame["evidence"] == "")]
    if len(odd):
        raise ValueError(f"{path}: bad row {odd.iloc[0].tolist()}; a habit is one of {TWICE!r}, {MEAN!r}")
    return frame


def rounded(value: Any, printed: str, times: int = 1) -> Decimal:
    """`value` rounded half up to the digits of a printed number; `times` 2: first to one digit more."""
    unit, number = parse(printed).unit, exact(value)
    assert number is not None
    for step in range(times - 1, -1, -1):
        number = number.quantize(unit.scaleb(-step), ROUND_HALF_UP)
    return number


def mean_of_rounded(values: Iterable[Any], printed: str, times: int = 1) -> Decimal:
    """The mean of values that were rounded to the digits of a printed number."""
    parts = [rounded(value, printed, times) for value in values]
    return sum(parts, Decimal(0)) / len(parts)


def explains(paper: str, rows: Mapping[tuple[str, str, str], Any], key: tuple[str, str, str], printed: str) -> str:
    """By which habit of the paper the value at `key` is the printed number, in words; empty where by none.

    rows: the values by (row, column, statistic); an average needs the other columns of its row and statistic.
    """
    frame = habits()
    known = set(frame.loc[frame["paper"] == paper, "habit"])
    if key[2] not in COEFFICIENTS:
        return ""
    times = 2 if TWICE in known else 1
    if key[1] != AVERAGE:
        return TWICE if times == 2 and rounded(rows[key], printed, 2) == parse(printed).value else ""
    parts = _parts(rows, key)
    found = MEAN in known and parts and agrees(mean_of_rounded(parts, printed, times), printed)
    return f"{MEAN}{', each rounded twice' if times == 2 else ''}" if found else ""


def _parts(rows: Mapping[tuple[str, str, str], Any], key: tuple[str, str, str]) -> list[Any]:
    """The values that an average is of; empty where one is missing."""
    values = [value for (row, column, kind), value in rows.items() if (row, kind) == key[::2] and column != AVERAGE]
    return [] if any(exact(value) is None for value in values) else values


def tried(cells: pd.DataFrame) -> pd.DataFrame:
    """Which habit fits which paper: a row a paper, counts of its coefficients that were computed from public data.

    cells: as `compare` returns them, of any tables. `once`, `twice`: coefficients, averages aside, that are the printed
    number when rounded half up once, or twice; `lost`, `won`: those that rounding twice would take away, and give.
    `mean of values`, `mean of rounded`: averages (of one table's row) that are the printed number by either reading.
    """
    cells = cells[(cells["route"] == "public") & cells["statistic"].isin(COEFFICIENTS) & cells["ours"].notna()]
    cells = cells[cells["printed"] != ""]
    times = {paper: 2 for paper in habits().query("habit == @TWICE")["paper"]}
    out = []
    for paper, part in cells.groupby("paper", sort=False):
        whole = part[part["column"] != AVERAGE]
        fits = [
            [rounded(one.ours, one.printed, n) == parse(one.printed).value for one in whole.itertuples()]
            for n in (1, 2)
        ]
        means = {"averages": 0, "mean of values": 0, "mean of rounded": 0}
        for _, table in part.groupby("table"):
            rows = {(one.row, one.column, one.statistic): one.ours for one in table.itertuples()}
            for one in table[table["column"] == AVERAGE].itertuples():
                parts = _parts(rows, (one.row, one.column, one.statistic))
                means["averages"] += 1
                means["mean of values"] += agrees(one.ours, one.printed)
                mean = mean_of_rounded(parts, one.printed, times.get(paper, 1)) if parts else None
                means["mean of rounded"] += agrees(mean, one.printed)
        pairs = list(zip(*fits, strict=True))
        out.append(
            {"paper": paper, "coefficients": len(whole), "once": sum(fits[0]), "twice": sum(fits[1])}
            | {"lost": pairs.count((True, False)), "won": pairs.count((False, True))}
            | means
        )
    return pd.DataFrame(out)
