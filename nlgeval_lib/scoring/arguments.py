"""What the subcommands that run an evaluator share: their options, their job, their errors and exit codes."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from nlgeval_lib.scoring.drive import Run

OK, SOME_MISSING, USAGE, STOPPED = 0, 1, 2, 130

_HIDDEN = {"show_default": False}
Evaluator = Annotated[str, typer.Option("--evaluator", "-e", help="Its name; see `nlgeval score --list`.", **_HIDDEN)]
Input = Annotated[str, typer.Option("--input", "-i", help="JSONL, JSON, CSV, TSV or parquet; - is stdin.", **_HIDDEN)]
DataName = Annotated[str, typer.Option("--data", help="In place of a file: a data set (`nlgeval data`).", **_HIDDEN)]
Format = Annotated[str, typer.Option("--format", help="The input's format, where its name does not say.", **_HIDDEN)]
Delimiter = Annotated[str, typer.Option("--delimiter", help="What separates fields of CSV.", **_HIDDEN)]
Mapping = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="OURS=THEIRS", help="A column by your name for it (repeatable).", **_HIDDEN),
]
Fill = Annotated[
    list[str] | None,
    typer.Option("--fill", metavar="COLUMN=TEXT", help="A text for all rows; @FILE reads it (repeatable).", **_HIDDEN),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="NAME=VALUE", help="An option of the evaluator (repeatable).", **_HIDDEN),
]
EngineName = Annotated[str, typer.Option("--engine", help="openai, vllm, transformers or replay.", **_HIDDEN)]
Model = Annotated[str, typer.Option("--model", "-m", help="The engine's model, or the metric's own.", **_HIDDEN)]
BaseUrl = Annotated[str, typer.Option("--base-url", help="The server's address, to and with /v1.", **_HIDDEN)]
Revision = Annotated[str, typer.Option("--revision", help="The model's revision.", **_HIDDEN)]
EngineSettings = Annotated[
    list[str] | None,
    typer.Option("--engine-set", metavar="NAME=VALUE", help="An option of the engine (repeatable).", **_HIDDEN),
]
StoreFolder = Annotated[
    str, typer.Option("--store", help="The completions' folder.  [.nlgeval/completions]", **_HIDDEN)
]
Load = Annotated[str, typer.Option("--load", help="A fitted evaluator's file (hdeval).", **_HIDDEN)]
Plugin = Annotated[
    list[str] | None, typer.Option("--plugin", help="A Python file that registers evaluators (repeatable).", **_HIDDEN)
]
SkipIncomplete = Annotated[
    bool, typer.Option("--skip-incomplete", help="Leave rows that lack a needed text without a score.")
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first rows, for a trial.", **_HIDDEN)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be asked; ask nothing.")]
Rate = Annotated[float | None, typer.Option("--rate", help="Dry run: new tokens a second, for the time.", **_HIDDEN)]
Price = Annotated[
    str, typer.Option("--price", metavar="IN,OUT", help="Dry run: price of a million prompt and new tokens.", **_HIDDEN)
]
NewTokens = Annotated[
    float | None, typer.Option("--new-tokens", help="Dry run: expected length of a completion.", **_HIDDEN)
]
Tokenizer = Annotated[str, typer.Option("--tokenizer", help="Dry run: a tokenizer to count with.", **_HIDDEN)]


def say(text: str) -> None:
    """A line beside the results."""
    typer.echo(text, err=True)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Turns what can go wrong into one line and an exit code: 2 for what the user can mend, 1 for the rest."""
    from nlgeval_lib.datasets import DataError
    from nlgeval_lib.engines import EngineError, UnsupportedSetting
    from nlgeval_lib.evaluators import Unavailable
    from nlgeval_lib.scoring.table import InputError

    try:
        yield
    except (InputError, UnsupportedSetting) as error:
        say(f"error: {error}")
        raise typer.Exit(USAGE) from None
    except (EngineError, Unavailable, DataError) as error:
        say(f"error: {error}")
        raise typer.Exit(SOME_MISSING) from None


def writable(*paths: str) -> None:
    """Passes where these files can be written: better known now than when the work is done. Raises: InputError."""
    from nlgeval_lib import files
    from nlgeval_lib.scoring.table import InputError

    for path in filter(None, paths):
        try:
            files.check(path)
        except OSError as error:
            raise InputError(error.strerror or str(error)) from None


@contextlib.contextmanager
def stoppable(run: Run, again: str) -> Iterator[None]:
    """On Ctrl-C: what was made is stored; says how much and how to go on, and ends with 130."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"\nstopped: {run.total('done'):,} completions made now are stored; {again}")
        raise typer.Exit(STOPPED) from None


def values(texts: Sequence[str] | None) -> dict[str, Any]:
    """`name=value` texts of `--set` as settings; values as JSON where they are JSON. Raises: InputError."""
    import json

    from nlgeval_lib.scoring.table import InputError

    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"--set {text}: NAME=VALUE is needed")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def prices(text: str) -> tuple[float, float] | None:
    """The two prices of `--price`. Raises: InputError."""
    from nlgeval_lib.scoring.table import InputError

    if not text:
        return None
    try:
        first, second = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--price {text}; two numbers are needed, such as 2.5,10") from None
    if not (0 <= first < math.inf and 0 <= second < math.inf):
        raise InputError(f"--price {text}; prices are 0 or more")
    return first, second


def planned(job: Any, rate: float | None, price: str, new_tokens: float | None) -> None:
    """Print what a job would ask. Raises: InputError."""
    from nlgeval_lib.scoring import estimate
    from nlgeval_lib.scoring.table import InputError

    if rate is not None and not rate > 0:
        raise InputError(f"--rate {rate:g}; tokens a second, above 0")
    if new_tokens is not None and not 0 < new_tokens < math.inf:
        raise InputError(f"--new-tokens {new_tokens:g}; tokens a completion, above 0")
    if not job.judge:
        typer.echo(f"{job.name} asks no language model: {len(job.data):,} rows are scored here")
        return
    stages = job.planned()
    typer.echo(f"{job.name} on {job.data.table.name}: {len(job.data):,} rows, {job.engine.signature()}")
    for line in estimate.lines(estimate.plan(stages, job.engine, job.store), rate, prices(price), new_tokens):
        typer.echo(line)


def failures(run: Run, most: int = 5) -> None:
    """Name the completions that failed, the first few."""
    for failure in run.failures[:most]:
        say(f"failed: {failure.id}, draw {failure.draw}: {failure.reason}")
    if len(run.failures) > most:
        say(f"... and {len(run.failures) - most:,} more")


def plugins(paths: Sequence[str] | None) -> None:
    """Run the plugins' files."""
    from nlgeval_lib.scoring import make

    for path in paths or ():
        make.plugin(path)


def quiet(asked: bool) -> bool:
    """Whether no progress is to be shown."""
    return asked or sys.stderr.closed
