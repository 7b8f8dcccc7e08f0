"""The same coefficient for many judges at once: for choosing among hundreds of features or criteria."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from . import checks, kernels, levels, missing
from .checks import Floats
from .columns import columns
from .flat import Flat


def coefficients(x: Any, y: Any, coef: str = "kendall-b", level: str = "dataset", nan: str = "drop") -> Floats:
    """How strongly does each of many judges follow the same ratings? Numbers only; `correlate` explains one.

    x: `X[judge, item]` or `X[judge, system, input]`; y: one judge's shape. Returns (judges,), equal to `correlate` of
    each; NaN where a coefficient is not defined or a judge has fewer than 3 common items (systems at system level).
    Raises: ValueError for bad arrays, shapes that do not fit, unknown words.
    """
    coef = kernels.named(coef)
    checks.choice(level, levels.LEVELS, "level")
    checks.same_labels("item", x=checks.items(x, last=True), y=checks.items(y) if np.ndim(y) == 1 else None)
    stack, ratings = checks.floats(x, "x"), checks.nonempty(checks.floats(y, "y"), "y")
    if stack.ndim != ratings.ndim + 1 or stack.shape[1:] != ratings.shape or ratings.ndim not in (1, 2):
        raise ValueError(f"got x {stack.shape} and y {ratings.shape}; pass X[judge, item] or X[judge, system, input]")
    if level != "dataset" and ratings.ndim != 2:
        raise ValueError(f"level={level!r} needs x[judge, system, input]; got {stack.shape}")
    if len(stack) == 0:
        return np.empty(0)
    filled = [missing.apply(side, ratings, nan) for side in stack]
    a, b = np.stack([f.x for f in filled]), np.stack([f.y for f in filled])
    values = {"dataset": _dataset, "input": _input, "system": _system}[level](a, b, coef)
    few = (~np.isnan(a)).reshape(len(a), -1).sum(axis=1) < 3
    return np.where(few, np.nan, values)


def _dataset(a: Floats, b: Floats, coef: str) -> Floats:
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    here = ~np.isnan(a)
    if coef in ("pearson", "spearman"):
        if coef == "spearman":
            a, b = (stats.rankdata(side, axis=1, nan_policy="omit") for side in (a, b))
        return kernels.pearson(np.where(here, a, 0.0).T, np.where(here, b, 0.0).T, here.T.astype(float))
    out = np.full(len(a), np.nan)
    for judge in np.flatnonzero(here.sum(axis=1) >= 2):
        keep = here[judge]
        weights = np.ones((int(keep.sum()), 1), dtype=kernels.counting_type(int(keep.sum())))
        out[judge] = Flat(a[judge, keep], b[judge, keep], coef).values(weights)[0]
    return out


def _input(a: Floats, b: Floats, coef: str) -> Floats:
    judges, n_systems, n_inputs = a.shape
    wide = [side.transpose(1, 0, 2).reshape(n_systems, -1) for side in (a, b)]
    each = columns(*wide, (~np.isnan(wide[0])).astype(np.int16), coef).reshape(judges, n_inputs)
    return levels.mean_of_defined(each, np.ones((1, 1)))


def _system(a: Floats, b: Floats, coef: str) -> Floats:
    here = ~np.isnan(a)
    n = here.sum(axis=2).T
    sides = []
    for side in (a, b):
        zeroed = np.where(here, side, 0.0)
        with np.errstate(invalid="ignore"):
            means = zeroed.sum(axis=2).T / n
        if coef != "pearson":
            slack = np.stack([levels.rounding(one)[:, 0] for one in zeroed], axis=1)
            means = levels.levelled(means, slack)
        sides.append(means)
    values = columns(*sides, (n > 0).astype(np.int16), coef)
    return np.where((n > 0).sum(axis=0) < 3, np.nan, values)
