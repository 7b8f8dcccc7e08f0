"""How far a judge's own draws move a number: the yardstick for a run of the paper's
judge.

Two runs of one judge on the same outputs and ratings differ by what the judge draws,
and by nothing else. Other systems and other inputs, which a confidence interval asks
about, are the same in both. So `own_sd` resamples draws only, and `reach` makes of it
how far two runs may lie apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

REACH = 1.96  # standard deviations of the difference of two runs: 95 % of a normal law
RESAMPLES = 200  # runs that are made up of the draws at hand


def own_sd(
    draws: np.ndarray,
    statistic: Callable[[np.ndarray], float],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """The standard deviation that the judge's draws give a statistic of one run.

    Each resample is a run that might have been: it takes draws of every item, with
    replacement. As k draws of an item show (k - 1)/k of their variance, the result is
    scaled by the root of k / (k - 1).

    draws: scores `[draw, item]`, NaN for a draw without a score; the draws of an item
    are exchangeable.
    statistic: of a vector with a score an item (NaN where no draw has one), such as its
    correlation with the ratings.
    Returns: in the unit of the statistic; NaN for fewer than two draws, or where the
    statistic is undefined.
    Raises: ValueError for draws that are no matrix.
    """
    draws = np.asarray(draws, dtype=float)
    if draws.ndim != 2:
        raise ValueError(f"draws have the shape {draws.shape}; give [draw, item]")
    count, items = draws.shape
    if count < 2:
        return float("nan")
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(resamples):
        # Each item gets draws of its own: two items' draws have nothing in common.
        chosen = rng.integers(count, size=(count, items))
        resampled = np.take_along_axis(draws, chosen, axis=0)
        values.append(statistic(_means(resampled)))
    sd = np.std(values, ddof=1)
    # k draws of an item show (k - 1)/k of their variance.
    return float(sd * np.sqrt(count / (count - 1)))


def reach(sd: float) -> float:
    """How far apart two runs of one judge may lie: 95 % of pairs do not lie farther.

    sd: that of one run (`own_sd`); the difference of two has the root of two times as
    much.
    Returns: in the unit of `sd`.

    Example:
    >>> round(reach(0.01), 4)
    0.0277
    """
    return REACH * float(np.sqrt(2)) * sd


def _means(chosen: np.ndarray) -> np.ndarray:
    """The mean of each item's draws that have a score; NaN where none has."""
    scored = ~np.isnan(chosen)
    counts = scored.sum(axis=0)
    sums = np.where(scored, chosen, 0).sum(axis=0)
    # An item without a score is divided by 1, not by 0, before it becomes NaN.
    means = sums / np.maximum(counts, 1)
    return np.where(counts > 0, means, np.nan)
