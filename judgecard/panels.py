"""How many independent judges are several judges worth?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nlgeval_lib.statistics import arrays
from nlgeval_lib.statistics.classical import special
from nlgeval_lib.statistics.result import NAN, Floats, Interval, Measured

FEWEST = 10  # outputs with a rating and all scores


@dataclass(frozen=True, repr=False)
class PanelSize(Measured):
    """How many judges that err independently, each as well as one of the panel, average
    as well as the panel does.

    value: from 1 (all say the same) up; the number of judges where their errors are
        uncorrelated, more where they cancel.
    errors: mean correlation of two judges' errors.
    n: outputs that all judges scored and people rated.
    units: inputs, which the interval leaves out one by one.
    reason: what to doubt, "" for nothing.
    """

    value: float
    judges: int
    errors: float
    n: int
    units: int
    interval: Interval
    reason: str = ""

    def signature(self) -> str:
        counts = f"judges:{self.judges}|n:{self.n}"
        return f"panel:error-variance|{counts}{self.interval.signature()}"


def panel_size(scores: Any, human: Any, inputs: Any = None) -> PanelSize:
    """How many judges that err independently are these worth?

    An error is a score less the rating, where scores have been given the ratings' mean
    and standard deviation: harsh and lenient judges, and those on other scales, count
    alike. The worth is the mean variance of the judges' errors by the variance of the
    mean of their errors. Its interval is over inputs like these (jackknife on the log
    scale, t with inputs - 1 degrees of freedom), for these systems and these raters;
    what raters err counts as error of all judges, so the worth is a lower bound.

    scores: `X[judge, output]`, NaN where there is none: such outputs stay out.
    inputs: a label an output; None where each output is an input of its own.
    Raises: ValueError for bad arrays, one judge, few outputs, and a judge with one score.
    """
    x, y, codes = _complete(scores, human, inputs)
    sums = _sums(x, y, codes)
    total = sums.sum(axis=0)
    variances = _error_variances(total)
    value = float(_worth(variances))
    interval = _interval(value, _worth(_error_variances(total - sums)))
    spreads = np.sqrt(np.diag(variances))
    correlations = variances / np.outer(spreads, spreads)
    return PanelSize(
        value=value,
        judges=len(x),
        errors=float(correlations[np.triu_indices(len(x), 1)].mean()),
        n=len(y),
        units=len(sums),
        interval=interval,
        reason=interval.reason,
    )


def _complete(
    scores: Any, human: Any, inputs: Any
) -> tuple[Floats, Floats, np.ndarray]:
    """The outputs with a rating and all scores."""
    x = arrays.floats(scores, "scores", "judge, output")
    y = arrays.floats(human, "human", "output")
    if len(x) < 2 or y.shape != x.shape[1:]:
        raise ValueError(
            f"scores {x.shape}, human {y.shape}: give scores of two judges or more as "
            "[judge, output], and a rating an output"
        )
    labels = np.arange(len(y))
    if inputs is not None:
        labels = np.asarray(inputs)
    present = ~np.isnan(x).any(axis=0) & ~np.isnan(y)
    x = x[:, present]
    y = y[present]
    _, codes = np.unique(labels[present].astype(str), return_inverse=True)
    if len(y) < FEWEST or codes.max() < 1:
        raise ValueError(
            f"{len(y)} outputs have a rating and all scores; at least {FEWEST}, of two "
            "inputs or more, are needed"
        )
    if (np.ptp(x, axis=1) == 0).any() or np.ptp(y) == 0:
        raise ValueError("a judge gives all outputs the same score, or people do")
    return x, y, codes


def _sums(x: Floats, y: Floats, codes: Any) -> Floats:
    """The sums of products of 1, the scores and the ratings, by input."""
    centred = x - x.mean(axis=1, keepdims=True)
    rows = np.vstack([np.ones_like(y), centred, y - y.mean()]).T
    number = rows.shape[1]
    sums = np.zeros((codes.max() + 1, number, number))
    np.add.at(sums, codes, rows[:, :, None] * rows[:, None, :])
    return sums


def _error_variances(sums: Floats) -> Floats:
    """Covariances of the judges' errors, `[..., judge, judge]`."""
    number = sums[..., :1, :1]
    means = sums[..., :1, :] / number
    covariances = sums / number - means * means.mT
    of_scores = covariances[..., 1:-1, 1:-1]
    with_ratings = covariances[..., 1:-1, -1:]
    of_ratings = covariances[..., -1:, -1:]
    # scores get the ratings' standard deviation
    slopes = np.sqrt(of_ratings / _diagonal(of_scores)[..., None])
    # cov(y - b_i x_i, y - b_j x_j)
    explained = slopes * with_ratings
    errors = of_ratings - explained - explained.mT
    return np.asarray(errors + slopes * slopes.mT * of_scores)


def _diagonal(matrices: Floats) -> Floats:
    return np.diagonal(matrices, axis1=-2, axis2=-1)


def _worth(variances: Floats) -> Floats:
    """Mean variance of the errors by that of their mean; NaN without errors."""
    mean_variance = _diagonal(variances).mean(axis=-1)
    of_mean = variances.mean(axis=(-2, -1))
    has_errors = of_mean > 1e-12 * np.maximum(mean_variance, 1e-300)
    return mean_variance / np.where(has_errors, of_mean, NAN)


def _interval(value: float, reduced: Floats) -> Interval:
    """Value -+ t standard errors on the log scale; reduced: without each input."""
    number = len(reduced)
    if np.isnan([value, *reduced]).any():
        return Interval(NAN, NAN, "jack-inputs", reason="the judges do not err")
    logs = np.log(reduced)
    error = np.sqrt((number - 1) / number * ((logs - logs.mean()) ** 2).sum())
    reach = float(special.stdtrit(number - 1, 0.975) * error)
    low = float(value * np.exp(-reach))
    high = float(value * np.exp(reach))
    return Interval(low, high, "jack-inputs", f"|df:{number - 1}")
