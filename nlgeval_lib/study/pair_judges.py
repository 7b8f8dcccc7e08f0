"""Judges of pairs beside what people prefer: accuracy, what the order of showing does,
and what costs nothing beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import meta
from nlgeval_lib.datasets import pairs
from nlgeval_lib.scoring.cells import InputError, as_text, is_missing, without
from nlgeval_lib.scoring.rows import Parts, Rows

OUTPUTS = ("output_1", "output_2")
ORDERS = ("given", "swapped")
CEILING = "raters, one against the others (ceiling)"
_WORDS = {
    "1": 1.0,
    "a": 1.0,
    "first": 1.0,
    "model_a": 1.0,
    "2": 2.0,
    "b": 2.0,
    "second": 2.0,
    "model_b": 2.0,
    "0": 0.0,
    "tie": 0.0,
}


def as_verdict(value: Any) -> float:
    """A cell as 1, 2, 0 (tie) or NaN: a number, or a word such as A, B and tie.

    Raises: ValueError with what a message has after the place of the cell.
    """
    text = "" if is_missing(value) else str(value).strip().casefold()
    text = text.removesuffix(".0")
    if text and text not in _WORDS:
        raise ValueError(
            f": {str(value)[:40]!r}; a verdict is 1 or 2 (A or B) for an output, "
            "0 (tie) for neither, or nothing"
        )
    return _WORDS.get(text, math.nan)


def _verdicts(data: Rows, column: str) -> np.ndarray:
    """A column of verdicts as numbers. Raises: InputError naming the cell."""
    values = without(data.frame[column], data.missing_values)
    verdicts = data.read(values, column, data.given.index, as_verdict)
    return np.array(verdicts, dtype=float)


def measured(
    given: np.ndarray,
    swapped: np.ndarray | None,
    gold: np.ndarray,
    inputs: Any,
    unread: str = "drop",
) -> dict[str, Any]:
    """One judge's row: accuracy over both orders with its interval, the same where
    people decide, coverage, ties, consistency, kappa and position bias.

    swapped: None where the judge was asked in one order alone.
    """
    orders = given if swapped is None else np.stack([given, swapped])
    accuracy = meta.pair_accuracy(
        orders,
        gold,
        inputs,
        unread,
    )
    decided = meta.pair_accuracy(
        orders,
        gold,
        inputs,
        unread,
        ties=False,
    )
    read = ~np.isnan(orders)
    ties = np.nan
    if read.any():
        ties = float((orders[read] == pairs.TIE).mean())
    row: dict[str, Any] = {
        "accuracy": accuracy.value,
        "ci_low": accuracy.low,
        "ci_high": accuracy.high,
        "n": accuracy.n,
        "accuracy where people decide": decided.value,
        "coverage": float(read.mean()) if read.size else np.nan,
        "ties": ties,
    }
    reason = accuracy.reason
    if swapped is not None:
        by_order = _of_orders(given, swapped, inputs)
        reason = reason or by_order.pop("reason")
        row |= by_order
    return {**row, "reason": reason, "signature": accuracy.signature()}


def _of_orders(given: np.ndarray, swapped: np.ndarray, inputs: Any) -> dict[str, Any]:
    """What the order of showing does to a judge."""
    effect = meta.order_effect(given, swapped, inputs)
    return {
        "consistency": effect.value,
        "kappa": effect.kappa,
        "bias": effect.bias,
        "reason": effect.reason,
    }


def baselines(frame: pd.DataFrame, seed: int = 0) -> dict[str, np.ndarray]:
    """Verdicts that cost nothing: always output 1, always a tie where people tie, a
    random output, and the longer one where texts or their lengths are here.
    """
    n = len(frame)
    rng = np.random.default_rng(seed)
    made = {"output 1 (baseline)": np.ones(n)}
    if (frame["preference"] == pairs.TIE).any():
        made["a tie (baseline)"] = np.zeros(n)
    made["random (baseline)"] = rng.integers(1, 3, n).astype(float)
    if set(OUTPUTS) <= set(frame.columns):
        one = np.array([_length(text) for text in frame["output_1"]])
        two = np.array([_length(text) for text in frame["output_2"]])
        longer = np.where(one > two, 1.0, np.where(one < two, 2.0, 0.0))
        made["longer output (baseline)"] = longer
    return made


def _length(text: Any) -> int:
    """The length of a text in characters, 0 of one that is not there."""
    return 0 if is_missing(text) else len(text)


def ceiling(frame: pd.DataFrame) -> dict[str, Any] | None:
    """How often a rater says what the other raters say, mean over raters; None without
    two.
    """
    columns = [name for name in frame if str(name).startswith("rater_")]
    if len(columns) < 2:
        return None
    ratings = frame[columns].to_numpy(dtype=float).T
    values = []
    for rater in range(len(ratings)):
        peers = pairs.majority(np.delete(ratings, rater, axis=0))
        inputs = frame.get("input_id")
        values.append(meta.pair_accuracy(ratings[rater], peers, inputs))
    return {
        "judge": CEILING,
        "accuracy": float(np.nanmean([result.value for result in values])),
        "n": min(result.n for result in values),
        "coverage": 1.0,
        "reason": "no interval: a mean over raters",
        "signature": f"{values[0].signature()}|mean:{len(values)} raters",
    }


def table(
    frame: pd.DataFrame,
    judges: Mapping[str, tuple[np.ndarray, np.ndarray | None]],
    unread: str = "drop",
    seed: int = 0,
) -> pd.DataFrame:
    """A row a judge of a frame of pairs, best first, then what costs nothing and the
    ceiling.

    judges: name -> verdicts in the given order and swapped (None: not asked), both
    about the frame's outputs.
    """
    gold = frame["preference"].to_numpy(dtype=float)
    inputs = frame.get("input_id")
    rows = []
    for name, (given, swapped) in judges.items():
        rows.append(
            {"judge": name}
            | measured(
                given,
                swapped,
                gold,
                inputs,
                unread,
            )
        )
    rows.sort(key=lambda row: -np.nan_to_num(row["accuracy"], nan=-1.0))
    for name, said in baselines(frame, seed).items():
        rows.append(
            {"judge": name}
            | measured(
                said,
                None,
                gold,
                inputs,
            )
        )
    highest = ceiling(frame)
    if highest is not None:
        rows.append(highest)
    return pd.DataFrame(rows)


# -- a file of anyone's pairs


def names(data: Parts, scores: Sequence[str]) -> list[str]:
    """The columns of these scores; without any it is `value`.

    Raises: InputError for a column that is not there.
    """
    columns = [data.ours(name) for name in scores] or ["value"]
    for column in columns:
        if column not in data.theirs:
            raise InputError(f"--score {data.lacks(column)}")
    return columns


def needed(scores: Sequence[str]) -> Callable[[str], bool]:
    """Whether a column takes part in `of_file`."""
    columns = {"preference", "input_id", *OUTPUTS, *ORDERS, *scores}
    for score in scores:
        columns.update(f"{score}_{order}" for order in ORDERS)
    return lambda name: name in columns or name.startswith("rater_")


def of_file(
    data: Rows,
    scores: Sequence[str],
    unread: str = "drop",
    seed: int = 0,
) -> pd.DataFrame:
    """The table of a file's judges: `preference` is what people prefer, each score a
    column of verdicts.

    The columns `NAME_given` and `NAME_swapped` of a score NAME say what each order gave;
    of a single score also `given` and `swapped`, as `nlgeval score` writes them.
    Raises: InputError for a column that is not there, or no verdict.
    """
    if "preference" not in data.frame:
        raise InputError(
            f"{data.name} has no column 'preference', 1 or 2 (A or B), 0 for a tie; say "
            "which it is: --map preference=COLUMN. Its columns: "
            f"{', '.join(data.columns)}"
        )
    table_rows = data.frame.assign(preference=_verdicts(data, "preference"))
    for column in data.frame:
        if column.startswith("rater_"):
            table_rows[column] = _verdicts(data, column)
        elif column in OUTPUTS:
            texts = data.frame[column]
            table_rows[column] = data.read(texts, column, data.given.index, as_text)
    judges: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
    for name in scores:
        orders = [f"{name}_{order}" for order in ORDERS]
        if len(scores) == 1 and not set(orders) <= set(data.frame):
            orders = list(ORDERS)
        said = _verdicts(data, name)
        if set(orders) <= set(data.frame):
            given, swapped = (_verdicts(data, order) for order in orders)
            judges[f"{name}, each order"] = (given, swapped)
        judges[name] = (said, None)
    return table(
        table_rows,
        judges,
        unread,
        seed,
    )
