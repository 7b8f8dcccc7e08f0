"""Why our number is not the printed one, and what was tried: a row a cell, or a row
of cells that differ for one reason, in `data/paper_tables/differs.csv`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pandas as pd

from nlgeval_lib.papers.printed_tables import KEY, folder, strings

PLACE = ("paper", "table", *KEY)
COLUMNS = (*PLACE, "reason", "tried")
ANY = "*"


def differs() -> pd.DataFrame:
    """The reasons as they stand in the file: `COLUMNS`, all text; `*` in a place
    stands for any row, column or statistic.
    """
    return strings(folder() / "differs.csv", COLUMNS)


def fits(stated: Sequence[str], place: Sequence[str]) -> bool:
    """Whether a stated place, which may hold `*`, is that of a cell: paper, table,
    row, column, statistic.
    """
    pairs = zip(stated, place, strict=True)
    return all(name in (ANY, part) for name, part in pairs)


def explained(place: Sequence[str], note: str = "") -> str:
    """The reason of a cell that differs, and what was tried, before the note that its
    number carries; the note alone where no reason is stated.
    """
    for row in _stated():
        if fits(row[: len(PLACE)], place):
            reason, attempts = row[len(PLACE) :]
            words = f"{reason}; tried: {attempts}"
            if note.startswith(words):
                return note  # a saved row that is compared again
            return f"{words}; {note}" if note else words
    return note


def _stated() -> tuple[tuple[str, ...], ...]:
    path = folder() / "differs.csv"
    return _rows(str(path), path.stat().st_mtime_ns) if path.exists() else ()


@functools.lru_cache(maxsize=4)
def _rows(path: str, modified: int) -> tuple[tuple[str, ...], ...]:
    return tuple(differs().itertuples(index=False, name=None))
