"""`nlgeval parse`: what a parser reads in texts that are here already."""

from __future__ import annotations

from typing import Annotated

import typer

from nlgeval_lib.cli._options import SOME_MISSING, Delimiter, Settings, command, echo, note, option


class Parse:
    """The options of `parse`."""

    file: Annotated[str, typer.Argument(help="JSONL, JSON, CSV, TSV, parquet, or .txt.")] = "-"
    parser: Annotated[str, option("--parser", "-p", help="Its name; --list has all.")] = ""
    low: Annotated[str, option(help="The scale's lowest score.")] = ""
    high: Annotated[str, option(help="The scale's highest score.")] = ""
    label: Annotated[str, option(help="The name of the score to read.")] = ""
    set: Settings = None
    column: Annotated[str, option(help="Where the texts are.  [text, completion, ...]")] = ""
    format: Annotated[str, option(help="jsonl, json, csv, tsv, parquet, text, lines.")] = ""
    delimiter: Delimiter = ""
    store: Annotated[str, option(help="In place of a file: a store.")] = ""
    model: Annotated[str, option(help="Of the store, only this model.")] = ""
    output: Annotated[str, option("--output", "-o", help="Every reading: CSV, TSV, JSONL, parquet.")] = ""
    examples: Annotated[int, typer.Option(min=0, help="Texts to show for each rule.")] = 0
    trace: Annotated[
        bool, typer.Option("--trace", help="How ratings are read: each number, its cue, what takes it back.")
    ] = False
    list_all: Annotated[bool, typer.Option("--list", help="List the parsers and their options.")] = False


@command("parse")
def parse(asked: Parse) -> None:
    """Read scores, feedback or error analyses out of texts; nothing is asked of a model.

    Prints how many texts have a value, by which rule, and why the others have none; --output writes every reading.

    \b
    Examples:
      echo "The answer is fluent. Score: 4/5" | nlgeval parse --parser rating --low 1 --high 5
      nlgeval parse -p rating --low 1 --high 3 --label Coherence --column text raw.jsonl --output read.csv
      nlgeval parse -p rating --low 1 --high 5 --store .nlgeval/completions --model NAME     everything that is stored
    """
    from nlgeval_lib import parsers
    from nlgeval_lib.files import plain
    from nlgeval_lib.scoring import parsing, score_files, settings

    if asked.list_all:
        for name, function in parsing.PARSERS.items():
            typer.echo(f"{name:20} {(function.__doc__ or '').strip().splitlines()[0]}")
            for option, takes, default in settings.described(function):
                typer.echo(f"{'':20}   {option}: {takes} [{default}]")
        return
    if not asked.parser:
        raise ValueError("which parser? Give --parser, or --list")
    if asked.output:
        score_files.check_output(asked.output, asked.file, rows="readings")
    words = [f"{name}={getattr(asked, name)}" for name in ("low", "high", "label") if getattr(asked, name)]
    read = parsing.parser(asked.parser, [*words, *(asked.set or ())])
    if asked.store and asked.file != "-":
        raise ValueError("give either a file or --store")
    if asked.model and not asked.store:
        raise ValueError("--model chooses in a store: give --store")
    if asked.store:
        texts, column = parsing.stored(asked.store, asked.model)
    else:
        texts, column = parsing.texts(asked.file, asked.format, asked.column, asked.delimiter)
        lines = [line for line in str(texts.given[column].iloc[0]).splitlines() if line.strip()]
        if not asked.format and not texts.sha256 and len(lines) > 1:  # plain text
            note(f"{texts.name} is one text, as an answer may have {len(lines)} lines; --format lines reads each alone")
    if asked.trace:
        if asked.parser != "rating":
            raise ValueError("--trace tells how parser rating reads; give --parser rating")
        for text in texts.given[column]:
            typer.echo("\n".join(parsers.trace(text, **read.keywords)) + "\n")
        return
    found = parsing.readings(texts, column, read)
    if len(found) > 1:
        echo(parsing.in_words(found))
    else:
        one = plain(found.iloc[0].to_dict()).items()
        echo(f"{name:14} {value}" for name, value in one if value not in (None, "", [], {}))
    echo(parsing.examples(texts, column, found, asked.examples))
    if asked.output:
        score_files.write(found, asked.output)
        typer.echo(f"written: {asked.output}")
    if not (found["status"] == "ok").any():
        raise typer.Exit(SOME_MISSING)
