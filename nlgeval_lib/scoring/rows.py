"""Somebody's own rows: read once, under the project's column names; every cell that is used is checked, once."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.names import meant, near, pair, plain
from nlgeval_lib.scoring import provenance, table_files
from nlgeval_lib.scoring.table_files import InputError, TableFile, as_id, as_number, as_references, as_text, is_missing

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


@dataclass(frozen=True)
class Rows:
    """Rows of a file or a data set.

    given: the columns as they were written, a missing value as None; the index names each row's place. name: the file
    as the user named it; sha256: that of its bytes, "" for a data set. frame: the columns under the project's names,
    checked; before `checked`, those given. theirs: our column -> the user's name for it; where several became the
    references, their names joined. written: the names of all columns, where `given` has some of them. before: `theirs`
    of the run that wrote the file. read_as: the part of `theirs` that is from there or by the look of a name.
    """

    given: pd.DataFrame
    name: str
    sha256: str = ""
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    theirs: Mapping[str, str] = field(default_factory=dict)
    written: Sequence[str] = ()
    before: Mapping[str, str] = field(default_factory=dict)
    read_as: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.given)

    @property
    def columns(self) -> list[str]:
        """The names of the columns as they were written."""
        return list(self.written) or [str(name) for name in self.given.columns]

    def place(self, position: int, column: str = "") -> str:
        """How a message names a row, or a cell of it by one of our columns."""
        name = self.theirs.get(column, column)
        ours = f" ({column})" if name != column else ""
        return f"{self.name}, {self.given.index[position]}" + (f", column {name!r}{ours}" if column else "")

    def __iter__(self) -> Iterator[Rows]:
        """One part: all of them, as `Parts` has more."""
        yield self

    def whole(self) -> Rows:
        """These rows, as `Parts` has to join them."""
        return self

    def take(self, rows: slice | np.ndarray) -> Rows:
        """Some rows: a slice, their positions, or a mask."""
        return dataclasses.replace(self, given=self.given.iloc[rows], frame=self.frame.iloc[rows])

    def lacks(self, column: str) -> str:
        """That there is no such column, with the nearest name and all there are."""
        return lacks(self.name, self.columns, column)


def lacks(name: str, columns: Sequence[str], column: str) -> str:
    """That rows called `name` have no such column, with the nearest name and all there are."""
    return f"{name} has no column {column!r}{meant(column, columns, '.')} Its columns: {', '.join(columns)}"


@dataclass(frozen=True)
class Sources:
    """What our columns are made of: columns of a file, or one text (`filled`); `read_as` as `Rows` has it."""

    columns: Mapping[str, list[str]]
    filled: Mapping[str, str]
    read_as: Mapping[str, str]

    @property
    def theirs(self) -> dict[str, str]:
        """Our column -> how a message calls it."""
        named = {ours: " + ".join(names) for ours, names in self.columns.items()}
        return named | {ours: f"--fill {ours}" for ours in self.filled}

    def only(self, wanted: Callable[[str], bool]) -> Sources:
        """Those of our columns that are wanted."""
        return Sources(
            *({ours: one for ours, one in part.items() if wanted(ours)} for part in dataclasses.astuple(self))
        )

    def fitting(self, frames: Iterable[pd.DataFrame], name: str) -> Sources:
        """Without the columns that only their names speak for, and that have a cell which will not do."""
        odd = set()
        for frame in frames if self.read_as else ():
            rows = _rows(frame, name)
            for ours in self.read_as:
                try:
                    _cells(_values(rows, self.columns[ours]), _reader(ours), rows, ours)
                except InputError:
                    odd.add(ours)
        return self.only(lambda ours: ours not in odd)


@dataclass(frozen=True)
class Parts:
    """The rows of a file or a data set, each part read and checked as it is needed, as often as wanted.

    name, sha256, theirs, read_as: as `Rows` have them. columns: the names as they were written. rows: how many.
    frames: gives the parts of these columns as they were written.
    """

    name: str
    sha256: str
    columns: list[str]
    rows: int
    sources: Sources
    frames: Callable[[list[str]], Iterator[pd.DataFrame]]
    reads: Sequence[str] | None = None  # of `columns`; None: all

    def __len__(self) -> int:
        return self.rows

    @property
    def theirs(self) -> dict[str, str]:
        """Our column -> the user's name for it."""
        return self.sources.theirs

    @property
    def read_as(self) -> Mapping[str, str]:
        """The part of `theirs` that no word of the user is for."""
        return self.sources.read_as

    def told(self) -> str:
        """What was taken for our columns without a word of the user, in one line; empty where nothing was."""
        said = ", ".join(f"{ours} = {theirs}" for ours, theirs in self.read_as.items())
        return said and f"{self.name} is read with {said} (--map OURS=COLUMN for another)"

    def __iter__(self) -> Iterator[Rows]:
        left = self.rows
        for frame in self.frames(self.columns if self.reads is None else list(self.reads)):
            part = dataclasses.replace(_rows(frame.iloc[:left], self.name, self.sha256), written=self.columns)
            yield _under_our_names(part, self.sources)
            left -= len(part)
            if not left:
                return

    def whole(self) -> Rows:
        """All rows at once."""
        parts = list(self)
        if len(parts) == 1:
            return parts[0]
        given, frame = (pd.concat([getattr(part, name) for part in parts]) for name in ("given", "frame"))
        return dataclasses.replace(parts[0], given=given, frame=frame)

    def only(self, wanted: Callable[[str], bool]) -> Parts:
        """The same rows with those of our columns that are wanted; no other cell is read."""
        sources = self.sources.only(wanted)
        used = {name for names in sources.columns.values() for name in names}
        return dataclasses.replace(self, reads=[name for name in self.columns if name in used], sources=sources)


