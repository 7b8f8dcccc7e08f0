"""What runs would ask and cost, nothing asked; and the making of every completion
that the catalogue's outputs need.

`plan` counts the requests of one run, stage by stage: `_Prompts` holds a stage as it
is counted, `_Tally` the numbers of the stages of one name. `in_words` says a plan to a
person. For the catalogue, `select` chooses its questions, `plan_catalogue` counts what
they would ask (`_Plan`), and `fill` asks it (`_Filling`). A draw that two judges of
one model ask is counted and asked once.
"""

from __future__ import annotations

import itertools
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
# What cannot be asked on this machine: data or weights are not here.
_NOT_HERE = (DataError, Unavailable)


def plan(
    stages: Sequence[Stage],
    engine: Engine,
    store: Store | None = None,
) -> pd.DataFrame:
    """What each stage of a run would ask, in order; equal stages of one name are one
    row.

    stages: of a run, as `evaluators.stages.plan` gives them.
    engine: counts the tokens of prompts, where it can.
    store: where completions are looked up; None: nothing is stored.
    Returns: a row a stage, tokens being of the completions still to be asked. `stage`
    is its name, `repeated` counts completions that another request asks for too, COUNTS
    follow (`new_tokens` are expected ones, `limit` at most). `counted` says whether
    prompt tokens are a tokenizer's count (else characters divided by four), `guessed`
    whether a fifth of the limit is expected (as fewer than 20 are stored to go by),
    `exact` whether the requests hang on no answer that is not there yet.
    """
    prompts = [_Prompts.of(stage) for stage in stages]
    return _counted(prompts, engine, store, {})


@dataclass(frozen=True)
class _Prompts:
    """A stage's prompts as a plan counts them, which are the same for many models.

    name, sampling, exact: of the stage.
    digests: what identifies each request's prompt.
    characters: of each request.
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
    def of(cls, stage: Stage) -> _Prompts:
        """Those of a stage, with its texts."""
        digests = []
        characters = []
        for request in stage.requests:
            digests.append(request.digest())
            characters.append(len(request.text()))
        return cls(
            stage.name,
            stage.sampling,
            stage.exact,
            digests,
            characters,
            stage,
        )


# How many draws of a prompt with its sampling settings are counted already.
_Draws = MutableMapping[tuple[bytes, str], int]


def _counted(
    planned: Sequence[_Prompts],
    engine: Engine,
    store: Store | None,
    counted_draws: _Draws,
) -> pd.DataFrame:
    """The frame of `plan`.

    planned: the stages, in order.
    counted_draws: those of other judges of the model; the draws of these stages are
    added.
    """
    by_name: dict[str, list[_Prompts]] = {}
    for prompts in planned:
        by_name.setdefault(prompts.name, []).append(prompts)
    rows = []
    for name, of_name in by_name.items():
        counts = _stage_counts(of_name, engine, store, counted_draws)
        rows.append({"stage": name, **counts})
    columns = ["stage", "repeated", *COUNTS, "counted", "guessed", "exact"]
    return pd.DataFrame(rows, columns=columns)


@dataclass
class _Tally:
    """What the stages of one name take.

    completions: all that they ask for.
    repeated: those among them that another request asks for too.
    to_ask: those that are neither repeated nor stored.
    limit: the most tokens that these can have.
    characters: those of all prompts that are to be asked.
    lengths: the tokens of each stored completion.
    lacking: the requests whose texts are known, each with how often it is to be asked.
    """

    completions: int = 0
    repeated: int = 0
    to_ask: int = 0
    limit: int = 0
    characters: int = 0

    def __post_init__(self) -> None:
        self.lengths: list[int] = []
        self.lacking: list[tuple[Request, int]] = []

    def add(
        self,
        prompts: _Prompts,
        store: Store | None,
        counted_draws: _Draws,
    ) -> None:
        """Count one stage more. counted_draws: as `_counted` takes them."""
        stage = prompts.stage
        draws = prompts.sampling.n
        fresh = self._fresh(prompts, counted_draws)
        for start in range(0, len(fresh), _AT_ONCE):
            block = fresh[start : start + _AT_ONCE]
            stored = self._stored(stage, block, store)
            for place, repeated in block:
                count = draws - repeated - stored[place]
                if count and stage is not None:
                    self.lacking.append((stage.requests[place], count))
                self.to_ask += count
                self.limit += prompts.sampling.max_tokens * count
                self.characters += prompts.characters[place] * count

    def _fresh(
        self,
        prompts: _Prompts,
        counted_draws: _Draws,
    ) -> list[tuple[int, int]]:
        """The requests of a stage that bring draws of which none is counted.

        Returns: (place of the request, how many of its draws are counted already), a
        pair each.
        """
        asked_with = canonical(prompts.sampling.key())
        draws = prompts.sampling.n
        fresh = []
        for place, digest in enumerate(prompts.digests):
            key = (digest, asked_with)
            repeated = min(draws, counted_draws.get(key, 0))
            self.completions += draws
            self.repeated += repeated
            if repeated < draws:
                counted_draws[key] = draws
                fresh.append((place, repeated))
        return fresh

    def _stored(
        self,
        stage: Stage | None,
        block: Sequence[tuple[int, int]],
        store: Store | None,
    ) -> Counter[int]:
        """How many draws of each request, after those that are counted, are stored.

        block: as `_fresh` gives it.
        Returns: the place of a request -> its stored draws.
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


