"""Scripted teachers for the pipelines: they know the errors that were built into the
mini set, and slip on purpose.

For tests, teaching and trying a pipeline out; a set made with one is for nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.engines import Request, ScriptedEngine
from nlgeval_lib.evaluators.tigerscore import find_task

# kind of the mini set -> the task whose prompts and aspects it gets
TASKS = {
    "summary": "Summ",
    "dialogue": "Instruct",
    "data-to-text": "D2T",
    "question": "LF-QA",
    "arithmetic": "MathQA",
}
SLIPS = ("cut", "location", "severity", "aspect", "reference", "unreasonable")
_ASKED = re.compile(r"^\d+\. An error of (?P<aspect>[^:\n]+):", re.M)
_WRONG: dict[str, dict[str, Any]] = {
    "location": {"error_location": "words that nobody wrote"},
    "severity": {"severity": "Minor", "score_reduction": 5},
    "aspect": {"error_aspect": "Charm"},
    "reference": {"explanation": "The reference output says something else."},
}
_FIELDS = (
    "error_location",
    "error_aspect",
    "explanation",
    "severity",
    "score_reduction",
)


def mini_inputs(
    n: int | None = None, systems: Sequence[str] | None = None
) -> pd.DataFrame:
    """Rows of the mini set as the MetricInstruct pipeline takes them: the first `n`,
    of some `systems` or all.
    """
    frame = datasets.load("mini")
    frame = frame[
        frame["system_id"].isin(frame["system_id"] if systems is None else systems)
    ]
    return frame.assign(task=frame["kind"].map(TASKS), dataset="mini").reset_index(
        drop=True
    )[:n]


class MiniTeacher:
    """Answers MetricInstruct's questions about the rows of `real` and `synthetic` from
    their constructed errors.

    every: each so manyth row has a slip, in turn one of `SLIPS`; 0 for none. Call
    `.engine()` for the engine.
    """

    def __init__(
        self,
        real: pd.DataFrame,
        synthetic: pd.DataFrame | None = None,
        *,
        every: int = 5,
    ) -> None:
        self.frames = {
            "real": real,
            "synthetic": real if synthetic is None else synthetic,
        }
        self.every = every

    def engine(self) -> ScriptedEngine:
        """The teacher as an engine."""
        return ScriptedEngine(self.answer, model="scripted-mini-teacher")

    def slip(self, place: int) -> str:
        """Which slip the row at this place gets, empty for none; one that changes
        errors needs a row with errors.
        """
        return (
            SLIPS[place // self.every % len(SLIPS)]
            if self.every and place % self.every == 0
            else ""
        )

    def answer(self, request: Request, draw: int) -> str:
        """What the teacher says to one request; the request's id names the row."""
        channel = request.id.split("/", 1)[0]
        place = int(request.id.rsplit("#", 1)[1])
        row = self.frames[channel].iloc[place]
        slip = self.slip(place)
        asked = _asked(request)
        if 'Answer me "yes" or "no" only' in asked:
            return "No" if slip == "unreasonable" else "Yes"
        if asked.startswith("For each error identified"):
            return _analysis(row, slip)
        if "generate an incorrect" in asked:
            return _spoiled(row, asked, slip)
        return (
            "; ".join(
                f"{error['type']} ({error['severity']})" for error in row["errors"]
            )
            or "There is no error."
        )


def _asked(request: Request) -> str:
    return (request.messages or ({"content": ""},))[-1]["content"]


