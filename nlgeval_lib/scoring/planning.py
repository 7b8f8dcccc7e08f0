"""What a run would ask and cost; nothing is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from nlgeval_lib.engines import Sampling
from nlgeval_lib.engines.base import canonical
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.stages import Stage
from nlgeval_lib.scoring.asking import duration

CHARACTERS_A_TOKEN = 4  # by which the tokens of a prompt are estimated
# The columns of numbers that every plan has.
COUNTS = (
    "requests",
    "completions",
    "stored",
    "to_ask",
    "prompt_tokens",
    "new_tokens",
    "limit",
)
# Stored completions of a stage from which their mean length says something.
_ENOUGH = 20
# The share of the limit that is expected where fewer are stored: limits are set so that
# no answer is cut.
GUESS = 0.2
_AT_ONCE = 1000  # requests that are looked up in a store together


def plan(stages: Sequence[Stage], store: Store | None = None) -> pd.DataFrame:
    """What each stage of a run (`evaluators.stages.plan`) would ask, in order; equal
    stages of one name are one row.

    Returns: `stage`, `repeated` (completions that another request asks for too), COUNTS
    (tokens are of completions to be asked: of prompts estimated by their characters,
    `new_tokens` expected, `limit` at most), `guessed` (a fifth of the limit is
    expected, as fewer than 20 are stored), `exact` (hangs on no answer to come).
    """
    return counted_stages(list(map(StagePrompts.from_stage, stages)), store, {})


@dataclass(frozen=True)
class StagePrompts:
    """A stage's prompts as a plan counts them, which are the same for many models.

    digests, characters, keys: of each request; no keys where nothing is stored.
    """

    name: str
    sampling: Sampling
    exact: bool
    digests: Sequence[bytes]
    characters: Sequence[int]
    keys: Sequence[Sequence[str]]

    @classmethod
    def from_stage(cls, stage: Stage) -> StagePrompts:
        """Those of a stage."""
        digests = [request.digest() for request in stage.requests]
        lengths = [len(request.text()) for request in stage.requests]
        keys = stage.keys or ()
        return cls(stage.name, stage.sampling, stage.exact, digests, lengths, keys)


# How many draws of a prompt with its sampling settings are counted already.
DrawsCounted = MutableMapping[tuple[bytes, str], int]


def counted_stages(
    planned: Sequence[StagePrompts], store: Store | None, counted_draws: DrawsCounted
) -> pd.DataFrame:
    """The frame of `plan`; the draws of these stages are added to `counted_draws`."""
    by_name: dict[str, list[StagePrompts]] = {}
    for prompts in planned:
        by_name.setdefault(prompts.name, []).append(prompts)
    rows = []
    for name, of_name in by_name.items():
        counts: Counter[str] = Counter()
        lengths: list[int] = []  # the tokens of each stored completion
        for prompts in of_name:
            fresh = _fresh(prompts, counted_draws, counts)
            for start in range(0, len(fresh), _AT_ONCE):
                block = fresh[start : start + _AT_ONCE]
                lengths += _count(prompts, block, store, counts)
        exact = all(prompts.exact for prompts in of_name)
        rows.append({"stage": name, **_numbers(counts, lengths), "exact": exact})
    columns = ["stage", "repeated", *COUNTS, "guessed", "exact"]
    return pd.DataFrame(rows, columns=columns)


def _fresh(
    prompts: StagePrompts, counted_draws: DrawsCounted, counts: Counter[str]
) -> list[tuple[int, int]]:
    """The requests of which some draws are not counted: place, draws counted."""
    asked_with = canonical(prompts.sampling.key())
    draws = prompts.sampling.n
    fresh = []
    for place, digest in enumerate(prompts.digests):
        repeated = min(draws, counted_draws.get((digest, asked_with), 0))
        counts["repeated"] += repeated
        if repeated < draws:
            counted_draws[digest, asked_with] = draws
            fresh.append((place, repeated))
    counts["requests"] += len(prompts.digests)
    counts["completions"] += draws * len(prompts.digests)
    return fresh


def _count(
    prompts: StagePrompts,
    block: Sequence[tuple[int, int]],
    store: Store | None,
    counts: Counter[str],
) -> list[int]:
    """Count what of some requests (place, draws counted) is not stored; the tokens of
    each completion that is.
    """
    stored: Counter[int] = Counter()
    lengths = []
    if store is not None and prompts.keys:
        places: dict[str, int] = {}
        for place, repeated in block:
            places |= dict.fromkeys(prompts.keys[place][repeated:], place)
        for key, answer in store.get_many(places).items():
            stored[places[key]] += 1
            lengths.append(answer.completion_tokens)
    for place, repeated in block:
        count = prompts.sampling.n - repeated - stored[place]
        counts["to_ask"] += count
        counts["limit"] += prompts.sampling.max_tokens * count
        counts["characters"] += prompts.characters[place] * count
    return lengths


def _numbers(counts: Counter[str], lengths: Sequence[int]) -> dict[str, Any]:
    """The columns of `plan` but `stage` and `exact`."""
    to_ask = counts["to_ask"]
    lengths = [length for length in lengths if length > 0]
    enough = len(lengths) >= _ENOUGH
    new_tokens = GUESS * counts["limit"]
    if enough:
        new_tokens = min(sum(lengths) / len(lengths) * to_ask, counts["limit"])
    return {
        **{name: counts[name] for name in ("repeated", *COUNTS)},
        "stored": counts["completions"] - counts["repeated"] - to_ask,
        "prompt_tokens": counts["characters"] / CHARACTERS_A_TOKEN,
        "new_tokens": new_tokens,
        "guessed": bool(to_ask) and not enough,
    }


def in_words(
    planned: pd.DataFrame,
    rate: float | None = None,
    prices: tuple[float, float] | None = None,
) -> Iterator[str | pd.DataFrame]:
    """A plan of stages (`plan`) as people read it: a table, then lines.

    rate: tokens written a second. prices: for a million prompt and new tokens.
    """
    counts = list(COUNTS)
    counts.insert(counts.index("stored"), "repeated")
    table = planned[counts].map("{:,.0f}".format)
    table.columns = table.columns.str.replace("_", " ")
    marks = planned["exact"].map({True: "", False: " (estimate)"})
    table.insert(0, "stage", planned["stage"] + marks)
    yield table.rename(columns={"limit": "at most"})
    totals = planned[list(COUNTS)].sum()
    prompt, expected, limit = totals[["prompt_tokens", "new_tokens", "limit"]]
    yield (
        f"\n{totals['to_ask']:,.0f} completions to ask, "
        f"{totals['stored']:,.0f} stored already"
    )
    if not totals["to_ask"]:
        return
    yield (
        f"prompt tokens: {prompt:,.0f} (estimated: {CHARACTERS_A_TOKEN} characters a "
        "token)"
    )
    guess = ""
    if planned["guessed"].any():
        guess = f" (a guess is {GUESS:.0%} of the limit)"
    yield f"new tokens: {expected:,.0f} expected{guess}, {limit:,.0f} at most"
    if rate is not None:
        yield (
            f"time at {rate:,.0f} tokens a second: "
            f"{duration(expected / rate)} expected, "
            f"{duration(limit / rate)} at most"
        )
    if prices is not None:
        prompt_price, new_price = prices
        cost = (prompt * prompt_price + expected * new_price) / 1e6
        most = (prompt * prompt_price + limit * new_price) / 1e6
        yield (
            f"cost at {prompt_price:g} and {new_price:g} a million: "
            f"{cost:,.2f} expected, {most:,.2f} at most"
        )
    if not planned["exact"].all():
        yield "stages marked as estimates depend on answers that are not stored yet"
