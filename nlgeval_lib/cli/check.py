"""`nlgeval check`: run everything again elsewhere and compare with the results at hand."""

from __future__ import annotations

from typing import Annotated

import typer

ORDER = 4
HELP = """Run the notebooks into a temporary folder and compare with the saved results, to 1e-6.

Values that this machine cannot give (data or a package is missing) are listed and are no failure.

\b
Examples:
  nlgeval check
  nlgeval check --paper coascore --jobs 4
"""


def register(app: typer.Typer) -> None:
    """Add `check`."""
    app.command("check", help=HELP)(check)


def check(
    ids: Annotated[list[str] | None, typer.Argument(help="Outputs by id; none: all.", show_default=False)] = None,
    paper: Annotated[list[str] | None, typer.Option(help="All outputs of this paper.", show_default=False)] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Notebooks at a time.")] = None,
) -> None:
    """Compare a fresh run with the saved results; see HELP."""
    from nlgeval_lib.runner.trials import check as again
    from nlgeval_lib.runner.pool import cpus
    from nlgeval_lib.study import catalogue

    listed = catalogue.load()
    raise typer.Exit(again(listed, listed.select(ids or (), paper or ()), jobs or min(2, cpus()), typer.echo))
