"""TIGERScore: the penalties of an output's errors; the two turns behind its training
data; a judge of analyses.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.base import choose
from nlgeval_lib.evaluators.judge import ChatFormat, Judge, combine, failed, short_hash
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.names import meant, plain
from nlgeval_lib.parsers.choices import yes_no
from nlgeval_lib.parsers.errors import error_analysis, tigerscore_authors
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

PERFECT = (
    "The model-generated output contains 0 errors, with a total score reduction of 0."
)
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


@dataclass(frozen=True, slots=True)
class Task:
    """A task: its label in the paper's tables, its name in prompts, and its aspects,
    name -> definition.

    Source: TIGERScore, Table 10.
    """

    label: str
    name: str
    aspects: dict[str, str]

    def aspect(self, written: str) -> str:
        """The aspect that a judge wrote, as the paper spells it whatever its case
        and hyphens; empty for another.
        """
        return {plain(name): name for name in self.aspects}.get(plain(written), "")


def tasks() -> dict[str, Task]:
    """Every task with aspects by its label: Summ, Trans, D2T, LF-QA, MathQA,
    Instruct.
    """
    found = prompts.load_definitions("tigerscore_aspects")["tasks"]
    return {
        label: Task(
            label,
            entry["name"],
            {one["name"]: one["definition"] for one in entry["aspects"]},
        )
        for label, entry in found.items()
    }


def find_task(given: str) -> Task:
    """A task by its label or its name in prompts.

    Raises: ValueError with the labels there are.
    """
    known = tasks()
    for one in known.values():
        if plain(given) in (plain(one.label), plain(one.name)):
            return one
    raise ValueError(
        f"no aspects for task {given!r}{meant(given, known, '.')} Tasks with aspects: {', '.join(known)}"
    )


class TigerScore(Judge):
    """The sum of the penalties that the judge gives, 0 or less; 0 is an output without
    errors.

    instruction: what outputs were to do, for rows that do not say. task: one of Table
    10 (`Summ`, `Trans`, ...), by whose aspects errors are counted. decoder: `sum` adds
    up the penalties, as the paper defines the score; `authors` takes the whole part of
    the total that the first line announces, as the published decoder does.
    chat: the checkpoints were trained on the bare prompt, hence `raw`.

    Details: `errors`, each with location, aspect, explanation, severity and penalty;
    `header_errors`, `header_total`, what the first line says; `agrees`, whether that is
    what the errors add up to; with a task, `aspects`, name -> sum.
    Source: Jiang et al. (2024), TIGERScore, section 2.2, equation 1; prompt: Table 9;
    aspects: Table 10.
    """

    name = "tigerscore"
    defaults = MappingProxyType({"temperature": 0.0, "max_tokens": 1024})
    stand_in = PERFECT
    template = prompts.template("tigerscore/evaluate")

    def __init__(
        self,
        *,
        instruction: str = "",
        task: str | None = None,
        decoder: str = "sum",
        chat: str | ChatFormat = "raw",
        **common: Any,
    ) -> None:
        super().__init__(chat=chat, **common)
        self.instruction, self.decoder = (
            instruction,
            choose("decoder", decoder, ("sum", "authors")),
        )
        self.task = None if task is None else find_task(task)
        self.needs = ("output",) if instruction else ("output", "instruction")

    def render(self, sample: Sample) -> str:
        return self.template.render(
            generation_instruction=sample.instruction or self.instruction,
            input_context=_lines(sample.source, sample.context),
            hypothesis_output=sample.output,
        )

    def settings(self) -> dict[str, Any]:
        return {
            "decoder": self.decoder,
            "instruction": short_hash(self.instruction) if self.instruction else None,
        }

    def form(self, stage: str = "score") -> dict[str, Any]:
        return {"regex": analysis_form(self.sampling.max_tokens)}

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The penalties' sum. An analysis that cannot be read is missing, not
        perfect.
        """
        return read_analysis(completion.text, self.task, self.decoder)


