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

METHODS = {"none": None, "bonferroni": "bonferroni", "holm": "holm", "bh": "fdr_bh", "by": "fdr_by"}


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
        tested = sum(value == value for value in self.p)
        families = len(set(self.families))
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
    Source: Holm 1979; Benjamini and Hochberg 1995; Benjamini and Yekutieli 2001; computed by statsmodels.
    """
    arrays.choice(method, METHODS, "method")
    arrays.share(alpha, "alpha")
    named = isinstance(p, Mapping)
    names = tuple(p) if named else tuple(range(len(p)))
    values = arrays.vector(list(p.values()) if isinstance(p, Mapping) else p, "p")
    if ((values < 0) | (values > 1)).any():
        raise ValueError(f"p: got values from {np.nanmin(values):g} to {np.nanmax(values):g}; they must lie in [0, 1]")
    if families is None:
        families = dict.fromkeys(names, "all") if named else ["all"] * len(names)
    if named != isinstance(families, Mapping) or (
        set(families) != set(names) if named else len(families) != len(names)
    ):
        raise ValueError(
            f"families: pass one label for each of the {len(names)} p-values, by the same names or in order"
        )
    family = tuple(families[name] for name in names)
    adjusted = np.full(len(values), np.nan)
    for label in dict.fromkeys(family):
        here = np.array([one == label for one in family]) & ~np.isnan(values)
        if here.sum() == 1 or method == "none":
            adjusted[here] = values[here]
        elif here.any():
            from statsmodels.stats.multitest import multipletests

            adjusted[here] = multipletests(values[here], alpha, METHODS[method])[1]
    rejected = tuple(bool(value <= alpha) for value in adjusted)
    return Corrected(names, family, tuple(values.tolist()), tuple(adjusted.tolist()), rejected, method, alpha)


def rank_clusters(values: Any, p: Any, alpha: float = 0.05) -> tuple[int, ...]:
    """Which judges share a rank because no difference among them is significant?

    values: one a judge, higher is better, NaN ranks last and alone (0). p: `[judge, judge]`, symmetric; NaN is not
    significant. Going down from the best, a judge opens the next rank as soon as it differs from any in the current.
    Raises: ValueError for shapes that do not fit or p that is not symmetric.
    Source: the rule of the WMT metrics shared tasks (Freitag et al. 2022).
    """
    values, p = arrays.vector(values, "values"), arrays.matrix(p, "p")
    if p.shape != (len(values), len(values)) or not np.array_equal(p, p.T, equal_nan=True):
        raise ValueError(f"p: got shape {p.shape} for {len(values)} values; pass p[judge, judge], alike both ways")
    ranks = [0] * len(values)
    members: list[int] = []
    rank = 0
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
        test = f"|{self.comparisons[0].signature()}" if self.comparisons else ""
        return f"judges:{len(self.names)}|common:{self.n}{test}|{self.corrected.signature()}"


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
    shared, scores, lost = _on_common_items(judges, y, nan)
    # what was filled or left out before, so that results and signatures say so
    rest = nan if nan == "constant-zero" else "drop"
    correlations = tuple(
        replace(correlate(x, shared, coef, level, rest, ci, n_boot, seed, confidence), nan=nan, n_missing=lost)
        for x in scores.values()
    )
    comparisons = {}
    for a, b in combinations(scores, 2):
        one = compare(scores[a], scores[b], shared, coef, level, units, n_perm, seed, nan=rest)
        comparisons[a, b] = replace(one, nan=nan, n_missing=lost)
    corrected = correct({pair: one.p for pair, one in comparisons.items()}, method, alpha=alpha)
    p = pd.DataFrame(np.nan, [*scores], [*scores])
    for (a, b), adjusted in zip(corrected.names, corrected.adjusted, strict=True):
        p.loc[a, b] = p.loc[b, a] = adjusted
    ranks = rank_clusters([one.value for one in correlations], p.to_numpy(), alpha)
    n = int((~np.isnan(shared)).sum())
    return League(tuple(scores), correlations, tuple(comparisons.values()), corrected, ranks, n)


def _on_common_items(judges: Mapping[str, Any], y: Any, nan: str) -> tuple[Floats, dict[str, Floats], int]:
    """The ratings and each judge's scores on the items that all have, and how many items lacked one at first."""
    scores: dict[str, Floats] = {}
    shared = arrays.floats(y, "y")
    gone, lacking = np.isnan(shared), np.isnan(shared)
    for name, x in judges.items():
        side, ratings = arrays.alike(**{f"judge {name!r}": x, "y": y})
        lacking |= np.isnan(side)
        scores[name] = arrays.fill(side, ratings, nan).x
        gone |= np.isnan(scores[name])
    shared[gone] = np.nan
    return shared, {name: np.where(gone, np.nan, x) for name, x in scores.items()}, int(lacking.sum())
