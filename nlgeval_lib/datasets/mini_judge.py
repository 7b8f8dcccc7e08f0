"""The miniature judge's held-out set: records, texts about them, errors put in on purpose. For exercise and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import frame
from nlgeval_lib.datasets.frame import known
from nlgeval_lib.datasets.mini import embedded

FILE, RUBRICS = "heldout.jsonl", "rubrics.jsonl"

SPEC = known("mini_judge", embedded=(f"mini/judge/{FILE}", f"mini/judge/{RUBRICS}"))
_TEXTS = ("input_id", "system_id", "domain", "instruction", "source", "reference", "output")


def folder() -> Path:
    """Where the set lies in the checkout, beside the checkpoint."""
    return files.data() / "mini" / "judge"


def path() -> Path:
    """The set's file."""
    return folder() / FILE


def load() -> pd.DataFrame:
    """The held-out set in file order: 50 records x 6 systems x 5 aspects, with the errors that were put in.

    `human` is no rating: it is 5 minus the penalties of the errors that were put in, 1 at least. `system_id` names a
    make-believe system by the errors it makes. Further columns: `rubric` (Prometheus', one an aspect), `domain`,
    `errors` (kind, key, location, correction, penalty), `kinds`, and `penalty`, the sum that an error analysis should
    find.

    Raises: DataUnavailable where the file is not in the checkout; ValueError naming a broken line.
    """
    records, rubrics = (embedded(SPEC.name, relpath) for relpath in SPEC.embedded)
    return build(records, {record["aspect"]: record["rubric"] for record in rubrics})


def build(records: Sequence[Mapping[str, Any]], rubrics: Mapping[str, str]) -> pd.DataFrame:
    """The long frame of records as the file has them; rubrics: aspect -> text."""
    items: dict[str, list[Any]] = {name: [record[name] for record in records] for name in _TEXTS}
    items["errors"] = [tuple(record["errors"]) for record in records]
    items["kinds"] = [tuple(error["kind"] for error in record["errors"]) for record in records]
    items["penalty"] = [float(record["penalty"]) for record in records]
    gold = [record["gold"] for record in records]
    return frame.build(SPEC, items, gold, per_aspect={"rubric": [rubrics] * len(records)})
