"""Printed cells, picked by name, as intervals: 0.361 is anything from 0.3605 to 0.3615;
and the verdict on a result.

Intervals give every value that a result may have had before it was rounded; rational
arithmetic keeps ends exact.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from nlgeval_lib.papers.numbers import parse
from nlgeval_lib.papers.printed_tables import KEY, nearest

VERDICTS = ("holds", "holds within rounding", "cannot be told", "contradicts")
HOLDS, ROUNDED, UNTOLD, CONTRADICTS = VERDICTS
ANY = "*"
SAID = "text_claims"
Key = tuple[str, ...]
Pick = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value at its face, and the range `low` to `high` that rounding leaves open.

    Plain numbers count as exact.
    """

    face: Fraction
    low: Fraction
    high: Fraction

    @classmethod
    def exactly(cls, value: Any) -> Quantity:
        """A value without rounding; a float by its shortest decimal form."""
        if isinstance(value, Quantity):
            return value
        if isinstance(value, float):
            value = repr(float(value))
        value = Fraction(value)
        return cls(value, value, value)

    @classmethod
    @functools.lru_cache(maxsize=65536)
    def printed(cls, text: str, exact: bool = False) -> Quantity:
        """What a printed number may stand for: half a unit of its last digit either
        way; a whole one itself if `exact`.

        Raises: ValueError where the text holds no single number.
        """
        number = parse(text)
        if number.value is None:
            raise ValueError(f"no single number: {text!r}")
        face = Fraction(number.value)
        half = Fraction(number.unit) / 2
        # 20K has -3 decimals: it is rounded even where whole numbers are exact.
        if exact and number.decimals == 0:
            half = Fraction(0)
        return cls(face, face - half, face + half)

    def __add__(self, addend: Any) -> Quantity:
        addend = self.exactly(addend)
        face = self.face + addend.face
        return Quantity(face, self.low + addend.low, self.high + addend.high)

    def __sub__(self, subtrahend: Any) -> Quantity:
        return self + self.exactly(subtrahend) * -1

    def __mul__(self, factor: Any) -> Quantity:
        factor = self.exactly(factor)
        ends = (factor.low, factor.high)
        products = [own_end * end for own_end in (self.low, self.high) for end in ends]
        return Quantity(self.face * factor.face, min(products), max(products))

    def __truediv__(self, divisor: Any) -> Quantity:
        """Raises: ZeroDivisionError where the divisor may be 0."""
        divisor = self.exactly(divisor)
        low = divisor.low
        high = divisor.high
        if low <= 0 <= high:
            raise ZeroDivisionError(
                f"the divisor may be 0: {float(low)} to {float(high)}"
            )
        return self * Quantity(1 / divisor.face, 1 / high, 1 / low)

    @classmethod
    def total(cls, values: Iterable[Quantity]) -> Quantity:
        return sum(values, cls.exactly(0))

    @classmethod
    def mean(cls, values: Iterable[Quantity]) -> Quantity:
        values = list(values)
        return cls.total(values) / len(values)

    @classmethod
    def largest(cls, values: Iterable[Quantity]) -> Quantity:
        values = list(values)
        return cls(
            max(value.face for value in values),
            max(value.low for value in values),
            max(value.high for value in values),
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """One relation checked: what is printed, what follows from the other numbers,
    and whether the two agree.
    """

    place: str
    relation: str
    printed: str
    value: Quantity | None  # what follows; None where words or marks are compared
    verdict: str
    note: str = ""
    name: str = ""  # of the fact, the same in every row that shows it

    @property
    def numbers(self) -> tuple[float, ...]:
        """What follows at face value, and the ends of its range; NaN where words or
        marks are compared.
        """
        if self.value is None:
            return (math.nan,) * 3
        return float(self.value.face), float(self.value.low), float(self.value.high)


def joined(*notes: str, between: str = "; ") -> str:
    """Notes in one line, empty ones left out."""
    return between.join(filter(None, notes))


def place(*names: str) -> str:
    """Names in words."""
    return joined(*names, between=" / ")


def verdict(printed: Quantity, recomputed: Quantity) -> str:
    """Whether a printed result can be the recomputed one, rounded.

    `holds`: at face value it rounds to what is printed (a tie either way). `holds
    within rounding`: some values of the inputs that round to what is printed do, ends
    included. `contradicts`: none does.
    """
    if printed.low <= recomputed.face <= printed.high:
        return HOLDS
    if recomputed.low <= printed.high and printed.low <= recomputed.high:
        return ROUNDED
    return CONTRADICTS


def above(gap: Quantity) -> str:
    """The verdict on a number that is said to be more than another: `gap` is by how
    much it is.
    """
    if gap.face > 0:
        return HOLDS
    return ROUNDED if gap.high > 0 else CONTRADICTS


def same(first: Quantity, second: Quantity) -> str:
    """Whether two printed numbers can be one value, rounded twice: 0.36 and 0.361 can.

    Ranges that only touch cannot: 0.361 and 0.362 are two numbers. An exact one may lie
    at an end of the other's range.
    """
    if first.face == second.face:
        return HOLDS
    low = max(first.low, second.low)
    high = min(first.high, second.high)
    exact = first.low == first.high or second.low == second.high
    return ROUNDED if low < high or (exact and low == high) else CONTRADICTS


class Cells:
    """The printed cells of one table, as `papers.load` gives it."""

    def __init__(self, frame: pd.DataFrame, name: str = "") -> None:
        self.name = name
        self.all: dict[Key, str] = frame.set_index(list(KEY))["printed"].to_dict()
        self.text: dict[Key, str] = {}
        for key, text in self.all.items():
            if parse(text).value is not None:
                self.text[key] = text

    def __getitem__(self, key: Key) -> Quantity:
        statistic = key[2]
        exact = statistic.split("_")[0] in ("count", "rank", "setting")
        exact = exact or statistic == "score_reduction"
        return Quantity.printed(self.text[key], exact)

    def __contains__(self, key: object) -> bool:
        return key in self.text

    def turned(self) -> Cells:
        """The same cells with rows and columns exchanged."""
        keys = [
            (column, row, statistic, text)
            for (row, column, statistic), text in self.all.items()
        ]
        return Cells(pd.DataFrame(keys, columns=[*KEY, "printed"]), self.name)

    def names(self, axis: str, words: bool = False) -> list[str]:
        """The rows, columns or statistics in printed order: those with a number,
        with `words` all.
        """
        position = KEY.index(axis)
        keys = self.all if words else self.text
        return list(dict.fromkeys(key[position] for key in keys))

    def known(self, axis: str, names: Iterable[str], words: bool = False) -> None:
        """Raises: ValueError naming the nearest, where the table has no such row,
        column or statistic.
        """
        allowed = self.names(axis, words)
        for name in names:
            if name not in allowed:
                hint = nearest(name, allowed)
                raise ValueError(f"no {axis} {name!r} with a number; nearest: {hint}")

    def pick(
        self,
        row: Pick = ANY,
        column: Pick = ANY,
        statistic: Pick = ANY,
        *,
        words: bool = False,
    ) -> list[Key]:
        """The keys that match a name, several, or "*"; with `words` also without a
        number.

        Raises: ValueError.
        """
        keys = list(self.all if words else self.text)
        for position, pick in enumerate((row, column, statistic)):
            if pick != ANY:
                names = {pick} if isinstance(pick, str) else {*pick}
                self.known(KEY[position], names, words)
                keys = [key for key in keys if key[position] in names]
        return keys

    def best(self, *pick: Pick) -> Quantity:
        return Quantity.largest(self[key] for key in self.pick(*pick))

    def lines(self, axis: str) -> Iterator[tuple[Key, dict[str, Key]]]:
        """Every line along `axis` ("row" or "column"): the two other names, and name
        on the axis -> key.
        """
        position = KEY.index(axis)
        lines: dict[Key, dict[str, Key]] = {}
        for key in self.text:
            other_names = key[:position] + key[position + 1 :]
            lines.setdefault(other_names, {})[key[position]] = key
        yield from lines.items()

    def finding(
        self,
        key: Key,
        relation: str,
        value: Quantity | None,
        verdict: str,
        note: str = "",
    ) -> Finding:
        """What was found of one of the cells; of the running text, its row says
        where it is.
        """
        where = key[0] if self.name == SAID else place(*key)
        return Finding(where, relation, self.all[key], value, verdict, note)

    def check(
        self, key: Key, relation: str, readings: Quantity | Mapping[str, Quantity]
    ) -> Finding:
        """The verdict on one of the cells as the printed result of others; of
        several readings the best one counts.
        """
        if isinstance(readings, Quantity):
            readings = {"": readings}
        printed = self[key]
        verdicts = {name: verdict(printed, value) for name, value in readings.items()}
        best = min(verdicts, key=lambda name: VERDICTS.index(verdicts[name]))
        faces = {
            name: f"{name} {float(value.face):.6g}" for name, value in readings.items()
        }
        note = ""
        if verdicts[best] == CONTRADICTS:
            note = self._why_not(key, readings, faces)
        elif len(readings) > 1:
            del faces[best]
            note = f"read as {best}; otherwise {', '.join(faces.values())}"
        return self.finding(key, relation, readings[best], verdicts[best], note)

    def _why_not(
        self, key: Key, readings: Mapping[str, Quantity], faces: Mapping[str, str]
    ) -> str:
        """What is said of a cell that no reading gives: what each one gives, where they
        differ, and whether the cell is one of them cut off.
        """
        notes = []
        values = {value.face for value in readings.values()}
        if len(values) > 1:
            notes.append(f"in no reading: {', '.join(faces.values())}")
        unit = Fraction(parse(self.text[key]).unit)
        if self[key].face in {math.trunc(value / unit) * unit for value in values}:
            notes.append("cut off, not rounded")
        return joined(*notes)


class Tables:
    """The printed tables of a paper by name, each read once; `marks`: those of
    `printed_tables.marks`.
    """

    def __init__(
        self, load: Callable[[str], pd.DataFrame], marks: pd.DataFrame | None = None
    ) -> None:
        if marks is None:
            marks = pd.DataFrame(columns=["table", *KEY, "mark"])
        self._load = load
        self._marks = marks
        self._read: dict[str, Cells] = {}

    def __getitem__(self, name: str) -> Cells:
        if name not in self._read:
            self._read[name] = Cells(self._load(name), name)
        return self._read[name]

    def pick(self, pick: Sequence[Any], words: bool = False) -> tuple[Cells, list[Key]]:
        """The table and keys of (table, row, column, statistic); the last may be left
        out.

        Raises: ValueError.
        """
        cells = self[pick[0]]
        keys = cells.pick(*pick[1:], words=words)
        if not keys:
            raise ValueError(f"no cell is {pick}")
        return cells, keys

    def one(self, pick: Sequence[Any], words: bool = False) -> tuple[Cells, Key]:
        """The one cell that a pick names. Raises: ValueError where it names several."""
        cells, keys = self.pick(pick, words)
        if len(keys) != 1:
            raise ValueError(
                f"{list(pick)} is {len(keys)} cells; the printed number is one"
            )
        return cells, keys[0]

    def marked(self, table: str, mark: str) -> set[Key]:
        """The cells of a table that are bold, or underlined."""
        marks = self._marks.query("table == @table and mark == @mark")
        return set(marks[list(KEY)].itertuples(index=False, name=None))
