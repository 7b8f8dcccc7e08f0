"""502 raw outputs of TIGERScore-7B from an author's notebook: for parsers; there are no human scores."""

from __future__ import annotations

import json

import pandas as pd

from nlgeval_lib.datasets import _read
from nlgeval_lib.datasets.recordings._base import Recording
from nlgeval_lib.datasets.specs import expect

FILE = "tigerscore_outputs/tigerscore_example_usage.ipynb"

RECORDINGS = {
    "tigerscore_outputs": Recording(
        name="tigerscore_outputs",
        title="Raw outputs of TIGERScore-7B",
        dataset="tigerscore_outputs",
        files=(FILE,),
        n_rows=502,
        kept="text, value",
        licence="MIT",
        source="Jiang et al. 2024, TIGERScore; the authors' example notebook",
        notes=(
            "no human scores, and no inputs: 500 are a random sample of MetricInstruct",
            "value is what the authors' decoder read: its total is read as an integer",
            "prompt_form prompt+output: the first two texts begin with the prompt",
        ),
    )
}


def load(recording: Recording) -> pd.DataFrame:
    """One row an output; `value`, `n_errors` and `errors` (tuple of dicts) are what the authors' decoder read."""
    notebook = _read.json_file(FILE)
    results: list[dict] = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stdout":
                results += json.loads("".join(output["text"]))
    expect(recording.name, "outputs", len(results), recording.n_rows)
    return pd.DataFrame(
        {
            "dataset": recording.name,
            "input_id": [f"ts-{number:03d}" for number in range(len(results))],
            "system_id": "unknown",
            "aspect": "overall",
            "judge": "TIGERScore-7B",
            "prompt_form": ["prompt+output" if number < 2 else "output" for number in range(len(results))],
            "draw": 0,
            "text": [result["raw_output"] for result in results],
            "value": [_number(result["score"]) for result in results],
            "n_errors": [_number(result["num_errors"]) for result in results],
            "errors": [tuple((result["errors"] or {}).values()) for result in results],
        }
    )


def _number(value: float | None) -> float:
    return float("nan") if value is None else value + 0.0
