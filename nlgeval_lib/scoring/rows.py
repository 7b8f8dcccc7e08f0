"""Somebody's own rows: read once, under the project's column names; every cell that is used is checked, once."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.names import meant, near, pair, plain
from nlgeval_lib.scoring import provenance, table_files
from nlgeval_lib.scoring.table_files import InputError, is_missing, present

TEXTS = ("instruction", "source", "context", "output", "rubric", "aspect")
REFERENCES = ("references", "reference")
IDS = ("input_id", "system_id")
RATING = "human"
RATINGS = ("human_", "rater_")  # how columns with further ratings begin
KNOWN = (*TEXTS, *REFERENCES, *IDS, RATING)
_ALIAS = {"input": "source"}  # another name that a file may use for one of ours
# what files call them, the most telling first: `answer` is the output only where nothing else is; ratings have to be
# named by the user, and these only help to ask for them
_OTHERS = {
    "output": ("prediction", "hypothesis", "candidate", "response", "answer"),
    "reference": ("target", "gold", "reference_answer", "gold_answer"),
    "instruction": ("question", "prompt"),
    "source": ("input", "document"),
    "input_id": ("doc_id", "id"),
    "system_id": ("model", "system"),
    RATING: ("rating", "human_score", "score", "label"),
}
_NO_NUMBER = ("", "nan", "null", "none", "na", "n/a", "-")
_WHOLE = 2**53  # beyond it a float stands for several whole numbers


@dataclass(frozen=True)
class Rows:
    """Rows of a file or a data set.

    given: the columns as they were written, a missing value as None; the index names each row's place. name: the file
    as the user named it; sha256: that of its bytes, "" for a data set. frame: the columns under the project's names,
    checked; before `checked`, those given. theirs: our column -> the user's name for it; where several became the
    references, their names joined. before: that of the run that wrote the file. read_as: the part of `theirs` that is
    from there or by the look of a name.
    """

    given: pd.DataFrame
    name: str
    sha256: str = ""
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    theirs: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    read_as: Mapping[str, str] = field(default_factory=dict)

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

    def told(self) -> str:
        """What was taken for our columns without a word of the user, in one line; empty where nothing was."""
        said = ", ".join(f"{ours} = {theirs}" for ours, theirs in self.read_as.items())
        return said and f"{self.name} is read with {said} (--map OURS=COLUMN for another)"

    def lacks(self, column: str) -> str:
        """That there is no such column, with the nearest name and all there are."""
        near = meant(column, self.columns, ".")
        return f"{self.name} has no column {column!r}{near} Its columns: {', '.join(self.columns)}"


def read(path: str | os.PathLike[str], format: str = "", delimiter: str = "") -> Rows:
    """The rows of a file, or of standard input for "-", as they are written there.

    delimiter: what separates the fields of CSV, where it is not a comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a file without rows.
    """
    kind, name = table_files.format_of(str(path), format), table_files.called(str(path))
    raw = table_files.content(str(path))
    found = _rows(table_files.parsed(raw, kind, name, delimiter), name, hashlib.sha256(raw).hexdigest())
    return dataclasses.replace(found, before=provenance.columns_of(str(path)))


def chosen_rows(
    input: str = "",
    data: str = "",
    format: str = "",
    delimiter: str = "",
    mapping: Iterable[str] = (),
    fill: Iterable[str] = (),
    limit: int | None = None,
) -> Rows:
    """The rows of a file (`input`), or of a data set or a file by name (`data`), checked; the first `limit` of them.

    Raises: as `read` and `checked`; UnknownName and DataUnavailable where a data set cannot be had.
    """
    if bool(input) == bool(data):
        raise InputError("give either a file (--input) or a data set (--data)")
    path = input or (data if data not in datasets.NAMES and Path(data).is_file() else "")
    found = read(path, format, delimiter) if path else of_frame(datasets.load(data), data)
    return checked(found, mapping, fill).take(slice(limit))


def of_frame(frame: pd.DataFrame, name: str) -> Rows:
    """A frame that is here already, such as a data set's: a missing value becomes None."""
    return _rows(frame.set_axis([f"row {number}" for number in range(1, len(frame) + 1)]), name)


