"""Conditions on a card's numbers, `path op number`, as a gate and the verdict's rules
use them. They are read by a grammar of three parts and never run as code.
"""

from __future__ import annotations

import math
import operator
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.files import printable
from nlgeval_lib.names import meant

_CONDITION = re.compile(
    r"\s*(?P<path>[^\s<>=!][^<>=!]*?)\s*(?P<op><=|>=|==|!=|<|>)\s*"
    r"(?P<number>[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)\s*",
    re.IGNORECASE,
)
_OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
# Names that a path may leave out: where a name is not there, it is looked for in these.
_IMPLIED = ("sets", "aspects", "dataset")
_LISTED = 12  # so many names at most are in a message


@dataclass(frozen=True)
class Condition:
    """One `path op number`.

    path: names joined by dots, from the card or from a set on; "sets", "aspects" and
        "dataset" may be left out.
    op: one of `<`, `<=`, `>`, `>=`, `==`, `!=`.
    """

    path: str
    op: str
    number: float

    @classmethod
    def read(cls, text: str) -> Condition:
        """The condition that a text says. Raises: ValueError with the form needed."""
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise ValueError(
                f"{text!r} is no condition; write PATH OPERATOR NUMBER, such as "
                "'summeval.coherence.kendall.low >= .3', with one of "
                f"{', '.join(_OPERATORS)}"
            )
        return cls(match["path"], match["op"], float(match["number"]))

    def value(self, numbers: Mapping[str, Any]) -> float:
        """The number at the path (of one with an interval its value); NaN where it is
        known to be missing.

        Raises: ValueError for a path that leads to no number, with those near it.
        """
        target, around, _ = self._walked(numbers)
        if _is_cell(target):
            target = target.get("value")
        if target is None:
            return math.nan
        if not isinstance(target, bool | int | float):
            raise ValueError(f"{self.path} is {_no_number(target, around)}")
        try:
            return float(target)
        except OverflowError:
            raise ValueError(f"{self.path} is above all numbers") from None

    def cell(self, numbers: Mapping[str, Any]) -> Mapping[str, Any]:
        """The number with its interval that the path leads to, or into: `value, low,
        high, n`, or `reason`; empty for a number without one, such as a count.

        Raises: ValueError for a path that leads nowhere.
        """
        return self._walked(numbers)[2]

    def _walked(self, numbers: Mapping[str, Any]) -> tuple[Any, Any, Mapping[str, Any]]:
        """What is at the path, what it is in, and the last cell on the way."""
        around: Any = numbers
        target: Any = numbers
        cell: Mapping[str, Any] = {}
        walked: list[str] = []
        names = self.path.split(".")
        while names:
            around = target
            name = _next_name(around, names)
            target = _step(around, name, ".".join(walked))
            if _is_cell(target):
                cell = target
            walked.append(name)
            names = names[name.count(".") + 1 :]
        return target, around, cell

    def holds(self, numbers: Mapping[str, Any]) -> bool:
        """Whether it holds; a missing number fulfils none. Raises: as `value`."""
        return self.holds_for(self.value(numbers))

    def holds_for(self, value: float) -> bool:
        """Whether it holds of a number; of NaN it does not."""
        return not math.isnan(value) and _OPERATORS[self.op](value, self.number)


def holds(text: str, numbers: Mapping[str, Any]) -> bool:
    """Whether all conditions of a rule hold, or of one of its alternatives; a path that
    is not there fulfils none.

    Raises: ValueError for a text that is no condition.
    """
    return any(
        all(_holds_if_there(condition, numbers) for condition in alternative)
        for alternative in read_rule(text)
    )


def read_rule(text: str) -> list[list[Condition]]:
    """The alternatives of a rule, each the conditions that hold together.
    Raises: ValueError for a text that is no condition.
    """
    alternatives = []
    for alternative in text.split(" or "):
        parts = alternative.split(" and ")
        alternatives.append([Condition.read(part) for part in parts])
    return alternatives


def _holds_if_there(condition: Condition, numbers: Mapping[str, Any]) -> bool:
    """Whether a condition holds; no where its path is not there."""
    try:
        return condition.holds(numbers)
    except ValueError:
        return False


def _is_cell(target: Any) -> bool:
    """Whether it is a number with its interval, or the reason why there is none."""
    return isinstance(target, Mapping) and ("value" in target or "reason" in target)


def _next_name(around: Any, parts: list[str]) -> str:
    """The name that the parts of a path begin with."""
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        if any(name in node for node in _reached(around)):
            return name
    return parts[0]


def _reached(around: Any) -> list[Mapping[str, Any]]:
    """The objects in which a name is looked for: this one, then the implied ones."""
    if not isinstance(around, Mapping):
        return []
    implied = [around.get(name) for name in _IMPLIED]
    return [around, *(node for node in implied if isinstance(node, Mapping))]


def _step(around: Any, name: str, path: str) -> Any:
    """What is at a name, or at it within one of the implied names."""
    path = path or "the card"
    if not isinstance(around, Mapping):
        raise ValueError(f"{path} has nothing below it, no {name!r} either")
    if name not in around and "reason" in around:
        return {"reason": around["reason"]}
    names: list[str] = []
    for node in _reached(around):
        if name in node:
            return node[name]
        names += node
    listed = printable(", ".join(names)) or "nothing"
    raise ValueError(f"{path} has no {name!r}{meant(name, names)} it has {listed}")


def _no_number(target: Any, around: Any) -> str:
    """What stands at a path that leads to no number, and the numbers near it."""
    kind = "a text, no number"
    where = "beside"
    if isinstance(target, Mapping):
        kind = "no number"
        where = "below"
        around = target
    elif isinstance(target, list):
        kind = "a list, no number"
    paths = list(_number_paths(around))
    if not paths:
        return f"{kind}; there is none {where} it"
    listed = printable(", ".join(paths[:_LISTED]))
    if len(paths) > _LISTED:
        listed += f" and {len(paths) - _LISTED} more"
    return f"{kind}; {where} it: {listed}"


def _number_paths(node: Mapping[str, Any]) -> Iterator[str]:
    """The paths below an object that lead to a number, the shortest first."""
    waiting = deque([("", node)])
    while waiting:
        path, inner = waiting.popleft()
        for name, target in inner.items():
            if not isinstance(target, Mapping):
                if isinstance(target, bool | int | float):
                    yield path + name
            elif "value" in target:
                yield path + name
            else:
                below = path if name in _IMPLIED else f"{path}{name}."
                waiting.append((below, target))
