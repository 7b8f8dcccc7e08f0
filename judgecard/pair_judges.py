"""Judges of pairs beside what people prefer: accuracy, what the order of showing does,
and what costs nothing beside them.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import statistics
from nlgeval_lib.datasets import pairs
from nlgeval_lib.scoring.cells import (
    InputError,
    as_text,
    is_missing,
    with_words,
    without,
)
from nlgeval_lib.scoring.columns import OTHER
from nlgeval_lib.scoring.rows import Rows

_FEW = 8  # so few verdicts may all be of one output or a tie
# The columns with the texts of a pair.
OUTPUTS = ("output_1", "output_2")
NEEDED = (*OUTPUTS, "preference")  # of rows that are pairs
ORDERS = ("given", "swapped")
CEILING = "raters, one against the others (ceiling)"
# What stands in files for a verdict: forms of whole cells in small letters.
_OPTION = r"(?:(?:model|response|assistant|output|answer|option|candidate)[ _]?)?"
_FORMS = {
    1.0: re.compile(rf"{_OPTION}(?:1|a)|first|(?:left|a)(?:[ _]?vote)?|a>>?b|b<<?a"),
    2.0: re.compile(rf"{_OPTION}(?:2|b)|second|(?:right|b)(?:[ _]?vote)?|b>>?a|a<<?b"),
    0.0: re.compile(
        r"0|c|ties?|tied|tie \(both ?bad\)|both ?bad|both|neither|draw|equal|same|"
        r"a==?b|b==?a|a~b|tievote|bothbad[ _]vote"
    ),
    math.nan: re.compile(r"|error|nan|none|null|n/a"),
}


def as_verdict(value: Any) -> float:
    """A cell as 1, 2, 0 (tie) or NaN for an empty one: a word such as A, model_b, tie
    and A>>B; or a number, from 1 to 2 for a preference with a weight.

    Raises: ValueError with what a message has after the place of the cell.
    """
    text = "" if is_missing(value) else str(value).strip().casefold()
    text = text.removeprefix("[[").removesuffix("]]").removesuffix(".0")
    for verdict, form in _FORMS.items():
        if form.fullmatch(text):
            return verdict
    with contextlib.suppress(ValueError):
        weight = float(text)
        if 1 < weight < 2:
            return 0.0 if weight == 1.5 else float(round(weight))
    raise ValueError(
        f": {str(value)[:40]!r}; a verdict is 1 or 2 (A or B) for an output, "
        "0 (tie) for neither, or nothing (--values 'left=1,...' for other words)"
    )


def verdicts_in(data: Rows, column: str) -> np.ndarray:
    """A column of verdicts as numbers, (pairs,): 1, 2, 0 for a tie, NaN for none.

    Raises: InputError for a cell that is no verdict, and for a code that could be read
    in two ways.
    """
    answers = data.frame[column]
    values = without(with_words(answers, data.words), data.missing_values)
    verdicts = data.read(values, column, as_verdict)
    read = np.array(verdicts, dtype=float)
    marks = {
        str(value).removesuffix(".0") for value in answers if not is_missing(value)
    }
    if marks == {"0", "1"} and len(read) >= _FEW and not data.words:
        name = data.theirs.get(column, column).removeprefix(OTHER)
        raise InputError(
            f"{data.name}: {name!r} holds 0 and 1 alone; which is 0? --values '0=2' for "
            "the second output, --values '0=0' for a tie"
        )
    return read


def code_of(data: Rows, columns: Sequence[str]) -> str:
    """How numbers of verdicts are read, where 0 is among them; "" elsewhere.

    Some write 0 for the first output, and 1 for a tie.
    """
    coded = []
    for column in columns:
        answers = data.frame.get(column, pd.Series(dtype=object)).dropna()
        marks = set(answers.astype(str).str.removesuffix(".0"))
        if "0" in marks and marks <= {"0", "1", "2"}:
            coded.append(data.theirs.get(column, column).removeprefix(OTHER))
    if not coded or data.words:
        return ""
    return (
        f"{', '.join(coded)}: 1 and 2 are read as the outputs, 0 as a tie "
        "(--values '0=1,1=0' where 0 is the first)"
    )


def measured(
    in_order: np.ndarray,
    swapped: np.ndarray | None,
    gold: np.ndarray,
    inputs: Any,
) -> dict[str, Any]:
    """One judge's row: accuracy over both orders with its interval, the same where
    people decide, coverage, ties, consistency, kappa and position bias.

    in_order: (pairs,) verdicts in the given order.
    swapped: the same in the swapped order; None where the judge was asked in one order
    alone.
    gold: (pairs,) what people prefer.
    inputs: (pairs,) labels of what is drawn together for the interval; None: each pair
    alone.
    Returns: `accuracy, ci_low, ci_high, n`, `accuracy where people decide` (without
    their ties), `coverage` and `ties` (shares of all verdicts), with two orders
    `consistency`, `kappa` and `bias` (from -1 to 1, above 0 for the output shown
    first), then `reason` and `signature`.
    """
    orders = in_order if swapped is None else np.stack([in_order, swapped])
    accuracy = statistics.pair_accuracy(orders, gold, inputs)
    decided = statistics.pair_accuracy(orders, gold, inputs, ties=False)
    read = ~np.isnan(orders)
    ties = np.nan
    if read.any():
        ties = float((orders[read] == pairs.TIE).mean())
    coverage = np.nan
    if read.size:
        coverage = float(read.mean())
    row: dict[str, Any] = {
        "accuracy": accuracy.value,
        "ci_low": accuracy.low,
        "ci_high": accuracy.high,
        "n": accuracy.n,
        "accuracy where people decide": decided.value,
        "coverage": coverage,
        "ties": ties,
    }
    reason = accuracy.reason
    if swapped is not None:
        effect = statistics.order_effect(in_order, swapped, inputs)
        reason = reason or effect.reason
        row["consistency"] = effect.value
        row["kappa"] = effect.kappa
        row["bias"] = effect.bias
    return {**row, "reason": reason, "signature": accuracy.signature()}


def baselines(frame: pd.DataFrame, seed: int = 0) -> dict[str, np.ndarray]:
    """Verdicts that cost nothing, (pairs,) each: always output 1, always a tie where
    people tie, a random output, and the longer one where texts or their lengths are
    here.

    frame: pairs with `preference`, and `output_1` and `output_2` for the longer one.
    """
    n = len(frame)
    rng = np.random.default_rng(seed)
    verdicts = {"output 1 (baseline)": np.ones(n)}
    if (frame["preference"] == pairs.TIE).any():
        verdicts["a tie (baseline)"] = np.zeros(n)
    verdicts["random (baseline)"] = rng.integers(1, 3, n).astype(float)
    if set(OUTPUTS) <= set(frame.columns):
        first = np.array([_length(text) for text in frame["output_1"]])
        second = np.array([_length(text) for text in frame["output_2"]])
        verdicts["longer output (baseline)"] = pairs.higher(first, second)
    return verdicts


def _length(text: Any) -> int:
    """The length of a text in characters, 0 of one that is not there."""
    return 0 if is_missing(text) else len(text)


def ceiling(frame: pd.DataFrame) -> dict[str, Any] | None:
    """How often a rater says what most of the other raters say, mean over raters.

    Returns: a row of `table`; None for fewer than two raters.
    """
    columns = [name for name in frame if str(name).startswith("rater_")]
    if len(columns) < 2:
        return None
    ratings = frame[columns].to_numpy(dtype=float).T
    values = []
    for rater in range(len(ratings)):
        peers = pairs.majority(np.delete(ratings, rater, axis=0))
        inputs = frame.get("input_id")
        values.append(statistics.pair_accuracy(ratings[rater], peers, inputs))
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
    seed: int = 0,
) -> pd.DataFrame:
    """A row a judge of a frame of pairs, best first, then what costs nothing and the
    ceiling.

    judges: name -> verdicts in the given order and swapped (None: not asked), both
    about the frame's outputs.
    Returns: `judge` and the columns of `measured`, NaN where a judge lacks one.
    """
    gold = frame["preference"].to_numpy(dtype=float)
    inputs = frame.get("input_id")
    rows = []
    for name, (in_order, swapped) in judges.items():
        row = measured(in_order, swapped, gold, inputs)
        rows.append({"judge": name} | row)
    # A judge without an accuracy comes last.
    rows.sort(key=lambda row: -np.nan_to_num(row["accuracy"], nan=-1.0))
    for name, verdicts in baselines(frame, seed).items():
        row = measured(verdicts, None, gold, inputs)
        rows.append({"judge": name} | row)
    highest = ceiling(frame)
    if highest is not None:
        rows.append(highest)
    return pd.DataFrame(rows)


# -- a file of anyone's pairs


def names(data: Rows, scores: Sequence[str]) -> list[str]:
    """The columns of these scores; without any it is `value`.

    Raises: InputError for a column that is not there.
    """
    columns = [data.ours(name) for name in scores] or ["value"]
    for column in columns:
        if column not in data.theirs:
            raise InputError(f"--score {data.lacks(column)}")
        if column == "preference":
            named = data.theirs["preference"]
            raise InputError(
                f"{named!r} is what people prefer, and no judge (--human names it)"
            )
    return columns


def needed(scores: Sequence[str]) -> Callable[[str], bool]:
    """A test for the columns that take part in `of_file`: it says of a name whether it
    does.
    """
    columns = {"preference", "input_id", *OUTPUTS, *ORDERS, *scores}
    for score in scores:
        columns.update(f"{score}_{order}" for order in ORDERS)
    return lambda name: name in columns or name.startswith("rater_")


def of_file(
    data: Rows,
    scores: Sequence[str],
    seed: int = 0,
) -> pd.DataFrame:
    """The table of a file's judges (`table`).

    Raises: InputError for a column that is not there, or no verdict.
    """
    if "preference" not in data.frame:
        raise InputError(
            f"{data.name} has no column 'preference', 1 or 2 (A or B), 0 for a tie; "
            "say which it is: --map preference=COLUMN. Its columns: "
            f"{', '.join(data.columns)}"
        )
    table_rows = data.frame.assign(preference=verdicts_in(data, "preference"))
    for column in data.frame:
        if column.startswith("rater_"):
            table_rows[column] = verdicts_in(data, column)
        elif column in OUTPUTS:
            texts = data.frame[column]
            table_rows[column] = data.read(texts, column, as_text)
    judges: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
    for name in scores:
        orders = [f"{name}_{order}" for order in ORDERS]
        if len(scores) == 1 and not set(orders) <= set(data.frame):
            orders = list(ORDERS)
        verdicts = verdicts_in(data, name)
        name = name.removeprefix(OTHER)
        # With both orders there, a second row says what they give together.
        if set(orders) <= set(data.frame):
            in_order, swapped = (verdicts_in(data, order) for order in orders)
            judges[f"{name}, each order"] = (in_order, swapped)
        judges[name] = (verdicts, None)
    return table(table_rows, judges, seed)
