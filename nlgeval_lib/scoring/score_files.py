"""Files of rows with scores: the scores of each part are kept beside the file until all
are there; it is written whole or not at all.

`ScoreFile` is such a file while it is made: `scores` keeps a part or gives it as an
earlier run kept it, `write` puts all parts behind their rows. `check_output` says
before the work is done whether a file can be written; `writing` writes frames of any
columns as JSON Lines, CSV, TSV or parquet, `write` one frame. `kinds` says what a
column of parquet has to hold.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import glob
import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.scoring.cells import InputError, is_missing
from nlgeval_lib.scoring.cells import inert as inert_cell
from nlgeval_lib.scoring.rows import IDS, RATING, REFERENCES, TEXTS, Rows
from nlgeval_lib.scoring.table_files import format_of

_SCORED = ("value", "status", "reason")  # what every score has
_PLAIN: tuple[type, ...] = (str, bool, int, float)  # a bool is an int, too
_NOTHING: tuple[Any, ...] = (None, "", [], {})  # values of details that say nothing


def score_columns(column: str) -> tuple[str, str, str, str]:
    """The names of the columns that a run adds: score, status, reason, details.

    column: of the score. Of "value" the others have their plain names; else they begin
    with the score's name.

    Example:
        >>> score_columns("bleu")
        ('bleu', 'bleu_status', 'bleu_reason', 'bleu_details')
    """
    prefix = "" if column == "value" else f"{column}_"
    return column, f"{prefix}status", f"{prefix}reason", f"{prefix}details"


class ScoreFile:
    """A file of rows with their scores, made part by part, within a `with` block.

    The scores of each part are kept in a folder beside the file until all are there, by
    `key`. A run of the same key that was stopped goes on from there; one without a key
    begins anew. Added to the rows are value, status, reason; from the details, what is one
    text or number; `details`, JSON of the others; and, where they were mapped or
    filled, which row it is.

    path: of the file; its ending says the format.
    column: the name of the scores; the other columns are called after it
    (`score_columns`).
    only_scores: the rows' texts are left out.
    key: what determines the scores, as `Job.key` has it; "" for none.
    inert: in CSV and TSV no text is a formula to a spreadsheet (`cells.inert`).
    resumes: whether it goes on from the parts of a run that was stopped.
    """

    def __init__(
        self,
        path: str,
        column: str = "value",
        only_scores: bool = False,
        key: str = "",
        inert: bool = False,
    ) -> None:
        self.path = Path(path)
        self._inert = inert
        self.column = column
        self.only_scores = only_scores
        self.resumes = bool(key)
        self._all_parts = self.path.with_name(f".{self.path.name[:100]}.parts")
        mark = hashlib.sha256(key.encode()).hexdigest()[:16]
        self._folder = self._all_parts / mark
        # The kinds of each column without a detail, and of each detail.
        self._kinds = defaultdict[str, set[type]](set)
        self._details = defaultdict[str, set[type]](set)
        self._filled: set[str] = set()  # the details that have a value for some row

    def scores(
        self, number: int, part: Rows, make: Callable[[], pd.DataFrame]
    ) -> pd.DataFrame:
        """The scores of a part as an earlier run made them; else those of `make`, which
        are stored.

        number: of the part, from 0. make: gives the scores, as `Job.parts` has them.
        Raises: OSError; and as `make`.
        """
        place = self._folder / f"{number}.json"
        try:
            cells, signature = files.from_json(place.read_text(encoding="utf-8"))
            scored = pd.DataFrame(cells, part.given.index, dtype=object)
            scored = scored.astype({"value": float})
            scored.attrs["signature"] = str(signature)
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            scored = make()
            cells = {}
            for name in scored.columns:
                cells[name] = files.plain(scored[name].tolist())
            signature = scored.attrs.get("signature", "")
            files.write_text(place, json.dumps([cells, signature]))
        # What the columns hold must be known before the first row is written.
        for name, values in self._own_columns(part, cells).items():
            self._kinds[name] |= kinds(values)
        for details in cells.get("details", ()):
            for name, value in details.items():
                self._details[name] |= kinds((value,))
                if value not in _NOTHING:
                    self._filled.add(name)
        return scored

    def write(self, data: Iterable[Rows], path: str = "") -> None:
        """The file, or in its place another one: rows and scores of every part.

        data: the parts that `scores` was asked for, in order.
        Raises: OSError.
        """
        details_column = score_columns(self.column)[-1]
        columns, column_of = self._all_columns()
        with writing(path or str(self.path), columns, self._inert) as add:
            for number, part in enumerate(data):
                place = self._folder / f"{number}.json"
                cells, _ = files.from_json(place.read_text(encoding="utf-8"))
                cells["value"] = np.array(cells["value"], dtype=float)
                values = self._own_columns(part, cells)
                all_details = cells.get("details", ())
                for name, column in column_of.items():
                    values[column] = [details.get(name) for details in all_details]
                if details_column in columns:
                    further = [_further(details, column_of) for details in all_details]
                    values[details_column] = further
                add(pd.DataFrame(values, dtype=object))

    def _all_columns(self) -> tuple[dict[str, set[type]], dict[str, str]]:
        """The kinds of every column of the file, and the column of each detail that has
        one.

        A detail has its own column where it is one text or number in every row and no
        other column has that name; the others share the column of details.
        """
        columns = dict(self._kinds)
        column_of: dict[str, str] = {}
        for name, types in self._details.items():
            column = name if self.column == "value" else f"{self.column}_{name}"
            plain = types <= {str, bool, int, float}
            if name in self._filled and column not in columns and plain:
                columns[column] = types
                column_of[name] = column
        if not self._filled <= column_of.keys():
            details_column = score_columns(self.column)[-1]
            columns[details_column] = {object}
        return columns, column_of

    def __enter__(self) -> ScoreFile:
        """Keep other runs into this file away. Raises: InputError where one is.

        A lock of the system holds as long as this process lives, and no longer.
        """
        self._all_parts.mkdir(parents=True, exist_ok=True)
        # closed by __exit__
        self._lock = open(self._all_parts / "lock", "wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise InputError(
                f"another run is writing {self.path}; wait for it, or name another file"
            ) from None
        # Killed runs leave drafts, and parts: those of the same key serve here, those of
        # other settings their own run.
        if not self.resumes:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(exist_ok=True)
        remove_drafts(self.path)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Remove the parts, but of a run that was stopped and can go on from them."""
        # A run that was stopped goes on from the parts that are stored.
        if kind is None or not self.resumes or not any(self._folder.glob("*.json")):
            shutil.rmtree(self._folder, ignore_errors=True)
        if not any(path.is_dir() for path in self._all_parts.glob("*")):
            shutil.rmtree(self._all_parts, ignore_errors=True)
        self._lock.close()

    def _own_columns(self, part: Rows, cells: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of a part without its details: the rows' own, which row it is,
        and the scores, which are `cells`.

        Returns: column -> one value a row.
        """
        texts = set()  # columns of the user's that are left out
        if self.only_scores:
            for name in (*TEXTS, *REFERENCES):
                if name != "aspect":
                    texts.add(part.theirs.get(name, name))
        columns: dict[str, Any] = {}
        lists = part.given.to_numpy(dtype=object).T.tolist()
        for name, values in zip(part.given.columns, lists, strict=True):
            if name not in texts:
                columns[name] = values
        # Which row it is, and its rating, stand under our names too where the user's
        # words made them: mapped or filled.
        for name in (*IDS, "aspect", RATING):
            if name not in part.frame.columns or part.theirs.get(name) == name:
                continue
            if name not in columns and name not in part.plan.guessed:
                values = part.frame[name].astype(object)
                columns[name] = values.where(values.notna(), None).tolist()
        names = score_columns(self.column)
        for name, score_name in zip(names, _SCORED, strict=False):
            columns[name] = cells[score_name]
        return columns


def _further(details: Mapping[str, Any], column_of: Collection[str]) -> dict[str, Any]:
    """The details that have a value and no column of their own."""
    further = {}
    for name, value in details.items():
        if name not in column_of and value not in _NOTHING:
            further[name] = value
    return further


# -- writing


def remove_drafts(path: Path) -> None:
    """Remove the drafts of a file that runs which were killed left beside it.

    Their names are those that `files.replacing` gives.
    """
    for draft in path.parent.glob(f".{glob.escape(path.name)}.????????.tmp"):
        draft.unlink(missing_ok=True)


def check_output(path: str, *inputs: str, why: str = "", rows: str = "") -> None:
    """Pass where a file can be written and is none of the inputs: known before the work
    is done.

    path: of the file. inputs: files that it must not be; "" is none.
    why: what the message says behind "is the input itself".
    rows: what its rows are, where it is to be a table; "" where it is a text.
    Raises: InputError.
    """
    if rows and format_of(path) == "json":
        raise InputError(f"{path}: {rows} are written as jsonl, csv, tsv or parquet")
    for source in filter(None, inputs):
        same = os.path.realpath(path) == os.path.realpath(source)
        if os.path.exists(path) and os.path.exists(source):
            same = same or os.path.samefile(path, source)
        if same:
            raise InputError(
                f"{path} is the input itself{why}; name another file to write to"
            )
    if path.endswith(os.sep):
        raise InputError(f"cannot write {path}: it names a folder; name a file")
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise InputError(f"{path} is no file but a device or a pipe; name a file")
    try:
        files.check(path)
    except OSError as error:
        raise InputError(error.strerror or str(error)) from None


def write(frame: pd.DataFrame, path: str) -> None:
    """The frame as a file of the format that its name says; what is no text or number
    is JSON.

    Raises: InputError for another ending; OSError.
    """
    with writing(path, {name: kinds(frame[name]) for name in frame.columns}) as add:
        add(frame)


@contextlib.contextmanager
def writing(
    path: str, columns: Mapping[str, set[type]], inert: bool = False
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A context that yields what adds frames to a file, which is whole or not there at
    all.

    path: of the file; its ending says the format.
    columns: their names, and the `kinds` of what they will hold in all frames.
    inert: as `ScoreFile` has it.
    Raises: InputError for another ending; OSError.
    """
    format = format_of(path)
    names = [files.whole(str(column)) for column in columns]
    with contextlib.ExitStack() as stack:
        draft = stack.enter_context(files.replacing(path))
        if format == "parquet":
            yield stack.enter_context(_parquet_writer(draft, names, columns))
            return
        file = stack.enter_context(open(draft, "w", encoding="utf-8", newline=""))
        delimiter = "\t" if format == "tsv" else ","
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")

        def write_row(fields: Iterable[Any]) -> None:
            writer.writerow(map(inert_cell, fields) if inert else fields)

        def add(frame: pd.DataFrame) -> None:
            for row in frame.to_numpy(dtype=object).tolist():
                if format == "jsonl":
                    record = dict(zip(names, row, strict=True))
                    file.writelines(files.json_lines([record]))
                else:
                    write_row(map(_field, row))

        if format != "jsonl":
            write_row(names)
        yield add


@contextlib.contextmanager
def _parquet_writer(
    path: Path, names: Iterable[str], columns: Mapping[str, set[type]]
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A context that yields what adds frames to a file of parquet.

    names: of the columns in the file, in the order of `columns`.
    """
    import pyarrow
    import pyarrow.parquet

    fields = []
    for name, types in zip(names, columns.values(), strict=True):
        fields.append((name, _arrow_type(types)))
    schema = pyarrow.schema(fields)

    def add(frame: pd.DataFrame) -> None:
        values = []
        for column, types in columns.items():
            values.append(_of_types(frame[column], types))
        table = dict(zip(schema.names, values, strict=True))
        parquet.write_table(pyarrow.table(table, schema))

    with pyarrow.parquet.ParquetWriter(path, schema) as parquet:
        yield add


def _field(value: Any) -> Any:
    """The value as a field of CSV: "" where it is missing, JSON where it is no text or
    number.
    """
    if is_missing(value):
        return ""
    if isinstance(value, (int, float, np.number)):
        return value
    value = files.plain(value)
    if isinstance(value, (str, int, float)):
        return value
    return json.dumps(value, ensure_ascii=False) if value else ""


def kinds(values: Iterable[Any]) -> set[type]:
    """The types in a column, by which a column of parquet gets its type.

    Returns: of str, bool, int of 64 bits, float and list of texts those that are there;
    object for all others; none where the column is empty.

    Example:
        >>> kinds([1, 2.5, None]) == {int, float}
        True
    """
    types: set[type] = set()
    for value in values:
        if value is None:
            continue
        kinds_of_value = (kind for kind in _PLAIN if isinstance(value, kind))
        kind = next(kinds_of_value, object)
        if isinstance(value, list | tuple):
            kind = object
            if all(isinstance(text, str) for text in value):
                kind = list
        is_large = kind is int and abs(value) >= 1 << 63
        if is_large:
            kind = object
        types.add(kind)
    return types


def _arrow_type(types: set[type]) -> Any:
    """The type of a column of parquet: its own where it has one; else text, which is
    JSON.
    """
    import pyarrow

    own_types = {
        frozenset(): pyarrow.null(),
        frozenset({list}): pyarrow.list_(pyarrow.string()),
        frozenset({bool}): pyarrow.bool_(),
        frozenset({int}): pyarrow.int64(),
        frozenset({float}): pyarrow.float64(),
        frozenset({int, float}): pyarrow.float64(),
    }
    return own_types.get(frozenset(types), pyarrow.string())


def _of_types(values: Iterable[Any], types: set[type]) -> list[Any]:
    """The values of a column of parquet as its type has them; None where there is none.

    types: the kinds of the whole column.
    """
    plain_values = []
    # Mixed kinds have no type of their own: all but texts become JSON.
    as_json = object in types or (len(types) > 1 and types != {int, float})
    for value in values:
        value = None if is_missing(value) else files.plain(value)
        if value is not None and types == {int, float}:
            value = float(value)
        elif value is not None and as_json and not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False)
        plain_values.append(value)
    return plain_values
