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
    results = pd.DataFrame(
        [result for said in _kept(FILE)[1] for result in json.loads(said)]
    )
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


def _kept(relpath: str) -> tuple[list[dict], list[str]]:
    """What the cells of a notebook kept, and what they printed."""
    outputs = [
        output
        for cell in fetch.json_file(relpath)["cells"]
        for output in cell.get("outputs", ())
    ]
    return outputs, [
        "".join(output["text"]) for output in outputs if output.get("name") == "stdout"
    ]


def training_counts() -> tuple[pd.DataFrame, pd.DataFrame]:
    """What the authors counted in their training data: instances by number of errors,
    and errors by severity.

    Both have a row a task; the columns are 0, 1, 2, ... errors an instance, and Major
    and Minor.
    Source: the notebook behind Figure 4, its kept outputs.
    """
    outputs, printed = _kept(COUNTS)
    counted = [
        ast.literal_eval(found)
        for found in re.findall(r"Counter\((\{.*?\})\)", "".join(printed))
    ]
    [severity] = [
        one["data"]["text/plain"]
        for one in outputs
        if one["output_type"] == "execute_result"
    ]
    severities = pd.DataFrame(
        ast.literal_eval("".join(severity)), index=["Major", "Minor"]
    ).T
    errors = pd.DataFrame(counted, index=severities.index).fillna(0).astype(int)
    return errors.sort_index(axis=1), severities


def share_within_context() -> float:
    """The share of training instances drawn left of the line at 1,024 tokens, by area
    of the bars; 0 to 1.

    The authors' notebook keeps the histogram as a picture only; instances of 2,048
    tokens and more are not in it.
    """
    from matplotlib.image import imread

    drawn = next(
        one["data"]["image/png"]
        for one in _kept(COUNTS)[0]
        if "image/png" in one.get("data", {})
    )
    pixels = imread(io.BytesIO(base64.b64decode("".join(drawn))))[..., :3]
    bars, line = (np.abs(pixels - colour).max(axis=2) < 0.1 for colour in (_BAR, _LINE))
    limit = int(line.sum(axis=0).argmax())
    return float(bars[:, :limit].sum() / bars.sum())
