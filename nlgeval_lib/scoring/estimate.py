"""What a run would ask and cost, nothing asked: completions, tokens, time, money."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from nlgeval_lib.engines import Engine, Request
from nlgeval_lib.engines.base import Ask
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.stages import Stage
from nlgeval_lib.scoring.progress import duration

CHARACTERS_A_TOKEN = 4
_ENOUGH = 20  # stored completions of a stage from which their mean length says something


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage of a run. Token counts are of the completions that are still to be asked.

    repeated: completions that another request of the run asks for too. counted: whether prompt tokens are a tokenizer's
    count; else they are characters divided by four. new_tokens: expected ones, from the mean length of `seen` stored
    completions of this stage, or the limit where fewer than 20 are stored; limit: at most. exact: whether the requests
    are known; else they depend on answers that are not there yet.
    """

    name: str
    requests: int
    completions: int
    repeated: int
    stored: int
    to_ask: int
    prompt_tokens: float
    counted: bool
    new_tokens: float
    limit: int
    seen: int
    exact: bool


def plan(
    stages: Sequence[Stage], engine: Engine, store: Store | None = None, known: set[str] | None = None
) -> list[StagePlan]:
    """A line for every stage, in order; equal stages of one name are one line.

    known: keys that are counted elsewhere; those of these stages are added.
    """
    known = set() if known is None else known
    named: dict[str, list[Stage]] = {}
    for stage in stages:
        named.setdefault(stage.name, []).append(stage)
    return [_one(name, parts, engine, store, known) for name, parts in named.items()]


def _one(name: str, parts: Sequence[Stage], engine: Engine, store: Store | None, known: set[str]) -> StagePlan:
    requests: list[Request] = []
    draws: list[int] = []
    total = repeated = 0
    limit = 0
    lengths: list[int] = []
    for stage in parts:
        for request in stage.requests:
            asks = Ask.all(request, request.body(engine, stage.sampling), stage.sampling)
            total += len(asks)
            fresh = [ask for ask in asks if ask.key not in known]
            repeated += len(asks) - len(fresh)
            known.update(ask.key for ask in fresh)
            here = store.get_many(ask.key for ask in fresh) if store is not None else {}
            lengths += [completion.completion_tokens for completion in here.values()]
            if len(here) < len(fresh):
                requests.append(request)
                draws.append(len(fresh) - len(here))
                limit += stage.sampling.max_tokens * draws[-1]
    paid = [1] * len(draws) if getattr(engine, "group_draws", False) else draws
    tokens = engine.count_tokens(requests) if requests else []
    sizes = [len(request.text()) / CHARACTERS_A_TOKEN for request in requests] if tokens is None else tokens
    lengths = [length for length in lengths if length > 0]
    to_ask = sum(draws)
    expected = min(sum(lengths) / len(lengths) * to_ask, limit) if len(lengths) >= _ENOUGH else limit
    return StagePlan(
        name=name,
        requests=sum(len(stage.requests) for stage in parts),
        completions=total,
        repeated=repeated,
        stored=total - repeated - to_ask,
        to_ask=to_ask,
        prompt_tokens=sum(size * count for size, count in zip(sizes, paid, strict=True)),
        counted=tokens is not None,
        new_tokens=expected,
        limit=limit,
        seen=len(lengths),
        exact=all(stage.exact for stage in parts),
    )


def lines(
    plans: Sequence[StagePlan],
    rate: float | None = None,
    prices: tuple[float, float] | None = None,
    new_tokens: float | None = None,
) -> list[str]:
    """The plan as text.

    rate: tokens written a second. prices: for a million prompt tokens and a million new tokens. new_tokens: how long a
    completion is expected to be, in tokens.
    """
    from nlgeval_lib.report import show

    counts = ("requests", "completions", "repeated", "stored", "to_ask", "prompt_tokens")
    table: dict[str, list[str]] = {"stage": [one.name + ("" if one.exact else " (estimate)") for one in plans]}
    table |= {name.replace("_", " "): [f"{getattr(one, name):,.0f}" for one in plans] for name in counts}
    table["new tokens"] = [_new(one, new_tokens) for one in plans]
    asked, stored, prompt, limit, expected = (
        sum(getattr(one, name) for one in plans)
        for name in ("to_ask", "stored", "prompt_tokens", "limit", "new_tokens")
    )
    said = [show(pd.DataFrame(table)).text, "", f"{asked:,} completions to ask, {stored:,} stored already"]
    if not asked:
        return said
    if new_tokens is not None:
        expected = asked * new_tokens
    counted = all(one.counted for one in plans if one.to_ask)
    how = "counted by the tokenizer" if counted else f"estimated: {CHARACTERS_A_TOKEN} characters a token"
    said.append(f"prompt tokens: {prompt:,.0f} ({how})")
    said.append(f"new tokens: {limit:,} at most" + ("" if expected == limit else f", {expected:,.0f} expected"))
    if rate is not None:
        said.append(f"time at {rate:,.0f} tokens a second: {_both(expected / rate, limit / rate, duration)}")
    if prices is not None:
        cost = [(prompt * prices[0] + tokens * prices[1]) / 1e6 for tokens in (expected, limit)]
        said.append(f"cost at {prices[0]:g} and {prices[1]:g} a million: {_both(cost[0], cost[1], '{:,.2f}'.format)}")
    if not all(one.exact for one in plans):
        said.append("stages marked as estimates depend on answers that are not stored yet")
    return said


def _new(one: StagePlan, new_tokens: float | None) -> str:
    if new_tokens is not None:
        return f"{one.to_ask * new_tokens:,.0f} (as given)"
    if one.new_tokens == one.limit:
        return f"{one.limit:,} at most"
    return f"{one.new_tokens:,.0f} (as {one.seen} stored)"


def _both(expected: float, most: float, form: Callable[[float], str]) -> str:
    likely = "" if form(expected) == form(most) else f"{form(expected)} expected, "
    return f"{likely}{form(most)} at most"
