"""`nlgeval run`, `sweep` and `check`: execute notebooks of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from nlgeval_lib.cli._options import option

ORDER = 1
Mode = Annotated[Literal["full", "quick"], typer.Option(help="Of quick mode, results are kept apart.")]
Ids = Annotated[list[str] | None, typer.Argument(help="Outputs by id; none: all.", show_default=False)]
Papers = Annotated[list[str] | None, option(help="All outputs of this paper (may be repeated).")]
Jobs = Annotated[int | None, option("--jobs", "-j", min=1, help="Notebooks at a time; default: 2, or 1 on one core.")]
Timeout = Annotated[int | None, option(min=1, help="Seconds that a cell may take; default: any.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would run; run nothing.")]
RUN = """Run the notebooks that something changed for, then the scoreboard.

An output is made again when its notebook, its parameters, a module of the library that it loads, its data, the printed
tables of its paper or the locked packages changed, or when its result files are gone. Data that are not here are
fetched; what cannot be had leaves its outputs as they are. On Linux a notebook's kernel is a fork of a process that
has pandas loaded; NLGEVAL_FORK=0 starts each from nothing.

\b
Examples:
  nlgeval run                                   everything
  nlgeval run --paper hdeval --jobs 4           one paper
  nlgeval run hdeval_table_01 --force           one output, whatever changed
  nlgeval run hdeval_table_01 --replace         let it shrink: less than the saved result has
  nlgeval run hdeval_table_01 -p seed=7         a trial; results go to results/partial/
  nlgeval run --mode quick                      a share of the data; results go to results/quick/
  nlgeval run --dry-run                         what would run, and why
"""
SWEEP = """Run one output's notebook for every combination of parameter values; join what it saved into one CSV a table.

Each point has a folder of its own below results/sweeps/ (not committed); the same command again runs only what is
missing, or what something changed for. The joined tables have the parameters as first columns.

\b
Examples:
  nlgeval sweep coascore_figure_04 -p "n_aspects=[5],[10],[20]"
  nlgeval sweep hdeval_table_01 -p seed=0,1,2 -p n_boot=200 --jobs 2
  nlgeval sweep ablation_aggregator_types -p "aggregators=['lr','ridge'],['rf']" --mode quick
  nlgeval sweep meta_split -p seed=1,2,3 --dry-run            which points are there, which would run
  nlgeval sweep meta_split -p seed=1,2,3 --table fitted       print the table that the notebook saved as `fitted`
"""
CHECK = """Run the notebooks into a temporary folder and compare with the saved results, to 1e-6.

Values that this machine cannot give (data or a package is missing) are listed and are no failure.

\b
Examples:
  nlgeval check
  nlgeval check --paper coascore --jobs 4
"""


def register(app: typer.Typer) -> None:
    """Add `run`, `sweep` and `check`."""
    app.command("run", help=RUN)(run)
    app.command("sweep", help=SWEEP)(sweep)
    app.command("check", help=CHECK)(check)


def run(
    ids: Ids = None,
    paper: Papers = None,
    mode: Mode = "full",
    jobs: Jobs = None,
    force: Annotated[bool, typer.Option("--force", help="Run also what nothing changed for.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Let a result with less replace one with more.")] = False,
    dry_run: DryRun = False,
    parameter: Annotated[
        list[str] | None, option("--parameter", "-p", metavar="NAME=VALUE", help="Another value, for a trial.")
    ] = None,
    timeout: Timeout = None,
) -> None:
    """Run the chosen outputs; see RUN."""
    from nlgeval_lib.runner.session import Session, listing
    from nlgeval_lib.runner.stale import Options
    from nlgeval_lib.study import catalogue

    if replace and not ids:
        raise typer.BadParameter("name the outputs whose results may shrink", param_hint="--replace")
    overrides = _pairs(parameter)
    if overrides and not ids:
        raise typer.BadParameter("a trial needs the ids of its outputs", param_hint="--parameter")
    listed = catalogue.load()
    entries = listed.select(ids or (), paper or ())
    options = Options(mode, _jobs(jobs), force, replace, timeout, overrides)
    if dry_run:
        for line in listing(listed, options, entries):
            typer.echo(line)
        return
    raise typer.Exit(Session(listed, options).run(entries).code)


def sweep(
    output: Annotated[str, typer.Argument(help="An output of the catalogue.", show_default=False)],
    parameter: Annotated[
        list[str] | None, option("--parameter", "-p", metavar="NAME=VALUE,...", help="Values (repeatable).")
    ] = None,
    mode: Mode = "full",
    jobs: Jobs = None,
    table: Annotated[str, option("--table", help="Which table to print.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Run every point again.")] = False,
    dry_run: DryRun = False,
    timeout: Timeout = None,
) -> None:
    """Sweep; see SWEEP."""
    from nlgeval_lib.report import show
    from nlgeval_lib.report.notebook import shown
    from nlgeval_lib.runner import trials
    from nlgeval_lib.study import catalogue

    given = _pairs(parameter)
    listed = catalogue.load()
    entry = listed[output]
    try:
        todo = trials.points(listed, entry, given, mode)
    except trials.SweepError as error:
        raise typer.BadParameter(str(error)) from None
    if dry_run:
        for point in todo:
            typer.echo(f"{'there' if point.saved and not force else 'run':6} {point.label}")
        return
    done, failed = trials.sweep(entry, todo, jobs=_jobs(jobs), force=force, timeout=timeout)
    tables = trials.joined(entry, done)
    if table and table not in tables:
        typer.echo(f"no table {table!r}; the notebook saved {', '.join(tables) or 'none'}", err=True)
    wanted = table if table in tables else next(iter(tables), "")
    if wanted:
        typer.echo(show(trials.brief(tables[wanted], list(given)), wanted).text)
    for path in trials.save(entry, tables, mode):
        typer.echo(f"written: {shown(path)}")
    raise typer.Exit(1 if failed or (table and table not in tables) else 0)


def check(ids: Ids = None, paper: Papers = None, jobs: Jobs = None) -> None:
    """Compare a fresh run with the saved results; see CHECK."""
    from nlgeval_lib.runner import trials
    from nlgeval_lib.study import catalogue

    listed = catalogue.load()
    raise typer.Exit(trials.check(listed, listed.select(ids or (), paper or ()), _jobs(jobs), typer.echo))


def _jobs(asked: int | None) -> int:
    from nlgeval_lib.runner.pool import cpus

    return asked or min(2, cpus())


def _pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """What `-p NAME=VALUE` gives, each name once."""
    given: dict[str, str] = {}
    for text in texts or ():
        name, found, value = text.partition("=")
        if not found or not name.isidentifier() or name in given:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE, each name once", param_hint="--parameter")
        given[name] = value
    return given
