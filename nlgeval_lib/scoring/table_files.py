"""Rows in files: JSON Lines, JSON, CSV, TSV, parquet, read with every row's place and written whole or not at all."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
STDIN = "-"
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip or xlsx"}


class InputError(ValueError):
    """A file, a column or a setting is not as it must be. The message names the place and what to do."""


def format_of(path: str, asked: str = "") -> str:
    """The format of a file, by name unless asked for. Raises: InputError naming the formats."""
    if asked and asked not in FORMATS:
        raise InputError(f"format {asked!r}; allowed: {', '.join(FORMATS)}")
    found = asked or Path(path).suffix.lower().removeprefix(".").replace("ndjson", "jsonl")
    if found not in FORMATS:
        allowed = ", ".join(FORMATS)
        raise InputError(f"{called(path)}: its name does not say what it is; give the format: one of {allowed}")
    if found == "parquet":
        importlib.import_module("pyarrow.parquet")  # not in the core: better known now than when the work is done
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


def text(raw: bytes, name: str) -> str:
    """The bytes as UTF-8. Raises: InputError naming the line, or what the file is instead."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or 4 * raw.count(0, 0, 4096) > len(raw[:4096]):
        raise InputError(f"{name} is UTF-16 or UTF-32; save it as UTF-8")
    for mark, packed in _PACKED.items():
        if raw.startswith(mark):
            raise InputError(f"{name} is packed ({packed}); unpack it, or save it as UTF-8 text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: byte {raw[error.start]:#04x} is not UTF-8; save it as UTF-8") from None


def parsed(raw: bytes, kind: str, name: str, delimiter: str = "") -> pd.DataFrame:
    """The rows of a file's bytes, each with its place in the file as its label.

    kind: one of FORMATS. name: how messages call the file. delimiter: between fields of CSV, where it is no comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a file without rows.
    """
    if not raw.strip():
        raise InputError(f"{name} is empty: there is no row in it")
    columns: list[str] | None = None
    records: list[Any]
    if kind == "parquet":
        records, columns = _parquet(raw, name)
        places = [f"row {number}" for number in range(1, len(records) + 1)]
    elif kind in ("csv", "tsv"):
        places, records, columns = _csv(text(raw, name), name, delimiter or ("," if kind == "csv" else "\t"))
    else:
        found = dict((_json if kind == "json" else _jsonl)(text(raw, name), name))
        places, records = list(found), list(found.values())
        for place, record in found.items():
            if not isinstance(record, dict):
                said = f"{type(record).__name__} where an object with named columns is needed"
                raise InputError(f"{name}, {place}: {said}")
    frame = pd.DataFrame(records, pd.Index(places, dtype=object), columns, dtype=object)
    if frame.empty:
        raise InputError(f"{name} has no rows")
    return frame


