"""What a count would be if the printed numbers were dealt out anew: how many cells
would be equal on average.

The printed numbers of a table change places among the cells of one statistic, averages
among averages. The rate of each cell is worked out exactly; nothing is drawn.

A table of few distinct numbers, or of few digits, lets many cells be equal by chance.
`shuffled` gives the rate of each cell, `supports` says what a count is worth beside it.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from nlgeval_lib.papers.comparison import TWICE, habits_of
from nlgeval_lib.papers.kinds import is_average
from nlgeval_lib.papers.numbers import TOLERANCE, parse
from nlgeval_lib.papers.printed_tables import folder, load
from nlgeval_lib.papers.spread import reach

NEAR = 0.5  # shuffled numbers that reach so large a share of a count leave no support


class _Pool(NamedTuple):
    """The printed numbers that could stand in a cell's place; arrays have one entry a
    number.

    values: the numbers.
    rooms: how far a number may be from each and still be equal.
    units: one step of the last printed digit.
    twice: whether the paper rounds twice.
    """

    values: npt.NDArray[np.float64]
    rooms: npt.NDArray[np.float64]
    units: npt.NDArray[np.float64]
    twice: bool


def shuffled(cells: pd.DataFrame) -> pd.Series:
    """How likely each cell would be equal, or within the judge's own spread, if any
    printed number of its table, statistic and sort of column could stand in its place.

    cells: as `compare` gives them, with a number of ours each.
    Returns: a share in [0, 1] a cell, on the index of `cells`; the sum over cells is
    what a count would be on average.
    """
    rates = []
    modified: dict[tuple[str, str], int] = {}
    for cell in cells.itertuples():
        table = (cell.paper, cell.table)
        # The file's time is asked once a table, not once a cell.
        if table not in modified:
            path = folder() / cell.paper / f"{cell.table}.csv"
            modified[table] = path.stat().st_mtime_ns
        # Averages change places with averages alone.
        average = is_average(cell.row, cell.column)
        pool = _pool(*table, cell.statistic, average, modified[table])
        # Only a run of the judge may be equal by its own spread.
        own_sd = float(cell.own_sd) if cell.route == "run" else None
        rates.append(_share(float(cell.ours), pool, own_sd))
    return pd.Series(rates, cells.index, dtype=float)


@functools.lru_cache(maxsize=4096)
def _pool(
    paper: str, table: str, statistic: str, average: bool, modified: int
) -> _Pool:
    """The numbers of a table's cells of one statistic.

    average: whether those of averages are wanted, or those of the others.
    modified: the file's time, so that a changed file is read anew.
    """
    frame = load(paper, table)
    frame = frame[frame["number"].notna() & (frame["statistic"] == statistic)]
    pairs = zip(frame["row"], frame["column"], strict=True)
    alike = [is_average(row, column) == average for row, column in pairs]
    numbers = [parse(text) for text in frame.loc[alike, "printed"]]
    return _Pool(
        values=np.array([float(number) for number in numbers]),
        rooms=np.array([float(TOLERANCE * number.unit) for number in numbers]),
        units=np.array([float(number.unit) for number in numbers]),
        twice=TWICE in habits_of(paper),
    )


def _share(ours: float, pool: _Pool, own_sd: float | None) -> float:
    """The share of a pool's numbers that ours would be equal to; 0 of an empty pool.

    own_sd: of a run, the standard deviation of the judge's draws; None where unknown.
    """
    if not len(pool.values):
        return 0.0
    gaps = np.abs(ours - pool.values)
    equal = gaps <= pool.rooms + 1e-12
    if pool.twice:
        # Half up to one digit more, then to the printed ones; the hair keeps ties up
        # that binary fractions put a little too low.
        finer = np.floor(ours / (pool.units / 10) + 0.5 + 1e-9) * pool.units / 10
        rounded = np.floor(finer / pool.units + 0.5 + 1e-9) * pool.units
        equal |= np.abs(rounded - pool.values) < pool.units / 10
    if own_sd is not None and not math.isnan(own_sd):
        equal |= gaps <= pool.rooms + reach(own_sd)
    return float(equal.mean())


def supports(equal: float, expected: float) -> bool:
    """Whether a count says more than shuffled numbers would: not where these reach half
    of it.

    equal: cells that are equal.
    expected: how many shuffled numbers would be, on average.

    Example:
    >>> supports(30, 1.2), supports(4, 2.5)
    (True, False)
    """
    return equal > 0 and expected < NEAR * equal
