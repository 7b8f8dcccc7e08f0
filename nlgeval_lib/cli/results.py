"""`nlgeval scoreboard` and `report`: what the results at hand come to, printed and as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nlgeval_lib.cli.run import Mode, Papers

ORDER = 3
SCOREBOARD = """Build the scoreboard from the saved results and print it; no notebook is run.

\b
Examples:
  nlgeval scoreboard                   all papers, written to results/scoreboard.csv and .md
  nlgeval scoreboard --paper hdeval    one paper, row by row
"""
REPORT = """Write the results as a static site: the scoreboard first, then every notebook with its outputs.

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
    """Add `scoreboard` and `report`."""
    app.command("scoreboard", help=SCOREBOARD)(scoreboard)
    app.command("report", help=REPORT)(report)


def scoreboard(
    paper: Papers = None,
    mode: Mode = "full",
) -> None:
    """Build, write and print the scoreboard; see above."""
    from nlgeval_lib.report import scoreboard as board
    from nlgeval_lib.study.catalogue import PAPERS

    wrong = [name for name in paper or () if name not in PAPERS]
    if wrong:
        raise typer.BadParameter(f"{wrong[0]!r}; one of {', '.join(PAPERS)}", param_hint="--paper")
    frame = board.build(mode)
    shown = frame[frame["paper"].isin(paper)] if paper else frame
    short = board.brief(shown).drop(columns=["what", "reason", "largest difference"])
    short.insert(0, "paper", shown["paper"])
    typer.echo(board.show(short).text)
    typer.echo("\n" + board.show(board.totals(shown)).text + "\n")
    board.save(frame, mode)


def report(
    mode: Mode = "full",
    output: Annotated[str, typer.Option("--output", "-o", help="The folder.", show_default=False)] = "",
) -> None:
    """Build the site; see above."""
    from nlgeval_lib.report import pages
    from nlgeval_lib.report.notebook import shown

    built = pages.build(Path(output) if output else None, mode)
    run = len(built.pages) - len(built.unrun)
    typer.echo(f"{len(built.pages)} pages, {run} of them run in this checkout: {shown(built.index)}")
