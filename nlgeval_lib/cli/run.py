"""`nlgeval run`, `sweep` and `check` execute notebooks of the catalogue; `scoreboard` and `report` show results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from nlgeval_lib.cli._options import DryRun, Several, app, option, say
from nlgeval_lib.names import pair

Mode = Annotated[Literal["full", "quick"], typer.Option(help="Of quick mode, results are kept apart.")]
Ids = Annotated[Several, typer.Argument(help="Outputs by id; none: all.", show_default=False)]
Papers = Annotated[Several, option(help="All outputs of this paper (may be repeated).")]
Jobs = Annotated[int | None, option("--jobs", "-j", min=1, help="Notebooks at a time; default: 2, or 1 on one core.")]
Timeout = Annotated[int | None, option(min=1, help="Seconds that a cell may take; default: any.")]
Force = Annotated[bool, typer.Option("--force", help="Run also what nothing changed for.")]


@app.command()
def run(
    ids: Ids = None,
    paper: Papers = None,
    mode: Mode = "full",
    jobs: Jobs = None,
    force: Force = False,
    replace: Annotated[bool, typer.Option("--replace", help="Let a result with less replace one with more.")] = False,
    dry_run: DryRun = False,
    parameter: Annotated[Several, option("-p", "--parameter", metavar="NAME=VALUE", help="A trial's value.")] = None,
    timeout: Timeout = None,
) -> None:
    """Run the notebooks that something changed for, then the scoreboard.

    An output is made again when its notebook, its parameters, a module of the library that it loads, its data, the
    printed tables of its paper or the locked packages changed, or when its result files are gone. Data that are not
    here are fetched; what cannot be had leaves its outputs as they are. On Linux a notebook's kernel is a fork of a
    process that has pandas loaded; NLGEVAL_FORK=0 starts each from nothing.

    \b
    Examples:
      nlgeval run --paper hdeval --jobs 4           one paper
      nlgeval run meta_split -p seed=7              a trial; results go to results/partial/
      nlgeval run --dry-run                         what would run, and why
    """
    from nlgeval_lib.report import notebook
    from nlgeval_lib.runner.session import Session, listing
    from nlgeval_lib.runner.stale import Options
    from nlgeval_lib.study import catalogue

    if replace and not ids:
        raise ValueError("--replace: name the outputs whose results may shrink")
    listed, given = catalogue.load(), _values(parameter)
    entries = [*listed.select(ids or (), paper or ())]
    if given and not ids:
        entries = [entry for entry in entries if given.keys() <= notebook.read(entry.path).parameters.keys()]
        if not entries:
            raise ValueError(f"--parameter: no output has {' and '.join(given)}")
    options = Options(mode, _jobs(jobs), force, replace, timeout, given)
    if dry_run:
        for line in listing(listed, options, entries):
            typer.echo(line)
        return
    raise typer.Exit(Session(listed, options).run(entries).code)


@app.command()
def sweep(
    output: Annotated[str, typer.Argument(help="An output of the catalogue.", show_default=False)],
    parameter: Annotated[Several, option("-p", "--parameter", metavar="NAME=A,B,...", help="Values.")] = None,
    mode: Mode = "full",
    jobs: Jobs = None,
    table: Annotated[str, option(help="Which table to print.")] = "",
    force: Force = False,
    dry_run: DryRun = False,
    timeout: Timeout = None,
) -> None:
    """Run one output's notebook for every combination of parameter values; join what it saved into one CSV a table.

    Each point has a folder of its own below results/sweeps/ (not committed); the same command again runs only what is
    missing, or what something changed for. The joined tables have the parameters as first columns.

    \b
    Examples:
      nlgeval sweep coascore_figure_04 -p "n_aspects=[5],[10],[20]"
      nlgeval sweep ablation_aggregator_types -p "aggregators=['lr','ridge'],['rf']" --mode quick
      nlgeval sweep meta_split -p seed=1,2,3 --table fitted       print the table that the notebook saved as `fitted`
    """
    from nlgeval_lib.report import show
    from nlgeval_lib.report.notebook import shown
    from nlgeval_lib.runner import trials
    from nlgeval_lib.study import catalogue

    given, listed = _values(parameter), catalogue.load()
    entry = listed[output]
    todo = trials.points(listed, entry, given, mode)
    if dry_run:
        for point in todo:
            typer.echo(f"{'there' if point.saved and not force else 'run':6} {point.label}")
        return
    done, failed = trials.sweep(entry, todo, jobs=_jobs(jobs), force=force, timeout=timeout)
    tables = trials.joined(entry, done)
    if table and table not in tables:
        say(f"no table {table!r}; the notebook saved {', '.join(tables) or 'none'}")
    wanted = table if table in tables else next(iter(tables), "")
    if wanted:
        typer.echo(show(trials.brief(tables[wanted], list(given)), wanted).text)
    for path in trials.save(entry, tables, mode):
        typer.echo(f"written: {shown(path)}")
    raise typer.Exit(1 if failed or (table and table not in tables) else 0)


@app.command()
def check(ids: Ids = None, paper: Papers = None, jobs: Jobs = None) -> None:
    """Run the notebooks into a temporary folder and compare with the saved results, to 1e-6.

    Values that this machine cannot give (data or a package is missing) are listed and are no failure.

    \b
    Examples:
      nlgeval check --paper coascore --jobs 4
    """
    from nlgeval_lib.runner import trials
    from nlgeval_lib.study import catalogue

    listed = catalogue.load()
    raise typer.Exit(trials.check(listed, listed.select(ids or (), paper or ()), _jobs(jobs), typer.echo))


@app.command()
def scoreboard(paper: Papers = None, mode: Mode = "full") -> None:
    """Build the scoreboard from the saved results and print it; no notebook is run.

    \b
    Examples:
      nlgeval scoreboard --paper hdeval    one paper, row by row
    """
    from nlgeval_lib.report import scoreboard as board
    from nlgeval_lib.study import catalogue

    catalogue.load().select(papers=paper or ())
    frame = board.build(mode)
    shown = frame[frame["paper"].isin(paper)] if paper else frame
    short = board.brief(shown).drop(columns=["what", "reason", "largest difference"])
    short.insert(0, "paper", shown["paper"])
    typer.echo(board.show(short).text)
    typer.echo("\n" + board.show(board.totals(shown)).text + "\n")
    board.save(frame, mode)


@app.command()
def report(
    mode: Mode = "full",
    output: Annotated[str, option("--output", "-o", help="The folder.")] = "",
    judgments: Annotated[bool, typer.Option(help="A page for every judge, too: minutes.")] = True,
) -> None:
    """Write the results as a static site: scoreboard, papers, every notebook with its outputs, every judge.

    Nothing is run. Notebooks that `nlgeval run` executed in this checkout are shown with their outputs, the others with
    their source and the saved result. The pages need no server and no network, and can be copied anywhere.

    \b
    Examples:
      nlgeval report --output site         into another (empty) folder
      nlgeval report --no-judgments        without the judges' pages
    """
    from nlgeval_lib.report import pages
    from nlgeval_lib.report.notebook import shown

    built = pages.build(Path(output) if output else None, mode, judgments)
    run = len(built.pages) - len(built.unrun)
    typer.echo(f"{len(built.pages)} pages, {run} of them run in this checkout: {shown(built.index)}")


def _jobs(asked: int | None) -> int:
    from nlgeval_lib.runner.pool import cpus

    return asked or min(2, cpus())


def _values(texts: Sequence[str] | None) -> dict[str, str]:
    """What `-p NAME=VALUE` gives. Raises: ValueError where a name is not given once."""
    given = dict(map(pair, texts or ()))
    if len(given) < len(texts or ()):
        raise ValueError("--parameter: a name is given twice")
    return given
