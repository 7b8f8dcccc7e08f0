"""Scripted teachers for the pipelines: they know the errors that were built into the
mini set, and slip on purpose.

The notebook `pipelines` beside this runs both data pipelines with them: `MiniTeacher`
stands for the large model that wrote TIGERScore's MetricInstruct, `FeedbackTeacher` for
the one that wrote Prometheus' feedback collection. Each slip is what one filter of the
pipeline is to catch, so that one can see whether it does. For tests, teaching and
trying a pipeline out; a set made with one is for nothing else.
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

# A kind of the mini set -> the task whose prompts and aspects it gets.
TASKS = {
    "summary": "Summ",
    "dialogue": "Instruct",
    "data-to-text": "D2T",
    "question": "LF-QA",
    "arithmetic": "MathQA",
}
# what a teacher may do wrong: each is what one filter is to catch
SLIPS = ("cut", "location", "severity", "aspect", "reference", "unreasonable")
# an aspect that the prompt of the synthetic channel asks an error of
_ASKED = re.compile(r"^\d+\. An error of (?P<aspect>[^:\n]+):", re.MULTILINE)
# slip -> the fields of an error that it makes wrong
_WRONG: dict[str, dict[str, Any]] = {
    "location": {"error_location": "words that nobody wrote"},
    "severity": {"severity": "Minor", "score_reduction": 5},
    "aspect": {"error_aspect": "Charm"},
    "reference": {"explanation": "The reference output says something else."},
}


def mini_inputs(
    n: int | None = None, systems: Sequence[str] | None = None
) -> pd.DataFrame:
    """Rows of the mini set as the MetricInstruct pipeline takes them.

    n: only the first so many; None: all.
    systems: only outputs of these; None: all.
    Returns: the mini set's columns with `task` and `dataset`.
    """
    frame = datasets.load("mini")
    if systems is not None:
        frame = frame[frame["system_id"].isin(systems)]
    frame = frame.assign(task=frame["kind"].map(TASKS), dataset="mini")
    return frame.reset_index(drop=True)[:n]


class MiniTeacher:
    """Answers MetricInstruct's questions about rows of the mini set from their
    constructed errors.

    real: the rows of the real-world channel.
    synthetic: the rows of the synthetic channel; None: the same.
    every: one of so many rows has a slip, in turn one of `SLIPS`; 0 for none.
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
        if not self.every or place % self.every:
            return ""
        turn = place // self.every
        return SLIPS[turn % len(SLIPS)]

    def answer(self, request: Request, draw: int) -> str:
        """What the teacher says to one request.

        request: its id, `channel/...#place`, names the row.
        draw: every draw gets the same answer.
        """
        channel = request.id.split("/", 1)[0]
        place = int(request.id.rsplit("#", 1)[1])
        row = self.frames[channel].iloc[place]
        slip = self.slip(place)
        # The pipeline's questions are known by their words.
        prompt = _prompt(request)
        if 'Answer me "yes" or "no" only' in prompt:
            return "No" if slip == "unreasonable" else "Yes"
        if prompt.startswith("For each error identified"):
            return _analysis(row, slip)
        if "generate an incorrect" in prompt:
            return _spoiled(row, prompt, slip)
        # The first turn of the real-world channel: a list of errors in plain words.
        errors = [f"{error['type']} ({error['severity']})" for error in row["errors"]]
        return "; ".join(errors) or "There is no error."


def _prompt(request: Request) -> str:
    """The last message of a request; empty where it has none."""
    return request.messages[-1]["content"] if request.messages else ""


def _error(slip: str, **fields: Any) -> dict[str, Any]:
    """An error in the fields of an analysis, wrong in one of them where the row slips
    in it.

    slip: one of `SLIPS`, or empty.
    """
    return fields | _WRONG.get(slip, {})


