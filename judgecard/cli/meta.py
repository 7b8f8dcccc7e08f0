"""`nlgeval meta`: do the scores follow the human ratings?"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from judgecard.cli._rated import By, Rated, as_text, in_one_column
from nlgeval_lib.cli._options import (
    SOME_MISSING,
    Several,
    by_comma,
    command,
    note,
    option,
    say,
)

if TYPE_CHECKING:
    import pandas as pd

    from judgecard.rated_files import Result, Settings
    from nlgeval_lib.scoring.rows import Rows

# how the ends of an interval are called, and their column
INTERVALS = {
    "ci": "95% interval",
    "careful": "careful",
    "these": "these systems",
    "raters": "other raters",
}


class Meta(Rated):
    """The options of `meta`."""

    file: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSONL, JSON or parquet with scores and ratings."
        ),
    ]
    score: Several = option(None, help="A column with scores (repeatable).")
    human: str = option(
        "",
        help="The column with the ratings (default human, with --pairs preference);"
        " a pattern (rating_*) takes the mean of all such columns, each a rater.",
    )
    level: Several = option(None, help="A level: dataset, input, system (repeatable).")
    coef: Several = option(
        None, help="pearson, spearman, kendall-a, -b, -c or acc-eq (repeatable)."
    )
    by: By = None
    ci: str = typer.Option(
        "auto",
        help="The interval: auto, none, fisher; boot-/wide-/jack- rows, inputs, "
        "systems, both; careful-both. The test follows it.",
    )
    n_boot: int = typer.Option(
        1000, min=1, help="Resamples of an interval that resamples."
    )
    n_perm: int = typer.Option(
        1000, min=1, help="Exchanges of systems, at system level."
    )
    seed: int = typer.Option(0, min=0, help="The seed of every resampling.")
    correct: str = typer.Option(
        "holm", help="For many tests: none, bonferroni, holm, bh, by."
    )
    compare: bool = typer.Option(True, help="Compare the scores with each other.")
    baselines: bool = typer.Option(
        True, help="Output length and random scores beside them."
    )
    family: str | None = option(
        None, help="Families of systems; default system_family, '' for none."
    )
    topic: str | None = option(
        None, help="Topics of inputs; default topic, '' for none."
    )
    pairs: bool = typer.Option(
        False, "--pairs", help="Rows are pairs: verdicts against `preference`."
    )
    labels: bool = typer.Option(
        False, "--labels", help="Scores are labels: kappa, accuracy, which for which."
    )
    format: Literal["text", "csv", "markdown", "jsonl"] = typer.Option(
        "text", help="The form of the tables."
    )
    output: str = option(
        "", "--output", "-o", help="Write here instead of the terminal."
    )


@command("meta")
def correlations(options: Meta) -> None:
    """Correlate a file's scores with its human ratings, and compare the scores.

    Scores are the columns that `nlgeval score` wrote, or those named by --score. With
    several, every two are compared by a paired test (jackknife over systems and inputs;
    at system level, over systems), p-values are corrected over all tests of a
    level and coefficient, and scores that no test tells apart share a rank; possible
    ranks are those that each can have, for all scores at once. Rows of several aspects
    are groups of their own. A rating or score that is not there stays out and is
    counted; each coefficient has its interval and its signature. `these systems` is
    the interval for other inputs of these systems: a jackknife, and of ranks of systems,
    which one input hardly moves, a widened bootstrap; a card shows the same.

    \b
    Examples:
      nlgeval meta scores.csv
      nlgeval meta scores.csv --human rating --level dataset --level input \\
          --coef kendall-b
      nlgeval meta mine.csv --score judge --human gold --map input_id=doc \\
          --map system_id=model --by ""
      nlgeval meta mine.csv --score judge --human 'rating_*' --missing-values 99
      nlgeval meta --pairs verdicts.csv --human winner

    With --pairs scores are verdicts (1, 2, 0; A, B, tie) against `preference`, or what
    --human names: accuracy, consistency between the two orders, position bias.
    """
    from judgecard import label_agreement, label_sheets, rated_files
    from nlgeval_lib.scoring import score_files
    from nlgeval_lib.scoring.columns import OTHER

    if options.output:
        score_files.check_output(options.output, options.file)
    if options.pairs:
        return _judges_of_pairs(options)
    settings = _settings(options)
    rows = _rows(options, "human")
    scores = rated_files.score_columns(rows, options.score or ())
    rows = rows.only(rated_files.needed(scores, settings, options.by))
    data = options.rated(rows, scores, ["human"])
    note(label_sheets.unequal(data.frame))
    if options.labels:
        return _put(
            as_text(label_agreement.tables(data, scores), options.format), options
        )
    result = rated_files.correlate(data, scores, settings, options.by)
    _put(_of_result(result, options.format), options)
    shown = [name.removeprefix(OTHER) for name in scores]
    if _report_missing(result.correlations, shown):
        raise typer.Exit(SOME_MISSING)


def _put(text: str, options: Meta) -> None:
    """Print a text, or write it to a file, with what was taken for what beside it."""
    from nlgeval_lib import files

    if options.output:
        files.write_text(options.output, text)
        plans = json.dumps(options.plans, ensure_ascii=False, indent=1) + "\n"
        files.write_text(f"{options.output}.columns.json", plans)
        typer.echo(f"written: {options.output}")
    else:
        typer.echo(text, nl=False)


def _rows(options: Meta, ours: str) -> Rows:
    """The file's rows; ours: our column of what people say, which --human names."""
    from judgecard import rated_columns

    mapping = []
    if options.human:
        mapping.append(f"{ours}={options.human}")
    if "*" in options.human:
        mapping.append(f"rater_*={options.human}")
    named = options.score or ()
    needs = [] if options.human or options.pairs else ["human"]
    rows = options.proposed(
        options.file, needs, format=options.input_format, named=named, mapping=mapping
    )
    if ours != "human" or options.human:
        return rows
    rows = rated_columns.with_mean(rows)
    raters = rows.plan.sources.get("human", ())
    if len(raters) > 1:
        note(f"human is the mean of {', '.join(raters)}")
    return rows


