"""Rows in files: JSON Lines, JSON, CSV, TSV, parquet, read part by part, with every
row's place.

`TableFile` is such a file: it is read once when it is opened, to know its columns and
rows and to refuse what cannot be read, and then as often as wanted by `parts`.
`plain_text` reads a file that is one text. Every refusal is an InputError that names
the file and the line.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib
import io
import itertools
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.scoring import cells, logs
from nlgeval_lib.scoring.cells import InputError

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
STDIN = "-"  # the path of standard input
_LONGEST = 1 << 27  # bytes of one line
_DEEPEST = 100  # lists and objects within each other
# how packed files begin -> what they are called
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip or xlsx"}


@dataclass(frozen=True)
class Dialect:
    """How a file is written, where neither its name nor its beginning says so.

    quoted: whether double quotes enclose fields of CSV and TSV.
    decimal: what stands before the decimals of a number, "." or ",".
    log: the tool whose log it is, one of `logs.shapes`, or the path of the list of rows
    in a JSON file; "" for what is found.
    """

    quoted: bool = True
    decimal: str = "."
    log: str = ""


def format_of(path: str, stated: str = "") -> str:
    """The format of a file: the stated one, else by the ending of the file's name.

    Raises: InputError naming the formats; ImportError where parquet cannot be read.
    """
    allowed = ", ".join(FORMATS)
    if stated and stated not in FORMATS:
        raise InputError(f"format {stated!r}; allowed: {allowed}")
    ending = Path(path).suffix.lower().removeprefix(".")
    if not stated and ending == "eval":
        return "json"  # a log of inspect_ai, packed
    format = stated or ending.replace("ndjson", "jsonl")
    if format not in FORMATS:
        raise InputError(
            f"{called(path)}: its name does not say what it is; give the format: one "
            f"of {allowed}"
        )
    if format == "parquet":
        # That pyarrow is missing must come out before the scores are made.
        importlib.import_module("pyarrow.parquet")
    return format


def called(path: str) -> str:
    """How a message names a file: its path, or "standard input"."""
    return "standard input" if path == STDIN else path


def _opened(path: str, text: bool = True) -> Any:
    """The bytes of a file, or of standard input for "-", to be read as often as wanted.

    What cannot be read twice (a pipe) is copied first. text: whether it is to be UTF-8.
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
    """Raise an InputError where a file that begins so is packed, UTF-16 or UTF-32."""
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
    """Each line with its number, from 1; a mark at the file's beginning (BOM) is left
    out.
    """
    file.seek(0)
    lines = iter(lambda: file.readline(_LONGEST + 1), b"")
    for number, raw in enumerate(lines, start=1):
        if len(raw) > _LONGEST:
            raise InputError(
                f"{name}, line {number} has more than {_LONGEST >> 20} MB; write a row "
                "a line, with the texts that are to be scored"
            )
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"byte {raw[error.start]:#04x} is not UTF-8; save it as UTF-8"
            raise InputError(f"{name}, line {number}: {problem}") from None


