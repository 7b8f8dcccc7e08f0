"""Sets whose raters give labels to items: the long frame with one column a rater, and
no texts.

A loader hands `build` one table an aspect, items x raters. A label is a category or a
grade. A category is kept as a number: the place of its word, counted from 0, in the
`LABELS` of the loader's module. `raters` gives the numbers back as an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import frame as long_frame

# stands for the categories of a set that has none: its labels are numbers already
GRADES: tuple[str, ...] = ()


def build(
    spec: long_frame.Spec,
    ratings: Mapping[str, pd.DataFrame],
    labels: Mapping[str, Sequence[str]],
) -> pd.DataFrame:
    """The long frame of labels: a row an item and aspect, a column `rater_...` a rater.

    spec: of the set; its scale names the aspects.
    ratings: aspect -> table of items x raters, NaN or None where a rater gave no label.
    All aspects have the same items and raters.
    labels: aspect -> the words of its categories, `GRADES` where the labels are
    numbers.
    Returns: `human` is the mean of grades; of categories, the one that most raters
    give, and NaN where several have as many votes. An item is its own input,
    `system_id` is "".
    Raises: ValueError for a count other than the spec's, and for an unknown word.
    """
    coded = {}
    for aspect, table in ratings.items():
        coded[aspect] = coded_table(table, labels[aspect])
    first = next(iter(coded.values()))
    columns: dict[str, Any] = {
        "input_id": [str(item) for item in first.index],
        "system_id": [""] * len(first),
    }
    consensus = {}
    for aspect, table in coded.items():
        consensus[aspect] = _human(table, len(labels[aspect]))
    columns["human"] = _by_item(consensus)
    for rater in first.columns:
        of_rater = {}
        for aspect, table in coded.items():
            of_rater[aspect] = table[rater].tolist()
        columns[f"rater_{rater}"] = _by_item(of_rater)
    return long_frame.build(spec, columns)


def _by_item(values: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    """Of each item its value by aspect.

    values: aspect -> one value an item; all have the same length.
    """
    items = zip(*values.values(), strict=True)
    return [dict(zip(values, item, strict=True)) for item in items]


def coded_table(table: pd.DataFrame, words: Sequence[str]) -> pd.DataFrame:
    """The table as numbers: grades as they are, words as their places from 0.

    table: items x raters, NaN or None where a rater gave no label.
    words: the categories in order; empty for grades.
    Returns: float64, NaN where there is no label.
    Raises: ValueError for a word that is not among them.

    Example:
        >>> table = pd.DataFrame({"0": ["no", "yes"], "1": ["yes", None]})
        >>> coded_table(table, ("no", "yes")).to_numpy().tolist()
        [[0.0, 1.0], [1.0, nan]]
    """
    if not words:
        return table.astype(float)
    codes = {word: float(place) for place, word in enumerate(words)}
    allowed = table.isna() | table.isin(list(codes))
    if not allowed.all(axis=None):
        refused = ~allowed.to_numpy()
        unknown = table.to_numpy()[refused][0]
        raise ValueError(f"unknown label {unknown!r}; known: {', '.join(words)}")
    return table.apply(lambda column: column.map(codes)).astype(float)


def _human(table: pd.DataFrame, categories: int) -> list[float]:
    """What the raters of each item say together: the mean grade, or the category with
    most votes.

    table: items x raters as numbers. categories: how many there are, 0 for grades.
    NaN where nobody rated, and where two categories have as many votes.
    """
    ratings = table.to_numpy(dtype=float)
    if not categories:
        return table.mean(axis=1).tolist()
    # votes[category, item]
    votes = np.stack([(ratings == code).sum(axis=1) for code in range(categories)])
    most = votes.max(axis=0)
    winners = (votes == most).sum(axis=0)
    alone = (winners == 1) & (most > 0)
    return np.where(alone, votes.argmax(axis=0), np.nan).tolist()


def raters(frame: pd.DataFrame, aspect: str | None = None) -> np.ndarray:
    """`R[rater, item]`: the rater columns of a long frame, as `statistics`'s measures of
    agreement take them.

    frame: with columns `rater_...`.
    aspect: the rows to take; None takes all rows, which is right for a frame of one
    aspect.
    Returns: float64, raters in the order of the columns; NaN where a rater gave no
    label.
    """
    if aspect is not None:
        frame = frame[frame["aspect"] == aspect]
    columns = [name for name in frame if str(name).startswith("rater_")]
    return frame[columns].to_numpy(dtype=float).T
