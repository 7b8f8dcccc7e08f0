"""Criteria scores and ratings that tests of HD-Eval's aggregators draw."""

from __future__ import annotations

import numpy as np
import pandas as pd


def scores_and_ratings(
    rows: int = 120, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Six criteria on the scale 1 to 5; `a` follows c0, `b` follows c0 and c3, both
    with some noise.
    """
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        rng.integers(1, 6, (rows, 6)).astype(float), columns=[f"c{i}" for i in range(6)]
    )
    noise = rng.normal(0, 0.1, (rows, 2))
    Y = pd.DataFrame(
        {"a": X["c0"] + noise[:, 0], "b": (X["c0"] - X["c3"]) / 2 + 3 + noise[:, 1]}
    )
    return X, Y


def small(kind: str) -> dict:
    """Options that make an estimator fast."""
    return {
        "rf": {"n_estimators": 8},
        "mlp": {"hidden_layer_sizes": [12, 12], "max_iter": 60},
    }.get(kind, {})
