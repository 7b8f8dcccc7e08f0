"""`nlgeval report`: the results as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

ORDER = 5
HELP = """Write the results as a static site: the scoreboard first, then every notebook with its outputs.

Nothing is run. Notebooks that `nlgeval run` executed in this checkout are shown with their outputs, the others with
their source and the saved result. The pages need no server, no script and no network, and can be copied anywhere.

\b
Examples:
  nlgeval report                       to results/report/index.html
  nlgeval report --mode quick          what `nlgeval run --mode quick` made
  nlgeval report --output site         into another (empty) folder
  make report                          everything that this machine allows, then the site
"""


def register(app: typer.Typer) -> None:
    """Add `report`."""
    app.command("report", help=HELP)(report)


def report(
    mode: Annotated[Literal["full", "quick"], typer.Option(help="Of quick mode, results are kept apart.")] = "full",
    output: Annotated[str, typer.Option("--output", "-o", help="The folder.", show_default=False)] = "",
) -> None:
    """Build the site; see HELP."""
    from nlgeval_lib.report import pages
    from nlgeval_lib.report.notebook import shown

    built = pages.build(Path(output) if output else None, mode)
    run = len(built.pages) - len(built.unrun)
    typer.echo(f"{len(built.pages)} pages, {run} of them run in this checkout: {shown(built.index)}")
