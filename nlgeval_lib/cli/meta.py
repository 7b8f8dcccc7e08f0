"""`nlgeval meta`: do the scores follow the human ratings?"""

from __future__ import annotations

from typing import Annotated

import typer

from nlgeval_lib.names import meant
from nlgeval_lib.scoring import arguments as given

ORDER = 6
FORMATS = ("text", "csv", "markdown", "jsonl")
HELP = """Correlate the scores of a file with its human ratings, and compare scores with each other.

Scores are the columns that `nlgeval score` wrote, or those named by --score. With several, every two are compared by
a paired permutation test, p-values are corrected over all tests of a level and coefficient, and scores that no test
tells apart share a rank. Rows of several aspects are groups of their own. A rating or score that is not there stays
out and is counted; each coefficient has its interval and its signature.

\b
Examples:
  nlgeval meta scores.csv
  nlgeval meta scores.csv --human rating --level dataset --level input --coef kendall-b
  nlgeval meta scores.csv --score value --score rouge --correct bh --n-perm 5000
  nlgeval meta mine.csv --score judge --human gold --map input_id=doc --map system_id=model --by ""
  nlgeval meta scores.csv --format markdown --output table.md

\b
Exit codes: 0 at least one coefficient could be computed; 1 none could (the reasons are in the table); 2 the call, the
file or a column is wrong.
"""


def register(app: typer.Typer) -> None:
    """Add `meta`."""
    app.command("meta", help=HELP)(correlations)


def correlations(
    file: Annotated[str, typer.Argument(help="CSV, TSV, JSONL, JSON or parquet with scores and ratings.")],
    score: Annotated[
        list[str] | None, typer.Option("--score", help="A column with scores (repeatable).", show_default=False)
    ] = None,
    human: Annotated[str, typer.Option("--human", help="The column with the ratings.")] = "human",
    level: Annotated[list[str] | None, typer.Option("--level", help="dataset, input, system (repeatable).")] = None,
    coef: Annotated[
        list[str] | None,
        typer.Option("--coef", help="pearson, spearman, kendall-a, -b, -c, acc-eq (repeatable).", show_default=False),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Groups of rows; default aspect, '' for none.", show_default=False)
    ] = None,
    map: given.Mapping = None,
    nan: Annotated[
        str, typer.Option("--nan", help="Rows without a score: drop, error, zero, mean, min, max.")
    ] = "drop",
    ci: Annotated[
        str, typer.Option("--ci", help="auto, none, or boot-/bca- with rows, inputs, systems, both.")
    ] = "auto",
    n_boot: Annotated[int, typer.Option(min=1, help="Resamples of an interval.")] = 1000,
    n_perm: Annotated[int, typer.Option(min=1, help="Permutations of a comparison.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of every resampling.")] = 0,
    correct: Annotated[str, typer.Option("--correct", help="none, bonferroni, holm, bh, by.")] = "holm",
    compare: Annotated[bool, typer.Option("--compare/--no-compare", help="Compare the scores with each other.")] = True,
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Output length and random scores beside them.")
    ] = True,
    raters: Annotated[
        str, typer.Option("--raters", help="How columns of single raters begin; '' for none.")
    ] = "rater_",
    format: Annotated[str, typer.Option("--format", help="text, csv, markdown or jsonl.")] = "text",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Write here instead of the terminal.", show_default=False)
    ] = "",
    input_format: Annotated[
        str, typer.Option("--input-format", help="The file's format, where its name does not say.", show_default=False)
    ] = "",
    delimiter: given.Delimiter = "",
) -> None:
    """Correlate scores with ratings; see HELP."""
    with given.ending():
        from nlgeval_lib import files
        from nlgeval_lib.scoring import InputError, columns, show, table
        from nlgeval_lib.scoring import correlate as meta

        if format not in FORMATS:
            raise InputError(f"--format {format!r}{meant(format, FORMATS)} allowed: {', '.join(FORMATS)}")
        settings = meta.Settings(
            levels=tuple(dict.fromkeys(level or ("dataset",))),
            coefs=tuple(dict.fromkeys(coef or ("pearson", "spearman", "kendall-b"))),
            nan=nan,
            ci=ci,
            n_boot=n_boot,
            n_perm=n_perm,
            seed=seed,
            correction=correct,
            compare=compare,
            baselines=baselines,
            raters=raters,
        )
        if output:
            table.apart(output, file)
            given.writable(output)
        read = table.read(file, input_format, delimiter)
        mapping = list(map or ())
        if human != "human" or "human" in read.frame.columns:
            mapping.append(f"human={human}")
        data = columns.prepare(read, mapping)
        found = meta.correlate(data, meta.score_columns(data, score or (), file), settings, by)
        text = show.text(found, format)
        if output:
            files.write_text(output, text)
            typer.echo(f"written: {output}")
        else:
            typer.echo(text, nl=False)
        if not found.correlations["value"].notna().any():
            raise typer.Exit(given.SOME_MISSING)
