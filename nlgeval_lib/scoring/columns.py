"""Which column is what: a user's names become the project's, and every cell that is used is checked."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.names import meant
from nlgeval_lib.scoring.table import InputError, Table, is_missing

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
class Data:
    """Rows to score. `frame` has the project's column names, `table` is the file as it was.

    theirs: our column -> the user's name for it; where several became the references, their names joined.
    """

    frame: pd.DataFrame
    table: Table
    theirs: Mapping[str, str] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    def cell(self, position: int, column: str) -> str:
        """How a message names a cell of one of our columns."""
        name = self.theirs.get(column, column)
        ours = f" ({column})" if name != column else ""
        return self.table.place(position, name) + ours

    def head(self, rows: int) -> Data:
        """The first rows only."""
        return self.take(slice(rows))

    def take(self, rows: slice | np.ndarray) -> Data:
        """Some rows: a slice, their positions, or a mask."""
        table = Table(self.table.frame.iloc[rows], self.table.name, self.table.sha256)
        return Data(self.frame.iloc[rows], table, self.theirs, self.attrs)


def prepare(table: Table, mapping: Iterable[str] = (), fill: Iterable[str] = ()) -> Data:
    """The rows of a table under the project's column names, every known column checked.

    mapping: `ours=theirs`, such as `output=response`; `references` may be given several times, and has then as many
    references a row. fill: `column=text`, one text for all rows; `@file` in place of the text reads it from a file.

    Texts may be missing here (an evaluator says what it needs); ratings become numbers, NaN where missing; identifiers
    become text. In CSV, `references` may hold a JSON list of texts.
    Raises: InputError naming the row and the column.
    """
    chosen = _mapped(table, mapping)
    given = _filled(fill)
    doubled = sorted(set(chosen) & set(given))
    if doubled:
        raise InputError(f"column {doubled[0]!r} is both mapped and filled; give one of them")
    columns: dict[str, list[Any]] = {}
    theirs: dict[str, str] = {}
    for ours, names in _order(table, chosen).items():
        if ours in given:
            continue
        theirs[ours] = " + ".join(names)
        values = [table.frame[name].tolist() for name in names]
        columns[ours] = values[0] if len(values) == 1 else [list(cells) for cells in zip(*values, strict=True)]
    for ours, text in given.items():
        columns[ours] = [text] * len(table.frame)
        theirs[ours] = f"--fill {ours}"
    frame = pd.DataFrame(
        {name: pd.Series(values, index=table.frame.index, dtype=object) for name, values in columns.items()},
        table.frame.index,
    )
    data = Data(frame, table, theirs)
    for column in frame.columns:
        if column in TEXTS:
            frame[column] = _series(frame, [_text(value, data, row, column) for row, value in enumerate(frame[column])])
        elif column in REFERENCES:
            read = [_references(value, data, row, column) for row, value in enumerate(frame[column])]
            frame[column] = _series(frame, read)
        elif column in IDS:
            frame[column] = _series(frame, [_id(value, data, row, column) for row, value in enumerate(frame[column])])
        elif column == RATING or str(column).startswith(RATINGS):
            frame[column] = numbers(data, column)
    return data


def numbers(data: Data, column: str) -> np.ndarray:
    """A column as float64, NaN where it is empty or says so (nan, null, none, na).

    Raises: InputError naming the cell that is no finite number.
    """
    return np.array([_number(value, data, row, column) for row, value in enumerate(data.frame[column])], dtype=float)


def repeated(data: Data) -> str:
    """What rows have the input, system and aspect of another one, in words; empty where there are none."""
    keys = [key for key in (*IDS, "aspect") if key in data.frame.columns]
    if not set(keys) >= set(IDS):
        return ""
    doubled = data.frame.duplicated(keys).to_numpy()
    if not doubled.any():
        return ""
    second = int(np.flatnonzero(doubled)[0])
    alike = (data.frame[keys] == data.frame[keys].iloc[second]).all(axis=1).to_numpy()
    first = int(np.flatnonzero(alike)[0])
    what = ", ".join(f"{data.theirs[key]} {data.frame[key].iloc[second]!r}" for key in keys)
    return (
        f"{int(doubled.sum())} rows have the {', '.join(keys)} of an earlier one, first {data.table.place(second)}: "
        f"{what} as in {data.frame.index[first]}"
    )


def incomplete(data: Data, needs: Sequence[str], who: str, empty_is_missing: bool = True) -> dict[int, str]:
    """Position -> why a row cannot be shown to an evaluator that needs these columns.

    The output may be an empty text, other texts may not unless `empty_is_missing` is off.
    Raises: InputError for a column that is not there at all.
    """
    found: dict[int, str] = {}
    for need in needs:
        choices = REFERENCES if need in REFERENCES else (need,)
        column = next((name for name in choices if name in data.frame.columns), None)
        if column is None:
            raise InputError(_no_column(data, need, who))
        for row, value in enumerate(data.frame[column]):
            gone = is_missing(value) or (isinstance(value, tuple) and not value)
            blank = empty_is_missing and need != "output" and value in ("", ("",))
            if gone or blank:
                found.setdefault(row, f"{data.cell(row, column)} is {'missing' if gone else 'empty'}; {who} needs it")
    return found


# -- names -------------------------------------------------------------------------------------------------------------


def _mapped(table: Table, mapping: Iterable[str]) -> dict[str, list[str]]:
    chosen: dict[str, list[str]] = {}
    for text in mapping:
        ours, found, theirs = text.partition("=")
        ours = _ALIAS.get(ours, ours)
        if not found or not ours or not theirs:
            raise InputError(f"map {text!r}; the form is ours=theirs, such as output=response")
        if theirs not in table.frame.columns:
            raise InputError(f"map {text!r}: {lacks(table, theirs)}")
        if ours in chosen and ours != "references":
            raise InputError(f"map {text!r}: {ours} is mapped twice; only references may have several columns")
        chosen.setdefault(ours, []).append(theirs)
    return chosen


def _filled(fill: Iterable[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for text in fill:
        column, found, value = text.partition("=")
        column = _ALIAS.get(column, column)
        if not found or not column:
            raise InputError(f"fill {text[:60]!r}; the form is column=text, such as aspect=coherence")
        if column in given:
            raise InputError(f"fill {text[:60]!r}: {column} is filled twice")
        given[column] = text_or_file(value)
    return given


def text_or_file(value: str) -> str:
    """The value itself, or for `@path` the text of that file; `@@...` is a text that begins with one @.

    Raises: InputError for a file that cannot be read.
    """
    if not value.startswith("@"):
        return value
    if value.startswith("@@"):
        return value[1:]
    try:
        return Path(value[1:]).read_text(encoding="utf-8-sig").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {value[1:]}: {error}") from None


def _order(table: Table, chosen: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Our column -> the user's: what was mapped, then everything else under its own name."""
    used = {name for names in chosen.values() for name in names}
    order = dict(chosen)
    for name in table.frame.columns:
        ours = _ALIAS.get(name, name)
        if name in used or ours in order or (ours != name and ours in table.frame.columns):
            continue
        order[ours] = [name]
    return order


