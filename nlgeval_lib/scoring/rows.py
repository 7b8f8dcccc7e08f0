"""Somebody's own rows, part by part: under the project's column names, every cell
that is used is checked, once.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.names import meant, near, plain
from nlgeval_lib.scoring import cells, provenance
from nlgeval_lib.scoring.cells import (
    InputError,
    as_id,
    as_number,
    as_references,
    as_text,
    is_missing,
)
from nlgeval_lib.scoring.settings import pairs, text_or_file

TEXTS = ("instruction", "source", "context", "output", "rubric", "aspect")
REFERENCES = ("references", "reference")
IDS = ("input_id", "system_id")
RATING = "human"
RATINGS = ("human_", "rater_")  # how columns with further ratings begin
KNOWN = (*TEXTS, *REFERENCES, *IDS, RATING)
_ALIAS = {"input": "source"}  # another name that a file may use for one of ours
# what files call them, the most telling first: `answer` is the output only where
# nothing else is; ratings have to be
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
_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(TEXTS, as_text),
    **dict.fromkeys(IDS, as_id),
    "reference": functools.partial(as_references, packed=False),
    "references": as_references,
    RATING: as_number,
}


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The rows of a file or a data set, each part read and checked as it is needed, as
    often as wanted.

    name: the file as the user named it; columns: the names as they were written; rows:
    how many; frames: gives the parts of these columns as they were written; sha256: of
    the file's bytes, "" for a data set. earlier: what was recorded beside the file.
    sources: our column -> the columns it is made of; filled: our column -> one text for
    all rows; read_as: our column -> the user's, where no word of the user says so.
    """

    name: str
    columns: Sequence[str]
    rows: int
    frames: Callable[[list[str]], Iterable[pd.DataFrame]]
    sha256: str = ""
    earlier: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    filled: Mapping[str, str] = field(default_factory=dict)
    read_as: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[Rows]:
        left = self.rows
        for frame in self.frames([*self.columns]):
            given = _plain(frame.iloc[:left])
            columns = {
                ours: self.cells(given, ours) for ours in (*self.sources, *self.filled)
            }
            yield Rows(
                **{**vars(self), "rows": len(given)},
                given=given,
                frame=pd.DataFrame(columns, given.index),
            )
            left -= len(given)
            if not left:
                return

    def whole(self) -> Rows:
        """All rows at once. Raises: InputError naming the row and the column."""
        first, *others = self
        if not others:
            return first
        given, frame = (
            pd.concat([getattr(part, name) for part in (first, *others)])
            for name in ("given", "frame")
        )
        return dataclasses.replace(first, rows=len(given), given=given, frame=frame)

    def only(self, wanted: Callable[[str], bool]) -> Parts:
        """The same rows with those of our columns that are wanted; no other cell is
        read.
        """
        parts = {name: getattr(self, name) for name in ("sources", "filled", "read_as")}
        kept: dict[str, Any] = {
            n: {k: one for k, one in part.items() if wanted(k)}
            for n, part in parts.items()
        }
        used = {name for names in kept["sources"].values() for name in names}
        read = self.frames
        return dataclasses.replace(
            self,
            **kept,
            frames=lambda names: read([name for name in names if name in used]),
        )

    @property
    def theirs(self) -> dict[str, str]:
        """Our column -> how a message calls it: the user's name; where several
        became the references, all of them.
        """
        named = {ours: " + ".join(names) for ours, names in self.sources.items()}
        return named | {ours: f"--fill {ours}" for ours in self.filled}

    def told(self) -> str:
        """What was taken for our columns without a word of the user, in one line;
        empty where nothing was.
        """
        said = ", ".join(f"{ours} = {theirs}" for ours, theirs in self.read_as.items())
        return (
            said and f"{self.name} is read with {said} (--map OURS=COLUMN for another)"
        )

    def lacks(self, column: str) -> str:
        """That there is no such column, with the nearest name and all there are."""
        columns = ", ".join(self.columns)
        return f"{self.name} has no column {column!r}{meant(column, self.columns, '.')} Its columns: {columns}"

    def place(self, row: str, column: str = "") -> str:
        """How a message names a row by its label, or a cell of it by one of our
        columns.
        """
        name = self.theirs.get(column, column)
        ours = f" ({column})" if name != column else ""
        return f"{self.name}, {row}" + (f", column {name!r}{ours}" if column else "")

    def cells(self, given: pd.DataFrame, ours: str) -> Any:
        """One of our columns, each cell checked.

        Raises: InputError naming the row and the column.
        """
        if ours in self.filled:
            return self.read([self.filled[ours]] * len(given), ours, given.index)
        names = list(self.sources[ours])
        return self.read(
            given[names if len(names) > 1 else names[0]].to_numpy().tolist(),
            ours,
            given.index,
        )

    def read(
        self, values: Iterable[Any], ours: str, places: pd.Index, reader: Any = None
    ) -> Any:
        """The values of a column as they are used.

        Raises: InputError naming the first that will not do.
        """
        reader = reader or (
            as_number
            if ours.startswith(RATINGS)
            else _READERS.get(ours, lambda cell: cell)
        )
        found: list[Any] = []
        try:
            for value in values:
                found.append(reader(value))
        except ValueError as error:
            raise InputError(f"{self.place(places[len(found)], ours)}{error}") from None
        return (
            np.array(found, dtype=float)
            if reader is as_number
            else pd.Series(found, places, dtype=object)
        )


