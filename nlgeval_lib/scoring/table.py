"""Somebody's own file as a table: JSON Lines, JSON, CSV, TSV or parquet; every row knows its place in the file."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 and UTF-32 begin
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"(\xb5/\xfd": "zstd", b"PK\x03\x04": "zip or xlsx"}
STDIN = "-"


class InputError(ValueError):
    """A file, a column or a setting is not as it must be. The message names the place and what to do."""


def apart(output: str, *inputs: str, why: str = "") -> None:
    """Passes where an output file is none of the inputs. Raises: InputError."""
    for one in inputs:
        same = os.path.realpath(output) == os.path.realpath(one)
        if same or (os.path.exists(output) and os.path.exists(one) and os.path.samefile(output, one)):
            raise InputError(f"{output} is the input itself{why}; name another file to write to")


@dataclass(frozen=True)
class Table:
    """A file's rows. `frame` has the values as they were written (a missing one is None); its index names the places.

    `name` is the file as the user named it, `sha256` that of its bytes ("" where they are not of a file).
    """

    frame: pd.DataFrame
    name: str
    sha256: str = ""

    def place(self, position: int, column: str = "") -> str:
        """How a message names a row, or a cell of it."""
        return f"{self.name}, {self.frame.index[position]}" + (f", column {column!r}" if column else "")


def format_of(path: str, asked: str = "") -> str:
    """The format of a file, by name unless asked for. Raises: InputError naming the formats."""
    if asked:
        if asked not in FORMATS:
            raise InputError(f"format {asked!r}; allowed: {', '.join(FORMATS)}")
        return asked
    found = _ENDINGS.get(Path(path).suffix.lower())
    if found is None:
        where = "standard input" if path == STDIN else path
        raise InputError(f"{where}: its name does not say what it is; give the format: one of {', '.join(FORMATS)}")
    return found


def read(path: str | Path, format: str = "", delimiter: str = "") -> Table:
    """The rows of a file, or of standard input for "-".

    delimiter: what separates the fields of CSV, where it is not a comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a file without rows.
    """
    path = str(path)
    kind = format_of(path, format)
    if path == STDIN:
        raw, name = stdin(), "standard input"
    else:
        name = path
        try:
            raw = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if not raw.strip():
        raise InputError(f"{name} is empty: there is no row in it")
    if kind == "parquet":
        frame = _parquet(raw, name)
    else:
        text = _decoded(raw, name)
        readers: Mapping[str, Callable[[], pd.DataFrame]] = {
            "jsonl": lambda: _jsonl(text, name),
            "json": lambda: _json(text, name),
            "csv": lambda: _csv(text, name, delimiter or ","),
            "tsv": lambda: _csv(text, name, delimiter or "\t"),
        }
        frame = readers[kind]()
    if frame.empty:
        raise InputError(f"{name} has no rows")
    return Table(frame, name, hashlib.sha256(raw).hexdigest())


def stdin() -> bytes:
    """All of standard input. Raises: InputError where it is closed."""
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("standard input is closed: there is nothing to read; name a file, or pipe the rows in")
    return sys.stdin.buffer.read()


def of_frame(frame: pd.DataFrame, name: str) -> Table:
    """A frame that is here already, such as a data set's, as a table: a missing value becomes None."""
    columns = {str(column): [_none(value) for value in frame[column]] for column in frame.columns}
    return Table(_frame(columns, [f"row {number}" for number in range(1, len(frame) + 1)]), name)


