"""How far ratings of one item lie apart, and ratings drawn at random: what every agreement coefficient compares.

Ratings are kept as a list sorted by item, not as a table of items by values: scores with thousands of distinct values
need no more room than grades do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .checks import Floats

Places = npt.NDArray[np.int64]

BLOCK = 1 << 20  # distances held at once where each pair of values must be looked at


@dataclass(frozen=True)
class Listed:
    """All ratings of the items kept: `item[rating]` ascending, `code[rating]` the place of its value in `values`.

    size: ratings of each item. n_left_out: items with fewer than were asked for.
    """

    item: Places
    code: Places
    values: Floats
    size: Floats
    n_left_out: int

    def totals(self, weights: Floats) -> Floats:
        """How often each value is given, `[value]`; a rating counts as much as `weights` says for its item."""
        return np.bincount(self.code, weights=weights[self.item], minlength=len(self.values))

    def within(self, values: Floats, kind: str) -> Floats:
        """The distances between the ratings of each item, summed over ordered pairs, `[item]`; `values[value]`."""
        given = values[self.code]
        out = np.zeros(len(self.size))
        for step in range(1, int(self.size.max())):
            same = self.item[step:] == self.item[:-step]
            gaps = distance(given[step:][same], given[:-step][same], kind)
            out += np.bincount(self.item[step:][same], weights=gaps, minlength=len(out))
        return 2 * out


def listed(ratings: Floats, at_least: int, values: Floats | None = None) -> Listed:
    """The ratings `R[rater, item]` (NaN missing) of items with `at_least` of them.

    values: all that can be given, ascending; those seen when None.
    """
    seen = ~np.isnan(ratings)
    if values is None:
        values = np.unique(ratings[seen])
    size = seen.sum(axis=0)
    kept = size >= at_least
    place, rater = np.nonzero((seen & kept).T)
    item = (np.cumsum(kept) - 1)[place]
    code = np.searchsorted(values, ratings[rater, place])
    return Listed(item, code, values, size[kept].astype(float), int((~kept).sum()))


def distance(a: Floats, b: Floats, kind: str) -> Floats:
    """How far `a` and `b` lie apart, entry by entry: nominal (0 or 1), linear, quadratic, or ratio (values of 0 up)."""
    if kind == "nominal":
        return (a != b).astype(float)
    gap = np.abs(a - b)
    if kind == "linear":
        return gap
    if kind == "ratio":
        together = a + b
        gap = np.divide(gap, together, out=np.zeros(np.shape(gap)), where=together > 0)
    return gap**2


def between(values: Floats, p: Floats, q: Floats, kind: str) -> float:
    """The distance of each pair of values times `p` of the one and `q` of the other, summed; `values` ascending.

    Exactly 0 where p and q lie on one and the same value. Time and room grow with the number of values (ratio: time
    with its square).
    """
    if kind == "nominal":
        return float(p.sum() * q.sum() - (p * q).sum())
    if kind == "linear":
        p_below, q_below = np.cumsum(p), np.cumsum(q)
        crossing = p_below * (q_below[-1] - q_below) + q_below * (p_below[-1] - p_below)
        return float((crossing[:-1] * np.diff(values)).sum())
    if kind == "quadratic":
        used = np.flatnonzero((p > 0) | (q > 0))
        if not len(used):
            return 0.0
        x, p, q = values[used] - values[used[0]], p[used], q[used]
        x = x - (p + q) @ x / (p + q).sum()
        return float(p.sum() * (q @ x**2) + q.sum() * (p @ x**2) - 2 * (p @ x) * (q @ x))
    step = max(1, BLOCK // len(values))
    return float(
        sum(
            p[start : start + step] @ (distance(values[start : start + step, None], values[None], kind) @ q)
            for start in range(0, len(values), step)
        )
    )
