"""Where the variance of scores is: systems, inputs, raters, repeats, orders and what
they do together; and how reliable other designs would be.

Random effects, crossed, with any cells missing. A component is estimated from the
products of cells that share some facets and no others: unbiased without an assumption
of normality, and the same as analysis of variance where no cell is missing.

A facet is what scores differ by, such as "system" or "rater"; its levels are the single
systems or raters; a cell has one level of each facet and one score.
`variance_components` gives `Components`; their method `decision` says how reliable a
design with other numbers of levels would be, as a `Decision`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import arrays
from .classical import special
from .result import NAN, Floats, Result

if TYPE_CHECKING:
    import pandas as pd

# names of facets, in the order of the data
Facets = tuple[str, ...]
# by facet, the level of each cell, numbered from 0
Codes = Mapping[str, npt.NDArray[np.intp]]
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
    confidence: of low and high, in (0, 1).
    reason: which components could not be estimated.
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
        """A component by its name, 0 where its estimate is below.

        Raises: ValueError for an unknown name.
        """
        return max(self.values[arrays.choice(name, self.values, "component")], 0.0)

    def share(self, name: str) -> float:
        """The part of the variance of a single score that is a component's, in [0, 1].

        name: of the component.
        Returns: NaN where any component is NaN, or all are 0.
        Raises: ValueError for an unknown name.
        """
        total = sum(self[component] for component in self.values)
        if not total > 0:
            return NAN
        return self[name] / total

    def to_frame(self) -> pd.DataFrame:
        """A row a component."""
        import pandas as pd

        rows = []
        for name, value in self.values.items():
            row = {
                "component": name,
                "variance": value,
                "low": self.low[name],
                "high": self.high[name],
                "share": self.share(name),
            }
            rows.append(row)
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
        if isinstance(of, str):
            of = [of]
        measured = set(of)
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
            within = set(self.facets)
            if name != "residual":
                within = set(name.split(":"))
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
            relative=_reliability(universe, relative),
            absolute=_reliability(universe, absolute),
            error=float(np.sqrt(absolute)),
            error_of_difference=float(np.sqrt(2 * relative)),
        )


@dataclass(frozen=True, repr=False)
class Decision(Result):
    """How reliable a design is.

    of: the facets that are measured, joined by ":".
    over: by other facet, how many of its levels are averaged.
    relative: generalisability coefficient, for the order of what is measured, in [0,
        1].
    absolute: dependability (phi), for its value, in [0, 1].
    error: standard error of one value, in units of the scores.
    error_of_difference: that of the difference of two on the same inputs with the same
        raters.
    """

    of: str
    over: tuple[tuple[str, int], ...]
    relative: float
    absolute: float
    error: float
    error_of_difference: float

    def answer(self) -> dict[str, Any]:
        names = ("relative", "absolute", "error", "error_of_difference")
        return {name: getattr(self, name) for name in names}

    def signature(self) -> str:
        design = ", ".join(f"{number} {facet}" for facet, number in self.over)
        return f"decision:{self.of}|over:{design}"


def _reliability(universe: float, error: float) -> float:
    """The share of the variance that is signal; NaN where there is none."""
    total = universe + error
    if not total > 0:
        return NAN
    return universe / total


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
    sets = list(estimates)
    labels = [_name(subset, names) for subset in sets]
    errors, df = _spread(scores, codes, sets)
    quantile = special.stdtrit(df, (1 + confidence) / 2)
    variances = {}
    low = {}
    high = {}
    unknown = []
    for label, subset, error in zip(labels, sets, errors, strict=True):
        value = estimates[subset]
        reach = quantile * error
        variances[label] = value
        low[label] = float(value - reach)
        high[label] = float(value + reach)
        if np.isnan(value):
            unknown.append(label)
    reason = ""
    if unknown:
        reason = f"not told from others: {', '.join(unknown)}"
    return Components(
        facets=names,
        levels=tuple(map(_n_levels, codes.values())),
        values=variances,
        low=low,
        high=high,
        n=len(scores),
        confidence=confidence,
        reason=reason,
    )


def _name(subset: Facets, facets: Facets) -> str:
    """What a component is called: "system", "system:input", "residual"."""
    if subset == facets:
        return "residual"
    return ":".join(subset)


def _n_levels(code: npt.NDArray[np.intp]) -> int:
    """How many levels a facet has."""
    return int(code.max()) + 1


def _cells(
    values: Any, facets: Sequence[str] | Mapping[str, Sequence[Any]]
) -> tuple[Floats, dict[str, npt.NDArray[np.intp]]]:
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
    different_cells = np.unique(keys, axis=1).shape[1]
    if different_cells < keys.shape[1]:
        raise ValueError("two values have the same facets; name what tells them apart")
    return scores[present], codes


def _subsets(facets: Facets) -> Iterator[Facets]:
    """All sets of facets, small ones first, the empty one among them.

    Example:
        >>> list(_subsets(("system", "input")))
        [(), ('system',), ('input',), ('system', 'input')]
    """
    for size in range(len(facets) + 1):
        yield from combinations(facets, size)


def _estimates(scores: Floats, codes: Codes) -> dict[Facets, float]:
    """The component of each set of facets but the empty one.

    Half the squared difference of two cells that share exactly a set of facets is on
    average the sum of the components of all sets that are not within it.

    scores: (cells,).
    codes: by facet, the level of each cell.
    Returns: by set of facets; NaN where no two cells tell a component from another.
    """
    facets = tuple(codes)
    # Sums over the pairs of cells that share at least a set.
    centred = scores - scores.mean()
    sums = {}
    pairs = {}
    for shared in _subsets(facets):
        levels = [codes[name] for name in shared]
        sums[shared], pairs[shared] = _within(centred, levels)
    # The covariance of cells that share exactly a set: the sum of the components
    # within it. The empty set comes first, whose cells have nothing in common.
    covariance = {}
    apart = NAN
    for shared in _subsets(facets):
        half_square = _half_square(shared, facets, sums, pairs)
        if not shared:
            apart = half_square
        covariance[shared] = apart - half_square
    # A component is its set's covariance less those of the sets within (inclusion
    # and exclusion).
    components = {}
    for subset in _subsets(facets):
        if not subset:
            continue
        total = 0.0
        for within in _subsets(subset):
            sign = (-1) ** (len(subset) - len(within))
            total += sign * covariance[within]
        components[subset] = float(total)
    return components


def _half_square(
    shared: Facets,
    facets: Facets,
    sums: Mapping[Facets, float],
    pairs: Mapping[Facets, float],
) -> float:
    """Half the mean squared difference of the pairs of cells that share exactly these
    facets; NaN without such a pair, 0 of a cell with itself.

    shared: the facets of which the cells have the same level.
    facets: all.
    sums, pairs: squared differences, and numbers of pairs, by set of facets, of the
        pairs that share at least these.
    """
    if shared == facets:
        return 0.0
    # From "at least these" to "exactly these", by inclusion and exclusion.
    exact_sum = 0.0
    exact_pairs = 0.0
    for wider in _subsets(facets):
        if not set(shared) <= set(wider):
            continue
        sign = (-1) ** (len(wider) - len(shared))
        exact_sum += sign * sums[wider]
        exact_pairs += sign * pairs[wider]
    # Counts are whole numbers, but for rounding.
    if exact_pairs < 0.5:
        return NAN
    return exact_sum / exact_pairs / 2


def _within(
    scores: Floats, shared: Sequence[npt.NDArray[np.intp]]
) -> tuple[float, float]:
    """Squared differences, summed over the pairs of cells that share these levels, and
    how many pairs there are.

    scores: (cells,).
    shared: of each facet that is shared, the level of each cell.
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
    and its degrees of freedom.

    sets: the components, in the order of the result.
    Returns: (components,) and a number; NaN and 1 without such facets. With both, half
        of the fewer levels less one, as `jackknife.Spread` has it.
    """
    sampled = [name for name in SAMPLED if name in codes]
    if not sampled:
        return np.full(len(sets), np.nan), 1.0
    variance = np.zeros(len(sets))
    fewest = len(scores)
    for name in sampled:
        levels = _n_levels(codes[name])
        without = []
        for level in range(levels):
            stays = codes[name] != level
            remaining = {facet: code[stays] for facet, code in codes.items()}
            estimates = _estimates(scores[stays], remaining)
            without.append([estimates[subset] for subset in sets])
        table = np.array(without)
        distances = table - table.mean(axis=0)
        squares = (distances**2).sum(axis=0)
        variance += squares * (levels - 1) / levels
        fewest = min(fewest, levels)
    df = fewest - 1.0
    if len(sampled) == len(SAMPLED):
        df = (fewest - 1) / 2
    return np.sqrt(variance), df
