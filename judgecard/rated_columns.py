"""Which columns of a file of ratings are single raters (by kind), families, topics and
baselines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, statistics
from nlgeval_lib.scoring import rows
from nlgeval_lib.scoring.cells import InputError, is_missing
from nlgeval_lib.scoring.columns import is_fact
from nlgeval_lib.scoring.score_files import score_columns

# The columns that are taken for families and topics unless others are named.
FAMILY = "system_family"
TOPIC = "topic"
# How the baselines are called in a table.
CONSTANT = "constant (baseline)"
LENGTH = "output length (baseline)"
RANDOM = "random (baseline)"
RELATED = (
    "{dataset}: {many} of {systems} systems are of one family ({family}); a column "
    "system_family takes families as the units"
)


def rater_kinds(columns: Sequence[str], prefix: str) -> dict[str, list[str]]:
    """The columns of single raters by their kind: people of one kind can stand for each
    other, experts and crowd workers cannot.

    prefix: how the columns of raters begin. A name says its kind between the prefix and
    a number (rater_expert_0); raters without one are one kind, "".
    """
    kinds: dict[str, list[str]] = {}
    named = re.compile(re.escape(prefix) + r"(?:(.+)_)?\d+$")
    for name in columns:
        is_rater = bool(prefix) and name.startswith(prefix)
        if not is_rater or is_fact(name, prefix):
            continue
        match = named.match(name)
        kind = ""
        if match and match[1]:
            kind = match[1]
        kinds.setdefault(kind, []).append(name)
    return kinds


def numeric_raters(frame: pd.DataFrame, prefix: str) -> dict[str, list[str]]:
    """The kinds of raters with two or more columns of numbers, each with these columns.

    Mean ratings, ids and columns without any value are no raters.
    """
    usable = []
    for name in map(str, frame.columns):
        if name in (rows.RATING, *rows.IDS):
            continue
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and column.notna().any():
            usable.append(name)
    kinds = rater_kinds(usable, prefix)
    return {kind: names for kind, names in kinds.items() if len(names) > 1}


def with_mean(data: rows.Rows, prefix: str) -> rows.Rows:
    """The rows with the mean of the raters that the user named as `human`, where the
    file has no other; as they are where it has, or nobody named two raters.

    prefix: how the columns of raters begin, "" for none.
    """
    plan = data.plan
    if not prefix or rows.RATING in data.theirs:
        return data
    raters: list[str] = []
    for ours, names in plan.sources.items():
        if plan.why[ours] == "said" and ours.startswith(prefix) and not is_fact(ours):
            raters += names
    if len(raters) < 2:
        return data
    sources = {**plan.sources, rows.RATING: raters}
    why = {**plan.why, rows.RATING: "said"}
    return replace(data, plan=replace(plan, sources=sources, why=why))


def recorded_scores(data: rows.Rows, columns: Sequence[str]) -> list[str]:
    """Which of some columns `nlgeval score` wrote: those recorded beside the file, then
    those that have a status beside them.
    """
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
    """The family of each row's system, or the topic of its input; one that has none is
    its own.

    column: the column with families or topics; None for the default one, "" for none.
    Returns: a label a row; None where there is no such column, or no column `key`.
    Raises: InputError for an unknown column, and for a system (or input) of two groups.
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
    """System and input of each row; where they are not named, each row is an input of
    its own, and all are of one system.
    """
    defaults = {"system_id": ["all"] * len(frame), "input_id": range(len(frame))}
    places = pd.DataFrame(defaults, frame.index, dtype=object)
    for key in rows.IDS:
        if key in frame.columns:
            places[key] = frame[key]
    return places


def group_labels(frame: pd.DataFrame, by: str | None) -> np.ndarray:
    """The group of each row; "" for a row without one."""
    labels = [""] * len(frame)
    if by:
        labels = ["" if is_missing(label) else str(label) for label in frame[by]]
    return np.array(labels, dtype=object)


def related_systems(frame: pd.DataFrame) -> str:
    """A note on systems of a known data set that are of one family; "" for none."""
    named = frame.get("dataset")
    if named is None or "system_id" not in frame or named.nunique() != 1:
        return ""
    dataset = str(named.iloc[0])
    systems = list(map(str, frame["system_id"].unique()))
    from nlgeval_lib.datasets import families

    counts = pd.Series(families.of_systems(dataset, systems)).value_counts()
    if not datasets.has(dataset) or counts.empty or counts.iloc[0] < 2:
        return ""
    return RELATED.format(
        dataset=dataset,
        many=counts.iloc[0],
        systems=len(systems),
        family=counts.index[0],
    )


def baselines(
    frame: pd.DataFrame,
    seed: int,
    constant: bool,
) -> dict[str, Any]:
    """What costs nothing, beside the scores: name -> a value a row."""
    columns: dict[str, Any] = {}
    texts = [None if is_missing(text) else text for text in frame.get("output", ())]
    if texts:
        columns[LENGTH] = statistics.baselines.length(texts)
    columns[RANDOM] = statistics.baselines.uniform((len(frame),), seed)
    if constant:
        columns[CONSTANT] = statistics.baselines.constant((len(frame),))
    return columns
