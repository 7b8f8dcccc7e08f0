"""What a count would be if the printed numbers were dealt out anew: how many cells would
be equal on average.

The printed numbers of a table change places among the cells of one statistic, averages
among averages. The rate of each cell is worked out exactly; nothing is drawn.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from nlgeval_lib.papers.comparison import TWICE, habits_of
from nlgeval_lib.papers.kinds import is_average
from nlgeval_lib.papers.numbers import TOLERANCE, parse
from nlgeval_lib.papers.spread import reach
from nlgeval_lib.papers.tables import folder, load

NEAR = 0.5  # shuffled numbers that reach so large a share of a count leave no support


class _Pool(NamedTuple):
    """The printed numbers that could stand in a cell's place.

    rooms: how far a number may be from each and still be equal. units: one step of the
    last printed digit. twice: whether the paper rounds twice.
    """

    values: npt.NDArray[np.float64]
    rooms: npt.NDArray[np.float64]
    units: npt.NDArray[np.float64]
    twice: bool


def shuffled(cells: pd.DataFrame) -> pd.Series:
    """The share of the printed numbers of its table, statistic and sort of column with
    which each cell would be equal, or within the judge's own spread.

    cells: as `compare` gives them. The sum over cells is what a count would be on
    average.
    """
    rates = []
    modified: dict[tuple[str, str], int] = {}
    for cell in cells.itertuples():
        table = (cell.paper, cell.table)
        if table not in modified:
            path = folder() / cell.paper / f"{cell.table}.csv"
            modified[table] = path.stat().st_mtime_ns
        average = is_average(cell.row, cell.column)
        pool = _pool(*table, cell.statistic, average, modified[table])
        own_sd = cell.own_sd if cell.route == "run" else None
        rates.append(_share(float(cell.ours), pool, own_sd))
    return pd.Series(rates, cells.index, dtype=float)


@functools.lru_cache(maxsize=4096)
def _pool(
    paper: str, table: str, statistic: str, average: bool, modified: int
) -> _Pool:
    """The numbers of a table's cells of one statistic; `modified` is the file's time."""
    frame = load(paper, table)
    frame = frame[frame["number"].notna() & (frame["statistic"] == statistic)]
    pairs = zip(frame["row"], frame["column"], strict=True)
    alike = [is_average(row, column) == average for row, column in pairs]
    numbers = [parse(text) for text in frame.loc[alike, "printed"]]
    return _Pool(
        np.array([float(number) for number in numbers]),
        np.array([float(TOLERANCE * number.unit) for number in numbers]),
        np.array([float(number.unit) for number in numbers]),
        TWICE in habits_of(paper),
    )


def _share(ours: float, pool: _Pool, own_sd: float | None) -> float:
    """The share of a pool's numbers that ours would be equal to.

    own_sd: of a run, the standard deviation of the judge's draws; None where unknown.
    """
    if not len(pool.values):
        return 0.0
    gaps = np.abs(ours - pool.values)
    equal = gaps <= pool.rooms + 1e-12
    if pool.twice:
        finer = np.floor(ours / (pool.units / 10) + 0.5 + 1e-9) * pool.units / 10
        rounded = np.floor(finer / pool.units + 0.5 + 1e-9) * pool.units
        equal |= np.abs(rounded - pool.values) < pool.units / 10
    if own_sd is not None and pd.notna(own_sd):
        equal |= gaps <= pool.rooms + reach(float(own_sd))
    return float(equal.mean())


def supports(equal: float, expected: float) -> bool:
    """Whether a count says more than shuffled numbers would: not where these reach
    half of it.
    """
    return equal > 0 and expected < NEAR * equal
