"""Rows in files: JSON Lines, JSON, CSV, TSV, parquet, read part by part, with every
row's place.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib.scoring import cells
from nlgeval_lib.scoring.cells import InputError

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
STDIN = "-"
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip or xlsx"}


def format_of(path: str, asked: str = "") -> str:
    """The format of a file, by name unless asked for.

    Raises: InputError naming the formats.
    """
    if asked and asked not in FORMATS:
        raise InputError(f"format {asked!r}; allowed: {', '.join(FORMATS)}")
    found = asked or Path(path).suffix.lower().removeprefix(".").replace(
        "ndjson", "jsonl"
    )
    if found not in FORMATS:
        allowed = ", ".join(FORMATS)
        raise InputError(
            f"{called(path)}: its name does not say what it is; give the format: one of {allowed}"
        )
    if found == "parquet":
        importlib.import_module(
            "pyarrow.parquet"
        )  # not in the core: better known now than when the work is done
    return found


def called(path: str) -> str:
    """How a message names a file."""
    return "standard input" if path == STDIN else path


def _opened(path: str, text: bool = True) -> Any:
    """The bytes of a file, or of standard input for "-", to be read as often as wanted.

    Raises: InputError for what cannot be read, is empty, or cannot be UTF-8 where it is
    to be text.
    """
    try:
        if path == STDIN and (sys.stdin is None or sys.stdin.closed):
            raise InputError(
                "standard input is closed: there is nothing to read; name a file, or pipe the rows in"
            )
        file: Any = sys.stdin.buffer if path == STDIN else open(path, "rb")  # noqa: SIM115 - read in parts
        if path == STDIN or not file.seekable():
            kept = tempfile.TemporaryFile()  # noqa: SIM115
            shutil.copyfileobj(file, kept)
            file = kept
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    file.seek(0)
    if not any(block.strip() for block in iter(lambda: file.read(1 << 20), b"")):
        raise InputError(f"{called(path)} is empty")
    file.seek(0)
    head = file.read(4096) if text else b""
    for mark, packed in _PACKED.items():
        if head.startswith(mark):
            raise InputError(
                f"{called(path)} is packed ({packed}); unpack it, or save it as UTF-8 text"
            )
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or 4 * head.count(0) > len(head):
        raise InputError(f"{called(path)} is UTF-16 or UTF-32; save it as UTF-8")
    return file


def plain_text(path: str) -> str:
    """The text of a file, or of standard input for "-".

    Raises: InputError naming the line that is not UTF-8.
    """
    with _opened(path) as file:
        return "".join(line for _, line in _lines(file, called(path)))


def _lines(file: Any, name: str) -> Iterator[tuple[int, str]]:
    """Each line with its number.

    Raises: InputError naming the line that is not UTF-8.
    """
    file.seek(0)
    for number, raw in enumerate(file, start=1):
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            said = f"byte {raw[error.start]:#04x} is not UTF-8; save it as UTF-8"
            raise InputError(f"{name}, line {number}: {said}") from None


class TableFile:
    """A file of rows, or standard input for "-", that is read in parts as often as
    wanted: memory for one part.

    columns: as they are written, in order; rows: how many; sha256: of the bytes. kind:
    one of FORMATS, of which a JSON list is held whole. delimiter: between fields of
    CSV, where it is no comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a
    file without rows.
    """

    def __init__(self, path: str, format: str = "", delimiter: str = "") -> None:
        self.kind, self.name = format_of(path, format), called(path)
        self.delimiter = delimiter or ("\t" if self.kind == "tsv" else ",")
        if len(self.delimiter) != 1:
            raise InputError(f"delimiter {delimiter!r}; one character is needed")
        self._file = _opened(path, text=self.kind != "parquet")
        self._file.seek(0)
        self.sha256 = hashlib.file_digest(self._file, "sha256").hexdigest()
        columns: dict[str, None] = {}
        self.rows = 0
        if self.kind == "parquet":
            with self._parquet() as found:
                names, self.rows = found.schema_arrow.names, found.metadata.num_rows
            _once(names, f"{self.name}: ")
            columns = dict.fromkeys(
                name for name in names if not name.startswith("__index_level_")
            )
        else:
            for _, record in self._records():
                columns.update(dict.fromkeys(record))
                self.rows += 1
        self.columns = [*columns]
        if not self.rows:
            raise InputError(f"{self.name} has no rows")

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """The rows of these columns (default: all), at most `cells.ROWS` at a time:
        values as they were written, None for none; each row's place in the file is its
        label.
        """
        wanted = self.columns if columns is None else list(columns)
        if self.kind == "parquet":
            yield from self._parquet_parts(wanted)
            return
        places: list[str] = []
        records: list[list[Any]] = []
        began = 0
        for place, record in self._records():
            places.append(place)
            records.append([record.get(name) for name in wanted])
            if len(records) == cells.ROWS or self._file.tell() - began > cells.BYTES:
                yield pd.DataFrame(
                    records, pd.Index(places, dtype=object), wanted, dtype=object
                )
                places = []
                records = []
                began = self._file.tell()
        if records:
            yield pd.DataFrame(
                records, pd.Index(places, dtype=object), wanted, dtype=object
            )

    def _records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return self._csv() if self.kind in ("csv", "tsv") else self._json()

    def _json(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The value of each line, or those of the list that the file is."""
        lines = _lines(self._file, self.name)
        if self.kind == "jsonl":
            found = (
                (f"line {n}", _loaded(line, self.name, n))
                for n, line in lines
                if line.strip()
            )
        else:
            listed = _loaded("".join(line for _, line in lines), self.name)
            if not isinstance(listed, list):
                raise InputError(
                    f"{self.name} holds one {type(listed).__name__}; a list of objects is needed"
                )
            found = ((f"row {n}", record) for n, record in enumerate(listed, start=1))
        for place, record in found:
            if not isinstance(record, dict):
                said = f"{type(record).__name__} where an object with named columns is needed"
                raise InputError(f"{self.name}, {place}: {said}")
            yield place, record

    def _csv(self) -> Iterator[tuple[str, dict[str, Any]]]:
        limit = csv.field_size_limit(sys.maxsize)
        header: list[str] = []
        line = 1
        self._file.seek(0)
        text = io.TextIOWrapper(self._file, encoding="utf-8-sig", newline="")
        try:
            reader = csv.reader(text, delimiter=self.delimiter, strict=True)
            for row in reader:
                begins = line
                line = reader.line_num + 1
                if not header:
                    header = row
                    _check_header(header, self.delimiter, f"{self.name}, line 1")
                elif row and len(row) != len(header):
                    raise InputError(
                        f"{self.name}, line {begins}: {len(row)} fields where the header has {len(header)}; "
                        "a field with the delimiter or a line break in it must stand in double quotes"
                    )
                elif row:
                    yield f"line {begins}", dict(zip(header, row, strict=True))
        except csv.Error as error:
            said = f"{error}; is a double quote not closed, or not doubled?"
            raise InputError(f"{self.name}, line {line}: {said}") from None
        except UnicodeDecodeError:
            for _ in _lines(self._file, self.name):  # says which line
                pass
            raise
        finally:
            csv.field_size_limit(limit)
            text.detach()

    @contextlib.contextmanager
    def _parquet(self) -> Iterator[Any]:
        import pyarrow
        import pyarrow.parquet

        try:
            yield pyarrow.parquet.ParquetFile(self._file)
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(
                f"{self.name}: not a parquet file: {str(error).splitlines()[0]}"
            ) from None

    def _parquet_parts(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        row = 0
        with self._parquet() as found:
            held = sum(
                found.metadata.row_group(i).total_byte_size
                for i in range(found.metadata.num_row_groups)
            )
            rows = max(1, min(cells.ROWS, cells.BYTES * self.rows // max(1, held)))
            for batch in found.iter_batches(rows, columns=columns):
                places = pd.Index(
                    [
                        f"row {number}"
                        for number in range(row + 1, row + len(batch) + 1)
                    ],
                    dtype=object,
                )
                row += len(batch)
                columns_read = {
                    name: pd.Series(values, places, dtype=object)
                    for name, values in batch.to_pydict().items()
                }
                yield pd.DataFrame(columns_read, places, columns)


def _check_header(header: list[str], delimiter: str, place: str) -> None:
    gone = next(
        (number for number, column in enumerate(header, start=1) if not column.strip()),
        0,
    )
    if gone:
        raise InputError(
            f"{place}: field {gone} of the header is empty; every column needs a name"
        )
    _once(header, f"{place}: ")
    for mark in ";\t|," if len(header) == 1 else "":
        if mark != delimiter and mark in header[0]:
            raise InputError(
                f"{place}: one column {header[0][:60]!r}; is the delimiter {mark!r}?"
            )


def _loaded(text: str, name: str, line: int = 0) -> Any:
    """The value of a line of JSON Lines, or of a whole file."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        said = str(error)
        if isinstance(error, json.JSONDecodeError):
            near = text[max(0, error.pos - 20) : error.pos + 20].rstrip("\n")
            said = f"not JSON: {error.msg} at character {error.pos + 1}: {near!r}"
            said += "" if line else "; a file of one object a line is named .jsonl"
        raise InputError(
            f"{name}, line {line}: {said}" if line else f"{name}: {said}"
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        _once([name for name, _ in pairs])
    return found


def _once(names: Sequence[str], place: str = "") -> None:
    doubled = sorted(column for column in set(names) if names.count(column) > 1)
    if doubled:
        raise InputError(
            f"{place}column {', '.join(map(repr, doubled))} is there more than once"
        )