def _rows(frame: pd.DataFrame, name: str, sha256: str = "") -> Rows:
    given = frame.rename(columns=str).astype(object)
    given = given.where(given.notna(), None)
    return Rows(given, name, sha256, given)


# -- under our names ---------------------------------------------------------------------------------------------------


def checked(rows: Rows, mapping: Iterable[str] = (), fill: Iterable[str] = ()) -> Rows:
    """The rows under the project's column names, every known column checked.

    mapping: `ours=theirs`, such as `output=response`; `references` may be given several times, and has then as many
    references a row. fill: `column=text`, one text for all rows; `@file` in place of the text reads it from a file.
    What a file of scores was made with holds on; other columns of a file are known by usual names too, in small or
    large letters (`read_as`), as far as their cells will do.

    Texts may be missing here (an evaluator says what it needs); ratings become numbers, NaN where missing; identifiers
    become text. In CSV, `references` may hold a JSON list of texts.
    Raises: InputError naming the row and the column.
    """
    sources: dict[str, list[str]] = {}
    filled: dict[str, str] = {}
    for ours, theirs in pairs(mapping, "map", "ours=theirs, such as output=response"):
        ours = _ALIAS.get(ours, ours)
        if theirs not in rows.given.columns:
            raise InputError(f"map {f'{ours}={theirs}'!r}: {rows.lacks(theirs)}")
        if ours in sources and ours != "references":
            said = f"{ours} is mapped twice; only references may have several columns"
            raise InputError(f"map {f'{ours}={theirs}'!r}: {said}")
        sources.setdefault(ours, []).append(theirs)
    for ours, value in pairs(fill, "fill", "column=text, such as aspect=coherence"):
        ours = _ALIAS.get(ours, ours)
        if ours in filled:
            raise InputError(f"fill {f'{ours}={value}'[:60]!r}: {ours} is filled twice")
        if ours in sources:
            raise InputError(f"column {ours!r} is both mapped and filled; give one of them")
        filled[ours] = text_or_file(value)
    used = {name for names in sources.values() for name in names}
    read_as = {}
    for ours, theirs in rows.before.items():
        names = theirs.split(" + ")
        if ours not in (*sources, *filled, theirs) and set(names) <= set(rows.columns):
            sources[ours], read_as[ours] = names, theirs
    for name in rows.given.columns:
        ours = _ALIAS.get(name, name)
        if name not in used and ours not in sources and (ours == name or ours not in rows.given.columns):
            sources[ours] = [name]
    read_as |= _usual(rows, {*sources, *filled}, used)
    sources |= {ours: read_as[ours].split(" + ") for ours in read_as if ours not in sources}
    columns: dict[str, Any] = {}
    for ours, names in sources.items():
        if ours not in filled:
            columns[ours] = rows.given[names if len(names) > 1 else names[0]].to_numpy().tolist()
    called = {ours: " + ".join(sources[ours]) for ours in columns} | {ours: f"--fill {ours}" for ours in filled}
    columns |= {ours: [text] * len(rows) for ours, text in filled.items()}
    named = dataclasses.replace(rows, theirs=called, read_as=read_as)
    for ours, values in list(columns.items()):
        rating = ours == RATING or ours.startswith(RATINGS)
        try:
            columns[ours] = _cells(values, _number if rating else _READERS.get(ours, lambda cell: cell), named, ours)
        except InputError:
            if read_as.pop(ours, None) is None:
                raise
            del columns[ours], called[ours]
    return dataclasses.replace(named, frame=pd.DataFrame(columns, rows.given.index))


def _usual(rows: Rows, there: set[str], used: set[str]) -> dict[str, str]:
    """Our column -> the one of a file that is called so usually, for those that are not there."""
    if not rows.sha256:  # a data set has our names
        return {}
    free = {plain(name): name for name in reversed(rows.columns) if name not in (*KNOWN, *_ALIAS, *used)}
    found = {}
    for ours in KNOWN:
        names = (ours,) if ours == RATING else (ours, *_OTHERS.get(ours, ()))
        theirs = next((free[name] for name in map(plain, names) if name in free), None)
        if theirs is not None and ours not in there and not (ours in REFERENCES and there.intersection(REFERENCES)):
            found[ours] = free.pop(plain(theirs))
    return found


