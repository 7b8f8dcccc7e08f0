"""`nlgeval store export --output` and `store import`: what tables used, for others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nlgeval_lib.cli._options import Several, StoreFolder, option
from nlgeval_lib.cli.store import export as export_records
from nlgeval_lib.cli.store import group


@group.command()
def export(
    file: Annotated[str, typer.Argument(help="The file to write.")],
    output: Annotated[
        Several,
        option(
            metavar="ID",
            help="What this output of the catalogue used, with its result and a "
            "manifest: a zip file. Several outputs: name each.",
        ),
    ] = None,
    model: Annotated[
        str,
        option(
            "--model",
            "-m",
            help='With --output: the model that was asked in its place, or "mini".',
        ),
    ] = "",
    store: StoreFolder = "",
) -> None:
    """Write every whole record to a JSON Lines file, or what outputs used to a file
    that others replay.

    \b
    Examples:
      nlgeval store export all.jsonl
      nlgeval store export table.zip --output coascore_table_02
    """
    if not output:
        export_records(file, store)
        return
    from nlgeval_lib.scoring import named, score_files
    from reproduction.report import shared_run

    completions = named.store(store)
    score_files.check_output(file, str(completions.path))
    manifest = shared_run.export(output, Path(file), completions.folder, model)
    for judged in manifest["judges"]:
        typer.echo(f"{judged['judge']}: {judged['model']}@{judged['revision']}")
    for reason in manifest["lacking"]:
        typer.echo(f"not in it: {reason}")
    results = len(manifest["files"]) - 1
    typer.echo(f"{manifest['completions']:,} completions, {results} files of results")


@group.command("import")
def import_(
    sources: Annotated[
        list[str], typer.Argument(help="Files of `nlgeval store export --output`.")
    ],
    store: StoreFolder = "",
) -> None:
    """Take over what somebody shared of a table's judge, after every part was held
    against its hash; then `nlgeval run` replays the table. A file that would unpack to
    more than 100 times its size, or 4 GiB, or has more than 1,000 members, is refused
    before anything is unpacked.

    Files in data/completions are taken in by `nlgeval run` itself.
    """
    from nlgeval_lib.scoring import named
    from reproduction.report import shared_run

    completions = named.store(store)
    for source in sources:
        added = shared_run.take_in(Path(source), completions)
        outputs = " ".join(shared_run.manifest_of(Path(source))["outputs"])
        typer.echo(f"{source}: {added:,} new records; to replay: nlgeval run {outputs}")
