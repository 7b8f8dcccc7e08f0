"""The plain records that travel between the parts. Imports nothing of ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

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
    """One output to judge, with everything that a judge may be shown."""

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
    """One raw text from a judge. `text` is kept for ever; scores are views of it."""

    key: str
    text: str
    finish_reason: str = "stop"  # "stop", "length", "error"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    logprobs: tuple[Mapping[str, float], ...] | None = None
    model: str = ""
    revision: str = ""
    # what the server called the model that answered, where that is another name than
    # the one that was asked for, and its fingerprint of model and configuration
    served: str = ""
    fingerprint: str = ""
    error: str = ""
    # of an error that says nothing about the prompt, such as a lost connection
    passing: bool = False
    # what the judge thought aloud, where the engine tells it apart from the text
    reasoning: str = ""
    reasoning_tokens: int = 0  # of `completion_tokens`, where the engine counts them


@dataclass(frozen=True, slots=True)
class Judgment:
    """One score, or the reason why there is none.

    `value` is NaN unless `status` is ok. `details` holds what else was read (feedback,
    errors, aspect scores).
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
        """A judgment without a number, and why."""
        return cls(math.nan, status, reason, MappingProxyType(details))
