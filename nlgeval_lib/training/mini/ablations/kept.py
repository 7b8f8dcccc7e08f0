"""The judgments of finished runs: a small CSV a run, and one line a run that says what it was."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import mini_judge
from nlgeval_lib.training.mini import ablations
from nlgeval_lib.training.mini.ablations.judging import COLUMNS
from nlgeval_lib.training.mini.ablations.studies import STUDIES, Arm

RUNS = "runs.csv"
LINE = ["study", "arm", "seed", "digest", "base", "heldout", "judgments", "examples", "tokens", "steps", "seconds"]


def path(arm: Arm, seed: int, folder: Path | None = None) -> Path:
    """Where the judgments of a run lie."""
    return (folder or ablations.folder()) / arm.study / f"{arm.slug}-{seed}.csv"


def heldout() -> str:
    """The held-out set's hash: judgments belong to one set."""
    return _sha(mini_judge.path())


def runs(folder: Path | None = None) -> pd.DataFrame:
    """One row a finished run: `LINE`. Raises: ValueError for a file that is no such table."""
    file = (folder or ablations.folder()) / RUNS
    if not file.is_file():
        return pd.DataFrame(columns=LINE)
    found = pd.read_csv(file, dtype={"digest": str, "base": str, "heldout": str, "judgments": str})
    if list(found.columns) != LINE:
        raise ValueError(f"{file}: columns {', '.join(found.columns)}, not {', '.join(LINE)}; delete it and run again")
    return found


def done(arm: Arm, seed: int, digest: str, folder: Path | None = None) -> bool:
    """Whether a run of just this kind is there, with the judgments that it wrote."""
    table = runs(folder)
    mine = table[(table["study"] == arm.study) & (table["arm"] == arm.name) & (table["seed"] == seed)]
    file = path(arm, seed, folder)
    if mine.empty or not file.is_file():
        return False
    line = mine.iloc[0]
    return bool(line["digest"] == digest and line["heldout"] == heldout() and line["judgments"] == _sha(file))


def keep(arm: Arm, seed: int, rows: pd.DataFrame, told: Mapping[str, Any], folder: Path | None = None) -> None:
    """Write a run's judgments, then its line: a run without a line is made again."""
    file = path(arm, seed, folder)
    files.write_text(file, rows[COLUMNS].to_csv(index=False, lineterminator="\n", float_format="%g"))
    line = {"study": arm.study, "arm": arm.name, "seed": seed, "heldout": heldout(), "judgments": _sha(file), **told}
    table = runs(folder)
    other = table[(table["study"] != arm.study) | (table["arm"] != arm.name) | (table["seed"] != seed)]
    both = pd.DataFrame([*other.to_dict("records"), line])[LINE]
    places = {(study, one.name): n for n, (study, arms) in enumerate(STUDIES.items()) for one in arms}
    order = [(places.get((row.study, row.arm), 99), _place(row.study, row.arm), row.seed) for row in both.itertuples()]
    both = both.iloc[sorted(range(len(both)), key=order.__getitem__)]
    files.write_text((folder or ablations.folder()) / RUNS, both.to_csv(index=False, lineterminator="\n"))


def read(study: str, folder: Path | None = None) -> pd.DataFrame:
    """The judgments of all runs of a study, with `arm` and `seed`.

    Raises: ValueError for an unknown study, and judgments that are not those of the run's line or of another held-out
    set; FileNotFoundError that names the command.
    """
    if study not in STUDIES:
        raise ValueError(f"study {study!r}; there are {', '.join(STUDIES)}")
    table = runs(folder)
    known = {one.name: one for one in STUDIES[study]}
    found = []
    for line in table[(table["study"] == study) & table["arm"].isin(known)].itertuples():
        file = path(known[line.arm], line.seed, folder)
        if not file.is_file() or _sha(file) != line.judgments:
            raise ValueError(f"{file} is not what its run wrote; restore it, or `make mini-ablations` makes it again")
        if line.heldout != heldout():
            raise ValueError(f"{file} judges another held-out set; `make mini-ablations` judges this one")
        rows = pd.read_csv(
            file, keep_default_na=False, na_values={"value": [""]}, dtype={"value": float}, float_precision="round_trip"
        )
        found.append(rows.assign(arm=line.arm, seed=line.seed))
    if not found:
        raise FileNotFoundError(
            f"no run of {study} under {folder or ablations.folder()}; `make mini-ablations` runs it"
        )
    return pd.concat(found, ignore_index=True)


def _place(study: str, name: str) -> int:
    return next((n for n, one in enumerate(STUDIES.get(study, ())) if one.name == name), 99)


def _sha(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
