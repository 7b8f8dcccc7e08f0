"""How often does a judge of pairs prefer what people prefer, and how much does the
order in which it sees the two outputs move it?

A verdict is 1 or 2 for an output of the pair, whatever the order of showing; 0 is a
tie; NaN is no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays, jackknife
from .classical import special
from .kappas import kappa
from .result import NAN, NO_INTERVAL, Floats, Interval, Measured

# what a verdict can be, besides NaN
VALUES = (0.0, 1.0, 2.0)
# what is done with a pair that has no verdict
UNREAD = ("drop", "wrong", "tie")
# how two orders become one verdict
RULES = ("agree", "first", "mean")
NO_PAIR = "no pair has both a verdict and a preference"


def combined(given: Any, swapped: Any, rule: str = "agree") -> Floats:
    """What is one verdict of a pair that was judged in two orders?

    given, swapped: (pairs,), the verdicts in the pair's own order of showing and in the
        other one, both about the pair's own outputs.
    rule: "agree": a verdict that both orders give, else a tie; "first": that of the
        given order; "mean": 1 counts +1, 2 counts -1, a tie 0, and the sign of the mean
        decides, so that a verdict beside a tie counts.
    Returns: (pairs,); without a verdict in one order "agree" and "mean" give NaN.
    Raises: ValueError for unequal lengths, other values, an unknown rule.
    """
    arrays.choice(rule, RULES, "rule")
    in_given = _verdicts(given, "given")
    in_swapped = _verdicts(swapped, "swapped", len(in_given))
    if rule == "first":
        return in_given
    if rule == "agree":
        verdict = np.where(in_given == in_swapped, in_given, 0.0)
    else:
        total = _signs(in_given) + _signs(in_swapped)
        verdict = np.select([total > 0, total < 0], [1.0, 2.0], 0.0)
    unread = np.isnan(in_given) | np.isnan(in_swapped)
    return np.where(unread, np.nan, verdict)


def _signs(verdicts: Floats) -> Floats:
    """+1 for output 1, -1 for output 2, 0 for a tie; NaN stays."""
    return np.where(verdicts == 0, 0.0, 3.0 - 2.0 * verdicts)


@dataclass(frozen=True, repr=False)
class PairAccuracy(Measured):
    """Share of pairs with the verdict that people give, in [0, 1]; NaN with a reason
    where no pair counts.

    n, n_groups: pairs that count, and groups with such a pair.
    n_unread: pairs without a verdict, in any order.
    n_left_out: pairs without a preference, or tied where ties are left out.
    unread: what became of a pair without a verdict, of `UNREAD`.
    ties: whether pairs that people tie count.
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

    verdicts: (pairs,), or (orders, pairs): then the share is the mean over orders.
    preferences: (pairs,), of people, as verdicts; a pair with NaN is left out.
    groups: (pairs,) labels of what is drawn together, such as inputs; None: each pair
        alone. The interval is by jackknife over them, with t.
    unread: a pair without a verdict is left out ("drop"), "wrong", or a "tie".
    ties: whether pairs that people tie count (a judge is then right by a tie alone).
    Raises: ValueError for bad arrays and unknown words.
    """
    arrays.choice(unread, UNREAD, "unread")
    gold = _verdicts(preferences, "preferences")
    table = np.atleast_2d(np.asarray(verdicts, dtype=float))
    rows = [_verdicts(row, "verdicts", len(gold)) for row in table]
    labels = _labels(groups, len(gold))
    counts = ~np.isnan(gold) if ties else np.isin(gold, (1.0, 2.0))
    judged = np.stack(rows)[:, counts]
    # [order, pair]: where the judge is right, and how much each verdict counts
    no_verdict = np.isnan(judged)
    right = (judged == gold[counts]).astype(float)
    weight = np.ones_like(right)
    if unread == "tie":
        right = np.where(no_verdict, gold[counts] == 0, right)
    if unread == "drop":
        weight = (~no_verdict).astype(float)
    sums, sizes = _by_group(labels[counts], right * weight, weight)
    value = NAN
    if sizes.sum():
        value = float(sums.sum() / sizes.sum())
    return PairAccuracy(
        value=value,
        n=int((weight.sum(axis=0) > 0).sum()),
        n_groups=int((sizes > 0).sum()),
        n_unread=int(no_verdict.any(axis=0).sum()),
        n_left_out=int((~counts).sum()),
        unread=unread,
        ties=ties,
        interval=_over_groups(sums, sizes),
        reason=NO_PAIR if np.isnan(value) else "",
    )


def _labels(groups: Any, pairs: int) -> Any:
    """The group of each pair; without groups each pair is its own."""
    if groups is None:
        return np.arange(pairs)
    labels = np.asarray(groups)
    if len(labels) != pairs:
        raise ValueError(f"got {len(labels)} groups for {pairs} pairs")
    return labels


def _by_group(labels: Any, right: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Of each group, what is right and what counts: sums over `[order, pair]`."""
    _, places = np.unique(labels, return_inverse=True)
    sums = np.bincount(places, right.sum(axis=0)).astype(float)
    return sums, np.bincount(places, weight.sum(axis=0)).astype(float)


