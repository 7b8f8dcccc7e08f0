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
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.scoring import cells
from nlgeval_lib.scoring.cells import InputError

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
STDIN = "-"
_LONGEST = 1 << 27  # characters or bytes of one line
_DEEPEST = 100  # lists and objects within each other
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip or xlsx"}


def format_of(path: str, stated: str = "") -> str:
    """The format of a file: the stated one, else by the file's name.

    Raises: InputError naming the formats.
    """
    allowed = ", ".join(FORMATS)
    if stated and stated not in FORMATS:
        raise InputError(f"format {stated!r}; allowed: {allowed}")
    ending = Path(path).suffix.lower().removeprefix(".")
    format = stated or ending.replace("ndjson", "jsonl")
    if format not in FORMATS:
        raise InputError(
            f"{called(path)}: its name does not say what it is; give the format: one "
            f"of {allowed}"
        )
    if format == "parquet":
        # The core does not need pyarrow: that it is missing must not come out only
        # after the scores have been made.
        importlib.import_module("pyarrow.parquet")
    return format


def called(path: str) -> str:
    """How a message names a file."""
    return "standard input" if path == STDIN else path


def _opened(path: str, text: bool = True) -> Any:
    """The bytes of a file, or of standard input for "-", to be read as often as wanted.

    Raises: InputError for what cannot be read, is empty, or cannot be UTF-8 where it is
    to be text.
    """
    try:
        if path != STDIN:
            file: Any = open(path, "rb")  # noqa: SIM115 - read in parts
        elif sys.stdin is None or sys.stdin.closed:
            raise InputError(
                "standard input is closed: there is nothing to read; name a file, or "
                "pipe the rows in"
            )
        else:
            file = sys.stdin.buffer
        if path == STDIN or not file.seekable():
            copy = tempfile.TemporaryFile()  # noqa: SIM115
            shutil.copyfileobj(file, copy)
            file = copy
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    file.seek(0)
    blocks = iter(lambda: file.read(1 << 20), b"")
    if not any(block.strip() for block in blocks):
        raise InputError(f"{called(path)} is empty")
    if text:
        file.seek(0)
        _check_text(file.read(4096), called(path))
    return file


def _check_text(head: bytes, name: str) -> None:
    """Pass where the first bytes of a file may be UTF-8 text. Raises: InputError."""
    for mark, packed in _PACKED.items():
        if head.startswith(mark):
            raise InputError(
                f"{name} is packed ({packed}); unpack it, or save it as UTF-8 text"
            )
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or 4 * head.count(0) > len(head):
        raise InputError(f"{name} is UTF-16 or UTF-32; save it as UTF-8")


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
    lines = iter(lambda: file.readline(_LONGEST + 1), b"")
    for number, raw in enumerate(lines, start=1):
        _check_length(raw, f"{name}, line {number}")
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"byte {raw[error.start]:#04x} is not UTF-8; save it as UTF-8"
            raise InputError(f"{name}, line {number}: {problem}") from None


def _check_length(line: bytes | str, place: str) -> None:
    """Pass where a line is no longer than memory serves. Raises: InputError."""
    if len(line) > _LONGEST:
        raise InputError(
            f"{place} has more than {_LONGEST >> 20} MB; write a row a line, with the "
            "texts that are to be scored"
        )


def _text_lines(file: Any, name: str) -> Iterator[str]:
    """Each line of a text as it is written. Raises: InputError for one too long."""
    lines = iter(lambda: file.readline(_LONGEST + 1), "")
    for number, line in enumerate(lines, start=1):
        _check_length(line, f"{name}, line {number}")
        yield line


