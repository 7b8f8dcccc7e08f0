"""The embedded mini set: short sources with outputs degraded in known steps. For exercise and tests only."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import _read, frame, verify
from nlgeval_lib.datasets.specs import Spec

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
    notes=(
        "human is no rating: it is the gold score of the output's construction",
        "system_id names the degradation",
    ),
)
_FIELDS = (
    "input_id",
    "kind",
    "instruction",
    "source",
    "reference",
    "output",
    "degradation",
    "severity",
    "gold",
    "system_id",
)


def path() -> Path:
    """Where the mini set lies in the checkout."""
    return files.data() / FILE


def load() -> pd.DataFrame:
    """The mini set in file order: 75 sources x 8 outputs, with kind, degradation, severity 0-5, injected errors.

    Raises: DataUnavailable where data/mini is not in the checkout; ValueError naming a broken line.
    """
    records = _read.embedded("mini", path(), f"data/{FILE}", _FIELDS)
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
    long = frame.build(SPEC, items, {"quality": [float(r["gold"]) for r in records]})
    long.attrs["sha256"] = {FILE: verify.sha256(path())}
    return long
