"""The tables of `correlate` as text, CSV, markdown or JSON Lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.report.tables import esc, printable
from nlgeval_lib.scoring import output
from nlgeval_lib.scoring.correlate import Result
from nlgeval_lib.scoring.table import is_missing

_NUMBER = re.compile(r"[+-]?[0-9.]+")
_MARKS = re.compile(r"[\\|`*\[\]]")  # what markdown would take for its own


def text(result: Result, format: str) -> str:
    """Both tables and the notes, as text, csv (the correlations, then the differences with their own header), markdown
    or jsonl (a `table` a line)."""
    if format == "jsonl":
        return "".join(output.lines(_labelled(result)))
    parts = []
    for title, table in (("Correlation with human ratings", result.correlations), ("Differences", result.differences)):
        if table.empty:
            continue
        if format == "csv":
            parts.append(table.map(_inert).to_csv(index=False, lineterminator="\n"))
        elif format == "markdown":
            parts.append(f"**{title}**\n\n{_markdown(table)}\n")
        else:
            parts.append(f"{title}\n{_plain(table)}\n")
    if result.notes and format != "csv":
        parts.append("".join(f"note: {note}\n" for note in result.notes))
    return "\n".join(parts)


def _inert(value: Any) -> Any:
    """A text that a spreadsheet does not take for a formula; this table is read by people, and no command reads it."""
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    return value if _NUMBER.fullmatch(value) else f"'{value}"


def _labelled(result: Result) -> Iterator[dict[str, Any]]:
    for name, table in (("correlations", result.correlations), ("differences", result.differences)):
        for record in table.to_dict("records"):
            yield {"table": name, **record}


def _plain(table: pd.DataFrame) -> str:
    from nlgeval_lib.report import show

    return show(_joined(table), rows=len(table)).text


def _joined(table: pd.DataFrame) -> pd.DataFrame:
    """The table for reading: an interval in one column."""
    if "ci_low" not in table.columns:
        return table
    both = [
        "" if np.isnan(low) or np.isnan(high) else f"[{low:.3f}, {high:.3f}]"
        for low, high in zip(table["ci_low"], table["ci_high"], strict=True)
    ]
    shown = table.drop(columns=["ci_low", "ci_high"])
    shown.insert(shown.columns.get_loc("value") + 1, "95% interval", both)
    return shown


def _markdown(table: pd.DataFrame) -> str:
    shown = _joined(table)

    def cell(value: Any) -> str:
        if is_missing(value):
            return "–"
        if isinstance(value, float):
            return f"{value:.3f}"
        return _MARKS.sub(r"\\\g<0>", esc(" ".join(printable(str(value)).split())))

    lines = [list(map(str, shown.columns)), ["---"] * len(shown.columns)]
    lines += [[cell(value) for value in row] for row in shown.itertuples(index=False, name=None)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
