"""What became of printed numbers, counted by kind: never a total without its kinds.

A printed number is *computed here* (`recomputed` in files: from public data, also the
authors', or by running the judge; routes `public` and `run`), or ours *follows from
other printed numbers* (`consistent`; route `published`), or it is *of another judge*,
prompt or run (`orientation`; route `recorded`), which gets no verdict; or it is *equal
by construction*, or there is *nothing here*. `WORDS` has these names, and readers meet
no others. Beside each count stands what chance would reach (`papers.shuffling`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reproduction.papers.comparison import (
    COMPARED,
    CONSTRUCTION,
    EQUAL,
    EXTRA,
    MISSING,
    ORIENTATION,
    SPREAD,
)
from reproduction.papers.kinds import EVIDENCE, OWN, ROW_KINDS, own_method
from reproduction.papers.printed_tables import KEY
from reproduction.papers.shuffling import shuffled, supports

# a count of compared cells -> the routes of its numbers, the better first
ROUTES = {"recomputed": ("public", "run"), "consistent": ("published",)}
_COMPARED_ROUTES = (*ROUTES["recomputed"], *ROUTES["consistent"])
# what is counted, in the order of the columns; `counts` says what each is
COUNTS = (
    "printed",
    "recomputed",
    "recomputed_equal",
    "recomputed_spread",
    "recomputed_shuffled",
    "consistent",
    "consistent_equal",
    "consistent_shuffled",
    "orientation",
    "construction",
    "missing",
)
_CELL = ["paper", "table", *KEY]  # what names a printed number
# what a reader meets for each count, everywhere the same
WORDS = {
    "recomputed": "computed here",
    "consistent": "follow from other printed numbers",
    ORIENTATION: "of another judge",
    CONSTRUCTION: "equal by construction",
    MISSING: "nothing here",
}
# what is said of a count that chance could give
UNTOLD = "no more than chance may give"
# kinds of rows, as they are called in a sentence
PLURALS = {
    OWN: "own method",
    "ablation": "ablations",
    "LLM judge": "LLM judges",
    "learned metric": "learned metrics",
    "lexical metric": "lexical metrics",
    "human": "human raters",
    "count": "counts",
}


class _Cell(NamedTuple):
    """What is counted of a cell.

    number: paper, table, row, column and statistic of the printed number that it is
    about.
    group: its kind or method, where cells are counted by one.
    route, verdict, evidence: as `compare` gives them.
    rate: the share of shuffled numbers that it would be equal to, 0 where nothing is
    compared.
    """

    number: tuple[str, ...]
    group: str
    route: str
    verdict: str
    evidence: str
    rate: float


def counts(cells: pd.DataFrame) -> dict[str, Any]:
    """The cells of each count, and what shuffled printed numbers would reach.

    cells: as `compare` gives them. A cell of two routes is in the count of each.
    Returns: a mapping with the keys COUNTS. `printed` counts printed numbers.
    `recomputed` and `consistent`: those that were compared; with `_equal` and
    `_spread`, those that are equal, or within the judge's own spread; with `_shuffled`,
    how many shuffled numbers would be so on average. `orientation`, `construction` and
    `missing`: cells with this verdict.
    """
    return _counted(_listed(cells))


def by_kind(cells: pd.DataFrame) -> pd.DataFrame:
    """The counts of each kind of row, the own method first.

    cells: as `compare` gives them.
    Returns: `kind`, COUNTS, and under EVIDENCE how many of the recomputed equal ones
    are each sort of evidence; kinds without cells have no row.
    """
    return _tallied(cells, "kind", ROW_KINDS)


def by_method(cells: pd.DataFrame) -> pd.DataFrame:
    """The counts of each method, in the order of their kinds.

    cells: as `compare` gives them.
    Returns: as `by_kind`, with the column `method` first.
    """
    methods: list[str] = []
    for kind in ROW_KINDS:
        methods += cells.loc[cells["kind"] == kind, "method"].tolist()
    return _tallied(cells, "method", dict.fromkeys(methods))


def _tallied(cells: pd.DataFrame, column: str, names: Iterable[str]) -> pd.DataFrame:
    """The counts and sorts of evidence of each name in a column that has cells, in the
    order of `names`.
    """
    groups: dict[str, list[_Cell]] = {name: [] for name in names}
    for cell in _listed(cells, column):
        groups[cell.group].append(cell)
    rows = []
    for name, members in groups.items():
        if not members:
            continue
        recomputed = _compared(members, "recomputed")
        equal = [cell for cell in recomputed if cell.verdict == EQUAL]
        sorts = Counter(cell.evidence for cell in equal)
        evidence = {sort: sorts[sort] for sort in EVIDENCE}
        rows.append({column: name} | _counted(members) | evidence)
    return pd.DataFrame(rows, columns=[column, *COUNTS, *EVIDENCE])


def _listed(cells: pd.DataFrame, column: str = "") -> list[_Cell]:
    """The cells that stand beside a printed number."""
    # Lists, because these tables are small, many, and counted again and again.
    is_printed = [verdict != EXTRA for verdict in cells["verdict"].tolist()]
    cells = cells[np.array(is_printed, dtype=bool)]
    places = zip(cells["route"].tolist(), cells["verdict"].tolist(), strict=True)
    # Only what is compared could be equal to a shuffled number.
    compared = [
        route in _COMPARED_ROUTES and verdict in COMPARED for route, verdict in places
    ]
    is_compared = np.array(compared, dtype=bool)
    rates = np.zeros(len(cells))
    rates[is_compared] = shuffled(cells[is_compared])
    numbers = zip(*(cells[name].tolist() for name in _CELL), strict=True)
    texts = []
    for name in (column, "route", "verdict", "evidence"):
        texts.append(cells[name].tolist() if name in cells else [""] * len(cells))
    rows = zip(numbers, *texts, rates.tolist(), strict=True)
    return [_Cell(*row) for row in rows]


def _compared(cells: Iterable[_Cell], count: str) -> list[_Cell]:
    """The cells of one count, one a printed number; of public data and a run of ours,
    the former.
    """
    chosen: dict[tuple[str, ...], _Cell] = {}
    # The first route that has a number keeps it.
    for route in ROUTES[count]:
        for cell in cells:
            if cell.route == route and cell.verdict in COMPARED:
                chosen.setdefault(cell.number, cell)
    return list(chosen.values())


def _counted(cells: Sequence[_Cell]) -> dict[str, Any]:
    """The numbers of COUNTS over these cells."""
    numbers: dict[str, Any] = {"printed": len({cell.number for cell in cells})}
    for name in ROUTES:
        of_count = _compared(cells, name)
        verdicts = Counter(cell.verdict for cell in of_count)
        numbers[name] = len(of_count)
        numbers[f"{name}_equal"] = verdicts[EQUAL]
        numbers[f"{name}_spread"] = verdicts[SPREAD]
        rates = math.fsum(cell.rate for cell in of_count)
        numbers[f"{name}_shuffled"] = round(rates, 2)
    verdicts = Counter(cell.verdict for cell in cells)
    for name in (ORIENTATION, CONSTRUCTION, MISSING):
        numbers[name] = verdicts[name]
    return {name: numbers[name] for name in COUNTS}


# -- in words


def in_words(cells: pd.DataFrame) -> str:
    """What was tested of the paper's own method, then of the others, in sentences; the
    cells are of one paper.
    """
    cells = cells[cells["verdict"] != EXTRA]
    compared_with = cells[cells["kind"] != OWN]
    sentences = [own_in_words(cells)]
    # Methods of which something was tested, one by one; kinds of which nothing was.
    for row in by_method(compared_with).to_dict("records"):
        if row["recomputed"] > 0:
            sentences.append(f"{row['method']}: {outcome(row, 'recomputed')}.")
    untested = []
    for row in by_kind(compared_with).to_dict("records"):
        if row["recomputed"] == 0:
            untested.append(f"{PLURALS[row['kind']]} ({row['printed']})")
    if untested:
        sentences.append(f"Not tested: {', '.join(untested)}.")
    following = kinds_in_words(by_kind(cells).to_dict("records"), "consistent")
    if following:
        sentences.append(f"{WORDS['consistent'].capitalize()}: {following}.")
    sentences.append(_oriented(cells))
    fixed = int((cells["verdict"] == CONSTRUCTION).sum())
    if fixed:
        words = WORDS[CONSTRUCTION].capitalize()
        sentences.append(f"{words}, not counted: {fixed}.")
    return " ".join(filter(None, sentences))


def own_in_words(cells: pd.DataFrame) -> str:
    """Whether the paper's own method was tested in these cells, in one sentence, with
    what would test it where it was not.
    """
    if cells.empty:
        return ""
    paper = cells["paper"].iat[0]
    name = own_method(paper)[0]
    own_cells = cells[cells["kind"] == OWN]
    if own_cells.empty:
        return f"No number here is of {name} itself."
    own_counts = counts(own_cells)
    tested = own_counts["recomputed"]
    printed = own_counts["printed"]
    if tested:
        result = outcome(own_counts, "recomputed")
        return f"{name}'s own rows: {tested} of {printed} tested; {result}."
    needs = []
    for table in own_cells["table"].unique():
        _, needs_of_table = own_method(paper, table)
        needs.append(needs_of_table)
    needed = " or ".join(dict.fromkeys(needs))
    return f"{name}'s own rows: not tested (0 of {printed}; needs {needed})."


def told_apart(counted: Mapping[str, Any], count: str) -> bool:
    """Whether as many numbers are equal, or within the judge's own spread, as chance
    would hardly give (`shuffling.supports`); of a mapping with COUNTS.
    """
    equal = counted.get(f"{count}_equal", 0) + counted.get(f"{count}_spread", 0)
    expected = counted.get(f"{count}_shuffled", 0)
    return supports(equal, expected, counted.get(count, 0))


def outcome(counted: Mapping[str, Any], count: str) -> str:
    """One count in words: `30 of 30 equal (chance: 1.2)`.

    Where chance could give it, that is said: the count is no support.

    counted: a mapping with COUNTS.
    count: "recomputed" or "consistent".

    Example:
    >>> counted = {"consistent": 30, "consistent_equal": 30, "consistent_shuffled": 1.2}
    >>> outcome(counted, "consistent")
    '30 of 30 equal (chance: 1.2)'
    """
    equal = counted.get(f"{count}_equal", 0)
    near = counted.get(f"{count}_spread", 0)
    expected = counted.get(f"{count}_shuffled", 0)
    words = f"{int(equal):,} of {int(counted[count]):,} equal"
    if near:
        words += f", {int(near):,} {SPREAD}"
    if equal + near == 0:
        return words
    words += f" (chance: {expected:.2g})"
    if not told_apart(counted, count):
        words += f", {UNTOLD}"
    return words


def kinds_in_words(rows: Iterable[Mapping[str, Any]], count: str) -> str:
    """One count ("recomputed" or "consistent"), kind by kind: `lexical metrics 30 of 30
    equal (chance: 1.1)`; empty where nothing is in it.
    """
    words = []
    for row in rows:
        if row.get(count):
            words.append(f"{PLURALS[row['kind']]} {outcome(row, count)}")
    return "; ".join(words)


def _oriented(cells: pd.DataFrame) -> str:
    """How far other judges, prompts or runs are from the printed numbers: a method's
    cells and their median distance; empty without any.
    """
    words = []
    oriented = cells[cells["verdict"] == ORIENTATION]
    for method, of_method in oriented.groupby("method", sort=False):
        gap = of_method["difference"].abs().median()
        words.append(f"{method} {len(of_method)}, {gap:.2g} away at the median")
    if not words:
        return ""
    beginning = WORDS[ORIENTATION].capitalize()
    return f"{beginning}, prompt or run, without a verdict: {'; '.join(words)}."
