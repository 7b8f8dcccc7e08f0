"""Learned aggregation outside its paper: HD-Eval's aggregators over LLM-Rubric's nine
questions, each dialogue predicted by a model that did not see it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, meta
from nlgeval_lib.datasets import recordings
from nlgeval_lib.study import others

KINDS = ("average", "lr", "ridge", "rf", "mlp")
TARGET = "Q0"


def answers() -> tuple[pd.DataFrame, np.ndarray]:
    """gpt-3.5's expected answer to each of nine questions, a row a dialogue; and the
    people's overall satisfaction.
    """
    frame = datasets.load("llm_rubric")
    overall = frame[frame["aspect"] == TARGET]
    recorded = recordings.load("llm_rubric_judge")
    by_question = recorded.pivot(index="input_id", columns="aspect", values="value")
    features = by_question.reindex(overall["input_id"])
    human = overall["human"].to_numpy(dtype=float)
    return features.reset_index(drop=True), human


def cross_fitted(
    kind: str,
    features: pd.DataFrame,
    human: np.ndarray,
    folds: int = 10,
    seed: int = 0,
) -> np.ndarray:
    """What an aggregator predicts for each dialogue, fitted on the other folds."""
    from nlgeval_lib.evaluators.hdeval import Aggregator

    n = len(human)
    rng = np.random.default_rng(seed)
    fold_of_row = rng.permutation(n) % folds
    targets = pd.DataFrame({TARGET: human})
    predicted = np.full(n, np.nan)
    for fold in range(folds):
        inside = fold_of_row == fold
        model = Aggregator(kind, seed=seed)
        model.fit(features[~inside], targets[~inside])
        predictions = model.predict(features[inside])
        predicted[inside] = predictions[TARGET].to_numpy()
    return predicted


def table(folds: int = 10, seed: int = 0) -> pd.DataFrame:
    """Error and coefficients of each aggregator, Pearson with its interval, beside the
    network that the paper prints.
    """
    features, human = answers()
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        predicted = cross_fitted(kind, features, human, folds, seed)
        statistics = others.rubric_statistics(predicted, human)
        pearson = meta.correlate(predicted, human, "pearson", ci="jack-rows")
        rows.append(
            {
                "aggregator": kind,
                "rmse": statistics["rmse"],
                "pearson": statistics["pearson"],
                "pearson, low": pearson.low,
                "pearson, high": pearson.high,
                "spearman": statistics["spearman"],
                "kendall": statistics["kendall"],
                "origin": f"computed here, {folds} folds by dialogue",
            }
        )
    printed = others.printed("llm_rubric").set_index("answer")
    network = printed.loc["network"]
    rows.append(
        {
            "aggregator": "the paper's network",
            "pearson": float(network["pearson"]),
            "spearman": float(network["spearman"]),
            "kendall": float(network["kendall"]),
            "origin": "printed, trained on synthetic dialogues",
        }
    )
    return pd.DataFrame(rows)
