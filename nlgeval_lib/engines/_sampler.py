"""Drawing tokens in a batch so that each row's draw depends on its own seed alone."""

from __future__ import annotations

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
    """Draws the next token: its scores are changed so that the largest is the draw.

    Repetition penalty, temperature, top-k and top-p come first, then Gumbel noise: the
    largest value is then a draw from the softmax.

    prompt: the mask of the prompt's tokens (rows x tokens); None for a seq2seq model,
    whose decoder does not continue the prompt. grammar: masks what the form of a
    structured completion does not allow.

    Source: Gumbel-max: argmax(log p + g) with g = -log(-log u) is distributed as p.
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
        self.generators: list[torch.Generator] = []
        for seed in seeds:
            generator = torch.Generator()
            if seed is None:
                generator.seed()
            else:
                generator.manual_seed(seed)
            self.generators.append(generator)
        # a step each: token numbers and log-probabilities, both (rows x tokens)
        self.steps: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores whose largest is the next token."""
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
        warped = self.warpers(
            cast(torch.LongTensor, input_ids), cast(torch.FloatTensor, logits)
        )
        rows = []
        for generator in self.generators:
            row = torch.empty(warped.shape[1])
            rows.append(row.exponential_(generator=generator))
        return warped - torch.stack(rows).log().to(warped.device)

    def _keep_logprobs(
        self, logits: torch.Tensor, chosen: torch.Tensor, count: int
    ) -> None:
        """Keep the log-probabilities of the chosen tokens and the `count` likeliest.

        They are those of the untouched logits.
        """
        table = logits.log_softmax(-1)
        top = table.topk(min(count, table.shape[1])).indices
        numbers = torch.cat([chosen[:, None], top], 1)
        self.steps.append((numbers.cpu(), table.gather(1, numbers).cpu()))

    def _without_padding(self, input_ids: torch.Tensor) -> torch.Tensor:
        """The tokens, with the prompt's last token in place of padding on the left.

        The prompt's last token is never padding.
        """
        if self.prompt is None:
            return input_ids
        width = self.prompt.shape[1]
        last = input_ids[:, width - 1 : width]
        prompt = torch.where(self.prompt.bool(), input_ids[:, :width], last)
        return torch.cat([prompt, input_ids[:, width:]], 1)

    def logprobs(self, tokenizer: Any) -> list[tuple[dict[str, float], ...] | None]:
        """For every row its steps, each a table from token text to log-probability.

        The token that was written comes first, then the likeliest ones. None for every
        row where no log-probabilities were requested.
        """
        if self.sampling.logprobs is None:
            return [None] * len(self.generators)
        tables: list[tuple[dict[str, float], ...] | None] = []
        for row in range(len(self.generators)):
            steps = []
            for numbers, values in self.steps:
                texts = tokenizer.batch_decode(numbers[row, :, None])
                steps.append(likeliest(zip(texts, values[row].tolist(), strict=True)))
            tables.append(tuple(steps))
        return tables


class StopTexts(StoppingCriteria):
    """True for each row whose new text contains one of the stop texts.

    The criterion of transformers itself looks into the prompt too.
    """

    def __init__(self, stop: Sequence[str], start: int, tokenizer: Any) -> None:
        self.stop = stop
        self.start = start
        self.tokenizer = tokenizer
        longest = max((len(text.encode()) for text in stop), default=0)
        self.window = longest + 4

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Whether each row is finished, by its last tokens.

        The last tokens are enough: a token is at least one byte, or writes nothing.
        """
        finished = torch.zeros(
            input_ids.shape[0], dtype=torch.bool, device=input_ids.device
        )
        if not self.stop:
            return finished
        start = max(self.start, input_ids.shape[1] - self.window)
        texts = self.tokenizer.batch_decode(
            input_ids[:, start:], skip_special_tokens=True
        )
        for row, text in enumerate(texts):
            finished[row] = any(stop in text for stop in self.stop)
        return finished