class TableFile:
    """A file of rows, or standard input for "-", that is read in parts as often as
    wanted: memory for one part.

    path: of the file.
    format: one of FORMATS; "" for what the name says.
    delimiter: between fields of CSV, one character; "" for a comma, in TSV a tab.
    dialect: how it is written; None for as usual.

    name: what messages call it.
    kind: its format; a JSON list is held whole.
    columns: as they are written, in order; of JSON those of all rows.
    rows: how many.
    sha256: of the bytes.
    remarks: what is left out, and as what it is read.
    orders: columns of words that have an order -> their words, the least first.
    Raises: InputError naming the file and the line for what cannot be read, and for a
    file without rows.
    """

    def __init__(
        self,
        path: str,
        format: str = "",
        delimiter: str = "",
        dialect: Dialect | None = None,
    ) -> None:
        self.dialect = dialect or Dialect()
        self.remarks: list[str] = []
        self.orders: dict[str, list[str]] = {}  # column -> its words, the least first
        self._blank = 0
        self._several: set[str] = set()  # why samples of a log stand there twice
        self._numbered = False  # whether a nameless first column has row numbers
        self.kind = format_of(path, format)
        self.name = called(path)
        self.delimiter = delimiter or ("\t" if self.kind == "tsv" else ",")
        if len(self.delimiter) != 1:
            raise InputError(f"delimiter {delimiter!r}; one character is needed")
        self._packed = path.endswith(".eval") and zipfile.is_zipfile(path)
        self._file = _opened(path, text=self.kind != "parquet" and not self._packed)
        self._file.seek(0)
        self.sha256 = hashlib.file_digest(self._file, "sha256").hexdigest()
        self.columns, self.rows = self._columns_and_rows()
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

    def _columns_and_rows(self) -> tuple[list[str], int]:
        """The names of the columns in order, and how many rows there are.

        All but parquet is read through for this.
        """
        if self.kind == "parquet":
            with self._parquet() as table:
                names = table.schema_arrow.names
                rows = table.metadata.num_rows
            _check_once(names, f"{self.name}: ")
            # pandas stores the index of a frame as a column of such a name
            index = "__index_level_"
            columns_kept = [name for name in names if not name.startswith(index)]
            for name, order in self.orders.items():
                self.remarks.append(f"{name} has an order: {' < '.join(order)}")
            return columns_kept, rows
        columns: dict[str, None] = {}
        rows = 0
        for _, record in self._records():
            columns.update(dict.fromkeys(record))
            rows += 1
        if self._blank:
            self.remarks.append(f"{self._blank} blank rows are left out")
        if len(self._several) > 1:
            self.remarks.append(
                f"a sample stands there for each of {', '.join(sorted(self._several))}"
            )
        if self._numbered:
            self.remarks.append("the nameless first column is left out")
        if columns.keys() >= {*logs.ERROR_COLUMNS}:
            self.remarks.append(f"a row is an error; --from {logs.MQM} sums weights")
        return list(columns), rows

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
        """Size and time of the last change, by which a change is noticed."""
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def _check_unchanged(self) -> None:
        if self._now() != self._state:
            raise InputError(
                f"{self.name} was changed while it was read; run the command again"
            )

    def _read_parts(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The rows in parts of at most `cells.ROWS` rows and about `cells.BYTES`."""
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
        """The place of each row, such as "line 7", and its cells: column -> value."""
        self._blank = 0
        records = self._csv() if self.kind in ("csv", "tsv") else self._json()
        if self.dialect.log == logs.MQM:
            records = logs.mqm_ratings(records, self.remarks)
        for place, record in records:
            if not isinstance(record, dict):
                raise InputError(
                    f"{self.name}, {place}: {type(record).__name__} where an object "
                    "with named columns is needed"
                )
            if all(cell is None or not str(cell).strip() for cell in record.values()):
                self._blank += 1
            else:
                yield place, record

    def _json(self) -> Iterator[tuple[str, Any]]:
        """The place and the value of each row of JSON Lines, or of the list that the
        file is.
        """
        lines = _lines(self._file, self.name)
        if self.kind == "jsonl":
            for number, line in lines:
                if line.strip():
                    value = _loaded(line, self.name, number)
                    for row in self._rows_in([value]):
                        yield f"line {number}", row
            return
        if self._packed:
            value = self._unpacked()
        else:
            value = _loaded("".join(line for _, line in lines), self.name)
        for number, row in enumerate(self._rows_in(value), start=1):
            yield f"row {number}", row

    def _rows_in(self, value: Any) -> list[Any]:
        """The rows of a value of JSON, and a remark as what they are read."""
        rows, kind = logs.rows_of(value, self.dialect.log, self.name)
        shape = logs.shapes().get(kind.removeprefix("a log of "), {})
        if "several" in shape:
            self._several |= {str(row.get(shape["several"])) for row in rows}
        remark = f"it is read as {kind}"
        if kind and remark not in self.remarks:
            self.remarks.append(remark)
        return rows

    def _unpacked(self) -> dict[str, Any]:
        """A packed log of inspect_ai as its JSON form has it."""
        try:
            with zipfile.ZipFile(self._file) as packed:
                names = packed.namelist()
                whole = dict(_loaded(packed.read("header.json").decode(), self.name))
                samples = sorted(name for name in names if name.startswith("samples/"))
                texts = [packed.read(name).decode() for name in samples]
        except (KeyError, zipfile.BadZipFile, NotImplementedError) as error:
            raise InputError(
                f"{self.name} is packed and cannot be read ({error}); "
                "`inspect log convert --to json` unpacks a log of inspect_ai"
            ) from None
        return whole | {"samples": [_loaded(text, self.name) for text in texts]}

    def _csv(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The rows of CSV and TSV; the place of a row is the line on which it begins."""
        # By default a long text is an error of csv; `_lines` bounds a line.
        limit = csv.field_size_limit(sys.maxsize)
        quoted = self.dialect.quoted and self.dialect.log != logs.MQM
        header: list[str] = []
        line = 1
        lines = self._csv_lines()
        delimiter = self.delimiter
        first = next(lines)
        if first.startswith("sep=") and len(first.strip()) == 5:
            delimiter = first[4]  # as Excel says it
            first = "\n"
        try:
            reader = csv.reader(
                itertools.chain([first], lines),
                delimiter=delimiter,
                quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
                strict=True,
            )
            for row in reader:
                place = f"line {line}"
                line = reader.line_num + 1
                if not header and not any(map(str.strip, row)):
                    self._blank += bool(row)
                elif not header:
                    header = row
                    self._check_header(header)
                elif not any(map(str.strip, row)):
                    self._blank += bool(row)
                elif len(row) != len(header):
                    raise InputError(
                        f"{self.name}, {place}: {len(row)} fields where the header has "
                        f"{len(header)}; a field with the delimiter or a line break in "
                        "it must stand in double quotes"
                    )
                else:
                    yield place, self._record(header, row, place)
        except csv.Error as error:
            raise InputError(
                f"{self.name}, line {line}: {error}; is a double quote not closed, or "
                "not doubled? --no-quotes reads quotes as letters"
            ) from None
        finally:
            csv.field_size_limit(limit)

    def _csv_lines(self) -> Iterator[str]:
        """The lines of CSV, which may end in a carriage return alone."""
        for _, line in _lines(self._file, self.name):
            yield from io.StringIO(line, newline="") if "\r" in line else (line,)

    def _check_header(self, header: list[str]) -> None:
        """Raise an InputError where a column is there twice or the delimiter is another
        one.
        """
        place = f"{self.name}, line 1: "
        _check_once([name for name in header if name.strip()], place)
        for mark in ";\t|,":
            if len(header) == 1 and mark != self.delimiter and mark in header[0]:
                raise InputError(
                    f"{place}one column {header[0][:60]!r}; is the delimiter {mark!r}?"
                )

    def _record(self, header: list[str], row: list[str], place: str) -> dict[str, Any]:
        """A row of CSV by column, without those that have no name: an empty column, and
        the numbers of the rows before the first one, as pandas writes them.
        """
        record = {}
        for number, (name, cell) in enumerate(zip(header, row, strict=True)):
            if name.strip():
                record[name] = cell
            elif number == 0 and cell.strip().isdigit():
                self._numbered = True
            elif cell.strip():
                raise InputError(
                    f"{self.name}, {place}: field {number + 1} has no name in the "
                    "header and holds something; every column needs a name "
                    "(pandas: to_csv(index=False))"
                )
        return record

    @contextlib.contextmanager
    def _parquet(self) -> Iterator[Any]:
        """A context with the opened parquet file.

        A text that many rows share is read once: a small file may else unpack to more
        than the memory holds.
        Raises: InputError for another file, and for a value that Python cannot hold.
        """
        import pyarrow
        from pyarrow.parquet import ParquetFile

        texts = []
        try:
            for field in ParquetFile(self._file).schema_arrow:
                if pyarrow.types.is_dictionary(field.type) and field.type.ordered:
                    self._note_order(field)
                if field.type in (pyarrow.string(), pyarrow.large_string()):
                    texts.append(field.name)
            yield ParquetFile(self._file, read_dictionary=texts)
        except (pyarrow.ArrowException, OSError) as error:
            problem = str(error).splitlines()[0]
            raise InputError(f"{self.name}: not a parquet file: {problem}") from None
        except (OverflowError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self.name} has a value that cannot be read: {error}; leave its "
                "column out, or save the table as CSV"
            ) from None

    def _note_order(self, field: Any) -> None:
        """Keep the words of an ordered category of pandas, the least first."""
        import pyarrow
        from pyarrow.parquet import ParquetFile

        if field.name in self.orders or field.type.value_type != pyarrow.string():
            return
        for batch in ParquetFile(self._file).iter_batches(1, columns=[field.name]):
            self.orders[field.name] = batch.column(0).dictionary.to_pylist()
            return

    def _parquet_parts(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        """The rows of parquet in parts; the place of a row is its number, "row 7"."""
        start = 1
        with self._parquet() as table:
            size = 0  # of all rows, as stored: how many are likely to fit into a part
            for group in range(table.metadata.num_row_groups):
                size += table.metadata.row_group(group).total_byte_size
            fitting = cells.BYTES * self.rows // max(1, size)
            rows = max(1, min(cells.ROWS, fitting))
            for large_batch in table.iter_batches(rows, columns=columns):
                for batch in _small(large_batch):
                    end = start + len(batch)
                    labels = [f"row {number}" for number in range(start, end)]
                    start = end
                    places = pd.Index(labels, dtype=object)
                    yield pd.DataFrame(batch.to_pydict(), places, columns, dtype=object)


def _small(batch: Any) -> Iterator[Any]:
    """The rows of a batch in smaller batches whose texts fit into a part; at least one
    row each.
    """
    import numpy as np
    import pyarrow.compute as compute

    sizes = np.zeros(len(batch))  # bytes of each row's texts
    for column in batch.columns:
        if hasattr(column, "dictionary") and len(column.dictionary):
            lengths = compute.binary_length(column.dictionary).to_numpy(False)
            places = column.indices.fill_null(0).to_numpy(False)
            sizes += np.nan_to_num(np.asarray(lengths, dtype=float))[places]
    start = 0
    while start < len(batch):
        fitting = np.searchsorted(np.cumsum(sizes[start:]), cells.BYTES, side="right")
        length = max(1, int(fitting))
        yield batch.slice(start, length)
        start += length


def _frame(rows: Mapping[str, list[Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows (place -> the values of the columns) as a frame; the index has the places."""
    places = pd.Index(list(rows), dtype=object)
    return pd.DataFrame(list(rows.values()), places, list(columns), dtype=object)


def _loaded(text: str, name: str, line: int = 0) -> Any:
    """The value of a line of JSON Lines, or (line 0) of a whole file.

    Raises: InputError naming the place and what is wrong: no JSON, a name that an
    object has twice, values too deep within each other.
    """
    try:
        value = files.from_json(text, object_pairs_hook=_object)
        # Brackets bound the depth: most texts need not be walked through.
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
    """Raise a ValueError where lists and objects are too deep within each other."""
    # Layer by layer from the outside: a recursion would itself end at some depth.
    layer = [value]
    for _ in range(_DEEPEST + 2):
        inner: list[Any] = []
        for outer in layer:
            if isinstance(outer, dict):
                inner += outer.values()
            elif isinstance(outer, list):
                inner += outer
        layer = inner
    if layer:
        raise ValueError(
            f"lists or objects more than {_DEEPEST} deep within each other; leave that "
            "column out"
        )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, each of whose names is there once; JSON lets the last one win."""
    _check_once([name for name, _ in pairs])
    return dict(pairs)


def _check_once(names: Sequence[str], place: str = "") -> None:
    """Raise an InputError, which begins with the place, where a name is repeated."""
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        columns = ", ".join(map(repr, sorted(repeated)))
        raise InputError(f"{place}column {columns} is there more than once")
