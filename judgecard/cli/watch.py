"""`nlgeval card watch`: does the judge of this name still answer as it did?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgecard.cli.card import AskedJudge, asking, group, rated_sets
from nlgeval_lib.cli._options import SOME_MISSING, command, echo, failures, note, option

if TYPE_CHECKING:
    from judgecard.asked import Asking
    from judgecard.watching import Watch


class Watching(AskedJudge):
    """The options of `card watch`."""

    folder: Annotated[str, typer.Argument(help="Where its answers are kept.")]
    items: int = typer.Option(50, min=3, help="About so many outputs are kept.")
    level: float = option(
        0.05, help="The chance that a change is reported where there is none.  [0.05]"
    )


@command("watch", group)
def watch(options: Watching) -> None:
    """Tell whether a judge of the same name has changed, look after look.

    The first call keeps what the judge answers on some items, asked three times. Each
    further call, with the same options, asks once anew and says how much speaks for a
    change. One may look as often as one likes: where the judge stays as it is, a change
    is ever reported with a chance of --level at most. Exit code 1: a change is
    reported, or an answer did not come.

    \b
    Examples:
      nlgeval card watch kept --prompt mine.txt --scale 1-5 -i mine.csv \\
          --engine openai --base-url http://host:8000/v1 -m NAME
      nlgeval card watch kept --prompt mine.txt --scale 1-5 --data summeval \\
          --aspect coherence --judge qwen2.5-coder-1.5b
    """
    from judgecard import asked
    from judgecard.paired import Paired
    from judgecard.watching import FILE, REFERENCE, Watch

    design = asked.Design(items=options.items, seed=options.seed)
    run = asking(options, rated_sets(options), design)
    if len(run.data) > 1 or isinstance(run.data[0], Paired):
        raise ValueError("a watch is on one set of single outputs: one --data, or -i")
    same = run.keep_distinct()
    if same:
        note(f"{same} rows ask what another row asks, and are left out")
    facts = {"engine": run.engine.name, "revision": run.engine.revision}
    fields = run.fingerprint(facts)
    if Path(options.folder, FILE).is_file():
        watched = Watch.read(options.folder)
        for text in watched.check_same(fields):
            note(f"its server says otherwise: {text}")
    else:
        frame = run.data[0].frame
        watched = Watch.begun(fields, frame, options.level, options.seed)
    if options.dry_run:
        looks = max(1, REFERENCE - len(watched.looks))
        options.plan(f"{looks} times {run.name}, ", run.planned(), run.engine, None)
        return
    _look(watched, run, options)
    while len(watched.looks) < REFERENCE:
        _look(watched, run, options)
    failures(run.outcome)
    _say(watched)
    if watched.date_of_change() or run.outcome.failures:
        raise typer.Exit(SOME_MISSING)


def _look(watched: Watch, run: Asking, options: Watching) -> None:
    """Ask once anew, and keep the answers; a look that was stopped goes on."""
    from nlgeval_lib.scoring import named

    number = len(watched.looks) + 1
    place = Path(options.folder, "looks", str(number))
    with named.store(place) as store:
        watched.add(run.looked(store, options.quiet))
    watched.write(options.folder)


def _say(watched: Watch) -> None:
    """Say what the looks tell."""
    from judgecard.watching import REFERENCE

    if len(watched.looks) == REFERENCE:
        typer.echo(
            f"kept: {len(watched.items)} items, answered {REFERENCE} times; the next "
            "call looks whether that has changed"
        )
        return
    table = watched.table()
    echo([table])
    date = watched.date_of_change()
    needed = 1 / watched.level
    bar = f"{needed:g} needed at level {watched.level:g}"
    if date:
        typer.echo(f"CHANGED  told on {date} ({bar})")
        return
    last = table["evidence"].iloc[-1]
    typer.echo(f"no change can be told: evidence {last:.3g}, {bar}")