def read_analysis(text: str, of: Task | None = None, decoder: str = "sum") -> Judgment:
    """An error analysis as a judgment, with the details that `TigerScore` names."""
    found = error_analysis(text) if decoder == "sum" else tigerscore_authors(text)
    told = ("errors", "header_errors", "header_total", "agrees")
    details: dict[str, Any] = {name: getattr(found, name) for name in told}
    details["n_errors"] = len(found.errors)
    if of is not None:
        details["aspects"] = sums = dict.fromkeys(of.aspects, 0.0)
        for error in found.errors:
            name = of.aspect(error.aspect) or "other"
            sums[name] = sums.get(name, 0.0) + error.penalty
    return found.judgment(**details)


def _written(draw: Completion) -> bool:
    """Whether there is a text in a completion."""
    return bool(draw.text.strip()) and not failed(draw)


def _lines(*texts: str) -> str:
    """The texts that there are, a line each."""
    return "\n".join(text for text in texts if text)


def gold_shares(scores: pd.DataFrame | Sequence[float]) -> dict[str, float]:
    """How often the references come out as perfect, and nearly so: per cent with score
    `zero` and `above_minus_2`.

    `n`: how many have a score, of which both are shares; `n_missing`: how many have
    none. NaN without any.
    Source: TIGERScore, Table 6.
    """
    values = pd.Series(
        scores["value"] if isinstance(scores, pd.DataFrame) else scores, dtype=float
    )
    there = values.dropna()
    shares = {
        "zero": 100.0 * (there == 0).mean(),
        "above_minus_2": 100.0 * (there > -2).mean(),
    }
    return {**shares, "n": len(there), "n_missing": len(values) - len(there)}


