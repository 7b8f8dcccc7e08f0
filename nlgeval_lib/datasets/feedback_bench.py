"""Feedback Bench, FLASK Eval and MT Bench's human judgments in Prometheus' files: of
the same form as the siblings that `prometheus` reads, fetched only when asked for.

Behind prompts a quote and a comma may stand; `gpt4_score` is one whole number in
Feedback Bench and a list in FLASK Eval, which has `human_score`, a list; pairs have
`chosen_instruction`, `rejected_instruction` and `tie`. Another form is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame, prometheus

FILES = {
    "feedback_bench_seen": "prometheus/feedback_collection_test.json",
    "feedback_bench_unseen": "prometheus/feedback_collection_ood_test.json",
    "flask_eval": "prometheus/flask_eval.json",
    "mt_bench_human": "prometheus/mt_bench_human_judgement_eval.json",
}
SPECS = {name: frame.known(name, relpath) for name, relpath in FILES.items()}
SIMULATED = "simulated GPT-4"  # Prometheus, Table 5: it wrote a response for each score
UNNAMED = "not named"  # the system of a response whose record names none


def load(name: str) -> pd.DataFrame:
    """One of the sets in file order, with `prompt` (whole), `instruction`, `output`,
    `rubric` and, but for pairs, `reference`.

    Feedback Bench (seen and unseen rubrics): 1,000 inputs x 1 system (the simulated
    GPT-4), aspect `overall` 1-5; each response is its own input. `human` is NaN;
    `gpt4`, and `rater_gpt4_0`, is the score that GPT-4 was asked to write the response
    for, with its feedback in `feedback_gpt4_0`.
    FLASK Eval: aspect `overall` 1-5, an input is an instruction with its rubric, a
    system the record's `response_source`. `human` is the mean of people's scores,
    `gpt4` that of GPT-4's, which are in rater_gpt4_0 and on.
    MT Bench's human judgments: pairs as `hhh` has them; of a tie, which `tie` says,
    both have .5.
    Raises: ValueError for a file of another form.
    """
    rows: list[dict[str, Any]] = []
    inputs: dict[tuple[str, str], str] = {}
    for number, record in enumerate(_records(name)):
        try:
            if name == "mt_bench_human":
                rows += _pair(f"mt-{number:04d}", record)
            elif name == "flask_eval":
                rows.append(_flask(inputs, record))
            else:
                rubrics = name.rpartition("_")[2]
                rows.append(_written(f"{rubrics}-{number:04d}", record))
        except KeyError as error:
            raise ValueError(
                f"{name}: record {number} has no {error}; it has {', '.join(record)}; "
                "the file is not of the form that the reader was written for"
            ) from None
        except ValueError as error:
            raise ValueError(f"{name}: record {number}: {error}") from None
    # A frame has one column a draw, so that all responses need as many.
    draws = {sum(column.startswith("rater_gpt4_") for column in row) for row in rows}
    if len(draws) > 1:
        raise ValueError(f"{name}: GPT-4 has {sorted(draws)} scores of one response")
    return frame.build(SPECS[name], rows)


def _records(name: str) -> list[dict[str, Any]]:
    """The file's records, from one JSON list or a JSON value a line."""
    try:
        records = fetch.json_file(FILES[name])
    except json.JSONDecodeError:
        records = fetch.json_lines(FILES[name])
    is_list = isinstance(records, list) and bool(records)
    if not is_list or not all(isinstance(record, dict) for record in records):
        raise ValueError(f"{name}: {FILES[name]} is no list of records")
    return records


def _scores(values: Any) -> list[float]:
    """A list of scores of 1 to 5. Raises: ValueError for anything else."""
    if not isinstance(values, list) or not values:
        raise ValueError(f"{values!r} is no list of scores")
    for value in values:
        if type(value) not in (int, float) or not 1 <= value <= 5:
            raise ValueError(f"{value!r} is no score of 1 to 5")
    return list(map(float, values))


def _parts(text: Any) -> dict[str, str]:
    """The columns of a prompt, which has no quote and comma behind it."""
    return prometheus.parts(str(text).strip().rstrip('",').rstrip())


def _written(input_id: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """A row of Feedback Bench."""
    [score] = _scores([record["gpt4_score"]])
    return {
        "input_id": input_id,
        "system_id": SIMULATED,
        **_parts(record["instruction"]),
        "human": {"overall": np.nan},
        "gpt4": score,
        "rater_gpt4_0": {"overall": score},
        "feedback_gpt4_0": str(record["gpt4_feedback"]),
    }


def _flask(
    inputs: dict[tuple[str, str], str], record: Mapping[str, Any]
) -> dict[str, Any]:
    """A row of FLASK Eval; a new input, an instruction with its rubric, is added to
    `inputs`, which has the ids.
    """
    prompt = _parts(record["instruction"])
    key = (prompt["instruction"], prompt["rubric"])
    gpt4 = _scores(record["gpt4_score"])
    row = {
        "input_id": inputs.setdefault(key, f"flask-{len(inputs):04d}"),
        "system_id": str(record.get("response_source", UNNAMED)),
        **prompt,
        "human": {"overall": float(np.mean(_scores(record["human_score"])))},
        "gpt4": float(np.mean(gpt4)),
    }
    for draw, score in enumerate(gpt4):
        row[f"rater_gpt4_{draw}"] = {"overall": score}
    return row


def _pair(input_id: str, record: dict[str, Any]) -> list[dict[str, Any]]:
    """The two rows of a pair of MT Bench."""
    tie = record["tie"]
    if tie not in (0, 1):
        raise ValueError(f"tie is {tie!r}, not 0 or 1")
    preferences = {"chosen": 1.0, "rejected": 0.0}
    if tie:
        preferences = dict.fromkeys(preferences, 0.5)
    columns = {"category": "human preference", "tie": int(tie)}
    cleaned = dict(record)
    for response in preferences:
        text = record[f"{response}_instruction"]
        cleaned[f"{response}_instruction"] = str(text).strip().rstrip('",').rstrip()
    return prometheus.pair(input_id, cleaned, preferences, columns)
