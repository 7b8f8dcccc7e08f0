"""Vicuna Bench with Prometheus' rubrics and references, scored three times by GPT-4."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _prometheus

SPEC = _prometheus.bench_spec("vicuna_bench", "Vicuna Bench with custom rubrics")


def load() -> pd.DataFrame:
    """Vicuna Bench in file order: 80 instructions x 4 models, with rubric, reference, GPT-4's scores and feedbacks."""
    return _prometheus.load_bench(SPEC)
