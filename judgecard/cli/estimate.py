"""`nlgeval estimate` and `nlgeval plan-labels`: what a judge's scores and some ratings
say about systems, and how many ratings are needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping as Dictionary
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from judgecard.cli._rated import By, Rated, as_text, columns_named, in_one_column
from nlgeval_lib.cli._options import Several, command, note, option, say

if TYPE_CHECKING:
    import pandas as pd

    from judgecard.estimates import Estimates
    from judgecard.label_plans import LabelPlan
    from judgecard.labelled_files import Labelled

Confidence = Annotated[float, typer.Option(help="How sure the intervals are.")]
Score = Annotated[str, typer.Option(help="The column with the judge's scores.")]
Human = Annotated[
    Several,
    option(
        help="A column with ratings, empty where nobody rated, or a pattern, rating_* "
        "(repeatable)."
    ),
]


Topic = Annotated[
    str | None, option(help="Topics of inputs, as units; default topic, '' for none.")
]


class Estimate(Rated):
    """The options of `estimate`."""

    file: Annotated[
        str, typer.Argument(help="CSV, TSV, JSONL, JSON or parquet; a row an output.")
    ]
    score: Score = "value"
    human: Human = None
    by: By = None
    topic: Topic = None
    confidence: Confidence = 0.95
    format: Literal["text", "csv", "jsonl"] = typer.Option(
        "text", help="The form of the tables."
    )


class PlanLabels(Rated):
    """The options of `plan-labels`."""

    file: Annotated[
        str,
        typer.Argument(help="A file as for `estimate`, with a few ratings; or none."),
    ] = ""
    width: Annotated[
        float, typer.Option(help="Wanted width of the interval, from end to end.")
    ]
    score: Score = "value"
    human: Human = None
    by: By = None
    sd: float | None = option(
        None, help="Without a file: spread of one system's ratings."
    )
    correlation: float | None = option(
        None, help="Without a file: the judge's with the ratings."
    )
    inputs: int | None = option(
        None, help="Without a file: inputs that the judge scores."
    )
    confidence: Confidence = 0.95


@command("estimate")
def estimate(options: Estimate) -> None:
    """Give each system's mean rating, where a judge scored all and people rated some.

    The mean is that of the ratings, moved by what the judge's scores of the other
    outputs say (prediction-powered inference). A poor judge is left out; a good one is
    worth more labels: `worth` is how many each label counts for. What is rated must
    have been drawn at random, by output or by input, and the judge must not have seen
    the ratings: rows marked `seen_in_training` are left out, and refused where no other
    is rated. The interval holds for such raters, not for other ones. `ranks` are those
    that a system can have, at 95 % for all systems at once; `p_adjusted` is corrected
    over all differences. Inputs of one topic count as one unit. Verdicts of 0 and 1 get
    pass rates with the judge's errors taken out, too, also for systems without any
    label.

    \b
    Examples:
      nlgeval estimate scores.csv --score judge --human human
      nlgeval estimate scores.csv --score judge --human ann --human bob --by aspect
    """
    tables: dict[str, pd.DataFrame] = {}
    for group in _groups(options, options.topic):
        title = f"{group.label}: " if group.label else ""
        tables.update(_tables(group, title, options))
    if options.format == "text":
        tables = {title: _joined(table) for title, table in tables.items()}
    typer.echo(as_text(tables, options.format), nl=False)


@command("plan-labels")
def plan_labels(options: PlanLabels) -> None:
    """Say how many inputs people must rate until an interval is as narrow as wanted.

    From a file with a few ratings, or from a guess of their spread and of how well the
    judge follows them. Draw the inputs at random.

    \b
    Examples:
      nlgeval plan-labels scores.csv --score judge --human human --width 0.3
      nlgeval plan-labels --width 0.3 --sd 1.2 --correlation 0.6 --inputs 500
    """
    from judgecard import label_plans

    if options.file:
        # How many labels are needed is reckoned for inputs of any topics.
        for group in _groups(options, topic=""):
            estimates = group.estimates(options.confidence)
            title = f"{group.label}: " if group.label else ""
            for kind in estimates.contrasts:
                plan = estimates.labels_needed(options.width, kind)
                typer.echo(f"{title}{kind}: {_in_words(plan)}")
        return
    sd, correlation, inputs = options.sd, options.correlation, options.inputs
    if sd is None or correlation is None or inputs is None:
        raise ValueError(
            "give a file with a few ratings, or --sd, --correlation and --inputs"
        )
    plan = label_plans.plan_labels(
        options.width, sd, correlation, inputs, options.confidence
    )
    typer.echo(f"means: {_in_words(plan)}")


def _groups(options: Estimate | PlanLabels, topic: str | None) -> list[Labelled]:
    """The file's rows in groups; topic: as `labelled`. Raises: InputError."""
    from judgecard import labelled_files

    asked = options.human or ["human"]
    named = [options.score, *asked]
    rows = options.read(options.file, format=options.input_format, named=named)
    humans = columns_named(rows, asked)
    score = rows.ours(options.score)
    rows = labelled_files.needed(rows, score, humans, options.by, topic)
    data = options.rated(rows, [score], humans)
    return list(labelled_files.labelled(data, score, humans, options.by, topic))


