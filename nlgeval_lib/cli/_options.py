"""What the subcommands share: how one is added, options, printing."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    import pandas as pd

    from nlgeval_lib.evaluators.stages import Stage
    from nlgeval_lib.scoring import EngineChoice, Job
    from nlgeval_lib.scoring.asking import Run
    from nlgeval_lib.scoring.rows import Rows
    from nlgeval_lib.scoring.table_files import Dialect

SOME_MISSING = 1
EXIT = (
    "Exit codes: 0 all is well (data that are not available are no failure); 1 something "
    "failed, or has no score, and\nwas named; 2 the call, a file or the catalogue is "
    "wrong, and nothing was asked; 130 stopped by Ctrl-C."
)
app = typer.Typer(
    name="nlgeval",
    help="Reproduce five papers on evaluating generated text, table by table.",
    epilog=EXIT,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode=None,
)
option = functools.partial(typer.Option, show_default=False)
Several = list[str] | None
StoreFolder = Annotated[
    str, option("--store", help="The folder of completions.  [.nlgeval/completions]")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", "-n", help="Say what would be done; do nothing.")
]
Delimiter = Annotated[str, option(help="What separates the fields of a CSV file.")]
Settings = Annotated[
    Several,
    option(
        "--set", "-s", metavar="NAME=VALUE", help="A setting by its name (repeatable)."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


class Reading:
    """How a file's rows are read, and what is taken for what."""

    delimiter: Delimiter = ""
    no_quotes: bool = typer.Option(
        False, "--no-quotes", help="Read quotes in CSV and TSV as letters."
    )
    decimal: str = option(".", help="The mark before decimals: a point, or a comma.")
    log: str = option(
        "",
        "--from",
        metavar="TOOL",
        help="The tool whose log it is, or the path of the list of rows in JSON.",
    )
    map: Several = option(
        None,
        metavar="OURS=THEIRS",
        help="A column by your name for it, or a path, doc.answer (repeatable).",
    )
    fill: Several = option(
        None,
        metavar="COLUMN=TEXT",
        help="A text for all rows; @FILE reads it (repeatable).",
    )
    without: Several = option(
        None, help="A column, or a pattern, to leave out (repeatable)."
    )
    values: Several = option(
        None,
        metavar="WORDS",
        help="What words stand for: 'no=0,yes=1', 'bad<fair<good', 'N/5', 'N%' "
        "(repeatable).",
    )
    missing_values: str = option(
        "",
        metavar="VALUES",
        help="Ratings and scores that stand for none, by comma, such as 99,-1.",
    )

    def __init__(self) -> None:
        self.plans: dict[str, Any] = {}  # file -> what was taken for what in it
        # each file is read once, however often its columns are decided
        self._files: dict[tuple[str, str, Dialect], Rows] = {}

    def read(self, path: str, **more: Any) -> Rows:
        """The rows of a file or a data set, as `chosen`; how they are read is said."""
        rows = self.chosen(path, **more)
        self.said(rows)
        return rows

    def said(self, rows: Rows) -> None:
        """Say, and keep, how rows are read."""
        note(rows.in_words())
        self.plans[Path(rows.name).name] = rows.plan.recorded()

    def chosen(
        self, path: str, *, format: str = "", mapping: Sequence[str] = (), **more: Any
    ) -> Rows:
        """The rows of a file or a data set; nothing is said.

        mapping: further texts as those of --map.
        more: `data`, `limit` and `named` of `chosen_rows`.
        """
        from nlgeval_lib.scoring.rows import chosen_rows, read
        from nlgeval_lib.scoring.table_files import Dialect

        dialect = Dialect(self.delimiter, not self.no_quotes, self.decimal, self.log)
        place = (path, format, dialect)
        if path and place not in self._files:
            self._files[place] = read(*place)
        return chosen_rows(
            self._files.get(place, path),
            mapping=[*(self.map or ()), *mapping],
            fill=self.fill or (),
            missing_values=by_comma(self.missing_values),
            without=self.without or (),
            values=self.values or (),
            format=format,
            dialect=dialect,
            **more,
        )


