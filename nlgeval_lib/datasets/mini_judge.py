"""The two embedded sets, for exercise and tests only: `mini`, short sources with
outputs degraded in known steps, and `mini_judge`, the miniature judge's held-out set of
records and texts about them, errors put in on purpose.
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
FILE = "heldout.jsonl"
RUBRICS = "rubrics.jsonl"

SPECS = {
    "mini": frame.known("mini", embedded=(MINI,)),
    "mini_judge": frame.known(
        "mini_judge", embedded=(f"mini/judge/{FILE}", f"mini/judge/{RUBRICS}")
    ),
}
_KNOWN = ("input_id", "system_id", "source", "reference", "output", "instruction")


def folder() -> Path:
    """Where the judge's set lies in the checkout, beside the checkpoint."""
    return files.data() / "mini" / "judge"


def path() -> Path:
    """The judge's set itself."""
    return folder() / FILE


def load(name: str) -> pd.DataFrame:
    """One of the sets in file order; `human` is no rating: it is the gold score of the
    output's construction.

    mini: 75 sources x 8 outputs, with `kind`, `degradation` (which `system_id` names),
    `severity` 0-5 and the injected `errors`. mini_judge: 50 records x 6 systems x 5
    aspects; `human` is 5 minus the penalties of the errors that were put in, 1 at
    least, and `system_id` names a make-believe system by the errors it makes. Further
    columns: `rubric` (Prometheus', one an aspect), `domain`, `errors` (kind, key,
    location, correction, penalty), `kinds`, and `penalty`, the sum that an error
    analysis should find.

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
        row = {key: record[key] for key in (*_KNOWN, "kind", "degradation")}
        row["severity"] = float(record["severity"])
        row["errors"] = tuple(record["errors"])
        row["human"] = {"quality": float(record["gold"])}
        rows.append(row)
    return frame.build(spec, rows)


def build(
    records: Sequence[Mapping[str, Any]], rubrics: Mapping[str, str]
) -> pd.DataFrame:
    """The long frame of the judge's records as the file has them; rubrics: aspect ->
    text.
    """
    rows = []
    for record in records:
        errors = record["errors"]
        row = {key: record[key] for key in (*_KNOWN, "domain")}
        row["errors"] = tuple(errors)
        row["kinds"] = tuple(error["kind"] for error in errors)
        row["penalty"] = float(record["penalty"])
        row["human"] = record["gold"]
        row["rubric"] = rubrics
        rows.append(row)
    return frame.build(SPECS["mini_judge"], rows)


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
