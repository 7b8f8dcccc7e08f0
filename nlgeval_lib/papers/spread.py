"""How far a judge's own draws move a number: the yardstick for a run of the paper's
judge.

Two runs of one judge on the same outputs and ratings differ by what the judge draws,
and by nothing else. Other systems and other inputs, which a confidence interval asks
about, are the same in both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

REACH = 1.96  # standard deviations of the difference of two runs: 95 % of a normal law
RESAMPLES = 200


def own_sd(
    draws: np.ndarray,
    statistic: Callable[[np.ndarray], float],
    *,
    averaged: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """The standard deviation that the judge's draws give a statistic of one run.

    draws: `[draw, item]`, NaN for a draw without a score; the draws of an item are
    exchangeable. statistic: of a vector with a score an item. averaged: how many draws
    a run takes the mean of; all of them where None. Each resample takes so many draws
    of every item, with replacement; as k draws of an item show (k - 1)/k of their
    variance, the result is scaled by the root of k / (k - 1). NaN for fewer than two
    draws, or where the statistic is undefined.
    Raises: ValueError for draws that are no matrix, or `averaged` below 1.
    """
    draws = np.asarray(draws, dtype=float)
    if draws.ndim != 2:
        raise ValueError(f"draws have the shape {draws.shape}; give [draw, item]")
    count, items = draws.shape
    size = count if averaged is None else averaged
    if size < 1:
        raise ValueError(f"averaged is {averaged}; a run has at least one draw")
    if count < 2:
        return float("nan")
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(resamples):
        chosen = rng.integers(count, size=(size, items))
        values.append(statistic(_means(np.take_along_axis(draws, chosen, axis=0))))
    return float(np.std(values, ddof=1) * np.sqrt(count / (count - 1)))


def reach(sd: float) -> float:
    """How far apart two runs of one judge may lie: 95 % of pairs do not lie farther.

    sd: that of one run; the difference of two has the root of two times as much.
    """
    return REACH * float(np.sqrt(2)) * sd


def _means(chosen: np.ndarray) -> np.ndarray:
    """The mean of each item's draws that have a score; NaN where none has."""
    scored = ~np.isnan(chosen)
    counts = scored.sum(axis=0)
    sums = np.where(scored, chosen, 0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
