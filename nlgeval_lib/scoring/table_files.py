"""Rows in files: JSON Lines, JSON, CSV, TSV, parquet, each row with its place. Every
refusal is an InputError that names the file and the line.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import io
import json
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.scoring import cells, logs
from nlgeval_lib.scoring.cells import InputError

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
STDIN = "-"  # the path of standard input
_DEEPEST = 100  # lists and objects within each other
# how packed files begin -> what they are called
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip or xlsx"}
_INDEX = "__index_level_"  # how pandas calls the index of a frame in parquet


@dataclass(frozen=True)
class Dialect:
    """How a file is written, where neither its name nor its beginning says so.

    delimiter: "" for a comma, in TSV a tab. quoted: whether quotes enclose fields.
    log: the tool whose log it is, one of `logs.shapes`, or the path of the list of rows
    in a JSON file; "" for what is found.
    """

    delimiter: str = ""
    quoted: bool = True
    decimal: str = "."
    log: str = ""


@dataclass
class TableFile:
    """The rows of a file as they are written there.

    frame: the cells, None for none; the index has each row's place, such as "line 7".
    orders: the words of columns that have an order, as `cells.words_for` takes them.
    """

    name: str
    sha256: str
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    remarks: list[str] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)

    def remark(self, text: str) -> None:
        """Note what is to be known of the rows, once."""
        if text not in self.remarks:
            self.remarks.append(text)


def read_table(
    path: str, format: str = "", dialect: Dialect | None = None
) -> TableFile:
    """The rows of a file, or of standard input for "-"; format: one of FORMATS, or ""
    for what the name says.
    """
    dialect = dialect or Dialect()
    kind = format_of(path, format)
    content = _content(path)
    file = TableFile(called(path), hashlib.sha256(content).hexdigest())
    if kind == "parquet":
        file.frame = _parquet(file, content)
    elif path.endswith(".eval") and zipfile.is_zipfile(io.BytesIO(content)):
        log = _unpacked(content, file.name)
        file.frame = _frame(file, _numbered(_rows_in(file, log, dialect)))
    else:
        text = _text(content, file.name)
        if kind in ("csv", "tsv"):
            rows = _csv(file, text, dialect, "\t" if kind == "tsv" else ",")
        elif kind == "json":
            value = _loaded(text, file.name)
            rows = _numbered(_rows_in(file, value, dialect))
        else:
            rows = _json_lines(file, text, dialect)
        if dialect.log == logs.MQM:
            rows = logs.mqm_ratings(rows, file.remark)
        file.frame = _frame(file, rows)
    if samples := logs.several(file.frame):
        file.remark(samples)
    if not len(file.frame):
        raise InputError(f"{file.name} has no rows")
    return file


def plain_text(path: str) -> str:
    """The text of a file, or of standard input for "-"."""
    return _text(_content(path), called(path))


def format_of(path: str, stated: str = "") -> str:
    """The format of a file: the stated one, else by the ending of the file's name."""
    allowed = ", ".join(FORMATS)
    if stated and stated not in FORMATS:
        raise InputError(f"format {stated!r}; allowed: {allowed}")
    ending = Path(path).suffix.lower().removeprefix(".")
    # a log of inspect_ai ends in .eval, packed or not
    endings = {"ndjson": "jsonl", "eval": "json"}
    format = stated or endings.get(ending, ending)
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


# -- bytes and text


def _content(path: str) -> bytes:
    try:
        if path != STDIN:
            content = Path(path).read_bytes()
        elif sys.stdin is None or sys.stdin.closed:
            raise InputError(
                "standard input is closed; name a file, or pipe the rows in"
            )
        else:
            content = sys.stdin.buffer.read()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if not content.strip():
        raise InputError(f"{called(path)} is empty")
    return content


def _text(content: bytes, name: str) -> str:
    """The text of a file's bytes, without a mark at its beginning (BOM)."""
    for mark, packed in _PACKED.items():
        if content.startswith(mark):
            raise InputError(
                f"{name} is packed ({packed}); unpack it, or save it as UTF-8 text"
            )
    head = content[:4096]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or 4 * head.count(0) > len(head):
        raise InputError(f"{name} is UTF-16 or UTF-32; save it as UTF-8")
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}, line {line}: byte {content[error.start]:#04x} is not UTF-8; save "
            "it as UTF-8"
        ) from None


