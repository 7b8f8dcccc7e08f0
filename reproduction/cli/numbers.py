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
        Several,
        typer.Argument(help="Ask these outputs alone and keep the rest; none: all."),
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
    down. A value of an encoder that differs by no more than 1e-5 from the one that is
    there is left as it is: processors differ by that much. Where an encoder's weights
    are not here, its values are kept.

    \b
    Examples:
      nlgeval numbers                      make the folder anew (needs the data)
      nlgeval numbers semscore_table_06    what this output asks for, beside the rest
      nlgeval numbers --check              compute all again and compare; write nothing
    """
    from nlgeval_lib import files
    from nlgeval_lib.datasets import numbers as bundle

    with tempfile.TemporaryDirectory(prefix="nlgeval-numbers-") as name:
        asked = Path(collected or f"{name}/asked").resolve()
        _ask(asked, Path(name), list(ids or ()), jobs, fresh=check)
        made = Path(name, "numbers")
        _make(made, asked, whole=not ids)
        if not check:
            shutil.rmtree(bundle.folder(), ignore_errors=True)
            shutil.copytree(made, bundle.folder())
            size = sum(path.stat().st_size for path in bundle.folder().iterdir())
            typer.echo(f"data/numbers: {size / 1e6:.2f} MB, {files.root().name}")
            return
        wrong = _differences(bundle.folder(), made)
        for line in [*_not_computed(), *wrong]:
            typer.echo(line)
        typer.echo("data/numbers differs" if wrong else "data/numbers is as made anew")
        raise typer.Exit(1 if wrong else 0)


def _ask(
    asked: Path, work: Path, ids: Sequence[str], jobs: int, fresh: bool = False
) -> None:
    """Run the outputs that read texts, or the scores of texts, their results apart."""
    from nlgeval_lib import files
    from nlgeval_lib.datasets.numbers import collected
    from reproduction import saved_numbers as build
    from reproduction.runner import session, stale
    from reproduction.study import catalogue

    listed = catalogue.load()
    kept = {*build.SETS, *build.RECORDINGS, "mini"}
    entries = [
        entry for entry in listed.select(ids, ()) if kept.intersection(entry.inputs)
    ]
    places = {
        collected.FOLDER: str(asked),
        "NLGEVAL_RESULTS": str(work / "results"),
        "NLGEVAL_FIGURES": str(work / "figures"),
    }
    if fresh:
        places["NLGEVAL_HOME"] = str(work / "state")
        # no value that was computed before, but the same weights
        models = files.state("models")
        if models.is_dir():
            (work / "state").mkdir()
            (work / "state" / "models").symlink_to(models.resolve())
    with mock.patch.dict(os.environ, places):
        options = stale.Options(jobs=jobs, force=True, records=False)
        outcome = session.Session(listed, options).run(entries)
    if outcome.code or outcome.unavailable:
        raise ValueError("numbers: some outputs did not run; data/numbers is as it was")


def _make(folder: Path, asked: Path, whole: bool) -> None:
    """Write the bundle below `folder`."""
    from judgecard import recordings
    from nlgeval_lib import datasets
    from nlgeval_lib.datasets import numbers as bundle
    from nlgeval_lib.datasets.numbers import collected
    from nlgeval_lib.evaluators import encoders
    from nlgeval_lib.scoring import provenance
    from reproduction import saved_numbers as build

    scores = build.joined(collected.read(asked), bundle.all_saved(), keep=not whole)
    sets = []
    if whole:
        for name, options in build.SETS.items():
            loaded = datasets.load(name, **options)
            places = build.put(folder, name, loaded, hashes=True)
            build.put_scores(folder, name, places, scores)
            sets.append(places)
        for name in build.RECORDINGS:
            recorded = recordings.load(name)
            places = build.put(folder, name, recorded, hashes=False)
            build.put_scores(folder, name, places, scores)
    else:
        shutil.copytree(bundle.folder(), folder)
        for name in build.SETS:
            places = build.Places(bundle.saved_digests(name))
            build.put_scores(folder, name, places, scores)
            sets.append(places)
    build.put_others(folder, sets, scores)
    known = {}
    for encoder in encoders.KNOWN:
        known[encoder.label] = {"model": encoder.name, "sha256": encoder.sha256}
    build.describe(folder, str(provenance.git()["commit"]), known)


def _not_computed() -> list[str]:
    """A line for each encoder whose values stand in the bundle as they were, since its
    weights are not here.
    """
    from nlgeval_lib.evaluators import encoders

    lines = []
    for known in encoders.KNOWN:
        if not encoders.is_here(known.name):
            lines.append(f"not computed again, its weights are not here: {known.label}")
    return lines


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
