"""Metrics that compare an output with its reference: what several references become, and what an empty text gives."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators import base
from nlgeval_lib.evaluators.cached import CachedMetric, Item, Missing, Values, choose
from nlgeval_lib.schema import Judgment, Status


class PairMetric(CachedMetric):
    """A metric of (output, reference) pairs, with a rule for several references and one for empty texts.

    multi: what several references become. None: an item has one reference, more are an error; `"first"`; `"max"` and
        `"mean"` of the pairwise values; `"joint"`: the metric's own way, where it has one.
    empty: what a text without a word gives. `"nan"`: no value but a reason; `"zero"`: 0, as some published code has.
    cache, jobs: as for every cached metric.

    After a call, `details` says how many items, pairs, cached, computed and missing values there were.
    """

    multi_rules: ClassVar[tuple[str, ...]] = ("first", "max", "mean")
    empty_rules: ClassVar[tuple[str, ...]] = ("nan", "zero")

    def __init__(self, *, multi: str | None = None, empty: str = "nan", **common: Any) -> None:
        super().__init__(**common)
        self.multi = multi if multi is None else choose("multi", multi, self.multi_rules)
        self.empty = choose("empty", empty, self.empty_rules)

    def blank(self, text: str) -> str:
        """Why `text` has nothing that the metric can compare, or "" if it has. Such texts do not reach `compute`."""
        return "" if text.strip() else "is empty"

    def reference_columns(self) -> tuple[str, ...]:
        """The columns of a frame that may hold what the output is compared with, the preferred one first."""
        return ("reference", "references") if self.multi is None else ("references", "reference")

    def rules(self) -> dict[str, Any]:
        return {"refs": self.multi or "one", "empty": self.empty}

    def score_texts(self, outputs: Sequence[str], references: Sequence[str | Sequence[str]]) -> np.ndarray:
        """The value of each output against its reference or references: float64, NaN where undefined.

        Raises: ValueError naming the row for anything but texts, for unequal lengths, and for several references of an
        item without a rule (`multi`). Warns if what the metric needs is not on this machine.
        """
        outputs = base.check_texts(outputs, "output")
        groups = base.check_references(references)
        judged = self._judge(outputs, groups)
        gone = next((j.reason for j in judged if j.status is Status.UNAVAILABLE), None)
        if gone is not None:
            warnings.warn(f"{self.name}: {gone}", UserWarning, stacklevel=2)
        return np.array([j.value for j in judged], dtype=np.float64)

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` of each row of `frame`, same index; needs `output` and `reference` or `references`.

        With a rule for several references the column `references` is preferred, without one `reference`.
        `attrs["signature"]` and `attrs["details"]` tell how.

        Raises: ValueError naming the column or the row.
        """
        outputs, labels = base.column(frame, "output"), list(frame.index)
        outputs = base.check_texts(outputs, "output", labels)
        chosen = base.column(frame, *self.reference_columns())
        groups = base.check_references(chosen, labels, str(chosen.name))
        return base.score_frame(frame.index, self._judge(outputs, groups, labels), self.signature(), self.details)

    # -- how --

    def _judge(
        self, outputs: list[str], groups: list[tuple[str, ...]], labels: list[Any] | None = None
    ) -> list[Judgment]:
        if len(outputs) != len(groups):
            raise ValueError(f"{len(outputs)} outputs and {len(groups)} references; give one entry an item of each")
        if self.multi is None:
            for position, group in enumerate(groups):
                if len(group) > 1:
                    row, rules = base.row_name(position, labels), ", ".join(self.multi_rules)
                    raise ValueError(f"{row}: {len(group)} references; say what they become: multi= {rules}")
        plans = [self._plan(output, group) for output, group in zip(outputs, groups, strict=True)]
        pairs = list(dict.fromkeys(pair for plan in plans if isinstance(plan, list) for pair in plan))
        values = self.values(pairs)
        judged = [plan if isinstance(plan, Judgment) else self._join([values[p] for p in plan]) for plan in plans]
        missing = sum(j.status is not Status.OK for j in judged)
        self.details |= {"items": len(outputs), "pairs": len(pairs), "missing": missing}
        return judged

    def _plan(self, output: str, group: tuple[str, ...]) -> list[Item] | Judgment:
        """The pairs whose values make an item's score, or the score where no pair is needed."""
        if not group:
            return Judgment.missing(Status.EMPTY, "no reference")
        group = group[:1] if self.multi == "first" else group
        if self.empty in ("nan", "zero"):
            kept = tuple(reference for reference in group if not self.blank(reference))
            if why := self.blank(output):
                return self._blank(f"output {why}")
            if not kept:
                return self._blank(f"reference {self.blank(group[0])}")
            group = kept
        if self.multi == "joint":
            return [(output, *group)]
        return [(output, reference) for reference in group]

    def _blank(self, why: str) -> Judgment:
        if self.empty == "zero":
            return Judgment(0.0, reason=f"{why}; counted as 0")
        return Judgment.missing(Status.EMPTY, why)

    def _join(self, values: list[Values | Missing]) -> Judgment:
        judgments = [self.judgment(value) for value in values]
        if missing := next((judgment for judgment in judgments if judgment.status is not Status.OK), None):
            return missing
        numbers = [judgment.value for judgment in judgments]
        return Judgment(max(numbers) if self.multi == "max" else math.fsum(numbers) / len(numbers))