def pairs(texts: Iterable[str] | None, flag: str, form: str = "name=value") -> Iterator[tuple[str, str]]:
    """The two sides of each text of a repeatable option. Raises: InputError."""
    for given in texts or ():
        try:
            yield pair(given, form)
        except ValueError as error:
            raise InputError(f"{flag} {error}") from None


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


def numbers(rows: Rows, column: str) -> np.ndarray:
    """A column as float64, NaN where it is empty or says so (nan, null, none, na).

    Raises: InputError naming the cell that is no finite number.
    """
    return np.asarray(_cells(rows.frame[column].tolist(), _number, rows, column))


def repeated(rows: Rows) -> str:
    """What rows have the input, system and aspect of another one, in words; empty where there are none."""
    keys = [key for key in (*IDS, "aspect") if key in rows.frame.columns]
    doubled = np.flatnonzero(rows.frame.duplicated(keys) if set(keys) >= set(IDS) else ())
    if not len(doubled):
        return ""
    second = rows.frame[keys].iloc[doubled[0]]
    first = (rows.frame[keys] == second).all(axis=1).idxmax()
    what = ", ".join(f"{rows.theirs[key]} {second[key]!r}" for key in keys)
    said = f"{len(doubled)} rows have the {', '.join(keys)} of an earlier one, first {rows.place(doubled[0])}"
    return f"{said}: {what} as in {first}"


def incomplete(rows: Rows, needs: Sequence[str], who: str, empty_is_missing: bool = True) -> dict[int, str]:
    """Position -> why a row cannot be shown to an evaluator that needs these columns.

    The output may be an empty text, other texts may not unless `empty_is_missing` is off.
    Raises: InputError for a column that is not there at all.
    """
    found: dict[int, str] = {}
    held = {need: next((n for n in _choices(need) if n in rows.frame.columns), "") for need in dict.fromkeys(needs)}
    if lacking := [need for need, column in held.items() if not column]:
        wanted = " and ".join("a column " + " or ".join(map(repr, _choices(need))) for need in lacking)
        maps = " ".join(f"--map {need}={nearest(rows, need) or 'COLUMN'}" for need in lacking)
        fills = " ".join(
            "--rubric FILE, or -s rubric=no" if need == "rubric" else f"--fill {need}=TEXT" for need in lacking
        )
        raise InputError(
            f"{who} needs {wanted}, and {rows.name} has {', '.join(rows.columns)}; say which it is ({maps}), or give "
            f"one text for all rows ({fills})"
        )
    for need, column in held.items():
        for row, value in enumerate(rows.frame[column]):
            gone = is_missing(value) or value == ()
            if gone or (empty_is_missing and need != "output" and value in ("", ("",))):
                found.setdefault(row, f"{rows.place(row, column)} is {'missing' if gone else 'empty'}; {who} needs it")
    return found


def _choices(need: str) -> tuple[str, ...]:
    return REFERENCES if need in REFERENCES else (need,)


def nearest(rows: Rows, need: str) -> str:
    """The column, none of those that have a use, whose name is most like one that is usual for ours; "" without one."""
    used = {name for ours, names in rows.theirs.items() if ours in KNOWN for name in names.split(" + ")}
    free = [name for name in rows.columns if name not in used]
    names = [name for ours in reversed(_choices(need)) for name in (ours, *_OTHERS.get(ours, ()))]
    return next((found[0] for name in names if (found := near(name, free, 1))), "")


# -- cells: a value as it is used; ValueError with what a message says after the place ---------------------------------


def _cells(values: list[Any], read: Callable[[Any], Any], rows: Rows, column: str) -> Any:
    """The values as they are used. Raises: InputError naming the first that will not do."""
    found: list[Any] = []
    try:
        for value in values:
            found.append(read(value))
    except ValueError as error:
        raise InputError(f"{rows.place(len(found), column)}{error}") from None
    return np.array(found, dtype=float) if read is _number else pd.Series(found, rows.given.index, dtype=object)


def _text(value: Any) -> str | None:
    if is_missing(value):
        return None
    if not isinstance(value, str):
        raise ValueError(f": {_shown(value)} where a text is needed")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f": half a character (\\u{ord(value[error.start]):04x}); write it whole") from None
    return value


