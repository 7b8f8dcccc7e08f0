"""`nlgeval score`: any evaluator over anyone's own rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nlgeval_lib.cli._options import (
    Scoring,
    command,
    echo,
    failures,
    note,
    option,
    run_plugins,
    summary,
)

if TYPE_CHECKING:
    from nlgeval_lib.scoring import Job
    from nlgeval_lib.scoring.rows import Rows
    from nlgeval_lib.scoring.tally import Tally


class Score(Scoring):
    """The options of `score`."""

    output: str = option(
        "", "--output", "-o", help="The file to write: CSV, TSV, JSONL or parquet."
    )
    column: str = typer.Option("value", help="What the score is called in the output.")
    only_scores: bool = typer.Option(
        False, "--only-scores", help="Leave the texts out of the output."
    )
    max_missing: float = typer.Option(
        0.05, min=0, max=1, help="Share of rows that may have no score."
    )
    raw: str = option("", help="Write raw completions here, as JSONL.")
    fit: str = option("", help="Rated rows to fit the evaluator on first (hdeval).")
    cross_fit: int | None = option(
        None, min=2, help="Fit on the other folds, by input, in place of --fit."
    )
    save: str = option("", help="Keep the fitted evaluator here.")
    list_all: bool = typer.Option(False, "--list", help="List the evaluators.")
    options: bool = typer.Option(
        False, "--options", help="List the evaluator's options."
    )


@command("score")
def score(options: Score) -> None:
    """Score the rows of a file with an evaluator, and write the scores beside them.

    Columns that are known by name: output, reference or references, source,
    instruction, context, rubric, aspect, human, system_id, input_id, and usual names
    for them (prediction, gold, question, model, id, ...), which is reported; --map
    gives others their names, --fill sets one text for all rows. Evaluators that ask a
    language model need --engine and --model. Each completion is stored as it comes: the
    same command again goes on where it was stopped, and asks nothing twice. Keys are
    read from the environment (OPENAI_API_KEY) and written nowhere.

    \b
    Examples:
      nlgeval score -e bleu -i my.csv -o scores.csv
      nlgeval score -e llmscore -i my.jsonl -s task=summary --engine openai \\
          -m gpt-4o --map output=answer --fill aspect=fluency -o s.csv
      nlgeval score -e hdeval --fit rated.csv -i my.csv --engine openai -m gpt-4o \\
          -o scores.csv --save hdeval.json

    An evaluator that was fitted (hdeval) marks the rows that it was fitted on: nlgeval
    meta leaves them out. With --cross-fit 5 each row of the rated input is scored by an
    evaluator that saw none of its input's.

    Failed are completions that did not come (the same command asks them again), more
    rows without a score than --max-missing, or all of them: a file that is there stays
    then, and NAME.unscored is written beside it.
    """
    run_plugins(options.plugin)
    if options.list_all or options.options:
        return _print_list(options)
    _check_paths(options)
    data = options.rows()
    _check_columns(options, data)
    job = options.job(data)
    if options.dry_run:
        options.plan_job(job)
        return
    _check_job(options, job)
    note(job.remarks)
    tally, place = _write_scores(options, job, data)
    failures(job.run)
    typer.echo("\n".join([*job.summary(tally), f"written: {place}"]), nl=False)
    unchanged = f"; {options.output} is as it was, as no row was scored"
    typer.echo(unchanged if place != options.output else "")
    statuses = tally.statuses
    failed = job.run.failures or statuses["failed"] or statuses["unavailable"]
    too_few = 1 - tally.ok / tally.rows > options.max_missing
    raise typer.Exit(1 if failed or too_few else 0)


def _check_columns(options: Score, data: Rows) -> None:
    from nlgeval_lib.scoring import score_files

    for name in score_files.score_columns(options.column):
        if options.output and name in data.columns:
            raise ValueError(
                f"{data.name} has a column {name!r} already, which the scores have "
                "too; give them a name: --column NAME"
            )


def _check_job(options: Score, job: Job) -> None:
    if options.cross_fit and (options.fit or options.load or options.save):
        raise ValueError(
            "--cross-fit fits an evaluator for each fold; leave out --fit, --load and "
            "--save"
        )
    if options.save and not hasattr(job.evaluator, "save"):
        raise ValueError(
            f"{job.name} is not fitted, there is nothing to keep; leave --save out"
        )


def _print_list(options: Score) -> None:
    import pandas as pd

    from nlgeval_lib import evaluators
    from nlgeval_lib.scoring import named, settings

    if options.list_all:
        for name in evaluators.names():
            kind = "asks a model" if named.asks(name) else "no model asked"
            typer.echo(f"{name:22} {kind:16} {summary(evaluators.get(name))}")
        return
    _check_evaluator(options)
    rows = settings.described(evaluators.get(options.evaluator))
    echo([pd.DataFrame(rows, columns=["option", "takes", "default"])])


def _check_evaluator(options: Score) -> None:
    if not options.evaluator:
        raise ValueError("which evaluator? Give --evaluator, or --list")


def _check_paths(options: Score) -> None:
    """Pass where the files of a run can be written, before anything is asked."""
    from nlgeval_lib.scoring import score_files

    _check_evaluator(options)
    if not options.output and not options.dry_run:
        raise ValueError(
            "where to? Give --output, a file ending in .csv, .tsv, .jsonl or .parquet"
        )
    if not options.column.strip():
        raise ValueError("--column is empty; give the score a name")
    if options.dry_run:
        return
    inputs = (options.input, options.fit, options.load)
    # the rows' own file may be written where all of it is written again
    protected = inputs if options.limit or options.only_scores else ()
    reason = ", and --limit or --only-scores would leave out a part of it"
    score_files.check_output(options.output, *protected, why=reason, rows="scores")
    for path in (options.raw, options.save):
        if path:
            score_files.check_output(path, *inputs, options.output, why=" of this run")


def _write_scores(options: Score, job: Job, data: Rows) -> tuple[Tally, str]:
    """Score the rows and write every file; the counts, and where the scores are."""
    from nlgeval_lib import files
    from nlgeval_lib.scoring import ProgressBar, provenance, score_files
    from nlgeval_lib.scoring.tally import Tally

    bar = ProgressBar(job.name, quiet=options.quiet)
    if options.fit:
        job.fit(options.rows(options.fit), bar)
    if options.raw:
        job.run.raw = []
    if options.cross_fit:
        scored = job.cross_fit(options.cross_fit, bar)
    else:
        scored = job.score(bar)
    tally = Tally(scored)
    place = options.output
    if not tally.ok and Path(place).exists():
        place = str(Path(place).with_suffix(f".unscored{Path(place).suffix}"))
    if options.raw:
        lines = files.json_lines(job.run.raw or ())
        files.write_text(options.raw, "".join(lines))
    table = score_files.with_scores(
        job.data, scored, options.column, options.only_scores
    )
    score_files.write(table, place)
    provenance.write_record(place, data.earlier, options.column, job.record(tally))
    if options.save:
        job.evaluator.save(options.save)
    return tally, place
