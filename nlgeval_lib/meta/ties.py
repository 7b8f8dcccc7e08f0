"""On how many pairs of outputs do judge and raters agree, ties included, and with which tie threshold?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays, levels
from .result import NAN, Floats, Result

LEVELS = ("dataset", "input")
MOST_PAIRS = 20_000_000


@dataclass(frozen=True)
class Pairs:
    """Pairs of items that are compared: one group for the data set, or one an input."""

    gap: Floats  # |x_i - x_j|
    agree: np.ndarray  # the two sides order the pair alike, neither tied
    tied_y: np.ndarray
    group: np.ndarray
    size: Floats  # pairs in each group


@dataclass(frozen=True, repr=False)
class TieAccuracy(Result):
    """Share of pairs ordered alike or tied alike, scores within epsilon of each other counting as tied.

    value: in [0, 1], mean over groups; NaN with a reason where there is no pair. folds: number of held-out parts (0:
    the threshold was given, or chosen on the same data, as `calibration` says). epsilons: each fold's threshold.
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
        fold = f"/{self.folds}|seed:{self.seed}" if self.folds else ""
        epsilon = arrays.exactly(self.epsilon) if self.calibration == "given" else f"{self.epsilon:.6g}"
        return (
            f"level:{self.level}|coef:acc-eq|eps:{self.calibration}({epsilon}){fold}"
            f"|nan:{self.nan}({self.n_missing}/{self.total})"
        )


def acc_eq(x: Any, y: Any, epsilon: float = 0.0, level: str = "input", nan: str = "drop") -> TieAccuracy:
    """On how many pairs of items do scores and ratings say the same, ties included, with a given tie threshold?

    x, y: flat (level dataset) or `X[system, input]`; level input averages the share over inputs. epsilon >= 0, in units
    of x. A constant judge is not undefined here: it scores the share of tied ratings.
    Raises: ValueError as `correlate`, for a negative epsilon, and beyond 20 million pairs.
    Source: Deutsch, Foster and Freitag 2023 (Ties Matter).
    """
    epsilon = arrays.number(epsilon, "epsilon", 0)
    pairs, filled = _prepare(x, y, level, nan)
    return _result(_accuracy(pairs, epsilon), epsilon, level, "given", pairs, filled)


def calibrate_ties(x: Any, y: Any, level: str = "input", nan: str = "drop") -> TieAccuracy:
    """Which tie threshold makes the judge's accuracy highest, on the same data it is then judged by?

    Every gap between two scores is tried; of equally good thresholds the smallest is taken. The value is optimistic:
    see `held_out_acc_eq`. Arguments and errors as `acc_eq`.
    Source: Deutsch, Foster and Freitag 2023 (tie calibration).
    """
    pairs, filled = _prepare(x, y, level, nan)
    epsilon, value = _best(pairs)
    return _result(value, epsilon, level, "in-sample", pairs, filled)


def held_out_acc_eq(
    x: Any, y: Any, level: str = "input", folds: int = 2, seed: int = 0, nan: str = "drop"
) -> TieAccuracy:
    """How accurate is the judge with a tie threshold learned on other inputs than those it is judged by?

    Inputs `X[system, input]` (items, for flat data) are split at random into folds; each is judged by the threshold
    that is best on the others, and the folds' values are averaged by their number of groups (dataset level: of pairs).
    epsilon of the result is the mean. Arguments and errors as `acc_eq`; ValueError for more folds than inputs.
    """
    whole, filled = _prepare(x, y, level, nan)
    inputs = filled.x.shape[-1]
    if arrays.whole(folds, "folds", low=2) > inputs:
        raise ValueError(f"folds: got {folds} for {inputs} inputs; pass at most as many folds as inputs")
    part = np.random.default_rng(arrays.whole(seed, "seed", low=0)).permutation(inputs) % folds
    values, epsilons, weights = [], [], []
    for fold in range(folds):
        inside = part == fold
        train = _pairs(filled.x[..., ~inside], filled.y[..., ~inside], level)
        test = _pairs(filled.x[..., inside], filled.y[..., inside], level)
        if not len(train.gap) or not len(test.gap):
            continue
        epsilon = _best(train)[0]
        values.append(_accuracy(test, epsilon))
        epsilons.append(epsilon)
        weights.append(float((test.size > 0).sum()) if level == "input" else float(len(test.gap)))
    if not values:
        return _result(NAN, NAN, level, "held-out", whole, filled)
    value, epsilon = float(np.average(values, weights=weights)), float(np.mean(epsilons))
    return _result(value, epsilon, level, "held-out", whole, filled, folds, tuple(epsilons), seed)


