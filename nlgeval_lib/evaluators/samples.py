"""From a frame to samples: every text that a prompt needs is there, or the error names its row and column."""

from __future__ import annotations

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


def samples(frame: pd.DataFrame, needs: Iterable[str] = ("output",), name: str = "the evaluator") -> list[Sample]:
    """One sample a row of `frame`, in its order.

    needs: the fields that must hold text in every row, columns beyond a sample's fields go into `extra`; `output` may
    be empty, but not missing. `name` is the evaluator's, for errors.

    Raises: ValueError naming a missing column, or the first row and column without text.
    """
    check_frame(frame)
    needs = tuple(dict.fromkeys(("output", *needs)))
    fields: dict[str, list[Any]] = {}
    extra: dict[str, list[Any]] = {}
    for field in dict.fromkeys((*COLUMNS, *needs)):
        choices = COLUMNS.get(field, (field,))
        column = next((choice for choice in choices if choice in frame.columns), None)
        if column is not None:
            (fields if field in COLUMNS else extra)[field] = _texts(frame, column, field, field in needs, name)
        elif field in needs:
            wanted = " or ".join(map(repr, choices))
            there = ", ".join(map(str, frame.columns)) or "none"
            raise ValueError(f"{name} needs a column {wanted}; the frame has {there}")
    keys = [frame[key].astype(str).tolist() for key in ("input_id", "system_id") if key in frame.columns]
    keys += [fields["aspect"]] if keys and "aspect" in fields else []
    ids = ["/".join(parts) for parts in zip(*keys, strict=True)] if keys else list(map(str, frame.index))
    return [
        Sample(id=id, extra={key: extra[key][row] for key in extra}, **{key: fields[key][row] for key in fields})
        for row, id in enumerate(ids)
    ]


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
        for field in needs:
            value = getattr(sample, field) if field in COLUMNS else sample.extra.get(field)
            if field != "output" and not value:
                raise ValueError(f"sample {position} ({sample.id!r}): {field} is empty; {name} needs it")
    return list(given)


def _texts(frame: pd.DataFrame, column: str, field: str, needed: bool, name: str) -> list[Any]:
    """A column as texts, of references as tuples of texts; "" or () where nothing is needed and nothing there."""
    found: list[Any] = []
    for position, value in enumerate(frame[column]):
        listed = field == "references" and isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
        texts = tuple(value) if listed else (value,) if isinstance(value, str) and value else ()
        wrong = ""
        if not listed and not isinstance(value, str):
            missing = not isinstance(value, Sequence | np.ndarray) and pd.isna(value)
            wrong = ("is missing" if needed else "") if missing else f"is {type(value).__name__} {str(value)[:40]!r}"
        elif not all(isinstance(text, str) for text in texts):
            wrong = "holds what is no text"
        elif needed and field != "output" and not texts:
            wrong = "is empty"
        if wrong:
            fix = f"{name} needs it" if wrong in ("is missing", "is empty") else "a text is needed"
            raise ValueError(f"{row_name(position, list(frame.index))}: column {column!r} {wrong}; {fix}")
        found.append(texts if field == "references" else "".join(texts))
    return found
