"""The rows that a question of the catalogue is about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlgeval_lib import datasets
from nlgeval_lib.names import pair
from nlgeval_lib.scoring import Rows
from nlgeval_lib.study.catalogue import QUICK_INPUTS, Question


def chosen(data: Rows, question: Question) -> Rows:
    """The rows that the catalogue asks about: those for which each `where` holds.

    data: the rows of the judge's data set.
    Raises: ValueError for a column that is not there, or no row left.
    """
    keep = np.ones(len(data), dtype=bool)
    label = f"{question.output}/{question.name}"
    for name, value in map(pair, question.where):
        column = name.removesuffix("!")
        if column not in data.frame.columns:
            columns = ", ".join(data.frame)
            raise ValueError(f"{label}: where names {column!r}; columns: {columns}")
        texts = data.frame[column].astype(str)
        holds = (texts == value).to_numpy()
        if name.endswith("!"):
            holds = ~holds
        keep &= holds
    if not keep.any():
        conditions = " and ".join(question.where)
        raise ValueError(f"{label}: no row of {question.judge.data} has {conditions}")
    return data.take(keep)


def narrowed(rows: Rows, aspects: Sequence[str], mode: str) -> Rows:
    """Rows of some aspects, and in mode "quick" of the first inputs.

    aspects: none for all.
    """
    if aspects:
        of_aspects = rows.frame["aspect"].isin(list(aspects))
        rows = rows.take(of_aspects.to_numpy())
    if mode == "quick":
        rows = first_inputs(rows)
    return rows


def first_inputs(rows: Rows) -> Rows:
    """The rows of the first 20 inputs; where these are not known, the first 20 rows."""
    if "input_id" not in rows.frame:
        return rows.take(np.arange(len(rows)) < QUICK_INPUTS)
    first = datasets.first_inputs(rows.frame, QUICK_INPUTS)
    is_first = rows.frame["input_id"].isin(first)
    return rows.take(is_first.to_numpy())
