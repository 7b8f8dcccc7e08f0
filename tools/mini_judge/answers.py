"""What a perfect judge would write of an item, in each form that the evaluators
read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from nlgeval_lib.names import NUMBER_WORDS
from tools.mini_judge.criteria import KINDS, Criterion
from tools.mini_judge.records import Error, Item

# why it is an error, and what should be there
EXPLAIN: Mapping[str, Callable[[Error], str]] = {
    "wrong_value": lambda e: f"The record gives {e.correction} as {e.key}.",
    "arithmetic": lambda e: f"The sum is wrong: {e.correction}.",
    "invention": lambda e: f"The record gives no {e.key}.",
    "omission": lambda e: f"The {e.key} is left out: {e.correction}.",
    "repetition": lambda e: f"The {e.key} is said before.",
    "grammar": lambda e: f"The verb should be {e.correction}.",
    "off_topic": lambda e: "The text is not about the record.",
}
# the same in a sentence of feedback, which has no line for the location
TELL: Mapping[str, Callable[[Error], str]] = {
    **EXPLAIN,
    "wrong_value": lambda e: (
        f"The text says {e.location}, the record gives {e.correction} as {e.key}."
    ),
    "arithmetic": lambda e: f"The text says {e.location}: {e.correction}.",
    "grammar": lambda e: f"The verb {e.location} should be {e.correction}.",
}
NOTHING = "The text has no error to tell of."
NUMBERS = NUMBER_WORDS[:11]  # zero to ten


def analysis(item: Item) -> str:
    """The error analysis of TIGERScore.

    Source of the layout: TIGERScore, Table 17; parsers.error_analysis.
    """
    count = len(item.errors)
    total = item.penalty
    lines = [
        f"The model-generated output contains {count} errors, with a total score reduction of {total}."
    ]
    for number, error in enumerate(item.errors, 1):
        kind = KINDS[error.kind]
        lines += [
            f"Error location {number}: {error.location}",
            f"Error aspect {number}: {kind.aspect}",
            f"Explanation {number}: {EXPLAIN[error.kind](error)}",
            f"Severity {number}: {kind.severity}",
            f"Score reduction {number}: {kind.penalty}",
        ]
    return "\n".join(lines)


def feedback(item: Item, criterion: Criterion) -> str:
    """Feedback on a criterion and its score, as Prometheus writes it."""
    sentences = []
    for error in item.errors:
        if error.kind in criterion.kinds:
            sentences.append(TELL[error.kind](error))
    sentences = sentences or [NOTHING]
    return " ".join([*sentences, verdict(item, criterion)])


def verdict(item: Item, criterion: Criterion) -> str:
    """The score alone, in the same form."""
    return f"[RESULT] {criterion.score(item.kinds)}"


def score(item: Item, criterion: Criterion) -> str:
    """One number, after a prompt that ends with a colon."""
    return f" {criterion.score(item.kinds)}"


def aspect_scores(item: Item, criteria: Iterable[Criterion]) -> str:
    """A JSON object of scores, aspect as key (CoAScore, stage II)."""
    scores = {criterion.name: criterion.score(item.kinds) for criterion in criteria}
    return "\n" + json.dumps(scores)


def listed(criteria: Iterable[Criterion]) -> str:
    """Aspects or criteria, a line each: name and definition (CoAScore, stage I;
    HD-Eval, decomposition).
    """
    lines = enumerate(criteria, 1)
    return "".join(f"\n{number}. {criterion.line}" for number, criterion in lines)


def quality(item: Item) -> str:
    """SemScore's overall quality; see `grade`."""
    return f" {grade(item.score('overall'))}"


def grade(overall: float) -> int:
    """SemScore's quality from 1, best, to 4, worst, of an overall score: 1 without
    an error, 4 where the score is 1.
    """
    return {5: 1, 4: 2, 3: 3, 2: 3, 1: 4}[int(overall)]


def kind_of(explanation: str) -> str:
    """The kind of error that an explanation of an analysis tells of, "other" where
    it is none of ours.
    """
    for kind, is_sign in _SIGNS.items():
        if is_sign(explanation):
            return kind
    return "other"


_SIGNS: Mapping[str, Callable[[str], bool]] = {
    "invention": lambda text: text.startswith("The record gives no "),
    "wrong_value": lambda text: text.startswith("The record gives "),
    "arithmetic": lambda text: text.startswith("The sum is wrong"),
    "omission": lambda text: " is left out" in text,
    "repetition": lambda text: text.endswith(" is said before."),
    "grammar": lambda text: text.startswith("The verb should be "),
    "off_topic": lambda text: text == "The text is not about the record.",
}
