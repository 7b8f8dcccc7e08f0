"""`nlgeval score`: any evaluator over anyone's own rows."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from nlgeval_lib.cli._options import Scoring, command, echo, failures, note, option


class Score(Scoring):
    """The options of `score`."""

    output: Annotated[str, option("--output", "-o", help="CSV, TSV, JSONL or parquet, by its name.")] = ""
    column: Annotated[str, typer.Option(help="What the score is called in the output.")] = "value"
    only_scores: Annotated[bool, typer.Option("--only-scores", help="Leave the texts out of the output.")] = False
    max_missing: Annotated[float, typer.Option(min=0, max=1, help="Share of rows that may have no score.")] = 0.05
    raw: Annotated[str, option(help="Raw completions as JSONL.")] = ""
    fit: Annotated[str, option(help="Rated rows to fit the evaluator on first (hdeval).")] = ""
    cross_fit: Annotated[int | None, option(min=2, help="Fit on the other folds, by input, in place of --fit.")] = None
    save: Annotated[str, option(help="Keep the fitted evaluator here.")] = ""
    list_all: Annotated[bool, typer.Option("--list", help="List the evaluators.")] = False
    options: Annotated[bool, typer.Option("--options", help="List the evaluator's options.")] = False


@command("score")
def score(asked: Score) -> None:
    """Score the rows of a file with an evaluator, and write the scores beside them.

    Columns that are known by name: output, reference or references, source, instruction, context, rubric, aspect,
    human, system_id, input_id, and usual names for them (prediction, gold, question, model, id, ...), which is told;
    --map gives others their names, --fill sets one text for all rows. Evaluators that ask a language model need
    --engine and --model. Each completion is stored as it comes: the same command again goes on where it was stopped,
    and asks nothing twice. Keys are read from the environment (OPENAI_API_KEY) and written nowhere.

    \b
    Examples:
      nlgeval score -e bleu -i my.csv -o scores.csv
      nlgeval score -e llmscore -i my.jsonl -s task=summary --engine openai -m gpt-4o --map output=answer \\
          --fill aspect=fluency -o s.csv
      nlgeval score -e hdeval --fit rated.csv -i my.csv --engine openai -m gpt-4o -o scores.csv --save hdeval.json

    An evaluator that was fitted (hdeval) marks the rows that it was fitted on: nlgeval meta leaves them out. With
    --cross-fit 5 each row of the rated input is scored by an evaluator that saw none of its input's.

    Failed are completions that did not come (the same command asks them again), more rows without a score than
    --max-missing, or all of them: a file that is there stays then, and NAME.unscored is written beside it.
    """
    import pandas as pd

    from nlgeval_lib import evaluators, files
    from nlgeval_lib.scoring import ProgressBar, named, provenance, score_files, settings

    asked.plugins()
    if asked.list_all:
        for name in evaluators.names():
            first = (evaluators.get(name).__doc__ or "").strip().split("\n")[0]
            typer.echo(f"{name:22} {'asks a model' if named.asks(name) else 'no model asked':16} {first}")
        return
    if not asked.evaluator:
        raise ValueError("which evaluator? Give --evaluator, or --list")
    if asked.options:
        known = settings.described(evaluators.get(asked.evaluator))
        echo([pd.DataFrame(known, columns=["option", "takes", "default"])])
        return
    if not asked.output and not asked.dry_run:
        raise ValueError("where to? Give --output, a file ending in .csv, .tsv, .jsonl or .parquet")
    if not asked.column.strip():
        raise ValueError("--column is empty; give the score a name")
    read = (asked.input, asked.fit, asked.load)
    if not asked.dry_run:
        part = read if asked.limit or asked.only_scores else ()
        why = ", and --limit or --only-scores would leave out a part of it"
        score_files.check_output(asked.output, *part, why=why, rows="scores")
        for path in filter(None, (asked.raw, asked.save)):
            score_files.check_output(path, *read, asked.output, why=" of this run")
    data = asked.rows()
    taken = [name for name in score_files.score_columns(asked.column) if asked.output and name in data.columns]
    if taken:
        said = f"{data.name} has a column {taken[0]!r} already, which the scores have too"
        raise ValueError(f"{said}; give them a name: --column NAME")
    job = asked.job(data)
    if asked.dry_run:
        asked.plan_job(job)
        return
    if asked.cross_fit and (asked.fit or asked.load or asked.save):
        raise ValueError("--cross-fit fits an evaluator for each fold; leave out --fit, --load and --save")
    if asked.save and not hasattr(job.evaluator, "save"):
        raise ValueError(f"{job.name} is not fitted, there is nothing to keep; leave --save out")
    note(job.repeated)
    bar, tally = ProgressBar(job.name, quiet=asked.quiet), score_files.Tally()
    if asked.fit:
        job.fit(asked.rows(asked.fit), bar)
    file = score_files.ScoreFile(asked.output, asked.column, asked.only_scores, "" if asked.cross_fit else job.key())
    with contextlib.ExitStack() as stack:
        stack.enter_context(file)
        raw = None
        if asked.raw:
            tmp = stack.enter_context(files.replacing(asked.raw))
            raw, job.run.raw = stack.enter_context(open(tmp, "w", encoding="utf-8", errors="backslashreplace")), []
        for scored in [job.cross_fit(asked.cross_fit, bar, file)] if asked.cross_fit else job.parts(bar, file):
            tally.add(scored)
            if raw is not None:
                raw.writelines(files.json_lines(job.run.raw or ()))
                job.run.raw = []
        place = asked.output
        if not tally.ok and Path(place).exists():
            place = str(Path(place).with_suffix(f".unscored{Path(place).suffix}"))
        file.write(job.data, place)
    provenance.write_record(place, data.earlier, asked.column, job.record(tally))
    if asked.save:
        job.evaluator.save(asked.save)
    failures(job.run)
    kept = f"; {asked.output} is as it was, as no row was scored" if place != asked.output else ""
    for line in (*job.summary(tally), f"written: {place}{kept}"):
        typer.echo(line)
    failed = job.run.failures or tally.statuses["failed"] or tally.statuses["unavailable"]
    raise typer.Exit(1 if failed or 1 - tally.ok / tally.rows > asked.max_missing else 0)