def is_missing(value: Any) -> bool:
    """Whether a cell has no value: None, NaN, pandas' marks of a missing one."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def _none(value: Any) -> Any:
    return None if is_missing(value) else value


def _frame(columns: Mapping[str, list[Any]], places: list[str]) -> pd.DataFrame:
    index = pd.Index(places, dtype=object)
    return pd.DataFrame({name: pd.Series(values, index=index, dtype=object) for name, values in columns.items()}, index)


def _decoded(raw: bytes, name: str) -> str:
    if raw.startswith(_WIDE_MARKS) or 4 * raw.count(0, 0, 4096) > len(raw[:4096]):
        raise InputError(f"{name} is UTF-16 or UTF-32; save it as UTF-8")
    for mark, packed in _PACKED.items():
        if raw.startswith(mark):
            raise InputError(f"{name} is packed ({packed}); unpack it, or save it as UTF-8 text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: byte {raw[error.start]:#04x} is not UTF-8; save it as UTF-8") from None


# -- JSON --------------------------------------------------------------------------------------------------------------


def _jsonl(text: str, name: str) -> pd.DataFrame:
    records, places = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        records.append(_object(line, f"{name}, {place}"))
        places.append(place)
    return _records(records, places)


def _json(text: str, name: str) -> pd.DataFrame:
    try:
        found = json.loads(text, object_pairs_hook=_pairs)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON: {error}; a file of one object a line is named .jsonl") from None
    if not isinstance(found, list):
        raise InputError(f"{name} holds one {type(found).__name__}; a list of objects is needed")
    for number, record in enumerate(found, start=1):
        if not isinstance(record, dict):
            raise InputError(f"{name}, row {number}: {type(record).__name__} where an object is needed")
        _whole(record, f"{name}, row {number}")
    return _records(found, [f"row {number}" for number in range(1, len(found) + 1)])


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_pairs)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{place}: not JSON: {error.msg} at character {error.pos + 1}: {_near(line, error.pos)}"
        ) from None
    except RecursionError:
        raise InputError(f"{place}: lists or objects are nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{place}: {str(error).partition('; use sys.')[0]}") from None
    if not isinstance(record, dict):
        raise InputError(f"{place}: {type(record).__name__} where an object with named columns is needed")
    return _whole(record, place) if "\\u" in line else record


def _whole(record: dict[str, Any], place: str) -> dict[str, Any]:
    """The record, if no text in it has half a character, which nothing could write again. Raises: InputError."""
    for column, value in record.items():
        try:
            json.dumps([column, value], ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            broken = f"\\u{ord(error.object[error.start]):04x}"
            raise InputError(f"{place}, column {column!a}: half a character ({broken}); write it whole") from None
    return record


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        raise ValueError(f"column {next(key for key in names if names.count(key) > 1)!r} is there twice")
    return found


def _near(line: str, position: int) -> str:
    return repr(line[max(0, position - 20) : position + 20])


def _records(records: list[dict[str, Any]], places: list[str]) -> pd.DataFrame:
    names = list(dict.fromkeys(key for record in records for key in record))
    return _frame({name: [_none(record.get(name)) for record in records] for name in names}, places)


# -- CSV and parquet ---------------------------------------------------------------------------------------------------


def _csv(text: str, name: str, delimiter: str) -> pd.DataFrame:
    if len(delimiter) != 1:
        raise InputError(f"delimiter {delimiter!r}; one character is needed")
    limit = csv.field_size_limit(sys.maxsize)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        header, rows, places, line = None, [], [], 1
        try:
            for row in reader:
                begins, line = line, reader.line_num + 1
                if not row:
                    continue
                if header is None:
                    header = _header(row, name, delimiter)
                    continue
                place = f"line {begins}"
                if len(row) != len(header):
                    raise InputError(
                        f"{name}, {place}: {len(row)} fields where the header has {len(header)}; "
                        "a field with the delimiter or a line break in it must stand in double quotes"
                    )
                rows.append(row)
                places.append(place)
        except csv.Error as error:
            raise InputError(f"{name}, line {line}: {error}; is a double quote not closed, or not doubled?") from None
    finally:
        csv.field_size_limit(limit)
    assert header is not None  # a file without a row was refused before
    return _frame({column: [row[number] for row in rows] for number, column in enumerate(header)}, places)


def _header(row: list[str], name: str, delimiter: str) -> list[str]:
    blank = [number for number, column in enumerate(row, start=1) if not column.strip()]
    if blank:
        raise InputError(f"{name}, line 1: field {blank[0]} of the header is empty; every column needs a name")
    doubled = sorted({column for column in row if row.count(column) > 1})
    if doubled:
        raise InputError(f"{name}, line 1: column {', '.join(map(repr, doubled))} is there more than once")
    if len(row) == 1:
        other = next((mark for mark in (";", "\t", "|", ",") if mark != delimiter and mark in row[0]), None)
        if other is not None:
            raise InputError(f"{name}, line 1: one column {row[0][:60]!r}; is the delimiter {other!r}?")
    return row


def _parquet(raw: bytes, name: str) -> pd.DataFrame:
    import pyarrow
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.read_table(pyarrow.BufferReader(raw))
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{name}: not a parquet file: {str(error).splitlines()[0]}") from None
    doubled = sorted({column for column in found.column_names if found.column_names.count(column) > 1})
    if doubled:
        raise InputError(f"{name}: column {', '.join(map(repr, doubled))} is there more than once")
    columns = {column: [_none(value) for value in found[column].to_pylist()] for column in found.column_names}
    kept = {column: values for column, values in columns.items() if not column.startswith("__index_level_")}
    return _frame(kept, [f"row {number}" for number in range(1, found.num_rows + 1)])
