"""What a `card.json` has, in the parts that commands read: a file that was edited by
hand, or is another program's, is refused where it is read, by the name of its part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.errors import Told

Check = Callable[[Any, str], None]


class WrongShape(Told, ValueError):
    """A part of a card is not what a card has there; the message names the part."""


@dataclass(frozen=True)
class Object:
    """An object with parts of known names; others may be there too.

    parts: name -> the check of what it holds.
    optional: of parts that may be absent.
    Raises: WrongShape, when it is called.
    """

    parts: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)

    def __call__(self, value: Any, path: str) -> None:
        _need(isinstance(value, Mapping), path, "an object")
        for name, check in self.parts.items():
            _need(name in value, _below(path, name), "there")
            check(value[name], _below(path, name))
        for name, check in self.optional.items():
            if name in value:
                check(value[name], _below(path, name))


@dataclass(frozen=True)
class ByName:
    """An object whose names are the card's own, such as sets and aspects.

    check: of what each name holds.
    Raises: WrongShape, when it is called.
    """

    check: Check

    def __call__(self, value: Any, path: str) -> None:
        _need(isinstance(value, Mapping), path, "an object")
        for name, inner in value.items():
            _text(name, _below(path, name))
            self.check(inner, _below(path, name))


@dataclass(frozen=True)
class Rows:
    """A list of like parts.

    check: of each part.
    Raises: WrongShape, when it is called.
    """

    check: Check

    def __call__(self, value: Any, path: str) -> None:
        _need(isinstance(value, list), path, "a list")
        for number, inner in enumerate(value, start=1):
            self.check(inner, f"{path}, number {number}")


def _below(path: str, name: str) -> str:
    """The path of a name within a part; the card itself has the path ""."""
    return f"{path}.{name}" if path else name


def _need(holds: bool, path: str, needed: str) -> None:
    """Pass where a part is what it must be."""
    if not holds:
        raise WrongShape(f"{path} is not {needed}")


def _text(value: Any, path: str) -> None:
    """A text that a file can hold."""
    _need(isinstance(value, str), path, "a text")
    _need(value == files.whole(value), path, "a text that a file can hold")


def _fact(value: Any, path: str) -> None:
    """What is known of a judge: it is written as a text, whatever it is."""
    if isinstance(value, str):
        _text(value, path)


def _number(value: Any, path: str) -> None:
    """A number, or null for one that is missing."""
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    _need(is_number, path, "a number")
    try:
        _need(math.isfinite(value), path, "a finite number")
    except OverflowError:
        raise WrongShape(f"{path} is above all numbers") from None


_CELL_PARTS: Mapping[str, Check] = {
    "value": _number,
    "low": _number,
    "high": _number,
    "low_these": _number,
    "high_these": _number,
    "n": _number,
    "reason": _text,
    "signature": _text,
}
_CELL = Object(optional=_CELL_PARTS)
_COEFFICIENTS = ByName(_CELL)
_ASPECT = Object(
    {
        "use": Object(optional={"ties": _number}),
    },
    optional={
        "dataset": _COEFFICIENTS,
        "input": _COEFFICIENTS,
        "system": _COEFFICIENTS,
    },
)
_GRADED = Object({"aspects": ByName(_ASPECT)})
_PAIRS = Object(
    {
        "accuracy": _CELL,
        "subsets": Rows(Object({"subset": _text}, optional=_CELL_PARTS)),
    },
    optional={"swap": _CELL},
)
_ANY_SET = Object(
    {
        "title": _text,
        "kind": _text,
        "systems": _number,
        "coverage": Object({"value": _number}),
    }
)


def _set(value: Any, path: str) -> None:
    """A set of pairs or of graded outputs, as its kind says."""
    _ANY_SET(value, path)
    if value["kind"] == "pairs":
        _PAIRS(value, path)
    else:
        _GRADED(value, path)


_CARD = Object(
    {
        "title": _text,
        "judge": ByName(_fact),
        "verdict": Object(
            {
                "sentence": _text,
                "findings": Rows(ByName(_text)),
            }
        ),
        "sets": ByName(_set),
    },
    optional={
        "fingerprint": Object(optional={"data": ByName(_text)}),
    },
)


def check(numbers: Any) -> None:
    """Pass where all that commands read of a card is what a card has there.

    Raises: WrongShape naming the first part that is not.
    """
    _CARD(numbers, "")
