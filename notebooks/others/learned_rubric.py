"""Learned aggregation outside its paper: HD-Eval's aggregators over LLM-Rubric's nine
questions, each dialogue predicted by a model that did not see it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import others
import pandas as pd

from judgecard import recordings
from nlgeval_lib import datasets, statistics

# The aggregators that are compared; "average" learns nothing.
KINDS = ("average", "lr", "ridge", "rf", "mlp")
# LLM-Rubric's question about overall satisfaction, which is to be predicted.
TARGET = "Q0"


def answers() -> tuple[pd.DataFrame, np.ndarray]:
    """gpt-3.5's expected answer to each of nine questions, and the people's overall
    satisfaction.

    Returns: the answers, a row a dialogue and a column a question (`Q0` to `Q8`); and
    (dialogues,) the ratings of `Q0`, in the same order.
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
    """What an aggregator predicts for each dialogue, fitted on the other folds.

    kind: an aggregator of HD-Eval, such as one of `KINDS`.
    features: a row a dialogue, a column a question.
    human: (dialogues,) the ratings to be predicted.
    folds: how many parts the dialogues are drawn into at random, of nearly equal size.
    seed: of the folds and of the aggregator.
    Returns: (dialogues,) predictions, each by a model that did not see the dialogue.
    """
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
    """Error and coefficients of each aggregator, beside the network that the paper
    prints.

    folds, seed: as `cross_fitted` takes them.
    Returns: a row an aggregator: `aggregator, rmse, pearson`, the interval of Pearson's
    (`pearson, low` and `pearson, high`), `spearman, kendall` (tau-b) and `origin`. Of
    the paper's network, the last row, no error and no interval are printed: NaN.
    """
    features, human = answers()
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        predicted = cross_fitted(kind, features, human, folds, seed)
        measured = others.rubric_statistics(predicted, human)
        pearson = statistics.correlate(predicted, human, "pearson", ci="jack-rows")
        rows.append(
            {
                "aggregator": kind,
                "rmse": measured["rmse"],
                "pearson": measured["pearson"],
                "pearson, low": pearson.low,
                "pearson, high": pearson.high,
                "spearman": measured["spearman"],
                "kendall": measured["kendall"],
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
