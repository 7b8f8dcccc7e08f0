"""Every completion that the catalogue's outputs need, model by model: what is lacking, and the making of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine, EngineError, UnsupportedSetting
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.scoring import InputError, Job, ProgressBar, estimate
from nlgeval_lib.study import jobs, refusals
from nlgeval_lib.study.catalogue import Catalogue, Question
from nlgeval_lib.study.jobs import EngineOptions

RATE = 1000.0  # new tokens a second that hours are told for, unless another rate is given
COUNTS = ("requests", "completions", "stored", "to_ask", "prompt_tokens", "new_tokens", "limit")
COLUMNS = ("model", "judge", "outputs", *COUNTS, "counted", "exact", "why")


def select(
    catalogue: Catalogue,
    options: EngineOptions,
    outputs: Sequence[str] = (),
    papers: Sequence[str] = (),
    models: Sequence[str] = (),
) -> tuple[list[Question], list[Question]]:
    """What these outputs, papers and models ask (all without), by model; and what this engine is not for.

    Weights that are not public are asked of a server, others of vllm or transformers, unless --model or an address says
    otherwise. Raises: CatalogueError for unknown names; InputError where nothing is left.
    """
    entries = {entry.id for entry in catalogue.select(outputs, papers)}
    chosen = [one for one in catalogue.questions if one.output in entries and (not models or one.judge.model in models)]
    if not chosen:
        known = ", ".join(dict.fromkeys(judge.model for judge in catalogue.judges)) or "none"
        those = ", ".join(dict.fromkeys(one.output for one in catalogue.questions)) or "none"
        raise InputError(
            f"no [[judge]] of the catalogue is among these; models it has: {known}; outputs that ask one: {those}"
        )
    if options.model or options.base_url:
        fit = list(chosen)
    else:
        fit = [one for one in chosen if one.judge.api == (options.engine == "openai")]
    order = list(dict.fromkeys((one.judge.model, one.judge.revision) for one in fit))
    fit.sort(key=lambda one: order.index((one.judge.model, one.judge.revision)))
    return fit, [one for one in chosen if one not in fit]


def by_model(questions: Sequence[Question], options: EngineOptions) -> list[tuple[str, list[list[Question]]]]:
    """The questions model by model, in order; outputs that ask the very same of the same rows stand together."""
    found: dict[tuple[str, str], dict[tuple[Any, ...], list[Question]]] = {}
    for one in questions:
        found.setdefault(options.model_of(one), {}).setdefault(one.asked, []).append(one)
    return [(model, list(part.values())) for (model, _), part in found.items()]


def plan(questions: Sequence[Question], options: EngineOptions) -> pd.DataFrame:
    """A row a judge and its rows: what it would ask, what of that is stored; nothing is asked, no weights are loaded.

    Columns: COLUMNS; `why` says why a judge cannot be planned here. A completion that two judges of a model ask counts
    for the first one.
    """
    rows: list[dict[str, Any]] = []
    for model, part in by_model(questions, options):
        known: set[str] = set()
        ready: Engine | None = None
        for same in part:
            outputs = ", ".join(dict.fromkeys(one.output for one in same))
            row: dict[str, Any] = {
                "model": model,
                "judge": str(same[0]),
                "outputs": outputs,
                **dict.fromkeys(COUNTS, 0),
            }
            row |= {"counted": True, "exact": True, "why": ""}
            try:
                job = jobs.job(same[0], options, planning=True, ready=ready)
                ready = job.engine
                for stage in estimate.plan(job.planned(), job.engine, job.store, known):
                    row |= {name: row[name] + getattr(stage, name) for name in COUNTS}
                    row["counted"] &= stage.counted or not stage.to_ask
                    row["exact"] &= stage.exact
            except (jobs.JudgeUnavailable, DataError, Unavailable, InputError, EngineError) as error:
                row["why"] = str(error)
            rows.append(row)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def lines(planned: pd.DataFrame, rate: float | None = None) -> Iterator[str]:
    """A plan as text: a table of judges, then what each model has to do, with hours at `rate` new tokens a second."""
    from nlgeval_lib.report import show

    table = pd.DataFrame(
        {
            "model": planned["model"].where(~planned["model"].duplicated(), ""),
            "judge": planned["judge"],
            "outputs": planned["outputs"],
            **{name.replace("_", " "): planned[name].map("{:,.0f}".format) for name in COUNTS[:-1]},
            "": ["" if exact else "estimate" for exact in planned["exact"]],
        }
    )
    yield show(table, rows=len(table)).text
    yield ""
    speed = rate or RATE
    for model, part in planned.groupby("model", sort=False):
        gone = part[part["why"] != ""]
        ask, stored = int(part["to_ask"].sum()), int(part["stored"].sum())
        if not ask:
            yield f"{model}: nothing to ask, {stored:,} stored" + (
                " (of what can be planned here)" if len(gone) else ""
            )
        else:
            expected, most = part["new_tokens"].sum() / speed / 3600, part["limit"].sum() / speed / 3600
            hours = f"{most:,.1f}" if f"{expected:.1f}" == f"{most:.1f}" else f"{expected:,.1f} to {most:,.1f}"
            prompts = f"{part['prompt_tokens'].sum():,.0f} prompt tokens"
            prompts += "" if part["counted"].all() else " (four characters a token)"
            said = f"{model}: {ask:,} completions to ask, {stored:,} stored; {prompts}"
            yield f"{said}; {hours} h at {speed:,.0f} new tokens a second"
        for why, rows in gone.groupby("why", sort=False):
            yield f"  not here: {', '.join(rows['judge'])}: {why}"
    if not planned["exact"].all():
        yield "estimates depend on answers that are not stored yet"
    if rate is None and planned["to_ask"].any():
        yield f"hours are at {RATE:,.0f} new tokens a second; --rate gives your machine's"


def fill(questions: Sequence[Question], options: EngineOptions, say: Callable[[str], None], quiet: bool = False) -> int:
    """Ask everything that is lacking, each model loaded once; the number of judges that could not be finished.

    Every completion is stored as it comes. say: takes a line a judge and its rows.
    Raises: KeyboardInterrupt with everything finished stored.
    """
    models = by_model(questions, options)
    total = sum(len(part) for _, part in models)
    unfinished, made, number = 0, 0, 0
    for model, part in models:
        ready: Engine | None = None
        try:
            for same in part:
                number += 1
                head = f"[{number}/{total}] {same[0]}"
                job: Job | None = None
                try:
                    if ready is None and _complete(same[0], options):
                        say(f"{head}: all stored")
                        continue
                    job = jobs.job(same[0], options, ready=ready)
                    ready = job.engine
                    read = job.fill(ProgressBar(same[0].judge.evaluator, quiet=quiet))
                except (jobs.JudgeUnavailable, DataError, Unavailable) as error:
                    say(f"{head}: not here: {error}")
                    continue
                except (InputError, UnsupportedSetting) as error:
                    unfinished += 1
                    say(f"{head}: error: {error}")
                    continue
                finally:
                    made += job.run.total("done") if job else 0
                say(f"{head}: {job.run.summary()}; {read}")
                if job.run.failures:
                    unfinished += 1
                    refusals.note(job.store.folder, job.engine, job.run.failures)
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


def _complete(question: Question, options: EngineOptions) -> bool:
    """Whether the store has everything that a judge asks: then no weights need to be loaded."""
    job = jobs.job(question, options, planning=True)
    planned = estimate.plan(job.planned(), job.engine, job.store)
    return all(stage.exact and not stage.to_ask for stage in planned)
