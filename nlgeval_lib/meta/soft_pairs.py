"""How alike are judge and raters in how sure they are which of two systems is better,
and is one judge surely closer to the raters than another?

`_Exchanges` draws exchanges of inputs between systems once, and gives the p-value of
every pair of systems from any side's scores. `soft_pairwise_accuracy` compares the
p-values of a judge with those of the raters; `compare_soft_accuracy` tests the
difference between two judges, by exchanging their scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays, draws
from .classical import ALTERNATIVES
from .result import NAN, Floats, Result

# inputs that are exchanged together in one look-up, and look-ups in one step
EIGHT = 8
TOGETHER = 4
# what two judges exchange in a comparison
UNITS = ("rows", "inputs")
NO_PAIR = "no two systems share an input"


@dataclass(frozen=True, repr=False)
class SoftAccuracy(Result):
    """Agreement on how sure it is which of two systems is better.

    value: in [0, 1]; NaN with a reason where no pair counts.
    n_systems: systems with an item.
    n_pairs: pairs of systems that share an input.
    n_missing, total: items that lacked a score or a rating, of how many.
    nan: the missing policy.
    n_perm, seed: exchanges behind each p-value, and their seed.
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

    For each pair of systems and each side a one-sided paired permutation test over
    inputs gives p; the value is the mean of 1 - |p(ratings) - p(scores)|. The same
    exchanges serve both sides and all pairs.

    x, y: scores and ratings, `X[system, input]`, NaN missing.
    n_perm: exchanges behind each p-value.
    seed: of the exchanges.
    nan: the missing policy, of `arrays.POLICIES`.
    Raises: ValueError for bad arrays, flat data, fewer than 2 systems or 3 common
        items, and as the policy says.
    Source: Thompson, Mathur, Deutsch and Khayrallah 2024; p as (c + 1) / (n + 1).
    """
    a, b = arrays.alike(x=x, y=y)
    a, b, lacking = arrays.fill(a, b, nan)
    exchanges = _Exchanges(a, n_perm, seed)
    p_x, p_y = exchanges.p_values(a, b)
    value = _agreement(p_x, p_y)
    reason = ""
    if np.isnan(value):
        reason = NO_PAIR
    return SoftAccuracy(
        value=value,
        n_systems=int(exchanges.present.sum()),
        n_pairs=int((~np.isnan(p_x)).sum()),
        n_missing=lacking,
        total=a.size,
        nan=nan,
        n_perm=n_perm,
        seed=seed,
        reason=reason,
    )


@dataclass(frozen=True, repr=False)
class SoftComparison(Result):
    """The soft pairwise accuracies of two judges on their common items.

    first, second: of the judges, in [0, 1].
    difference: first less second.
    p: of a difference of 0; NaN with a reason where no pair counts.
    alternative: "two-sided", "greater" or "less".
    units: what the judges exchanged, of `UNITS`.
    n_systems: systems with a common item.
    n_missing, total: items that any of the three lacked, of how many.
    n_exchanges: exchanges of the judges' scores behind p.
    n_perm: exchanges of systems within an accuracy.
    seed: of both kinds of exchanges.
    """

    first: float
    second: float
    difference: float
    p: float
    alternative: str
    units: str
    n_systems: int
    n_missing: int
    total: int
    n_exchanges: int
    n_perm: int
    seed: int
    reason: str = ""

    def signature(self) -> str:
        missing = f"nan:drop({self.n_missing}/{self.total})"
        data = f"level:system|coef:soft-pairwise-acc|perm:{self.n_perm}|{missing}"
        test = f"test:perm-{self.units}/{self.n_exchanges}|alt:{self.alternative}"
        return f"{data}|{test}|scale:standardised|seed:{self.seed}"


def compare_soft_accuracy(
    first: Any,
    second: Any,
    y: Any,
    units: str = "rows",
    alternative: str = "two-sided",
    n_exchanges: int = 1000,
    n_perm: int = 1000,
    seed: int = 0,
) -> SoftComparison:
    """Is the soft pairwise accuracy of one judge higher than another's?

    p is the share of exchanges of their standardised scores that leave a difference as
    large in the accuracies computed anew. It holds for these systems.

    first, second, y: scores and ratings, `X[system, input]`, NaN missing; an item takes
        part where all three have it.
    units: a coin for each item ("rows", as published) or for each input, for all
        systems ("inputs").
    alternative: "two-sided", "greater" or "less".
    n_exchanges, n_perm: exchanges of the judges' scores; of systems within an accuracy.
    seed: of both kinds of exchanges.
    Raises: ValueError as `soft_pairwise_accuracy`, and for unknown words.
    Source: the exchange of Deutsch, Dror and Roth 2021, as mt-metrics-eval applies it
        to Thompson, Mathur, Deutsch and Khayrallah 2024.
    """
    arrays.choice(units, UNITS, "units")
    arrays.choice(alternative, ALTERNATIVES, "alternative")
    n_exchanges = arrays.whole(n_exchanges, "n_exchanges")
    sides = arrays.alike(first=first, second=second, y=y)
    *scores, ratings = arrays.common(*sides)
    exchanges = _Exchanges(ratings, n_perm, seed)
    judges = np.stack([_standardised(own) for own in scores])
    masks = _masks(ratings.shape, units, n_exchanges, seed)
    of_first, of_second, p = _tested(judges, ratings, exchanges, masks, alternative)
    return SoftComparison(
        first=of_first,
        second=of_second,
        difference=of_first - of_second,
        p=p,
        alternative=alternative,
        units=units,
        n_systems=int(exchanges.present.sum()),
        n_missing=int(np.isnan(sides).any(axis=0).sum()),
        total=ratings.size,
        n_exchanges=n_exchanges,
        n_perm=n_perm,
        seed=seed,
        reason=NO_PAIR if np.isnan(p) else "",
    )


def _tested(
    judges: Floats,
    ratings: Floats,
    exchanges: _Exchanges,
    masks: Iterable[Any],
    alternative: str,
) -> tuple[float, float, float]:
    """The accuracy of both judges, `judges[judge, system, input]`, and p of their
    difference; NaN where no pair counts.
    """
    p_ratings = exchanges.p_values(ratings)[0]
    of_first, of_second = _accuracies(judges, exchanges, p_ratings)
    observed = of_first - of_second
    if np.isnan(observed):
        return of_first, of_second, NAN
    null = _null_differences(judges, masks, exchanges, p_ratings)
    return of_first, of_second, _p_value(observed, null, alternative)


def _accuracies(
    judges: Floats, exchanges: _Exchanges, p_ratings: Floats
) -> tuple[float, float]:
    """Soft pairwise accuracy of two judges.

    judges: `[judge, system, input]`.
    p_ratings: the raters' p of each pair of systems.
    """
    p_first, p_second = exchanges.p_values(*judges)
    return _agreement(p_first, p_ratings), _agreement(p_second, p_ratings)


def _null_differences(
    judges: Floats, masks: Iterable[Any], exchanges: _Exchanges, p_ratings: Floats
) -> Floats:
    """The difference in accuracy after each exchange of the two judges' scores:
    (exchanges,).

    judges: `[judge, system, input]`.
    masks: where an exchange leaves both judges their own scores, `[system, input]`.
    p_ratings: the raters' p of each pair of systems.
    """
    differences = []
    for mask in masks:
        exchanged = np.where(mask, judges, judges[::-1])
        of_first, of_second = _accuracies(exchanged, exchanges, p_ratings)
        differences.append(of_first - of_second)
    return np.array(differences)


def _standardised(side: Floats) -> Floats:
    """Scores less their mean, by their standard deviation where there is one."""
    side = arrays.rescaled(side)
    spread = np.nanstd(side)
    centred = side - np.nanmean(side)
    if spread > 0:
        return centred / spread
    return centred


def _masks(
    shape: tuple[int, ...], units: str, number: int, seed: int
) -> Iterator[npt.NDArray[np.bool_]]:
    """Where each exchange leaves both judges their own scores: an iterator of masks
    `[system, input]`.
    """
    for drawn in draws.resamples(shape, units, number, seed, swap=True):
        coins = drawn.inputs
        if units == "rows":
            coins = drawn.rows
        assert coins is not None  # what was asked for
        for column in coins.T:
            # One coin an input becomes a row that serves all systems.
            stays = column.reshape(-1, shape[1]) == 0
            yield np.broadcast_to(stays, shape)


def _p_value(observed: float, null: Floats, alternative: str) -> float:
    """The share of exchanges with a difference as large, the data among them.

    observed: the difference of the data.
    null: the difference after each exchange.
    """
    rounding = 1e-12
    if alternative == "greater":
        as_large = null >= observed - rounding
    elif alternative == "less":
        as_large = null <= observed + rounding
    else:
        as_large = np.abs(null) >= abs(observed) - rounding
    return float((as_large.sum() + 1) / (len(null) + 1))


def _agreement(p_first: Floats, p_second: Floats) -> float:
    """The mean over pairs of 1 less the difference in p; NaN without a pair.

    p_first, p_second: of each pair, NaN where the systems share no input.
    """
    terms = 1 - np.abs(p_first - p_second)
    defined = ~np.isnan(terms)
    if not defined.any():
        return NAN
    return float(terms[defined].mean())


class _Exchanges:
    """Exchanges of inputs between systems, the same for all pairs and sides.

    items: ratings or scores, `[system, input]`, NaN where an item takes no part.
    n_perm: number of exchanges.
    seed: of the exchanges.
    Raises: ValueError for flat data, fewer than 2 systems or 3 items.

    What it keeps:
    present: which systems have an item.
    complete: whether these have every input.
    first, second: the systems of each pair, numbered among those present.
    padded: inputs, with empty ones that fill up the last look-up.
    bits: `[eight inputs, exchange]`, a bit an input: 1 where two systems keep their
        own.
    alone: which pairs share no input; where not complete.
    """

    def __init__(self, items: Floats, n_perm: int, seed: int) -> None:
        self.n_perm = arrays.whole(n_perm, "n_perm")
        seed = arrays.whole(seed, "seed", low=0)
        if items.ndim != 2:
            raise ValueError(
                f"got a flat vector of {items.size}; pass x[system, input] and y alike"
            )
        has_item = ~np.isnan(items)
        self.present = has_item.any(axis=1)
        self.complete = bool(has_item[self.present].all())
        systems = int(self.present.sum())
        if systems < 2 or has_item.sum() < 3:
            raise ValueError(
                f"got {systems} system(s) with common items; "
                "at least 2 systems and 3 items are needed"
            )
        self.first, self.second = np.triu_indices(systems, 1)
        step = EIGHT * TOGETHER
        self.padded = -(-items.shape[1] // step) * step
        shape = (self.padded // EIGHT, n_perm)
        drawn = np.random.default_rng(seed).bytes(shape[0] * n_perm)
        self.bits = np.frombuffer(drawn, dtype=np.uint8).reshape(shape)

    def p_values(self, *sides: Floats) -> list[Floats]:
        """One-sided p of "the first is better" of each pair of systems, for each side.

        sides: scores or ratings, `[system, input]`, with the items of the exchanges.
        Returns: for each side an array (pairs,); NaN where no input is shared.
        """
        columns = [self._columns(side[self.present]) for side in sides]
        # What the first of a pair leads by is looked up in the columns of its side.
        leads = np.concatenate(columns)
        sums = self._sums(leads)
        totals = leads.sum(axis=1)
        sizes = np.abs(leads).sum(axis=1)
        width = len(columns[0])
        p = []
        for start in range(0, len(leads), width):
            of_side = slice(start, start + width)
            p.append(self._p(sums[of_side], totals[of_side], sizes[of_side]))
        return p

    def _columns(self, side: Floats) -> Floats:
        """What is summed, `[column, input]`: each system's lead over the first one, or,
        where some lack inputs, each pair's difference.

        side: scores or ratings of the systems that are present.
        """
        if self.complete:
            return side - side[:1]
        gap = side[self.first] - side[self.second]
        self.alone = np.isnan(gap).all(axis=1)
        return np.nan_to_num(gap)

    def _sums(self, leads: Floats) -> Floats:
        """The sum of each column over the inputs that keep their own, in each exchange.

        leads: `[column, input]`.
        Returns: `[column, exchange]`.
        """
        from . import _kernels

        values = np.zeros((self.padded, len(leads)))
        values[: leads.shape[1]] = leads.T
        if _kernels.numba is None:
            keeps = np.unpackbits(self.bits[:, None], axis=1, bitorder="little")
            return values.T @ keeps.reshape(self.padded, self.n_perm)
        sums = np.zeros((self.n_perm, len(leads)))
        _kernels.chosen_sums(self.bits, values, sums)
        return np.ascontiguousarray(sums.T)

    def _p(self, sums: Floats, totals: Floats, sizes: Floats) -> Floats:
        """p of each pair, from the sums of one side.

        A difference of twice the inputs kept, less all, is as high as that of the data
        where the kept ones alone are as high as all.

        sums: of each column over the inputs that keep their own, `[column, exchange]`.
        totals: of each column over all inputs.
        sizes: the same of magnitudes, for what is rounding.
        """
        from . import _kernels

        first, second = self.first, self.second
        if self.complete:
            gap = totals[first] - totals[second]
            size = sizes[first] + sizes[second]
        else:
            # A column is a pair's difference: it is set against a column of zeros.
            first = np.arange(len(sums))
            second = np.full(len(sums), len(sums))
            sums = np.vstack([sums, np.zeros(self.n_perm)])
            gap = totals[: len(first)]
            size = sizes[: len(first)]
        least = gap - 1e-12 * np.maximum(size, 1e-300)
        counts = np.empty(len(first), dtype=np.int64)
        if _kernels.numba is None:
            ahead = sums[first] - sums[second]
            counts[:] = (ahead >= least[:, None]).sum(axis=1)
        else:
            _kernels.as_high(sums, first, second, least, counts)
        p = (counts + 1) / (self.n_perm + 1)
        if self.complete:
            return p
        return np.where(self.alone, np.nan, p)
