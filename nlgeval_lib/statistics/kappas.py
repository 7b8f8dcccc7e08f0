"""How much more two raters, or a judge and the ratings, agree than by chance, for
classes and ordered values: three kinds of distance times three ideas of chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import arrays, groups
from .agreement import EQUAL, Agreement, chance_distance, distances, measured
from .result import NAN, Floats

# how far two different ratings are apart: 1, their difference, or its square
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

    first, second: classes or scale values as numbers, flat or `[system, input]`, NaN
        missing; items that either lacks are left out and counted.
    weights: "none" (equal or not), "linear" or "quadratic" distances.
    chance: "cohen" (kappa; each rater's own habits), "scott" (pi; the habits of both
        together), "gwet" (AC1, with weights AC2; at random on hard items only).
    scale: all values that could be given, which counts for gwet; those that occur when
        None.
    ci, n_boot, seed, confidence, system_groups, input_groups: as in `correlate`.
    Returns: 1 for perfect agreement, 0 for as much as chance gives; NaN with a reason
        where chance leaves no disagreement.
    Raises: ValueError for unequal shapes, values off the scale, no common item, groups
        that do not fit, an unknown word.
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
        name = f"{name}({','.join(map(arrays.exactly, allowed))})"
    grouped = groups.encode_groups(present.shape, system_groups, input_groups)
    settings = ci, n_boot, seed, confidence, grouped
    coefficient = _Kappa(both, allowed, weights, chance)
    return measured(coefficient, present, name, EQUAL, *settings)


def weighted_kappa(
    first: Any, second: Any, scale: Sequence[float] | None = None, **interval: Any
) -> Agreement:
    """How much more do two raters agree than by chance, distances squared?

    first, second, scale, interval: as in `kappa`; the scale changes nothing but what is
        refused and the signature.
    """
    return kappa(first, second, "quadratic", scale=scale, **interval)


def _name(weights: str, chance: str) -> str:
    """What a signature says: "kappa-quadratic", "pi", "ac1"."""
    unweighted = weights == "none"
    name = CHANCE[chance]
    if chance == "gwet":
        name += "1" if unweighted else "2"
    if unweighted:
        return name
    return f"{name}-{weights}"


def _check_on_scale(ratings: Floats, allowed: Floats) -> None:
    """Raises: ValueError naming the lowest rating that is not on the scale."""
    off_scale = np.setdiff1d(ratings, allowed)
    if len(off_scale):
        values_on_scale = ", ".join(f"{value:g}" for value in allowed)
        raise ValueError(
            f"got {off_scale[0]:g}, which is not on the scale {values_on_scale}"
        )


class _Kappa:
    """The coefficient as a function of how often each item counts; NaN where chance
    leaves no disagreement.

    both: `[rater, item]`. allowed: all values in ascending order.
    """

    def __init__(self, both: Floats, allowed: Floats, weights: str, chance: str):
        self.chance = chance
        self.metric = "nominal" if weights == "none" else weights
        self.codes = np.searchsorted(allowed, both)
        # So that squares neither overflow nor vanish.
        self.values = arrays.rescaled(allowed)
        first, second = self.values[self.codes]
        self.gaps = distances(first, second, self.metric)

    def __call__(self, counts: Floats) -> float:
        classes = len(self.values)
        first, second = self.codes
        # p, q: how often the first and the second rater give each value.
        p = np.bincount(first, counts, classes).astype(float)
        q = np.bincount(second, counts, classes).astype(float)
        if self.chance != "cohen":
            p = q = (p + q) / 2
        if self.chance == "gwet":
            expected = self._at_random(p)
        else:
            expected = chance_distance(self.values, p, q, self.metric)
        if not expected > 0:
            return NAN
        # One less the observed disagreement over the expected one; the expected one
        # is of n * n pairs of ratings, so it is set against n times the observed sum.
        return float(1 - counts.sum() * (counts @ self.gaps) / expected)

    def _at_random(self, shared: Floats) -> float:
        """Gwet's disagreement by chance, times the squared number of items.

        shared: how often each value is given, the mean of both raters.
        """
        n = shared.sum()
        classes = len(self.values)
        if classes < 2 or n == 0:
            return 0.0
        gaps = distances(self.values[:, None], self.values, self.metric)
        largest = gaps.max()
        # Weights from 1 for equal values to 0 for the values farthest apart.
        similar = (1 - gaps / largest).sum()
        share = shared / n
        hard = (share * (1 - share)).sum() * similar
        hard = hard / (classes * (classes - 1))
        return float(largest * (1 - hard) * n**2)
