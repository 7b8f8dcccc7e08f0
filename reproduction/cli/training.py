"""`nlgeval finetune`: an evaluator by a named configuration; `build`: the papers'
training sets, by any teacher.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nlgeval_lib.cli._options import (
    DryRun,
    Planning,
    Quiet,
    Settings,
    app,
    command,
    failures,
    option,
)

if TYPE_CHECKING:
    from reproduction.training.finetune import Config


class Finetune:
    """The options of `finetune`."""

    name: Annotated[
        str, typer.Argument(metavar="[CONFIG]", help="A configuration; --list has all.")
    ] = ""
    data: Annotated[str, option(help="A set's folder, or JSONL.")] = ""
    output: Annotated[
        str, option("--output", "-o", help="Folder for checkpoints and model.")
    ] = ""
    base: Annotated[str, option(help="Another base: an id or a folder.")] = ""
    set: Settings = None
    micro_batch: Annotated[int, typer.Option(min=1, help="Examples a GPU at once.")] = 1
    most_updates: Annotated[int, typer.Option(help="For a trial; -1 for all.")] = -1
    seed: Annotated[int, typer.Option(min=0, help="Of order and adapters.")] = 0
    dry_run: DryRun = False
    list_all: Annotated[
        bool, typer.Option("--list", help="List the configurations.")
    ] = False
    quiet: Quiet = False


@command("finetune")
def finetune(options: Finetune) -> None:
    """Fine-tune an evaluator by a named configuration: the papers' settings, and
    variants marked as ours.

    Examples come from a set that `nlgeval build` made, or a JSONL file of objects with
    prompt and completion. A killed run goes on from its last whole checkpoint.

    \b
    Examples:
      nlgeval finetune tigerscore-7b --dry-run   tokens, memory, hours: upper bounds
      nlgeval finetune tigerscore-7b --base DIR --set epochs=1 --set batch=8 \\
          --data my.jsonl --output runs/trial
      accelerate launch --config_file reproduction/training/finetune/fsdp.yaml \\
        --num_processes 4 --no_python nlgeval finetune tigerscore-7b \\
        --data sets/metricinstruct --output runs/tiger

    \b
    Exit codes: 0 trained, or said what it would take; 1 the run failed; 2 the call, the
    data or the folder are wrong; 130 stopped by Ctrl-C.
    """
    from reproduction.training import finetune as tuning

    if options.list_all:
        for config in map(tuning.named, tuning.names()):
            mark = "" if config.origin == "paper" else "  [ours]"
            typer.echo(f"{config.name:28} {config.title}{mark}")
            typer.echo(f"{'':28} {config.base}; {config.source}")
        return
    if not options.name:
        raise ValueError("which configuration? Give its name, or --list")
    config = _configuration(options)
    if options.dry_run:
        data = options.data
        output = options.output or "OUTPUT"
        plan = tuning.plan(config, data or None, micro_batch=options.micro_batch)
        launch = tuning.launch_command(config, data or "DATA", output)
        typer.echo("\n".join([*plan.lines, f"  command       {launch}"]))
        return
    if not options.data or not options.output:
        raise ValueError("--data and --output are needed, or --dry-run")
    trained = tuning.finetune(
        config,
        options.data,
        options.output,
        micro_batch=options.micro_batch,
        most_updates=options.most_updates,
        seed=options.seed,
        quiet=options.quiet,
    )
    _print_trained(trained)


def _print_trained(trained: Any) -> None:
    """Print what a training run read and where its model is."""
    facts = trained.facts
    typer.echo(
        f"{facts['examples']:,} examples, {facts['left_out']:,} left out; "
        f"{facts['updates']:,} updates"
    )
    if len(trained.log):
        losses = trained.log["loss"]
        typer.echo(f"loss {losses.iloc[0]:.3f} at first, {losses.iloc[-1]:.3f} at last")
    typer.echo(f"model: {trained.model}")


def _configuration(options: Finetune) -> Config:
    """The named configuration with the options' changes."""
    from nlgeval_lib.scoring import settings
    from reproduction.training import finetune as tuning

    config = tuning.named(options.name)
    changes = settings.parsed(tuning.Config, options.set or (), "a configuration")
    config = config.changed(**changes)
    if options.base:
        config = config.changed(base=options.base, size="")
    return config


# -- training sets

