"""GSM8K test set: solutions of four models, or TIGERScore's own pairs, with their
correctness.
"""

from __future__ import annotations

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
    counts 2638). Both outputs are samples of one model, the first always right and the
    second always wrong: levels above the item mean nothing.
    """
    problems = fetch.json_lines(TEST)
    spec = SPECS[name]
    numbers = {
        problem["question"]: f"gsm8k-{number:04d}"
        for number, problem in enumerate(problems)
    }
    if name == "gsm8k_tigerscore":
        rows = [
            {
                "input_id": numbers[problem["input"]],
                "system_id": f"{candidate['model']}#{place}",
                "human": candidate["scores"],
                "source": problem["input"],
                "reference": problem["output"],
                "output": candidate["text"],
                "instruction": problem["instruction"],
            }
            for problem in fetch.json_file(spec.files[1])
            for place, candidate in enumerate(problem["candidates"])
        ]
        return frame.build(spec, rows)
    solved = list(zip(problems, fetch.json_lines(spec.files[1]), strict=True))
    agree = sum(
        problem["question"] == solution["question"] for problem, solution in solved
    )
    frame.expect(
        name, "problems in the same order as their solutions", agree, spec.n_inputs
    )
    rows = [
        {
            "input_id": numbers[problem["question"]],
            "system_id": model,
            "human": {"accuracy": solution[model]["is_correct"]},
            "source": problem["question"],
            "reference": problem["answer"],
            "output": solution[model]["solution"],
        }
        for problem, solution in solved
        for model in MODELS
    ]
    return frame.build(spec, rows)
