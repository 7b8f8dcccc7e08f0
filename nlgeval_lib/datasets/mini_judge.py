"""The two embedded sets, for exercise and tests only: no person rated them, and nothing
is fetched for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import frame
from nlgeval_lib.datasets.registry import DataUnavailable

MINI = "mini/mini.jsonl"  # below data/, in the repository
FILE = "heldout.jsonl"  # of mini_judge
RUBRICS = "rubrics.jsonl"  # of mini_judge, one an aspect
# What the judge said when it was measured, beside its checkpoint.
JUDGMENTS = "judgments.csv"
ANALYSES = "analyses.jsonl"

SPECS = {
    "mini": frame.known("mini", embedded=(MINI,)),
    "mini_judge": frame.known(
        "mini_judge", embedded=(f"mini/judge/{FILE}", f"mini/judge/{RUBRICS}")
    ),
}
# the columns that both sets take as their files have them
_COPIED = ("input_id", "system_id", "source", "reference", "output", "instruction")


def folder() -> Path:
    """Where the judge's set lies in the checkout, beside the checkpoint."""
    return files.data() / "mini" / "judge"


def path() -> Path:
    """The judge's set itself."""
    return folder() / FILE


def load(name: str) -> pd.DataFrame:
    """One of the sets in file order; `human` is no rating: it is the gold score of the
    output's construction.

    mini: 75 sources x 8 degradations, aspect `quality` 0-1; a source is an input.
    `kind` is the task of the source (summary, dialogue, data-to-text, question,
    arithmetic), `degradation` what was done to the output (`system_id` names it too),
    `severity` 0-5 how much, `errors` a tuple of the errors put in.
    mini_judge: the miniature judge's held-out 50 records x 6 systems, five aspects 1-5;
    a record is an input. `system_id` names a make-believe system by the errors it
    makes. `human` is 5 minus the penalties of the errors that were put in, at least 1.
    `errors` has a dict an error (kind, key, location, correction, penalty), `kinds`
    their kinds, `penalty` the sum that an error analysis should find. `rubric` is
    Prometheus', one an aspect; `domain` what the record is about.
    Raises: DataUnavailable where a file is not in the checkout; ValueError naming a
    broken line.
    """
    spec = SPECS[name]
    records = _embedded(name, spec.embedded[0])
    if name == "mini_judge":
        rubrics = _embedded(name, spec.embedded[1])
        return build(records, {entry["aspect"]: entry["rubric"] for entry in rubrics})
    rows = []
    for record in records:
        row = {key: record[key] for key in (*_COPIED, "kind", "degradation")}
        row["severity"] = float(record["severity"])
        row["errors"] = tuple(record["errors"])
        row["human"] = {"quality": float(record["gold"])}
        rows.append(row)
    return frame.build(spec, rows)


def build(
    records: Sequence[Mapping[str, Any]], rubrics: Mapping[str, str]
) -> pd.DataFrame:
    """The long frame of `mini_judge` from its records; rubrics: aspect -> text."""
    rows = []
    for record in records:
        errors = record["errors"]
        row = {key: record[key] for key in (*_COPIED, "domain")}
        row["errors"] = tuple(errors)
        row["kinds"] = tuple(error["kind"] for error in errors)
        row["penalty"] = float(record["penalty"])
        row["human"] = record["gold"]
        row["rubric"] = rubrics
        rows.append(row)
    return frame.build(SPECS["mini_judge"], rows)


def judgments(place: Path | None = None) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """What the judge said when it was measured: a frame `form, aspect, input_id,
    system_id, gold, value, status`, a row a judgment; and the error analyses as they
    were read, each with `input_id`, `system_id` and `errors`. Gold is by construction.

    place: the folder of another checkpoint; None: the judge's own.
    Raises: FileNotFoundError that names the command.
    """
    place = place or folder()
    path = place / JUDGMENTS
    if not path.is_file():
        raise FileNotFoundError(
            f"no {JUDGMENTS} in {place}; `make mini-judge` writes it"
        )
    lines = (place / ANALYSES).read_text(encoding="utf-8").splitlines()
    analyses = [json.loads(line) for line in lines]
    return pd.read_csv(path, float_precision="round_trip"), analyses


def _embedded(name: str, relpath: str) -> list[dict[str, Any]]:
    """The records of a file below data/ that belongs to the repository, one a line."""
    path = files.data() / relpath
    if not path.is_file():
        raise DataUnavailable(
            f"{name} is unavailable: data/{relpath} is not in this checkout; "
            "restore it from the repository"
        )
    records = []
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise ValueError(
                f"data/{relpath}, line {number}: not JSON: {error}"
            ) from None
    return records
