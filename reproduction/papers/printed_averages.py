"""The averages that a table prints, computed from the printed cells of their rows."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.scoring.correlations import KEY
from reproduction import papers


def of_table(
    paper: str, table: str, ours: pd.DataFrame, label: str = "average"
) -> pd.DataFrame:
    """The printed averages that `ours` has at most from a run, computed from the
    printed cells of their rows.

    paper, table: as `papers.load` names them.
    ours: the cells that are there; without a `route`, they are none of a run.
    Returns: cells of route `published`, to be joined to `ours`; a row that does not
    print all the table's columns is left out.
    Raises: ValueError for a table without a column `label`.
    """
    printed = papers.load(paper, table).query("number.notna()")
    is_average = printed["column"] == label
    averages = printed[is_average]
    summands = printed[~is_average]
    if averages.empty:
        columns = sorted(set(printed["column"]))
        raise ValueError(
            f"{paper} {table} prints no column {label!r}; it has {columns}"
        )
    numbers = summands.groupby(["row", "statistic"], sort=False)["number"]
    means = numbers.agg(value="mean", cells="size").reset_index()
    if "route" in ours:
        ours = ours[ours["route"] != "run"]
    present = pd.MultiIndex.from_frame(ours[KEY])
    keys = pd.MultiIndex.from_frame(averages[KEY])
    result = averages.loc[~keys.isin(present), KEY].merge(
        means, on=["row", "statistic"]
    )
    complete = result["cells"] == summands["column"].nunique()
    result = result[complete].drop(columns="cells").reset_index(drop=True)
    return result.assign(
        route="published", reason="the mean of the row's printed cells"
    )
