"""How far printed numbers and ours lie apart: the coefficient of variation for small
samples, and their correlation.

These are the measures of reports on reproducibility. They say how near the numbers of a
group are, not whether a single one agrees: for that see `numbers.agrees`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

# The mean of a standard deviation of two values, as a share of the true one.
_C4_OF_TWO = math.sqrt(2 / math.pi)
NEAR = 5.0  # per cent: what the field's reports call a good reproduction


@dataclass(frozen=True)
class Nearness:
    """How near the recomputed numbers of a group are to the printed ones.

    n: pairs with a coefficient of variation.
    median: of these coefficients, in per cent; NaN without any.
    near: the share of them below 5 per cent, in [0, 1]; NaN without any.
    r: Pearson's correlation of printed and recomputed; NaN below three pairs or without
    variation.
    undefined: pairs whose mean is 0, so that they have no coefficient.
    """

    n: int
    median: float
    near: float
    r: float
    undefined: int


def cv_star(printed: float, ours: float) -> float:
    """The coefficient of variation of a number and its reproduction, in per cent.

    It is corrected for a sample of two, and the same when both numbers change places.

    Returns: 0 for equal numbers; NaN where their mean is 0.
    Source: Belz (2022), A Metrological Perspective on Reproducibility in NLP, sec. 3.

    Example:
    >>> round(cv_star(0.36, 0.37), 2)
    2.73
    """
    mean = (printed + ours) / 2
    if mean == 0:
        return math.nan
    # The standard deviation of two values is their distance over the root of 2. It is
    # too small on average, which c4 mends.
    spread = abs(printed - ours) / math.sqrt(2) / _C4_OF_TWO
    # 1 + 1/(4n), the correction of the coefficient itself for n = 2.
    return 100 * (1 + 1 / 8) * spread / abs(mean)


def nearness(cells: pd.DataFrame) -> Nearness:
    """How near recomputed numbers are to printed ones, over a group of cells.

    cells: a row a pair, with the columns `printed` and `ours`, both numbers.
    Returns: `Nearness`.
    """
    values = []
    for printed, ours in zip(cells["printed"], cells["ours"], strict=True):
        values.append(cv_star(float(printed), float(ours)))
    defined = np.array([value for value in values if not math.isnan(value)])
    # numpy warns of the mean and the median of nothing; both are NaN here.
    median = math.nan
    near = math.nan
    if len(defined):
        median = float(np.median(defined))
        near = float(np.mean(defined < NEAR))
    # Two points always lie on a line, and a constant has no correlation.
    r = math.nan
    varied = cells["printed"].nunique() > 1 and cells["ours"].nunique() > 1
    if len(cells) > 2 and varied:
        r = float(np.corrcoef(cells["printed"], cells["ours"])[0, 1])
    return Nearness(
        n=len(defined),
        median=median,
        near=near,
        r=r,
        undefined=len(values) - len(defined),
    )
