"""What a cell of a table may hold, and how many rows are held in memory at once."""

from __future__ import annotations

import contextlib
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

# of a part, at most: what is held in memory at once
ROWS = 50_000
BYTES = 32 << 20


class InputError(ValueError):
    """A file, a column or a setting is not as it must be.

    The message names the place and what to do.
    """


def is_missing(value: Any) -> bool:
    """Whether a cell has no value: None, NaN, pandas' marks of a missing one."""
    return value is None or (
        not isinstance(value, str)
        and pd.api.types.is_scalar(value)
        and bool(pd.isna(value))
    )


# A cell as it is used: each function raises ValueError with what a message says
# after the place.

_NO_NUMBER = ("", "nan", "null", "none", "na", "n/a", "-")
_WHOLE = 2**53  # beyond it a float stands for several whole numbers


def as_text(value: Any) -> str | None:
    """A text, or None."""
    if is_missing(value):
        return None
    if not isinstance(value, str):
        raise ValueError(f": {_shown(value)} where a text is needed")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f": half a character (\\u{ord(value[error.start]):04x}); write it whole"
        ) from None
    return value


def as_references(value: Any, packed: bool = True) -> str | tuple[str, ...] | None:
    """A text or several; packed: whether a text may be a JSON list of texts."""
    if packed and isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(value)
            if found and all(isinstance(each, str) for each in found):
                value = found
    if isinstance(value, str) or is_missing(value):
        return as_text(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f": {_shown(value)} where a text or a list of texts is needed")
    return tuple(text for each in value if (text := as_text(each)) is not None)


def as_id(value: Any) -> str:
    """A name of a row, as text."""
    if is_missing(value) or value == "":
        raise ValueError(" is missing; every row needs one, or leave the column out")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f": {_shown(value)} where a text or a number is needed")
    return str(as_text(value) if isinstance(value, str) else value)


def as_number(value: Any) -> float:
    """A finite number, NaN where it is empty or says so (nan, null, none, na)."""
    if is_missing(value) or (
        isinstance(value, str) and value.strip().lower() in _NO_NUMBER
    ):
        return math.nan
    odd = isinstance(value, str) and (
        not value.isascii() or "_" in value
    )  # Python reads 1_000 and other digits
    try:
        if (
            odd
            or isinstance(value, bool)
            or not isinstance(value, (str, int, float, np.number, Decimal))
        ):
            raise TypeError
        number = float(value)
    except (ValueError, OverflowError, TypeError):
        raise ValueError(
            f": {_shown(value)} where a number is needed, or nothing"
        ) from None
    if math.isinf(number):
        raise ValueError(f": {_shown(value)}; a finite number is needed, or nothing")
    whole = str(value).strip().lstrip("+-")
    if (
        abs(number) >= _WHOLE
        and not isinstance(value, float)
        and whole.isdigit()
        and int(whole) != _WHOLE
    ):
        raise ValueError(
            f": {_shown(value)}, which a float cannot tell from its neighbours"
        )
    return number


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"
