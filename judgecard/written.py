"""How a card's page writes numbers and tables."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nlgeval_lib import files, tables

esc = tables.for_markdown
DASH = "–"
# As `statistics.questions` has it, which loads numpy: a page needs no numbers' package.
EVERYTHING = 1.8
Numbers = Mapping[str, Any]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table of rows, heading -> cell, which are escaped here; "" without."""
    if not rows:
        return ""
    lines = []
    for row in rows:
        lines.append([esc(str(cell)) for cell in row.values()])
    return files.markdown_table([esc(head) for head in rows[0]], lines)


def bullets(lines: Iterable[str]) -> str:
    """A Markdown list of sentences, which are escaped here."""
    return "\n".join(f"- {esc(line)}" for line in lines)


def at(numbers: Numbers, path: str) -> Any:
    """What is at a path of names; None where it leads nowhere."""
    target: Any = numbers
    for name in path.split("."):
        if not isinstance(target, Mapping):
            return None
        target = target.get(name)
    return target


def agreements(numbers: Numbers) -> dict[str, Numbers]:
    """Aspect -> how the judge agrees with people, of one set: tau-b over all outputs;
    of pairs "accuracy" alone.
    """
    if numbers["kind"] == "pairs":
        return {"accuracy": numbers["accuracy"]}
    cells = {}
    for aspect, measured in numbers["aspects"].items():
        cells[aspect] = at(measured, "dataset.kendall") or {}
    return cells


def listed(rows: Any) -> list[Any]:
    """Rows, or none where a reason stands in their place."""
    if isinstance(rows, list):
        return rows
    return []


def text(value: Any) -> str:
    """A value as it is; a dash for None."""
    if value is None:
        return DASH
    return str(value)


def count(value: Any) -> str:
    """A number of things; 0 for None."""
    return str(value or 0)


def number(value: Any) -> str:
    """A number with three digits after the point; a dash for anything else."""
    if isinstance(value, int | float):
        return f"{value:.3f}"
    return DASH


def share(value: Any) -> str:
    """A share in whole percent; a dash for None."""
    if value is None:
        return DASH
    return f"{value:.0%}"


def p_value(value: Any) -> str:
    """A p-value with three digits, never 0; a dash for None."""
    if value is None:
        return DASH
    if value < 0.001:
        return "< .001"
    return f"{value:.3f}"


def cell(numbers: Any) -> str:
    """A number with its interval, where it has one; a dash where there is no number."""
    if not isinstance(numbers, Mapping) or numbers.get("value") is None:
        return DASH
    if numbers.get("low") is None:
        return number(numbers["value"])
    return f"{numbers['value']:.3f} [{numbers['low']:.3f}, {numbers['high']:.3f}]"


def coefficient(numbers: Any) -> str:
    """A coefficient with the interval that says something: where that for other systems
    holds nearly everything, the one for these systems alone.
    """
    of_others = cell(numbers)
    if of_others == DASH or numbers.get("low_these") is None:
        return of_others
    if numbers.get("low") is None or numbers["high"] - numbers["low"] < EVERYTHING:
        return of_others
    value = number(numbers["value"])
    return f"{value} {these(numbers)} for these systems; for others anything"


def these(numbers: Any, question: str = "these") -> str:
    """The interval for these systems alone, or for other "families" of systems; a dash
    where there is none.
    """
    low = numbers.get(f"low_{question}")
    if low is None:
        return DASH
    return f"[{low:.3f}, {numbers[f'high_{question}']:.3f}]"


families = functools.partial(these, question="families")


def ranks(row: Numbers) -> str:
    """The ranks that a judge can have: one, or the best "to" the worst."""
    best = row["rank"]
    worst = row.get("rank_worst", best)
    if best == worst:
        return str(best)
    return f"{best} to {worst}"


def alt_test(numbers: Any) -> str:
    """The outcome of an alternative annotator test: the share of raters that are
    beaten, and whether it passes; a dash where it was not made.
    """
    winning_rate = at(numbers, "winning_rate")
    if winning_rate is None:
        return DASH
    outcome = "passes" if numbers["passed"] else "fails"
    return f"{winning_rate:.0%}, {outcome}"
