"""Cells of a tidy table, picked by row, column and statistic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit.quantity import Quantity
from nlgeval_lib.papers.numbers import parse
from nlgeval_lib.papers.tables import KEY, nearest

ANY = "*"
Pick = str | Sequence[str]


def is_exact(statistic: str) -> bool:
    """Whether whole numbers of a statistic are counted, not rounded."""
    return statistic.split("_")[0] in ("count", "rank", "setting") or statistic == "score_reduction"


class Cells:
    """The printed numbers of one tidy table: columns `row, column, statistic` and `printed` (or `value`).

    Cells without a number are left out. Raises: ValueError for missing columns and for a key given twice.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        source = "printed" if "printed" in frame.columns else "value"
        if missing := [name for name in (*KEY, source) if name not in frame.columns]:
            raise ValueError(f"a table of printed numbers needs the columns {[*KEY, 'printed']}; missing: {missing}")
        keys = list(zip(*(frame[name] for name in KEY), strict=True))
        if len(set(keys)) < len(keys):
            raise ValueError(f"a cell is given twice: {sorted(key for key in set(keys) if keys.count(key) > 1)[:3]}")
        self.all = {key: str(text) for key, text in zip(keys, frame[source], strict=True)}
        self.text = {key: text for key, text in self.all.items() if parse(text).value is not None}

    def __getitem__(self, key: tuple[str, str, str]) -> Quantity:
        return Quantity.printed(self.text[key], is_exact(key[2]))

    def __contains__(self, key: object) -> bool:
        return key in self.text

    def names(self, axis: str) -> list[str]:
        """The rows, columns or statistics in printed order."""
        return list(dict.fromkeys(key[KEY.index(axis)] for key in self.text))

    def known(self, axis: str, names: Iterable[str]) -> None:
        """Raises: ValueError naming the nearest, where the table has no such row, column or statistic."""
        for name in names:
            if name not in (have := self.names(axis)):
                raise ValueError(f"no {axis} {name!r} with a number; nearest: {nearest(name, have)}")

    def pick(self, row: Pick = ANY, column: Pick = ANY, statistic: Pick = ANY) -> list[tuple[str, str, str]]:
        """The keys that match; a name, several, or "*". Raises: ValueError for a name that is not there."""
        wanted = {}
        for axis, pick in zip(KEY, (row, column, statistic), strict=True):
            if pick != ANY:
                wanted[axis] = {pick} if isinstance(pick, str) else set(pick)
                self.known(axis, wanted[axis])
        return [
            key for key in self.text if all(key[KEY.index(axis)] in names for axis, names in wanted.items())
        ]  # fmt: skip

    def lines(self, axis: str) -> Iterator[tuple[tuple[str, str], dict[str, tuple[str, str, str]]]]:
        """Every line along `axis` ("row" or "column"): the two other names, and name on the axis -> key."""
        place = KEY.index(axis)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for key in self.text:
            found.setdefault(key[:place] + key[place + 1 :], {})[key[place]] = key
        yield from found.items()


def place(*names: str) -> str:
    """Names in words."""
    return " / ".join(name for name in names if name)
