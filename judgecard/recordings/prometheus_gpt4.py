"""GPT-4-0613's three scores and feedbacks on Vicuna Bench and MT Bench, as Prometheus
publishes them: 2 benches x 320 outputs x 3 draws.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from nlgeval_lib.datasets import prometheus

BENCHES = ("vicuna_bench", "mt_bench")


def _prometheus_gpt4() -> pd.DataFrame:
    """One row an output and draw: the feedback without its verdict (one kept it), and
    as `value` its score 1-5.
    """
    columns = ["dataset", "input_id", "system_id", "aspect", "judge", "prompt_form"]
    frames = []
    # bench by bench, and in it draw by draw
    for _, outputs in _benches().groupby("dataset", sort=False):
        for draw in range(prometheus.DRAWS):
            texts = outputs[f"feedback_gpt4_{draw}"]
            values = outputs[f"rater_gpt4_{draw}"]
            frames.append(outputs[columns].assign(draw=draw, text=texts, value=values))
    return pd.concat(frames, ignore_index=True)


def _benches() -> pd.DataFrame:
    """The outputs of the benches with what names the judge; they have `prompt`."""
    frames = [prometheus.load(name) for name in BENCHES]
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(judge="gpt-4-0613", prompt_form="absolute")


FILES: dict[str, tuple[str, ...]] = {
    "prometheus_gpt4": tuple(
        path for name in BENCHES for path in prometheus.SPECS[name].files
    ),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {"prometheus_gpt4": _prometheus_gpt4}
PROMPTS: dict[str, Callable[..., pd.DataFrame]] = {"prometheus_gpt4": _benches}
