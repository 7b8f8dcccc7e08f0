"""What came of the rows of a run, counted."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from nlgeval_lib.records import Status

# how a line on draws calls what became of them
_OF_DRAWS = {
    Status.TRUNCATED.value: "cut before the score",
    Status.FAILED.value: "lost",
    Status.UNPARSED.value: "unreadable",
    Status.OUT_OF_RANGE.value: "off the scale",
}


class Tally:
    """How many rows have which status, for which reasons, and what came of the draws.

    reasons, remarks: why there is no score, and what stands beside a score -> rows.
    draws: status -> completions that the rows rest on; empty for metrics.
    cut, cut_read: completions that ended at the token limit, and those of them that had
    given their score before it.
    thin: rows whose mean rests on fewer draws than were asked for.
    """

    def __init__(self, scored: pd.DataFrame) -> None:
        self.rows = len(scored)
        self.signature = scored.attrs.get("signature", "")
        self.statuses = Counter(scored["status"].tolist())
        self.ok = self.statuses[Status.OK.value]
        is_scored = scored["status"] == Status.OK.value
        reasons = scored["reason"].fillna("")
        self.reasons = Counter(filter(None, reasons[~is_scored]))
        self.remarks = Counter(filter(None, reasons[is_scored]))
        self.values = scored["value"].dropna()
        self.draws: Counter[str] = Counter()
        self.cut = 0
        self.cut_read = 0
        self.thin = 0
        for status, details in zip(
            scored["status"], scored.get("details", [{}] * len(scored)), strict=True
        ):
            if "n" not in details:  # a metric has no draws
                continue
            # The details of a single draw are the draw's own.
            statuses = details.get("statuses", [status])
            draws = details.get("draws", [details])
            self.draws.update(statuses)
            for draw, of_draw in zip(draws, statuses, strict=True):
                if draw.get("cut"):
                    self.cut += 1
                    self.cut_read += of_draw == Status.OK.value
            self.thin += status == Status.OK.value and details["n_missing"] > 0

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
            summary += (
                f"; mean {self.values.mean():.4g}, from {self.values.min():.4g} to "
                f"{self.values.max():.4g}"
            )
        lines = [summary]
        for reason, _ in self.reasons.most_common(1):
            lines.append(f"most frequent reason: {reason}")
        for remark, _ in self.remarks.most_common(1):
            rows = self.remarks.total()
            lines.append(f"scored rows with a remark: {rows:,}, such as: {remark}")
        return lines
