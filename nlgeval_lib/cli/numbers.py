"""`nlgeval numbers`: makes `data/numbers` of the sets' files, or checks it against
them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from unittest import mock

import typer

from nlgeval_lib.cli._options import Several, app, option


@app.command(hidden=True)
def numbers(
    ids: Annotated[
        Several, typer.Argument(help="Ask these outputs alone; none: all.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with what is there; write nothing.")
    ] = False,
    jobs: Annotated[
        int, option("--jobs", "-j", min=1, help="Notebooks at a time.")
    ] = 2,
    collected: Annotated[
        str, option(help="A folder to keep what outputs ask for, and to go on from.")
    ] = "",
) -> None:
    """Make data/numbers: ratings, lengths, hashes and scores of the sets, no text.

    The outputs are run beside their results, and what they ask of texts is written
    down.

    \b
    Examples:
      nlgeval numbers                 make the folder anew (needs the data)
      nlgeval numbers --check         compute all again and compare; write nothing
    """
    from nlgeval_lib import files
    from nlgeval_lib.datasets import numbers as bundle

    with tempfile.TemporaryDirectory(prefix="nlgeval-numbers-") as name:
        asked = Path(collected or f"{name}/asked").resolve()
        _ask(asked, Path(name), list(ids or ()), jobs, fresh=check)
        made = Path(name, "numbers")
        _make(made, asked)
        if not check:
            shutil.rmtree(bundle.folder(), ignore_errors=True)
            shutil.copytree(made, bundle.folder())
            size = sum(path.stat().st_size for path in bundle.folder().iterdir())
            typer.echo(f"data/numbers: {size / 1e6:.2f} MB, {files.root().name}")
            return
        wrong = _differences(bundle.folder(), made)
        for line in wrong:
            typer.echo(line)
        typer.echo("data/numbers differs" if wrong else "data/numbers is as made anew")
        raise typer.Exit(1 if wrong else 0)


def _ask(
    asked: Path, work: Path, ids: Sequence[str], jobs: int, fresh: bool = False
) -> None:
    """Run the outputs that read texts' scores, their results apart.

    fresh: with an empty metric cache, so that every value is computed.
    """
    from nlgeval_lib.datasets.numbers import build, collected
    from nlgeval_lib.runner import session, stale
    from nlgeval_lib.study import catalogue

    listed = catalogue.load()
    kept = {*build.SETS, *build.RECORDINGS}
    entries = [
        entry
        for entry in listed.select(ids, ())
        if kept.intersection(entry.inputs) and not entry.texts
    ]
    places = {
        collected.FOLDER: str(asked),
        "NLGEVAL_RESULTS": str(work / "results"),
        "NLGEVAL_FIGURES": str(work / "figures"),
    }
    if fresh:
        places["NLGEVAL_HOME"] = str(work / "state")
    with mock.patch.dict(os.environ, places):
        options = stale.Options(jobs=jobs, force=True, records=False)
        outcome = session.Session(listed, options).run(entries)
    if outcome.code or outcome.unavailable:
        raise ValueError("numbers: some outputs did not run; data/numbers is as it was")


def _make(folder: Path, asked: Path) -> None:
    """Write the whole bundle below `folder`."""
    from nlgeval_lib import datasets
    from nlgeval_lib.datasets.numbers import build, collected
    from nlgeval_lib.scoring import provenance

    scores = collected.read(asked)
    counts: dict[str, int] = {}
    for name, options in build.SETS.items():
        places = build.put(folder, name, datasets.load(name, **options), hashes=True)
        counts[name] = build.put_scores(folder, name, places, scores)
    for name in build.RECORDINGS:
        recorded = datasets.recordings.load(name)
        places = build.put(folder, name, recorded, hashes=False)
        counts[name] = build.put_scores(folder, name, places, scores)
    build.describe(folder, counts, str(provenance.git()["commit"]))


def _differences(old: Path, new: Path) -> list[str]:
    """The files that differ in what they hold; `about.json` names its own commit."""
    names = {path.name for folder in (old, new) for path in folder.glob("*")}
    found = []
    for name in sorted(names - {"about.json"}):
        if not (old / name).is_file() or not (new / name).is_file():
            found.append(f"{name}: in one of the two alone")
        elif name.endswith(".parquet"):
            found += [f"{name}: differs"] * (not _same_table(old / name, new / name))
        elif (old / name).read_bytes() != (new / name).read_bytes():
            found.append(f"{name}: differs")
    return found


def _same_table(old: Path, new: Path) -> bool:
    import pyarrow.parquet as parquet

    first, second = (parquet.ParquetFile(path).read() for path in (old, new))
    frames = [table.to_pandas() for table in (first, second)]
    return bool(first.schema.equals(second.schema) and _equal(*frames))


def _equal(first: object, second: object) -> bool:
    from pandas.testing import assert_frame_equal

    try:
        assert_frame_equal(first, second, check_exact=True)
    except AssertionError:
        return False
    return True
