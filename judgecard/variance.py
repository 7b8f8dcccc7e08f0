"""Where the variance of scores is: systems, inputs, repeats, and what they do together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from nlgeval_lib.statistics import arrays
from nlgeval_lib.statistics.result import NAN, Floats

# names of facets, in the order of the data
Facets = tuple[str, ...]
# by facet, the level of each cell, numbered from 0
Codes = Mapping[str, npt.NDArray[np.intp]]


@dataclass(frozen=True)
class Components:
    """Variance of each facet and of each set of facets together, by name
    ("systems:inputs"); the set of all is the residual, noise included.

    levels: how many levels each facet has.
    values: can be below 0; NaN where no two cells tell a component from another.
    n: cells with a score.
    """

    levels: dict[str, int]
    values: dict[str, float]
    n: int

    def shares(self) -> dict[str, float]:
        """The part of the variance of a single score that each component is, in [0, 1],
        an estimate below 0 as 0; NaN where any component is NaN, or all are 0.
        """
        positive = {name: max(value, 0.0) for name, value in self.values.items()}
        total = sum(positive.values())
        if not total > 0:
            return dict.fromkeys(positive, NAN)
        return {name: value / total for name, value in positive.items()}

    def signature(self) -> str:
        """What was computed, in one line."""
        design = " x ".join(f"{facet} {size}" for facet, size in self.levels.items())
        return f"variance:symmetric-sums|{design}|n:{self.n}"


def variance_components(values: Any, facets: Sequence[str]) -> Components:
    """How much of the variance is between systems, inputs, repeats, and in what they do
    together?

    values: an array with an axis a facet, NaN missing. facets: the names of its axes.
    Raises: ValueError for facets that do not fit, and one with fewer than two levels.
    Source: Koch 1968, Technometrics 10 (symmetric sums of squares).
    """
    scores = arrays.floats(values, "values")
    if len(facets) != scores.ndim:
        raise ValueError(
            f"facets: got {len(facets)} for values of shape {scores.shape}; "
            "pass one for each axis"
        )
    codes = {}
    levels = {}
    places = np.nonzero(~np.isnan(scores))
    for name, place in zip(facets, places, strict=True):
        distinct, codes[name] = np.unique(place, return_inverse=True)
        levels[name] = len(distinct)
        if len(distinct) < 2:
            raise ValueError(f"{name}: got {len(distinct)} level(s); 2 are needed")
    return Components(levels, _estimates(scores[places], codes), len(places[0]))


def _subsets(facets: Facets) -> Iterator[Facets]:
    """All sets of facets, small ones first, the empty one among them."""
    for size in range(len(facets) + 1):
        yield from combinations(facets, size)


def _estimates(scores: Floats, codes: Codes) -> dict[str, float]:
    """Each component by name."""
    facets = tuple(codes)
    centred = scores - scores.mean()
    sums = {}
    for shared in _subsets(facets):
        sums[shared] = _within(centred, [codes[name] for name in shared])
    # The covariance of cells that share exactly a set: the sum of the components
    # within it. The empty set comes first, whose cells have nothing in common.
    halves = {shared: _half_square(shared, facets, sums) for shared in sums}
    covariance = {shared: halves[()] - half for shared, half in halves.items()}
    # A component is its set's covariance less those of the sets within (inclusion
    # and exclusion).
    components = {}
    for subset in sums:
        total = 0.0
        for within in _subsets(subset):
            total += (-1) ** (len(subset) - len(within)) * covariance[within]
        name = "residual" if subset == facets else ":".join(subset)
        components[name] = float(total)
    del components[""]
    return components


def _half_square(
    shared: Facets, facets: Facets, sums: Mapping[Facets, tuple[float, float]]
) -> float:
    """Half the mean squared difference of the pairs of cells that share exactly these
    facets; NaN without such a pair.
    """
    if shared == facets:  # a cell with itself
        return 0.0
    # From "at least these" to "exactly these", by inclusion and exclusion.
    exact_sum = 0.0
    exact_pairs = 0.0
    for wider in _subsets(facets):
        if set(shared) <= set(wider):
            sign = (-1) ** (len(wider) - len(shared))
            exact_sum += sign * sums[wider][0]
            exact_pairs += sign * sums[wider][1]
    # Counts are whole numbers, but for rounding.
    if exact_pairs < 0.5:
        return NAN
    return exact_sum / exact_pairs / 2


def _within(scores: Floats, shared: Sequence[Any]) -> tuple[float, float]:
    """Squared differences, summed over the pairs of cells that share these levels, and
    how many pairs there are.
    """
    # One number a combination of levels.
    group = np.zeros(len(scores), dtype=np.intp)
    for code in shared:
        group = group * (int(code.max()) + 1) + code
    _, group = np.unique(group, return_inverse=True)
    sizes = np.bincount(group).astype(float)
    totals = np.bincount(group, scores)
    squares = np.bincount(group, scores**2)
    # Over the pairs of a group: n * (sum of squares) - (sum)^2.
    differences = sizes * squares - totals**2
    pairs = sizes * (sizes - 1) / 2
    return float(differences.sum()), float(pairs.sum())
