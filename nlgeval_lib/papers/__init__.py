"""The papers' printed numbers as data, and our numbers beside them.

`data/paper_tables/<paper>/<table>.csv` holds one printed table or figure each, a row a cell, the value exactly as
printed; `text_claims.csv` the numbers of the running text (column: the table they speak of; numbers spelt out in the
text are in digits) and single words that the audit compares (statistic: text); `marks.csv` the cells in bold or
underlined, where the text keeps such marks; `relations.toml` what numbers and sentences must obey; `index.csv` every
table and figure of a paper, numeric or not. `data/paper_claims.csv`: the papers' headline claims, judged by
`papers.claims`. Beside the folders, `rounding.csv` names the papers' rounding habits,
`by_construction.csv` the cells that no measurement could change.
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
