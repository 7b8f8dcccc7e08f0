"""Files of rows with scores, and of other tables: written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.scoring.cells import InputError, is_missing
from nlgeval_lib.scoring.columns import IDS, RATING, REFERENCES, TEXTS
from nlgeval_lib.scoring.rows import Rows
from nlgeval_lib.scoring.table_files import format_of

_PLAIN = (str, int, float, type(None))  # a bool is an int, too
_NOTHING: tuple[Any, ...] = (None, "", [], {})  # values of details that say nothing


def score_columns(column: str) -> tuple[str, str, str, str]:
    """The names of the columns that a run adds: score, status, reason, details."""
    prefix = "" if column == "value" else f"{column}_"
    return column, f"{prefix}status", f"{prefix}reason", f"{prefix}details"


def with_scores(
    rows: Rows, scored: pd.DataFrame, column: str = "value", only_scores: bool = False
) -> pd.DataFrame:
    """The rows' own columns, and value, status, reason; each detail that is one text or
    number in every row; `details`, the others; ids and rating where they were
    mapped.

    column: the name of the scores; the other columns are called after it.
    """
    columns = _own_columns(rows, only_scores)
    for name, score_name in zip(
        score_columns(column), ("value", "status", "reason"), strict=False
    ):
        columns[name] = scored[score_name].tolist()
    if "details" in scored.columns:
        details = files.plain(scored["details"].tolist())
        _add_details(columns, details, column)
    return pd.DataFrame(columns, dtype=object)


def _own_columns(rows: Rows, only_scores: bool) -> dict[str, list[Any]]:
    """The rows' own columns, and ids and rating that the user mapped or filled."""
    texts = set()
    if only_scores:
        for name in {*TEXTS, *REFERENCES} - {"aspect"}:
            texts.add(rows.theirs.get(name, name))
    columns = {}
    for name in rows.given.columns:
        if name not in texts:
            columns[name] = rows.given[name].tolist()
    for name in (*IDS, "aspect", RATING):
        if name not in rows.frame.columns or name in columns:
            continue
        if name not in rows.plan.guessed and rows.theirs.get(name) != name:
            values = rows.frame[name].astype(object)
            columns[name] = values.where(values.notna(), None).tolist()
    return columns


def _add_details(
    columns: dict[str, list[Any]], details: list[dict[str, Any]], score: str
) -> None:
    """Add the details, those that are no text or number as one column of objects."""
    further: list[dict[str, Any]] = [{} for _ in details]
    for name in dict.fromkeys(name for of_row in details for name in of_row):
        values = [of_row.get(name) for of_row in details]
        own_column = name if score == "value" else f"{score}_{name}"
        is_plain = all(isinstance(value, _PLAIN) for value in values)
        if is_plain and own_column not in columns:
            if any(value not in _NOTHING for value in values):
                columns[own_column] = values
            continue
        for of_row, value in zip(further, values, strict=True):
            if value not in _NOTHING:
                of_row[name] = value
    if any(further):
        columns[score_columns(score)[-1]] = further


def check_output(path: str, *inputs: str, why: str = "", rows: str = "") -> None:
    """Pass where a file can be written and is none of the inputs: before the work is
    done.

    why: what the message says behind "is the input itself".
    rows: what its rows are, where it is to be a table; "" where it is a text.
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
    """
    format = format_of(path)
    frame = frame.rename(columns=lambda name: files.whole(str(name)))
    with files.replacing(path) as draft:
        if format == "parquet":
            _write_parquet(frame, draft)
            return
        if format == "jsonl":
            records = frame.astype(object).to_dict("records")
            with open(draft, "w", encoding="utf-8", newline="") as file:
                file.writelines(files.json_lines(records))
            return
        mark = "\t" if format == "tsv" else ","
        fields = frame.map(_field).astype(object)
        fields.to_csv(draft, sep=mark, index=False, lineterminator="\n")


def _field(value: Any) -> Any:
    """The value as a field of CSV: "" where missing, JSON for lists and objects."""
    if is_missing(value):
        return ""
    if isinstance(value, (int, float, np.number)):
        return value
    value = files.plain(value)
    if isinstance(value, (str, int, float)):
        return value
    return json.dumps(value, ensure_ascii=False) if value else ""


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """The frame as parquet; a column of mixed values, or of objects, is JSON."""
    import pyarrow
    import pyarrow.parquet

    arrays = []
    for name in frame.columns:
        values = []
        for value in frame[name]:
            values.append(None if is_missing(value) else files.plain(value))
        try:
            if any(isinstance(value, dict) for value in values):
                raise pyarrow.ArrowInvalid("objects differ in their names")
            array = pyarrow.array(values)
        except (pyarrow.ArrowException, OverflowError):
            array = pyarrow.array(list(map(_as_json, values)), pyarrow.string())
        arrays.append(array)
    table = pyarrow.Table.from_arrays(arrays, names=list(frame.columns))
    pyarrow.parquet.write_table(table, path)


def _as_json(value: Any) -> str | None:
    """A value of a mixed column as text; texts stay."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
