"""The judge beside single raters and beside itself: raters, variance, repeats, and what
its scores are worth in labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judgecard.aspect import Aspect
from judgecard.cells import Numbers, interval, interval_or_reason, value_or_reason
from judgecard.estimates import estimate
from judgecard.rated_columns import rater_kinds
from judgecard.variance import variance_components
from nlgeval_lib import statistics

# what a person costs, by kind of rater (Calderon et al. 2025); others count as skilled
EPSILON = {"expert": 0.2, "crowd": 0.1}
SKILLED = 0.15
LABELLED = 30  # inputs that people rate, where the worth in labels is measured
FEWEST_LABELLED = 5


def raters(aspect: Aspect) -> Numbers:
    """May the judge replace a rater of one kind (experts where there are any)?

    Returns: `kind` and `number` of the raters; for each level the tau-b of a `rater`,
    and of the `judge`, with the mean of the others; `alt_test` of the judge and of a
    constant. A `reason` alone where there are no ratings of single raters.
    """
    kinds = rater_kinds(aspect.rows)
    if not kinds:
        return {"reason": "no ratings of single raters"}
    kind = next(iter(kinds))
    if "expert" in kinds:
        kind = "expert"
    ratings = aspect.rows[kinds[kind]].to_numpy(dtype=float).T
    kind = kind or "rater"
    numbers: Numbers = {"kind": kind, "number": len(ratings)}
    # (rater, system, input); of a flat aspect (rater, row)
    stack = np.stack([aspect.matrix(rater) for rater in ratings])
    judge = aspect.matrix(aspect.values)
    for level in aspect.levels:
        settings = ("kendall-b", level, aspect.ci)
        numbers[level] = {
            "rater": interval_or_reason(statistics.human_ceiling, stack, *settings),
            "judge": interval_or_reason(
                statistics.against_leave_one_out, judge, stack, *settings
            ),
        }
    numbers["alt_test"] = value_or_reason(_alt_test, aspect, ratings, kind)
    return numbers


def _alt_test(aspect: Aspect, ratings: np.ndarray, kind: str) -> Numbers:
    """The alternative annotator test of the judge, and of the best constant.

    Source: Calderon, Reichart and Dror 2025, section 3.
    """
    if not aspect.same_scale():
        raise ValueError(aspect.why_no_scale())
    epsilon = EPSILON.get(kind, SKILLED)
    constant = float(np.round(np.nanmean(aspect.human)))
    constants = np.full(len(aspect.human), constant)
    scores = {"judge": aspect.values, "constant": constants}
    numbers: Numbers = {"epsilon": epsilon, "constant_value": constant}
    for name, values in scores.items():
        result = statistics.alt_test(values, ratings, epsilon=epsilon)
        numbers[name] = {
            "winning_rate": result.winning_rate,
            "advantage": result.advantage,
            "passed": result.passed,
            "signature": result.signature(),
            "reason": result.reason,
        }
    return numbers


def worth(aspect: Aspect) -> Numbers:
    """For how many labels does a label count beside the judge's scores, where people
    rate a part of the inputs?

    At most `LABELLED` inputs, and at most half of them, keep their labels; the choice
    is the same for every judge.

    Returns: `labels`, that number, for differences between systems; the inputs that
    people must rate until an interval of a tenth of the scale (`width`) is reached,
    with the judge and without (`inputs_needed`, `inputs_needed_alone`).
    Raises: ValueError for few inputs.
    """
    inputs = aspect.rows["input_id"].nunique()
    if aspect.flat or inputs < 2 * FEWEST_LABELLED:
        raise ValueError("too few inputs to hide the labels of some")
    human = aspect.matrix(aspect.human)
    labelled = min(LABELLED, inputs // 2)
    order = np.random.default_rng(0).permutation(inputs)
    human[:, order[labelled:]] = np.nan
    estimates = estimate(aspect.matrix(aspect.values), human)
    low, high = aspect.rated_on or (-np.inf, np.inf)
    if not np.isfinite([low, high]).all():
        # without a known scale, the range of the ratings
        low = np.nanmin(aspect.human)
        high = np.nanmax(aspect.human)
    width = (high - low) / 10
    planned = estimates.labels_needed(width, of="differences")
    return {
        "labels": estimates.worth_differences,
        "labelled_inputs": labelled,
        "width": width,
        "inputs_needed": planned.labels,
        "inputs_needed_alone": planned.alone,
        "words": (
            f"Worth in labels (`nlgeval estimate`): where people rate {labelled} of "
            "the inputs and the judge scores all, a label counts for so many in "
            "the differences between systems."
        ),
        "signature": estimates.signature(),
    }


def variance(aspect: Aspect) -> Numbers:
    """Where is the variance of scores, and of ratings?

    Returns: `judge` and `people`, each with the `shares` of its components; `repeats`
    as well of a judge that was asked again.
    Raises: ValueError where inputs and systems are not known.
    """
    if aspect.flat:
        raise ValueError("inputs and systems are not known")
    facets = ("systems", "inputs")
    judge = aspect.matrix(aspect.values)
    people = aspect.matrix(aspect.human)
    numbers = {"judge": _shares(judge, facets), "people": _shares(people, facets)}
    draws = aspect.draws()
    if len(draws) > 1:
        answers = np.stack([aspect.matrix(draw) for draw in draws])
        numbers["repeats"] = _shares(answers, ("repeats", *facets))
    return numbers


def _shares(scores: np.ndarray, facets: Sequence[str]) -> Numbers:
    """The share of each component of the variance of one score, by its name."""
    components = variance_components(scores, facets)
    return {
        "shares": components.shares(),
        "n": components.n,
        "signature": components.signature(),
    }


def repeats(aspect: Aspect) -> Numbers:
    """How far do the draws of one judgment agree? Those that lack a draw are left out.

    Returns: `draws`, how many there are; `same`, the share of judgments whose draws are
    all equal; `icc`, their intraclass correlation.
    Raises: ValueError where there is one draw, or none of the judgments has all.
    """
    draws = aspect.draws()
    if len(draws) < 2:
        raise ValueError("each judgment was asked once")
    gaps = np.isnan(draws).any(axis=0)
    if gaps.all():
        raise ValueError("no judgment has a score in every draw")
    complete = draws[:, ~gaps]
    all_equal = (complete == complete[0]).all(axis=0)
    icc: Numbers = {"reason": "all draws are equal"}
    if np.ptp(complete) > 0:
        icc = interval(statistics.icc(complete, "1,1"))
        if np.isnan(icc["high"]):
            icc["high"] = icc["value"]
    return {"draws": len(draws), "same": float(all_equal.mean()), "icc": icc}
