"""HHH Alignment: 221 pairs of responses of which one was preferred, in Prometheus' prompts."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _prometheus, _read, frame
from nlgeval_lib.datasets.specs import Spec, expect

FILE = "prometheus/hhh_alignment_eval.json"

SPEC = Spec(
    name="hhh",
    title="HHH Alignment preference pairs",
    files=(FILE,),
    n_items=442,
    n_inputs=221,
    n_systems=2,
    scale={"preference": (0, 1)},
    licence="Apache-2.0",
    source="Askell et al. 2021, A General Language Assistant as a Laboratory for Alignment; " + _prometheus.SOURCE,
    notes=(
        "human: 1 for the preferred response of a pair, 0 for the other; input_id names the pair",
        "category: harmless 58, helpful 59, honest 61, other 43 pairs; no references",
    ),
)


def load() -> pd.DataFrame:
    """HHH Alignment pair by pair, the chosen response first: 442 rows, systems `chosen` and `rejected`."""
    pairs = _read.json_file(FILE)
    expect(SPEC.name, "pairs", len(pairs), SPEC.n_inputs)
    sides = ("chosen", "rejected")
    rows = [(number, pair, side) for number, pair in enumerate(pairs) for side in sides]
    prompts = [pair[f"{side}_instruction"] for _, pair, side in rows]
    parts = [_prometheus.split(prompt, reference=False) for prompt in prompts]
    same = sum(parts[row].instruction == parts[row + 1].instruction for row in range(0, len(rows), 2))
    expect(SPEC.name, "pairs whose responses answer the same instruction", same, SPEC.n_inputs)
    items = {
        "input_id": [f"hhh-{number:03d}" for number, _, _ in rows],
        "system_id": [side for _, _, side in rows],
        "output": [part.output for part in parts],
        "instruction": [part.instruction for part in parts],
        "rubric": [part.rubric for part in parts],
        "category": [pair["source"] for _, pair, _ in rows],
        "prompt": prompts,
    }
    human = {"preference": [float(side == "chosen") for _, _, side in rows]}
    return frame.build(SPEC, items, human, files=[FILE])
