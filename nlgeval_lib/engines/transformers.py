"""transformers in this process: any causal or seq2seq model, and log-likelihoods."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from nlgeval_lib.engines import _attention, models
from nlgeval_lib.engines._grammar import Grammars
from nlgeval_lib.engines.base import Ask, Engine, EngineError, Sampling, failed
from nlgeval_lib.engines.reasoning import ReasoningReader
from nlgeval_lib.records import Completion

_Prompt = tuple[Ask, list[int]]  # what is asked, and its tokens
_Item = TypeVar("_Item")


class LogLikelihood(NamedTuple):
    """How likely a model finds a text."""

    tokens: tuple[float, ...]  # natural logarithms, one for each token of the text
    reason: str = ""  # why there are none; "" where there are some

    @property
    def mean(self) -> float:
        """The mean over the tokens; NaN without tokens."""
        if not self.tokens:
            return math.nan
        return math.fsum(self.tokens) / len(self.tokens)


class TransformersEngine(Engine):
    """One model in transformers, in batches of prompts of similar length, padded on the
    left.

    A draw depends on its seed alone, not on what shares its batch. A batch that does
    not fit the memory is halved.

    model: a hub id, a folder, or a name of weights that were fetched.
    revision: of the model; None: that of the hub's main branch, or a hash of the
    folder's files.
    name: its label in the store, in place of the id or the folder's name.
    batch_size: prompts that are completed together.
    device: such as "cuda:1" or "cpu"; None: the GPU where there is one.
    dtype: None: on a GPU the model's own precision, on the CPU float32.
    load_options: pass to `from_pretrained`.
    """

    name = "transformers"

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        name: str | None = None,
        batch_size: int = 16,
        device: str | None = None,
        dtype: str | None = None,
        **load_options: Any,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size}: at least 1 is needed")
        self.model, known_revision = models.identify(model, revision, name)
        model = models.placed(model)
        self.batch_size = batch_size
        import torch

        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        if dtype is None:
            dtype = "auto" if self.device.startswith("cuda") else "float32"
        try:
            models.reach_hub(model)
            config = self._load(model, revision, dtype, load_options)
        except (OSError, ValueError, RuntimeError, TypeError, ImportError) as error:
            raise EngineError(f"transformers cannot load {model}: {error}") from error
        commit = known_revision or models.hub_revision(model, revision)
        self.revision = commit + models.quantised(load_options)
        self._reasoning = ReasoningReader(self._tokenizer)
        vocabulary = config.get_text_config().vocab_size
        self._grammars = Grammars(self._tokenizer, vocabulary)
        self._set_generation()
        context = getattr(config.get_text_config(), "max_position_embeddings", None)
        self.context = int(context or min(self._tokenizer.model_max_length, 1 << 20))

    def _load(
        self, model: str, revision: str | None, dtype: str, load_options: dict[str, Any]
    ) -> Any:
        import transformers as hf

        config = hf.AutoConfig.from_pretrained(model, revision=revision)
        self.seq2seq = bool(getattr(config, "is_encoder_decoder", False))
        loader: Any = hf.AutoModelForCausalLM
        if self.seq2seq:
            loader = hf.AutoModelForSeq2SeqLM
        self._tokenizer: Any = hf.AutoTokenizer.from_pretrained(
            model, padding_side="left", revision=revision
        )
        loaded = loader.from_pretrained(
            model, dtype=dtype, revision=revision, **load_options
        )
        self._model = loaded.to(self.device).eval()
        if self.device == "cpu":
            _attention.use(self._model)
        return config

    def _set_generation(self) -> None:
        """Find the tokens that end and pad a text, and neutralise the model's defaults."""
        import transformers as hf

        defaults = self._model.generation_config
        ends = defaults.eos_token_id
        if ends is None:
            ends = self._tokenizer.eos_token_id
        if not isinstance(ends, list):
            ends = [] if ends is None else [ends]
        self._ends = ends
        pads = [self._tokenizer.pad_token_id, *ends, 0]
        self._pad: int = next(token for token in pads if token is not None)
        # A checkpoint's own sampling defaults (temperature, penalties) must not mix with
        # the settings of a request.
        self._model.generation_config = hf.GenerationConfig(
            bos_token_id=defaults.bos_token_id,
            decoder_start_token_id=defaults.decoder_start_token_id,
            forced_bos_token_id=defaults.forced_bos_token_id,
            eos_token_id=ends or None,
            pad_token_id=self._pad,
        )

    def check(self, sampling: Sampling) -> None:
        """Raises: UnsupportedSetting for a form that xgrammar does not take."""
        if sampling.form:
            self._grammars.compiled(sampling)

    def generate(
        self, asks: Sequence[Ask], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """Completions batch by batch, the longest prompts first, so that a batch that
        does not fit the memory is the first one.
        """
        prompts, refused = self._fitting(asks)
        if refused:
            yield refused
        prompts.sort(key=lambda prompt: -len(prompt[1]))
        batches = deque(_batches(prompts, self.batch_size))
        while batches:
            batch = batches.popleft()
            longest = len(batch[0][1])
            # the decoder of a seq2seq model begins with one token
            taken_up = 1 if self.seq2seq else longest
            room = min(sampling.max_tokens, self.context - taken_up)
            if len(batch) > 1 and room < sampling.max_tokens:
                # the longest prompt would cut short the completions of the others
                batches.extendleft([batch[1:], batch[:1]])
                continue
            import torch

            try:
                yield self._run(batch, sampling, room)
            except torch.OutOfMemoryError as error:
                if len(batch) == 1:
                    reason = f"out of memory with {longest} prompt tokens: {error}"
                    yield [failed(batch[0][0], reason)]
                    continue
                half = len(batch) // 2
                batches.extendleft([batch[half:], batch[:half]])

    def _fitting(self, asks: Sequence[Ask]) -> tuple[list[_Prompt], list[Completion]]:
        """The prompts that fit the model, with their tokens; the others as failed."""
        prompts: list[_Prompt] = []
        refused = []
        for ask in asks:
            ids = models.token_ids(self._tokenizer, ask.request, self.model)
            # a causal model writes behind the prompt
            if ids and len(ids) + (not self.seq2seq) <= self.context:
                prompts.append((ask, ids))
                continue
            reason = (
                f"the prompt has {len(ids)} tokens, the model takes 1 to {self.context}"
            )
            refused.append(failed(ask, reason))
        return prompts, refused

    def loglikelihood(
        self,
        prompts: Sequence[str],
        continuations: Sequence[str],
        *,
        batch_size: int | None = None,
    ) -> list[LogLikelihood]:
        """How likely is each continuation after its prompt? One result for each pair,
        in order.

        A causal model scores those tokens of the joined text that reach into the
        continuation. After an empty prompt, and without a token that begins a text, its
        first token has no score. A seq2seq model reads the prompt and scores the
        continuation with its special tokens, as it was trained to write it.
        """
        import torch

        pairs = []
        for prompt, continuation in zip(prompts, continuations, strict=True):
            pairs.append(self._split(prompt, continuation))
        results = [LogLikelihood((), self._unscorable(*pair)) for pair in pairs]
        rows = [row for row, result in enumerate(results) if not result.reason]
        # texts of similar length share a batch, so that it needs little padding
        rows.sort(key=lambda row: -sum(map(len, pairs[row])))
        for batch in _batches(rows, batch_size or self.batch_size):
            with torch.inference_mode():
                scores = self._score([pairs[row] for row in batch])
            for row, values in zip(batch, scores, strict=True):
                results[row] = LogLikelihood(tuple(values))
        return results

    def close(self) -> None:
        """Free the model."""
        if hasattr(self, "_model"):
            del self._model
            import torch

            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _run(
        self, batch: list[_Prompt], sampling: Sampling, room: int
    ) -> list[Completion]:
        import torch

        from nlgeval_lib.engines._sampler import Sampler, StopTexts

        tokens, mask = self._padded([ids for _, ids in batch], "left")
        # the output of a seq2seq model begins with the decoder's first token, that of
        # a causal model with the prompt
        first = 1 if self.seq2seq else tokens.shape[1]
        prompt_mask = None if self.seq2seq else mask
        seeds = [ask.seed for ask, _ in batch]
        grammar = self._grammars.processor(sampling)
        sampler = Sampler(sampling, seeds, prompt_mask, grammar)
        stopper = StopTexts(sampling.stop, first, self._tokenizer)
        with torch.inference_mode():
            output = self._model.generate(
                input_ids=tokens,
                attention_mask=mask,
                max_new_tokens=room,
                # the sampler draws; the model's own loop then takes the largest
                do_sample=False,
                logits_processor=[sampler],
                stopping_criteria=[stopper],
            )
        completions = []
        tables = sampler.logprobs(self._tokenizer)
        new_rows = output[:, first:].tolist()
        rows = zip(batch, new_rows, tables, strict=True)
        for (ask, ids), new_tokens, table in rows:
            completion = self._completion(ask, ids, new_tokens, sampling.stop, table)
            completions.append(completion)
        return completions

    def _padded(self, rows: list[list[int]], padding: str = "right") -> tuple[Any, Any]:
        """Rows of tokens as one tensor, and the mask of what is no padding."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        tokens = [torch.tensor(row) for row in rows]
        ones = [torch.ones(len(row), dtype=torch.long) for row in rows]
        padded = pad_sequence(tokens, True, self._pad, padding)
        mask = pad_sequence(ones, True, 0, padding)
        return padded.to(self.device), mask.to(self.device)

    def _completion(
        self,
        ask: Ask,
        prompt: list[int],
        new_tokens: list[int],
        stops: Sequence[str],
        table: Any,
    ) -> Completion:
        """One row of the output as a completion: cut at its end token or stop text."""
        places = (i for i, token in enumerate(new_tokens) if token in self._ends)
        end = next(places, None)
        text = self._text(prompt, new_tokens[:end])
        count = len(new_tokens)
        finish_reason = "length"
        if end is not None:
            count = end + 1  # the end token was written too
            finish_reason = "stop"
        cuts = [text.find(stop) for stop in stops if stop in text]
        if cuts:
            count = self._count_to_stop(prompt, new_tokens, count, stops)
            text = text[: min(cuts)]
            finish_reason = "stop"
        return self._made(
            ask,
            **self._reasoning.parts(prompt, text),
            finish_reason=finish_reason,
            logprobs=table and table[:count],
            prompt_tokens=len(prompt),
            completion_tokens=count,
        )

    def _count_to_stop(
        self, prompt: list[int], new_tokens: list[int], count: int, stops: Sequence[str]
    ) -> int:
        """How many of the new tokens it takes until a stop text is complete."""
        while count > 1:
            shorter = self._text(prompt, new_tokens[: count - 1])
            if not any(stop in shorter for stop in stops):
                break
            count -= 1
        return count

    def _text(self, prompt: list[int], new_tokens: list[int]) -> str:
        """The text of the new tokens as it continues the prompt."""
        # some tokenizers drop a text's leading blank: some of the prompt comes along
        context = [] if self.seq2seq else prompt[-8:]
        prompt_text = self._decoded(context)
        joint_text = self._decoded(context + new_tokens)
        if joint_text.startswith(prompt_text):
            return joint_text[len(prompt_text) :]
        return self._decoded(new_tokens)

    def _decoded(self, ids: list[int]) -> str:
        """The text of tokens; with special ones where reasoning is marked by them."""
        special = not self._reasoning.keeps_special
        return str(self._tokenizer.decode(ids, skip_special_tokens=special))

    # -- the likelihood of given texts

    def _split(self, prompt: str, text: str) -> tuple[list[int], list[int]]:
        """Tokens that are read, and tokens that are scored."""
        tokenizer = self._tokenizer
        context = list(tokenizer(prompt).input_ids)
        if self.seq2seq:
            return context, list(tokenizer(text_target=text).input_ids) if text else []
        joint = tokenizer(prompt + text, return_offsets_mapping=tokenizer.is_fast)
        ids = list(joint.input_ids)
        if ids[: len(context)] == context:
            return context, ids[len(context) :]
        if not tokenizer.is_fast:
            return context, list(tokenizer(text, add_special_tokens=False).input_ids)
        # one token spans prompt and text: it belongs to the text
        ends = (stop > len(prompt) for _, stop in joint["offset_mapping"])
        first = next((i for i, is_text in enumerate(ends) if is_text), len(ids))
        return ids[:first], ids[first:]

    def _unscorable(self, context: list[int], target: list[int]) -> str:
        """Why a text has no likelihood, empty where it has one."""
        joint = len(context) + len(target)
        longest = max(len(context), len(target)) if self.seq2seq else joint
        if not target:
            return "the text has no tokens"
        if longest > self.context:
            return f"{longest} tokens, the model takes {self.context}"
        if self.seq2seq and not context:
            return "the prompt has no tokens"
        if joint == 1:
            return "one token, and nothing before it"
        return ""

    def _score(self, pairs: list[tuple[list[int], list[int]]]) -> list[list[float]]:
        """The log-likelihoods of one batch, a list of tokens' scores a pair."""
        if self.seq2seq:
            tokens, mask = self._padded([context for context, _ in pairs])
            labels, _ = self._padded([target for _, target in pairs])
            # the model shifts the labels itself
            logits = self._model(
                input_ids=tokens, attention_mask=mask, labels=labels
            ).logits
        else:
            # padded on the right, where a causal model never looks
            tokens, mask = self._padded([context + target for context, target in pairs])
            logits = self._model(input_ids=tokens, attention_mask=mask).logits
            labels = tokens[:, 1:]
        scores = []
        for row, (context, target) in enumerate(pairs):
            # the logits at one place score the token at the next place
            first = 0 if self.seq2seq else len(context) - 1
            end = first + len(target)
            # without context the first token has nothing before it, and no score
            start = max(first, 0)
            table = logits[row, start:end].float().log_softmax(-1)
            chosen = table.gather(1, labels[row, start:end, None])
            scores.append(chosen[:, 0].tolist())
        return scores


def _batches(items: list[_Item], size: int) -> list[list[_Item]]:
    """The items in lists of `size`; the last one may be shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]
