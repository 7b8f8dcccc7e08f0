"""What a cell of a table may hold: each as it is used, or a ValueError whose text a
message has after the cell's place.
"""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.errors import Told

# texts that say that there is no number, in small letters
_NO_NUMBER = ("", "nan", "null", "none", "na", "n/a", "-")
# texts that are no name of a row: what is written where there is none
_NO_ID = ("", "nan", "null", "none", "<na>", "n/a", "#n/a")
# what encloses the texts of a list, whoever writes it
_LIST = re.compile(r"(?:np\.|numpy\.)?array\((.*?)(?:,\s*dtype=.*)?\)", re.DOTALL)
_ENDS = {"[": "]", "(": ")", "{": "}"}
# what stands between texts that somebody put into one cell
_BETWEEN = ("|||", "<sep>", "[SEP]")
# a text that a spreadsheet takes for a number, whatever sign it begins with
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9.]+")
# a number with something behind it that a form of `words_for` takes off
_WITH_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?(\s*/\s*\d+|\s*%| out of \d+)")
_WHOLE = 2**53  # above it a float stands for several whole numbers

# A word for a number: the pattern of a whole cell, and its number, or None for the one
# that the pattern finds.
Word = tuple[re.Pattern[str], float | None]


class InputError(Told, ValueError):
    """A file, a column or a setting is not as it must be; it says what to do."""


def is_missing(value: Any) -> bool:
    """Whether a cell has no value: None, NaN, pandas' marks; "" is a value."""
    if value is None:
        return True
    if isinstance(value, str) or not pd.api.types.is_scalar(value):
        return False
    return bool(pd.isna(value))


# -- texts


def as_text(value: Any) -> str | None:
    """A text, None where it is missing; ValueError for half a character too."""
    if is_missing(value):
        return None
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return as_text(value[0])
    if not isinstance(value, str):
        raise ValueError(f": {_shown(value)} where a text is needed")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        code = f"\\u{ord(value[error.start]):04x}"
        raise ValueError(f": half a character ({code}); write it whole") from None
    return value


def as_references(value: Any, packed: bool = True) -> str | tuple[str, ...] | None:
    """A text or several (a list, of which missing ones are left out), or None.

    packed: whether a text may be a list of texts, as CSV files have several references.
    """
    if packed and isinstance(value, str):
        value = listed(value) or value
    if isinstance(value, str) or is_missing(value):
        return as_text(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f": {_shown(value)} where a text or a list of texts is needed")
    texts = map(as_text, value)
    return tuple(text for text in texts if text is not None)


def listed(text: str) -> list[str] | None:
    r"""The texts of a list as JSON, Python or numpy writes one; None for another text.

    Example:
        >>> listed("['a' \"b's\"]"), listed('["a", null]'), listed("[1]")
        (['a', "b's"], ['a'], None)
        >>> listed("('a', 'b')"), listed("array(['a', nan], dtype=object)")
        (['a', 'b'], ['a'])
    """
    text = text.strip()
    if array := _LIST.fullmatch(text):
        text = array[1].strip()
    if text[:1] not in ("[", "(") or not text.endswith(_ENDS[text[:1]]):
        return None
    try:
        texts = json.loads(text)
    except (ValueError, RecursionError):
        # a remark in brackets that quotes something is no tuple
        if text[0] == "(" and "," not in text:
            return None
        texts = _literals(text[1:-1].replace("\n", " "))
    texts = [value for value in texts or () if value is not None]
    is_list = bool(texts) and all(isinstance(value, str) for value in texts)
    return texts if is_list else None


def _literals(text: str) -> list[str] | None:
    """The texts in quotes, with commas between them or not; None for anything else."""
    texts = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                texts.append(ast.literal_eval(token.string))
            elif token.string.strip() not in ("", ",", "None", "nan"):
                return None
    except (SyntaxError, ValueError, tokenize.TokenError):
        return None
    return texts


def looks_packed(text: str) -> bool:
    """Whether a text looks as if several stood in it, whatever their notation.

    Example:
    >>> looks_packed('{"a","b"}'), looks_packed("a ||| b"), looks_packed("(a remark)")
    (True, True, False)
    """
    text = text.strip()
    if any(mark in text for mark in _BETWEEN):
        return True
    begins = re.match(r"(?:(?:np\.)?array\()?[\[({]\s*['\"\[{]", text)
    return bool(begins) and text[-1:] in _ENDS.values()


# -- names of rows


def as_id(value: Any) -> str:
    """A name of a row, as text without blanks around it; ValueError where it is
    missing.
    """
    if is_missing(value) or str(value).strip().lower() in _NO_ID:
        raise ValueError(" is missing; every row needs one, or leave the column out")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f": {_shown(value)} where a text or a number is needed")
    return str(as_text(value) if isinstance(value, str) else value).strip()


def as_rater(value: Any) -> str | None:
    """A rater's name, as `as_id`; None for an output that nobody rated."""
    if is_missing(value) or value == "":
        return None
    return as_id(value)


# -- numbers