def _tables(
    group: Labelled, title: str, options: Estimate
) -> Dictionary[str, pd.DataFrame]:
    """The tables of a group by their titles; what is to be known is said beside."""
    from judgecard import labelled_files

    estimates = group.estimates(options.confidence)
    note(estimates.reason)
    say(f"{title}{_worth(estimates)}")
    tables = {f"{title}mean ratings": labelled_files.means_table(estimates)}
    if estimates.differences:
        tables[f"{title}differences"] = labelled_files.differences_table(estimates)
    rates = group.pass_rates(options.confidence)
    if rates is not None:
        note(rates.reason)
        if estimates.n_groups:
            note("pass rates take inputs of one topic as independent")
        say(
            f"{title}of outputs that pass the judge passes {rates.sensitivity:.3f}, of "
            f"those that fail it fails {rates.specificity:.3f}; assumed the same for "
            "every system"
        )
        table = rates.to_frame()[["name", "value", "low", "high", "apparent", "reason"]]
        table = table.rename(columns={"name": "system", "value": "pass rate"})
        tables[f"{title}pass rates, corrected for the judge's errors"] = table
    return tables


def _worth(estimates: Estimates) -> str:
    """What the judge is worth, in one line."""
    worths = {"means": estimates.worth_means}
    if estimates.differences:
        worths["differences"] = estimates.worth_differences
    counts = {}
    for kind, worth in worths.items():
        if not math.isnan(worth):
            counts[kind] = f"{estimates.n * worth:.0f}"
    if not counts:
        return (
            f"{estimates.n} labels; what the judge is worth cannot be said, as the "
            "ratings leave nothing to estimate: do all outputs have the same one?"
        )
    [first, *others] = counts
    words = (
        f"{estimates.n} labels with the judge are worth {counts[first]} without it "
        f"for {first}"
    )
    for kind in others:
        words = f"{words}, {counts[kind]} for {kind}"
    return words


def _in_words(plan: LabelPlan) -> str:
    """A plan in one line."""
    if plan.reason:
        return plan.reason
    alone = f"{plan.alone:.0f} without the judge"
    if plan.alone > plan.inputs:
        alone = f"more than the {plan.inputs} there are without the judge"
    return f"{plan.labels:.0f} inputs are to be rated for each system; {alone}"


def _joined(table: pd.DataFrame) -> pd.DataFrame:
    """A table with the two ends of each interval in one column, after its value."""
    value = table.columns[1]
    joined = in_one_column(table, ("low", "high"), "interval", value)
    if "low_alone" in joined:
        ends = ("low_alone", "high_alone")
        joined = in_one_column(joined, ends, "interval of labels", "labels alone")
    if not joined["reason"].any():
        joined = joined.drop(columns="reason")
    return joined
