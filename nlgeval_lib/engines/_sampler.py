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
    """Penalty, temperature, top-k, top-p, then Gumbel noise: the largest value is a draw from the softmax.

    prompt: the mask of the prompt's tokens, None for a seq2seq model: what its decoder writes is no continuation.
    Source: Gumbel-max: argmax(log p + g) with g = -log(-log u) is distributed as p.
    """

    def __init__(self, sampling: Sampling, seeds: Sequence[int | None], prompt: torch.Tensor | None) -> None:
        self.sampling, self.prompt = sampling, prompt
        self.warpers = LogitsProcessorList()
        if sampling.temperature > 0:
            self.warpers.append(TemperatureLogitsWarper(sampling.temperature))
        if sampling.top_k > 0:
            self.warpers.append(TopKLogitsWarper(sampling.top_k))
        if sampling.top_p < 1:
            self.warpers.append(TopPLogitsWarper(sampling.top_p))
        self.noise = [torch.Generator() for _ in seeds]
        for generator, seed in zip(self.noise, seeds, strict=True):
            generator.manual_seed(seed) if seed is not None else generator.seed()
        self.kept: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores whose largest is the next token."""
        s, raw = self.sampling, scores.float()
        out = raw
        if s.repetition_penalty != 1:
            seen = torch.zeros_like(raw, dtype=torch.bool).scatter_(1, self._written(input_ids), True)
            out = torch.where(seen, torch.where(out > 0, out / s.repetition_penalty, out * s.repetition_penalty), out)
        if s.temperature > 0:
            out = self.warpers(cast(torch.LongTensor, input_ids), cast(torch.FloatTensor, out))
            rows = [torch.empty(out.shape[1]).exponential_(generator=generator) for generator in self.noise]
            out = out - torch.stack(rows).log().to(out.device)
        if s.logprobs is not None:  # of the untouched logits: the chosen token's, and the likeliest ones'
            table = raw.log_softmax(-1)
            top = table.topk(min(s.logprobs, table.shape[1])).indices
            numbers = torch.cat([out.argmax(-1)[:, None], top], 1)
            self.kept.append((numbers.cpu(), table.gather(1, numbers).cpu()))
        return out

    def _written(self, input_ids: torch.Tensor) -> torch.Tensor:
        """The tokens, those of the padding on the left replaced by the prompt's last one, which is never padding."""
        if self.prompt is None:
            return input_ids
        width = self.prompt.shape[1]
        prompt = torch.where(self.prompt.bool(), input_ids[:, :width], input_ids[:, width - 1 : width])
        return torch.cat([prompt, input_ids[:, width:]], 1)

    def logprobs(self, tokenizer: Any) -> list[tuple[dict[str, float], ...] | None]:
        """For every row its steps: the written token's text and log-probability first, then the likeliest ones'."""
        if self.sampling.logprobs is None:
            return [None] * len(self.noise)
        return [
            tuple(
                likeliest(zip(tokenizer.batch_decode(numbers[row, :, None]), values[row].tolist(), strict=True))
                for numbers, values in self.kept
            )
            for row in range(len(self.noise))
        ]


class StopTexts(StoppingCriteria):
    """True for each row whose new text contains one of the stop texts; transformers' own looks into the prompt too."""

    def __init__(self, stop: Sequence[str], start: int, tokenizer: Any) -> None:
        self.stop, self.start, self.tokenizer = stop, start, tokenizer
        self.window = max((len(text.encode()) for text in stop), default=0) + 4

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Looks at the last tokens only: a token is at least a byte, or writes nothing."""
        done = torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)
        if self.stop:
            new = input_ids[:, max(self.start, input_ids.shape[1] - self.window) :]
            for row, text in enumerate(self.tokenizer.batch_decode(new, skip_special_tokens=True)):
                done[row] = any(stop in text for stop in self.stop)
        return done
