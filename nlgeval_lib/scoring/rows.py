"""Somebody's own rows: read once, under the project's column names, and every cell that is used is checked."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.names import meant
from nlgeval_lib.scoring import readers
from nlgeval_lib.scoring.options import pairs, text_or_file
from nlgeval_lib.scoring.readers import InputError, is_missing

TEXTS = ("instruction", "source", "context", "output", "rubric", "aspect")
REFERENCES = ("references", "reference")
IDS = ("input_id", "system_id")
RATING = "human"
RATINGS = ("human_", "rater_")  # how columns with further ratings begin
KNOWN = (*TEXTS, *REFERENCES, *IDS, RATING)
_ALIAS = {"input": "source"}  # another name that a file may use for one of ours
_NO_NUMBER = ("", "nan", "null", "none", "na", "n/a", "-")
_WHOLE = 2**53  # beyond it a float stands for several whole numbers


@dataclass(frozen=True)
class Rows:
    """Rows of a file or a data set.

    given: the columns as they were written, a missing value as None; the index names each row's place. name: the file
    as the user named it; sha256: that of its bytes, "" for a data set. frame: the columns under the project's names,
    checked; before `checked`, those given. theirs: our column -> the user's name for it; where several became the
    references, their names joined.
    """

    given: pd.DataFrame
    name: str
    sha256: str = ""
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    theirs: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.given)

    @property
    def columns(self) -> list[str]:
        """The names of the columns as they were written."""
        return [str(name) for name in self.given.columns]

    def place(self, position: int, column: str = "") -> str:
        """How a message names a row, or a cell of it by one of our columns."""
        name = self.theirs.get(column, column)
        ours = f" ({column})" if name != column else ""
        return f"{self.name}, {self.given.index[position]}" + (f", column {name!r}{ours}" if column else "")

    def take(self, rows: slice | np.ndarray) -> Rows:
        """Some rows: a slice, their positions, or a mask."""
        return dataclasses.replace(self, given=self.given.iloc[rows], frame=self.frame.iloc[rows])

    def lacks(self, column: str) -> str:
        """That there is no such column, with the nearest name and all there are."""
        near = meant(column, self.columns, ".")
        return f"{self.name} has no column {column!r}{near} Its columns: {', '.join(self.columns)}"


def read(path: str | os.PathLike[str], format: str = "", delimiter: str = "") -> Rows:
    """The rows of a file, or of standard input for "-", as they are written there.

    delimiter: what separates the fields of CSV, where it is not a comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a file without rows.
    """
    path = str(path)
    kind, raw = readers.format_of(path, format), readers.content(path)
    columns, places = readers.columns(raw, kind, readers.called(path), delimiter)
    return _rows(columns, places, readers.called(path), hashlib.sha256(raw).hexdigest())


def of_frame(frame: pd.DataFrame, name: str) -> Rows:
    """A frame that is here already, such as a data set's: a missing value becomes None."""
    columns = {str(column): readers.present(frame[column]) for column in frame.columns}
    return _rows(columns, [f"row {number}" for number in range(1, len(frame) + 1)], name)


def _rows(columns: Mapping[str, list[Any]], places: list[str], name: str, sha256: str = "") -> Rows:
    index = pd.Index(places, dtype=object)
    given = pd.DataFrame({name: _column(values, index) for name, values in columns.items()}, index)
    return Rows(given, name, sha256, given)


def _column(values: list[Any], index: pd.Index) -> pd.Series:
    return pd.Series(values, index=index, dtype=object)


