"""What runs would ask and cost, nothing asked; and the making of every completion that the catalogue's outputs need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine, EngineError, Request
from nlgeval_lib.engines.base import Ask
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.evaluators.stages import Stage
from nlgeval_lib.scoring import Job
from nlgeval_lib.scoring.asking import ProgressBar, duration
from nlgeval_lib.study import catalogue, judges
from nlgeval_lib.study.catalogue import Catalogue, Question
from nlgeval_lib.study.judges import EngineOptions, JudgeUnavailable

CHARACTERS_A_TOKEN = 4
COUNTS = ("requests", "completions", "stored", "to_ask", "prompt_tokens", "new_tokens", "limit")
_ENOUGH = 20  # stored completions of a stage from which their mean length says something
GUESS = 0.2  # of the limit, where fewer are stored: limits are set so that no answer is cut
_NOT_HERE = (JudgeUnavailable, DataError, Unavailable)


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage of a run. Token counts are of the completions that are still to be asked.

    repeated: completions that another request of the run asks for too. counted: whether prompt tokens are a tokenizer's
    count; else they are characters divided by four. new_tokens: expected ones, from the mean length of `seen` stored
    completions of this stage, or a fifth of the limit where fewer than 20 are stored; limit: at most. exact: whether
    the requests are known; else they depend on answers that are not there yet.
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
    return [_plan_of(name, parts, engine, store, known) for name, parts in named.items()]


def _plan_of(name: str, parts: Sequence[Stage], engine: Engine, store: Store | None, known: set[str]) -> StagePlan:
    requests: list[Request] = []
    draws: list[int] = []
    lengths: list[int] = []
    total = repeated = limit = 0
    for stage, request in [(part, one) for part in parts for one in part.requests]:
        asks = Ask.all(request, request.body(engine, stage.sampling), stage.sampling)
        fresh = [ask.key for ask in asks if ask.key not in known]
        total, repeated = total + len(asks), repeated + len(asks) - len(fresh)
        known.update(fresh)
        here = store.get_many(fresh) if store is not None else {}
        lengths += [one.completion_tokens for one in here.values() if one.completion_tokens > 0]
        if len(here) < len(fresh):
            requests.append(request)
            draws.append(len(fresh) - len(here))
            limit += stage.sampling.max_tokens * draws[-1]
    paid = [1] * len(draws) if getattr(engine, "group_draws", False) else draws
    tokens = engine.count_tokens(requests) if requests else []
    sizes = [len(request.text()) / CHARACTERS_A_TOKEN for request in requests] if tokens is None else tokens
    to_ask = sum(draws)
    return StagePlan(
        name=name,
        requests=sum(len(stage.requests) for stage in parts),
        completions=total,
        repeated=repeated,
        stored=total - repeated - to_ask,
        to_ask=to_ask,
        prompt_tokens=sum(size * count for size, count in zip(sizes, paid, strict=True)),
        counted=tokens is not None,
        new_tokens=min(sum(lengths) / len(lengths) * to_ask, limit) if len(lengths) >= _ENOUGH else GUESS * limit,
        limit=limit,
        seen=len(lengths),
        exact=all(stage.exact for stage in parts),
    )


def in_words(
    plans: Sequence[StagePlan],
    rate: float | None = None,
    prices: tuple[float, float] | None = None,
    new_tokens: float | None = None,
) -> Iterator[str | pd.DataFrame]:
    """The plan: a table of the stages, then lines.

    rate: tokens written a second. prices: for a million prompt tokens and a million new tokens. new_tokens: how long a
    completion is expected to be, in tokens.
    """

    def new(one: StagePlan) -> str:
        if new_tokens is not None:
            return f"{one.to_ask * new_tokens:,.0f} (as given)"
        how = f"as {one.seen} stored" if one.seen >= _ENOUGH else "a guess"
        return f"{one.new_tokens:,.0f} ({how})" if one.to_ask else "0"

    def both(likely: float, most: float, form: Callable[[float], str]) -> str:
        return ("" if form(likely) == form(most) else f"{form(likely)} expected, ") + f"{form(most)} at most"

    counts = ("requests", "completions", "repeated", "stored", "to_ask", "prompt_tokens")
    table = {"stage": [one.name + ("" if one.exact else " (estimate)") for one in plans]}
    table |= {name.replace("_", " "): [f"{getattr(one, name):,.0f}" for one in plans] for name in counts}
    yield pd.DataFrame(table | {"new tokens": [new(one) for one in plans]})
    summed = ("to_ask", "stored", "limit", "prompt_tokens", "new_tokens")
    asked, stored, limit, prompt, expected = (sum(getattr(one, name) for one in plans) for name in summed)
    yield f"\n{asked:,} completions to ask, {stored:,} stored already"
    if not asked:
        return
    expected = expected if new_tokens is None else asked * new_tokens
    counted = all(one.counted for one in plans if one.to_ask)
    how = "counted by the tokenizer" if counted else f"estimated: {CHARACTERS_A_TOKEN} characters a token"
    yield f"prompt tokens: {prompt:,.0f} ({how})"
    guessed = new_tokens is None and any(one.to_ask and one.seen < _ENOUGH for one in plans)
    how = f"; a guess is {GUESS:.0%} of the limit" if guessed else ""
    yield f"new tokens: {limit:,} at most" + ("" if expected == limit else f", {expected:,.0f} expected{how}")
    if rate is not None:
        yield f"time at {rate:,.0f} tokens a second: {both(expected / rate, limit / rate, duration)}"
    if prices is not None:
        cost, most = ((prompt * prices[0] + tokens * prices[1]) / 1e6 for tokens in (expected, limit))
        yield f"cost at {prices[0]:g} and {prices[1]:g} a million: {both(cost, most, '{:,.2f}'.format)}"
    if not all(one.exact for one in plans):
        yield "stages marked as estimates depend on answers that are not stored yet"


# -- the catalogue's judges --------------------------------------------------------------------------------------------


def select(
    listed: Catalogue,
    options: EngineOptions,
    outputs: Sequence[str] = (),
    papers: Sequence[str] = (),
    models: Sequence[str] = (),
) -> tuple[list[Question], list[Question]]:
    """What these outputs, papers and models ask (all without), by model; and what this engine is not for.

    Weights that are not public are asked of a server, others of vllm or transformers, unless --model or an address says
    otherwise. Raises: CatalogueError for unknown names.
    """
    entries = {entry.id for entry in listed.select(outputs, papers)}
    chosen = [one for one in listed.questions if one.output in entries and (not models or one.judge.model in models)]
    any_engine = bool(options.model or options.base_url)
    fit = [one for one in chosen if any_engine or one.judge.api == (options.engine == "openai")]
    order = list(dict.fromkeys((one.judge.model, one.judge.revision) for one in fit))
    fit.sort(key=lambda one: order.index((one.judge.model, one.judge.revision)))
    return fit, [one for one in chosen if one not in fit]


def by_model(questions: Sequence[Question], options: EngineOptions) -> list[tuple[str, list[list[Question]]]]:
    """The questions model by model, in order; outputs that ask the very same of the same rows stand together."""
    found: dict[tuple[str, str], dict[tuple[Any, ...], list[Question]]] = {}
    for one in questions:
        found.setdefault(options.model_of(one), {}).setdefault(one.asked, []).append(one)
    return [(model, list(part.values())) for (model, _), part in found.items()]


def plan_catalogue(questions: Sequence[Question], options: EngineOptions) -> pd.DataFrame:
    """A row a judge and its rows: what it would ask, what of that is stored; nothing is asked, no weights are loaded.

    options: with `planning`. Columns: model, judge, paper, outputs, COUNTS, counted, exact, `guessed` (whether a length
    is), `why` it cannot be planned here. A completion that two judges of a model ask counts for the first one.
    """
    entries = {entry.id: entry for entry in catalogue.load().outputs}
    rows: list[dict[str, Any]] = []
    data: dict[tuple[Any, ...], Any] = {}
    for model, part in by_model(questions, options):
        known: set[str] = set()
        ready: Engine | None = None
        for same in part:
            outputs = ", ".join(dict.fromkeys(one.output for one in same))
            papers = sorted({entries[one.output].paper for one in same}, key=lambda paper: paper == catalogue.META)
            row: dict[str, Any] = {"model": model, "judge": str(same[0]), "paper": papers[0], "outputs": outputs}
            row |= {**dict.fromkeys(COUNTS, 0), "counted": True, "exact": True, "guessed": False, "why": ""}
            try:
                job = judges.job(same[0], options, ready, known=data)
                ready = job.engine
                for stage in plan(job.planned(), job.engine, job.store, known):
                    row |= {name: row[name] + getattr(stage, name) for name in COUNTS}
                    row["counted"] &= stage.counted or not stage.to_ask
                    row["exact"] &= stage.exact
                    row["guessed"] |= bool(stage.to_ask) and stage.seen < _ENOUGH
            except (*_NOT_HERE, ValueError, EngineError) as error:
                row["why"] = str(error)
            rows.append(row)
    return pd.DataFrame(rows)


def fill(questions: Sequence[Question], options: EngineOptions, say: Callable[[str], None], quiet: bool = False) -> int:
    """Ask everything that is lacking, each model loaded once; the number of judges that could not be finished.

    Every completion is stored as it comes; one line shows how far the whole plan is. say: takes a line a judge and its
    rows. Raises: KeyboardInterrupt with everything finished stored.
    """
    planned = plan_catalogue(questions, replace(options, planning=True))
    models = by_model(questions, options)
    bar = ProgressBar("the plan", quiet, plan=int(planned["to_ask"].sum()))
    unfinished, made, number = 0, 0, 0
    for model, part in models:
        ready: Engine | None = None
        try:
            for same in part:
                row = planned.iloc[number]
                number += 1
                head = f"[{number}/{len(planned)}] {same[0]}"
                job: Job | None = None
                try:
                    complete = row["exact"] and not row["to_ask"] and not row["why"]
                    if ready is None and not options.ask_again and complete:
                        say(f"{head}: all stored")
                        continue
                    job = judges.job(same[0], options, ready)
                    if ready is None and options.ask_again == "failed":
                        judges.forget_refusals(job.store.folder, job.engine)
                    ready = job.engine
                    read = job.fill(bar)
                except _NOT_HERE as error:
                    say(f"{head}: not here: {error}")
                    continue
                except ValueError as error:
                    unfinished += 1
                    say(f"{head}: error: {error}")
                    continue
                finally:
                    made += job.run.counts["done"] if job else 0
                say(f"{head}: {job.run.summary()}; {read}")
                if job.run.failures:
                    unfinished += 1
                    judges.note_refusals(job.store.folder, job.engine, job.run.failures)
                    first = job.run.failures[0]
                    say(f"    {len(job.run.failures):,} failed, such as {first.id}: {first.reason}")
        except EngineError as error:
            unfinished += 1
            say(f"{model}: error: {error}")
        except KeyboardInterrupt:
            say(f"stopped: {made:,} completions made now are stored; the same command goes on from there")
            raise
        finally:
            if ready is not None:
                ready.close()
    return unfinished