class TableFile:
    """A file of rows, or standard input for "-", that is read in parts as often as
    wanted: memory for one part.

    columns: as they are written, in order; rows: how many; sha256: of the bytes. kind:
    one of FORMATS, of which a JSON list is held whole. delimiter: between fields of
    CSV, where it is no comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a
    file without rows.
    """

    def __init__(
        self,
        path: str,
        format: str = "",
        delimiter: str = "",
    ) -> None:
        self.kind = format_of(path, format)
        self.name = called(path)
        self.delimiter = delimiter or ("\t" if self.kind == "tsv" else ",")
        if len(self.delimiter) != 1:
            raise InputError(f"delimiter {delimiter!r}; one character is needed")
        self._file = _opened(path, text=self.kind != "parquet")
        self._file.seek(0)
        self.sha256 = hashlib.file_digest(self._file, "sha256").hexdigest()
        columns: dict[str, None] = {}
        self.rows = 0
        if self.kind == "parquet":
            with self._parquet() as table:
                names = table.schema_arrow.names
                self.rows = table.metadata.num_rows
            _check_once(names, f"{self.name}: ")
            for name in names:
                if not name.startswith("__index_level_"):
                    columns[name] = None
        else:
            for _, record in self._records():
                columns.update(dict.fromkeys(record))
                self.rows += 1
        self.columns = list(columns)
        for column in self.columns:
            if not str(column).strip():
                raise InputError(
                    f"{self.name} has a column without a name ({column!r}); every "
                    "column needs one"
                )
            try:
                cells.as_text(str(column))
            except ValueError as error:
                raise InputError(f"{self.name}, column {column!r}{error}") from None
        if not self.rows:
            raise InputError(f"{self.name} has no rows")
        self._state = self._now()

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """The rows of these columns (default: all), at most `cells.ROWS` at a time:
        values as they were written, None for none; each row's place in the file is its
        label.

        Raises: InputError where the file was written to since it was opened: scores
        would stand beside other rows than theirs.
        """
        try:
            for part in self._read_parts(self.columns if columns is None else columns):
                self._check_unchanged()
                yield part
        except InputError:
            self._check_unchanged()  # what explains an error goes before it
            raise
        self._check_unchanged()

    def _now(self) -> tuple[int, int]:
        """Size and time of the last change."""
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def _check_unchanged(self) -> None:
        if self._now() != self._state:
            raise InputError(
                f"{self.name} was changed while it was read; run the command again"
            )

    def _read_parts(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        if self.kind == "parquet":
            yield from self._parquet_parts(list(columns))
            return
        part: dict[str, list[Any]] = {}
        start = 0
        for place, record in self._records():
            part[place] = [record.get(name) for name in columns]
            if len(part) == cells.ROWS or self._file.tell() - start > cells.BYTES:
                yield _frame(part, columns)
                part = {}
                start = self._file.tell()
        if part:
            yield _frame(part, columns)

    def _records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The place and the cells of each row."""
        return self._csv() if self.kind in ("csv", "tsv") else self._json()

    def _json(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The rows of JSON Lines, or of the list that the file is."""
        for place, record in self._json_values():
            if not isinstance(record, dict):
                raise InputError(
                    f"{self.name}, {place}: {type(record).__name__} where an object "
                    "with named columns is needed"
                )
            yield place, record

    def _json_values(self) -> Iterator[tuple[str, Any]]:
        """The value of each line, or those of the list that the file is."""
        lines = _lines(self._file, self.name)
        if self.kind == "jsonl":
            for number, line in lines:
                if line.strip():
                    yield f"line {number}", _loaded(line, self.name, number)
            return
        values = _loaded("".join(line for _, line in lines), self.name)
        if not isinstance(values, list):
            raise InputError(
                f"{self.name} holds one {type(values).__name__}; a list of objects is "
                "needed"
            )
        for number, value in enumerate(values, start=1):
            yield f"row {number}", value

    def _csv(self) -> Iterator[tuple[str, dict[str, Any]]]:
        limit = csv.field_size_limit(sys.maxsize)
        header: list[str] = []
        line = 1
        self._file.seek(0)
        text = io.TextIOWrapper(self._file, encoding="utf-8-sig", newline="")
        try:
            lines = _text_lines(text, self.name)
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            for row in reader:
                place = f"line {line}"
                line = reader.line_num + 1
                if not header:
                    header = row
                    _check_header(header, self.delimiter, f"{self.name}, line 1")
                elif row and len(row) != len(header):
                    raise InputError(
                        f"{self.name}, {place}: {len(row)} fields where the header has "
                        f"{len(header)}; a field with the delimiter or a line break in "
                        "it must stand in double quotes"
                    )
                elif row:
                    yield place, dict(zip(header, row, strict=True))
        except csv.Error as error:
            raise InputError(
                f"{self.name}, line {line}: {error}; is a double quote not closed, or "
                "not doubled?"
            ) from None
        except UnicodeDecodeError:
            # Reading line by line raises the error that names the line.
            for _ in _lines(self._file, self.name):
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
            yield pyarrow.parquet.ParquetFile(
                self._file, read_dictionary=_texts_of(self._file)
            )
        except (pyarrow.ArrowException, OSError) as error:
            problem = str(error).splitlines()[0]
            raise InputError(f"{self.name}: not a parquet file: {problem}") from None

    @contextlib.contextmanager
    def _convertible(self) -> Iterator[None]:
        """Name the file of a value that Python cannot hold."""
        try:
            yield
        except (OverflowError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self.name} has a value that cannot be read: {error}; leave its "
                "column out, or save the table as CSV"
            ) from None

    def _parquet_parts(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        row = 0
        with self._parquet() as table, self._convertible():
            size = 0
            for group in range(table.metadata.num_row_groups):
                size += table.metadata.row_group(group).total_byte_size
            rows = cells.BYTES * self.rows // max(1, size)
            rows = max(1, min(cells.ROWS, rows))
            for batch in table.iter_batches(rows, columns=columns):
                for piece in _small(batch):
                    numbers = range(row + 1, row + len(piece) + 1)
                    labels = [f"row {number}" for number in numbers]
                    places = pd.Index(labels, dtype=object)
                    row += len(piece)
                    values = {}
                    for name, column in piece.to_pydict().items():
                        values[name] = pd.Series(column, places, dtype=object)
                    yield pd.DataFrame(values, places, columns)


def _texts_of(file: Any) -> list[str]:
    """The columns of text of a parquet file. A text that many rows share is read once:
    a small file may else unpack to more than the memory holds.
    """
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.parquet.ParquetFile(file).schema_arrow
    texts = (pyarrow.types.is_string, pyarrow.types.is_large_string)
    names = []
    for field in schema:
        if any(is_text(field.type) for is_text in texts):
            names.append(field.name)
    return names


def _small(batch: Any) -> Iterator[Any]:
    """The rows of a batch in pieces whose texts fit into a part."""
    import numpy as np
    import pyarrow.compute as compute

    sizes = np.zeros(len(batch))
    for column in batch.columns:
        if hasattr(column, "dictionary"):
            lengths = compute.binary_length(column.dictionary).to_numpy(False)
            places = column.indices.fill_null(0).to_numpy(False)
            if len(lengths):
                sizes += np.nan_to_num(np.asarray(lengths, dtype=float))[places]
    start = 0
    while start < len(batch):
        fitting = np.searchsorted(np.cumsum(sizes[start:]), cells.BYTES, side="right")
        length = max(1, int(fitting))
        yield batch.slice(start, length)
        start += length


def _frame(rows: Mapping[str, list[Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows by their place as a frame."""
    places = pd.Index(list(rows), dtype=object)
    return pd.DataFrame(list(rows.values()), places, list(columns), dtype=object)


def _check_header(
    header: list[str],
    delimiter: str,
    place: str,
) -> None:
    """Pass where every column has a name of its own. Raises: InputError."""
    for number, column in enumerate(header, start=1):
        if not column.strip():
            raise InputError(
                f"{place}: field {number} of the header is empty; every column needs a "
                "name"
            )
    _check_once(header, f"{place}: ")
    if len(header) == 1:
        for mark in ";\t|,":
            if mark != delimiter and mark in header[0]:
                raise InputError(
                    f"{place}: one column {header[0][:60]!r}; is the delimiter "
                    f"{mark!r}?"
                )


def _loaded(
    text: str,
    name: str,
    line: int = 0,
) -> Any:
    """The value of a line of JSON Lines, or of a whole file."""
    try:
        value = files.from_json(text, object_pairs_hook=_object)
        if text.count("[") + text.count("{") > _DEEPEST:
            _check_depth(value)
        return value
    except ValueError as error:
        problem = str(error)
        if isinstance(error, json.JSONDecodeError):
            near = text[max(0, error.pos - 20) : error.pos + 20].rstrip("\n")
            problem = f"not JSON: {error.msg} at character {error.pos + 1}: {near!r}"
            if not line:
                problem += "; a file of one object a line is named .jsonl"
        place = f"{name}, line {line}" if line else name
        raise InputError(f"{place}: {problem}") from None


def _check_depth(value: Any) -> None:
    """Pass where lists and objects are not too deep within each other.

    Raises: ValueError.
    """
    layer = [value]
    for _ in range(_DEEPEST + 2):
        inner: list[Any] = []
        for each in layer:
            if isinstance(each, dict):
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        layer = inner
        if not layer:
            return
    raise ValueError(
        f"lists or objects more than {_DEEPEST} deep within each other; leave that "
        "column out"
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, each of whose names is there once. Raises: InputError."""
    record = dict(pairs)
    if len(record) < len(pairs):
        _check_once([name for name, _ in pairs])
    return record


def _check_once(names: Sequence[str], place: str = "") -> None:
    """Pass where no name is repeated. Raises: InputError."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        columns = ", ".join(map(repr, sorted(repeated)))
        raise InputError(f"{place}column {columns} is there more than once")
