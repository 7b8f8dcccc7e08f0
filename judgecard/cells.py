"""A number of a card: its value with its interval, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

Numbers = dict[str, Any]


def interval(result: Any, value: float | None = None) -> Numbers:
    """A result of `statistics` as the card keeps it: `value, low, high, n, signature`,
    and `reason` where the result has one.
    """
    if value is None:
        value = float(result)
    numbers = {
        "value": value,
        "low": result.low,
        "high": result.high,
        "n": result.n,
        "signature": result.signature(),
    }
    if result.reason:
        numbers["reason"] = result.reason
    return numbers


def mean_interval(values: np.ndarray, units: np.ndarray | None = None) -> Numbers:
    """A mean and its 95 % interval by t over the means of units (over values without):
    `value, low, high, n`, n being the number of units.

    values: NaN is left out; of one unit the ends are NaN, of none there is a `reason`.
    """
    series = pd.Series(values)
    if units is not None:
        series = series.groupby(np.asarray(units)).mean()
    means = series.dropna().to_numpy(dtype=float)
    number = len(means)
    if number == 0:
        return {"reason": "no value"}
    mean = float(means.mean())
    reach = np.nan
    if number > 1:
        from scipy import stats

        reach = stats.t.ppf(0.975, number - 1) * stats.sem(means)
    low = float(mean - reach)
    high = float(mean + reach)
    return {"value": mean, "low": low, "high": high, "n": number}


def interval_by_moves(value: float, moves: np.ndarray) -> Numbers:
    """A value and its interval by t, from what each unit moves it: as the mean of the
    moves spreads.
    """
    cell = mean_interval(moves - moves.mean() + value)
    return cell | {"value": float(value)}


def difference_interval(
    values: np.ndarray, first: np.ndarray, second: np.ndarray, units: Any
) -> Numbers:
    """The mean of some values less that of others, with its interval over units."""
    moves = np.zeros(len(values))
    means = []
    for side, sign in ((first, 1), (second, -1)):
        mean = values[side].mean()
        means.append(mean)
        moves[side] = sign * (values[side] - mean) / side.sum()
    by_unit = pd.Series(moves).groupby(np.asarray(units)).sum().to_numpy()
    return interval_by_moves(means[0] - means[1], by_unit * len(by_unit))


def p_of_mean(cell: Numbers) -> float:
    """The two-sided p that belongs to an interval of `mean_interval`: that the mean is
    0; NaN where it has none.
    """
    from scipy import stats

    reach = cell.get("high", np.nan) - cell.get("value", np.nan)
    if not reach > 0:
        return float("nan")
    freedom = cell["n"] - 1
    t = abs(cell["value"]) / reach * stats.t.ppf(0.975, freedom)
    return float(2 * stats.t.sf(t, freedom))


def value_or_reason(measure: Callable[..., Any], *arguments: Any) -> Any:
    """What a measure gives, or the reason why it gives nothing."""
    try:
        return measure(*arguments)
    except ValueError as error:
        return {"reason": str(error)}


def interval_or_reason(measure: Callable[..., Any], *arguments: Any) -> Numbers:
    """The result of a measure of `statistics` as a cell, or the reason why it gives
    none.
    """
    try:
        return interval(measure(*arguments))
    except ValueError as error:
        return {"reason": str(error)}


def without_sign(cell: Mapping[str, Any]) -> Numbers:
    """A coefficient and its interval without the sign: `value, low, high`, or the
    reason. An interval on both sides of zero keeps an end below 0.
    """
    if cell.get("value") is None or "low" not in cell:
        return {"reason": cell.get("reason", "")}
    low = cell["low"]
    high = cell["high"]
    if cell["value"] < 0:
        low = -cell["high"]
        high = -cell["low"]
    return {"value": abs(cell["value"]), "low": low, "high": high}
