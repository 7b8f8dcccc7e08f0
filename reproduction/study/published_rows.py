"""Rows of printed tables whose scores others published: which recording has them, and
under which name.

`data/published_scores.csv`: the output, its part, the printed row, the recording and
the metric's name there. Names are those that public programs read the files by; which
of a file's variants a paper's row is, no paper says: it is assumed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from judgecard import recordings
from nlgeval_lib import files
from nlgeval_lib.scoring import correlations

# What names an output, beside `doc_id`.
ITEM = ["input_id", "system_id"]
# {aspect: a value an output}
ByAspect = dict[str, np.ndarray]


class Row(NamedTuple):
    """A printed row of one part (data set) of an output, the recording that has its
    scores, and the name of its judge or metric there.
    """

    output: str
    part: str
    row: str
    recording: str
    metric: str


def rows(output: str, part: str) -> Iterator[Row]:
    """The declared rows of a part; none where their table is not there."""
    path = files.data() / "published_scores.csv"
    if not path.is_file():
        return
    with open(path, encoding="utf-8", newline="") as handle:
        for record in csv.DictReader(handle):
            if record["output"] == output and record["part"] == part:
                yield Row(**record)


def scores(
    output: str, part: str, items: pd.DataFrame
) -> tuple[dict[str, ByAspect], dict[str, str]]:
    """The published scores of `items`, by printed row and aspect.

    What is not on this machine is passed over in silence: the table of facts
    (`papers.published`) has its address.

    items: with `input_id, system_id`, and `doc_id` where a system has several outputs
    for an input.
    Returns: {row: {aspect: a value an item, NaN for none}}; and {row: why it has none}
    for rows whose recording is here and lacks the metric.
    Raises: ChecksumError, ValueError where a file is here, but is not as it should be.
    """
    by_row: dict[str, ByAspect] = {}
    lacking: dict[str, str] = {}
    for row in rows(output, part):
        if not _is_local(row.recording):
            continue
        recorded = recordings.load(row.recording)
        published = recorded[recorded["judge"] == row.metric]
        if published.empty:
            metrics = ", ".join(dict.fromkeys(recorded["judge"]))
            lacking[row.row] = f"{row.recording} has no {row.metric!r}, but: {metrics}"
            continue
        by_aspect = {}
        for aspect, values in published.groupby("aspect", sort=False):
            by_aspect[str(aspect)] = _aligned(items, values)
        by_row[row.row] = by_aspect
    return by_row, lacking


def table(
    output: str,
    part: str,
    items: pd.DataFrame,
    columns: Mapping[str, str],
    human: Mapping[str, Any],
    **options: Any,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """The correlations of published scores, route `public`, each with the name of its
    source in the signature.

    columns: the printed column -> the rated aspect.
    Returns: the cells, an empty frame where no scores are here; and {row: why it has
    none}.
    """
    by_row, lacking = scores(output, part, items)
    if not by_row:
        return pd.DataFrame(), lacking
    printed_scores = {}
    for row, by_aspect in by_row.items():
        by_column = {}
        for column, aspect in columns.items():
            by_column[column] = by_aspect[aspect]
        printed_scores[row] = by_column
    cells = correlations.table(items, printed_scores, human, **options)
    sources = {}
    for declared in rows(output, part):
        sources[declared.row] = f"{declared.recording}/{declared.metric}"
    source = cells["row"].map(sources)
    signature = cells["signature"] + "|published:" + source
    return cells.assign(route="public", signature=signature), lacking


def _is_local(recording: str) -> bool:
    """Whether all files of a recording are on this machine. Never uses the network."""
    from nlgeval_lib.datasets import fetch

    needed = recordings.spec(recording).files
    return all(fetch.local(relpath) is not None for relpath in needed)


def _aligned(items: pd.DataFrame, published: pd.DataFrame) -> np.ndarray:
    """The values in the order of the items, each of which has at most one; NaN for an
    item without one.
    """
    keys = []
    for name in (*ITEM, "doc_id"):
        if name in items and name in published:
            keys.append(name)
    values = published[[*keys, "value"]]
    joined = items[keys].merge(values, how="left", on=keys, validate="one_to_one")
    return joined["value"].to_numpy(float)
