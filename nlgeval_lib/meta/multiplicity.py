"""Many comparisons at once: corrected p-values over declared families, rank clusters, and a league of judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from . import arrays
from .comparison import Comparison, compare
from .correlation import Correlation, correlate
from .result import Floats, Result

METHODS = ("none", "bonferroni", "holm", "bh", "by")


@dataclass(frozen=True, repr=False)
class Corrected(Result):
    """p-values corrected within their families.

    p, adjusted: in [0, 1], NaN where no test was possible; such a test is in no family's count. rejected: at alpha.
    """

    names: tuple[Any, ...]
    families: tuple[Any, ...]
    p: tuple[float, ...]
    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]
    method: str
    alpha: float

    def __getitem__(self, name: Any) -> float:
        """The adjusted p-value of one test."""
        return self.adjusted[self.names.index(name)]

    def to_frame(self) -> pd.DataFrame:
        columns = ("names", "families", "p", "adjusted", "rejected")
        return pd.DataFrame({name: list(getattr(self, name)) for name in columns})

    def signature(self) -> str:
        tested, families = sum(value == value for value in self.p), len(set(self.families))
        return f"correct:{self.method}|families:{families}|tests:{tested}|alpha:{arrays.exactly(self.alpha)}"


def correct(
    p: Mapping[Any, float] | Sequence[float],
    method: str = "holm",
    families: Mapping[Any, Any] | Sequence[Any] | None = None,
    alpha: float = 0.05,
) -> Corrected:
    """Which of many tests remain once it is counted how many were made?

    p: p-values by name, or in order. families: the family of each, the same way; None is one family of all.
    method: none, bonferroni, holm (any false rejection), bh (share of false rejections, independent or positively
    dependent tests), by (the same under any dependence).
    Raises: ValueError for p outside [0, 1], families that do not match, an unknown method.
    Source: Holm 1979; Benjamini and Hochberg 1995; Benjamini and Yekutieli 2001.
    """
    arrays.choice(method, METHODS, "method")
    arrays.share(alpha, "alpha")
    named = isinstance(p, Mapping)
    tests = dict(p) if isinstance(p, Mapping) else dict(enumerate(p))
    values = arrays.floats(list(tests.values()), "p", "test")
    if ((values < 0) | (values > 1)).any():
        raise ValueError(f"p: got values from {np.nanmin(values):g} to {np.nanmax(values):g}; they must lie in [0, 1]")
    if families is None:
        families = dict.fromkeys(tests, "all")
    elif not isinstance(families, Mapping) and not named:
        families = dict(enumerate(families))
    if not isinstance(families, Mapping) or set(families) != set(tests):
        raise ValueError(
            f"families: pass one label for each of the {len(tests)} p-values, by the same names or in order"
        )
    family = tuple(families[name] for name in tests)
    adjusted = np.full(len(values), np.nan)
    for label in dict.fromkeys(family):
        here = np.array([one == label for one in family]) & ~np.isnan(values)
        adjusted[here] = _adjusted(values[here], method)
    rejected = tuple(bool(value <= alpha) for value in adjusted)
    return Corrected(tuple(tests), family, tuple(values.tolist()), tuple(adjusted.tolist()), rejected, method, alpha)


def _adjusted(p: Floats, method: str) -> Floats:
    """The p-values of one family, corrected."""
    order, ranks = np.argsort(p), np.arange(1, len(p) + 1)
    found = p[order]
    if method in ("bh", "by"):
        share = ranks / len(p) / (1 if method == "bh" else (1 / ranks).sum())
        found = np.minimum.accumulate((found / share)[::-1])[::-1]
    elif method != "none":
        found = np.maximum.accumulate(found * (len(p) if method == "bonferroni" else ranks[::-1]))
    out = np.empty(len(p))
    out[order] = np.minimum(found, 1)
    return out


def rank_clusters(values: Any, p: Any, alpha: float = 0.05) -> tuple[int, ...]:
    """Which judges share a rank because no difference among them is significant?

    values: one a judge, higher is better, NaN ranks last and alone (0). p: `[judge, judge]`, symmetric; NaN is not
    significant. Going down from the best, a judge opens the next rank as soon as it differs from any in the current.
    Raises: ValueError for shapes that do not fit or p that is not symmetric.
    Source: the rule of the WMT metrics shared tasks (Freitag et al. 2022).
    """
    values, p = arrays.floats(values, "values", "judge"), arrays.floats(p, "p", "judge, judge")
    if p.shape != (len(values), len(values)) or not np.array_equal(p, p.T, equal_nan=True):
        raise ValueError(f"p: got shape {p.shape} for {len(values)} values; pass p[judge, judge], alike both ways")
    ranks, rank = [0] * len(values), 0
    members: list[int] = []
    for judge in sorted(np.flatnonzero(~np.isnan(values)), key=lambda j: -values[j]):
        if not members or any(p[judge, other] <= alpha for other in members):
            rank, members = rank + 1, []
        members.append(int(judge))
        ranks[judge] = rank
    return tuple(ranks)


@dataclass(frozen=True, repr=False)
class League(Result):
    """All judges against the same ratings, each pair tested, corrected as one family, and ranked in clusters."""

    names: tuple[str, ...]
    correlations: tuple[Correlation, ...]
    comparisons: tuple[Comparison, ...]
    corrected: Corrected
    ranks: tuple[int, ...]
    n: int

    def to_frame(self) -> pd.DataFrame:
        """A row a judge: its name and rank beside its correlation."""
        table = pd.DataFrame([one.row() for one in self.correlations])
        return table.assign(name=self.names, rank=self.ranks).set_index("name").reset_index()

    def signature(self) -> str:
        return "|".join(
            [f"judges:{len(self.names)}|common:{self.n}", self.comparisons[0].signature(), self.corrected.signature()]
        )


def league(
    judges: Mapping[str, Any],
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    units: str | None = None,
    n_perm: int = 1000,
    seed: int = 0,
    nan: str = "drop",
    method: str = "holm",
    alpha: float = 0.05,
    ci: str | bool | None = None,
    n_boot: int = 1000,
    confidence: float = 0.95,
) -> League:
    """Which judges are better than which, with the number of comparisons counted?

    judges: name to scores shaped like y. All are compared on the items that every judge scored; else as `compare` and
    `correct`. Ranks are by `rank_clusters` on the corrected p-values.
    Raises: ValueError as those, and for fewer than 2 judges.
    """
    if not isinstance(judges, Mapping) or len(judges) < 2:
        raise ValueError("judges: pass a mapping from name to scores with at least 2 judges")
    shared = arrays.floats(y, "y")
    lacking, scores = np.isnan(shared), {}
    for name, x in judges.items():
        side, ratings = arrays.alike(**{f"judge {name!r}": x, "y": y})
        lacking |= np.isnan(side)
        scores[name] = arrays.fill(side, ratings, nan)[0]
    shared[np.isnan([shared, *scores.values()]).any(axis=0)] = np.nan
    # what was filled or left out before, so that results and signatures say so
    rest = nan if nan == "constant-zero" else "drop"
    told: dict[str, Any] = {"nan": nan, "n_missing": int(lacking.sum())}
    scores = {name: np.where(np.isnan(shared), np.nan, x) for name, x in scores.items()}
    correlations, comparisons = [], {}
    for x in scores.values():
        one = correlate(x, shared, coef, level, rest, ci, n_boot, seed, confidence)
        correlations.append(replace(one, **told))
    for a, b in combinations(scores, 2):
        pair = compare(scores[a], scores[b], shared, coef, level, units, n_perm, seed, nan=rest)
        comparisons[a, b] = replace(pair, **told)
    corrected = correct({pair: one.p for pair, one in comparisons.items()}, method, alpha=alpha)
    p = pd.DataFrame(np.nan, [*scores], [*scores])
    for (a, b), adjusted in zip(corrected.names, corrected.adjusted, strict=True):
        p.loc[a, b] = p.loc[b, a] = adjusted
    ranks = rank_clusters([one.value for one in correlations], p.to_numpy(), alpha)
    n = int((~np.isnan(shared)).sum())
    return League(tuple(scores), tuple(correlations), tuple(comparisons.values()), corrected, ranks, n)
