"""Two cards compared: does the second judge follow the ratings better?"""

from __future__ import annotations

from typing import Any

import pandas as pd

from judgecard.cards import Card
from judgecard.cells import mean_interval, p_of_mean
from judgecard.judged import KEYS
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.correlations import Grid

Row = dict[str, Any]


def compared(first: Card, second: Card) -> pd.DataFrame:
    """Does the second judge follow the ratings better?

    Paired on the rows that both cards have, aspect by aspect, by Kendall's tau-b over
    all outputs; of pairs by the share of right verdicts.

    Returns: a row a set and aspect: `set, aspect, n, first, second, gain, low, high, p,
    verdict`. A gain above 0 says that the second is better. `verdict` is "better",
    "worse", "no difference found", or why it cannot be said. `p` of pairs is that of
    t over the means of inputs.
    Raises: InputError where they share no set, or a card has no scores beside it.
    """
    rows: list[Row] = []
    second_sets = {judged_set.name: judged_set for judged_set in second.judged}
    for judged_set in first.judged:
        name = judged_set.name
        if name not in second_sets:
            continue
        second_rows = second_sets[name].rows()[[*KEYS, "value"]]
        suffixes = ("_first", "_second")
        both = judged_set.rows().merge(second_rows, on=KEYS, suffixes=suffixes)
        if first.numbers["sets"][name]["kind"] == "pairs":
            rows.append(_of_pairs(name, both))
        else:
            rows += _of_aspects(name, both)
    if not rows:
        raise InputError(
            "the cards share no set with scores; both need scores.csv beside card.json"
        )
    return pd.DataFrame(rows)


def _of_pairs(name: str, both: pd.DataFrame) -> Row:
    """The gain in the share of right verdicts, over the verdicts that both have."""
    both = both.dropna(subset=["value_first", "value_second", "human"])
    human = both["human"]
    right_first = (both["value_first"] == human).astype(float)
    right_second = (both["value_second"] == human).astype(float)
    gain = (right_second - right_first).to_numpy()
    cell = mean_interval(gain, both["input_id"].to_numpy())
    low = cell.get("low")
    high = cell.get("high")
    return {
        "set": name,
        "aspect": "accuracy",
        "n": len(both),
        "first": float(right_first.mean()),
        "second": float(right_second.mean()),
        "gain": cell.get("value"),
        "low": low,
        "high": high,
        "p": p_of_mean(cell),
        "verdict": _outcome(low, high),
    }


def _of_aspects(name: str, both: pd.DataFrame) -> list[Row]:
    """The gain in Kendall's tau-b with the ratings, a row an aspect."""
    rows = []
    for aspect, of_aspect in both.groupby("aspect", sort=False):
        row = {"set": name, "aspect": aspect}
        try:
            row |= _gain(of_aspect)
        except ValueError as error:
            row["verdict"] = str(error)
        rows.append(row)
    return rows


def _gain(rows: pd.DataFrame) -> Row:
    """The gain in one aspect. Raises: ValueError where it cannot be measured."""
    grid = Grid(rows, flat=rows["system_id"].nunique() < 2)
    # the gain of the second judge, so that it is the first of this comparison
    sides = rows["value_second"], rows["value_first"], rows["human"]
    result = grid.compare(*sides, coef="kendall-b", ci=grid.interval("auto"))
    return {
        "n": result.n,
        "first": result.second,
        "second": result.first,
        "gain": result.difference,
        "low": result.low,
        "high": result.high,
        "p": result.p,
        "verdict": _outcome(result.low, result.high),
    }


def _outcome(low: float | None, high: float | None) -> str:
    """The verdict that an interval of the gain gives."""
    if low is not None and low > 0:
        return "better"
    if high is not None and high < 0:
        return "worse"
    return "no difference found"
