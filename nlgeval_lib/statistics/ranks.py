"""Which ranks could each system, or judge, have? Sets of ranks that hold for all of
them at once, where an order of estimates says nothing of chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays
from .classical import special
from .result import Floats, Result

if TYPE_CHECKING:
    import pandas as pd

# normal draws that `stepdown_p` holds in memory
DRAWS_AT_ONCE = 1000
# the share of a contrast's variance that is rounding, where others explain the rest
DEPENDENT = 1e-9


@dataclass(frozen=True, repr=False)
class RankSets(Result):
    """The ranks from best to worst that each can have, 1 being the highest value.

    With probability 1 - alpha the true ranks of all lie in their sets.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    best: tuple[int, ...]
    worst: tuple[int, ...]
    alpha: float

    def __getitem__(self, name: str) -> range:
        """The ranks of one, by name. Raises: ValueError for an unknown name."""
        place = self.names.index(name)
        return range(self.best[place], self.worst[place] + 1)

    def in_words(self, name: str) -> str:
        """The ranks that one can have: "2 to 4", or "3" where it is one."""
        possible = self[name]
        if len(possible) == 1:
            return f"{possible[0]}"
        return f"{possible[0]} to {possible[-1]}"

    def to_frame(self) -> pd.DataFrame:
        """A row a system or judge, highest value first."""
        import pandas as pd

        table = pd.DataFrame(self._fields("names", "values", "best", "worst"))
        table = table.rename(columns={"names": "name", "values": "value"})
        return table.sort_values("value", ascending=False, ignore_index=True)

    def answer(self) -> dict[str, Any]:
        first = [name for name in self.names if self[name][0] == 1]
        return {"could be best": ", ".join(first), "n": len(self.names)}

    def signature(self) -> str:
        return f"rank-sets:{len(self.names)}|alpha:{arrays.exactly(self.alpha)}"


def rank_sets(
    values: Any, p: Any, alpha: float = 0.05, names: Sequence[Any] | None = None
) -> RankSets:
    """Between which ranks does each lie, when every two were tested?

    A rank is one more than the number that are significantly higher at least, and the
    number that are not significantly lower at most.

    values: one each, higher is better; one that is NaN can have any rank.
    p: `[each, each]`, symmetric, two-sided and corrected so that no false rejection at
        all is likely ("holm", "bonferroni", `stepdown_p`); NaN is no rejection.
    alpha: the highest p that is a rejection, in (0, 1).
    names: one each; numbers from 1 when None.
    Raises: ValueError for shapes that do not fit or p that is not symmetric.
    Source: Mogstad, Romano, Shaikh and Wilhelm 2024, section 3.
    """
    arrays.share(alpha, "alpha")
    values = arrays.floats(values, "values", "each")
    p = arrays.symmetric(p, len(values), "each, each")
    names = arrays.unit_names(names, len(values), "values")
    # [row, column]: the column is significantly higher, or lower, than the row.
    differ = p <= alpha
    higher = differ & (values > values[:, None])
    lower = differ & (values < values[:, None])
    best = 1 + higher.sum(axis=1)
    worst = len(values) - lower.sum(axis=1)
    return RankSets(
        names=names,
        values=tuple(values.tolist()),
        best=tuple(best.tolist()),
        worst=tuple(worst.tolist()),
        alpha=alpha,
    )


def stepdown_p(p: Any, parts: Any, n_draws: int = 10_000, seed: int = 0) -> Floats:
    """What are p-values of many contrasts of the same data, corrected with what they
    share?

    The corrected p is the share of normal draws, with the contrasts' correlations,
    whose largest is as far out; contrasts that were rejected before do not count.

    p: two-sided, (contrast,), NaN where there is none.
    parts: `[contrast, unit]`, what each unit contributes to a contrast's error.
    n_draws, seed: normal draws, and their seed.
    Returns: (contrast,), none below its p; NaN where p is.
    Raises: ValueError for shapes that do not fit.
    Source: Romano and Wolf 2005, algorithm 4.1, with normal multipliers of units.
    """
    p = arrays.floats(p, "p", "contrast")
    parts = arrays.floats(parts, "parts", "contrast, unit")
    n_draws = arrays.whole(n_draws, "n_draws")
    seed = arrays.whole(seed, "seed", low=0)
    if len(parts) != len(p):
        raise ValueError(f"parts: got {len(parts)} rows for {len(p)} p-values")
    adjusted = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    if not len(tested):
        return adjusted
    # From the highest p down, so that a running maximum over the contrasts is the
    # largest among those that are not rejected before.
    order = tested[np.argsort(-p[tested], kind="stable")]
    errors = np.sqrt((parts[order] ** 2).sum(axis=1, keepdims=True))
    scaled = parts[order] / np.where(errors > 0, errors, 1)
    mixing = _mixing(scaled @ scaled.T)
    # The normal quantile that has the same p as the contrast.
    reached = -special.ndtri(np.maximum(p[order], 1e-300) / 2)
    share = np.maximum(_share_as_far(mixing, reached, n_draws, seed), p[order])
    # From the smallest p up, none is below the one before.
    adjusted[order] = np.maximum.accumulate(share[::-1])[::-1]
    return adjusted


def _mixing(correlations: Floats) -> Floats:
    """What makes correlated normals of independent ones: `[normal, contrast]`.

    A contrast that follows from those before it adds no normal: what is left of it is
    rounding, which would make other draws on other processors.

    correlations: `[contrast, contrast]`.
    """
    mixing = np.zeros_like(correlations)
    for place, row in enumerate(correlations):
        made_of = mixing[:place]
        remainder = row[place:] - made_of[:, place] @ made_of[:, place:]
        if remainder[0] > DEPENDENT:
            mixing[place, place:] = remainder / np.sqrt(remainder[0])
    return mixing


def _share_as_far(mixing: Floats, reached: Floats, n_draws: int, seed: int) -> Floats:
    """The share of draws, the data among them, whose largest, among a contrast and those
    before it, is as far out as the contrast: (contrast,).
    """
    rng = np.random.default_rng(seed)
    as_far = np.zeros(len(reached))
    # A block at a time, as many contrasts need much room.
    for start in range(0, n_draws, DRAWS_AT_ONCE):
        rows = min(DRAWS_AT_ONCE, n_draws - start)
        statistics = np.abs(rng.normal(size=(rows, len(mixing))) @ mixing)
        largest = np.maximum.accumulate(statistics, axis=1)
        as_far += (largest >= reached).sum(axis=0)
    return (1 + as_far) / (1 + n_draws)
