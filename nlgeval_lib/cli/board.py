"""`nlgeval scoreboard`: build and print the scoreboard from the results at hand."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

ORDER = 3
HELP = """Build the scoreboard from the saved results and print it; no notebook is run.

\b
Examples:
  nlgeval scoreboard                   all papers, written to results/scoreboard.csv and .md
  nlgeval scoreboard --paper hdeval    one paper, row by row
"""


def register(app: typer.Typer) -> None:
    """Add `scoreboard`."""
    app.command("scoreboard", help=HELP)(scoreboard)


def scoreboard(
    paper: Annotated[list[str] | None, typer.Option(help="Print only this paper (may be repeated).")] = None,
    mode: Annotated[Literal["full", "quick"], typer.Option(help="Of quick mode, results are kept apart.")] = "full",
) -> None:
    """Build, write and print the scoreboard; see HELP."""
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
