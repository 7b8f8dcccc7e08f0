"""Whether a feedback set is even: scores equally frequent, responses equally long; and the paper's statistics of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from nlgeval_lib.training import statistics as stats
from nlgeval_lib.training.feedback_collection.pieces import SCORES, RubricDraft


def checks(
    frame: pd.DataFrame, *, scores_within: float = 1.0, length_ratio: float = 1.25, rho: float = 0.1
) -> pd.DataFrame:
    """The conditions that the paper sets for its data: a row each with `value`, `limit` and `ok`.

    scores: the most frequent score's count over the rarest one's (limit `scores_within`); length: the largest mean
    length over the smallest, in words (`length_ratio`); length_rho: Spearman's correlation of length and score, its
    size (`rho`). The paper gives no limits; these are ours. A value that cannot be had (NaN) is not ok.
    Reads `response` and `score`.
    Source: Prometheus, section 3 (considerations 2 and 3), Figure 9.
    """
    counts = frame["score"].value_counts().reindex(SCORES, fill_value=0)
    lengths = np.array([len(stats.words(text)) for text in frame["response"]], dtype=float)
    means = pd.Series(lengths).groupby(frame["score"].to_numpy()).mean()
    values = {
        "scores": counts.max() / counts.min() if counts.min() else float("inf") if counts.max() else float("nan"),
        "length": means.max() / means.min() if len(means) and means.min() else float("nan"),
        "length_rho": _rho(lengths, frame["score"].to_numpy(dtype=float)),
    }
    limits = {"scores": scores_within, "length": length_ratio, "length_rho": rho}
    table = pd.DataFrame({"value": values, "limit": limits})
    table["ok"] = table["value"].abs() <= table["limit"]
    table.index.name = "check"
    return table


def _rho(lengths: np.ndarray, scores: np.ndarray) -> float:
    from scipy import stats as scipy_stats

    if len(lengths) < 3 or len(set(lengths)) < 2 or len(set(scores)) < 2:
        return 0.0 if len(set(lengths)) == 1 and len(lengths) > 2 else float("nan")  # equal lengths follow no score
    return float(scipy_stats.spearmanr(lengths, scores).statistic)


def statistics(
    frame: pd.DataFrame,
    rubrics: Sequence[RubricDraft],
    most_pairs: int = 20_000,
    unseen: Sequence[str] = (),
    polarity: Callable[[str], float] | None = None,
) -> dict[str, pd.DataFrame]:
    """The tables and figures of the paper's appendices C and D for a collection, and the balance checks.

    unseen: criteria of a test set, for the overlap with it. polarity: text -> sentiment, for that of the levels.
    Figures of distributions come as their mean and quantiles.
    Source: Prometheus, Table 1; Table 7; Figure 7; Figure 8; Figure 9; Figure 10.
    """
    if frame.empty:
        return {}
    once = frame.drop_duplicates(["criteria", "instruction"])
    parts = {
        "Instruction": once["instruction"],
        "Reference": once["reference"],
        "Score Rubric": frame["rubric"].drop_duplicates(),
        "Responses": frame["response"],
        "Feedback": frame["feedback"],
    }
    criteria = [draft.criteria for draft in rubrics]
    tables = {
        "Size (Table 1)": stats.collection_table(frame).to_frame(),
        "Distinct n-grams (Table 7)": stats.diversity_table(parts),
        "ROUGE-L between criteria (Figure 7)": _quantiles(stats.rouge_l_pairs(criteria, most=most_pairs)),
        "Words by score (Figure 9)": stats.length_by_score(frame),
        "Balance": checks(frame),
    }
    if unseen:
        overlap = stats.rouge_l_pairs(criteria, list(unseen), most=most_pairs)
        tables["ROUGE-L with the test set's criteria (Figure 10)"] = _quantiles(overlap)
    if polarity is not None:
        levels = [
            {"score": score, "description": text} for draft in rubrics for score, text in draft.rubric().levels.items()
        ]
        tables["Sentiment by score (Figure 8)"] = stats.sentiment_by_score(pd.DataFrame(levels), polarity)
    return tables


def _quantiles(values: np.ndarray) -> pd.DataFrame:
    return pd.Series(values).describe().rename("ROUGE-L F1").to_frame().T
