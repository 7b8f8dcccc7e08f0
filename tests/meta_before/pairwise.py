"""Does a judge order systems as people do? Pairwise accuracy, hard and soft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import checks, levels, missing
from .checks import Floats
from .draws import everything

TIES = ("exclude", "half", "equal")


@dataclass(frozen=True)
class PairwiseAccuracy:
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

    def __float__(self) -> float:
        return self.value

    def signature(self) -> str:
        """What was computed, in one line."""
        soft = f"|perm:{self.n_perm}|seed:{self.seed}" if self.kind == "soft" else f"|ties:{self.ties}"
        return f"level:system|coef:{self.kind}-pairwise-acc{soft}|nan:{self.nan}({self.n_missing}/{self.total})"


def pairwise_accuracy(x: Any, y: Any, ties: str = "exclude", nan: str = "drop") -> PairwiseAccuracy:
    """For how many pairs of systems do mean scores and mean ratings agree on which is better?

    x, y: `X[system, input]`, means over common items. ties, of mean ratings: exclude leaves the pair out, half gives it
    half a point, equal gives a point only where the scores tie too. A tie of scores alone is no agreement.
    Raises: ValueError as `correlate` at system level.
    Source: Kocmi et al. 2021.
    """
    checks.choice(ties, TIES, "ties")
    filled, plan = _systems(x, y, nan)
    mean_x, mean_y, n = plan.means(everything(filled.x.shape))
    here = n[:, 0] > 0
    rank_x, rank_y = (
        levels.levelled(side, size)[here, 0] for side, size in zip((mean_x, mean_y), plan.rounding, strict=True)
    )
    first, second = np.triu_indices(len(rank_x), 1)
    sign_x, sign_y = np.sign(rank_x[first] - rank_x[second]), np.sign(rank_y[first] - rank_y[second])
    right = (sign_x == sign_y).astype(float)
    tied = sign_y == 0
    if ties == "half":
        right[tied] = 0.5
    counted = ~tied if ties == "exclude" else np.ones_like(tied)
    value = float(right[counted].mean()) if counted.any() else float("nan")
    return PairwiseAccuracy(
        value=value,
        kind="hard",
        ties=ties,
        n_systems=len(rank_x),
        n_pairs=int(counted.sum()),
        n_tied=int(tied.sum()),
        n_missing=filled.n_missing,
        total=filled.total,
        nan=nan,
        reason="" if counted.any() else "all mean ratings are equal: no pair of systems to agree on",
    )


def soft_pairwise_accuracy(x: Any, y: Any, n_perm: int = 1000, seed: int = 0, nan: str = "drop") -> PairwiseAccuracy:
    """How alike are the judge's and the raters' certainty about which of two systems is better?

    x, y: `X[system, input]`. For each pair of systems and each side a one-sided paired permutation test over inputs
    gives p; the value is the mean of 1 - |p(ratings) - p(scores)|. The same exchanges serve both sides and all pairs.
    Raises: ValueError as `correlate` at system level.
    Source: Thompson, Mathur, Deutsch and Khayrallah 2024; p as (c + 1) / (n + 1).
    """
    n_perm = checks.whole(n_perm, "n_perm")
    checks.whole(seed, "seed", low=0)
    filled, _ = _systems(x, y, nan)
    here = (~np.isnan(filled.x)).any(axis=1)
    rng = np.random.default_rng(seed)
    signs = rng.integers(0, 2, (n_perm, filled.x.shape[1])).astype(float) * 2 - 1
    p_x, p_y = (pair_p_values(side[here], signs) for side in (filled.x, filled.y))
    shared = ~(np.isnan(p_x) | np.isnan(p_y))
    value = float((1 - np.abs(p_x - p_y))[shared].mean()) if shared.any() else float("nan")
    return PairwiseAccuracy(
        value=value,
        kind="soft",
        ties="p-value",
        n_systems=int(here.sum()),
        n_pairs=int(shared.sum()),
        n_tied=0,
        n_missing=filled.n_missing,
        total=filled.total,
        nan=nan,
        n_perm=n_perm,
        seed=seed,
        reason="" if shared.any() else "no two systems share an input",
    )


def pair_p_values(side: Floats, signs: Floats) -> Floats:
    """One-sided p of "the first system is better" for each pair of systems: `X[system, input]` to (pairs,).

    signs: (permutations, inputs) of +1 and -1: an input's two scores stay or are exchanged. NaN where none is shared.
    """
    first, second = np.triu_indices(len(side), 1)
    gap = side[first] - side[second]
    alone = np.isnan(gap).all(axis=1)
    gap = np.where(np.isnan(gap), 0.0, gap)
    observed = gap.sum(axis=1)
    slack = 1e-12 * np.maximum(np.abs(gap).sum(axis=1), 1e-300)
    count = (signs @ gap.T >= observed - slack).sum(axis=0)
    return np.where(alone, np.nan, (count + 1) / (len(signs) + 1))


def _systems(x: Any, y: Any, nan: str) -> tuple[missing.Filled, levels.Systems]:
    checks.same_index(x=x, y=y)
    a, b = checks.pair(checks.matrix(x, "x"), checks.matrix(y, "y"))
    filled = missing.apply(a, b, nan)
    systems = int((~np.isnan(filled.x)).any(axis=1).sum())
    if systems < 2 or int((~np.isnan(filled.x)).sum()) < 3:
        raise ValueError(f"got {systems} system(s) with common items; at least 2 systems and 3 items are needed")
    return filled, levels.Systems(filled.x, filled.y, "kendall-b")
