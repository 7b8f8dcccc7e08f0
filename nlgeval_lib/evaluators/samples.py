"""From a frame to samples: every text that a prompt needs is there, or the error names its row and column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.records import Sample

# field of a sample -> the columns it is read from, the first that the frame has
COLUMNS = {
    "output": ("output",),
    "instruction": ("instruction",),
    "source": ("source", "input"),
    "context": ("context",),
    "references": ("references", "reference"),
    "rubric": ("rubric",),
    "aspect": ("aspect",),
}


def samples(
    frame: pd.DataFrame, needs: Iterable[str] = ("output",), uses: Iterable[str] = (), name: str = "the evaluator"
) -> list[Sample]:
    """One sample a row of `frame`, in its order.

    needs: the fields that must hold text in every row; `output` may be empty, but not missing. uses: columns beyond
    the sample's fields that go into `extra` where the frame has them. `name` is the evaluator's, for errors.

    Raises: ValueError naming a missing column, or the first row and column without text.
    """
    check_frame(frame)
    needs = ("output", *(field for field in needs if field != "output"))
    extras = [field for field in (*needs, *uses) if field not in COLUMNS]
    labels = list(frame.index)
    values: dict[str, list[Any]] = {}
    for field in (*COLUMNS, *dict.fromkeys(extras)):
        choices = COLUMNS.get(field, (field,))
        column = next((choice for choice in choices if choice in frame.columns), None)
        if column is None:
            if field in needs:
                wanted = " or ".join(map(repr, choices))
                raise ValueError(
                    f"{name} needs a column {wanted}; the frame has {', '.join(map(str, frame.columns)) or 'none'}"
                )
            continue
        read = _references if field == "references" else _text
        values[field] = _column(frame[column], column, labels, field in needs, field == "output", read, name)
    return _build(frame, values, dict.fromkeys(extras), labels)


def pairs(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Each row's output, and what is in the first of `columns` that the frame has, as a tuple of texts.

    Raises: ValueError naming a missing column, or the first row that holds anything but texts.
    """
    check_frame(frame)
    column = next((name for name in columns if name in frame.columns), None)
    if column is None or "output" not in frame.columns:
        wanted = "'output'" if column else " or ".join(map(repr, columns))
        raise ValueError(f"the frame has no column {wanted}; its columns: {', '.join(map(str, frame.columns))}")
    labels, outputs, groups = list(frame.index), frame["output"].tolist(), []
    for position, (output, entry) in enumerate(zip(outputs, frame[column], strict=True)):
        texts = [entry] if isinstance(entry, str | bytes) or not isinstance(entry, Sequence | np.ndarray) else entry
        for what, value in [("output", output), *((column, text) for text in texts)]:
            if not isinstance(value, str):
                raise ValueError(
                    f"{row_name(position, labels)}: {what} is {type(value).__name__} {str(value)[:40]}; a text is "
                    "needed ('' if there is none)"
                )
        groups.append(tuple(texts))
    return outputs, groups


def check_frame(frame: Any) -> None:
    """Raises: ValueError for what is no data frame, or one that has a column twice."""
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"a data frame is needed, got {type(frame).__name__}")
    if doubled := sorted(set(frame.columns[frame.columns.duplicated()].map(str))):
        raise ValueError(f"the frame has column {', '.join(doubled)} more than once")


def row_name(position: int, labels: Sequence[Any]) -> str:
    """How an error names a row: its position, and its index label where that differs."""
    return f"row {position}" if labels[position] == position else f"row {position} (index {labels[position]!r})"


def check_needs(given: Sequence[Sample], needs: Iterable[str], name: str = "the evaluator") -> list[Sample]:
    """The samples themselves, if each has the texts that the evaluator needs. Raises: ValueError naming the sample."""
    for position, sample in enumerate(given):
        if not isinstance(sample, Sample):
            raise ValueError(f"item {position} is {type(sample).__name__}; give a frame or a list of Sample")
        for field in needs:
            value = getattr(sample, field) if field in COLUMNS else sample.extra.get(field)
            if field != "output" and not value:
                raise ValueError(f"sample {position} ({sample.id!r}): {field} is empty; {name} needs it")
    return list(given)


def _column(
    column: pd.Series, label: str, labels: list, needed: bool, empty_is_fine: bool, read: Any, name: str
) -> list[Any]:
    found, bad = [], []
    for position, value in enumerate(column):
        got, wrong = read(value)
        if not wrong and needed and not got and not (empty_is_fine and isinstance(value, str)):
            wrong = "is missing" if _missing(value) else "is empty"
        if wrong:
            bad.append((position, wrong))
        found.append(got)
    if bad:
        position, wrong = bad[0]
        more = f" ({len(bad) - 1} more rows like it)" if len(bad) > 1 else ""
        fix = f"; {name} needs it" if wrong in ("is missing", "is empty") else "; a text is needed"
        raise ValueError(f"{row_name(position, labels)}: column {label!r} {wrong}{fix}{more}")
    return found


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _text(value: Any) -> tuple[str, str]:
    """The text, or what is wrong with it."""
    if isinstance(value, str):
        return value, ""
    return ("", "") if _missing(value) else ("", f"is {type(value).__name__} {str(value)[:40]!r}")


def _references(value: Any) -> tuple[tuple[str, ...], str]:
    if isinstance(value, str):
        return ((value,) if value else ()), ""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, bytes):
        return ((), "") if _missing(value) else ((), f"is {type(value).__name__} {str(value)[:40]!r}")
    for text in value:
        if not isinstance(text, str):
            return (), f"holds {type(text).__name__} {str(text)[:40]!r}"
    return tuple(value), ""


def _build(frame: pd.DataFrame, values: dict[str, list[Any]], extras: Iterable[str], labels: list) -> list[Sample]:
    keys = [frame[key].astype(str).tolist() for key in ("input_id", "system_id") if key in frame.columns]
    aspects = values.get("aspect")
    if keys and aspects:
        keys.append(aspects)
    ids = ["/".join(parts) for parts in zip(*keys, strict=True)] if keys else [str(label) for label in labels]
    fields = [field for field in COLUMNS if field in values]
    held = [field for field in extras if field in values]
    return [
        Sample(
            id=ids[row],
            extra={field: values[field][row] for field in held},
            **{field: values[field][row] for field in fields},
        )
        for row in range(len(frame))
    ]