def lacks(table: Table, column: str) -> str:
    """That a table has no such column, with the nearest name and all there are."""
    names = [str(name) for name in table.frame.columns]
    return f"{table.name} has no column {column!r}{meant(column, names, '.')} Its columns: {', '.join(names)}"


def _no_column(data: Data, need: str, who: str) -> str:
    names = ", ".join(str(name) for name in data.table.frame.columns)
    wanted = " or ".join(map(repr, REFERENCES)) if need in REFERENCES else repr(need)
    return (
        f"{who} needs a column {wanted}, and {data.table.name} has {names}; "
        f"say which it is (--map {need}=COLUMN), or give one text for all rows (--fill {need}=TEXT)"
    )


# -- cells -------------------------------------------------------------------------------------------------------------


def _series(frame: pd.DataFrame, values: list[Any]) -> pd.Series:
    return pd.Series(values, index=frame.index, dtype=object)


def _text(value: Any, data: Data, row: int, column: str) -> str | None:
    if is_missing(value):
        return None
    if not isinstance(value, str):
        raise InputError(f"{data.cell(row, column)}: {_shown(value)} where a text is needed")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            broken = f"\\u{ord(value[error.start]):04x}"
            raise InputError(f"{data.cell(row, column)}: half a character ({broken}); write it whole") from None
    return value


def _references(value: Any, data: Data, row: int, column: str) -> str | tuple[str, ...] | None:
    if isinstance(value, str):
        several = _json_list(value) if column == "references" else None
        if several is None:
            return _text(value, data, row, column)
        value = several
    if is_missing(value):
        return None
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{data.cell(row, column)}: {_shown(value)} where a text or a list of texts is needed")
    return tuple(text for text in (_text(each, data, row, column) for each in value) if text is not None)


def _json_list(text: str) -> list[str] | None:
    """The texts of a JSON list of texts, None for any other text."""
    if not text.startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and found and all(isinstance(each, str) for each in found) else None


def _id(value: Any, data: Data, row: int, column: str) -> str:
    if is_missing(value) or value == "":
        raise InputError(f"{data.cell(row, column)} is missing; every row needs one, or leave the column out")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f"{data.cell(row, column)}: {_shown(value)} where a text or a number is needed")
    return str(_text(value, data, row, column) if isinstance(value, str) else value)


def _number(value: Any, data: Data, row: int, column: str) -> float:
    if is_missing(value) or (isinstance(value, str) and value.strip().lower() in _NO_NUMBER):
        return math.nan
    try:
        if isinstance(value, bool) or not isinstance(value, (str, int, float, np.number, Decimal)):
            raise ValueError
        if isinstance(value, str) and ("_" in value or not value.isascii()):  # Python reads 1_000 and other digits
            raise ValueError
        number = float(value)
    except (ValueError, OverflowError):
        raise InputError(f"{data.cell(row, column)}: {_shown(value)} where a number is needed, or nothing") from None
    if math.isinf(number):
        raise InputError(f"{data.cell(row, column)}: {_shown(value)}; a finite number is needed, or nothing")
    if abs(number) >= _WHOLE and not isinstance(value, float) and _digits(value) not in (_WHOLE, None):
        raise InputError(f"{data.cell(row, column)}: {_shown(value)}, which a float cannot tell from its neighbours")
    return number


def _digits(value: Any) -> int | None:
    """The size of what is written as a whole number; None for any other number."""
    text = str(value).strip().lstrip("+-")
    return int(text) if text.isdigit() else None


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"
