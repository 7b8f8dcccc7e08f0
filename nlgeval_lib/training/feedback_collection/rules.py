"""The filters of a feedback set. The paper asks for these properties in its prompts and removes nothing by rule.

Hence every rule is ours; what it holds the teacher to is what the prompt of that step asks (appendix I).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from nlgeval_lib.parsers.feedback import feedback as read_feedback
from nlgeval_lib.training.feedback_collection import pieces
from nlgeval_lib.training.feedback_collection.pieces import SCORES, Graded, Problem, RubricDraft
from nlgeval_lib.training.sieve import Rule, unique
from nlgeval_lib.training.statistics import words

_NAMED = re.compile(r"\bscores?\s+(?:of\s+)?[1-5]\b|\brubrics?\b|\boverall score\b", re.I)
_OVERALL = re.compile(r"\boverall score is\s*:?\s*\(?(\d+(?:\.\d+)?)", re.I)


def rubric_rules(alike: float = 0.95, seeds: list[RubricDraft] | None = None) -> list[Rule]:
    """Rubrics: read, with five levels that say something, and not there already.

    alike: the ROUGE-L F1 of two criteria above which the later one is a repetition, `seeds` being the first.
    Raises: ValueError for alike outside 0 to 1.
    """
    if not 0 < alike <= 1:
        raise ValueError(f"alike={alike!r}; a share above 0 and up to 1 is needed")
    return [
        Rule("failed", "the teacher gave no completion; asked again next time", lambda one: one.failure, "ours"),
        Rule("malformed", "the text is not in the form that was asked for", lambda one: one.problem, "ours"),
        Rule("levels", "a rubric without a criterion and five levels", pieces.levels, "ours"),
        Rule("empty_field", "a text that is needed is empty", pieces.empty, "ours"),
        Rule("same_levels", "two levels of a rubric have the same description", _same_levels, "ours"),
        Rule("alike", "a criterion in nearly the words of an earlier one", _near(alike, seeds or []), "ours"),
    ]


def problem_rules(max_words: int = 1500) -> list[Rule]:
    """Instructions with their reference answers; max_words: most words of either."""

    def empty(one: Problem) -> str:
        lacking = [name for name in ("instruction", "reference") if not getattr(one, name).strip()]
        return f"{', '.join(lacking)} empty" if lacking else ""

    def long(one: Problem) -> str:
        most = max(len(words(one.instruction)), len(words(one.reference)))
        return f"{most:,} words, above {max_words:,}" if most > max_words else ""

    return [
        Rule("failed", "the teacher gave no completion; asked again next time", lambda one: one.failure, "ours"),
        Rule("malformed", "the text is not in the form that was asked for", lambda one: one.problem, "ours"),
        Rule("empty_field", "a text that is needed is empty", empty, "ours"),
        Rule("over_long", "a text is longer than the limit", long, "ours"),
        unique(lambda one: " ".join(words(one.instruction)), "an instruction or a response that is there already"),
    ]


def graded_rules(length: float = 2.0) -> list[Rule]:
    """Responses with their feedback. length: how many times longer or shorter than its reference a response may be.

    Raises: ValueError for a length below 1.
    """
    if not length >= 1:
        raise ValueError(f"length={length!r}; a factor of at least 1 is needed")

    def empty(one: Graded) -> str:
        lacking = [name for name in ("response", "feedback") if not getattr(one, name).strip()]
        return f"{', '.join(lacking)} empty" if lacking else ""

    def uneven(one: Graded) -> str:
        own, reference = len(words(one.response)), len(words(one.of.reference))
        if own and reference and 1 / length <= own / reference <= length:
            return ""
        return f"{own} words, the reference has {reference}"

    return [
        Rule("failed", "the teacher gave no completion; asked again next time", lambda one: one.failure, "ours"),
        Rule("malformed", "the text is not in the form that was asked for", lambda one: one.problem, "ours"),
        Rule("empty_field", "a text that is needed is empty", empty, "ours"),
        Rule("score", "the feedback does not end in the score that was asked for", _score, "ours"),
        Rule("unreadable", "the completion would not be read back with its score", _unreadable, "ours"),
        Rule("names_score", "the response speaks of its score or of the rubric", _named, "ours"),
        Rule("length", "the response is not about as long as the reference", uneven, "ours"),
        Rule("reference", "the response is the reference", _copied, "ours"),
        unique(
            lambda one: (one.of.id, " ".join(words(one.response))), "an instruction or a response that is there already"
        ),
    ]


def whole_rules(kept: list[Graded]) -> list[Rule]:
    """Instructions whose five scores are not all there lose the others too, so that scores stay equally frequent.

    Source: Prometheus, section 3 (uniform score distribution).
    """
    scores: dict[str, set[int]] = {}
    for one in kept:
        scores.setdefault(one.of.id, set()).add(one.score)

    def incomplete(one: Graded) -> str:
        lacking = [str(score) for score in SCORES if score not in scores[one.of.id]]
        return f"its instruction has no response of score {', '.join(lacking)}" if lacking else ""

    return [Rule("incomplete", "another score of its instruction was removed", incomplete, "ours")]


# -- one rule each ---------------------------------------------------------------------------------------------------


def _same_levels(draft: RubricDraft) -> str:
    seen: dict[str, int] = {}
    for score in SCORES:
        text = " ".join(words(draft.texts[f"score{score}_description"]))
        if text in seen:
            return f"scores {seen[text]} and {score} are described alike"
        seen[text] = score
    return ""


def _near(limit: float, seeds: list[RubricDraft]) -> Callable[[RubricDraft], str]:
    from rouge_score import rouge_scorer, tokenizers

    plain = tokenizers.DefaultTokenizer(use_stemmer=False)

    class Once(tokenizers.Tokenizer):
        tokenize = staticmethod(functools.lru_cache(maxsize=None)(plain.tokenize))

    scorer = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Once())
    earlier = [draft.criteria for draft in seeds]

    def why(draft: RubricDraft) -> str:
        for text in earlier:
            same = " ".join(words(text)) == " ".join(words(draft.criteria))
            if same or scorer.score(text, draft.criteria)["rougeL"].fmeasure > limit:
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
    read = read_feedback(completion(one), 1, 5, "strict")
    return "" if read.ok and read.value == one.score else read.reason or f"read back as {read.value:g}"


def _named(one: Graded) -> str:
    found = _NAMED.search(one.response)
    allowed = _NAMED.search(one.of.instruction)  # a task about scores or rubrics may speak of them
    return f"{found.group()!r}" if found and not allowed else ""


def _copied(one: Graded) -> str:
    return "the reference's words" if words(one.response) == words(one.of.reference) else ""


def completion(one: Graded) -> str:
    """What the fine-tuned model is to write: the feedback, `[RESULT]`, the score.

    Source: Prometheus, section 3.2.
    """
    return f"{one.feedback.strip()} [RESULT] {one.score}"
