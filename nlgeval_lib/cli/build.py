"""`nlgeval build`: the papers' training sets, with any engine as the teacher."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nlgeval_lib.cli import _options as given

if TYPE_CHECKING:
    from nlgeval_lib.engines import Engine
    from nlgeval_lib.engines.store import Store
    from nlgeval_lib.training.filters import Filters

ORDER = 9
HELP = (
    "Build a paper's training set: what a teacher writes, filtered by named rules, with a report of what each removed."
)
_COMMON = """
Completions go through the store as everywhere: Ctrl-C stops cleanly, and the same command goes on from there. The
folder gets train.jsonl (prompt, completion), removed.jsonl (what was removed, by which rule, why), report.json and
report.md.

\b
Exit codes: 0 built; 1 nothing was left, or some completions could not be had (the same command asks them again);
2 the call or the data are wrong; 130 stopped by Ctrl-C.
"""
METRICINSTRUCT = f"""Build MetricInstruct, TIGERScore's set (its section 3).

--real: rows with task, instruction, source, reference, output (and dataset, system_id, input_id). --synthetic: rows
whose reference the teacher spoils in aspects that are rare so far. --free: the same in aspects of the teacher's own.
Tasks: Summ, Trans, D2T, LF-QA, MathQA, Instruct.

\b
Examples:
  nlgeval build metricinstruct --real outputs.jsonl --engine openai -m gpt-4 --output sets/metricinstruct --dry-run
  nlgeval build metricinstruct --real a.jsonl --synthetic b.jsonl --free c.jsonl --engine vllm -m NAME -o sets/mi
  nlgeval build metricinstruct --synthetic b.jsonl -s most_errors=2 -s check=false --engine vllm -m NAME -o sets/syn
{_COMMON}"""
COLLECTION = f"""Build a feedback collection, Prometheus' set (its section 3.1).