def _stage_counts(
    stages: Sequence[_Prompts],
    engine: Engine,
    store: Store | None,
    counted_draws: _Draws,
) -> dict[str, Any]:
    """The numbers of one row of `plan`, from the stages of one name."""
    tally = _Tally()
    requests = 0
    exact = True
    for prompts in stages:
        tally.add(prompts, store, counted_draws)
        requests += len(prompts.digests)
        exact = exact and prompts.exact
    prompt_tokens, counted = _prompt_tokens(tally, engine)
    lengths = [length for length in tally.lengths if length > 0]
    enough = len(lengths) >= _ENOUGH
    if enough:
        mean = sum(lengths) / len(lengths)
        new_tokens = min(mean * tally.to_ask, tally.limit)
    else:
        new_tokens = GUESS * tally.limit
    return {
        "requests": requests,
        "completions": tally.completions,
        "repeated": tally.repeated,
        "stored": tally.completions - tally.repeated - tally.to_ask,
        "to_ask": tally.to_ask,
        "prompt_tokens": prompt_tokens,
        "new_tokens": new_tokens,
        "limit": tally.limit,
        "counted": counted,
        "guessed": bool(tally.to_ask) and not enough,
        "exact": exact,
    }


def _prompt_tokens(tally: _Tally, engine: Engine) -> tuple[float, bool]:
    """The tokens of prompts, each as often as it is to be asked; and whether a
    tokenizer counted them.

    Returns: an estimate from characters, and False, where there is no tokenizer.
    """
    if not tally.to_ask:
        return 0.0, True
    requests = [request for request, _ in tally.lacking]
    sizes = None
    if requests:
        sizes = engine.count_tokens(requests)
    if sizes is None:
        return tally.characters / CHARACTERS_A_TOKEN, False
    tokens = 0
    times = [count for _, count in tally.lacking]
    for size, count in zip(sizes, times, strict=True):
        tokens += size * count
    return tokens, True


def in_words(
    planned: pd.DataFrame,
    rate: float | None = None,
    prices: tuple[float, float] | None = None,
    new_tokens: float | None = None,
) -> Iterator[str | pd.DataFrame]:
    """A plan of stages (`plan`) as people read it: a table, then lines.

    planned: the frame of `plan`.
    rate: tokens written a second, for a line about the time; None: no such line.
    prices: for a million prompt tokens and for a million new tokens; None: no line
    about the cost.
    new_tokens: how long a completion is expected to be, in tokens; None: as planned.
    """
    # A length that is given takes the place of every guess.
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
    source = f"estimated: {CHARACTERS_A_TOKEN} characters a token"
    if _is_counted(planned):
        source = "counted by the tokenizer"
    yield f"prompt tokens: {prompt:,.0f} ({source})"
    guess = ""
    if planned["guessed"].any():
        guess = f" (a guess is {GUESS:.0%} of the limit)"
    yield f"new tokens: {expected_tokens:,.0f} expected{guess}, {limit:,.0f} at most"
    if rate is not None:
        yield (
            f"time at {rate:,.0f} tokens a second: "
            f"{duration(expected_tokens / rate)} expected, "
            f"{duration(limit / rate)} at most"
        )
    if prices is not None:
        yield _cost(prices, prompt, expected_tokens, limit)
    if not planned["exact"].all():
        yield "stages marked as estimates depend on answers that are not stored yet"


