"""What a perfect judge would write of an item, in each form that the evaluators read.

It knows the errors, as they were put in: every function makes its text of them alone.
`kind_of` reads the kind of an error back from an explanation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from mini_judge.criteria import KINDS, Criterion
from mini_judge.records import Error, Item
from nlgeval_lib.names import NUMBER_WORDS

# by kind of error: why it is one, and what should be there
EXPLAIN: Mapping[str, Callable[[Error], str]] = {
    "wrong_value": lambda error: f"The record gives {error.correction} as {error.key}.",
    "arithmetic": lambda error: f"The sum is wrong: {error.correction}.",
    "invention": lambda error: f"The record gives no {error.key}.",
    "omission": lambda error: f"The {error.key} is left out: {error.correction}.",
    "repetition": lambda error: f"The {error.key} is said before.",
    "grammar": lambda error: f"The verb should be {error.correction}.",
    "off_topic": lambda error: "The text is not about the record.",
}
# the same in a sentence of feedback, which has no line for the location
TELL: Mapping[str, Callable[[Error], str]] = {
    **EXPLAIN,
    "wrong_value": lambda error: (
        f"The text says {error.location}, "
        f"the record gives {error.correction} as {error.key}."
    ),
    "arithmetic": lambda error: f"The text says {error.location}: {error.correction}.",
    "grammar": lambda error: f"The verb {error.location} should be {error.correction}.",
}
NOTHING = "The text has no error to tell of."
NUMBERS = NUMBER_WORDS[:11]  # zero to ten


def analysis(item: Item) -> str:
    """The error analysis of TIGERScore: the number of errors and their total, then five
    lines for each.

    Source of the layout: TIGERScore, Table 17; parsers.error_analysis.
    """
    count = len(item.errors)
    total = item.penalty
    lines = [
        f"The model-generated output contains {count} errors, "
        f"with a total score reduction of {total}."
    ]
    for number, error in enumerate(item.errors, 1):
        kind = KINDS[error.kind]
        explanation = EXPLAIN[error.kind](error)
        lines += [
            f"Error location {number}: {error.location}",
            f"Error aspect {number}: {kind.aspect}",
            f"Explanation {number}: {explanation}",
            f"Severity {number}: {kind.severity}",
            f"Score reduction {number}: {kind.penalty}",
        ]
    return "\n".join(lines)


def feedback(item: Item, criterion: Criterion) -> str:
    """Feedback on a criterion and its score, as Prometheus writes it: a sentence for
    each error that lowers it.
    """
    sentences = []
    for error in item.errors:
        if error.kind in criterion.kinds:
            sentences.append(TELL[error.kind](error))
    sentences = sentences or [NOTHING]
    return " ".join([*sentences, verdict(item, criterion)])


def verdict(item: Item, criterion: Criterion) -> str:
    """The score alone, in the form that ends a feedback: "[RESULT] 4"."""
    return f"[RESULT] {criterion.score(item.kinds)}"


def score(item: Item, criterion: Criterion) -> str:
    """One number behind a blank, after a prompt that ends with a colon."""
    return f" {criterion.score(item.kinds)}"


def aspect_scores(item: Item, criteria: Iterable[Criterion]) -> str:
    """A JSON object of scores, aspect as key (CoAScore, stage II)."""
    scores = {criterion.name: criterion.score(item.kinds) for criterion in criteria}
    return "\n" + json.dumps(scores)


def listed(criteria: Iterable[Criterion]) -> str:
    """Aspects or criteria, a line each: name and definition (CoAScore, stage I;
    HD-Eval, decomposition).
    """
    text = ""
    for number, criterion in enumerate(criteria, 1):
        text += f"\n{number}. {criterion.line}"
    return text


def quality(item: Item) -> str:
    """SemScore's overall quality behind a blank; see `grade`."""
    return f" {grade(item.score('overall'))}"


def grade(overall: float) -> int:
    """SemScore's quality from 1, best, to 4, worst, of an overall score: 1 without an
    error, 4 where the score is 1.

    Example:
    >>> [grade(score) for score in (5, 4, 3, 2, 1)]
    [1, 2, 3, 3, 4]
    """
    qualities = {5: 1, 4: 2, 3: 3, 2: 3, 1: 4}
    return qualities[int(overall)]


def kind_of(explanation: str) -> str:
    """The kind of error that an explanation of an analysis tells of, "other" where it
    is none of ours.

    Example:
    >>> kind_of("The record gives 07h15 as opens."), kind_of("It is too long.")
    ('wrong_value', 'other')
    """
    for kind, is_sign in _SIGNS.items():
        if is_sign(explanation):
            return kind
    return "other"


# how `EXPLAIN` words each kind; an invention comes first, as its words begin like a
# wrong value's
_SIGNS: Mapping[str, Callable[[str], bool]] = {
    "invention": lambda text: text.startswith("The record gives no "),
    "wrong_value": lambda text: text.startswith("The record gives "),
    "arithmetic": lambda text: text.startswith("The sum is wrong"),
    "omission": lambda text: " is left out" in text,
    "repetition": lambda text: text.endswith(" is said before."),
    "grammar": lambda text: text.startswith("The verb should be "),
    "off_topic": lambda text: text == "The text is not about the record.",
}
