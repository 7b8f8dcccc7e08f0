"""Do a paper's printed numbers agree with each other? Relations that they must obey, checked by rule.

`quantity` holds interval arithmetic over the rounding of printed numbers and the verdict; `arithmetic`, `attainable`
and `formula` the rules, pure functions over tidy tables; `relations` which rule applies where in the five papers.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from nlgeval_lib.papers.audit.quantity import CONTRADICTS, HOLDS, ROUNDED, VERDICTS, Finding, Quantity
from nlgeval_lib.papers.audit.relations import RULES, Relation, relations
from nlgeval_lib.papers.tables import PAPERS, index, load, nearest
from nlgeval_lib.papers.tables import tables as printed_tables

COLUMNS = (
    "paper", "table", "place", "rule", "relation", "printed", "recomputed", "allowed_low", "allowed_high", "verdict",
    "note",
)  # fmt: skip

__all__ = [
    "COLUMNS", "CONTRADICTS", "HOLDS", "ROUNDED", "RULES", "VERDICTS", "Finding", "Quantity", "Relation", "audit",
    "relations",
]  # fmt: skip


def audit(
    paper: str | Iterable[str] | None = None, verdict: str | None = None, tables: str | Iterable[str] | None = None
) -> pd.DataFrame:
    """Every relation that printed numbers of the papers must obey, and whether they do.

    One row a relation: `paper, table, place, rule, relation, printed, recomputed, allowed_low, allowed_high, verdict,
    note`. `recomputed` takes the other cells at face value; allowed is what they give when each is anything that
    rounds to what is printed. Verdicts: "holds", "holds within rounding", "contradicts".
    `paper`: one or several (None: all five); `verdict`: only rows with it; `tables`: only relations of
    these tables.
    Raises: ValueError for an unknown paper, verdict or table.
    """
    papers = [paper] if isinstance(paper, str) else list(PAPERS if paper is None else paper)
    for name, allowed in [(one, PAPERS) for one in papers] + ([] if verdict is None else [(verdict, VERDICTS)]):
        if name not in allowed:
            raise ValueError(f"unknown name: {name!r}; nearest: {nearest(name, allowed)}")
    chosen = None if tables is None else {tables} if isinstance(tables, str) else set(tables)
    if chosen is not None:
        listed = index()
        printed = {name for one in papers for name in (*listed.loc[listed["paper"] == one, "id"], *printed_tables(one))}
        for name in sorted(chosen - printed):
            raise ValueError(f"no table {name!r} of {', '.join(papers)}; nearest: {nearest(name, printed)}")
    rows = []
    for one in papers:
        for relation in relations(one):
            if chosen is not None and relation.table not in chosen:
                continue
            try:
                findings = relation.check(lambda table, one=one: load(one, table))
            except ValueError as error:
                raise ValueError(f"{one} {relation.table}, rule {relation.rule!r}: {error}") from error
            for found in findings:
                note = "; ".join(part for part in (found.note, relation.note) if part)
                rows.append((one, relation.table, found.place, relation.rule, found.relation, found.printed,
                             found.recomputed, found.low, found.high, found.verdict, note))  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame if verdict is None else frame[frame["verdict"] == verdict].reset_index(drop=True)
