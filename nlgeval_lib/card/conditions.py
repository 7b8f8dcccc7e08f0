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
    r"\s*(?P<path>[^\s<>=!]+)\s*(?P<op><=|>=|==|!=|<|>)\s*"
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
    """One `path op number`."""

    path: str
    op: str
    number: float

    @classmethod
    def read(cls, text: str) -> Condition:
        """The condition that a text says.

        Raises: ValueError with the form that is needed.
        """
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise ValueError(
                f"{text!r} is no condition; write PATH OPERATOR NUMBER, such as "
                "'summeval.coherence.kendall.low >= .3', with one of "
                f"{', '.join(_OPERATORS)}"
            )
        return cls(match["path"], match["op"], float(match["number"]))

    def value(self, numbers: Mapping[str, Any]) -> float:
        """The number at the path; NaN where it is known to be missing.

        Raises: ValueError for a path that leads to no number, with those near it.
        """
        around: Any = numbers
        target: Any = numbers
        walked: list[str] = []
        for name in self.path.split("."):
            around = target
            target = _step(around, name, ".".join(walked))
            walked.append(name)
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

    def holds(self, numbers: Mapping[str, Any]) -> bool:
        """Whether it holds; a missing number fulfils no condition.

        Raises: ValueError as `value`.
        """
        value = self.value(numbers)
        if math.isnan(value):
            return False
        return _OPERATORS[self.op](value, self.number)


def holds(text: str, numbers: Mapping[str, Any]) -> bool:
    """Whether all conditions of a rule hold, joined by ` and `; a path that is not
    there fulfils none.
    """
    for condition_text in text.split(" and "):
        condition = Condition.read(condition_text)
        try:
            if not condition.holds(numbers):
                return False
        except ValueError:
            return False
    return True


def _is_cell(target: Any) -> bool:
    """Whether it is a number with its interval, or the reason why there is none."""
    return isinstance(target, Mapping) and ("value" in target or "reason" in target)


def _step(around: Any, name: str, path: str) -> Any:
    """What is at a name, or at it within one of the implied names.

    path: that has been walked. Raises: ValueError with the names that there are.
    """
    path = path or "the card"
    if not isinstance(around, Mapping):
        raise ValueError(f"{path} has nothing below it, no {name!r} either")
    if name in around:
        return around[name]
    if "reason" in around:
        return {"reason": around["reason"]}
    names = list(around)
    for implied in _IMPLIED:
        inner = around.get(implied)
        if not isinstance(inner, Mapping):
            continue
        if name in inner:
            return inner[name]
        names += inner
    listed = printable(", ".join(names)) or "nothing"
    raise ValueError(f"{path} has no {name!r}{meant(name, names)} it has {listed}")


def _no_number(target: Any, around: Any) -> str:
    """What stands at a path that leads to no number, and the numbers near it.

    around: the object that has it.
    """
    if isinstance(target, Mapping):
        kind = "no number"
        where = "below"
        paths = list(_number_paths(target))
    else:
        kind = "a text, no number"
        if isinstance(target, list):
            kind = "a list, no number"
        where = "beside"
        paths = list(_number_paths(around))
    if not paths:
        return f"{kind}; there is none {where} it"
    listed = printable(", ".join(paths[:_LISTED]))
    if len(paths) > _LISTED:
        listed += f" and {len(paths) - _LISTED} more"
    return f"{kind}; {where} it: {listed}"


def _number_paths(node: Mapping[str, Any]) -> Iterator[str]:
    """The paths below an object that lead to a number, the shortest first; that of a
    cell stands for all that it has.
    """
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
