"""Printed numbers: what a cell says, to how many digits, and whether a computed value
agrees with it.

`parse` reads a printed text as a `Number`: a decimal, and the worth of its last digit.
`exact` makes the decimal of a computed value, so that nothing is lost to binary
fractions.
`difference` and `agrees` set the two beside each other. What a paper prints has been
rounded, so a number of ours agrees when it lies within about half a step of the last
printed digit.
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

# minus, hyphens and dashes of Unicode: all of them are printed for "-"
_DASHES = str.maketrans(dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014", "-"))
# ".361", "-0.5", "1,234", "20K", "35.2%", "1e-4"
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
# by how many powers of ten a letter after the number multiplies it
_SUFFIX = {"": 0, "k": 3, "K": 3, "M": 6, "B": 9}
# what a cell holds that says "no entry", in small letters
_BLANK = {"", "-", "--", "n/a", "na", "none"}


@dataclass(frozen=True, slots=True)
class Number:
    """A printed cell, read.

    printed: the text as printed.
    value: the number; None where the text holds no single number.
    decimals: printed digits after the point; negative for a suffix, -3 for "20K".
    """

    printed: str
    value: Decimal | None
    decimals: int = 0

    @property
    def unit(self) -> Decimal:
        """What one step of the last printed digit is worth: 0.001 for ".361"."""
        return Decimal(1).scaleb(-self.decimals)

    def __float__(self) -> float:
        return math.nan if self.value is None else float(self.value)


@functools.lru_cache(maxsize=65536)
def parse(text: str) -> Number:
    """Which number a printed cell holds, and to how many digits.

    Reads signs (any dash), a missing leading zero, thousands commas, percent signs,
    exponents and K/M/B. Bounds ("<0.05"), ranges, "a (b)" and words hold no single
    number.

    text: a cell as printed.
    Returns: `Number`, whose value is None where there is no single number. A percentage
    keeps its size: "35.2%" is 35.2.

    Example:
    >>> parse("1,234.50")
    Number(printed='1,234.50', value=Decimal('1234.50'), decimals=2)
    >>> parse("20K").unit
    Decimal('1E+3')
    """
    match = _NUMBER.fullmatch(text.translate(_DASHES).strip())
    if match is None or not (match["whole"] or match["fraction"]):
        return Number(text, None)
    integer = match["whole"].replace(",", "")
    fraction = match["fraction"] or ""
    value = Decimal(f"{match['sign']}{integer}.{fraction}")
    # An exponent or a suffix moves the point, and with it the last printed digit.
    exponent = int(match["exponent"] or 0)
    shift = exponent + _SUFFIX[match["suffix"]]
    decimals = len(fraction) - shift
    return Number(text, value.scaleb(shift), decimals)


def is_blank(text: str) -> bool:
    """Whether a printed cell says that there is no entry: empty, a dash, n/a."""
    return text.translate(_DASHES).strip().lower() in _BLANK


def exact(value: Any) -> Decimal | None:
    """The decimal that a number is written as; None where it is missing.

    value: a number of Python, numpy or `decimal`, or a printed text. A float stands for
    its shortest form: 0.0905 is 0.0905 itself, not the binary fraction nearest to it.
    None, NaN, pandas' NA and NaT, and blank texts (`is_blank`) are missing.
    Raises: ValueError for infinity and for what is no number; a boolean is none.
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
    """Ours minus printed, exactly; None where either is missing.

    Raises: ValueError where ours is infinite or no number.

    Example:
    >>> difference(0.3613, ".361")
    Decimal('0.0003')
    """
    computed = exact(ours)
    number = parse(printed).value
    if computed is None or number is None:
        return None
    # 28 digits, the usual precision, would round the difference of a long float.
    with localcontext(prec=100):
        return computed - number


def agrees(ours: Any, printed: str) -> bool:
    """Whether our number is the printed one, as far as rounding lets anybody say; False
    where either is missing.

    Example:
    >>> agrees(0.3613, ".361"), agrees(0.3617, ".361")
    (True, False)
    """
    gap = difference(ours, printed)
    if gap is None:
        return False
    room = TOLERANCE * parse(printed).unit
    return abs(gap) <= room
