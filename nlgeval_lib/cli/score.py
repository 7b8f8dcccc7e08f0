"""`nlgeval score`: any evaluator over anyone's own rows."""

from __future__ import annotations

from typing import Annotated

import typer

from nlgeval_lib.scoring import arguments as given

ORDER = 5
HELP = """Score the rows of a file with an evaluator, and write the scores beside them.

Columns that are known by name: output, reference or references, source (or input), instruction, context, rubric,
aspect, human, system_id, input_id; --map gives yours their names, --fill sets one text for all rows. Evaluators that
ask a language model need --engine and --model. Each completion is stored as it comes: the same command again goes on
where it was stopped, and asks nothing twice. Keys are read from the environment (OPENAI_API_KEY) and written nowhere.

\b
Examples:
  nlgeval score -e bleu -i my.csv -o scores.csv
  nlgeval score -e prometheus -i my.jsonl --engine openai --base-url http://127.0.0.1:8000/v1 --model NAME \\
      --engine-set dialect=vllm -o scores.csv
  nlgeval score -e prometheus -i my.jsonl --engine vllm -m prometheus-eval/prometheus-7b-v2.0 -s n=5 -o scores.csv
  nlgeval score -e llmscore -i my.jsonl -s task=summary --engine openai -m gpt-4o --map output=answer \\
      --fill aspect=fluency -o s.csv
  nlgeval score -e rouge -i scores.csv -o scores.csv --column rouge      a second score beside the first
  nlgeval score -e hdeval --fit rated.csv -i my.csv --engine openai -m gpt-4o -o scores.csv --save hdeval.json
  nlgeval score --list                                                   all evaluators
  nlgeval score -e prometheus --options                                  what --set takes

\b
Exit codes: 0 scored; 1 scored and written, but completions failed (the same command asks them again) or more rows
than --max-missing have no score; 1 also where nothing could be scored at all; 2 the call, the file or a column is
wrong, and nothing was asked; 130 stopped by Ctrl-C.
"""


def register(app: typer.Typer) -> None:
    """Add `score`."""
    app.command("score", help=HELP)(score)


def score(
    evaluator: given.Evaluator = "",
    input: given.Input = "",
    output: Annotated[
        str, typer.Option("--output", "-o", help="CSV, TSV, JSONL or parquet, by its name.", show_default=False)
    ] = "",
    data: given.DataName = "",
    format: given.Format = "",
    delimiter: given.Delimiter = "",
    map: given.Mapping = None,
    fill: given.Fill = None,
    set: given.Settings = None,
    engine: given.EngineName = "",
    model: given.Model = "",
    base_url: given.BaseUrl = "",
    revision: given.Revision = "",
    engine_set: given.EngineSettings = None,
    store: given.StoreFolder = "",
    column: Annotated[str, typer.Option("--column", help="What the score is called in the output.")] = "value",
    only_scores: Annotated[bool, typer.Option("--only-scores", help="Leave the texts out of the output.")] = False,
    max_missing: Annotated[
        float, typer.Option("--max-missing", min=0, max=1, help="Share of rows that may have no score.")
    ] = 0.05,
    skip_incomplete: given.SkipIncomplete = False,
    limit: given.Limit = None,
    raw: Annotated[str, typer.Option("--raw", help="Raw completions as JSONL.", show_default=False)] = "",
    fit: Annotated[
        str, typer.Option("--fit", help="Rated rows to fit the evaluator on first (hdeval).", show_default=False)
    ] = "",
    load: given.Load = "",
    save: Annotated[str, typer.Option("--save", help="Keep the fitted evaluator here.", show_default=False)] = "",
    plugin: given.Plugin = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the evaluators.")] = False,
    options: Annotated[bool, typer.Option("--options", help="List the evaluator's options.")] = False,
    dry_run: given.DryRun = False,
    rate: given.Rate = None,
    price: given.Price = "",
    new_tokens: given.NewTokens = None,
    tokenizer: given.Tokenizer = "",
    quiet: given.Quiet = False,
) -> None:
    """Score rows; see HELP."""
    with given.ending():
        from nlgeval_lib.scoring import InputError, ProgressBar, Source, prepared
        from nlgeval_lib.scoring import output as out
        from nlgeval_lib.scoring.table import apart

        given.plugins(plugin)
        if list_all:
            _list()
            return
        if not evaluator:
            raise InputError("which evaluator? Give --evaluator, or --list")
        if options:
            _options(evaluator)
            return
        if not output and not dry_run:
            raise InputError("where to? Give --output, a file ending in .csv, .tsv, .jsonl or .parquet")
        if not column.strip():
            raise InputError("--column is empty; give the score a name")
        read = [path for path in (input, fit, load) if path]
        if output and limit:
            apart(output, *read, why=", and --limit would leave out the other rows")
        if output and only_scores:
            apart(output, *read, why=", and --only-scores would leave out its texts")
        for path in filter(None, (raw, save)):
            apart(path, *read, *filter(None, [output]), why=" of this run")
        source = Source(input, data, format, delimiter, map or (), fill or (), limit)
        job = prepared(
            source,
            evaluator,
            set or (),
            engine=engine,
            model=model,
            base_url=base_url,
            revision=revision,
            engine_settings=engine_set or (),
            folder=store,
            load=load,
            skip_incomplete=skip_incomplete,
            planning=dry_run,
            tokenizer=tokenizer,
            before=lambda rows: out.check(rows, output, column) if output else None,
        )
        if dry_run:
            given.planned(job, rate, price, new_tokens)
            return
        if save and not hasattr(job.evaluator, "save"):
            raise InputError(f"{evaluator} is not fitted, there is nothing to keep; leave --save out")
        given.writable(output, raw, save)
        from nlgeval_lib.scoring import columns

        if doubled := columns.repeated(job.data):
            given.say(f"note: {doubled}")
        job.run.raw = [] if raw else None
        bar = ProgressBar(evaluator, quiet=given.quiet(quiet))
        with given.stoppable(job.run, "the same command goes on from there"):
            if fit:
                job.fit(source.read(instead=fit), bar)
            scored = job.score(bar)
        earlier = out.record_of(input) if input else {}
        out.write(out.joined(job.data, scored, column, only_scores), output)
        out.write_record(output, earlier, column, job.record(scored))
        if raw:
            out.write_lines(job.run.raw or (), raw)
        if save:
            job.evaluator.save(save)
        given.failures(job.run)
        for line in job.summary(scored):
            typer.echo(line)
        typer.echo(f"written: {output}")
        raise typer.Exit(job.code(scored, max_missing))


def _list() -> None:
    from nlgeval_lib import evaluators
    from nlgeval_lib.scoring import make

    for name in evaluators.names():
        first = (make.evaluator_class(name).__doc__ or "").strip().split("\n")[0]
        typer.echo(f"{name:22} {'asks a model' if make.asks(name) else 'no model asked':16} {first}")


def _options(evaluator: str) -> None:
    import pandas as pd

    from nlgeval_lib.report import show
    from nlgeval_lib.scoring import make, options

    rows = options.described(make.evaluator_class(evaluator))
    typer.echo(show(pd.DataFrame(rows, columns=["option", "takes", "default"])).text)
