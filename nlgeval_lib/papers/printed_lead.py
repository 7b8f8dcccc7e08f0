"""Is a paper's own method ahead of the others in its printed table, and could chance
put it there?
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from nlgeval_lib.papers.kinds import OWN
from nlgeval_lib.papers.numbers import parse

OTHERS = ("LLM judge", "learned metric", "lexical metric")
# Statistics of which more is better.
_MORE_IS_BETTER = re.compile("pearson|spearman|kendall|accuracy")


@dataclass(frozen=True)
class Ahead:
    """The best row of a paper's own method beside the best other row.

    columns: how many printed columns both have, the mean of their statistics each; of
    these `ahead` are higher in the own row. p: of an exact two-sided sign test, columns
    as if independent, equal ones left out.
    """

    own: str
    other: str
    ahead: int
    columns: int
    p: float


def ahead(cells: pd.DataFrame) -> Ahead | None:
    """The own method beside the best other row of one printed table; None where the
    table has no such rows, or no column in common.

    cells: as `compare` gives them, of one table. The best row is that with the highest
    mean over the columns that most rows have.
    """
    usable = (
        cells["statistic"].str.contains(_MORE_IS_BETTER)
        & (cells["evidence"] == "distinct")
        & (cells["kind"].eq(OWN) | cells["kind"].isin(OTHERS))
        & ~cells["row"].str.contains("|".join(("delta", "Gain")))
    )
    printed = cells[usable].drop_duplicates(["row", "column", "statistic"])
    numbers = printed["printed"].map(lambda text: parse(text).value)
    printed = printed.assign(number=pd.to_numeric(numbers)).dropna(subset="number")
    values = printed.pivot_table(index="row", columns="column", values="number")
    is_own = printed.groupby("row")["kind"].first().eq(OWN)
    if values.empty or is_own.all() or not is_own.any():
        return None
    values = values.loc[:, values.notna().mean() > 0.5]
    whole = values.dropna()
    is_own = is_own.reindex(whole.index)
    if whole.empty or is_own.all() or not is_own.any():
        return None
    means = whole.mean(axis=1)
    own = str(means[is_own].idxmax())
    other = str(means[~is_own].idxmax())
    gaps = whole.loc[own] - whole.loc[other]
    higher = int((gaps > 0).sum())
    return Ahead(
        own, other, higher, len(gaps), _sign_test(higher, int((gaps < 0).sum()))
    )


def _sign_test(higher: int, lower: int) -> float:
    from scipy import stats

    if higher + lower == 0:
        return 1.0
    return float(stats.binomtest(higher, higher + lower).pvalue)