# -- rows


def _frame(file: TableFile, rows: Iterable[tuple[str, Any]]) -> pd.DataFrame:
    """Rows (place and cells: column -> value) as a frame; blank ones are left out."""
    places = []
    records = []
    blank = 0
    for place, record in rows:
        if not isinstance(record, dict):
            raise InputError(
                f"{file.name}, {place}: {type(record).__name__} where an object is needed"
            )
        if all(cell is None or not str(cell).strip() for cell in record.values()):
            blank += 1
        else:
            places.append(place)
            records.append(record)
    if blank:
        file.remark(f"{blank} blank rows are left out")
    columns = dict.fromkeys(name for record in records for name in record)
    _check_names(file, columns)
    if columns.keys() >= {*logs.ERROR_COLUMNS}:
        file.remark(f"a row is an error; --from {logs.MQM} sums weights")
    index = pd.Index(places, dtype=object)
    return pd.DataFrame(records, index, list(columns), dtype=object)


def _check_names(file: TableFile, columns: Iterable[str]) -> None:
    for column in columns:
        if not column.strip():
            raise InputError(
                f"{file.name} has a column without a name ({column!r}); every "
                "column needs one"
            )
        try:
            cells.as_text(column)
        except ValueError as error:
            raise InputError(f"{file.name}, column {column!r}{error}") from None


