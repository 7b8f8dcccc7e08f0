"""A second judge on an error analysis: does it invent things, is it reasonable?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.tigerscore.analysis import input_of
from nlgeval_lib.parsers.base import Parsed
from nlgeval_lib.parsers.choice import yes_no
from nlgeval_lib.prompts import Template
from nlgeval_lib.schema import Completion, Judgment, Sample, Status

_FAULTS = r"(?:factual\s+(?:errors?|inaccurac\w+|mistakes?)|hallucinat\w+|inaccurac\w+)"
_FREE = re.compile(
    rf"\b(?:does\s+not|do\s+not|doesn't|don't|did\s+not|didn't)\s+(?:appear\s+to\s+|seem\s+to\s+)?(?:include|contain|have|introduce|show)\b"
    rf"[^.!?\n]{{0,30}}\b{_FAULTS}|\b(?:no|without|free\s+(?:of|from))\s+(?:any\s+|apparent\s+|obvious\s+)?{_FAULTS}"
)
_HAS = re.compile(
    rf"\b(?:includes|contains|has|introduces|shows)\s+(?:a\s+|an\s+|some\s+|several\s+|multiple\s+|many\s+|one\s+|two\s+|at\s+least\s+one\s+)?{_FAULTS}"
)


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
