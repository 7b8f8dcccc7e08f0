"""The making of every completion that the catalogue's outputs need, and what it takes.

A draw that two judges of one model ask is counted and asked once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from nlgeval_lib import progress
from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine, EngineError
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.evaluators.stages import has_completions
from nlgeval_lib.scoring import Job
from nlgeval_lib.scoring.asking import ProgressBar
from nlgeval_lib.scoring.planning import (
    COUNTS,
    DrawsCounted,
    StagePrompts,
    counted_stages,
)
from reproduction.study import catalogue, judges
from reproduction.study.catalogue import Catalogue, Question
from reproduction.study.judges import EngineOptions

# What cannot be asked on this machine: data or weights are not here.
_NOT_HERE = (DataError, Unavailable)


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

    Returns: the questions for this engine, those of a model together; and the others.
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
    questions: Sequence[Question], options: EngineOptions
) -> pd.DataFrame:
    """What each judge of the catalogue would ask, and what of that is stored; nothing
    is asked, no weights are loaded.

    questions: as `select` gives them.
    options: with `planning`.
    Returns: a row a judge and its rows: `model, revision, judge`; `question`, the first
    of those that ask the very same of the same rows; `paper`; `outputs`; COUNTS;
    `exact`; `guessed` (whether a length is); `why` it cannot be planned
    here. Models stand together; a completion that two judges of a model ask counts for
    the first one.
    """
    return _Plan(questions, options).table()


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


class _Plan:
    """Plans the catalogue's judges; prompts that several models are asked are made
    once.
    """

    def __init__(self, questions: Sequence[Question], options: EngineOptions) -> None:
        self.options = options
        self.by_model = _together(questions, options)
        self.paper_of: dict[str, str] = {}
        for entry in catalogue.load(notebooks=False).outputs:
            self.paper_of[entry.id] = entry.paper
        self.loaded: dict[tuple[Any, ...], Any] = {}
        self.prompts: dict[tuple[Any, ...], list[StagePrompts]] = {}

    def table(self) -> pd.DataFrame:
        """The frame of `plan_catalogue`."""
        rows = []
        count = sum(map(len, self.by_model.values()))
        bar = progress.bar(total=count, desc="judges planned")
        for (model, revision), by_rows in self.by_model.items():
            # Draws are shared by the judges of one model alone, and so is its engine.
            counted_draws: DrawsCounted = {}
            engine: Engine | None = None
            for same in by_rows.values():
                question = same[0]
                row = self._empty_row(model, revision, same)
                try:
                    job = judges.job(question, self.options, engine, loaded=self.loaded)
                    engine = job.engine
                    row |= self._counts(question, job, counted_draws)
                except (*_NOT_HERE, ValueError, EngineError) as error:
                    row["why"] = str(error)
                rows.append(row)
                bar.update()
        bar.close()
        return pd.DataFrame(rows)

    def _counts(
        self, question: Question, job: Job, counted_draws: DrawsCounted
    ) -> dict[str, Any]:
        """What all stages of a judge take together."""
        prompts = self._prompts(question, job)
        stages = counted_stages(prompts, job.store, counted_draws)
        counts = stages[list(COUNTS)].sum().to_dict()
        counts["exact"] = stages["exact"].all()
        counts["guessed"] = stages["guessed"].any()
        return counts

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
            "exact": True,
            "guessed": False,
            "why": "",
        }

    def _prompts(self, question: Question, job: Job) -> list[StagePrompts]:
        """What a judge is asked; as it was for another model, where nothing is stored
        of this one.
        """
        if has_completions(job.engine, job.store):
            return list(map(StagePrompts.from_stage, job.planned()))
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
            self.prompts[key] = list(map(StagePrompts.from_stage, job.planned()))
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
    """Fills the store judge by judge, and counts completions that were made, and judges
    that could not be finished. engine: the model that is loaded.
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
