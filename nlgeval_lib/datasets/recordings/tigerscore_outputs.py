"""What TIGERScore's authors left in two notebooks: 502 raw outputs of the 7B model, and
the counts of Figure 4.

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

from nlgeval_lib.datasets import fetch

FILE = "tigerscore_outputs/tigerscore_example_usage.ipynb"
COUNTS = "tigerscore_figures/data_dist_analysis.ipynb"
# colours of the drawn lengths: bars, the limit of the context
_BAR = (0.122, 0.467, 0.706)
_LINE = (1.0, 0.0, 0.0)


def load() -> pd.DataFrame:
    """One row an output; `value`, `n_errors` and `errors` (tuple of dicts) are what the
    authors' decoder read.

    No human scores, and no inputs: 500 are a random sample of MetricInstruct. The
    decoder reads a total as an integer. prompt_form prompt+output: the first two texts
    begin with the prompt.
    """
    records = []
    for text in _printed(_outputs(FILE)):
        records += json.loads(text)
    results = pd.DataFrame(records)
    return pd.DataFrame(
        {
            "dataset": "tigerscore_outputs",
            "input_id": [f"ts-{number:03d}" for number in results.index],
            "system_id": "unknown",
            "aspect": "overall",
            "judge": "TIGERScore-7B",
            "prompt_form": np.where(results.index < 2, "prompt+output", "output"),
            "draw": 0,
            "text": results["raw_output"],
            "value": results["score"].astype(float) + 0.0,  # -0.0 becomes 0.0
            "n_errors": results["num_errors"].astype(float),
            "errors": [tuple((errors or {}).values()) for errors in results["errors"]],
        }
    )


def _outputs(relpath: str) -> list[dict]:
    """What the cells of a notebook kept."""
    outputs = []
    for cell in fetch.json_file(relpath)["cells"]:
        outputs += cell.get("outputs", ())
    return outputs


def _printed(outputs: list[dict]) -> list[str]:
    """What cells printed."""
    streams = [output for output in outputs if output.get("name") == "stdout"]
    return ["".join(output["text"]) for output in streams]


def training_counts() -> tuple[pd.DataFrame, pd.DataFrame]:
    """What the authors counted in their training data: instances by number of errors,
    and errors by severity.

    Both have a row a task; the columns are 0, 1, 2, ... errors an instance, and Major
    and Minor.
    Source: the notebook behind Figure 4, its kept outputs.
    """
    outputs = _outputs(COUNTS)
    printed = "".join(_printed(outputs))
    counters = re.findall(r"Counter\((\{.*?\})\)", printed)
    [result] = [
        output for output in outputs if output["output_type"] == "execute_result"
    ]
    by_task = ast.literal_eval("".join(result["data"]["text/plain"]))
    severities = pd.DataFrame(by_task, index=["Major", "Minor"]).T
    errors = pd.DataFrame(map(ast.literal_eval, counters), index=severities.index)
    return errors.fillna(0).astype(int).sort_index(axis=1), severities


def share_within_context() -> float:
    """The share of training instances drawn left of the line at 1,024 tokens, by area
    of the bars; 0 to 1.

    The authors' notebook keeps the histogram as a picture only; instances of 2,048
    tokens and more are not in it.
    """
    from matplotlib.image import imread

    data = [output.get("data", {}) for output in _outputs(COUNTS)]
    drawn = next(content["image/png"] for content in data if "image/png" in content)
    image = base64.b64decode("".join(drawn))
    pixels = imread(io.BytesIO(image))[..., :3]
    bars = np.abs(pixels - _BAR).max(axis=2) < 0.1
    line = np.abs(pixels - _LINE).max(axis=2) < 0.1
    limit = int(line.sum(axis=0).argmax())
    return float(bars[:, :limit].sum() / bars.sum())


FILES = {"tigerscore_outputs": (FILE, COUNTS)}
READERS = {"tigerscore_outputs": load}
