"""GSM8K test set: solutions of four models, or TIGERScore's own pairs, with their
correctness.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from nlgeval_lib.datasets import fetch, frame

TEST = "gsm8k/test.jsonl"
MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")

SPECS = {
    "gsm8k": frame.known("gsm8k", TEST, "gsm8k/example_model_solutions.jsonl"),
    "gsm8k_tigerscore": frame.known(
        "gsm8k_tigerscore", TEST, "gsm8k/tigerscore_gsm8k.json"
    ),
}


def load(name: str) -> pd.DataFrame:
    """GSM8K's test problems with model solutions; `human` is 1 where the final answer
    is right, else 0.

    gsm8k: 1319 problems x 4 models of the data set's authors, problem by problem.
    gsm8k_tigerscore: the 617 problems x 2 outputs that TIGERScore publishes (its paper
    counts 2638), with its `instruction`. Both outputs are samples of one model
    (`system_id` is its name with the place of the output), the first always right and
    the second always wrong: levels above the item mean nothing.
    In both a problem is an input (`source`, of the same input_id), `reference` its
    worked solution; there are no raters.
    Raises: ValueError where the files do not fit together.
    """
    problems = fetch.json_lines(TEST)
    ids = {}
    for number, problem in enumerate(problems):
        ids[problem["question"]] = f"gsm8k-{number:04d}"
    rows = _prepared() if name == "gsm8k_tigerscore" else _solved(problems)
    for row in rows:
        row["input_id"] = ids[row["source"]]
    return frame.build(SPECS[name], rows)


def _prepared() -> list[dict[str, Any]]:
    """The rows of TIGERScore's pairs."""
    rows = []
    for problem in fetch.json_file(SPECS["gsm8k_tigerscore"].files[1]):
        for place, candidate in enumerate(problem["candidates"]):
            rows.append(
                {
                    "system_id": f"{candidate['model']}#{place}",
                    "human": candidate["scores"],
                    "source": problem["input"],
                    "reference": problem["output"],
                    "output": candidate["text"],
                    "instruction": problem["instruction"],
                }
            )
    return rows


def _solved(problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the authors' four models."""
    spec = SPECS["gsm8k"]
    rows = []
    agreeing = 0
    solutions = fetch.json_lines(spec.files[1])
    for problem, solution in zip(problems, solutions, strict=True):
        question = problem["question"]
        agreeing += question == solution["question"]
        for model in MODELS:
            rows.append(
                {
                    "system_id": model,
                    "human": {"accuracy": solution[model]["is_correct"]},
                    "source": question,
                    "reference": problem["answer"],
                    "output": solution[model]["solution"],
                }
            )
    fact = "problems in the same order as their solutions"
    frame.expect(spec.name, fact, agreeing, spec.n_inputs)
    return rows
