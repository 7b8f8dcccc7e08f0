"""`nlgeval label`: a blind sheet of rows that people are to rate."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from judgecard.cli._proposing import Proposing
from nlgeval_lib.cli._options import command, note, option


class Label(Proposing):
    """The options of `label`."""

    file: Annotated[
        str, typer.Argument(help="Rows with outputs: CSV, JSONL, JSON, ...")
    ]
    output: str = typer.Option(
        "labels.csv", "--output", "-o", help="The sheet, a CSV file."
    )
    n: int = typer.Option(100, "--n", min=1, help="Rows to rate, in all.")
    by: str = option(
        "",
        help="Strata, as many rows of each: a column's values, or quarters of its "
        "numbers.",
    )
    seed: int = typer.Option(0, min=0, help="The seed of the draw.")
    input_format: str = option(
        "", help="The file's format, where its name does not say."
    )


@command("label")
def label(options: Label) -> None:
    """Write a blind sheet of rows that people are to rate, drawn at random.

    The sheet shows texts alone, in random order: no system, no score. Fill its column
    `rating`; the same command says how many are left and keeps what is filled, and a
    larger --n adds rows. `draw_probability` is the chance by which a row was drawn,
    which `estimate --sheet` takes into account. For two raters write two sheets with
    one --seed.

    \b
    Examples:
      nlgeval label answers.csv --n 60
      nlgeval label answers.csv --n 60 --by judge -o anna.csv
      nlgeval estimate answers.csv --sheet anna.csv --sheet ben.csv --score judge
    """
    from judgecard import label_sheets
    from judgecard.cli.doctor import said_of_reading

    strata = [options.by] if options.by else []
    rows = options.proposed(
        options.file, ["output"], format=options.input_format, named=strata
    )
    drawn = label_sheets.sheet(rows, options.n, options.by, options.seed)
    answered = label_sheets.written(options.output, drawn)
    note("" if len(drawn) == options.n else f"there are only {len(drawn):,} rows")
    typer.echo(
        f"{options.output}: {len(drawn):,} of {len(rows):,} rows, {answered:,} rated, "
        f"{len(drawn) - answered:,} to go"
    )
    words = ["nlgeval", "doctor", options.file, "--sheet", options.output]
    words += said_of_reading(options, words)
    typer.echo(f"fill the column rating, then:\n{shlex.join(words)}")
