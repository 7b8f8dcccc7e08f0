"""TIGERScore's teacher: errors found against a reference, then written as JSON; and a second judge on an analysis."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.chat import ChatFormat
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.evaluators.tigerscore.analysis import Task, find_task, input_of, of_instruction, read_analysis
from nlgeval_lib.parsers.choices import yes_no
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

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
_FAULTS = r"(?:factual\s+(?:errors?|inaccurac\w+|mistakes?)|hallucinat\w+|inaccurac\w+)"
_FREE = re.compile(
    rf"\b(?:does\s+not|do\s+not|doesn't|don't|did\s+not|didn't)\s+(?:appear\s+to\s+|seem\s+to\s+)?(?:include|contain|have|introduce|show)\b"
    rf"[^.!?\n]{{0,30}}\b{_FAULTS}|\b(?:no|without|free\s+(?:of|from))\s+(?:any\s+|apparent\s+|obvious\s+)?{_FAULTS}"
)
_HAS = re.compile(
    rf"\b(?:includes|contains|has|introduces|shows)\s+(?:a\s+|an\s+|some\s+|several\s+|multiple\s+|many\s+|one\s+|two\s+|at\s+least\s+one\s+)?{_FAULTS}"
)


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
        return {"task": self.task.label, "label": self.label.strip(" :") or "none", **of_instruction(self.instruction)}

    def templates(self) -> Sequence[Template]:
        return (self.first, prompts.template("tigerscore/format_json"))


def _there(completion: Completion) -> bool:
    return not completion.error and completion.finish_reason != "error" and bool(completion.text.strip())


class AnalysisCheck(Judge):
    """1 where a judge finds nothing wrong with an error analysis, 0 where it does.

    question: `hallucination` asks, with the reference in view, whether the analysis has factual errors or
        hallucinations (a yes is 0); `reasonable` asks for a yes or no whether it is reasonable (a yes is 1).
    The analysis is the text in the column, or the entry of `Sample.extra`, called `analysis`. The mean over
    samples is the accuracy of the paper's Table 7.

    Source: TIGERScore, section 4.5, Table 22 (hallucination); section 3.3, Table 20 (reasonable).
    """

    name = "tigerscore-check"
    defaults = MappingProxyType({"temperature": 0.0, "max_tokens": 256})
    stand_in = "No"

    def __init__(self, question: str = "hallucination", **common: Any) -> None:
        super().__init__(**common)
        if question not in ("hallucination", "reasonable"):
            raise ValueError(f"question {question!r}; allowed: hallucination, reasonable")
        self.question = question
        with_reference = ("references",) if question == "hallucination" else ()
        self.needs = ("output", "instruction", *with_reference, "analysis")

    def render(self, sample: Sample) -> str:
        values = {
            "instruction": sample.instruction,
            "input": input_of(sample),
            "output": sample.output,
            "error_analysis": sample.extra["analysis"],
        }
        if self.question == "hallucination":
            values["reference_output"] = sample.references[0]
        return prompts.render(f"tigerscore/check_{self.question}", **values)

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """Whether the answer speaks for the analysis. A yes or no that a sentence contradicts is missing."""
        read = yes_no(completion.text)
        if self.question == "reasonable":
            return read.judgment()
        said = says_it_has(completion.text)
        if said is not None and read.rule == "none":
            read = said
        elif said is not None and said.ok and read.ok and said.value != read.value:
            return Judgment.missing(Status.UNPARSED, "the answer and a sentence after it contradict each other")
        judgment = read.judgment()
        if judgment.status is not Status.OK:
            return judgment
        return Judgment(1.0 - judgment.value, Status.OK, "", judgment.details)

    def form(self, stage: str = "score") -> dict[str, Any]:
        return {"choice": ("Yes", "No")}

    def settings(self) -> dict[str, Any]:
        return {"question": self.question}

    def templates(self) -> Sequence[Template]:
        return (prompts.template(f"tigerscore/check_{self.question}"),)


def says_it_has(text: str) -> Parsed | None:
    """1 where a sentence says that an analysis has factual errors or hallucinations, 0 where it says that it has none.

    None where no sentence says either; missing where sentences differ.
    """
    low = text.lower().replace("’", "'")
    answers = {0.0 for _ in _FREE.finditer(low)} | {1.0 for _ in _HAS.finditer(low)}
    if not answers:
        return None
    if len(answers) > 1:
        return Parsed(
            float("nan"), Status.UNPARSED, "the text says both that there are and that there are none", "phrase"
        )
    return Parsed(answers.pop(), Status.OK, "", "phrase")
