"""On how many pairs of outputs do judge and raters agree, with which tie threshold?

A judge with fine scores hardly ever ties two outputs, raters often do. So scores no
further apart than a threshold epsilon count as tied: given (`acc_eq`), chosen on the
same data (`calibrate_ties`), or learned on other inputs (`held_out_acc_eq`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, levels
from .result import NAN, Floats, Result

# there is no system level here
LEVELS = ("dataset", "input")
# pairs that one call holds in memory at most
MOST_PAIRS = 20_000_000
NO_PAIR = "no pair of items with both a score and a rating"


class Pairs:
    """Pairs of items that are compared: one group for the data set, or one an input.

    x, y: scores and ratings, flat or `[system, input]`; NaN in both or in none.
    Raises: ValueError for more than `MOST_PAIRS` pairs.

    Keeps of each pair its group, the gap of its scores, whether its ratings are tied,
    and whether both sides order it alike; and the size of each group.
    """

    def __init__(self, x: Floats, y: Floats, level: str) -> None:
        if level == "dataset":
            present = ~np.isnan(x)
            x = x[present][:, None]
            y = y[present][:, None]
        n, groups = x.shape
        number = n * (n - 1) // 2 * groups
        if number > MOST_PAIRS:
            raise ValueError(
                f"got {number} pairs, more than {MOST_PAIRS}; "
                "take level 'input', or the coefficient 'acc-eq', which needs no pairs"
            )
        # Every two rows of a column; a group is a column.
        first, second = np.triu_indices(n, 1)
        gap_x = x[first] - x[second]
        gap_y = y[first] - y[second]
        present = ~np.isnan(gap_x)
        self.group = np.broadcast_to(np.arange(groups), present.shape)[present]
        gap_x = gap_x[present]
        gap_y = gap_y[present]
        self.gap = np.abs(gap_x)
        self.tied = gap_y == 0
        # A pair that is tied on either side is not ordered alike.
        self.alike = (np.sign(gap_x) == np.sign(gap_y)) & ~self.tied
        self.size = np.bincount(self.group, minlength=groups).astype(float)

    def accuracy(self, epsilon: float) -> float:
        """The share of pairs ordered or tied alike with this threshold, mean over the
        groups that have a pair; NaN without a pair.
        """
        agrees = np.where(self.gap <= epsilon, self.tied, self.alike)
        filled = self.size > 0
        if not filled.any():
            return NAN
        numbers = np.bincount(self.group, weights=agrees, minlength=len(filled))
        return float((numbers[filled] / self.size[filled]).mean())

    def best(self) -> float:
        """The best threshold: 0 or a gap between two scores, the smallest of equally
        good ones; NaN without a pair.

        Source: Deutsch, Foster and Freitag 2023 (tie calibration).
        """
        if not len(self.gap):
            return NAN
        # With pairs sorted by gap, each that becomes a tie moves the accuracy by a
        # known step: a tie is right where the ratings are tied, and loses a pair
        # ordered alike.
        order = np.argsort(self.gap, kind="stable")
        gap = self.gap[order]
        right = self.tied[order].astype(float) - self.alike[order]
        step = right / self.size[self.group[order]]
        gain = np.concatenate([[0.0], np.cumsum(step)])
        gain_at_zero = gain[np.searchsorted(gap, 0.0, side="right")]
        # Pairs of one gap become ties together.
        ends = np.flatnonzero(np.append(gap[1:] != gap[:-1], True)) + 1
        thresholds = np.concatenate([[0.0], gap[ends - 1]])
        gains = np.concatenate([[gain_at_zero], gain[ends]])
        best = np.flatnonzero(gains >= gains.max() - 1e-12)
        return float(thresholds[best[0]])


@dataclass(frozen=True, repr=False)
class TieAccuracy(Result):
    """Share of pairs ordered alike or tied alike, scores within epsilon of each other
    counting as tied.

    value: in [0, 1], mean over groups; NaN with a reason where there is no pair.
    epsilon: in units of the scores; the mean of the folds' `epsilons` where held out.
    calibration: where the threshold is from: "given", "in-sample" or "held-out".
    n_missing, total: items that lacked a score or a rating, of how many.
    folds, seed: number of held-out parts, 0 for none, and the seed of the split.
    """

    value: float
    epsilon: float
    level: str
    calibration: str
    n_missing: int
    total: int
    nan: str
    folds: int = 0
    epsilons: tuple[float, ...] = ()
    seed: int | None = None
    reason: str = ""

    def signature(self) -> str:
        epsilon = f"{self.epsilon:.6g}"
        if self.calibration == "given":
            epsilon = arrays.exactly(self.epsilon)
        threshold = f"eps:{self.calibration}({epsilon})"
        if self.folds:
            threshold += f"/{self.folds}|seed:{self.seed}"
        missing = f"nan:{self.nan}({self.n_missing}/{self.total})"
        return f"level:{self.level}|coef:acc-eq|{threshold}|{missing}"


def acc_eq(
    x: Any, y: Any, epsilon: float = 0.0, level: str = "input", nan: str = "drop"
) -> TieAccuracy:
    """On how many pairs of items do scores and ratings say the same, ties included,
    with a given tie threshold?

    x, y: scores and ratings, flat (level dataset) or `X[system, input]`, NaN missing. A
        constant judge scores the share of tied ratings.
    epsilon: scores no further apart are tied; at least 0, in units of x.
    level: "input" averages the share over inputs; "dataset" takes all pairs together.
    nan: the missing policy, of `arrays.POLICIES`.
    Raises: ValueError as `correlate`, for system level, a negative epsilon, and beyond
        20 million pairs.
    Source: Deutsch, Foster and Freitag 2023 (Ties Matter).
    """
    epsilon = arrays.number(epsilon, "epsilon", 0)
    pairs, blank, *_ = _prepare(x, y, level, nan, "given")
    return replace(blank, epsilon=epsilon, value=pairs.accuracy(epsilon))


def calibrate_ties(
    x: Any, y: Any, level: str = "input", nan: str = "drop"
) -> TieAccuracy:
    """Which tie threshold makes the judge's accuracy highest, on the same data it is
    then judged by?

    x, y, level, nan: as in `acc_eq`. Every gap between two scores is tried.
    Returns: optimistic: see `held_out_acc_eq`.
    Raises: ValueError as `acc_eq`.
    Source: Deutsch, Foster and Freitag 2023 (tie calibration).
    """
    pairs, blank, *_ = _prepare(x, y, level, nan, "in-sample")
    epsilon = pairs.best()
    return replace(blank, epsilon=epsilon, value=pairs.accuracy(epsilon))


def held_out_acc_eq(
    x: Any,
    y: Any,
    level: str = "input",
    folds: int = 2,
    seed: int = 0,
    nan: str = "drop",
) -> TieAccuracy:
    """How accurate is the judge with a tie threshold learned on other inputs than those
    it is judged by?

    Inputs `X[system, input]` (items, for flat data) are split at random into folds;
    each is judged by the threshold that is best on the others, and the folds' values
    are averaged by their number of groups (dataset level: of pairs). A fold without a
    pair on either side is left out.

    x, y, level, nan: as in `acc_eq`.
    folds, seed: 2 to the number of inputs, and the seed of the split.
    Raises: ValueError as `acc_eq`, and for more folds than inputs.
    """
    _, blank, a, b = _prepare(x, y, level, nan, "held-out")
    inputs = a.shape[-1]
    if arrays.whole(folds, "folds", low=2) > inputs:
        raise ValueError(
            f"folds: got {folds} for {inputs} inputs; "
            "pass at most as many folds as inputs"
        )
    rng = np.random.default_rng(arrays.whole(seed, "seed", low=0))
    fold_of_input = rng.permutation(inputs) % folds
    judged = []
    for fold in range(folds):
        of_fold = _of_fold(a, b, level, fold_of_input == fold)
        if of_fold is not None:
            judged.append(of_fold)
    if not judged:
        return replace(blank, reason=NO_PAIR)
    epsilons, values, weights = zip(*judged, strict=True)
    return replace(
        blank,
        value=float(np.average(values, weights=weights)),
        epsilon=float(np.mean(epsilons)),
        folds=folds,
        epsilons=epsilons,
        seed=seed,
    )


def _of_fold(
    a: Floats, b: Floats, level: str, inside: npt.NDArray[np.bool_]
) -> tuple[float, float, int] | None:
    """The threshold that is best outside a fold, the accuracy that it has inside, and
    the weight of the fold in the mean; None where either part has no pair.
    """
    train = Pairs(a[..., ~inside], b[..., ~inside], level)
    test = Pairs(a[..., inside], b[..., inside], level)
    if not len(train.gap) or not len(test.gap):
        return None
    epsilon = train.best()
    weight = len(test.gap) if level == "dataset" else int((test.size > 0).sum())
    return epsilon, test.accuracy(epsilon), weight


def _prepare(
    x: Any, y: Any, level: str, nan: str, calibration: str
) -> tuple[Pairs, TieAccuracy, Floats, Floats]:
    """The pairs, a result that lacks value and threshold, and both sides after the
    missing policy. Raises: ValueError as `acc_eq`, but for epsilon.
    """
    arrays.choice(level, LEVELS, "level")
    a, b = arrays.alike(x=x, y=y)
    a, b, n_missing = arrays.fill(a, b, nan)
    levels.check(a, level)
    pairs = Pairs(a, b, level)
    blank = TieAccuracy(
        value=NAN,
        epsilon=NAN,
        level=level,
        calibration=calibration,
        n_missing=n_missing,
        total=a.size,
        nan=nan,
        reason="" if len(pairs.gap) else NO_PAIR,
    )
    return pairs, blank, a, b
