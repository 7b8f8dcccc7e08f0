"""What chance would reach of a count: how many cells would be equal if the printed
numbers were dealt out anew, and the search for a recipe counted in.

The printed numbers of one column change places, those of one statistic among
themselves. That is harder than a whole table: a column holds numbers of one task, which
lie near each other and are few. A number that stands alone in its column could be
nothing else, so its rate is 1.

A recipe that was chosen among several because it gave the most equal numbers had as many
chances: `data/paper_tables/searched.csv` says how many, and over how many cells they
were compared. Each rate is worked out exactly; nothing is drawn.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from reproduction.papers.comparison import TWICE, habits_of
from reproduction.papers.kinds import declared, fits
from reproduction.papers.numbers import TOLERANCE, parse
from reproduction.papers.printed_tables import folder, load
from reproduction.papers.spread import reach

NEAR = 0.5  # chance that reaches so large a share of a count leaves no support
LEVEL = 0.05  # nor does a count that chance reaches more often than this
# of searched.csv: a place, in which a star stands for any text; how many recipes were
# tried; over how many cells they were compared; the choice that was made
SEARCH_COLUMNS = ("paper", "table", "row", "column", "variants", "over", "what")


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
    printed number of its column and statistic could stand in its place.

    cells: as `compare` gives them, with a number of ours each.
    Returns: a share in [0, 1] a cell, on the index of `cells`; the sum over cells is
    what a count would be on average. The search for a recipe is in it.
    """
    names = ("paper", "table", "row", "column", "statistic", "ours", "own_sd", "route")
    columns = (cells[name].tolist() for name in names)
    modified: dict[tuple[str, str], int] = {}
    searched_at = _searched_at()
    rates = []
    for *place, ours, own_sd, route in zip(*columns, strict=True):
        table = (place[0], place[1])
        # The file's time is asked once a table, not once a cell.
        if table not in modified:
            path = folder() / table[0] / f"{table[1]}.csv"
            modified[table] = path.stat().st_mtime_ns
        # Only a run of the judge may be equal by its own spread.
        spread = None
        if route == "run" and not math.isnan(own_sd):
            spread = float(own_sd)
        rate = _rate((*place,), float(ours), spread, modified[table], searched_at)
        rates.append(rate)
    return pd.Series(rates, cells.index, dtype=float)


@functools.lru_cache(maxsize=65536)
def _rate(
    place: tuple[str, ...],
    ours: float,
    own_sd: float | None,
    modified: int,
    searched_at: int,
) -> float:
    """How likely one cell would be equal; a cell is counted in many tables and texts."""
    paper, table, row, column, statistic = place
    pool = _pool(paper, table, column, statistic, modified)
    rate = _share(ours, pool, own_sd)
    variants, over = _tried_for((paper, table, row, column), searched_at)
    return searched(rate, variants, over)


@functools.lru_cache(maxsize=4096)
def _pool(paper: str, table: str, column: str, statistic: str, modified: int) -> _Pool:
    """The numbers of a column that are of one statistic."""
    frame = load(paper, table)
    is_alike = (frame["column"] == column) & (frame["statistic"] == statistic)
    alike = frame.loc[is_alike & frame["number"].notna(), "printed"]
    numbers = [parse(text) for text in alike]
    return _Pool(
        values=np.array([float(number) for number in numbers]),
        rooms=np.array([float(TOLERANCE * number.unit) for number in numbers]),
        units=np.array([float(number.unit) for number in numbers]),
        twice=TWICE in habits_of(paper),
    )


def _share(ours: float, pool: _Pool, own_sd: float | None) -> float:
    """The share of a pool's numbers that ours would be equal to; 0 of an empty pool."""
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
    if own_sd is not None:
        equal |= gaps <= pool.rooms + reach(own_sd)
    return float(equal.mean())


# -- the search for a recipe


def tried_for(paper: str, table: str, row: str, column: str) -> tuple[int, int]:
    """How many recipes were tried for a cell, and over how many cells they were
    compared.

    Returns: 1 and 1 where none was searched. Of several choices every combination
    counts as tried, and the fewest cells: chance is rather too large than too small.
    """
    return _tried_for((paper, table, row, column), _searched_at())


def _searched_at() -> int:
    """The time of `searched.csv` in nanoseconds, 0 where there is none."""
    path = folder() / "searched.csv"
    return path.stat().st_mtime_ns if path.exists() else 0


@functools.lru_cache(maxsize=65536)
def _tried_for(place: tuple[str, ...], modified: int) -> tuple[int, int]:
    """`tried_for` of a place; `modified`: the file's time, so that a changed file is
    read anew.
    """
    variants = 1
    fewest = []
    for *patterns, tried, over, _ in declared("searched.csv", SEARCH_COLUMNS):
        if fits(place, patterns):
            variants *= int(tried)
            fewest.append(int(over))
    return variants, min(fewest, default=1)


@functools.lru_cache(maxsize=65536)
def searched(rate: float, variants: int, over: int) -> float:
    """What share of its cells the best of several recipes would have equal by chance.

    rate: the share of one recipe, in [0, 1].
    variants: how many recipes were tried, each as good as dealt out anew.
    over: how many cells the recipe was chosen by.
    Returns: the expected largest of so many binomial counts, as a share; `rate` for one
    variant.

    Example:
    >>> searched(0.1, 1, 9), round(searched(0.1, 2, 1), 2), round(searched(0.1, 9, 9), 2)
    (0.1, 0.19, 0.28)
    """
    from scipy.special import bdtr

    if variants == 1:
        return rate
    # The largest count is above k unless all of them are at most k.
    at_most = bdtr(np.arange(over), over, rate)
    return float(np.sum(1 - at_most**variants) / over)


def supports(equal: float, expected: float, compared: float) -> bool:
    """Whether a count can be told from chance: chance reaches less than half of it on
    average, and all of it in at most one of twenty deals.

    equal: cells that are equal.
    expected: how many would be by chance, on average.
    compared: how many could be.

    Example:
    >>> supports(30, 1.2, 30), supports(4, 2.5, 8), supports(1, 0.2, 1)
    (True, False, False)
    """
    from scipy.special import bdtrc

    if equal <= 0 or expected >= NEAR * equal:
        return False
    # Rates that differ from cell to cell reach a count so far above their sum no more
    # often than their mean does (Hoeffding 1956).
    rate = min(1.0, expected / compared)
    return bool(bdtrc(equal - 1, compared, rate) <= LEVEL)
