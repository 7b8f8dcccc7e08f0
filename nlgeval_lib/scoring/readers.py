"""Bytes of a file as columns of values: JSON Lines, JSON, CSV, TSV, parquet; every row knows its place in the file."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
_ENDINGS = {".ndjson": "jsonl"} | {f".{format}": format for format in FORMATS}
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 and UTF-32 begin
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"(\xb5/\xfd": "zstd", b"PK\x03\x04": "zip or xlsx"}
STDIN = "-"

Columns = dict[str, list[Any]]
Places = list[str]


class InputError(ValueError):
    """A file, a column or a setting is not as it must be. The message names the place and what to do."""


def format_of(path: str, asked: str = "") -> str:
    """The format of a file, by name unless asked for. Raises: InputError naming the formats."""
    if asked:
        if asked not in FORMATS:
            raise InputError(f"format {asked!r}; allowed: {', '.join(FORMATS)}")
        return asked
    found = _ENDINGS.get(Path(path).suffix.lower())
    if found is None:
        raise InputError(
            f"{called(path)}: its name does not say what it is; give the format: one of {', '.join(FORMATS)}"
        )
    return found


def called(path: str) -> str:
    """How a message names a file."""
    return "standard input" if path == STDIN else path


def content(path: str) -> bytes:
    """The bytes of a file, or of standard input for "-". Raises: InputError where they cannot be had."""
    if path == STDIN:
        if sys.stdin is None or sys.stdin.closed:
            raise InputError("standard input is closed: there is nothing to read; name a file, or pipe the rows in")
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def columns(raw: bytes, kind: str, name: str, delimiter: str = "") -> tuple[Columns, Places]:
    """The columns of a file, a value a row (None: missing), and where each row is in it.

    kind: one of FORMATS. name: how messages call the file. delimiter: between fields of CSV, where it is no comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a file without rows.
    """
    if not raw.strip():
        raise InputError(f"{name} is empty: there is no row in it")
    if kind == "parquet":
        found, places = _parquet(raw, name)
    elif kind in ("csv", "tsv"):
        found, places = _csv(text(raw, name), name, delimiter or {"csv": ",", "tsv": "\t"}[kind])
    else:
        records = (_json if kind == "json" else _jsonl)(text(raw, name), name)
        found, places = _joined(records)
    if not places or not found:
        raise InputError(f"{name} has no rows")
    return found, places


def text(raw: bytes, name: str) -> str:
    """The bytes as UTF-8. Raises: InputError naming the line, or what the file is instead."""
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


def is_missing(value: Any) -> bool:
    """Whether a cell has no value: None, NaN, pandas' marks of a missing one."""
    if value is None or isinstance(value, str):
        return value is None
    return (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")


def present(values: Iterable[Any]) -> list[Any]:
    """The values of a column, None where one is missing."""
    return [None if is_missing(value) else value for value in values]


# -- JSON --------------------------------------------------------------------------------------------------------------


def _joined(records: Iterator[tuple[str, dict[str, Any]]]) -> tuple[Columns, Places]:
    """Records as columns, all that any of them has."""
    found: Columns = {}
    places: Places = []
    for place, record in records:
        for name, value in record.items():
            values = found.setdefault(name, [])
            values.extend([None] * (len(places) - len(values)))
            values.append(None if is_missing(value) else value)
        places.append(place)
    for values in found.values():
        values.extend([None] * (len(places) - len(values)))
    return found, places


def _jsonl(content: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            place = f"line {number}"
            yield place, _object(line, f"{name}, {place}")


def _json(content: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        found = json.loads(content, object_pairs_hook=_pairs)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON: {error}; a file of one object a line is named .jsonl") from None
    if not isinstance(found, list):
        raise InputError(f"{name} holds one {type(found).__name__}; a list of objects is needed")
    for number, record in enumerate(found, start=1):
        if not isinstance(record, dict):
            raise InputError(f"{name}, row {number}: {type(record).__name__} where an object is needed")
        yield f"row {number}", _whole(record, f"{name}, row {number}")


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_pairs)
    except json.JSONDecodeError as error:
        near = line[max(0, error.pos - 20) : error.pos + 20]
        raise InputError(f"{place}: not JSON: {error.msg} at character {error.pos + 1}: {near!r}") from None
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


# -- CSV and parquet ---------------------------------------------------------------------------------------------------


def _csv(content: str, name: str, delimiter: str) -> tuple[Columns, Places]:
    if len(delimiter) != 1:
        raise InputError(f"delimiter {delimiter!r}; one character is needed")
    limit = csv.field_size_limit(sys.maxsize)
    header: list[str] = []
    rows, places, line = [], [], 1
    try:
        reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
        for row in reader:
            begins, line = line, reader.line_num + 1
            if not header:
                header = _header(row, name, delimiter) if row else header
            elif row:
                if len(row) != len(header):
                    raise InputError(
                        f"{name}, line {begins}: {len(row)} fields where the header has {len(header)}; "
                        "a field with the delimiter or a line break in it must stand in double quotes"
                    )
                rows.append(row)
                places.append(f"line {begins}")
    except csv.Error as error:
        raise InputError(f"{name}, line {line}: {error}; is a double quote not closed, or not doubled?") from None
    finally:
        csv.field_size_limit(limit)
    return {column: [row[number] for row in rows] for number, column in enumerate(header)}, places


def _header(row: list[str], name: str, delimiter: str) -> list[str]:
    blank = [number for number, column in enumerate(row, start=1) if not column.strip()]
    if blank:
        raise InputError(f"{name}, line 1: field {blank[0]} of the header is empty; every column needs a name")
    _once(row, f"{name}, line 1")
    if len(row) == 1:
        other = next((mark for mark in (";", "\t", "|", ",") if mark != delimiter and mark in row[0]), None)
        if other is not None:
            raise InputError(f"{name}, line 1: one column {row[0][:60]!r}; is the delimiter {other!r}?")
    return row


def _parquet(raw: bytes, name: str) -> tuple[Columns, Places]:
    import pyarrow
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.read_table(pyarrow.BufferReader(raw))
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{name}: not a parquet file: {str(error).splitlines()[0]}") from None
    _once(found.column_names, name)
    names = [column for column in found.column_names if not column.startswith("__index_level_")]
    places = [f"row {number}" for number in range(1, found.num_rows + 1)]
    return {column: present(found[column].to_pylist()) for column in names}, places


def _once(names: Iterable[str], place: str) -> None:
    doubled = sorted(column for column, count in Counter(names).items() if count > 1)
    if doubled:
        raise InputError(f"{place}: column {', '.join(map(repr, doubled))} is there more than once")
