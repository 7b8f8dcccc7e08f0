"""`nlgeval finetune`: train an evaluator by a named configuration, or say what it would take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nlgeval_lib.cli._options import DryRun, Quiet, Settings, command, option


class Finetune:
    """The options of `finetune`."""

    name: Annotated[str, typer.Argument(metavar="[CONFIG]", help="A configuration; --list has all.")] = ""
    data: Annotated[str, option(help="A set's folder, or JSONL.")] = ""
    output: Annotated[str, option("--output", "-o", help="Folder for checkpoints and model.")] = ""
    base: Annotated[str, option(help="Another base: an id or a folder.")] = ""
    set: Settings = None
    micro_batch: Annotated[int, typer.Option(min=1, help="Examples a GPU at once.")] = 1
    save_every: Annotated[int, typer.Option(min=1, help="Updates between checkpoints.")] = 100
    precision: Annotated[str, typer.Option(help="auto, bf16 or fp32.")] = "auto"
    most_updates: Annotated[int, typer.Option(help="For a trial; -1 for all.")] = -1
    seed: Annotated[int, typer.Option(min=0, help="Of order and adapters.")] = 0
    gpu: Annotated[str, option(help="Dry run: another GPU.")] = ""
    gpus: Annotated[int | None, option(min=1, help="Dry run: how many.")] = None
    mfu: Annotated[float, typer.Option(help="Dry run: share of the peak speed that is reached.")] = 0.4
    dry_run: DryRun = False
    list_all: Annotated[bool, typer.Option("--list", help="List the configurations.")] = False
    quiet: Quiet = False


@command("finetune")
def finetune(asked: Finetune) -> None:
    """Fine-tune an evaluator by a named configuration: the papers' settings, and variants marked as ours.

    Examples come from a set that `nlgeval build` made, or a JSONL file of objects with prompt and completion. The loss
    is on the completion alone. A killed run goes on from its last whole checkpoint when the same command is given
    again.

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
    from nlgeval_lib.scoring import settings
    from nlgeval_lib.training import finetune as tuning

    if asked.list_all:
        for config in map(tuning.named, tuning.names()):
            typer.echo(f"{config.name:28} {config.title}{'' if config.origin == 'paper' else '  [ours]'}")
            typer.echo(f"{'':28} {config.base}; {config.source}")
        return
    if not asked.name:
        raise ValueError("which configuration? Give its name, or --list")
    config = tuning.named(asked.name).changed(**settings.parsed(tuning.Config, asked.set or (), "a configuration"))
    if asked.base:
        config = config.changed(base=asked.base, size="")
    config = config.changed(gpu=asked.gpu or config.gpu, gpus=asked.gpus or config.gpus)
    if asked.dry_run:
        typer.echo("\n".join(_plan(config, asked)))
        return
    if not asked.data or not asked.output:
        raise ValueError("--data and --output are needed, or --dry-run")
    names = ("micro_batch", "save_every", "precision", "most_updates", "seed", "quiet")
    done = tuning.finetune(config, asked.data, asked.output, **{name: getattr(asked, name) for name in names})
    left_out = done.facts["left_out"]
    typer.echo(f"{done.facts['examples']:,} examples, {left_out:,} left out; {done.facts['updates']:,} updates")
    if len(done.log):
        typer.echo(f"loss {done.log['loss'].iloc[0]:.3f} at first, {done.log['loss'].iloc[-1]:.3f} at last")
    typer.echo(f"model: {done.model}")


def _plan(config: Any, asked: Finetune) -> list[str]:
    """The plan's lines, with the data's own numbers where they are given, and the command."""
    from nlgeval_lib.training import finetune as tuning

    known: dict[str, Any] = {}
    local = Path(config.base).is_dir()
    if asked.data:
        frame = tuning.examples(asked.data)
        if local:
            from transformers import AutoTokenizer

            tokens = tuning.tokenized(frame, AutoTokenizer.from_pretrained(config.base), config)
            known = {"examples": len(tokens.rows), "tokens": tokens.total}
            note = f"{tokens.answers:,} tokens of answers; longest example {tokens.longest:,}"
        else:
            kept = tuning.chosen(frame, config)
            known = {"examples": len(kept), "tokens": int((kept["prompt"] + kept["completion"]).str.len().sum()) // 4}
            note = "tokens: characters divided by four, as the base's tokenizer is not here"
        known["notes"] = (f"{note}; {len(frame) - known['examples']:,} examples left out",)
    size = tuning.size_of(config.base) if local else None
    made = tuning.plan(config, size=size, micro_batch=asked.micro_batch, mfu=asked.mfu, **known)
    command = tuning.launch_command(config, asked.data or "DATA", asked.output or "OUTPUT")
    return [*made.lines, f"  command       {command}"]