def _analysis(row: pd.Series, slip: str) -> str:
    aspects = list(find_task(row["task"]).aspects)
    errors = {}
    for number, error in enumerate(row["errors"], start=1):
        advice = (
            f"write {error['correction']!r} in its place"
            if error["correction"]
            else "leave it out"
        )
        aspect = aspects[sum(map(ord, error["type"])) % len(aspects)]
        why = f"This is a {error['type'].replace('_', ' ')}; {advice}."
        values = (
            error["location"],
            aspect,
            why,
            error["severity"].capitalize(),
            error["penalty"],
        )
        errors[f"error_{number}"] = dict(
            zip(_FIELDS, values, strict=True)
        ) | _WRONG.get(slip, {})
    text = json.dumps({"errors": errors}, ensure_ascii=False)
    return text[: len(text) * 2 // 3] if slip == "cut" and errors else text


def _spoiled(row: pd.Series, asked: str, slip: str) -> str:
    chosen = _ASKED.findall(asked)
    head = (
        ""
        if chosen
        else "Possible error aspects: Tone, Focus, Detail, Length, Form\n\n"
    )
    aspects = chosen or ["Tone", "Focus"]
    additions = [
        f"It rained on day {number} of the {aspect.lower()}."
        for number, aspect in enumerate(aspects, 1)
    ]
    if slip == "cut":
        return f"Generated incorrect output:\n{row['reference']} {additions[0]}"
    lines = [
        f"{head}Generated incorrect output:",
        " ".join([row["reference"], *additions]),
    ]
    why = "Nothing before it speaks of rain; leave the sentence out."
    for number, (aspect, addition) in enumerate(
        zip(aspects, additions, strict=True), start=1
    ):
        error = dict(
            zip(_FIELDS, (addition, aspect, why, "major", 3), strict=True)
        ) | _WRONG.get(slip, {})
        lines += [
            f"{name.replace('_', ' ').capitalize()} {number}: {value}"
            for name, value in error.items()
        ]
    return "\n".join(lines)


# -- the feedback collection

GRADES = {
    "5": "clean",
    "4": "broken_grammar",
    "3": "dropped_fact",
    "2": "wrong_value",
    "1": "off_topic",
}
PIECE_SLIPS = {
    "rubric": ("cut", "levels", "empty"),
    "problem": ("next", "empty"),
    "response": ("score", "length", "next"),
}
_TOPICS = (
    "plan",
    "letter",
    "recipe",
    "lesson",
    "contract",
    "diary",
    "report",
    "speech",
    "poem",
    "menu",
    "map",
    "test",
)
_QUALITIES = ("brief", "kind", "exact", "vivid", "calm", "fair", "frank", "orderly")


class FeedbackTeacher:
    """Answers the feedback collection's questions from the mini set: a source is a
    problem, its outputs are responses.

    every: each so manyth rubric and problem has a slip, and half as many responses; 0
    for none. Call `.engine()`.
    """

    def __init__(self, *, every: int = 5) -> None:
        frame = datasets.load("mini")
        self.sources = [
            group.set_index("system_id")
            for _, group in frame.groupby("input_id", sort=False)
        ]
        self.every = every

    def engine(self) -> ScriptedEngine:
        """The teacher as an engine."""
        return ScriptedEngine(self.answer, model="scripted-feedback-teacher")

    def answer(self, request: Request, draw: int) -> str:
        """What the teacher says to one draw of a request. The request's id names the
        piece: rubrics are seeds from 0, or from 100 at even numbers, each paraphrase
        after its own; `rubric/draw/score-n` is a response.
        """
        rubric, *response = request.id.split("/")
        kind, number = rubric.split("-")[:2]
        place = (
            int(number)
            if kind == "seed"
            else 100 + 2 * int(number) + rubric.endswith("-p")
        )
        if response:
            return self._graded(
                place * 7 + int(response[0]), response[1].removeprefix("score-")
            )
        problem = "generate a new novel problem" in _asked(request)
        return self._problem(place * 7 + draw) if problem else self._rubric(place)

    def _slip(self, kind: str, number: int) -> str:
        every = self.every * 2 + 1 if kind == "response" else self.every
        if not self.every or number % every != every - 1:
            return ""
        return PIECE_SLIPS[kind][number // every % len(PIECE_SLIPS[kind])]

    def _rubric(self, number: int) -> str:
        slip, (new, again) = self._slip("rubric", number), divmod(number - 100, 2)
        topic = _TOPICS[new % len(_TOPICS)]
        quality = _QUALITIES[new // len(_TOPICS) % len(_QUALITIES)]
        asks = f"Is the {topic} that the reply offers {quality} enough for its readers?"
        if again:
            asks = f"Would those who read it find the offered {topic} sufficiently {quality}?"
        degrees = ("not at all", "hardly", "in part", "mostly", "entirely")
        record = {"criteria": "" if slip == "empty" else asks}
        record |= {
            f"score{score}_description": f"It is {quality} {how}."
            for score, how in enumerate(degrees, 1)
        }
        if slip == "levels":
            del record["score4_description"]
        text = json.dumps(record)
        return text[: len(text) // 2] if slip == "cut" else f"{text}\n[END]"

    def _problem(self, number: int) -> str:
        slip = self._slip("problem", number)
        source = self.sources[number % len(self.sources)].iloc[0]
        asked = (
            "" if slip == "empty" else f"{source['instruction']}\n{source['source']}"
        )
        between = " " if slip == "next" else " [NEXT] "
        return f"Problem: {asked}{between}Response: {source['reference']} [END]"

    def _graded(self, number: int, score: str) -> str:
        slip = self._slip("response", number * 6 + int(score))
        row = self.sources[number % len(self.sources)]
        row = row.loc[GRADES[score]]
        response = row["output"] * 4 if slip == "length" else row["output"]
        said = int(score) % 5 + 1 if slip == "score" else score
        faults = (
            "; ".join(error["type"].replace("_", " ") for error in row["errors"])
            or "nothing to mend"
        )
        feedback = f"The response to {row['input_id']} shows: {faults}. So the overall score is {said}."
        between = " " if slip == "next" else " [NEXT] "
        return f"Response: {response}{between}Feedback: {feedback} [END]"
