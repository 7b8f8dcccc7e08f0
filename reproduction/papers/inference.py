"""What printed numbers alone say about chance: the least that two judges must share,
and exact tests.

A test takes the `Lead`s of a sentence and gives a `Told`: one of `ANSWERS` (p at most
.05), the same in words, and each comparison by itself. A paper prints correlations and
shares, not the judgments that they are of; so a test works through whatever the
judgments may have been: `williams` of correlations, `accuracies` of shares that are
right, `preferred` of votes; `flips` takes the printed differences as its data, `models`
printed ranks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from nlgeval_lib import statistics
from nlgeval_lib.names import p_in_words
from reproduction.papers.auditing.cells import Cells
from reproduction.papers.auditing.sentences import Lead

ALPHA = 0.05
# Does a test tell the difference from chance? The best answer first. Outputs of few
# systems are no independent rows: such a yes is weaker than it sounds.
ANSWERS = ("yes", "yes, if rows were independent", "needs", "cannot be told", "no")
YES, IF_INDEPENDENT, NEEDS, UNTOLD, NO = ANSWERS


class Compared(NamedTuple):
    """One comparison of a claim, whether a test tells it from chance (of `ANSWERS`),
    and the p of an exact two-sided test; NaN where the test gives none.
    """

    name: str
    says: str
    p: float = math.nan


class Told(NamedTuple):
    """What a test says of all comparisons of a claim.

    says: one of `ANSWERS`, or empty where a claim names no test.
    words: the same in full; they begin with it.
    comparisons: each by itself.
    """

    says: str
    words: str
    comparisons: tuple[Compared, ...] = ()


def weakest(comparisons: Sequence[Compared]) -> Compared:
    """The comparison that decides a claim which needs them all: the worst answer, and
    of equal answers the largest p.
    """

    def weakness(one: Compared) -> tuple[int, float]:
        return ANSWERS.index(one.says), -1 if math.isnan(one.p) else one.p

    return max(comparisons, key=weakness)


def by_p(name: str, p: float) -> Compared:
    """A comparison by the p of an exact test."""
    return Compared(name, YES if p <= ALPHA else NO, p)


def least_between(first: float, second: float, n: int) -> float:
    """The least correlation of two judges with each other at which Williams' test finds
    that they correlate differently with the ratings.

    first, second: their correlations with the ratings, in [-1, 1].
    n: items.
    Returns: at least what the ratings alone make them share, the product; inf where no
    correlation would do.

    Example:
    >>> round(least_between(0.50, 0.45, 200), 3)
    0.916
    """
    from scipy import optimize

    def excess(between: float) -> float:
        return statistics.williams(first, second, between, n).p - ALPHA

    # Three correlations fit together where the third is within this root of the
    # product of the others: `most` is just below the upper end.
    shared = first * second
    most = shared + math.sqrt((1 - first**2) * (1 - second**2)) - 1e-9
    # The more the judges share, the more one difference says: p falls.
    if excess(shared) <= 0:
        return shared
    if excess(most) <= 0:
        return float(optimize.brentq(excess, shared, most))
    return math.inf


def williams(leads: Sequence[Lead], n: Any, scale: float = 1) -> Told:
    """Which differences of correlations are significant, given how far the judges
    agree?

    Rows are taken as independent, which a `yes` then says, too. Taus, and leads that
    are none, are left out.

    n: items, or column -> items; columns without a number are left out.
    scale: what a correlation of 1 is printed as: 100 where they are in percent.
    """
    comparisons = []
    open_ones = []  # the least r of differences that some r of the judges leave open
    for lead in leads:
        column, statistic = lead.line
        size = n.get(column) if isinstance(n, Mapping) else n
        correlations = statistic in ("pearson", "spearman")
        if not size or not correlations or lead.ours.face <= lead.theirs.face:
            continue
        first = float(lead.ours.face) / scale
        second = float(lead.theirs.face) / scale
        least = least_between(first, second, size)
        # Where the ratings alone make the judges share enough, nothing is left open.
        says = IF_INDEPENDENT
        if least > first * second:
            open_ones.append(least)
            # inf: no correlation of the judges would do
            says = NEEDS if math.isfinite(least) else NO
        comparisons.append(Compared(lead.where, says))
    if not comparisons:
        return Told(NO, "no: no cell is ahead whose correlation has such a test")
    tested = len(comparisons)
    says = weakest(comparisons).says
    plain = f"whatever r {tested - len(open_ones)} of {tested} differences"
    items = "by column" if isinstance(n, Mapping) else f"= {n}"
    sizes = f" (Williams, n {items}, rows as if independent)"
    if says == IF_INDEPENDENT:
        words = f"{IF_INDEPENDENT}: {plain}{sizes}"
    elif says == NO:
        impossible = sum(math.isinf(least) for least in open_ones)
        words = f"no: {plain}, at no r {impossible}{sizes}"
    else:
        highest = max(open_ones)
        ends = dict.fromkeys((f"{min(open_ones):.3f}", f"{highest:.3f}"))
        words = (
            f"needs r >= {highest:.3f} between the judges: {plain}, "
            f"{len(open_ones)} from {' to '.join(ends)} on{sizes}"
        )
    return Told(says, words, tuple(comparisons))


def flips(leads: Sequence[Lead], unit: str = "tasks", against: str = "") -> Told:
    """Is one ahead on average over tasks or aspects? An exact test.

    The signs of the differences are exchanged, in all 2^n patterns.

    against: who is behind, for the words; empty: it goes without saying.
    """
    differences = np.array([float(lead.gap.face) for lead in leads])
    number = f"{len(leads)} {unit}"
    name = against or f"{leads[0].where.partition(' / ')[0]}, {number}"
    end = f", against {against}" if against else ""
    p = _sign_p(differences)
    if differences.sum() <= 0:
        behind = Compared(name, NO, p)
        words = f"no: not ahead on average over {number}{end}"
        return Told(NO, words, (behind,))
    one = by_p(name, p)
    words = f"{one.says}: {p_in_words(p)} over {number} (exact, signs exchanged)"
    if len(leads) < 6:
        words += f"; fewer than 6 {unit} cannot reach .05"
    return Told(one.says, words + end, (one,))


def each(answers: Sequence[Told]) -> Told:
    """One answer of several rivals', of which each has to be behind: the weakest."""
    comparisons: list[Compared] = []
    for answer in answers:
        comparisons += answer.comparisons
    decisive = weakest(comparisons)
    (told,) = (answer for answer in answers if decisive in answer.comparisons)
    words = told.words
    if len(answers) > 1:
        words += f", the weakest of {len(answers)} comparisons"
    return Told(told.says, words, tuple(comparisons))


