"""The plain records that travel between the parts. Imports nothing of ours.

A `Sample` is judged; a `Completion` is what a language model wrote about it; a
`Judgment` is the score that was read, or with a `Status` and a reason why there is
none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

# The default of mappings in the frozen records: one that nobody can change.
_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Status(StrEnum):
    """What became of one judgment. Only `ok` carries a number."""

    OK = "ok"
    UNPARSED = "unparsed"  # no value can be read from the text with certainty
    OUT_OF_RANGE = "out_of_range"  # a value was read, but not one of the scale
    REFUSED = "refused"  # the judge declined
    TRUNCATED = "truncated"  # the completion ended before its verdict
    EMPTY = "empty"  # no text
    FAILED = "failed"  # the engine could not produce a completion
    UNAVAILABLE = "unavailable"  # what would be needed is not on this machine


@dataclass(frozen=True, slots=True)
class Sample:
    """One output to judge, with everything that a judge may be shown; "" for a text
    that there is not.

    id: names it in errors and requests.
    output: the text to judge.
    instruction: what the output was to do.
    source: what it was made from, such as a document or a dialogue.
    context: further text, such as a fact that a dialogue is about.
    references: texts that people wrote or chose for the same input; () for none.
    rubric: the criterion and its scores, as a prompt shows them.
    aspect: the quality that is asked for, such as "coherence".
    extra: further texts by the name of their column.
    """

    id: str
    output: str
    instruction: str = ""
    source: str = ""
    context: str = ""
    references: tuple[str, ...] = ()
    rubric: str = ""
    aspect: str = ""
    extra: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True, slots=True)
class Completion:
    """One raw text from a judge. It is kept for ever; scores are views of it.

    key: identifies what was asked, of whom, and which draw this is.
    text: what the judge wrote, without what it thought aloud.
    finish_reason: "stop", "length" (the token limit) or "error" (there is no text).
    prompt_tokens, completion_tokens: as the engine counts them, 0 where it does not.
    logprobs: for each token of the completion the log-probabilities of likely tokens;
    None where none were asked for.
    model, revision: what was asked.
    served: what the server called the model that answered, where that is another name.
    fingerprint: the server's, of model and configuration.
    error: why there is no text; "" where there is one.
    passing: of an error that says nothing about the prompt, such as a lost connection.
    reasoning: what the judge thought aloud, where the engine gives it apart from the
    text.
    reasoning_tokens: those of `completion_tokens`, where the engine counts them.
    """

    key: str
    text: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    logprobs: tuple[Mapping[str, float], ...] | None = None
    model: str = ""
    revision: str = ""
    served: str = ""
    fingerprint: str = ""
    error: str = ""
    passing: bool = False
    reasoning: str = ""
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Judgment:
    """One score, or the reason why there is none.

    value: the score; NaN unless `status` is ok.
    status: what became of the judgment.
    reason: why there is no value, or what a reader of the value should know.
    details: what else was read (feedback, errors, aspect scores).

    Raises: ValueError where value and status do not fit.
    """

    value: float
    status: Status = Status.OK
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        if (self.status is Status.OK) == math.isnan(self.value):
            raise ValueError(
                f"status {self.status.value!r} with value {self.value}: "
                "a number is ok, NaN has a reason"
            )

    @classmethod
    def missing(cls, status: Status, reason: str, **details: Any) -> Judgment:
        """A judgment without a number, why, and what was read all the same."""
        return cls(math.nan, status, reason, MappingProxyType(details))
