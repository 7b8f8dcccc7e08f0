"""Could a correlation of this size come about if scores and ratings had nothing to do with each other?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import checks, draws, kernels, levels, missing, significance
from .checks import Floats
from .columns import columns
from .correlation import correlate

NAN = float("nan")


@dataclass(frozen=True)
class Association:
    """A permutation test of no association. p: (c + 1) / (n + 1), NaN with a reason where not defined."""

    value: float
    p: float
    coef: str
    level: str
    units: str
    alternative: str
    n: int
    n_missing: int
    total: int
    n_perm: int
    seed: int
    nan: str = "drop"
    reason: str = ""
    null: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)

    def signature(self) -> str:
        """What was computed, in one line."""
        return (
            f"level:{self.level}|coef:{self.coef}|nan:{self.nan}({self.n_missing}/{self.total})"
            f"|test:shuffle-{self.units}/{self.n_perm}|alt:{self.alternative}|seed:{self.seed}"
        )


def association(
    x: Any,
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    units: str = "rows",
    n_perm: int = 1000,
    seed: int = 0,
    alternative: str = "two-sided",
    nan: str = "drop",
) -> Association:
    """Is the correlation more than chance would give?

    x, y: as `correlate`. units, what is shuffled of the ratings: rows, single ratings (within each input at input
    level); systems, whole rows of `X[system, input]`; inputs, whole columns; both. Shuffling rows takes items of one
    input or one system for independent, which they seldom are: p is then too small.
    Raises: ValueError as `correlate`; shuffling inputs at input level, which breaks the pairing that the level needs.
    Source: Pitman 1937; p as in Phipson and Smyth 2010.
    """
    checks.choice(alternative, significance.ALTERNATIVES, "alternative")
    n_perm, seed = checks.whole(n_perm, "n_perm"), checks.whole(seed, "seed", low=0)
    point = correlate(x, y, coef, level, nan)
    a, b = checks.pair(x, y)
    filled = missing.apply(a, b, nan)
    draws.check_units(units, a.shape)
    if level == "input" and units in ("inputs", "both"):
        raise ValueError(f"units={units!r} at level='input' breaks the pairing within inputs; shuffle rows or systems")
    base = dict(
        value=point.value, coef=point.coef, level=level, units=units, alternative=alternative, n=point.n,
        n_missing=point.n_missing, total=point.total, n_perm=n_perm, seed=seed, nan=nan,
    )  # fmt: skip
    if np.isnan(point.value):
        return Association(p=NAN, reason=f"no test: {point.reason}", **base)
    rng = np.random.default_rng(seed)
    null = np.concatenate(list(_null(filled.x, filled.y, point.coef, level, units, n_perm, rng)))
    p, reason = significance.p_value(null, point.value, alternative)
    return Association(p=p, reason=reason, null=null, **base)


def _null(x: Floats, y: Floats, coef: str, level: str, units: str, n_perm: int, rng: np.random.Generator) -> Any:
    step = draws.chunk_size(x.size)
    for start in range(0, n_perm, step):
        b = min(step, n_perm - start)
        if level == "dataset" and units == "rows" and coef in ("pearson", "spearman"):
            yield _products(x, y, coef, b, rng)
            continue
        values = []
        for _ in range(b):
            other = _shuffled(y, units, level, rng)
            keep = ~(np.isnan(x) | np.isnan(other))
            side = np.where(keep, x, np.nan), np.where(keep, other, np.nan)
            if not keep.any():
                values.append(np.nan)
            elif level == "input":
                each = columns(*side, keep.astype(np.int16), coef)
                values.append(np.nan if np.isnan(each).all() else np.nanmean(each))
            else:
                values.append(levels.plan(*side, coef, level).values(draws.everything(x.shape))[0])
        yield np.array(values)


def _products(x: Floats, y: Floats, coef: str, b: int, rng: np.random.Generator) -> Floats:
    """Product-moment coefficients of x with b shuffles of y: only the cross product changes."""
    here = ~np.isnan(x)
    sides = []
    for side in (x[here], y[here]):
        if coef == "spearman":
            code, size = kernels.codes(side)
            held = np.bincount(code, minlength=size)
            side = (2.0 * held.cumsum() - held)[code]
        side = kernels.rescaled(side)
        side = side - side.mean()
        sides.append(side / np.linalg.norm(side))
    shuffled = rng.permuted(np.broadcast_to(sides[1], (b, len(sides[1]))), axis=1)
    return np.clip(shuffled @ sides[0], -1, 1)


def _shuffled(y: Floats, units: str, level: str, rng: np.random.Generator) -> Floats:
    if units == "rows":
        if level == "input":
            return _within_columns(y, rng)
        out = y.copy()
        here = ~np.isnan(y)
        out[here] = rng.permutation(y[here])
        return out
    if units in ("systems", "both"):
        y = y[rng.permutation(len(y))]
    return y[:, rng.permutation(y.shape[1])] if units in ("inputs", "both") else y


def _within_columns(y: Floats, rng: np.random.Generator) -> Floats:
    """Each input's ratings exchanged among its systems, gaps staying where they are."""
    out = y.copy()
    for column, source in zip(out.T, y.T, strict=True):
        here = ~np.isnan(source)
        column[here] = rng.permutation(source[here])
    return out