def _sign_p(differences: np.ndarray) -> float:
    """The share of all patterns of signs whose sum is as far from 0 as this one."""
    number = len(differences)
    # The bits of 0 to 2^n - 1 are all patterns: 0 keeps a sign, 1 exchanges it.
    patterns = np.arange(2**number)[:, None] >> np.arange(number) & 1
    sums = (1 - 2 * patterns) @ differences
    as_far = np.abs(sums) >= abs(differences.sum()) - 1e-9
    return float(np.mean(as_far))


def preferred(leads: Sequence[Lead], most: int) -> Told:
    """Is a share of votes above one half, whatever the number of votes was?

    Every number of votes that would print so is tried, by a binomial test.

    Returns: of a share it says yes or no where all numbers of votes agree; a comparison
    is one number of votes.
    """
    from scipy import stats

    answers = []
    comparisons = []
    words = []
    for lead in leads:
        # Every number of votes of which some count would print as this share.
        share = lead.ours
        p_of_n = {}
        for n in range(1, most + 1):
            votes = round(share.face * n / 100)
            if share.low <= Fraction(100 * votes, n) <= share.high:
                p_of_n[n] = stats.binomtest(votes, n).pvalue
        if max(p_of_n.values()) <= ALPHA:
            answer = YES
        elif min(p_of_n.values()) > ALPHA:
            answer = NO
        else:
            answer = UNTOLD
        answers.append(Compared(lead.where, answer))
        counts = []
        for n, p in itertools.islice(p_of_n.items(), 4):
            counts.append(f"{n} votes {p_in_words(p)}")
        percent = f"{float(share.face):g} %"
        words.append(f"{answer}: {percent} is {', '.join(counts)}")
        for n, p in p_of_n.items():
            comparisons.append(by_p(f"{percent} of {n} votes", p))
    says = weakest(answers).says
    # What decides stands first.
    words.sort(key=lambda text: not text.startswith(says))
    return Told(says, "; ".join(words), tuple(comparisons))


