"""What TIGERScore's authors left in two notebooks: 502 raw outputs of the 7B model, and the counts of Figure 4.

The outputs are for parsers; there are no human scores.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import re

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import _read
from nlgeval_lib.datasets.recordings._base import Recording
from nlgeval_lib.datasets.specs import expect

FILE = "tigerscore_outputs/tigerscore_example_usage.ipynb"
COUNTS = "tigerscore_figures/data_dist_analysis.ipynb"
_BAR, _LINE = (0.122, 0.467, 0.706), (1.0, 0.0, 0.0)  # colours of the drawn lengths: bars, the limit of the context

RECORDINGS = {
    "tigerscore_outputs": Recording(
        name="tigerscore_outputs",
        title="Raw outputs of TIGERScore-7B",
        dataset="tigerscore_outputs",
        files=(FILE, COUNTS),
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


def training_counts() -> tuple[pd.DataFrame, pd.DataFrame]:
    """What the authors counted in their training data: instances by number of errors, and errors by severity.

    Both have a row a task; the columns are 0, 1, 2, ... errors an instance, and Major and Minor.
    Source: the notebook behind Figure 4, its kept outputs.
    """
    outputs = [output for cell in _read.json_file(COUNTS)["cells"] for output in cell.get("outputs", ())]
    printed = "".join("".join(output["text"]) for output in outputs if output.get("name") == "stdout")
    counted = [ast.literal_eval(found) for found in re.findall(r"Counter\((\{.*?\})\)", printed)]
    [severity] = [output["data"]["text/plain"] for output in outputs if output["output_type"] == "execute_result"]
    severities = pd.DataFrame(ast.literal_eval("".join(severity)), index=["Major", "Minor"]).T
    expect("tigerscore_outputs", "tasks with counts of errors", len(counted), len(severities))
    errors = pd.DataFrame(counted, index=severities.index).fillna(0).astype(int)
    return errors.sort_index(axis=1), severities


def share_within_context() -> float:
    """The share of training instances drawn left of the line at 1,024 tokens, by area of the bars; 0 to 1.

    The authors' notebook keeps the histogram as a picture only; instances of 2,048 tokens and more are not in it.
    """
    from matplotlib.image import imread

    outputs = [output for cell in _read.json_file(COUNTS)["cells"] for output in cell.get("outputs", ())]
    drawn = next(output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {}))
    pixels = imread(io.BytesIO(base64.b64decode("".join(drawn))))[..., :3]
    bars, line = (np.abs(pixels - colour).max(axis=2) < 0.1 for colour in (_BAR, _LINE))
    limit = int(line.sum(axis=0).argmax())
    return float(bars[:, :limit].sum() / bars.sum())


def _number(value: float | None) -> float:
    return float("nan") if value is None else value + 0.0
