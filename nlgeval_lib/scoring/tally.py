"""What came of the rows of a run, counted part by part."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import pandas as pd

from nlgeval_lib.records import Status

_REASONS = 10_000


@dataclass
class Tally:
    """What came of the rows so far."""

    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(
        default_factory=Counter
    )  # those seen first, where there are very many
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    signature: str = ""

    def add(self, scored: pd.DataFrame) -> None:
        """The next part."""
        self.signature = scored.attrs.get("signature", "")
        self.statuses.update(scored["status"].tolist())
        lost = scored.loc[scored["status"] != Status.OK.value, "reason"].tolist()
        self.reasons.update(
            lost
            if len(self.reasons) < _REASONS
            else [one for one in lost if one in self.reasons]
        )
        values = scored["value"].dropna()
        if len(values):
            self.total += float(values.sum())
            self.low, self.high = (
                min(self.low, values.min()),
                max(self.high, values.max()),
            )

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.statuses.total()

    @property
    def ok(self) -> int:
        """Rows with a score."""
        return self.statuses[Status.OK.value]

    def lines(self) -> list[str]:
        """Coverage, and the most frequent reason for a gap."""
        said = f"{self.rows:,} rows: {self.ok:,} scored ({self.ok / self.rows:.1%})"
        lost = self.statuses.most_common()
        said += "".join(
            f", {count:,} {status}"
            for status, count in lost
            if status != Status.OK.value
        )
        if self.ok:
            said += f"; mean {self.total / self.ok:.4g}, from {self.low:.4g} to {self.high:.4g}"
        return [
            said,
            *(
                f"most frequent reason: {reason}"
                for reason, _ in self.reasons.most_common(1)
            ),
        ]
