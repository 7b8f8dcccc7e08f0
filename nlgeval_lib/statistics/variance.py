"""Where the variance of scores is: systems, inputs, raters, repeats, orders and what
they do together; and how reliable other designs would be.

Random effects, crossed, with any cells missing. A component is estimated from the
products of cells that share some facets and no others: unbiased without an assumption
of normality, and the same as analysis of variance where no cell is missing. A facet is
what scores differ by ("system"), its levels are the single systems, and a cell has one
level of each facet and one score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import arrays, jackknife
from .classical import special
from .result import NAN, Floats, Result

if TYPE_CHECKING:
    import pandas as pd

# names of facets, in the order of the data
Facets = tuple[str, ...]
# the level of each cell, numbered from 0; by facet
Levels = npt.NDArray[np.intp]
Codes = Mapping[str, Levels]
# facets whose levels are left out for the intervals
SAMPLED = ("system", "input")


@dataclass(frozen=True, repr=False)
class Components(Result):
    """Variance of each facet and of each set of facets together, by name
    ("system:input"); the set of all is the residual, noise included.

    facets, levels: names of the facets, and how many levels each has.
    values: estimates by component; one below 0 stands as it is here and counts as 0
        elsewhere; NaN with a reason where no two cells tell it from another.
    low, high: by component, by leaving out systems and inputs; NaN where the facets
        have other names.
    n: cells with a score.
    """

    facets: Facets
    levels: tuple[int, ...]
    values: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    n: int
    confidence: float
    reason: str = ""

    def __getitem__(self, name: str) -> float:
        """A component, 0 where its estimate is below. Raises: ValueError for another
        name.
        """
        return max(self.values[arrays.choice(name, self.values, "component")], 0.0)

    def share(self, name: str) -> float:
        """The part of the variance of a single score that is a component's, in [0, 1];
        NaN where any component is NaN, or all are 0.
        """
        return _share(self[name], sum(self[component] for component in self.values))

    def to_frame(self) -> pd.DataFrame:
        """A row a component."""
        import pandas as pd

        rows = []
        for name, value in self.values.items():
            ends = {"low": self.low[name], "high": self.high[name]}
            row = {"component": name, "variance": value, **ends}
            rows.append({**row, "share": self.share(name)})
        return pd.DataFrame(rows)

    def answer(self) -> dict[str, Any]:
        """The share of each component, and n."""
        shares = {name: self.share(name) for name in self.values}
        return {**shares, "n": self.n}

    def signature(self) -> str:
        sizes = zip(self.facets, self.levels, strict=True)
        design = " x ".join(f"{facet} {size}" for facet, size in sizes)
        return f"variance:symmetric-sums|{design}|n:{self.n}"

    def decision(self, of: str | Sequence[str], over: Mapping[str, int]) -> Decision:
        """How reliably would a design with other numbers of inputs, raters or repeats
        measure this?

        of: the facet, or facets, that is measured, such as "system".
        over: how many levels of every other facet are averaged.
        Raises: ValueError for facets that are not there or numbers that are lacking.
        Source: Brennan 2001, sections 1.2 and 4.1.
        """
        measured = {of} if isinstance(of, str) else set(of)
        others = [facet for facet in self.facets if facet not in measured]
        for facet in (*measured, *over):
            arrays.choice(facet, self.facets, "facet")
        if set(others) != set(over):
            raise ValueError(f"over: pass a number for each of {', '.join(others)}")
        numbers = {facet: arrays.whole(over[facet], facet) for facet in others}
        # What the measured facets make is signal. All else is error of the value, and
        # error of the order where it differs by what is measured.
        universe = 0.0
        relative = 0.0
        absolute = 0.0
        for name in self.values:
            within = set(self.facets if name == "residual" else name.split(":"))
            averaged = [numbers[facet] for facet in within - measured]
            variance = self[name] / float(np.prod(averaged))
            if within <= measured:
                universe += variance
                continue
            absolute += variance
            if within & measured:
                relative += variance
        return Decision(
            of=":".join(sorted(measured)),
            over=tuple(numbers.items()),
            relative=_share(universe, universe + relative),
            absolute=_share(universe, universe + absolute),
            error=float(np.sqrt(absolute)),
            error_of_difference=float(np.sqrt(2 * relative)),
        )


@dataclass(frozen=True, repr=False)
class Decision(Result):
    """How reliable a design is.

    of: the facets that are measured, joined by ":".
    over: by other facet, how many of its levels are averaged.
    relative, absolute: generalisability coefficient, for the order of what is measured,
        and dependability (phi), for its value; in [0, 1].
    error, error_of_difference: standard error of one value, in units of the scores, and
        of the difference of two on the same inputs with the same raters.
    """

    of: str
    over: tuple[tuple[str, int], ...]
    relative: float
    absolute: float
    error: float
    error_of_difference: float

    def answer(self) -> dict[str, Any]:
        return self._fields("relative", "absolute", "error", "error_of_difference")

    def signature(self) -> str:
        design = ", ".join(f"{number} {facet}" for facet, number in self.over)
        return f"decision:{self.of}|over:{design}"


def _share(part: float, total: float) -> float:
    """NaN where the total is none."""
    return part / total if total > 0 else NAN


def variance_components(
    values: Any,
    facets: Sequence[str] | Mapping[str, Sequence[Any]],
    confidence: float = 0.95,
) -> Components:
    """How much of the variance is between systems, inputs, raters, repeats, and in what
    they do together?

    values: an array with an axis a facet, NaN missing; or a flat list of scores.
    facets: for an array, the names of its axes in order, such as ("rater", "system",
        "input"); for a flat list, the labels of each score by facet. A judge that is
        asked again has a facet "repeat".
    confidence: of the intervals, in (0, 1).
    Raises: ValueError for facets that do not fit, a facet with one level only, two
        scores in one cell.
    Source: Koch 1968, Technometrics 10 (symmetric sums of squares).
    """
    arrays.share(confidence, "confidence")
    scores, codes = _cells(values, facets)
    names = tuple(codes)
    estimates = _estimates(scores, codes)
    errors, df = _spread(scores, codes, list(estimates))
    quantile = special.stdtrit(df, (1 + confidence) / 2)
    variances = {}
    low = {}
    high = {}
    for (subset, value), error in zip(estimates.items(), errors, strict=True):
        label = "residual" if subset == names else ":".join(subset)
        variances[label] = value
        low[label] = float(value - quantile * error)
        high[label] = float(value + quantile * error)
    unknown = [label for label, value in variances.items() if np.isnan(value)]
    return Components(
        facets=names,
        levels=tuple(map(_n_levels, codes.values())),
        values=variances,
        low=low,
        high=high,
        n=len(scores),
        confidence=confidence,
        reason=f"not told from others: {', '.join(unknown)}" if unknown else "",
    )


def _n_levels(code: Levels) -> int:
    """How many levels a facet has."""
    return int(code.max()) + 1


def _cells(
    values: Any, facets: Sequence[str] | Mapping[str, Sequence[Any]]
) -> tuple[Floats, dict[str, Levels]]:
    """The scores that are there, (cells,), and by facet the level of each, from 0.

    Raises: ValueError as `variance_components`.
    """
    scores = arrays.floats(values, "values")
    if isinstance(facets, Mapping):
        if scores.ndim != 1:
            raise ValueError("values: pass a flat list with labels by facet")
        labels = {name: np.asarray(facets[name], dtype=object) for name in facets}
        for name, column in labels.items():
            if len(column) != len(scores):
                raise ValueError(f"{name}: {len(column)} labels, {len(scores)} values")
    else:
        if len(facets) != scores.ndim:
            raise ValueError(
                f"facets: got {len(facets)} for values of shape {scores.shape}; "
                "pass one for each axis"
            )
        # The labels of an axis are its positions.
        grid = np.indices(scores.shape).reshape(scores.ndim, -1)
        labels = dict(zip(facets, grid, strict=True))
        scores = scores.ravel()
    present = ~np.isnan(scores)
    codes = {}
    for name, column in labels.items():
        words = column[present].astype(str)
        levels, codes[name] = np.unique(words, return_inverse=True)
        if len(levels) < 2:
            raise ValueError(f"{name}: got {len(levels)} level(s); 2 are needed")
    keys = np.stack(list(codes.values()))
    if np.unique(keys, axis=1).shape[1] < keys.shape[1]:
        raise ValueError("two values have the same facets; name what tells them apart")
    return scores[present], codes


def _subsets(facets: Facets) -> Iterator[Facets]:
    """All sets of facets, small ones first, the empty one among them."""
    for size in range(len(facets) + 1):
        yield from combinations(facets, size)


def _estimates(scores: Floats, codes: Codes) -> dict[Facets, float]:
    """The component of each set of facets but the empty one; NaN where no two cells
    tell it from another.

    Half the squared difference of two cells that share exactly a set of facets is on
    average the sum of the components of all sets that are not within it.
    """
    facets = tuple(codes)
    # Squared differences and numbers of the pairs of cells that share at least a set.
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
        components[subset] = float(total)
    del components[()]
    return components


def _half_square(
    shared: Facets, facets: Facets, sums: Mapping[Facets, tuple[float, float]]
) -> float:
    """Half the mean squared difference of the pairs of cells that share exactly these
    facets; NaN without such a pair, 0 of a cell with itself.

    sums: squared differences, and numbers of pairs, that share at least a set.
    """
    if shared == facets:
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


def _within(scores: Floats, shared: Sequence[Levels]) -> tuple[float, float]:
    """Squared differences, summed over the pairs of cells that share these levels, and
    how many pairs there are.
    """
    # One number a combination of levels.
    group = np.zeros(len(scores), dtype=np.intp)
    for code in shared:
        group = group * _n_levels(code) + code
    _, group = np.unique(group, return_inverse=True)
    sizes = np.bincount(group).astype(float)
    totals = np.bincount(group, scores)
    squares = np.bincount(group, scores**2)
    # Over the pairs of a group: n * (sum of squares) - (sum)^2.
    differences = sizes * squares - totals**2
    pairs = sizes * (sizes - 1) / 2
    return float(differences.sum()), float(pairs.sum())


def _spread(
    scores: Floats, codes: Codes, sets: Sequence[Facets]
) -> tuple[Floats, float]:
    """The standard error of each component, by leaving out each system and each input,
    and its degrees of freedom: with both, half of the fewer levels less one, as
    `jackknife.Spread` has it. NaN and 1 without such facets.
    """
    sampled = [name for name in SAMPLED if name in codes]
    if not sampled:
        return np.full(len(sets), np.nan), 1.0
    variance = np.zeros(len(sets))
    fewest = len(scores)
    for name in sampled:
        without = []
        for level in range(_n_levels(codes[name])):
            stays = codes[name] != level
            remaining = {facet: code[stays] for facet, code in codes.items()}
            estimates = _estimates(scores[stays], remaining)
            without.append([estimates[subset] for subset in sets])
        variance += [jackknife.variance(column) for column in np.array(without).T]
        fewest = min(fewest, len(without))
    return np.sqrt(variance), (fewest - 1) / len(sampled)
