"""What a printed number can be at all: ranks, correlations of ranks, shares of whole counts, bounds."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pandas as pd

from nlgeval_lib.papers.audit.cells import Cells, place
from nlgeval_lib.papers.audit.quantity import CONTRADICTS, HOLDS, Finding, Quantity, check, finding

CORRELATIONS = ("pearson", "spearman", "kendall")


def multiples(frame: pd.DataFrame, n: int | Mapping[str, int], scale: int = 100, **only: Any) -> list[Finding]:
    """Whether a printed accuracy or share is a whole number of n, for each cell; the nearest such share beside it.

    `n`: one number for all columns, or column -> number. `scale`: 100 for percentages, 1 for shares. `only`: row,
    column, statistic.
    """
    cells = Cells(frame)
    found = []
    for key in cells.pick(**only):
        size = n.get(key[1]) if isinstance(n, Mapping) else n
        if size is None:
            continue
        printed = cells[key]
        nearest = round(printed.face * size / scale)
        value = Quantity.exactly(Fraction(nearest * scale, size))
        said = HOLDS if printed.low <= value.face <= printed.high else CONTRADICTS
        found.append(finding(place(*key), f"a multiple of 1/{size}", cells.text[key], value, said,
                             f"nearest: {nearest} of {size}"))  # fmt: skip
    return found


def pooled_shares(frame: pd.DataFrame, result: str, n: Mapping[str, int], scale: int = 100, skip: Sequence[str] = ()):
    """Whether a printed overall accuracy is that of all items together, from the accuracies of its parts.

    `n`: column -> number of items. Each part stands for the whole counts that round to it; where none does, for its
    printed value.
    """
    cells = Cells(frame)
    cells.known("column", [result, *n])
    found = []
    for (row, statistic), line in cells.lines("column"):
        if row in skip or result not in line or not all(name in line for name in n):
            continue
        right = Quantity.exactly(0)
        for name, size in n.items():
            part = cells[line[name]] * size / scale
            low, high = math.ceil(part.low), math.floor(part.high)
            face = min(max(round(part.face), low), high)
            right = right + (Quantity(Fraction(face), Fraction(low), Fraction(high)) if low <= high else part)
        value = right * scale / sum(n.values())
        found.append(check(place(row, result, statistic), f"share of all {sum(n.values())}", cells.text[line[result]],
                           value))  # fmt: skip
    return found


@functools.lru_cache(maxsize=64)
def tie_counts(n: int) -> tuple[int, ...]:
    """The numbers of tied pairs that n items can have, all items tied left out."""
    counts: list[set[int]] = [{0}]
    for size in range(1, n + 1):
        counts.append({ties + math.comb(group, 2) for group in range(1, size + 1) for ties in counts[size - group]})
    return tuple(sorted(counts[n] - {math.comb(n, 2)}))


def attains(n: int, low: float, high: float, ties: bool = False) -> str:
    """How n items can have a tau from `low` to `high`, in words; "" where they cannot.

    Without ties tau is a number of pairs of the parity of n(n-1)/2 over it. With ties (tau-b) it is a whole number
    over the geometric mean of the pairs untied on either side: a condition that is needed, not one that suffices.
    """
    pairs = math.comb(n, 2)
    patterns = [(a, b) for a in tie_counts(n) for b in tie_counts(n) if a <= b] if ties else [(0, 0)]
    for first, second in sorted(patterns, key=sum):
        below = math.sqrt((pairs - first) * (pairs - second))
        for count in range(math.ceil(low * below - 1e-9), math.floor(high * below + 1e-9) + 1):
            # with ties on one side only, the untied pairs fix the parity of concordant less discordant
            if abs(count) <= pairs - second and (first or (pairs - second - count) % 2 == 0):
                tied = f" with {first} and {second} tied pairs" if second else ""
                return f"{count} of {pairs} pairs{tied}"
    return ""


def tau_values(frame: pd.DataFrame, n: int | Mapping[str, int], ties: bool = False, **only: Any) -> list[Finding]:
    """Whether a printed Kendall correlation is one that n items can have; the nearest untied one beside it.

    `n`: for all rows, or row -> number. `ties`: whether tied items are allowed (tau-b). `only`: row, column; the
    statistic is kendall.
    """
    cells = Cells(frame)
    found = []
    for key in cells.pick(**({"statistic": "kendall"} | only)):
        size = n.get(key[0]) if isinstance(n, Mapping) else n
        if size is None:
            continue
        printed, pairs = cells[key], math.comb(size, 2)
        discordant = min(range(pairs + 1), key=lambda k: abs(Fraction(pairs - 2 * k, pairs) - printed.face))
        value = Quantity.exactly(Fraction(pairs - 2 * discordant, pairs))
        how = attains(size, float(printed.low), float(printed.high), ties)
        note = how
        if not how and not ties:
            with_ties = attains(size, float(printed.low), float(printed.high), True)
            note = f"possible only with ties: {with_ties}" if with_ties else "impossible even with ties"
        words = f"a tau of {size} items, {'ties allowed' if ties else 'untied'}"
        found.append(finding(place(*key), words, cells.text[key], value, HOLDS if how else CONTRADICTS, note))
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


def rank_correlations(
    ranks: pd.DataFrame, coefficients: pd.DataFrame, against: str, column: str, names: Mapping[str, str] | None = None
) -> list[Finding]:
    """Whether printed Kendall and Spearman correlations follow from printed ranks.

    `ranks`: a row an item, a column a ranking; `against`: the column that each other is correlated with, over the
    items that both rank. `coefficients`: a row a ranking (`names`: its name there), cells in `column`.
    """
    given, cells = Cells(ranks), Cells(coefficients)
    given.known("column", [against])
    known = {(key[1], key[0]): given[key].face for key in given.text}
    items = given.names("row")
    found = []
    for name in given.names("column"):
        both = [item for item in items if (name, item) in known and (against, item) in known]
        x, y = ([known[which, item] for item in both] for which in (name, against))
        for statistic, compute in (("kendall", kendall), ("spearman", spearman)):
            key = ((names or {}).get(name, name), column, statistic)
            if name != against and key in cells and not math.isnan(value := compute(x, y)):
                words = f"follows from {len(both)} ranks"
                found.append(check(place(*key), words, cells.text[key], Quantity.exactly(value)))
    return found


def ranks_of_scores(frame: pd.DataFrame, first: int = 1, descending: bool = True) -> list[Finding]:
    """Whether printed ranks are those of the printed scores: equal scores share the better rank.

    A column holds both statistics, `score` and `rank`. A rank agrees where the rounding of the scores allows it.
    """
    cells = Cells(frame)
    found = []
    for column in cells.names("column"):
        scores = {key[0]: cells[key] for key in cells.text if key[1:] == (column, "score")}
        for key in cells.text:
            if key[1:] != (column, "rank") or key[0] not in scores:
                continue
            mine = scores[key[0]] if descending else -scores[key[0]]
            others = [score if descending else -score for row, score in scores.items() if row != key[0]]
            value = Quantity(
                Fraction(first + sum(other.face > mine.face for other in others)),
                Fraction(first + sum(other.low > mine.high for other in others)),
                Fraction(first + sum(other.high > mine.low for other in others)),
            )
            found.append(check(place(*key), "rank of its score", cells.text[key], value, exact=True))
    return found


def permutations(frame: pd.DataFrame, first: int = 1) -> list[Finding]:
    """Whether each column of ranks holds each rank once, counted from `first`; a finding a column."""
    cells = Cells(frame)
    found = []
    for (column, statistic), line in cells.lines("row"):
        if statistic != "rank":
            continue
        ranks = sorted(cells[key].face for key in line.values())
        right = ranks == list(range(first, first + len(ranks)))
        text = ", ".join(str(rank) for rank in ranks)
        value = Quantity.exactly(len(ranks))
        found.append(finding(place(column, statistic), f"ranks {first} to {first + len(ranks) - 1}, each once", text,
                             value, HOLDS if right else CONTRADICTS))  # fmt: skip
    return found


def bounds(frame: pd.DataFrame, scale: int = 1, statistics: Sequence[str] | None = None) -> list[Finding]:
    """Whether all correlations lie within -scale to scale, and accuracies and percentages within 0 to 100.

    One finding for a table that keeps the bounds, one for each cell that does not.
    """
    cells = Cells(frame)
    limits = {name: (-scale, scale) for name in CORRELATIONS} | {"percent": (0, 100), "accuracy": (0, 100)}
    wanted = [key for key in cells.text if key[2] in limits and (statistics is None or key[2] in statistics)]
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
