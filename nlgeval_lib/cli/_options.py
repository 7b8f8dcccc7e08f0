"""What the subcommands share: how one is added, the options of several, and how
results and failures are printed.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    import pandas as pd

    from nlgeval_lib.evaluators.stages import Stage
    from nlgeval_lib.scoring import EngineChoice, Job
    from nlgeval_lib.scoring.asking import Run
    from nlgeval_lib.scoring.rows import Parts

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
    str, option("--store", help="The completions' folder.  [.nlgeval/completions]")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", "-n", help="Say what would be done; do nothing.")
]
Delimiter = Annotated[str, option("--delimiter", help="What separates fields of CSV.")]
Settings = Annotated[
    Several,
    option(
        "--set", "-s", metavar="NAME=VALUE", help="A setting by its name (repeatable)."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


class Reading:
    """How a file's rows are read, and what is taken for what."""

    delimiter: Delimiter = ""
    no_quotes: Annotated[
        bool, typer.Option("--no-quotes", help="In CSV and TSV quotes are letters.")
    ] = False
    decimal: Annotated[
        str, option(help="What stands before decimals, where it is a comma.")
    ] = "."
    log: Annotated[
        str,
        option(
            "--from",
            metavar="TOOL",
            help="The tool whose log it is, or the path of the list of rows in JSON.",
        ),
    ] = ""
    map: Annotated[
        Several,
        option(
            metavar="OURS=THEIRS",
            help="A column by your name for it, or a path, doc.answer (repeatable).",
        ),
    ] = None
    fill: Annotated[
        Several,
        option(
            metavar="COLUMN=TEXT",
            help="A text for all rows; @FILE reads it (repeatable).",
        ),
    ] = None
    without: Annotated[
        Several, option(help="A column, or a pattern, to leave out (repeatable).")
    ] = None
    values: Annotated[
        Several,
        option(
            metavar="WORDS",
            help="What words stand for: 'no=0,yes=1', 'bad<fair<good', 'N/5', 'N%' "
            "(repeatable).",
        ),
    ] = None
    missing_values: Annotated[
        str,
        option(
            metavar="VALUES",
            help="Ratings and scores that stand for none, by comma, such as 99,-1.",
        ),
    ] = ""

    def read(
        self,
        path: str,
        data: str = "",
        format: str = "",
        limit: int | None = None,
        named: Sequence[str] = (),
        mapping: Sequence[str] = (),
    ) -> Parts:
        """The rows of a file or a data set, and the line that says how they are read.

        named: columns that another option names. mapping: further columns that do.
        Raises: InputError; DataUnavailable.
        """
        from nlgeval_lib.scoring import chosen_rows
        from nlgeval_lib.scoring.table_files import Dialect

        rows = chosen_rows(
            path,
            data,
            format,
            self.delimiter,
            [*(self.map or ()), *mapping],
            self.fill or (),
            limit,
            by_comma(self.missing_values),
            self.without or (),
            self.values or (),
            named,
            Dialect(not self.no_quotes, self.decimal, self.log),
        )
        note(rows.told())
        return rows


class Asking:
    """Who is asked."""

    # no options of all that ask
    dry_run = False
    tokenizer = ""
    ask_again = None
    on = ""
    replicas = 1
    shard = ""
    engine: Annotated[str, option(help="openai, vllm, transformers or replay.")] = ""
    model: Annotated[
        str, option("--model", "-m", help="The engine's model, or the metric's own.")
    ] = ""
    base_url: Annotated[str, option(help="The server's address, to and with /v1.")] = ""
    revision: Annotated[str, option(help="The model's revision.")] = ""
    engine_set: Annotated[
        Several,
        option(metavar="NAME=VALUE", help="An option of the engine (repeatable)."),
    ] = None
    store: StoreFolder = ""
    quiet: Quiet = False

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
            tokenizer=self.tokenizer,
            planning=self.dry_run,
            ask_again=self.ask_again or "",
            on=self.on,
            replicas=self.replicas,
            shard=shard_of(self.shard),
        )


class Planning(Asking):
    """Who is asked, and what a dry run is to say."""

    dry_run: DryRun = False
    rate: Annotated[
        float | None, option(min=1, help="Dry run: new tokens a second, for the time.")
    ] = None
    price: Annotated[
        str,
        option(
            metavar="IN,OUT", help="Dry run: price of a million prompt and new tokens."
        ),
    ] = ""
    new_tokens: Annotated[
        float | None, option(min=1, help="Dry run: expected length of a completion.")
    ] = None
    tokenizer: Annotated[str, option(help="Dry run: a tokenizer to count with.")] = ""

    def plan(
        self, subject: str, stages: Sequence[Stage], engine: Any, store: Any
    ) -> None:
        """Print what stages would ask.

        subject: what the line of the engine begins with.

        Raises: InputError.
        """
        from nlgeval_lib.scoring import planning

        typer.echo(f"{subject}{engine.signature()}")
        planned = planning.plan(stages, engine, store)
        echo(planning.in_words(planned, self.rate, prices(self.price), self.new_tokens))


