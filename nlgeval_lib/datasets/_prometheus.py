"""Prometheus' evaluation files keep instruction, response, reference and rubric in one prompt: taken apart here."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import _read, frame
from nlgeval_lib.datasets.specs import Spec, expect

SOURCE = "Kim et al. 2024, Prometheus: Inducing Fine-grained Evaluation Capability in Language Models"
DRAWS = 3
_HEADINGS = {
    "task": "###Task Description:\n",
    "instruction": "###The instruction to evaluate:\n",
    "output": "###Response to evaluate:\n",
    "reference": "###Reference Answer (Score 5):\n",
    "rubric": "###Score Rubrics:\n",
    "end": "###Feedback:",
}


class Parts(NamedTuple):
    """What one prompt asks about; `reference` is empty where the prompt has none."""

    instruction: str
    output: str
    reference: str
    rubric: str


def split(prompt: str, reference: bool = True) -> Parts:
    """Take an absolute-grading prompt apart at its headings.

    Raises: ValueError where a heading is missing, there twice, or out of order.
    """
    names = [name for name in _HEADINGS if reference or name != "reference"]
    starts = []
    for name in names:
        heading = _HEADINGS[name]
        found = [hit.start() for hit in re.finditer(f"(?m)^{re.escape(heading)}", prompt)]
        if len(found) != 1:
            raise ValueError(
                f"heading {heading.strip()!r} is there {len(found)} times, expected once: {prompt[:80]!r}..."
            )
        starts.append((found[0], found[0] + len(heading)))
    if starts != sorted(starts) or starts[0][0] != 0 or prompt[starts[-1][1] :].strip():
        raise ValueError(f"the headings are not in the expected order, or text follows the last: {prompt[:80]!r}...")
    text = {}
    for number, name in enumerate(names[:-1]):
        body = prompt[starts[number][1] : starts[number + 1][0]]
        text[name] = body.removesuffix("\n\n")
    return Parts(text["instruction"], text["output"], text.get("reference", ""), text["rubric"])


def bench_spec(name: str, title: str, licence: str = "Apache-2.0") -> Spec:
    """The spec of one of the two benches of 80 instructions x 4 models."""
    return Spec(
        name=name,
        title=title,
        files=(bench_file(name),),
        n_items=320,
        n_inputs=80,
        n_systems=4,
        scale={"overall": (1, 5)},
        licence=licence,
        source=SOURCE,
        notes=(
            "human is NaN: the gold scores are GPT-4-0613's, in rater_gpt4_0..2, `gpt4` their mean",
            "each instruction has its own rubric; `prompt` is the judge's whole prompt as published",
        ),
    )


def bench_file(name: str) -> str:
    """The registry path of a bench."""
    return {"vicuna_bench": "prometheus/vicuna_eval.json", "mt_bench": "prometheus/mt_bench_eval.json"}[name]


def load_bench(spec: Spec) -> pd.DataFrame:
    """Vicuna Bench or MT Bench in file order: 320 outputs with GPT-4's three scores and feedbacks."""
    relpath = bench_file(spec.name)
    records = _read.json_file(relpath)
    expect(spec.name, "records", len(records), spec.n_items)
    parts = [split(record["instruction"]) for record in records]
    scores = np.array([record["gpt4_score"] for record in records], dtype=float)
    expect(spec.name, "scores an output", scores.shape, (spec.n_items, DRAWS))
    expect(spec.name, "scores outside 1 to 5", int(((scores < 1) | (scores > 5)).sum()), 0)
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
    human = {"overall": np.full(len(records), np.nan)}
    return frame.build(spec, items, human, raters=raters, files=[relpath])
