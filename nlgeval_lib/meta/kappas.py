"""How much more two raters, or a judge and the ratings, agree than by chance, for
classes and ordered values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import arrays, groups
from .agreement import EQUAL, Agreement, chance_distance, distances, interval_of
from .result import NAN, Floats

WEIGHTS = ("none", "linear", "quadratic")
# how each would rate by chance: by own habits, by habits that both share, or at random
# for those items that are hard
CHANCE = {"cohen": "kappa", "scott": "pi", "gwet": "ac"}


def kappa(
    first: Any,
    second: Any,
    weights: str = "none",
    chance: str = "cohen",
    scale: Sequence[float] | None = None,
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Agreement:
    """How much more do two raters agree than by chance?

    first, second: flat or `[system, input]`, classes as numbers, NaN missing. weights:
    none (equal or not), linear, quadratic distances. chance: cohen (kappa), scott (pi),
    gwet (AC1, with weights AC2). scale: all values that could be given, which counts
    for gwet; those that occur when None. ci and what follows: as in `correlate`.
    Raises: ValueError for unequal shapes, values off the scale, no common item, an
    unknown word.
    Source: Cohen 1960, 1968; Scott 1955; Gwet 2008, equations 4 and 17.
    """
    arrays.choice(weights, WEIGHTS, "weights")
    arrays.choice(chance, CHANCE, "chance")
    a, b = arrays.alike(first=first, second=second)
    present = ~(np.isnan(a) | np.isnan(b))
    if not present.any():
        raise ValueError(
            f"got no common item of {a.size}; both raters must have rated at least one"
        )
    both = np.stack([a[present], b[present]])
    name = _name(weights, chance)
    allowed = np.unique(both)
    if scale is not None:
        allowed = np.unique(arrays.floats(scale, "scale", "value"))
        _check_on_scale(both, allowed)
        name += f"({','.join(map(arrays.exactly, allowed))})"
    coefficient = _Kappa(both, allowed, weights, chance)
    n = both.shape[1]
    value = coefficient(np.ones(n))
    grouped = groups.of(present.shape, system_groups, input_groups)
    ends = interval_of(
        coefficient, present, value, ci, n_boot, seed, confidence, grouped
    )
    reason = EQUAL if np.isnan(value) else ends.reason
    return Agreement(
        value,
        name,
        n,
        2,
        a.size - n,
        ends,
        reason,
    )


def weighted_kappa(
    first: Any, second: Any, scale: Sequence[float] | None = None, **interval: Any
) -> Agreement:
    """How much more do two raters agree than their own habits would give by chance,
    distances squared?

    As `kappa` with quadratic weights; interval: its `ci` and what follows.
    """
    return kappa(first, second, "quadratic", scale=scale, **interval)


def _name(weights: str, chance: str) -> str:
    """What a signature says."""
    name = CHANCE[chance]
    if chance == "gwet":
        name += "1" if weights == "none" else "2"
    return name if weights == "none" else f"{name}-{weights}"


def _check_on_scale(ratings: Floats, allowed: Floats) -> None:
    """Refuse ratings that are not on the scale.

    Raises: ValueError naming the first.
    """
    off = np.setdiff1d(ratings, allowed)
    if len(off):
        values_on_scale = ", ".join(f"{value:g}" for value in allowed)
        raise ValueError(f"got {off[0]:g}, which is not on the scale {values_on_scale}")


class _Kappa:
    """The coefficient as a function of how often each item counts; NaN where chance
    leaves no disagreement.

    both: `[rater, item]`. allowed: all values in ascending order.
    """

    def __init__(
        self,
        both: Floats,
        allowed: Floats,
        weights: str,
        chance: str,
    ) -> None:
        self.chance = chance
        self.metric = "nominal" if weights == "none" else weights
        self.codes = np.searchsorted(allowed, both)
        # So that squares neither overflow nor vanish.
        self.values = arrays.rescaled(allowed)
        first, second = self.values[self.codes]
        self.gaps = distances(first, second, self.metric)

    def __call__(self, counts: Floats) -> float:
        n = counts.sum()
        classes = len(self.values)
        first, second = self.codes
        p = np.bincount(first, counts, classes).astype(float)
        q = np.bincount(second, counts, classes).astype(float)
        if self.chance == "gwet":
            expected = self._at_random((p + q) / 2)
        elif self.chance == "scott":
            shared = (p + q) / 2
            expected = chance_distance(self.values, shared, shared, self.metric)
        else:
            expected = chance_distance(self.values, p, q, self.metric)
        if not expected > 0:
            return NAN
        return float(1 - n * (counts @ self.gaps) / expected)

    def _at_random(self, shared: Floats) -> float:
        """Gwet's disagreement by chance, times the squared number of items."""
        n = shared.sum()
        classes = len(self.values)
        if classes < 2 or n == 0:
            return 0.0
        by_row = self.values[:, None]
        gaps = distances(by_row, self.values, self.metric)
        largest = gaps.max()
        similar = (1 - gaps / largest).sum()
        share = shared / n
        hard = (share * (1 - share)).sum() * similar
        hard = hard / (classes * (classes - 1))
        return float(largest * (1 - hard) * n**2)
