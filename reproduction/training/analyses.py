"""What TIGERScore was trained and checked with: a judge that has the reference in view
(section 3.2), and one of analyses (sections 3.3 and 4.5).

They are registered where this module is imported, or named: `nlgeval score --plugin
reproduction/training/analyses.py -e tigerscore-check`.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators import schemas
from nlgeval_lib.evaluators.base import choose, register
from nlgeval_lib.evaluators.judge import Judge, combine, cut, failed, short_hash
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.evaluators.tigerscore import find_task, lines, summed
from nlgeval_lib.parsers.choices import yes_no
from nlgeval_lib.parsers.errors import error_analysis
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

# Task -> the prompt of the first of the two turns (Tables 11 to 16).
_FIRST_TURN = {
    "Summ": "reference_summarization",
    "Trans": "reference_translation",
    "D2T": "reference_data_to_text",
    "MathQA": "reference_math_qa",
    "LF-QA": "reference_long_form_qa",
    "Instruct": "reference_instruction_following",
}
# What a plan takes for the analysis of the first turn.
_STAND_IN = (
    "The output leaves out a detail of the reference (minor) and changes a date "
    "(major)."
)


@register("tigerscore-reference")
class TigerScoreReferenceBased(Judge):
    """Two turns of a conversation: the judge names the errors with the reference in
    view, then writes them as JSON.

    task: which of the six prompts, and whose aspects.
    instruction: what outputs were to do, for rows that do not say.
    label: what stands before the reference in the four prompts that print it without
    one.
    judge: the settings of `Judge`; `chat` must be of the style `messages`.

    Score and details are those of `TigerScore`, and `analysis`, the text of the first
    turn.

    Source: TIGERScore, section 3.2, appendix A.1; prompts: Tables 11 to 16, then 17.
    """

    name = "tigerscore-reference"
    defaults = MappingProxyType({"temperature": 0.0, "max_tokens": 1024})
    stand_in = '{"errors": {}}'

    def __init__(
        self,
        *,
        task: str,
        instruction: str = "",
        label: str = "Reference: ",
        **judge: Any,
    ) -> None:
        super().__init__(**judge)
        if self.chat.style != "messages":
            raise ValueError(
                f"chat {self.chat.label!r}; the two turns are a conversation: "
                "use messages"
            )
        self.task = find_task(task)
        self.instruction = instruction
        self.label = label
        self.first = prompts.template(f"tigerscore/{_FIRST_TURN[self.task.label]}")
        self.needs = ("output", "references")
        slots = self.first.variables
        asks = any(slot.startswith("generation_instruction") for slot in slots)
        if asks and not instruction:
            self.needs += ("instruction",)

    def render(self, sample: Sample) -> str:
        """The prompt of the first turn."""
        instruction = sample.instruction or self.instruction
        source = lines(sample.source, sample.context)
        reference = sample.references[0]
        # The prompts of these two tasks print a label themselves.
        if self.task.label not in ("Summ", "MathQA"):
            reference = f"{self.label}{reference}"
        aspects = self.task.aspects
        values = {
            "generation_instruction": instruction,
            "input_context": source,
            "generation_instruction_and_source": lines(instruction, source),
            "reference_output": reference,
            "hypothesis_output": sample.output,
            "task": self.task.name,
            "aspects_list": ", ".join(aspects),
            "aspects_descriptions": "\n".join(map(": ".join, aspects.items())),
        }
        # Each of the six prompts has some of these slots.
        slots = {name: values[name] for name in self.first.variables}
        return self.first.render(**slots)

    def second(self, sample: Sample, analysis: str) -> Request:
        """The second turn: the conversation so far, and the prompt of Table 17."""
        first = self.request(sample).messages or ()
        ask = prompts.render(
            "tigerscore/format_json", aspects_list=", ".join(self.task.aspects)
        )
        answer = {"role": "assistant", "content": analysis}
        follow_up = {"role": "user", "content": ask}
        return Request(messages=(*first, answer, follow_up), id=sample.id)

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """The analyses of all samples, then each whole one written as JSON."""
        requests = [self.request(sample) for sample in samples]
        analyses = yield Stage("analyse", requests, self.sampling, _STAND_IN)
        rewritten = []
        for sample, draws in zip(samples, analyses, strict=True):
            for draw in filter(_is_whole, draws):
                rewritten.append(self.second(sample, draw.text))
        sampling = self.shaped("score", dataclasses.replace(self.sampling, n=1))
        formatted = yield Stage("format", rewritten, sampling, self.stand_in, last=True)
        # The rewritten answers come in the order of the whole analyses.
        answers = iter(formatted)
        combined = []
        for sample, draws in zip(samples, analyses, strict=True):
            judgments = []
            for draw in draws:
                if _is_whole(draw):
                    judgment = self.read(next(answers)[0], sample)
                    details = {**judgment.details, "analysis": draw.text}
                    judgments.append(dataclasses.replace(judgment, details=details))
                else:
                    empty = Judgment.missing(Status.EMPTY, "no whole analysis")
                    judgments.append(failed(draw) or cut(draw, empty))
            combined.append(combine(judgments, self.missing))
        return combined

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        return summed(error_analysis(completion.text), self.task)

    def schema(self, stage: str = "score") -> dict[str, Any]:
        return schemas.error_list(tuple(self.task.aspects), self.sampling.max_tokens)

    def settings(self) -> dict[str, Any]:
        return {
            "task": self.task.label,
            "label": self.label.strip(" :") or "none",
            "instruction": short_hash(self.instruction) if self.instruction else None,
        }

    def templates(self) -> Sequence[Template]:
        return (self.first, prompts.template("tigerscore/format_json"))


def _is_whole(draw: Completion) -> bool:
    """Whether a completion has a text, and all of it: only then is it rewritten."""
    if draw.finish_reason == "length" or failed(draw):
        return False
    return bool(draw.text.strip())


# What `AnalysisCheck` asks for, as judges call it in a sentence.
_FAULTS = r"""
    (?: factual\s+ (?: errors? | inaccurac\w+ | mistakes? )
      | hallucinat\w+
      | inaccurac\w+ )