def analysis_form(room: int) -> str:
    """A pattern of whole analyses that end within `room` tokens of a letter or more;
    up to five errors.
    """
    most = max(1, min(5, (room - 80) // 170))
    length = max(1, (room - 80 - 100 * most) // (3 * most))
    free = rf"[^\s][^\n]{{0,{length - 1}}}"
    error = (
        rf"\nError location {{0}}: {free}\nError aspect {{0}}: [A-Za-z]{{1,{length}}}\nExplanation {{0}}: {free}"
        r"\nSeverity {0}: (Major|Minor)\nScore reduction {0}: (0\.5|[1-5])"
    )
    head = r"The model-generated output contains {} errors, with a total score reduction of {}\."
    kinds = [head.format(0, 0)]
    for count in range(1, most + 1):
        errors = "".join(
            error.replace("{0}", str(number)) for number in range(1, count + 1)
        )
        kinds.append(head.format(count, r"[1-9](\.5)?") + errors)
    return "(" + "|".join(kinds) + ")"


class TigerScoreReferenceBased(Judge):
    """Two turns of a conversation: the judge names the errors with the reference in
    view, then writes them as JSON.

    task: which of the six prompts, and whose aspects. instruction: what outputs were to
    do, for rows that do not say.
    label: what stands before the reference in the four prompts that print it without
    one. Score and details are those of `TigerScore`, and `analysis`, the text of the
    first turn.

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
        chat: str | ChatFormat = "messages",
        **common: Any,
    ) -> None:
        super().__init__(chat=chat, **common)
        if self.chat.style != "messages":
            raise ValueError(
                f"chat {self.chat.label!r}; the two turns are a conversation: use messages"
            )
        self.task = find_task(task)
        self.instruction, self.label = instruction, label
        self.first = prompts.template(f"tigerscore/{FIRST_STEP[self.task.label]}")
        asks = any(
            slot.startswith("generation_instruction") for slot in self.first.variables
        )
        self.needs = (
            "output",
            "references",
            *(("instruction",) if asks and not instruction else ()),
        )

    def render(self, sample: Sample) -> str:
        """The first turn."""
        instruction = sample.instruction or self.instruction
        source = _lines(sample.source, sample.context)
        labelled = self.task.label in (
            "Summ",
            "MathQA",
        )  # these prompts print a label themselves
        values = {
            "generation_instruction": instruction,
            "input_context": source,
            "generation_instruction_and_source": _lines(instruction, source),
            "reference_output": sample.references[0]
            if labelled
            else f"{self.label}{sample.references[0]}",
            "hypothesis_output": sample.output,
            "task": self.task.name,
            "aspects_list": ", ".join(self.task.aspects),
            "aspects_descriptions": "\n".join(
                f"{name}: {text}" for name, text in self.task.aspects.items()
            ),
        }
        return self.first.render(
            **{name: values[name] for name in self.first.variables}
        )

    def second(self, sample: Sample, analysis: str) -> Request:
        """The second turn, after the judge's analysis."""
        ask = prompts.render(
            "tigerscore/format_json", aspects_list=", ".join(self.task.aspects)
        )
        turns = (
            {"role": "assistant", "content": analysis},
            {"role": "user", "content": ask},
        )
        return Request(
            messages=(*(self.request(sample).messages or ()), *turns), id=sample.id
        )

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """The analyses of all samples, then each written as JSON; a failed analysis
        is not asked to be rewritten.
        """
        requests = [self.request(sample) for sample in samples]
        analyses = yield Stage("analyse", requests, self.shaped("analyse"), _STAND_IN)
        pairs = list(zip(samples, analyses, strict=True))
        again = [
            self.second(sample, draw.text)
            for sample, draws in pairs
            for draw in draws
            if _written(draw)
        ]
        once = dataclasses.replace(self.sampling, n=1)
        answers = iter(
            (yield Stage("format", again, self.shaped("format", once), self.stand_in))
        )

        def judged(sample: Sample, draw: Completion) -> Judgment:
            if not _written(draw):
                return self.read(draw, sample)
            one = self.read(next(answers)[0], sample)
            return dataclasses.replace(
                one, details={**one.details, "analysis": draw.text}
            )

        return [
            combine([judged(sample, draw) for draw in draws], self.missing)
            for sample, draws in pairs
        ]

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
        instruction = short_hash(self.instruction) if self.instruction else None
        return {
            "task": self.task.label,
            "label": self.label.strip(" :") or "none",
            "instruction": instruction,
        }

    def templates(self) -> Sequence[Template]:
        return (self.first, prompts.template("tigerscore/format_json"))


class AnalysisCheck(Judge):
    """1 where a judge finds nothing wrong with the error analysis in the column
    `analysis`, 0 where it does.

    question: `hallucination` asks, with the reference in view, whether the analysis has
    factual errors or hallucinations (a yes is 0); `reasonable` asks for a yes or no
    whether it is reasonable (a yes is 1).

    Source: TIGERScore, section 4.5, Tables 7 and 22 (hallucination); section 3.3, Table
    20 (reasonable).
    """

    name = "tigerscore-check"
    defaults = MappingProxyType({"temperature": 0.0, "max_tokens": 256})
    stand_in = "No"
    choices = ("Yes", "No")

    def __init__(self, question: str = "hallucination", **common: Any) -> None:
        super().__init__(**common)
        self.question = choose("question", question, ("hallucination", "reasonable"))
        with_reference = ("references",) if question == "hallucination" else ()
        self.needs = ("output", "instruction", *with_reference, "analysis")
        self.template: Template = prompts.template(f"tigerscore/check_{question}")

    def render(self, sample: Sample) -> str:
        return self.template.render(
            instruction=sample.instruction,
            input=_lines(sample.source, sample.context),
            output=sample.output,
            error_analysis=sample.extra["analysis"],
            **(
                {"reference_output": sample.references[0]}
                if self.question == "hallucination"
                else {}
            ),
        )

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """Whether the answer speaks for the analysis.

        A yes or no that a sentence contradicts is missing.
        """
        read = yes_no(completion.text)
        if self.question == "reasonable":
            return read.judgment()
        low = completion.text.lower().replace("’", "'")
        said = {0.0 for _ in _FREE.finditer(low)} | {
            1.0 for _ in _HAS.finditer(low)
        }  # 1: that it has faults
        if read.rule == "none" and said:
            both = "the text says both that there are and that there are none"
            found = (
                (math.nan, Status.UNPARSED, both)
                if len(said) > 1
                else (said.pop(), Status.OK, "")
            )
            read = Parsed(*found, "phrase")
        elif read.ok and len(said) == 1 and read.value not in said:
            return Judgment.missing(
                Status.UNPARSED,
                "the answer and a sentence after it contradict each other",
            )
        return (
            dataclasses.replace(read, value=1.0 - read.value) if read.ok else read
        ).judgment()

    def settings(self) -> dict[str, Any]:
        return {"question": self.question}
