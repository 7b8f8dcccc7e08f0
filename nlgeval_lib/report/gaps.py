"""What is missing in an output, grouped by reason, each reason once with the command
that fills the gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib.names import counted_noun
from nlgeval_lib.report import tables

# The command in a reason that would make the number.
_COMMAND = re.compile(r"(?:to make them|to compute it|to get it): (nlgeval [^;(]+)")
_MOST_NAMED = 6


def lines(gaps: Iterable[Mapping[str, Any]], cells: pd.DataFrame | None) -> list[str]:
    """A line a reason.

    gaps: what a record lists, each with `what` and `reason`. cells: the compared cells
    of the output, if any.
    """
    named: dict[str, list[str]] = {}
    commands: dict[str, list[str]] = {}
    for gap in gaps:
        plain = tables.plain_gap(gap["reason"])
        named.setdefault(plain, []).append(gap["what"])
        commands.setdefault(plain, []).extend(_COMMAND.findall(gap["reason"]))
    counts: dict[str, int] = {}
    empty = () if cells is None else cells[cells["verdict"] == "missing"]["reason"]
    for reason in empty:
        plain = tables.plain_gap(reason)
        counts[plain] = counts.get(plain, 0) + 1
        commands.setdefault(plain, []).extend(_COMMAND.findall(reason))
    written = []
    reasons = dict.fromkeys([*named, *counts])  # in an order that every run has
    for plain in sorted(reasons, key=lambda plain: -counts.get(plain, 0)):
        what = _listed(named.get(plain, []))
        if plain in counts:
            number = counted_noun(counts[plain], "printed number")
            what = f"{number} ({what})" if what else number
        ways = [f"`{command.strip()}`" for command in commands[plain]]
        way = f" ({' or '.join(dict.fromkeys(ways))})" if ways else ""
        written.append(f"{what}: {plain}{way}")
    return written


def _listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    distinct = list(dict.fromkeys(names))
    text = "; ".join(distinct[:_MOST_NAMED])
    further = len(distinct) - _MOST_NAMED
    return f"{text}; and {further} more" if further > 0 else text