class Planning:
    """Who is asked, and what a dry run is to say."""

    # options of some commands alone
    ask_again = None
    on = ""
    replicas = 1
    shard = ""
    engine: str = option("", help="Who asks: openai, vllm, transformers or replay.")
    model: str = option(
        "", "--model", "-m", help="The model of the engine or the metric."
    )
    base_url: str = option("", help="The server's address, to and with /v1.")
    revision: str = option("", help="The revision of the model.")
    engine_set: Several = option(
        None, metavar="NAME=VALUE", help="An option of the engine (repeatable)."
    )
    store: StoreFolder = ""
    quiet: Quiet = False
    dry_run: DryRun = False
    rate: float | None = option(
        None, min=1, help="Dry run: new tokens a second, for the time."
    )
    price: str = option(
        "", metavar="IN,OUT", help="The price of a million prompt and new tokens."
    )

    def choice(self) -> EngineChoice:
        """Who is asked, or is only planned for."""
        from nlgeval_lib.scoring import EngineChoice

        if self.ask_again and self.dry_run:
            raise ValueError(
                "--ask-again removes stored completions; leave it out of a dry run"
            )
        if self.replicas > 1 and not self.on:
            raise ValueError(
                "--replicas is for --on ray; vLLM alone takes "
                "--engine-set tensor_parallel_size=N"
            )
        return EngineChoice(
            engine=self.engine,
            model=self.model,
            revision=self.revision,
            base_url=self.base_url,
            settings=self.engine_set or (),
            store=self.store,
            planning=self.dry_run,
            ask_again=self.ask_again or "",
            on=self.on,
            replicas=self.replicas,
            shard=shard_of(self.shard),
        )

    def plan(
        self, subject: str, stages: Sequence[Stage], engine: Any, store: Any
    ) -> None:
        """Print what stages would ask. subject: begins the line of the engine."""
        from nlgeval_lib.scoring import planning

        typer.echo(f"{subject}{engine.signature()}")
        planned = planning.plan(stages, store)
        echo(planning.in_words(planned, self.rate, prices(self.price)))


class Scoring(Reading, Planning):
    """An evaluator and the rows."""

    evaluator: str = option(
        "", "--evaluator", "-e", help="The evaluator; `nlgeval score --list` has all."
    )
    input: str = option(
        "",
        "--input",
        "-i",
        help="The file: JSONL, JSON, CSV, TSV, parquet; - is stdin.",
    )
    data: str = option("", help="In place of a file: a data set (`nlgeval data`).")
    format: str = option("", help="The input's format, where its name does not say.")
    rubric: str = option(
        "", help="A rubric for all rows: TOML, JSON or YAML (prometheus)."
    )
    set: Settings = None
    ask_again: Literal["empty", "failed", "unparsed"] | None = option(
        None,
        help="Ask again for what is stored without text, what failed, what gives "
        "no score.",
    )  # type: ignore[assignment]
    on: str = option(
        "",
        metavar="ray[=ADDRESS]",
        help="Run replicas on the GPUs here, or of a cluster.",
    )
    replicas: int = option(
        1, min=1, help="With --on: how many times the model is loaded."
    )
    load: str = option("", help="The file of a fitted evaluator (hdeval).")
    skip_incomplete: bool = typer.Option(
        False,
        "--skip-incomplete",
        help="Leave rows that lack a needed text without a score.",
    )
    limit: int | None = option(None, min=1, help="Only the first rows, for a trial.")
    plugin: Several = option(
        None, help="A Python file with evaluators; its code is run (repeatable)."
    )

    def rows(self, instead: str = "") -> Rows:
        """The rows, or with the same settings those of the file `instead`."""
        return self.read(
            instead or self.input,
            data="" if instead else self.data,
            format=self.format,
            limit=self.limit,
        )

    def job(self, data: Rows | None = None) -> Job:
        """What these options ask for, on these rows or on their own."""
        from nlgeval_lib.evaluators.prometheus import Rubric
        from nlgeval_lib.scoring import prepared

        arguments = {}
        if self.rubric:
            arguments["rubric"] = Rubric.read(self.rubric)
        job = prepared(
            data or self.rows(),
            self.evaluator,
            self.set or (),
            self.choice(),
            load=self.load,
            skip_incomplete=self.skip_incomplete,
            given=arguments,
        )
        note(job.notice())
        return job

    def plan_job(self, job: Job) -> None:
        """Print what a job would ask. Raises: InputError."""
        if not job.judge:
            typer.echo(
                f"{job.name} asks no language model: {len(job.data):,} rows are scored "
                "here"
            )
            return
        subject = f"{job.name} on {job.data.name}: {len(job.data):,} rows, "
        self.plan(subject, job.planned(), job.engine, job.store)


