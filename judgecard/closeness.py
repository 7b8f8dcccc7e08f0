"""How near the scores of an aspect are to the ratings: over all outputs, and in parts
of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from judgecard.aspect import Aspect
from judgecard.cells import (
    Numbers,
    interval_or_reason,
    mean_interval,
    value_or_reason,
)
from nlgeval_lib import statistics

_FEWEST_FOR_THIRDS = 30
_kendall = partial(statistics.correlate, coef="kendall-b", ci="auto")


def measure_closeness(aspect: Aspect) -> Numbers:
    """How near are the scores to the ratings?

    Returns: `leniency` (mean of score minus rating) and `nearer_than_constant` (than
    `constant`, the median rating) with intervals; `distance` and `constant_distance` as
    mean absolute gaps, in units of the scale; `calibration`, the mean rating at each
    score; `confusion`, the table of counts.
    Raises: ValueError where scores and ratings have different scales, or one is not
    known, and where no output has both.
    """
    if not aspect.same_scale():
        raise ValueError(aspect.why_no_scale())
    present = aspect.present
    if not present.any():
        raise ValueError("no output has a score and a rating")
    values = aspect.values[present]
    human = aspect.human[present]
    # no other constant has a smaller mean distance than the median
    constant = float(np.median(human))
    gaps = aspect.values - aspect.human
    distances = np.abs(gaps)
    distances_of_constant = np.abs(aspect.human - constant)
    return {
        "leniency": aspect.mean(gaps),
        "distance": float(distances[present].mean()),
        "constant": constant,
        "constant_distance": float(distances_of_constant[present].mean()),
        "nearer_than_constant": aspect.mean(distances_of_constant - distances),
        "calibration": _calibration(values, human),
        "confusion": _confusion(values, human),
    }


def _calibration(values: np.ndarray, human: np.ndarray) -> list[Numbers]:
    """The mean rating of the outputs with each score, a point a score."""
    points = []
    for score, ratings in pd.Series(human).groupby(np.round(values)):
        mean_rating = mean_interval(ratings.to_numpy())
        points.append({"score": float(score), "human": mean_rating})
    return points


def _confusion(values: np.ndarray, human: np.ndarray) -> Numbers:
    """How many outputs have each score of the judge (row) and of people (column)."""
    table = pd.crosstab(np.round(values), np.round(human))
    return {
        "judge": table.index.tolist(),
        "human": table.columns.tolist(),
        "counts": table.to_numpy().tolist(),
    }


def strata(aspect: Aspect) -> Numbers:
    """How near are the scores in parts of the outputs?

    Returns: `rating` and `length`: Kendall's tau-b within thirds by each, or a reason;
    `system`: the leniency, a row a family of systems; no row where it is not known.
    """
    return {
        "rating": value_or_reason(_thirds, aspect, aspect.human),
        "length": value_or_reason(_thirds, aspect, aspect.length),
        "system": _leniency_by_family(aspect),
    }


def _leniency_by_family(aspect: Aspect) -> list[Numbers]:
    """The mean of score minus rating, a row a family of systems."""
    rows: list[Numbers] = []
    if aspect.flat or not aspect.same_scale():
        return rows
    systems = aspect.rows["system_id"].astype(str).to_numpy()
    families = np.array(aspect.families)
    gaps = aspect.values - aspect.human
    for family in dict.fromkeys(aspect.families):
        inside = families == family
        members = dict.fromkeys(systems[inside])
        # the rows outside become NaN, which a mean leaves out
        leniency = aspect.mean(np.where(inside, gaps, np.nan))
        rows.append({"system": ", ".join(members), **leniency})
    return rows


def _thirds(aspect: Aspect, divider: np.ndarray) -> list[Numbers]:
    """Kendall within each third of the outputs."""
    present = aspect.present & ~np.isnan(divider)
    if present.sum() < _FEWEST_FOR_THIRDS:
        raise ValueError(f"fewer than {_FEWEST_FOR_THIRDS} outputs; too few for thirds")
    edges = np.unique(np.quantile(divider[present], [0, 1 / 3, 2 / 3, 1]))
    if len(edges) < 3:
        raise ValueError("too many equal values for thirds")
    last = len(edges) - 2
    # an output on an edge belongs to the part above it, the largest one to the last
    third_of = np.searchsorted(edges, divider, side="right") - 1
    third_of = np.clip(third_of, 0, last)
    rows: list[Numbers] = []
    for third in range(last + 1):
        inside = present & (third_of == third)
        sides = aspect.values[inside], aspect.human[inside]
        kendall = interval_or_reason(_kendall, *sides)
        rows.append({"from": edges[third], "to": edges[third + 1], "kendall": kendall})
    return rows
