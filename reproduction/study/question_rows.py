"""The rows that a question of the catalogue is about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.names import pair
from reproduction.study.catalogue import QUICK_INPUTS, Question

Mask = npt.NDArray[np.bool_]


def asked(frame: pd.DataFrame, question: Question) -> Mask:
    """Which rows the catalogue asks about: those for which each `where` holds.

    Raises: ValueError for a column that is not there, or no row left.
    """
    keep = np.ones(len(frame), dtype=bool)
    label = f"{question.output}/{question.name}"
    for name, value in map(pair, question.where):
        column = name.removesuffix("!")
        if column not in frame.columns:
            columns = ", ".join(frame)
            raise ValueError(f"{label}: where names {column!r}; columns: {columns}")
        holds = (frame[column].astype(str) == value).to_numpy()
        if name.endswith("!"):
            holds = ~holds
        keep &= holds
    if not keep.any():
        conditions = " and ".join(question.where)
        raise ValueError(f"{label}: no row of {question.judge.data} has {conditions}")
    return keep


def narrowed(frame: pd.DataFrame, aspects: Sequence[str], mode: str) -> Mask:
    """Which rows are of some aspects, and in mode "quick" of the first inputs."""
    keep = np.ones(len(frame), dtype=bool)
    if aspects:
        keep = frame["aspect"].isin(list(aspects)).to_numpy(copy=True)
    if mode == "quick":
        keep[keep] = first_inputs(frame[keep])
    return keep


def first_inputs(frame: pd.DataFrame) -> Mask:
    """Which rows are of the first 20 inputs; where these are not known, the first 20
    rows.
    """
    if "input_id" not in frame:
        return np.arange(len(frame)) < QUICK_INPUTS
    first = datasets.first_inputs(frame, QUICK_INPUTS)
    return frame["input_id"].isin(first).to_numpy()
