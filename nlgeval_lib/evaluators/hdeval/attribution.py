"""What each criterion contributes to the aggregated ratings, and what aggregators make
of fewer criteria or rows.

Three answers to what matters, each [criteria, targets]: `permutation_importance` (the
paper's saliency g), `shap_values(...).importance()` and `weights`. `overall` makes one
number a criterion of them, and `top` the choice of equation 3.

Source: HD-Eval, sections 2.3 (equation 3) and 4.4; Tables 4 and 5, Figures 4 to 9.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator, TooFewRows, matrix


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
    X, Y: criteria scores and ratings, rows aligned; those without prediction or rating
    are left out.
    repeats: how often each criterion is shuffled; the losses are averaged.

    Returns: 1.0 is the variance of a target's ratings; `attrs["sd"]`: {target: standard
    deviations over the repeats}.
    Raises: ValueError where fewer than 2 rows are left for a target.
    Source: HD-Eval, footnote 4; Figures 6 and 8.
    """
    from sklearn.inspection import permutation_importance as shuffled

    targets = aggregator.targets
    scores, ratings = _predicted_rows(aggregator, X, Y)
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
    means = [losses[target].importances_mean for target in targets]
    importance = _table(aggregator, np.stack(means, axis=1))
    importance.attrs["sd"] = {
        target: losses[target].importances_std.tolist() for target in targets
    }
    return importance


def _predicted_rows(
    aggregator: Aggregator, X: pd.DataFrame, Y: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray]:
    """Scores [rows, criteria] and ratings [rows, targets] of rows with a prediction.
    Raises: ValueError where a target has fewer than 2 ratings in them.
    """
    scores = matrix(X[list(aggregator.criteria)])
    ratings = matrix(Y[list(aggregator.targets)])
    rows = ~np.isnan(aggregator.predict_array(scores)).any(axis=1)
    counts = (~np.isnan(ratings[rows])).sum(axis=0)
    for target, count in zip(aggregator.targets, counts, strict=True):
        if count < 2:
            raise ValueError(
                f"{count} rows with a prediction and a rating of {target}; "
                "at least 2 are needed"
            )
    return scores[rows], ratings[rows]


def _table(source: Aggregator | ShapValues, values: np.ndarray) -> pd.DataFrame:
    """Values [criteria, targets] with the names of both."""
    criteria = pd.Index(source.criteria, name="criterion")
    return pd.DataFrame(values, criteria, list(source.targets))


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
        return _table(self, np.abs(self.values).mean(axis=0))


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
    return _table(aggregator, values)


def overall(importance: pd.DataFrame) -> pd.Series:
    """One number a criterion: the mean over the targets of its share of each target's
    total importance [criteria, targets]; negative importances count as 0.
    """
    positive = importance.clip(lower=0.0)
    totals = positive.sum(axis=0)
    return (positive / totals.where(totals > 0, 1.0)).mean(axis=1)


def top(importance: pd.DataFrame, among: Sequence[str], k: int) -> list[str]:
    """At most k of some criteria (those of the last layer), most important [criteria,
    targets] first, ties in their order.

    Source: HD-Eval, equation 3 and Algorithm 1, line 17; footnote 3.
    """
    shares = overall(importance)[list(among)]
    return list(shares.sort_values(ascending=False, kind="stable").index[:k])


def predictions(
    X: pd.DataFrame,
    Y: pd.DataFrame,
    test: Sequence[int] | np.ndarray,
    *,
    kinds: Iterable[str] = ("mlp",),
    shares: Iterable[float] = (1.0,),
    counts: Sequence[int] = (),
    seeds: Iterable[int] = range(5),
    **settings: Any,
) -> pd.DataFrame:
    """What does each kind of aggregator predict for the test rows, to be correlated
    with the ratings beside it?

    X, Y: criteria scores and ratings, rows aligned.
    test: positions of the rows that are predicted; all others train.
    kinds, seeds: of the aggregators; a seed also draws the training rows.
    shares: of the training rows, in (0, 1], drawn at random for each seed (Figure 4).
    counts: how many criteria, the most important by permutation (Figure 5); (): all.
    settings: `Aggregator`'s.

    Returns: columns kind, share, criteria (how many), seed, row (position in X),
    target, predicted (NaN where too few rows train), human; with counts
    `attrs["order"]`: {seed: criteria, most important first}.
    Raises: ValueError for a share outside (0, 1].
    """
    train = np.setdiff1d(np.arange(len(X)), test)
    orders = {}
    tables = []
    for kind, share, seed in itertools.product(kinds, shares, seeds):
        rows = _training_rows(train, share, seed)
        X_train = X.iloc[rows]
        Y_train = Y.iloc[rows]
        # With counts: which criteria are the most important in these training rows?
        order = list(X.columns)
        if counts:
            aggregator = Aggregator(kind, seed=seed, **settings).fit(X_train, Y_train)
            importance = permutation_importance(aggregator, X_train, Y_train, seed=seed)
            order = orders[seed] = top(importance, order, len(order))
        for count in counts or (len(order),):
            aggregator = Aggregator(kind, seed=seed, **settings)
            try:
                aggregator.fit(X_train[order[:count]], Y_train)
                predicted = aggregator.predict(X.iloc[test])
            except TooFewRows:
                predicted = Y.iloc[test] * np.nan
            human = Y.iloc[test]
            table = {
                "kind": kind,
                "share": share,
                "criteria": count,
                "seed": seed,
                "row": np.repeat(np.asarray(test), human.shape[1]),
                "target": list(human.columns) * len(test),
                "predicted": predicted.to_numpy().ravel(),
                "human": human.to_numpy(dtype=float).ravel(),
            }
            tables.append(pd.DataFrame(table))
    joined = pd.concat(tables, ignore_index=True)
    joined.attrs["order"] = orders
    return joined


def _training_rows(train: np.ndarray, share: float, seed: int) -> np.ndarray:
    """A random share of the training rows (positions), two or more, in their order.
    Raises: ValueError for a share outside (0, 1].
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is {share!r}; a number above 0 and up to 1 is needed")
    size = max(2, round(len(train) * share))
    shuffled = np.random.default_rng(seed).permutation(len(train))
    return train[np.sort(shuffled[:size])]