group = typer.Typer(
    help="Build a paper's training set: what a teacher writes, filtered by named "
    "rules, with a report of what each removed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(group, name="build")
Rows = Annotated[str, option(help="JSONL, JSON, CSV, TSV or parquet.")]
_CODES = """
\b
Exit codes: 0 built; 1 nothing was left, or some completions failed (the same command
asks them again); 2 the call or the data are wrong; 130 stopped by Ctrl-C.
"""
_COMMON = f"""
Completions go through the store as everywhere: Ctrl-C stops cleanly, and the same
command goes on from there. The folder gets train.jsonl (prompt, completion),
removed.jsonl (what was removed, by which rule, why), report.json and report.md.
{_CODES}"""


class Building(Planning):
    """A set to build, or to plan."""

    output: Annotated[str, option("--output", "-o", help="The set's folder.")] = ""
    set: Settings = None

    def build(
        self,
        kind: Any,
        inputs: dict[str, str],
        view: dict[str, Any],
        read: Any = lambda frame: frame,
    ) -> None:
        """Build the set of a pipeline's class, or say what it would ask.

        inputs: files by the argument of the pipeline's `stages` that `read` makes of
        their rows, "" for none.
        """
        from nlgeval_lib.scoring import ProgressBar, named, settings
        from nlgeval_lib.scoring import read as read_file
        from nlgeval_lib.scoring.asking import Run, ask

        arguments: dict[str, Any] = {}
        for name, path in inputs.items():
            if path:
                rows = read_file(path).frame.reset_index(drop=True)
                arguments[name] = read(rows)
        pipeline = kind(**settings.parsed(kind, self.set or (), kind.name))
        if not self.engine:
            raise ValueError("which teacher? Give --engine and --model")
        store = named.store(self.store)
        engine = self.choice().start(store)
        arguments["teacher"] = self.model
        if self.dry_run:
            stages = pipeline.plan(engine, store, **arguments)
            self.plan(f"{pipeline.name}: ", stages, engine, store)
            return
        if not self.output:
            raise ValueError("where to? Give --output, a folder")
        run = Run()
        bar = ProgressBar(pipeline.name, quiet=self.quiet)
        stages = pipeline.stages(**arguments)
        dataset = ask(stages, pipeline.name, engine, store, bar, run)
        failures(run)
        folder = dataset.save(self.output, **view)
        for row in dataset.filters.table().to_dict("records"):
            if row["removed"]:
                typer.echo(
                    f"{row['rule']:16} {row['removed']:,} of {row['reached']:,}: "
                    f"{row['says']}"
                )
        typer.echo(
            f"{len(dataset.kept):,} kept, {len(dataset.filters.removed):,} removed; "
            f"written: {folder}"
        )
        raise typer.Exit(1 if run.failures or not dataset.kept else 0)


class MetricInstruct(Building):
    """The options of `metricinstruct`."""

    real: Rows = ""
    synthetic: Rows = ""
    free: Rows = ""


@command("metricinstruct", group, _COMMON)
def metricinstruct(options: MetricInstruct) -> None:
    """Build MetricInstruct, TIGERScore's set (its section 3).

    --real: rows with task, instruction, source, reference, output (and dataset,
    system_id, input_id). --synthetic: rows whose reference the teacher spoils in
    aspects that are rare so far. --free: the same in aspects of the teacher's own.
    Tasks: Summ, Trans, D2T, LF-QA, MathQA, Instruct.

    \b
    Examples:
      nlgeval build metricinstruct --real outputs.jsonl --engine openai -m gpt-4 \\
          --output sets/metricinstruct --dry-run
      nlgeval build metricinstruct --real a.jsonl --synthetic b.jsonl --free c.jsonl \\
          --engine vllm -m NAME -o sets/mi
      nlgeval build metricinstruct --synthetic b.jsonl -s most_errors=2 \\
          -s check=false --engine vllm -m NAME -o sets/syn
    """
    from reproduction.training.metricinstruct import MetricInstruct as Pipeline

    inputs = {
        "real": options.real,
        "synthetic": options.synthetic,
        "free": options.free,
    }
    if not any(inputs.values()):
        raise ValueError("which inputs? Give --real, --synthetic or --free")
    options.build(Pipeline, inputs, {})


class Collection(Building):
    """The options of `feedback-collection`."""

    seeds: Rows = ""
    view: Annotated[
        Literal["full", "no_rubric", "no_reference", "no_feedback"], typer.Option()
    ] = "full"


@command("feedback-collection", group, _COMMON)
def feedback_collection(options: Collection) -> None:
    """Build a feedback collection, Prometheus' set (its section 3.1).

    --seeds: rubrics with criteria and score1_description to score5_description; twelve
    are built in. --view: what the prompt and the completion have: full, no_rubric,
    no_reference, no_feedback (the paper's Table 6).

    \b
    Examples:
      nlgeval build feedback-collection --engine openai -m gpt-4 \\
          --output sets/feedback --dry-run
      nlgeval build feedback-collection -s rounds=1 -s per_round=8 \\
          -s instructions=2 --engine vllm -m NAME -o sets/small
      nlgeval build feedback-collection --seeds mine.jsonl --view no_reference \\
          --engine vllm -m NAME -o sets/no_refs
    """
    from reproduction.training.feedback_collection import (
        FeedbackCollection,
        seed_rubrics,
    )

    seeds = {"seeds": options.seeds}
    options.build(
        FeedbackCollection,
        seeds,
        {"view": options.view},
        lambda rows: seed_rubrics(rows.to_dict("records")),
    )


class OwnOutputs(Planning):
    """The options of `outputs`."""

    rows: Rows = ""
    output: Annotated[str, option("--output", "-o", help="A JSONL file.")] = ""
    bartscore: Annotated[
        str, option(help="The model that ranks the draws: an id or a folder.")
    ] = "facebook/bart-large-cnn"
    direction: Annotated[
        Literal["source", "precision", "recall", "f"],
        typer.Option(help="What BARTScore compares the output with."),
    ] = "source"
    keep: Annotated[
        int, typer.Option(min=1, help="Least likely draws to keep, an input.")
    ] = 1
    set: Settings = None


@command("outputs", group, _CODES)
def outputs(options: OwnOutputs) -> None:
    """Sample outputs of a system and keep the least likely, as TIGERScore's training
    set takes its own (section 3.1, Figure 2): five draws an input, sorted by BARTScore.

    --rows: rows with instruction, and source or input; `build metricinstruct --real`
    takes what this writes. --set: settings of the sampling, such as top_p=0.95.

    \b
    Examples:
      nlgeval build outputs --rows inputs.jsonl --engine vllm -m NAME -o outputs.jsonl
      nlgeval build outputs --rows inputs.jsonl --engine openai -m gpt-4 \\
          --output outputs.jsonl --dry-run
    """
    from nlgeval_lib import files
    from nlgeval_lib.engines import Sampling
    from nlgeval_lib.evaluators import BartScore
    from nlgeval_lib.evaluators.stages import plan as plan_stages
    from nlgeval_lib.scoring import ProgressBar, named, read, settings
    from nlgeval_lib.scoring.asking import Run, ask
    from reproduction.training import own_outputs

    if not options.rows:
        raise ValueError("which inputs? Give --rows, a file")
    if not options.engine:
        raise ValueError("which system? Give --engine and --model")
    rows = read(options.rows).frame.reset_index(drop=True)
    changes = settings.parsed(Sampling, options.set or (), "a sampling")
    sampling = dataclasses.replace(own_outputs.SAMPLING, **changes)
    store = named.store(options.store)
    engine = options.choice().start(store)
    stages = own_outputs.sampled(rows, options.model, sampling)
    if options.dry_run:
        planned = plan_stages(stages, engine, store)
        options.plan("outputs: ", planned, engine, store)
        return
    if not options.output:
        raise ValueError("where to? Give --output, a JSONL file")
    run = Run()
    bar = ProgressBar("outputs", quiet=options.quiet)
    sampled = ask(stages, "outputs", engine, store, bar, run)
    failures(run)
    metric = BartScore(options.bartscore, direction=options.direction)
    lowest = own_outputs.least_likely(sampled, metric, options.keep)
    text = lowest.to_json(orient="records", lines=True, force_ascii=False)
    files.write_text(Path(options.output), str(text))
    typer.echo(
        f"{len(sampled):,} outputs of {options.model} sampled, {len(lowest):,} kept; "
        f"written: {options.output}"
    )
    raise typer.Exit(1 if run.failures or lowest.empty else 0)
