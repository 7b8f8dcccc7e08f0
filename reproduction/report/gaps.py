"""What is missing in an output, grouped by reason, each reason once with the command
that fills the gap.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib.names import counted_noun
from reproduction.report import comparisons

# The command in a reason that would make the number.
_COMMAND = re.compile(r"(?:to make them|to compute it|to get it): (nlgeval [^;(]+)")
_MOST_NAMED = 6  # things that lack for one reason and are named


def lines(gaps: Iterable[Mapping[str, Any]], cells: pd.DataFrame | None) -> list[str]:
    """A line a reason: what is missing, why, and the command that would make it; the
    reason of most printed numbers first.

    gaps: what a record lists, each with `what` and `reason`.
    cells: the compared cells of the output, if any; those without a number are counted.

    Example:
    >>> lines([{"what": "figure 2", "reason": "no font"}], None)
    ['figure 2: no font']
    """
    # By the reason in plain words, which several reasons may share.
    whats = defaultdict[str, list[str]](list)
    counts = Counter[str]()
    commands = defaultdict[str, list[str]](list)
    for gap in gaps:
        plain = comparisons.plain_gap(gap["reason"])
        whats[plain].append(gap["what"])
        commands[plain] += _COMMAND.findall(gap["reason"])
    if cells is not None:
        for reason in cells[cells["verdict"] == "missing"]["reason"]:
            plain = comparisons.plain_gap(reason)
            counts[plain] += 1
            commands[plain] += _COMMAND.findall(reason)
    reasons = dict.fromkeys([*whats, *counts])  # in an order that every run has
    sentences = []
    for plain in sorted(reasons, key=lambda plain: -counts[plain]):
        names = list(dict.fromkeys(whats[plain]))
        subject = "; ".join(names[:_MOST_NAMED])
        if len(names) > _MOST_NAMED:
            subject += f"; and {len(names) - _MOST_NAMED} more"
        if counts[plain]:
            number = counted_noun(counts[plain], "printed number")
            subject = f"{number} ({subject})" if subject else number
        remedies = dict.fromkeys(f"`{text.strip()}`" for text in commands[plain])
        remedy = f" ({' or '.join(remedies)})" if remedies else ""
        sentences.append(f"{subject}: {plain}{remedy}")
    return sentences
