"""The embedded mini set: short sources with outputs degraded in known steps. For exercise and tests only."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import frame
from nlgeval_lib.datasets.frame import Spec
from nlgeval_lib.datasets.registry import DataUnavailable

FILE = "mini/mini.jsonl"  # below data/, in the repository

SPEC = Spec(
    name="mini",
    title="Embedded mini set",
    files=(),
    n_items=600,
    n_inputs=75,
    n_systems=8,
    scale={"quality": (0, 1)},
    licence="the licence of this repository",
    source="written for this project",
    embedded=(FILE,),
)


def load() -> pd.DataFrame:
    """The mini set in file order: 75 sources x 8 outputs, with kind, degradation, severity 0-5, injected errors.

    `human` is no rating: it is the gold score of the output's construction. `system_id` names the degradation.
    Raises: DataUnavailable where data/mini is not in the checkout; ValueError naming a broken line.
    """
    records = embedded(SPEC.name, FILE)
    items = {
        "input_id": [r["input_id"] for r in records],
        "system_id": [r["system_id"] for r in records],
        "source": [r["source"] for r in records],
        "reference": [r["reference"] for r in records],
        "references": [(r["reference"],) for r in records],
        "output": [r["output"] for r in records],
        "instruction": [r["instruction"] for r in records],
        "kind": [r["kind"] for r in records],
        "degradation": [r["degradation"] for r in records],
        "severity": [float(r["severity"]) for r in records],
        "errors": [tuple(r.get("errors", ())) for r in records],
    }
    return frame.build(SPEC, items, {"quality": [float(r["gold"]) for r in records]})


def embedded(name: str, relpath: str) -> list[dict[str, Any]]:
    """The records of a file below data/ that belongs to the repository, one a line.

    Raises: DataUnavailable without the file; ValueError naming a broken line.
    """
    path = files.data() / relpath
    if not path.is_file():
        raise DataUnavailable(
            f"{name} is unavailable: data/{relpath} is not in this checkout; restore it from the repository"
        )
    records = []
    for number, line in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"data/{relpath}, line {number}: not JSON: {error}") from None
    return records
