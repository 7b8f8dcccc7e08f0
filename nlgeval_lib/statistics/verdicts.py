"""How often does a judge of pairs prefer what people prefer, and how much does the
order in which it sees the two outputs move it?

A verdict is 1 or 2 for an output of the pair, whatever the order of showing; 0 is a
tie; NaN is no verdict. `pair_accuracy` compares verdicts with preferences (a
`PairAccuracy`); `order_effect` compares the verdicts of both orders (an `OrderEffect`);
`combined` makes one verdict from both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import arrays
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
    """One verdict a pair from two orders.

    given, swapped: (pairs,), the verdicts in the pair's own order of showing and in the
        other one, both about the pair's own outputs.
    rule: "agree": a verdict that both orders give, else a tie; "first": that of the
        given order; "mean": 1 counts +1, 2 counts -1, a tie 0, and the sign of the mean
        decides, so that a verdict beside a tie counts.
    Returns: (pairs,); without a verdict in one order "agree" and "mean" give NaN.
    Raises: ValueError for unequal lengths, other values, an unknown rule.

    Example:
        >>> combined([1, 1, 2, 1], [1, 2, 0, np.nan])
        array([ 1.,  0.,  0., nan])
        >>> combined([1, 1, 2, 1], [1, 2, 0, np.nan], rule="mean")
        array([ 1.,  0.,  2., nan])
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
        verdict = np.zeros(len(total))
        verdict[total > 0] = 1.0
        verdict[total < 0] = 2.0
    unread = np.isnan(in_given) | np.isnan(in_swapped)
    return np.where(unread, np.nan, verdict)


def _signs(verdicts: Floats) -> Floats:
    """+1 for output 1, -1 for output 2, 0 for a tie; NaN stays."""
    signs = np.where(verdicts == 0, 0.0, 3.0 - 2.0 * verdicts)
    return np.where(np.isnan(verdicts), np.nan, signs)


@dataclass(frozen=True, repr=False)
class PairAccuracy(Measured):
    """Share of pairs with the verdict that people give.

    value: in [0, 1]; NaN with a reason where no pair counts.
    n: pairs that count.
    n_groups: groups with such a pair.
    n_unread: pairs without a verdict, in any order.
    n_left_out: pairs without a preference, or tied where ties are left out.
    unread: what became of a pair without a verdict, of `UNREAD`.
    ties: whether pairs that people tie count.
    interval: of the value, by jackknife over groups of pairs (inputs), with t.
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
        alone.
    unread: a pair without a verdict is left out ("drop"), "wrong", or a "tie".
    ties: whether pairs that people tie count (a judge is then right by a tie alone).
    Raises: ValueError for bad arrays and unknown words.

    Example:
        >>> accuracy = pair_accuracy([1, 2, 0, np.nan], [1, 1, 0, 2])
        >>> round(float(accuracy), 3), accuracy.n, accuracy.n_unread
        (0.667, 3, 1)
    """
    arrays.choice(unread, UNREAD, "unread")
    gold = _verdicts(preferences, "preferences")
    table = np.atleast_2d(np.asarray(verdicts, dtype=float))
    rows = [_verdicts(row, "verdicts", len(gold)) for row in table]
    labels = _labels(groups, len(gold))
    counts = ~np.isnan(gold) if ties else np.isin(gold, (1.0, 2.0))
    judged = np.stack(rows)[:, counts]
    right, weight = _right(judged, gold[counts], unread)
    # Of each group: what is right, and what counts.
    _, places = np.unique(labels[counts], return_inverse=True)
    sums = np.bincount(places, (right * weight).sum(axis=0)).astype(float)
    sizes = np.bincount(places, weight.sum(axis=0)).astype(float)
    value = NAN
    if sizes.sum():
        value = float(sums.sum() / sizes.sum())
    return PairAccuracy(
        value=value,
        n=int((weight.sum(axis=0) > 0).sum()),
        n_groups=int((sizes > 0).sum()),
        n_unread=int(np.isnan(judged).any(axis=0).sum()),
        n_left_out=int((~counts).sum()),
        unread=unread,
        ties=ties,
        interval=_over_groups(sums, sizes),
        reason=NO_PAIR if np.isnan(value) else "",
    )


def _right(judged: Floats, preferred: Floats, unread: str) -> tuple[Floats, Floats]:
    """Where the judge is right, and how much each verdict counts: two arrays `[order,
    pair]` of 0 and 1.

    judged: verdicts, `[order, pair]`.
    preferred: verdicts of people, (pairs,).
    unread: of `UNREAD`.
    """
    no_verdict = np.isnan(judged)
    right = (judged == preferred).astype(float)
    if unread == "tie":
        right = np.where(no_verdict, preferred == 0, right)
    weight = np.ones_like(right)
    if unread == "drop":
        weight = (~no_verdict).astype(float)
    return right, weight


