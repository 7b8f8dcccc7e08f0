"""Where the variance of scores is: systems, inputs, raters, repeats, orders and what
they do together; and how reliable other designs would be.

Random effects, crossed, with any cells missing. A component is estimated from the
products of cells that share some facets and no others: unbiased without an assumption
of normality, and the same as analysis of variance where no cell is missing.
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

Facets = tuple[str, ...]
Codes = Mapping[str, npt.NDArray[np.intp]]
# facets whose levels are left out for the intervals
SAMPLED = ("system", "input")


@dataclass(frozen=True, repr=False)
class Components(Result):
    """Variance of each facet and of each set of facets together, by name
    ("system:input"); the set of all is the residual, noise included.

    An estimate below 0 stands as it is and counts as 0 elsewhere; NaN with a reason
    where no two cells tell it from another. low, high: by leaving out systems and
    inputs, at `confidence`; NaN where the facets have other names.
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

        Raises: ValueError for an unknown one.
        """
        return max(self.values[arrays.choice(name, self.values, "component")], 0.0)

    def share(self, name: str) -> float:
        """The part of the variance of a single score that is a component's."""
        total = sum(self[component] for component in self.values)
        return self[name] / total if total > 0 else NAN

    def to_frame(self) -> pd.DataFrame:
        """A row a component."""
        import pandas as pd

        rows = []
        for name, value in self.values.items():
            row: dict[str, Any] = {"component": name, "variance": value}
            row |= {"low": self.low[name], "high": self.high[name]}
            rows.append({**row, "share": self.share(name)})
        return pd.DataFrame(rows)

    def answer(self) -> dict[str, Any]:
        shares = {name: self.share(name) for name in self.values}
        return {**shares, "n": self.n}

    def signature(self) -> str:
        sizes = zip(self.facets, self.levels, strict=True)
        design = " x ".join(f"{facet} {size}" for facet, size in sizes)
        return f"variance:symmetric-sums|{design}|n:{self.n}"

    def decision(self, of: str | Sequence[str], over: Mapping[str, int]) -> Decision:
        """How reliably would a design with other numbers of inputs, raters or repeats
        measure this?

        of: the facet, or facets, that is measured, such as "system". over: how many
        levels of every other facet are averaged.
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
        universe = 0.0
        relative = 0.0
        absolute = 0.0
        for name in self.values:
            part = set(self.facets)
            if name != "residual":
                part = set(name.split(":"))
            averaged = [numbers[facet] for facet in part - measured]
            variance = self[name] / float(np.prod(averaged))
            if part <= measured:
                universe += variance
                continue
            absolute += variance
            if part & measured:
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

    relative: generalisability coefficient, for the order of what is measured; absolute:
    dependability (phi), for its value; both in [0, 1]. error: standard error of one
    value; error_of_difference: of two on the same inputs with the same raters.
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
    total = universe + error
    return universe / total if total > 0 else NAN


def variance_components(
    values: Any,
    facets: Sequence[str] | Mapping[str, Sequence[Any]],
    confidence: float = 0.95,
) -> Components:
    """How much of the variance is between systems, inputs, raters, repeats, and in what
    they do together?

    values: an array with an axis a facet, NaN missing, and facets the axes' names in
    order, such as ("rater", "system", "input"); or a flat list of scores, and facets
    the labels of each by facet. A judge that is asked again has a facet "repeat".
    Raises: ValueError for facets that do not fit, a facet with one level only, two
    scores in one cell.
    Source: Koch 1968, Technometrics 10 (symmetric sums of squares).
    """
    arrays.share(confidence, "confidence")
    scores, codes = _cells(values, facets)
    names = tuple(codes)
    estimates = _estimates(scores, codes)
    sets = list(estimates)
    labels = [_name(part, names) for part in sets]
    errors, df = _spread(scores, codes, sets)
    quantile = special.stdtrit(df, (1 + confidence) / 2)
    values = {}
    low = {}
    high = {}
    unknown = []
    for label, part, error in zip(labels, sets, errors, strict=True):
        value = estimates[part]
        values[label] = value
        low[label] = float(value - quantile * error)
        high[label] = float(value + quantile * error)
        if np.isnan(value):
            unknown.append(label)
    reason = ""
    if unknown:
        reason = f"not told from others: {', '.join(unknown)}"
    return Components(
        facets=names,
        levels=tuple(int(code.max()) + 1 for code in codes.values()),
        values=values,
        low=low,
        high=high,
        n=len(scores),
        confidence=confidence,
        reason=reason,
    )


def _name(part: Facets, facets: Facets) -> str:
    return "residual" if part == facets else ":".join(part)


def _cells(
    values: Any, facets: Sequence[str] | Mapping[str, Sequence[Any]]
) -> tuple[Floats, dict[str, npt.NDArray[np.intp]]]:
    """The scores that are there, and the level of each facet that they have.

    Raises: ValueError.
    """
    scores = arrays.floats(values, "values")
    if isinstance(facets, Mapping):
        if scores.ndim != 1:
            raise ValueError("values: pass a flat list with labels by facet")
        labels = {name: np.asarray(facets[name], dtype=object) for name in facets}
        for name, given in labels.items():
            if len(given) != len(scores):
                raise ValueError(f"{name}: {len(given)} labels, {len(scores)} values")
    else:
        if len(facets) != scores.ndim:
            raise ValueError(
                f"facets: got {len(facets)} for values of shape {scores.shape}; "
                "pass one for each axis"
            )
        grid = np.indices(scores.shape).reshape(scores.ndim, -1)
        labels = dict(zip(facets, grid, strict=True))
        scores = scores.ravel()
    present = ~np.isnan(scores)
    codes = {}
    for name, given in labels.items():
        levels, codes[name] = np.unique(given[present].astype(str), return_inverse=True)
        if len(levels) < 2:
            raise ValueError(f"{name}: got {len(levels)} level(s); 2 are needed")
    keys = np.stack(list(codes.values()))
    if len(np.unique(keys, axis=1).T) < keys.shape[1]:
        raise ValueError("two values have the same facets; name what tells them apart")
    return scores[present], codes


def _subsets(facets: Facets) -> Iterator[Facets]:
    """All sets of facets, small ones first, the empty one among them."""
    for size in range(len(facets) + 1):
        yield from combinations(facets, size)


def _estimates(scores: Floats, codes: Codes) -> dict[Facets, float]:
    """The component of each set of facets but the empty one.

    Half the squared difference of two cells that share exactly a set of facets is on
    average the sum of the components of all sets that are not within it.
    """
    facets = tuple(codes)
    centred = scores - scores.mean()
    sums = {}
    pairs = {}
    for shared in _subsets(facets):
        levels = [codes[name] for name in shared]
        sums[shared], pairs[shared] = _within(centred, levels)
    covariance = {}
    apart = NAN
    for shared in _subsets(facets):
        half_square = _half_square(shared, facets, sums, pairs)
        if not shared:
            apart = half_square
        covariance[shared] = apart - half_square
    components = {}
    for part in _subsets(facets):
        if not part:
            continue
        total = 0.0
        for within in _subsets(part):
            sign = (-1) ** (len(part) - len(within))
            total += sign * covariance[within]
        components[part] = float(total)
    return components


def _half_square(
    shared: Facets,
    facets: Facets,
    sums: Mapping[Facets, float],
    pairs: Mapping[Facets, float],
) -> float:
    """Half the mean squared difference of the pairs of cells that share exactly these
    facets; NaN without such a pair, 0 of a cell with itself.

    sums, pairs: of the pairs that share at least these.
    """
    if shared == facets:
        return 0.0
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
    """
    group = np.zeros(len(scores), dtype=np.intp)
    for code in shared:
        group = group * (int(code.max()) + 1) + code
    _, group = np.unique(group, return_inverse=True)
    sizes = np.bincount(group).astype(float)
    totals = np.bincount(group, scores)
    squares = np.bincount(group, scores**2)
    differences = sizes * squares - totals**2
    pairs = sizes * (sizes - 1) / 2
    return float(differences.sum()), float(pairs.sum())


def _spread(
    scores: Floats, codes: Codes, sets: Sequence[Facets]
) -> tuple[Floats, float]:
    """The standard error of each component by leaving out each system and each input,
    and its degrees of freedom; NaN without such facets.
    """
    sampled = [name for name in SAMPLED if name in codes]
    if not sampled:
        return np.full(len(sets), np.nan), 1.0
    variance = np.zeros(len(sets))
    fewest = len(scores)
    for name in sampled:
        levels = int(codes[name].max()) + 1
        without = []
        for level in range(levels):
            kept = codes[name] != level
            rest = {facet: code[kept] for facet, code in codes.items()}
            estimates = _estimates(scores[kept], rest)
            without.append([estimates[part] for part in sets])
        table = np.array(without)
        distances = table - table.mean(axis=0)
        squares = (distances**2).sum(axis=0)
        variance += squares * (levels - 1) / levels
        fewest = min(fewest, levels)
    df = (fewest - 1) / 2 if len(sampled) == len(SAMPLED) else fewest - 1.0
    return np.sqrt(variance), df
