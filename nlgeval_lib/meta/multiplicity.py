"""Many comparisons at once: corrected p-values over declared families, rank
clusters, and a league of judges.
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

METHODS = ("none", "bonferroni", "holm", "bh", "by")


@dataclass(frozen=True, repr=False)
class Corrected(Result):
    """p-values corrected within their families.

    p, adjusted: in [0, 1], NaN where no test was possible; such a test is in no
    family's count. rejected: at alpha.
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

    def answer(self) -> dict[str, Any]:
        return {"rejected": sum(self.rejected), "n": len(self.names)}

    def to_frame(self) -> pd.DataFrame:
        columns = ("names", "families", "p", "adjusted", "rejected")
        return pd.DataFrame({name: list(getattr(self, name)) for name in columns})

    def signature(self) -> str:
        tested = sum(value == value for value in self.p)
        families = len(set(self.families))
        counts = f"families:{families}|tests:{tested}"
        return f"correct:{self.method}|{counts}|alpha:{arrays.exactly(self.alpha)}"


def correct(
    p: Mapping[Any, float] | Sequence[float],
    method: str = "holm",
    families: Mapping[Any, Any] | Sequence[Any] | None = None,
    alpha: float = 0.05,
) -> Corrected:
    """Which of many tests remain once it is counted how many were made?

    p: p-values by name, or in order. families: the family of each, the same way; None
    is one family of all.
    method: none, bonferroni, holm (any false rejection), bh (share of false rejections,
    independent or positively dependent tests), by (the same under any dependence).
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
    labels = _families(families, tests, isinstance(p, Mapping))
    adjusted = np.full(len(values), np.nan)
    for label in dict.fromkeys(labels):
        in_family = np.array([member == label for member in labels])
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


def _families(
    families: Mapping[Any, Any] | Sequence[Any] | None,
    tests: Mapping[Any, float],
    by_name: bool,
) -> tuple[Any, ...]:
    """The family of each test, in the order of the tests; by_name: they have names.

    Raises: ValueError for families that do not match.
    """
    if families is None:
        return ("all",) * len(tests)
    if not isinstance(families, Mapping) and not by_name:
        families = dict(enumerate(families))
    if not isinstance(families, Mapping) or set(families) != set(tests):
        raise ValueError(
            f"families: pass one label for each of the {len(tests)} p-values, "
            "by the same names or in order"
        )
    return tuple(families[name] for name in tests)


def _adjusted(p: Floats, method: str) -> Floats:
    """The p-values of one family, corrected."""
    order = np.argsort(p)
    ranks = np.arange(1, len(p) + 1)
    ordered = p[order]
    if method in ("bh", "by"):
        share = ranks / len(p)
        if method == "by":
            share = share / (1 / ranks).sum()
        # Each is at most the next higher one.
        from_highest = (ordered / share)[::-1]
        ordered = np.minimum.accumulate(from_highest)[::-1]
    elif method == "bonferroni":
        ordered = ordered * len(p)
    elif method == "holm":
        ordered = np.maximum.accumulate(ordered * ranks[::-1])
    out = np.empty(len(p))
    out[order] = np.minimum(ordered, 1)
    return out


def rank_clusters(values: Any, p: Any, alpha: float = 0.05) -> tuple[int, ...]:
    """Which judges share a rank because no difference among them is significant?

    values: one a judge, higher is better, NaN ranks last and alone (0). p: `[judge,
    judge]`, symmetric; NaN is not significant. Going down from the best, a judge opens
    the next rank as soon as it differs from any in the current.
    Raises: ValueError for shapes that do not fit or p that is not symmetric.
    Source: the rule of the WMT metrics shared tasks (Freitag et al. 2022).
    """
    values = arrays.floats(values, "values", "judge")
    p = arrays.floats(p, "p", "judge, judge")
    square = p.shape == (len(values), len(values))
    if not square or not np.array_equal(p, p.T, equal_nan=True):
        raise ValueError(
            f"p: got shape {p.shape} for {len(values)} values; "
            "pass p[judge, judge], alike both ways"
        )
    ranks = [0] * len(values)
    rank = 0
    members: list[int] = []
    defined = np.flatnonzero(~np.isnan(values))
    for judge in sorted(defined, key=lambda place: -values[place]):
        if not members or (p[judge, members] <= alpha).any():
            rank = rank + 1
            members = []
        members.append(int(judge))
        ranks[judge] = rank
    return tuple(ranks)


@dataclass(frozen=True, repr=False)
class League(Result):
    """All judges against the same ratings, each pair tested, corrected as one
    family, and ranked in clusters.
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

        Raises: ValueError for a correction that lets some false rejections pass.
        """
        arrays.choice(self.corrected.method, ("holm", "bonferroni"), "method")
        p = _matrix(self.corrected, list(self.names))
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

    judges: name to scores shaped like y. All are compared on the items that every judge
    scored; else as `compare` and `correct`: the tests follow the interval. Ranks are by `rank_clusters` on the
    corrected p-values.
    Raises: ValueError as those, and for fewer than 2 judges.
    """
    if not isinstance(judges, Mapping) or len(judges) < 2:
        raise ValueError(
            "judges: pass a mapping from name to scores with at least 2 judges"
        )
    scores, shared, lacking = common_scores(judges, y, nan)
    # The policy has been applied: only what it says of constant sides is open. Results
    # and signatures name the policy and count the items that lacked a score before it.
    policy = nan if nan == "constant-zero" else "drop"
    history: dict[str, Any] = {"nan": nan, "n_missing": lacking}
    together = {"system_groups": system_groups, "input_groups": input_groups}
    units = units or following(ci)
    correlations = []
    for x in scores.values():
        correlation = correlate(
            x, shared, coef, level, policy, ci, n_boot, seed, confidence, **together
        )
        correlations.append(replace(correlation, **history))
    comparisons = {}
    for a, b in combinations(scores, 2):
        comparison = compare(
            scores[a],
            scores[b],
            shared,
            coef,
            level,
            units,
            n_perm,
            seed,
            nan=policy,
            **together,
        )
        comparisons[a, b] = replace(comparison, **history)
    n = int((~np.isnan(shared)).sum())
    return _ranked(tuple(scores), correlations, comparisons, n, method, alpha)


