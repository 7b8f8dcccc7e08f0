"""`nlgeval completions`: make the completions that the catalogue or an evaluator
needs, and keep them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nlgeval_lib.cli._options import (
    Scoring,
    Several,
    command,
    echo,
    failures,
    option,
    run_plugins,
)

if TYPE_CHECKING:
    from reproduction.study import EngineOptions
    from reproduction.study.catalogue import Catalogue

OF_CATALOGUE = ("output", "paper", "for_model", "model_path", "mode")
OF_EVALUATOR = (
    "data",
    "input",
    "set",
    "map",
    "fill",
    "load",
    "limit",
    "format",
    "delimiter",
    "price",
)


class Completions(Scoring):
    """The options of `completions`: of one evaluator, or (in OF_CATALOGUE) of the
    catalogue's judges.
    """

    output: Annotated[Several, option(help="Judges of this output (repeatable).")] = (
        None
    )
    paper: Annotated[Several, option(help="Judges of this paper's outputs.")] = None
    for_model: Annotated[Several, option(help="Judges of this model.")] = None
    model_path: Annotated[
        Several, option(metavar="ID=FOLDER", help="Where a model's weights are.")
    ] = None
    mode: Annotated[
        Literal["full", "quick"], option(help="quick: 20 inputs a judge.")
    ] = "full"
    shard: Annotated[
        str,
        option(metavar="I/N", help="Ask only part I of N, by key: a job of an array."),
    ] = ""


@command("completions")
def completions(options: Completions) -> None:
    """Fill the store with the completions that the catalogue's outputs need, or an
    evaluator for a data set or file.

    Without --evaluator: every [[judge]] of notebooks/catalogue.toml, sorted so that
    each model is loaded once. Models that are served by an API are asked with --engine
    openai, all others with vllm (or transformers); these also make the scores of every
    [[metric]] whose weights are here. `nlgeval run` then reads both. With --evaluator:
    the completions of that one.

    Notebooks and `nlgeval score` then find them and ask nothing. Every completion is
    stored as it comes; Ctrl-C stops cleanly, and the same command goes on from there.
    An HD-Eval that is not fitted gets every criterion of every output, which is what
    fitting needs.

    \b
    Examples:
      nlgeval completions --dry-run     what each model takes, which cells it gives
      nlgeval completions --engine vllm --on ray --replicas 8     see docs/scale.md
      nlgeval completions -e coascore -s task=dialogue --data topical_chat \\
          --fill aspect=overall --engine openai -m gpt-4o --price 2.5,10 -n
    """
    from nlgeval_lib.scoring import ProgressBar, named

    run_plugins(options.plugin)
    _check_options(options)
    if not options.evaluator:
        raise typer.Exit(_fill_catalogue(options))
    if not named.asks(options.evaluator):
        raise ValueError(
            f"{options.evaluator} asks no language model: there is nothing to make; "
            "use `nlgeval score`"
        )
    job = options.job()
    if options.dry_run:
        options.plan_job(job)
        return
    coverage = job.fill(ProgressBar(job.name, quiet=options.quiet))
    failures(job.run)
    typer.echo(job.run.summary())
    typer.echo(coverage)
    raise typer.Exit(1 if job.run.failures else 0)


def _check_options(options: Completions) -> None:
    """Pass without options of the other use, the catalogue's or the evaluator's."""
    of_other_use: tuple[str, ...] = (*OF_EVALUATOR, "skip_incomplete")
    reason = (
        "which evaluator? {flag} needs --evaluator; without one, the catalogue's "
        "judges are asked"
    )
    if options.evaluator:
        of_other_use = OF_CATALOGUE
        reason = "{flag} is for the catalogue's judges; leave out --evaluator"
    for name in of_other_use:
        if getattr(options, name) != getattr(Completions, name):
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(reason.format(flag=flag))


def _fill_catalogue(options: Completions) -> int:
    """Plan or fill the catalogue's judges; the exit code. Raises: ValueError."""
    from reproduction.study import catalogue, completions, metrics

    if not options.engine and not options.dry_run:
        raise ValueError(
            "which engine? --engine vllm, transformers, or openai for models served "
            "by an API"
        )
    engine_options = _engine_options(options)
    folders = engine_options.folders
    chosen = (options.output or (), options.paper or ())
    models = options.for_model or ()
    entries = catalogue.load(notebooks=False)
    questions, questions_elsewhere = completions.select(
        entries, engine_options, *chosen, models
    )
    measured = metrics.asked(entries, entries.select(*chosen), models)
    if not questions and not questions_elsewhere and not measured:
        raise ValueError(_nothing_chosen(entries))
    if measured and options.engine != "openai":
        for model in {metric.model for metric in measured}.intersection(folders):
            metrics.place(model, folders[model])
        metrics.make(measured, typer.echo, options.mode, options.dry_run)
    if options.dry_run:
        _plan_catalogue(options, engine_options, questions, questions_elsewhere)
        if not options.engine:
            return 0
    unfinished: Any = False
    if questions and not options.dry_run:
        unfinished = completions.fill(
            questions, engine_options, typer.echo, options.quiet
        )
    if questions_elsewhere:
        _print_elsewhere(engine_options.engine, questions_elsewhere)
    return 1 if unfinished else 0


def _engine_options(options: Completions) -> EngineOptions:
    """Who is asked for the catalogue's judges. Raises: ValueError."""
    from nlgeval_lib.scoring.settings import pairs
    from reproduction.study import EngineOptions

    form = "ID=FOLDER, and the folder must be there"
    folders = dict(pairs(options.model_path, "--model-path", form))
    for name, folder in folders.items():
        if not Path(folder).is_dir():
            setting = f"{name}={folder}"
            raise ValueError(f"--model-path {setting!r}; the form is {form}")
    choice = dict(vars(options.choice()))
    choice["engine"] = options.engine or "vllm"
    return EngineOptions(**choice, folders=folders, mode=options.mode)


def _nothing_chosen(entries: Catalogue) -> str:
    """The message where no judge and no metric is chosen."""
    asking = [*entries.judges, *entries.metrics.values()]
    models = dict.fromkeys(entry.model for entry in asking)
    outputs = [entry.id for entry in entries.outputs if entry.judges or entry.metrics]
    return (
        "no [[judge]] or [[metric]] of the catalogue is among these; models it has: "
        f"{', '.join(models) or 'none'}; outputs that ask one: "
        f"{', '.join(outputs) or 'none'}"
    )


def _plan_catalogue(
    options: Completions,
    engine_options: EngineOptions,
    questions: list[Any],
    questions_elsewhere: list[Any],
) -> None:
    """Print what the questions would take, each kind by its own engine."""
    import pandas as pd

    from reproduction.study import completions, plan_totals

    planned = [completions.plan_catalogue(questions, engine_options)]
    if not options.engine:
        on_server = replace(engine_options, engine="openai")
        planned.append(completions.plan_catalogue(questions_elsewhere, on_server))
    joined = pd.concat(planned)
    if len(joined):
        echo(plan_totals.in_words(joined, options.rate))


def _print_elsewhere(engine: str, questions: list[Any]) -> None:
    """Say which judges another engine is for."""
    models = dict.fromkeys(question.judge.model for question in questions)
    count = len({question.judge.id for question in questions})
    other_engine = "vllm" if engine == "openai" else "openai"
    typer.echo(
        f"{count} judges are for --engine {other_engine}, or for --base-url with a "
        f"server of yours: {', '.join(models)}"
    )
