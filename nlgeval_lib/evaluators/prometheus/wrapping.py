"""What a prompt of Prometheus is made of, how it reaches a checkpoint, and the form of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nlgeval_lib.evaluators.chat import ChatFormat
from nlgeval_lib.schema import Sample

# the v1 checkpoints are Llama-2-Chat tuned on the paper's prompt; those of the second paper are Mistral-Instruct
_FAMILIES = (
    (re.compile(r"prometheus-\d+b-v1"), "prometheus-v1"),
    (re.compile(r"prometheus-\d+x?\d*b-v2|prometheus-bgb"), "mistral"),
    (re.compile(r"llama-?2-.*chat"), "llama2"),
)


def family(model: str) -> ChatFormat:
    """The wrapping that the checkpoint called `model` was trained with; chat messages for a model not known.

    Source: Prometheus, appendix J (Llama-2's conversation template).
    """
    for pattern, chat in _FAMILIES:
        if pattern.search(model.lower()):
            return ChatFormat.named(chat)
    return ChatFormat.named("messages")


def asked(sample: Sample) -> str:
    """The instruction with the sample's input inside it: `source` and `context` follow it where there are some."""
    return "\n\n".join(text for text in (sample.instruction, sample.source, sample.context) if text)


def verdict_form(verdicts: Iterable[str], room: int, feedback: bool = True) -> str:
    """A pattern of completions with a verdict that end within `room` tokens of a letter or more."""
    verdicts = [re.escape(verdict) for verdict in verdicts]
    free = max(1, room - 12 - max(map(len, verdicts)))
    return (rf"[^\[\]\n]{{1,{free}}}" if feedback else "") + rf"\[RESULT\] ({'|'.join(verdicts)})"
