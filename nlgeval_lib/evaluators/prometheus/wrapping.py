"""How a prompt reaches a checkpoint of the Prometheus family, and what of a sample is its instruction."""

from __future__ import annotations

import re

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
