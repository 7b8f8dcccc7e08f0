"""Sets whose raters give labels to items: the long frame with one column a rater, and
no texts.

A label is a grade, or a category, kept as a number: the place of its word, counted from
0, in the labels of `datasets.csv`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import frame as long_frame


def build(
    spec: long_frame.Spec, ratings: Mapping[str, pd.DataFrame], words: Sequence[str]
) -> pd.DataFrame:
    """The long frame of labels: a row an item and aspect, a column `rater_...` a rater.

    ratings: aspect -> table of items x raters, NaN or None where a rater gave no label;
    all aspects have the same.
    words: the categories; none where the labels are grades.
    Returns: `human` is the mean of grades; of categories the most frequent one, NaN
    where several are. An item is its own input, `system_id` is "".
    Raises: ValueError for a count other than the spec's, and for an unknown word.
    """
    coded = {aspect: coded_table(ratings[aspect], words) for aspect in ratings}
    consensus = {aspect: _human(coded[aspect], len(words)) for aspect in coded}
    first = next(iter(coded.values()))
    columns: dict[str, Any] = {
        "input_id": [str(item) for item in first.index],
        "system_id": [""] * len(first),
        "human": pd.DataFrame(consensus).to_dict("records"),
    }
    for rater in first.columns:
        of_rater = {aspect: table[rater].tolist() for aspect, table in coded.items()}
        columns[f"rater_{rater}"] = pd.DataFrame(of_rater).to_dict("records")
    return long_frame.build(spec, columns)


def coded_table(table: pd.DataFrame, words: Sequence[str]) -> pd.DataFrame:
    """A table of items x raters as float64: grades (no words) as they are, words as
    their places from 0, NaN for no label. Raises: ValueError for an unknown word.
    """
    if not words:
        return table.astype(float)
    codes = {word: float(place) for place, word in enumerate(words)}
    refused = table.notna() & ~table.isin(list(codes))
    if refused.any(axis=None):
        unknown = table.to_numpy()[refused.to_numpy()][0]
        raise ValueError(f"unknown label {unknown!r}; known: {', '.join(words)}")
    return table.apply(lambda column: column.map(codes)).astype(float)


def _human(table: pd.DataFrame, categories: int) -> list[float]:
    """What the raters of each item (items x raters) say together."""
    if not categories:
        return table.mean(axis=1).tolist()
    ratings = table.to_numpy(dtype=float)
    # votes[category, item]
    votes = np.stack([(ratings == code).sum(axis=1) for code in range(categories)])
    most = votes.max(axis=0)
    winners = (votes == most).sum(axis=0)
    alone = (winners == 1) & (most > 0)
    return np.where(alone, votes.argmax(axis=0), np.nan).tolist()


def raters(frame: pd.DataFrame, aspect: str | None = None) -> np.ndarray:
    """`R[rater, item]`: the columns `rater_...` of a long frame (None: of all its
    aspects), as `statistics` takes them; NaN where a rater gave no label.
    """
    if aspect is not None:
        frame = frame[frame["aspect"] == aspect]
    columns = [name for name in frame if str(name).startswith("rater_")]
    return frame[columns].to_numpy(dtype=float).T