class Scoring(Reading, Planning):
    """An evaluator and the rows."""

    evaluator: Annotated[
        str, option("--evaluator", "-e", help="Its name; see `nlgeval score --list`.")
    ] = ""
    input: Annotated[
        str,
        option("--input", "-i", help="JSONL, JSON, CSV, TSV or parquet; - is stdin."),
    ] = ""
    data: Annotated[
        str, option(help="In place of a file: a data set (`nlgeval data`).")
    ] = ""
    format: Annotated[
        str, option(help="The input's format, where its name does not say.")
    ] = ""
    rubric: Annotated[
        str, option(help="A rubric for all rows: TOML, JSON or YAML (prometheus).")
    ] = ""
    set: Settings = None
    ask_again: Annotated[
        Literal["empty", "failed", "unparsed"] | None,
        option(
            help="Ask again for what is stored without text, what failed, what gives "
            "no score."
        ),
    ] = None  # type: ignore[assignment]
    on: Annotated[
        str,
        option(metavar="ray[=ADDRESS]", help="Replicas here, or on the cluster there."),
    ] = ""
    replicas: Annotated[
        int, option(min=1, help="With --on: how many times the model is loaded.")
    ] = 1
    load: Annotated[str, option(help="A fitted evaluator's file (hdeval).")] = ""
    skip_incomplete: Annotated[
        bool,
        typer.Option(
            "--skip-incomplete",
            help="Leave rows that lack a needed text without a score.",
        ),
    ] = False
    limit: Annotated[
        int | None, option(min=1, help="Only the first rows, for a trial.")
    ] = None
    plugin: Annotated[
        Several,
        option(help="A Python file with evaluators; its code is run (repeatable)."),
    ] = None

    def plugins(self) -> None:
        """Run the plugins' files."""
        from nlgeval_lib.scoring import named

        for path in self.plugin or ():
            if Path(path).is_file():
                say(f"the code of {path} is run")
            named.plugin(path)

    def rows(self, instead: str = "") -> Parts:
        """The rows, or with the same settings those of the file `instead`.

        Raises: InputError; DataUnavailable.
        """
        data = "" if instead else self.data
        return self.read(instead or self.input, data, self.format, self.limit)

    def job(self, data: Parts | None = None) -> Job:
        """What these options ask for, on these rows or on their own.

        Raises: InputError; EngineError; Unavailable.
        """
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


def command(
    name: str, group: typer.Typer = app, more: str = ""
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Add a subcommand: its options are the fields of a class, its help a docstring.

    The class is that of the function's argument `options`. A field has its option or
    argument of typer's in its annotation, and a default unless it must be given. Those
    that say who is asked come last. The help is the function's docstring and `more`.
    """

    def add(function: Callable[[Any], None]) -> Callable[[Any], None]:
        settings = get_type_hints(function)["options"]
        parameters = _parameters(settings)

        def run_command(**values: Any) -> None:
            options = settings()
            vars(options).update(values)
            # what is made of somebody's texts is for its owner only
            umask = os.umask(0o077)
            try:
                function(options)
            finally:
                os.umask(umask)

        types = {parameter.name: parameter.annotation for parameter in parameters}
        signature = inspect.Signature(parameters)
        run_command.__signature__ = signature  # type: ignore[attr-defined]
        run_command.__annotations__ = types
        text = inspect.cleandoc(function.__doc__ or "") + f"\n{more}"
        if "Exit codes" not in text:
            text += f"\n\n\b\n{EXIT}"
        group.command(name, help=text)(run_command)
        return function

    return add


def _parameters(settings: type) -> list[inspect.Parameter]:
    """The fields of a class of options, as parameters that are given by name."""
    types = get_type_hints(settings, include_extras=True)
    # those of `Planning` and its bases, which say who is asked, come last
    classes = sorted(
        reversed(settings.__mro__), key=lambda base: issubclass(Planning, base)
    )
    parameters = []
    for base in classes:
        for name in vars(base).get("__annotations__", {}):
            parameter = inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=getattr(settings, name, inspect.Parameter.empty),
                annotation=types[name],
            )
            parameters.append(parameter)
    return parameters


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