def checked(rows: Rows, mapping: Iterable[str] = (), fill: Iterable[str] = ()) -> Rows:
    """The rows under the project's column names, every known column checked.

    mapping: `ours=theirs`, such as `output=response`; `references` may be given several times, and has then as many
    references a row. fill: `column=text`, one text for all rows; `@file` in place of the text reads it from a file.

    Texts may be missing here (an evaluator says what it needs); ratings become numbers, NaN where missing; identifiers
    become text. In CSV, `references` may hold a JSON list of texts.
    Raises: InputError naming the row and the column.
    """
    sources, filled = _mapped(rows, mapping), _filled(fill)
    if doubled := sorted(set(sources) & set(filled)):
        raise InputError(f"column {doubled[0]!r} is both mapped and filled; give one of them")
    used = {name for names in sources.values() for name in names}
    for name in rows.given.columns:
        ours = _ALIAS.get(name, name)
        if name not in used and ours not in sources and (ours == name or ours not in rows.given.columns):
            sources[ours] = [name]
    theirs = {ours: " + ".join(names) for ours, names in sources.items() if ours not in filled}
    named = dataclasses.replace(rows, theirs=theirs | {ours: f"--fill {ours}" for ours in filled})
    columns: dict[str, Any] = {}
    for ours in theirs:
        values = [rows.given[name].tolist() for name in sources[ours]]
        columns[ours] = values[0] if len(values) == 1 else [list(cells) for cells in zip(*values, strict=True)]
    columns |= {ours: [text] * len(rows) for ours, text in filled.items()}
    for ours, values in columns.items():
        read = _reader(ours)
        found = values if read is None else _cells(values, read, named, ours)
        columns[ours] = np.array(found, float) if read is _number else _column(found, rows.given.index)
    return dataclasses.replace(named, frame=pd.DataFrame(columns, rows.given.index))


def numbers(rows: Rows, column: str) -> np.ndarray:
    """A column as float64, NaN where it is empty or says so (nan, null, none, na).

    Raises: InputError naming the cell that is no finite number.
    """
    return np.array(_cells(rows.frame[column].tolist(), _number, rows, column), dtype=float)


def repeated(rows: Rows) -> str:
    """What rows have the input, system and aspect of another one, in words; empty where there are none."""
    keys = [key for key in (*IDS, "aspect") if key in rows.frame.columns]
    if not set(keys) >= set(IDS):
        return ""
    doubled = rows.frame.duplicated(keys).to_numpy()
    if not doubled.any():
        return ""
    second = int(np.flatnonzero(doubled)[0])
    alike = (rows.frame[keys] == rows.frame[keys].iloc[second]).all(axis=1).to_numpy()
    first = int(np.flatnonzero(alike)[0])
    what = ", ".join(f"{rows.theirs[key]} {rows.frame[key].iloc[second]!r}" for key in keys)
    return (
        f"{int(doubled.sum())} rows have the {', '.join(keys)} of an earlier one, first {rows.place(second)}: "
        f"{what} as in {rows.frame.index[first]}"
    )


def incomplete(rows: Rows, needs: Sequence[str], who: str, empty_is_missing: bool = True) -> dict[int, str]:
    """Position -> why a row cannot be shown to an evaluator that needs these columns.

    The output may be an empty text, other texts may not unless `empty_is_missing` is off.
    Raises: InputError for a column that is not there at all.
    """
    found: dict[int, str] = {}
    for need in needs:
        choices = REFERENCES if need in REFERENCES else (need,)
        column = next((name for name in choices if name in rows.frame.columns), None)
        if column is None:
            raise InputError(
                f"{who} needs a column {' or '.join(map(repr, choices))}, and {rows.name} has "
                f"{', '.join(rows.columns)}; say which it is (--map {need}=COLUMN), or give one text for all rows "
                f"(--fill {need}=TEXT)"
            )
        for row, value in enumerate(rows.frame[column]):
            gone = is_missing(value) or value == ()
            if gone or (empty_is_missing and need != "output" and value in ("", ("",))):
                found.setdefault(row, f"{rows.place(row, column)} is {'missing' if gone else 'empty'}; {who} needs it")
    return found


# -- names -------------------------------------------------------------------------------------------------------------


