"""`nlgeval sweep`: one output over values of its parameters, joined into one table."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

ORDER = 2
HELP = """Run one output's notebook for every combination of parameter values; join what it saved into one CSV a table.

Each point has a folder of its own below results/sweeps/ (not committed); the same command again runs only what is
missing, or what something changed for. The joined tables have the parameters as first columns.

\b
Examples:
  nlgeval sweep coascore_figure_04 -p "n_aspects=[5],[10],[20]"
  nlgeval sweep hdeval_table_01 -p seed=0,1,2 -p n_boot=200 --jobs 2
  nlgeval sweep ablation_aggregator_types -p "aggregators=['lr','ridge'],['rf']" --mode quick
  nlgeval sweep meta_split -p seed=1,2,3 --dry-run            which points are there, which would run
  nlgeval sweep meta_split -p seed=1,2,3 --table fitted       print the table that the notebook saved as `fitted`

\b
Exit codes: 0 every point is there; 1 a point failed (named; the same command tries it again) or its data cannot be
had; 2 the call is wrong; 130 stopped by Ctrl-C, with the finished points kept.
"""


def register(app: typer.Typer) -> None:
    """Add `sweep`."""
    app.command("sweep", help=HELP)(sweep)


def sweep(
    output: Annotated[str, typer.Argument(help="An output of the catalogue.", show_default=False)],
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE,...", help="Values (repeatable).", show_default=False),
    ] = None,
    mode: Annotated[Literal["full", "quick"], typer.Option(help="Of quick mode, results are kept apart.")] = "full",
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Points at a time.", show_default=False)
    ] = None,
    table: Annotated[str, typer.Option("--table", help="Which table to print.", show_default=False)] = "",
    force: Annotated[bool, typer.Option("--force", help="Run every point again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say which points would run.")] = False,
    timeout: Annotated[
        int | None, typer.Option(min=1, help="Seconds that a cell may take.", show_default=False)
    ] = None,
) -> None:
    """Sweep; see HELP."""
    from nlgeval_lib.report import show
    from nlgeval_lib.report.notebook import shown
    from nlgeval_lib.runner import trials
    from nlgeval_lib.runner.pool import cpus
    from nlgeval_lib.study import catalogue

    given: dict[str, str] = {}
    for text in parameter or ():
        name, found, some = text.partition("=")
        if not found or not name.isidentifier() or name in given:
            raise typer.BadParameter(f"{text!r}: the form is NAME=VALUE,..., each name once", param_hint="--parameter")
        given[name] = some
    listed = catalogue.load()
    entry = listed[output]
    try:
        todo = trials.points(listed, entry, given, mode)
    except trials.SweepError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    if dry_run:
        for point in todo:
            typer.echo(f"{'there' if point.saved and not force else 'run':6} {point.label}")
        return
    try:
        done, failed = trials.sweep(entry, todo, jobs=jobs or min(2, cpus()), force=force, timeout=timeout)
    except trials.SweepError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    tables = trials.joined(entry, done)
    if table and table not in tables:
        typer.echo(f"no table {table!r}; the notebook saved {', '.join(tables) or 'none'}", err=True)
    wanted = table if table in tables else next(iter(tables), "")
    if wanted:
        typer.echo(show(trials.brief(tables[wanted], list(given)), wanted, rows=200).text)
    for path in trials.save(entry, tables, mode):
        typer.echo(f"written: {shown(path)}")
    raise typer.Exit(1 if failed or (table and table not in tables) else 0)
