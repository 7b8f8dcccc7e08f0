"""From several draws of one judgment to one: their mean, and what happens where some of them are missing."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nlgeval_lib.schema import Judgment, Status

_FILL = re.compile(r"fill:(-?\d+(?:\.\d+)?)")
_NOT_ASKED = (Status.FAILED, Status.UNAVAILABLE)  # no completion: nothing that a policy could read as an answer


@dataclass(frozen=True, slots=True)
class Missing:
    """What becomes of draws without a number.

    drop: the mean of the others, missing only where all are. all: one missing draw makes the judgment missing.
    fill:X: a draw whose text gave no number counts as X; draws that the engine could not produce are dropped.
    """

    policy: str = "drop"

    def __post_init__(self) -> None:
        if self.policy not in ("drop", "all") and not _FILL.fullmatch(self.policy):
            raise ValueError(f"missing policy {self.policy!r}; allowed: 'drop', 'all', 'fill:<number>' as in 'fill:0'")

    @property
    def filling(self) -> float | None:
        """The number that a draw without one counts as, None where it counts as missing."""
        found = _FILL.fullmatch(self.policy)
        return float(found.group(1)) if found else None


def combine(judgments: Sequence[Judgment], missing: Missing | None = None) -> Judgment:
    """The mean of the draws of one judgment; a single draw stays what it is.

    details: those of a single draw as they are; `n` draws, `n_missing` of them without a number; with more than one
    draw also `values`, `statuses` and `draws`, the details of each.
    """
    missing = missing or Missing()
    if not judgments:
        return Judgment.missing(Status.FAILED, "no completion came back", n=0, n_missing=0)
    lost = [judgment for judgment in judgments if judgment.status is not Status.OK]
    details: dict[str, Any] = {"n": len(judgments), "n_missing": len(lost)}
    if len(judgments) == 1:
        details = {**judgments[0].details, **details}
    else:
        details["values"] = tuple(judgment.value for judgment in judgments)
        details["statuses"] = tuple(judgment.status.value for judgment in judgments)
        details["draws"] = tuple(judgment.details for judgment in judgments)
    values = [judgment.value for judgment in judgments if judgment.status is Status.OK]
    if missing.filling is not None:
        values += [missing.filling for judgment in lost if judgment.status not in _NOT_ASKED]
    if not values or (missing.policy == "all" and lost):
        return _lost(lost, len(judgments), details)
    return Judgment(math.fsum(values) / len(values), Status.OK, "", MappingProxyType(details))


def _lost(lost: Sequence[Judgment], n: int, details: dict[str, Any]) -> Judgment:
    """The most frequent status among the draws that are missing, and the first reason given for it."""
    status = Counter(judgment.status for judgment in lost).most_common(1)[0][0]
    reason = next(judgment.reason for judgment in lost if judgment.status is status)
    if n > 1:
        reason = f"{len(lost)} of {n} draws missing: {reason}"
    return Judgment(math.nan, status, reason, MappingProxyType(details))
