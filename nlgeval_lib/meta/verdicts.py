"""How often does a judge of pairs prefer what people prefer, and how much does the order
in which it sees the two outputs move it?

A verdict is 1 or 2 for an output of the pair, whatever the order of showing; 0 is a tie;
NaN is no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays
from .kappas import kappa
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured

VALUES = (0.0, 1.0, 2.0)
# what is done with a pair that has no verdict
UNREAD = ("drop", "wrong", "tie")
# how two orders become one verdict
RULES = ("agree", "first", "mean")


def combined(given: Any, swapped: Any, rule: str = "agree") -> Floats:
    """One verdict a pair from two orders.

    given, swapped: (pairs,). rule: "agree": a verdict that both orders give, else a
    tie; "first": that of the given order; "mean": 1 counts +1, 2 counts -1, a tie 0, and
    the sign of the mean decides, so that a verdict beside a tie counts. Without a
    verdict in one order "agree" and "mean" give NaN.
    Raises: ValueError for unequal lengths, other values, an unknown rule.
    """
    arrays.choice(rule, RULES, "rule")
    one = _verdicts(given, "given")
    two = _verdicts(swapped, "swapped", len(one))
    if rule == "first":
        return one
    if rule == "agree":
        verdict = np.where(one == two, one, 0.0)
    else:
        total = _signs(one) + _signs(two)
        verdict = np.where(total > 0, 1.0, np.where(total < 0, 2.0, 0.0))
    return np.where(np.isnan(one) | np.isnan(two), np.nan, verdict)


def _signs(verdicts: Floats) -> Floats:
    """+1 for output 1, -1 for output 2, 0 for a tie; NaN stays."""
    signs = np.where(verdicts == 0, 0.0, 3.0 - 2.0 * verdicts)
    return np.where(np.isnan(verdicts), np.nan, signs)


@dataclass(frozen=True, repr=False)
class PairAccuracy(Measured):
    """Share of pairs with the verdict that people give, in [0, 1]; NaN with a reason.

    n: pairs that count; n_unread: pairs without a verdict (`unread` says what became
    of them); n_left_out: pairs without a preference, or tied where ties are left out.
    low, high: jackknife over groups of pairs (inputs), with t.
    """

    value: float
    n: int
    n_groups: int
    n_unread: int
    n_left_out: int
    unread: str
    ties: bool
    interval: Interval = NO_INTERVAL
    reason: str = ""

    def signature(self) -> str:
        ties = "count" if self.ties else "left-out"
        counts = f"pairs:{self.n}|unread:{self.unread}({self.n_unread})"
        return f"acc:pairs|ties:{ties}|{counts}{self.interval.signature()}"


def pair_accuracy(
    verdicts: Any,
    preferences: Any,
    groups: Any = None,
    unread: str = "drop",
    ties: bool = True,
) -> PairAccuracy:
    """How often is the judge's verdict the people's?

    verdicts, preferences: (pairs,), or verdicts (orders, pairs): then the share is the
    mean over orders. groups: (pairs,) labels of what is drawn together, such as inputs;
    None: each pair alone. unread: a pair without a verdict is left out, wrong, or a tie.
    ties: whether pairs that people tie count (a judge is then right by a tie alone).
    Raises: ValueError for bad arrays and unknown words.
    """
    arrays.choice(unread, UNREAD, "unread")
    gold = _verdicts(preferences, "preferences")
    table = np.atleast_2d(np.asarray(verdicts, dtype=float))
    rows = [_verdicts(row, "verdicts", len(gold)) for row in table]
    labels = np.arange(len(gold)) if groups is None else np.asarray(groups)
    if len(labels) != len(gold):
        raise ValueError(f"got {len(labels)} groups for {len(gold)} pairs")
    counts = ~np.isnan(gold) if ties else np.isin(gold, (1.0, 2.0))
    said = np.stack(rows)[:, counts]
    lacking = np.isnan(said)
    right = (said == gold[counts]).astype(float)
    if unread == "tie":
        right = np.where(lacking, gold[counts] == 0, right)
    weight = np.ones_like(right) if unread != "drop" else (~lacking).astype(float)
    _, places = np.unique(labels[counts], return_inverse=True)
    sums = np.bincount(places, (right * weight).sum(axis=0)).astype(float)
    sizes = np.bincount(places, weight.sum(axis=0)).astype(float)
    value = NAN
    reason = "no pair has both a verdict and a preference"
    if sizes.sum():
        value = float(sums.sum() / sizes.sum())
        reason = ""
    return PairAccuracy(
        value=value,
        n=int((weight.sum(axis=0) > 0).sum()),
        n_groups=int((sizes > 0).sum()),
        n_unread=int(lacking.any(axis=0).sum()),
        n_left_out=int((~counts).sum()),
        unread=unread,
        ties=ties,
        interval=_over_groups(sums, sizes),
        reason=reason,
    )


def _over_groups(sums: Floats, sizes: Floats) -> Interval:
    """The interval of a share, each group left out in turn: t, ends within [0, 1].

    Where all or none are right no group moves the share, and the interval is the exact
    one of as many draws as there are groups (Clopper and Pearson 1934).
    """
    filled = sizes > 0
    sums = sums[filled]
    sizes = sizes[filled]
    groups = len(sums)
    if groups < 2:
        return Interval(name="jack-groups", reason="fewer than two groups of pairs")
    value = sums.sum() / sizes.sum()
    left = (sums.sum() - sums) / (sizes.sum() - sizes)
    variance = (groups - 1) / groups * ((left - left.mean()) ** 2).sum()
    from scipy import stats

    if value in (0.0, 1.0):
        farthest = float(0.025 ** (1 / groups))
        low, high = (farthest, 1.0) if value else (0.0, 1 - farthest)
        return Interval(low, high, "exact-groups", f"|n:{groups}")
    if variance < 1e-18:
        reason = "all groups have the same share"
        return Interval(name="jack-groups", reason=reason)
    reach = stats.t.ppf(0.975, groups - 1) * np.sqrt(variance)
    low = float(max(0.0, value - reach))
    high = float(min(1.0, value + reach))
    return Interval(low, high, "jack-groups", f"|df:{groups - 1}")


@dataclass(frozen=True, repr=False)
class OrderEffect(Measured):
    """What becomes of a verdict when the two outputs change places.

    value: consistency, the share of pairs with the same verdict in both orders. kappa:
    the same beyond chance (Cohen, unweighted). first: share of verdicts for the output
    shown first, second: for the one shown second, ties: for neither; bias = first -
    second, from bias_low to bias_high. n: pairs with a verdict in both orders.
    """

    value: float
    kappa: float
    first: float
    second: float
    ties: float
    bias: float
    n: int
    n_unread: int
    interval: Interval = NO_INTERVAL
    reason: str = ""
    bias_low: float = NAN
    bias_high: float = NAN

    def answer(self) -> dict[str, Any]:
        return {
            "consistency": self.value,
            "kappa": self.kappa,
            "bias": self.bias,
            "bias_low": self.bias_low,
            "bias_high": self.bias_high,
            "ties": self.ties,
            "n": self.n,
        }

    def signature(self) -> str:
        counts = f"pairs:{self.n}|unread:drop({self.n_unread})"
        return f"orders:consistency|{counts}{self.interval.signature()}"


def order_effect(given: Any, swapped: Any, groups: Any = None) -> OrderEffect:
    """How far does the order of showing move a judge of pairs?

    given, swapped: (pairs,) verdicts in both orders, each about the pair's own outputs.
    groups: as in `pair_accuracy`.
    Raises: ValueError for unequal lengths and other values.
    Source: Zheng et al. 2023, section 3.3 (position bias, consistency); Zeng et al.
    2024, section 4.2 (positional agreement rate).
    """
    one = _verdicts(given, "given")
    two = _verdicts(swapped, "swapped", len(one))
    both = ~(np.isnan(one) | np.isnan(two))
    n = int(both.sum())
    n_unread = len(one) - n
    if not n:
        reason = "no pair has a verdict in both orders"
        return OrderEffect(NAN, NAN, NAN, NAN, NAN, NAN, 0, n_unread, reason=reason)
    labels = np.arange(len(one)) if groups is None else np.asarray(groups)
    same = pair_accuracy(one[both], two[both], labels[both])
    # 2 is what stands first where the outputs have changed places
    shown_first = np.concatenate([one[both] == 1, two[both] == 2]).mean()
    shown_second = np.concatenate([one[both] == 2, two[both] == 1]).mean()
    tied = np.concatenate([one[both] == 0, two[both] == 0]).mean()
    agreement = kappa(one[both], two[both]).value
    reason = ""
    if np.isnan(agreement):
        reason = "one verdict alone: chance explains it"
    low, high = _ends_of_bias(one[both], two[both], labels[both])
    return OrderEffect(
        value=same.value,
        kappa=agreement,
        first=float(shown_first),
        second=float(shown_second),
        ties=float(tied),
        bias=float(shown_first - shown_second),
        n=n,
        n_unread=n_unread,
        interval=same.interval,
        reason=reason,
        bias_low=low,
        bias_high=high,
    )


def _ends_of_bias(one: Floats, two: Floats, labels: Any) -> tuple[float, float]:
    """The interval of the bias, each group of pairs left out in turn."""
    # In the second order, output 2 stands first. 1 is all for what stands first.
    share = (2 + _signs(one) - _signs(two)) / 4
    _, places = np.unique(labels, return_inverse=True)
    sums = np.asarray(np.bincount(places, share), dtype=float)
    sizes = np.bincount(places).astype(float)
    ends = _over_groups(sums, sizes)
    return 2 * ends.low - 1, 2 * ends.high - 1


def _verdicts(values: Any, name: str, n: int | None = None) -> Floats:
    """The verdicts as numbers. Raises: ValueError for what is none, or another n."""
    verdicts = np.asarray(values, dtype=float)
    if verdicts.ndim != 1:
        raise ValueError(f"{name}: got {verdicts.ndim} dimensions; pass a flat list")
    if n is not None and len(verdicts) != n:
        raise ValueError(f"{name}: got {len(verdicts)} for {n} pairs")
    wrong = ~np.isnan(verdicts) & ~np.isin(verdicts, VALUES)
    if wrong.any():
        raise ValueError(f"{name}: {verdicts[wrong][0]:g} is not 1, 2, 0 (tie) or NaN")
    return verdicts
