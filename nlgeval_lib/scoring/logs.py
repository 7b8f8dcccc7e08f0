"""Logs of other tools as rows: where their rows are, and which of their fields is which
of our columns (`logs.toml`).
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib.names import meant
from nlgeval_lib.scoring.cells import InputError

MQM = "mqm"  # the name of WMT's logs, which are TSV without quoting
ERROR_COLUMNS = ("rater", "category", "severity")  # by which such a log is known
# The weights of an error, by severity and, before it, by category: Freitag et al.,
# Experts, Errors, and Context (2021). A row of another severity has none.
_BY_SEVERITY = {"major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0}
_BY_CATEGORY = {("fluency/punctuation", "minor"): 0.1}
_NON_TRANSLATION = 25.0
_TEST = "hotw-test"  # rows that test the rater's attention
_PLAIN = (str, int, float, bool, type(None))


@functools.cache
def shapes() -> dict[str, Any]:
    """The known logs, by name, as `logs.toml` has them."""
    return tomllib.loads(Path(__file__).with_name("logs.toml").read_text("utf-8"))


def at(value: Any, path: str) -> Any:
    """What stands at a path of names and numbers (-1: the last) by dots, also inside a
    text that is JSON; None where it leads nowhere.

    Example:
    >>> at({"choices": [{"text": "a"}]}, "choices.0.text")
    'a'
    """
    for step in path.split("."):
        value = opened(value)
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, Sequence) and step.removeprefix("-").isdigit():
            place = int(step)
            value = value[place] if -len(value) <= place < len(value) else None
        else:
            return None
    return value


def opened(value: Any) -> Any:
    """A value; of a text that is a JSON list or object what it stands for."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def rows_of(value: Any, log: str = "", name: str = "") -> tuple[list[Any], str]:
    """The rows of what a JSON file holds, and as what they were read; "" for a list of
    plain rows.

    log: the name of a known log; or the path of the list of rows inside the file, such
    as `data.items`; "" for what is found.
    """
    if log and log not in (*shapes(), MQM):
        rows = at(value, log)
        if not isinstance(rows, list):
            raise InputError(
                f"--from {log!r}: no list is there in {name}"
                f"{meant(log, shapes())} Known logs: {', '.join(shapes())}"
            )
        return rows, f"the list {log}"
    log_name = log or _found(value)
    if log_name in shapes():
        shape = shapes()[log_name]
        rows = value if "row" in shape else at(value, shape["rows"])
        if not isinstance(rows, list):
            raise InputError(f"--from {log}: {name} has no list {shape.get('rows')!r}")
        read: list[Any] = []
        for row in rows:
            read += _rows(shape, value, row)
        return read, f"a log of {log_name}"
    if isinstance(value, list):
        return value, ""
    table = _of_pandas(value)
    if table is not None:
        return table, "a frame of pandas"
    message = f"{name} holds one {type(value).__name__}; a list of objects is needed"
    for path, count in _lists(value):
        message += f"; {path} is a list of {count} (--from {path})"
    raise InputError(message)


def several(frame: pd.DataFrame) -> str:
    """Why samples of a log stand there more than once; "" where they do not."""
    if not {*shapes()["lm_eval"]["row"], "filter"} <= {*frame.columns}:
        return ""
    filters = sorted(map(str, frame["filter"].unique()))
    if len(filters) < 2:
        return ""
    return f"a sample stands there for each of {', '.join(filters)}"


def _found(value: Any) -> str:
    """The known log that a file holds; "" for none."""
    is_list = isinstance(value, list)
    first = value[0] if is_list and value else value
    if not isinstance(first, Mapping):
        return ""
    for name, shape in shapes().items():
        names = shape.get("row" if is_list else "file")
        if not names or not set(names) <= set(first):
            continue
        if is_list or isinstance(at(value, shape["rows"]), list):
            return name
    return ""


def _rows(shape: Mapping[str, Any], content: Any, row: Any) -> Iterator[Any]:
    """The rows of one row of a log: one for each member of the list `each`."""
    if not isinstance(row, Mapping):
        yield row
        return
    members = [row]
    if "by_user" in shape:
        name = shape["by_user"]
        members = []
        for user, answers in _by_user(row.get(name)).items():
            members.append({**row, name: answers, "user_id": user})
    elif "each" in shape:
        name = shape["each"]
        members = [{**row, name: member} for member in row.get(name) or ()]
    # what nobody annotated is a row too
    for member in members or [row]:
        yield _row(shape["columns"], content, member)


def _by_user(responses: Any) -> dict[Any, dict[str, Any]]:
    """Each user's answers as Argilla writes them: user -> question -> answer."""
    answers: dict[Any, dict[str, Any]] = {}
    if isinstance(responses, dict):
        for question, records in responses.items():
            for number, record in enumerate(records or ()):
                user = record.get("user_id") or number
                answers.setdefault(user, {})[question] = record
    elif isinstance(responses, list):
        for number, record in enumerate(responses):
            user = record.get("user_id") or number
            answers[user] = dict(record.get("values") or {})
    return answers