def as_number(value: Any) -> float:
    """A finite number, NaN where the cell is empty or says so (nan, null, none, na); 1
    for true and 0 for false. Refused is also a whole number that a float would
    change.

    Example:
    >>> as_number(" 4.5 "), as_number("n/a")
    (4.5, nan)
    """
    word = str(value).strip().lower()
    if is_missing(value) or (isinstance(value, str) and word in _NO_NUMBER):
        return math.nan
    if word in ("true", "false"):
        return float(word == "true")
    number = _as_float(value)
    if number is None:
        raise ValueError(
            f": {_shown(value)} where a number is needed, or nothing{_advice(value)}"
        )
    if math.isinf(number):
        raise ValueError(f": {_shown(value)}; a finite number is needed, or nothing")
    digits = word.lstrip("+-")
    is_whole = digits.isdigit() and not isinstance(value, float)
    if is_whole and int(digits) > _WHOLE:
        raise ValueError(
            f": {_shown(value)}, which a float cannot tell from its neighbours"
        )
    return number


def _as_float(value: Any) -> float | None:
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


def _advice(value: Any) -> str:
    """How a cell that is no number may be read as one; "" where it cannot."""
    text = value.strip() if isinstance(value, str) else ""
    if isinstance(value, list | dict) or text[:1] in ("[", "{"):
        path = _path_of_number(text or value)
        return f" (a path leads into it: --map human=COLUMN.{path})" if path else ""
    if not text:
        return ""
    if re.fullmatch(r"[-+]?\d+,(\d|\d\d|\d{4,})", text):
        return " (--decimal , reads a comma before decimals)"
    if form := _WITH_NUMBER.fullmatch(text):
        return f" (--values {f'N{form[1]}'!r} says what stands beside it)"
    return f" (--values {f'{text[:20]}=NUMBER,...'!r} says what words stand for)"


def _path_of_number(value: Any) -> str:
    """The path of the first number inside a list, object or JSON text; "" for none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ""
    names = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in names:
        name = "*" if isinstance(value, list) and len(value) > 1 else key
        if isinstance(inner, int | float) and not isinstance(inner, bool):
            return str(name)
        if isinstance(inner, list | dict) and (path := _path_of_number(inner)):
            return f"{name}.{path}"
    return ""


def words_for(texts: Iterable[str], decimal: str = ".") -> list[Word]:
    """What words stand for as numbers.

    texts: `no=0,yes=1`; words in their order, the least first, `bad<fair<good` (1, 2,
    3); or a form with N for the number, `N/5`, `N%`, `N - *`.
    decimal: "," where numbers have a decimal comma.
    """
    words: list[Word] = []
    for text in texts:
        if "<" in text:
            pairs = [(word, str(n)) for n, word in enumerate(text.split("<"), start=1)]
        elif "=" in text:
            cut = [part.rpartition("=") for part in text.split(",")]
            pairs = [(word, number) for word, _, number in cut]
        elif "N" in text:
            words.append((_form(text), None))
            continue
        else:
            pairs = [("", "")]
        for word, number in pairs:
            value = _as_float(number)
            if not word.strip() or value is None:
                raise InputError(
                    f"--values {text!r}: write 'no=0,yes=1', 'bad<fair<good', or N for "
                    "a number, 'N/5'"
                )
            words.append((re.compile(re.escape(word.strip()), re.IGNORECASE), value))
    if decimal == ",":
        words.append((re.compile(r"([-+]?[\d.]*,\d+)"), None))
    elif decimal != ".":
        raise InputError(f"--decimal {decimal!r}; a point or a comma")
    return words


def _form(text: str) -> re.Pattern[str]:
    """The pattern of cells with a number for N; blanks do not count, * is any text."""
    before, _, after = text.partition("N")
    parts = [re.escape(part) for part in re.findall(r"\w+|[^\w\s]", before)]
    parts.append(r"([-+]?[\d.,]+)")
    parts += [re.escape(part) for part in re.findall(r"\w+|[^\w\s]", after)]
    return re.compile(r"\s*".join(parts).replace(r"\*", ".*"))


def with_words(values: Iterable[Any], words: Collection[Word]) -> list[Any]:
    """The values, with its number for each that is a word for one.

    Example:
        >>> with_words(["yes", "4/5", "7", None], words_for(["yes=1", "N/5"]))
        [1.0, '4', '7', None]
    """
    if not words:
        return list(values)
    read = []
    for value in values:
        text = str(value).strip()
        for pattern, number in words:
            if match := pattern.fullmatch(text):
                value = number
                if number is None:
                    value = match[1]
                    if "," in value:
                        value = value.replace(".", "").replace(",", ".")
                break
        read.append(value)
    return read


def without(values: Iterable[Any], marks: Collection[str]) -> list[Any]:
    """The values, with None for each that is a mark of a missing number, as text or as
    a number: 99 is "99", 99 and 99.0.

    Example:
        >>> without([5, "99", 99.0, None], ["99"])
        [5, None, None, None]
    """
    if not marks:
        return list(values)
    numbers = {_as_float(mark) for mark in marks} - {None}
    unmarked = []
    for value in values:
        marked = str(value).strip() in marks or _as_float(value) in numbers
        unmarked.append(None if marked else value)
    return unmarked


def words_in(values: Iterable[Any]) -> str:
    """Which words stand in a column of numbers, for a message; "" for one alone."""
    words: dict[str, None] = {}
    for value in values:
        if isinstance(value, str) and value[:1].isalpha() and _as_float(value) is None:
            words[value.strip()[:20]] = None
    if not 1 < len(words) <= 12:
        return ""
    return f"; its words: {', '.join(words)}"


def inert(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    if not isinstance(value, str) or _PLAIN_NUMBER.fullmatch(value):
        return value
    if value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def _shown(value: Any) -> str:
    """A cell as messages show it: its type and its beginning."""
    return f"{type(value).__name__} {str(value)[:40]!r}"
