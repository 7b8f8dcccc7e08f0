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

# in steps of the last printed digit: rounding, and a hair for ties rounded either way
TOLERANCE = Decimal("0.51")

_DASHES = str.maketrans(dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014", "-"))
_NUMBER = re.compile(
    r"""
    (?P<sign>[+-]?)\s?
    (?P<whole>
        [1-9][0-9]{0,2}(?:,[0-9]{3})+  # thousands with commas
        |[0-9]*
    )
    (?:\.(?P<fraction>[0-9]*))?
    (?:[eE](?P<exponent>[+-]?[0-9]{1,2}))?
    (?P<suffix>[kKMB]?)\s?%?
    """,
    re.VERBOSE,
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
    integer = match["whole"].replace(",", "")
    fraction = match["fraction"] or ""
    value = Decimal(f"{match['sign']}{integer}.{fraction}")
    shift = int(match["exponent"] or 0) + _SUFFIX[match["suffix"]]
    return Number(text, value.scaleb(shift), len(fraction) - shift)


def is_blank(text: str) -> bool:
    """Whether a printed cell says that there is no entry: empty, a dash, n/a."""
    return text.translate(_DASHES).strip().lower() in _BLANK


def exact(value: Any) -> Decimal | None:
    """The decimal that a number is written as (a float: its shortest form, 0.0905
    itself); None where it is missing.

    Raises: ValueError for infinity and for what is no number.
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, str):
        if is_blank(value):
            return None
        number = parse(value).value
        if number is not None:
            return number
    # A numpy boolean is neither of these, so it needs no line of its own.
    numeric = isinstance(value, numbers.Real | Decimal)
    if isinstance(value, bool) or not numeric:
        raise ValueError(
            f"not a number: {value!r} ({type(value).__name__}); "
            "give a float, or NaN with a reason"
        )
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise ValueError(
            f"not finite: {value!r}; give NaN with a reason where there is no value"
        )
    if isinstance(value, numbers.Integral):
        return Decimal(int(value))
    # str() of a numpy float32 is its own shortest form, which repr(float(x)) would
    # not be.
    return Decimal(str(value))


def difference(ours: Any, printed: str) -> Decimal | None:
    """Ours minus printed, exactly; None where either is missing."""
    computed = exact(ours)
    number = parse(printed).value
    if computed is None or number is None:
        return None
    with localcontext(prec=100):
        return computed - number


def agrees(ours: Any, printed: str, units: Decimal = TOLERANCE) -> bool:
    """Whether ours is within `units` steps of the printed number's last digit; False
    where either is missing.
    """
    gap = difference(ours, printed)
    return gap is not None and abs(gap) <= units * parse(printed).unit
