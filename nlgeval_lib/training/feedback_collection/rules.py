"""The filters of a feedback set. The paper asks for these properties in its prompts and removes nothing by rule.

Hence every rule is ours; what it holds the teacher to is what the prompt of that step asks (appendix I).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from nlgeval_lib.parsers.ratings import feedback as read_feedback
from nlgeval_lib.training.feedback_collection import pieces
from nlgeval_lib.training.feedback_collection.pieces import SCORES, Graded, Problem, RubricDraft
from nlgeval_lib.training.filters import Rule, lacking, unique
from nlgeval_lib.training.pipeline import answered
from nlgeval_lib.training.statistics import rouge_l, words

MOST_WORDS = 1500  # of an instruction or a reference
_NAMED = re.compile(r"\bscores?\s+(?:of\s+)?[1-5]\b|\brubrics?\b|\boverall score\b", re.I)
_OVERALL = re.compile(r"\boverall score is\s*:?\s*\(?(\d+(?:\.\d+)?)", re.I)


def rubric_rules(alike: float = 0.95, seeds: Sequence[RubricDraft] = ()) -> list[Rule]:
    """Rubrics: read, with five levels that say something, and not there already.

    alike: the ROUGE-L F1 of two criteria above which the later one is a repetition, `seeds` being the first.
    Raises: ValueError for alike outside 0 to 1.
    """
    if not 0 < alike <= 1:
        raise ValueError(f"alike={alike!r}; a share above 0 and up to 1 is needed")
    return [
        *answered(),
        Rule("levels", "a rubric without a criterion and five levels", pieces.levels, "ours"),
        Rule("empty_field", "a text that is needed is empty", pieces.empty, "ours"),
        Rule("same_levels", "two levels of a rubric have the same description", _same_levels, "ours"),
        Rule("alike", "a criterion in nearly the words of an earlier one", _near(alike, seeds), "ours"),
    ]


def problem_rules() -> list[Rule]:
    """Instructions with their reference answers."""

    def long(one: Problem) -> str:
        most = max(len(words(one.instruction)), len(words(one.reference)))
        return f"{most:,} words, above {MOST_WORDS:,}" if most > MOST_WORDS else ""

    return [
        *answered(),
        _empty("instruction", "reference"),
        Rule("over_long", "a text is longer than the limit", long, "ours"),
        _new(lambda one: _said(one.instruction)),
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

    return [
        *answered(),
        _empty("response", "feedback"),
        Rule("score", "the feedback does not end in the score that was asked for", _score, "ours"),
        Rule("unreadable", "the completion would not be read back with its score", _unreadable, "ours"),
        Rule("names_score", "the response speaks of its score or of the rubric", _named, "ours"),
        Rule("length", "the response is not about as long as the reference", uneven, "ours"),
        Rule("reference", "the response is the reference", _copied, "ours"),
        _new(lambda one: (one.of.id, _said(one.response))),
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


# -- one rule each ---------------------------------------------------------------------------------------------------


def _empty(*names: str) -> Rule:
    def why(one: Any) -> str:
        missing = lacking(one, *names)
        return f"{missing} empty" if missing else ""

    return Rule("empty_field", "a text that is needed is empty", why, "ours")


def _new(key: Callable[[Any], Any]) -> Rule:
    return unique(key, "an instruction or a response that is there already")


def _said(text: str) -> str:
    return " ".join(words(text))


def _same_levels(draft: RubricDraft) -> str:
    seen: dict[str, int] = {}
    for score in SCORES:
        first = seen.setdefault(_said(draft.texts[f"score{score}_description"]), score)
        if first != score:
            return f"scores {first} and {score} are described alike"
    return ""


def _near(limit: float, seeds: Sequence[RubricDraft]) -> Callable[[RubricDraft], str]:
    earlier = [draft.criteria for draft in seeds]

    def why(draft: RubricDraft) -> str:
        for text in earlier:
            if _said(text) == _said(draft.criteria) or rouge_l()(text, draft.criteria) > limit:
                return f"like {text[:60]!r}"
        earlier.append(draft.criteria)
        return ""

    return why


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


def _copied(one: Graded) -> str:
    return "the reference's words" if words(one.response) == words(one.of.reference) else ""
