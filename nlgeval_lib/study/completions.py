"""What runs would ask and cost, nothing asked; and the making of every completion
that the catalogue's outputs need.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine, EngineError, Request, Sampling
from nlgeval_lib.engines.base import canonical
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.evaluators.stages import Stage, has_completions
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
# Stored completions of a stage from which their mean length says something.
_ENOUGH = 20
# The share of the limit that is expected where fewer are stored: limits are set so that
# no answer is cut.
GUESS = 0.2
_AT_ONCE = 1000  # requests that are looked up in a store together
_NOT_HERE = (DataError, Unavailable)


def plan(
    stages: Sequence[Stage],
    engine: Engine,
    store: Store | None = None,
) -> pd.DataFrame:
    """What each stage of a run would ask, in order; equal stages of one name are one
    row.

    Columns, tokens being of the completions still to be asked: `stage`, `repeated`
    (completions that another request asks for too), COUNTS (`new_tokens` are expected
    ones, `limit` at most), `counted` (whether prompt tokens are a tokenizer's count;
    else characters divided by four), `guessed` (whether a fifth of the limit is
    expected, as fewer than 20 are stored to go by), `exact` (whether the requests hang
    on no answer that is not there yet).
    """
    return _counted(list(map(_Prompts.of, stages)), engine, store, {})


@dataclass(frozen=True)
class _Prompts:
    """A stage's prompts as a plan counts them, which are the same for many models.

    digests, characters: of each request. stage: with the texts, for a model of which
    completions are stored or whose tokenizer is here; else None.
    """

    name: str
    sampling: Sampling
    exact: bool
    digests: Sequence[bytes]
    characters: Sequence[int]
    stage: Stage | None

    @classmethod
    def of(cls, stage: Stage) -> _Prompts:
        """Those of a stage, with its texts."""
        digests = [request.digest() for request in stage.requests]
        characters = [len(request.text()) for request in stage.requests]
        return cls(stage.name, stage.sampling, stage.exact, digests, characters, stage)


# How many draws of a prompt with its sampling settings are counted already.
_Draws = MutableMapping[tuple[bytes, str], int]


def _counted(
    planned: Sequence[_Prompts],
    engine: Engine,
    store: Store | None,
    counted_draws: _Draws,
) -> pd.DataFrame:
    """The frame of `plan`. counted_draws: those of other judges of the model; the draws
    of these stages are added.
    """
    by_name: dict[str, list[_Prompts]] = {}
    for prompts in planned:
        by_name.setdefault(prompts.name, []).append(prompts)
    rows = []
    for name, same in by_name.items():
        counts = _stage_counts(same, engine, store, counted_draws)
        rows.append({"stage": name, **counts})
    return pd.DataFrame(
        rows, columns=["stage", "repeated", *COUNTS, "counted", "guessed", "exact"]
    )


@dataclass
class _Tally:
    """What the stages of one name take.

    lacking: the requests whose texts are known and how often each is to be asked;
    characters: those of all prompts that are to be asked.
    """

    completions: int = 0
    repeated: int = 0
    to_ask: int = 0
    limit: int = 0
    characters: int = 0

    def __post_init__(self) -> None:
        self.lengths: list[int] = []
        self.lacking: list[tuple[Request, int]] = []

    def add(self, prompts: _Prompts, store: Store | None, counted: _Draws) -> None:
        """Count one stage more."""
        asked_with = canonical(prompts.sampling.key())
        draws = prompts.sampling.n
        fresh: list[tuple[int, int]] = []  # a request, and how many draws are known
        for place, digest in enumerate(prompts.digests):
            known = min(draws, counted.get((digest, asked_with), 0))
            self.completions += draws
            self.repeated += known
            if known < draws:
                counted[digest, asked_with] = draws
                fresh.append((place, known))
        for start in range(0, len(fresh), _AT_ONCE):
            block = fresh[start : start + _AT_ONCE]
            stored = self._stored(prompts.stage, block, store)
            for place, known in block:
                count = draws - known - stored[place]
                if count and prompts.stage is not None:
                    self.lacking.append((prompts.stage.requests[place], count))
                self.to_ask += count
                self.limit += prompts.sampling.max_tokens * count
                self.characters += prompts.characters[place] * count

    def _stored(
        self,
        stage: Stage | None,
        block: Sequence[tuple[int, int]],
        store: Store | None,
    ) -> Counter[int]:
        """How many draws of each request, after those known, are stored."""
        if store is None or stage is None or not stage.keys:
            return Counter()
        places = {}
        for place, known in block:
            for key in stage.keys[place][known:]:
                places[key] = place
        stored = store.get_many(places)
        self.lengths += [answer.completion_tokens for answer in stored.values()]
        return Counter(places[key] for key in stored)


def _stage_counts(
    stages: Sequence[_Prompts],
    engine: Engine,
    store: Store | None,
    counted_draws: _Draws,
) -> dict[str, Any]:
    """The numbers of one row of `plan`, from the stages of one name."""
    tally = _Tally()
    for prompts in stages:
        tally.add(prompts, store, counted_draws)
    prompt_tokens, counted = _prompt_tokens(tally, engine)
    lengths = [length for length in tally.lengths if length > 0]
    enough = len(lengths) >= _ENOUGH
    if enough:
        mean = sum(lengths) / len(lengths)
        new_tokens = min(mean * tally.to_ask, tally.limit)
    else:
        new_tokens = GUESS * tally.limit
    return {
        "requests": sum(len(prompts.digests) for prompts in stages),
        "completions": tally.completions,
        "repeated": tally.repeated,
        "stored": tally.completions - tally.repeated - tally.to_ask,
        "to_ask": tally.to_ask,
        "prompt_tokens": prompt_tokens,
        "new_tokens": new_tokens,
        "limit": tally.limit,
        "counted": counted,
        "guessed": bool(tally.to_ask) and not enough,
        "exact": all(prompts.exact for prompts in stages),
    }


def _prompt_tokens(tally: _Tally, engine: Engine) -> tuple[float, bool]:
    """The tokens of prompts, each as often as it is to be asked; and whether a
    tokenizer counted them.
    """
    if not tally.to_ask:
        return 0.0, True
    requests = [request for request, _ in tally.lacking]
    sizes = engine.count_tokens(requests) if requests else None
    if sizes is None:
        return tally.characters / CHARACTERS_A_TOKEN, False
    counts = [count for _, count in tally.lacking]
    return sum(map(operator.mul, sizes, counts)), True


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
        expected = planned["to_ask"] * new_tokens
        planned = planned.assign(new_tokens=expected, guessed=False)
    yield _stage_table(planned)
    totals = planned[list(COUNTS)].sum()
    prompt = totals["prompt_tokens"]
    expected_tokens = totals["new_tokens"]
    limit = totals["limit"]
    yield (
        f"\n{totals['to_ask']:,.0f} completions to ask, "
        f"{totals['stored']:,.0f} stored already"
    )
    if not totals["to_ask"]:
        return
    if (planned["counted"] | planned["to_ask"].eq(0)).all():
        source = "counted by the tokenizer"
    else:
        source = f"estimated: {CHARACTERS_A_TOKEN} characters a token"
    yield f"prompt tokens: {prompt:,.0f} ({source})"
    source = ""
    if planned["guessed"].any():
        source = f" (a guess is {GUESS:.0%} of the limit)"
    yield f"new tokens: {expected_tokens:,.0f} expected{source}, {limit:,.0f} at most"
    if rate is not None:
        yield (
            f"time at {rate:,.0f} tokens a second: "
            f"{duration(expected_tokens / rate)} expected, "
            f"{duration(limit / rate)} at most"
        )
    if prices is not None:
        prompt_price, new_price = prices
        cost = (prompt * prompt_price + expected_tokens * new_price) / 1e6
        most = (prompt * prompt_price + limit * new_price) / 1e6
        yield (
            f"cost at {prompt_price:g} and {new_price:g} a million: "
            f"{cost:,.2f} expected, {most:,.2f} at most"
        )
    if not planned["exact"].all():
        yield "stages marked as estimates depend on answers that are not stored yet"


def _stage_table(planned: pd.DataFrame) -> pd.DataFrame:
    """The counts of each stage, as people read them."""
    counts = list(COUNTS)
    counts.insert(counts.index("stored"), "repeated")
    table = planned[counts].map("{:,.0f}".format)
    table.columns = table.columns.str.replace("_", " ")
    marks = planned["exact"].map({True: "", False: " (estimate)"})
    table.insert(0, "stage", planned["stage"] + marks)
    return table.rename(columns={"limit": "at most"})


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
    any_engine = bool(options.model or options.base_url)
    by_model: dict[tuple[str, str], list[Question]] = {}
    not_for_engine = []
    for question in listed.questions:
        judge = question.judge
        if question.output not in entries or (models and judge.model not in models):
            continue
        if any_engine or judge.api == (options.engine == "openai"):
            by_model.setdefault((judge.model, judge.revision), []).append(question)
        else:
            not_for_engine.append(question)
    return list(itertools.chain(*by_model.values())), not_for_engine


def plan_catalogue(
    questions: Sequence[Question],
    options: EngineOptions,
    each: Callable[[dict[str, Any]], None] = lambda row: None,
) -> pd.DataFrame:
    """A row a judge and its rows: what it would ask, what of that is stored; nothing is
    asked, no weights are loaded.

    options: with `planning`. each: is given a row as soon as it is planned. Columns:
    model, revision, judge, `question` (the first of
    those that ask the very same of the same rows), paper, outputs, COUNTS, counted,
    exact, `guessed` (whether a length is), `why` it cannot be planned here. Models
    stand together; a completion that two judges of a model ask counts for the first
    one.
    """
    return _Plan(questions, options).made(each)


_Asked = dict[tuple[Any, ...], list[Question]]


def _together(
    questions: Sequence[Question], options: EngineOptions
) -> dict[tuple[str, str], _Asked]:
    """By model and revision, the questions that ask the very same of the same rows."""
    by_model: dict[tuple[str, str], _Asked] = {}
    for question in questions:
        by_rows = by_model.setdefault(options.model_of(question), {})
        by_rows.setdefault(question.asked, []).append(question)
    return by_model


def _outputs(same: Sequence[Question]) -> list[str]:
    """The outputs that ask, each once."""
    return list(dict.fromkeys(question.output for question in same))


def names(
    questions: Sequence[Question], options: EngineOptions
) -> list[tuple[str, str, str]]:
    """Model, judge and outputs of each row of `plan_catalogue`, before it is made."""
    listed = []
    for (model, _), by_rows in _together(questions, options).items():
        for same in by_rows.values():
            listed.append((model, str(same[0]), ", ".join(_outputs(same))))
    return listed


class _Plan:
    """Plans the catalogue's judges; prompts that several models are asked are made
    once.
    """

    def __init__(self, questions: Sequence[Question], options: EngineOptions) -> None:
        self.options = options
        self.by_model = _together(questions, options)
        self.paper_of = {entry.id: entry.paper for entry in catalogue.load().outputs}
        self.loaded: dict[tuple[Any, ...], Any] = {}
        self.prompts: dict[tuple[Any, ...], list[_Prompts]] = {}

    def made(self, each: Callable[[dict[str, Any]], None]) -> pd.DataFrame:
        """The frame of `plan_catalogue`."""
        rows = []
        for (model, revision), by_rows in self.by_model.items():
            counted_draws: _Draws = {}
            engine: Engine | None = None
            for same in by_rows.values():
                row = self._empty_row(model, revision, same)
                try:
                    job = judges.job(same[0], self.options, engine, loaded=self.loaded)
                    engine = job.engine
                    prompts = self._prompts(same[0], job)
                    stages = _counted(prompts, job.engine, job.store, counted_draws)
                    row |= stages[list(COUNTS)].sum().to_dict()
                    row["counted"] = (stages["counted"] | stages["to_ask"].eq(0)).all()
                    row["exact"] = stages["exact"].all()
                    row["guessed"] = stages["guessed"].any()
                except (*_NOT_HERE, ValueError, EngineError) as error:
                    row["why"] = str(error)
                rows.append(row)
                each(row)
        return pd.DataFrame(rows)

    def _empty_row(
        self, model: str, revision: str, same: Sequence[Question]
    ) -> dict[str, Any]:
        """A row of which nothing is counted yet."""
        outputs = _outputs(same)
        papers = [self.paper_of[output] for output in outputs]
        return {
            "model": model,
            "revision": revision,
            "judge": str(same[0]),
            "question": same[0],
            "paper": min(papers, key=lambda paper: paper == catalogue.META),
            "outputs": ", ".join(outputs),
            **dict.fromkeys(COUNTS, 0),
            "counted": True,
            "exact": True,
            "guessed": False,
            "why": "",
        }

    def _prompts(self, question: Question, job: Job) -> list[_Prompts]:
        """What a judge is asked; as it was for another model, where neither a store nor
        a tokenizer says anything of this one.
        """
        counts_tokens = job.engine.count_tokens(()) is not None
        if counts_tokens or has_completions(job.engine, job.store):
            return list(map(_Prompts.of, job.planned()))
        judge = question.judge
        rows = (judge.data, question.map, question.fill, question.where)
        chat = job.evaluator.for_engine(job.engine).chat
        key = (judge.evaluator, judge.settings, *rows, chat)
        if key not in self.prompts:
            made = map(_Prompts.of, job.planned())
            self.prompts[key] = [replace(prompts, stage=None) for prompts in made]
        for prompts in self.prompts[key]:
            job.engine.check(prompts.sampling)
        return self.prompts[key]


def fill(
    questions: Sequence[Question],
    options: EngineOptions,
    say: Callable[[str], None],
    quiet: bool = False,
) -> int:
    """Ask everything that is missing, each model loaded once; the number of judges that
    could not be finished.

    Every completion is stored as it comes; one line shows how far the whole plan is.
    say: takes a line a judge and its rows. Raises: KeyboardInterrupt with everything
    finished stored.
    """
    planned = plan_catalogue(questions, replace(options, planning=True))
    bar = ProgressBar("the plan", quiet, plan=int(planned["to_ask"].sum()))
    filling = _Filling(options, say, bar, len(planned))
    for (model, _), rows in planned.groupby(["model", "revision"], sort=False):
        filling.fill_model(model, rows)
    return filling.unfinished


class _Filling:
    """Fills the store judge by judge, and counts.

    engine: the model that is loaded. completed: completions made by now. unfinished:
    judges that could not be finished.
    """

    def __init__(
        self,
        options: EngineOptions,
        say: Callable[[str], None],
        bar: ProgressBar,
        n_judges: int,
    ) -> None:
        self.options = options
        self.say = say
        self.bar = bar
        self.n_judges = n_judges
        self.engine: Engine | None = None
        self.completed = 0
        self.unfinished = 0

    def fill_model(self, model: str, rows: pd.DataFrame) -> None:
        """Everything that is asked of one model. rows: its part of the plan."""
        try:
            for row in rows.itertuples():
                self._fill_judge(row)
        except EngineError as error:
            self.unfinished += 1
            self.say(f"{model}: error: {error}")
        except KeyboardInterrupt:
            self.say(
                f"stopped: {self.completed:,} completions made now are stored; "
                "the same command goes on from there"
            )
            raise
        finally:
            if self.engine is not None:
                self.engine.close()
            self.engine = None

    def _fill_judge(self, row: Any) -> None:
        head = f"[{row.Index + 1}/{self.n_judges}] {row.judge}"
        all_stored = row.exact and not row.to_ask and not row.why
        if self.engine is None and not self.options.ask_again and all_stored:
            self.say(f"{head}: all stored")
            return
        job: Job | None = None
        try:
            job = judges.job(row.question, self.options, self.engine)
            if self.engine is None and self.options.ask_again == "failed":
                judges.forget_refusals(job.store.folder, job.engine)
            self.engine = job.engine
            scores = job.fill(self.bar)
            self.say(f"{head}: {job.run.summary()}; {scores}")
        except _NOT_HERE as error:
            self.say(f"{head}: not here: {error}")
            return
        except ValueError as error:
            self.unfinished += 1
            self.say(f"{head}: error: {error}")
            return
        finally:
            if job is not None:
                self.completed += job.run.counts["done"]
        if failures := job.run.failures:
            self.unfinished += 1
            judges.note_refusals(job.store.folder, job.engine, failures)
            first = failures[0]
            self.say(
                f"    {len(failures):,} failed, such as {first.id}: {first.reason}"
            )