def _check_once(names: Sequence[str], place: str = "") -> None:
    """Raise an InputError, which begins with the place, where a name is repeated."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        columns = ", ".join(map(repr, sorted(repeated)))
        raise InputError(f"{place}column {columns} is there more than once")


# -- JSON


def _json_lines(
    file: TableFile, text: str, dialect: Dialect
) -> Iterator[tuple[str, Any]]:
    """The place and the value of each row of JSON Lines."""
    # not `splitlines`, which breaks a line at further characters
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            value = _loaded(line, file.name, number)
            rows = _rows_in(file, [value], dialect)
            for place, row in _numbered(rows):
                yield f"line {number}" + (f", {place}" if len(rows) > 1 else ""), row


def _numbered(rows: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for number, row in enumerate(rows, start=1):
        yield f"row {number}", row


def _rows_in(file: TableFile, value: Any, dialect: Dialect) -> list[Any]:
    """The rows of a value of JSON, and a remark as what they are read."""
    rows, kind = logs.rows_of(value, dialect.log, file.name)
    if kind:
        file.remark(f"it is read as {kind}")
    return rows


def _unpacked(content: bytes, name: str) -> dict[str, Any]:
    """A packed log of inspect_ai as its JSON form has it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            log = dict(_loaded(packed.read("header.json").decode(), name))
            samples = []
            for member in sorted(packed.namelist()):
                if member.startswith("samples/"):
                    samples.append(_loaded(packed.read(member).decode(), name))
    except (KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise InputError(
            f"{name} is packed and cannot be read ({error}); "
            "`inspect log convert --to json` unpacks a log of inspect_ai"
        ) from None
    return log | {"samples": samples}


def _loaded(text: str, name: str, line: int = 0) -> Any:
    """The value of a line of JSON Lines, or (line 0) of a whole file."""
    try:
        value = files.from_json(text, object_pairs_hook=_object)
        if _depth(value) > _DEEPEST:
            raise ValueError(
                f"lists or objects more than {_DEEPEST} deep within each other"
            )
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


def _depth(value: Any) -> int:
    """How deep lists and objects are inside rows, no more than needed."""
    layer = [value]
    depth = -2
    while layer and depth <= _DEEPEST:
        inner: list[Any] = []
        for outer in layer:
            if isinstance(outer, dict):
                inner += outer.values()
            elif isinstance(outer, list):
                inner += outer
        layer = inner
        depth += 1
    return depth


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, each of whose names is there once; JSON lets the last one win."""
    _check_once([name for name, _ in pairs])
    return dict(pairs)


# -- CSV


def _csv(
    file: TableFile, text: str, dialect: Dialect, usual_delimiter: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of CSV and TSV; the place of a row is the line on which it begins."""
    delimiter = dialect.delimiter or usual_delimiter
    if len(delimiter) != 1:
        raise InputError(f"delimiter {delimiter!r}; one character is needed")
    first, _, rest = text.partition("\n")
    if first.startswith("sep=") and len(first.strip()) == 5:
        delimiter = first[4]  # as Excel says it
        text = f"\n{rest}"
    quoted = dialect.quoted and dialect.log != logs.MQM
    lines = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    header: list[str] = []
    line = 1
    # By default a long text is an error of csv.
    limit = csv.field_size_limit(sys.maxsize)
    try:
        for row in lines:
            place = f"line {line}"
            line = lines.line_num + 1
            if not row:
                continue
            if header:
                yield place, _record(file, header, row, place)
            elif any(map(str.strip, row)):
                header = row
                _check_header(header, delimiter, f"{file.name}, line 1: ")
    except csv.Error as error:
        raise InputError(
            f"{file.name}, line {line}: {error}; is a double quote not closed, or "
            "not doubled? --no-quotes reads quotes as letters"
        ) from None
    finally:
        csv.field_size_limit(limit)


def _check_header(header: list[str], delimiter: str, place: str) -> None:
    """Raise an InputError for a column that is there twice, or another delimiter."""
    _check_once([name for name in header if name.strip()], place)
    for mark in ";\t|,":
        if len(header) == 1 and mark != delimiter and mark in header[0]:
            raise InputError(
                f"{place}one column {header[0][:60]!r}; is the delimiter {mark!r}?"
            )


def _record(
    file: TableFile, header: list[str], row: list[str], place: str
) -> dict[str, Any]:
    """A row of CSV by column, without an empty nameless column and pandas' row numbers."""
    if not any(map(str.strip, row)):
        return {}
    if len(row) != len(header):
        raise InputError(
            f"{file.name}, {place}: {len(row)} fields where the header has "
            f"{len(header)}; a field with the delimiter or a line break in it must "
            "stand in double quotes"
        )
    record = {}
    for number, (name, cell) in enumerate(zip(header, row, strict=True)):
        if name.strip():
            record[name] = cell
        elif number == 0 and cell.strip().isdigit():
            file.remark("the nameless first column is left out")
        elif cell.strip():
            raise InputError(
                f"{file.name}, {place}: field {number + 1} has no name in the header "
                "and holds something; every column needs a name "
                "(pandas: to_csv(index=False))"
            )
    return record


# -- parquet


def _parquet(file: TableFile, content: bytes) -> pd.DataFrame:
    """The rows of parquet; the place of a row is its number, "row 7"."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        table = ParquetFile(io.BytesIO(content)).read()
        _check_once(table.schema.names, f"{file.name}: ")
        names = [name for name in table.schema.names if not name.startswith(_INDEX)]
        _check_names(file, names)
        for column in table.schema:
            # the words of an ordered category of pandas, the least first
            is_category = pyarrow.types.is_dictionary(column.type)
            if not is_category or not column.type.ordered or not len(table):
                continue
            if column.type.value_type == pyarrow.string():
                order = table[column.name].chunk(0).dictionary.to_pylist()
                file.orders.append("<".join(order))
                file.remark(f"{column.name} has an order: {' < '.join(order)}")
        values = table.select(names).to_pydict()
    except (pyarrow.ArrowException, OSError) as error:
        problem = str(error).splitlines()[0]
        raise InputError(f"{file.name}: not a parquet file: {problem}") from None
    except (OverflowError, UnicodeDecodeError) as error:
        raise InputError(
            f"{file.name} has a value that cannot be read: {error}; leave its column "
            "out, or save the table as CSV"
        ) from None
    places = [f"row {number}" for number in range(1, len(table) + 1)]
    return pd.DataFrame(values, pd.Index(places, dtype=object), dtype=object)
