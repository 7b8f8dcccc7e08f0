"""What the subcommands on somebody's own rows share: their options, their job, their errors and exit codes."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    import pandas as pd

    from nlgeval_lib.scoring import EngineChoice, Job, Source
    from nlgeval_lib.scoring.asking import Run

OK, SOME_MISSING, USAGE, STOPPED = 0, 1, 2, 130

option = functools.partial(typer.Option, show_default=False)
Several = list[str] | None

Evaluator = Annotated[str, option("--evaluator", "-e", help="Its name; see `nlgeval score --list`.")]
Input = Annotated[str, option("--input", "-i", help="JSONL, JSON, CSV, TSV or parquet; - is stdin.")]
DataName = Annotated[str, option("--data", help="In place of a file: a data set (`nlgeval data`).")]
Format = Annotated[str, option("--format", help="The input's format, where its name does not say.")]
Delimiter = Annotated[str, option("--delimiter", help="What separates fields of CSV.")]
Mapping = Annotated[Several, option("--map", metavar="OURS=THEIRS", help="A column by your name for it (repeatable).")]
Fill = Annotated[
    Several, option("--fill", metavar="COLUMN=TEXT", help="A text for all rows; @FILE reads it (repeatable).")
]
Settings = Annotated[
    Several, option("--set", "-s", metavar="NAME=VALUE", help="An option of the evaluator (repeatable).")
]
EngineName = Annotated[str, option("--engine", help="openai, vllm, transformers or replay.")]
Model = Annotated[str, option("--model", "-m", help="The engine's model, or the metric's own.")]
BaseUrl = Annotated[str, option("--base-url", help="The server's address, to and with /v1.")]
Revision = Annotated[str, option("--revision", help="The model's revision.")]
EngineSettings = Annotated[
    Several, option("--engine-set", metavar="NAME=VALUE", help="An option of the engine (repeatable).")
]
StoreFolder = Annotated[str, option("--store", help="The completions' folder.  [.nlgeval/completions]")]
Load = Annotated[str, option("--load", help="A fitted evaluator's file (hdeval).")]
Plugin = Annotated[Several, option("--plugin", help="A Python file that registers evaluators (repeatable).")]
SkipIncomplete = Annotated[
    bool, typer.Option("--skip-incomplete", help="Leave rows that lack a needed text without a score.")
]
Limit = Annotated[int | None, option("--limit", min=1, help="Only the first rows, for a trial.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be asked; ask nothing.")]
Rate = Annotated[float | None, option("--rate", help="Dry run: new tokens a second, for the time.")]
Price = Annotated[str, option("--price", metavar="IN,OUT", help="Dry run: price of a million prompt and new tokens.")]
NewTokens = Annotated[float | None, option("--new-tokens", help="Dry run: expected length of a completion.")]
Tokenizer = Annotated[str, option("--tokenizer", help="Dry run: a tokenizer to count with.")]


def command(app: typer.Typer, name: str, help: str, settings: type, run: Callable[[Any], None]) -> None:
    """Add a subcommand: the fields of `settings` are its options, and `run` gets an object of that class.

    A field has its option or argument of typer's in its annotation, and a default unless it must be given.
    """
    types = get_type_hints(settings, include_extras=True)
    required, named = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, named, default=getattr(settings, name, required), annotation=kind)
        for name, kind in types.items()
    ]

    def called(**given: Any) -> None:
        asked = settings()
        vars(asked).update(given)
        with ending():
            run(asked)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = types
    app.command(name, help=help)(called)


class Scoring:
    """An evaluator, the rows, who is asked, and what a dry run is to say."""

    evaluator: Evaluator = ""
    input: Input = ""
    data: DataName = ""
    format: Format = ""
    delimiter: Delimiter = ""
    map: Mapping = None
    fill: Fill = None
    set: Settings = None
    engine: EngineName = ""
    model: Model = ""
    base_url: BaseUrl = ""
    revision: Revision = ""
    engine_set: EngineSettings = None
    store: StoreFolder = ""
    load: Load = ""
    skip_incomplete: SkipIncomplete = False
    limit: Limit = None
    plugin: Plugin = None
    dry_run: DryRun = False
    rate: Rate = None
    price: Price = ""
    new_tokens: NewTokens = None
    tokenizer: Tokenizer = ""
    quiet: Quiet = False

    def source(self) -> Source:
        """Where the rows come from."""
        from nlgeval_lib.scoring import Source

        return Source(self.input, self.data, self.format, self.delimiter, self.map or (), self.fill or (), self.limit)

    def choice(self) -> EngineChoice:
        """Who is asked."""
        from nlgeval_lib.scoring import EngineChoice

        how = (self.engine_set or (), self.store, self.tokenizer, self.dry_run)
        return EngineChoice(self.engine, self.model, self.revision, self.base_url, *how)

    def job(self, before: Callable[[Any], None] = lambda rows: None) -> Job:
        """What these options ask for. before: a check of the rows. Raises: InputError; EngineError; Unavailable."""
        from nlgeval_lib.scoring import prepared

        how: dict[str, Any] = {"load": self.load, "skip_incomplete": self.skip_incomplete, "before": before}
        return prepared(self.source(), self.evaluator, self.set or (), self.choice(), **how)

    def plan(self, job: Job) -> None:
        """Print what a job would ask. Raises: InputError."""
        from nlgeval_lib.scoring import InputError
        from nlgeval_lib.study import completions

        if self.rate is not None and not self.rate > 0:
            raise InputError(f"--rate {self.rate:g}; tokens a second, above 0")
        if self.new_tokens is not None and not 0 < self.new_tokens < math.inf:
            raise InputError(f"--new-tokens {self.new_tokens:g}; tokens a completion, above 0")
        if job.engine is None or not job.judge:
            typer.echo(f"{job.name} asks no language model: {len(job.data):,} rows are scored here")
            return
        stages = completions.plan(job.planned(), job.engine, job.store)
        typer.echo(f"{job.name} on {job.data.name}: {len(job.data):,} rows, {job.engine.signature()}")
        echo(completions.in_words(stages, self.rate, prices(self.price), self.new_tokens))

    def plugins(self) -> None:
        """Run the plugins' files."""
        from nlgeval_lib.scoring import named

        for path in self.plugin or ():
            named.plugin(path)


