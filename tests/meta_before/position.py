"""Does a pairwise judge choose by quality or by place?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from . import checks

NAN = float("nan")


@dataclass(frozen=True)
class PositionBias:
    """How a pairwise judge changes its mind when the two outputs change places.

    consistency: share of pairs with the same winner in both orders, low, high its Wilson interval. first_rate: share of
    all decided verdicts that went to the output shown first; 0.5 is fair. first_both, second_both: pairs where the same
    place won twice; p: exact two-sided test that these are equally likely.
    """

    consistency: float
    low: float
    high: float
    first_rate: float
    first_both: int
    second_both: int
    p: float
    n: int
    n_missing: int
    reason: str = ""

    def signature(self) -> str:
        """What was computed, in one line."""
        return f"bias:position|nan:drop({self.n_missing}/{self.n + self.n_missing})|ci:wilson|test:binomial"


def position_bias(order: Any, swapped: Any) -> PositionBias:
    """Does the place of an output decide for the judge?

    order, swapped: verdicts on the same pairs in both orders, flat: +1 for the output shown first, -1 for the one shown
    second, 0 for a tie, NaN where there is none.
    Raises: ValueError for other values, unequal lengths, no pair judged in both orders.
    Source: Wang et al. 2023, Large Language Models are not Fair Evaluators (swapping).
    """
    from statsmodels.stats.proportion import proportion_confint

    checks.same_index(order=order, swapped=swapped)
    a, b = checks.pair(checks.vector(order, "order"), checks.vector(swapped, "swapped"), ("order", "swapped"))
    for name, side in (("order", a), ("swapped", b)):
        odd = side[~np.isnan(side) & ~np.isin(side, (-1, 0, 1))]
        if len(odd):
            raise ValueError(f"{name}: got {odd[0]:g}; a verdict is +1 (first), -1 (second), 0 (tie) or NaN")
    here = ~(np.isnan(a) | np.isnan(b))
    n = int(here.sum())
    if n == 0:
        raise ValueError(f"got no pair of {len(a)} with a verdict in both orders")
    a, b = a[here], b[here]
    same = int((a == -b).sum())
    low, high = proportion_confint(same, n, method="wilson")
    first, second = int(((a == 1) & (b == 1)).sum()), int(((a == -1) & (b == -1)).sum())
    verdicts = np.concatenate([a, b])
    decided = verdicts[verdicts != 0]
    return PositionBias(
        consistency=same / n,
        low=float(low),
        high=float(high),
        first_rate=float((decided == 1).mean()) if len(decided) else NAN,
        first_both=first,
        second_both=second,
        p=float(stats.binomtest(first, first + second).pvalue) if first + second else NAN,
        n=n,
        n_missing=int((~here).sum()),
        reason="" if first + second else "no pair was won by one place twice: nothing to test",
    )
