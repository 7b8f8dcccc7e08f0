"""`nlgeval parse`: what a parser reads in texts that are here already."""

from __future__ import annotations

from typing import Annotated

import typer

from nlgeval_lib.scoring import arguments as given

ORDER = 7
HELP = """Read scores, feedback or error analyses out of texts; nothing is asked of a model.

Prints how many texts have a value, by which rule, and why the others have none; --output writes every reading.

\b
Examples:
  echo "The answer is fluent. Score: 4/5" | nlgeval parse --parser rating --low 1 --high 5
  nlgeval parse -p rating --low 1 --high 3 --label Coherence --column text raw.jsonl --output read.csv
  nlgeval parse -p feedback raw.jsonl --examples 2
  nlgeval parse -p error_analysis outputs.txt
  nlgeval parse -p multiple_choice -s 'choices={"A": 1, "B": 2, "C": 3}' raw.csv
  nlgeval parse -p rating --low 1 --high 5 --store .nlgeval/completions --model NAME     everything that is stored
  nlgeval parse --list

\b
Exit codes: 0 read, whatever came of it; 1 no text has a value; 2 the call, the file or a column is wrong.
"""


def register(app: typer.Typer) -> None:
    """Add `parse`."""
    app.command("parse", help=HELP)(parse)


def parse(
    file: Annotated[
        str, typer.Argument(help="JSONL, JSON, CSV, TSV, parquet, or .txt; - is stdin.", show_default=False)
    ] = "-",
    parser: Annotated[str, typer.Option("--parser", "-p", help="Its name; --list has all.", show_default=False)] = "",
    low: Annotated[str, typer.Option("--low", help="The scale's lowest score.", show_default=False)] = "",
    high: Annotated[str, typer.Option("--high", help="The scale's highest score.", show_default=False)] = "",
    label: Annotated[str, typer.Option("--label", help="The name of the score to read.", show_default=False)] = "",
    set: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="An option of the parser.", show_default=False),
    ] = None,
    column: Annotated[
        str, typer.Option("--column", help="Where the texts are.  [text, completion, ...]", show_default=False)
    ] = "",
    format: Annotated[
        str, typer.Option("--format", help="jsonl, json, csv, tsv, parquet, text, lines.", show_default=False)
    ] = "",
    delimiter: given.Delimiter = "",
    store: Annotated[str, typer.Option("--store", help="In place of a file: a store.", show_default=False)] = "",
    model: Annotated[str, typer.Option("--model", help="Of the store, only this model.", show_default=False)] = "",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Every reading: CSV, TSV, JSONL, parquet.", show_default=False)
    ] = "",
    examples: Annotated[int, typer.Option("--examples", min=0, help="Texts to show for each rule.")] = 0,
    list_all: Annotated[bool, typer.Option("--list", help="List the parsers and their options.")] = False,
) -> None:
    """Parse texts; see HELP."""
    with given.ending():
        from nlgeval_lib.scoring import InputError, reading
        from nlgeval_lib.scoring import output as out
        from nlgeval_lib.scoring.table import apart, format_of

        if list_all:
            _list()
            return
        if not parser:
            raise InputError("which parser? Give --parser, or --list")
        if output and format_of(output) == "json":
            raise InputError(f"{output}: readings are written as jsonl, csv, tsv or parquet")
        if output:
            apart(output, file)
            given.writable(output)
        settings = [f"{name}={value}" for name, value in (("low", low), ("high", high), ("label", label)) if value]
        read = reading.parser(parser, [*settings, *(set or ())])
        if store and file != "-":
            raise InputError("give either a file or --store")
        if model and not store:
            raise InputError("--model chooses in a store: give --store")
        table, texts = reading.stored(store, model) if store else reading.texts(file, format, column, delimiter)
        found = reading.read(table, texts, read)
        if len(found) == 1:
            _one(found)
        else:
            for line in reading.counts(found):
                typer.echo(line)
        for line in reading.examples(table, texts, found, examples) if examples else ():
            typer.echo(line)
        if output:
            out.write(found, output)
            typer.echo(f"written: {output}")
        if not (found["status"] == "ok").any():
            raise typer.Exit(given.SOME_MISSING)


def _one(found: object) -> None:
    """A single reading, a line a field."""
    from nlgeval_lib.scoring import output as out

    for name, value in out.plain(found.iloc[0].to_dict()).items():  # type: ignore[attr-defined]
        if value not in (None, "", [], {}):
            typer.echo(f"{name:14} {value}")


def _list() -> None:
    from nlgeval_lib.scoring import options, reading

    for name, function in reading.PARSERS.items():
        first = (function.__doc__ or "").strip().split("\n")[0]
        typer.echo(f"{name:20} {first}")
        for option, takes, default in options.described(function):
            typer.echo(f"{'':20}   {option}: {takes} [{default}]")
