"""`nlgeval recordings`: somebody's recorded judge outputs."""

from __future__ import annotations

from typing import Annotated

import typer

from nlgeval_lib.cli._options import Several, StoreFolder, app


@app.command()
def recordings(
    names: Annotated[
        Several, typer.Argument(help="Recordings; none: list them.", show_default=False)
    ] = None,
    store: StoreFolder = "",
) -> None:
    """List recorded judge outputs, or put texts of known prompts into a store.

    What is in a store is replayed by --engine replay, with any evaluator that asks the
    same prompts.

    \b
    Examples:
      nlgeval recordings acloserlook prometheus_gpt4            into the store
      nlgeval score -e prometheus --data mt_bench --engine replay -m gpt-4-0613 \\
          --store recorded/ -s repetition_penalty=1 -s seed=none -o gpt4.csv
    """
    from judgecard import recorded_store
    from judgecard import recordings as recorded
    from nlgeval_lib import datasets
    from nlgeval_lib.scoring import named

    if not names:
        for name, row in recorded.describe().iterrows():
            place = "here" if datasets.available(str(name))[0] else "not here"
            prompts = "scores only"
            if name in recorded_store.ASKED:
                prompts = "prompts known"
            elif "text" in row["kept"]:
                prompts = "prompts unknown"
            typer.echo(
                f"{name:22} {row['rows']:>8,}  {place:9} {prompts:16} {row['title']}"
            )
        return
    for name in names:
        recorded_store.find_asked(name)  # raises for an unknown one
    completions = named.store(store)
    for name in names:
        report = recorded_store.fill(completions, name)
        line = (
            f"{name}: {report.completions:,} completions of "
            f"{', '.join(report.judges)} for {report.requests:,} requests, "
            f"{report.new:,} new"
        )
        if report.repeated:
            line += (
                f"; {report.repeated:,} repeat a prompt, "
                f"{report.differing:,} with another text"
            )
        typer.echo(line)