def _mapped(rows: Rows, mapping: Iterable[str]) -> dict[str, list[str]]:
    """Our column -> the user's, as they were mapped."""
    chosen: dict[str, list[str]] = {}
    for ours, theirs in pairs(mapping, "map", "ours=theirs, such as output=response"):
        ours = _ALIAS.get(ours, ours)
        if theirs not in rows.given.columns:
            raise InputError(f"map {f'{ours}={theirs}'!r}: {rows.lacks(theirs)}")
        if ours in chosen and ours != "references":
            raise InputError(
                f"map {f'{ours}={theirs}'!r}: {ours} is mapped twice; only references may have several columns"
            )
        chosen.setdefault(ours, []).append(theirs)
    return chosen


def _filled(fill: Iterable[str]) -> dict[str, str]:
    """Our column -> its text."""
    given: dict[str, str] = {}
    for column, value in pairs(fill, "fill", "column=text, such as aspect=coherence"):
        column = _ALIAS.get(column, column)
        if column in given:
            raise InputError(f"fill {f'{column}={value}'[:60]!r}: {column} is filled twice")
        given[column] = text_or_file(value)
    return given


# -- cells: a value as it is used; ValueError with what a message says after the place ---------------------------------


def _reader(column: str) -> Callable[[Any], Any] | None:
    """How the cells of one of our columns are read; None for a column that is not ours."""
    if column in TEXTS:
        return _text
    if column in REFERENCES:
        return _references if column == "references" else _reference
    if column in IDS:
        return _id
    return _number if column == RATING or column.startswith(RATINGS) else None


def _cells(values: list[Any], read: Callable[[Any], Any], rows: Rows, column: str) -> list[Any]:
    """The values as they are used. Raises: InputError naming the first that will not do."""
    found = []
    try:
        for value in values:
            found.append(read(value))
    except ValueError as error:
        raise InputError(f"{rows.place(len(found), column)}{error}") from None
    return found


def _text(value: Any) -> str | None:
    if is_missing(value):
        return None
    if not isinstance(value, str):
        raise ValueError(f": {_shown(value)} where a text is needed")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            broken = f"\\u{ord(value[error.start]):04x}"
            raise ValueError(f": half a character ({broken}); write it whole") from None
    return value


def _reference(value: Any) -> str | tuple[str, ...] | None:
    if isinstance(value, str) or is_missing(value):
        return _text(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f": {_shown(value)} where a text or a list of texts is needed")
    return tuple(text for each in value if (text := _text(each)) is not None)


def _references(value: Any) -> str | tuple[str, ...] | None:
    """As `_reference`, where a text may be a JSON list of texts."""
    if isinstance(value, str) and value.startswith("["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list) and found and all(isinstance(each, str) for each in found):
            value = found
    return _reference(value)


def _id(value: Any) -> str:
    if is_missing(value) or value == "":
        raise ValueError(" is missing; every row needs one, or leave the column out")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f": {_shown(value)} where a text or a number is needed")
    return str(_text(value) if isinstance(value, str) else value)


def _number(value: Any) -> float:
    if is_missing(value) or (isinstance(value, str) and value.strip().lower() in _NO_NUMBER):
        return math.nan
    number: float | None = None
    odd = isinstance(value, str) and (not value.isascii() or "_" in value)  # Python reads 1_000 and other digits
    if isinstance(value, (str, int, float, np.number, Decimal)) and not isinstance(value, bool) and not odd:
        with contextlib.suppress(ValueError, OverflowError):
            number = float(value)
    if number is None:
        raise ValueError(f": {_shown(value)} where a number is needed, or nothing")
    if math.isinf(number):
        raise ValueError(f": {_shown(value)}; a finite number is needed, or nothing")
    if abs(number) >= _WHOLE and not isinstance(value, float) and _digits(value) not in (_WHOLE, None):
        raise ValueError(f": {_shown(value)}, which a float cannot tell from its neighbours")
    return number


def _digits(value: Any) -> int | None:
    """The size of what is written as a whole number; None for any other number."""
    text = str(value).strip().lstrip("+-")
    return int(text) if text.isdigit() else None


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"
