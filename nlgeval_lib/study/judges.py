"""The scores of a judge of the catalogue, from the store; asked for first where an engine is named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.scoring import Job, ProgressBar, stand_in_models
from nlgeval_lib.study import catalogue, jobs, refusals
from nlgeval_lib.study.catalogue import Question

ENGINES = ("replay", "vllm", "transformers", "openai")


@dataclass(frozen=True)
class JudgeScores:
    """What came of asking for a judge's scores.

    frame: the rows that were judged, the items' columns with `value, status, reason, details`; of an HD-Eval that still
    has to be fitted, a column for each of `criteria` in their place. Empty where not `available`; `why` says why.
    route: "run", or "mini" for the miniature judge and for stand-ins. coverage: rows with a score, such as "1,198 of
    1,200".
    """

    available: bool
    why: str = ""
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    route: str = "run"
    signature: str = ""
    coverage: str = ""
    model: str = ""
    revision: str = ""
    criteria: tuple[str, ...] = ()


def judge_scores(
    output: str,
    name: str,
    *,
    engine: str = "replay",
    model: str = "",
    revision: str = "",
    mode: str = "full",
    base_url: str = "",
    engine_settings: Sequence[str] = (),
    store: str | Path = "",
    aspects: Sequence[str] = (),
) -> JudgeScores:
    """The scores of the judge that a catalogue's output reads as `name`, on the output's rows.

    engine: "replay" reads the store and asks nothing; vllm, transformers and openai first ask what it lacks. model: ""
    is the catalogue's, "mini" the miniature judge on its own held-out data. mode "quick": 20 inputs.
    aspects: only the rows of these.
    Raises: CatalogueError for an unknown output or judge; ValueError for an unknown engine; what the engine raises.
    """
    question = catalogue.load().question(output, name)
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r}; allowed: {', '.join(ENGINES)}")
    folder = Path(store) if store else files.state("completions")
    route = "mini" if model == jobs.MINI or stand_in_models.marked(folder) else "run"
    options = jobs.EngineOptions(engine, model, revision, base_url, engine_settings, store=folder, mode=mode)
    held = (engine, *options.model_of(question), base_url, tuple(engine_settings))
    try:
        if engine == "replay":
            options = replace(options, revision=_stored_revision(question, options))
        job = jobs.job(question, options, ready=_held.get(held), aspects=aspects)
    except (jobs.JudgeUnavailable, DataError, Unavailable) as error:
        return JudgeScores(False, str(error), route=route)
    if engine != "replay":
        _hold(held, job.engine)
        return _read(job, route)
    replay = job.engine
    replay.refused = refusals.read(job.store.folder, replay.model, replay.revision)
    made = _read(job, route)
    why, total = "", job.run.total("total")
    if replay.missing:
        there = f"{total - len(replay.missing):,} of {total:,}" if job.run.total("stored") else "none of the"
        why = f"the store has {there} completions of {_of(question, replay.model, job)}"
    elif (refused := len(replay.excused)) > refusals.MOST * total:
        first = replay.refused[replay.excused[0]]
        why = f"{refused:,} of {total:,} completions could not be made, such as: {first}"
    return JudgeScores(False, f"{why}; {_way(question, model)}", route=route) if why else made


_held: dict[tuple, Engine] = {}  # the engine that was asked last: a notebook often asks one model several times


def _hold(key: tuple, engine: Engine) -> None:
    """Keep this engine, and free another one."""
    for other in [other for other in _held if other != key]:
        _held.pop(other).close()
    _held[key] = engine


def _read(job: Job, route: str) -> JudgeScores:
    """Score the job's rows."""
    # a copy that the runner executes is kept: what the rate was at that hour does not belong into it
    bar = ProgressBar(job.name, quiet=job.engine.name == "replay" or bool(os.environ.get("NLGEVAL_RECORD")))
    criteria: tuple[str, ...] = ()
    if job.unfitted():
        table = job.criteria(bar)
        scored, criteria = table, tuple(map(str, table.columns))
        read = int(table.notna().to_numpy().sum())
        coverage = f"{read:,} of {table.size:,}"
        signature = job.evaluator.signature(job.engine)
    else:
        scored = job.score(bar)
        coverage = f"{int((scored['status'] == 'ok').sum()):,} of {len(scored):,}"
        signature = scored.attrs.get("signature", "")
    if stands := stand_in_models.marked(job.store.folder).get(job.engine.model):
        signature += f"|stand-in:{stands}"
    if job.run.failures and job.engine.name != "replay":
        refusals.note(job.store.folder, job.engine, job.run.failures)
    rows = job.data.frame.drop(columns=[name for name in scored.columns if name in job.data.frame.columns])
    frame = rows.join(scored).reset_index(drop=True)
    frame.attrs = {"signature": signature}
    return JudgeScores(
        True,
        frame=frame,
        route=route,
        signature=signature,
        coverage=coverage,
        model=job.engine.model,
        revision=job.engine.revision,
        criteria=criteria,
    )


def _stored_revision(question: Question, options: jobs.EngineOptions) -> str:
    """The revision to read: the one that was asked for, else the only one that the store has.

    Raises: JudgeUnavailable.
    """
    mini = options.model == jobs.MINI
    name, own = jobs.mini_revision() if mini else options.model_of(question)
    with Store(options.store) as store:
        held = [rev for stored, rev in store.census() if stored == name]
    if own and not options.revision and not mini and len(held) == 1 and held[0].startswith("sha256:"):
        own = held[0]  # a local copy of the weights: its revision is their hash
    if (own and own not in held) or not held:
        asked = _of(question, name + (f"@{own}" if own else ""))
        raise jobs.JudgeUnavailable(f"the store has no completions of {asked}; {_way(question, options.model)}")
    if not own and len(held) > 1:
        raise jobs.JudgeUnavailable(
            f"the store has {len(held)} revisions of {name}: {', '.join(held)}; name one with revision"
        )
    return own or held[0]


def _of(question: Question, model: str, job: Job | None = None) -> str:
    data = job.data.name if job else question.judge.data
    return f"{model} for {question.judge.evaluator} on {data} ({question.name})"


def _way(question: Question, model: str) -> str:
    if model == jobs.MINI:
        return 'run the notebook with engine="transformers"'
    return f"to make them: nlgeval completions --output {question.output} --engine {question.judge.engine}"
