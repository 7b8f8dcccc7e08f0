"""`nlgeval parse`: what a parser reads in texts that are here already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

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


class Parse:
    """The options of `parse`."""

    file: str = typer.Argument(
        "-", help="The file: JSONL, JSON, CSV, TSV, parquet, .txt."
    )
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
    store: str = option("", help="Read a store in place of a file.")
    model: str = option("", help="With --store: only the texts of this model.")
    output: str = option(
        "", "--output", "-o", help="Write every reading: CSV, TSV, JSONL, parquet."
    )
    examples: int = typer.Option(0, min=0, help="How many texts to show for each rule.")
    trace: bool = typer.Option(
        False,
        "--trace",
        help="How ratings are read: each number, its cue, what takes it back.",
    )
    list_all: bool = typer.Option(
        False, "--list", help="List the parsers and their options."
    )


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
      nlgeval parse -p rating --low 1 --high 5 --store .nlgeval/completions \\
          --model NAME                    everything that is stored
    """
    from nlgeval_lib.scoring import parsing, score_files

    if options.list_all:
        _list_parsers()
        return
    if not options.parser:
        raise ValueError("which parser? Give --parser, or --list")
    if options.output:
        score_files.check_output(options.output, options.file, rows="readings")
    if options.store and options.file != "-":
        raise ValueError("give either a file or --store")
    if options.model and not options.store:
        raise ValueError("--model chooses in a store: give --store")
    settings = [*(options.set or ())]
    for name in ("label", "high", "low"):
        if getattr(options, name):
            settings.insert(0, f"{name}={getattr(options, name)}")
    parser = parsing.parser(options.parser, settings)
    texts, column = _texts(options)
    if options.trace:
        _trace(options.parser, texts.given[column], parser)
        return
    readings = parsing.readings(texts, column, parser)
    _print_readings(readings)
    echo(parsing.examples(texts, column, readings, options.examples))
    if options.output:
        score_files.write(readings, options.output)
        typer.echo(f"written: {options.output}")
    if not (readings["status"] == "ok").any():
        raise typer.Exit(SOME_MISSING)


def _list_parsers() -> None:
    """Print the parsers and their options."""
    from nlgeval_lib.scoring import parsing, settings

    for name, function in parsing.PARSERS.items():
        typer.echo(f"{name:20} {summary(function)}")
        for setting, values, default in settings.described(function):
            typer.echo(f"{'':20}   {setting}: {values} [{default}]")


def _texts(options: Parse) -> tuple[Any, str]:
    """The rows of a store or a file, and the column that has the texts."""
    from nlgeval_lib.scoring import parsing

    if options.store:
        return parsing.stored(options.store, options.model)
    texts, column = parsing.texts(
        options.file, options.format, options.column, options.delimiter
    )
    lines = str(texts.given[column].iloc[0]).splitlines()
    count = sum(bool(line.strip()) for line in lines)
    if count > 1 and not options.format and not texts.sha256:  # one plain text
        note(
            f"{texts.name} is one text, as an answer may have {count} lines; "
            "--format lines reads each alone"
        )
    return texts, column


def _trace(name: str, texts: Iterable[str], parser: Any) -> None:
    """Print how the parser `rating` reads each text."""
    from nlgeval_lib import parsers

    if name != "rating":
        raise ValueError("--trace tells how parser rating reads; give --parser rating")
    for text in texts:
        typer.echo("\n".join(parsers.trace(text, **parser.keywords)) + "\n")


def _print_readings(readings: pd.DataFrame) -> None:
    """Print a summary of several readings, or every field of a single one."""
    from nlgeval_lib.files import plain
    from nlgeval_lib.scoring import parsing

    if len(readings) > 1:
        echo(parsing.in_words(readings))
        return
    for name, value in plain(readings.iloc[0].to_dict()).items():
        if value not in (None, "", [], {}):
            typer.echo(f"{name:14} {value}")
