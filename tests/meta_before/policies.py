"""The same correlation under every missing policy, and how far missing scores could move it at worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import checks, draws, levels
from .checks import Floats
from .correlation import Correlation, correlate

NAN = float("nan")


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
    counts = dict(coef=point.coef, level=level, n_missing=int(gap.sum()), total=a.size, scale=(float(low), float(high)))
    if not gap.any():
        return Bounds(point.value, point.value, point.value, n_fills=0, **counts)
    values = [point.value]
    fills = 0
    for fill in _fills(b[gap], low, high):
        filled = a.copy()
        filled[gap] = fill
        side = np.where(np.isnan(filled) | np.isnan(b), np.nan, filled), np.where(np.isnan(filled), np.nan, b)
        values.append(float(levels.plan(*side, point.coef, level).values(draws.everything(a.shape))[0]))
        fills += 1
    values = np.array(values)
    if np.isnan(values).all():
        return Bounds(NAN, NAN, point.value, n_fills=fills, **counts)
    return Bounds(float(np.nanmin(values)), float(np.nanmax(values)), point.value, n_fills=fills, **counts)


def _fills(ratings: Floats, low: float, high: float, most_cuts: int = 60) -> Any:
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
