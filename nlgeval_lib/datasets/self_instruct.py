"""Self-Instruct's 252 user-oriented instructions with targets and the outputs of eight
GPT-3 models.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame

INSTRUCTIONS = "self_instruct/user_oriented_instructions.jsonl"
MODELS = frame.systems("self_instruct")
# model -> the file of its outputs
FILES = {model: f"self_instruct/{model}_predictions.jsonl" for model in MODELS}
# AlpacaEval's outputs: other runs, and in part other models, than SemScore's GPT-4,
# GPT-3.5 and Alpaca
STAND_INS = {
    "gpt-4 (AlpacaEval)": "self_instruct/alpaca_eval_gpt4.model_outputs.json",
    "gpt-3.5-turbo-0301 (AlpacaEval)": (
        "self_instruct/alpaca_eval_gpt-3.5-turbo-0301.model_outputs.json"
    ),
    "alpaca-7b (AlpacaEval)": "self_instruct/alpaca_eval_alpaca-7b.model_outputs.json",
}

SPEC = frame.known("self_instruct", INSTRUCTIONS, *FILES.values(), *STAND_INS.values())


def load(stand_ins: bool = False) -> pd.DataFrame:
    """252 instructions x 8 models, model by model in the order of the instructions:
    2016 outputs, or 2772 with stand-ins.

    stand_ins: also AlpacaEval's outputs for three more models, marked by `stand_in`:
    SemScore tests 12 models, of which 8 are public; these are not the paper's runs.

    One aspect, `quality` 1-4; `human` is NaN, since the ratings of single outputs were
    never published. An input is a task. `instruction` is what it asks, `source` the
    text that it is asked of (may be ""), `reference` the target, `application` what the
    task is for.
    Raises: ValueError where a model's file has other instructions.
    """
    tasks = fetch.json_lines(INSTRUCTIONS)
    by_system = {model: fetch.json_lines(relpath) for model, relpath in FILES.items()}
    if stand_ins:
        for system, relpath in STAND_INS.items():
            records = fetch.json_file(relpath)  # of several sets
            of_set = [row for row in records if row["dataset"] == "selfinstruct"]
            by_system[system] = of_set
    rows = []
    for system, records in by_system.items():
        is_stand_in = system in STAND_INS
        agreeing = 0
        for record, task in zip(records, tasks, strict=True):
            [instance] = task["instances"]
            # The files have no common id: the order must be the same.
            prompt = _words(task["instruction"], instance["input"])
            recorded = _words(record["instruction"], record.get("input", ""))
            agreeing += recorded == prompt
            row = {
                "input_id": task["id"],
                "system_id": system,
                "human": {"quality": np.nan},
                "source": instance["input"],
                "references": (instance["output"],),
                "output": record["output" if is_stand_in else "response"],
                "instruction": task["instruction"],
                "application": task["motivation_app"],
                "stand_in": is_stand_in,
            }
            rows.append(row)
        fact = f"instructions of {system} in the same order"
        frame.expect(SPEC.name, fact, agreeing, len(tasks))
    counts = (len(rows), SPEC.n_inputs, len(by_system))
    return frame.build(SPEC, rows, counts)


def _words(*texts: str) -> str:
    """Texts as one, without blanks and in small letters: what is compared of them."""
    return "".join("".join(texts).split()).lower()
