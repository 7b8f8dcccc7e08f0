"""What each criterion contributes to the aggregated ratings, and what aggregators make
of fewer criteria or rows.

Source: HD-Eval, sections 2.3 (equation 3) and 4.4; Tables 4 and 5, Figures 4 to 9.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

    Rows without a prediction or a rating are left out; `attrs["sd"]`: {target: standard
    deviations over the repeats}.
    Raises: ValueError where fewer than 2 rows are left for a target. Source: HD-Eval,
    footnote 4; Figures 6 and 8.
    """
    from sklearn.inspection import permutation_importance as shuffled

    scores = matrix(X[list(aggregator.criteria)])
    ratings = matrix(Y[list(aggregator.targets)])
    rows = ~np.isnan(aggregator.predict_array(scores)).any(axis=1)
    scores = scores[rows]
    ratings = ratings[rows]
    for target, left in zip(
        aggregator.targets, (~np.isnan(ratings)).sum(axis=0), strict=True
    ):
        if left < 2:
            raise ValueError(
                f"{left} rows with a prediction and a rating of {target}; at least 2 are needed"
            )
    variance = np.nanvar(ratings, axis=0)
    unit = np.where(variance > 0, variance, 1.0)

    def quality(
        _: Aggregator, shuffled_scores: np.ndarray, __: Any
    ) -> dict[str, float]:
        error = np.nanmean(
            (aggregator.predict_array(shuffled_scores) - ratings) ** 2, axis=0
        )
        return dict(zip(aggregator.targets, -error / unit, strict=True))

    found = shuffled(
        aggregator,
        scores,
        ratings,
        scoring=quality,
        n_repeats=repeats,
        random_state=seed,
    )
    importance = _table(
        aggregator,
        np.stack(
            [found[target].importances_mean for target in aggregator.targets], axis=1
        ),
    )
    importance.attrs["sd"] = {
        target: found[target].importances_std.tolist() for target in aggregator.targets
    }
    return importance


def _table(of: Any, values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        values, pd.Index(of.criteria, name="criterion"), list(of.targets)
    )


@dataclass(frozen=True)
class ShapValues:
    """Shapley values: `base + values.sum(axis=1)` is the prediction.

    values [rows, criteria, targets]; base [targets], the mean prediction of the
    background; data [rows, criteria].
    """

    values: np.ndarray
    base: np.ndarray
    data: np.ndarray
    criteria: tuple[str, ...]
    targets: tuple[str, ...]

    def importance(self) -> pd.DataFrame:
        """The mean size of the values of each criterion, for each target."""
        return _table(self, np.abs(self.values).mean(axis=0))


def shap_values(
    aggregator: Aggregator,
    X: pd.DataFrame,
    *,
    rows: int | None = 100,
    seed: int = 0,
    rounds: int = 10,
) -> ShapValues:
    """Shapley values of `rows` random rows of X (None: all) that have a prediction, by
    the package shap.

    At most 100 random rows of X stand for "criterion unknown". Trees and linear models
    are exact; any other regressor is sampled by `rounds` permutations a row, with the
    seed.
    Raises: ImportError without shap; ValueError where no rows are left. Source:
    HD-Eval, section 4.4; Figures 7 and 9.
    """
    rng = np.random.default_rng(seed)
    given = _complete(aggregator, X, rows, rng)
    behind = _complete(aggregator, X, 100, rng)
    if aggregator.kind not in ("lr", "ridge", "average", "criterion"):
        values = np.zeros((*given.shape, len(aggregator.targets)))
        for columns, estimator in aggregator.estimators:
            found = _explain(estimator, given, behind, seed, rounds)
            values[:, :, columns] = np.asarray(found).reshape(*given.shape, -1)
    # linear in each criterion: the value is what it adds to the prediction at the
    # background's mean
    else:
        middle = behind.mean(axis=0)
        unit = aggregator.predict_array(
            middle + np.eye(len(middle))
        ) - aggregator.predict_array(middle[None, :])
        values = (given - middle)[:, :, None] * unit[None, :, :]
    base = aggregator.predict_array(behind).mean(axis=0)
    return ShapValues(values, base, given, aggregator.criteria, aggregator.targets)


def _explain(
    estimator: Any, X: np.ndarray, background: np.ndarray, seed: int, rounds: int
) -> Any:
    """Shapley values: of a tree or a forest exactly, of any other regressor sampled."""
    import shap
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.tree import DecisionTreeRegressor

    if type(estimator) not in (DecisionTreeRegressor, RandomForestRegressor):
        masker = shap.maskers.Independent(background, max_samples=len(background))
        explainer = shap.explainers.Permutation(estimator.predict, masker, seed=seed)
        return explainer(X, max_evals=rounds * (2 * X.shape[1] + 1), silent=True).values
    # shap rounds thresholds to 32 bits, which moves scores across them where neighbours
    # are that near: so it is given
    # their ranks, how many of a criterion's thresholds lie below a score
    trees = [member.tree_ for member in getattr(estimator, "estimators_", [estimator])]
    cuts = [
        np.unique(np.concatenate([t.threshold[t.feature == c] for t in trees]))
        for c in range(X.shape[1])
    ]

    def ranked(scores: np.ndarray) -> np.ndarray:
        columns = scores.astype(np.float32).T  # as scikit-learn rounds them
        return np.stack(
            [np.searchsorted(cut, one) for cut, one in zip(cuts, columns, strict=True)],
            axis=1,
        )

    ensemble = [
        {
            "children_left": tree.children_left,
            "children_right": tree.children_right,
            "children_default": tree.children_left,
            "features": tree.feature,
            "thresholds": np.array(
                [
                    np.searchsorted(cuts[c], cut)
                    for c, cut in zip(tree.feature, tree.threshold, strict=True)
                ],
                float,
            ),
            "values": tree.value[:, :, 0] / len(trees),
            "node_sample_weight": tree.weighted_n_node_samples,
        }
        for tree in trees
    ]
    explainer = shap.TreeExplainer(
        {"trees": ensemble}, data=ranked(background).astype(float)
    )
    return explainer.shap_values(ranked(X).astype(float), check_additivity=False)


