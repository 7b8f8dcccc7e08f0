"""`nlgeval doctor`: what does a file of rows support, and what is the next command?"""

from __future__ import annotations

import copy
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from judgecard.cli._rated import Rated, scale_of
from nlgeval_lib.cli._options import Reading, Several, command, echo, option

if TYPE_CHECKING:
    from judgecard.doctor import Report
    from nlgeval_lib.scoring.rows import Rows

# The fields of the options that say how a file is read.
_READING = (
    "delimiter",
    "decimal",
    "log",
    "map",
    "fill",
    "without",
    "values",
    "missing_values",
    "scale",
    "human_scale",
    "reverse",
    "sheet",
    "input_format",
)
_WRONG = 2
_SHOWN = 14  # columns that a screen has room for


class Doctor(Rated):
    """The options of `doctor`."""

    file: Annotated[
        str, typer.Argument(help="Rows, or a tool's log: CSV, TSV, JSONL, JSON, ...")
    ]
    score: Several = option(None, help="A column with a judge's scores (repeatable).")
    human: str = option("", help="The column with people's ratings.")


@command("doctor")
def doctor(options: Doctor) -> None:
    """Say what a file or a log supports, and print the next command.

    What each column holds and is taken for; which statistic the rows give, by which
    command; what is missing for more; how many labels would tell what. A column that no
    name explains is proposed for what its cells look like, with a question mark:
    nothing is taken silently, and the command that is printed says it.

    \b
    Examples:
      nlgeval doctor answers.csv
      nlgeval doctor log.json --from results.items
      nlgeval doctor answers.csv --score judge --human anna
    """
    from judgecard import doctor, rated_rows
    from nlgeval_lib.scoring.cells import InputError

    of_numbers = rated_rows.Said(
        scale_of(options.scale),
        scale_of(options.human_scale, "--human-scale"),
        options.reverse or (),
    )
    scores = options.score or ()
    request = doctor.Asked(options.file, scores, options.human, of_numbers)

    if options.sheet:
        options.chosen(options.file, format=options.input_format)

    def read(mapping: Sequence[str], values: Sequence[str]) -> Rows:
        more = _with(options, mapping, values)
        return more.chosen(
            options.file, format=options.input_format, named=request.scores
        )

    try:
        report = doctor.report(read, request)
    except InputError as error:
        typer.echo(f"cannot be used as it is: {error}")
        if following := doctor.trouble(error, options.file):
            _next(options, following)
        raise typer.Exit(_WRONG) from None
    _show(report, options)


def _with(options: Doctor, mapping: Sequence[str], values: Sequence[str]) -> Doctor:
    """The options with further texts of --map and --values."""
    more = copy.copy(options)
    more.map = [*(options.map or ()), *mapping]
    more.values = [*(options.values or ()), *values]
    return more


def _show(report: Report, options: Doctor) -> None:
    """Print a report: one screen."""
    echo([f"{options.file}: {report.rows:,} rows", report.columns.head(_SHOWN)])
    further = ", ".join(report.columns["column"].iloc[_SHOWN:])
    if further:
        typer.echo(f"and the columns {further}"[:200])
    parts = {
        "it has": report.facts,
        "possible": [f"{name}: {words}" for name, words in report.can.items()],
        "missing": [f"{name}: for {words}" for name, words in report.lacks.items()],
        "labels": report.tells,
    }
    for title, lines in parts.items():
        for line in lines:
            typer.echo(f"{title:10}{line}")
            title = ""
    if report.command:
        _next(_with(options, report.mapping, report.values), report.command)
    else:
        typer.echo("\nno command serves before what is missing is there")


def _next(options: Doctor, words: Sequence[str]) -> None:
    """Print the next command, with the options that say how the file is read."""
    flags = said_of_reading(options, words)
    typer.echo(f"\nnext      {shlex.join([*words, *flags])}")
    if "--dry-run" in words:
        typer.echo("(then with your server's address and model, without --dry-run)")


def said_of_reading(options: Reading, words: Sequence[str]) -> list[str]:
    """The options that say how a file is read, as words of a command."""
    from judgecard.config_files import key_of

    flags: list[str] = []
    for name in _READING:
        flag = f"--{key_of(name)}"
        value = getattr(options, name, "")
        if flag in words or not value or (name, value) == ("decimal", "."):
            continue
        for text in [value] if isinstance(value, str) else value:
            flags += [flag, text]
    if options.no_quotes and "--no-quotes" not in words:
        flags.append("--no-quotes")
    return flags
