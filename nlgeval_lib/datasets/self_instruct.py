"""Self-Instruct's 252 user-oriented instructions with targets and the outputs of eight GPT-3 models."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import fetch, frame
from nlgeval_lib.datasets.frame import expect, known

INSTRUCTIONS = "self_instruct/user_oriented_instructions.jsonl"
_TUNED = (f"davinci-{one}" for one in ("self-instruct", "self-instruct-and-superni-ft", "superni-ft", "t0-ft"))
MODELS = ("text-davinci-003", "text-davinci-002", "text-davinci-001", *_TUNED, "davinci")
FILES = {model: f"self_instruct/{model}_predictions.jsonl" for model in MODELS}
# AlpacaEval's outputs: other runs, and in part other models, than SemScore's GPT-4, GPT-3.5 and Alpaca
STAND_INS = {
    f"{system} (AlpacaEval)": f"self_instruct/alpaca_eval_{name}.model_outputs.json"
    for system, name in {"gpt-4": "gpt4", "gpt-3.5-turbo-0301": "gpt-3.5-turbo-0301", "alpaca-7b": "alpaca-7b"}.items()
}

SPEC = known("self_instruct", INSTRUCTIONS, *FILES.values(), *STAND_INS.values())


def load(stand_ins: bool = False) -> pd.DataFrame:
    """Self-Instruct's outputs, model by model in the order of the instructions: 2016, or 2772 with stand-ins.

    8 of SemScore's 12 models; the stand-ins are AlpacaEval's outputs for three more, not the paper's runs, and
    `stand_in` marks their rows. `human` is NaN: the ratings of single outputs were never published. `reference` is the
    target, `source` the input (may be empty).
    """
    tasks = fetch.json_lines(INSTRUCTIONS)
    outputs = {model: _outputs(model, fetch.json_lines(relpath), "response", tasks) for model, relpath in FILES.items()}
    for system, relpath in STAND_INS.items() if stand_ins else ():
        records = [one for one in fetch.json_file(relpath) if one["dataset"] == "selfinstruct"]
        outputs[system] = _outputs(system, records, "output", tasks)
    n = len(outputs)
    targets = [task["instances"][0]["output"] for task in tasks]
    items = {
        "input_id": [task["id"] for task in tasks] * n,
        "system_id": [system for system in outputs for _ in tasks],
        "source": [task["instances"][0]["input"] for task in tasks] * n,
        "references": [(target,) for target in targets] * n,
        "output": [text for texts in outputs.values() for text in texts],
        "instruction": [task["instruction"] for task in tasks] * n,
        "application": [task["motivation_app"] for task in tasks] * n,
        "stand_in": [system in STAND_INS for system in outputs for _ in tasks],
    }
    human = {"quality": np.full(n * len(tasks), np.nan)}
    return frame.build(SPEC, items, human, counts=(n * len(tasks), SPEC.n_inputs, 11 if stand_ins else 8))


def _outputs(system: str, records: list[dict], column: str, tasks: list[dict]) -> list[str]:
    agree = sum(
        _words(record["instruction"], record.get("input", ""))
        == _words(task["instruction"], task["instances"][0]["input"])
        for record, task in zip(records, tasks, strict=True)
    )
    expect(SPEC.name, f"instructions of {system} in the same order", agree, len(tasks))
    return [record[column] for record in records]


def _words(*parts: str) -> str:
    return "".join("".join(parts).split()).lower()
