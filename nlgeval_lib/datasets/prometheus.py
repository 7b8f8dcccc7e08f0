"""Vicuna Bench, MT Bench and HHH Alignment in Prometheus' files, whose records have the
judge's whole prompt in one string. `feedback_bench` reads further files of the same
form.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame

DRAWS = 3  # GPT-4's scores of one response
# a whole prompt of absolute grading, heading by heading
_PROMPT = re.compile(
    r"###Task Description:\n(?P<task>.*?)\n\n"
    r"###The instruction to evaluate:\n(?P<instruction>.*?)\n\n"
    r"###Response to evaluate:\n(?P<output>.*?)\n\n"
    r"(?:###Reference Answer \(Score 5\):\n(?P<reference>.*?)\n\n)?"
    r"###Score Rubrics:\n(?P<rubric>.*?)\n\n"
    r"###Feedback:\s*",
    re.DOTALL,
)
# any heading: each must be there once, also inside the texts
_HEADING = re.compile(
    "(?m)^###(?:Task Description|The instruction to evaluate|Response to evaluate"
    r"|Reference Answer \(Score 5\)|Score Rubrics|Feedback):"
)
SPECS = {
    "vicuna_bench": frame.known("vicuna_bench", "prometheus/vicuna_eval.json"),
    "mt_bench": frame.known("mt_bench", "prometheus/mt_bench_eval.json"),
    "hhh": frame.known("hhh", "prometheus/hhh_alignment_eval.json"),
}
# what `split` gives, in order
PARTS = ("instruction", "output", "reference", "rubric")


def split(prompt: str) -> tuple[str, ...]:
    """An absolute-grading prompt taken apart at its headings: the texts that `PARTS`
    names. Raises: ValueError where a heading is missing, there twice, or out of order.
    """
    match = _PROMPT.fullmatch(prompt)
    # A heading inside a text would cut that text short: count them all.
    headings = len(_HEADING.findall(prompt))
    if match:
        headings -= match["reference"] is not None
    if not match or headings != 5:
        raise ValueError(
            "the prompt has not the expected headings, each once and in order: "
            f"{prompt[:80]!r}..."
        )
    return tuple(text or "" for text in match.group(*PARTS))


def parts(prompt: str) -> dict[str, str]:
    """The columns of a prompt: `prompt` itself, and its `PARTS`. Raises: as `split`."""
    return {"prompt": prompt, **dict(zip(PARTS, split(prompt), strict=True))}


def load(name: str) -> pd.DataFrame:
    """One of the sets in file order, with the judge's whole prompt and each input's
    rubric.

    vicuna_bench, mt_bench: 80 inputs x 4 models, aspect `overall` 1-5, one rubric and
    reference an input. The inputs of mt_bench are second turns: `instruction` holds the
    model's own first answer and differs between models. `human` is NaN: the gold scores
    are GPT-4-0613's, in rater_gpt4_0 to rater_gpt4_2, with `gpt4` their mean and
    `feedback_gpt4_0` to `_2` its feedbacks.
    hhh: 221 pairs, each an input; aspect `preference` 0-1. The response `chosen` (its
    system_id) comes first, with `human` 1, before `rejected`, with 0. No references.
    """
    records = fetch.json_file(SPECS[name].files[0])
    rows: list[dict[str, Any]] = []
    for number, record in enumerate(records):
        if name == "hhh":
            preferences = {"chosen": 1.0, "rejected": 0.0}
            category = {"category": record["source"]}
            rows += pair(f"hhh-{number:03d}", record, preferences, category)
        else:
            rows.append(_graded(record))
    return frame.build(SPECS[name], rows)


def _graded(record: dict[str, Any]) -> dict[str, Any]:
    """The row of a response of a bench."""
    scores = [float(score) for score in record["gpt4_score"]]
    row = {
        "input_id": str(record["idx"]),
        "system_id": record["response_source"],
        "category": record["category"],
        **parts(record["instruction"]),
        "human": {"overall": np.nan},
        "gpt4": float(np.mean(scores)),
    }
    for draw in range(DRAWS):
        row[f"feedback_gpt4_{draw}"] = record["gpt4_feedback"][draw]
    for draw in range(DRAWS):
        row[f"rater_gpt4_{draw}"] = {"overall": scores[draw]}
    return row


def pair(
    input_id: str,
    record: dict[str, Any],
    preferences: dict[str, float],
    columns: dict[str, Any],
) -> list[dict[str, Any]]:
    """The two rows of a pair, the chosen response first, with further columns. Raises:
    ValueError where the two responses answer different instructions.
    """
    rows = []
    for response, preference in preferences.items():
        row = {"input_id": input_id, "system_id": response, **columns}
        row |= parts(record[f"{response}_instruction"])
        del row["reference"]
        row["human"] = {"preference": preference}
        rows.append(row)
    if rows[0]["instruction"] != rows[1]["instruction"]:
        raise ValueError("the two answer other instructions")
    return rows
