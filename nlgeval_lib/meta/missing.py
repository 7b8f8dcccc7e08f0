"""What becomes of items without a score: each way has a name, is applied explicitly and is counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import checks
from .checks import Floats

POLICIES: dict[str, str] = {
    "drop": "items that lack a score on either side are left out",
    "error": "a missing score on either side is an error",
    "zero": "a missing judge score counts as 0",
    "mean": "a missing judge score counts as the mean of the judge's other scores",
    "min": "a missing judge score counts as the judge's lowest score",
    "max": "a missing judge score counts as the judge's highest score",
}


@dataclass(frozen=True)
class Filled:
    """Scores and ratings after a missing policy; items still NaN on either side take no part."""

    x: Floats
    y: Floats
    policy: str
    n_missing: int  # items that lacked a score or a rating before the policy
    n_filled: int  # judge scores that the policy invented
    total: int

    def signature(self) -> str:
        return f"nan:{self.policy}({self.n_missing}/{self.total})"


def apply(x: Floats, y: Floats, policy: str = "drop") -> Filled:
    """Which scores enter: the arrays with missing judge scores handled by a named policy, and the counts.

    x: judge scores, y: human ratings, one shape. Ratings are never invented: an item without one is always left out.
    Raises: ValueError for an unknown policy, for missing values under "error", and when nothing is there to fill from.
    """
    checks.choice(policy, POLICIES, "nan")
    gone_x, gone_y = np.isnan(x), np.isnan(y)
    gone = gone_x | gone_y
    if policy == "error" and gone.any():
        raise ValueError(
            f"nan='error': {int(gone_x.sum())} scores and {int(gone_y.sum())} ratings of {x.size} are missing; "
            f"find out why, or name a policy: {', '.join(POLICIES)}"
        )
    filled = x
    fill = gone_x & ~gone_y if policy in ("zero", "mean", "min", "max") else np.zeros_like(gone)
    if fill.any():
        if policy != "zero" and gone_x.all():
            raise ValueError(f"nan={policy!r}: all {x.size} scores are missing, there is nothing to fill from")
        value = {"zero": lambda: 0.0, "mean": lambda: np.nanmean(x), "min": lambda: np.nanmin(x)}.get(
            policy, lambda: np.nanmax(x)
        )()
        filled = np.where(fill, value, x)
    left = np.isnan(filled) | gone_y
    return Filled(
        x=np.where(left, np.nan, filled),
        y=np.where(left, np.nan, y),
        policy=policy,
        n_missing=int(gone.sum()),
        n_filled=int(fill.sum()),
        total=int(x.size),
    )
