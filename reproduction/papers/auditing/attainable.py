"""What a printed number can be at all: rank correlations of few items, shares of whole
counts, ranks, bounds.

In every rule `tables` are those of the paper and `table` is the name of the one that is
checked.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from .cells import CONTRADICTS, HOLDS, UNTOLD, Finding, Quantity, Tables, place, verdict

FEW = 5  # items whose orders, ties included, are all tried


def multiples(
    tables: Tables, table: str, n: Mapping[str, int], **only: Any
) -> Iterator[Finding]:
    """Whether a printed percentage is a whole number of n.

    n: column -> items; columns without a number are left out.
    only: row, column or statistic, to check some cells alone.
    """
    cells = tables[table]
    for key in cells.pick(**only):
        _, column, _ = key
        size = n.get(column)
        if not size:
            continue
        nearest = round(cells[key].face * size / 100)
        value = Quantity.exactly(Fraction(nearest * 100, size))
        judged = CONTRADICTS
        if verdict(cells[key], value) == HOLDS:
            judged = HOLDS
        relation = f"a multiple of 1/{size}"
        note = f"nearest: {nearest} of {size}"
        yield cells.finding(key, relation, value, judged, note)


def pooled_shares(
    tables: Tables, table: str, result: str, n: Mapping[str, int]
) -> Iterator[Finding]:
    """Whether a printed overall percentage is that of all items together.

    Each part stands for the whole counts that round to it; where none does, for the
    counts below and above it.

    n: column of a part -> items.
    """
    cells = tables[table]
    columns = [result, *n]
    cells.known("column", columns)
    items = sum(n.values())
    for _, line in cells.lines("column"):
        if not line.keys() >= set(columns):
            continue
        total = Quantity.exactly(0)
        for column, size in n.items():
            count = cells[line[column]] * size / 100
            total = total + _whole_counts(count)
        share = total * 100 / items
        yield cells.check(line[result], f"share of all {items}", share)


def _whole_counts(count: Quantity) -> Quantity:
    """The whole numbers in a range; where none is, those below and above it."""
    # Where the range holds no whole number, its ends rounded inwards change places.
    low, high = sorted((math.ceil(count.low), math.floor(count.high)))
    nearest = round(count.face)
    face = min(max(nearest, low), high)
    return Quantity(Fraction(face), Fraction(low), Fraction(high))


@functools.cache
def attained(n: int) -> dict[float, int]:
    """Every tau-b of n items, ties in both orders included.

    All pairs of orders are tried, so n is to be small (`FEW`).

    Returns: tau, to 12 decimals -> the fewest tied pairs, of both orders together, that
    it needs.

    Example:
    >>> sorted(attained(3).items())[-2:]
    [(0.816496580928, 1), (1.0, 0)]
    """
    # Imported here, so that it is neither loaded nor named in a provenance where
    # nothing asks for it.
    from nlgeval_lib import statistics

    # Every order with ties: each item's place, counted without gaps.
    orders = set()
    for places in itertools.product(range(n), repeat=n):
        distinct = sorted(set(places))
        orders.add(tuple(map(distinct.index, places)))
    tied = {order: _tied_pairs(order) for order in orders}
    # Items have no names here, so one of the two orders may be taken as sorted.
    sorted_orders = {tuple(sorted(order)) for order in orders}
    fewest: dict[float, int] = {}
    for first in sorted_orders:
        taus = statistics.coefficients([*orders], first).round(12).tolist()
        for second, tau in zip(orders, taus, strict=True):
            if math.isnan(tau):
                continue
            pairs = tied[first] + tied[second]
            fewest[tau] = min(pairs, fewest.get(tau, pairs))
    return fewest


def _tied_pairs(order: tuple[int, ...]) -> int:
    """How many pairs of items share a place in an order."""
    return sum(math.comb(size, 2) for size in Counter(order).values())


@functools.cache
def one_sided(n: int) -> tuple[tuple[str, float, int], ...]:
    """How taus of n items count, with ties in at most one order.

    Returns: (variant "a", "b" or "c", the pairs that a tau of 1 stands for, tied
    pairs), fewest ties first.

    Example:
    >>> one_sided(3)[:2]
    (('b', 3.0, 0), ('a', 3.0, 0))
    """
    pairs = math.comb(n, 2)
    variants = set()
    # One group of all items has no tau.
    for tied, groups in _groupings(n) - {(pairs, 1)}:
        # What concordant less discordant pairs are divided by: of tau-a all pairs, of
        # tau-b the geometric mean of both orders' untied pairs.
        below = {
            "a": float(pairs),
            "b": math.sqrt(pairs * (pairs - tied)),
            "c": n * n * (groups - 1) / (2 * groups),
        }
        for variant, denominator in below.items():
            variants.add((variant, denominator, tied))
    fewest_ties_first = sorted(
        variants, key=lambda variant: (variant[2], variant[0] != "b", variant)
    )
    return tuple(fewest_ties_first)


def _groupings(n: int) -> set[tuple[int, int]]:
    """The ways to group n items: (tied pairs, number of groups)."""
    # Groupings of so many items: a last group, and any grouping of the others.
    reached: list[set[tuple[int, int]]] = [{(0, 0)}]
    for items in range(1, n + 1):
        groupings = set()
        for size in range(1, items + 1):
            for tied, groups in reached[items - size]:
                groupings.add((tied + math.comb(size, 2), groups + 1))
        reached.append(groupings)
    return reached[n]


def attains(n: int, low: float, high: float) -> dict[str, int]:
    """How n items can have a Kendall's tau from `low` to `high`.

    It is exact with ties in one order, and for up to `FEW` items with ties in both
    (tau-b).

    Returns: variant -> the fewest tied pairs that it needs; empty where no way leads
    there.

    Example:
    >>> attains(4, 0.33, 0.34), attains(4, 0.5, 0.51)
    ({'b': 0}, {})
    """
    # A hair for ends that are the value itself.
    low = low - 1e-9
    high = high + 1e-9
    if n <= FEW:
        ties = [tied for value, tied in attained(n).items() if low <= value <= high]
        if not ties:
            return {}
        return {"b": min(ties)}
    fewest: dict[str, int] = {}
    for variant, below, tied in one_sided(n):
        # Concordant less discordant pairs: from `highest` down all counts in steps of
        # 2 occur.
        highest = math.comb(n, 2) - tied
        count = highest - 2 * math.ceil((highest - high * below) / 2)
        inside = count >= low * below and abs(count) <= highest
        if inside and variant not in fewest:
            fewest[variant] = tied
    return fewest


def coefficients(
    tables: Tables, table: str, n: Mapping[str, int], ties: bool = False
) -> Iterator[Finding]:
    """Whether a printed Kendall's tau is one that n items can have; the nearest untied
    one beside it.

    n: row -> items.
    ties: whether they are to be expected; where not, a value that needs them is neither
    shown nor excluded.
    """
    cells = tables[table]
    for key in cells.pick(statistic="kendall"):
        row, _, _ = key
        size = n.get(row)
        if not size:
            continue
        printed = cells[key]
        pairs = math.comb(size, 2)
        # Without ties each swap of two neighbours moves tau by 2 pairs.
        untied = [Fraction(pairs - 2 * swaps, pairs) for swaps in range(pairs + 1)]
        value = min(untied, key=lambda tau: abs(tau - printed.face))
        fewest = attains(size, float(printed.low), float(printed.high))
        note = ""
        if not fewest:
            judged = CONTRADICTS
            note = "impossible with ties in one order too"
        elif min(fewest.values()) == 0:
            judged = HOLDS
        else:
            judged = HOLDS if ties else UNTOLD
            needs = []
            for variant, tied in fewest.items():
                needs.append(f"{tied} of {pairs} pairs tied (tau-{variant})")
            note = f"needs {' or '.join(needs)}"
        relation = f"a kendall of {size} items"
        yield cells.finding(key, relation, Quantity.exactly(value), judged, note)


def rank_correlations(
    tables: Tables, table: str, ranks: str, against: str, column: str
) -> Iterator[Finding]:
    """Whether printed Kendall correlations follow from another table's ranks.

    ranks: the table of ranks, a row an item, a column a ranking.
    against: the column of `ranks` that each other is correlated with, over the items
    that both rank.
    column: where `table` prints the correlations, a row a ranking.
    """
    from nlgeval_lib import statistics

    rank_cells = tables[ranks]
    cells = tables[table]
    for name in rank_cells.names("column"):
        key = (name, column, "kendall")
        if name == against or key not in cells:
            continue
        # The items that both columns rank.
        of_name = []
        of_against = []
        for row, _, _ in rank_cells.pick(column=name):
            if (row, against, "rank") in rank_cells:
                of_name.append(float(rank_cells[row, name, "rank"].face))
                of_against.append(float(rank_cells[row, against, "rank"].face))
        tau = statistics.correlate(of_name, of_against, "kendall-b").value
        relation = f"follows from {len(of_name)} ranks"
        yield cells.check(key, relation, Quantity.exactly(tau))


def ranks_of_scores(tables: Tables, table: str, first: int = 1) -> Iterator[Finding]:
    """Whether printed ranks are those of the scores beside them: equal ones share the
    better rank.
    """
    cells = tables[table]
    for key in cells.pick(statistic="rank"):
        row, column, _ = key
        score = cells[row, column, "score"]
        rivals = []
        for rival in cells.pick(column=column, statistic="score"):
            if rival[0] != row:
                rivals.append(cells[rival])
        # The rank counts those above: as printed, and the fewest and most that there
        # may have been before scores were rounded.
        above = [rival for rival in rivals if rival.face > score.face]
        least = sum(rival.low >= score.high for rival in above)
        most = sum(rival.high > score.low for rival in rivals)
        ranks = [Fraction(first + count) for count in (len(above), least, most)]
        yield cells.check(key, "rank of its score", Quantity(*ranks))


def permutations(tables: Tables, table: str) -> Iterator[Finding]:
    """Whether each column of ranks holds each rank once, counted from 1; a finding a
    column.
    """
    cells = tables[table]
    for column in cells.names("column"):
        keys = cells.pick(column=column, statistic="rank")
        ranks = sorted(cells[key].face for key in keys)
        complete = ranks == list(range(1, len(ranks) + 1))
        yield Finding(
            place=place(column, "rank"),
            relation=f"ranks 1 to {len(ranks)}, each once",
            printed=", ".join(map(str, ranks)),
            value=Quantity.exactly(len(ranks)),
            verdict=HOLDS if complete else CONTRADICTS,
        )


def bounds(tables: Tables, table: str, scale: int = 1) -> Iterator[Finding]:
    """Whether correlations lie within -scale to scale, and percentages in 0 to 100.

    scale: what a correlation of 1 is printed as.
    Returns: a finding for each cell beyond, or one for all cells.
    """
    cells = tables[table]
    limits = dict.fromkeys(("pearson", "kendall", "spearman"), (-scale, scale))
    limits |= dict.fromkeys(("percent", "accuracy"), (0, 100))
    checked = 0
    beyond = 0
    for key in cells.text:
        _, _, statistic = key
        if statistic not in limits:
            continue
        checked += 1
        low, high = limits[statistic]
        # Beyond whatever was rounded: 1.0 may have been .96.
        if cells[key].low > high or cells[key].high < low:
            beyond += 1
            value = Quantity(cells[key].face, Fraction(low), Fraction(high))
            yield cells.finding(key, f"from {low} to {high}", value, CONTRADICTS)
    if checked and not beyond:
        value = Quantity.exactly(checked)
        printed = f"{checked} cells"
        yield Finding("all cells", "within their bounds", printed, value, HOLDS)
