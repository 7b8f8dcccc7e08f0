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
    said = recordings.load("llm_rubric_judge")
    table = said.pivot(index="input_id", columns="aspect", values="value")
    features = table.reindex(overall["input_id"]).reset_index(drop=True)
    return features, overall["human"].to_numpy(dtype=float)


def cross_fitted(
    kind: str,
    features: pd.DataFrame,
    human: np.ndarray,
    folds: int = 10,
    seed: int = 0,
) -> np.ndarray:
    """What an aggregator predicts for each dialogue, fitted on the other folds."""
    from nlgeval_lib.evaluators.hdeval import Aggregator

    rng = np.random.default_rng(seed)
    fold_of_row = rng.permutation(len(human)) % folds
    targets = pd.DataFrame({TARGET: human})
    predicted = np.full(len(human), np.nan)
    for fold in range(folds):
        inside = fold_of_row == fold
        model = Aggregator(kind, seed=seed)
        model.fit(features[~inside], targets[~inside])
        predicted[inside] = model.predict(features[inside])[TARGET].to_numpy()
    return predicted


def table(folds: int = 10, seed: int = 0) -> pd.DataFrame:
    """Error and coefficients of each aggregator, Pearson with its interval, beside the
    network that the paper prints.
    """
    features, human = answers()
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        predicted = cross_fitted(kind, features, human, folds, seed)
        measured = others.rubric_statistics(predicted, human)
        pearson = meta.correlate(predicted, human, "pearson", ci="jack-rows")
        row: dict[str, Any] = {"aggregator": kind}
        row |= {name: measured[name] for name in ("rmse", "pearson")}
        row |= {
            "pearson, low": pearson.low,
            "pearson, high": pearson.high,
        }
        row |= {name: measured[name] for name in ("spearman", "kendall")}
        rows.append(row | {"origin": f"computed here, {folds} folds by dialogue"})
    listed = others.printed("llm_rubric").set_index("answer").loc["network"]
    printed: dict[str, Any] = {"aggregator": "the paper's network"}
    for name in ("pearson", "spearman", "kendall"):
        printed[name] = float(listed[name])
    rows.append(printed | {"origin": "printed, trained on synthetic dialogues"})
    return pd.DataFrame(rows)
