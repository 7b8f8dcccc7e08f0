"""What every statistic returns: a frozen record that says in one line what was
computed, with its interval.

`Result` is the base: `float(result)`, `answer()`, `signature()`, `row()`, `to_frame()`.
`Interval` holds the ends of an interval and how it was made. `Measured` is a `Result`
that has one.
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
    "value",
    "first",
    "second",
    "difference",
    "partial",
    "statistic",
    "low",
    "high",
    "p",
    "n",
)


class Result:
    """Base of the records, which are frozen dataclasses.

    One with a `value` is that number for `float`. Its `repr` is the answer, the
    signature and, where there is one, the reason.
    """

    def signature(self) -> str:
        """What was computed, in one line of `key:setting` joined by "|"."""
        raise NotImplementedError

    def __float__(self) -> float:
        return float(getattr(self, "value"))  # noqa: B009

    def row(self) -> dict[str, Any]:
        """The result as one row of a table.

        Returns: numbers and words by field name, then the ends of the interval, then
            the signature; arrays and tables are left out.
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
        """What the result says, by name, in the order in which it is read: estimate,
        statistic, interval, p, n; what is NaN or None is left out.
        """
        row = self.row()
        return {name: row[name] for name in FIRST if _is_there(row.get(name))}

    def to_frame(self) -> pd.DataFrame:
        """The result as a table, of one row unless it compares several things."""
        import pandas as pd

        return pd.DataFrame([self.row()])

    def to_markdown(self) -> str:
        """The table of `to_frame` as Markdown, numbers with four digits."""
        table = self.to_frame()
        header = list(map(str, table.columns))
        lines = [header, ["---"] * len(header)]
        for row in table.itertuples(index=False):
            # A bar would open another column; signatures have many.
            cells = [_in_words(value).replace("|", r"\|") for value in row]
            lines.append(cells)
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

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
    """Whether a value is neither None nor NaN."""
    return value is not None and value == value


def _in_words(value: Any) -> str:
    """A number with four digits; anything else as `str` has it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


@dataclass(frozen=True)
class Interval:
    """Ends of an interval; NaN with a reason where there is none.

    low, high: the ends.
    name: the method and its units, such as "jack-both"; "" where none was asked for.
    settings: what the name leaves open, as a signature says it.
    n_undefined: replicates without a value.
    reason: why there are no ends, or what to be careful about.
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
        """The interval's part of a signature, "|ci:jack-both|df:7.5"; "" without a
        name.
        """
        return f"|ci:{self.name}{self.settings}" if self.name else ""


NO_INTERVAL = Interval()


class Measured(Result):
    """A result with an interval, whose ends it has as `low` and `high`: NaN where
    none was asked for.
    """

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
