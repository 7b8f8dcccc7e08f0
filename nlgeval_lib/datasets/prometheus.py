"""Vicuna Bench, MT Bench and HHH Alignment in Prometheus' files: prompts that are taken apart here."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame
from nlgeval_lib.datasets.frame import Spec, expect

SOURCE = "Kim et al. 2024, Prometheus: Inducing Fine-grained Evaluation Capability in Language Models"
DRAWS = 3
_PROMPT = re.compile(
    r"###Task Description:\n(?P<task>.*?)\n\n"
    r"###The instruction to evaluate:\n(?P<instruction>.*?)\n\n"
    r"###Response to evaluate:\n(?P<output>.*?)\n\n"
    r"(?:###Reference Answer \(Score 5\):\n(?P<reference>.*?)\n\n)?"
    r"###Score Rubrics:\n(?P<rubric>.*?)\n\n"
    r"###Feedback:\s*",
    re.DOTALL,
)


def _bench(name: str, title: str, file: str) -> Spec:
    return Spec(
        name=name,
        title=title,
        files=(file,),
        n_items=320,
        n_inputs=80,
        n_systems=4,
        scale={"overall": (1, 5)},
        licence="Apache-2.0",
        source=SOURCE,
    )


SPECS = {
    "vicuna_bench": _bench("vicuna_bench", "Vicuna Bench with custom rubrics", "prometheus/vicuna_eval.json"),
    "mt_bench": _bench("mt_bench", "MT Bench with custom rubrics", "prometheus/mt_bench_eval.json"),
    "hhh": Spec(
        name="hhh",
        title="HHH Alignment preference pairs",
        files=("prometheus/hhh_alignment_eval.json",),
        n_items=442,
        n_inputs=221,
        n_systems=2,
        scale={"preference": (0, 1)},
        licence="Apache-2.0",
        source="Askell et al. 2021, A General Language Assistant as a Laboratory for Alignment; " + SOURCE,
    ),
}


class Parts(NamedTuple):
    """What one prompt asks about; `reference` is empty where the prompt has none."""

    instruction: str
    output: str
    reference: str
    rubric: str


def split(prompt: str) -> Parts:
    """Take an absolute-grading prompt apart at its headings.

    Raises: ValueError where a heading is missing, there twice, or out of order.
    """
    found = _PROMPT.fullmatch(prompt)
    if not found or len(re.findall("(?m)^###", prompt)) != 5 + (found["reference"] is not None):
        raise ValueError(f"the prompt has not the expected headings, each once and in order: {prompt[:80]!r}...")
    return Parts(found["instruction"], found["output"], found["reference"] or "", found["rubric"])


def load(name: str) -> pd.DataFrame:
    """One of the sets in file order, with the judge's whole prompt as published, and each instruction's rubric.

    The benches: 80 instructions x 4 models, with references. `human` is NaN: the gold scores are GPT-4-0613's, in
    rater_gpt4_0..2, with `gpt4` their mean and its feedbacks. HHH: pairs of which the response `chosen` comes first,
    with `human` 1, before the one `rejected`, with 0; no references.
    """
    records = fetch.json_file(SPECS[name].files[0])
    return _pairs(records) if name == "hhh" else _graded(SPECS[name], records)


def _graded(spec: Spec, records: list[dict]) -> pd.DataFrame:
    parts = [split(record["instruction"]) for record in records]
    scores = np.array([record["gpt4_score"] for record in records], dtype=float)
    items = {
        "input_id": [str(record["idx"]) for record in records],
        "system_id": [record["response_source"] for record in records],
        "reference": [part.reference for part in parts],
        "references": [(part.reference,) for part in parts],
        "output": [part.output for part in parts],
        "instruction": [part.instruction for part in parts],
        "rubric": [part.rubric for part in parts],
        "category": [record["category"] for record in records],
        "prompt": [record["instruction"] for record in records],
        "gpt4": scores.mean(axis=1),
    }
    for draw in range(DRAWS):
        items[f"feedback_gpt4_{draw}"] = [record["gpt4_feedback"][draw] for record in records]
    raters = {f"rater_gpt4_{draw}": {"overall": scores[:, draw]} for draw in range(DRAWS)}
    return frame.build(spec, items, {"overall": np.full(len(records), np.nan)}, raters=raters)


def _pairs(pairs: list[dict]) -> pd.DataFrame:
    spec = SPECS["hhh"]
    rows = [(number, pair, side) for number, pair in enumerate(pairs) for side in ("chosen", "rejected")]
    prompts = [pair[f"{side}_instruction"] for _, pair, side in rows]
    parts = [split(prompt) for prompt in prompts]
    same = sum(parts[row].instruction == parts[row + 1].instruction for row in range(0, len(rows), 2))
    expect(spec.name, "pairs whose responses answer the same instruction", same, spec.n_inputs)
    items = {
        "input_id": [f"hhh-{number:03d}" for number, _, _ in rows],
        "system_id": [side for _, _, side in rows],
        "output": [part.output for part in parts],
        "instruction": [part.instruction for part in parts],
        "rubric": [part.rubric for part in parts],
        "category": [pair["source"] for _, pair, _ in rows],
        "prompt": prompts,
    }
    return frame.build(spec, items, {"preference": [float(side == "chosen") for _, _, side in rows]})
