"""What is found out about rows before the first is scored: which lack a text, and which are there twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgeval_lib.scoring.rows import IDS, InputError, Parts, Rows, choices, nearest
from nlgeval_lib.scoring.table_files import is_missing


def incomplete(rows: Rows, needs: Sequence[str], who: str, empty_is_missing: bool = True) -> dict[int, str]:
    """Position -> why a row cannot be shown to an evaluator that needs these columns.

    The output may be an empty text, other texts may not unless `empty_is_missing` is off.
    Raises: InputError for a column that is not there at all.
    """
    found: dict[int, str] = {}
    held = {need: next((n for n in choices(need) if n in rows.frame.columns), "") for need in dict.fromkeys(needs)}
    if lacking := [need for need, column in held.items() if not column]:
        wanted = " and ".join("a column " + " or ".join(map(repr, choices(need))) for need in lacking)
        maps = " ".join(f"--map {need}={nearest(rows, need) or 'COLUMN'}" for need in lacking)
        fills = " ".join(
            "--rubric FILE, or -s rubric=no" if need == "rubric" else f"--fill {need}=TEXT" for need in lacking
        )
        raise InputError(
            f"{who} needs {wanted}, and {rows.name} has {', '.join(rows.columns)}; say which it is ({maps}), or give "
            f"one text for all rows ({fills})"
        )
    for need, column in held.items():
        for row, value in enumerate(rows.frame[column]):
            gone = is_missing(value) or value == ()
            if gone or (empty_is_missing and need != "output" and value in ("", ("",))):
                found.setdefault(row, f"{rows.place(row, column)} is {'missing' if gone else 'empty'}; {who} needs it")
    return found


def keys_of(part: Rows) -> np.ndarray:
    """Of each row 8 bytes that tell its input, system and aspect; nothing where input or system has no column."""
    keys = _keys(part)
    return pd.util.hash_pandas_object(part.frame[keys], index=False).to_numpy() if keys else np.empty(0)


def repeated(rows: Rows | Parts, keys: Sequence[np.ndarray]) -> str:
    """Which rows have the input, system and aspect of an earlier one, in words; empty where none has.

    keys: `keys_of` each part, in order.
    """
    every = np.concatenate(keys)
    doubled = np.flatnonzero(pd.Series(every).duplicated())
    if not len(doubled):
        return ""
    places, start, found = (int(np.argmax(every == every[doubled[0]])), int(doubled[0])), 0, []
    for part in rows:
        found += [part.take(slice(at - start, at - start + 1)) for at in places if start <= at < start + len(part)]
        start += len(part)
    first, second = found
    names = _keys(second)
    what = ", ".join(f"{rows.theirs[key]} {second.frame[key].iloc[0]!r}" for key in names)
    said = f"{len(doubled)} rows have the {', '.join(names)} of an earlier one, first {second.place(0)}"
    return f"{said}: {what} as in {first.given.index[0]}"


def _keys(part: Rows) -> list[str]:
    keys = [key for key in (*IDS, "aspect") if key in part.frame.columns]
    return keys if {*keys} >= {*IDS} else []
