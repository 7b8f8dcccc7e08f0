"""Attribution pruning: what each criterion contributes to the ratings, and which are
kept. Importances are tables [criteria, targets].

Source: HD-Eval, sections 2.3 (equation 3) and 4.4; Tables 4 and 5, Figures 4 to 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator, matrix


def permutation_importance(
    aggregator: Aggregator,
    X: pd.DataFrame,
    Y: pd.DataFrame,
    *,
    repeats: int = 10,
    seed: int = 0,
) -> pd.DataFrame:
    """How much explained variance (R2) of each target is lost by shuffling a
    criterion's scores? [criteria, targets]

    aggregator: a fitted one.
    X, Y: criteria scores and ratings, rows aligned; those without either are left out.
    repeats: how often each criterion is shuffled; the losses are averaged.

    Returns: 1.0 is the variance of a target's ratings; `attrs["sd"]`: {target: standard
    deviations over the repeats}.
    Raises: ValueError where fewer than 2 rows are left for a target.
    Source: HD-Eval, footnote 4; Figures 6 and 8.
    """
    from sklearn.inspection import permutation_importance as shuffled

    targets = list(aggregator.targets)
    scores = matrix(X[list(aggregator.criteria)])
    ratings = matrix(Y[targets])
    rows = ~np.isnan(aggregator.predict_array(scores)).any(axis=1)
    scores = scores[rows]
    ratings = ratings[rows]
    counts = (~np.isnan(ratings)).sum(axis=0)
    for target, count in zip(targets, counts, strict=True):
        if count < 2:
            raise ValueError(
                f"{count} rows with a prediction and a rating of {target}; "
                "at least 2 are needed"
            )
    # Minus squared errors over the variance are R2 - 1; the 1 cancels out in a loss.
    variance = np.nanvar(ratings, axis=0)
    unit = np.where(variance > 0, variance, 1.0)

    def quality(
        _: Aggregator, shuffled_scores: np.ndarray, __: Any
    ) -> dict[str, float]:
        errors = aggregator.predict_array(shuffled_scores) - ratings
        negative_error = -np.nanmean(errors**2, axis=0) / unit
        return dict(zip(targets, negative_error, strict=True))

    losses = shuffled(
        aggregator,
        scores,
        ratings,
        scoring=quality,
        n_repeats=repeats,
        random_state=seed,
    )
    means = {target: losses[target].importances_mean for target in targets}
    criteria = pd.Index(aggregator.criteria, name="criterion")
    importance = pd.DataFrame(means, criteria, targets)
    importance.attrs["sd"] = {
        target: losses[target].importances_std.tolist() for target in targets
    }
    return importance


def overall(importance: pd.DataFrame) -> pd.Series:
    """One number a criterion: the mean over the targets of its share of each target's
    importance; negative importances count as 0.
    """
    positive = importance.clip(lower=0.0)
    totals = positive.sum(axis=0)
    return (positive / totals.where(totals > 0, 1.0)).mean(axis=1)


def top(importance: pd.DataFrame, among: Sequence[str], k: int) -> list[str]:
    """At most k of some criteria, most important first, ties in their order.

    Source: HD-Eval, equation 3 and Algorithm 1, line 17; footnote 3.
    """
    shares = overall(importance)[list(among)]
    return list(shares.sort_values(ascending=False, kind="stable").index[:k])
