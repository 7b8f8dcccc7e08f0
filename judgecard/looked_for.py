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
_FAULTS = (verdict.FAILS, "limits")


def rows(numbers: Numbers) -> Iterator[dict[str, str]]:
    """A row a fault that has an interval, those of the whole set first.

    numbers: what was measured of a set.
    Yields: `aspect` ("" for the set), `fault, size` and the `outcome`.
    """
    yield from _rows("set", "", numbers)
    for aspect, measured in numbers.get("aspects", {}).items():
        yield from _rows("aspect", aspect, measured)


def _rows(of: str, aspect: str, measured: Numbers) -> Iterator[dict[str, str]]:
    """The rows of a set, or of an aspect."""
    for rule, bar in _bars(of).items():
        size = at(measured, bar.path.rpartition(".")[0])
        if size is not None:
            yield {
                "aspect": aspect,
                "fault": rule,
                "size": cell(size),
                "outcome": outcome(size, bar),
            }


def _bars(of: str) -> dict[str, conditions.Condition]:
    """The bar of each rule on a fault that one end of an interval decides, by the
    rule's name; of rules on one end the one that holds first.
    """
    bars: dict[tuple[str, str], tuple[str, conditions.Condition]] = {}
    for rule in verdict.rules():
        if rule["of"] != of or rule["kind"] not in _FAULTS:
            continue
        together = conditions.read_rule(rule["when"])[0]
        bar = together[0]
        of_one_end = {condition.path for condition in together} == {bar.path}
        if not of_one_end or bar.path.rpartition(".")[2] not in ("low", "high"):
            continue
        key = (bar.path, bar.op)
        known = bars.get(key)
        if known is None or _holds_before(bar, known[1]):
            bars[key] = (rule["rule"], bar)
    return dict(bars.values())


def _holds_before(bar: conditions.Condition, other: conditions.Condition) -> bool:
    """Whether a bar on one end is met before another one is."""
    if bar.op.startswith(">"):
        return bar.number < other.number
    return bar.number > other.number


def outcome(size: Numbers, bar: conditions.Condition) -> str:
    """What the interval of a fault's size says: found, not beyond its bar, or how large
    it would have to be for these data to tell.
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
        return f"not {more_or_less} {number(bar.number)}"
    from_size = bar.number + (size["value"] - near)
    return f"? (told where {more_or_less} {number(from_size)})"
