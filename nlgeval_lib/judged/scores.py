"""The scores of a judge of the catalogue, from the store; asked for first where an engine is named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from nlgeval_lib import catalogue, paths
from nlgeval_lib.catalogue import Judged
from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.judged import jobs, refusals
from nlgeval_lib.scoring import Job, ProgressBar, standins
from nlgeval_lib.store import Store

ENGINES = ("replay", "vllm", "transformers", "openai")


@dataclass(frozen=True)
class Made:
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


def scores(
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
) -> Made:
    """The scores that the judge `name` of a catalogue's output gives its data.

    engine: "replay" reads the store and asks nothing; vllm, transformers and openai first ask what it lacks. model: ""
    is the catalogue's, "mini" the miniature judge on its own held-out data. mode "quick": 20 inputs.
    aspects: only the rows of these.
    Raises: CatalogueError for an unknown output or judge; ValueError for an unknown engine; what the engine raises.
    """
    judge = catalogue.load().judge(output, name)
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r}; allowed: {', '.join(ENGINES)}")
    folder = Path(store) if store else paths.state("completions")
    route = "mini" if model == jobs.MINI or standins.marked(folder) else "run"
    try:
        if engine == "replay":
            revision = _stored_revision(judge, model, revision, folder)
        job = jobs.job(
            judge,
            engine=engine,
            model=model,
            revision=revision,
            mode=mode,
            store=folder,
            base_url=base_url,
            engine_settings=engine_settings,
            aspects=aspects,
            ready=_held.get((engine, model or judge.model, revision, base_url, tuple(engine_settings))),
        )
    except (jobs.Unready, DataError, Unavailable) as error:
        return Made(False, str(error), route=route)
    if engine != "replay":
        _hold((engine, model or judge.model, revision, base_url, tuple(engine_settings)), job.engine)
        return _read(job, route)
    replay = job.engine
    replay.refused = refusals.read(job.store.folder, replay.model, replay.revision)
    made = _read(job, route)
    if replay.missing:
        wanted = job.run.total("total")
        why = (
            f"the store has {wanted - len(replay.missing):,} of {wanted:,} completions"
            if job.run.total("stored")
            else "the store has none of the completions"
        )
        return Made(False, f"{why} of {_of(judge, job.engine.model, job)}; {_way(judge, model)}", route=route)
    if (refused := len(replay.excused)) > refusals.MOST * job.run.total("total"):
        first = replay.refused[replay.excused[0]]
        why = f"{refused:,} of {job.run.total('total'):,} completions could not be made, such as: {first}"
        return Made(False, f"{why}; {_way(judge, model)}", route=route)
    return made


_held: dict[tuple, Engine] = {}  # the engine that was asked last: a notebook often asks one model several times


def _hold(key: tuple, engine: Engine) -> None:
    """Keep this engine, and free another one."""
    for other in [other for other in _held if other != key]:
        _held.pop(other).close()
    _held[key] = engine


def _read(job: Job, route: str) -> Made:
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
    if stands := standins.marked(job.store.folder).get(job.engine.model):
        signature += f"|stand-in:{stands}"
    if job.run.failures and job.engine.name != "replay":
        refusals.note(job.store.folder, job.engine, job.run.failures)
    rows = job.data.frame.drop(columns=[name for name in scored.columns if name in job.data.frame.columns])
    frame = rows.join(scored).reset_index(drop=True)
    frame.attrs = {"signature": signature}
    return Made(
        True,
        frame=frame,
        route=route,
        signature=signature,
        coverage=coverage,
        model=job.engine.model,
        revision=job.engine.revision,
        criteria=criteria,
    )


def _stored_revision(judge: Judged, model: str, revision: str, folder: Path) -> str:
    """The revision to read: the one that was asked for, else the only one that the store has. Raises: Unready."""
    if model == jobs.MINI:
        name, own = jobs.mini_revision()
    else:
        name, own = model or judge.model, revision or jobs.own_revision(judge, model)
    with Store(folder) as store:
        held = [rev for stored, rev in store.census() if stored == name]
    if own and not revision and model != jobs.MINI and len(held) == 1 and held[0].startswith("sha256:"):
        own = held[0]  # a local copy of the weights: its revision is their hash
    if (own and own not in held) or not held:
        raise jobs.Unready(
            f"the store has no completions of {_of(judge, name + (f'@{own}' if own else ''))}; {_way(judge, model)}"
        )
    if not own and len(held) > 1:
        raise jobs.Unready(f"the store has {len(held)} revisions of {name}: {', '.join(held)}; name one with revision")
    return own or held[0]


def _of(judge: Judged, model: str, job: Job | None = None) -> str:
    data = job.data.table.name if job else judge.data
    return f"{model} for {judge.evaluator} on {data} ({judge.name})"


def _way(judge: Judged, model: str) -> str:
    if model == jobs.MINI:
        return 'run the notebook with engine="transformers"'
    return f"to make them: {jobs.command(judge)}"