def _cost(
    prices: tuple[float, float], prompt: float, expected: float, limit: float
) -> str:
    """What a plan costs, in a line.

    prices: for a million prompt tokens and a million new tokens.
    prompt, expected, limit: tokens of prompts, and new ones as expected and at most.
    """
    prompt_price, new_price = prices
    prompts_cost = prompt * prompt_price
    cost = (prompts_cost + expected * new_price) / 1e6
    most = (prompts_cost + limit * new_price) / 1e6
    return (
        f"cost at {prompt_price:g} and {new_price:g} a million: "
        f"{cost:,.2f} expected, {most:,.2f} at most"
    )


def _is_counted(stages: pd.DataFrame) -> bool:
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
    unless --model or an address says otherwise.

    listed: the catalogue.
    options: the engine, and another model or address.
    outputs, papers, models: ids and names; none: all.
    Returns: the questions for this engine, those of a model together; and the others.
    Raises: CatalogueError for unknown outputs and papers.
    """
    entries = {entry.id for entry in listed.select(outputs, papers)}
    any_engine = bool(options.model or options.base_url)
    served = options.engine == "openai"
    by_model: dict[tuple[str, str], list[Question]] = {}
    not_for_engine = []
    for question in listed.questions:
        judge = question.judge
        if question.output not in entries:
            continue
        if models and judge.model not in models:
            continue
        if any_engine or judge.api == served:
            model = (judge.model, judge.revision)
            by_model.setdefault(model, []).append(question)
        else:
            not_for_engine.append(question)
    questions = list(itertools.chain(*by_model.values()))
    return questions, not_for_engine


def plan_catalogue(
    questions: Sequence[Question],
    options: EngineOptions,
    each: Callable[[dict[str, Any]], None] = lambda row: None,
) -> pd.DataFrame:
    """What each judge of the catalogue would ask, and what of that is stored; nothing
    is asked, no weights are loaded.

    questions: as `select` gives them.
    options: with `planning`.
    each: is given a row as soon as it is planned.
    Returns: a row a judge and its rows: `model, revision, judge`; `question`, the first
    of those that ask the very same of the same rows; `paper`; `outputs`; COUNTS;
    `counted`; `exact`; `guessed` (whether a length is); `why` it cannot be planned
    here. Models stand together; a completion that two judges of a model ask counts for
    the first one.
    """
    return _Plan(questions, options).table(each)


# Questions by what is asked of which rows (`Question.asked`); and these by the model
# and its revision.
_ByRows = dict[tuple[Any, ...], list[Question]]
_ByModel = dict[tuple[str, str], _ByRows]


def _together(questions: Sequence[Question], options: EngineOptions) -> _ByModel:
    """By model and revision, the questions that ask the very same of the same rows."""
    by_model: _ByModel = {}
    for question in questions:
        by_rows = by_model.setdefault(options.model_of(question), {})
        by_rows.setdefault(question.asked, []).append(question)
    return by_model


def _outputs(same: Sequence[Question]) -> list[str]:
    """The outputs that ask, each once."""
    return list(dict.fromkeys(question.output for question in same))


def names(
    questions: Sequence[Question],
    options: EngineOptions,
) -> list[tuple[str, str, str]]:
    """Model, judge and outputs of each row of `plan_catalogue`, before it is made."""
    listed = []
    by_model = _together(questions, options)
    for (model, _), by_rows in by_model.items():
        for same in by_rows.values():
            outputs = ", ".join(_outputs(same))
            listed.append((model, str(same[0]), outputs))
    return listed


class _Plan:
    """Plans the catalogue's judges; prompts that several models are asked are made
    once.

    by_model: the questions that ask the very same, by model and revision.
    paper_of: an output's id -> its paper.
    loaded: rows of data that are read already, as `judges.job` keeps them.
    prompts: what was asked of an earlier model, by all that the prompts depend on.
    """

    def __init__(self, questions: Sequence[Question], options: EngineOptions) -> None:
        self.options = options
        self.by_model = _together(questions, options)
        self.paper_of: dict[str, str] = {}
        for entry in catalogue.load(notebooks=False).outputs:
            self.paper_of[entry.id] = entry.paper
        self.loaded: dict[tuple[Any, ...], Any] = {}
        self.prompts: dict[tuple[Any, ...], list[_Prompts]] = {}

    def table(self, progress: Callable[[dict[str, Any]], None]) -> pd.DataFrame:
        """The frame of `plan_catalogue`. progress: is given each row."""
        rows = []
        for (model, revision), by_rows in self.by_model.items():
            # Draws are shared by the judges of one model alone, and so is its engine.
            counted_draws: _Draws = {}
            engine: Engine | None = None
            for same in by_rows.values():
                question = same[0]
                row = self._empty_row(model, revision, same)
                try:
                    job = judges.job(
                        question,
                        self.options,
                        engine,
                        loaded=self.loaded,
                    )
                    engine = job.engine
                    row |= self._counts(question, job, counted_draws)
                except (*_NOT_HERE, ValueError, EngineError) as error:
                    row["why"] = str(error)
                rows.append(row)
                progress(row)
        return pd.DataFrame(rows)

    def _counts(
        self,
        question: Question,
        job: Job,
        counted_draws: _Draws,
    ) -> dict[str, Any]:
        """What all stages of a judge take together."""
        prompts = self._prompts(question, job)
        stages = _counted(prompts, job.engine, job.store, counted_draws)
        counts = stages[list(COUNTS)].sum().to_dict()
        counts["counted"] = _is_counted(stages)
        counts["exact"] = stages["exact"].all()
        counts["guessed"] = stages["guessed"].any()
        return counts

    def _empty_row(
        self,
        model: str,
        revision: str,
        same: Sequence[Question],
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
            return [_Prompts.of(stage) for stage in job.planned()]
        judge = question.judge
        key = (
            judge.evaluator,
            judge.settings,
            judge.data,
            question.map,
            question.fill,
            question.where,
            job.evaluator.for_engine(job.engine).chat,
        )
        if key not in self.prompts:
            # The texts are dropped: without store and tokenizer their lengths are
            # enough.
            without_texts = []
            for stage in job.planned():
                prompts = _Prompts.of(stage)
                without_texts.append(replace(prompts, stage=None))
            self.prompts[key] = without_texts
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

    questions: as `select` gives them.
    options: the engine and how it is asked.
    say: takes a line a judge and its rows.
    quiet: whether no bar is shown.
    Raises: KeyboardInterrupt with everything finished stored.
    """
    planned = plan_catalogue(questions, replace(options, planning=True))
    to_ask = int(planned["to_ask"].sum())
    bar = ProgressBar("the plan", quiet, plan=to_ask)
    filling = _Filling(options, say, bar, len(planned))
    by_model = planned.groupby(["model", "revision"], sort=False)
    for (model, _), rows in by_model:
        filling.fill_model(model, rows)
    return filling.unfinished


class _Filling:
    """Fills the store judge by judge, and counts.

    bar: shows how far the plan is.
    n_judges: of the whole plan, for the lines.
    engine: the model that is loaded; None between two models.
    completed: completions made by now.
    unfinished: judges that could not be finished.
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
        """Ask what one judge lacks. row: of the plan. Raises: EngineError."""
        head = f"[{row.Index + 1}/{self.n_judges}] {row.judge}"
        all_stored = row.exact and not row.to_ask and not row.why
        # A model of which everything is stored is never loaded.
        if self.engine is None and not self.options.ask_again and all_stored:
            self.say(f"{head}: all stored")
            return
        job: Job | None = None
        try:
            job = judges.job(row.question, self.options, self.engine)
            # What was refused before counts as never asked, once a model.
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
        failures = job.run.failures
        if failures:
            self.unfinished += 1
            judges.note_refusals(job.store.folder, job.engine, failures)
            first = failures[0]
            self.say(
                f"    {len(failures):,} failed, such as {first.id}: {first.reason}"
            )
