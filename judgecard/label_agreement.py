"""Labels of a judge beside those of people: accuracy and kappa against chance, and
which label is given for which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgecard import rated_columns
from nlgeval_lib import statistics
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.columns import IDS, OTHER, RATING
from nlgeval_lib.scoring.correlations import Grid
from nlgeval_lib.scoring.rows import Rows
from nlgeval_lib.statistics.agreement import Agreement, measured

_MOST = 20  # classes; more are no labels


def tables(data: Rows, scores: Sequence[str]) -> dict[str, pd.DataFrame]:
    """How often does each judge give the label that people give, and which for which?

    Returns: by title. "Agreement of labels": `judge, measure, value, low, high, n,
    reason, signature`, with the accuracy of the commonest label as `constant`; and a
    table of counts a judge, people's labels in rows.
    Raises: InputError where there are no ratings, or more than twenty labels.
    """
    if RATING not in data.frame:
        raise InputError(f"{data.name} has no column 'human'; --human names it")
    human = data.numbers(RATING)
    flat = not any(key in data.frame for key in IDS)
    grid = Grid(rated_columns.places(data.frame), "dataset", flat)
    rows: list[dict[str, Any]] = []
    made = {}
    for name in scores:
        values = data.numbers(name)
        judge = data.theirs.get(name, name).removeprefix(OTHER)
        if len(np.unique(values[~np.isnan(values)])) > _MOST:
            raise InputError(f"{judge} has more than {_MOST} values: no labels")
        both = grid.matrix(values), grid.matrix(human)
        ci = str(grid.interval("auto"))
        measures, constant = class_agreement(*both, ci)
        measures["kappa"] = statistics.kappa(*both, ci=ci)
        for title, measure in measures.items():
            rows.append(_row(judge, title, measure))
        rows.append({"judge": judge, "measure": "constant", "value": constant})
        counts = pd.crosstab(
            pd.Series(human, name="human"), pd.Series(values, name=judge)
        )
        made[f"{judge}: labels, people's in rows"] = counts.reset_index()
    return {"Agreement of labels": pd.DataFrame(rows), **made}


def class_agreement(
    judge: np.ndarray, human: np.ndarray, ci: str | None
) -> tuple[dict[str, Agreement], float]:
    """How often does a judge give the class that people gave?

    judge, human: flat or `[system, input]`, classes as numbers, NaN missing.
    ci: the interval of each measure, as in `statistics.correlate`.
    Returns: "accuracy", with a reason where the judge is no better than a constant, and
        "macro-f1", the mean over the classes that either side gives; and the accuracy
        of the commonest human class.
    Raises: ValueError for no common item.
    """
    present = ~(np.isnan(judge) | np.isnan(human))
    if not present.any():
        raise ValueError(f"got no common item of {judge.size}; at least one is needed")
    both = np.stack([judge[present], human[present]])
    classes, codes = np.unique(both, return_inverse=True)
    size = len(classes)
    cell = codes[0] * size + codes[1]

    def counted(weights: np.ndarray) -> np.ndarray:
        """How many items have each pair of classes: `[judge, human]`."""
        return np.bincount(cell, weights, size**2).reshape(size, size).astype(float)

    def accuracy(weights: np.ndarray) -> float:
        table = counted(weights)
        return float(np.trace(table) / table.sum()) if table.any() else np.nan

    def macro_f1(weights: np.ndarray) -> float:
        """The mean of 2 TP / (2 TP + FP + FN) over classes that occur."""
        table = counted(weights)
        of_either = table.sum(axis=0) + table.sum(axis=1)
        occurring = of_either > 0
        if not occurring.any():
            return np.nan
        return float((2 * np.diag(table)[occurring] / of_either[occurring]).mean())

    measures = {}
    for name, of_counts in (("accuracy", accuracy), ("macro-f1", macro_f1)):
        measures[name] = measured(of_counts, present, name, "no item", ci)
    numbers = np.bincount(codes[1], minlength=size)
    constant = float(numbers.max() / numbers.sum())
    if constant >= measures["accuracy"].value:
        reason = (
            f"always {classes[numbers.argmax()]:g} is right in {constant:.3f}: "
            "the judge is no better than a constant"
        )
        measures["accuracy"] = replace(measures["accuracy"], reason=reason)
    return measures, constant


def _row(judge: str, title: str, measure: Any) -> dict[str, Any]:
    """A measure as a row of the table."""
    return {
        "judge": judge,
        "measure": title,
        "value": measure.value,
        "low": measure.low,
        "high": measure.high,
        "n": measure.n,
        "reason": measure.reason,
        "signature": measure.signature(),
    }