def read(path: str | os.PathLike[str], format: str = "", delimiter: str = "") -> Rows:
    """The rows of a file, or of standard input for "-", as they are written there.

    delimiter: what separates the fields of CSV, where it is not a comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a file without rows.
    """
    found = TableFile(str(path), format, delimiter)
    rows = _rows(pd.concat(list(found.parts())), found.name, found.sha256)
    return dataclasses.replace(rows, before=provenance.columns_of(str(path)))


def chosen_rows(
    input: str = "",
    data: str = "",
    format: str = "",
    delimiter: str = "",
    mapping: Iterable[str] = (),
    fill: Iterable[str] = (),
    limit: int | None = None,
) -> Parts:
    """The rows of a file (`input`), or of a data set or a file by name (`data`); the first `limit` of them.

    Raises: as `read`, and as `checked` for the names; its parts raise as `checked` for their cells. UnknownName and
    DataUnavailable where a data set cannot be had.
    """
    if bool(input) == bool(data):
        raise InputError("give either a file (--input) or a data set (--data)")
    path = input or (data if data not in datasets.NAMES and Path(data).is_file() else "")
    if path:
        file = TableFile(path, format, delimiter)
        sources = _sources(file.columns, file.name, mapping, fill, provenance.columns_of(path), usual=True)
        sources = sources.fitting(file.parts([name for one in sources.read_as for name in sources.columns[one]]), path)
        return Parts(file.name, file.sha256, file.columns, min(file.rows, limit or file.rows), sources, file.parts)
    whole = of_frame(datasets.load(data), data)

    def frames(wanted: list[str]) -> Iterator[pd.DataFrame]:
        for start in range(0, len(whole), table_files.ROWS):
            yield whole.given[wanted].iloc[start : start + table_files.ROWS]

    sources = _sources(whole.columns, data, mapping, fill)
    return Parts(data, "", whole.columns, min(len(whole), limit or len(whole)), sources, frames)


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
    sources = _sources(rows.columns, rows.name, mapping, fill, rows.before, usual=bool(rows.sha256))
    return _under_our_names(rows, sources.fitting([rows.given], rows.name))


def _sources(
    columns: Sequence[str],
    name: str,
    mapping: Iterable[str],
    fill: Iterable[str],
    before: Mapping[str, str] = MappingProxyType({}),
    usual: bool = False,
) -> Sources:
    """What our columns are made of; `usual`: by usual names too. Raises: InputError."""
    sources: dict[str, list[str]] = {}
    filled: dict[str, str] = {}
    for ours, theirs in pairs(mapping, "map", "ours=theirs, such as output=response"):
        ours = _ALIAS.get(ours, ours)
        if theirs not in columns:
            raise InputError(f"map {f'{ours}={theirs}'!r}: {lacks(name, columns, theirs)}")
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
    used = {theirs for names in sources.values() for theirs in names}
    read_as = {}
    for ours, theirs in before.items():
        names = theirs.split(" + ")
        if ours not in (*sources, *filled, theirs) and set(names) <= set(columns):
            sources[ours], read_as[ours] = names, theirs
    for theirs in columns:
        ours = _ALIAS.get(theirs, theirs)
        if theirs not in used and ours not in sources and (ours == theirs or ours not in columns):
            sources[ours] = [theirs]
    read_as |= _usual(columns, {*sources, *filled}, used) if usual else {}
    sources |= {ours: read_as[ours].split(" + ") for ours in read_as if ours not in sources}
    return Sources({ours: names for ours, names in sources.items() if ours not in filled}, filled, read_as)


