"""What a run would ask and cost; nothing is asked.

`plan` counts the requests of one run, stage by stage; `in_words` says it to a person.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from nlgeval_lib.engines import Engine, Request, Sampling
from nlgeval_lib.engines.base import canonical
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.stages import Stage
from nlgeval_lib.scoring.asking import duration

# How a prompt's tokens are estimated where no tokenizer is here.
CHARACTERS_A_TOKEN = 4
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


def plan(
    stages: Sequence[Stage], engine: Engine, store: Store | None = None
) -> pd.DataFrame:
    """What each stage of a run (`evaluators.stages.plan`) would ask, in order; equal
    stages of one name are one row.

    engine: counts the tokens of prompts, where it can.
    store: where completions are looked up; None: nothing is stored.
    Returns: a row a stage, tokens being of the completions still to be asked. `stage`
    is its name, `repeated` counts completions that another request asks for too, COUNTS
    follow (`new_tokens` are expected ones, `limit` at most). `counted` says whether
    prompt tokens are a tokenizer's count (else characters divided by four), `guessed`
    whether a fifth of the limit is expected (as fewer than 20 are stored to go by),
    `exact` whether the requests hang on no answer that is not there yet.
    """
    prompts = [StagePrompts.from_stage(stage) for stage in stages]
    return counted_stages(prompts, engine, store, {})


@dataclass(frozen=True)
class StagePrompts:
    """A stage's prompts as a plan counts them, which are the same for many models.

    digests, characters: of each request's prompt.
    stage: with the texts, for a model of which completions are stored or whose
    tokenizer is here; else None.
    """

    name: str
    sampling: Sampling
    exact: bool
    digests: Sequence[bytes]
    characters: Sequence[int]
    stage: Stage | None

    @classmethod
    def from_stage(cls, stage: Stage) -> StagePrompts:
        """Those of a stage, with its texts."""
        digests = [request.digest() for request in stage.requests]
        lengths = [len(request.text()) for request in stage.requests]
        return cls(stage.name, stage.sampling, stage.exact, digests, lengths, stage)


# How many draws of a prompt with its sampling settings are counted already.
DrawsCounted = MutableMapping[tuple[bytes, str], int]


def counted_stages(
    planned: Sequence[StagePrompts],
    engine: Engine,
    store: Store | None,
    counted_draws: DrawsCounted,
) -> pd.DataFrame:
    """The frame of `plan`.

    counted_draws: those of other judges of the model; those of these stages are added.
    """
    by_name: dict[str, list[StagePrompts]] = {}
    for prompts in planned:
        by_name.setdefault(prompts.name, []).append(prompts)
    rows = []
    for name, of_name in by_name.items():
        tally = _Tally()
        for prompts in of_name:
            tally.add(prompts, store, counted_draws)
        rows.append({"stage": name, **tally.numbers(engine)})
    columns = ["stage", "repeated", *COUNTS, "counted", "guessed", "exact"]
    return pd.DataFrame(rows, columns=columns)


@dataclass
class _Tally:
    """What the stages of one name take.

    counts: `requests`, all `completions` that they ask for, those among them that are
    `repeated`, those `to_ask` (neither repeated nor stored), the most tokens that these
    can have (`limit`), and the `characters` of their prompts.
    exact: as `StagePrompts` has it, of all stages.
    lengths: the tokens of each stored completion.
    lacking: the requests whose texts are known, each with how often it is to be asked.
    """

    counts: Counter[str] = field(default_factory=Counter)
    exact: bool = True
    lengths: list[int] = field(default_factory=list)
    lacking: list[tuple[Request, int]] = field(default_factory=list)

    def add(
        self, prompts: StagePrompts, store: Store | None, counted_draws: DrawsCounted
    ) -> None:
        """Count one stage more."""
        asked_with = canonical(prompts.sampling.key())
        draws = prompts.sampling.n
        self.exact = self.exact and prompts.exact
        self.counts["requests"] += len(prompts.digests)
        # requests that bring draws of which none is counted: place, draws counted
        fresh = []
        for place, digest in enumerate(prompts.digests):
            key = (digest, asked_with)
            repeated = min(draws, counted_draws.get(key, 0))
            self.counts["completions"] += draws
            self.counts["repeated"] += repeated
            if repeated < draws:
                counted_draws[key] = draws
                fresh.append((place, repeated))
        for start in range(0, len(fresh), _AT_ONCE):
            block = fresh[start : start + _AT_ONCE]
            stored = self._stored(prompts.stage, block, store)
            for place, repeated in block:
                count = draws - repeated - stored[place]
                if count and prompts.stage is not None:
                    self.lacking.append((prompts.stage.requests[place], count))
                self.counts["to_ask"] += count
                self.counts["limit"] += prompts.sampling.max_tokens * count
                self.counts["characters"] += prompts.characters[place] * count

    def _stored(
        self, stage: Stage | None, block: Sequence[tuple[int, int]], store: Store | None
    ) -> Counter[int]:
        """Place of a request -> how many of its draws, after those that are counted,
        are stored.
        """
        counts: Counter[int] = Counter()
        if store is None or stage is None or not stage.keys:
            return counts
        places = {}
        for place, repeated in block:
            for key in stage.keys[place][repeated:]:
                places[key] = place
        for key, answer in store.get_many(places).items():
            counts[places[key]] += 1
            self.lengths.append(answer.completion_tokens)
        return counts

    def numbers(self, engine: Engine) -> dict[str, Any]:
        """The columns of `plan` of these stages, but their name."""
        counts = self.counts
        to_ask = counts["to_ask"]
        stored = counts["completions"] - counts["repeated"] - to_ask
        # Without a tokenizer the tokens of prompts are estimated from characters.
        prompt_tokens = counts["characters"] / CHARACTERS_A_TOKEN
        sizes = None
        if self.lacking:
            sizes = engine.count_tokens([request for request, _ in self.lacking])
        if sizes is not None:
            times = [count for _, count in self.lacking]
            prompt_tokens = sum(map(operator.mul, sizes, times))
        lengths = [length for length in self.lengths if length > 0]
        enough = len(lengths) >= _ENOUGH
        new_tokens = GUESS * counts["limit"]
        if enough:
            mean = sum(lengths) / len(lengths)
            new_tokens = min(mean * to_ask, counts["limit"])
        return {
            **{name: counts[name] for name in ("repeated", *COUNTS)},
            "stored": stored,
            "prompt_tokens": prompt_tokens,
            "new_tokens": new_tokens,
            "counted": sizes is not None or not to_ask,
            "guessed": bool(to_ask) and not enough,
            "exact": self.exact,
        }


def in_words(
    planned: pd.DataFrame,
    rate: float | None = None,
    prices: tuple[float, float] | None = None,
) -> Iterator[str | pd.DataFrame]:
    """A plan of stages (`plan`) as people read it: a table, then lines.

    rate: tokens written a second, for a line about the time; None: no such line.
    prices: for a million prompt tokens and for a million new tokens; None: no line
    about the cost.
    """
    yield _stage_table(planned)
    totals = planned[list(COUNTS)].sum()
    prompt, expected, limit = totals[["prompt_tokens", "new_tokens", "limit"]]
    yield (
        f"\n{totals['to_ask']:,.0f} completions to ask, "
        f"{totals['stored']:,.0f} stored already"
    )
    if not totals["to_ask"]:
        return
    source = f"estimated: {CHARACTERS_A_TOKEN} characters a token"
    if is_counted(planned):
        source = "counted by the tokenizer"
    yield f"prompt tokens: {prompt:,.0f} ({source})"
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


def is_counted(stages: pd.DataFrame) -> bool:
    """Whether a tokenizer counted all prompts that are to be asked."""
    counted = stages["counted"] | stages["to_ask"].eq(0)
    return counted.all()


def _stage_table(planned: pd.DataFrame) -> pd.DataFrame:
    """The counts of each stage, as people read them."""
    counts = list(COUNTS)
    counts.insert(counts.index("stored"), "repeated")
    table = planned[counts].map("{:,.0f}".format)
    table.columns = table.columns.str.replace("_", " ")
    marks = planned["exact"].map({True: "", False: " (estimate)"})
    table.insert(0, "stage", planned["stage"] + marks)
    return table.rename(columns={"limit": "at most"})
