"""Drawing tokens in a batch so that each row's draw depends on its own seed alone."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, cast

import torch
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from nlgeval_lib.engines.base import Sampling, likeliest


class Sampler(LogitsProcessor):
    """Changes scores so that the largest, which transformers takes, is a draw.

    seeds: a seed a row; None draws without one.
    prompt: the mask of the prompt's tokens, (rows x tokens); None for a seq2seq model,
    whose decoder does not continue the prompt.
    grammar: masks what the form of a structured completion does not allow.

    Source: Gumbel-max: argmax(log p + g) is distributed as p, where g is minus the
    logarithm of an exponential draw.
    """

    def __init__(
        self,
        sampling: Sampling,
        seeds: Sequence[int | None],
        prompt: torch.Tensor | None,
        grammar: Any = None,
    ) -> None:
        self.sampling = sampling
        self.grammar = grammar
        self.prompt = prompt
        self.warpers = LogitsProcessorList()
        if sampling.temperature > 0:
            self.warpers.append(TemperatureLogitsWarper(sampling.temperature))
        if sampling.top_k > 0:
            self.warpers.append(TopKLogitsWarper(sampling.top_k))
        if sampling.top_p < 1:
            self.warpers.append(TopPLogitsWarper(sampling.top_p))
        self.seeds = [secrets.randbits(63) if seed is None else seed for seed in seeds]
        self.generators: list[torch.Generator] = []  # one a row, from the first step on
        # a step each: token numbers and log-probabilities, both (rows x tokens)
        self.steps: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores whose largest is the next token, (rows x vocabulary)."""
        logits = scores.float()
        allowed = logits
        if self.grammar is not None:
            allowed = self.grammar(input_ids, logits.clone())
        reshaped = self._penalised(input_ids, allowed)
        if self.sampling.temperature > 0:
            reshaped = self._with_noise(input_ids, reshaped)
        if self.sampling.logprobs is not None:
            self._keep_logprobs(logits, reshaped.argmax(-1), self.sampling.logprobs)
        return reshaped

    def _penalised(self, input_ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        """The logits with the penalty on tokens that were read or written already."""
        penalty = self.sampling.repetition_penalty
        if penalty == 1:
            return logits
        repeated = torch.zeros_like(logits, dtype=torch.bool)
        repeated.scatter_(1, self._without_padding(input_ids), True)
        penalised = torch.where(logits > 0, logits / penalty, logits * penalty)
        return torch.where(repeated, penalised, logits)

    def _with_noise(
        self, input_ids: torch.Tensor, logits: torch.Tensor
    ) -> torch.Tensor:
        """The logits after the warpers, with each row's own Gumbel noise."""
        tokens = cast(torch.LongTensor, input_ids)
        scores = cast(torch.FloatTensor, logits)
        warped = self.warpers(tokens, scores)
        if not self.generators:
            for seed in self.seeds:
                fresh = torch.Generator(warped.device)
                self.generators.append(fresh.manual_seed(seed))
        noise = []
        for row, generator in zip(warped, self.generators, strict=True):
            exponential = torch.empty_like(row).exponential_(generator=generator)
            noise.append(-exponential.log_())
        return warped + torch.stack(noise)

    def _keep_logprobs(
        self, logits: torch.Tensor, chosen: torch.Tensor, count: int
    ) -> None:
        """Keep the log-probabilities of the chosen tokens and the `count` likeliest."""
        table = logits.log_softmax(-1)
        top = table.topk(min(count, table.shape[1])).indices
        numbers = torch.cat([chosen[:, None], top], 1)
        values = table.gather(1, numbers)
        self.steps.append((numbers.cpu(), values.cpu()))

    def _without_padding(self, input_ids: torch.Tensor) -> torch.Tensor:
        """The tokens, with the prompt's last one for padding: no penalty is on that."""
        if self.prompt is None:
            return input_ids
        width = self.prompt.shape[1]
        last = input_ids[:, width - 1 : width]
        prompt = input_ids[:, :width]
        prompt = torch.where(self.prompt.bool(), prompt, last)
        new_tokens = input_ids[:, width:]
        return torch.cat([prompt, new_tokens], 1)

    def logprobs(self, tokenizer: Any) -> list[tuple[dict[str, float], ...] | None]:
        """For every row its steps, each a table from token text to log-probability: the
        token that was written, then the likeliest ones; None where none were
        requested.
        """
        if self.sampling.logprobs is None:
            return [None] * len(self.seeds)
        tables: list[tuple[dict[str, float], ...] | None] = []
        for row in range(len(self.seeds)):
            steps = []
            for numbers, values in self.steps:
                # a column of tokens is decoded one by one
                texts = tokenizer.batch_decode(numbers[row, :, None])
                pairs = zip(texts, values[row].tolist(), strict=True)
                steps.append(likeliest(pairs))
            tables.append(tuple(steps))
        return tables


class StopTexts(StoppingCriteria):
    """True for each row whose new text contains one of the stop texts; transformers'
    own criterion looks into the prompt too. start: the place of the first new token.
    """

    def __init__(self, stop: Sequence[str], start: int, tokenizer: Any) -> None:
        self.stop = stop
        self.start = start
        self.tokenizer = tokenizer
        self.window = 4 + max((len(text.encode()) for text in stop), default=0)

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Whether each row of `input_ids` (rows x tokens) is finished, by its last
        tokens.
        """
        finished = torch.zeros(
            input_ids.shape[0], dtype=torch.bool, device=input_ids.device
        )
        if not self.stop:
            return finished
        start = max(self.start, input_ids.shape[1] - self.window)
        last_tokens = input_ids[:, start:]
        texts = self.tokenizer.batch_decode(last_tokens, skip_special_tokens=True)
        for row, text in enumerate(texts):
            finished[row] = any(stop in text for stop in self.stop)
        return finished
