"""What a printed number can be at all: rank correlations of few items, shares of whole counts, ranks, bounds."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit.cells import Tables, place
from nlgeval_lib.papers.audit.quantity import CONTRADICTS, HOLDS, UNTOLD, Finding, Quantity, check, finding

FEW = 5  # items whose orders, ties included, are all tried


def multiples(tables: Tables, table: str, n: Mapping[str, int], scale: int = 100, **only: Any) -> list[Finding]:
    """Whether a printed accuracy or share is a whole number of n, for each cell; the nearest such share beside it.

    `n`: column -> number. `scale`: 100 for percentages, 1 for shares. `only`: row, column, statistic.
    """
    cells = tables[table]
    found = []
    for key in cells.pick(**only):
        if (size := n.get(key[1])) is None:
            continue
        printed = cells[key]
        nearest = round(printed.face * size / scale)
        value = Quantity.exactly(Fraction(nearest * scale, size))
        said = HOLDS if printed.low <= value.face <= printed.high else CONTRADICTS
        found.append(finding(place(*key), f"a multiple of 1/{size}", cells.text[key], value, said,
                             f"nearest: {nearest} of {size}"))  # fmt: skip
    return found


def pooled_shares(tables: Tables, table: str, result: str, n: Mapping[str, int]) -> list[Finding]:
    """Whether a printed overall percentage is that of all items together, from the percentages of its parts.

    `n`: column -> number of items. Each part stands for the whole counts that round to it; where none does, for its
    printed value.
    """
    cells = tables[table]
    cells.known("column", [result, *n])
    found = []
    for (row, statistic), line in cells.lines("column"):
        if result not in line or not all(name in line for name in n):
            continue
        right = Quantity.exactly(0)
        for name, size in n.items():
            part = cells[line[name]] * size / 100
            low, high = math.ceil(part.low), math.floor(part.high)
            face = min(max(round(part.face), low), high)
            right = right + (Quantity(Fraction(face), Fraction(low), Fraction(high)) if low <= high else part)
        value = right * 100 / sum(n.values())
        found.append(check(place(row, result, statistic), f"share of all {sum(n.values())}", cells.text[line[result]],
                           value))  # fmt: skip
    return found


def kendall(x: Sequence[Any], y: Sequence[Any]) -> float:
    """Kendall's tau-b."""
    sign = lambda a, b: (a > b) - (a < b)  # noqa: E731
    at = range(len(x))
    signs = [(sign(x[i], x[j]), sign(y[i], y[j])) for i in at for j in at if i < j]
    below = math.sqrt(sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs))
    return sum(a * b for a, b in signs) / below if below else math.nan


def spearman(x: Sequence[Any], y: Sequence[Any]) -> float:
    """Spearman's rho, ties at their mean rank."""
    a, b = (pd.Series([float(value) for value in values]).rank() for values in (x, y))
    return float(a.corr(b)) if a.nunique() > 1 and b.nunique() > 1 else math.nan


COEFFICIENTS: dict[str, Callable[..., float]] = {"kendall": kendall, "spearman": spearman}


