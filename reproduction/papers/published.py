"""Why printed cells have no number of ours: one table of facts, four kinds of reason.

`data/published.csv` names for a printed row and column (`*`: every one) what its number
is made of and where that is: not published, published at an address but not here, to be
had by asking a model, or by a model's weights. What the place of a cell says most
narrowly holds: row and column, then the row, then the column, then the table.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import NamedTuple

from nlgeval_lib import files
from reproduction.papers.gaps import ELSEWHERE, GAPS, OTHER_GAP, gap_of

EVERY = "*"  # in a fact's place: every row, or every column
FIELDS = ("paper", "table", "row", "column", "reason", "detail")  # of the file


class Fact(NamedTuple):
    """Why a printed cell is empty.

    paper, table: whose cells it is about.
    row, column: names as printed, or `*` for every one.
    reason: one of `gaps.GAPS`.
    detail: what was not published; the registry paths or addresses (blanks between)
    where it is; the model to ask or whose weights are needed.
    """

    paper: str
    table: str
    row: str
    column: str
    reason: str
    detail: str

    @property
    def places(self) -> tuple[str, ...]:
        """The registry paths or addresses of what is published elsewhere; none for
        another reason.
        """
        return tuple(self.detail.split()) if self.reason == ELSEWHERE else ()

    def text(self) -> str:
        """The fact in words, which begin with the kind of reason.

        Of what is published elsewhere they say the addresses, whether all of it is on
        this machine, and else the commands that fetch it.
        """
        if self.reason != ELSEWHERE:
            return f"{self.reason}: {self.detail}"
        registered = _addresses()
        addresses = [registered.get(place, place) for place in self.places]
        words = f"{ELSEWHERE}: {' and '.join(addresses)}"
        if _all_here(self):
            return f"{words}, and here"
        # Only a file of the registry can be fetched by a command.
        commands = []
        for place in self.places:
            if place in registered:
                commands.append(f"nlgeval data --fetch {place}")
        if commands:
            return f"{words}, not here; to get it: {', '.join(commands)}"
        return f"{words}, not here"


def facts() -> tuple[Fact, ...]:
    """Every row of `data/published.csv`, in its order; none where there is no such
    file.

    Raises: ValueError for an unknown reason, a row without a detail, or a place that is
    there twice.
    """
    path = files.data() / "published.csv"
    if not path.is_file():
        return ()
    return _read(path, path.stat().st_mtime_ns)


def fact(paper: str, table: str, row: str, column: str) -> Fact | None:
    """What is known of one printed cell; None where nothing is.

    Raises: ValueError as `facts` does.
    """
    by_place = _by_place(facts())
    # The narrowest place first.
    for place in ((row, column), (row, EVERY), (EVERY, column), (EVERY, EVERY)):
        stated = by_place.get((paper, table, *place))
        if stated is not None:
            return stated
    return None


def explained(fact: Fact | None, reason: str) -> str:
    """The reason for an empty cell: the fact, and what a run found lacking.

    A run that says the same kind of thing knows it better, and is taken alone.

    fact: what `data/published.csv` knows of the cell; None for nothing.
    reason: what a run says; empty where there was none.
    Returns: fact and reason in words, empty where there is neither.
    """
    if fact is None or (reason and gap_of(reason) == fact.reason):
        return reason
    if fact.places and _all_here(fact) and gap_of(reason) != OTHER_GAP:
        return reason  # the file came; now the run says why the cell is empty
    return f"{fact.text()}; {reason}" if reason else fact.text()


def _all_here(fact: Fact) -> bool:
    """Whether every file that a fact names is on this machine."""
    return all(map(_lies, fact.places))


def _lies(place: str) -> bool:
    """Whether a file of the registry is on this machine."""
    folders = filter(None, (files.raw(), files.mirror()))
    return any((folder / place).is_file() for folder in folders)


@functools.lru_cache(maxsize=2)
def _read(path: Path, mtime_ns: int) -> tuple[Fact, ...]:
    """The facts of a file; `mtime_ns`: its time, so that a changed file is read anew."""
    with open(path, encoding="utf-8", newline="") as handle:
        facts = tuple(Fact(**row) for row in csv.DictReader(handle))
    for fact in facts:
        if fact.reason not in GAPS or not fact.detail.strip():
            raise ValueError(f"{path.name}: {fact}: a reason is one of {GAPS}")
    if len(_by_place(facts)) != len(facts):
        raise ValueError(f"{path.name} names a cell twice")
    return facts


@functools.lru_cache(maxsize=2)
def _by_place(facts: tuple[Fact, ...]) -> dict[tuple[str, ...], Fact]:
    """The facts by (paper, table, row, column)."""
    return {fact[:4]: fact for fact in facts}


def _addresses() -> dict[str, str]:
    """The address of each file of the registry."""
    path = files.committed(files.data() / "registry.csv")
    return _urls(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=2)
def _urls(path: Path, mtime_ns: int) -> dict[str, str]:
    """The address of each path of the registry; `mtime_ns`: as for `_read`."""
    with open(path, encoding="utf-8", newline="") as handle:
        return {row["path"]: row["url"] for row in csv.DictReader(handle)}