def run_plugins(paths: Several) -> None:
    """Run the files of `--plugin`."""
    from nlgeval_lib.scoring import named

    for path in paths or ():
        if Path(path).is_file():
            say(f"the code of {path} is run")
        named.plugin(path)


def command(
    name: str, group: typer.Typer = app, more: str = ""
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Add a subcommand: its options are the fields of the class of the function's
    argument `options`, those that say who is asked last; its help is the docstring
    and `more`.
    """

    def add(function: Callable[[Any], None]) -> Callable[[Any], None]:
        settings = get_type_hints(function)["options"]
        types = get_type_hints(settings, include_extras=True)
        of_asking = get_type_hints(Planning)
        parameters = []
        for field in sorted(types, key=of_asking.__contains__):
            default = getattr(settings, field, inspect.Parameter.empty)
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(
                inspect.Parameter(field, kind, default=default, annotation=types[field])
            )
            # who asks the class for a default gets the value itself
            if isinstance(default, typer.models.ParameterInfo):
                setattr(settings, field, default.default)

        def run_command(**values: Any) -> None:
            options = settings()
            vars(options).update(values)
            with for_owner_only():
                function(options)

        signature = inspect.Signature(parameters)
        run_command.__signature__ = signature  # type: ignore[attr-defined]
        run_command.__annotations__ = types
        text = inspect.cleandoc(function.__doc__ or "") + f"\n{more}"
        if "Exit codes" not in text:
            text += f"\n\n\b\n{EXIT}"
        group.command(name, help=text)(run_command)
        return function

    return add


@contextlib.contextmanager
def for_owner_only() -> Iterator[None]:
    """Files that are made here are for their owner: they hold somebody's texts."""
    umask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(umask)


def summary(documented: Any) -> str:
    """The first paragraph of a docstring as one line; empty where there is none."""
    text = inspect.cleandoc(documented.__doc__ or "")
    return " ".join(text.partition("\n\n")[0].split())


def echo(parts: Iterable[str | pd.DataFrame]) -> None:
    """Lines and tables, printed."""
    from nlgeval_lib.tables import show

    for part in parts:
        if isinstance(part, str):
            typer.echo(part)
        else:
            typer.echo(show(part, rows=len(part)).text)


def say(text: str) -> None:
    """A line beside the results."""
    typer.echo(text, err=True)


def shard_of(text: str) -> tuple[int, int]:
    """Part and parts of `--shard`. Raises: ValueError."""
    if not text:
        return 1, 1
    with contextlib.suppress(ValueError):
        part, parts = map(int, text.split("/"))
        if 1 <= part <= parts:
            return part, parts
    raise ValueError(
        f"--shard {text}; part and parts are needed, such as 1/8 for the first of eight"
    )


def by_comma(text: str) -> list[str]:
    """The values of an option that lists them by comma."""
    return [value.strip() for value in text.split(",") if value.strip()]


def note(text: str) -> None:
    """What is to be known of a run, beside the results; nothing for an empty text."""
    if text:
        say(f"note: {text}")


def prices(text: str) -> tuple[float, float] | None:
    """The two prices of `--price`. Raises: ValueError."""
    if not text:
        return None
    with contextlib.suppress(ValueError):
        first, second = map(float, text.split(","))
        if 0 <= first < math.inf and 0 <= second < math.inf:
            return first, second
    raise ValueError(
        f"--price {text}; two numbers are needed, 0 or more, such as 2.5,10"
    )


def failures(run: Run, most: int = 5) -> None:
    """Name the completions that failed, the first few."""
    for failure in run.failures[:most]:
        say(f"failed: {failure.id}, draw {failure.draw}: {failure.reason}")
    if len(run.failures) > most:
        say(f"... and {len(run.failures) - most:,} more")
