"""`nlgeval init`: a folder to begin with; `data`: the data sets; `recordings`: somebody's recorded judge outputs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from nlgeval_lib.cli._options import Several, StoreFolder, app

FIRST = {"rows.jsonl": "rows.jsonl", "rubric.toml": "rubric.toml", "README.md": "commands.txt"}  # of the folder `first`


@app.command()
def init(folder: Annotated[str, typer.Argument(help="The new folder.")] = "my-evaluation") -> None:
    """Write a folder to begin with: rated rows, a rubric and the commands to run. Nothing is overwritten.

    \b
    Examples:
      nlgeval init trial       trial/ with rows.jsonl, rubric.toml and README.md
    """
    from nlgeval_lib import files

    texts = {Path(folder, name): Path(__file__).with_name("first") / own for name, own in FIRST.items()}
    if there := [str(path) for path in texts if os.path.lexists(path)]:
        raise ValueError(f"{', '.join(there)}: there already, and nothing is overwritten; name another folder")
    for path, text in texts.items():
        files.write_text(path, text.read_text(encoding="utf-8"))
    typer.echo(f"{folder} has {', '.join(FIRST)}. In that folder:\n\n{path.read_text(encoding='utf-8')}", nl=False)


@app.command()
def data(
    names: Annotated[Several, typer.Argument(help="Data sets; none: all.", show_default=False)] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Get and verify the files.")] = False,
    describe: Annotated[bool, typer.Option("--describe", help="Counts, aspects, scales and licences.")] = False,
) -> None:
    """List the data sets and say which are on this machine.

    \b
    Examples:
      nlgeval data --fetch             get every public file, verified by its sha256
      nlgeval data --fetch summeval    only these
      NLGEVAL_DATA_MIRROR=/mnt/mirror nlgeval data --fetch     take them from a folder
    """
    from nlgeval_lib import datasets
    from nlgeval_lib.report import show

    if fetch and describe:
        raise ValueError("choose --fetch or --describe")
    datasets.registry.entries()  # raises where the package is installed without the repository
    chosen = list(names or datasets.groups())
    for name in chosen:
        datasets.files(name)  # raises for an unknown one
    if describe:
        frame = datasets.describe().reset_index()
        typer.echo(show(frame[frame["dataset"].isin(chosen)], digits=0).text)
        return
    typer.echo(datasets.fetch.mirror_line())
    if fetch:
        datasets.fetch.all(chosen, typer.echo)
        return
    for name in chosen:
        here, reason = datasets.available(name)
        typer.echo(f"{name:24} {'here' if here else 'not here: ' + reason}")


@app.command()
def recordings(
    names: Annotated[Several, typer.Argument(help="Recordings; none: list them.", show_default=False)] = None,
    store: StoreFolder = "",
) -> None:
    """List recorded judge outputs, or put texts of known prompts into a store.

    What is in a store is replayed by --engine replay, with any evaluator that asks the same prompts.

    \b
    Examples:
      nlgeval recordings acloserlook prometheus_gpt4            into the store
      nlgeval score -e prometheus --data mt_bench --engine replay -m gpt-4-0613 --store recorded/ \\
          -s repetition_penalty=1 -s seed=none -o gpt4.csv
    """
    from nlgeval_lib import datasets
    from nlgeval_lib.scoring import named
    from nlgeval_lib.study import recorded_judges

    if not names:
        for name, row in datasets.recordings.describe().iterrows():
            here = "here" if datasets.available(str(name))[0] else "not here"
            asked = "prompts unknown" if "text" in row["kept"] else "scores only"
            asked = "prompts known" if name in recorded_judges.ASKED else asked
            typer.echo(f"{name:22} {row['rows']:>8,}  {here:9} {asked:16} {row['title']}")
        return
    for name in names:
        recorded_judges.of(name)  # raises for an unknown one
    kept = named.store(store)
    for name in names:
        done = recorded_judges.fill(kept, name)
        repeated = f"; {done.repeated:,} repeat a prompt, {done.differing:,} with another text"
        typer.echo(
            f"{name}: {done.completions:,} completions of {', '.join(done.judges)} for {done.requests:,} requests, "
            f"{done.new:,} new{repeated if done.repeated else ''}"
        )
