"""What runs would ask and cost, nothing asked; and the making of every completion
that the catalogue's outputs need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine, EngineError, Request
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.evaluators.stages import Stage
from nlgeval_lib.scoring import Job
from nlgeval_lib.scoring.asking import ProgressBar, duration
from nlgeval_lib.study import catalogue, judges
from nlgeval_lib.study.catalogue import Catalogue, Question
from nlgeval_lib.study.judges import EngineOptions

CHARACTERS_A_TOKEN = 4
COUNTS = (
    "requests",
    "completions",
    "stored",
    "to_ask",
    "prompt_tokens",
    "new_tokens",
    "limit",
)
_ENOUGH = (
    20  # stored completions of a stage from which their mean length says something
)
GUESS = (
    0.2  # of the limit, where fewer are stored: limits are set so that no answer is cut
)
_NOT_HERE = (DataError, Unavailable)


def plan(
    stages: Sequence[Stage],
    engine: Engine,
    store: Store | None = None,
    known: set[str] | None = None,
) -> pd.DataFrame:
    """What each stage of a run would ask, in order; equal stages of one name are one
    row.

    known: keys that are counted elsewhere; those of these stages are added. Columns,
    tokens being of the completions
    still to be asked: `stage`, `repeated` (completions that another request asks for
    too), COUNTS (`new_tokens` are expected ones, `limit` at most), `counted` (whether
    prompt tokens are a tokenizer's count; else characters divided by four), `guessed`
    (whether a fifth of the limit is expected, as fewer than 20 are stored to go by),
    `exact` (whether the requests hang on no answer that is not there yet).
    """
    known = set() if known is None else known
    rows = []
    for name in dict.fromkeys(stage.name for stage in stages):
        parts = [stage for stage in stages if stage.name == name]
        lacking: list[tuple[Request, int]] = []
        lengths: list[int] = []
        total = repeated = limit = 0
        for stage, request in [(part, one) for part in parts for one in part.requests]:
            keys = request.keys(engine, stage.sampling)
            fresh = [key for key in keys if key not in known]
            total = total + len(keys)
            repeated = repeated + len(keys) - len(fresh)
            known.update(fresh)
            here = store.get_many(fresh) if store is not None else {}
            lengths += [
                one.completion_tokens
                for one in here.values()
                if one.completion_tokens > 0
            ]
            if lack := len(fresh) - len(here):
                lacking.append((request, lack))
                limit += stage.sampling.max_tokens * lack
        todo = [request for request, _ in lacking]
        tokens = engine.count_tokens(todo) if todo else []
        sizes = (
            [len(request.text()) / CHARACTERS_A_TOKEN for request in todo]
            if tokens is None
            else tokens
        )
        to_ask = sum(lack for _, lack in lacking)
        enough = len(lengths) >= _ENOUGH
        row = {
            "stage": name,
            "requests": sum(len(part.requests) for part in parts),
            "completions": total,
        }
        row |= {
            "repeated": repeated,
            "stored": total - repeated - to_ask,
            "to_ask": to_ask,
        }
        row["prompt_tokens"] = sum(
            size * lack for size, (_, lack) in zip(sizes, lacking, strict=True)
        )
        row["new_tokens"] = (
            min(sum(lengths) / len(lengths) * to_ask, limit)
            if enough
            else GUESS * limit
        )
        row |= {"limit": limit, "counted": tokens is not None}
        rows.append(
            row
            | {
                "guessed": bool(to_ask) and not enough,
                "exact": all(part.exact for part in parts),
            }
        )
    return pd.DataFrame(
        rows, columns=["stage", "repeated", *COUNTS, "counted", "guessed", "exact"]
    )


def in_words(
    planned: pd.DataFrame,
    rate: float | None = None,
    prices: tuple[float, float] | None = None,
    new_tokens: float | None = None,
) -> Iterator[str | pd.DataFrame]:
    """A plan of stages (`plan`): a table, then lines.

    rate: tokens written a second. prices: for a million prompt tokens and a million new
    tokens. new_tokens: how long a completion is expected to be, in tokens.
    """
    if new_tokens is not None:
        planned = planned.assign(
            new_tokens=planned["to_ask"] * new_tokens, guessed=False
        )
    counts = [
        "requests",
        "completions",
        "repeated",
        "stored",
        "to_ask",
        "prompt_tokens",
        "new_tokens",
        "limit",
    ]
    table = (
        planned[counts]
        .map("{:,.0f}".format)
        .rename(columns=lambda name: name.replace("_", " "))
    )
    table.insert(
        0,
        "stage",
        planned["stage"] + planned["exact"].map({True: "", False: " (estimate)"}),
    )
    yield table.rename(columns={"limit": "at most"})
    asked, stored, limit, prompt, new = planned[
        ["to_ask", "stored", "limit", "prompt_tokens", "new_tokens"]
    ].sum()
    yield f"\n{asked:,.0f} completions to ask, {stored:,.0f} stored already"
    if not asked:
        return
    counted = (planned["counted"] | ~planned["to_ask"].astype(bool)).all()
    how = (
        "counted by the tokenizer"
        if counted
        else f"estimated: {CHARACTERS_A_TOKEN} characters a token"
    )
    yield f"prompt tokens: {prompt:,.0f} ({how})"
    how = f" (a guess is {GUESS:.0%} of the limit)" if planned["guessed"].any() else ""
    yield f"new tokens: {new:,.0f} expected{how}, {limit:,.0f} at most"
    if rate is not None:
        yield f"time at {rate:,.0f} tokens a second: {duration(new / rate)} expected, {duration(limit / rate)} at most"
    if prices is not None:
        cost, most = (
            (prompt * prices[0] + tokens * prices[1]) / 1e6 for tokens in (new, limit)
        )
        yield f"cost at {prices[0]:g} and {prices[1]:g} a million: {cost:,.2f} expected, {most:,.2f} at most"
    if not planned["exact"].all():
        yield "stages marked as estimates depend on answers that are not stored yet"


# -- the catalogue's judges


def select(
    listed: Catalogue,
    options: EngineOptions,
    outputs: Sequence[str] = (),
    papers: Sequence[str] = (),
    models: Sequence[str] = (),
) -> tuple[list[Question], list[Question]]:
    """What these outputs, papers and models ask (all without), by model; and what this
    engine is not for.

    Weights that are not public are asked of a server, others of vllm or transformers,
    unless --model or an address says otherwise. Raises: CatalogueError for unknown
    names.
    """
    entries = {entry.id for entry in listed.select(outputs, papers)}
    chosen = [
        one
        for one in listed.questions
        if one.output in entries and (not models or one.judge.model in models)
    ]
    any_engine = bool(options.model or options.base_url)
    fit = [
        one
        for one in chosen
        if any_engine or one.judge.api == (options.engine == "openai")
    ]
    order = list(dict.fromkeys((one.judge.model, one.judge.revision) for one in fit))
    fit.sort(key=lambda one: order.index((one.judge.model, one.judge.revision)))
    return fit, [one for one in chosen if one not in fit]


def plan_catalogue(
    questions: Sequence[Question], options: EngineOptions
) -> pd.DataFrame:
    """A row a judge and its rows: what it would ask, what of that is stored; nothing is
    asked, no weights are loaded.

    options: with `planning`. Columns: model, revision, judge, `question` (the first of
    those that ask the very same of the same rows), paper, outputs, COUNTS, counted,
    exact, `guessed` (whether a length is), `why` it cannot be planned here. Models
    stand together; a completion that two judges of a model ask counts for the first
    one.
    """
    paper_of = {entry.id: entry.paper for entry in catalogue.load().outputs}
    alike: dict[tuple[str, str], dict[tuple[Any, ...], list[Question]]] = {}
    for one in questions:
        alike.setdefault(options.model_of(one), {}).setdefault(one.asked, []).append(
            one
        )
    rows: list[dict[str, Any]] = []
    data: dict[tuple[Any, ...], Any] = {}
    for (model, revision), part in alike.items():
        known: set[str] = set()
        ready: Engine | None = None
        for same in part.values():
            asking = list(dict.fromkeys(one.output for one in same))
            papers = sorted(
                {paper_of[name] for name in asking},
                key=lambda paper: paper == catalogue.META,
            )
            row: dict[str, Any] = {
                "model": model,
                "revision": revision,
                "judge": str(same[0]),
                "question": same[0],
            }
            row |= {
                "paper": papers[0],
                "outputs": ", ".join(asking),
                **dict.fromkeys(COUNTS, 0),
            }
            row |= {"counted": True, "exact": True, "guessed": False, "why": ""}
            try:
                job = judges.job(same[0], options, ready, known=data)
                ready = job.engine
                stages = plan(job.planned(), job.engine, job.store, known)
                row |= stages[list(COUNTS)].sum().to_dict()
                row["counted"] = (stages["counted"] | stages["to_ask"].eq(0)).all()
                row |= {
                    "exact": stages["exact"].all(),
                    "guessed": stages["guessed"].any(),
                }
            except (*_NOT_HERE, ValueError, EngineError) as error:
                row["why"] = str(error)
            rows.append(row)
    return pd.DataFrame(rows)


def fill(
    questions: Sequence[Question],
    options: EngineOptions,
    say: Callable[[str], None],
    quiet: bool = False,
) -> int:
    """Ask everything that is lacking, each model loaded once; the number of judges that
    could not be finished.

    Every completion is stored as it comes; one line shows how far the whole plan is.
    say: takes a line a judge and its rows. Raises: KeyboardInterrupt with everything
    finished stored.
    """
    planned = plan_catalogue(questions, replace(options, planning=True))
    bar = ProgressBar("the plan", quiet, plan=int(planned["to_ask"].sum()))
    unfinished = 0
    made = 0
    for (model, _), part in planned.groupby(["model", "revision"], sort=False):
        ready: Engine | None = None
        try:
            for row in part.itertuples():
                head = f"[{row.Index + 1}/{len(planned)}] {row.judge}"
                if (
                    ready is None
                    and not options.ask_again
                    and row.exact
                    and not row.to_ask
                    and not row.why
                ):
                    say(f"{head}: all stored")
                    continue
                job: Job | None = None
                try:
                    job = judges.job(row.question, options, ready)
                    if ready is None and options.ask_again == "failed":
                        judges.forget_refusals(job.store.folder, job.engine)
                    ready = job.engine
                    read = job.fill(bar)
                    say(f"{head}: {job.run.summary()}; {read}")
                except (*_NOT_HERE, ValueError) as error:
                    here = not isinstance(error, _NOT_HERE)
                    unfinished += here
                    say(f"{head}: {'error' if here else 'not here'}: {error}")
                    continue
                finally:
                    made += job.run.counts["done"] if job else 0
                if job.run.failures:
                    unfinished += 1
                    judges.note_refusals(job.store.folder, job.engine, job.run.failures)
                    first = job.run.failures[0]
                    say(
                        f"    {len(job.run.failures):,} failed, such as {first.id}: {first.reason}"
                    )
        except EngineError as error:
            unfinished += 1
            say(f"{model}: error: {error}")
        except KeyboardInterrupt:
            say(
                f"stopped: {made:,} completions made now are stored; the same command goes on from there"
            )
            raise
        finally:
            if ready is not None:
                ready.close()
    return unfinished
