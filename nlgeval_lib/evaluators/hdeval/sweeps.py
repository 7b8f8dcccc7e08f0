"""HD-Eval's sweeps over criteria scores that are there already: aggregator, share of training data, number of criteria.

Source: HD-Eval, Tables 4 and 5, Figures 4 and 5.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.hdeval import attribution
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator


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
    """What does each kind of aggregator predict for the test rows, to be correlated with the ratings beside it?

    X: criteria scores, Y: ratings, rows aligned; test: positions of the rows that are predicted, all others train.
    shares: of the training rows, drawn at random, for each seed (Figure 4). counts: that many criteria are used, the
    most important by permutation in the training rows (Figure 5); all where none is given. settings: `Aggregator`'s.
    Columns: kind, share, criteria (how many), seed, row (position in X), target, predicted, human; with counts
    `attrs["order"]`: {seed: criteria, most important first}.

    Raises: ValueError for a share outside (0, 1].
    """
    train, orders, parts = np.setdiff1d(np.arange(len(X)), test), {}, []
    for kind, share, seed in itertools.product(kinds, shares, seeds):
        rows, order = train[training_share(len(train), share, seed)], list(X.columns)
        if counts:
            whole = Aggregator(kind, seed=seed, **settings).fit(X.iloc[rows], Y.iloc[rows])
            importance = attribution.permutation_importance(whole, X.iloc[rows], Y.iloc[rows], seed=seed)
            orders[seed] = order = attribution.top(importance, order, len(order))
        for count in counts or (len(order),):
            chosen = X[order[:count]]
            fitted = Aggregator(kind, seed=seed, **settings).fit(chosen.iloc[rows], Y.iloc[rows])
            columns = {
                "row": np.repeat(np.asarray(test), Y.shape[1]),
                "target": list(Y.columns) * len(test),
                "predicted": fitted.predict(chosen.iloc[test]).to_numpy().ravel(),
                "human": Y.iloc[test].to_numpy(dtype=float).ravel(),
            }
            parts.append(pd.DataFrame({"kind": kind, "share": share, "criteria": count, "seed": seed, **columns}))
    found = pd.concat(parts, ignore_index=True)
    found.attrs["order"] = orders
    return found


def training_share(n: int, share: float, seed: int) -> np.ndarray:
    """The positions of a random share of n rows, at least 2, in their order. Raises: ValueError."""
    if not 0 < share <= 1:
        raise ValueError(f"share is {share!r}; a number above 0 and up to 1 is needed")
    return np.sort(np.random.default_rng(seed).permutation(n)[: min(n, max(2, round(n * share)))])
