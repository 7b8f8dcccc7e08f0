"""GSM8K test set: solutions of four models, or TIGERScore's own pairs, with their correctness."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, frame
from nlgeval_lib.datasets.frame import expect, known

TEST = "gsm8k/test.jsonl"
SOLUTIONS = "gsm8k/example_model_solutions.jsonl"
PREPARED = "gsm8k/tigerscore_gsm8k.json"
MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")

SPECS = {
    "gsm8k": known("gsm8k", TEST, SOLUTIONS),
    "gsm8k_tigerscore": known("gsm8k_tigerscore", TEST, PREPARED),
}


def load(name: str) -> pd.DataFrame:
    """GSM8K's test problems with model solutions; `human` is 1 where the final answer is right, else 0.

    gsm8k: 1319 problems x 4 models of the data set's authors, problem by problem.
    gsm8k_tigerscore: the 617 problems x 2 outputs that TIGERScore publishes (its paper counts 2638). Both outputs are
    samples of one model, the first always right and the second always wrong: levels above the item mean nothing.
    """
    problems = fetch.json_lines(TEST)
    numbers = {problem["question"]: f"gsm8k-{number:04d}" for number, problem in enumerate(problems)}
    return _tigerscore(numbers) if name == "gsm8k_tigerscore" else _openai(problems, numbers)


def _openai(problems: list[dict], numbers: dict[str, str]) -> pd.DataFrame:
    solved = list(zip(problems, fetch.json_lines(SOLUTIONS), strict=True))
    agree = sum(problem["question"] == solution["question"] for problem, solution in solved)
    expect("gsm8k", "problems in the same order as their solutions", agree, SPECS["gsm8k"].n_inputs)
    rows = [(problem, model, solution[model]) for problem, solution in solved for model in MODELS]
    items = {
        "input_id": [numbers[problem["question"]] for problem, _, _ in rows],
        "system_id": [model for _, model, _ in rows],
        "source": [problem["question"] for problem, _, _ in rows],
        "reference": [problem["answer"] for problem, _, _ in rows],
        "output": [solution["solution"] for _, _, solution in rows],
    }
    return frame.build(SPECS["gsm8k"], items, {"accuracy": [float(solution["is_correct"]) for _, _, solution in rows]})


def _tigerscore(numbers: dict[str, str]) -> pd.DataFrame:
    given = fetch.json_file(PREPARED)
    rows = [(problem, place, candidate) for problem in given for place, candidate in enumerate(problem["candidates"])]
    items = {
        "input_id": [numbers[problem["input"]] for problem, _, _ in rows],
        "system_id": [f"{candidate['model']}#{place}" for _, place, candidate in rows],
        "source": [problem["input"] for problem, _, _ in rows],
        "reference": [problem["output"] for problem, _, _ in rows],
        "output": [candidate["text"] for _, _, candidate in rows],
        "instruction": [problem["instruction"] for problem, _, _ in rows],
    }
    return frame.build(SPECS["gsm8k_tigerscore"], items, [candidate["scores"] for _, _, candidate in rows])
