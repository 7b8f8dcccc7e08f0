"""What a printed number can be at all: rank correlations of few items, shares of
whole counts, ranks, bounds.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from .cells import CONTRADICTS, HOLDS, UNTOLD, Finding, Quantity, Tables, place, verdict

FEW = 5  # items whose orders, ties included, are all tried


def multiples(
    tables: Tables, table: str, n: Mapping[str, int], **only: Any
) -> Iterator[Finding]:
    """Whether a printed percentage is a whole number of n (column -> number);
    `only`: row, column, statistic.
    """
    cells = tables[table]
    for key in cells.pick(**only):
        if size := n.get(key[1]):
            nearest = round(cells[key].face * size / 100)
            value = Quantity.exactly(Fraction(nearest * 100, size))
            said = HOLDS if verdict(cells[key], value) == HOLDS else CONTRADICTS
            yield cells.finding(
                key,
                f"a multiple of 1/{size}",
                value,
                said,
                f"nearest: {nearest} of {size}",
            )


def pooled_shares(
    tables: Tables, table: str, result: str, n: Mapping[str, int]
) -> Iterator[Finding]:
    """Whether a printed overall percentage is that of all items together (`n`: column
    -> items).

    Each part stands for the whole counts that round to it; where none does, for the
    counts below and above it.
    """
    cells = tables[table]
    cells.known("column", [result, *n])
    for _, line in cells.lines("column"):
        if not all(name in line for name in (result, *n)):
            continue
        right = Quantity.exactly(0)
        for name, size in n.items():
            part = cells[line[name]] * size / 100
            low, high = sorted((math.ceil(part.low), math.floor(part.high)))
            right = right + Quantity(
                *map(Fraction, (min(max(round(part.face), low), high), low, high))
            )
        yield cells.check(
            line[result],
            f"share of all {sum(n.values())}",
            right * 100 / sum(n.values()),
        )


@functools.cache
def attained(n: int) -> dict[float, int]:
    """Every tau-b of n items, ties in both orders included, and the fewest tied
    pairs that it needs: all are tried.
    """
    from nlgeval_lib import (
        meta,
    )  # not loaded, and named in no provenance, where nothing asks

    orders = {
        tuple(sorted(set(one)).index(k) for k in one)
        for one in itertools.product(range(n), repeat=n)
    }
    tied = {
        one: sum(a == b for a, b in itertools.combinations(one, 2)) for one in orders
    }
    found: dict[float, int] = {}
    for first in {tuple(sorted(one)) for one in orders}:
        values = meta.coefficients([*orders], first).round(12)
        for second, value in zip(orders, values.tolist(), strict=True):
            if not math.isnan(value):
                found[value] = min(
                    tied[first] + tied[second], found.get(value, math.comb(n, 2) * 2)
                )
    return found


@functools.cache
def one_sided(n: int) -> tuple[tuple[str, float, int], ...]:
    """How taus of n items count, with ties in at most one order: variant, pairs that
    1 stands for, tied pairs.
    """
    # tied pairs and number of groups, by the items that are grouped
    pairs = math.comb(n, 2)
    groupings = {(0, 0)}
    reached = {0: groupings} | {k: set() for k in range(1, n + 1)}
    for items, size in itertools.product(range(n), range(1, n + 1)):
        if items + size <= n:
            reached[items + size] |= {
                (tied + math.comb(size, 2), m + 1) for tied, m in reached[items]
            }
    ways = set()
    for tied, m in reached[n] - {
        (pairs, 1)
    }:  # b: the geometric mean of both orders' untied pairs; m groups
        below = {
            "a": float(pairs),
            "b": math.sqrt(pairs * (pairs - tied)),
            "c": n * n * (m - 1) / (2 * m),
        }
        ways |= {(variant, of, tied) for variant, of in below.items()}
    return tuple(sorted(ways, key=lambda way: (way[2], way[0] != "b", way)))


def attains(n: int, low: float, high: float) -> dict[str, int]:
    """How n items can have a Kendall's tau from `low` to `high`: variant -> the fewest
    tied pairs that it needs.

    Exact with ties in one order, and for up to `FEW` items with ties in both (tau-b).
    Empty where no way leads there.
    """
    low = low - 1e-9
    high = high + 1e-9
    if n <= FEW:
        ties = [tied for value, tied in attained(n).items() if low <= value <= high]
        return {"b": min(ties)} if ties else {}
    ways: dict[str, int] = {}
    for variant, below, tied in one_sided(n):
        highest = (
            math.comb(n, 2) - tied
        )  # concordant less discordant, down from there in steps of 2: all occur
        count = highest - 2 * math.ceil((highest - high * below) / 2)
        if variant not in ways and count >= low * below and abs(count) <= highest:
            ways[variant] = tied
    return ways


def coefficients(
    tables: Tables, table: str, n: Mapping[str, int], ties: bool = False
) -> Iterator[Finding]:
    """Whether a printed Kendall's tau is one that n items (row -> number) can have; the
    nearest untied one beside it.

    `ties`: whether they are to be expected; where not, a value that needs them is
    neither shown nor excluded.
    """
    cells = tables[table]
    for key in cells.pick(statistic="kendall"):
        if not (size := n.get(key[0])):
            continue
        printed = cells[key]
        pairs = math.comb(size, 2)
        ways = attains(size, float(printed.low), float(printed.high))
        value = min(
            (Fraction(pairs - 2 * k, pairs) for k in range(pairs + 1)),
            key=lambda tau: abs(tau - printed.face),
        )
        fewest = min(ways.values(), default=None)
        said = (
            CONTRADICTS if fewest is None else HOLDS if ties or fewest == 0 else UNTOLD
        )
        needs = " or ".join(
            f"{tied} of {pairs} pairs tied (tau-{name})" for name, tied in ways.items()
        )
        note = (
            ""
            if fewest == 0
            else f"needs {needs}"
            if ways
            else "impossible with ties in one order too"
        )
        yield cells.finding(
            key, f"a kendall of {size} items", Quantity.exactly(value), said, note
        )


def rank_correlations(
    tables: Tables, table: str, ranks: str, against: str, column: str
) -> Iterator[Finding]:
    """Whether printed Kendall correlations (in `column`, a row a ranking) follow from
    another table's ranks.

    `against`: the column of `ranks` that each other is correlated with, over the items
    that both rank.
    """
    from nlgeval_lib import meta

    given = tables[ranks]
    cells = tables[table]
    for name in given.names("column"):
        both = [
            row
            for row, other, _ in given.pick(column=name)
            if (row, against, "rank") in given
        ]
        key = (name, column, "kendall")
        if name != against and key in cells:
            x, y = (
                [float(given[row, which, "rank"].face) for row in both]
                for which in (name, against)
            )
            value = Quantity.exactly(meta.correlate(x, y, "kendall-b").value)
            yield cells.check(key, f"follows from {len(both)} ranks", value)


def ranks_of_scores(tables: Tables, table: str, first: int = 1) -> Iterator[Finding]:
    """Whether printed ranks, from `first` on, are those of their scores: equal ones
    share the better one.
    """
    cells = tables[table]
    for key in cells.pick(statistic="rank"):
        mine = cells[key[0], key[1], "score"]
        others = [
            cells[one]
            for one in cells.pick(column=key[1], statistic="score")
            if one[0] != key[0]
        ]
        above = [one for one in others if one.face > mine.face]
        least = sum(one.low >= mine.high for one in above)
        most = sum(one.high > mine.low for one in others)
        value = Quantity(
            *(Fraction(first + count) for count in (len(above), least, most))
        )
        yield cells.check(key, "rank of its score", value)


def permutations(tables: Tables, table: str) -> Iterator[Finding]:
    """Whether each column of ranks holds each rank once, counted from 1; a finding a
    column.
    """
    cells = tables[table]
    for column in cells.names("column"):
        ranks = sorted(
            cells[key].face for key in cells.pick(column=column, statistic="rank")
        )
        said = HOLDS if ranks == list(range(1, len(ranks) + 1)) else CONTRADICTS
        words = f"ranks 1 to {len(ranks)}, each once"
        text = ", ".join(map(str, ranks))
        yield Finding(
            place(column, "rank"), words, text, Quantity.exactly(len(ranks)), said
        )


def bounds(tables: Tables, table: str, scale: int = 1) -> Iterator[Finding]:
    """Whether correlations lie within -scale to scale, percentages in 0 to 100: one
    finding, or one a cell beyond.
    """
    cells = tables[table]
    limits = dict.fromkeys(("pearson", "kendall", "spearman"), (-scale, scale))
    limits |= {"percent": (0, 100), "accuracy": (0, 100)}
    within = {key: limits[key[2]] for key in cells.text if key[2] in limits}
    beyond = [
        key
        for key, (low, high) in within.items()
        if cells[key].low > high or cells[key].high < low
    ]
    for key in beyond:
        low, high = within[key]
        value = Quantity(cells[key].face, Fraction(low), Fraction(high))
        yield cells.finding(key, f"from {low} to {high}", value, CONTRADICTS)
    if within and not beyond:
        value = Quantity.exactly(len(within))
        yield Finding(
            "all cells", "within their bounds", f"{len(within)} cells", value, HOLDS
        )
