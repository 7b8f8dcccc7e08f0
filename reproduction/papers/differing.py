"""Why our number is not the printed one, and what was tried: a row a cell, or a row of
cells that differ for one reason, in `data/paper_tables/differs.csv`.

`comparison.compare` asks `explained` for every cell with the verdict `differs`. An
explanation changes no verdict.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pandas as pd

from reproduction.papers.printed_tables import KEY, folder, strings

PLACE = ("paper", "table", *KEY)  # what names a cell
COLUMNS = (*PLACE, "reason", "tried")  # of the file
ANY = "*"  # in a stated place: any row, column or statistic


def differs() -> pd.DataFrame:
    """The reasons as they stand in the file: a row each, columns `COLUMNS`, all text.

    `*` in a place stands for any row, column or statistic. Empty without a file.
    """
    return strings(folder() / "differs.csv", COLUMNS)


def fits(stated: Sequence[str], place: Sequence[str]) -> bool:
    """Whether a stated place is that of a cell.

    stated: paper, table, row, column, statistic; `*` fits any name.
    Raises: ValueError where the two have not as many names.

    Example:
    >>> cell = ("hdeval", "table_02", "UniEval", "average", "pearson")
    >>> fits(("hdeval", "table_02", "UniEval", "*", "*"), cell)
    True
    """
    pairs = zip(stated, place, strict=True)
    return all(name in (ANY, part) for name, part in pairs)


def explained(place: Sequence[str], note: str = "") -> str:
    """The reason of a cell that differs, and what was tried, before the note that its
    number carries.

    Returns: the note alone where no reason is stated. The first row of the file that
    fits decides.
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
    """The rows of the file, each the fields `COLUMNS`; none without a file."""
    path = folder() / "differs.csv"
    if not path.exists():
        return ()
    return _rows(str(path), path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _rows(path: str, modified: int) -> tuple[tuple[str, ...], ...]:
    """The rows of a file; `modified`: its time, so that a changed file is read anew."""
    return tuple(differs().itertuples(index=False, name=None))
