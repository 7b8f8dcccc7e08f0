"""`nlgeval completions`: make the completions that the catalogue or an evaluator needs, and keep them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from nlgeval_lib.cli._options import Scoring, Several, command, echo, failures, option

OF_CATALOGUE = ("output", "paper", "for_model", "model_path", "mode", "prices")
OF_EVALUATOR = ("data", "input", "set", "map", "fill", "load", "limit", "format", "delimiter", "price", "new_tokens")


class Completions(Scoring):
    """The options of `completions`: of one evaluator, or (in OF_CATALOGUE) of the catalogue's judges."""

    output: Annotated[Several, option(help="Judges of this output (repeatable).")] = None
    paper: Annotated[Several, option(help="Judges of this paper's outputs.")] = None
    for_model: Annotated[Several, option(help="Judges of this model.")] = None
    model_path: Annotated[Several, option(metavar="ID=FOLDER", help="Where a model's weights are.")] = None
    mode: Annotated[Literal["full", "quick"], option(help="quick: 20 inputs a judge.")] = "full"
    shard: Annotated[str, option(metavar="I/N", help="Ask only part I of N, by key: a job of an array.")] = ""
    prices: Annotated[str, option(metavar="FILE", help="Dry run: in place of data/prices.csv.")] = ""


@command("completions")
def completions(asked: Completions) -> None:
    """Fill the store with the completions that the catalogue's outputs need, or an evaluator for a data set or file.

    Without --evaluator: every [[judge]] of notebooks/catalogue.toml, sorted so that each model is loaded once. Models
    that are served by an API are asked with --engine openai, all others with vllm (or transformers); these also make
    the scores of every [[metric]] whose weights are here. `nlgeval run` then reads both. With --evaluator: the
    completions of that one.

    Notebooks and `nlgeval score` then find them and ask nothing. Every completion is stored as it comes; Ctrl-C stops
    cleanly, and the same command goes on from there. An HD-Eval that is not fitted gets every criterion of every
    output, which is what fitting needs.

    \b
    Examples:
      nlgeval completions --dry-run                        what each model takes and which printed cells it gives
      nlgeval completions --engine vllm --on ray --replicas 8      eight GPUs; more machines in docs/scale.md
      nlgeval completions -e coascore -s task=dialogue --data topical_chat --fill aspect=overall --engine openai \\
          -m gpt-4o --price 2.5,10 -n
    """
    from nlgeval_lib.scoring import ProgressBar, named

    asked.plugins()
    for name in OF_CATALOGUE if asked.evaluator else (*OF_EVALUATOR, "skip_incomplete"):
        if getattr(asked, name) != getattr(Completions, name):
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{flag} is for the catalogue's judges; leave out --evaluator"
                if asked.evaluator
                else f"which evaluator? {flag} needs --evaluator; without one, the catalogue's judges are asked"
            )
    if not asked.evaluator:
        raise typer.Exit(_all(asked))
    if not named.asks(asked.evaluator):
        raise ValueError(f"{asked.evaluator} asks no language model: there is nothing to make; use `nlgeval score`")
    job = asked.job()
    if asked.dry_run:
        asked.plan_job(job)
        return
    coverage = job.fill(ProgressBar(job.name, quiet=asked.quiet))
    failures(job.run)
    typer.echo(job.run.summary())
    typer.echo(coverage)
    raise typer.Exit(1 if job.run.failures else 0)


def _all(asked: Completions) -> int:
    """Plan or fill the catalogue's judges; the exit code. Raises: ValueError."""
    import pandas as pd

    from nlgeval_lib.scoring.settings import pairs
    from nlgeval_lib.study import EngineOptions, catalogue, completions, metrics, plan_totals

    if not asked.engine and not asked.dry_run:
        raise ValueError("which engine? --engine vllm, transformers, or openai for models served by an API")
    form = "ID=FOLDER, and the folder must be there"
    folders = dict(pairs(asked.model_path, "--model-path", form))
    for name, folder in folders.items():
        if not Path(folder).is_dir():
            raise ValueError(f"--model-path {f'{name}={folder}'!r}; the form is {form}")
    choice = vars(asked.choice()) | ({} if asked.engine else {"engine": "vllm"})
    ways = EngineOptions(**choice, folders=folders, mode=asked.mode)
    chosen = (asked.output or (), asked.paper or ())
    known = catalogue.load()
    todo, other = completions.select(known, ways, *chosen, asked.for_model or ())
    measured = metrics.asked(known, known.select(*chosen), asked.for_model or ())
    if not todo and not other and not measured:
        all_models = [one.model for one in known.judges] + [one.model for one in known.metrics.values()]
        models = ", ".join(dict.fromkeys(all_models)) or "none"
        asking = ", ".join(one.id for one in known.outputs if one.judges or one.metrics) or "none"
        raise ValueError(
            f"no [[judge]] or [[metric]] of the catalogue is among these; models it has: {models}; outputs that ask "
            f"one: {asking}"
        )
    if measured and asked.engine != "openai":
        for model in {metric.model for metric in measured} & {*folders}:
            metrics.place(model, folders[model])
        metrics.make(measured, typer.echo, asked.mode, asked.dry_run)
    if asked.dry_run:
        planned = completions.plan_catalogue(todo, ways)
        if not asked.engine:  # both kinds, each by its own engine
            planned = pd.concat([planned, completions.plan_catalogue(other, replace(ways, engine="openai"))])
            other = []
        if len(planned):
            echo(plan_totals.in_words(planned, asked.rate, asked.prices))
    unfinished = completions.fill(todo, ways, typer.echo, asked.quiet) if todo and not asked.dry_run else 0
    if other:
        names = ", ".join(dict.fromkeys(question.judge.model for question in other))
        engine = "vllm" if ways.engine == "openai" else "openai"
        count = len({question.judge.id for question in other})
        typer.echo(f"{count} judges are for --engine {engine}, or for --base-url with a server of yours: {names}")
    return 1 if unfinished else 0
