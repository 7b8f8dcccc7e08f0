"""What every parser returns, and how text gets in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.parsers.text import answer
from nlgeval_lib.records import Judgment, Status


@dataclass(frozen=True, slots=True)
class Parsed:
    """One reading of one text: a value, or the reason why there is none.

    `value` is NaN (None where the family's value is not a number) unless `status` is ok. `rule` names the rule that
    read it, or that found the text unreadable.
    """

    value: Any
    status: Status
    reason: str = ""
    rule: str = ""

    def __post_init__(self) -> None:
        missing = self.value is None or (isinstance(self.value, float) and math.isnan(self.value))
        if (self.status is Status.OK) == missing:
            raise ValueError(f"status {self.status.value!r} with value {self.value!r}: a value needs ok, none a reason")

    @property
    def ok(self) -> bool:
        """Whether a value was read."""
        return self.status is Status.OK

    def judgment(self, **details: Any) -> Judgment:
        """This reading as a `Judgment`; the rule and `details` go into its details.

        Raises: TypeError where the value is not a number.
        """
        value = math.nan if self.value is None else self.value
        if not isinstance(value, (int, float)):
            raise TypeError(f"{type(self).__name__}.value is {value!r}, not a number; take its fields instead")
        return Judgment(float(value), self.status, self.reason, {"rule": self.rule, **details})


def check_text(text: object, parser: str) -> str | None:
    """`text` without what is no answer (see `text.answer`), None where nothing was written (None or only blanks).

    Raises: TypeError for anything else, naming what was got.
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise TypeError(f"parsers.{parser} reads a str or None, got {type(text).__name__}: {str(text)[:60]!r}")
    if not text or text.isspace():
        return None
    return answer(text) if "<" in text or text.startswith(("[INST]", " [INST]")) else text


_PLAIN = (int, float)


def check_scale(low: object, high: object) -> tuple[float, float]:
    """Both ends of a scale as floats.

    Raises: ValueError where an end is not a finite number, is a bool, or `low` is not below `high`.
    """
    if type(low) in _PLAIN and type(high) in _PLAIN and -math.inf < low < high < math.inf:  # type: ignore[operator]
        return float(low), float(high)  # type: ignore[arg-type]
    for name, end in (("low", low), ("high", high)):
        if isinstance(end, bool) or not isinstance(end, (int, float)) or not math.isfinite(end):
            raise ValueError(f"{name} must be a finite number, got {end!r}")
    if not low < high:  # type: ignore[operator]
        raise ValueError(f"a scale needs low < high, got low={low!r}, high={high!r}")
    return float(low), float(high)  # type: ignore[arg-type]


def number(value: float) -> str:
    """A number as people write it: 4, 3.5."""
    return f"{value:g}"
