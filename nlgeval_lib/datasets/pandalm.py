"""PandaLM's test set: pairs of five models' answers, each judged by three raters."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame, pairs

FILE = "pandalm/testset-v1.json"
RATERS = ("annotator1", "annotator2", "annotator3")
SPEC = frame.known("pandalm", FILE)


def pair_id(number: int) -> str:
    """The name of the file's pair of this number, its `idx`."""
    return f"pandalm-{number:03d}"


def load() -> pd.DataFrame:
    """999 pairs in file order: an instruction, two models' answers, three raters.

    rater_0 to rater_2 say 1, 2, or 0 for a tie; `preference` is what most say; where
    the three say three things, it is a tie. `source` is the instruction's input, often
    "". An input is an instruction with its source. The systems are five models of about
    7 billion parameters.
    """
    records = fetch.json_file(FILE)
    by_rater = []
    for name in RATERS:
        by_rater.append([record[name] for record in records])
    preferences = pairs.majority(np.array(by_rater))
    rows = []
    inputs: dict[tuple[str, str], str] = {}
    for record, preference in zip(records, preferences, strict=True):
        question = record["instruction"], record["input"]
        first, second = record["cmp_key"].split("_")
        row = {
            "input_id": inputs.setdefault(question, f"input-{len(inputs):03d}"),
            "pair_id": pair_id(record["idx"]),
            "system_1": first,
            "system_2": second,
            "preference": preference,
            "output_1": _text(record["response1"]),
            "output_2": _text(record["response2"]),
            "source": record["input"],
            "instruction": record["instruction"],
            "category": record["motivation_app"],
        }
        row |= {f"rater_{number}": record[name] for number, name in enumerate(RATERS)}
        rows.append(row)
    return pairs.build(SPEC, rows)


def _text(response: object) -> str:
    """A response as text: some that say a number or "true" are JSON's own in the file."""
    return response if isinstance(response, str) else json.dumps(response)
