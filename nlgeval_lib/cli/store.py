"""`nlgeval store`: look after the completions that are stored."""

from __future__ import annotations

from typing import Annotated

import typer

from nlgeval_lib.cli._options import SOME_MISSING, StoreFolder, app, option

group = typer.Typer(
    help="""Check, export, join or thin out a store of completions.

    \b
    Examples:
      nlgeval store verify                         what there is; is every record whole
      nlgeval store export all.jsonl               a line of JSON for each record
      nlgeval store export t.zip --output ID       what one table used, for others
      nlgeval store import t.zip                   take over what others shared
      nlgeval store merge all.jsonl other/folder   take over what other machines made
      nlgeval store forget --model NAME            ask that model again
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(group, name="store")


@group.command()
def verify(store: StoreFolder = "") -> None:
    """Read every record and check it; exit code 1 where some are damaged.

    They are asked again when they are needed.
    """
    from nlgeval_lib.scoring import named

    completions = named.store(store)
    if store and not completions.folder.is_dir():
        raise FileNotFoundError(f"no store at {store}: there is no such folder")
    for (model, revision), count in completions.census().items():
        typer.echo(f"{count:>10,}  {model}@{revision}")
        for maker, days in completions.makers(model, revision).items():
            typer.echo(f"{'':>12}by {maker}, {' to '.join(dict.fromkeys(days))}")
    damaged = completions.verify()
    for key in damaged:
        typer.echo(f"damaged: {key}")
    typer.echo(f"{len(completions):,} completions, {len(damaged):,} damaged records")
    if damaged:
        raise typer.Exit(SOME_MISSING)


@group.command()
def export(
    file: Annotated[str, typer.Argument(help="The file to write.")],
    store: StoreFolder = "",
) -> None:
    """Write every whole record to a JSON Lines file.

    \b
    Examples:
      nlgeval store export all.jsonl
    """
    from nlgeval_lib.scoring import named, score_files

    completions = named.store(store)
    score_files.check_output(file, str(completions.path))
    typer.echo(f"{completions.export(file):,} records")


@group.command()
def merge(
    sources: Annotated[
        list[str], typer.Argument(help="Exported files, or folders of other stores.")
    ],
    store: StoreFolder = "",
) -> None:
    """Take over the records of exported files or other stores; what is there already
    stays.
    """
    from nlgeval_lib.scoring import named

    completions = named.store(store)
    for source in sources:
        typer.echo(f"{source}: {completions.merge(source):,} new records")


@group.command()
def forget(
    model: Annotated[
        str, typer.Option("--model", "-m", help="The model that made them.")
    ],
    revision: Annotated[str, option(help="Only those of this revision.")] = "",
    store: StoreFolder = "",
) -> None:
    """Remove a model's completions, so that they are asked again."""
    from nlgeval_lib.scoring import named

    completions = named.store(store)
    count = completions.forget(completions.keys(model, revision))
    typer.echo(f"{count:,} completions forgotten")
