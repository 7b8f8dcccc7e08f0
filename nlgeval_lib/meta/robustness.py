"""Does the correlation hold: under other treatments of missing scores, and within each kind of item?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import checks, levels, missing
from .checks import Floats
from .correlation import Correlation, correlate

NAN = float("nan")


def by_stratum(
    x: Any,
    y: Any,
    strata: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    nan: str = "drop",
    ci: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> dict[Any, Correlation]:
    """How well does the judge follow the ratings within each kind of item?

    strata: a label for each item (shaped like x) or for each input of `X[system, input]`. Else as `correlate`. A
    stratum with too few items has NaN and says so. The order is that of first appearance.
    Raises: ValueError as `correlate`, and for labels that do not fit.
    """
    a, b = checks.pair(x, y)
    checks.same_labels("item", x=checks.items(x, last=True), strata=checks.items(strata, last=True))
    labels = np.asarray(strata)
    if a.ndim == 2 and labels.shape == (a.shape[1],):
        labels = np.broadcast_to(labels, a.shape)
    if labels.shape != a.shape:
        raise ValueError(f"strata: got shape {labels.shape} for items {a.shape}; pass a label for each item or input")
    if gone := sum(label is None or label != label for label in labels.ravel().tolist()):
        raise ValueError(f"strata: {gone} of {labels.size} labels are missing; name them, or leave those items out")
    lacks = np.isnan(a) | np.isnan(b)
    if nan != "drop":
        filled = missing.apply(a, b, nan)
        a, b = filled.x, filled.y
    out: dict[Any, Correlation] = {}
    for label in dict.fromkeys(labels.ravel().tolist()):
        inside = labels == label
        size, lacking = int(inside.sum()), int((inside & lacks).sum())
        columns = inside.any(axis=0) if a.ndim == 2 else inside
        part = [np.where(inside, side, np.nan)[..., columns] for side in (a, b)]
        try:
            result = correlate(*part, coef, level, "drop", ci, n_boot, seed)
            out[label] = replace(result, n_missing=lacking, total=size, nan=nan)
        except ValueError as error:
            if "common item" not in str(error):
                raise
            out[label] = Correlation(NAN, coef, level, size - lacking, 0, lacking, 0, size, nan, reason=str(error))
    return out


@dataclass(frozen=True)
class Bounds:
    """How low and how high the correlation gets when missing scores may be anything on the scale.

    low, high: the extremes over the fills tried, so the truth may lie further out, never further in; for Pearson at
    dataset level, low is exact where it is at least 0. value: the correlation without the missing items.
    """

    low: float
    high: float
    value: float
    coef: str
    level: str
    n_missing: int
    total: int
    n_fills: int
    scale: tuple[float, float]

    def signature(self) -> str:
        """What was computed, in one line."""
        return (
            f"level:{self.level}|coef:{self.coef}|nan:worst-case({self.n_missing}/{self.total})"
            f"|scale:{self.scale[0]:g}-{self.scale[1]:g}|fills:{self.n_fills}"
        )


def bounds(x: Any, y: Any, low: float, high: float, coef: str = "kendall-b", level: str = "dataset") -> Bounds:
    """Between what limits could the correlation lie if the judge had given the missing scores?

    x, y: as `correlate`; items without a rating are left out. low, high: ends of the judge's scale. Fills tried: at
    every cut between ratings, one end of the scale below it and the other above, and the same with the scores at each
    end slightly spread in the order of the ratings, or against it.
    Raises: ValueError as `correlate`, for low >= high, and for scores off the scale.
    """
    low, high = checks.scale(low, high)
    a, b = checks.pair(x, y)
    off = a[(a < low) | (a > high)]
    if len(off):
        raise ValueError(f"x: got {off[0]:g} on a scale from {low:g} to {high:g}")
    point = correlate(a, b, coef, level)
    gap = np.isnan(a) & ~np.isnan(b)
    values = [point.value]
    for fill in _fills(b[gap], low, high) if gap.any() else ():
        filled = a.copy()
        filled[gap] = fill
        filled = missing.apply(filled, b)
        values.append(levels.value(filled.x, filled.y, point.coef, level))
    ends = np.fmin.reduce(values), np.fmax.reduce(values)
    counts = int(gap.sum()), a.size, len(values) - 1, (low, high)
    return Bounds(float(ends[0]), float(ends[1]), point.value, point.coef, level, *counts)


def _fills(ratings: Floats, low: float, high: float, most_cuts: int = 60) -> Iterator[Floats]:
    """Scores for the missing items: two-valued by a cut in the ratings, and the same with a slight order within."""
    cuts = np.unique(ratings)
    if len(cuts) > most_cuts:
        cuts = np.unique(np.quantile(ratings, np.linspace(0, 1, most_cuts), method="nearest"))
    edges = np.append(cuts, np.inf)
    place = np.searchsorted(np.unique(ratings), ratings) / max(len(np.unique(ratings)), 1)
    slight = (high - low) * 1e-6 * place
    for edge in edges:
        above = ratings >= edge
        with_them, against = np.where(above, high, low), np.where(above, low, high)
        yield with_them
        yield against
        yield np.where(above, high - (high - low) * 1e-6 + slight, low + slight)
        yield np.where(above, low + (high - low) * 1e-6 - slight, high - slight)


def side_by_side(
    x: Any,
    y: Any,
    policies: Sequence[str] = ("drop", "zero", "mean", "min", "max"),
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> dict[str, Correlation]:
    """What does each missing policy make of the same scores?

    Arguments as `correlate`; one result a policy, in order, each with its counts.
    Raises: ValueError as `correlate`.
    """
    return {policy: correlate(x, y, coef, level, policy, ci, n_boot, seed) for policy in policies}