--seeds: rubrics as JSON or JSONL with criteria and score1_description to score5_description; twelve are built in.
--view: what the prompt and the completion have: full, no_rubric, no_reference, no_feedback (the paper's Table 6).

\b
Examples:
  nlgeval build feedback-collection --engine openai -m gpt-4 --output sets/feedback --dry-run
  nlgeval build feedback-collection -s rounds=1 -s per_round=8 -s instructions=2 --engine vllm -m NAME -o sets/small
  nlgeval build feedback-collection --seeds mine.jsonl --view no_reference --engine vllm -m NAME -o sets/no_reference
{_COMMON}"""
OUTPUTS = """Sample system outputs for MetricInstruct's real-world channel, and keep the least likely of each five.

The input has instruction and source; the output file has a row for each output that was kept, for --real.

\b
Examples:
  nlgeval build outputs -i inputs.jsonl --engine vllm -m NAME --likelihood facebook/bart-large-cnn -o outputs.jsonl
  nlgeval build outputs -i inputs.jsonl --engine openai -m NAME -s n=3 -s temperature=0.8 -o all.jsonl

\b
Exit codes: 0 made; 1 nothing was left; 2 the call or the data are wrong; 130 stopped by Ctrl-C.
"""
_NONE = {"show_default": False}
Folder = Annotated[str, typer.Option("--output", "-o", help="The set's folder.", **_NONE)]
Rows = Annotated[str, typer.Option(help="JSONL, JSON, CSV, TSV or parquet.", **_NONE)]
Options = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="NAME=VALUE", help="A setting of the pipeline (repeatable).", **_NONE),
]
STOPPED = "stopped: what was made is stored; the same command goes on from there"


def register(app: typer.Typer) -> None:
    """Add `build` and its three commands."""
    group = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
    group.command("outputs", help=OUTPUTS)(outputs)
    group.command("metricinstruct", help=METRICINSTRUCT)(metricinstruct)
    group.command("feedback-collection", help=COLLECTION)(feedback_collection)
    app.add_typer(group, name="build", context_settings=settings)


def metricinstruct(
    real: Rows = "",
    synthetic: Rows = "",
    free: Rows = "",
    output: Folder = "",
    set: Options = None,
    engine: given.EngineName = "",
    model: given.Model = "",
    base_url: given.BaseUrl = "",
    revision: given.Revision = "",
    engine_set: given.EngineSettings = None,
    store: given.StoreFolder = "",
    dry_run: given.DryRun = False,
    rate: given.Rate = None,
    price: given.Price = "",
    new_tokens: given.NewTokens = None,
    tokenizer: given.Tokenizer = "",
    quiet: given.Quiet = False,
) -> None:
    """Build MetricInstruct; see METRICINSTRUCT."""
    with given.ending(), _refusing():
        from nlgeval_lib.training.metricinstruct import MetricInstruct

        named = {"real": real, "synthetic": synthetic, "free": free}
        if not any(named.values()):
            raise ValueError("which inputs? Give --real, --synthetic or --free")
        asked = {name: _frame(path) for name, path in named.items() if path} | {"teacher": model}
        pipeline = _pipeline(MetricInstruct, set)
        teacher = _teacher(engine, model, base_url, revision, engine_set, store, dry_run, tokenizer)
        if dry_run:
            _plan(pipeline, asked, teacher, rate, price, new_tokens)
        else:
            _build(pipeline, asked, teacher, output, {}, quiet)


def feedback_collection(
    seeds: Annotated[str, typer.Option("--seeds", help="Seed rubrics, JSON or JSONL.", **_NONE)] = "",
    view: Annotated[str, typer.Option("--view", help="full, no_rubric, no_reference or no_feedback.")] = "full",
    output: Folder = "",
    set: Options = None,
    engine: given.EngineName = "",
    model: given.Model = "",
    base_url: given.BaseUrl = "",
    revision: given.Revision = "",
    engine_set: given.EngineSettings = None,
    store: given.StoreFolder = "",
    dry_run: given.DryRun = False,
    rate: given.Rate = None,
    price: given.Price = "",
    new_tokens: given.NewTokens = None,
    tokenizer: given.Tokenizer = "",
    quiet: given.Quiet = False,
) -> None:
    """Build a feedback collection; see COLLECTION."""
    with given.ending(), _refusing():
        from nlgeval_lib.training import feedback_collection as collection

        if view not in collection.VIEWS:
            raise ValueError(f"view {view!r}; allowed: {', '.join(collection.VIEWS)}")
        asked = {"seeds": collection.seeds(seeds or None), "teacher": model}
        pipeline = _pipeline(collection.FeedbackCollection, set)
        teacher = _teacher(engine, model, base_url, revision, engine_set, store, dry_run, tokenizer)
        if dry_run:
            _plan(pipeline, asked, teacher, rate, price, new_tokens)
        else:
            _build(pipeline, asked, teacher, output, {"view": view}, quiet)


def outputs(
    input: given.Input = "",
    output: Annotated[str, typer.Option("--output", "-o", help="JSONL, CSV, TSV or parquet.", **_NONE)] = "",
    likelihood: Annotated[
        str, typer.Option("--likelihood", help="A model for BARTScore; none: every output is kept.", **_NONE)
    ] = "",
    direction: Annotated[
        str, typer.Option("--direction", help="What BARTScore is given: precision (the reference) or source.")
    ] = "precision",
    keep: Annotated[int, typer.Option("--keep", min=1, help="How many of each input and system.")] = 1,
    set: Options = None,
    engine: given.EngineName = "",
    model: given.Model = "",
    base_url: given.BaseUrl = "",
    revision: given.Revision = "",
    engine_set: given.EngineSettings = None,
    store: given.StoreFolder = "",
    quiet: given.Quiet = False,
) -> None:
    """Sample and choose outputs; see OUTPUTS."""
    with given.ending(), _refusing():
        from nlgeval_lib.evaluators import BartScore
        from nlgeval_lib.scoring import ProgressBar, table_files
        from nlgeval_lib.training.metricinstruct import least_likely, sample_outputs

        if not input or not output:
            raise ValueError("--input and --output are needed")
        frame = _frame(input)
        if "input_id" not in frame.columns:
            frame = frame.assign(input_id=[str(row) for row in range(len(frame))])
        system, kept = _teacher(engine, model, base_url, revision, engine_set, store)
        with contextlib.closing(ProgressBar("outputs", quiet=given.quiet(quiet))) as bar:
            made = sample_outputs(frame, {model: system}, store=kept, sampling=given.values(set), progress=bar.report)
            if likelihood:
                made, filters = least_likely(made, BartScore(model=likelihood, direction=direction), keep)
                _say_removed(filters)
        table_files.write(made, output)
        typer.echo(f"{len(made):,} outputs; written: {output}")
        raise typer.Exit(given.OK if len(made) else given.SOME_MISSING)


# -- what they share -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """A ValueError is the user's to mend; what was made when Ctrl-C came is stored."""
    from nlgeval_lib.scoring import InputError

    try:
        yield
    except (ValueError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise error if isinstance(error, InputError) else InputError(str(error)) from error
    except KeyboardInterrupt:
        given.say(f"\n{STOPPED}")
        raise typer.Exit(given.STOPPED) from None


def _frame(path: str) -> Any:
    from nlgeval_lib.scoring import read

    return read(path).frame.reset_index(drop=True)


def _pipeline(cls: Any, texts: Sequence[str] | None) -> Any:
    settings, known = given.values(texts), [field.name for field in dataclasses.fields(cls)]
    if unknown := [name for name in settings if name not in known]:
        raise ValueError(f"--set {unknown[0]}: no such setting; there are {', '.join(known)}")
    try:
        return cls(**settings)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _teacher(
    engine: str,
    model: str,
    base_url: str,
    revision: str,
    engine_set: Sequence[str] | None,
    store: str,
    planning: bool = False,
    tokenizer: str = "",
) -> tuple[Engine, Store]:
    from nlgeval_lib.scoring import named

    if not engine:
        raise ValueError("which teacher? Give --engine and --model")
    kept, how = named.store(store), {"base_url": base_url, "revision": revision, "tokenizer": tokenizer}
    return named.engine(engine, model, settings=engine_set or (), kept=kept, unloaded=planning, **how), kept


def _plan(
    pipeline: Any,
    asked: dict[str, Any],
    teacher: tuple[Engine, Store],
    rate: float | None,
    price: str,
    new_tokens: float | None,
) -> None:
    from nlgeval_lib.study import completions

    typer.echo(f"{pipeline.name}: {teacher[0].signature()}")
    planned = completions.plan(pipeline.plan(*teacher, **asked), *teacher)
    given.echo(completions.in_words(planned, rate, given.prices(price), new_tokens))


def _build(
    pipeline: Any, asked: dict[str, Any], teacher: tuple[Engine, Store], output: str, view: dict[str, Any], quiet: bool
) -> None:
    from nlgeval_lib.scoring import ProgressBar
    from nlgeval_lib.scoring.asking import Run, ask

    if not output:
        raise ValueError("where to? Give --output, a folder")
    engine, store = teacher
    run, bar = Run(), ProgressBar(pipeline.name, quiet=given.quiet(quiet))
    built = ask(pipeline.stages(**asked), pipeline.name, engine, store, bar, run)
    given.failures(run)
    folder = built.save(output, **view)
    _say_removed(built.filters)
    typer.echo(f"{len(built.kept):,} kept, {len(built.filters.removed):,} removed; written: {folder}")
    raise typer.Exit(given.SOME_MISSING if run.failures or not built.kept else given.OK)


def _say_removed(filters: Filters) -> None:
    for row in filters.table().to_dict("records"):
        if row["removed"]:
            typer.echo(f"{row['rule']:16} {row['removed']:,} of {row['reached']:,}: {row['says']}")
