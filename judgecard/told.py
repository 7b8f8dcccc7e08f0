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
from judgecard.written import at

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
    """A condition, and what a card says of it.

    condition: with the whole path, from the set on.
    outcome: `HOLDS`; `PROVED`, where the whole interval lies beyond the bar; `UNTOLD`,
        where it has the bar inside; `FAILS` of what has no interval, such as a count;
        `MISSING`, where there is no number.
    number: at the path; NaN where it is missing.
    low, high: of the interval; NaN where the number has none.
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
    """What does a card say of a condition?

    Raises: ValueError for a text that is no condition, and for a path that leads
        nowhere, with the names near it.
    """
    condition = _from_the_set(Condition.read(text), numbers)
    number = condition.value(numbers)
    cell = condition.cell(numbers)
    low, high = _interval(condition, cell)
    outcome = _outcome(condition, numbers, number, low, high)
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
    having = [name for name in sets if first in {*sets[name], *_aspects(sets[name])}]
    if having:
        ways = " or ".join(f"{name}.{path}" for name in having)
        raise ValueError(f"{path}: of which set? Write {ways}")
    return condition


def _aspects(of_set: Mapping[str, Any]) -> Mapping[str, Any]:
    """The aspects of a set; none of pairs."""
    aspects: Mapping[str, Any] = of_set.get("aspects", {})
    return aspects


def _interval(condition: Condition, cell: Mapping[str, Any]) -> tuple[float, float]:
    """Both ends of the interval that the condition is about."""
    last = condition.path.rpartition(".")[2]
    _, mark, kind = last.partition("_")
    if last not in _ENDS:
        mark = ""
        kind = ""
    ends = []
    for end in ("low", "high"):
        value = cell.get(f"{end}{mark}{kind}")
        ends.append(math.nan if value is None else float(value))
    return ends[0], ends[1]


def _outcome(
    condition: Condition,
    numbers: Mapping[str, Any],
    number: float,
    low: float,
    high: float,
) -> str:
    """What is known of the condition, by the number and the interval around it."""
    if math.isnan(number):
        return MISSING
    if condition.holds(numbers):
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
    return _more(answer, numbers, times)


def _more(answer: Told, numbers: Mapping[str, Any], times: float) -> str:
    """Where so many times as many units are what would tell, in words."""
    condition = answer.condition
    set_name = next(
        name for name in numbers["sets"] if condition.path.startswith(f"{name}.")
    )
    of_set = numbers["sets"][set_name]
    units = _units(condition, of_set, set_name)
    needed = []
    present = []
    for unit in units:
        number = of_set[unit]
        needed.append(f"{math.ceil(number * times):,} {unit}")
        present.append(f"{number:,} {unit}")
    return (
        f"about {' and '.join(needed)} would tell, instead of "
        f"{' and '.join(present)}, if the value stays"
    )


def _units(
    condition: Condition, of_set: Mapping[str, Any], set_name: str
) -> tuple[str, ...]:
    """What must be more for the interval to be narrower: keys of the set's numbers."""
    if of_set["kind"] == "pairs":
        return ("pairs",)
    aspects = _aspects(of_set)
    below = condition.path.removeprefix(f"{set_name}.")
    aspect = next((name for name in aspects if below.startswith(f"{name}.")), "")
    if aspect and at(aspects[aspect], "input") is None:
        return ("outputs",)
    if condition.path.endswith("_these"):
        return ("inputs",)
    return ("systems", "inputs")
