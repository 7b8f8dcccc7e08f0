"""On how many pairs do judge and raters agree: of outputs, with which tie threshold;
of systems, and how surely?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import arrays, levels
from .result import NAN, Floats, Result

LEVELS = ("dataset", "input")
MOST_PAIRS = 20_000_000


class Pairs:
    """Pairs of items that are compared: one group for the data set, or one an input.

    x, y: NaN in both or in none.
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
        first, second = np.triu_indices(n, 1)
        gap_x = x[first] - x[second]
        gap_y = y[first] - y[second]
        present = ~np.isnan(gap_x)
        self.group = np.broadcast_to(np.arange(groups), present.shape)[present]
        gap_x = gap_x[present]
        gap_y = gap_y[present]
        self.gap = np.abs(gap_x)
        self.tied = gap_y == 0
        # Pairs that are ordered alike, and tied on neither side.
        self.alike = (np.sign(gap_x) == np.sign(gap_y)) & ~self.tied
        # How many pairs each group has.
        self.size = np.bincount(self.group, minlength=groups).astype(float)

    def filled_groups(self) -> int:
        """How many groups have a pair."""
        return int((self.size > 0).sum())

    def accuracy(self, epsilon: float) -> float:
        """The share of pairs ordered or tied alike with this threshold, mean over
        the groups; NaN without a pair.
        """
        agrees = np.where(self.gap <= epsilon, self.tied, self.alike)
        filled = self.size > 0
        if not filled.any():
            return NAN
        numbers = np.bincount(self.group, weights=agrees, minlength=len(filled))
        shares = numbers[filled] / self.size[filled]
        return float(shares.mean())

    def best(self) -> float:
        """The best threshold: with pairs sorted by gap, each that becomes a tie
        moves the accuracy by a known step.
        """
        if not len(self.gap):
            return NAN
        order = np.argsort(self.gap, kind="stable")
        gap = self.gap[order]
        size = self.size[self.group[order]]
        step = (self.tied[order].astype(float) - self.alike[order]) / size
        gain = np.concatenate([[0.0], np.cumsum(step)])
        gain_at_zero = gain[np.searchsorted(gap, 0.0, side="right")]
        # Pairs of one gap become ties together.
        is_last = np.append(gap[1:] != gap[:-1], True)
        ends = np.flatnonzero(is_last) + 1
        thresholds = np.concatenate([[0.0], gap[ends - 1]])
        gains = np.concatenate([[gain_at_zero], gain[ends]])
        best = np.flatnonzero(gains >= gains.max() - 1e-12)
        return float(thresholds[best[0]])


@dataclass(frozen=True, repr=False)
class TieAccuracy(Result):
    """Share of pairs ordered alike or tied alike, scores within epsilon of each other
    counting as tied.

    value: in [0, 1], mean over groups; NaN with a reason where there is no pair. folds:
    number of held-out parts (0: the threshold was given, or chosen on the same data, as
    `calibration` says). epsilons: each fold's threshold.
    """

    value: float
    epsilon: float
    level: str
    calibration: str
    n_pairs: int
    n_groups: int
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

    x, y: flat (level dataset) or `X[system, input]`; level input averages the share
    over inputs. epsilon >= 0, in units of x. A constant judge is not undefined here: it
    scores the share of tied ratings.
    Raises: ValueError as `correlate`, for a negative epsilon, and beyond 20 million
    pairs.
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

    Every gap between two scores is tried; of equally good thresholds the smallest is
    taken. The value is optimistic: see `held_out_acc_eq`. Arguments and errors as
    `acc_eq`.
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
    are averaged by their number of groups (dataset level: of pairs). epsilon of the
    result is the mean. Arguments and errors as `acc_eq`; ValueError for more folds than
    inputs.
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
    values = []
    epsilons = []
    weights = []
    for fold in range(folds):
        inside = fold_of_input == fold
        train = Pairs(a[..., ~inside], b[..., ~inside], level)
        test = Pairs(a[..., inside], b[..., inside], level)
        if not len(train.gap) or not len(test.gap):
            continue
        epsilons.append(train.best())
        values.append(test.accuracy(epsilons[-1]))
        weights.append(len(test.gap) if level == "dataset" else test.filled_groups())
    if not values:
        return replace(blank, reason=NO_PAIR)
    return replace(
        blank,
        value=float(np.average(values, weights=weights)),
        epsilon=float(np.mean(epsilons)),
        folds=folds,
        epsilons=tuple(epsilons),
        seed=seed,
    )


NO_PAIR = "no pair of items with both a score and a rating"


