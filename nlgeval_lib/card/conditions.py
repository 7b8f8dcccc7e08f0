"""Conditions on a card's numbers, `path op number`, as a gate and the verdict's rules
use them. They are read by a grammar of three parts and never run as code.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.names import near

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

        Raises: ValueError naming the names there are for a path that leads nowhere.
        """
        place: Any = numbers
        walked: list[str] = []
        for name in self.path.split("."):
            place = _step(place, name, walked)
            walked.append(name)
        if isinstance(place, Mapping) and ("value" in place or "reason" in place):
            place = place.get("value")
        if place is None:
            return math.nan
        if isinstance(place, bool | int | float):
            try:
                return float(place)
            except OverflowError:
                raise ValueError(f"{self.path} is above all numbers") from None
        raise ValueError(
            f"{self.path} is no number; it has {', '.join(map(str, place))}"
        )

    def holds(self, numbers: Mapping[str, Any]) -> bool:
        """Whether it holds; a missing number fulfils no condition.

        Raises: ValueError as `value`.
        """
        value = self.value(numbers)
        return not math.isnan(value) and _OPERATORS[self.op](value, self.number)


def _step(place: Any, name: str, walked: list[str]) -> Any:
    """What is at a name, or at it within one of the implied names.

    Raises: ValueError.
    """
    if isinstance(place, Mapping):
        if name in place:
            return place[name]
        if "reason" in place:
            return {"reason": place["reason"]}
        inner = place
        for implied in _IMPLIED:
            if implied in inner and isinstance(inner[implied], Mapping):
                inner = inner[implied]
                if name in inner:
                    return inner[name]
    listed = [*place] if isinstance(place, Mapping) else []
    for implied in _IMPLIED:
        if implied in listed:
            listed += list(place[implied])
    nearest = near(name, listed, 1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    where = ".".join(walked) or "the card"
    raise ValueError(
        f"{where} has no {name!r}{hint} It has {', '.join(map(str, listed)) or 'nothing'}"
    )


def holds(text: str, numbers: Mapping[str, Any]) -> bool:
    """Whether all conditions of a rule hold, joined by ` and `; a path that is not
    there fulfils none.
    """
    for part in text.split(" and "):
        condition = Condition.read(part)
        try:
            if not condition.holds(numbers):
                return False
        except ValueError:
            return False
    return True
