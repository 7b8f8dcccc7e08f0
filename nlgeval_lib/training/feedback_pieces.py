"""What the teacher writes for a feedback set, read and held to what the prompt of that step asks.

The paper asks for these properties in its prompts (appendix I) and removes nothing by rule: every rule is ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nlgeval_lib.evaluators.prometheus import Rubric
from nlgeval_lib.parsers.normalise import Record, objects
from nlgeval_lib.parsers.ratings import feedback as read_feedback
from nlgeval_lib.records import Completion
from nlgeval_lib.training.pipeline import Piece, Rule, Unreadable, answered, lacking, unique
from nlgeval_lib.training.statistics import rouge_l, words

SCORES = (1, 2, 3, 4, 5)
KEYS = ("criteria", *(f"score{score}_description" for score in SCORES))
SEEDS = Path(__file__).with_name("feedback_seeds.json")
EMPTY = "a text that is needed is empty"
MOST_WORDS = 1500  # of an instruction or a reference
_END = re.compile(r"\[END\]", re.I)
_NEXT = re.compile(r"\[NEXT\]", re.I)
_HEAD = r"\A[\s*#\"]*{}\s*:?[*]*\s*"
_NAMED = re.compile(r"\bscores?\s+(?:of\s+)?[1-5]\b|\brubrics?\b|\boverall score\b", re.I)
_OVERALL = re.compile(r"\boverall score is\s*:?\s*\(?(\d+(?:\.\d+)?)", re.I)
_SENTENCE = re.compile(r"\w[^\n]*?(?:[.!?…]+[\"'”’)\]]*(?=\s|$)|$)", re.M)


@dataclass(frozen=True, slots=True)
class RubricDraft(Piece):
    """A rubric in the making: `texts` by key (`KEYS`). origin: seed, brainstormed, paraphrased."""

    id: str
    origin: str
    texts: Mapping[str, str]

    @property
    def group(self) -> str:
        """The part of the data, for counts."""
        return f"rubric {self.origin}"

    @property
    def criteria(self) -> str:
        """What the rubric asks."""
        return self.texts.get("criteria", "")

    def rubric(self) -> Rubric:
        """The finished rubric. Raises: KeyError where a level is missing."""
        return Rubric(self.criteria, tuple(self.texts[key] for key in KEYS[1:]))

    def json(self) -> str:
        """The rubric as the prompts show it."""
        return json.dumps(dict(self.texts), ensure_ascii=False, indent=1)

    def content(self) -> dict[str, Any]:
        """What is known of it."""
        return {"kind": "rubric", "origin": self.origin, **self.texts}


@dataclass(frozen=True, slots=True)
class Problem(Piece):
    """An instruction that fits a rubric, with an answer that deserves a 5."""

    id: str
    rubric: RubricDraft
    instruction: str = ""
    reference: str = ""
    group: str = "instruction"

    def content(self) -> dict[str, Any]:
        """What is known of it."""
        of = {"kind": "instruction", "criteria": self.rubric.criteria}
        return {**of, "instruction": self.instruction, "reference": self.reference}


@dataclass(frozen=True, slots=True)
class Graded(Piece):
    """A response that is to deserve `score`, and the feedback that says why."""

    id: str
    of: Problem
    score: int
    response: str = ""
    feedback: str = ""

    @property
    def group(self) -> str:
        """The part of the data, for counts."""
        return f"response {self.score}"

    @property
    def completion(self) -> str:
        """What the fine-tuned model is to write: feedback, `[RESULT]`, score. Source: Prometheus, section 3.2."""
        return f"{self.feedback.strip()} [RESULT] {self.score}"

    def content(self) -> dict[str, Any]:
        """What is known of it."""
        of = {"kind": "response", "criteria": self.of.rubric.criteria, "instruction": self.of.instruction}
        return {**of, "score": self.score, "response": self.response, "feedback": self.feedback}


def seeds(path: Path | str | None = None) -> list[RubricDraft]:
    """The seed rubrics of a JSON or JSONL file of objects with the keys `KEYS`; without a file, twelve of our own.

    Raises: ValueError naming the rubric that is none; OSError.
    """
    text = Path(path or SEEDS).read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except ValueError:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise ValueError(f"{path}: neither JSON nor JSONL: {error}") from None
    records = found.get("rubrics", [found]) if isinstance(found, Mapping) else found
    drafts = []
    for place, record in enumerate(records):
        draft = RubricDraft(f"seed-{place}", "seed", record if isinstance(record, Mapping) else {})
        if wrong := _levels(draft) or lacking(draft.texts, *KEYS, said="{} empty"):
            raise ValueError(f"seed rubric {place}: {wrong}; each needs text in {', '.join(KEYS)}")
        drafts.append(replace(draft, texts={key: draft.texts[key] for key in KEYS}))
    return drafts


# -- what the teacher wrote --------------------------------------------------------------------------------------------


def read_rubric(_: RubricDraft, completion: Completion) -> dict[str, Any]:
    """The texts of the teacher's JSON. Prefix `orig_` is dropped. Raises: Unreadable."""
    records = [item for item, _, _ in objects(_END.split(completion.text)[0]) if isinstance(item, Record)]
    if len(records) != 1:
        raise Unreadable(f"{len(records) or 'no'} JSON object{'s' if records else ''}")
    [record] = records
    if record.cut or record.clashes:
        raise Unreadable("the JSON is cut off" if record.cut else f"{', '.join(sorted(record.clashes))} twice")
    texts = {str(key).strip().removeprefix("orig_"): value for key, value in record.items()}
    return {"texts": {key: " ".join(text.split()) if isinstance(text, str) else "" for key, text in texts.items()}}


