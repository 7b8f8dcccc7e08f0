"""`nlgeval run` and `sweep` execute notebooks of the catalogue; `verify` finds edits by
hand; `scoreboard` and `report` show results.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nlgeval_lib.cli._options import DryRun, Several, app, option, say
from nlgeval_lib.names import pair

if TYPE_CHECKING:
    from reproduction.study.catalogue import Entry

Mode = Annotated[
    Literal["full", "quick"],
    typer.Option(help="Of quick mode, results are kept apart."),
]
Ids = Annotated[
    Several, typer.Argument(help="Outputs by id; none: all.", show_default=False)
]
Papers = Annotated[Several, option(help="All outputs of this paper (may be repeated).")]
Jobs = Annotated[
    int | None,
    option(
        "--jobs", "-j", min=1, help="Notebooks at a time; default: 2, or 1 on one core."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Run also what nothing changed for.")
]


@app.command()
def run(
    ids: Ids = None,
    paper: Papers = None,
    mode: Mode = "full",
    jobs: Jobs = None,
    force: Force = False,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Let a result with less replace one with more."),
    ] = False,
    dry_run: DryRun = False,
    parameter: Annotated[
        Several,
        option("-p", "--parameter", metavar="NAME=VALUE", help="A trial's value."),
    ] = None,
) -> None:
    """Run the notebooks that something changed for, then the scoreboard.

    An output is made again when its notebook, its parameters, a file of code that it
    imports, its data, the printed tables of its paper or the locked packages
    changed, or when its result files are gone. Data that are not here are fetched;
    where that fails, the outputs that need them stay as they are. On Linux a notebook's
    kernel is a fork of a process that has pandas loaded; NLGEVAL_FORK=0 starts each
    from nothing.

    \b
    Examples:
      nlgeval run --paper hdeval --jobs 4           one paper
      nlgeval run meta_split -p seed=7              a trial, in results/partial/
      nlgeval run --dry-run                         what would run, and why
    """
    from reproduction.runner.session import Session, listing
    from reproduction.runner.stale import Options
    from reproduction.study import catalogue

    if replace and not ids:
        raise ValueError("--replace: name the outputs whose results may shrink")
    outputs = catalogue.load()
    values = _values(parameter)
    entries = list(outputs.select(ids or (), paper or ()))
    if values and not ids:
        entries = _with_parameters(entries, values)
    options = Options(mode, _jobs(jobs), force, replace, values)
    if dry_run:
        for line in listing(outputs, options, entries):
            typer.echo(line)
        return
    raise typer.Exit(Session(outputs, options).run(entries).code)


@app.command()
def sweep(
    output: Annotated[
        str, typer.Argument(help="An output of the catalogue.", show_default=False)
    ],
    parameter: Annotated[
        Several, option("-p", "--parameter", metavar="NAME=A,B,...", help="Values.")
    ] = None,
    mode: Mode = "full",
    jobs: Jobs = None,
    table: Annotated[str, option(help="Which table to print.")] = "",
    dry_run: DryRun = False,
) -> None:
    """Run one output's notebook for every combination of parameter values; join what it
    saved into one CSV a table.

    Each point has a folder of its own below results/sweeps/ (not committed), and is
    kept when it ends: a sweep that was stopped goes on from there. The joined tables
    have the parameters as first columns.

    \b
    Examples:
      nlgeval sweep coascore_figure_04 -p "n_aspects=[5],[10],[20]"
      nlgeval sweep ablation_aggregator_types \\
          -p "aggregators=['lr','ridge'],['rf']" --mode quick
      nlgeval sweep meta_split -p seed=1,2,3 --table fitted     print the table `fitted`
    """
    from nlgeval_lib.tables import show
    from reproduction.report.notebook import shown
    from reproduction.runner import trials
    from reproduction.study import catalogue

    values = _values(parameter)
    outputs = catalogue.load()
    entry = outputs[output]
    points = trials.points(outputs, entry, values, mode)
    if dry_run:
        for point in points:
            typer.echo(f"{'there' if point.saved() else 'run':6} {point.label}")
        return
    tables, failed = trials.sweep(entry, points, _jobs(jobs))
    absent = bool(table) and table not in tables
    if absent:
        say(f"no table {table!r}; the notebook saved {', '.join(tables) or 'none'}")
    title = table if table in tables else next(iter(tables), "")
    if title:
        typer.echo(show(trials.brief(tables[title], list(values)), title).text)
    for path in trials.save(entry, tables, mode):
        typer.echo(f"written: {shown(path)}")
    raise typer.Exit(1 if failed or absent else 0)


@app.command()
def verify(
    adopt: Annotated[
        Several,
        option(
            metavar="FILE",
            help="Take in a file that people wrote (repeatable); all: what changed.",
        ),
    ] = None,
) -> None:
    """Find every result, figure, page, printed number and count that was edited by
    hand; no data are needed.

    Files are compared with results/MANIFEST.csv and notebooks with the code that made
    the results; verdicts, differences, intervals and counts are worked out again from
    other columns; printed numbers are compared with what their witnesses sealed. A run
    renews the lines of what it wrote. What people write (data/, prompts, the
    catalogue, numbers in texts) is taken in by name, after somebody has read it again.

    \b
    Examples:
      nlgeval verify
      nlgeval verify --adopt data/paper_claims.csv
      nlgeval verify --adopt all
    """
    from reproduction.report import seal
    from reproduction.report import verify as verification

    for name in seal.adopt(adopt or ()):
        typer.echo(f"taken in: {name}")
    found = verification.findings()
    for finding in found:
        typer.echo(str(finding))
    count = len({finding.file for finding in found})
    if count:
        typer.echo(f"{count} files are not as they were made")
    else:
        typer.echo(f"{len(seal.read())} files are as they were made")
    raise typer.Exit(1 if found else 0)


@app.command()
def scoreboard(paper: Papers = None, mode: Mode = "full") -> None:
    """Build the scoreboard from the saved results and print it; no notebook is run.

    \b
    Examples:
      nlgeval scoreboard --paper hdeval    one paper, row by row
    """
    from reproduction.report import scoreboard as board
    from reproduction.study import catalogue

    catalogue.load().select(papers=paper or ())
    frame = board.build(mode)
    shown = frame[frame["paper"].isin(paper)] if paper else frame
    short = board.brief(shown).drop(columns=["what", "reason", "largest difference"])
    short.insert(0, "paper", shown["paper"])
    typer.echo(board.show(short).text)
    counted = board.kinds(mode)
    counted = counted[counted["paper"].isin(paper)] if paper else counted
    typer.echo("\n" + board.show(board.totals(counted)).text + "\n")
    board.save(frame, mode)


@app.command()
def report(
    mode: Mode = "full",
    output: Annotated[str, option("--output", "-o", help="The folder.")] = "",
) -> None:
    """Write the results as a static site: the scoreboard, every output's page with its
    notebook, a page that searches all of them.

    Nothing is run. Notebooks that `nlgeval run` executed, here or before they were
    committed, are shown with their outputs, the others with their source and the saved
    result. The pages need no server and no network, and can be copied anywhere.

    \b
    Examples:
      nlgeval report --output site         into another (empty) folder
    """
    from reproduction.report import pages
    from reproduction.report.notebook import shown

    site = pages.build(Path(output) if output else None, mode)
    counts = f"{site.pages} pages, {site.executed} of them with outputs"
    typer.echo(f"{counts}: {shown(site.index)}")


def _with_parameters(entries: list[Entry], values: dict[str, str]) -> list[Entry]:
    """The outputs whose notebooks have all of these parameters. Raises: ValueError."""
    from reproduction.report import notebook

    chosen = []
    for entry in entries:
        if values.keys() <= notebook.read(entry.path).parameters.keys():
            chosen.append(entry)
    if not chosen:
        raise ValueError(f"--parameter: no output has {' and '.join(values)}")
    return chosen


def _jobs(jobs: int | None) -> int:
    """How many notebooks run at a time: as many as were asked for, else 2 or 1."""
    from reproduction.runner.pool import cpus

    return jobs or min(2, cpus())


def _values(texts: Sequence[str] | None) -> dict[str, str]:
    """What `-p NAME=VALUE` gives. Raises: ValueError where a name is given twice."""
    values = dict(map(pair, texts or ()))
    if len(values) < len(texts or ()):
        raise ValueError("--parameter: a name is given twice")
    return values
