"""One example in the making: an output with the errors that the teacher found or put in."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.tigerscore import find_task
from nlgeval_lib.parsers.errors import ErrorItem
from nlgeval_lib.records import Sample
from nlgeval_lib.training.pipeline import Piece

TWO_STEP, WITH_ASPECTS, FREE = "two-step", "table_18", "table_19"
_NEEDED = ("instruction", "reference")
_KEPT = ("input", "output", "dataset", "system_id", "input_id")
_ALSO = {"input": "source", "reference": "references"}


@dataclass(frozen=True, slots=True)
class Candidate(Piece):
    """An instruction, its input and reference, an output, and its errors.

    channel: `real` (a system's output) or `synthetic` (written by the teacher). template: the prompt it comes from.
    asked: the aspects that a synthetic output was to err in, empty where the teacher chose them (`free`).
    """

    id: str
    channel: str
    template: str
    task: str
    dataset: str
    system_id: str
    instruction: str
    input: str
    reference: str
    output: str = ""
    errors: tuple[ErrorItem, ...] = ()
    asked: tuple[str, ...] = ()
    free: bool = False

    @property
    def group(self) -> str:
        """The part of the data, for counts: channel and task."""
        return f"{self.channel} {self.task}"

    def sample(self) -> Sample:
        """The candidate as evaluators take it, with its analysis."""
        extra = {"analysis": analysis(self.errors)}
        return Sample(self.id, self.output, self.instruction, self.input, references=(self.reference,), extra=extra)

    def example(self) -> dict[str, Any]:
        """The example as a set keeps it: `prompt`, `completion`, and where they come from.

        Source: TIGERScore, Table 9 (what the fine-tuned model is asked).
        """
        prompt = prompts.render(
            "tigerscore/evaluate",
            generation_instruction=self.instruction,
            input_context=self.input,
            hypothesis_output=self.output,
        )
        known = self.content()
        return {
            "id": known.pop("id"),
            "prompt": prompt,
            "completion": analysis(self.errors),
            **{name: value for name, value in known.items() if name not in ("asked", "free")},
            "n_errors": len(self.errors),
            "score": 0.0 - sum(error.reduction for error in self.errors),
        }

    def content(self) -> dict[str, Any]:
        """All that is known of a candidate, which may have no output."""
        inherited = [f.name for f in dataclasses.fields(Piece)]
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in inherited}
        fields = ("location", "aspect", "explanation", "severity", "reduction")
        errors = [{name: getattr(error, name) for name in fields} for error in self.errors]
        return {**own, "errors": errors, "asked": list(self.asked)}


def candidates(frame: pd.DataFrame, channel: str, template: str, teacher: str = "") -> list[Candidate]:
    """A candidate for each row: `task`, `instruction`, `source` or `input`, `reference` or `references`; for the real
    channel also `output`. `dataset`, `system_id` and `input_id` are kept; a missing text is empty.

    Raises: ValueError for a missing column or an unknown task.
    """
    where = {
        name: next((column for column in (_ALSO.get(name, name), name) if column in frame.columns), "")
        for name in (*_NEEDED, *_KEPT)
    }
    needed = (*_NEEDED, *(["output"] if channel == "real" else []))
    missing = [name for name in needed if not where[name]] + ([] if "task" in frame.columns else ["task"])
    if missing:
        raise ValueError(f"no column {', '.join(missing)}; the frame has {', '.join(map(str, frame.columns))}")
    labels = {name: find_task(name).label for name in dict.fromkeys(frame["task"])}
    made = []
    for place, row in enumerate(frame.to_dict("records")):
        values: dict[str, Any] = {name: _text(row[column]) if column else "" for name, column in where.items()}
        name = values.pop("input_id") or str(place)
        if channel == "synthetic":
            values |= {"output": "", "system_id": teacher}
        whole = "/".join(part for part in (channel, template, name, values["system_id"]) if part)
        values |= {"id": f"{whole}#{place}", "channel": channel, "template": template, "task": labels[row["task"]]}
        made.append(Candidate(free=template == FREE, **values))
    return made


def _text(value: Any) -> str:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        value = value[0] if len(value) else ""
    return value if isinstance(value, str) else ""


def analysis(errors: Sequence[ErrorItem]) -> str:
    """The errors as TIGERScore writes them: a line that counts them, then five labelled lines an error.

    `parsers.error_analysis` reads it back. Line breaks inside a field become blanks, as a label begins a line.
    Source: TIGERScore, Table 23 and the authors' published outputs.
    """
    total = sum(error.reduction for error in errors)
    lines = [f"The model-generated output contains {len(errors)} errors, with a total score reduction of {total:g}."]
    for number, error in enumerate(errors, start=1):
        lines += [
            f"Error location {number}: {_line(error.location)}",
            f"Error aspect {number}: {_line(error.aspect)}",
            f"Explanation {number}: {_line(error.explanation)}",
            f"Severity {number}: {error.severity}",
            f"Score reduction {number}: {error.reduction:g}",
        ]
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())