def _jsonl(content: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            try:
                record = json.loads(line, object_pairs_hook=_object)
            except json.JSONDecodeError as error:
                near = line[max(0, error.pos - 20) : error.pos + 20]
                said = f"not JSON: {error.msg} at character {error.pos + 1}: {near!r}"
                raise InputError(f"{name}, line {number}: {said}") from None
            except (ValueError, RecursionError) as error:
                raise InputError(f"{name}, line {number}: {error}") from None
            yield f"line {number}", record


def _json(content: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        found = json.loads(content, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON: {error}; a file of one object a line is named .jsonl") from None
    if not isinstance(found, list):
        raise InputError(f"{name} holds one {type(found).__name__}; a list of objects is needed")
    for number, record in enumerate(found, start=1):
        yield f"row {number}", record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        raise ValueError(f"column {next(key for key in names if names.count(key) > 1)!r} is there twice")
    return found


def _csv(content: str, name: str, delimiter: str) -> tuple[list[str], list[list[str]], list[str]]:
    """Places, rows and columns."""
    if len(delimiter) != 1:
        raise InputError(f"delimiter {delimiter!r}; one character is needed")
    limit = csv.field_size_limit(sys.maxsize)
    rows: list[list[str]] = []
    places, line = [], 1
    try:
        reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
        for row in reader:
            begins, line = line, reader.line_num + 1
            if row and rows and len(row) != len(rows[0]):
                raise InputError(
                    f"{name}, line {begins}: {len(row)} fields where the header has {len(rows[0])}; "
                    "a field with the delimiter or a line break in it must stand in double quotes"
                )
            if row:
                rows.append(row)
                places.append(f"line {begins}")
    except csv.Error as error:
        raise InputError(f"{name}, line {line}: {error}; is a double quote not closed, or not doubled?") from None
    finally:
        csv.field_size_limit(limit)
    header = rows[0] if rows else []
    for number, column in enumerate(header, start=1):
        if not column.strip():
            raise InputError(f"{name}, line 1: field {number} of the header is empty; every column needs a name")
    _once(header, f"{name}, line 1")
    other = next((mark for mark in ";\t|," if len(header) == 1 and mark != delimiter and mark in header[0]), None)
    if other is not None:
        raise InputError(f"{name}, line 1: one column {header[0][:60]!r}; is the delimiter {other!r}?")
    return places[1:], rows[1:], header


def _parquet(raw: bytes, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows and columns."""
    import pyarrow
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.read_table(pyarrow.BufferReader(raw))
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{name}: not a parquet file: {str(error).splitlines()[0]}") from None
    _once(found.column_names, name)
    names = [column for column in found.column_names if not column.startswith("__index_level_")]
    return found.select(names).to_pylist(), names


def _once(names: Sequence[str], place: str) -> None:
    doubled = sorted(column for column in set(names) if names.count(column) > 1)
    if doubled:
        raise InputError(f"{place}: column {', '.join(map(repr, doubled))} is there more than once")


def is_missing(value: Any) -> bool:
    """Whether a cell has no value: None, NaN, pandas' marks of a missing one."""
    return value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))


def present(values: Iterable[Any]) -> list[Any]:
    """The values of a column, None where one is missing."""
    return [None if is_missing(value) else value for value in values]


# -- writing -----------------------------------------------------------------------------------------------------------


def check_output(path: str, *inputs: str, why: str = "", rows: str = "") -> None:
    """Passes where a file can be written and is none of the inputs: better known now than when the work is done.

    rows: what its rows are, where it is to be a table; else it is a text. Raises: InputError.
    """
    if rows and format_of(path) == "json":
        raise InputError(f"{path}: {rows} are written as jsonl, csv, tsv or parquet")
    for one in filter(None, inputs):
        same = os.path.realpath(path) == os.path.realpath(one)
        if same or (os.path.exists(path) and os.path.exists(one) and os.path.samefile(path, one)):
            raise InputError(f"{path} is the input itself{why}; name another file to write to")
    try:
        files.check(path)
    except OSError as error:
        raise InputError(error.strerror or str(error)) from None


def write(frame: pd.DataFrame, path: str) -> None:
    """The frame as a file of the format that its name says, whole or not at all; what is no text or number is JSON.

    Raises: OSError.
    """
    kind = format_of(path)
    columns = [files.whole(str(column)) for column in frame.columns]
    with files.replacing(path) as tmp, open(tmp, "w", encoding="utf-8", newline="") as out:
        if kind == "parquet":
            held = {name: _of_one_type(present(frame[own])) for name, own in zip(columns, frame.columns, strict=True)}
            pd.DataFrame(held).to_parquet(tmp, index=False)
        elif kind == "jsonl":
            rows = frame.itertuples(index=False, name=None)
            out.writelines(files.json_lines(dict(zip(columns, row, strict=True)) for row in rows))
        else:
            writer = csv.writer(out, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([_field(value) for value in row] for row in frame.itertuples(index=False, name=None))


def _field(value: Any) -> Any:
    """The value as a field of CSV: nothing where it is missing, JSON where it is no text or number."""
    if is_missing(value):
        return ""
    held = value if isinstance(value, (int, float, np.number)) else files.plain(value)
    if isinstance(held, (str, int, float, np.number)):
        return held
    return json.dumps(held, ensure_ascii=False) if held else ""


def _of_one_type(values: list[Any]) -> list[Any]:
    """A column that parquet can hold: as it is where it has one type, or lists of texts; else JSON text."""
    kinds = {type(value) for value in values if value is not None}
    lists = kinds <= {list, tuple} and all(isinstance(text, str) for value in values for text in value or ())
    held = [files.plain(value) for value in values]
    if lists or (len(kinds) <= 1 and kinds <= {str, bool, int, float}) or kinds == {int, float}:
        return held
    return [v if v is None or isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in held]
