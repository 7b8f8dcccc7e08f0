"""What came of the rows of a run, counted part by part: no row is kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from nlgeval_lib.records import Status

# how a line on draws calls what became of them
_OF_DRAWS = {
    Status.TRUNCATED.value: "cut before the score",
    Status.FAILED.value: "lost",
    Status.UNPARSED.value: "unreadable",
    Status.OUT_OF_RANGE.value: "off the scale",
}
# Of more different reasons the later ones are not counted: reasons that name their row
# would fill the memory.
_REASONS = 10_000


@dataclass
class Tally:
    """How many rows have which status, for which reasons, and the range of the scores.

    statuses: status -> rows.
    reasons: reason -> rows without a score.
    remarks: what stands beside a score, such as that a text was cut -> rows.
    total: the sum of the scores, of which the mean is made.
    low, high: the lowest and the highest score; inf and -inf without any.
    signature: of the evaluator, as the last part has it.
    draws: status -> completions that the rows rest on; empty for metrics.
    cut: how many of these completions ended at the token limit.
    cut_read: how many of those had given their score before it.
    thin: rows whose mean rests on fewer draws than were asked for.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    signature: str = ""
    draws: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    cut_read: int = 0
    thin: int = 0

    def add(self, scored: pd.DataFrame) -> None:
        """Count the next part, as `Job.parts` gives it."""
        self.signature = scored.attrs.get("signature", "")
        self.statuses.update(scored["status"].tolist())
        if "details" in scored:
            for row in zip(scored["status"], scored["details"], strict=True):
                self._add_draws(*row)
        without_score = scored["status"] != Status.OK.value
        _count(self.reasons, scored.loc[without_score, "reason"])
        _count(self.remarks, scored.loc[~without_score, "reason"])
        values = scored["value"].dropna()
        if len(values):
            self.total += float(values.sum())
            self.low = min(self.low, values.min())
            self.high = max(self.high, values.max())

    def _add_draws(self, status: str, details: Mapping[str, Any]) -> None:
        """Count the draws of a row by its details; those of a metric have none."""
        if "n" not in details:
            return
        # The details of a single draw are the draw's own.
        statuses = details.get("statuses", [status])
        self.draws.update(statuses)
        draws = details.get("draws", [details])
        for draw, of_draw in zip(draws, statuses, strict=True):
            if draw.get("cut"):
                self.cut += 1
                self.cut_read += of_draw == Status.OK.value
        self.thin += status == Status.OK.value and details["n_missing"] > 0

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return self.statuses.total()

    @property
    def ok(self) -> int:
        """How many rows have a score."""
        return self.statuses[Status.OK.value]

    def draws_line(self) -> str:
        """What came of the completions; "" where each one was read whole."""
        total = self.draws.total()
        read = self.draws[Status.OK.value]
        if read == total and not self.cut:
            return ""
        line = f"{total:,} draws: {read:,} read ({read / total:.1%})"
        for status, count in self.draws.most_common():
            if status != Status.OK.value:
                line += f", {count:,} {_OF_DRAWS.get(status, status)}"
        if self.cut:
            line += f"; {self.cut:,} ended at the token limit"
            line += f", {self.cut_read:,} of them after their score"
        if self.thin:
            line += f"; rows on fewer draws than were asked for: {self.thin:,}"
        return line

    def lines(self) -> list[str]:
        """Coverage and mean, the most frequent reason for no score: a line each."""
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
        for remark, _ in self.remarks.most_common(1):
            rows = self.remarks.total()
            lines.append(f"scored rows with a remark: {rows:,}, such as: {remark}")
        return lines


def _count(counted: Counter[str], texts: pd.Series[str]) -> None:
    """Count the texts that say something; new ones only while there is room."""
    said = texts[texts.fillna("") != ""].tolist()
    if len(counted) >= _REASONS:
        said = [text for text in said if text in counted]
    counted.update(said)
