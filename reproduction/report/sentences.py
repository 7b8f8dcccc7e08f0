"""The answer of an output that compares nothing printed: one sentence whose numbers
are read from its saved tables.

`notebooks/answers.toml` has an entry for each:

    [meta_levels]
    says = "From {least.n} systems on ... by {gain.difference:+.3f} (p {gain.p:p})."
    otherwise = "..."                   # where `if` does not hold of the saved rows
    if = "gain.p <= .05"
    [meta_levels.rows]
    gain = { file = "tests", where = "variant == 'k=4'" }
    least = { file = "by_level", sort = "n" }     # the first row by n; "-n": the last

Each of `rows` is one row of `<id>__<file>.csv`; with `take` "count" it has `n`, how
many rows there are, of `all`, and with "largest" each column's value farthest from 0.
Formats are Python's, and `p`: "= .031" or "< .001".
"""

from __future__ import annotations

import functools
import operator
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.names import p_value

# A place of the sentence that a number fills.
_FIELD = re.compile(
    r"""
    \{ (?P<row>\w+) \. (?P<column>[^{}:]+)   # {gain.difference
    (?: : (?P<form>[^{}]*) )? \}             # :+.3f}
    """,
    re.VERBOSE,
)
# What `if` may say: ROW.COLUMN <= NUMBER.
_CONDITION = re.compile(r"(\w+)\.(.+?) (<=|>=|<|>|==) (\S+)")
_HOLDS = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
}


def declared() -> Mapping[str, Any]:
    """The entries of `notebooks/answers.toml` by the output's id; none where there is
    no such file.
    """
    path = files.notebooks() / "answers.toml"
    if not path.is_file():
        return {}
    return _declared(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=2)
def _declared(path: Path, modified: int) -> Mapping[str, Any]:
    """The entries of the file; `modified`: read again where this is another."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def sentence(output: str, base: str) -> str:
    """The answer of an output in one sentence; empty where none is declared.

    base: the name under which its result is saved, without an ending.
    Raises: ValueError naming the entry for a file, row or column that is not there.
    """
    entry = declared().get(output)
    if entry is None:
        return ""
    try:
        rows = {}
        for name, of in entry.get("rows", {}).items():
            rows[name] = _row(base, of)
        template = entry["says"]
        if "if" in entry and not _holds(entry["if"], rows):
            template = entry["otherwise"]
        return _FIELD.sub(lambda field: _written(field, rows), template)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise ValueError(f"notebooks/answers.toml, {output}: {error}") from None


def _row(base: str, of: Mapping[str, str]) -> pd.Series:
    """One row of a saved table, by column."""
    frame = pd.read_csv(files.located(f"{base}__{of['file']}.csv"))
    every_row = len(frame)
    if "where" in of:
        frame = frame.query(of["where"], engine="python", local_dict={})
    if of.get("take") == "count":
        return pd.Series({"n": len(frame), "all": every_row})
    if of.get("take") == "largest":
        return frame.select_dtypes("number").abs().max()
    if "sort" in of:
        column = of["sort"].removeprefix("-")
        ascending = not of["sort"].startswith("-")
        frame = frame.sort_values(column, ascending=ascending, kind="stable").head(1)
    if len(frame) != 1:
        raise ValueError(f"{len(frame)} rows where one is needed: {dict(of)}")
    return frame.iloc[0]


def _holds(condition: str, rows: Mapping[str, pd.Series]) -> bool:
    """Whether a condition holds of these rows."""
    parts = _CONDITION.fullmatch(condition)
    if not parts:
        raise ValueError(f"if = {condition!r}; the form is ROW.COLUMN <= NUMBER")
    name, column, sign, number = parts.groups()
    compare = _HOLDS[sign]
    return bool(compare(rows[name][column], float(number)))


def _written(field: re.Match[str], rows: Mapping[str, pd.Series]) -> str:
    """The number that a place of the sentence stands for, in its format."""
    value = rows[field["row"]][field["column"]]
    form = field["form"] or ""
    if form == "p":
        return p_value(float(value))
    # Counts are floats in a row that has other floats, and `d` takes none.
    if form and form[-1] in "d,":
        value = round(value)
    return format(value, form)
