"""`nlgeval panel`: how many independent judges are several judges worth?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from judgecard.cli._rated import By, Rated, as_text, columns_named
from nlgeval_lib.cli._options import Several, command, echo, note, option, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nlgeval_lib.scoring.rows import Rows


class Panel(Rated):
    """The options of `panel`."""

    file: Annotated[
        str, typer.Argument(help="CSV, TSV, JSONL, JSON or parquet; a row an output.")
    ]
    score: Several = option(
        None, help="A judge's column, or a pattern, judge_* (repeatable)."
    )
    human: Several = option(
        None, help="A column with ratings, or a pattern (repeatable)."
    )
    by: By = None
    format: Literal["text", "csv", "jsonl"] = typer.Option(
        "text", help="The form of the table."
    )


@command("panel")
def panel(options: Panel) -> None:
    """Say how many judges that err independently a panel of judges is worth.

    Judges that err alike do not make up for each other, however many there are. The
    scores of each are put on the ratings' scale first, so that only what a judge gets
    wrong counts. The interval holds for inputs like these, for these systems and
    raters; what raters err counts as error of all judges, so the worth is a lower
    bound.

    \b
    Examples:
      nlgeval panel scores.csv --score gpt --score claude --score qwen --human human
      nlgeval panel scores.csv --score 'judge_*' --human 'rating_*' --by aspect
    """
    import pandas as pd

    table = pd.DataFrame(_rows(options))
    if options.format != "text":
        typer.echo(as_text({"panel": table}, options.format), nl=False)
        return
    for row in table.to_dict("records"):
        sentence = (
            f"{row['judges']} judges are worth {row['worth']:.2f} that err "
            f"independently; their errors correlate by {row['error correlation']:.2f}"
        )
        say(_titled(row["group"], sentence))
    echo([table])


def _titled(group: str, sentence: str) -> str:
    """A sentence on a group; alone where there are no groups."""
    if group:
        return f"{group}: {sentence}"
    return sentence


def _rows(options: Panel) -> Iterator[dict[str, Any]]:
    """A row a group of the file. Raises: InputError."""
    from judgecard import labelled_files, rated_columns
    from judgecard.panels import panel_size

    rows, scores, humans = _read(options)
    ratings = labelled_files.mean_rating(rows, humans)
    for label, inside in rated_columns.grouped(rows, options.by):
        scores_inside = [rows.numbers(name)[inside] for name in scores]
        inputs = None
        if "input_id" in rows.frame:
            inputs = rows.frame["input_id"].to_numpy()[inside]
        size = panel_size(scores_inside, ratings[inside], inputs)
        if size.reason:
            note(_titled(label, size.reason))
        yield {
            "group": label,
            "judges": size.judges,
            "worth": size.value,
            "low": size.low,
            "high": size.high,
            "error correlation": size.errors,
            "outputs": size.n,
            "inputs": size.units,
        }


def _read(options: Panel) -> tuple[Rows, list[str], list[str]]:
    """The rows, and the columns of scores and of ratings. Raises: InputError."""
    scores = list(options.score or [])
    humans = list(options.human or ["human"])
    rows = options.read(
        options.file, format=options.input_format, named=scores + humans
    )
    scores = columns_named(rows, scores)
    humans = columns_named(rows, humans)
    if len(scores) < 2:
        raise ValueError("name two judges or more: --score A --score B, or a pattern")
    return options.rated(rows, scores, humans), scores, humans
