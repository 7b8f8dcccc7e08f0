"""Paired tests as sentences: which variant is better, by how much, and which
difference could not have been told.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from reproduction.report.sentences import p_value

# What a table of tests needs to be put in words.
COLUMNS = ("variant", "against", "difference", "ci_low", "ci_high", "n", "p_holm")
MOST = 12  # sentences about single pairs


def sentences(tests: pd.DataFrame, level: float = 0.05) -> list[str]:
    """What paired tests allow to say, a sentence a pair; the last one says which
    differences could not have been told.

    tests: as `study.variant_tests.compare` gives them, perhaps with `aspect`.
    level: of significance, in (0, 1); p-values are Holm's.
    Returns: at most MOST sentences about pairs, and with more pairs one about all;
    empty without tests, or where the columns are others.
    """
    if tests.empty or not set(COLUMNS) <= set(tests.columns):
        return []
    several = "aspect" in tests and tests["aspect"].nunique() > 1
    lines = []
    for test in tests.head(MOST).itertuples():
        prefix = f"{test.aspect}: " if several else ""
        lines.append(prefix + _sentence(test, level))
    if len(tests) > MOST:
        differing = int((tests["p_holm"] < level).sum())
        lines.append(
            f"Of all {len(tests)} pairs {differing} differ at {level:.0%} after Holm's "
            "correction."
        )
    return [*lines, *_limits(tests)]


def _sentence(test: Any, level: float) -> str:
    """One pair in words: that no test was possible, that no difference was found, or
    which variant follows the ratings more closely.
    """
    if math.isnan(test.p_holm):
        reason = getattr(test, "reason", "") or "no test was possible"
        return f"{test.variant} against {test.against}: no test ({reason})."
    if math.isnan(test.ci_low) and test.difference == 0:
        return (
            f"{test.variant} and {test.against} follow the ratings alike: their "
            "coefficients do not differ in any part of the data."
        )
    difference = _written(test.difference)
    low = _written(test.ci_low)
    high = _written(test.ci_high)
    numbers = f"{difference} [{low}, {high}], p {p_value(test.p_holm)}"
    if test.p_holm >= level:
        return (
            f"No difference between {test.variant} and {test.against} can be told: "
            f"{numbers}."
        )
    order = "more" if test.difference > 0 else "less"
    return (
        f"{test.variant} follows the ratings {order} closely than {test.against}: "
        f"{numbers}."
    )


def _limits(tests: pd.DataFrame) -> list[str]:
    """The smallest differences that these tests would have told: one sentence, or none
    where that is not known.
    """
    if "detectable" not in tests or tests["detectable"].isna().all():
        return []
    smallest = tests["detectable"].min()
    largest = tests["detectable"].max()
    size = f"{largest:.2f}".removeprefix("0")
    if largest - smallest >= 0.01:
        size = f"{smallest:.2f}".removeprefix("0") + f" to {size}, by pair,"
    return [
        f"Differences below about {size} cannot be told on {int(tests['n'].max())} "
        "items (a single test at 5 % with a power of 80 %)."
    ]


def _written(value: float) -> str:
    """A difference with its sign, without the nought before the point.

    Example:
    >>> _written(-0.0512)
    '-.051'
    """
    return f"{value:+.3f}".replace("0.", ".", 1)
