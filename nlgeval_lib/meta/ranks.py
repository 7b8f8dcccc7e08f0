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


DRAWS_AT_ONCE = 1000


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
        """The ranks that one can have, by name."""
        place = self.names.index(name)
        return range(self.best[place], self.worst[place] + 1)

    def in_words(self, name: str) -> str:
        """The ranks that one can have: "2 to 4", or "3" where it is one."""
        possible = self[name]
        best = possible[0]
        worst = possible[-1]
        return f"{best}" if best == worst else f"{best} to {worst}"

    def to_frame(self) -> pd.DataFrame:
        """A row a system or judge, highest value first."""
        import pandas as pd

        columns = ("names", "values", "best", "worst")
        table = pd.DataFrame({name: getattr(self, name) for name in columns})
        table = table.rename(columns={"names": "name", "values": "value"})
        return table.sort_values("value", ascending=False, ignore_index=True)

    def answer(self) -> dict[str, Any]:
        first = [name for name in self.names if self[name][0] == 1]
        return {"could be best": ", ".join(first), "n": len(self.names)}

    def signature(self) -> str:
        return f"rank-sets:{len(self.names)}|alpha:{arrays.exactly(self.alpha)}"


def rank_sets(
    values: Any,
    p: Any,
    alpha: float = 0.05,
    names: Sequence[Any] | None = None,
) -> RankSets:
    """Between which ranks does each lie, when every two were tested?

    values: one each, higher is better. p: `[each, each]`, symmetric, two-sided and
    corrected so that no false rejection at all is likely (holm, bonferroni,
    `stepdown_p`); NaN is no rejection. A rank is one more than the number that are
    significantly higher at least, and the number that are not significantly lower at
    most. A value that is NaN can have any rank.
    Raises: ValueError for shapes that do not fit or p that is not symmetric.
    Source: Mogstad, Romano, Shaikh and Wilhelm 2024, section 3.
    """
    arrays.share(alpha, "alpha")
    values = arrays.floats(values, "values", "each")
    number = len(values)
    p = arrays.floats(p, "p", "each, each")
    square = p.shape == (number, number)
    if not square or not np.array_equal(p, p.T, equal_nan=True):
        raise ValueError(
            f"p: got shape {p.shape} for {number} values; "
            "pass p[each, each], alike both ways"
        )
    if names is None:
        names = range(1, number + 1)
    if len(names) != number:
        raise ValueError(f"names: got {len(names)} for {number} values")
    differ = p <= alpha
    by_row = values[:, None]
    higher = differ & (values > by_row)
    lower = differ & (values < by_row)
    best = 1 + higher.sum(axis=1)
    worst = number - lower.sum(axis=1)
    return RankSets(
        names=tuple(map(str, names)),
        values=tuple(values.tolist()),
        best=tuple(best.tolist()),
        worst=tuple(worst.tolist()),
        alpha=alpha,
    )


def stepdown_p(
    p: Any,
    parts: Any,
    n_draws: int = 10_000,
    seed: int = 0,
) -> Floats:
    """p-values of many contrasts of the same data, corrected with what they share.

    p: two-sided, (contrast,), NaN where there is none. parts: `[contrast, unit]`, what
    each unit contributes to a contrast's error. Of normal draws with the contrasts'
    correlations, the share whose largest is as far out; contrasts that were rejected
    before do not count (step-down).
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
    order = tested[np.argsort(-p[tested], kind="stable")]
    errors = np.sqrt((parts[order] ** 2).sum(axis=1, keepdims=True))
    scaled = parts[order] / np.where(errors > 0, errors, 1)
    # Units beyond the rank of the contrasts say nothing more of their correlations.
    mixing = np.linalg.qr(scaled.T, mode="r")
    rng = np.random.default_rng(seed)
    reached = -special.ndtri(np.maximum(p[order], 1e-300) / 2)
    as_far = np.zeros(len(order))
    # In parts, as many contrasts need much room.
    for start in range(0, n_draws, DRAWS_AT_ONCE):
        rows = min(DRAWS_AT_ONCE, n_draws - start)
        draws = rng.normal(size=(rows, len(mixing)))
        largest = np.maximum.accumulate(np.abs(draws @ mixing), axis=1)
        as_far += (largest >= reached).sum(axis=0)
    share = (1 + as_far) / (1 + n_draws)
    share = np.maximum(share, p[order])
    # From the smallest p up, none is below the one before.
    adjusted[order] = np.maximum.accumulate(share[::-1])[::-1]
    return adjusted
