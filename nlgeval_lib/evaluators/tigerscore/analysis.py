"""TIGERScore: an analysis of an output's errors without a reference; the score is the sum of their penalties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.chat import ChatFormat
from nlgeval_lib.evaluators.judge import Judge, short_hash
from nlgeval_lib.evaluators.tigerscore.aspects import Task, find_task
from nlgeval_lib.parsers.error_analysis import error_analysis
from nlgeval_lib.parsers.tigerscore_authors import tigerscore_authors
from nlgeval_lib.prompts import Template
from nlgeval_lib.schema import Completion, Judgment, Sample

PERFECT = "The model-generated output contains 0 errors, with a total score reduction of 0."


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
        return {"decoder": self.decoder, **said_once(self.instruction)}

    def form(self, stage: str = "score") -> dict[str, Any]:
        return {"regex": analysis_form(self.sampling.max_tokens)}

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The penalties' sum. An analysis that cannot be read is missing, not perfect."""
        return read_analysis(completion.text, self.task, self.decoder)

    def score_references(self, frame: pd.DataFrame, *, which: str = "first", **ways: Any) -> pd.DataFrame:
        """The score frame of the references themselves, each judged once as if it were an output; see `gold_shares`.

        which: `first` reference of each row, or `all`. The frame also says whose they are (`input_id`, `output`).
        Raises: ValueError for a frame without references.
        Source: TIGERScore, section 4.5, Table 6.
        """
        gold = references_as_outputs(frame, which)
        scores = self.score(gold, **ways)
        named = gold[[name for name in ("dataset", "input_id", "output") if name in gold]].join(scores)
        named.attrs.update(scores.attrs)
        return named


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


def said_once(instruction: str) -> dict[str, str]:
    """What a signature says of an instruction that was given for all rows."""
    return {"instruction": short_hash(instruction)} if instruction else {}


def input_of(sample: Sample) -> str:
    """What the output was made from: `source`, then `context`, where there are some."""
    return "\n".join(text for text in (sample.source, sample.context) if text)


def references_as_outputs(frame: pd.DataFrame, which: str = "first") -> pd.DataFrame:
    """One row a reference and input, the reference in the place of the output.

    Raises: ValueError for a frame without references, or an unknown `which`.
    """
    if which not in ("first", "all"):
        raise ValueError(f"which={which!r}; allowed: first, all")
    column = next((name for name in ("references", "reference") if name in frame.columns), None)
    if column is None:
        raise ValueError(f"the frame has no references; its columns: {', '.join(map(str, frame.columns))}")
    each = [(given,) if isinstance(given, str) else tuple(given) for given in frame[column]]
    rows = [row for row, texts in enumerate(each) for _ in (texts[:1] if which == "first" else texts)]
    texts = [text for texts in each for text in (texts[:1] if which == "first" else texts)]
    gold = frame.iloc[rows].assign(output=texts, system_id="reference")
    same = [name for name in ("dataset", "input_id", "instruction", "source", "context", "output") if name in gold]
    gold = gold.drop(columns=[name for name in gold if str(name).startswith(("human", "rater_"))])
    return gold.drop_duplicates(same).reset_index(drop=True)


def gold_shares(scores: pd.DataFrame | Sequence[float]) -> dict[str, float]:
    """How often the references come out as perfect, and nearly so: the two rows of Table 6.

    `zero`: per cent of the references with score 0; `above_minus_2`: with a score above -2; `n`: how many have a
    score, of which both are shares; `n_missing`: how many have none. NaN without any.
    Source: TIGERScore, Table 6.
    """
    values = [float(v) for v in (scores["value"] if isinstance(scores, pd.DataFrame) else scores)]
    there = [value for value in values if not math.isnan(value)]

    def share(count: int) -> float:
        return 100.0 * count / len(there) if there else math.nan

    return {
        "zero": share(sum(value == 0 for value in there)),
        "above_minus_2": share(sum(value > -2 for value in there)),
        "n": len(there),
        "n_missing": len(values) - len(there),
    }


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
