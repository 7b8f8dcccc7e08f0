"""`nlgeval completions`: make the completions that an evaluator needs, and keep them."""

from __future__ import annotations

import typer

from nlgeval_lib.scoring import arguments as given

ORDER = 8
HELP = """Fill the store with the completions that an evaluator needs for a data set or a file.

Notebooks and `nlgeval score` then find them and ask nothing. Every completion is stored as it comes; Ctrl-C stops
cleanly, and the same command goes on from there. An HD-Eval that is not fitted gets every criterion of every output,
which is what fitting needs.

\b
Examples:
  nlgeval completions -e geval --data summeval --engine vllm -m Qwen/Qwen2.5-7B-Instruct --dry-run --rate 2000
  nlgeval completions -e prometheus --data vicuna_bench --engine vllm -m prometheus-eval/prometheus-7b-v2.0
  nlgeval completions -e coascore -s task=dialogue --data topical_chat --engine openai -m gpt-4o --price 2.5,10 -n
  nlgeval completions -e llmscore -s task=summary --data my.jsonl --engine openai --base-url http://host:8000/v1 -m NAME
  make completions EVALUATOR=geval DATA=summeval ENGINE=vllm MODEL=NAME ARGS="--dry-run"

\b
Exit codes: 0 all are stored; 1 some could not be had (named; the same command asks them again); 2 the call or the
data are wrong, and nothing was asked; 130 stopped by Ctrl-C.
"""


def register(app: typer.Typer) -> None:
    """Add `completions`."""
    app.command("completions", help=HELP)(completions)


def completions(
    evaluator: given.Evaluator = "",
    data: given.DataName = "",
    input: given.Input = "",
    engine: given.EngineName = "",
    model: given.Model = "",
    base_url: given.BaseUrl = "",
    revision: given.Revision = "",
    engine_set: given.EngineSettings = None,
    set: given.Settings = None,
    store: given.StoreFolder = "",
    format: given.Format = "",
    delimiter: given.Delimiter = "",
    map: given.Mapping = None,
    fill: given.Fill = None,
    load: given.Load = "",
    skip_incomplete: given.SkipIncomplete = False,
    limit: given.Limit = None,
    plugin: given.Plugin = None,
    dry_run: given.DryRun = False,
    rate: given.Rate = None,
    price: given.Price = "",
    new_tokens: given.NewTokens = None,
    tokenizer: given.Tokenizer = "",
    quiet: given.Quiet = False,
) -> None:
    """Make and keep completions; see HELP."""
    with given.ending():
        from nlgeval_lib.scoring import InputError, ProgressBar, Source, make, prepared

        given.plugins(plugin)
        if not evaluator:
            raise InputError("which evaluator? Give --evaluator; `nlgeval score --list` has all")
        if not make.asks(evaluator):
            raise InputError(f"{evaluator} asks no language model: there is nothing to make; use `nlgeval score`")
        job = prepared(
            Source(input, data, format, delimiter, map or (), fill or (), limit),
            evaluator,
            set or (),
            engine=engine,
            model=model,
            base_url=base_url,
            revision=revision,
            engine_settings=engine_set or (),
            folder=store,
            load=load,
            skip_incomplete=skip_incomplete,
            planning=dry_run,
            tokenizer=tokenizer,
        )
        if dry_run:
            given.planned(job, rate, price, new_tokens)
            return
        with given.stoppable(job.run, "the same command goes on from there"):
            coverage = job.fill(ProgressBar(evaluator, quiet=given.quiet(quiet)))
        given.failures(job.run)
        typer.echo(job.run.summary())
        typer.echo(coverage)
        raise typer.Exit(1 if job.run.failures else 0)
