"""Hierarchy-aware scoring: each criterion of an output is asked for with its parent, and read as a number from 1 to 5.

Source: HD-Eval, section 2.1; prompts: Figures 11 to 13; a criterion's score: equation 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.hdeval.criteria import Node, in_sentence
from nlgeval_lib.evaluators.judge import most_frequent
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Judgment, Sample, Status

LOW, HIGH = 1, 5  # printed in the prompts


@dataclass(frozen=True)
class Task:
    """What is evaluated: its name and background for the decomposition prompt, its scoring prompt and sample layout.

    fields: slot of the sample's layout -> field of a sample; without a layout, label -> field, empty fields left out.
    """

    name: str
    task: str
    background: str
    evaluate: Template
    sample: Template | None
    fields: Mapping[str, str]
    needs: tuple[str, ...] = ()
    criteria: str = ""  # the published decomposition, if there is one

    @classmethod
    def named(cls, name: str | Task) -> Task:
        """summary, dialogue, data_to_text, or general for anything else. Raises: ValueError for another name."""
        if isinstance(name, Task):
            return name
        known = prompts.load_definitions("hdeval_tasks")["tasks"]
        if name not in known:
            raise ValueError(f"task {name!r}; there are {', '.join(known)}, or give a Task")
        data = known[name]
        layout = prompts.template(data["sample"]) if data["sample"] else None
        evaluate = prompts.template(data["evaluate"])
        needs = tuple(data["needs"])
        return cls(name, data["task"], data["background"], evaluate, layout, data["fields"], needs, data["criteria"])

    def show(self, sample: Sample) -> str:
        """The sample as the prompts show it."""
        held = {slot: field_of(sample, field) for slot, field in self.fields.items()}
        if self.sample is not None:
            return self.sample.render(**held)
        return "\n\n".join(
            f"{label}:\n{text}" for label, text in held.items() if text or self.fields[label] == "output"
        )

    def prompt(self, node: Node, shown: str) -> str:
        """The scoring prompt of one criterion for a sample as `show` gives it."""
        parent = node.parent or node.criterion
        return self.evaluate.render(
            parent_criteria=in_sentence(parent.name),
            child_criteria=node.criterion.name,
            definition=node.criterion.definition,
            sample=shown,
        )


def field_of(sample: Sample, field: str) -> str:
    """A field of a sample as one text; of several references the first."""
    if field == "references":
        return sample.references[0] if sample.references else ""
    value = getattr(sample, field) if field in Sample.__slots__ else sample.extra.get(field, "")
    return value if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class CriteriaScores:
    """The judgments of some outputs on some criteria: `judgments[output][criterion]`."""

    criteria: tuple[str, ...]
    judgments: tuple[tuple[Judgment, ...], ...]

    def frame(self, index: Any = None) -> pd.DataFrame:
        """The scores [outputs, criteria], NaN where there is none."""
        values = np.array([[judgment.value for judgment in row] for row in self.judgments], dtype=np.float64)
        shape = (len(self.judgments), len(self.criteria))
        return pd.DataFrame(values.reshape(shape), index=index, columns=list(self.criteria))

    def __add__(self, other: CriteriaScores) -> CriteriaScores:
        """The same outputs with further criteria."""
        rows = tuple((*mine, *theirs) for mine, theirs in zip(self.judgments, other.judgments, strict=True))
        return CriteriaScores(self.criteria + other.criteria, rows)

    def coverage(self) -> pd.DataFrame:
        """For each criterion: how many scores there are, how many are missing, and the statuses of those."""
        rows = []
        for name, judgments in zip(self.criteria, zip(*self.judgments, strict=True), strict=True):
            lost = Counter(judgment.status.value for judgment in judgments if judgment.status is not Status.OK)
            why = ", ".join(f"{status} {count}" for status, count in lost.most_common())
            rows.append({"criterion": name, "n": len(judgments), "missing": lost.total(), "why": why})
        return pd.DataFrame(rows, columns=["criterion", "n", "missing", "why"]).set_index("criterion")


def missing_row(row: Sequence[Judgment], criteria: Sequence[str], policy: str, details: Mapping[str, Any]) -> Judgment:
    """The judgment of an output that the aggregator leaves without a number: which criteria lack a score, and why."""
    lost = [(name, j) for name, j in zip(criteria, row, strict=True) if j.status is not Status.OK]
    if not lost:
        return Judgment.missing(Status.UNPARSED, "no criterion was scored", **details)
    status, first = most_frequent([judgment for _, judgment in lost])
    names = ", ".join(name for name, _ in lost[:4]) + (", ..." if len(lost) > 4 else "")
    reason = f"{len(lost)} of {len(row)} criteria without a score ({names}; impute {policy}): {first}"
    return Judgment.missing(status, reason, **details)