def _settings(options: Meta) -> Settings:
    """What is to be computed, as the options say."""
    from judgecard import rated_files

    said: dict[str, Any] = {}
    if options.level:
        said["levels"] = tuple(dict.fromkeys(options.level))
    if options.coef:
        said["coefs"] = tuple(dict.fromkeys(options.coef))
    for field in dataclasses.fields(rated_files.Settings):
        if hasattr(options, field.name):
            said[field.name] = getattr(options, field.name)
    return rated_files.Settings(**said)


def _judges_of_pairs(options: Meta) -> None:
    """Print or write the table of a file's judges of pairs."""
    from judgecard import pair_judges

    rows = _rows(options, "preference")
    if not options.human and "preference" not in rows.theirs:
        humans = [name for name in ("human", "winner") if name in rows.columns]
        advice = humans[0] if humans else "COLUMN"
        raise ValueError(
            f"{rows.name} has no column 'preference'; say which has what people "
            f"prefer: --human {advice}. Its columns: {', '.join(rows.columns)}"
        )
    scores = pair_judges.names(rows, options.score or ())
    data = rows.only(pair_judges.needed(scores))
    note(data.unused_marks(by_comma(options.missing_values)))
    note(pair_judges.code_of(data, ["preference", *scores]))
    table = pair_judges.of_file(data, scores, options.seed)
    title = "Verdicts against preferences"
    if options.format == "jsonl":
        title = "correlations"
    elif options.format != "csv":
        table = _joined(table)
    _put(as_text({title: table}, options.format), options)


def _report_missing(table: pd.DataFrame, scores: Sequence[str]) -> int:
    """Name the scores without any coefficient, and why; how many there are."""
    count = 0
    for score in table["score"].drop_duplicates():
        rows = table[table["score"] == score]
        if score in scores and rows["value"].isna().all():
            reason = rows.iloc[0].get("reason", "")
            say(f"error: {score} has no coefficient: {reason}")
            count += 1
    return count


# -- the tables as text


def _of_result(result: Result, format: str) -> str:
    """Both tables and the notes; csv and jsonl have no notes, and every column."""
    if format == "jsonl":
        both = {"correlations": result.correlations, "differences": result.differences}
        return as_text(both, format)
    tables = {
        "Correlation with human ratings": result.correlations,
        "Differences": result.differences,
    }
    if format == "csv":
        return as_text(tables, format)
    joined = {heading: _joined(table) for heading, table in tables.items()}
    notes = "".join(f"note: {note}\n" for note in result.notes)
    return "\n".join(filter(None, [as_text(joined, format), notes]))


def _joined(table: pd.DataFrame) -> pd.DataFrame:
    """A table with the two ends of its intervals in one column."""
    intervals = INTERVALS
    if _hold_everything(table):
        intervals = {"these": INTERVALS["these"], **INTERVALS}
    for estimate in ("value", "accuracy", "difference"):
        if estimate not in table.columns:
            continue
        after = estimate
        for start, title in intervals.items():
            if f"{start}_low" in table.columns:
                ends = (f"{start}_low", f"{start}_high")
                table = in_one_column(table, ends, title, after)
                after = title
    return table


def _hold_everything(table: pd.DataFrame) -> bool:
    """Whether the intervals of coefficients for other systems say nothing, in most
    rows.
    """
    from nlgeval_lib.statistics.questions import EVERYTHING

    if "value" not in table or not {"ci_low", "these_low"} <= {*table.columns}:
        return False
    widths = (table["ci_high"] - table["ci_low"]).dropna()
    return bool((widths >= EVERYTHING).mean() > 0.5)
