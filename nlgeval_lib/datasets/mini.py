"""The embedded mini set: short sources with outputs degraded in known steps. For exercise and tests only."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import frame
from nlgeval_lib.datasets.frame import known
from nlgeval_lib.datasets.registry import DataUnavailable

FILE = "mini/mini.jsonl"  # below data/, in the repository

SPEC = known("mini", embedded=(FILE,))


def load() -> pd.DataFrame:
    """The mini set in file order: 75 sources x 8 outputs, with kind, degradation, severity 0-5, injected errors.

    `human` is no rating: it is the gold score of the output's construction. `system_id` names the degradation.
    Raises: DataUnavailable where data/mini is not in the checkout; ValueError naming a broken line.
    """
    records = embedded(SPEC.name, FILE)
    names = ("input_id", "system_id", "source", "reference", "output", "instruction", "kind", "degradation")
    items: dict[str, list[Any]] = {name: [r[name] for r in records] for name in names}
    items["severity"] = [float(r["severity"]) for r in records]
    items["errors"] = [tuple(r["errors"]) for r in records]
    return frame.build(SPEC, items, {"quality": [float(r["gold"]) for r in records]})


def embedded(name: str, relpath: str) -> list[dict[str, Any]]:
    """The records of a file below data/ that belongs to the repository, one a line.

    Raises: DataUnavailable without the file; ValueError naming a broken line.
    """
    path = files.data() / relpath
    if not path.is_file():
        gone = f"data/{relpath} is not in this checkout; restore it from the repository"
        raise DataUnavailable(f"{name} is unavailable: {gone}")
    records = []
    for number, line in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"data/{relpath}, line {number}: not JSON: {error}") from None
    return records
