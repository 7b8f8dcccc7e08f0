"""HD-Eval's sweeps over criteria scores that are there already: training share, number of criteria, layers, aggregator.

Each gives a frame of predictions on the test rows, to be correlated with the ratings beside them. X: criteria scores,
Y: ratings, rows aligned; test: positions of the rows that are predicted, all others train; settings: `Aggregator`'s.
Columns: the setting, seed, row (position in X), target, predicted, human.

Source: HD-Eval, Tables 4 and 5, Figures 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.hdeval import attribution
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator, training_share


def by_aggregator(
    X: pd.DataFrame,
    Y: pd.DataFrame,
    test: Sequence[int],
    kinds: Iterable[str],
    seeds: Iterable[int] = (0,),
    **settings: Any,
) -> pd.DataFrame:
    """Predictions of each `kind` of aggregator, fitted on all rows but the positions `test`. Source: Table 5."""
    train = _others(test, len(X))
    return _stacked(
        _predicted(X, Y, train, test, Aggregator(kind, seed=seed, **settings), kind=kind, seed=seed)
        for kind in kinds
        for seed in seeds
    )


def by_share(
    X: pd.DataFrame,
    Y: pd.DataFrame,
    test: Sequence[int],
    shares: Iterable[float],
    seeds: Iterable[int] = range(5),
    kind: str = "mlp",
    **settings: Any,
) -> pd.DataFrame:
    """Predictions after training on a random `share` of the rows that are not in `test`. Source: Figure 4 (5 seeds)."""
    train = _others(test, len(X))
    return _stacked(
        _predicted(X, Y, train[chosen], test, Aggregator(kind, seed=seed, **settings), share=share, seed=seed)
        for share in shares
        for seed in seeds
        for chosen in [training_share(len(train), share, seed)]
    )


def by_criteria(
    X: pd.DataFrame,
    Y: pd.DataFrame,
    test: Sequence[int],
    counts: Iterable[int] | None = None,
    seeds: Iterable[int] = range(5),
    kind: str = "mlp",
    **settings: Any,
) -> pd.DataFrame:
    """Predictions with the most important `criteria` only, 1, 2, ... or the `counts` of them. Source: Figure 5.

    Criteria are ordered by permutation importance in the training rows, for each seed; `attrs["order"]`: {seed:
    criteria, most important first}. Raises: ValueError for a count that is none of the criteria's.
    """
    train = _others(test, len(X))
    counts = list(range(1, X.shape[1] + 1) if counts is None else counts)
    if bad := [count for count in counts if not 1 <= count <= X.shape[1]]:
        raise ValueError(f"counts {bad}: there are 1 to {X.shape[1]} criteria")
    orders, parts = {}, []
    for seed in seeds:
        whole = Aggregator(kind, seed=seed, **settings).fit(X.iloc[train], Y.iloc[train])
        importance = attribution.permutation_importance(whole, X.iloc[train], Y.iloc[train], seed=seed)
        orders[seed] = order = attribution.top(importance, list(X.columns), X.shape[1])
        for count in counts:
            aggregator = Aggregator(kind, seed=seed, **settings)
            parts.append(_predicted(X[order[:count]], Y, train, test, aggregator, criteria=count, seed=seed))
    found = _stacked(parts)
    found.attrs["order"] = orders
    return found


def _others(test: Sequence[int], n: int) -> np.ndarray:
    """All positions but the test rows. Raises: ValueError where a position is none, or nothing is left to train on."""
    positions, known = np.asarray(test), np.arange(n)
    if len(positions) == 0 or len(set(positions.tolist())) < len(positions) or not np.isin(positions, known).all():
        raise ValueError(f"test must be different positions from 0 to {n - 1}, one or more")
    return np.setdiff1d(known, positions)


def _predicted(
    X: pd.DataFrame, Y: pd.DataFrame, train: np.ndarray, test: Sequence[int], aggregator: Aggregator, **setting: Any
) -> pd.DataFrame:
    """The setting, row, target, predicted and human for each test row and target."""
    predicted = aggregator.fit(X.iloc[train], Y.iloc[train]).predict(X.iloc[test]).to_numpy()
    columns = {
        "row": np.repeat(np.asarray(test), Y.shape[1]),
        "target": list(Y.columns) * len(predicted),
        "predicted": predicted.ravel(),
        "human": Y.iloc[test].to_numpy(dtype=float).ravel(),
    }
    return pd.DataFrame({**setting, **columns})


def _stacked(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The frames under each other. Raises: ValueError without any."""
    frames = list(parts)
    if not frames:
        raise ValueError("nothing to sweep over: give at least one setting and one seed")
    return pd.concat(frames, ignore_index=True)
