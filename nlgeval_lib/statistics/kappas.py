"""How much more two raters, or a judge and the ratings, agree than by chance, for
classes and ordered values: Cohen's kappa with three kinds of distance.
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


def kappa(
    first: Any,
    second: Any,
    weights: str = "none",
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
    scale: all values that could be given: others are refused; None for no check.
    ci, n_boot, seed, confidence, system_groups, input_groups: as in `correlate`.
    Returns: 1 for perfect agreement, 0 for as much as chance gives; NaN with a reason
        where chance leaves no disagreement.
    Raises: ValueError for unequal shapes, values off the scale, no common item, groups
        that do not fit, an unknown word.
    Source: Cohen 1960, 1968.
    """
    arrays.choice(weights, WEIGHTS, "weights")
    a, b = arrays.alike(first=first, second=second)
    present = ~(np.isnan(a) | np.isnan(b))
    if not present.any():
        raise ValueError(
            f"got no common item of {a.size}; both raters must have rated at least one"
        )
    both = np.stack([a[present], b[present]])
    name = "kappa" if weights == "none" else f"kappa-{weights}"
    if scale is not None:
        allowed = np.unique(arrays.floats(scale, "scale", "value"))
        name = f"{name}({','.join(map(arrays.exactly, allowed))})"
        off_scale = np.setdiff1d(both, allowed)
        if len(off_scale):
            on_scale = ", ".join(f"{value:g}" for value in allowed)
            raise ValueError(
                f"got {off_scale[0]:g}, which is not on the scale {on_scale}"
            )
    grouped = groups.encode_groups(present.shape, system_groups, input_groups)
    settings = ci, n_boot, seed, confidence, grouped
    return measured(_Kappa(both, weights), present, name, EQUAL, *settings)


def weighted_kappa(
    first: Any, second: Any, scale: Sequence[float] | None = None, **interval: Any
) -> Agreement:
    """How much more do two raters agree than by chance, distances squared? As `kappa`."""
    return kappa(first, second, "quadratic", scale, **interval)


class _Kappa:
    """The coefficient as a function of how often each item counts; NaN where chance
    leaves no disagreement. both: `[rater, item]`.
    """

    def __init__(self, both: Floats, weights: str):
        self.metric = "nominal" if weights == "none" else weights
        # Rescaled, so that squares neither overflow nor vanish.
        values, self.codes = np.unique(arrays.rescaled(both), return_inverse=True)
        self.values = values
        first, second = values[self.codes]
        self.gaps = distances(first, second, self.metric)

    def __call__(self, counts: Floats) -> float:
        # How often the first and the second rater give each value.
        tallies = [np.bincount(code, counts, len(self.values)) for code in self.codes]
        p, q = np.array(tallies, dtype=float)
        expected = chance_distance(self.values, p, q, self.metric)
        if not expected > 0:
            return NAN
        # One less the observed disagreement over the expected one; the expected one
        # is of n * n pairs of ratings, so it is set against n times the observed sum.
        return float(1 - counts.sum() * (counts @ self.gaps) / expected)