def accuracies(leads: Sequence[Lead], n: Mapping[str, int]) -> Told:
    """On how many items may two judges disagree for the difference of their accuracies
    to be significant?

    The exact McNemar test depends on the items on which just one of the two is right,
    and these are not printed.

    n: column -> items; of other columns nothing can be told.
    """
    comparisons = []
    words = []
    for lead in leads:
        size = n.get(lead.line[0])
        if not size:
            comparisons.append(Compared(lead.where, UNTOLD))
            words.append(f"{UNTOLD}: n of {lead.line[0]} is not printed")
        elif lead.ours.face > lead.theirs.face:
            first = round(lead.ours.face * size / 100)
            second = round(lead.theirs.face * size / 100)
            says, text = _mcnemar(first, second, size)
            comparisons.append(Compared(lead.where, says))
            words.append(text)
    says = weakest(comparisons).says
    # What decides stands first.
    words.sort(key=lambda text: not text.startswith(says))
    text = "; ".join(dict.fromkeys(words)) + " (exact McNemar)"
    return Told(says, text, tuple(comparisons))


def _mcnemar(first: int, second: int, size: int) -> tuple[str, str]:
    """On how many of `size` items two judges may disagree for their difference to be
    significant: one of `ANSWERS`, and words.
    """
    from scipy import stats

    gap = abs(first - second)
    # They disagree on `gap` items at least, and each further item on which the first is
    # right alone needs one on which the second is.
    most = gap + 2 * min(first, second, size - first, size - second)
    fits = []
    for disagreements in range(max(gap, 1), most + 1, 2):
        first_alone = (disagreements + gap) // 2
        if stats.binomtest(first_alone, disagreements).pvalue <= ALPHA:
            fits.append(disagreements)
    if not fits:
        return NO, f"no: {gap} of {size} more are too few whatever the judges share"
    if max(fits) + 2 > most:
        return YES, f"yes: {gap} of {size} more, whatever the judges share"
    return NEEDS, (
        f"needs judges that disagree on at most {max(fits)} of {size}: "
        f"{gap} more are right"
    )


def models(cells: Cells, against: str, first: str, over: Sequence[str]) -> Told:
    """Do the ranks of one metric follow the human ones better than another's?

    Ranks are exchanged model by model, in all 2^n patterns; Kendall's tau-b.

    cells: ranks, a row a model, a column a metric.
    over: the metrics that it is compared with; of those without ranks nothing can be
    told.
    """
    above = []
    not_above = []
    without_ranks = []
    comparisons = []
    sizes = set()
    for rival in over:
        if rival not in cells.names("column"):
            without_ranks.append(rival)
            comparisons.append(Compared(rival, UNTOLD))
            continue
        comparison, size = _ranks_compared(cells, (first, rival, against))
        sizes.add(size)
        p = comparison.p
        gap = comparison.difference
        one = by_p(rival, p)
        if gap <= 0:
            one = Compared(rival, NO, p)
        comparisons.append(one)
        if one.says == YES:
            above.append(f"{rival} {p_in_words(p)}")
        else:
            not_above.append(f"{rival} {gap:+.3f}, {p_in_words(p)}")
    parts = []
    if above:
        parts.append(f"above {', '.join(above)}")
    if not_above:
        parts.append(f"not above {', '.join(not_above)}")
    if without_ranks:
        parts.append(f"no ranks are printed of {', '.join(without_ranks)}")
    says = weakest(comparisons).says
    numbers = " or ".join(map(str, sorted(sizes)))
    words = (
        f"{says}: {'; '.join(parts)} "
        f"(tau over {numbers} models, exact exchange of ranks)"
    )
    return Told(says, words, tuple(comparisons))


def _ranks_compared(cells: Cells, columns: tuple[str, str, str]) -> tuple[Any, int]:
    """The comparison of two columns of ranks with a third, and over how many rows:
    those that the first two rank.
    """
    from scipy import stats

    rows = []
    for row in cells.names("row"):
        first, second, _ = ((row, column, "rank") for column in columns)
        if first in cells and second in cells:
            rows.append(row)
    # Ranked anew among these rows: a matrix of one column, systems by inputs.
    ranks = []
    for column in columns:
        printed = [float(cells[row, column, "rank"].face) for row in rows]
        ranks.append(stats.rankdata(printed)[:, None])
    comparison = statistics.compare(*ranks, level="system", units="exact-systems")
    return comparison, len(rows)


# the tests that a claim may name; `models`, which takes cells, is called by itself
TESTS: dict[str, Callable[..., Told]] = {
    test.__name__: test for test in (williams, flips, preferred, accuracies)
}
