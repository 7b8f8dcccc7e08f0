"""What a cell of a table may hold, and how many rows are held in memory at once.

`as_text`, `as_references`, `as_id` and `as_number` each give a cell as it is used, or
refuse it; `inert` makes one harmless to a spreadsheet.
"""

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

# What a part of the rows has at most: it is held in memory at once. 32 MiB of texts.
ROWS = 50_000
BYTES = 32 << 20


class InputError(ValueError):
    """A file, a column or a setting is not as it must be.

    The message names the place and what to do.
    """


def is_missing(value: Any) -> bool:
    """Whether a cell has no value: None, NaN, pandas' marks of a missing one.

    An empty text is a value; so is a list, whatever is in it.
    """
    if value is None:
        return True
    if isinstance(value, str) or not pd.api.types.is_scalar(value):
        return False
    return bool(pd.isna(value))


# Each of these functions gives a cell as it is used. It raises a ValueError with the
# text that a message has after the place of the cell.

# texts that say that there is no number, in small letters
_NO_NUMBER = ("", "nan", "null", "none", "na", "n/a", "-")
# a text that a spreadsheet takes for a number, whatever sign it begins with
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9.]+")
_WHOLE = 2**53  # above it a float stands for several whole numbers


def as_text(value: Any) -> str | None:
    """A text, or None where the cell is missing.

    Raises: ValueError for another value, and for a text with half a character (a lone
    surrogate), which no file could hold.
    """
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
    """A text or several, or None where the cell is missing.

    value: a text, or a list or tuple of texts, of which missing ones are left out.
    packed: whether a text may be a JSON list of texts, as CSV files have several
    references; a text that is no such list is one reference.
    Raises: ValueError for another value.

    Example:
        >>> as_references('["a", "b"]')
        ('a', 'b')
        >>> as_references('["a", "b"]', packed=False)
        '["a", "b"]'
    """
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
    """A name of a row, as text; a number is written as Python writes it.

    Raises: ValueError for a missing or empty one, and for what is no text or number.
    """
    if is_missing(value) or value == "":
        raise ValueError(" is missing; every row needs one, or leave the column out")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f": {_shown(value)} where a text or a number is needed")
    return str(as_text(value) if isinstance(value, str) else value)


def without(values: Iterable[Any], marks: Collection[str]) -> list[Any]:
    """The values, with None for each that is one of the marks of a missing number.

    marks: texts. Each is compared as text and as a number: 99 is "99", 99 and 99.0.

    Example:
        >>> without([5, "99", 99.0, None], ["99"])
        [5, None, None, None]
    """
    numbers = {_as_float(mark) for mark in marks} - {None}
    unmarked = []
    for value in values:
        marked = str(value).strip() in marks or _as_float(value) in numbers
        unmarked.append(None if marked else value)
    return unmarked


def as_number(value: Any) -> float:
    """A finite number, NaN where the cell is empty or says so (nan, null, none, na).

    Raises: ValueError for infinity, for what is no number, and for a whole number that
    a float would change without a word.

    Example:
        >>> as_number(" 4.5 "), as_number("n/a")
        (4.5, nan)
    """
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

    Numbers, also negative ones as text, stay as they are.

    Example:
        >>> inert("=SUM(A1)"), inert("-1.5")
        ("'=SUM(A1)", '-1.5')
    """
    if not isinstance(value, str) or _PLAIN_NUMBER.fullmatch(value):
        return value
    if value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def _shown(value: Any) -> str:
    """A cell as messages show it: its type and its beginning."""
    return f"{type(value).__name__} {str(value)[:40]!r}"
