"""What printed numbers alone say about chance: the least that two judges must share,
and exact tests.

A test takes the `Lead`s of a sentence and answers in words that begin with yes, no, or
what is needed (p at most .05).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from nlgeval_lib import meta
from nlgeval_lib.papers.audit.cells import Cells
from nlgeval_lib.papers.audit.sentences import Lead

ALPHA = 0.05
# outputs of few systems are no independent rows: such a yes is weaker than it sounds
IF_INDEPENDENT = "yes, if rows were independent"


def least_between(first: float, second: float, n: int) -> float:
    """The least correlation of two judges with each other at which Williams' test tells
    their correlations apart.

    first, second: with the ratings, in [-1, 1]; n: items. At least what the ratings
    alone make them share, the product; inf where no correlation would do.
    """
    from scipy import optimize

    def excess(between: float) -> float:
        return meta.williams(first, second, between, n).p - ALPHA

    shared = first * second
    most = shared + math.sqrt((1 - first**2) * (1 - second**2)) - 1e-9
    if excess(shared) <= 0:
        return shared
    return (
        float(optimize.brentq(excess, shared, most)) if excess(most) <= 0 else math.inf
    )


def williams(leads: Sequence[Lead], n: Any, scale: float = 1) -> str:
    """Which differences of correlations are significant, given how far the judges
    agree; rows as if independent, which `yes` then says, too.

    n: items, or column -> items; other columns and taus are left out. scale: what a
    printed 1 stands for.
    """
    needs = []
    for _, (column, statistic), ours, theirs, _ in leads:
        size = n.get(column) if isinstance(n, Mapping) else n
        if size and statistic in ("pearson", "spearman") and ours.face > theirs.face:
            first = float(ours.face) / scale
            second = float(theirs.face) / scale
            needs.append((least_between(first, second, size), first * second))
    if not needs:
        return "no: no cell is ahead whose correlation has such a test"
    open_ones = [least for least, shared in needs if least > shared]
    plain = f"whatever r {len(needs) - len(open_ones)} of {len(needs)} differences"
    sizes = f" (Williams, n {'by column' if isinstance(n, Mapping) else f'= {n}'}, rows as if independent)"
    if not open_ones:
        return f"{IF_INDEPENDENT}: {plain}{sizes}"
    if max(open_ones) > 1:
        return f"no: {plain}, at no r {sum(one > 1 for one in open_ones)}{sizes}"
    ends = " to ".join(
        dict.fromkeys(f"{end:.3f}" for end in (min(open_ones), max(open_ones)))
    )
    return f"needs r >= {max(open_ones):.3f} between the judges: {plain}, {len(open_ones)} from {ends} on{sizes}"


def flips(leads: Sequence[Lead], unit: str = "tasks") -> str:
    """Whether one is ahead on average over tasks or aspects: signs of the
    differences exchanged, all patterns.
    """
    differences = np.array([float(one.gap.face) for one in leads])
    p = _sign_p(differences)
    if differences.sum() <= 0:
        return f"no: not ahead on average over {len(leads)} {unit}"
    words = f"{'yes' if p <= ALPHA else 'no'}: {p_in_words(p)} over {len(leads)} {unit} (exact, signs exchanged)"
    return words + (f"; fewer than 6 {unit} cannot reach .05" if len(leads) < 6 else "")


def _sign_p(differences: np.ndarray) -> float:
    signs = 1 - 2 * (
        np.arange(2 ** len(differences))[:, None] >> np.arange(len(differences)) & 1
    )
    return float(np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9))


def preferred(leads: Sequence[Lead], most: int) -> str:
    """Whether a share of votes is above one half, for every count up to `most` that
    would print so (binomial).
    """
    from scipy import stats

    said = []
    for share in (one.ours for one in leads):
        fits = []
        for n in range(1, most + 1):
            k = round(share.face * n / 100)
            if share.low <= Fraction(100 * k, n) <= share.high:
                fits.append((n, stats.binomtest(k, n).pvalue))
        ps = [p for _, p in fits]
        answer = (
            "yes" if max(ps) <= ALPHA else "no" if min(ps) > ALPHA else "cannot be told"
        )
        counts = ", ".join(f"{n} votes {p_in_words(p)}" for n, p in fits[:4])
        said.append(f"{answer}: {float(share.face):g} % is {counts}")
    return "; ".join(said)


def accuracies(leads: Sequence[Lead], n: Mapping[str, int]) -> str:
    """At how many items two accuracies on the same items may disagree for the
    difference to be significant.

    n: column -> items. Exact McNemar test; it depends on the items on which just one of
    the two is right.
    """
    from scipy import stats

    said = []
    for _, line, ours, theirs, _ in leads:
        if not (size := n.get(line[0])) or ours.face <= theirs.face:
            continue
        first, second = (round(one.face * size / 100) for one in (ours, theirs))
        gap = abs(first - second)
        spare = 2 * min(first, second, size - first, size - second)
        fits = [
            d
            for d in range(max(gap, 1), gap + spare + 1, 2)
            if stats.binomtest((d + gap) // 2, d).pvalue <= ALPHA
        ]
        if not fits:
            said.append(
                f"no: {gap} of {size} more are too few whatever the judges share"
            )
        elif max(fits) + 2 > gap + spare:
            said.append(f"yes: {gap} of {size} more, whatever the judges share")
        else:
            said.append(
                f"needs judges that disagree on at most {max(fits)} of {size}: {gap} more are right"
            )
    return (
        "; ".join(dict.fromkeys(said)) + " (exact McNemar)"
        if said
        else "cannot be told: n is not printed"
    )


def models(cells: Cells, against: str, first: str, over: Sequence[str]) -> str:
    """Whether the ranks of one metric follow the human ones better than another's:
    exchanged model by model, exact.

    cells: ranks, a row a model; `against`: the human column. All 2^n patterns of
    exchanges, Kendall's tau-b.
    """
    from scipy import stats

    said = []
    for other in over:
        both = [
            row
            for row in cells.names("row")
            if all((row, name, "rank") in cells for name in (first, other))
        ]
        sides = (
            stats.rankdata([float(cells[row, name, "rank"].face) for row in both])
            for name in (first, other, against)
        )
        found = meta.compare(
            *(side[:, None] for side in sides), level="system", units="exact-systems"
        )
        said.append((other, found.difference, found.p, len(both)))
    ahead = [
        f"{other} {p_in_words(p)}"
        for other, gap, p, _ in said
        if p <= ALPHA and gap > 0
    ]
    others = [
        f"{other} {gap:+.3f}, {p_in_words(p)}"
        for other, gap, p, _ in said
        if not (p <= ALPHA and gap > 0)
    ]
    answer = "no" if others else "yes"
    parts = [f"above {', '.join(ahead)}"] * bool(ahead) + [
        f"not above {', '.join(others)}"
    ] * bool(others)
    sizes = " or ".join(map(str, sorted({n for *_, n in said})))
    return f"{answer}: {'; '.join(parts)} (tau over {sizes} models, exact exchange of ranks)"


def p_in_words(p: float) -> str:
    """A p-value as a reader meets it."""
    return "no p" if math.isnan(p) else "p < .001" if p < 0.001 else f"p = {p:.3f}"


TESTS: dict[str, Callable[..., str]] = {
    one.__name__: one for one in (williams, flips, preferred, accuracies)
}
