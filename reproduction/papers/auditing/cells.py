"""Printed cells, picked by name, as intervals: 0.361 is anything from 0.3605 to 0.3615;
and the verdict on a result.

Intervals give every value that a result may have had before it was rounded; rational
arithmetic keeps ends exact.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from reproduction.papers.numbers import parse
from reproduction.papers.printed_tables import KEY, nearest

# from the best to the worst: of several readings the first verdict counts
VERDICTS = ("holds", "holds within rounding", "cannot be told", "contradicts")
HOLDS, ROUNDED, UNTOLD, CONTRADICTS = VERDICTS
ANY = "*"  # in a pick: every name
SAID = "text_claims"  # the table of numbers in the running text
Key = tuple[str, ...]  # row, column, statistic
Pick = str | Sequence[str]  # a name, several, or "*"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value at its face, and the range that rounding leaves open.

    In arithmetic plain numbers count as exact.

    face: the value as printed, or what follows from printed values.
    low, high: the ends of the range; equal to the face where nothing was rounded.

    Example:
    >>> rise = Quantity.printed("0.36") - Quantity.printed("0.30")
    >>> float(rise.face), float(rise.low), float(rise.high)
    (0.06, 0.05, 0.07)
    """

    face: Fraction
    low: Fraction
    high: Fraction

    @classmethod
    def exactly(cls, value: Any) -> Quantity:
        """A value without rounding: a `Quantity` as it is, or a number; a float by its
        shortest decimal form.
        """
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
        way.

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
        # With negative numbers any two ends may make the smallest product.
        own_ends = (self.low, self.high)
        ends = (factor.low, factor.high)
        pairs = itertools.product(own_ends, ends)
        products = [own_end * end for own_end, end in pairs]
        return Quantity(self.face * factor.face, min(products), max(products))

    def __truediv__(self, divisor: Any) -> Quantity:
        """The quotient, over all values of both ranges.

        Raises: ZeroDivisionError where the divisor may be 0.
        """
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
        """The sum of quantities; 0 of none."""
        return sum(values, cls.exactly(0))

    @classmethod
    def mean(cls, values: Iterable[Quantity]) -> Quantity:
        """The mean of quantities, of which there must be one at least."""
        values = list(values)
        return cls.total(values) / len(values)

    @classmethod
    def largest(cls, values: Iterable[Quantity]) -> Quantity:
        """The largest of quantities: of the faces, and of each end, by itself."""
        values = list(values)
        return cls(
            max(value.face for value in values),
            max(value.low for value in values),
            max(value.high for value in values),
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """One relation checked: what is printed, what follows from the other numbers, and
    whether the two agree.

    place: the cell that was checked, or where the sentence stands.
    relation: what was held against it, in words.
    value: what follows; None where words or marks are compared.
    name: of the fact, the same in every row that shows it.
    """

    place: str
    relation: str
    printed: str
    value: Quantity | None
    verdict: str
    note: str = ""
    name: str = ""

    @property
    def numbers(self) -> tuple[float, ...]:
        """What follows at face value, and the low and high end of its range; NaN where
        words or marks are compared.
        """
        if self.value is None:
            return (math.nan,) * 3
        return float(self.value.face), float(self.value.low), float(self.value.high)


def joined(*notes: str, between: str = "; ") -> str:
    """Notes in one line, empty ones left out.

    Example:
    >>> joined("cut off", "", "see Table 2")
    'cut off; see Table 2'
    """
    return between.join(filter(None, notes))


def place(*names: str) -> str:
    """Names of a cell in words: `BLEU / average / pearson`."""
    return joined(*names, between=" / ")


def verdict(printed: Quantity, recomputed: Quantity) -> str:
    """Whether a printed result can be the recomputed one, rounded.

    printed: the result, with the range that it was rounded from.
    Returns: `holds`: at face value it rounds to what is printed (a tie either way).
    `holds within rounding`: some values of the inputs that round to what is printed do,
    ends included. `contradicts`: none does.
    """
    if printed.low <= recomputed.face <= printed.high:
        return HOLDS
    if recomputed.low <= printed.high and printed.low <= recomputed.high:
        return ROUNDED
    return CONTRADICTS


def above(gap: Quantity) -> str:
    """The verdict on a number that is said to be more than another."""
    if gap.face > 0:
        return HOLDS
    if gap.high > 0:
        return ROUNDED
    return CONTRADICTS


def same(first: Quantity, second: Quantity) -> str:
    """Whether two printed numbers can be one value, rounded twice: 0.36 and 0.361 can.

    Ranges that only touch cannot: 0.361 and 0.362 are two numbers. An exact one may lie
    at an end of the other's range.

    Example:
    >>> same(Quantity.printed("0.36"), Quantity.printed("0.361"))
    'holds within rounding'
    """
    if first.face == second.face:
        return HOLDS
    # What both ranges hold.
    low = max(first.low, second.low)
    high = min(first.high, second.high)
    exact = first.low == first.high or second.low == second.high
    if low < high or (exact and low == high):
        return ROUNDED
    return CONTRADICTS


class Cells:
    """The printed cells of one table.

    A cell with a number is a `Quantity`: `cells["BLEU", "average", "pearson"]`.

    name: of the table.
    all: (row, column, statistic) -> the printed text, of every cell.
    text: the same, of the cells with a number.
    """

    def __init__(self, frame: pd.DataFrame, name: str = "") -> None:
        """frame: as `papers.load` gives it."""
        self.name = name
        self.all: dict[Key, str] = frame.set_index(list(KEY))["printed"].to_dict()
        self.text: dict[Key, str] = {}
        for key, text in self.all.items():
            if parse(text).value is not None:
                self.text[key] = text

    def __getitem__(self, key: Key) -> Quantity:
        """The number of a cell, with the range that it was rounded from."""
        # Counts, ranks and settings are whole numbers that nobody rounded.
        _, _, statistic = key
        exact = statistic.split("_")[0] in ("count", "rank", "setting")
        exact = exact or statistic == "score_reduction"
        return Quantity.printed(self.text[key], exact)

    def __contains__(self, key: object) -> bool:
        """Whether a key is that of a cell with a number."""
        return key in self.text

    def turned(self) -> Cells:
        """The same cells with rows and columns exchanged."""
        turned = []
        for (row, column, statistic), text in self.all.items():
            turned.append((column, row, statistic, text))
        frame = pd.DataFrame(turned, columns=[*KEY, "printed"])
        return Cells(frame, self.name)

    def names(self, axis: str, words: bool = False) -> list[str]:
        """The rows, columns or statistics in printed order, each once."""
        position = KEY.index(axis)
        keys = self.all if words else self.text
        return list(dict.fromkeys(key[position] for key in keys))

    def known(self, axis: str, names: Iterable[str], words: bool = False) -> None:
        """Pass where the table has all these rows, columns or statistics. Raises:
        ValueError for a name that it has not, with the nearest ones.
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
        """The keys of the cells that match three picks (a name, several, or "*" for
        all), in printed order. Raises: ValueError for a name that the table has not.
        """
        keys = list(self.all if words else self.text)
        for position, pick in enumerate((row, column, statistic)):
            if pick == ANY:
                continue
            names = {pick} if isinstance(pick, str) else {*pick}
            self.known(KEY[position], names, words)
            keys = [key for key in keys if key[position] in names]
        return keys

    def best(self, *pick: Pick) -> Quantity:
        """The largest number among the cells of a pick."""
        return Quantity.largest(self[key] for key in self.pick(*pick))

    def lines(self, axis: str) -> Iterator[tuple[Key, dict[str, Key]]]:
        """Every line along an axis, and its cells.

        axis: "row" (down the rows) or "column" (across the columns).
        Returns: the two other names of each line, and name on the axis -> key.
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
        """What came out of checking one of the cells. The place is the cell's name in
        words; of the running text, its row says where it is.
        """
        where = key[0] if self.name == SAID else place(*key)
        return Finding(where, relation, self.all[key], value, verdict, note)

    def check(
        self, key: Key, relation: str, readings: Quantity | Mapping[str, Quantity]
    ) -> Finding:
        """The verdict on one of the cells as the printed result of others.

        readings: what the others give; or, by name, what they give in each way to read
        the text, of which the best verdict counts.
        Returns: a finding whose note names the other readings, and says where the cell
        was cut off instead of rounded.
        """
        if isinstance(readings, Quantity):
            readings = {"": readings}
        printed = self[key]
        verdicts = {}
        faces = {}  # what each reading gives, in words
        for name, value in readings.items():
            verdicts[name] = verdict(printed, value)
            faces[name] = f"{name} {float(value.face):.6g}"
        best = min(verdicts, key=lambda name: VERDICTS.index(verdicts[name]))
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
        cut_off = {math.trunc(value / unit) * unit for value in values}
        if self[key].face in cut_off:
            notes.append("cut off, not rounded")
        return joined(*notes)


class Tables:
    """The printed tables of a paper by name, each read once: `tables["table_01"]`."""

    def __init__(
        self, load: Callable[[str], pd.DataFrame], marks: pd.DataFrame | None = None
    ) -> None:
        """load: name -> the table's frame, as `papers.load` gives it.
        marks: as `printed_tables.marks` gives them; None for none.
        """
        if marks is None:
            marks = pd.DataFrame(columns=["table", *KEY, "mark"])
        self._load = load
        self._marks = marks
        self._read: dict[str, Cells] = {}

    def __getitem__(self, name: str) -> Cells:
        """The cells of a table."""
        if name not in self._read:
            self._read[name] = Cells(self._load(name), name)
        return self._read[name]

    def pick(self, pick: Sequence[Any], words: bool = False) -> tuple[Cells, list[Key]]:
        """The table and keys that a pick names.

        pick: (table, row, column, statistic), each of the last three a name, several or
        "*"; those at the end may be left out.
        Raises: ValueError where it names no cell.
        """
        cells = self[pick[0]]
        keys = cells.pick(*pick[1:], words=words)
        if not keys:
            raise ValueError(f"no cell is {pick}")
        return cells, keys

    def one(self, pick: Sequence[Any], words: bool = False) -> tuple[Cells, Key]:
        """The table and key of the one cell that a pick names.

        Raises: ValueError where it names none or several.
        """
        cells, keys = self.pick(pick, words)
        if len(keys) != 1:
            raise ValueError(
                f"{list(pick)} is {len(keys)} cells; the printed number is one"
            )
        return cells, keys[0]

    def marked(self, table: str, mark: str) -> set[Key]:
        """The keys of a table's cells with a mark.

        mark: "bold" or "underline", as `marks.csv` has it.
        """
        marks = self._marks.query("table == @table and mark == @mark")
        return set(marks[list(KEY)].itertuples(index=False, name=None))