def _under_our_names(rows: Rows, sources: Sources) -> Rows:
    """The rows under our names, every known column checked. Raises: InputError naming the row and the column."""
    columns: dict[str, Any] = {}
    for ours, names in sources.columns.items():
        columns[ours] = _values(rows, names)
    columns |= {ours: [text] * len(rows) for ours, text in sources.filled.items()}
    named = dataclasses.replace(rows, theirs=sources.theirs, read_as=sources.read_as)
    for ours, values in columns.items():
        columns[ours] = _cells(values, _reader(ours), named, ours)
    return dataclasses.replace(named, frame=pd.DataFrame(columns, rows.given.index))


def _usual(columns: Sequence[str], there: set[str], used: set[str]) -> dict[str, str]:
    """Our column -> the one of a file that is called so usually, for those that are not there."""
    free = {plain(name): name for name in reversed(columns) if name not in (*KNOWN, *_ALIAS, *used)}
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
    return np.asarray(_cells(rows.frame[column].tolist(), as_number, rows, column))


class Repeated:
    """Which rows have the input, system and aspect of an earlier one; 8 bytes a row are kept of those seen."""

    def __init__(self) -> None:
        self._seen: list[np.ndarray] = []

    def add(self, part: Rows) -> None:
        """The next rows."""
        if keys := self._keys(part):
            self._seen.append(pd.util.hash_pandas_object(part.frame[keys], index=False).to_numpy())

    def said(self, rows: Rows | Parts) -> str:
        """What of these rows was there twice, in words; empty where nothing was."""
        hashes = np.concatenate(self._seen) if self._seen else np.empty(0)
        doubled = np.flatnonzero(pd.Series(hashes).duplicated())
        if not len(doubled):
            return ""
        first, second = (_row(rows, at) for at in (int(np.argmax(hashes == hashes[doubled[0]])), int(doubled[0])))
        keys = self._keys(second)
        what = ", ".join(f"{rows.theirs[key]} {second.frame[key].iloc[0]!r}" for key in keys)
        said = f"{len(doubled)} rows have the {', '.join(keys)} of an earlier one, first {second.place(0)}"
        return f"{said}: {what} as in {first.given.index[0]}"

    @staticmethod
    def _keys(part: Rows) -> list[str]:
        keys = [key for key in (*IDS, "aspect") if key in part.frame.columns]
        return keys if set(keys) >= set(IDS) else []


def _row(rows: Rows | Parts, position: int) -> Rows:
    """One row, by its position among all."""
    for part in rows:
        if position < len(part):
            return part.take(slice(position, position + 1))
        position -= len(part)
    raise IndexError(position)


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


# -- cells -------------------------------------------------------------------------------------------------------------


def _values(rows: Rows, names: list[str]) -> list[Any]:
    return rows.given[names if len(names) > 1 else names[0]].to_numpy().tolist()


def _reader(ours: str) -> Callable[[Any], Any]:
    rating = ours == RATING or ours.startswith(RATINGS)
    return as_number if rating else _READERS.get(ours, lambda cell: cell)


def _cells(values: list[Any], read: Callable[[Any], Any], rows: Rows, column: str) -> Any:
    """The values as they are used. Raises: InputError naming the first that will not do."""
    found: list[Any] = []
    try:
        for value in values:
            found.append(read(value))
    except ValueError as error:
        raise InputError(f"{rows.place(len(found), column)}{error}") from None
    return np.array(found, dtype=float) if read is as_number else pd.Series(found, rows.given.index, dtype=object)


_READERS: dict[str, Callable[[Any], Any]] = {**dict.fromkeys(TEXTS, as_text), **dict.fromkeys(IDS, as_id)}
_READERS |= {"reference": functools.partial(as_references, packed=False), "references": as_references}
