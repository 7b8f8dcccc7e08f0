"""What every statistic returns: a frozen `Result` that says in one line what was
computed. `Interval` holds the ends of an interval; a `Measured` result has one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
NAN = float("nan")
# the fields that `answer` gives, in the order in which they are read
FIRST = (
    *("value", "first", "second", "difference", "partial", "statistic"),
    *("low", "high", "p", "n"),
)


class Result:
    """Base of the records, which are frozen dataclasses; `float` gives the `value`."""

    def signature(self) -> str:
        """What was computed, in one line of `key:setting` joined by "|"."""
        raise NotImplementedError

    def __float__(self) -> float:
        return float(getattr(self, "value"))  # noqa: B009

    def row(self) -> dict[str, Any]:
        """One row of a table: numbers and words by field name, the ends of the
        interval, the signature.
        """
        row = {}
        interval = None
        for entry in fields(self):  # type: ignore[arg-type]
            value = getattr(self, entry.name)
            if value is None or isinstance(value, (bool, int, float, str)):
                row[entry.name] = value
            elif isinstance(value, Interval):
                interval = value
        if interval is not None:
            row["low"] = interval.low
            row["high"] = interval.high
        row["signature"] = self.signature()
        return row

    def answer(self) -> dict[str, Any]:
        """What the result says, by name, in the order in which it is read; without NaN
        and None.
        """
        row = self.row()
        return {name: row[name] for name in FIRST if _is_there(row.get(name))}

    def _fields(self, *names: str) -> dict[str, Any]:
        """Some fields by name."""
        return {name: getattr(self, name) for name in names}

    def to_frame(self) -> pd.DataFrame:
        """The result as a table, of one row unless it compares several things."""
        import pandas as pd

        return pd.DataFrame([self.row()])

    def __repr__(self) -> str:
        parts = [f"{name}={_in_words(value)}" for name, value in self.answer().items()]
        parts.append(repr(self.signature()))
        influence = getattr(self, "influence", None)
        if influence and influence.is_notable and not influence.warning:
            parts.append(f"influence={str(influence)!r}")
        reason = getattr(self, "reason", "")
        if reason:
            parts.append(f"{reason=}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _is_there(value: Any) -> bool:
    return value is not None and value == value


def _in_words(value: Any) -> str:
    """A number with four digits; anything else as `str` has it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def together(*reasons: str) -> str:
    """Several reasons as one, each once; "" for none."""
    return "; ".join(dict.fromkeys(filter(None, reasons)))


@dataclass(frozen=True)
class Interval:
    """Ends of an interval; NaN with a reason where there is none.

    name: method and units, such as "jack-both"; "" where none was asked for.
    settings: what the name leaves open, as a signature says it.
    n_undefined: replicates without a value.
    confidence: in (0, 1).
    replicates: values of the resamples; of a jackknife the statistic, its spread and
        its limits; none of a formula or of widened tails.
    """

    low: float = NAN
    high: float = NAN
    name: str = ""
    settings: str = ""
    n_undefined: int = 0
    reason: str = ""
    confidence: float = 0.95
    replicates: Any = field(
        default_factory=lambda: np.empty(0), repr=False, compare=False
    )

    def signature(self) -> str:
        """The interval's part of a signature, "|ci:jack-both|df:7.5", or ""."""
        return f"|ci:{self.name}{self.settings}" if self.name else ""


NO_INTERVAL = Interval()


class Measured(Result):
    """A result with an interval; its ends are NaN where none was asked for."""

    interval: Interval

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.interval.low

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.interval.high

    @property
    def replicates(self) -> Any:
        """What the interval was made from, as `Interval` says."""
        return self.interval.replicates
