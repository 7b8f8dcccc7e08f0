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
    """The id of each (source, context) in the file's records, by first appearance."""
    inputs = dict.fromkeys(map(_input, records))
    return {key: f"tc{number:02d}" for number, key in enumerate(inputs)}


def _input(record: dict) -> tuple[str, str]:
    """What an input is: the dialogue so far and the fact."""
    return record["source"], record["context"]


def load(ground_truth: bool = True) -> pd.DataFrame:
    """Topical-Chat: 60 inputs x 6 systems.

    ground_truth: whether the responses `Original Ground Truth` are among the systems;
    the papers use the 300 without.

    `human` is the mean of 3 raters. An input is a dialogue so far (`source`) with a
    fact (`context`). The reference is the ground truth on the same input, whose own
    rows have none (""). `unieval` holds UniEval's prediction for the aspect. Texts keep
    their blanks and line ends.
    """
    records = fetch.json_file(FILE)
    ids = input_ids(records)
    references = {}
    for record in records:
        if record["system_id"] == GROUND_TRUTH:
            references[_input(record)] = record["system_output"]
    rows = []
    for record in records:
        key = _input(record)
        is_truth = record["system_id"] == GROUND_TRUTH
        if is_truth and not ground_truth:
            continue
        rows.append(
            {
                "input_id": ids[key],
                "system_id": record["system_id"],
                "human": record["scores"],
                "source": record["source"],
                "reference": "" if is_truth else references[key],
                "output": record["system_output"],
                "context": record["context"],
                "unieval": record["predict_scores"],
            }
        )
    return frame.build(SPEC, rows, None if ground_truth else (300, 60, 5))
