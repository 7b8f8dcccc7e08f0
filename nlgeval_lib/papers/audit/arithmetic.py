"""Averages, totals, products, differences, percent changes and repeats: rules over tidy tables.

A rule takes a frame `row, column, statistic, printed` and returns a `Finding` for each printed result. Along
`axis="column"` the parts and the result are columns of one row; along `axis="row"` rows of one column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit.cells import Cells, is_exact, place
from nlgeval_lib.papers.audit.quantity import (
    CONTRADICTS,
    HOLDS,
    ROUNDED,
    Finding,
    Quantity,
    check,
    finding,
    largest,
    mean,
    total,
)
from nlgeval_lib.papers.tables import KEY

SUMMARY = ("mean", "total", "product")


def summaries(
    frame: pd.DataFrame,
    result: str,
    parts: Sequence[str] | None = None,
    kind: str = "mean",
    axis: str = "column",
    weights: Mapping[str, Any] | None = None,
    skip: Sequence[str] = (),
) -> list[Finding]:
    """Whether a printed mean, total or product is that of its parts, for every line that prints all of them.

    `parts`: the names on the axis; None: all but the result. `weights`: part -> exact number (means only). `skip`:
    lines that are left out, by the name on the other axis.
    Raises: ValueError for unknown names and kinds.
    """
    if kind not in SUMMARY or axis not in ("row", "column"):
        raise ValueError(f"kind {kind!r} along {axis!r}; kinds are {SUMMARY}, axes row and column")
    cells = Cells(frame)
    parts = [name for name in cells.names(axis) if name != result] if parts is None else list(parts)
    cells.known(axis, [result, *parts])
    if unweighted := [name for name in parts if weights is not None and name not in weights]:
        raise ValueError(f"no weights for {unweighted}")
    words = f"{'weighted ' if weights else ''}{kind} of {len(parts)} {axis}s"
    found = []
    for (other, statistic), line in cells.lines(axis):
        if other in skip or result not in line or not all(name in line for name in parts):
            continue
        values = [cells[line[name]] for name in parts]
        if kind == "mean":
            value = mean(values, None if weights is None else [weights[name] for name in parts])
        elif kind == "total":
            value = total(values)
        else:
            value = Quantity.exactly(1)
            for one in values:
                value = value * one
        where = place(*((other, result) if axis == "column" else (result, other)), statistic)
        found.append(check(where, words, cells.text[line[result]], value, is_exact(statistic)))
    return found


def differences(
    frame: pd.DataFrame,
    result: str,
    minuend: Mapping[str, Sequence[str]],
    subtrahend: Sequence[str],
    result_statistic: str = "difference",
    statistics: Sequence[str] | None = None,
) -> list[Finding]:
    """Whether the row `result` is the best of the minuend rows less the best of the subtrahend rows, column by column.

    `minuend`: reading -> rows; a cell agrees where one reading does. `statistics`: those of the compared rows
    (None: all but that of the result).
    """
    cells = Cells(frame)
    cells.known("row", [result, *subtrahend, *(row for rows in minuend.values() for row in rows)])
    found = []
    for statistic in statistics or [name for name in cells.names("statistic") if name != result_statistic]:
        for key in cells.pick(result, statistic=result_statistic):
            best = largest(cells[k] for k in cells.pick(subtrahend, key[1], statistic))
            readings = {
                name: largest(cells[k] for k in cells.pick(rows, key[1], statistic)) - best
                for name, rows in minuend.items()
            }
            relation = f"best of ours - best of {len(subtrahend)} rows" if len(subtrahend) > 1 else "difference"
            found.append(check(place(result, key[1], statistic), relation, cells.text[key], readings))
    return found


def percent_changes(
    frame: pd.DataFrame, result: str, new: Sequence[str], old: str, statistics: Mapping[str, str]
) -> list[Finding]:
    """Whether the row `result` is the change from the row `old` to a row of `new` in percent of the old value.

    An old value that may be 0 allows any change. Several `new` rows are several readings of the whole row: the one
    that contradicts least is taken, and named where another has the higher mean. `statistics`: statistic of the
    result -> statistic of the rows.
    """
    cells = Cells(frame)
    cells.known("row", [result, old, *new])
    pairs = [(key, statistics[key[2]]) for key in cells.pick(result) if key[2] in statistics]
    readings = {}
    for row in new:
        readings[row] = [
            _change(
                place(result, *key[1:]), cells.text[key], cells[row, key[1], statistic], cells[old, key[1], statistic]
            )
            for key, statistic in pairs
        ]
    chosen = min(new, key=lambda row: sum(one.verdict == CONTRADICTS for one in readings[row]))
    level = {row: mean(cells[row, key[1], statistic] for key, statistic in pairs).face for row in new}
    better = [row for row in new if level[row] > level[chosen]]
    note = "" if len(new) == 1 else f"of {chosen}" + (f", though {better[0]} has the higher mean" if better else "")
    return [
        _reworded(one, f"percent change from {old}", place(note) + ("; " + one.note if one.note else ""))
        for one in readings[chosen]
    ]


def _change(where: str, text: str, new: Quantity, old: Quantity) -> Finding:
    if old.low <= 0 <= old.high:
        return Finding(where, "", text, math.nan, -math.inf, math.inf, ROUNDED, "the old value may be 0: any change is")
    return check(where, "", text, 100 * (new / old - 1))


def _reworded(one: Finding, relation: str, note: str) -> Finding:
    """The same finding in other words."""
    return Finding(one.place, relation, one.printed, one.recomputed, one.low, one.high, one.verdict, note.strip("; "))


def at_least(frame: pd.DataFrame, larger: str, smaller: str, axis: str = "row") -> list[Finding]:
    """Whether each cell of `larger` is at least that of `smaller`, as a share under a wider condition must be."""
    cells = Cells(frame)
    cells.known(axis, [larger, smaller])
    found = []
    for (other, statistic), line in cells.lines(axis):
        if larger in line and smaller in line:
            big, small = cells[line[larger]], cells[line[smaller]]
            said = HOLDS if big.face >= small.face else ROUNDED if big.high >= small.low else CONTRADICTS
            found.append(
                finding(place(larger, other, statistic), f"at least {smaller}", cells.text[line[larger]], small, said)
            )
    return found


def same(first: Quantity, second: Quantity) -> str:
    """Whether two printed numbers can be one value, rounded twice.

    Intervals that only touch do not do: 0.361 and 0.362 are two numbers. 0.36 and 0.361 are one.
    """
    if first.face == second.face:
        return HOLDS
    low, high = max(first.low, second.low), min(first.high, second.high)
    thin = first.low == first.high or second.low == second.high
    return ROUNDED if low < high or (thin and low == high) else CONTRADICTS


def repeats(
    here: pd.DataFrame,
    there: pd.DataFrame,
    rename: Mapping[str, Mapping[str, str]] | None = None,
    only: Mapping[str, Any] | None = None,
    source: str = "elsewhere",
    factor: Any = 1,
) -> list[Finding]:
    """Whether the cells of one table that another prints too are the same.

    `rename`: axis -> {name here: name there}; `only`: axis -> name or names here. Cells of one table alone are left
    out. `factor`: what a number there is multiplied by (-1, 100).
    Raises: ValueError where the tables share no cell.
    """
    one, two = Cells(here), Cells(there)
    rename = rename or {}
    found = []
    for key in one.pick(**(only or {})):
        match = tuple(rename.get(axis, {}).get(name, name) for axis, name in zip(KEY, key, strict=True))
        if match not in two:
            continue
        other = two[match] * Fraction(factor)
        found.append(finding(place(*key), f"same as {source}", one.text[key], other, same(one[key], other)))
    if not found:
        raise ValueError(f"no cell is in both tables ({source}); check the names in rename and only")
    return found


def all_equal(frame: pd.DataFrame, keys: Sequence[tuple[str, str, str]], factors: Sequence[Any] = ()) -> list[Finding]:
    """Whether the same figure, printed in several places, is the same: each after the first against the first."""
    cells = Cells(frame)
    for key in keys:
        for axis, name in zip(KEY, key, strict=True):
            cells.known(axis, [name])
    factors = list(factors) or [1] * len(keys)
    values = [cells[key] * Fraction(factor) for key, factor in zip(keys, factors, strict=True)]
    first = values[0]
    return [
        finding(place(*key[:1]), f"same as {keys[0][0]}", cells.text[key], first * Fraction(1) / Fraction(factor),
                same(value, first))
        for key, value, factor in zip(keys[1:], values[1:], factors[1:], strict=True)
    ]  # fmt: skip


__all__ = [
    "SUMMARY", "all_equal", "at_least", "differences", "percent_changes", "repeats", "same", "summaries",
]  # fmt: skip
