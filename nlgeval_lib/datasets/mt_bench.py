"""MT Bench with Prometheus' rubrics and references, scored three times by GPT-4."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _prometheus

SPEC = _prometheus.bench_spec("mt_bench", "MT Bench with custom rubrics")


def load() -> pd.DataFrame:
    """MT Bench in file order: 80 instructions x 4 models, with rubric, reference, GPT-4's scores and feedbacks."""
    return _prometheus.load_bench(SPEC)
