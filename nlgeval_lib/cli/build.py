"""`nlgeval build`: the papers' training sets, with any engine as the teacher."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

import typer

from nlgeval_lib.cli import _options as given

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
Folder = Annotated[str, given.option("--output", "-o", help="The set's folder; of `outputs` a file.")]
Rows = Annotated[str, given.option(help="JSONL, JSON, CSV, TSV or parquet.")]
Options = Annotated[
    list[str] | None, given.option("--set", "-s", metavar="NAME=VALUE", help="A setting of the pipeline (repeatable).")
]


class Teaching:
    """Who is asked, and what a dry run is to say."""

    output: Folder = ""
    set: Options = None
    engine: given.EngineName = ""
    model: given.Model = ""
    base_url: given.BaseUrl = ""
    revision: given.Revision = ""
    engine_set: given.EngineSettings = None
    store: given.StoreFolder = ""
    quiet: given.Quiet = False

    def teacher(self, unloaded: bool = False, tokenizer: str = "") -> tuple[Any, Any]:
        """The engine and the store."""
        from nlgeval_lib.scoring import named

        if not self.engine:
            raise ValueError("which teacher? Give --engine and --model")
        kept, how = named.store(self.store), {"base_url": self.base_url, "revision": self.revision}
        how |= {"tokenizer": tokenizer}
        return named.engine(
            self.engine, self.model, settings=self.engine_set or (), kept=kept, unloaded=unloaded, **how
        ), kept


class Building(Teaching):
    """A set to build, or to plan."""

    dry_run: given.DryRun = False
    rate: given.Rate = None
    price: given.Price = ""
    new_tokens: given.NewTokens = None
    tokenizer: given.Tokenizer = ""

    def run(self, kind: Any, asked: dict[str, Any], **view: Any) -> None:
        """Build the set of a pipeline's class, or say what it would ask. asked: as for its `stages`."""
        settings, known = given.values(self.set), [field.name for field in dataclasses.fields(kind)]
        if unknown := [name for name in settings if name not in known]:
            raise ValueError(f"--set {unknown[0]}: no such setting; there are {', '.join(known)}")
        pipeline, asked = kind(**settings), asked | {"teacher": self.model}
        engine, store = self.teacher(self.dry_run, self.tokenizer)
        if self.dry_run:
            from nlgeval_lib.study import completions

            typer.echo(f"{pipeline.name}: {engine.signature()}")
            planned = completions.plan(pipeline.plan(engine, store, **asked), engine, store)
            given.echo(completions.in_words(planned, self.rate, given.prices(self.price), self.new_tokens))
            return
        if not self.output:
            raise ValueError("where to? Give --output, a folder")
        from nlgeval_lib.scoring import ProgressBar
        from nlgeval_lib.scoring.asking import Run, ask

        run, bar = Run(), ProgressBar(pipeline.name, quiet=given.quiet(self.quiet))
        built = ask(pipeline.stages(**asked), pipeline.name, engine, store, bar, run)
        given.failures(run)
        folder = built.save(self.output, **view)
        _say_removed(built.filters)
        typer.echo(f"{len(built.kept):,} kept, {len(built.filters.removed):,} removed; written: {folder}")
        raise typer.Exit(given.SOME_MISSING if run.failures or not built.kept else given.OK)


class MetricInstruct(Building):
    """The options of `metricinstruct`."""

    real: Rows = ""
    synthetic: Rows = ""
    free: Rows = ""


class Collection(Building):
    """The options of `feedback-collection`."""

    seeds: Annotated[str, given.option("--seeds", help="Seed rubrics, JSON or JSONL.")] = ""
    view: Annotated[str, typer.Option("--view", help="full, no_rubric, no_reference or no_feedback.")] = "full"


