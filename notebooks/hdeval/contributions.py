"""HD-Eval, Figures 7 to 9: what each criterion adds to the ratings that an aggregator
predicts, by Shapley values or by the fitted numbers themselves.

Source: HD-Eval, section 4.4; Figures 7 to 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.hdeval import Aggregator
from nlgeval_lib.evaluators.hdeval.aggregator import matrix


@dataclass(frozen=True)
class ShapValues:
    """Shapley values: `base + values.sum(axis=1)` is the prediction.

    values: [rows, criteria, targets], what a criterion's score adds to a row's rating.
    base: [targets], the mean prediction of the background.
    data: [rows, criteria], the scores that are explained.
    criteria, targets: the names, in the order of the axes.
    """

    values: np.ndarray
    base: np.ndarray
    data: np.ndarray
    criteria: tuple[str, ...]
    targets: tuple[str, ...]

    def importance(self) -> pd.DataFrame:
        """The mean size of the values: [criteria, targets]."""
        sizes = np.abs(self.values).mean(axis=0)
        criteria = pd.Index(self.criteria, name="criterion")
        return pd.DataFrame(sizes, criteria, list(self.targets))


def shap_values(
    aggregator: Aggregator,
    X: pd.DataFrame,
    *,
    rows: int | None = 100,
    seed: int = 0,
    rounds: int = 10,
) -> ShapValues:
    """Shapley values of random rows of X that have a prediction, by the package shap.

    aggregator: a fitted one.
    rows: how many rows are explained; None: all.
    seed: of the choice of rows and the sampling.
    rounds: permutations a row for regressors that are sampled; trees and linear models
    are exact.

    At most 100 random rows of X stand for "criterion unknown" (the background).

    Raises: ImportError without shap; ValueError where no rows are left.
    Source: HD-Eval, section 4.4; Figures 7 and 9.
    """
    rng = np.random.default_rng(seed)
    data = _complete(aggregator, X, rows, rng)
    background = _complete(aggregator, X, 100, rng)
    if aggregator.kind in ("lr", "ridge", "average", "criterion"):
        # Linear in each criterion: the value is what it adds to the prediction at the
        # background's mean.
        mean = background.mean(axis=0)
        at_mean = aggregator.predict_array(mean[None, :])
        one_higher = mean + np.eye(len(mean))  # row i: criterion i raised by 1
        slopes = aggregator.predict_array(one_higher) - at_mean
        distances = data - mean
        values = distances[:, :, None] * slopes[None, :, :]
    else:
        values = np.zeros((*data.shape, len(aggregator.targets)))
        for columns, estimator in aggregator.estimators:
            explained = _explain(estimator, data, background, seed, rounds)
            values[:, :, columns] = np.asarray(explained).reshape(*data.shape, -1)
    base = aggregator.predict_array(background).mean(axis=0)
    return ShapValues(values, base, data, aggregator.criteria, aggregator.targets)


def _explain(
    estimator: Any, X: np.ndarray, background: np.ndarray, seed: int, rounds: int
) -> Any:
    """Shapley values of one estimator [rows, criteria, (targets)]: of a tree or a
    forest exactly, of any other regressor sampled.
    """
    import shap
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.tree import DecisionTreeRegressor

    if type(estimator) not in (DecisionTreeRegressor, RandomForestRegressor):
        masker = shap.maskers.Independent(background, max_samples=len(background))
        explainer = shap.explainers.Permutation(estimator.predict, masker, seed=seed)
        # A permutation is walked forth and back, a criterion a step.
        evaluations = rounds * (2 * X.shape[1] + 1)
        return explainer(X, max_evals=evaluations, silent=True).values
    # shap rounds thresholds to 32 bits, which moves scores across them where neighbours
    # are that near. So it is given ranks instead of scores: how many of a criterion's
    # thresholds lie below a score.
    trees = [member.tree_ for member in getattr(estimator, "estimators_", [estimator])]
    thresholds = []
    for criterion in range(X.shape[1]):
        of_trees = [tree.threshold[tree.feature == criterion] for tree in trees]
        thresholds.append(np.unique(np.concatenate(of_trees)))
    ensemble = [_ranked_tree(tree, thresholds, len(trees)) for tree in trees]
    background_ranks = _ranks(background, thresholds)
    explainer = shap.TreeExplainer({"trees": ensemble}, data=background_ranks)
    return explainer.shap_values(_ranks(X, thresholds), check_additivity=False)


def _ranks(scores: np.ndarray, thresholds: Sequence[np.ndarray]) -> np.ndarray:
    """How many of a criterion's sorted thresholds lie below each score [rows,
    criteria].
    """
    columns = scores.astype(np.float32).T  # as scikit-learn rounds them
    ranks = list(map(np.searchsorted, thresholds, columns))
    return np.stack(ranks, axis=1).astype(float)


def _ranked_tree(
    tree: Any, thresholds: Sequence[np.ndarray], n_trees: int
) -> dict[str, np.ndarray]:
    """A tree of a forest of so many as shap takes it, with its thresholds' ranks."""
    ranks = []
    for criterion, threshold in zip(tree.feature, tree.threshold, strict=True):
        ranks.append(np.searchsorted(thresholds[criterion], threshold))
    return {
        "children_left": tree.children_left,
        "children_right": tree.children_right,
        "children_default": tree.children_left,
        "features": tree.feature,
        "thresholds": np.array(ranks, float),
        "values": tree.value[:, :, 0] / n_trees,
        "node_sample_weight": tree.weighted_n_node_samples,
    }


def _complete(
    aggregator: Aggregator, X: pd.DataFrame, rows: int | None, rng: np.random.Generator
) -> np.ndarray:
    """At most so many random rows of X (None: all) that have a prediction, in their
    order, gaps filled. Raises: ValueError where there is none.
    """
    filled = aggregator.filled(matrix(X[list(aggregator.criteria)]))
    filled = filled[~np.isnan(filled).any(axis=1)]
    if not len(filled):
        raise ValueError(
            f"none of {len(X)} rows has the criteria scores that the aggregator needs"
        )
    if rows is None or rows >= len(filled):
        return filled
    drawn = rng.choice(len(filled), size=rows, replace=False)
    return filled[np.sort(drawn)]


def weights(aggregator: Aggregator, X: pd.DataFrame) -> pd.DataFrame:
    """What the fitted numbers themselves say: impurity decreases of trees (of several
    targets at once, one for all), sizes of linear coefficients scaled by the
    standard deviations in X. [criteria, targets]

    Raises: ValueError for a perceptron.
    Source: HD-Eval, Figure 8.
    """
    values = np.full((len(aggregator.criteria), len(aggregator.targets)), np.nan)
    spread = X[list(aggregator.criteria)].std(ddof=0).to_numpy()
    for columns, estimator in aggregator.estimators:
        if hasattr(estimator, "coef_"):
            sizes = np.abs(np.atleast_2d(estimator.coef_))
            values[:, columns] = (sizes * spread).T
        elif hasattr(estimator, "feature_importances_"):
            values[:, columns] = estimator.feature_importances_[:, None]
    if np.isnan(values).any():
        raise ValueError(
            f"{aggregator.kind} has no weights that say so; "
            "use permutation importance or SHAP"
        )
    criteria = pd.Index(aggregator.criteria, name="criterion")
    return pd.DataFrame(values, criteria, list(aggregator.targets))
