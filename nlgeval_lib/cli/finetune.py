"""`nlgeval finetune`: train an evaluator by a named configuration, or say what it would take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nlgeval_lib.scoring import arguments as given

ORDER = 10
HELP = """Fine-tune an evaluator by a named configuration: the papers' settings, and variants marked as ours.

Examples come from a set that `nlgeval build` made, or a JSONL file of objects with prompt and completion. The loss is
on the completion alone. A killed run goes on from its last whole checkpoint when the same command is given again.

\b
Examples:
  nlgeval finetune --list                                        all configurations
  nlgeval finetune tigerscore-7b --dry-run                       tokens, memory, hours: upper bounds without data
  nlgeval finetune prometheus-7b-lora --data sets/feedback_collection --dry-run --gpu h100-80gb
  nlgeval finetune tigerscore-7b-lora --data sets/metricinstruct --output runs/tiger-lora
  nlgeval finetune tigerscore-7b --base DIR --set epochs=1 --set batch=8 --data my.jsonl --output runs/trial
  accelerate launch --config_file nlgeval_lib/training/finetune/fsdp.yaml --num_processes 4 \\
    --no_python nlgeval finetune tigerscore-7b --data sets/metricinstruct --output runs/tiger

\b
Exit codes: 0 trained, or said what it would take; 1 the run failed; 2 the call, the data or the folder are wrong;
130 stopped by Ctrl-C.
"""
_NONE = {"show_default": False}


def register(app: typer.Typer) -> None:
    """Add `finetune`."""
    app.command("finetune", help=HELP)(finetune)


def finetune(
    name: Annotated[str, typer.Argument(metavar="CONFIG", help="A configuration; --list has all.", **_NONE)] = "",
    data: Annotated[str, typer.Option("--data", help="A set's folder, or JSONL.", **_NONE)] = "",
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for checkpoints and model.", **_NONE)] = "",
    base: Annotated[str, typer.Option("--base", help="Another base: an id or a folder.", **_NONE)] = "",
    set: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="Another setting (repeatable).", **_NONE),
    ] = None,
    micro_batch: Annotated[int, typer.Option("--micro-batch", min=1, help="Examples a GPU at once.")] = 1,
    save_every: Annotated[int, typer.Option("--save-every", min=1, help="Updates between checkpoints.")] = 100,
    precision: Annotated[str, typer.Option("--precision", help="auto, bf16 or fp32.")] = "auto",
    most_updates: Annotated[int, typer.Option("--most-updates", help="For a trial; -1 for all.")] = -1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of order and adapters.")] = 0,
    gpu: Annotated[str, typer.Option("--gpu", help="Dry run: another GPU.", **_NONE)] = "",
    gpus: Annotated[int | None, typer.Option("--gpus", min=1, help="Dry run: how many.", **_NONE)] = None,
    mfu: Annotated[float, typer.Option("--mfu", help="Dry run: share of the peak speed that is reached.")] = 0.4,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what it would take; train nothing.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the configurations.")] = False,
    quiet: given.Quiet = False,
) -> None:
    """Fine-tune; see HELP."""
    with given.ending():
        from nlgeval_lib.scoring import InputError
        from nlgeval_lib.training import finetune as tuning

        if list_all:
            _list(tuning)
            return
        try:
            if not name:
                raise InputError("which configuration? Give its name, or --list")
            config = tuning.named(name).changed(**given.values(set or ()))
            if base:
                config = config.changed(base=base, size="")
            if gpu or gpus:
                config = config.changed(gpu=gpu or config.gpu, gpus=gpus or config.gpus)
            if dry_run:
                for line in _plan(config, data, output, micro_batch, mfu):
                    typer.echo(line)
                return
            if not data or not output:
                raise InputError("--data and --output are needed, or --dry-run")
            done = tuning.finetune(
                config,
                data,
                output,
                micro_batch=micro_batch,
                save_every=save_every,
                precision=precision,
                most_updates=most_updates,
                seed=seed,
                quiet=given.quiet(quiet),
            )
        except InputError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from error
        except KeyboardInterrupt:
            given.say("stopped; the same command goes on from the last checkpoint")
            raise typer.Exit(given.STOPPED) from None
        left_out = done.facts["left_out"]
        typer.echo(f"{done.facts['examples']:,} examples, {left_out:,} left out; {done.facts['updates']:,} updates")
        if len(done.log):
            typer.echo(f"loss {done.log['loss'].iloc[0]:.3f} at first, {done.log['loss'].iloc[-1]:.3f} at last")
        typer.echo(f"model: {done.model}")


def _list(tuning: Any) -> None:
    for name in tuning.names():
        config = tuning.named(name)
        mark = "" if config.origin == "paper" else "  [ours]"
        typer.echo(f"{name:28} {config.title}{mark}")
        typer.echo(f"{'':28} {config.base}; {config.source}")


def _plan(config: Any, data: str, output: str, micro_batch: int, mfu: float) -> list[str]:
    """The plan's lines, with the data's own numbers where they are given, and the command."""
    from nlgeval_lib.training import finetune as tuning
    from nlgeval_lib.training.finetune.data import chosen

    known: dict[str, Any] = {}
    local = Path(config.base).is_dir()
    if data and local:
        from transformers import AutoTokenizer

        tokens = tuning.tokenized(tuning.examples(data), AutoTokenizer.from_pretrained(config.base), config)
        known = {"examples": len(tokens.rows), "tokens": tokens.total}
        note, filters = f"{tokens.answers:,} tokens of answers; longest example {tokens.longest:,}", tokens.filters
    elif data:
        kept, filters = chosen(tuning.examples(data), config)
        characters = int((kept["prompt"].str.len() + kept["completion"].str.len()).sum())
        known = {"examples": len(kept), "tokens": characters // 4}
        note = "tokens: characters divided by four, as the base's tokenizer is not here"
    if data:
        known["notes"] = (f"{note}; {len(filters.removed):,} examples left out",)
    size = tuning.size_of(config.base) if local else None
    made = tuning.plan(config, size=size, micro_batch=micro_batch, mfu=mfu, **known)
    return [*made.lines(), f"  command       {tuning.launch_command(config, data or 'DATA', output or 'OUTPUT')}"]
