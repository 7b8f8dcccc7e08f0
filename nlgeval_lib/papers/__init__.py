"""The papers' printed numbers as data, and our numbers beside them.

`data/paper_tables/<paper>/<table>.csv` holds one printed table or figure each, a row a cell, the value exactly as
printed; `text_claims.csv` numbers and words of the running text (column: the table they speak of); `marks.csv` cells in
bold or underlined; `relations.toml` what numbers and sentences must obey; `index.csv` every table and figure.
"""

from __future__ import annotations

from nlgeval_lib.papers.audit import audit, recomputed
from nlgeval_lib.papers.comparison import (
    COMPARED,
    COUNTS,
    VERDICTS,
    by_construction,
    compare,
    counts,
    habits,
    in_words,
    tried,
)
from nlgeval_lib.papers.numbers import Number, agrees, difference, exact, is_blank, parse
from nlgeval_lib.papers.tables import COLUMNS, INDEX_COLUMNS, KEY, KINDS, PAPERS, cell, folder, index, load, tables

__all__ = [
    "COLUMNS", "COMPARED", "COUNTS", "INDEX_COLUMNS", "KEY", "KINDS", "PAPERS", "VERDICTS", "Number", "agrees", "audit",
    "by_construction", "cell", "compare", "counts", "difference", "exact", "folder", "habits", "in_words", "index",
    "is_blank", "load", "parse", "recomputed", "tables", "tried",
]  # fmt: skip
