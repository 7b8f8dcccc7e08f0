"""What TIGERScore's authors left in two notebooks: 502 raw outputs of the 7B model, and
the counts and lengths of Figure 4.
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
# colours of the drawn lengths, as red, green, blue 0-1: bars, the limit of the context
_BAR = (0.122, 0.467, 0.706)
_LINE = (1.0, 0.0, 0.0)


def load() -> pd.DataFrame:
    """One row an output of TIGERScore-7B: 502.

    Returns: the keys of `recordings`, `text` (raw), `value` (the score, 0 or less),
    `n_errors` and `errors` (tuple of dicts). The last three are what the authors'
    decoder read; value and n_errors are NaN for 6 outputs. The decoder reads a total as
    an integer. prompt_form "prompt+output": the first two texts begin with the prompt.
    No human scores, and no inputs: 500 are a random sample of MetricInstruct.
    Source: Jiang et al. 2024, TIGERScore; the authors' example notebook.
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
    """What the cells of a notebook kept, in order."""
    outputs = []
    for cell in fetch.json_file(relpath)["cells"]:
        outputs += cell.get("outputs", ())
    return outputs


def _printed(outputs: list[dict]) -> list[str]:
    """What cells printed: one text an output that was printed."""
    streams = [output for output in outputs if output.get("name") == "stdout"]
    return ["".join(output["text"]) for output in streams]


def training_counts() -> tuple[pd.DataFrame, pd.DataFrame]:
    """What the authors counted in their training data: instances by number of errors,
    and errors by severity.

    Returns: two tables with a row a task. The columns of the first are 0, 1, 2, ...
    errors an instance; those of the second Major and Minor.
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
    tokens and more are not in it. Pixels of the bars' colour are counted.
    """
    from matplotlib.image import imread

    data = [output.get("data", {}) for output in _outputs(COUNTS)]
    drawn = next(content["image/png"] for content in data if "image/png" in content)
    image = base64.b64decode("".join(drawn))
    pixels = imread(io.BytesIO(image))[..., :3]
    bars = np.abs(pixels - _BAR).max(axis=2) < 0.1
    line = np.abs(pixels - _LINE).max(axis=2) < 0.1
    # The line is the column of the picture with most red pixels.
    limit = int(line.sum(axis=0).argmax())
    return float(bars[:, :limit].sum() / bars.sum())


FILES = {"tigerscore_outputs": (FILE, COUNTS)}
READERS = {"tigerscore_outputs": load}
