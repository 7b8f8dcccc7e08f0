"""`nlgeval data`: what data sets there are, which are here, and getting them."""

from __future__ import annotations

from typing import Annotated

import typer

ORDER = 2
HELP = """List the data sets and say which are on this machine.

\b
Examples:
  nlgeval data                     a line a data set
  nlgeval data --fetch             get every public file, verified by its sha256
  nlgeval data --fetch summeval    only these
  NLGEVAL_DATA_MIRROR=/mnt/mirror nlgeval data --fetch     take them from a folder
  NLGEVAL_DATA_MIRROR= nlgeval data                        from none, also where ../shared/data lies beside the checkout
"""


def register(app: typer.Typer) -> None:
    """Add `data`."""
    app.command("data", help=HELP)(data)


def data(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets; none: all.", show_default=False)] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Get and verify the files.")] = False,
    describe: Annotated[bool, typer.Option("--describe", help="Counts, aspects, scales and licences.")] = False,
) -> None:
    """List or fetch data sets; see HELP."""
    from nlgeval_lib import datasets

    if fetch and describe:
        raise typer.BadParameter("choose --fetch or --describe", param_hint="--fetch")
    try:
        chosen = list(names or datasets.groups())
        for name in chosen:
            datasets.files(name)
    except datasets.UnknownName as error:
        raise typer.BadParameter(str(error), param_hint="NAMES") from None
    if not describe:
        typer.echo(datasets.fetch.mirror_line())
    if fetch:
        datasets.fetch.all(chosen)
        return
    if describe:
        from nlgeval_lib.report import show

        frame = datasets.describe().reset_index()
        typer.echo(show(frame[frame["dataset"].isin(chosen)], digits=0).text)
        return
    for name in chosen:
        here, reason = datasets.available(name, download=False)
        typer.echo(f"{name:24} {'here' if here else 'not here: ' + reason}")
