"""A scripted teacher for the pipelines: it knows the errors that were built into the mini set, and slips on purpose.

For tests, teaching and trying a pipeline out; a set made with it is for nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.engines import Request
from nlgeval_lib.engines.scripted import ScriptedEngine
from nlgeval_lib.evaluators.tigerscore import find_task

# kind of the mini set -> the task whose prompts and aspects it gets, and which aspect an error of each type is
TASKS = {"summary": "Summ", "dialogue": "Instruct", "data-to-text": "D2T", "question": "LF-QA", "arithmetic": "MathQA"}
SLIPS = ("cut", "location", "severity", "aspect", "reference", "unreasonable")
_ASKED = re.compile(r"^\d+\. An error of (?P<aspect>[^:\n]+):", re.M)


def mini_inputs(n: int | None = None, systems: Sequence[str] | None = None) -> pd.DataFrame:
    """Rows of the mini set as the MetricInstruct pipeline takes them: the first `n`, of some `systems` or all."""
    frame = datasets.load("mini")
    if systems is not None:
        frame = frame[frame["system_id"].isin(systems)]
    frame = frame.assign(task=frame["kind"].map(TASKS), dataset="mini").reset_index(drop=True)
    return frame if n is None else frame.head(n)


class MiniTeacher:
    """Answers MetricInstruct's questions about the rows of `real` and `synthetic` from their constructed errors.

    every: each so manyth row has a slip, in turn one of `slips`; 0 for none. Call `.engine()` for the engine.
    """

    def __init__(
        self,
        real: pd.DataFrame,
        synthetic: pd.DataFrame | None = None,
        *,
        every: int = 5,
        slips: Sequence[str] = SLIPS,
    ) -> None:
        self.frames = {"real": real, "synthetic": real if synthetic is None else synthetic}
        self.every, self.slips = every, tuple(slips)

    def engine(self, **options: Any) -> ScriptedEngine:
        """The teacher as an engine."""
        return ScriptedEngine(self.answer, model="scripted-mini-teacher", **options)

    def answer(self, request: Request, draw: int) -> str:
        """What the teacher says to one request; the request's id names the row."""
        channel, place = request.id.split("/", 1)[0], int(request.id.rsplit("#", 1)[1])
        row = self.frames[channel].iloc[place]
        slip = self.slips[place // self.every % len(self.slips)] if self.every and place % self.every == 0 else ""
        asked = (request.messages or ({"content": ""},))[-1]["content"]
        if 'Answer me "yes" or "no" only' in asked:
            return "No" if slip == "unreasonable" else "Yes"
        if asked.startswith("For each error identified"):
            return self._json(row, slip)
        if "generate an incorrect" in asked:
            return self._spoiled(row, asked, slip)
        return "; ".join(f"{error['type']} ({error['severity']})" for error in row["errors"]) or "There is no error."

    def _json(self, row: pd.Series, slip: str) -> str:
        task = find_task(row["task"])
        errors = {}
        for number, error in enumerate(row["errors"], start=1):
            place = list(task.aspects)[hash_of(error["type"]) % len(task.aspects)]
            errors[f"error_{number}"] = self._slipped(
                {
                    "error_location": error["location"],
                    "error_aspect": place,
                    "explanation": f"This is a {error['type'].replace('_', ' ')}; {correction(error['correction'])}.",
                    "severity": error["severity"].capitalize(),
                    "score_reduction": error["penalty"],
                },
                slip,
            )
        text = json.dumps({"errors": errors}, ensure_ascii=False)
        return text[: len(text) * 2 // 3] if slip == "cut" and errors else text

    def _slipped(self, error: dict[str, Any], slip: str) -> dict[str, Any]:
        changes = {
            "location": {"error_location": "words that nobody wrote"},
            "severity": {"severity": "Minor", "score_reduction": 5},
            "aspect": {"error_aspect": "Charm"},
            "reference": {"explanation": "The reference output says something else."},
        }
        return {**error, **changes.get(slip, {})}

    def _spoiled(self, row: pd.Series, asked: str, slip: str) -> str:
        aspects = _ASKED.findall(asked) or ["Tone", "Focus"]
        additions = [f"It rained on day {number} of the {aspect.lower()}." for number, aspect in enumerate(aspects, 1)]
        if slip == "cut":
            return f"Generated incorrect output:\n{row['reference']} {additions[0]}"
        head = "Possible error aspects: Tone, Focus, Detail, Length, Form\n\n" if not _ASKED.search(asked) else ""
        lines = [f"{head}Generated incorrect output:", " ".join([row["reference"], *additions])]
        for number, (aspect, addition) in enumerate(zip(aspects, additions, strict=True), start=1):
            error = self._slipped(
                {
                    "error_location": addition,
                    "error_aspect": aspect,
                    "explanation": "Nothing before it speaks of rain; leave the sentence out.",
                    "severity": "major",
                    "score_reduction": 3,
                },
                slip,
            )
            names = ("Error location", "Error aspect", "Explanation", "Severity", "Score reduction")
            lines += [f"{name} {number}: {value}" for name, value in zip(names, error.values(), strict=True)]
        return "\n".join(lines)


def correction(text: str) -> str:
    """What an error's explanation suggests."""
    return f"write {text!r} in its place" if text else "leave it out"


def hash_of(text: str) -> int:
    """A small number from a text, the same in every process."""
    return sum(map(ord, text))
