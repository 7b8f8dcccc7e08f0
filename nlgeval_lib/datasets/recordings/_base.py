"""What recordings share: their description, the tidy frame, and how scores get beside a data set's rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import frame as long_frame
from nlgeval_lib.datasets.registry import nearest

KEYS = ("dataset", "input_id", "system_id", "aspect", "judge", "prompt_form", "draw")


@dataclass(frozen=True)
class Recording:
    """One published set of judge outputs."""

    name: str
    title: str
    dataset: str  # the data set whose ids it has
    files: tuple[str, ...]  # registry paths or patterns
    n_rows: int  # with the default options
    kept: str  # "text", "value" or "text, value"
    licence: str
    source: str
    notes: tuple[str, ...] = ()


def check(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame itself, if it is a tidy frame of judge outputs.

    Raises: ValueError naming the columns that are missing, or an output that is there twice.
    """
    missing = [key for key in KEYS if key not in frame.columns]
    if missing:
        raise ValueError(f"not a frame of judge outputs: missing column {', '.join(missing)}; needed {', '.join(KEYS)}")
    if not {"text", "value"} & set(frame.columns):
        raise ValueError("not a frame of judge outputs: it has neither `text` nor `value`")
    doubled = frame.duplicated(list(KEYS))
    if doubled.any():
        raise ValueError(
            f"{int(doubled.sum())} judge outputs have the keys of another one, e.g. {_first(frame, doubled)}"
        )
    return frame


def _first(frame: pd.DataFrame, mask: pd.Series) -> dict:
    return frame.loc[mask.idxmax(), [key for key in KEYS if key in frame.columns]].to_dict()


def choose(asked: Iterable[str] | None, known: Sequence[str], what: str) -> list[str]:
    """The asked names, or all known ones, in the known order. Raises: UnknownName."""
    if asked is None:
        return list(known)
    if isinstance(asked, str):
        raise TypeError(f"{what}s is one text {asked!r}; pass a list or tuple of names")
    asked = list(asked)
    for name in asked:
        if name not in known:
            raise nearest(name, known, what)
    return [name for name in known if name in asked]


def attach(frame: pd.DataFrame, scored: pd.DataFrame, name: str, column: str = "value") -> pd.DataFrame:
    """The long frame with a column `name`: the judge's `column` for the same output and aspect, NaN where it has none.

    `scored` has input_id, system_id, aspect and `column`, at most one row an output and aspect: choose judge and
    prompt form, and reduce the draws, before.

    Raises: ValueError where `scored` has several rows for one output and aspect, none that fits the frame, or `frame`
    several outputs with the same ids.
    """
    keys = ["input_id", "system_id", "aspect"]
    long_frame.check(frame)
    missing = [key for key in (*keys, column) if key not in scored.columns]
    if missing:
        raise ValueError(f"scored has no column {', '.join(missing)}; got {', '.join(map(str, scored.columns))}")
    if name in frame.columns:
        raise ValueError(f"the frame already has a column {name!r}")
    for what, table_ in (("scored", scored), ("frame", frame)):
        doubled = table_.duplicated(keys)
        if doubled.any():
            raise ValueError(
                f"{what} has {int(doubled.sum())} rows with the output and aspect of another one, e.g. "
                f"{table_.loc[doubled.idxmax(), keys].to_dict()}; choose one judge, form and draw, or reduce them"
            )
    values = scored.set_index(pd.MultiIndex.from_frame(scored[keys]))[column].to_numpy(dtype=float)
    place = pd.MultiIndex.from_frame(scored[keys]).get_indexer(pd.MultiIndex.from_frame(frame[keys]))
    if len(frame) and (place < 0).all():
        raise ValueError("no output and aspect of the frame is in scored: do both belong to one data set?")
    result = frame.copy()
    result[name] = np.where(place >= 0, np.append(values, np.nan)[place], np.nan)
    return result
