"""`nlgeval completions`: make the completions that the catalogue or an evaluator needs, and keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nlgeval_lib.scoring import arguments as given

if TYPE_CHECKING:
    from nlgeval_lib.study import EngineOptions

ORDER = 8
HELP = """Fill the store with the completions that the catalogue's outputs need, or an evaluator for a data set or file.

Without --evaluator: every [[judge]] of notebooks/catalogue.toml, sorted so that each model is loaded once. Models that
are served by an API are asked with --engine openai, all others with vllm (or transformers). `nlgeval run` then reads
the store. With --evaluator: the completions of that one.

Notebooks and `nlgeval score` then find them and ask nothing. Every completion is stored as it comes; Ctrl-C stops
cleanly, and the same command goes on from there. An HD-Eval that is not fitted gets every criterion of every output,
which is what fitting needs.

\b
Examples:
  nlgeval completions --engine vllm --dry-run --rate 2000      what each model has to do: prompts, tokens, hours
  nlgeval completions --engine vllm                            all open models, one after the other
  nlgeval completions --engine vllm --output hdeval_table_06 --output hdeval_table_07
  nlgeval completions --engine vllm --for-model prometheus-eval/prometheus-13b-v1.0 --engine-set tensor_parallel_size=2
  nlgeval completions --engine vllm --model-path meta-llama/Llama-2-7b-chat-hf=models/llama-2-7b-chat
  nlgeval completions --engine openai --paper hdeval           models served by an API, with OPENAI_API_KEY
  nlgeval completions --engine vllm -m Qwen/Qwen2.5-7B-Instruct --output coascore_figure_04   another model
  make completions ENGINE=vllm ARGS="--dry-run"

\b
  nlgeval completions -e llmscore -s task=summary --data summeval --engine vllm -m Qwen/Qwen3-8B -n --rate 2000
  nlgeval completions -e prometheus --data vicuna_bench --engine vllm -m prometheus-eval/prometheus-7b-v2.0
  nlgeval completions -e coascore -s task=dialogue --data topical_chat --fill aspect=overall --engine openai \\
      -m gpt-4o --price 2.5,10 -n
  nlgeval completions -e geval -i my.jsonl --engine openai --base-url http://host:8000/v1 -m NAME
  make completions EVALUATOR=prometheus DATA=vicuna_bench ENGINE=vllm MODEL=NAME ARGS="--dry-run"

\b
Exit codes: 0 all are stored; 1 some could not be had (named; the same command asks them again); 2 the call or the
data are wrong, and nothing was asked; 130 stopped by Ctrl-C.
"""


def register(app: typer.Typer) -> None:
    """Add `completions`."""
    app.command("completions", help=HELP)(completions)


def completions(
    evaluator: given.Evaluator = "",
    outputs: Annotated[
        list[str] | None, typer.Option("--output", help="Judges of this output (repeatable).", show_default=False)
    ] = None,
    paper: Annotated[
        list[str] | None, typer.Option("--paper", help="Judges of this paper's outputs.", show_default=False)
    ] = None,
    for_model: Annotated[
        list[str] | None, typer.Option("--for-model", help="Judges of this model.", show_default=False)
    ] = None,
    model_path: Annotated[
        list[str] | None,
        typer.Option("--model-path", metavar="ID=FOLDER", help="Where a model's weights are.", show_default=False),
    ] = None,
    mode: Annotated[str, typer.Option("--mode", help="quick: 20 inputs a judge.", show_default=False)] = "full",
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
        chosen = {"--output": outputs, "--paper": paper, "--for-model": for_model, "--model-path": model_path}
        chosen["--mode"] = mode if mode != "full" else None
        own = {"--data": data, "--input": input, "--set": set, "--map": map, "--fill": fill, "--load": load}
        own |= {"--limit": limit, "--format": format, "--delimiter": delimiter, "--price": price}
        own |= {"--new-tokens": new_tokens, "--skip-incomplete": skip_incomplete}
        _one_way(evaluator, own if not evaluator else chosen)
        if not evaluator:
            from nlgeval_lib import catalogue
            from nlgeval_lib.study import EngineOptions
            from nlgeval_lib.study.completions import select

            if mode not in ("full", "quick"):
                raise InputError(f"--mode {mode}; allowed: full, quick")
            if not engine:
                raise InputError("which engine? --engine vllm, transformers, or openai for models served by an API")
            folders = dict(_pair(text) for text in model_path or ())
            ways = EngineOptions(engine, model, revision, base_url, engine_set or (), folders, store, mode, tokenizer)
            listed = catalogue.load()
            todo, other = select(listed, ways, outputs or (), paper or (), for_model or ())
            raise typer.Exit(_all(todo, other, ways, dry_run, rate, given.quiet(quiet)))
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


def _all(todo: list, other: list, ways: EngineOptions, dry_run: bool, rate: float | None, quiet: bool) -> int:
    """Plan or fill the catalogue's judges; the exit code."""
    from nlgeval_lib.study import completions

    if dry_run:
        for line in completions.lines(completions.plan(todo, ways), rate) if todo else ():
            typer.echo(line)
    unfinished = 0
    if todo and not dry_run:
        try:
            unfinished = completions.fill(todo, ways, typer.echo, quiet)
        except KeyboardInterrupt:
            raise typer.Exit(given.STOPPED) from None
    if other:
        names = ", ".join(dict.fromkeys(question.judge.model for question in other))
        engine = "vllm" if ways.engine == "openai" else "openai"
        count = len({question.judge.id for question in other})
        typer.echo(f"{count} judges are for --engine {engine}, or for --base-url with a server of yours: {names}")
    return given.SOME_MISSING if unfinished else given.OK


def _one_way(evaluator: str, wrong: dict[str, object]) -> None:
    """Raises: InputError for options of the other way to call this."""
    from nlgeval_lib.scoring import InputError

    for name, value in wrong.items():
        if value:
            raise InputError(
                f"{name} is for the catalogue's judges; leave out --evaluator"
                if evaluator
                else f"which evaluator? {name} needs --evaluator; without one, the catalogue's judges are asked"
            )


def _pair(text: str) -> tuple[str, str]:
    from pathlib import Path

    from nlgeval_lib.scoring import InputError

    name, found, folder = text.partition("=")
    if not found or not name or not Path(folder).is_dir():
        raise InputError(f"--model-path {text!r}: the form is ID=FOLDER, and the folder must be there")
    return name, folder
