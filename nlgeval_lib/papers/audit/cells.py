"""Cells of tidy tables, picked by table, row, column and statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit.quantity import Quantity
from nlgeval_lib.papers.numbers import parse
from nlgeval_lib.papers.tables import KEY, nearest

ANY = "*"
SAID = "text_claims"
Key = tuple[str, str, str]
Pick = str | Sequence[str]


def is_exact(statistic: str) -> bool:
    """Whether whole numbers of a statistic are counted, not rounded."""
    return statistic.split("_")[0] in ("count", "rank", "setting") or statistic == "score_reduction"


class Cells:
    """The printed cells of one tidy table: columns `row, column, statistic` and `printed` (or `value`).

    Raises: ValueError for missing columns and for a key given twice.
    """

    def __init__(self, frame: pd.DataFrame, name: str = "") -> None:
        source = "printed" if "printed" in frame.columns else "value"
        if missing := [one for one in (*KEY, source) if one not in frame.columns]:
            raise ValueError(f"a table of printed numbers needs the columns {[*KEY, 'printed']}; missing: {missing}")
        keys = list(zip(*(frame[one] for one in KEY), strict=True))
        if len(set(keys)) < len(keys):
            raise ValueError(f"a cell is given twice: {sorted(key for key in set(keys) if keys.count(key) > 1)[:3]}")
        self.name = name
        self.all = {key: str(text) for key, text in zip(keys, frame[source], strict=True)}
        self.text = {key: text for key, text in self.all.items() if parse(text).value is not None}

    def __getitem__(self, key: Key) -> Quantity:
        return Quantity.printed(self.text[key], is_exact(key[2]))

    def __contains__(self, key: object) -> bool:
        return key in self.text

    def names(self, axis: str, words: bool = False) -> list[str]:
        """The rows, columns or statistics in printed order: those with a number, with `words` all."""
        return list(dict.fromkeys(key[KEY.index(axis)] for key in (self.all if words else self.text)))

    def known(self, axis: str, names: Iterable[str], words: bool = False) -> None:
        """Raises: ValueError naming the nearest, where the table has no such row, column or statistic."""
        for name in names:
            if name not in (have := self.names(axis, words)):
                raise ValueError(f"no {axis} {name!r} with a number; nearest: {nearest(name, have)}")

    def pick(self, row: Pick = ANY, column: Pick = ANY, statistic: Pick = ANY, *, words: bool = False) -> list[Key]:
        """The keys that match; a name, several, or "*". With `words` also cells without a number.

        Raises: ValueError for a name that is not there.
        """
        wanted = {}
        for axis, pick in zip(KEY, (row, column, statistic), strict=True):
            if pick != ANY:
                wanted[axis] = {pick} if isinstance(pick, str) else set(pick)
                self.known(axis, wanted[axis], words)
        cells = self.all if words else self.text
        return [key for key in cells if all(key[KEY.index(axis)] in names for axis, names in wanted.items())]

    def lines(self, axis: str) -> Iterator[tuple[tuple[str, str], dict[str, Key]]]:
        """Every line along `axis` ("row" or "column"): the two other names, and name on the axis -> key."""
        place = KEY.index(axis)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for key in self.text:
            found.setdefault(key[:place] + key[place + 1 :], {})[key[place]] = key
        yield from found.items()

    def where(self, key: Key) -> str:
        """Where a cell is; of the running text, its row says it all."""
        return key[0] if self.name == SAID else place(*key)


class Tables:
    """The printed tables of a paper by name, each read once; `marks`: those of `papers.tables.marks`."""

    def __init__(self, load: Callable[[str], pd.DataFrame], marks: pd.DataFrame | None = None) -> None:
        self._load, self._marks = load, marks
        self._read: dict[str, Cells] = {}

    def __getitem__(self, name: str) -> Cells:
        if name not in self._read:
            self._read[name] = Cells(self._load(name), name)
        return self._read[name]

    def pick(self, pick: Sequence[Any], words: bool = False) -> tuple[Cells, list[Key]]:
        """The table and keys of (table, row, column, statistic); a name, several or "*", what is missing is "*".

        Raises: ValueError where no cell is picked.
        """
        cells = self[pick[0]]
        if not (keys := cells.pick(*pick[1:], words=words)):
            raise ValueError(f"no cell is {pick}")
        return cells, keys

    def one(self, pick: Sequence[Any], words: bool = False) -> tuple[Cells, Key]:
        """The one cell that a pick names. Raises: ValueError where it names several."""
        cells, keys = self.pick(pick, words)
        if len(keys) != 1:
            raise ValueError(f"{list(pick)} is {len(keys)} cells; the printed number is one")
        return cells, keys[0]

    def marked(self, table: str, mark: str) -> set[Key]:
        """The cells of a table that carry a typographic mark: bold or underline."""
        if self._marks is None:
            return set()
        here = self._marks[(self._marks["table"] == table) & (self._marks["mark"] == mark)]
        return set(here[list(KEY)].itertuples(index=False, name=None))


def place(*names: str) -> str:
    """Names in words."""
    return " / ".join(name for name in names if name)
