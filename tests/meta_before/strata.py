"""The same correlation within each kind of item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import checks, missing
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
    out: dict[Any, Correlation] = {}
    for label in dict.fromkeys(labels.ravel().tolist()):
        inside = labels == label
        size = int(inside.sum())
        lacking = int((inside & (np.isnan(a) | np.isnan(b))).sum())
        filled = missing.apply(a, b, nan) if nan != "drop" else None
        side_x, side_y = (filled.x, filled.y) if filled else (a, b)
        columns = inside.any(axis=0) if a.ndim == 2 else inside
        part_x = np.where(inside, side_x, np.nan)[..., columns]
        part_y = np.where(inside, side_y, np.nan)[..., columns]
        try:
            result = correlate(part_x, part_y, coef, level, "drop", ci, n_boot, seed)
            out[label] = replace(result, n_missing=lacking, total=size, nan=nan)
        except ValueError as error:
            if "common item" not in str(error):
                raise
            units = size - lacking
            out[label] = Correlation(NAN, coef, level, units, 0, lacking, 0, size, nan, reason=str(error))
    return out
