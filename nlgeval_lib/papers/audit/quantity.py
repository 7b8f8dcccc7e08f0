"""Printed numbers as intervals, exact sums of them, and the verdict on a printed result.

A printed 0.361 stands for anything from 0.3605 to 0.3615. Computing with whole intervals gives every value that a
result may have had before it was rounded itself; rational arithmetic keeps the ends exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nlgeval_lib.papers.numbers import parse

HOLDS, ROUNDED, UNTOLD, CONTRADICTS = VERDICTS = (
    "holds", "holds within rounding", "cannot be told", "contradicts",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value at its face, and the range `low` to `high` that rounding leaves open."""

    face: Fraction
    low: Fraction
    high: Fraction

    @classmethod
    def exactly(cls, value: Any) -> Quantity:
        """A value without rounding: an int, Fraction, Decimal, or a float by its shortest decimal form."""
        value = Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)
        return cls(value, value, value)

    @classmethod
    def printed(cls, text: str, exact: bool = False) -> Quantity:
        """What a printed number may stand for: half a unit of its last digit either way; itself where `exact`.

        A number that ends in K, M or B is rounded even where whole numbers are exact.
        Raises: ValueError where the text holds no single number.
        """
        number = parse(text)
        if number.value is None:
            raise ValueError(f"no single number: {text!r}")
        face = Fraction(number.value)
        half = Fraction(0) if exact and number.decimals == 0 else Fraction(number.unit) / 2
        return cls(face, face - half, face + half)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.face + other.face, self.low + other.low, self.high + other.high)

    def __neg__(self) -> Quantity:
        return Quantity(-self.face, -self.high, -self.low)

    def __sub__(self, other: Quantity) -> Quantity:
        return self + -other

    def __mul__(self, other: Any) -> Quantity:
        other = other if isinstance(other, Quantity) else Quantity.exactly(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Quantity(self.face * other.face, min(ends), max(ends))

    def __truediv__(self, other: Any) -> Quantity:
        """Raises: ZeroDivisionError where the divisor may be 0."""
        other = other if isinstance(other, Quantity) else Quantity.exactly(other)
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError(f"the divisor may be 0: {float(other.low)} to {float(other.high)}")
        return self * Quantity(1 / other.face, 1 / other.high, 1 / other.low)


def total(values: Iterable[Quantity]) -> Quantity:
    """The sum."""
    return sum(values, Quantity.exactly(0))


def mean(values: Iterable[Quantity]) -> Quantity:
    """The mean. Raises: ValueError where there is no value."""
    values = list(values)
    if not values:
        raise ValueError("a mean of no values")
    return total(values) / len(values)


def largest(values: Iterable[Quantity]) -> Quantity:
    """The largest of several: every value that it may have."""
    values = list(values)
    return Quantity(*(max(getattr(value, end) for value in values) for end in ("face", "low", "high")))


@dataclass(frozen=True, slots=True)
class Finding:
    """One relation checked: what is printed, what follows from the other numbers, and whether the two agree."""

    place: str
    relation: str
    printed: str
    recomputed: float
    low: float
    high: float
    verdict: str
    note: str = ""


def verdict(printed: Quantity, recomputed: Quantity) -> str:
    """Whether a printed result can be the recomputed one, rounded.

    `holds`: the inputs taken at face value round to what is printed (a tie either way). `holds within rounding`: some
    values of the inputs that round to what is printed do. `contradicts`: none does.
    """
    if printed.low <= recomputed.face <= printed.high:
        return HOLDS
    return ROUNDED if recomputed.low <= printed.high and printed.low <= recomputed.high else CONTRADICTS


def same(first: Quantity, second: Quantity) -> str:
    """Whether two printed numbers can be one value, rounded twice.

    Intervals that only touch do not do: 0.361 and 0.362 are two numbers. 0.36 and 0.361 are one.
    """
    if first.face == second.face:
        return HOLDS
    low, high = max(first.low, second.low), min(first.high, second.high)
    thin = first.low == first.high or second.low == second.high
    return ROUNDED if low < high or (thin and low == high) else CONTRADICTS


def check(
    place: str, relation: str, text: str, readings: Quantity | Mapping[str, Quantity], exact: bool = False
) -> Finding:
    """The verdict on one printed result.

    Where a relation may be read in several ways, `readings` names them all: the best verdict counts, then the first.
    """
    named = {"": readings} if isinstance(readings, Quantity) else dict(readings)
    printed = Quantity.printed(text, exact)
    name = min(named, key=lambda key: VERDICTS.index(verdict(printed, named[key])))
    value, found = named[name], verdict(printed, named[name])
    others = ", ".join(f"{key} {float(one.face):.6g}" for key, one in named.items() if key != name)
    notes = [f"read as {name}; otherwise {others}"] if len(named) > 1 and found != CONTRADICTS else []
    if found == CONTRADICTS and len({one.face for one in named.values()}) > 1:
        notes.append("in no reading: " + ", ".join(f"{key} {float(one.face):.6g}" for key, one in named.items()))
    if found == CONTRADICTS and any(_cut_off(one.face, parse(text)) for one in named.values()):
        notes.append("cut off, not rounded")
    return finding(place, relation, text, value, found, "; ".join(notes))


def finding(place: str, relation: str, text: str, value: Quantity, found: str, note: str = "") -> Finding:
    """A finding with its numbers as floats."""
    return Finding(place, relation, text, float(value.face), float(value.low), float(value.high), found, note)


def in_words(place: str, relation: str, text: str, found: str, note: str = "") -> Finding:
    """A finding about words or marks, which has no number to recompute."""
    return Finding(place, relation, text, math.nan, math.nan, math.nan, found, note)


def _cut_off(value: Fraction, number: Any) -> bool:
    """Whether the printed number is the value without its further digits."""
    unit = Fraction(number.unit)
    return math.trunc(value / unit) * unit == Fraction(number.value)
