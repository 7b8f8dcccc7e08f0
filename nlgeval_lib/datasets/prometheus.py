"""Vicuna Bench, MT Bench and HHH Alignment in Prometheus' files: prompts that are taken apart here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame
from nlgeval_lib.datasets.frame import Spec, expect, known

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

SPECS = {
    "vicuna_bench": known("vicuna_bench", "prometheus/vicuna_eval.json"),
    "mt_bench": known("mt_bench", "prometheus/mt_bench_eval.json"),
    "hhh": known("hhh", "prometheus/hhh_alignment_eval.json"),
}
PARTS = ("instruction", "output", "reference", "rubric")


def split(prompt: str) -> tuple[str, ...]:
    """Take an absolute-grading prompt apart at its headings: `PARTS`, an empty reference where the prompt has none.

    Raises: ValueError where a heading is missing, there twice, or out of order.
    """
    found = _PROMPT.fullmatch(prompt)
    if not found or len(re.findall("(?m)^###", prompt)) != 5 + (found["reference"] is not None):
        raise ValueError(f"the prompt has not the expected headings, each once and in order: {prompt[:80]!r}...")
    return tuple(text or "" for text in found.group(*PARTS))


def _items(prompts: Sequence[str], parts: Sequence[str]) -> dict[str, list[str]]:
    """The prompts and some of their parts, a column each."""
    taken = pd.DataFrame(map(split, prompts), columns=PARTS)
    return {"prompt": list(prompts), **{name: taken[name].tolist() for name in parts}}


def load(name: str) -> pd.DataFrame:
    """One of the sets in file order, with the judge's whole prompt as published, and each instruction's rubric.

    The benches: 80 instructions x 4 models, with references. `human` is NaN: the gold scores are GPT-4-0613's, in
    rater_gpt4_0..2, with `gpt4` their mean and its feedbacks. HHH: pairs of which the response `chosen` comes first,
    with `human` 1, before the one `rejected`, with 0; no references.
    """
    records = fetch.json_file(SPECS[name].files[0])
    return _pairs(records) if name == "hhh" else _graded(SPECS[name], records)


def _graded(spec: Spec, records: list[dict]) -> pd.DataFrame:
    scores = np.array([record["gpt4_score"] for record in records], dtype=float)
    items: dict[str, Any] = {
        "input_id": [str(record["idx"]) for record in records],
        "system_id": [record["response_source"] for record in records],
        "category": [record["category"] for record in records],
        **_items([record["instruction"] for record in records], PARTS),
        "gpt4": scores.mean(axis=1),
    }
    for draw in range(DRAWS):
        items[f"feedback_gpt4_{draw}"] = [record["gpt4_feedback"][draw] for record in records]
    raters = {f"rater_gpt4_{draw}": {"overall": scores[:, draw]} for draw in range(DRAWS)}
    return frame.build(spec, items, {"overall": np.full(len(records), np.nan)}, raters=raters)


def _pairs(pairs: list[dict]) -> pd.DataFrame:
    spec = SPECS["hhh"]
    rows = [(number, pair, side) for number, pair in enumerate(pairs) for side in ("chosen", "rejected")]
    items = {
        "input_id": [f"hhh-{number:03d}" for number, _, _ in rows],
        "system_id": [side for _, _, side in rows],
        "category": [pair["source"] for _, pair, _ in rows],
        **_items([pair[f"{side}_instruction"] for _, pair, side in rows], ("output", "instruction", "rubric")),
    }
    asked = items["instruction"]
    same = sum(one == other for one, other in zip(asked[::2], asked[1::2], strict=True))
    expect(spec.name, "pairs whose responses answer the same instruction", same, spec.n_inputs)
    return frame.build(spec, items, {"preference": [float(side == "chosen") for _, _, side in rows]})