@dataclass(frozen=True, kw_only=True)
class Rows(Parts):
    """Rows in memory: one part.

    given: the columns as they were written, a missing value as None; the index names
    each row's place. frame: the columns under the project's names, checked; of `read`
    those given.
    """

    given: pd.DataFrame
    frame: pd.DataFrame

    def __len__(self) -> int:
        return len(self.given)

    def __iter__(self) -> Iterator[Rows]:
        yield self

    def take(self, rows: slice | np.ndarray) -> Rows:
        """Some rows: a slice, their positions, or a mask."""
        return dataclasses.replace(
            self, given=self.given.iloc[rows], frame=self.frame.iloc[rows]
        )

    def numbers(self, column: str) -> np.ndarray:
        """A column as float64, NaN where it is empty or says so (nan, null, none, na).

        Raises: InputError naming the cell that is no finite number.
        """
        return np.asarray(
            self.read(self.frame[column].tolist(), column, self.given.index, as_number)
        )


def read(path: str | os.PathLike[str], format: str = "", delimiter: str = "") -> Rows:
    """The rows of a file, or of standard input for "-", as they are written there.

    delimiter: what separates the fields of CSV, where it is not a comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a
    file without rows.
    """
    found = _of_file(str(path), format, delimiter)
    given = _plain(pd.concat(list(found.frames([*found.columns]))))
    return Rows(**vars(found), given=given, frame=given)


def chosen_rows(
    input: str = "",
    data: str = "",
    format: str = "",
    delimiter: str = "",
    mapping: Iterable[str] = (),
    fill: Iterable[str] = (),
    limit: int | None = None,
) -> Parts:
    """The rows of a file (`input`), or of a data set or a file by name (`data`); the
    first `limit` of them.

    mapping: `ours=theirs`, such as `output=response`; `references` may be given several
    times, and has then as many references a row. fill: `column=text`, one text for all
    rows; `@file` in place of the text reads it from a file. What a file of scores was
    made with holds on; other columns of a file are known by usual names too, in small
    or large letters (`read_as`), as far as their cells will do.

    Texts may be missing here (an evaluator says what it needs); ratings become numbers,
    NaN where missing; identifiers become text. In CSV, `references` may hold a JSON
    list of texts.
    Raises: as `read`; InputError for names that do not fit, and from the parts, naming
    row and column, for a cell that will not do; UnknownName and DataUnavailable where a
    data set cannot be had.
    """
    if bool(input) == bool(data):
        raise InputError("give either a file (--input) or a data set (--data)")
    path = input or (data if not datasets.has(data) and Path(data).is_file() else "")
    if path:
        file = _of_file(path, format, delimiter)
        found = _named(
            dataclasses.replace(file, earlier=provenance.record_of(path, file.sha256)),
            mapping,
            fill,
        )
    else:
        found = of_frame(datasets.load(data), data, mapping, fill)
    return dataclasses.replace(found, rows=min(found.rows, limit or found.rows))