def _prepare(x: Any, y: Any, level: str, nan: str) -> tuple[Pairs, arrays.Filled]:
    arrays.choice(level, LEVELS, "level")
    a, b = arrays.alike(x=x, y=y)
    filled = arrays.fill(a, b, nan)
    levels.check(filled.x, level)
    return _pairs(filled.x, filled.y, level), filled


def _pairs(x: Floats, y: Floats, level: str) -> Pairs:
    if level == "dataset":
        here = ~np.isnan(x)
        x, y = x[here][:, None], y[here][:, None]
    n, groups = x.shape
    if n * (n - 1) // 2 * groups > MOST_PAIRS:
        raise ValueError(
            f"got {n * (n - 1) // 2 * groups} pairs, more than {MOST_PAIRS}; take level 'input', or the coefficient "
            "'acc-eq', which needs no pairs"
        )
    first, second = np.triu_indices(n, 1)
    gap_x, gap_y = x[first] - x[second], y[first] - y[second]
    here = ~np.isnan(gap_x)
    group = np.broadcast_to(np.arange(groups), here.shape)[here]
    gap_x, gap_y = gap_x[here], gap_y[here]
    agree = (np.sign(gap_x) == np.sign(gap_y)) & (gap_y != 0)
    size = np.bincount(group, minlength=groups).astype(float)
    return Pairs(np.abs(gap_x), agree, gap_y == 0, group, size)


def _accuracy(pairs: Pairs, epsilon: float) -> float:
    right = np.where(pairs.gap <= epsilon, pairs.tied_y, pairs.agree)
    filled = pairs.size > 0
    if not filled.any():
        return NAN
    share = np.bincount(pairs.group, weights=right, minlength=len(pairs.size))[filled] / pairs.size[filled]
    return float(share.mean())


def _best(pairs: Pairs) -> tuple[float, float]:
    """The best threshold: with pairs sorted by gap, each that becomes a tie changes the accuracy by a known step."""
    if not len(pairs.gap):
        return NAN, NAN
    order = np.argsort(pairs.gap, kind="stable")
    gap = pairs.gap[order]
    step = (pairs.tied_y[order].astype(float) - pairs.agree[order]) / pairs.size[pairs.group[order]]
    gain = np.concatenate([[0.0], np.cumsum(step)])
    ends = np.flatnonzero(np.append(gap[1:] != gap[:-1], True)) + 1
    thresholds = np.concatenate([[0.0], gap[ends - 1]])
    gains = np.concatenate([[gain[np.searchsorted(gap, 0.0, side="right")]], gain[ends]])
    best = int(np.flatnonzero(gains >= gains.max() - 1e-12)[0])
    return float(thresholds[best]), _accuracy(pairs, float(thresholds[best]))


def _result(
    value: float,
    epsilon: float,
    level: str,
    calibration: str,
    pairs: Pairs,
    filled: arrays.Filled,
    folds: int = 0,
    epsilons: tuple[float, ...] = (),
    seed: int | None = None,
) -> TieAccuracy:
    counts = len(pairs.gap), int((pairs.size > 0).sum()), filled.n_missing, filled.x.size, filled.policy
    reason = "" if value == value else "no pair of items with both a score and a rating"
    return TieAccuracy(value, epsilon, level, calibration, *counts, folds, epsilons, seed, reason)