def _over_groups(sums: Floats, sizes: Floats) -> Interval:
    """The interval of a share, each group left out in turn: t, ends within [0, 1].

    Where all or none are right no group moves the share, and the interval is the exact
    one of as many draws as there are groups (Clopper and Pearson 1934).

    sums, sizes: of each group, what is right and what counts; the share is their ratio.
    """
    filled = sizes > 0
    sums = sums[filled]
    sizes = sizes[filled]
    groups = len(sums)
    if groups < 2:
        return Interval(name="jack-groups", reason="fewer than two groups of pairs")
    value = sums.sum() / sizes.sum()
    farthest = float(0.025 ** (1 / groups))
    if value == 0:
        return Interval(0.0, 1 - farthest, "exact-groups", f"|n:{groups}")
    if value == 1:
        return Interval(farthest, 1.0, "exact-groups", f"|n:{groups}")
    without = (sums.sum() - sums) / (sizes.sum() - sizes)
    variance = jackknife.variance(without)
    if variance < 1e-18:
        reason = "all groups have the same share"
        return Interval(name="jack-groups", reason=reason)
    reach = special.stdtrit(groups - 1, 0.975) * np.sqrt(variance)
    low = float(max(0.0, value - reach))
    high = float(min(1.0, value + reach))
    return Interval(low, high, "jack-groups", f"|df:{groups - 1}")


@dataclass(frozen=True, repr=False)
class OrderEffect(Measured):
    """What becomes of a verdict when the two outputs change places.

    value: consistency, the share of pairs with the same verdict in both orders, in [0,
        1]; NaN with a reason without a pair.
    kappa: the same beyond chance (Cohen, unweighted); NaN where one verdict stands
        alone.
    first, second, ties: share of verdicts, of both orders, for the output shown first,
        for the one shown second, for neither.
    bias: first - second, in [-1, 1], with its interval.
    n, n_unread: pairs with a verdict in both orders, and the other pairs.
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
        names = "kappa", "bias", "bias_low", "bias_high", "ties", "n"
        return {"consistency": self.value, **self._fields(*names)}

    def signature(self) -> str:
        counts = f"pairs:{self.n}|unread:drop({self.n_unread})"
        return f"orders:consistency|{counts}{self.interval.signature()}"


def order_effect(given: Any, swapped: Any, groups: Any = None) -> OrderEffect:
    """How far does the order of showing move a judge of pairs?

    given, swapped: (pairs,) verdicts in both orders, each about the pair's own outputs;
        output 1 is shown first in the given order, output 2 in the swapped one.
    groups: as in `pair_accuracy`.
    Raises: ValueError for unequal lengths and other values.
    Source: Zheng et al. 2023, section 3.3 (position bias, consistency); Zeng et al.
        2024, section 4.2 (positional agreement rate).
    """
    in_given = _verdicts(given, "given")
    in_swapped = _verdicts(swapped, "swapped", len(in_given))
    both = ~(np.isnan(in_given) | np.isnan(in_swapped))
    n = int(both.sum())
    n_unread = len(both) - n
    if not n:
        reason = "no pair has a verdict in both orders"
        return OrderEffect(NAN, NAN, NAN, NAN, NAN, NAN, 0, n_unread, reason=reason)
    labels = _labels(groups, len(both))[both]
    in_given = in_given[both]
    in_swapped = in_swapped[both]
    same = pair_accuracy(in_given, in_swapped, labels)
    # +1 for what stands first, which is output 2 where the outputs have changed places
    signs = np.stack([_signs(in_given), -_signs(in_swapped)])
    first = float((signs > 0).mean())
    second = float((signs < 0).mean())
    agreement = kappa(in_given, in_swapped).value
    reason = ""
    if np.isnan(agreement):
        reason = "one verdict alone: chance explains it"
    # A bias in [-1, 1] as a share in [0, 1], each group of pairs left out in turn.
    share = (2 + signs.sum(axis=0, keepdims=True)) / 4
    of_bias = _over_groups(*_by_group(labels, share, np.ones_like(share)))
    return OrderEffect(
        value=same.value,
        kappa=agreement,
        first=first,
        second=second,
        ties=float((signs == 0).mean()),
        bias=first - second,
        n=n,
        n_unread=n_unread,
        interval=same.interval,
        reason=reason,
        bias_low=2 * of_bias.low - 1,
        bias_high=2 * of_bias.high - 1,
    )


def _verdicts(values: Any, name: str, n: int | None = None) -> Floats:
    """The verdicts as numbers, (n,). Raises: ValueError for others."""
    verdicts = np.asarray(values, dtype=float)
    if verdicts.ndim != 1:
        raise ValueError(f"{name}: got {verdicts.ndim} dimensions; pass a flat list")
    if n is not None and len(verdicts) != n:
        raise ValueError(f"{name}: got {len(verdicts)} for {n} pairs")
    wrong = ~np.isnan(verdicts) & ~np.isin(verdicts, VALUES)
    if wrong.any():
        raise ValueError(f"{name}: {verdicts[wrong][0]:g} is not 1, 2, 0 (tie) or NaN")
    return verdicts