class Outputs(Teaching):
    """The options of `outputs`."""

    input: given.Input = ""
    likelihood: Annotated[
        str, given.option("--likelihood", help="A model for BARTScore; none: every output is kept.")
    ] = ""
    direction: Annotated[
        str, typer.Option("--direction", help="What BARTScore is given: precision (the reference) or source.")
    ] = "precision"
    keep: Annotated[int, typer.Option("--keep", min=1, help="How many of each input and system.")] = 1


def register(app: typer.Typer) -> None:
    """Add `build` and its three commands."""
    group = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)
    given.command(group, "outputs", OUTPUTS, Outputs, _refusing(outputs))
    given.command(group, "metricinstruct", METRICINSTRUCT, MetricInstruct, _refusing(metricinstruct))
    given.command(group, "feedback-collection", COLLECTION, Collection, _refusing(feedback_collection))
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
    app.add_typer(group, name="build", context_settings=settings)


def metricinstruct(asked: MetricInstruct) -> None:
    """Build MetricInstruct; see METRICINSTRUCT."""
    from nlgeval_lib.training import metricinstruct

    named = {"real": asked.real, "synthetic": asked.synthetic, "free": asked.free}
    if not any(named.values()):
        raise ValueError("which inputs? Give --real, --synthetic or --free")
    asked.run(metricinstruct.MetricInstruct, {name: _frame(path) for name, path in named.items() if path})


def feedback_collection(asked: Collection) -> None:
    """Build a feedback collection; see COLLECTION."""
    from nlgeval_lib.training import feedback_collection as collection
    from nlgeval_lib.training.feedback_pieces import seeds

    if asked.view not in collection.VIEWS:
        raise ValueError(f"view {asked.view!r}; allowed: {', '.join(collection.VIEWS)}")
    asked.run(collection.FeedbackCollection, {"seeds": seeds(asked.seeds or None)}, view=asked.view)


def outputs(asked: Outputs) -> None:
    """Sample and choose outputs; see OUTPUTS."""
    from nlgeval_lib.evaluators import BartScore
    from nlgeval_lib.scoring import ProgressBar, table_files
    from nlgeval_lib.training.metricinstruct import least_likely, sample_outputs

    if not asked.input or not asked.output:
        raise ValueError("--input and --output are needed")
    frame = _frame(asked.input)
    if "input_id" not in frame.columns:
        frame = frame.assign(input_id=[str(row) for row in range(len(frame))])
    system, kept = asked.teacher()
    how = {"store": kept, "sampling": given.values(asked.set)}
    with contextlib.closing(ProgressBar("outputs", quiet=given.quiet(asked.quiet))) as bar:
        made = sample_outputs(frame, {asked.model: system}, **how, progress=bar.report)
        if asked.likelihood:
            metric = BartScore(model=asked.likelihood, direction=asked.direction)
            made, filters = least_likely(made, metric, asked.keep)
            _say_removed(filters)
    table_files.write(made, asked.output)
    typer.echo(f"{len(made):,} outputs; written: {asked.output}")
    raise typer.Exit(given.OK if len(made) else given.SOME_MISSING)


# -- what they share -------------------------------------------------------------------------------------------------


def _refusing(run: Callable[[Any], None]) -> Callable[[Any], None]:
    """A ValueError is the user's to mend; what was made when Ctrl-C came is stored."""

    def refusing(asked: Any) -> None:
        from nlgeval_lib.scoring import InputError

        try:
            run(asked)
        except InputError:
            raise
        except (ValueError, TypeError, FileNotFoundError, IsADirectoryError, PermissionError) as error:
            raise InputError(str(error)) from error
        except KeyboardInterrupt:
            given.say("\nstopped: what was made is stored; the same command goes on from there")
            raise typer.Exit(given.STOPPED) from None

    return refusing


def _frame(path: str) -> Any:
    from nlgeval_lib.scoring import read

    return read(path).frame.reset_index(drop=True)


def _say_removed(filters: Any) -> None:
    for row in filters.table().to_dict("records"):
        if row["removed"]:
            typer.echo(f"{row['rule']:16} {row['removed']:,} of {row['reached']:,}: {row['says']}")
