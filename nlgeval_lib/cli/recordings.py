"""`nlgeval recordings`: somebody's recorded judge outputs, put into a store to be replayed."""

from __future__ import annotations

from typing import Annotated

import typer

from nlgeval_lib.cli import _options as given

ORDER = 9
HELP = """List recorded judge outputs, put texts of known prompts into a store, or write scores that were published.

What is in a store is replayed by --engine replay, with any evaluator that asks the same prompts.

\b
Examples:
  nlgeval recordings                                        what there is
  nlgeval recordings acloserlook prometheus_gpt4            into the store
  nlgeval recordings prometheus_gpt4 --store recorded/
  nlgeval score -e prometheus --data mt_bench --engine replay -m gpt-4-0613 --store recorded/ \\
      -s repetition_penalty=1 -s seed=none -o gpt4.csv
  nlgeval recordings alttest_summeval --output alttest.csv  a column a judge beside the ratings; then: nlgeval meta
"""


def register(app: typer.Typer) -> None:
    """Add `recordings`."""
    app.command("recordings", help=HELP)(recordings)


def recordings(
    names: Annotated[list[str] | None, typer.Argument(help="Recordings; none: list them.", show_default=False)] = None,
    store: given.StoreFolder = "",
    output: Annotated[str, given.option("--output", "-o", help="Write published scores here (one recording).")] = "",
) -> None:
    """List or import recordings; see HELP."""
    with given.ending():
        from nlgeval_lib.scoring import InputError, named
        from nlgeval_lib.study import recorded_judges

        if not names:
            _list()
            return
        try:
            if output:
                if len(names) > 1:
                    raise InputError("--output takes one recording")
                _scores(names[0], output)
                return
            for name in names:
                recorded_judges.of(name)
        except ValueError as error:
            raise InputError(str(error)) from None
        kept = named.store(store)
        for name in names:
            done = recorded_judges.fill(kept, name)
            typer.echo(
                f"{name}: {done.completions:,} completions of {', '.join(done.judges)} for {done.requests:,} requests, "
                f"{done.new:,} new"
                + (
                    f"; {done.repeated:,} repeat a prompt, {done.differing:,} with another text"
                    if done.repeated
                    else ""
                )
            )


def _list() -> None:
    from nlgeval_lib import datasets
    from nlgeval_lib.study.recorded_judges import ASKED

    for name, row in datasets.recordings.describe().iterrows():
        here, _ = datasets.available(str(name), download=False)
        prompts = "prompts known" if name in ASKED else "prompts unknown" if "text" in row["kept"] else "scores only"
        typer.echo(f"{name:22} {row['rows']:>8,}  {'here' if here else 'not here':9} {prompts:16} {row['title']}")


def _scores(name: str, path: str) -> None:
    """The rated rows of the recording's data set, with a column of scores for each judge."""
    from nlgeval_lib import datasets
    from nlgeval_lib.scoring import InputError, table_files

    frame = datasets.recordings.load(name)
    if "value" not in frame:
        raise InputError(f"{name} has texts only: put them into a store, without --output, and read them with a parser")
    sets = frame["dataset"].unique()
    if len(sets) > 1 or frame["draw"].nunique() > 1 or frame["prompt_form"].nunique() > 1:
        raise InputError(f"{name} has several data sets, draws or prompt forms: no column a judge can be made of it")
    rows = datasets.load(sets[0])
    shown = ["dataset", "input_id", "system_id", "aspect", "human"]
    shown += [column for column in rows.columns if str(column).startswith("rater_")]
    for judge, part in frame.groupby("judge", sort=False):
        rows = datasets.recordings.attach(rows, part, str(judge))
        rows[f"{judge}_status"] = rows[judge].notna().map({True: "ok", False: "unavailable"})
        shown += [str(judge), f"{judge}_status"]
    table_files.write(rows[shown], path)
    typer.echo(f"{len(rows):,} rows, {frame['judge'].nunique()} judges; written: {path}")
