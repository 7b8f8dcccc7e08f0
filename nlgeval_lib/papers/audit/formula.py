"""A printed number against a formula over other printed numbers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit.arithmetic import same
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
    smallest,
    total,
)

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[[list[Quantity]], Quantity]] = {
    "sum": total, "mean": mean, "max": largest, "min": smallest, "count": lambda values: Quantity.exactly(len(values)),
}  # fmt: skip
Pick = tuple[Any, ...]


def evaluate(formula: str, cells: Mapping[str, list[Quantity]]) -> Quantity:
    """The value of a formula: names, numbers, + - * /, brackets, and sum, mean, max, min, count of a name.

    `cells`: name -> its quantities; a name outside a function must have one.
    Raises: ValueError for anything else.
    """

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return Quantity.exactly(number)
            case ast.Name(id=name):
                if len(several(name)) != 1:
                    raise ValueError(f"{name} stands for {len(several(name))} cells in {formula!r}; sum, mean, max?")
                return several(name)[0]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](value(left), value(right))
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=argument)], keywords=[]) if name in FUNCTIONS:
                return FUNCTIONS[name](several(argument))
        raise ValueError(f"not part of a formula: {ast.unparse(node)!r} in {formula!r}")

    def several(name: str) -> list[Quantity]:
        if name not in cells:
            raise ValueError(f"{name!r} in {formula!r} is none of the cells {sorted(cells)}")
        return cells[name]

    try:
        tree = ast.parse(formula, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"not a formula: {formula!r} ({error.msg})") from None
    return value(tree.body)


def follows(
    tables: Mapping[str, pd.DataFrame] | Callable[[str], pd.DataFrame],
    printed: Pick,
    formula: str | Mapping[str, str],
    cells: Mapping[str, Pick],
    compare: str = "=",
    words: str = "",
) -> Finding:
    """Whether one printed number is what a formula over other cells gives.

    `printed` and each of `cells`: (table, row, column, statistic), where a name, several or "*" may stand for each of
    the last three and missing ones are "*"; `printed` must pick one cell. `formula`: one, or reading -> formula; a
    bare name is the same figure printed twice. `compare`: "=", or ">" and "<" where the text says "over" and "less
    than" the printed number.
    Raises: ValueError for a pick without cells.
    """
    if compare not in ("=", ">", "<"):
        raise ValueError(f"compare is {compare!r}; allowed: =, >, <")
    look = tables if callable(tables) else tables.__getitem__

    def picked(pick: Pick) -> tuple[Cells, list[tuple[str, str, str]]]:
        here = Cells(look(pick[0]))
        keys = here.pick(*pick[1:])
        if not keys:
            raise ValueError(f"no cell is {pick}")
        return here, keys

    here, keys = picked(printed)
    if len(keys) != 1:
        raise ValueError(f"{printed} is {len(keys)} cells; the printed number is one")
    key = keys[0]
    known = {}
    for name, pick in cells.items():
        there, those = picked(pick)
        known[name] = [there[one] for one in those]
    readings = {"": formula} if isinstance(formula, str) else dict(formula)
    values = {name: evaluate(text, known) for name, text in readings.items()}
    where, text = located(printed[0], key), here.text[key]
    words = words or (formula if isinstance(formula, str) else " or ".join(readings.values()))
    if compare == "=" and isinstance(formula, str) and formula.removeprefix("-").isidentifier():
        return finding(
            where, f"same as {_picked_in_words(cells, words)}", text, values[""], same(here[key], values[""])
        )
    if compare == "=":
        return check(where, words, text, values.get("", values), is_exact(key[2]))
    bound = here[key].face
    value = (largest if compare == ">" else smallest)(values.values())
    gap = value - bound if compare == ">" else Quantity.exactly(bound) - value
    said = HOLDS if gap.face > 0 else ROUNDED if gap.high > 0 else CONTRADICTS
    return finding(where, f"{words} is {'over' if compare == '>' else 'under'} it", text, value, said)


def _picked_in_words(cells: Mapping[str, Pick], words: str) -> str:
    """The place that a bare name stands for; the relation's own words where it has some."""
    if (name := words.removeprefix("-")) not in cells:
        return words
    table, *names = cells[name]
    return place(*(names if table == "text_claims" else (table, *names)))


def located(table: str, key: tuple[str, str, str]) -> str:
    """Where a cell is; of a number of the running text, its row says it all."""
    return key[0] if table == "text_claims" else place(*key)


def counted(frame: pd.DataFrame, axis: str, without: tuple[str, ...] = ()) -> Quantity:
    """How many rows or columns of a table hold a number, those of `without` left out."""
    return Quantity.exactly(len([name for name in Cells(frame).names(axis) if name not in without]))


def listed(
    tables: Callable[[str], pd.DataFrame], printed: Pick, table: str, axis: str = "row", without: tuple[str, ...] = ()
) -> Finding:
    """Whether a number in the text is the number of rows or columns that a table prints."""
    here = Cells(tables(printed[0]))
    keys = here.pick(*printed[1:])
    if len(keys) != 1:
        raise ValueError(f"{printed} is {len(keys)} cells; the printed number is one")
    Cells(tables(table)).known(axis, without)
    value = counted(tables(table), axis, without)
    return check(
        located(printed[0], keys[0]), f"number of {axis}s of {table}", here.text[keys[0]], value, is_exact(keys[0][2])
    )


def led(
    tables: Callable[[str], pd.DataFrame], printed: Pick, table: str, ours: Sequence[str], others: Sequence[str],
    columns: Sequence[str], statistic: str,
) -> Finding:  # fmt: skip
    """Whether a number in the text is that of the columns where the best of `ours` is above the best of `others`."""
    here, there = Cells(tables(printed[0])), Cells(tables(table))
    keys = here.pick(*printed[1:])
    if len(keys) != 1:
        raise ValueError(f"{printed} is {len(keys)} cells; the printed number is one")
    gaps = [
        largest(there[key] for key in there.pick(ours, column, statistic))
        - largest(there[key] for key in there.pick(others, column, statistic))
        for column in columns
    ]
    value = Quantity(*(Fraction(sum(getattr(gap, end) > 0 for gap in gaps)) for end in ("face", "low", "high")))
    relation = f"columns of {table} led in {statistic}"
    return check(located(printed[0], keys[0]), relation, here.text[keys[0]], value, is_exact(keys[0][2]))
