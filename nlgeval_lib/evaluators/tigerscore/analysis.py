"""TIGERScore: an analysis of an output's errors without a reference; the score is the sum of their penalties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.chat import ChatFormat
from nlgeval_lib.evaluators.judge import Judge, short_hash
from nlgeval_lib.names import meant
from nlgeval_lib.parsers.errors import error_analysis, tigerscore_authors
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample

PERFECT = "The model-generated output contains 0 errors, with a total score reduction of 0."


@dataclass(frozen=True, slots=True)
class Task:
    """A task: its label in the paper's tables, its name in prompts, and its aspects, name -> definition.

    Source: TIGERScore, Table 10.
    """

    label: str
    name: str
    aspects: dict[str, str]

    @property
    def aspects_list(self) -> str:
        """The aspects' names, as a prompt lists them."""
        return ", ".join(self.aspects)

    @property
    def aspects_descriptions(self) -> str:
        """One line an aspect: `name: definition`."""
        return "\n".join(f"{name}: {definition}" for name, definition in self.aspects.items())

    def aspect(self, written: str) -> str:
        """The aspect that a judge wrote, as the paper spells it; empty where it is none of this task.

        Case, blanks and hyphens do not matter.
        """
        return {_plain(name): name for name in self.aspects}.get(_plain(written), "")


def tasks() -> dict[str, Task]:
    """Every task with aspects by its label: Summ, Trans, D2T, LF-QA, MathQA, Instruct."""
    found = prompts.load_definitions("tigerscore_aspects")["tasks"]
    return {
        label: Task(label, entry["name"], {one["name"]: one["definition"] for one in entry["aspects"]})
        for label, entry in found.items()
    }


def find_task(given: str | Task) -> Task:
    """A task by its label or its name in prompts. Raises: ValueError with the labels there are."""
    if isinstance(given, Task):
        return given
    known = tasks()
    for one in known.values():
        if _plain(given) in (_plain(one.label), _plain(one.name)):
            return one
    hint = meant(given, known, ".")
    raise ValueError(f"no aspects for task {given!r}{hint} Tasks with aspects: {', '.join(known)}; or give a Task")


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


class TigerScore(Judge):
    """The sum of the penalties that the judge gives, 0 or less; 0 is an output without errors.

    instruction: what outputs were to do, for rows that do not say. An output's input is its `source` and `context`.
    task: a task of Table 10 (`Summ`, `Trans`, ...); errors are then counted by its aspects.
    decoder: `sum` adds up the penalties, as the paper defines the score; `authors` takes what the published decoder
        takes, the whole part of the total that the first line announces (4.5 is 4).
    chat: the checkpoints were trained on the bare prompt, hence `raw`.

    Details: `errors`, each with location, aspect, explanation, severity and penalty; `header_errors`, `header_total`,
    what the first line says; `agrees`, whether that is what the errors add up to; with a task, `aspects`, name -> sum.
    Source: Jiang et al. (2024), TIGERScore, section 2.2, equation 1; prompt: Table 9; aspects: Table 10.
    """

    name = "tigerscore"
    defaults = MappingProxyType({"temperature": 0.0, "max_tokens": 1024})
    stand_in = PERFECT

    def __init__(
        self,
        *,
        instruction: str = "",
        task: str | Task | None = None,
        decoder: str = "sum",
        chat: str | ChatFormat = "raw",
        **common: Any,
    ) -> None:
        super().__init__(chat=chat, **common)
        if decoder not in ("sum", "authors"):
            raise ValueError(f"decoder {decoder!r}; allowed: sum, authors")
        self.instruction, self.decoder = instruction, decoder
        self.task = None if task is None else find_task(task)
        self.needs = ("output",) if instruction else ("output", "instruction")

    def render(self, sample: Sample) -> str:
        return prompts.render(
            "tigerscore/evaluate",
            generation_instruction=sample.instruction or self.instruction,
            input_context=input_of(sample),
            hypothesis_output=sample.output,
        )

    def templates(self) -> Sequence[Template]:
        return (prompts.template("tigerscore/evaluate"),)

    def settings(self) -> dict[str, Any]:
        return {"decoder": self.decoder, **of_instruction(self.instruction)}

    def form(self, stage: str = "score") -> dict[str, Any]:
        return {"regex": analysis_form(self.sampling.max_tokens)}

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The penalties' sum. An analysis that cannot be read is missing, not perfect."""
        return read_analysis(completion.text, self.task, self.decoder)


def read_analysis(text: str, of: Task | None = None, decoder: str = "sum") -> Judgment:
    """An error analysis as a judgment, with the details that `TigerScore` names."""
    found = error_analysis(text) if decoder == "sum" else tigerscore_authors(text)
    details: dict[str, Any] = {
        "errors": found.errors,
        "n_errors": len(found.errors),
        "header_errors": found.header_errors,
        "header_total": found.header_total,
        "agrees": found.agrees,
    }
    if of is not None:
        sums = dict.fromkeys(of.aspects, 0.0)
        for error in found.errors:
            name = of.aspect(error.aspect) or "other"
            sums[name] = sums.get(name, 0.0) + error.penalty
        details["aspects"] = sums
    return found.judgment(**details)


def of_instruction(instruction: str) -> dict[str, str]:
    """What a signature says of an instruction that was given for all rows."""
    return {"instruction": short_hash(instruction)} if instruction else {}


def input_of(sample: Sample) -> str:
    """What the output was made from: `source`, then `context`, where there are some."""
    return "\n".join(text for text in (sample.source, sample.context) if text)


def gold_shares(scores: pd.DataFrame | Sequence[float]) -> dict[str, float]:
    """How often the references come out as perfect, and nearly so: the two rows of Table 6.

    `zero`: per cent of the references with score 0; `above_minus_2`: with a score above -2; `n`: how many have a
    score, of which both are shares; `n_missing`: how many have none. NaN without any.
    Source: TIGERScore, Table 6.
    """
    values = np.array(scores["value"] if isinstance(scores, pd.DataFrame) else scores, dtype=float)
    there = values[~np.isnan(values)]
    zero, above = ((there == 0).mean(), (there > -2).mean()) if len(there) else (math.nan, math.nan)
    n = {"n": len(there), "n_missing": len(values) - len(there)}
    return {"zero": 100.0 * zero, "above_minus_2": 100.0 * above, **n}


def analysis_form(room: int) -> str:
    """A pattern of whole analyses that end within `room` tokens of a letter or more; up to five errors."""
    most = max(1, min(5, (room - 80) // 170))
    length = max(1, (room - 80 - 100 * most) // (3 * most))
    head = r"The model-generated output contains {} errors, with a total score reduction of {}\."
    kinds = [head.format(0, 0)]
    for count in range(1, most + 1):
        errors = "".join(_error_form(number, length) for number in range(1, count + 1))
        kinds.append(head.format(count, r"[1-9](\.5)?") + errors)
    return "(" + "|".join(kinds) + ")"


def _error_form(number: int, length: int) -> str:
    free = rf"[^\s][^\n]{{0,{length - 1}}}"
    return (
        rf"\nError location {number}: {free}\nError aspect {number}: [A-Za-z]{{1,{length}}}"
        rf"\nExplanation {number}: {free}\nSeverity {number}: (Major|Minor)\nScore reduction {number}: (0\.5|[1-5])"
    )
