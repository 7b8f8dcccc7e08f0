"""Forms of structured completions as masks of tokens, for the engine transformers."""

from __future__ import annotations

import json
from typing import Any

from nlgeval_lib.engines.base import Sampling, UnsupportedSetting


class Grammars:
    """The forms that completions of one model were held to, compiled once.

    Raises: UnsupportedSetting, in each method, where xgrammar is not installed or does
    not take the form.
    """

    def __init__(self, tokenizer: Any, vocabulary: int) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._compiler: Any = None
        self._compiled: dict[str, Any] = {}

    def processor(self, sampling: Sampling) -> Any:
        """What masks the logits of one batch; None where there is no form."""
        if not sampling.form:
            return None
        from xgrammar.contrib.hf import LogitsProcessor

        return LogitsProcessor(self.compiled(sampling))

    def compiled(self, sampling: Sampling) -> Any:
        """The grammar of a form."""
        text = json.dumps(sampling.form, sort_keys=True)
        if text not in self._compiled:
            [(kind, form)] = sampling.form.items()
            compiler = self._made_compiler(kind)
            try:
                self._compiled[text] = _compile(compiler, kind, form)
            except (RuntimeError, ValueError) as error:
                reason = " ".join(str(error).split())[:300]
                raise UnsupportedSetting(
                    f"xgrammar does not take the form {kind}: {reason}"
                ) from error
        return self._compiled[text]

    def _made_compiler(self, kind: str) -> Any:
        """The compiler for the model's tokens."""
        if self._compiler is None:
            try:
                import xgrammar
            except ImportError:
                raise UnsupportedSetting(
                    f"engine transformers needs the package xgrammar for the form "
                    f"{kind}: install it, or ask the engine vllm or its server"
                ) from None
            tokens = xgrammar.TokenizerInfo.from_huggingface(
                self._tokenizer, vocab_size=self._vocabulary
            )
            self._compiler = xgrammar.GrammarCompiler(tokens)
        return self._compiler


def _compile(compiler: Any, kind: str, form: Any) -> Any:
    """A form of vLLM's names, compiled; JSON is without blanks between its parts."""
    if kind == "json":
        return compiler.compile_json_schema(
            json.dumps(form), any_whitespace=False, separators=(",", ":")
        )
    if kind == "regex":
        return compiler.compile_regex(form)
    alternatives = " | ".join(json.dumps(text, ensure_ascii=False) for text in form)
    return compiler.compile_grammar(f"root ::= {alternatives}")
