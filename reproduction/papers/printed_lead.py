"""Is a paper's own method ahead of the others in its printed table, and could chance
put it there?

It reads printed numbers only: what a reader could work out with the page in front of
them. `ahead` answers with an `Ahead` for each block of comparable rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from reproduction.papers.kinds import OWN, not_rivals
from reproduction.papers.numbers import parse

# kinds of the rows that the own method is compared with; its ablations are none
OTHERS = ("LLM judge", "learned metric", "lexical metric")
# Statistics of which more is better.
_MORE_IS_BETTER = re.compile("pearson|spearman|kendall|accuracy")


@dataclass(frozen=True)
class Lead:
    """In how many columns the own row is above the other in one statistic.

    statistic: its name.
    ahead, equal: in how many columns the own row is higher, and in how many equal.
    columns: how many printed columns both have.
    p: of an exact two-sided sign test, columns as if independent, equal ones left out.
    """

    statistic: str
    ahead: int
    equal: int
    columns: int
    p: float


@dataclass(frozen=True)
class Ahead:
    """The best row of a paper's own method beside the best other row that is held
    against the same outputs.

    own, other: the names of the two rows as printed.
    leads: of each statistic.
    left_out: which cells were no rivals' and why, in words; empty for none.
    """

    own: str
    other: str
    leads: tuple[Lead, ...]
    left_out: str

    @property
    def ahead(self) -> int:
        """In how many cells the own row is higher."""
        return sum(lead.ahead for lead in self.leads)

    @property
    def cells(self) -> int:
        """How many printed cells both rows have."""
        return sum(lead.columns for lead in self.leads)


def ahead(cells: pd.DataFrame) -> list[Ahead]:
    """Is the own method above the best other row of one printed table?

    The best row of each is that with the highest mean over the cells that most rows
    have. Averages, reprints, gains and ablations take no part, nor what
    `not_rivals.csv` names. Rows whose names begin alike ("50% data | ...") are a block
    of their own, where own and other rows stand in it: its outputs are others.

    cells: as `compare` gives them, of one table.
    Returns: one for each block, or for the table; none where it has no such rows.
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
    printed, left_out = _rivals(printed)
    blocks = printed["row"].str.split(" | ", regex=False).str[0]
    answers = []
    for _, block in printed.groupby(blocks, sort=False):
        answers.append(_ahead_in(block, left_out))
    answers = [answer for answer in answers if answer is not None]
    if not answers:
        answers = [_ahead_in(printed, left_out)]
    return [answer for answer in answers if answer is not None]


def _rivals(printed: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The cells without rows that are no rivals, and without columns in which one is
    none; what was left out, in words.
    """
    left_out = []
    for paper, table, row, column, why in not_rivals():
        is_here = printed["paper"].eq(paper) & printed["table"].eq(table)
        is_row = is_here & printed["row"].eq(row)
        if not is_row.any():
            continue
        if column == "*":
            printed = printed[~is_row]
            left_out.append(f"{row}: {why}")
        else:
            printed = printed[~(is_here & printed["column"].eq(column))]
            left_out.append(f"{column}: {why}")
    return printed, "; ".join(left_out)


def _ahead_in(printed: pd.DataFrame, left_out: str) -> Ahead | None:
    """The answer for rows that are held against the same outputs."""
    of_own_method = printed["kind"].eq(OWN)
    if of_own_method.all() or not of_own_method.any():
        return None
    values = printed.pivot_table(
        index="row", columns=["statistic", "column"], values="number", sort=False
    )
    is_own = printed.groupby("row")["kind"].first().eq(OWN)
    # Rows are ranked by means over the same cells: those that most rows have, and
    # rows that have all of these.
    values = values.loc[:, values.notna().mean() > 0.5]
    complete = values.dropna()
    is_own = is_own.reindex(complete.index)
    if complete.empty or is_own.all() or not is_own.any():
        return None
    means = complete.mean(axis=1)
    own = str(means[is_own].idxmax())
    other = str(means[~is_own].idxmax())
    leads = []
    gaps = complete.loc[own] - complete.loc[other]
    for statistic, of_statistic in gaps.groupby(level="statistic", sort=False):
        higher = int((of_statistic > 0).sum())
        lower = int((of_statistic < 0).sum())
        columns = len(of_statistic)
        equal = columns - higher - lower
        p = _sign_test(higher, lower)
        leads.append(Lead(str(statistic), higher, equal, columns, p))
    return Ahead(own, other, tuple(leads), left_out)


def _sign_test(higher: int, lower: int) -> float:
    """The exact two-sided p that so many columns are higher and so many lower by
    chance.
    """
    from scipy.special import bdtr

    if higher + lower == 0:
        return 1.0
    return min(1.0, 2 * float(bdtr(min(higher, lower), higher + lower, 0.5)))
