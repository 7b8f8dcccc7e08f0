"""Topical-Chat with USR's annotations: 60 dialogue contexts, 6 responses each, six aspects."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, frame
from nlgeval_lib.datasets.frame import known

FILE = "topical_chat/unieval_topical_chat_result.json"
GROUND_TRUTH = "Original Ground Truth"

SPEC = known("topical_chat", FILE)


def input_ids(records: list[dict]) -> dict[tuple[str, str], str]:
    """The id of each (source, context) in the records, numbered by first appearance."""
    numbers: dict[tuple[str, str], str] = {}
    for record in records:
        numbers.setdefault((record["source"], record["context"]), f"tc{len(numbers):02d}")
    return numbers


def load(ground_truth: bool = True) -> pd.DataFrame:
    """Topical-Chat: 360 responses, or the 300 that are not the ground truth. Strings keep their blanks and line ends.

    `source` is the dialogue so far, `context` the fact; the reference is the ground truth on the same context, whose
    own rows have none. `human` is the mean of 3 raters; `unieval` holds UniEval's prediction for the aspect.
    """
    records = fetch.json_file(FILE)
    numbers = input_ids(records)
    truth = {(r["source"], r["context"]): r["system_output"] for r in records if r["system_id"] == GROUND_TRUTH}
    kept = [r for r in records if ground_truth or r["system_id"] != GROUND_TRUTH]
    items = {
        "input_id": [numbers[r["source"], r["context"]] for r in kept],
        "system_id": [r["system_id"] for r in kept],
        "source": [r["source"] for r in kept],
        "reference": ["" if r["system_id"] == GROUND_TRUTH else truth[r["source"], r["context"]] for r in kept],
        "output": [r["system_output"] for r in kept],
        "context": [r["context"] for r in kept],
    }
    per_aspect = {"unieval": [r["predict_scores"] for r in kept]}
    counts = None if ground_truth else (300, 60, 5)
    return frame.build(SPEC, items, [r["scores"] for r in kept], per_aspect=per_aspect, counts=counts)
