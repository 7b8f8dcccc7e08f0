"""Reasoning separated from the answer where a model writes it with special tokens,
which a plain decoding of its text would drop.

`parsers.reasoning` knows the marks; here a tokenizer says which of them are special
tokens.
"""

from __future__ import annotations

from typing import Any

from nlgeval_lib.engines.base import EngineError
from nlgeval_lib.parsers.reasoning import is_mark, opens, split

_TAIL = 16  # tokens at the end of a prompt that can open a reasoning


class ReasoningReader:
    """Splits what a model wrote into reasoning and answer, by its tokenizer's marks.

    Texts of a tokenizer without marks among its special tokens are left as they are,
    unless the prompt ends with a mark.

    tokenizer: of the model.
    parser: the name of one of vLLM's reasoning parsers, which then comes first; "" for
        none.

    Raises: EngineError for a parser that vLLM does not have, or that does not fit the
    tokenizer.
    """

    def __init__(self, tokenizer: Any, parser: str = "") -> None:
        self._tokenizer = tokenizer
        self._parser = _vllm_parser(parser, tokenizer) if parser else None
        self._special = _special_tokens(tokenizer)
        # whether texts are to be decoded with their special tokens
        self.keeps_special = bool(parser) or any(map(is_mark, self._special))

    def parts(self, prompt: list[int], text: str) -> dict[str, Any]:
        """The fields of a completion: `text`, and where there are any `reasoning` and
        `reasoning_tokens`, their number.

        prompt: the tokens of the prompt.
        text: decoded with its special tokens where `keeps_special` says so.
        """
        opened = ""
        # a chat template may have opened the reasoning, so that the text has its end
        # alone
        tail = self._tokenizer.decode(prompt[-_TAIL:], skip_special_tokens=False)
        if "<" in tail or "[" in tail or "◁" in tail:
            opened = opens(tail)
        if not opened and not self.keeps_special:
            return {"text": text}
        reasoning = ""
        if self._parser is not None:
            reasoning, text = self._by_parser(text)
            opened = ""
        inside, answer = split(f"{opened}{text}")
        if self.keeps_special:
            answer = self._plain(answer)
        thoughts = [reasoning, self._plain(inside)]
        reasoning = "\n".join(filter(None, thoughts))
        if not reasoning:
            return {"text": answer}
        count = len(self._tokenizer(reasoning, add_special_tokens=False).input_ids)
        return {"text": answer, "reasoning": reasoning, "reasoning_tokens": count}

    def _by_parser(self, text: str) -> tuple[str, str]:
        """Reasoning and answer by vLLM's parser; all answer where the parser cannot
        say.
        """
        from vllm.entrypoints.openai.chat_completion.protocol import (
            ChatCompletionRequest,
        )

        request = ChatCompletionRequest.model_validate(
            {"messages": [], "model": "judge"}
        )
        parser: Any = self._parser
        try:
            reasoning, answer = parser.extract_reasoning(text, request)
        except NotImplementedError:
            return "", text
        return reasoning or "", answer or ""

    def _plain(self, text: str) -> str:
        """The text without the special tokens that are left in it."""
        for token in self._special:
            text = text.replace(token, "")
        return text


def _special_tokens(tokenizer: Any) -> list[str]:
    """The tokens that a plain decoding drops."""
    added = getattr(tokenizer, "added_tokens_decoder", {})
    special = [str(token) for token in added.values() if token.special]
    return special or list(getattr(tokenizer, "all_special_tokens", ()))


def _vllm_parser(name: str, tokenizer: Any) -> Any:
    """vLLM's reasoning parser of a name, made for a tokenizer; EngineError for none."""
    from vllm.reasoning import ReasoningParserManager

    try:
        return ReasoningParserManager.get_reasoning_parser(name)(tokenizer)
    except KeyError:
        names = ", ".join(ReasoningParserManager.list_registered())
        raise EngineError(
            f"vLLM has no reasoning parser {name!r}; it has {names}"
        ) from None
    except (RuntimeError, ValueError) as error:
        raise EngineError(
            f"the reasoning parser {name!r} does not fit the model: {error}"
        ) from error
