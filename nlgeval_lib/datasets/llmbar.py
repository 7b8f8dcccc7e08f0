"""LLMBar: pairs of answers to an instruction, of which one follows it; five subsets."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, pairs

# subset -> folder
SUBSETS = {
    "Natural": "llmbar/Natural",
    "GPTInst": "llmbar/Adversarial/GPTInst",
    "GPTOut": "llmbar/Adversarial/GPTOut",
    "Manual": "llmbar/Adversarial/Manual",
    "Neighbor": "llmbar/Adversarial/Neighbor",
}
FILES = {subset: f"{folder}/dataset.json" for subset, folder in SUBSETS.items()}
# pairs of each subset
SIZES = {"Natural": 100, "GPTInst": 92, "GPTOut": 47, "Manual": 46, "Neighbor": 134}
SPEC = frame.known("llmbar", *FILES.values())


def pair_id(subset: str, number: int) -> str:
    """The name of a subset's pair, counted from 0."""
    return f"{subset}-{number:03d}"


def load() -> pd.DataFrame:
    """419 pairs in file order, subset by subset: an instruction, two outputs, and which
    is better.

    `preference` is the authors' agreed label, 1 or 2, never a tie; there are no single
    raters. An input is an instruction: 418, one of which is there twice. The outputs'
    systems are not published: system_1 and system_2 are "".
    """
    rows = []
    inputs: dict[str, str] = {}
    for subset, relpath in FILES.items():
        records = fetch.json_file(relpath)
        frame.expect(SPEC.name, f"pairs of {subset}", len(records), SIZES[subset])
        for number, record in enumerate(records):
            name = pair_id(subset, number)
            rows.append(
                {
                    "input_id": inputs.setdefault(record["input"], name),
                    "pair_id": name,
                    "system_1": "",
                    "system_2": "",
                    "preference": record["label"],
                    "output_1": record["output_1"],
                    "output_2": record["output_2"],
                    "instruction": record["input"],
                    "subset": subset,
                }
            )
    return pairs.build(SPEC, rows)