def _ranked(
    names: tuple[str, ...],
    correlations: Sequence[Correlation],
    comparisons: Mapping[tuple[str, str], Comparison],
    n: int,
    method: str,
    alpha: float,
) -> League:
    """The league of judges whose pairs have been compared on n common items."""
    p_values = {pair: comparison.p for pair, comparison in comparisons.items()}
    corrected = correct(p_values, method, alpha=alpha)
    values = [correlation.value for correlation in correlations]
    return League(
        names=names,
        correlations=tuple(correlations),
        comparisons=tuple(comparisons.values()),
        corrected=corrected,
        ranks=rank_clusters(values, _matrix(corrected, list(names)), alpha),
        n=n,
    )


def common_scores(
    judges: Mapping[str, Any], y: Any, nan: str
) -> tuple[dict[str, Floats], Floats, int]:
    """Scores and ratings of the items that all judges share, NaN elsewhere; how many
    items lacked any at first.
    """
    shared = arrays.floats(y, "y")
    lacking = np.isnan(shared)
    scores = {}
    for name, x in judges.items():
        side, ratings = arrays.alike(**{f"judge {name!r}": x, "y": y})
        lacking |= np.isnan(side)
        scores[name] = arrays.fill(side, ratings, nan)[0]
    absent = np.isnan([shared, *scores.values()]).any(axis=0)
    shared[absent] = np.nan
    for side in scores.values():
        side[absent] = np.nan
    return scores, shared, int(lacking.sum())


def _matrix(corrected: Corrected, names: list[str]) -> Floats:
    """The adjusted p-value of each pair of judges, both ways; NaN on the diagonal."""
    p = pd.DataFrame(np.nan, names, names)
    for (a, b), adjusted in zip(corrected.names, corrected.adjusted, strict=True):
        p.loc[a, b] = adjusted
        p.loc[b, a] = adjusted
    return p.to_numpy()
