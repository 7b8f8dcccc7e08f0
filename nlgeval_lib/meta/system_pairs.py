"""On how many pairs of systems do judge and raters agree: on which is better, or on how sure that is?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays, levels
from .draws import everything
from .result import NAN, Floats, Result

TIES = ("exclude", "half", "equal")


@dataclass(frozen=True, repr=False)
class PairwiseAccuracy(Result):
    """Agreement on pairs of systems, in [0, 1]; NaN with a reason where no pair counts."""

    value: float
    kind: str  # "hard" or "soft"
    ties: str
    n_systems: int
    n_pairs: int
    n_tied: int  # pairs of systems with equal mean ratings
    n_missing: int
    total: int
    nan: str
    n_perm: int = 0
    seed: int | None = None
    reason: str = ""

    def signature(self) -> str:
        soft = f"|perm:{self.n_perm}|seed:{self.seed}" if self.kind == "soft" else f"|ties:{self.ties}"
        return f"level:system|coef:{self.kind}-pairwise-acc{soft}|nan:{self.nan}({self.n_missing}/{self.total})"


def pairwise_accuracy(x: Any, y: Any, ties: str = "exclude", nan: str = "drop") -> PairwiseAccuracy:
    """For how many pairs of systems do mean scores and mean ratings agree on which is better?

    x, y: `X[system, input]`, means over common items. ties, of mean ratings: exclude leaves the pair out, half gives it
    half a point, equal gives a point only where the scores tie too. A tie of scores alone is no agreement.
    Raises: ValueError for flat data, fewer than 2 systems or 3 common items, an unknown `ties`.
    Source: Kocmi et al. 2021.
    """
    arrays.choice(ties, TIES, "ties")
    filled = _filled(x, y, nan)
    plan = levels.Systems(filled.x, filled.y, "kendall-b")
    *means, n = plan.means(everything(filled.x.shape))
    here = n[:, 0] > 0
    first, second = np.triu_indices(int(here.sum()), 1)
    gaps = [mean[here, 0][first] - mean[here, 0][second] for mean in means]
    slack = [np.maximum(size[here][first], size[here][second]) for size in plan.rounding]
    sign_x, sign_y = (np.sign(gap) * (np.abs(gap) > near) for gap, near in zip(gaps, slack, strict=True))
    right = (sign_x == sign_y).astype(float)
    tied = sign_y == 0
    if ties == "half":
        right[tied] = 0.5
    counted = ~tied if ties == "exclude" else np.ones_like(tied)
    value = float(right[counted].mean()) if counted.any() else NAN
    reason = "" if counted.any() else "all mean ratings are equal: no pair of systems to agree on"
    counts = int(here.sum()), int(counted.sum()), int(tied.sum()), filled.n_missing, filled.x.size
    return PairwiseAccuracy(value, "hard", ties, *counts, nan, reason=reason)


def soft_pairwise_accuracy(x: Any, y: Any, n_perm: int = 1000, seed: int = 0, nan: str = "drop") -> PairwiseAccuracy:
    """How alike are the judge's and the raters' certainty about which of two systems is better?

    x, y: `X[system, input]`. For each pair of systems and each side a one-sided paired permutation test over inputs
    gives p; the value is the mean of 1 - |p(ratings) - p(scores)|. The same exchanges serve both sides and all pairs.
    Raises: ValueError for flat data, fewer than 2 systems or 3 common items.
    Source: Thompson, Mathur, Deutsch and Khayrallah 2024; p as (c + 1) / (n + 1).
    """
    n_perm = arrays.whole(n_perm, "n_perm")
    arrays.whole(seed, "seed", low=0)
    filled = _filled(x, y, nan)
    here = (~np.isnan(filled.x)).any(axis=1)
    signs = np.random.default_rng(seed).integers(0, 2, (n_perm, filled.x.shape[1])).astype(float) * 2 - 1
    p_x, p_y = (_p_values(side[here], signs) for side in (filled.x, filled.y))
    shared = ~(np.isnan(p_x) | np.isnan(p_y))
    value = float((1 - np.abs(p_x - p_y))[shared].mean()) if shared.any() else NAN
    reason = "" if shared.any() else "no two systems share an input"
    counts = int(here.sum()), int(shared.sum()), 0, filled.n_missing, filled.x.size
    return PairwiseAccuracy(value, "soft", "p-value", *counts, nan, n_perm, seed, reason)


def _p_values(side: Floats, signs: Floats) -> Floats:
    """One-sided p of "the first system is better" for each pair of systems: `X[system, input]` to (pairs,).

    signs: (permutations, inputs) of +1 and -1: an input's two scores stay or are exchanged. NaN where none is shared.
    """
    first, second = np.triu_indices(len(side), 1)
    if np.isnan(side).any():  # each pair has inputs of its own
        gap = side[first] - side[second]
        alone, gap = np.isnan(gap).all(axis=1), np.nan_to_num(gap)
        drawn, observed, size = signs @ gap.T, gap.sum(axis=1), np.abs(gap).sum(axis=1)
    else:
        alone, side = np.zeros(len(first), dtype=bool), side - side[:1]
        sums, total, reach = signs @ side.T, side.sum(axis=1), np.abs(side).sum(axis=1)
        drawn, observed, size = (
            sums[:, first] - sums[:, second],
            total[first] - total[second],
            reach[first] + reach[second],
        )
    count = (drawn >= observed - 1e-12 * np.maximum(size, 1e-300)).sum(axis=0)
    return np.where(alone, np.nan, (count + 1) / (len(signs) + 1))


def _filled(x: Any, y: Any, nan: str) -> arrays.Filled:
    a, b = arrays.alike(x=x, y=y)
    if a.ndim != 2:
        raise ValueError(f"got a flat vector of {a.size}; pass x[system, input] and y alike")
    filled = arrays.fill(a, b, nan)
    here = ~np.isnan(filled.x)
    if int(here.any(axis=1).sum()) < 2 or int(here.sum()) < 3:
        raise ValueError(
            f"got {int(here.any(axis=1).sum())} system(s) with common items; at least 2 systems and 3 items are needed"
        )
    return filled
