"""transformers in this process: any causal or seq2seq model, and log-likelihoods of given texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nlgeval_lib.engines import models
from nlgeval_lib.engines.base import Ask, Engine, EngineError, Request, Sampling, failed
from nlgeval_lib.records import Completion


class LogLikelihood(NamedTuple):
    """How likely a model finds a text: natural logarithms, one a token; `reason` says why there are none."""

    tokens: tuple[float, ...]
    reason: str = ""

    @property
    def mean(self) -> float:
        """The mean over the tokens; NaN without tokens."""
        return math.fsum(self.tokens) / len(self.tokens) if self.tokens else math.nan


class TransformersEngine(Engine):
    """One model in transformers, in batches of prompts of similar length, padded on the left.

    `model` is a hub id or a folder, `name` its label in the store. On a GPU the model's own precision is used, on the
    CPU float32, unless `dtype` says otherwise. `load_options` pass to `from_pretrained`.
    A draw depends on its seed alone, not on what shares its batch. A batch that does not fit the memory is halved.

    Raises: EngineError where the model cannot be loaded.
    """

    name = "transformers"

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        name: str | None = None,
        chat_template: str | None = None,
        batch_size: int = 16,
        device: str | None = None,
        dtype: str | None = None,
        **load_options: Any,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size}: at least 1 is needed")
        self.model, found = models.identify(model, revision, name)
        self.chat_template, self.batch_size = chat_template, batch_size
        import torch
        import transformers as hf

        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        dtype = dtype or ("auto" if self.device.startswith("cuda") else "float32")
        which = {"revision": revision}
        try:
            config = hf.AutoConfig.from_pretrained(model, **which)
            self.seq2seq = bool(getattr(config, "is_encoder_decoder", False))
            loader: Any = hf.AutoModelForSeq2SeqLM if self.seq2seq else hf.AutoModelForCausalLM
            self._tokenizer: Any = hf.AutoTokenizer.from_pretrained(model, padding_side="left", **which)
            self._model = loader.from_pretrained(model, dtype=dtype, **which, **load_options).to(self.device).eval()
        except (OSError, ValueError, RuntimeError, TypeError, ImportError) as error:
            raise EngineError(f"transformers cannot load {model}: {error}") from error
        self.revision = (found or models.hub_revision(model, revision)) + models.quantised(load_options)
        own = self._model.generation_config
        ends = own.eos_token_id if own.eos_token_id is not None else self._tokenizer.eos_token_id
        self._ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
        pads = [self._tokenizer.pad_token_id, *self._ends, 0]
        self._pad: int = next(token for token in pads if token is not None)
        # A checkpoint's own sampling defaults (temperature, penalties) must not mix with the settings that are asked.
        kept = {name: getattr(own, name) for name in ("bos_token_id", "decoder_start_token_id", "forced_bos_token_id")}
        marks = {"eos_token_id": self._ends or None, "pad_token_id": self._pad}
        self._model.generation_config = hf.GenerationConfig(**kept, **marks)
        takes = getattr(config.get_text_config(), "max_position_embeddings", None)
        self.context = int(takes or min(self._tokenizer.model_max_length, 1 << 20))

    def check(self, sampling: Sampling) -> None:
        """Raises: UnsupportedSetting for a structured completion."""
        self._refuse(sampling, "choice", "regex", "json_schema", why="the engine vllm and its server give such forms")

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """Completions batch by batch, the longest prompts first: what does not fit the memory shows at once."""
        import torch

        ready, refused = [], []
        for ask in asks:
            ids = self._ids(ask.request)
            if not ids or len(ids) + (not self.seq2seq) > self.context:
                refused.append(failed(ask, f"the prompt has {len(ids)} tokens, the model takes 1 to {self.context}"))
            else:
                ready.append((ask, ids))
        if refused:
            yield refused
        ready.sort(key=lambda pair: -len(pair[1]))
        todo = [ready[i : i + self.batch_size] for i in range(0, len(ready), self.batch_size)]
        while todo:
            batch = todo.pop(0)
            longest = len(batch[0][1])
            room = min(sampling.max_tokens, self.context - (1 if self.seq2seq else longest))
            if len(batch) > 1 and room < sampling.max_tokens:
                todo[:0] = [batch[:1], batch[1:]]  # the longest would cut short the others
                continue
            try:
                yield self._run(batch, sampling, room)
            except torch.OutOfMemoryError as error:
                if len(batch) == 1:
                    yield [failed(batch[0][0], f"out of memory with {longest} prompt tokens: {error}")]
                else:
                    todo[:0] = [batch[: len(batch) // 2], batch[len(batch) // 2 :]]

    def loglikelihood(
        self, prompts: Sequence[str], continuations: Sequence[str], *, batch_size: int | None = None
    ) -> list[LogLikelihood]:
        """How likely each continuation is after its prompt, in the given order.

        A causal model scores the tokens of the joined text that reach into the continuation (after an empty prompt and
        without a token that begins a text, its first token has no score). A seq2seq model reads the prompt and scores
        the continuation with its special tokens, as it was trained to write it.
        Raises: ValueError where the two lists differ in length.
        """
        import torch

        pairs = [self._split(prompt, text) for prompt, text in zip(prompts, continuations, strict=True)]
        results = [LogLikelihood((), self._unscorable(*pair)) for pair in pairs]
        ready = [i for i, result in enumerate(results) if not result.reason]
        ready.sort(key=lambda i: -(len(pairs[i][0]) + len(pairs[i][1])))
        size = batch_size or self.batch_size
        for start in range(0, len(ready), size):
            rows = ready[start : start + size]
            with torch.inference_mode():
                for i, values in zip(rows, self._score([pairs[i] for i in rows]), strict=True):
                    results[i] = LogLikelihood(tuple(values))
        return results

    def close(self) -> None:
        """Free the model."""
        if hasattr(self, "_model"):
            del self._model
            import torch

            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _run(self, batch: list[tuple[Ask, list[int]]], sampling: Sampling, room: int) -> list[Completion]:
        import torch

        from nlgeval_lib.engines._sampler import Sampler, StopTexts

        tokens, mask = self._padded([ids for _, ids in batch], "left")
        first = 1 if self.seq2seq else tokens.shape[1]
        sampler = Sampler(sampling, [ask.seed for ask, _ in batch], None if self.seq2seq else mask)
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=tokens,
                attention_mask=mask,
                max_new_tokens=room,
                do_sample=False,  # the sampler draws; the model's own loop then takes the largest
                logits_processor=[sampler],
                stopping_criteria=[StopTexts(sampling.stop, first, self._tokenizer)],
            )
        tables = sampler.logprobs(self._tokenizer)
        rows = zip(batch, out[:, first:].tolist(), tables, strict=True)
        return [self._completion(ask, ids, written, sampling.stop, table) for (ask, ids), written, table in rows]

    def _ids(self, request: Request) -> list[int]:
        return models.token_ids(self._tokenizer, request, self.chat_template, self.model)

    def _padded(self, rows: list[list[int]], side: str = "right") -> tuple[Any, Any]:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        tokens, ones = [torch.tensor(row) for row in rows], [torch.ones(len(row), dtype=torch.long) for row in rows]
        padded = (pad_sequence(each, True, pad, side) for each, pad in ((tokens, self._pad), (ones, 0)))
        whole, mask = (each.to(self.device) for each in padded)
        return whole, mask

    def _completion(
        self, ask: Ask, prompt: list[int], written: list[int], stops: Sequence[str], table: Any
    ) -> Completion:
        """One row of the output as a completion: cut at its end token or stop text."""
        end = next((i for i, token in enumerate(written) if token in self._ends), None)
        text, count = self._text(prompt, written[:end]), len(written) if end is None else end + 1
        if found := [text.find(stop) for stop in stops if stop in text]:
            while count > 1 and any(stop in self._text(prompt, written[: count - 1]) for stop in stops):
                count -= 1
            text = text[: min(found)]
        reason = "length" if end is None and not found else "stop"
        counts = {"prompt_tokens": len(prompt), "completion_tokens": count}
        return self._made(ask, text, finish_reason=reason, logprobs=table and table[:count], **counts)

    def _text(self, prompt: list[int], written: list[int]) -> str:
        """The text of the new tokens as it continues the prompt: some tokenizers drop a text's leading blank."""
        context = [] if self.seq2seq else prompt[-8:]
        texts = [self._tokenizer.decode(ids, skip_special_tokens=True) for ids in (context, context + written, written)]
        before, both, alone = texts
        return both[len(before) :] if both.startswith(before) else alone

    # -- the likelihood of given texts ---------------------------------------------------------------------------------

    def _split(self, prompt: str, text: str) -> tuple[list[int], list[int]]:
        """Tokens that are read, and tokens that are scored."""
        tokenizer = self._tokenizer
        before = list(tokenizer(prompt).input_ids)
        if self.seq2seq:
            return before, list(tokenizer(text_target=text).input_ids) if text else []
        joint = tokenizer(prompt + text, return_offsets_mapping=tokenizer.is_fast)
        ids = list(joint.input_ids)
        if ids[: len(before)] == before:
            return before, ids[len(before) :]
        if not tokenizer.is_fast:
            return before, list(tokenizer(text, add_special_tokens=False).input_ids)
        end = len(prompt)  # one token spans the seam: it belongs to the text
        first = next((i for i, (_, stop) in enumerate(joint["offset_mapping"]) if stop > end), len(ids))
        return ids[:first], ids[first:]

    def _unscorable(self, context: list[int], target: list[int]) -> str:
        """Why a text has no likelihood, empty where it has one."""
        longest = max(len(context), len(target)) if self.seq2seq else len(context) + len(target)
        if not target:
            return "the text has no tokens"
        if longest > self.context:
            return f"{longest} tokens, the model takes {self.context}"
        if self.seq2seq and not context:
            return "the prompt has no tokens"
        return "one token, and nothing before it" if len(context) + len(target) == 1 else ""

    def _score(self, pairs: list[tuple[list[int], list[int]]]) -> list[list[float]]:
        """Scores of one batch of tokens that are read and tokens that are scored.

        A causal model never looks at what stands on the right; a seq2seq model shifts the labels itself.
        """
        if self.seq2seq:
            tokens, mask = self._padded([context for context, _ in pairs])
            labels, _ = self._padded([target for _, target in pairs])
            logits = self._model(input_ids=tokens, attention_mask=mask, labels=labels).logits
        else:
            tokens, mask = self._padded([context + target for context, target in pairs])
            logits, labels = self._model(input_ids=tokens, attention_mask=mask).logits, tokens[:, 1:]
        values = []
        for row, (context, target) in enumerate(pairs):
            read = 0 if self.seq2seq else len(context) - 1  # without context the first token has nothing before it
            start, end = max(read, 0), read + len(target)
            table = logits[row, start:end].float().log_softmax(-1)
            values.append(table.gather(1, labels[row, start:end, None])[:, 0].tolist())
        return values
