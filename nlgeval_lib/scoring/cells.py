"""What a cell of a table may hold, and how many rows are held in memory at once."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

# What a part of the rows has at most: it is held in memory at once.
ROWS = 50_000
BYTES = 32 << 20


class InputError(ValueError):
    """A file, a column or a setting is not as it must be.

    The message names the place and what to do.
    """


def is_missing(value: Any) -> bool:
    """Whether a cell has no value: None, NaN, pandas' marks of a missing one."""
    if value is None:
        return True
    if isinstance(value, str) or not pd.api.types.is_scalar(value):
        return False
    return bool(pd.isna(value))


# Each of these functions gives a cell as it is used. It raises a ValueError with the
# text that a message has after the place of the cell.

_NO_NUMBER = ("", "nan", "null", "none", "na", "n/a", "-")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9.]+")
_WHOLE = 2**53  # above it a float stands for several whole numbers


def as_text(value: Any) -> str | None:
    """A text, or None."""
    if is_missing(value):
        return None
    if not isinstance(value, str):
        raise ValueError(f": {_shown(value)} where a text is needed")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        code = f"\\u{ord(value[error.start]):04x}"
        raise ValueError(f": half a character ({code}); write it whole") from None
    return value


def as_references(value: Any, packed: bool = True) -> str | tuple[str, ...] | None:
    """A text or several; packed: whether a text may be a JSON list of texts."""
    if packed and isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(ValueError, RecursionError):
            texts = json.loads(value)
            if texts and all(isinstance(text, str) for text in texts):
                value = texts
    if isinstance(value, str) or is_missing(value):
        return as_text(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f": {_shown(value)} where a text or a list of texts is needed")
    texts = map(as_text, value)
    return tuple(text for text in texts if text is not None)


def as_id(value: Any) -> str:
    """A name of a row, as text."""
    if is_missing(value) or value == "":
        raise ValueError(" is missing; every row needs one, or leave the column out")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f": {_shown(value)} where a text or a number is needed")
    return str(as_text(value) if isinstance(value, str) else value)


def without(values: Iterable[Any], marks: Collection[str]) -> list[Any]:
    """The values with None for each that is one of the marks of a missing number.

    A mark is compared as text and as a number: 99 is "99", 99 and 99.0.
    """
    numbers = {_as_float(mark) for mark in marks} - {None}
    kept = []
    for value in values:
        marked = str(value).strip() in marks or _as_float(value) in numbers
        kept.append(None if marked else value)
    return kept


def as_number(value: Any) -> float:
    """A finite number, NaN where it is empty or says so (nan, null, none, na)."""
    if is_missing(value):
        return math.nan
    if isinstance(value, str) and value.strip().lower() in _NO_NUMBER:
        return math.nan
    number = _as_float(value)
    if number is None:
        raise ValueError(f": {_shown(value)} where a number is needed, or nothing")
    if math.isinf(number):
        raise ValueError(f": {_shown(value)}; a finite number is needed, or nothing")
    if abs(number) >= _WHOLE and not isinstance(value, float):
        digits = str(value).strip().lstrip("+-")
        if digits.isdigit() and int(digits) != _WHOLE:
            raise ValueError(
                f": {_shown(value)}, which a float cannot tell from its neighbours"
            )
    return number


def _as_float(value: Any) -> float | None:
    """The number of a cell, None where it is not one."""
    if isinstance(value, str):
        # Python reads 1_000, and the digits of other scripts, as numbers too.
        if "_" in value or not value.isascii():
            return None
    elif isinstance(value, bool) or not isinstance(
        value, (int, float, np.number, Decimal)
    ):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError, TypeError):
        return None


def inert(value: Any) -> Any:
    """A cell that a spreadsheet does not take for a formula: such a text gets an
    apostrophe before it.
    """
    if not isinstance(value, str) or _PLAIN_NUMBER.fullmatch(value):
        return value
    if value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def _shown(value: Any) -> str:
    """A cell as messages show it: its type and its beginning."""
    return f"{type(value).__name__} {str(value)[:40]!r}"