def _prepare(
    x: Any, y: Any, level: str, nan: str, calibration: str
) -> tuple[Pairs, TieAccuracy, Floats, Floats]:
    """The pairs, a result that lacks value and threshold, and both sides."""
    arrays.choice(level, LEVELS, "level")
    a, b = arrays.alike(x=x, y=y)
    a, b, lacking = arrays.fill(a, b, nan)
    levels.check(a, level)
    pairs = Pairs(a, b, level)
    blank = TieAccuracy(
        value=NAN,
        epsilon=NAN,
        level=level,
        calibration=calibration,
        n_pairs=len(pairs.gap),
        n_groups=pairs.filled_groups(),
        n_missing=lacking,
        total=a.size,
        nan=nan,
        reason="" if len(pairs.gap) else NO_PAIR,
    )
    return pairs, blank, a, b


@dataclass(frozen=True, repr=False)
class SoftAccuracy(Result):
    """Agreement on how sure it is which of two systems is better, in [0, 1]; NaN
    with a reason where no pair counts.
    """

    value: float
    n_systems: int
    n_pairs: int
    n_missing: int
    total: int
    nan: str
    n_perm: int
    seed: int
    reason: str = ""

    def signature(self) -> str:
        drawn = f"perm:{self.n_perm}|seed:{self.seed}"
        missing = f"nan:{self.nan}({self.n_missing}/{self.total})"
        return f"level:system|coef:soft-pairwise-acc|{drawn}|{missing}"


def soft_pairwise_accuracy(
    x: Any, y: Any, n_perm: int = 1000, seed: int = 0, nan: str = "drop"
) -> SoftAccuracy:
    """How alike are the judge's and the raters' certainty about which of two systems is
    better?

    x, y: `X[system, input]`. For each pair of systems and each side a one-sided paired
    permutation test over inputs gives p; the value is the mean of 1 - |p(ratings) -
    p(scores)|. The same exchanges serve both sides and all pairs.
    Raises: ValueError for flat data, fewer than 2 systems or 3 common items.
    Source: Thompson, Mathur, Deutsch and Khayrallah 2024; p as (c + 1) / (n + 1).
    """
    n_perm = arrays.whole(n_perm, "n_perm")
    seed = arrays.whole(seed, "seed", low=0)
    a, b = arrays.alike(x=x, y=y)
    a, b, lacking = arrays.fill(a, b, nan)
    if a.ndim != 2:
        raise ValueError(
            f"got a flat vector of {a.size}; pass x[system, input] and y alike"
        )
    items = ~np.isnan(a)
    present = items.any(axis=1)
    systems = int(present.sum())
    if systems < 2 or items.sum() < 3:
        raise ValueError(
            f"got {systems} system(s) with common items; "
            "at least 2 systems and 3 items are needed"
        )
    rng = np.random.default_rng(seed)
    coins = rng.integers(0, 2, (n_perm, a.shape[1]))
    signs = coins.astype(float) * 2 - 1
    p_x = _p_values(a[present], signs)
    p_y = _p_values(b[present], signs)
    shared = ~np.isnan(p_x)
    value = NAN
    reason = "no two systems share an input"
    if shared.any():
        value = float((1 - np.abs(p_x - p_y))[shared].mean())
        reason = ""
    return SoftAccuracy(
        value=value,
        n_systems=systems,
        n_pairs=int(shared.sum()),
        n_missing=lacking,
        total=a.size,
        nan=nan,
        n_perm=n_perm,
        seed=seed,
        reason=reason,
    )


def _p_values(side: Floats, signs: Floats) -> Floats:
    """One-sided p of "the first is better" of each pair of systems, by exchanging
    inputs; NaN where none is shared.
    """
    first, second = np.triu_indices(len(side), 1)
    alone = np.zeros(len(first), dtype=bool)
    if np.isnan(side).any():
        # Each pair has inputs of its own.
        gap = side[first] - side[second]
        alone = np.asarray(np.isnan(gap).all(axis=1))
        gap = np.nan_to_num(gap)
        drawn = signs @ gap.T
        observed = gap.sum(axis=1)
        size = np.abs(gap).sum(axis=1)
    else:
        side = side - side[:1]
        sums = signs @ side.T
        total = side.sum(axis=1)
        reach = np.abs(side).sum(axis=1)
        drawn = sums[:, first] - sums[:, second]
        observed = total[first] - total[second]
        size = reach[first] + reach[second]
    rounding = 1e-12 * np.maximum(size, 1e-300)
    as_high = drawn >= observed - rounding
    p = (as_high.sum(axis=0) + 1) / (len(signs) + 1)
    return np.where(alone, np.nan, p)