def echo(parts: Iterable[str | pd.DataFrame]) -> None:
    """Lines and tables, printed."""
    from nlgeval_lib.report import show

    for part in parts:
        typer.echo(part if isinstance(part, str) else show(part, rows=len(part)).text)


def say(text: str) -> None:
    """A line beside the results."""
    typer.echo(text, err=True)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Turns what can go wrong into one line and an exit code: 2 for what the user can mend, 1 for the rest."""
    from nlgeval_lib.datasets import DataError
    from nlgeval_lib.engines import EngineError, UnsupportedSetting
    from nlgeval_lib.evaluators import Unavailable
    from nlgeval_lib.scoring import InputError

    try:
        yield
    except (InputError, UnsupportedSetting) as error:
        say(f"error: {error}")
        raise typer.Exit(USAGE) from None
    except (EngineError, Unavailable, DataError) as error:
        say(f"error: {error}")
        raise typer.Exit(SOME_MISSING) from None


@contextlib.contextmanager
def stoppable(run: Run, again: str) -> Iterator[None]:
    """On Ctrl-C: what was made is stored; says how much and how to go on, and ends with 130."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"\nstopped: {run.counts['done']:,} completions made now are stored; {again}")
        raise typer.Exit(STOPPED) from None


def values(texts: Sequence[str] | None) -> dict[str, Any]:
    """`name=value` texts of `--set` as settings; values as JSON where they are JSON. Raises: InputError."""
    import json

    from nlgeval_lib.scoring.rows import pairs

    found: dict[str, Any] = {}
    for name, value in pairs(texts, "--set", "NAME=VALUE"):
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def prices(text: str) -> tuple[float, float] | None:
    """The two prices of `--price`. Raises: InputError."""
    from nlgeval_lib.scoring import InputError

    if not text:
        return None
    try:
        first, second = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--price {text}; two numbers are needed, such as 2.5,10") from None
    if not (0 <= first < math.inf and 0 <= second < math.inf):
        raise InputError(f"--price {text}; prices are 0 or more")
    return first, second


def failures(run: Run, most: int = 5) -> None:
    """Name the completions that failed, the first few."""
    for failure in run.failures[:most]:
        say(f"failed: {failure.id}, draw {failure.draw}: {failure.reason}")
    if len(run.failures) > most:
        say(f"... and {len(run.failures) - most:,} more")


def quiet(asked: bool) -> bool:
    """Whether no progress is to be shown."""
    return asked or sys.stderr.closed
