"""TIGERScore's source of training data as an evaluator: errors found against a reference, then written as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.chat import ChatFormat
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.evaluators.tigerscore.analysis import input_of, read_analysis, said_once
from nlgeval_lib.evaluators.tigerscore.aspects import Task, find_task
from nlgeval_lib.prompts import Template
from nlgeval_lib.schema import Completion, Judgment, Sample

# task -> the prompt of its first step
FIRST_STEP = {
    "Summ": "reference_summarization",
    "Trans": "reference_translation",
    "D2T": "reference_data_to_text",
    "MathQA": "reference_math_qa",
    "LF-QA": "reference_long_form_qa",
    "Instruct": "reference_instruction_following",
}
_STAND_IN = "The output leaves out a detail of the reference (minor) and changes a date (major)."


class TigerScoreReferenceBased(Judge):
    """Two turns of a conversation: the judge names the errors with the reference in view, then writes them as JSON.

    task: which of the six prompts, and whose aspects. instruction: what outputs were to do, for rows that do not say.
    label: what stands before the reference in the four prompts that print it without one.
    The score is the sum of the penalties, 0 or less, as for `TigerScore`; details are the same, and `analysis`, the
    text of the first turn.

    Raises: ValueError for an unknown task, or a chat style other than messages.
    Source: TIGERScore, section 3.2, appendix A.1; prompts: Tables 11 to 16, then 17.
    """

    name = "tigerscore-reference"
    defaults = MappingProxyType({"temperature": 0.0, "max_tokens": 1024})
    stand_in = '{"errors": {}}'

    def __init__(
        self,
        *,
        task: str | Task,
        instruction: str = "",
        label: str = "Reference: ",
        chat: str | ChatFormat = "messages",
        **common: Any,
    ) -> None:
        super().__init__(chat=chat, **common)
        if self.chat.style != "messages":
            raise ValueError(f"chat {self.chat.label!r}; the two turns are a conversation: use messages")
        self.task = find_task(task)
        if self.task.label not in FIRST_STEP:
            raise ValueError(f"task {self.task.label!r} has no prompt; allowed: {', '.join(FIRST_STEP)}")
        self.instruction, self.label = instruction, label
        self.first = prompts.template(f"tigerscore/{FIRST_STEP[self.task.label]}")
        asks = {"generation_instruction", "generation_instruction_and_source"} & set(self.first.variables)
        needs_instruction = ("instruction",) if asks and not instruction else ()
        self.needs = ("output", "references", *needs_instruction)

    # -- the two prompts ------------------------------------------------------------------------------------------

    def render(self, sample: Sample) -> str:
        """The first turn."""
        instruction, source = sample.instruction or self.instruction, input_of(sample)
        labelled = self.task.label in ("Summ", "MathQA")  # these prompts print a label themselves
        values = {
            "generation_instruction": instruction,
            "input_context": source,
            "generation_instruction_and_source": "\n".join(text for text in (instruction, source) if text),
            "reference_output": sample.references[0] if labelled else f"{self.label}{sample.references[0]}",
            "hypothesis_output": sample.output,
            "task": self.task.name,
            "aspects_list": self.task.aspects_list,
            "aspects_descriptions": self.task.aspects_descriptions,
        }
        return self.first.render(**{name: values[name] for name in self.first.variables})

    def requests(self, sample: Sample) -> Sequence[Request]:
        return [Request(messages=self._turns(sample), id=sample.id)]

    def second(self, sample: Sample, analysis: str) -> Request:
        """The second turn, after the judge's analysis."""
        ask = prompts.render("tigerscore/format_json", aspects_list=self.task.aspects_list)
        turns = ({"role": "assistant", "content": analysis}, {"role": "user", "content": ask})
        return Request(messages=(*self._turns(sample), *turns), id=sample.id)

    def _turns(self, sample: Sample) -> tuple[dict[str, str], ...]:
        return tuple(dict(message) for message in self.chat.request(self.render(sample)).messages or ())

    # -- the two stages -------------------------------------------------------------------------------------------

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """The analyses of all samples, then each written as JSON; a failed analysis is not asked to be rewritten."""
        requests = [request for sample in samples for request in self.requests(sample)]
        analyses = yield Stage("analyse", requests, self.shaped("analyse"), _STAND_IN)
        written = [[draw for draw in draws if _there(draw)] for draws in analyses]
        again = [
            self.second(sample, draw.text) for sample, draws in zip(samples, written, strict=True) for draw in draws
        ]
        once = dataclasses.replace(self.sampling, n=1)
        answers = iter((yield Stage("format", again, self.shaped("format", once), self.stand_in)))
        judgments = []
        for sample, draws in zip(samples, analyses, strict=True):
            judgments.append(self.combine([self._judged(sample, draw, answers) for draw in draws]))
        return judgments

    def _judged(self, sample: Sample, analysis: Completion, answers: Any) -> Judgment:
        if not _there(analysis):
            return self.read(analysis, sample)
        [answer] = next(answers)
        judgment = self.read(answer, sample)
        return dataclasses.replace(judgment, details={**judgment.details, "analysis": analysis.text})

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The penalties' sum, from the JSON of the second turn."""
        return read_analysis(completion.text, self.task)

    def form(self, stage: str = "score") -> dict[str, Any]:
        if stage == "analyse":
            return {}
        free = rf"[A-Za-z ]{{1,{max(1, (self.sampling.max_tokens - 170) // 2)}}}"
        aspect = "|".join(self.task.aspects)
        error = (
            rf'\{{"error_location": "{free}", "error_aspect": "({aspect})", "explanation": "{free}", '
            r'"severity": "(Major|Minor)", "score_reduction": (0\.5|[1-5])\}'
        )
        return {"regex": r'\{"errors": (\{\}|\{"error_1": ' + error + r"\})\}"}

    def settings(self) -> dict[str, Any]:
        return {"task": self.task.label, "label": self.label.strip(" :") or "none", **said_once(self.instruction)}

    def templates(self) -> Sequence[Template]:
        return (self.first, prompts.template("tigerscore/format_json"))


def _there(completion: Completion) -> bool:
    return not completion.error and completion.finish_reason != "error" and bool(completion.text.strip())
