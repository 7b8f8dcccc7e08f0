"""How a judge uses its scale: spread, ties, ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import checks

NAN = float("nan")


@dataclass(frozen=True)
class ScaleUse:
    """Which part of its scale a judge uses.

    entropy: bits; evenness: entropy over that of even use of all `steps` values, in [0, 1]; NaN for a continuous scale.
    ties: share of pairs of items with equal scores. floor, ceiling: share at the ends of the scale.
    """

    n: int
    n_missing: int
    distinct: int
    mean: float
    sd: float
    entropy: float
    evenness: float
    ties: float
    floor: float
    ceiling: float
    counts: tuple[tuple[float, int], ...]
    scale: tuple[float, float]
    steps: int | None = None

    def signature(self) -> str:
        """What was computed, in one line."""
        low, high = map(checks.exactly, self.scale)
        steps = f"/{self.steps}" if self.steps else ""
        return f"bias:scale-use|scale:{low}-{high}{steps}|nan:drop({self.n_missing}/{self.n + self.n_missing})"


def scale_use(x: Any, low: float, high: float, steps: int | None = None) -> ScaleUse:
    """How much of the scale do the scores use?

    x: scores of any shape, NaN missing; low, high: ends of the scale; steps: values on it, None if continuous.
    Raises: ValueError for low >= high, scores off the scale, more different scores than steps, fewer than 2 scores.
    """
    values = checks.floats(x, "x").ravel()
    low, high = checks.scale(low, high)
    if steps is not None:
        checks.whole(steps, "steps", low=2)
    here = values[~np.isnan(values)]
    if len(here) < 2:
        raise ValueError(f"x: got {len(here)} scores; at least 2 are needed")
    if here.min() < low or here.max() > high:
        raise ValueError(f"x: got scores from {here.min():g} to {here.max():g} on a scale from {low:g} to {high:g}")
    distinct, counts = np.unique(here, return_counts=True)
    if steps is not None and len(distinct) > steps:
        raise ValueError(f"x: got {len(distinct)} different scores on a scale of {steps} steps; pass steps=None")
    share = counts / len(here)
    entropy = float(max(-(share * np.log2(share)).sum(), 0.0))
    return ScaleUse(
        n=len(here),
        n_missing=len(values) - len(here),
        distinct=len(distinct),
        mean=float(here.mean()),
        sd=float(here.std(ddof=1)),
        entropy=entropy,
        evenness=float(entropy / np.log2(steps)) if steps else NAN,
        ties=float((counts * (counts - 1.0)).sum() / (len(here) * (len(here) - 1.0))),
        floor=float((here == low).mean()),
        ceiling=float((here == high).mean()),
        counts=tuple((float(value), int(count)) for value, count in zip(distinct, counts, strict=True)),
        scale=(low, high),
        steps=steps,
    )
