"""Self-Instruct's 252 user-oriented instructions with targets and the outputs of
eight GPT-3 models.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame

INSTRUCTIONS = "self_instruct/user_oriented_instructions.jsonl"
_TUNED = (
    f"davinci-{one}"
    for one in ("self-instruct", "self-instruct-and-superni-ft", "superni-ft", "t0-ft")
)
MODELS = (
    "text-davinci-003",
    "text-davinci-002",
    "text-davinci-001",
    *_TUNED,
    "davinci",
)
FILES = {model: f"self_instruct/{model}_predictions.jsonl" for model in MODELS}
# AlpacaEval's outputs: other runs, and in part other models, than SemScore's GPT-4,
# GPT-3.5 and Alpaca
STAND_INS = {
    f"{system} (AlpacaEval)": f"self_instruct/alpaca_eval_{name}.model_outputs.json"
    for system, name in {
        "gpt-4": "gpt4",
        "gpt-3.5-turbo-0301": "gpt-3.5-turbo-0301",
        "alpaca-7b": "alpaca-7b",
    }.items()
}

SPEC = frame.known("self_instruct", INSTRUCTIONS, *FILES.values(), *STAND_INS.values())


def load(stand_ins: bool = False) -> pd.DataFrame:
    """Self-Instruct's outputs, model by model in the order of the instructions: 2016,
    or 2772 with stand-ins.

    8 of SemScore's 12 models; the stand-ins are AlpacaEval's outputs for three more,
    not the paper's runs, and `stand_in` marks their rows. `human` is NaN: the ratings
    of single outputs were never published. `reference` is the target, `source` the
    input (may be empty).
    """
    tasks = fetch.json_lines(INSTRUCTIONS)
    given = {model: fetch.json_lines(relpath) for model, relpath in FILES.items()}
    for system, relpath in STAND_INS.items() if stand_ins else ():
        given[system] = [
            one for one in fetch.json_file(relpath) if one["dataset"] == "selfinstruct"
        ]
    rows = []
    for system, records in given.items():
        agree = 0
        for record, task in zip(records, tasks, strict=True):
            [instance] = task["instances"]
            asked = task["instruction"], instance["input"]
            agree += _words(record["instruction"], record.get("input", "")) == _words(
                *asked
            )
            row = {
                "input_id": task["id"],
                "system_id": system,
                "human": {"quality": np.nan},
                "source": instance["input"],
                "references": (instance["output"],),
                "output": record["output" if system in STAND_INS else "response"],
                "instruction": task["instruction"],
                "application": task["motivation_app"],
                "stand_in": system in STAND_INS,
            }
            rows.append(row)
        frame.expect(
            SPEC.name, f"instructions of {system} in the same order", agree, len(tasks)
        )
    return frame.build(SPEC, rows, (len(rows), SPEC.n_inputs, 11 if stand_ins else 8))


def _words(*parts: str) -> str:
    return "".join("".join(parts).split()).lower()
