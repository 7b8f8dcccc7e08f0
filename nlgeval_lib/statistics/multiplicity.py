"""Many comparisons at once: corrected p-values over declared families, rank clusters,
and a league of judges.

`correct` takes p-values and gives a `Corrected`. `league` compares every two judges on
their common items, corrects the p-values as one family, and gives a `League`, whose
ranks are by `rank_clusters`; `League.rank_sets` gives the ranks that each judge could
have.
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
    families: the family of each test.
    p: as passed, in [0, 1]; NaN where no test was possible, and such a test is in no
        family's count.
    adjusted: the corrected p-values, NaN where p is.
    rejected: whether each adjusted p is at most alpha.
    method: of `METHODS`.
    alpha: in (0, 1).
    """

    names: tuple[Any, ...]
    families: tuple[Any, ...]
    p: tuple[float, ...]
    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]
    method: str
    alpha: float

    def __getitem__(self, name: Any) -> float:
        """The adjusted p-value of one test.

        Raises: ValueError for an unknown name.
        """
        return self.adjusted[self.names.index(name)]

    def answer(self) -> dict[str, Any]:
        return {"rejected": sum(self.rejected), "n": len(self.names)}

    def to_frame(self) -> pd.DataFrame:
        """A row a test."""
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

    Example:
        >>> correct([0.01, 0.04, 0.03]).adjusted
        (0.03, 0.06, 0.06)
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


def _families(
    families: Mapping[Any, Any] | Sequence[Any] | None,
    tests: Mapping[Any, float],
    by_name: bool,
) -> tuple[Any, ...]:
    """The family of each test, in the order of the tests.

    tests: p-values by name, or by number where by_name is False.
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
    """The p-values of one family, corrected, in their order; all are defined."""
    order = np.argsort(p)
    ranks = np.arange(1, len(p) + 1)
    ordered = p[order]
    if method in ("bh", "by"):
        share = ranks / len(p)
        if method == "by":
            # The sum of 1 / rank is the price of any dependence.
            share = share / (1 / ranks).sum()
        # Each is at most the next higher one.
        from_highest = (ordered / share)[::-1]
        ordered = np.minimum.accumulate(from_highest)[::-1]
    elif method == "bonferroni":
        ordered = ordered * len(p)
    elif method == "holm":
        # The lowest of m counts m tests, the next m - 1; none is below the one before.
        ordered = np.maximum.accumulate(ordered * ranks[::-1])
    out = np.empty(len(p))
    out[order] = np.minimum(ordered, 1)
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

    Example:
        >>> p = [[1, 0.2, 0.01], [0.2, 1, 0.3], [0.01, 0.3, 1]]
        >>> rank_clusters([0.9, 0.8, 0.5], p)
        (1, 1, 2)
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

    names: of the judges.
    correlations: of each judge with the ratings, in the order of names.
    comparisons: of every two judges, in the order of `itertools.combinations`.
    corrected: the p-values of the comparisons, by pair of names.
    ranks: of each judge, from 1 for the best; 0 where its coefficient is not defined.
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
        p = _matrix(self.corrected, list(self.names))
        values = [correlation.value for correlation in self.correlations]
        return rank_sets(values, p, self.corrected.alpha, self.names)

    def answer(self) -> dict[str, Any]:
        highest = min(self.ranks)
        ranked = zip(self.names, self.ranks, strict=True)
        best = [name for name, rank in ranked if rank == highest]
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

    All judges are compared on the items that every judge scored, the p-values are
    corrected as one family, and ranks are by `rank_clusters` on them.

    judges: name to scores shaped like y.
    y, coef, level, nan: ratings and settings, as in `correlate`.
    units: the test, as in `compare`; None follows the interval that is asked for.
    n_perm, seed: exchanges of a permutation test; seed of these and of resamples.
    method, alpha: of the correction, as in `correct`.
    ci, n_boot, confidence: the interval of each judge's coefficient, as in `correlate`.
    system_groups, input_groups: labels of what is drawn as a whole, as in `correlate`.
    Raises: ValueError as `correlate`, `compare`, `correct`; for fewer than 2 judges.
    """
    _check_judges(judges)
    scores, shared, n_missing = common_scores(judges, y, nan)
    # Results and signatures name the policy, and count the items that lacked a score
    # before it was applied.
    history: Settings = {"nan": nan, "n_missing": n_missing}
    common: Settings = {"coef": coef, "level": level, "nan": open_policy(nan)}
    common |= {"system_groups": system_groups, "input_groups": input_groups}
    common["seed"] = seed
    of_one: Settings = {"ci": ci, "n_boot": n_boot, "confidence": confidence, **common}
    of_two: Settings = {"units": units or following(ci), "n_perm": n_perm, **common}
    correlations = []
    for x in scores.values():
        correlations.append(replace(correlate(x, shared, **of_one), **history))
    comparisons = {}
    for a, b in combinations(scores, 2):
        comparison = compare(scores[a], scores[b], shared, **of_two)
        comparisons[a, b] = replace(comparison, **history)
    n = int((~np.isnan(shared)).sum())
    return _ranked(tuple(scores), correlations, comparisons, n, method, alpha)


def _check_judges(judges: Any) -> None:
    """Refuse what is no mapping of judges.

    Raises: ValueError for another type, and for fewer than 2 judges.
    """
    if not isinstance(judges, Mapping) or len(judges) < 2:
        raise ValueError(
            "judges: pass a mapping from name to scores with at least 2 judges"
        )


def open_policy(nan: str) -> str:
    """What of a missing policy is open once `common_scores` has applied it: what it
    says of constant sides.
    """
    if nan == "constant-zero":
        return nan
    return "drop"


def _ranked(
    names: tuple[str, ...],
    correlations: Sequence[Correlation],
    comparisons: Mapping[tuple[str, str], Comparison],
    n: int,
    method: str,
    alpha: float,
) -> League:
    """The league of judges whose pairs have been compared on n common items.

    correlations: in the order of names.
    comparisons: by pair of names.
    method, alpha: of the correction.
    """
    p_values = {pair: comparison.p for pair, comparison in comparisons.items()}
    corrected = correct(p_values, method, alpha=alpha)
    values = [correlation.value for correlation in correlations]
    p = _matrix(corrected, list(names))
    return League(
        names=names,
        correlations=tuple(correlations),
        comparisons=tuple(comparisons.values()),
        corrected=corrected,
        ranks=rank_clusters(values, p, alpha),
        n=n,
    )


def common_scores(
    judges: Mapping[str, Any], y: Any, nan: str
) -> tuple[dict[str, Floats], Floats, int]:
    """Scores and ratings of the items that all judges share.

    judges: name to scores shaped like y.
    nan: the missing policy, of `arrays.POLICIES`.
    Returns: (scores by name, ratings, items that lacked a score or a rating at first);
        NaN in all arrays where an item is not shared.
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


def _matrix(corrected: Corrected, names: list[str]) -> Floats:
    """The adjusted p-value of each pair of judges, `[judge, judge]` in the order of
    names, both ways; NaN on the diagonal.
    """
    p = pd.DataFrame(np.nan, names, names)
    for (a, b), adjusted in zip(corrected.names, corrected.adjusted, strict=True):
        p.loc[a, b] = adjusted
        p.loc[b, a] = adjusted
    return p.to_numpy()
