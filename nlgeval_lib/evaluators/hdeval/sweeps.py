"""HD-Eval's sweeps over criteria scores that are there already: training share, number of criteria, layers, aggregator.

Each gives a frame of predictions on the test rows, to be correlated with the ratings beside them. X: criteria scores,
Y: ratings, rows aligned; test: positions of the rows that are predicted, all others train; settings: `Aggregator`'s.
Columns: the setting, seed, row (position in X), target, predicted, human.

Source: HD-Eval, Tables 4 and 5, Figures 4 and 5.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.hdeval import attribution
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator, training_share


def by_aggregator(
    X: pd.DataFrame, Y: pd.DataFrame, test: Sequence[int], kinds: Iterable[str], seeds: Iterable[int], **settings: Any
) -> pd.DataFrame:
    """Predictions of each `kind` of aggregator, fitted on all rows but the positions `test`. Source: Table 5."""
    seeds = list(seeds)
    whole = [by_share(X, Y, test, [1.0], seeds, kind, **settings).assign(share=kind) for kind in kinds]
    return pd.concat(whole, ignore_index=True).rename(columns={"share": "kind"})


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
    train = np.setdiff1d(np.arange(len(X)), test)
    parts = []
    for share, seed in itertools.product(shares, seeds):
        rows = train[training_share(len(train), share, seed)]
        fitted = Aggregator(kind, seed=seed, **settings).fit(X.iloc[rows], Y.iloc[rows])
        parts.append(_predicted(fitted, X, Y, test, share=share, seed=seed))
    return pd.concat(parts, ignore_index=True)


def by_criteria(
    X: pd.DataFrame,
    Y: pd.DataFrame,
    test: Sequence[int],
    counts: Iterable[int],
    seeds: Iterable[int] = range(5),
    kind: str = "mlp",
    **settings: Any,
) -> pd.DataFrame:
    """Predictions with the most important `criteria` only, of each of the `counts`. Source: Figure 5.

    Criteria are ordered by permutation importance in the training rows, for each seed; `attrs["order"]`: {seed:
    criteria, most important first}.
    """
    train, counts = np.setdiff1d(np.arange(len(X)), test), list(counts)
    orders, parts = {}, []
    for seed in seeds:
        whole = Aggregator(kind, seed=seed, **settings).fit(X.iloc[train], Y.iloc[train])
        importance = attribution.permutation_importance(whole, X.iloc[train], Y.iloc[train], seed=seed)
        orders[seed] = order = attribution.top(importance, list(X.columns), X.shape[1])
        for count in counts:
            chosen = X[order[:count]]
            fitted = Aggregator(kind, seed=seed, **settings).fit(chosen.iloc[train], Y.iloc[train])
            parts.append(_predicted(fitted, chosen, Y, test, criteria=count, seed=seed))
    found = pd.concat(parts, ignore_index=True)
    found.attrs["order"] = orders
    return found


def _predicted(
    fitted: Aggregator, X: pd.DataFrame, Y: pd.DataFrame, test: Sequence[int], **setting: Any
) -> pd.DataFrame:
    predicted = fitted.predict(X.iloc[test]).to_numpy()
    columns = {
        "row": np.repeat(np.asarray(test), Y.shape[1]),
        "target": list(Y.columns) * len(predicted),
        "predicted": predicted.ravel(),
        "human": Y.iloc[test].to_numpy(dtype=float).ravel(),
    }
    return pd.DataFrame({**setting, **columns})
