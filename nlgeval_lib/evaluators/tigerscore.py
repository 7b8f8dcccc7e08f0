"""TIGERScore: a judge lists an output's errors; the score sums their penalties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators import schemas
from nlgeval_lib.evaluators.base import NotAllowed, choose
from nlgeval_lib.evaluators.judge import ChatFormat, Judge, short_hash
from nlgeval_lib.names import plain
from nlgeval_lib.parsers.errors import error_analysis, tigerscore_authors
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.records import Completion, Judgment, Sample

PERFECT = (
    "The model-generated output contains 0 errors, with a total score reduction of 0."
)


@dataclass(frozen=True, slots=True)
class Task:
    """A text generation task, by its label in the paper's tables (Summ) and its name in
    prompts (summarization); its aspects, name -> definition (Table 10).
    """

    label: str
    name: str
    aspects: dict[str, str]

    def aspect(self, label: str) -> str:
        """The aspect that a judge wrote, as the paper spells it; "" for another."""
        return next((n for n in self.aspects if plain(n) == plain(label)), "")


def tasks() -> dict[str, Task]:
    """Every task by its label: Summ, Trans, D2T, LF-QA, MathQA, Instruct."""
    entries = prompts.load_definitions("tigerscore_aspects")["tasks"]
    by_label = {}
    for label, entry in entries.items():
        aspects = {aspect["name"]: aspect["definition"] for aspect in entry["aspects"]}
        by_label[label] = Task(label, entry["name"], aspects)
    return by_label


def find_task(name: str) -> Task:
    """A task by its label or name, whatever its case and marks. Raises: NotAllowed."""
    by_label = tasks()
    for task in by_label.values():
        if plain(name) in (plain(task.label), plain(task.name)):
            return task
    raise NotAllowed("task", name, list(by_label))


class TigerScore(Judge):
    """The sum of the penalties that the judge gives, 0 or less; 0 is an output without
    errors: score = sum_i s_i, s_i in [-5, -0.5].

    instruction: what outputs were to do, for rows that do not say.
    task: one of Table 10 (`Summ`, ...), by whose aspects errors are counted.
    decoder: `sum` adds up the penalties, as the paper defines the score; `authors`
    takes the whole part of the announced total, as the published decoder does.
    chat: the checkpoints were trained on the bare prompt, hence `raw`.
    judge: the other settings of `Judge`.

    Details: `errors`, each with location, aspect, explanation, severity and penalty;
    `n_errors`; `header_errors`, `header_total`, what the first line says; `agrees`,
    whether that is what the errors add up to; with a task, `aspects`, name -> sum.

    Source: Jiang et al. (2024), TIGERScore, section 2.2, equation 1; prompt: Table 9;
    aspects: Table 10.

    Example:
    >>> from nlgeval_lib.engines import ScriptedEngine
    >>> frame = pd.DataFrame({"instruction": ["Say a."], "output": ["b"]})
    >>> answer = "The model-generated output contains 0 errors."
    >>> TigerScore(engine=ScriptedEngine([answer])).score(frame)["value"].item()
    0.0
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
        **judge: Any,
    ) -> None:
        super().__init__(chat=chat, **judge)
        self.instruction = instruction
        self.decoder = choose("decoder", decoder, ("sum", "authors"))
        self.task = None if task is None else find_task(task)
        self.needs = ("output",) if instruction else ("output", "instruction")

    def render(self, sample: Sample) -> str:
        return self.template.render(
            generation_instruction=sample.instruction or self.instruction,
            input_context=lines(sample.source, sample.context),
            hypothesis_output=sample.output,
        )

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        return error_analysis if self.decoder == "sum" else tigerscore_authors

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        return summed(self.reader(sample)(completion.text), self.task)

    def schema(self, stage: str = "score") -> dict[str, Any]:
        if self.decoder == "authors":
            raise ValueError(
                "decoder 'authors' reads the first line of an analysis, which JSON "
                "does not have; use structured='json' with decoder 'sum'"
            )
        aspects = () if self.task is None else tuple(self.task.aspects)
        return schemas.error_list(aspects, self.sampling.max_tokens)

    def settings(self) -> dict[str, Any]:
        instruction = short_hash(self.instruction) if self.instruction else None
        return {"decoder": self.decoder, "instruction": instruction}


def summed(analysis: Any, task: Task | None) -> Judgment:
    """A parsed analysis as a judgment with the details of `TigerScore`; penalties of
    aspects that the task does not have are summed as "other".
    """
    details: dict[str, Any] = {
        "errors": analysis.errors,
        "header_errors": analysis.header_errors,
        "header_total": analysis.header_total,
        "agrees": analysis.agrees,
        "n_errors": len(analysis.errors),
    }
    if task is not None:
        sums = dict.fromkeys(task.aspects, 0.0)
        for error in analysis.errors:
            aspect = task.aspect(error.aspect) or "other"
            sums[aspect] = sums.get(aspect, 0.0) + error.penalty
        details["aspects"] = sums
    return analysis.judgment(**details)


def lines(*texts: str) -> str:
    """The texts that are not empty, a line each."""
    return "\n".join(filter(None, texts))


def gold_shares(scores: pd.DataFrame | Sequence[float]) -> dict[str, float]:
    """How often the references come out as perfect, and nearly so.

    scores: a score frame of references, or their scores; NaN for none.

    Returns: `zero` and `above_minus_2`, per cent with that score of the `n` that have
    one; `n_missing`.
    Source: TIGERScore, Table 6.

    Example:
    >>> float(gold_shares([0.0, 0.0, -1.0, -4.0])["zero"])
    50.0
    """
    if isinstance(scores, pd.DataFrame):
        scores = scores["value"]
    values = pd.Series(scores, dtype=float)
    scored = values.dropna()
    return {
        "zero": 100.0 * (scored == 0).mean(),
        "above_minus_2": 100.0 * (scored > -2).mean(),
        "n": len(scored),
        "n_missing": len(values) - len(scored),
    }
