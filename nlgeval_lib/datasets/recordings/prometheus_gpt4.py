"""GPT-4-0613's three scores and feedbacks on Vicuna Bench and MT Bench, as Prometheus publishes them."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _prometheus, mt_bench, vicuna_bench
from nlgeval_lib.datasets.recordings._base import Recording, choose

_BENCHES = {"vicuna_bench": vicuna_bench, "mt_bench": mt_bench}

RECORDINGS = {
    "prometheus_gpt4": Recording(
        name="prometheus_gpt4",
        title="GPT-4 on Vicuna Bench and MT Bench",
        dataset="vicuna_bench, mt_bench",
        files=tuple(_prometheus.bench_file(name) for name in _BENCHES),
        n_rows=1920,
        kept="text, value",
        licence="Apache-2.0",
        source=_prometheus.SOURCE,
        notes=(
            "text is the feedback without its verdict: its score was published beside it, in value (one text kept it)",
        ),
    )
}


def load(recording: Recording, benches=None) -> pd.DataFrame:
    """One row an output and draw: the feedback and the score 1-5."""
    parts = []
    for name in choose(benches, tuple(_BENCHES), "bench"):
        frame = _BENCHES[name].load()
        for draw in range(_prometheus.DRAWS):
            part = frame[["dataset", "input_id", "system_id", "aspect"]].copy()
            part["judge"], part["prompt_form"], part["draw"] = "gpt-4-0613", "absolute", draw
            part["text"] = frame[f"feedback_gpt4_{draw}"]
            part["value"] = frame[f"rater_gpt4_{draw}"]
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def prompts(recording: Recording, benches=None) -> pd.DataFrame:
    """The whole prompt of each output."""
    parts = []
    for name in choose(benches, tuple(_BENCHES), "bench"):
        part = _BENCHES[name].load()[["dataset", "input_id", "system_id", "aspect", "prompt"]].copy()
        part.insert(4, "judge", "gpt-4-0613")
        part.insert(5, "prompt_form", "absolute")
        parts.append(part)
    return pd.concat(parts, ignore_index=True)