"""
# "does not appear to contain any factual errors", "without any hallucination"
_FREE = re.compile(
    rf"""
    \b (?: does\s+not | do\s+not | doesn't | don't | did\s+not | didn't ) \s+
       (?: appear\s+to\s+ | seem\s+to\s+ )?
       (?: include | contain | have | introduce | show ) \b
       [^.!?\n]{{0,30}} \b {_FAULTS}
    | \b (?: no | without | free\s+(?:of|from) ) \s+
         (?: any\s+ | apparent\s+ | obvious\s+ )?
         {_FAULTS}
    """,
    re.VERBOSE,
)
# "contains several factual errors"
_HAS = re.compile(
    rf"""
    \b (?: includes | contains | has | introduces | shows ) \s+
       (?: a\s+ | an\s+ | some\s+ | several\s+ | multiple\s+ | many\s+
         | one\s+ | two\s+ | at\s+least\s+one\s+ )?
       {_FAULTS}
    """,
    re.VERBOSE,
)


@register("tigerscore-check")
class AnalysisCheck(Judge):
    """1 where a judge finds nothing wrong with the error analysis in the column
    `analysis`, 0 where it does.

    question: `hallucination` asks, with the reference in view, whether the analysis has
    factual errors or hallucinations (a yes is 0); `reasonable` asks whether it is
    reasonable (a yes is 1).
    judge: the settings of `Judge`.

    Source: TIGERScore, section 4.5, Tables 7 and 22 (hallucination); section 3.3, Table
    20 (reasonable).
    """

    name = "tigerscore-check"
    stand_in = "No"
    choices = ("Yes", "No")

    def __init__(self, question: str = "hallucination", **judge: Any) -> None:
        super().__init__(**judge)
        self.question = choose("question", question, ("hallucination", "reasonable"))
        self.needs = ("output", "instruction", "analysis")
        if question == "hallucination":
            self.needs = ("output", "instruction", "references", "analysis")
        self.template: Template = prompts.template(f"tigerscore/check_{question}")

    def render(self, sample: Sample) -> str:
        values = {
            "instruction": sample.instruction,
            "input": lines(sample.source, sample.context),
            "output": sample.output,
            "error_analysis": sample.extra["analysis"],
        }
        if self.question == "hallucination":
            values["reference_output"] = sample.references[0]
        return self.template.render(**values)

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        return yes_no

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """Whether the answer speaks for the analysis. A yes or no that a sentence
        contradicts is missing; without one, of `hallucination` the sentence counts.
        """
        answer = yes_no(completion.text)
        if self.question == "reasonable":
            return answer.judgment()
        # Do sentences say that there are no faults, or that there are?
        text = completion.text.lower().replace("’", "'")
        denied = bool(_FREE.search(text))
        affirmed = bool(_HAS.search(text))
        if answer.rule == "none" and denied and affirmed:
            reason = "the text says both that there are and that there are none"
            return Parsed(math.nan, Status.UNPARSED, reason, "phrase").judgment()
        # Without a yes or no the sentence is the answer.
        if answer.rule == "none" and (denied or affirmed):
            return Parsed(float(denied), Status.OK, "", "phrase").judgment()
        if not answer.ok:
            return answer.judgment()
        # Where sentences say both, the answer stands.
        if denied != affirmed and affirmed != (answer.value == 1.0):
            return Judgment.missing(
                Status.UNPARSED,
                "the answer and a sentence after it contradict each other",
            )
        # The question is about faults: a yes speaks against the analysis.
        return dataclasses.replace(answer, value=1.0 - answer.value).judgment()

    def schema(self, stage: str = "score") -> dict[str, Any]:
        answer = {"type": "string", "enum": list(self.choices)}
        return schemas.an_object({"answer": answer})

    def verdicts(self, sample: Sample | None = None) -> Mapping[str, float]:
        """Yes and No with what they say of the analysis: 1 for it, 0 against it."""
        good = float(self.question == "reasonable")
        return {"Yes": good, "No": 1.0 - good}

    def settings(self) -> dict[str, Any]:
        return {"question": self.question}
