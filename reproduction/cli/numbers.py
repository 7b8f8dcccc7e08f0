"""`nlgeval numbers` makes `data/numbers` of the sets' files; git shows what moved."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Annotated
from unittest import mock

import typer

from nlgeval_lib.cli._options import app, option


@app.command(hidden=True)
def numbers(
    jobs: Annotated[
        int, option("--jobs", "-j", min=1, help="Notebooks at a time.")
    ] = 2,
) -> None:
    """Make data/numbers: ratings, lengths, hashes and scores of the sets, no text.

    The outputs are run beside their results, with nothing cached, and what they ask of
    texts is written down. A value of an encoder that differs by no more than 1e-5 from
    the one that is there is left as it is: processors differ by that much. Where an
    encoder's weights are not here, its values are kept.

    \b
    Examples:
      nlgeval numbers --jobs 2
    """
    from nlgeval_lib.datasets import numbers as bundle

    with tempfile.TemporaryDirectory(prefix="nlgeval-numbers-") as name:
        work = Path(name)
        _ask(work / "asked", work, jobs)
        made = work / "numbers"
        _make(made, work / "asked")
        shutil.rmtree(bundle.folder(), ignore_errors=True)
        shutil.copytree(made, bundle.folder())
    size = sum(path.stat().st_size for path in bundle.folder().iterdir())
    typer.echo(f"data/numbers: {size / 1e6:.2f} MB")


def _ask(asked: Path, work: Path, jobs: int) -> None:
    """Run the outputs that read texts, or the scores of texts, their results apart and
    with an empty metric cache; what they ask is collected in a folder.
    """
    from nlgeval_lib import files
    from nlgeval_lib.datasets.numbers import collected
    from reproduction import saved_numbers as build
    from reproduction.runner import session, stale
    from reproduction.study import catalogue

    listed = catalogue.load()
    kept = {*build.SETS, *build.RECORDINGS, "mini"}
    entries = [entry for entry in listed.outputs if kept.intersection(entry.inputs)]
    places = {
        collected.FOLDER: str(asked),
        "NLGEVAL_RESULTS": str(work / "results"),
        "NLGEVAL_FIGURES": str(work / "figures"),
        "NLGEVAL_HOME": str(work / "state"),
    }
    models = files.state("models")
    if models.is_dir():  # no value that was computed before, but the same weights
        (work / "state").mkdir()
        (work / "state" / "models").symlink_to(models.resolve())
    with mock.patch.dict(os.environ, places):
        options = stale.Options(jobs=jobs, force=True, records=False)
        outcome = session.Session(listed, options).run(entries)
    if outcome.code or outcome.unavailable:
        raise ValueError("numbers: some outputs did not run; data/numbers is as it was")


def _make(folder: Path, asked: Path) -> None:
    """Write the bundle below `folder`; a score that no output asked for is dropped."""
    from judgecard import recordings
    from nlgeval_lib import datasets
    from nlgeval_lib.datasets import numbers as bundle
    from nlgeval_lib.datasets.numbers import collected
    from nlgeval_lib.evaluators import encoders
    from nlgeval_lib.scoring import provenance
    from reproduction import saved_numbers as build

    scores = build.joined(collected.read(asked), bundle.all_saved())
    sets = []
    for name, options in build.SETS.items():
        places = build.put(folder, name, datasets.load(name, **options), hashes=True)
        build.put_scores(folder, name, places, scores)
        sets.append(places)
    for name in build.RECORDINGS:
        places = build.put(folder, name, recordings.load(name), hashes=False)
        build.put_scores(folder, name, places, scores)
    build.put_others(folder, sets, scores)
    known = {}
    for encoder in encoders.KNOWN:
        known[encoder.label] = {"model": encoder.name, "sha256": encoder.sha256}
        if not encoders.is_here(encoder.name):
            typer.echo(f"not computed again, its weights are not here: {encoder.label}")
    build.describe(folder, str(provenance.git()["commit"]), known)