def _labels(groups: Any, pairs: int) -> Any:
    """The group of each pair; without groups each pair is its own.

    Raises: ValueError for another number of groups.
    """
    if groups is None:
        return np.arange(pairs)
    labels = np.asarray(groups)
    if len(labels) != pairs:
        raise ValueError(f"got {len(labels)} groups for {pairs} pairs")
    return labels


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
    if value in (0.0, 1.0):
        farthest = float(0.025 ** (1 / groups))
        low = 0.0
        high = 1 - farthest
        if value:
            low = farthest
            high = 1.0
        return Interval(low, high, "exact-groups", f"|n:{groups}")
    without = (sums.sum() - sums) / (sizes.sum() - sizes)
    squares = (without - without.mean()) ** 2
    variance = (groups - 1) / groups * squares.sum()
    if variance < 1e-18:
        reason = "all groups have the same share"
        return Interval(name="jack-groups", reason=reason)
    from scipy import stats

    reach = stats.t.ppf(0.975, groups - 1) * np.sqrt(variance)
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
    bias: first - second, in [-1, 1]; above 0 the judge prefers what it sees first.
    n: pairs with a verdict in both orders.
    n_unread: the other pairs.
    interval: of the value, by jackknife over groups of pairs, with t.
    bias_low, bias_high: the same of the bias.
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

    given, swapped: (pairs,) verdicts in both orders, each about the pair's own outputs;
        output 1 is shown first in the given order, output 2 in the swapped one.
    groups: as in `pair_accuracy`.
    Raises: ValueError for unequal lengths and other values.
    Source: Zheng et al. 2023, section 3.3 (position bias, consistency); Zeng et al.
        2024, section 4.2 (positional agreement rate).

    Example:
        >>> effect = order_effect([1, 1, 2, 1], [1, 2, 2, 2])
        >>> effect.value, effect.first, effect.bias
        (0.5, 0.75, 0.5)
    """
    in_given = _verdicts(given, "given")
    in_swapped = _verdicts(swapped, "swapped", len(in_given))
    both = ~(np.isnan(in_given) | np.isnan(in_swapped))
    n = int(both.sum())
    n_unread = len(in_given) - n
    if not n:
        reason = "no pair has a verdict in both orders"
        return OrderEffect(NAN, NAN, NAN, NAN, NAN, NAN, 0, n_unread, reason=reason)
    labels = _labels(groups, len(in_given))[both]
    in_given = in_given[both]
    in_swapped = in_swapped[both]
    same = pair_accuracy(in_given, in_swapped, labels)
    # 2 is what stands first where the outputs have changed places
    shown_first = np.concatenate([in_given == 1, in_swapped == 2]).mean()
    shown_second = np.concatenate([in_given == 2, in_swapped == 1]).mean()
    tied = np.concatenate([in_given == 0, in_swapped == 0]).mean()
    agreement = kappa(in_given, in_swapped).value
    reason = ""
    if np.isnan(agreement):
        reason = "one verdict alone: chance explains it"
    low, high = _ends_of_bias(in_given, in_swapped, labels)
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


def _ends_of_bias(
    in_given: Floats, in_swapped: Floats, labels: Any
) -> tuple[float, float]:
    """The interval of the bias, (low, high), each group of pairs left out in turn.

    in_given, in_swapped: the verdicts, (pairs,), without NaN.
    labels: the group of each pair.
    """
    # In the second order, output 2 stands first. 1 is all for what stands first.
    share = (2 + _signs(in_given) - _signs(in_swapped)) / 4
    _, places = np.unique(labels, return_inverse=True)
    sums = np.asarray(np.bincount(places, share), dtype=float)
    sizes = np.bincount(places).astype(float)
    ends = _over_groups(sums, sizes)
    # From a share in [0, 1] to a bias in [-1, 1].
    return 2 * ends.low - 1, 2 * ends.high - 1


def _verdicts(values: Any, name: str, n: int | None = None) -> Floats:
    """The verdicts as numbers, (n,).

    Raises: ValueError naming the argument, for what is no verdict, or another length
        than n.
    """
    verdicts = np.asarray(values, dtype=float)
    if verdicts.ndim != 1:
        raise ValueError(f"{name}: got {verdicts.ndim} dimensions; pass a flat list")
    if n is not None and len(verdicts) != n:
        raise ValueError(f"{name}: got {len(verdicts)} for {n} pairs")
    wrong = ~np.isnan(verdicts) & ~np.isin(verdicts, VALUES)
    if wrong.any():
        raise ValueError(f"{name}: {verdicts[wrong][0]:g} is not 1, 2, 0 (tie) or NaN")
    return verdicts