def two_parts(**labels: str) -> Callable[[Piece, Completion], dict[str, Any]]:
    """Reads the two labelled parts of a text `First: ... [NEXT] Second: ... [END]`. labels: field -> its label.

    The labels may be missing; `[NEXT]` may not, and may stand there only once. A text that was cut off before `[END]`
    has no value: what reads raises Unreadable.
    """

    def read(_: Piece, completion: Completion) -> dict[str, Any]:
        body, *rest = _END.split(completion.text, maxsplit=1)
        if completion.finish_reason == "length" and not rest:
            raise Unreadable("no [END]")
        parts = _NEXT.split(body)
        if len(parts) != 2:
            raise Unreadable("no [NEXT]" if len(parts) == 1 else f"[NEXT] {len(parts) - 1} times")
        return {
            name: re.sub(_HEAD.format(label), "", part, count=1, flags=re.I).strip()
            for (name, label), part in zip(labels.items(), parts, strict=True)
        }

    return read


read_problem = two_parts(instruction="problem", reference="response")
read_graded = two_parts(response="response", feedback="feedback")


def sentences(text: str) -> int:
    """How many sentences a text has: stretches with a word up to `.`, `!`, `?`, `…` or the line's end; at least 1."""
    return max(1, len(_SENTENCE.findall(text)))


# -- rules ------------------------------------------------------------------------------------------------------------


def rubric_rules(alike: float = 0.95, seeds: Sequence[RubricDraft] = ()) -> list[Rule]:
    """Rubrics: read, with five levels that say something, and not there already.

    alike: the ROUGE-L F1 of two criteria above which the later one is a repetition, `seeds` being the first.
    Raises: ValueError for alike outside 0 to 1.
    """
    if not 0 < alike <= 1:
        raise ValueError(f"alike={alike!r}; a share above 0 and up to 1 is needed")
    earlier = [draft.criteria for draft in seeds]

    def near(draft: RubricDraft) -> str:
        for text in earlier:
            if words(text) == words(draft.criteria) or rouge_l()(text, draft.criteria) > alike:
                return f"like {text[:60]!r}"
        earlier.append(draft.criteria)
        return ""

    return [
        *answered(),
        Rule("levels", "a rubric without a criterion and five levels", _levels, "ours"),
        Rule("empty_field", EMPTY, lambda draft: lacking(draft.texts, *KEYS, said="{} empty"), "ours"),
        Rule("same_levels", "two levels of a rubric have the same description", _same_levels, "ours"),
        Rule("alike", "a criterion in nearly the words of an earlier one", near, "ours"),
    ]


