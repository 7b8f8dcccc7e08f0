"""Coefficients on plain vectors without missing values. Each returns NaN where it is not defined."""

from __future__ import annotations

import numpy as np
from scipy import stats

from .checks import Floats

COEFFICIENTS = ("pearson", "spearman", "kendall-a", "kendall-b", "kendall-c")


def coefficient(x: Floats, y: Floats, coef: str) -> float:
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return float("nan")
    if coef == "pearson":
        xm, ym = x - x.mean(), y - y.mean()
        if np.linalg.norm(xm) < 1e-13 * abs(x.mean()) or np.linalg.norm(ym) < 1e-13 * abs(y.mean()):
            return float("nan")
        return float(stats.pearsonr(x, y).statistic)
    if coef == "spearman":
        return float(stats.pearsonr(stats.rankdata(x), stats.rankdata(y)).statistic)
    if coef == "kendall-a":
        n = len(x)
        tau = stats.kendalltau(x, y).statistic
        tx, ty = _tied(x), _tied(y)
        tot = n * (n - 1) // 2
        return float(round(tau * np.sqrt(tot - tx) * np.sqrt(tot - ty)) / tot)
    return float(stats.kendalltau(x, y, variant=coef[-1]).statistic)


def _tied(x: Floats) -> int:
    counts = np.unique(x, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())
