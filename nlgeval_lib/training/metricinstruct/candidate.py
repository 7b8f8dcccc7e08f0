"""One example in the making: an output with the errors that the teacher found or put in."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.parsers.error_fields import ErrorItem
from nlgeval_lib.schema import Sample


@dataclass(frozen=True, slots=True)
class Candidate:
    """An instruction, its input and reference, an output, and its errors.

    channel: `real` (a system's output) or `synthetic` (written by the teacher). template: the prompt it comes from.
    failure: why the teacher gave nothing; problem: why its text could not be read. asked: the aspects that a synthetic
    output was to err in, empty where the teacher chose them.
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
    failure: str = ""
    problem: str = ""

    @property
    def group(self) -> str:
        """The part of the data, for counts: channel and task."""
        return f"{self.channel} {self.task}"

    def sample(self) -> Sample:
        """The candidate as evaluators take it."""
        return Sample(self.id, self.output, self.instruction, self.input, references=(self.reference,))

    def prompt(self) -> str:
        """What the fine-tuned model is asked. Source: TIGERScore, Table 9."""
        return prompts.render(
            "tigerscore/evaluate",
            generation_instruction=self.instruction,
            input_context=self.input,
            hypothesis_output=self.output,
        )

    def example(self) -> dict[str, Any]:
        """The example as a set keeps it: `prompt`, `completion`, and where they come from."""
        return {
            "id": self.id,
            "prompt": self.prompt(),
            "completion": analysis(self.errors),
            "channel": self.channel,
            "template": self.template,
            "task": self.task,
            "dataset": self.dataset,
            "system_id": self.system_id,
            "instruction": self.instruction,
            "input": self.input,
            "reference": self.reference,
            "output": self.output,
            "errors": [record(error) for error in self.errors],
            "n_errors": len(self.errors),
            "score": 0.0 - sum(error.reduction for error in self.errors),
        }

    def known(self) -> dict[str, Any]:
        """All that is known of a candidate that may have no output: what the list of the removed keeps."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**fields, "errors": [record(error) for error in self.errors], "asked": list(self.asked)}


def record(error: ErrorItem) -> dict[str, Any]:
    """An error as a mapping."""
    return {
        "location": error.location,
        "aspect": error.aspect,
        "explanation": error.explanation,
        "severity": error.severity,
        "reduction": error.reduction,
    }


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
