"""HD-Eval's sweeps over criteria scores that are there already: training share, number of criteria, layers, aggregator.

Each gives a frame of predictions on the test rows, to be correlated with the ratings beside them. Source: HD-Eval,
Tables 4 and 5, Figures 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.hdeval import attribution
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator
from nlgeval_lib.evaluators.hdeval.table import training_share


def by_aggregator(
    X: pd.DataFrame,
    Y: pd.DataFrame,
    test: Sequence[int],
    kinds: Iterable[str],
    seeds: Iterable[int] = (0,),
    **settings: Any,
) -> pd.DataFrame:
    """Predictions of each kind of aggregator, fitted on all rows but the positions `test`. Source: Table 5.

    X: criteria scores, Y: ratings, rows aligned. `settings` are `Aggregator`'s. Columns: kind, seed, row (position in
    X), target, predicted, human.
    """
    train = _others(test, len(X))
    return _stack(
        {"kind": kind, "seed": seed} | {"frame": _predict(X, Y, train, test, Aggregator(kind, seed=seed, **settings))}
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
    """Predictions after training on random shares of the rows that are not in `test`. Source: Figure 4 (5 seeds).

    Columns: share, seed, row, target, predicted, human.
    """
    train = _others(test, len(X))
    return _stack(
        {"share": share, "seed": seed}
        | {"frame": _predict(X, Y, train[chosen], test, Aggregator(kind, seed=seed, **settings))}
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
    """Predictions with the most important criteria only, 1, 2, ... or the `counts` of them. Source: Figure 5.

    Criteria are ordered by permutation importance in the training rows, for each seed. Columns: criteria (how many),
    seed, row, target, predicted, human; `attrs["order"]`: {seed: criteria, most important first}.

    Raises: ValueError for a count that is none of the criteria's.
    """
    train = _others(test, len(X))
    counts = list(range(1, X.shape[1] + 1) if counts is None else counts)
    if bad := [count for count in counts if not 1 <= count <= X.shape[1]]:
        raise ValueError(f"counts {bad}: there are 1 to {X.shape[1]} criteria")
    orders = {}
    parts = []
    for seed in seeds:
        whole = Aggregator(kind, seed=seed, **settings).fit(X.iloc[train], Y.iloc[train])
        importance = attribution.permutation_importance(whole, X.iloc[train], Y.iloc[train], seed=seed)
        orders[seed] = order = attribution.top(importance, list(X.columns), X.shape[1])
        for count in counts:
            some = X[order[:count]]
            frame = _predict(some, Y, train, test, Aggregator(kind, seed=seed, **settings))
            parts.append({"criteria": count, "seed": seed, "frame": frame})
    found = _stack(parts)
    found.attrs["order"] = orders
    return found


def _others(test: Sequence[int], n: int) -> np.ndarray:
    """All positions but the test rows. Raises: ValueError where a position is none, or nothing is left to train on."""
    positions, known = np.asarray(test), np.arange(n)
    if len(positions) == 0 or len(set(positions.tolist())) < len(positions) or not np.isin(positions, known).all():
        raise ValueError(f"test must be different positions from 0 to {n - 1}, one or more")
    return np.setdiff1d(known, positions)


def _predict(
    X: pd.DataFrame, Y: pd.DataFrame, train: np.ndarray, test: Sequence[int], aggregator: Aggregator
) -> pd.DataFrame:
    """Row, target, predicted and human for each test row and target."""
    fitted = aggregator.fit(X.iloc[train], Y.iloc[train])
    predicted = fitted.predict(X.iloc[test]).to_numpy()
    targets = list(Y.columns)
    return pd.DataFrame(
        {
            "row": np.repeat(np.asarray(test), len(targets)),
            "target": targets * len(predicted),
            "predicted": predicted.ravel(),
            "human": Y.iloc[test].to_numpy(dtype=float).ravel(),
        }
    )


def _stack(parts: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The frames under each other, the settings of each as its first columns."""
    frames = []
    for part in parts:
        frame, settings = part["frame"], {key: value for key, value in part.items() if key != "frame"}
        for place, (key, value) in enumerate(settings.items()):
            frame.insert(place, key, value)
        frames.append(frame)
    if not frames:
        raise ValueError("nothing to sweep over: give at least one setting and one seed")
    return pd.concat(frames, ignore_index=True)
