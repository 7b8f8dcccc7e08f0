"""`nlgeval run`: execute notebooks of the catalogue."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

ORDER = 1
HELP = """Run the notebooks that something changed for, then the scoreboard.

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


def register(app: typer.Typer) -> None:
    """Add `run`."""
    app.command("run", help=HELP)(run)


def run(
    ids: Annotated[list[str] | None, typer.Argument(help="Outputs by id; none: all.", show_default=False)] = None,
    paper: Annotated[
        list[str] | None, typer.Option(help="All outputs of this paper (may be repeated).", show_default=False)
    ] = None,
    mode: Annotated[Literal["full", "quick"], typer.Option(help="Of quick mode, results are kept apart.")] = "full",
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Notebooks at a time; default: 2, or 1 on one core.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Run also what nothing changed for.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Let a result with less replace one with more.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would run and why; run nothing.")] = False,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Another value, for a trial.", show_default=False),
    ] = None,
    timeout: Annotated[
        int | None, typer.Option(min=1, help="Seconds that a cell may take; default: any.", show_default=False)
    ] = None,
) -> None:
    """Run the chosen outputs; see HELP."""
    from nlgeval_lib.runner.pool import cpus
    from nlgeval_lib.runner.session import Session, listing
    from nlgeval_lib.runner.stale import Options
    from nlgeval_lib.study import catalogue

    if replace and not ids:
        raise typer.BadParameter("name the outputs whose results may shrink", param_hint="--replace")
    overrides = dict(_pair(text) for text in parameter or ())
    if overrides and not ids:
        raise typer.BadParameter("a trial needs the ids of its outputs", param_hint="--parameter")
    listed = catalogue.load()
    entries = listed.select(ids or (), paper or ())
    options = Options(mode, jobs or min(2, cpus()), force, replace, timeout, overrides)
    if dry_run:
        for line in listing(listed, options, entries):
            typer.echo(line)
        return
    raise typer.Exit(Session(listed, options).run(entries).code)


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name.isidentifier():
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--parameter")
    return name, value
