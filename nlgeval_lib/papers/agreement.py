"""How far printed numbers and ours lie apart: the coefficient of variation for small
samples, and their correlation.
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

    n: pairs with a coefficient of variation. median: of these coefficients, in per
    cent. near: the share below 5 per cent. r: Pearson's correlation of printed and
    recomputed; NaN below three pairs or without variation. undefined: pairs whose mean
    is 0.
    """

    n: int
    median: float
    near: float
    r: float
    undefined: int


def cv_star(printed: float, ours: float) -> float:
    """The coefficient of variation of a number and its reproduction, in per cent.

    Corrected for a sample of two; NaN where their mean is 0.
    Source: Belz (2022), A Metrological Perspective on Reproducibility in NLP, sec. 3.
    """
    mean = (printed + ours) / 2
    if mean == 0:
        return math.nan
    spread = abs(printed - ours) / math.sqrt(2) / _C4_OF_TWO
    return 100 * (1 + 1 / 8) * spread / abs(mean)


def nearness(cells: pd.DataFrame) -> Nearness:
    """How near recomputed numbers are to printed ones.

    cells: `printed` and `ours`, numbers.
    """
    values = []
    for printed, ours in zip(cells["printed"], cells["ours"], strict=True):
        values.append(cv_star(float(printed), float(ours)))
    defined = np.array([value for value in values if not math.isnan(value)])
    r = math.nan
    varied = cells["printed"].nunique() > 1 and cells["ours"].nunique() > 1
    if len(cells) > 2 and varied:
        r = float(np.corrcoef(cells["printed"], cells["ours"])[0, 1])
    return Nearness(
        n=len(defined),
        median=float(np.median(defined)) if len(defined) else math.nan,
        near=float(np.mean(defined < NEAR)) if len(defined) else math.nan,
        r=r,
        undefined=len(values) - len(defined),
    )