def of_frame(
    frame: pd.DataFrame,
    name: str,
    mapping: Iterable[str] = (),
    fill: Iterable[str] = (),
) -> Parts:
    """The rows of a frame that is here already, such as a data set's.

    mapping, fill, Raises: as `chosen_rows`.
    """
    given = _plain(
        frame.set_axis([f"row {number}" for number in range(1, len(frame) + 1)])
    )

    def frames(wanted: list[str]) -> Iterator[pd.DataFrame]:
        for start in range(0, len(given), cells.ROWS):
            yield given[wanted].iloc[start : start + cells.ROWS]

    return _named(
        Parts(name=name, columns=list(given.columns), rows=len(given), frames=frames),
        mapping,
        fill,
    )


def _of_file(path: str, format: str, delimiter: str) -> Parts:
    from nlgeval_lib.scoring.table_files import TableFile

    file = TableFile(path, format, delimiter)
    return Parts(
        name=file.name,
        columns=file.columns,
        rows=file.rows,
        frames=file.parts,
        sha256=file.sha256,
    )


def known(name: str) -> bool:
    """Whether it is the name of a column that has a meaning here."""
    return name in KNOWN or name.startswith(RATINGS)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    given = frame.rename(columns=str).astype(object)
    return given.where(given.notna(), None)


# -- under our names


def _named(rows: Parts, mapping: Iterable[str], fill: Iterable[str]) -> Parts:
    """The rows with what our columns are made of, by usual names too where they are a
    file's.

    Raises: InputError.
    """
    columns = rows.columns
    sources: dict[str, list[str]] = {}
    filled: dict[str, str] = {}
    for ours, theirs in pairs(mapping, "map", "ours=theirs, such as output=response"):
        ours = _ALIAS.get(ours, ours)
        said = "" if theirs in columns else rows.lacks(theirs)
        if ours in sources and ours != "references":
            said = f"{ours} is mapped twice; only references may have several columns"
        if said:
            raise InputError(f"map {f'{ours}={theirs}'!r}: {said}")
        sources.setdefault(ours, []).append(theirs)
    for ours, value in pairs(fill, "fill", "column=text, such as aspect=coherence"):
        ours = _ALIAS.get(ours, ours)
        if ours in sources or ours in filled:
            raise InputError(
                f"fill {f'{ours}={value}'[:60]!r}: {ours} is mapped or filled already"
            )
        filled[ours] = text_or_file(value)
    used = {theirs for names in sources.values() for theirs in names}
    runs = rows.earlier.get("scores", {}).values()
    read_as = {
        ours: theirs
        for one in runs
        for ours, theirs in one.get("columns", {}).items()
        if ours not in (*sources, *filled, theirs)
        and {*theirs.split(" + ")} <= {*columns}
    }
    sources |= {ours: theirs.split(" + ") for ours, theirs in read_as.items()}
    for theirs in columns:
        ours = _ALIAS.get(theirs, theirs)
        if (
            theirs not in used
            and ours not in (*sources, *filled)
            and (ours == theirs or ours not in columns)
        ):
            sources[ours] = [theirs]
    if rows.sha256:
        usual = _usual(columns, {*sources, *filled}, used)
        read_as |= usual
        sources |= {ours: [theirs] for ours, theirs in usual.items()}
    named = dataclasses.replace(rows, sources=sources, filled=filled, read_as=read_as)
    for given in (
        rows.frames([name for ours in read_as for name in sources[ours]])
        if read_as
        else ()
    ):
        for ours in [*read_as]:
            try:
                named.cells(given, ours)
            except InputError:  # only its name spoke for it
                del read_as[ours], sources[ours]
    return named


