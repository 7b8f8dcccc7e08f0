"""Judges that cost nothing, as score producers: what any real judge has to beat. `X[system, input]` or flat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import checks
from .checks import Floats

UNITS = ("characters", "words")


def constant(shape: tuple[int, ...], value: float = 1.0) -> Floats:
    """The same score for every item. Correlations with it are not defined; its acc_eq is the share of tied ratings.

    Raises: ValueError for a value that is not a finite number.
    """
    return np.full(shape, checks.number(value, "value"))


def uniform(shape: tuple[int, ...], seed: int, values: Sequence[float] | None = None) -> Floats:
    """Random scores: uniform in [0, 1), or drawn evenly from the values of a scale.

    Raises: ValueError for a negative seed or an empty scale.
    """
    rng = np.random.default_rng(checks.whole(seed, "seed", low=0))
    if values is None:
        return rng.random(shape)
    return rng.choice(checks.vector(list(values), "values"), size=shape)


def length(texts: Sequence[str], unit: str = "characters") -> Floats:
    """The length of each output: characters, or words between blanks. (items,); NaN where there is no text (None).

    Raises: ValueError for anything that is neither text nor None.
    """
    checks.choice(unit, UNITS, "unit")
    if isinstance(texts, str):
        raise ValueError("texts: got one text; pass a list of outputs")
    out = []
    for number, text in enumerate(texts):
        if text is not None and not isinstance(text, str):
            raise ValueError(f"texts: item {number} is {type(text).__name__}; pass text, or None where there is none")
        out.append(np.nan if text is None else len(text) if unit == "characters" else len(text.split()))
    return np.array(out, dtype=float)


def majority(y: Any, train: Any | None = None) -> Floats:
    """The most frequent rating for every item: shaped like y; of equally frequent ones the lowest.

    train: ratings to count instead of y itself, so that a test set is not seen.
    Raises: ValueError for bad arrays or no rating at all.
    """
    ratings = checks.nonempty(checks.floats(y, "y"), "y")
    seen = checks.floats(ratings if train is None else train, "train")
    seen = seen[~np.isnan(seen)]
    if not len(seen):
        raise ValueError("train: got no rating; at least one is needed to know the most frequent")
    values, counts = np.unique(seen, return_counts=True)
    return np.full(ratings.shape, values[np.argmax(counts)])


def oracle_system(y: Any, leave_out: bool = True) -> Floats:
    """Each item gets its system's mean rating: all about systems, nothing about items. `X[system, input]` to the same.

    leave_out: the mean of the system's other inputs, so that an item's own rating is not used; NaN where there is none.
    Raises: ValueError for arrays that are not `X[system, input]`.
    """
    return _oracle(checks.matrix(y, "y"), leave_out)


def oracle_input(y: Any, leave_out: bool = True) -> Floats:
    """Each item gets its input's mean rating: all about how hard inputs are, nothing about systems. As `oracle_system`.

    Raises: ValueError for arrays that are not `X[system, input]`.
    """
    return _oracle(checks.matrix(y, "y").T, leave_out).T


def _oracle(ratings: Floats, leave_out: bool) -> Floats:
    here = ~np.isnan(ratings)
    total = np.where(here, ratings, 0.0).sum(axis=1, keepdims=True)
    count = here.sum(axis=1, keepdims=True)
    if leave_out:
        total, count = total - np.where(here, ratings, 0.0), count - here
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.broadcast_to(np.where(count > 0, total / count, np.nan), ratings.shape).copy()
