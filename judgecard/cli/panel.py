"""`nlgeval panel`: how many independent judges are several judges worth?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from judgecard.cli._rated import Rated
from nlgeval_lib.cli._options import Several, command, echo, note, option, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nlgeval_lib.scoring.rows import Rows

By = Annotated[str | None, option(help="Groups of rows; default aspect, '' for none.")]


class Panel(Rated):
    """The options of `panel`."""

    file: Annotated[
        str, typer.Argument(help="CSV, TSV, JSONL, JSON or parquet; a row an output.")
    ]
    score: Annotated[
        Several,
        option(help="A judge's column, or a pattern, judge_* (repeatable)."),
    ] = None
    human: Annotated[
        Several, option(help="A column with ratings, or a pattern (repeatable).")
    ] = None
    by: By = None
    format: Annotated[
        Literal["text", "csv", "jsonl"], typer.Option(help="The form of the table.")
    ] = "text"


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

    from nlgeval_lib.files import json_lines

    table = pd.DataFrame(_rows(options))
    if options.format == "csv":
        typer.echo(table.to_csv(index=False, lineterminator="\n"), nl=False)
        return
    if options.format == "jsonl":
        typer.echo("".join(json_lines(table.to_dict("records"))), nl=False)
        return
    for row in table.to_dict("records"):
        title = f"{row['group']}: " if row["group"] else ""
        say(
            f"{title}{row['judges']} judges are worth {row['worth']:.2f} that err "
            f"independently; their errors correlate by {row['error correlation']:.2f}"
        )
    echo([table])


def _rows(options: Panel) -> Iterator[dict[str, Any]]:
    """A row a group of the file. Raises: InputError."""
    from judgecard import rated_columns
    from judgecard.panels import panel_size

    rows, scores, humans = _read(options)
    by = options.by
    if by is None and "aspect" in rows.frame:
        by = "aspect"
    labels = rated_columns.group_labels(rows.frame, by or "")
    ratings = _mean([rows.numbers(name) for name in humans])
    judged = [rows.numbers(name) for name in scores]
    inputs = None
    if "input_id" in rows.frame:
        inputs = rows.frame["input_id"].to_numpy()
    for label in dict.fromkeys(labels):
        inside = labels == label
        size = panel_size(
            [values[inside] for values in judged],
            ratings[inside],
            None if inputs is None else inputs[inside],
        )
        if size.reason:
            note(f"{label}: {size.reason}" if label else size.reason)
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
    from nlgeval_lib.scoring.columns import columns_like

    asked = {"score": options.score or [], "human": options.human or ["human"]}
    named = [name for names in asked.values() for name in names]
    rows = options.read(options.file, format=options.input_format, named=named)
    columns: dict[str, list[str]] = {}
    for kind, names in asked.items():
        columns[kind] = []
        for name in names:
            found = columns_like(name, rows.columns) or [name]
            columns[kind] += [rows.ours(column) for column in found]
    if len(columns["score"]) < 2:
        raise ValueError("name two judges or more: --score A --score B, or a pattern")
    return (
        options.rated(rows, columns["score"], columns["human"]),
        columns["score"],
        columns["human"],
    )


def _mean(ratings: list[Any]) -> Any:
    """The mean of the ratings that each row has; NaN for a row without any."""
    import pandas as pd

    return pd.DataFrame(ratings).mean().to_numpy()