def problem_rules() -> list[Rule]:
    """Instructions with their reference answers."""

    def long(one: Problem) -> str:
        most = max(len(words(one.instruction)), len(words(one.reference)))
        return f"{most:,} words, above {MOST_WORDS:,}" if most > MOST_WORDS else ""

    return [
        *_written("instruction", "reference"),
        Rule("over_long", "a text is longer than the limit", long, "ours"),
        unique(lambda one: tuple(words(one.instruction)), "an instruction or a response that is there already"),
    ]


def graded_rules(length: float = 2.0) -> list[Rule]:
    """Responses with their feedback. length: how many times longer or shorter than its reference a response may be.

    Raises: ValueError for a length below 1.
    """
    if not length >= 1:
        raise ValueError(f"length={length!r}; a factor of at least 1 is needed")

    def uneven(one: Graded) -> str:
        own, reference = len(words(one.response)), len(words(one.of.reference))
        fits = own and reference and 1 / length <= own / reference <= length
        return "" if fits else f"{own} words, the reference has {reference}"

    def copied(one: Graded) -> str:
        return "the reference's words" if words(one.response) == words(one.of.reference) else ""

    return [
        *_written("response", "feedback"),
        Rule("score", "the feedback does not end in the score that was asked for", _score, "ours"),
        Rule("unreadable", "the completion would not be read back with its score", _unreadable, "ours"),
        Rule("names_score", "the response speaks of its score or of the rubric", _named, "ours"),
        Rule("length", "the response is not about as long as the reference", uneven, "ours"),
        Rule("reference", "the response is the reference", copied, "ours"),
        unique(lambda one: (one.of.id, *words(one.response)), "an instruction or a response that is there already"),
    ]


def whole_rules(kept: Sequence[Graded]) -> list[Rule]:
    """Instructions whose five scores are not all there lose the others too, so that scores stay equally frequent.

    Source: Prometheus, section 3 (uniform score distribution).
    """
    there = {(one.of.id, one.score) for one in kept}

    def incomplete(one: Graded) -> str:
        missing = [str(score) for score in SCORES if (one.of.id, score) not in there]
        return f"its instruction has no response of score {', '.join(missing)}" if missing else ""

    return [Rule("incomplete", "another score of its instruction was removed", incomplete, "ours")]


def _written(*names: str) -> list[Rule]:
    """The first rules for a text in two parts."""

    return [*answered(), Rule("empty_field", EMPTY, lambda one: lacking(one, *names, said="{} empty"), "ours")]


def _levels(draft: RubricDraft) -> str:
    """What keeps a rubric from being a criterion with five levels."""
    if "criteria" not in draft.texts:
        return "no criteria"
    if missing := [str(score) for score in SCORES if f"score{score}_description" not in draft.texts]:
        return f"no description of score {', '.join(missing)}"
    found = sum(bool(re.fullmatch(r"score\s*_?\d+.*", str(key))) for key in draft.texts)
    return f"{found} levels instead of five" if found != len(SCORES) else ""


def _same_levels(draft: RubricDraft) -> str:
    seen: dict[tuple[str, ...], int] = {}
    for score, key in zip(SCORES, KEYS[1:], strict=True):
        first = seen.setdefault(tuple(words(draft.texts[key])), score)
        if first != score:
            return f"scores {first} and {score} are described alike"
    return ""


def _score(one: Graded) -> str:
    said = [float(found) for found in _OVERALL.findall(one.feedback)]
    if not said:
        return "no 'So the overall score is'"
    wrong = [f"{found:g}" for found in said if found != one.score]
    return f"it says {', '.join(wrong)}, asked was {one.score}" if wrong else ""


def _unreadable(one: Graded) -> str:
    if re.search(r"\[RESULT\]", one.feedback, re.I):
        return "[RESULT] inside the feedback"
    read = read_feedback(one.completion, 1, 5, "strict")
    return "" if read.ok and read.value == one.score else read.reason or f"read back as {read.value:g}"


def _named(one: Graded) -> str:
    found = _NAMED.search(one.response)
    allowed = _NAMED.search(one.of.instruction)  # a task about scores or rubrics may speak of them
    return f"{found.group()!r}" if found and not allowed else ""
