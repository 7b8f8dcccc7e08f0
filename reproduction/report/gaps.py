"""What is missing in an output, grouped by reason, each reason once with the command
that fills the gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib.names import counted_noun
from reproduction.report import comparisons

# The command in a reason that would make the number.
_COMMAND = re.compile(r"(?:to make them|to compute it|to get it): (nlgeval [^;(]+)")
_MOST_NAMED = 6  # things that lack for one reason and are named


def lines(gaps: Iterable[Mapping[str, Any]], cells: pd.DataFrame | None) -> list[str]:
    """A line a reason: what is missing, why, and the command that would make it.

    gaps: what a record lists, each with `what` and `reason`.
    cells: the compared cells of the output, if any; those without a number are counted.
    Returns: the reason of most printed numbers first, those of none in the order in
    which they were given.

    Example:
    >>> lines([{"what": "figure 2", "reason": "no font"}], None)
    ['figure 2: no font']
    """
    # By the reason in plain words, which several reasons may share: what lacks for
    # it, how many printed numbers do, and which commands would help.
    whats: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    commands: dict[str, list[str]] = {}
    for gap in gaps:
        plain = comparisons.plain_gap(gap["reason"])
        whats.setdefault(plain, []).append(gap["what"])
        commands.setdefault(plain, []).extend(_COMMAND.findall(gap["reason"]))
    if cells is not None:
        for reason in cells[cells["verdict"] == "missing"]["reason"]:
            plain = comparisons.plain_gap(reason)
            counts[plain] = counts.get(plain, 0) + 1
            commands.setdefault(plain, []).extend(_COMMAND.findall(reason))
    reasons = dict.fromkeys([*whats, *counts])  # in an order that every run has
    sentences = []
    for plain in sorted(reasons, key=lambda plain: -counts.get(plain, 0)):
        subject = _subject(whats.get(plain, []), counts.get(plain, 0))
        remedy = _remedy(commands[plain])
        sentences.append(f"{subject}: {plain}{remedy}")
    return sentences


def _subject(names: list[str], count: int) -> str:
    """What lacks for one reason: the number of printed numbers, the names, or both."""
    listed = _listed(names)
    if not count:
        return listed
    number = counted_noun(count, "printed number")
    if not listed:
        return number
    return f"{number} ({listed})"


def _remedy(commands: list[str]) -> str:
    """The commands that would help, in brackets; empty where none is known."""
    quoted = dict.fromkeys(f"`{command.strip()}`" for command in commands)
    if not quoted:
        return ""
    return f" ({' or '.join(quoted)})"


def _listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    distinct = list(dict.fromkeys(names))
    text = "; ".join(distinct[:_MOST_NAMED])
    further = len(distinct) - _MOST_NAMED
    if further > 0:
        text += f"; and {further} more"
    return text