def _analysis(row: pd.Series, slip: str) -> str:
    """The row's errors as an analysis in JSON; with the slip "cut" its first two
    thirds.
    """
    aspects = list(find_task(row["task"]).aspects)
    errors = {}
    for number, error in enumerate(row["errors"], start=1):
        advice = "leave it out"
        if error["correction"]:
            advice = f"write {error['correction']!r} in its place"
        # Any rule that gives equal types the same aspect will do.
        code = sum(map(ord, error["type"]))
        aspect = aspects[code % len(aspects)]
        kind = error["type"].replace("_", " ")
        errors[f"error_{number}"] = _error(
            slip,
            error_location=error["location"],
            error_aspect=aspect,
            explanation=f"This is a {kind}; {advice}.",
            severity=error["severity"].capitalize(),
            score_reduction=error["penalty"],
        )
    text = json.dumps({"errors": errors}, ensure_ascii=False)
    if slip == "cut" and errors:
        return text[: len(text) * 2 // 3]
    return text


def _spoiled(row: pd.Series, prompt: str, slip: str) -> str:
    """The reference with a sentence too many for each aspect asked for, and the
    analysis of these errors.

    prompt: names the aspects; where it names none, the teacher chooses two itself.
    """
    aspects = _ASKED.findall(prompt)
    head = ""
    if not aspects:
        aspects = ["Tone", "Focus"]
        head = "Possible error aspects: Tone, Focus, Detail, Length, Form\n\n"
    output = row["reference"]
    lines = []
    for number, aspect in enumerate(aspects, start=1):
        addition = f"It rained on day {number} of the {aspect.lower()}."
        output += f" {addition}"
        if slip == "cut":
            return f"Generated incorrect output:\n{output}"
        error = _error(
            slip,
            error_location=addition,
            error_aspect=aspect,
            explanation="Nothing before it speaks of rain; leave the sentence out.",
            severity="major",
            score_reduction=3,
        )
        for name, value in error.items():
            label = name.replace("_", " ").capitalize()
            lines.append(f"{label} {number}: {value}")
    return "\n".join([f"{head}Generated incorrect output:", output, *lines])


# -- the feedback collection

# score -> the system of the mini set whose outputs deserve it
GRADES = {
    "5": "clean",
    "4": "broken_grammar",
    "3": "dropped_fact",
    "2": "wrong_value",
    "1": "off_topic",
}
# kind of piece -> the slips that it may have
PIECE_SLIPS = {
    "rubric": ("cut", "levels", "empty"),
    "problem": ("next", "empty"),
    "response": ("score", "length", "next"),
}
# what made-up rubrics are about
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

    every: one of so many rubrics and problems has a slip, and half as many responses; 0
    for none.
    """

    def __init__(self, *, every: int = 5) -> None:
        frame = datasets.load("mini").set_index("system_id")
        self.sources = [group for _, group in frame.groupby("input_id", sort=False)]
        self.every = every

    def engine(self) -> ScriptedEngine:
        """The teacher as an engine."""
        return ScriptedEngine(self.answer, model="scripted-feedback-teacher")

    def answer(self, request: Request, draw: int) -> str:
        """What the teacher says to one draw of a request.

        request: its id names the piece: rubrics are seeds from 0, or from 100 at even
        numbers, each paraphrase after its own; `rubric/draw/score-n` is a response.
        draw: of several problems for one rubric each is another.
        """
        rubric, *response = request.id.split("/")
        kind, position = rubric.split("-")[:2]
        place = int(position)
        if kind != "seed":
            place = 100 + 2 * place + rubric.endswith("-p")
        # Problems and responses of one rubric get numbers of their own: up to 7 draws.
        if response:
            response_draw, score = response
            number = place * 7 + int(response_draw)
            return self._graded(number, score.removeprefix("score-"))
        if "generate a new novel problem" in _prompt(request):
            return self._problem(place * 7 + draw)
        return self._rubric(place)

    def _slip(self, kind: str, number: int) -> str:
        """Which slip a piece has, empty for none.

        kind: "rubric", "problem" or "response". number: of the piece.
        """
        every = self.every * 2 + 1 if kind == "response" else self.every
        if not self.every or number % every != every - 1:
            return ""
        slips = PIECE_SLIPS[kind]
        return slips[number // every % len(slips)]

    def _rubric(self, number: int) -> str:
        """A rubric in JSON; odd numbers are paraphrases of the number below."""
        slip = self._slip("rubric", number)
        question, is_paraphrase = divmod(number - 100, 2)
        topic = _TOPICS[question % len(_TOPICS)]
        quality = _QUALITIES[question // len(_TOPICS) % len(_QUALITIES)]
        criteria = (
            f"Is the {topic} that the reply offers {quality} enough for its readers?"
        )
        if is_paraphrase:
            criteria = (
                f"Would those who read it find the offered {topic} sufficiently "
                f"{quality}?"
            )
        if slip == "empty":
            criteria = ""
        record = {"criteria": criteria}
        degrees = ("not at all", "hardly", "in part", "mostly", "entirely")
        for score, degree in enumerate(degrees, 1):
            record[f"score{score}_description"] = f"It is {quality} {degree}."
        if slip == "levels":
            del record["score4_description"]
        text = json.dumps(record)
        if slip == "cut":
            return text[: len(text) // 2]
        return f"{text}\n[END]"

    def _problem(self, number: int) -> str:
        """A problem and its reference answer."""
        slip = self._slip("problem", number)
        source = self.sources[number % len(self.sources)].iloc[0]
        problem = f"{source['instruction']}\n{source['source']}"
        if slip == "empty":
            problem = ""
        between = " " if slip == "next" else " [NEXT] "
        return f"Problem: {problem}{between}Response: {source['reference']} [END]"

    def _graded(self, number: int, score: str) -> str:
        """A response of this score and the feedback to it.

        number: of the piece. score: "1" to "5".
        """
        slip = self._slip("response", number * 6 + int(score))
        row = self.sources[number % len(self.sources)].loc[GRADES[score]]
        response = row["output"]
        if slip == "length":
            response *= 4
        # A wrong score is the next one; after 5 comes 1.
        verdict = score
        if slip == "score":
            verdict = str(int(score) % 5 + 1)
        faults = [error["type"].replace("_", " ") for error in row["errors"]]
        listed = "; ".join(faults) or "nothing to mend"
        feedback = f"The response to {row['input_id']} shows: {listed}. "
        feedback += f"So the overall score is {verdict}."
        between = " " if slip == "next" else " [NEXT] "
        return f"Response: {response}{between}Feedback: {feedback} [END]"
