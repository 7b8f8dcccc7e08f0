# ruff: noqa: F401 - the imports are for whoever checks types
"""The papers' printed numbers as data, and our numbers beside them.

`data/paper_tables/<paper>/<table>.csv` holds one printed table or figure each, a row a
cell, the value exactly as printed; `text_claims.csv` numbers and words of the running
text (column: the table they speak of); `marks.csv` cells in bold or underlined;
`relations.toml` what numbers and sentences must obey; `index.csv` every table and
figure.

- `printed_tables` reads these files; `numbers` says what a printed text is worth.
- `comparison` sets our numbers beside the printed ones and gives each a verdict;
`spread` is the yardstick for a judge's run; `differing`, `published` and `gaps` say why
a number differs or is missing; `kinds` what it is evidence of.
- `counting` counts the verdicts, `shuffling` what chance would reach, `agreement` how
near the numbers are.
- `auditing` holds printed numbers against each other, `claims` (with `inference` and
`claim_sentences`) the papers' headline sentences against them, `printed_lead` the own
method against the best other.
- `witnesses` keeps where in a paper's text each number stands.

The names below are loaded when they are first used.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from nlgeval_lib.on_use import loaded_on_use

if TYPE_CHECKING:
    from reproduction.papers.auditing import audit, recomputed
    from reproduction.papers.comparison import (
        COMPARED,
        VERDICTS,
        compare,
        habits,
        tried,
    )
    from reproduction.papers.counting import (
        COUNTS,
        by_kind,
        by_method,
        counts,
        in_words,
        kinds_in_words,
        outcome,
        own_in_words,
        told_apart,
    )
    from reproduction.papers.gaps import (
        ELSEWHERE,
        NEEDS_RUN,
        NEEDS_WEIGHTS,
        NOT_PUBLISHED,
        OTHER_GAP,
        gap,
        gap_of,
    )
    from reproduction.papers.kinds import (
        EVIDENCE,
        OWN,
        ROW_KINDS,
        own_method,
        own_numbers,
        printed_cells,
    )
    from reproduction.papers.numbers import agrees, parse
    from reproduction.papers.printed_lead import Ahead, ahead
    from reproduction.papers.printed_tables import (
        KEY,
        PAPERS,
        cell,
        folder,
        index,
        load,
        tables,
    )
    from reproduction.papers.spread import own_sd

# module -> its names, which are loaded when they are first used
_MODULES = {
    "printed_lead": ("Ahead", "ahead"),
    "auditing": ("audit", "recomputed"),
    "comparison": ("COMPARED", "VERDICTS", "compare", "habits", "tried"),
    "counting": (
        "COUNTS",
        "by_kind",
        "by_method",
        "counts",
        "in_words",
        "kinds_in_words",
        "outcome",
        "own_in_words",
        "told_apart",
    ),
    "gaps": (
        "ELSEWHERE",
        "NEEDS_RUN",
        "NEEDS_WEIGHTS",
        "NOT_PUBLISHED",
        "OTHER_GAP",
        "gap",
        "gap_of",
    ),
    "kinds": (
        "EVIDENCE",
        "OWN",
        "ROW_KINDS",
        "own_method",
        "own_numbers",
        "printed_cells",
    ),
    "numbers": ("agrees", "parse"),
    "spread": ("own_sd",),
    "printed_tables": ("KEY", "PAPERS", "cell", "folder", "index", "load", "tables"),
}
__all__ = [*itertools.chain(*_MODULES.values())]

__getattr__ = loaded_on_use(__name__, _MODULES)
