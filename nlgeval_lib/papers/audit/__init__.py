"""Do a paper's printed numbers agree with each other, and its sentences with them? Relations, checked by rule.

`relations` reads them from data; `values`, `attainable` and `sentences` hold the rules; `quantity` the interval
arithmetic over the rounding of printed numbers and the verdict.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit.cells import Tables
from nlgeval_lib.papers.audit.quantity import CONTRADICTS, HOLDS, ROUNDED, UNTOLD, VERDICTS, Finding, Quantity
from nlgeval_lib.papers.audit.relations import RULES, check, relations
from nlgeval_lib.papers.tables import PAPERS, index, load, marks, nearest
from nlgeval_lib.papers.tables import tables as printed_tables

COLUMNS = (
    "paper", "table", "place", "rule", "relation", "printed", "recomputed", "allowed_low", "allowed_high", "verdict",
    "note",
)  # fmt: skip

__all__ = [
    "COLUMNS", "CONTRADICTS", "HOLDS", "ROUNDED", "RULES", "UNTOLD", "VERDICTS", "Finding", "Quantity", "audit",
    "relations",
]  # fmt: skip


def audit(
    paper: str | Iterable[str] | None = None,
    verdict: str | None = None,
    tables: str | Iterable[str] | None = None,
    data: Callable[..., Any] | None = None,
) -> pd.DataFrame:
    """Every relation that printed numbers and sentences of the papers must obey, and whether they do.

    One row a relation: `paper, table, place, rule, relation, printed, recomputed, allowed_low, allowed_high, verdict,
    note`. `recomputed` takes the other cells at face value; allowed is what they give when each is anything that
    rounds to what is printed; both are NaN where words or marks are compared. Verdicts: "holds", "holds within
    rounding", "cannot be told" (the note says why), "contradicts".
    `paper`: one or several (None: all five); `verdict`: only rows with it; `tables`: only relations of these tables;
    `data`: gives a public data set as a frame by name, or None where it is not at hand.
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
        of_paper = Tables(functools.partial(load, one), marks(one))
        for relation in relations(one):
            if chosen is not None and relation["table"] not in chosen:
                continue
            try:
                findings = check(relation, of_paper, data)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{one} {relation['table']}, rule {relation['rule']!r}: {error}") from error
            for found in findings:
                note = "; ".join(part for part in (found.note, relation.get("note")) if part)
                rows.append((one, relation["table"], found.place, relation["rule"], found.relation, found.printed,
                             found.recomputed, found.low, found.high, found.verdict, note))  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame if verdict is None else frame[frame["verdict"] == verdict].reset_index(drop=True)
