"""What came of the rows of a run, counted part by part."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import pandas as pd

from nlgeval_lib.records import Status

_REASONS = 10_000  # of more different reasons the later ones are not counted


@dataclass
class Tally:
    """How many rows have which status, for which reasons, and the range of the scores.

    signature: of the evaluator, as the last part has it.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    signature: str = ""

    def add(self, scored: pd.DataFrame) -> None:
        """Count the next part."""
        self.signature = scored.attrs.get("signature", "")
        self.statuses.update(scored["status"].tolist())
        without_score = scored["status"] != Status.OK.value
        reasons = scored.loc[without_score, "reason"].tolist()
        if len(self.reasons) >= _REASONS:
            reasons = [reason for reason in reasons if reason in self.reasons]
        self.reasons.update(reasons)
        values = scored["value"].dropna()
        if len(values):
            self.total += float(values.sum())
            self.low = min(self.low, values.min())
            self.high = max(self.high, values.max())

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.statuses.total()

    @property
    def ok(self) -> int:
        """How many rows with a score."""
        return self.statuses[Status.OK.value]

    def lines(self) -> list[str]:
        """Coverage, and the most frequent reason for a missing score."""
        summary = f"{self.rows:,} rows: {self.ok:,} scored ({self.ok / self.rows:.1%})"
        for status, count in self.statuses.most_common():
            if status != Status.OK.value:
                summary += f", {count:,} {status}"
        if self.ok:
            mean = self.total / self.ok
            summary += f"; mean {mean:.4g}, from {self.low:.4g} to {self.high:.4g}"
        lines = [summary]
        for reason, _ in self.reasons.most_common(1):
            lines.append(f"most frequent reason: {reason}")
        return lines
