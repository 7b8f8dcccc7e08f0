"""GPT-4-0613's three scores and feedbacks on Vicuna Bench and MT Bench, as Prometheus publishes them."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import prometheus
from nlgeval_lib.datasets.recordings import choose, known

_BENCHES = ("vicuna_bench", "mt_bench")

_FILES = (path for name in _BENCHES for path in prometheus.SPECS[name].files)
RECORDINGS = {"prometheus_gpt4": known("prometheus_gpt4", *_FILES)}


def load(name: str, benches=None) -> pd.DataFrame:
    """One row an output and draw: the feedback without its verdict (one kept it), and as `value` its score 1-5."""
    kept = ["dataset", "input_id", "system_id", "aspect", "judge", "prompt_form"]
    parts = [
        rows[kept].assign(draw=draw, text=rows[f"feedback_gpt4_{draw}"], value=rows[f"rater_gpt4_{draw}"])
        for rows in _rows(benches)
        for draw in range(prometheus.DRAWS)
    ]
    return pd.concat(parts, ignore_index=True)


def prompts(name: str, benches=None) -> pd.DataFrame:
    """The whole prompt of each output."""
    return pd.concat(_rows(benches), ignore_index=True)


def _rows(benches) -> list[pd.DataFrame]:
    chosen = choose(benches, _BENCHES, "bench")
    return [prometheus.load(name).assign(judge="gpt-4-0613", prompt_form="absolute") for name in chosen]
