"""Which faults were looked for, and what was found: a row an aspect and fault, so that
"not found" is never taken for "not there".
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

from judgecard import conditions, verdict
from judgecard.written import at, cell, number

Numbers = Mapping[str, Any]
_OF_FAULTS = "faults."


def rows(aspects: Mapping[str, Numbers]) -> Iterator[dict[str, str]]:
    """A row a fault that has an interval.

    aspects: name -> what was measured of it.
    Yields: `aspect, fault, size` and the `outcome`.
    """
    for aspect, measured in aspects.items():
        for rule, bar in _bars().items():
            path = bar.path.rpartition(".")[0]
            size = at(measured, path)
            if size is not None:
                yield {
                    "aspect": aspect,
                    "fault": rule,
                    "size": cell(size),
                    "outcome": outcome(size, bar),
                }


def _bars() -> dict[str, conditions.Condition]:
    """The first condition of each rule on a fault with an interval, by the rule's name;
    of rules on one number the one that holds first.
    """
    bars: dict[tuple[str, str], tuple[str, conditions.Condition]] = {}
    for rule in verdict.rules():
        if rule["kind"] not in (verdict.FAILS, "limits"):
            continue
        bar = conditions.read_rule(rule["when"])[0][0]
        if not bar.path.startswith(_OF_FAULTS) or bar.path.count(".") < 2:
            continue
        if bar.path.rpartition(".")[2] not in ("low", "high"):
            continue
        key = (bar.path, bar.op)
        known = bars.get(key)
        if known is None or abs(bar.number) < abs(known[1].number):
            bars[key] = (rule["rule"], bar)
    return dict(bars.values())


def outcome(size: Numbers, bar: conditions.Condition) -> str:
    """What the interval of a fault's size says: found, not there, or how large it would
    have to be for these data to tell.
    """
    if size.get("low") is None:
        return f"not measured: {size.get('reason') or 'no interval'}"
    if bar.op.startswith(">"):
        is_beyond = operator.gt
        more_or_less = "above"
        near, far = size["low"], size["high"]
    else:
        is_beyond = operator.lt
        more_or_less = "below"
        near, far = size["high"], size["low"]
    if is_beyond(near, bar.number):
        return "found"
    if not is_beyond(far, bar.number):
        return "not there"
    from_size = bar.number + (size["value"] - near)
    return f"? (told where {more_or_less} {number(from_size)})"
