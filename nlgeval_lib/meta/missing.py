"""What becomes of items without a score: each way has a name, is applied explicitly and is counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
FILLS = {"zero": lambda x: 0.0, "mean": np.nanmean, "min": np.nanmin, "max": np.nanmax}
SAMPLE_RULES: dict[str, str] = {
    "nan-mean": "mean of the draws that gave a score; NaN where none did",
    "zero": "a failed draw counts as 0",
    "all": "NaN unless every draw gave a score",
    "first": "the first draw that gave a score; NaN where none did",
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
    fill = gone_x & ~gone_y & (policy in FILLS)
    filled = x
    if fill.any():
        if policy != "zero" and gone_x.all():
            raise ValueError(f"nan={policy!r}: all {x.size} scores are missing, there is nothing to fill from")
        filled = np.where(fill, FILLS[policy](x), x)
    left = np.isnan(filled) | gone_y
    x, y = (np.where(left, np.nan, side) for side in (filled, y))
    return Filled(x, y, policy, int(gone.sum()), int(fill.sum()), int(x.size))


def common(*sides: Floats) -> tuple[Floats, ...]:
    """The arrays with NaN in all of them wherever any has it.

    Raises: ValueError when fewer than 3 items are left.
    """
    gone = np.isnan(sides).any(axis=0)
    if gone.size - gone.sum() < 3:
        raise ValueError(f"got {gone.size - int(gone.sum())} common item(s) of {gone.size}; at least 3 are needed")
    return tuple(np.where(gone, np.nan, side) for side in sides)


@dataclass(frozen=True)
class Samples:
    """Scores from several draws an item. counts: draws that gave a score, one an item; n_empty: items with none."""

    scores: Floats
    counts: Floats
    rule: str
    n_draws: int
    n_failed: int
    n_empty: int

    def signature(self) -> str:
        """What was computed, in one line."""
        return f"samples:{self.rule}({self.n_failed}/{self.n_draws * self.counts.size} failed, {self.n_empty} empty)"


def mean_of_samples(samples: Any, rule: str = "nan-mean") -> Samples:
    """One score an item from several draws, with failed draws handled by a named rule.

    samples: `S[draw, ...]`, the rest any shape, NaN for a draw without a score.
    Raises: ValueError for bad arrays or an unknown rule.
    """
    checks.choice(rule, SAMPLE_RULES, "rule")
    draws = checks.nonempty(checks.floats(samples, "samples"), "samples")
    if draws.ndim < 2:
        raise ValueError(f"samples: got shape {draws.shape}; pass S[draw, item] or S[draw, system, input]")
    here = ~np.isnan(draws)
    counts = here.sum(axis=0)
    total = np.where(here, draws, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        if rule == "zero":
            scores = total / len(draws)
        elif rule == "first":
            scores = np.take_along_axis(draws, here.argmax(axis=0)[None], axis=0)[0]
        else:
            scores = total / np.where(counts >= (len(draws) if rule == "all" else 1), counts, np.nan)
    return Samples(scores, counts.astype(float), rule, len(draws), int((~here).sum()), int((counts == 0).sum()))