def _references(value: Any, packed: bool = True) -> str | tuple[str, ...] | None:
    """packed: whether a text may be a JSON list of texts."""
    if packed and isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(value)
            if found and all(isinstance(each, str) for each in found):
                value = found
    if isinstance(value, str) or is_missing(value):
        return _text(value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f": {_shown(value)} where a text or a list of texts is needed")
    return tuple(text for each in value if (text := _text(each)) is not None)


def _id(value: Any) -> str:
    if is_missing(value) or value == "":
        raise ValueError(" is missing; every row needs one, or leave the column out")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f": {_shown(value)} where a text or a number is needed")
    return str(_text(value) if isinstance(value, str) else value)


def _number(value: Any) -> float:
    if is_missing(value) or (isinstance(value, str) and value.strip().lower() in _NO_NUMBER):
        return math.nan
    odd = isinstance(value, str) and (not value.isascii() or "_" in value)  # Python reads 1_000 and other digits
    try:
        if odd or isinstance(value, bool) or not isinstance(value, (str, int, float, np.number, Decimal)):
            raise TypeError
        number = float(value)
    except (ValueError, OverflowError, TypeError):
        raise ValueError(f": {_shown(value)} where a number is needed, or nothing") from None
    if math.isinf(number):
        raise ValueError(f": {_shown(value)}; a finite number is needed, or nothing")
    whole = str(value).strip().lstrip("+-")
    if abs(number) >= _WHOLE and not isinstance(value, float) and whole.isdigit() and int(whole) != _WHOLE:
        raise ValueError(f": {_shown(value)}, which a float cannot tell from its neighbours")
    return number


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"


_READERS: dict[str, Callable[[Any], Any]] = {**dict.fromkeys(TEXTS, _text), **dict.fromkeys(IDS, _id)}
_READERS |= {"reference": functools.partial(_references, packed=False), "references": _references}


# -- with scores -------------------------------------------------------------------------------------------------------


def score_columns(column: str) -> tuple[str, ...]:
    """The columns that a run adds: value, status, reason, details; or NAME, NAME_status, NAME_reason, NAME_details."""
    return (column, *((part if column == "value" else f"{column}_{part}") for part in ("status", "reason", "details")))


def check_columns(data: Rows, column: str) -> None:
    """Passes where the scores have columns of their own. Raises: InputError naming the column that is taken."""
    taken = [name for name in score_columns(column) if name in data.columns]
    if taken:
        raise InputError(
            f"{data.name} has a column {taken[0]!r} already, which the scores have too; give them a name: --column NAME"
        )


def joined(data: Rows, scored: pd.DataFrame, column: str, only_scores: bool = False) -> pd.DataFrame:
    """The user's rows with their scores.

    Added: value, status, reason; from the details, what is one text or number; `details`, JSON of the rest. The columns
    that say which row it is (`input_id`, `system_id`, `aspect`, `human`) have the project's names where they were
    mapped or filled. only_scores: leave out the texts.
    """
    texts = {data.theirs.get(name, name) for name in (*TEXTS, *REFERENCES) if name != "aspect" and only_scores}
    kept: dict[str, Any] = {name: data.given[name].tolist() for name in data.given.columns if name not in texts}
    for name in (*IDS, "aspect", RATING):
        if name in data.frame.columns and data.theirs.get(name) != name and name not in (*kept, *data.read_as):
            kept[name] = present(data.frame[name])
    value, status, reason, rest = score_columns(column)
    kept |= {value: scored["value"].to_numpy(), status: scored["status"].tolist(), reason: scored["reason"].tolist()}
    details = scored["details"].tolist() if "details" in scored.columns else []
    left: list[dict[str, Any]] = [{} for _ in details]
    for name in dict.fromkeys(name for row in details for name in row):
        values = [row.get(name) for row in details]
        own = name if column == "value" else f"{column}_{name}"
        plain = own not in kept and all(value is None or isinstance(value, (str, int, float)) for value in values)
        if plain and any(value not in (None, "") for value in values):
            kept[own] = values
        else:
            for row, value in zip(left, values, strict=True):
                row |= {name: value} if value not in (None, "", (), {}) else {}
    kept |= {rest: left} if any(left) else {}
    # as objects: pandas' own texts cannot hold half a character, which is spelt out when it is written
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in kept.items()})
