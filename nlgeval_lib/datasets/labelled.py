"""Sets whose raters give labels to items: the long frame with one column a rater, and
no texts. A category is a number, the place of its word in the `LABELS` of its module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import frame as long_frame

GRADES: tuple[str, ...] = ()  # the labels of a set whose ratings are numbers


def build(
    spec: long_frame.Spec,
    ratings: Mapping[str, pd.DataFrame],
    labels: Mapping[str, Sequence[str]],
) -> pd.DataFrame:
    """The long frame of labels by aspect.

    ratings: aspect -> items x raters, NaN or None where a rater said nothing; all
    aspects have the same items. labels: aspect -> the words of its categories, none
    where it is graded. `human` is the mean of grades, and of categories the one that
    most raters give: NaN where several have as many votes.

    Raises: ValueError for a count other than the spec's, and an unknown word.
    """
    coded = {}
    for aspect, table in ratings.items():
        coded[aspect] = coded_table(table, labels[aspect])
    first = next(iter(coded.values()))
    columns: dict[str, Any] = {
        "input_id": [str(item) for item in first.index],
        "system_id": [""] * len(first),
    }
    said = {}
    for aspect, table in coded.items():
        said[aspect] = _human(table, len(labels[aspect]))
    columns["human"] = _by_item(said)
    for rater in first.columns:
        said = {aspect: table[rater].tolist() for aspect, table in coded.items()}
        columns[f"rater_{rater}"] = _by_item(said)
    return long_frame.build(spec, columns)


def _by_item(values: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    """Of each item its value by aspect."""
    items = zip(*values.values(), strict=True)
    return [dict(zip(values, item, strict=True)) for item in items]


def coded_table(table: pd.DataFrame, words: Sequence[str]) -> pd.DataFrame:
    """The table as numbers: grades as they are, words as their places.

    Raises: ValueError for a word that is not among them.
    """
    if not words:
        return table.astype(float)
    codes = {word: float(place) for place, word in enumerate(words)}
    known = table.isna() | table.isin(list(codes))
    if not known.all(axis=None):
        unknown = table.to_numpy()[~known.to_numpy()][0]
        raise ValueError(f"unknown label {unknown!r}; known: {', '.join(words)}")
    return table.apply(lambda column: column.map(codes)).astype(float)


def _human(table: pd.DataFrame, categories: int) -> list[float]:
    """What the raters of each item say together."""
    ratings = table.to_numpy(dtype=float)
    if not categories:
        return table.mean(axis=1).tolist()
    votes = np.stack([(ratings == code).sum(axis=1) for code in range(categories)])
    most = votes.max(axis=0)
    alone = ((votes == most).sum(axis=0) == 1) & (most > 0)
    return np.where(alone, votes.argmax(axis=0), np.nan).tolist()


def raters(frame: pd.DataFrame, aspect: str | None = None) -> np.ndarray:
    """`R[rater, item]` of a long frame's rater columns, for one aspect."""
    if aspect is not None:
        frame = frame[frame["aspect"] == aspect]
    columns = [name for name in frame if str(name).startswith("rater_")]
    return frame[columns].to_numpy(dtype=float).T
