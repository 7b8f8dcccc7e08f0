"""What a `card.json` has, in the parts that commands read: a file that was edited by
hand, or is another program's, is refused where it is read, by the name of its part.

A check is a function of a value and its path that raises `WrongShape`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.errors import Told

Check = Callable[[Any, str], None]


class WrongShape(Told, ValueError):
    """A part of a card is not what a card has there; the message names the part."""


def _need(holds: bool, path: str, needed: str) -> None:
    if not holds:
        raise WrongShape(f"{path} is not {needed}")


def _below(path: str, name: str) -> str:
    """The path of a name within a part; the card itself has the path ""."""
    return f"{path}.{name}" if path else name


def _object(parts: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    """An object with parts of known names; others may be there too."""

    def check(value: Any, path: str) -> None:
        _need(isinstance(value, Mapping), path, "an object")
        for name in parts:
            _need(name in value, _below(path, name), "there")
        for name, inner in {**parts, **optional}.items():
            if name in value:
                inner(value[name], _below(path, name))

    return check


def _by_name(inner: Check) -> Check:
    """An object whose names are the card's own, such as sets and aspects."""

    def check(value: Any, path: str) -> None:
        _need(isinstance(value, Mapping), path, "an object")
        for name, part in value.items():
            _text(name, _below(path, name))
            inner(part, _below(path, name))

    return check


def _rows(inner: Check) -> Check:
    """A list of like parts."""

    def check(value: Any, path: str) -> None:
        _need(isinstance(value, list), path, "a list")
        for number, part in enumerate(value, start=1):
            inner(part, f"{path}, number {number}")

    return check


def _text(value: Any, path: str) -> None:
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


def _set(value: Any, path: str) -> None:
    """A set of pairs or of graded outputs, as its kind says."""
    _ANY_SET(value, path)
    check = _PAIRS if value["kind"] == "pairs" else _GRADED
    check(value, path)


_ENDS = ("low", "high", "low_these", "high_these", "low_raters", "high_raters")
_NUMBERS = ("value", *_ENDS, "n", "raters")
_CELL_PARTS: Mapping[str, Check] = {
    **dict.fromkeys(_NUMBERS, _number),
    "reason": _text,
    "signature": _text,
}
_CELL = _object({}, _CELL_PARTS)
_ASPECT = _object(
    {"use": _object({}, {"ties": _number})},
    dict.fromkeys(("dataset", "input", "system"), _by_name(_CELL)),
)
_GRADED = _object({"aspects": _by_name(_ASPECT)}, {})
_PAIRS = _object(
    {"accuracy": _CELL, "subsets": _rows(_object({"subset": _text}, _CELL_PARTS))},
    {"swap": _CELL, "decided": _CELL},
)
_ANY_SET = _object(
    {
        "title": _text,
        "kind": _text,
        "systems": _number,
        "coverage": _object({"value": _number}, {}),
    },
    {},
)
_VERDICT = _object({"sentence": _text, "findings": _rows(_by_name(_text))}, {})
_CARD = _object(
    {
        "title": _text,
        "judge": _by_name(_fact),
        "verdict": _VERDICT,
        "sets": _by_name(_set),
    },
    {"fingerprint": _object({}, {"data": _by_name(_text)})},
)


def check(numbers: Any) -> None:
    """Pass where all that commands read of a card is what a card has there.

    Raises: WrongShape naming the first part that is not.
    """
    _CARD(numbers, "")
