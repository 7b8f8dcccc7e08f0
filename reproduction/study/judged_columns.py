"""Judges of a printed table that are asked about each of its columns apart: their
coefficients, and how far the judge's own draws move them.

options = {"engine": "replay", "model": "", "revision": "", "mode": mode}
judged = judged_columns("prometheus_table_02", rows, columns, "gpt4", **options)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from reproduction import papers
from reproduction.study.judged_rows import ITEM, JudgedRows, drawn
from reproduction.study.questions import judge_scores
from reproduction.study.scores import JudgeScores


@dataclass
class JudgedColumns:
    """What judges gave for the cells of a table.

    tables: the coefficients of each judge and column that was asked.
    coverage: (row, column) -> how many outputs have a score.
    lacking: (row, column) -> why there are no scores.
    mini: "row, column" -> what the miniature judge or a stand-in gave instead.
    """

    tables: list[pd.DataFrame] = field(default_factory=list)
    coverage: dict[tuple[str, str], str] = field(default_factory=dict)
    lacking: dict[tuple[str, str], str] = field(default_factory=dict)
    mini: dict[str, JudgeScores] = field(default_factory=dict)


def coefficients(
    judged: JudgeScores, row: str, column: str, human: str, **options: Any
) -> pd.DataFrame:
    """The correlations of one judge's scores with the ratings beside them, with
    `own_sd` and `draws`: how far the judge's own draws move each, and how many there
    are.

    human: the column of `judged.frame` with the ratings, all of one aspect.
    options: those of `scoring.correlations.table`.
    """
    frame = judged.frame.reset_index(drop=True)
    aspect = str(frame["aspect"].iat[0])
    scores = frame["value"].to_numpy(float)
    places = pd.MultiIndex.from_frame(frame[ITEM])
    rows = JudgedRows(
        frame,
        scores={row: {aspect: scores}},
        signatures={row: judged.signature},
        draws={row: drawn(frame, places)},
    )
    table = rows.table({column: aspect}, {column: human}, **options)
    return table.assign(route=judged.route)


def judged_columns(
    output: str,
    rows: Sequence[str],
    columns: Sequence[str],
    human: str,
    *,
    engine: str,
    model: str,
    revision: str,
    mode: str,
    **options: Any,
) -> JudgedColumns:
    """Ask each judge about each column; in the catalogue it is named "ROW, COLUMN".

    options: those of `scoring.correlations.table`.
    """
    result = JudgedColumns()
    asked_with = {"engine": engine, "model": model, "revision": revision, "mode": mode}
    for column in columns:
        for row in rows:
            name = f"{row}, {column}"
            judged = judge_scores(output, name, **asked_with)
            if not judged.available:
                reason = papers.gap(papers.NEEDS_RUN, judged.why)
                result.lacking[row, column] = reason
            # The miniature judge and stand-ins never stand in a paper's cell.
            elif judged.route != "run":
                result.mini[name] = judged
            else:
                table = coefficients(judged, row, column, human, **options)
                result.tables.append(table)
                result.coverage[row, column] = judged.coverage
    return result
