"""Many comparisons at once: corrected p-values over declared families, rank clusters,
and a league of judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from . import arrays
from .comparison import Comparison, compare, following
from .correlation import Correlation, correlate
from .ranks import RankSets, rank_sets
from .result import Floats, Result

# corrections that `correct` knows, as its docstring explains them
METHODS = ("none", "bonferroni", "holm", "bh", "by")
# arguments by name
Settings = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Corrected(Result):
    """p-values corrected within their families.

    names: of the tests; their numbers where p-values came in order.
    p: as passed, in [0, 1]; NaN where no test was possible, and such a test is in no
        family's count.
    adjusted, rejected: the corrected p-values, and whether each is at most alpha.
    """

    names: tuple[Any, ...]
    families: tuple[Any, ...]
    p: tuple[float, ...]
    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]
    method: str
    alpha: float

    def __getitem__(self, name: Any) -> float:
        """The adjusted p of one test. Raises: ValueError for an unknown name."""
        return self.adjusted[self.names.index(name)]

    def answer(self) -> dict[str, Any]:
        return {"rejected": sum(self.rejected), "n": len(self.names)}

    def to_frame(self) -> pd.DataFrame:
        """A row a test."""
        columns = ("names", "families", "p", "adjusted", "rejected")
        return pd.DataFrame({name: list(getattr(self, name)) for name in columns})

    def signature(self) -> str:
        tested = sum(value == value for value in self.p)
        counts = f"families:{len(set(self.families))}|tests:{tested}"
        return f"correct:{self.method}|{counts}|alpha:{arrays.exactly(self.alpha)}"


def correct(
    p: Mapping[Any, float] | Sequence[float],
    method: str = "holm",
    families: Mapping[Any, Any] | Sequence[Any] | None = None,
    alpha: float = 0.05,
) -> Corrected:
    """Which of many tests remain once it is counted how many were made?

    p: p-values in [0, 1] by name, or in order; NaN for a test that was not possible.
    method: "none", "bonferroni", "holm" (any false rejection), "bh" (share of false
        rejections, independent or positively dependent tests), "by" (the same under any
        dependence).
    families: the family of each test, by the same names or in order; None is one family
        of all.
    alpha: at which adjusted p-values are rejected, in (0, 1).
    Raises: ValueError for p outside [0, 1], families that do not match, an unknown
        method.
    Source: Holm 1979; Benjamini and Hochberg 1995; Benjamini and Yekutieli 2001.
    """
    arrays.choice(method, METHODS, "method")
    arrays.share(alpha, "alpha")
    tests = dict(p) if isinstance(p, Mapping) else dict(enumerate(p))
    values = arrays.floats(list(tests.values()), "p", "test")
    if ((values < 0) | (values > 1)).any():
        raise ValueError(
            f"p: got values from {np.nanmin(values):g} to {np.nanmax(values):g}; "
            "they must lie in [0, 1]"
        )
    if families is None:
        families = ["all"] * len(tests)
    if isinstance(families, Mapping) and set(families) == set(tests):
        families = [families[name] for name in tests]
    if isinstance(families, Mapping) or len(families) != len(tests):
        raise ValueError(
            f"families: pass one label for each of the {len(tests)} p-values, "
            "by the same names or in order"
        )
    labels = tuple(families)
    adjusted = np.full(len(values), np.nan)
    for label in dict.fromkeys(labels):
        in_family = np.array([member == label for member in labels])
        # A test that was not possible does not count as one that was made.
        tested = in_family & ~np.isnan(values)
        adjusted[tested] = _adjusted(values[tested], method)
    return Corrected(
        names=tuple(tests),
        families=labels,
        p=tuple(values.tolist()),
        adjusted=tuple(adjusted.tolist()),
        rejected=tuple((adjusted <= alpha).tolist()),
        method=method,
        alpha=alpha,
    )


def _adjusted(p: Floats, method: str) -> Floats:
    """The p-values of one family, corrected."""
    if method in ("bh", "by"):
        from scipy import stats

        return stats.false_discovery_control(p, method=method)
    if method == "bonferroni":
        return np.minimum(p * len(p), 1)
    if method == "none":
        return p
    # Holm: the lowest of m counts m tests, the next m - 1; none is below the one before.
    order = np.argsort(p)
    out = np.empty(len(p))
    left = np.arange(len(p), 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(p[order] * left), 1)
    return out


def rank_clusters(values: Any, p: Any, alpha: float = 0.05) -> tuple[int, ...]:
    """Which judges share a rank because no difference among them is significant?

    Going down from the best, a judge opens the next rank as soon as it differs from any
    in the current one.

    values: one a judge, higher is better; NaN ranks last and alone, as 0.
    p: `[judge, judge]`, symmetric; NaN is not significant.
    alpha: the highest p that is significant.
    Returns: a rank a judge, from 1 for the best, in the order of values.
    Raises: ValueError for shapes that do not fit or p that is not symmetric.
    Source: the rule of the WMT metrics shared tasks (Freitag et al. 2022).
    """
    values = arrays.floats(values, "values", "judge")
    p = arrays.symmetric(p, len(values), "judge, judge")
    ranks = [0] * len(values)
    rank = 0
    members: list[int] = []
    defined = np.flatnonzero(~np.isnan(values))
    for judge in sorted(defined, key=lambda place: -values[place]):
        differs = (p[judge, members] <= alpha).any()
        if not members or differs:
            rank = rank + 1
            members = []
        members.append(int(judge))
        ranks[judge] = rank
    return tuple(ranks)


@dataclass(frozen=True, repr=False)
class League(Result):
    """All judges against the same ratings, each pair tested, corrected as one family,
    and ranked in clusters.

    correlations, ranks: of each judge with the ratings, and its rank, from 1 for the
        best; 0 where its coefficient is not defined.
    comparisons: of every two judges, in the order of `itertools.combinations`.
    corrected: the p-values of the comparisons, by pair of names.
    n: items that all judges scored.
    """

    names: tuple[str, ...]
    correlations: tuple[Correlation, ...]
    comparisons: tuple[Comparison, ...]
    corrected: Corrected
    ranks: tuple[int, ...]
    n: int

    def to_frame(self) -> pd.DataFrame:
        """A row a judge: its name and rank beside its correlation."""
        rows = [correlation.row() for correlation in self.correlations]
        table = pd.DataFrame(rows).assign(name=self.names, rank=self.ranks)
        return table.set_index("name").reset_index()

    def rank_sets(self) -> RankSets:
        """The ranks that each judge can have, for all judges at once.

        Raises: ValueError for a correction that lets some false rejections pass: any
            but "holm" and "bonferroni".
        """
        arrays.choice(self.corrected.method, ("holm", "bonferroni"), "method")
        p = both_ways(self.corrected.adjusted, len(self.names))
        values = [correlation.value for correlation in self.correlations]
        return rank_sets(values, p, self.corrected.alpha, self.names)

    def answer(self) -> dict[str, Any]:
        ranked = zip(self.names, self.ranks, strict=True)
        best = [name for name, rank in ranked if rank == min(self.ranks)]
        return {"best": " = ".join(best), "judges": len(self.names), "n": self.n}

    def signature(self) -> str:
        judges = f"judges:{len(self.names)}|common:{self.n}"
        comparison = self.comparisons[0].signature()
        return f"{judges}|{comparison}|{self.corrected.signature()}"


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
    system_groups: Any = None,
    input_groups: Any = None,
) -> League:
    """Which judges are better than which, with the number of comparisons counted?

    judges: name to scores shaped like y; ranked by `rank_clusters` on common items.
    y, coef, level, nan: ratings and settings, as in `correlate`.
    units, n_perm, seed: the test, as in `compare`.
    method, alpha: of the correction, as in `correct`.
    ci, n_boot, confidence, system_groups, input_groups: as in `correlate`.
    Raises: ValueError as `correlate`, `compare`, `correct`; for fewer than 2 judges.
    """
    if not isinstance(judges, Mapping) or len(judges) < 2:
        raise ValueError(
            "judges: pass a mapping from name to scores with at least 2 judges"
        )
    scores, shared, n_missing = common_scores(judges, y, nan)
    # Results and signatures name the policy, and count the items that lacked a score
    # before it was applied.
    history: Settings = {"nan": nan, "n_missing": n_missing}
    common: Settings = {"coef": coef, "level": level, "seed": seed}
    common |= {"system_groups": system_groups, "input_groups": input_groups}
    of_one: Settings = {"ci": ci, "n_boot": n_boot, "confidence": confidence, **common}
    of_two: Settings = {"units": units or following(ci), "n_perm": n_perm, **common}
    correlations = []
    for x in scores.values():
        correlations.append(replace(correlate(x, shared, **of_one), **history))
    comparisons = {}
    for a, b in combinations(scores, 2):
        comparison = compare(scores[a], scores[b], shared, **of_two)
        comparisons[a, b] = replace(comparison, **history)
    p_values = {pair: comparison.p for pair, comparison in comparisons.items()}
    corrected = correct(p_values, method, alpha=alpha)
    values = [correlation.value for correlation in correlations]
    ranks = rank_clusters(values, both_ways(corrected.adjusted, len(scores)), alpha)
    pairs = tuple(comparisons.values())
    counts = ranks, int((~np.isnan(shared)).sum())
    return League(tuple(scores), tuple(correlations), pairs, corrected, *counts)


def common_scores(
    judges: Mapping[str, Any], y: Any, nan: str
) -> tuple[dict[str, Floats], Floats, int]:
    """Scores and ratings of the items that all judges share, NaN elsewhere; and how
    many items lacked a score or a rating at first.

    judges: name to scores shaped like y. nan: of `arrays.POLICIES`.
    Raises: ValueError for bad arrays, unequal shapes, and as the policy says.
    """
    shared = arrays.floats(y, "y")
    missing = np.isnan(shared)
    scores = {}
    for name, x in judges.items():
        # Errors name the judge.
        own, ratings = arrays.alike(**{f"judge {name!r}": x, "y": y})
        missing |= np.isnan(own)
        scores[name] = arrays.fill(own, ratings, nan)[0]
    # An item that anyone lacks after the policy is missing for all.
    columns = [shared, *scores.values()]
    absent = np.isnan(columns).any(axis=0)
    for column in columns:
        column[absent] = np.nan
    return scores, shared, int(missing.sum())


def both_ways(of_pairs: Any, number: int) -> Floats:
    """One value a pair, in the order of `combinations`, as a symmetric matrix of this
    number of judges; NaN on the diagonal.
    """
    first, second = np.triu_indices(number, 1)
    matrix = np.full((number, number), np.nan)
    matrix[first, second] = of_pairs
    matrix[second, first] = of_pairs
    return matrix
