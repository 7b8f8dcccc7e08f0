"""What a card can tell of a condition: that it holds, that it is proved not to, or that
more labels are needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from judgecard import verdict
from judgecard.conditions import Condition

HOLDS = "holds"
PROVED = "proved not to hold"
FAILS = "does not hold"
UNTOLD = "cannot be told"
MISSING = "no number"
_ENDS = ("low", "high", "low_these", "high_these", "low_families", "high_families")
_ABOVE = (">", ">=")
_BELOW = ("<", "<=")


@dataclass(frozen=True)
class Told:
    """A condition, with the whole path from the set on, and what a card says of it.

    outcome: `HOLDS`; `PROVED`, where the whole interval lies beyond the bar; `UNTOLD`,
        where it has the bar inside; `FAILS` of what has no interval, such as a count;
        `MISSING`, where there is no number.
    number, low, high: at the path; NaN where one is missing.
    words: what a person needs to know, in lines.
    """

    condition: Condition
    outcome: str
    number: float
    low: float
    high: float
    words: str

    @property
    def holds(self) -> bool:
        """Whether the condition holds."""
        return self.outcome == HOLDS


def tell(text: str, numbers: Mapping[str, Any]) -> Told:
    """What does a card say of a condition? Raises: ValueError for a text that is none,
    and for a path that leads nowhere, with the names near it.
    """
    condition = _from_the_set(Condition.read(text), numbers)
    number = condition.value(numbers)
    cell = condition.cell(numbers)
    low, high = _interval(condition, cell)
    outcome = _outcome(condition, number, low, high)
    answer = Told(condition, outcome, number, low, high, "")
    lines = [_said(answer)]
    if outcome == MISSING:
        lines.append(f"there is no number: {cell.get('reason', 'it was not measured')}")
    elif outcome == PROVED:
        lines.append("the whole interval lies beyond the bar: more labels do not help")
    elif outcome == UNTOLD:
        lines.append(_what_would_tell(answer, cell, numbers))
    return replace(answer, words="\n".join(lines))


def _from_the_set(condition: Condition, numbers: Mapping[str, Any]) -> Condition:
    """The condition with the name of the set before its path, where it lacks one."""
    sets = numbers["sets"]
    path = condition.path
    names_set = any(path == name or path.startswith(f"{name}.") for name in sets)
    if names_set or path.partition(".")[0] in numbers:
        return condition
    if len(sets) == 1:
        return replace(condition, path=f"{next(iter(sets))}.{path}")
    first = path.partition(".")[0]
    having = [
        name for name in sets if first in {*sets[name], *sets[name].get("aspects", {})}
    ]
    if having:
        ways = " or ".join(f"{name}.{path}" for name in having)
        raise ValueError(f"{path}: of which set? Write {ways}")
    return condition


def _interval(condition: Condition, cell: Mapping[str, Any]) -> tuple[float, float]:
    """Both ends of the interval that the condition is about."""
    last = condition.path.rpartition(".")[2]
    question = last.removeprefix("low").removeprefix("high") if last in _ENDS else ""
    ends = [cell.get(f"{end}{question}") for end in ("low", "high")]
    low, high = (math.nan if end is None else float(end) for end in ends)
    return low, high


def _outcome(condition: Condition, number: float, low: float, high: float) -> str:
    """What is known of the condition, by the number and the interval around it."""
    if math.isnan(number):
        return MISSING
    if condition.holds_for(number):
        return HOLDS
    bar = condition.number
    if condition.op in _ABOVE and not math.isnan(high):
        return UNTOLD if high >= bar else PROVED
    if condition.op in _BELOW and not math.isnan(low):
        return UNTOLD if low <= bar else PROVED
    return FAILS


def _said(answer: Told) -> str:
    """The condition, the number and its interval in one line."""
    condition = answer.condition
    line = (
        f"{condition.path} {condition.op} {condition.number:g} {answer.outcome}: "
        f"it is {answer.number:.4g}"
    )
    if not math.isnan(answer.low):
        line += f", the 95 % interval [{answer.low:.3f}, {answer.high:.3f}]"
    return line


def _what_would_tell(
    answer: Told, cell: Mapping[str, Any], numbers: Mapping[str, Any]
) -> str:
    """How many labels would tell, if the value stays; or that none would."""
    condition = answer.condition
    value = cell["value"]
    bar = condition.number
    end = answer.low
    if condition.op in _BELOW:
        end = answer.high
    on_the_right_side = (value - bar) * (value - end) > 0
    if not on_the_right_side:
        return (
            f"the value itself, {value:.3f}, is on the wrong side of the bar, and the "
            "interval does not prove that it stays there: more labels tell, and are "
            "likelier to prove the opposite"
        )
    times = verdict.times_as_many(value, end, bar)
    path = condition.path
    name = next(name for name in numbers["sets"] if path.startswith(f"{name}."))
    of_set = numbers["sets"][name]
    needed = []
    present = []
    for unit in _units(path.removeprefix(f"{name}."), of_set):
        needed.append(f"{math.ceil(of_set[unit] * times):,} {unit}")
        present.append(f"{of_set[unit]:,} {unit}")
    return (
        f"about {' and '.join(needed)} would tell, instead of "
        f"{' and '.join(present)}, if the value stays"
    )


def _units(path: str, of_set: Mapping[str, Any]) -> tuple[str, ...]:
    """What must be more for the interval at a path to be narrower: keys of the set."""
    if of_set["kind"] == "pairs":
        return ("pairs",)
    for aspect, measured in of_set["aspects"].items():
        if path.startswith(f"{aspect}.") and "input" not in measured:
            return ("outputs",)
    return ("inputs",) if path.endswith("_these") else ("systems", "inputs")
