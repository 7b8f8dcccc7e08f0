"""Is a paper's own method ahead of the others in its printed table, and could chance
put it there?

It reads printed numbers only: what a reader could work out with the page in front of
them. `ahead` answers with an `Ahead`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from nlgeval_lib.papers.kinds import OWN
from nlgeval_lib.papers.numbers import parse

# kinds of the rows that the own method is compared with; its ablations are none
OTHERS = ("LLM judge", "learned metric", "lexical metric")
# Statistics of which more is better.
_MORE_IS_BETTER = re.compile("pearson|spearman|kendall|accuracy")


@dataclass(frozen=True)
class Ahead:
    """The best row of a paper's own method beside the best other row.

    own, other: the names of the two rows as printed.
    ahead: in how many of the columns the own row is higher.
    columns: how many printed columns both have; in each stands the mean of its
    statistics.
    p: of an exact two-sided sign test, columns as if independent, equal ones left out.
    """

    own: str
    other: str
    ahead: int
    columns: int
    p: float


def ahead(cells: pd.DataFrame) -> Ahead | None:
    """Is the own method above the best other row of one printed table?

    The best row of each is that with the highest mean over the columns that most rows
    have. Averages, reprints, gains and ablations take no part.

    cells: as `compare` gives them, of one table.
    Returns: None where the table has no such rows, or no column in common.
    """
    # Printed correlations and accuracies, without averages, reprints and gains.
    usable = (
        cells["statistic"].str.contains(_MORE_IS_BETTER)
        & (cells["evidence"] == "distinct")
        & (cells["kind"].eq(OWN) | cells["kind"].isin(OTHERS))
        & ~cells["row"].str.contains("delta|Gain")
    )
    # A cell of two routes has two rows, with one printed number.
    printed = cells[usable].drop_duplicates(["row", "column", "statistic"])
    numbers = printed["printed"].map(lambda text: parse(text).value)
    printed = printed.assign(number=pd.to_numeric(numbers)).dropna(subset="number")
    values = printed.pivot_table(index="row", columns="column", values="number")
    is_own = printed.groupby("row")["kind"].first().eq(OWN)
    if values.empty or is_own.all() or not is_own.any():
        return None
    # Rows are ranked by means over the same columns: those that most rows have, and
    # rows that have all of these.
    values = values.loc[:, values.notna().mean() > 0.5]
    complete = values.dropna()
    is_own = is_own.reindex(complete.index)
    if complete.empty or is_own.all() or not is_own.any():
        return None
    means = complete.mean(axis=1)
    own = str(means[is_own].idxmax())
    other = str(means[~is_own].idxmax())
    gaps = complete.loc[own] - complete.loc[other]
    higher = int((gaps > 0).sum())
    lower = int((gaps < 0).sum())
    p = _sign_test(higher, lower)
    return Ahead(own, other, higher, len(gaps), p)


def _sign_test(higher: int, lower: int) -> float:
    """The exact two-sided p that so many columns are higher and so many lower by
    chance.
    """
    from scipy import stats

    if higher + lower == 0:
        return 1.0
    return float(stats.binomtest(higher, higher + lower).pvalue)
