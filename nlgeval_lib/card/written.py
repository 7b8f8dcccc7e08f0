"""How a card's page writes numbers and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.report import tables

esc = tables.for_markdown
DASH = "–"
Numbers = Mapping[str, Any]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of rows, heading -> cell, escaped here; nothing without rows."""
    if not rows:
        return ""
    heads = [esc(head) for head in rows[0]]
    lines = []
    for row in rows:
        lines.append([esc(str(cell)) for cell in row.values()])
    return files.markdown_table(heads, lines)


def bullets(lines: Iterable[str]) -> str:
    """A list of sentences, escaped here."""
    return "\n".join(f"- {esc(line)}" for line in lines)


def at(numbers: Numbers, path: str) -> Any:
    """What is at a path of names; None where it leads nowhere."""
    target: Any = numbers
    for name in path.split("."):
        if not isinstance(target, Mapping):
            return None
        target = target.get(name)
    return target


def listed(rows: Any) -> list[Any]:
    """Rows, or none where a reason stands in their place."""
    if isinstance(rows, list):
        return rows
    return []


def text(value: Any) -> str:
    """A value as it is."""
    if value is None:
        return DASH
    return str(value)


def number(value: Any) -> str:
    """A number with three digits."""
    if isinstance(value, int | float):
        return f"{value:.3f}"
    return DASH


def share(value: Any) -> str:
    """A share in percent."""
    if value is None:
        return DASH
    return f"{value:.0%}"


def p_value(value: Any) -> str:
    """A p-value, never 0."""
    if value is None:
        return DASH
    if value < 0.001:
        return "< .001"
    return f"{value:.3f}"


def cell(numbers: Any) -> str:
    """A number with its interval."""
    if not isinstance(numbers, Mapping) or numbers.get("value") is None:
        return DASH
    if numbers.get("low") is None:
        return number(numbers["value"])
    return f"{numbers['value']:.3f} [{numbers['low']:.3f}, {numbers['high']:.3f}]"


def interval_of(numbers: Numbers, question: str) -> str:
    """The interval of a question: `these` systems, other `families`."""
    low = numbers.get(f"low_{question}")
    high = numbers.get(f"high_{question}")
    if low is None:
        return DASH
    return f"[{low:.3f}, {high:.3f}]"


def ranks(row: Numbers) -> str:
    """The ranks that a judge can have."""
    best = row["rank"]
    worst = row.get("rank_worst", best)
    if best == worst:
        return str(best)
    return f"{best} to {worst}"


def alt_test(numbers: Any) -> str:
    """The outcome of an alternative annotator test."""
    winning_rate = at(numbers, "winning_rate")
    if winning_rate is None:
        return DASH
    outcome = "passes" if numbers["passed"] else "fails"
    return f"{winning_rate:.0%}, {outcome}"
