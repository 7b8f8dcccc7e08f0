"""Reasoning separated from the answer where a model writes it with special tokens,
which a plain decoding of its text would drop.
"""

from __future__ import annotations

from typing import Any

from nlgeval_lib.parsers.reasoning import is_mark, opens, split

_TAIL = 16  # tokens at the end of a prompt that can open a reasoning


class ReasoningReader:
    """Splits what a model wrote into reasoning and answer, by its tokenizer's marks, or
    one at the end of the prompt.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        # the tokens that a plain decoding drops
        added = getattr(tokenizer, "added_tokens_decoder", {})
        special = [str(token) for token in added.values() if token.special]
        self._special = special or list(getattr(tokenizer, "all_special_tokens", ()))
        # whether texts are to be decoded with their special tokens
        self.keeps_special = any(map(is_mark, self._special))

    def parts(self, prompt: list[int], text: str) -> dict[str, Any]:
        """The fields of a completion: `text`, perhaps `reasoning` and
        `reasoning_tokens`. text: decoded with its special tokens where
        `keeps_special` says so.
        """
        # a chat template may have opened the reasoning, so that the text has its end
        # alone
        tail = self._tokenizer.decode(prompt[-_TAIL:], skip_special_tokens=False)
        opened = opens(tail)
        if not opened and not self.keeps_special:
            return {"text": text}
        reasoning, answer = split(f"{opened}{text}")
        if self.keeps_special:
            answer = self._plain(answer)
        reasoning = self._plain(reasoning)
        if not reasoning:
            return {"text": answer}
        count = len(self._tokenizer(reasoning, add_special_tokens=False).input_ids)
        return {"text": answer, "reasoning": reasoning, "reasoning_tokens": count}

    def _plain(self, text: str) -> str:
        """The text without the special tokens that are left in it."""
        for token in self._special:
            text = text.replace(token, "")
        return text
