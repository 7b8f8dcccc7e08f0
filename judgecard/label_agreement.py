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
        share, constant = accuracy(*both, ci)
        measures = {"accuracy": share, "kappa": statistics.kappa(*both, ci=ci)}
        for title, measure in measures.items():
            rows.append(_row(judge, title, measure))
        rows.append({"judge": judge, "measure": "constant", "value": constant})
        counts = pd.crosstab(
            pd.Series(human, name="human"), pd.Series(values, name=judge)
        )
        made[f"{judge}: labels, people's in rows"] = counts.reset_index()
    return {"Agreement of labels": pd.DataFrame(rows), **made}


def accuracy(
    judge: np.ndarray, human: np.ndarray, ci: str | None
) -> tuple[Agreement, float]:
    """How often does a judge give the class that people gave?

    judge, human: flat or `[system, input]`, classes as numbers, NaN missing.
    ci: the interval, as in `statistics.correlate`.
    Returns: with a reason where the judge is no better than a constant; and the accuracy
        of the commonest human class.
    Raises: ValueError for no common item.
    """
    present = ~(np.isnan(judge) | np.isnan(human))
    if not present.any():
        raise ValueError(f"got no common item of {judge.size}; at least one is needed")
    is_right = (judge == human)[present]

    def share(weights: np.ndarray) -> float:
        total = weights.sum()
        return float(weights[is_right].sum() / total) if total else np.nan

    result = measured(share, present, "accuracy", "no item", ci)
    classes, counts = np.unique(human[present], return_counts=True)
    constant = float(counts.max() / counts.sum())
    if constant >= result.value:
        reason = (
            f"always {classes[counts.argmax()]:g} is right in {constant:.3f}: "
            "the judge is no better than a constant"
        )
        result = replace(result, reason=reason)
    return result, constant


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
