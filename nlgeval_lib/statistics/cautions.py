"""What in the data speaks against an interval over systems: near-copies among them,
skewed ratings, agreement so close that one unlike system would undo it.

Each caution is "" or words for a `reason`. The limits were set on worlds drawn from
SummEval, Topical-Chat and WMT22, and held against WebNLG and OpenMEVA
(`python -m tools.recorded_levels`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .groups import SINGLE, Names
from .levels import Statistic
from .result import Floats, together

# two systems are near-copies where residuals of both sides correlate so much, and by as
# many standard errors more than residuals that are independent
COPIED = 0.5
ERRORS = 3
# of more systems two that are alike change little, and all pairs would fill the memory
MOST_SYSTEMS = 1000
# pairs of near-copies that are named
NAMED = 3
# ratings are skewed from here on
SKEWED = 1.5
# system means agree nearly perfectly from here on, if systems are fewer than `MANY`
NEARLY_PERFECT = 0.9
MANY = 30


def cautions(
    name: str,
    statistic: Statistic,
    judges: Sequence[Floats],
    ratings: Floats,
    level: str,
    coef: str,
    names: Names,
) -> str:
    """What is to be said of an interval or a test of this name, where it is about other
    systems.

    judges, ratings: scores of one judge or more, and ratings, `[system, input]`.
    names: of systems, as `groups.names`.
    """
    if not about_systems(name, level):
        return ""
    copies = ""
    for scores in judges:
        copies = copies or near_copies((scores, ratings), statistic, names)
    # Elsewhere skewness foretells no miss (docs/statistics.md).
    tails_matter = level == "dataset" or (level, coef) == ("system", "pearson")
    return together(copies, skewed(ratings) if tails_matter else "")


def about_systems(name: str, level: str) -> bool:
    """Does an interval or a test of this name say something of other systems?"""
    if name == "fisher":
        return level == "system"
    return name.endswith(("-both", "-systems"))


def near_copies(
    sides: tuple[Floats, Floats], statistic: Statistic, names: Names
) -> str:
    """Which systems are so alike, output by output, that they are no independent
    evidence?

    sides: scores and ratings, `[system, input]`, NaN where an item takes no part.
    names: of systems. Systems in one named group are not compared.
    """
    systems = len(sides[0])
    if not 3 <= systems <= MOST_SYSTEMS:
        return ""
    alike = np.triu(np.minimum(*map(_residual_correlations, sides)), k=1)
    if "systems" in statistic.groups:
        codes = statistic.groups["systems"]
        alike = np.where(codes[:, None] == codes, 0.0, alike)
    first, second = np.nonzero(alike > 0)
    if not len(first):
        return ""
    # Where families are named, the names are theirs.
    labels = names["systems"]
    if "systems" in statistic.groups:
        labels = tuple(f"{SINGLE['systems']} {number}" for number in range(systems))
    correlations = alike[first, second]
    order = np.argsort(-correlations, kind="stable")[:NAMED]
    pairs = []
    for place in order:
        pair = f"{labels[first[place]]} and {labels[second[place]]}"
        pairs.append(f"{pair} ({correlations[place]:.2f})")
    more = len(first) - len(order)
    listed = ", ".join(pairs) + (f" and {more} more pairs" if more else "")
    return (
        f"near-copies by what is left over of each output: {listed}: "
        "too narrow unless families are named (system_groups)"
    )


def _residual_correlations(side: Floats) -> Floats:
    """The correlation between systems of what is left over of their outputs when system
    and input are taken off: (systems, systems), 0 where it is below what counts.
    """
    present = ~np.isnan(side)
    # One pass over systems, then inputs; exact where no item is missing.
    residuals = np.where(present, side, 0.0)
    for axis in (1, 0):
        number = np.maximum(present.sum(axis=axis, keepdims=True), 1)
        residuals = np.where(
            present, residuals - residuals.sum(axis=axis, keepdims=True) / number, 0.0
        )
    largest = np.abs(residuals).max()
    # Without anything left over there is nothing to compare.
    if largest <= 1e-12 * max(np.nanmax(np.abs(side)), 1e-300):
        return np.zeros((len(side), len(side)))
    residuals = residuals / largest
    weight = present.astype(float)
    common = weight @ weight.T
    squares = (residuals**2) @ weight.T
    spread = np.sqrt(squares * squares.T)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = (residuals @ residuals.T) / spread
        least = np.maximum(COPIED, ERRORS / np.sqrt(common))
    return np.where((spread > 0) & (correlations > least), correlations, 0.0)


def skewed(ratings: Floats) -> str:
    """Are ratings so skewed that a system far out, which is not among these, is to be
    reckoned with? Ratings of two values are not asked.
    """
    values = ratings[~np.isnan(ratings)]
    low = values.min()
    high = values.max()
    if np.all((values == low) | (values == high)):
        return ""
    above = (values - values.mean()) / (high - low)
    variance = (above**2).mean()
    skewness = float((above**3).mean() / variance**1.5)
    if abs(skewness) < SKEWED:
        return ""
    side = "above"
    if skewness < 0:
        side = "below"
    return (
        f"skewed ratings ({skewness:.1f}): too narrow if there are systems far {side} "
        "these (.80 to .90 held the truth), 'careful-both' is safer"
    )


def nearly_perfect(value: float, statistic: Statistic) -> str:
    """Do few systems agree so closely that one which the judge misreads, and which is
    not among them, would undo it?
    """
    systems = int(statistic.present.any(axis=1).sum())
    if abs(value) < NEARLY_PERFECT or systems >= MANY:
        return ""
    return (
        f"{systems} systems agree nearly perfectly: too narrow if there are systems "
        "that the judge misreads (.75 to .90 held the truth)"
    )
