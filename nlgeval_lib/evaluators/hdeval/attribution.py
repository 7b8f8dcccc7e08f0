"""What each criterion contributes to the aggregated ratings, and which criteria to decompose further.

Source: HD-Eval, sections 2.3 (equation 3) and 4.4; Figures 6 to 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.hdeval import models
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator

SALIENCY = ("permutation", "shap", "weights")
SCORING = ("r2", "mse")


def permutation_importance(
    aggregator: Aggregator, X: pd.DataFrame, Y: pd.DataFrame, *, repeats: int = 10, seed: int = 0, scoring: str = "r2"
) -> pd.DataFrame:
    """How much worse the prediction of each target becomes when a criterion's scores are shuffled.

    scoring: r2 (the loss of explained variance, comparable between targets) or mse (the gain of squared error). Rows
    without a prediction or a rating are left out. Index: criteria; columns: targets; `attrs["sd"]`: {target: standard
    deviations over the repeats}. Source: HD-Eval, footnote 4; Figures 6 and 8.

    Raises: ValueError where fewer than 2 rows are left for a target.
    """
    from sklearn.inspection import permutation_importance as shuffled

    if scoring not in SCORING:
        raise ValueError(f"scoring is {scoring!r}; allowed: {', '.join(SCORING)}")
    scores = X[list(aggregator.criteria)].to_numpy(dtype=np.float64, na_value=np.nan)
    ratings = Y[list(aggregator.targets)].to_numpy(dtype=np.float64, na_value=np.nan)
    rows = ~np.isnan(aggregator.predict_array(scores)).any(axis=1)
    scores, ratings = scores[rows], ratings[rows]
    for column, target in enumerate(aggregator.targets):
        left = int((~np.isnan(ratings[:, column])).sum())
        if left < 2:
            raise ValueError(f"{left} rows with a prediction and a rating of {target}; at least 2 are needed")

    def quality(asked: _Predictor, shuffled_scores: np.ndarray, _: Any) -> dict[str, float]:
        error = np.nanmean((aggregator.predict_array(shuffled_scores) - ratings) ** 2, axis=0)
        return dict(zip(aggregator.targets, -error, strict=True))

    found = shuffled(_Predictor(), scores, ratings, scoring=quality, n_repeats=repeats, random_state=seed)
    variance = np.nanvar(ratings, axis=0) if scoring == "r2" else np.ones(len(aggregator.targets))
    unit = dict(zip(aggregator.targets, np.where(variance > 0, variance, 1.0), strict=True))
    index = pd.Index(aggregator.criteria, name="criterion")
    importance = pd.DataFrame({t: found[t].importances_mean / unit[t] for t in aggregator.targets}, index=index)
    importance.attrs.update(saliency="permutation", scoring=scoring, repeats=repeats, seed=seed)
    importance.attrs["sd"] = {t: (found[t].importances_std / unit[t]).tolist() for t in aggregator.targets}
    return importance


class _Predictor:
    """Stands where scikit-learn wants an estimator; the scoring function predicts."""

    def fit(self, X: Any, y: Any) -> _Predictor:
        return self


@dataclass(frozen=True)
class ShapValues:
    """Shapley values: `base + values.sum(axis=1)` is the prediction.

    values [rows, criteria, targets]; base [targets], the mean prediction of the background; data [rows, criteria].
    """

    values: np.ndarray
    base: np.ndarray
    data: np.ndarray
    criteria: tuple[str, ...]
    targets: tuple[str, ...]

    def importance(self) -> pd.DataFrame:
        """The mean size of the values of each criterion, for each target."""
        return pd.DataFrame(
            np.abs(self.values).mean(axis=0),
            index=pd.Index(self.criteria, name="criterion"),
            columns=list(self.targets),
        )


def shap_values(
    aggregator: Aggregator,
    X: pd.DataFrame,
    *,
    background: pd.DataFrame | None = None,
    rows: int | None = 100,
    seed: int = 0,
    rounds: int = 10,
) -> ShapValues:
    """Shapley values of `rows` random rows of X (None: all), by the package shap.

    background: rows that stand for "criterion unknown", by default at most 100 random rows of X. Trees and linear
    models are exact; a perceptron is sampled by `rounds` permutations a row, with the seed. Rows and background without
    a prediction are left out. Source: HD-Eval, section 4.4; Figures 7 and 9 (100 rows).

    Raises: ImportError without shap; ValueError where no rows are left or the aggregator is not fitted.
    """
    if not aggregator.fitted:
        raise ValueError("the aggregator is not fitted yet; call fit")
    rng = np.random.default_rng(seed)
    given = _complete(aggregator, X, rows, rng)
    behind = _complete(aggregator, X if background is None else background, 100, rng)
    values = np.zeros((*given.shape, len(aggregator.targets)))
    for columns, model in aggregator.fitted:
        values[:, :, columns] = _explain(model, given, behind, seed, rounds)
    base = np.zeros(len(aggregator.targets))
    for columns, model in aggregator.fitted:
        base[list(columns)] = model.predict(behind).mean(axis=0)
    return ShapValues(values, base, given, aggregator.criteria, aggregator.targets)


def _explain(model: models.Model, X: np.ndarray, background: np.ndarray, seed: int, rounds: int) -> np.ndarray:
    """Shapley values [rows, features, targets] of one model."""
    if not isinstance(model, models.Trees | models.Perceptron):
        # linear in each feature: the value is what the feature adds to the prediction at the background's mean
        middle = background.mean(axis=0)
        at_middle = model.predict(middle[None, :])
        unit = model.predict(middle + np.eye(len(middle))) - at_middle
        return (X - middle)[:, :, None] * unit[None, :, :]
    import shap

    if isinstance(model, models.Trees):
        ensemble = {"trees": [_shap_tree(tree, len(model.trees)) for tree in model.trees]}
        explainer = shap.TreeExplainer(ensemble, data=background, feature_perturbation="interventional")
        return np.asarray(explainer.shap_values(X, check_additivity=False)).reshape(*X.shape, -1)
    masker = shap.maskers.Independent(background, max_samples=len(background))
    explainer = shap.explainers.Permutation(model.predict, masker, seed=seed)
    found = explainer(X, max_evals=rounds * (2 * X.shape[1] + 1), silent=True)
    return np.asarray(found.values).reshape(*X.shape, -1)


def _shap_tree(tree: models.Tree, trees: int) -> dict[str, np.ndarray]:
    """A tree as shap reads it; the forest is the sum of its trees."""
    return {
        "children_left": tree.left.astype(np.int32),
        "children_right": tree.right.astype(np.int32),
        "children_default": tree.left.astype(np.int32),
        "features": tree.feature.astype(np.int32),
        "thresholds": tree.threshold,
        "values": tree.value / trees,
        "node_sample_weight": np.ones(len(tree.left)),
    }


def _complete(aggregator: Aggregator, X: pd.DataFrame, rows: int | None, rng: np.random.Generator) -> np.ndarray:
    """At most `rows` random rows of X that have a prediction, gaps filled as the aggregator fills them."""
    scores = X[list(aggregator.criteria)].to_numpy(dtype=np.float64, na_value=np.nan)
    filled, _ = aggregator._filled(scores)
    filled = filled[~np.isnan(filled).any(axis=1)]
    if not len(filled):
        raise ValueError(f"none of {len(scores)} rows has the criteria scores that the aggregator needs")
    if rows is None or rows >= len(filled):
        return filled
    return filled[np.sort(rng.choice(len(filled), size=rows, replace=False))]


def weights(aggregator: Aggregator, X: pd.DataFrame | None = None) -> pd.DataFrame:
    """What the fitted numbers themselves say: impurity decreases of trees, sizes of linear coefficients.

    Trees that predict several targets at once have one importance for all of them. X scales linear coefficients by the
    criteria's standard deviations, so that criteria on other scales compare. Source: HD-Eval, Figure 8.

    Raises: ValueError for a perceptron and for aggregators that are not fitted.
    """
    columns = {}
    for targets, model in aggregator.fitted:
        for position, column in enumerate(targets):
            if isinstance(model, models.Trees):
                columns[column] = model.importances
            elif isinstance(model, models.Linear):
                columns[column] = np.abs(model.coef[position])
                if X is not None:
                    columns[column] = columns[column] * X[list(aggregator.criteria)].std(ddof=0).to_numpy()
            else:
                raise ValueError(f"{aggregator.kind} has no weights that say so; use permutation importance or SHAP")
    if not columns:
        raise ValueError("the aggregator is not fitted yet; call fit")
    index = pd.Index(aggregator.criteria, name="criterion")
    return pd.DataFrame({aggregator.targets[c]: columns[c] for c in sorted(columns)}, index=index)


def saliency(
    aggregator: Aggregator, X: pd.DataFrame, Y: pd.DataFrame, *, by: str = "permutation", seed: int = 0
) -> pd.DataFrame:
    """The importance of each criterion (index) for each target (columns), by one of `SALIENCY`.

    Raises: ValueError for another way.
    """
    if by == "permutation":
        return permutation_importance(aggregator, X, Y, seed=seed)
    if by == "shap":
        return shap_values(aggregator, X, seed=seed).importance()
    if by == "weights":
        return weights(aggregator, X)
    raise ValueError(f"saliency is {by!r}; allowed: {', '.join(SALIENCY)}")


def overall(importance: pd.DataFrame) -> pd.Series:
    """One number a criterion: the mean over the targets of its share of each target's total importance.

    Negative importances count as 0; a target that nothing matters for adds 0.
    """
    positive = importance.clip(lower=0.0)
    totals = positive.sum(axis=0)
    return (positive / totals.where(totals > 0, 1.0)).mean(axis=1)


def top(importance: pd.DataFrame, among: Sequence[str], k: int) -> list[str]:
    """The k most important of the criteria `among`, most important first, ties in their order.

    Source: HD-Eval, equation 3 and Algorithm 1, line 17. Raises: ValueError for k below 1 or an unknown criterion.
    """
    if k < 1:
        raise ValueError(f"k is {k}; at least one criterion must be kept")
    if unknown := [name for name in among if name not in importance.index]:
        raise ValueError(f"no importance of {', '.join(unknown)}")
    shares = overall(importance)[list(among)]
    return list(shares.sort_values(ascending=False, kind="stable").index[:k])