def _complete(
    aggregator: Aggregator, X: pd.DataFrame, rows: int | None, rng: np.random.Generator
) -> np.ndarray:
    """At most `rows` random rows of X that have a prediction, gaps filled as the
    aggregator fills them.
    """
    filled = aggregator.filled(matrix(X[list(aggregator.criteria)]))
    filled = filled[~np.isnan(filled).any(axis=1)]
    if not len(filled):
        raise ValueError(
            f"none of {len(X)} rows has the criteria scores that the aggregator needs"
        )
    if rows is None or rows >= len(filled):
        return filled
    return filled[np.sort(rng.choice(len(filled), size=rows, replace=False))]


def weights(aggregator: Aggregator, X: pd.DataFrame) -> pd.DataFrame:
    """What the fitted numbers themselves say: impurity decreases of trees, sizes of
    linear coefficients.

    Trees that predict several targets at once have one importance for all of them;
    coefficients are scaled by the criteria's standard deviations in X. Raises:
    ValueError for a perceptron. Source: HD-Eval, Figure 8.
    """
    values = np.full((len(aggregator.criteria), len(aggregator.targets)), np.nan)
    spread = X[list(aggregator.criteria)].std(ddof=0).to_numpy()
    for columns, estimator in aggregator.estimators:
        if hasattr(estimator, "coef_"):
            values[:, columns] = (np.abs(np.atleast_2d(estimator.coef_)) * spread).T
        elif hasattr(estimator, "feature_importances_"):
            values[:, columns] = estimator.feature_importances_[:, None]
    if np.isnan(values).any():
        raise ValueError(
            f"{aggregator.kind} has no weights that say so; use permutation importance or SHAP"
        )
    return _table(aggregator, values)


def overall(importance: pd.DataFrame) -> pd.Series:
    """One number a criterion: the mean over the targets of its share of each target's
    total importance.

    Negative importances count as 0; a target that nothing matters for adds 0.
    """
    positive = importance.clip(lower=0.0)
    totals = positive.sum(axis=0)
    return (positive / totals.where(totals > 0, 1.0)).mean(axis=1)


def top(importance: pd.DataFrame, among: Sequence[str], k: int) -> list[str]:
    """The k most important of the criteria `among`, most important first, ties in their
    order.

    Source: HD-Eval, equation 3 and Algorithm 1, line 17.
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

    X: criteria scores, Y: ratings, rows aligned; test: positions of the rows that are
    predicted, all others train.
    shares: of the training rows, drawn at random, for each seed (Figure 4). counts:
    that many criteria are used, the most important by permutation in the training rows
    (Figure 5). settings: `Aggregator`'s.
    Columns: kind, share, criteria (how many), seed, row (position in X), target,
    predicted, human; with counts `attrs["order"]`: {seed: criteria, most important
    first}. Raises: ValueError for a share outside (0, 1].
    """
    train = np.setdiff1d(np.arange(len(X)), test)
    orders = {}
    parts = []
    for kind, share, seed in itertools.product(kinds, shares, seeds):
        if not 0 < share <= 1:
            raise ValueError(
                f"share is {share!r}; a number above 0 and up to 1 is needed"
            )
        size = min(len(train), max(2, round(len(train) * share)))
        rows = train[
            np.sort(np.random.default_rng(seed).permutation(len(train))[:size])
        ]
        order = list(X.columns)
        if counts:
            whole = Aggregator(kind, seed=seed, **settings).fit(
                X.iloc[rows], Y.iloc[rows]
            )
            importance = permutation_importance(
                whole, X.iloc[rows], Y.iloc[rows], seed=seed
            )
            orders[seed] = order = top(importance, order, len(order))
        for count in counts or (len(order),):
            chosen = X[order[:count]]
            fitted = Aggregator(kind, seed=seed, **settings).fit(
                chosen.iloc[rows], Y.iloc[rows]
            )
            columns = {
                "row": np.repeat(np.asarray(test), Y.shape[1]),
                "target": list(Y.columns) * len(test),
                "predicted": fitted.predict(chosen.iloc[test]).to_numpy().ravel(),
                "human": Y.iloc[test].to_numpy(dtype=float).ravel(),
            }
            parts.append(
                pd.DataFrame(
                    {
                        "kind": kind,
                        "share": share,
                        "criteria": count,
                        "seed": seed,
                        **columns,
                    }
                )
            )
    found = pd.concat(parts, ignore_index=True)
    found.attrs["order"] = orders
    return found
