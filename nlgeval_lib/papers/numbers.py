"""Printed numbers: what a cell says, to how many digits, and whether a computed
value agrees with it.
"""

from __future__ import annotations

import functools
import math
import numbers
import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import pandas as pd

TOLERANCE = Decimal(
    "0.51"
)  # units of the last printed digit: rounding, and a hair for ties rounded either way

_DASHES = str.maketrans(dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014", "-"))
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)\s?"
    r"(?P<whole>[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,2}))?"
    r"(?P<suffix>[kKMB]?)\s?%?"
)
_SUFFIX = {"": 0, "k": 3, "K": 3, "M": 6, "B": 9}
_BLANK = {"", "-", "--", "n/a", "na", "none"}


@dataclass(frozen=True, slots=True)
class Number:
    """A printed cell, read: None where it holds no single number; `decimals` after
    the point, -3 for "20K".
    """

    printed: str
    value: Decimal | None
    decimals: int = 0

    @property
    def unit(self) -> Decimal:
        """What one step of the last printed digit is worth."""
        return Decimal(1).scaleb(-self.decimals)

    def __float__(self) -> float:
        return math.nan if self.value is None else float(self.value)


@functools.lru_cache(maxsize=65536)
def parse(text: str) -> Number:
    """Which number a printed cell holds, and to how many digits.

    Reads signs (any dash), a missing leading zero, thousands commas, percent signs,
    exponents and K/M/B. Bounds ("<0.05"), ranges, "a (b)" and words hold no single
    number.
    """
    match = _NUMBER.fullmatch(text.translate(_DASHES).strip())
    if match is None or not (match["whole"] or match["fraction"]):
        return Number(text, None)
    digits = (
        f"{match['sign']}{match['whole'].replace(',', '')}.{match['fraction'] or ''}"
    )
    shift = int(match["exponent"] or 0) + _SUFFIX[match["suffix"]]
    return Number(
        text, Decimal(digits).scaleb(shift), len(match["fraction"] or "") - shift
    )


def is_blank(text: str) -> bool:
    """Whether a printed cell says that there is no entry: empty, a dash, n/a."""
    return text.translate(_DASHES).strip().lower() in _BLANK


def exact(value: Any) -> Decimal | None:
    """The decimal that a number is written as (a float: its shortest form, 0.0905
    itself); None where it is missing.

    Raises: ValueError for infinity and for what is no number.
    """
    if (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, str) and is_blank(value))
    ):
        return None
    if isinstance(value, str) and (number := parse(value).value) is not None:
        return number
    if isinstance(value, bool) or not isinstance(
        value, numbers.Real | Decimal
    ):  # a numpy boolean is none of them
        raise ValueError(
            f"not a number: {value!r} ({type(value).__name__}); give a float, or NaN with a reason"
        )
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise ValueError(
            f"not finite: {value!r}; give NaN with a reason where there is no value"
        )
    # str() of a numpy float32 is its own shortest form, which repr(float(x)) would not
    # be
    return (
        Decimal(int(value))
        if isinstance(value, numbers.Integral)
        else Decimal(str(value))
    )


def difference(ours: Any, printed: str) -> Decimal | None:
    """Ours minus printed, exactly; None where either is missing."""
    mine = exact(ours)
    number = parse(printed).value
    if mine is None or number is None:
        return None
    with localcontext(prec=100):
        return mine - number


def agrees(ours: Any, printed: str, units: Decimal = TOLERANCE) -> bool:
    """Whether ours is within `units` steps of the printed number's last digit; False
    where either is missing.
    """
    gap = difference(ours, printed)
    return gap is not None and abs(gap) <= units * parse(printed).unit
