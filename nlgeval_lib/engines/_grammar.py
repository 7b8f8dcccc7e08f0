"""Forms of structured completions as masks of tokens, for the engine transformers."""

from __future__ import annotations

import json
from typing import Any

from nlgeval_lib.engines.base import Sampling, UnsupportedSetting


class Grammars:
    """The forms that completions of one model were held to, compiled once by xgrammar.

    vocabulary: how many tokens the model's logits are of; the tokenizer may have fewer.
    """

    def __init__(self, tokenizer: Any, vocabulary: int) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._compiler: Any = None
        self._compiled: dict[str, Any] = {}

    def processor(self, sampling: Sampling) -> Any:
        """What masks the logits of one batch, whose state it keeps; None for no form."""
        if not sampling.form:
            return None
        from xgrammar.contrib.hf import LogitsProcessor

        return LogitsProcessor(self.compiled(sampling))

    def compiled(self, sampling: Sampling) -> Any:
        """The grammar of the settings' form, which must have one."""
        text = json.dumps(sampling.form, sort_keys=True)
        if text not in self._compiled:
            [(kind, form)] = sampling.form.items()
            try:
                import xgrammar
            except ImportError:
                raise UnsupportedSetting(
                    f"engine transformers needs the package xgrammar for the form "
                    f"{kind}: install it, or ask the engine vllm or its server"
                ) from None
            if self._compiler is None:
                tokens = xgrammar.TokenizerInfo.from_huggingface(
                    self._tokenizer, vocab_size=self._vocabulary
                )
                self._compiler = xgrammar.GrammarCompiler(tokens)
            try:
                self._compiled[text] = _compile(self._compiler, kind, form)
            except (RuntimeError, ValueError) as error:
                reason = " ".join(str(error).split())[:300]
                raise UnsupportedSetting(
                    f"xgrammar does not take the form {kind}: {reason}"
                ) from error
        return self._compiled[text]


def _compile(compiler: Any, kind: str, form: Any) -> Any:
    """A form, compiled; JSON is without blanks between its parts."""
    if kind == "json":
        return compiler.compile_json_schema(
            json.dumps(form), any_whitespace=False, separators=(",", ":")
        )
    if kind == "regex":
        return compiler.compile_regex(form)
    # a grammar of one rule: each text is a quoted alternative
    quoted = [json.dumps(text, ensure_ascii=False) for text in form]
    alternatives = " | ".join(quoted)
    return compiler.compile_grammar(f"root ::= {alternatives}")
