"""`nlgeval parse`: what a parser reads in texts that are here, by which rule."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nlgeval_lib.cli._options import (
    SOME_MISSING,
    Delimiter,
    Settings,
    command,
    echo,
    note,
    option,
    summary,
)

if TYPE_CHECKING:
    import pandas as pd

    from nlgeval_lib.scoring.rows import Rows

# The columns that a file's texts are looked for in, the first that is there.
COLUMNS = ("text", "completion", "output", "response", "answer")
PARSERS = (
    *("rating", "feedback", "error_analysis", "instructscore", "tigerscore_authors"),
    *("aspects", "aspect_scores", "criteria", "preference", "yes_no"),
    *("multiple_choice", "naive.first_number", "naive.last_number"),
)
# what every parser's result has
_SHARED = ("value", "status", "reason", "rule")


class Parse:
    """The options of `parse`."""

    file: Annotated[
        str, typer.Argument(help="The file: JSONL, JSON, CSV, TSV, parquet, .txt.")
    ] = "-"
    parser: str = option("", "--parser", "-p", help="The parser; --list has all.")
    low: str = option("", help="The scale's lowest score.")
    high: str = option("", help="The scale's highest score.")
    label: str = option("", help="The name of the score to read.")
    set: Settings = None
    column: str = option("", help="The column of the texts.  [text, completion, ...]")
    format: str = option(
        "", help="The format: jsonl, json, csv, tsv, parquet, text, lines."
    )
    delimiter: Delimiter = ""
    output: str = option(
        "", "--output", "-o", help="Write all readings: CSV, TSV, JSONL, parquet."
    )
    trace: bool = option(
        False, "--trace", help="How ratings are read: each number, its cue, and more."
    )
    list_all: bool = option(False, "--list", help="List the parsers and their options.")


@command("parse")
def parse(options: Parse) -> None:
    """Read scores, feedback or error analyses out of texts; nothing is asked of a
    model.

    Prints how many texts have a value, by which rule, and why the others have none;
    --output writes every reading.

    \b
    Examples:
      echo "Fluent. Score: 4/5" | nlgeval parse --parser rating --low 1 --high 5
      nlgeval parse -p rating --low 1 --high 3 --label Coherence --column text \\
          raw.jsonl --output read.csv
    """
    from nlgeval_lib import parsers
    from nlgeval_lib.scoring import score_files

    if options.list_all:
        _list_parsers()
        return
    if options.output:
        score_files.check_output(options.output, options.file, rows="readings")
    function = _parser(options)
    rows, column = _texts(options)
    texts = rows.given[column]
    if options.trace:
        if options.parser != "rating":
            raise ValueError(
                "--trace tells how parser rating reads; give --parser rating"
            )
        for text in texts:
            typer.echo("\n".join(parsers.trace(text, **function.keywords)) + "\n")
        return
    readings = _readings(rows, column, function)
    _print_readings(readings)
    if options.output:
        score_files.write(readings, options.output)
        typer.echo(f"written: {options.output}")
    if not (readings["status"] == "ok").any():
        raise typer.Exit(SOME_MISSING)


def _parsers() -> dict[str, Callable[..., Any]]:
    from nlgeval_lib import parsers

    functions = {}
    for path in PARSERS:
        function: Any = parsers
        for name in path.split("."):
            function = getattr(function, name)
        functions[function.__name__] = function
    return functions


def _list_parsers() -> None:
    from nlgeval_lib.scoring import settings

    for name, function in _parsers().items():
        typer.echo(f"{name:20} {summary(function)}")
        for setting, values, default in settings.described(function):
            typer.echo(f"{'':20}   {setting}: {values} [{default}]")


def _parser(options: Parse) -> functools.partial[Any]:
    """The parser that is asked for, with its settings: a function of one text."""
    from nlgeval_lib.names import meant
    from nlgeval_lib.scoring.cells import InputError
    from nlgeval_lib.scoring.settings import parsed

    name = options.parser
    settings = []
    for setting in ("low", "high", "label"):
        if value := getattr(options, setting):
            settings.append(f"{setting}={value}")
    settings += options.set or ()
    functions = _parsers()
    if not name:
        raise InputError("which parser? Give --parser, or --list")
    if name not in functions:
        raise InputError(
            f"no parser {name!r}{meant(name, functions, '.')} There are "
            f"{', '.join(functions)}"
        )
    arguments = parsed(functions[name], settings, f"parser {name}", given={})
    function = functools.partial(functions[name], **arguments)
    # One text tells whether the settings fit, before many are read.
    try:
        function("4")
    except (ValueError, TypeError) as error:
        raise InputError(f"parser {name}: {error}") from error
    return function


def _texts(options: Parse) -> tuple[Rows, str]:
    """The texts of a file as rows, and the column that they are in."""
    import pandas as pd

    from nlgeval_lib.scoring import rows, table_files
    from nlgeval_lib.scoring.cells import InputError

    path = options.file
    format = options.format
    column = options.column
    is_text = path == table_files.STDIN or Path(path).suffix.lower() == ".txt"
    if format in ("text", "lines") or (is_text and not format):
        if column:
            raise InputError("--column is for tables; this is plain text")
        content = table_files.plain_text(path)
        lines = content.splitlines()
        count = sum(bool(line.strip()) for line in lines)
        name = table_files.called(path)
        if count > 1 and not format:
            note(
                f"{name} is one text, as an answer may have {count} lines; "
                "--format lines reads each alone"
            )
        chosen = lines if format == "lines" else [content]
        return rows.of_frame(pd.DataFrame({"text": chosen}), name), "text"
    table = rows.read(path, format, table_files.Dialect(options.delimiter))
    if column and column not in table.columns:
        raise InputError(f"--column {table.lacks(column)}")
    usual = [name for name in COLUMNS if name in table.columns]
    if not column and not usual:
        raise InputError(
            f"{table.name}: which column has the texts? Give --column; columns: "
            f"{', '.join(table.columns)}"
        )
    column = column or usual[0]
    for row, value in table.given[column].items():
        if value is not None and not isinstance(value, str):
            place = table.place(str(row), column)
            raise InputError(f"{place}: {type(value).__name__} where a text is needed")
    return table, column


def _readings(
    texts: Rows, column: str, parse: Callable[[str | None], Any]
) -> pd.DataFrame:
    """The rows without their texts, and what was read from each."""
    import pandas as pd

    results = [parse(text) for text in texts.given[column]]
    # the columns of the results: those of all parsers, then this one's own
    names = dict.fromkeys(_SHARED)
    for result in results:
        names |= dict.fromkeys(field.name for field in dataclasses.fields(result))
    table = texts.given.drop(columns=column).reset_index(drop=True)
    table = table.rename(columns={name: f"{name} (before)" for name in names})
    for name in names:
        values = [getattr(result, name, None) for result in results]
        if name in ("status", "reason", "rule"):
            values = list(map(str, values))
        table[name] = pd.Series(values, dtype=object)
    return table


def _print_readings(readings: pd.DataFrame) -> None:
    from nlgeval_lib.files import plain

    if len(readings) > 1:
        echo(_in_words(readings))
        return
    for name, value in plain(readings.iloc[0].to_dict()).items():
        if value not in (None, "", [], {}):
            typer.echo(f"{name:14} {value}")


def _in_words(readings: pd.DataFrame) -> Iterator[str | pd.DataFrame]:
    """The statuses, rules, values and frequent reasons of readings: lines and one
    table.
    """
    import pandas as pd

    total = len(readings)
    statuses = []
    for status, count in readings["status"].value_counts().items():
        statuses.append(f"{count:,} {status} ({count / total:.1%})")
    yield f"{total:,} texts: {', '.join(statuses)}\n"
    counts = readings.replace({"rule": {"": "-"}}).groupby(
        ["rule", "status"], sort=False
    )
    table = counts.size().sort_values(ascending=False, kind="stable")
    table = table.reset_index(name="texts")
    yield table.assign(share=(table["texts"] / total).map("{:.1%}".format))
    numbers = [value for value in readings["value"] if isinstance(value, int | float)]
    values = pd.Series(numbers, dtype=float).dropna()
    if 0 < values.nunique() <= 12:
        frequencies = values.value_counts().sort_index().items()
        texts = [f"{value:g}: {count:,}" for value, count in frequencies]
        yield "\nvalues: " + ", ".join(texts)
    elif len(values):
        low, high = values.min(), values.max()
        yield f"\nvalues: mean {values.mean():.4g}, from {low:.4g} to {high:.4g}"
    unread = readings["status"] != "ok"
    reasons = readings.loc[unread, "reason"].value_counts().head(5)
    if len(reasons):
        yield "\nmost frequent reasons:"
    for reason, count in reasons.items():
        yield f"  {count:,}  {reason}"
