"""Topical-Chat with USR's annotations: 60 dialogue contexts, 6 responses each, six
aspects.
"""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, frame

FILE = "topical_chat/unieval_topical_chat_result.json"
GROUND_TRUTH = "Original Ground Truth"

SPEC = frame.known("topical_chat", FILE)


def input_ids(records: list[dict]) -> dict[tuple[str, str], str]:
    """The id of each (source, context) in the records, numbered by first appearance."""
    known = dict.fromkeys((record["source"], record["context"]) for record in records)
    return {key: f"tc{number:02d}" for number, key in enumerate(known)}


def load(ground_truth: bool = True) -> pd.DataFrame:
    """Topical-Chat: 360 responses, or the 300 that are not the ground truth. Strings
    keep their blanks and line ends.

    `source` is the dialogue so far, `context` the fact; the reference is the ground
    truth on the same context, whose own rows have none. `human` is the mean of 3
    raters; `unieval` holds UniEval's prediction for the aspect.
    """
    records = fetch.json_file(FILE)
    numbers = input_ids(records)
    truth = {
        (r["source"], r["context"]): r["system_output"]
        for r in records
        if r["system_id"] == GROUND_TRUTH
    }
    rows = [
        {
            "input_id": numbers[r["source"], r["context"]],
            "system_id": r["system_id"],
            "human": r["scores"],
            "source": r["source"],
            "reference": ""
            if r["system_id"] == GROUND_TRUTH
            else truth[r["source"], r["context"]],
            "output": r["system_output"],
            "context": r["context"],
            "unieval": r["predict_scores"],
        }
        for r in records
        if ground_truth or r["system_id"] != GROUND_TRUTH
    ]
    return frame.build(SPEC, rows, None if ground_truth else (300, 60, 5))