def _usual(columns: Sequence[str], there: set[str], used: set[str]) -> dict[str, str]:
    """Our column -> the one of a file that is called so usually, for those that are
    not there.
    """
    free = {
        plain(name): name
        for name in reversed(columns)
        if name not in (*KNOWN, *_ALIAS, *used)
    }
    found = {}
    for ours in KNOWN:
        names = (ours,) if ours == RATING else (ours, *_OTHERS.get(ours, ()))
        theirs = next((free[name] for name in map(plain, names) if name in free), None)
        if (
            theirs is not None
            and ours not in there
            and not (ours in REFERENCES and there.intersection(REFERENCES))
        ):
            found[ours] = free.pop(plain(theirs))
    return found


def nearest(rows: Parts, need: str) -> str:
    """The column, none of those that have a use, whose name is most like one that is
    usual for ours; "" without one.
    """
    used = {
        name for ours, names in rows.sources.items() if ours in KNOWN for name in names
    }
    free = [name for name in rows.columns if name not in used]
    names = [
        name
        for ours in reversed(_choices(need))
        for name in (ours, *_OTHERS.get(ours, ()))
    ]
    return next((found[0] for name in names if (found := near(name, free, 1))), "")


def _choices(need: str) -> tuple[str, ...]:
    """The columns that serve a need: any of the references for references."""
    return REFERENCES if need in REFERENCES else (need,)


# -- before the first row is scored


def incomplete(
    rows: Rows, needs: Iterable[str], who: str, empty_is_missing: bool = True
) -> dict[int, str]:
    """Position -> why a row cannot be shown to an evaluator that needs these columns.

    The output may be an empty text, other texts may not unless `empty_is_missing` is
    off.
    Raises: InputError for a column that is not there at all.
    """
    found: dict[int, str] = {}
    held = {
        need: next((n for n in _choices(need) if n in rows.frame.columns), "")
        for need in dict.fromkeys(needs)
    }
    if lacking := [need for need, column in held.items() if not column]:
        wanted = " and ".join(
            "a column " + " or ".join(map(repr, _choices(need))) for need in lacking
        )
        maps = " ".join(
            f"--map {need}={nearest(rows, need) or 'COLUMN'}" for need in lacking
        )
        fills = [f"--fill {need}=TEXT" for need in lacking]
        fill = " ".join(fills).replace(
            "--fill rubric=TEXT", "--rubric FILE, or -s rubric=no"
        )
        raise InputError(
            f"{who} needs {wanted}, and {rows.name} has {', '.join(rows.columns)}; say which it is ({maps}), or give "
            f"one text for all rows ({fill})"
        )
    for need, column in held.items():
        for row, value in enumerate(rows.frame[column]):
            gone = is_missing(value) or value == ()
            if gone or (empty_is_missing and need != "output" and value in ("", ("",))):
                place = rows.place(rows.given.index[row], column)
                found.setdefault(
                    row, f"{place} is {'missing' if gone else 'empty'}; {who} needs it"
                )
    return found


def keys_of(part: Rows) -> np.ndarray:
    """Of each row 8 bytes that tell its input, system and aspect; nothing where
    input or system has no column.
    """
    keys = _keys(part)
    return (
        pd.util.hash_pandas_object(part.frame[keys], index=False).to_numpy()
        if keys
        else np.empty(0)
    )


def repeated(rows: Parts, keys: Sequence[np.ndarray]) -> str:
    """Which rows have the input, system and aspect of an earlier one, in words; empty
    where none has.

    keys: `keys_of` each part, in order.
    """
    every = np.concatenate(keys)
    doubled = np.flatnonzero(pd.Series(every).duplicated())
    if not len(doubled):
        return ""
    places = (int(np.argmax(every == every[doubled[0]])), int(doubled[0]))
    start = 0
    found = []
    for part in rows:
        found += [
            (part, at - start) for at in places if start <= at < start + len(part)
        ]
        start += len(part)
    (first, before), (second, at) = found
    names = _keys(second)
    what = ", ".join(
        f"{rows.theirs[key]} {second.frame[key].iloc[at]!r}" for key in names
    )
    said = f"{len(doubled)} rows have the {', '.join(names)} of an earlier one, first "
    return f"{said}{second.place(second.given.index[at])}: {what} as in {first.given.index[before]}"


def _keys(part: Rows) -> list[str]:
    keys = [key for key in (*IDS, "aspect") if key in part.frame.columns]
    return keys if {*keys} >= {*IDS} else []