def _row(
    columns: Mapping[str, Sequence[str]], content: Any, row: Any
) -> dict[str, Any]:
    """One row: its own columns, and the known ones over them."""
    cells_known: dict[str, Any] = {}
    for ours, paths in columns.items():
        for path in paths:
            if "*" in ours:
                cells = _several(row, path)
            elif path.startswith("/"):
                cells = [("", at(content, path[1:]))]
            else:
                cells = [("", at(row, path))]
            for name, cell in cells:
                if cell is not None and isinstance(cell, _PLAIN):
                    cells_known.setdefault(ours.replace("*", name), cell)
    return {**row, **cells_known}


def _several(row: Any, path: str) -> list[tuple[str, Any]]:
    """What stands at a path with a step for several: each name and its value."""
    start, step, end = re.split(r"(\*|\[.*?\])", path, maxsplit=1)
    inner = at(row, start.rstrip("."))
    by_name: dict[str, Any] = {}
    if step == "*" and isinstance(inner, Mapping):
        by_name = {str(name): value for name, value in inner.items()}
    elif step != "*" and isinstance(inner, list):
        for record in inner:
            by_name[str(at(record, step.strip("[]")))] = record
    cells = []
    for name, value in by_name.items():
        cells.append((name, at(value, end[1:]) if end else value))
    return cells


def _of_pandas(value: Any) -> list[dict[str, Any]] | None:
    """The rows of a frame as pandas writes one; None for another object."""
    if not isinstance(value, Mapping) or not value:
        return None
    columns = value.get("columns")
    data = value.get("data")
    if isinstance(columns, list) and isinstance(data, list):
        rows = [dict(zip(columns, row, strict=False)) for row in data]
        return _indexed(value.get("index"), rows)
    if isinstance(data, list) and "schema" in value:
        return data
    inner = list(value.values())
    if not all(isinstance(record, Mapping) and record for record in inner):
        return None
    names = list(inner[0])
    if any(list(record) != names for record in inner):
        return None
    is_by_column = names == list(map(str, range(len(names))))
    if not is_by_column:
        cells = [cell for record in inner for cell in record.values()]
        if len(value) < 2 or not all(isinstance(cell, _PLAIN) for cell in cells):
            return None
        # few columns and many rows: by column, with an index of names
        is_by_column = len(value) < len(names) and len(names) > 20
    if not is_by_column:
        return _indexed(list(value), [dict(record) for record in inner])
    rows = []
    for place in names:
        rows.append({name: value[name][place] for name in value})
    return _indexed(names, rows)


def _indexed(index: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a frame with its index as a column, unless it only numbers the rows."""
    if not isinstance(index, list) or len(index) != len(rows):
        return rows
    if all(str(name).isdigit() for name in index):
        return rows
    for name, row in zip(index, rows, strict=True):
        row.setdefault("index", name if isinstance(name, str | int) else str(name))
    return rows


def _lists(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, int]]:
    """The lists of objects inside an object: path -> how many."""
    if isinstance(value, Mapping) and depth < 4:
        for name, inner in value.items():
            yield from _lists(inner, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        yield path, len(value)


def mqm_ratings(
    errors: Iterable[tuple[str, dict[str, Any]]], remark: Callable[[str], None]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The ratings of a log of WMT's MQM, each of a segment by a rater: minus the sum of
    its errors' weights, 0 at best; None where an error has no weight.

    errors: the rows of the log, each with its place. remark: takes what is to be known.
    """
    first: dict[tuple[Any, ...], tuple[str, dict[str, Any]]] = {}
    weights: dict[tuple[Any, ...], list[Any]] = {}
    for place, row in errors:
        severity = str(row.get("severity")).strip().lower()
        if severity == _TEST:
            continue
        segment = row.get("globalSegId") or row.get("seg_id")
        rating = (row.get("system"), row.get("doc"), row.get("rater"), segment)
        row["input_id"] = f"{row.get('doc')} {segment}"
        first.setdefault(rating, (place, row))
        category = str(row.get("category")).strip().lower()
        weight = _BY_CATEGORY.get((category, severity), _BY_SEVERITY.get(severity))
        if category.startswith("non-translation"):
            weight = _NON_TRANSLATION
        weights.setdefault(rating, []).append(weight)
    count = sum(map(len, weights.values()))
    summary = (
        f"it is read as a log of {MQM}: {count:,} rows are {len(first):,} ratings, "
        "each minus the sum of its errors' weights"
    )
    unweighted = sum(None in of_rating for of_rating in weights.values())
    if unweighted:
        summary += f"; {unweighted:,} have an error of unknown weight and are missing"
    remark(summary)
    for rating, (place, row) in first.items():
        # an error's place in the text is marked
        for name, column in {"output": "target", "source": "source"}.items():
            text = row.pop(column, None)
            row[name] = text and re.sub("</?v>", "", text)
        row["human"] = None
        if None not in weights[rating]:
            row["human"] = round(0.0 - math.fsum(weights[rating]), 6)
        yield place, {name: row[name] for name in row if name not in ERROR_COLUMNS[1:]}
