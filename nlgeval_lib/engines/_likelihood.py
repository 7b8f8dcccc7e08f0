"""Log-likelihoods of given texts under a causal or a seq2seq model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from nlgeval_lib.engines import models
from nlgeval_lib.engines.base import Request

if TYPE_CHECKING:
    from nlgeval_lib.engines.transformers import LogLikelihood, TransformersEngine


def score(
    engine: TransformersEngine, requests: Sequence[Request], continuations: Sequence[str], batch_size: int
) -> list[LogLikelihood]:
    """The scores in the given order; pairs of similar length share a batch."""
    from nlgeval_lib.engines.transformers import LogLikelihood

    pairs = [_split(engine, request, text) for request, text in zip(requests, continuations, strict=True)]
    results: list[LogLikelihood] = [LogLikelihood(())] * len(pairs)
    ready = []
    for i, (context, target) in enumerate(pairs):
        longest = max(len(context), len(target)) if engine.seq2seq else len(context) + len(target)
        if not target:
            results[i] = LogLikelihood((), "the text has no tokens")
        elif longest > engine.context:
            results[i] = LogLikelihood((), f"{longest} tokens, the model takes {engine.context}")
        elif engine.seq2seq and not context:
            results[i] = LogLikelihood((), "the prompt has no tokens")
        elif len(context) + len(target) == 1:
            results[i] = LogLikelihood((), "one token, and nothing before it")
        else:
            ready.append(i)
    ready.sort(key=lambda i: -(len(pairs[i][0]) + len(pairs[i][1])))
    run = _seq2seq if engine.seq2seq else _causal
    for start in range(0, len(ready), batch_size):
        rows = ready[start : start + batch_size]
        with torch.inference_mode():
            for i, values in zip(rows, run(engine, [pairs[i] for i in rows]), strict=True):
                results[i] = LogLikelihood(tuple(values))
    return results


def _split(engine: TransformersEngine, request: Request, text: str) -> tuple[list[int], list[int]]:
    """Tokens that are read, and tokens that are scored."""
    tokenizer = engine._tokenizer
    if engine.seq2seq:
        target = list(tokenizer(text_target=text).input_ids) if text else []
        return models.token_ids(tokenizer, request, engine.chat_template, engine.model), target
    before = models.token_ids(tokenizer, request, engine.chat_template, engine.model)
    if request.messages is not None:  # a template's text is not tokenised again: its end is a token's end
        return before, list(tokenizer(text, add_special_tokens=False).input_ids)
    prompt = request.text()
    joint = tokenizer(prompt + text, return_offsets_mapping=tokenizer.is_fast)
    ids = list(joint.input_ids)
    if ids[: len(before)] == before:
        return before, ids[len(before) :]
    if not tokenizer.is_fast:
        return before, list(tokenizer(text, add_special_tokens=False).input_ids)
    end = len(prompt)  # one token spans the seam: it belongs to the text
    first = next((i for i, (_, stop) in enumerate(joint["offset_mapping"]) if stop > end), len(ids))
    return ids[:first], ids[first:]


def _causal(engine: TransformersEngine, pairs: list[tuple[list[int], list[int]]]) -> list[list[float]]:
    """Scores of one batch, padded on the right, where a causal model never looks."""
    width = max(len(context) + len(target) for context, target in pairs)
    tokens = torch.full((len(pairs), width), engine._pad, device=engine.device)
    mask = torch.zeros_like(tokens)
    for row, (context, target) in enumerate(pairs):
        tokens[row, : len(context) + len(target)] = torch.tensor(context + target, device=engine.device)
        mask[row, : len(context) + len(target)] = 1
    logits = engine._model(input_ids=tokens, attention_mask=mask).logits
    values = []
    for row, (context, target) in enumerate(pairs):
        start = max(len(context), 1)  # without context the first token has nothing before it
        end = len(context) + len(target)
        table = logits[row, start - 1 : end - 1].float().log_softmax(-1)
        values.append(table.gather(1, tokens[row, start:end, None])[:, 0].tolist())
    return values


def _seq2seq(engine: TransformersEngine, pairs: list[tuple[list[int], list[int]]]) -> list[list[float]]:
    """Scores of one batch: the model shifts the labels itself."""
    read, write = max(len(c) for c, _ in pairs), max(len(t) for _, t in pairs)
    tokens = torch.full((len(pairs), read), engine._pad, device=engine.device)
    mask = torch.zeros_like(tokens)
    labels = torch.full((len(pairs), write), engine._pad, device=engine.device)
    for row, (context, target) in enumerate(pairs):
        tokens[row, : len(context)] = torch.tensor(context, device=engine.device)
        mask[row, : len(context)] = 1
        labels[row, : len(target)] = torch.tensor(target, device=engine.device)
    logits = engine._model(input_ids=tokens, attention_mask=mask, labels=labels).logits
    table = logits.float().log_softmax(-1).gather(2, labels[:, :, None])[:, :, 0]
    return [table[row, : len(target)].tolist() for row, (_, target) in enumerate(pairs)]
