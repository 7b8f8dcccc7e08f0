"""Which columns of a file are single raters, families, topics and baselines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nlgeval_lib import statistics
from nlgeval_lib.scoring import rows
from nlgeval_lib.scoring.cells import InputError, is_missing
from nlgeval_lib.scoring.columns import is_fact
from nlgeval_lib.scoring.score_files import score_columns

# The columns that are taken for families and topics unless others are named.
FAMILY = "system_family"
TOPIC = "topic"
_KIND = re.compile(r"rater_(?:(.+)_)?\d+$")
# How the baselines are called in a table.
CONSTANT = "constant (baseline)"
LENGTH = "output length (baseline)"
RANDOM = "random (baseline)"


def rater_kinds(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Kind of rater -> the columns of its raters, of kinds with two raters and more:
    people of one kind can stand for each other, experts and crowd workers cannot.

    A name says its kind before a number (rater_expert_0); others are one kind, "".
    """
    kinds: dict[str, list[str]] = {}
    for name in map(str, frame.columns):
        is_rater = name.startswith("rater_") and not is_fact(name)
        if is_rater and frame[name].notna().any():
            match = _KIND.match(name)
            kind = match[1] if match else ""
            kinds.setdefault(kind or "", []).append(name)
    return {kind: names for kind, names in kinds.items() if len(names) > 1}


def with_mean(data: rows.Rows) -> rows.Rows:
    """The rows with the mean of the raters that the user named as `human`, if there is
    none.
    """
    plan = data.plan
    if rows.RATING in data.theirs:
        return data
    raters: list[str] = []
    for ours, names in plan.sources.items():
        is_said = plan.why[ours] == "said"
        if is_said and ours.startswith("rater_") and not is_fact(ours):
            raters += names
    if len(raters) < 2:
        return data
    sources = {**plan.sources, rows.RATING: raters}
    why = {**plan.why, rows.RATING: "said"}
    return replace(data, plan=replace(plan, sources=sources, why=why))


def recorded_scores(data: rows.Rows, columns: Sequence[str]) -> list[str]:
    """Which columns `nlgeval score` wrote: those recorded, then those with a status."""
    scores = [name for name in data.earlier.get("scores", {}) if name in columns]
    for name in columns:
        has_status = score_columns(name)[1] in columns and name != "status"
        if has_status and name not in scores:
            scores.append(name)
    return scores


def ratings_in(columns: Iterable[str]) -> list[str]:
    """Which of our columns have ratings, or say whose they are."""
    ratings = []
    for name in columns:
        if name in (rows.RATING, rows.RATER) or name.startswith("rater_"):
            ratings.append(name)
    return ratings


def groups(
    frame: pd.DataFrame, column: str | None, default: str, key: str, file: str
) -> np.ndarray | None:
    """The family of each row's system, or the topic of its input, a label a row; one
    that has none is its own. None where there is no such column, or no column `key`.
    """
    name = default if column is None else column
    if not name or (column is None and name not in frame.columns):
        return None
    if name not in frame.columns:
        listed = ", ".join(map(str, frame.columns))
        raise InputError(
            f"{file} has no column {name!r} for {default}; columns: {listed}"
        )
    if key not in frame.columns:
        return None
    labels = frame[name].astype(object).to_numpy(copy=True)
    own = frame[key].to_numpy()
    for place, label in enumerate(labels):
        labels[place] = own[place] if is_missing(label) else str(label)
    several = pd.Series(labels).groupby(own, sort=False).nunique()
    if (several > 1).any():
        raise InputError(
            f"{file}, column {name!r}: {key} {several.idxmax()!r} has "
            f"{several.max()} of them; each has one"
        )
    return labels


def places(frame: pd.DataFrame) -> pd.DataFrame:
    """System and input of each row; without names, all of one system, each its own
    input.
    """
    defaults = {"system_id": ["all"] * len(frame), "input_id": range(len(frame))}
    places = pd.DataFrame(defaults, frame.index, dtype=object)
    for key in rows.IDS:
        if key in frame.columns:
            places[key] = frame[key]
    return places


def grouped(
    data: rows.Rows, by: str | None
) -> Iterator[tuple[str, npt.NDArray[np.intp]]]:
    """The groups of rows in the order in which they appear: label and places.

    by: the column whose values are groups; None: `aspect` where it is there, "": one.
    """
    frame = data.frame
    if by is None:
        by = "aspect" if "aspect" in frame else ""
    if by and by not in frame:
        raise InputError(f"--by {data.lacks(by)}")
    labels = [""] * len(frame)
    if by:
        labels = ["" if is_missing(label) else str(label) for label in frame[by]]
    column = np.array(labels, dtype=object)
    for label in dict.fromkeys(labels):
        yield label, np.flatnonzero(column == label)


def baselines(frame: pd.DataFrame, seed: int, constant: bool) -> dict[str, Any]:
    """What costs nothing, beside the scores: name -> a value a row."""
    columns: dict[str, Any] = {}
    texts = [None if is_missing(text) else text for text in frame.get("output", ())]
    if texts:
        columns[LENGTH] = statistics.baselines.length(texts)
    columns[RANDOM] = statistics.baselines.uniform((len(frame),), seed)
    if constant:
        columns[CONSTANT] = statistics.baselines.constant((len(frame),))
    return columns