def partitions(n: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """The ways in which n items fall into groups of equal ones, by the sizes of the groups."""
    if n == 0:
        yield ()
    for size in range(min(n, most or n), 0, -1):
        for rest in partitions(n - size, size):
            yield (size, *rest)


@functools.cache
def attained(coefficient: str, n: int) -> tuple[tuple[float, int], ...]:
    """Every value that a coefficient of n items has for some two orders, and the fewest tied pairs of both for it.

    All orders are tried, ties included: n is at most `FEW`.
    """
    orders = {tuple(sorted(set(one)).index(k) for k in one) for one in itertools.product(range(n), repeat=n)}
    tied = {one: sum(a == b for a, b in itertools.combinations(one, 2)) for one in orders}
    found: dict[float, int] = {}
    for first in {tuple(sorted(one)) for one in orders}:
        for second in orders:
            value = round(COEFFICIENTS[coefficient](first, second), 12)
            ties = tied[first] + tied[second]
            if not math.isnan(value):
                found[value] = min(ties, found.get(value, ties))
    return tuple(sorted(found.items()))


@functools.cache
def one_sided(n: int) -> tuple[tuple[str, float, int, int], ...]:
    """How Kendall's taus of n items count, with ties in at most one order: variant, pairs that 1 stands for, tied
    pairs, and the highest concordant less discordant.

    That difference takes every second value down from the highest: each number of inversions of a row of tied groups
    occurs. Tau-a divides by all pairs, tau-b by the geometric mean of both orders' untied pairs, tau-c by
    n^2 (m - 1) / 2m with m groups.
    """
    pairs = math.comb(n, 2)
    ways = set()
    for groups in partitions(n):
        tied, m = sum(math.comb(size, 2) for size in groups), len(groups)
        if m > 1:
            ways |= {("b", math.sqrt(pairs * (pairs - tied)), tied, pairs - tied),
                     ("a", float(pairs), tied, pairs - tied),
                     ("c", n * n * (m - 1) / (2 * m), tied, pairs - tied)}  # fmt: skip
    return tuple(sorted(ways, key=lambda way: (way[2], way[0] != "b", way)))


def attains(coefficient: str, n: int, low: float, high: float) -> dict[str, int]:
    """How n items can have a coefficient from `low` to `high`: variant -> the fewest tied pairs that it needs.

    Exact for Kendall's tau with ties in one order, and for up to `FEW` items with ties in both (tau-b, rho); for rho
    of more items without ties. Empty where none of these ways leads there.
    """
    low, high = low - 1e-9, high + 1e-9
    ways: dict[str, int] = {}
    if n <= FEW:
        ties = [tied for value, tied in attained(coefficient, n) if low <= value <= high]
        return {"b" if coefficient == "kendall" else "rho": min(ties)} if ties else {}
    if coefficient == "spearman":  # every even sum of squared rank differences occurs
        unit = n * (n * n - 1) / 6
        least = 2 * math.ceil((1 - high) * unit / 2)
        return {"rho": 0} if 0 <= least <= min(2 * unit, (1 - low) * unit) else {}
    for variant, below, tied, highest in one_sided(n):
        count = highest - 2 * math.ceil((highest - high * below) / 2)
        if variant not in ways and count >= low * below and abs(count) <= highest:
            ways[variant] = tied
    return ways


def coefficients(tables: Tables, table: str, n: Mapping[str, int], ties: bool = False, **only: Any) -> list[Finding]:
    """Whether a printed rank correlation is one that n items can have; the nearest untied tau beside it.

    `n`: row -> number. `ties`: whether ties are to be expected; where they are not, a value that needs them is neither
    shown nor excluded. `only`: row, column; the statistic is kendall or spearman.
    """
    cells = tables[table]
    found = []
    for key in cells.pick(**({"statistic": "kendall"} | only)):
        if (size := n.get(key[0])) is None:
            continue
        printed, pairs = cells[key], math.comb(size, 2)
        ways = attains(key[2], size, float(printed.low), float(printed.high))
        discordant = min(range(pairs + 1), key=lambda k: abs(Fraction(pairs - 2 * k, pairs) - printed.face))
        fewest = min(ways.values(), default=None)
        said = CONTRADICTS if fewest is None else HOLDS if ties or fewest == 0 else UNTOLD
        needs = [f"{tied} of {pairs} pairs tied" + (f" (tau-{name})" if name in "abc" else "")
                 for name, tied in ways.items()]  # fmt: skip
        note = "" if fewest == 0 else "needs " + " or ".join(needs) if ways else "impossible with ties in one order too"
        value = Quantity.exactly(Fraction(pairs - 2 * discordant, pairs))
        found.append(finding(place(*key), f"a {key[2]} of {size} items", cells.text[key], value, said, note))
    return found


def rank_correlations(tables: Tables, table: str, ranks: str, against: str, column: str) -> list[Finding]:
    """Whether printed Kendall and Spearman correlations follow from the ranks of another table.

    `against`: the column of `ranks` that each other is correlated with, over the items that both rank; `column`: of
    the correlations, a row a ranking.
    """
    given, cells = tables[ranks], tables[table]
    given.known("column", [against])
    known = {(key[1], key[0]): given[key].face for key in given.text}
    found = []
    for name in given.names("column"):
        both = [item for item in given.names("row") if (name, item) in known and (against, item) in known]
        x, y = ([known[which, item] for item in both] for which in (name, against))
        for statistic, compute in COEFFICIENTS.items():
            key = (name, column, statistic)
            if name != against and key in cells:
                value = Quantity.exactly(compute(x, y))
                found.append(check(place(*key), f"follows from {len(both)} ranks", cells.text[key], value))
    return found


def ranks_of_scores(tables: Tables, table: str, first: int = 1) -> list[Finding]:
    """Whether printed ranks, counted from `first`, are those of the printed scores: equal scores share the better one.

    A column holds both statistics, `score` and `rank`. A rank agrees where the rounding of the scores allows it.
    """
    cells = tables[table]
    found = []
    for column in cells.names("column"):
        scores = {key[0]: cells[key] for key in cells.text if key[1:] == (column, "score")}
        for key in cells.text:
            if key[1:] != (column, "rank") or key[0] not in scores:
                continue
            mine = scores[key[0]]
            others = [score for row, score in scores.items() if row != key[0]]
            value = Quantity(
                Fraction(first + sum(other.face > mine.face for other in others)),
                Fraction(first + sum(other.low > mine.high for other in others)),
                Fraction(first + sum(other.high > mine.low for other in others)),
            )
            found.append(check(place(*key), "rank of its score", cells.text[key], value, exact=True))
    return found


def permutations(tables: Tables, table: str) -> list[Finding]:
    """Whether each column of ranks holds each rank once, counted from 1; a finding a column."""
    cells = tables[table]
    found = []
    for (column, statistic), line in cells.lines("row"):
        if statistic == "rank":
            ranks = sorted(cells[key].face for key in line.values())
            said = HOLDS if ranks == list(range(1, len(ranks) + 1)) else CONTRADICTS
            found.append(finding(place(column, statistic), f"ranks 1 to {len(ranks)}, each once",
                                 ", ".join(map(str, ranks)), Quantity.exactly(len(ranks)), said))  # fmt: skip
    return found


def bounds(tables: Tables, table: str, scale: int = 1) -> list[Finding]:
    """Whether all correlations lie within -scale to scale, and accuracies and percentages within 0 to 100.

    One finding for a table that keeps the bounds, one for each cell that does not.
    """
    cells = tables[table]
    limits = {name: (-scale, scale) for name in ("pearson", *COEFFICIENTS)} | dict.fromkeys(
        ("percent", "accuracy"), (0, 100)
    )
    wanted = [key for key in cells.text if key[2] in limits]
    found = []
    for key in wanted:
        low, high = limits[key[2]]
        if cells[key].low > high or cells[key].high < low:
            value = Quantity(cells[key].face, Fraction(low), Fraction(high))
            found.append(finding(place(*key), f"from {low} to {high}", cells.text[key], value, CONTRADICTS))
    if wanted and not found:
        value = Quantity.exactly(len(wanted))
        found.append(finding("all cells", "within their bounds", f"{len(wanted)} cells", value, HOLDS))
    return found
