"""What became of printed numbers, counted by kind: never a total without its kinds.

*Recomputed*: from public data, also the authors', or by running the judge (routes
`public` and `run`). *Consistent*: follows from other printed numbers (route
`published`). *For orientation*: outputs of another judge, prompt or run (route
`recorded`), which get no verdict. Beside each count stands what shuffled numbers would
reach: how many cells would be equal on average, were the printed numbers of a table
dealt out anew among the cells of one statistic (averages among averages). It is worked
out exactly, cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.papers.comparison import (
    COMPARED,
    CONSTRUCTION,
    EQUAL,
    EXTRA,
    MISSING,
    ORIENTATION,
    SPREAD,
    TWICE,
    habits_of,
    verdict,
)
from nlgeval_lib.papers.kinds import EVIDENCE, OWN, ROW_KINDS, is_average, own_method
from nlgeval_lib.papers.numbers import TOLERANCE, Number, parse
from nlgeval_lib.papers.spread import reach
from nlgeval_lib.papers.tables import KEY, load

ROUTES = {"recomputed": ("public", "run"), "consistent": ("published",)}
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
NEAR = 0.5  # shuffled numbers that reach so large a share of a count leave no support
_CELL = ["paper", "table", *KEY]
PLURALS = {
    OWN: "own method",
    "ablation": "ablations",
    "LLM judge": "LLM judges",
    "learned metric": "learned metrics",
    "lexical metric": "lexical metrics",
    "human": "human raters",
    "count": "counts",
}


def compared(cells: pd.DataFrame, count: str) -> pd.DataFrame:
    """The cells of one count, one a printed number; of public data and a run of ours,
    the former.

    cells: as `compare` gives them. count: "recomputed" or "consistent".
    """
    inside = cells["route"].isin(ROUTES[count]) & cells["verdict"].isin(COMPARED)
    ordered = cells[inside].sort_values("route", kind="stable")  # public before run
    return ordered.drop_duplicates(_CELL).sort_index()


def counts(cells: pd.DataFrame) -> dict[str, Any]:
    """The cells of each count, how many of them are equal or within the judge's own
    spread, and what shuffled printed numbers would reach.

    Keys: COUNTS. A cell of two routes is in the count of each.
    """
    cells = cells[cells["verdict"] != EXTRA]
    numbers: dict[str, Any] = {"printed": len(cells[_CELL].drop_duplicates())}
    for name in ROUTES:
        of_count = compared(cells, name)
        numbers[name] = len(of_count)
        numbers[f"{name}_equal"] = int((of_count["verdict"] == EQUAL).sum())
        numbers[f"{name}_spread"] = int((of_count["verdict"] == SPREAD).sum())
        numbers[f"{name}_shuffled"] = round(float(shuffled(of_count).sum()), 2)
    for name in (ORIENTATION, CONSTRUCTION, MISSING):
        numbers[name] = int((cells["verdict"] == name).sum())
    return {name: numbers[name] for name in COUNTS}


def by_kind(cells: pd.DataFrame) -> pd.DataFrame:
    """The counts of each kind, the own method first: `kind`, COUNTS, and of the
    recomputed equal ones how many are each sort of evidence.
    """
    return _tallied(cells, "kind", ROW_KINDS)


def by_method(cells: pd.DataFrame) -> pd.DataFrame:
    """The counts of each method, in the order of their kinds: `method`, COUNTS and
    the sorts of evidence.
    """
    printed = cells[cells["verdict"] != EXTRA]
    methods: list[str] = []
    for kind in ROW_KINDS:
        methods += printed.loc[printed["kind"] == kind, "method"].tolist()
    return _tallied(cells, "method", dict.fromkeys(methods))


def _tallied(cells: pd.DataFrame, column: str, names: Iterable[str]) -> pd.DataFrame:
    rows = []
    for name in names:
        of_name = cells[(cells[column] == name) & (cells["verdict"] != EXTRA)]
        if of_name.empty:
            continue
        tested = compared(of_name, "recomputed")
        sorts = tested.loc[tested["verdict"] == EQUAL, "evidence"].value_counts()
        evidence = {sort: int(sorts.get(sort, 0)) for sort in EVIDENCE}
        rows.append({column: name} | counts(of_name) | evidence)
    return pd.DataFrame(rows, columns=[column, *COUNTS, *EVIDENCE])


# -- what shuffled numbers would reach


def shuffled(cells: pd.DataFrame) -> pd.Series:
    """The share of the printed numbers of its table, statistic and sort of column with
    which each cell would be equal, or within the judge's own spread.

    The sum over cells is what a count would be on average, were the printed numbers
    dealt out anew.
    """
    rates = []
    twice = {paper: TWICE in habits_of(paper) for paper in set(cells["paper"])}
    pools: dict[tuple[str, str, str, bool], list[Number]] = {}
    for cell in cells.itertuples():
        average = is_average(cell.row, cell.column)
        place = (cell.paper, cell.table, cell.statistic, average)
        if place not in pools:
            pools[place] = _pool(*place)
        own_sd = cell.own_sd if cell.route == "run" else None
        rate = _share(float(cell.ours), pools[place], own_sd, twice[cell.paper])
        rates.append(rate)
    return pd.Series(rates, cells.index, dtype=float)


def _pool(paper: str, table: str, statistic: str, average: bool) -> list[Number]:
    """The printed numbers that could stand in a cell's place."""
    frame = load(paper, table)
    frame = frame[frame["number"].notna() & (frame["statistic"] == statistic)]
    pairs = zip(frame["row"], frame["column"], strict=True)
    alike = [is_average(row, column) == average for row, column in pairs]
    return [parse(text) for text in frame.loc[alike, "printed"]]


def _share(ours: float, numbers: list[Number], own_sd: Any, twice: bool) -> float:
    """The share of some printed numbers that ours would be equal to.

    own_sd: of a run, the standard deviation of the judge's draws; None where unknown.
    twice: whether the paper rounds twice.
    """
    if not numbers:
        return 0.0
    values = np.array([float(number) for number in numbers])
    rooms = np.array([float(TOLERANCE * number.unit) for number in numbers])
    gaps = np.abs(ours - values)
    equal = gaps <= rooms + 1e-12
    if twice:
        units = np.array([float(number.unit) for number in numbers])
        finer = np.floor(ours / (units / 10) + 0.5 + 1e-9) * units / 10
        rounded = np.floor(finer / units + 0.5 + 1e-9) * units
        equal |= np.abs(rounded - values) < units / 10
    if pd.notna(own_sd):
        equal |= gaps <= rooms + reach(float(own_sd))
    return float(equal.mean())


def supports(equal: float, expected: float) -> bool:
    """Whether a count says more than shuffled numbers would: not where these reach
    half of it.
    """
    return equal > 0 and expected < NEAR * equal


# -- in words


def in_words(cells: pd.DataFrame) -> str:
    """What was tested of the paper's own method, then of the others, in sentences.

    cells: of one paper, as `compare` gives them.
    """
    cells = cells[cells["verdict"] != EXTRA]
    compared_with = cells[cells["kind"] != OWN]
    sentences = [own_in_words(cells)]
    for row in by_method(compared_with).to_dict("records"):
        if row["recomputed"] > 0:
            sentences.append(f"{row['method']}: {outcome(row, 'recomputed')}.")
    untested = []
    for row in by_kind(compared_with).to_dict("records"):
        if row["recomputed"] == 0:
            untested.append(f"{PLURALS[row['kind']]} ({row['printed']})")
    if untested:
        sentences.append(f"Not tested: {', '.join(untested)}.")
    consistent = kinds_in_words(by_kind(cells).to_dict("records"), "consistent")
    if consistent:
        sentences.append(f"Consistent with other printed numbers: {consistent}.")
    sentences.append(_oriented(cells))
    fixed = int((cells["verdict"] == CONSTRUCTION).sum())
    if fixed:
        sentences.append(f"Equal by construction, not counted: {fixed}.")
    return " ".join(filter(None, sentences))


def own_in_words(cells: pd.DataFrame) -> str:
    """Whether the paper's own method was tested in these cells, and what would test
    it where it was not.
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
    needs = [own_method(paper, table)[1] for table in own_cells["table"].unique()]
    needed = " or ".join(dict.fromkeys(needs))
    return f"{name}'s own rows: not tested (0 of {printed}; needs {needed})."


def outcome(counted: Mapping[str, Any], count: str) -> str:
    """One count in words: `30 of 30 equal (shuffled: 1.2)`.

    counted: a mapping with COUNTS. Where shuffled numbers come near, it is said that
    the count is no support.
    """
    equal = counted.get(f"{count}_equal", 0)
    near = counted.get(f"{count}_spread", 0)
    expected = counted.get(f"{count}_shuffled", 0)
    words = f"{int(equal):,} of {int(counted[count]):,} equal"
    if near:
        words += f", {int(near):,} {SPREAD}"
    if equal + near == 0:
        return words
    words += f" (shuffled: {expected:.3g})"
    if not supports(equal + near, expected):
        words += ", no support: shuffled numbers come near it"
    return words


def kinds_in_words(rows: Iterable[Mapping[str, Any]], count: str) -> str:
    """One count, kind by kind: `lexical metrics 30 of 30 equal (shuffled: 1.1)`; empty
    where nothing is in it.

    rows: as `by_kind` gives them, each a mapping. count: "recomputed" or "consistent".
    """
    words = []
    for row in rows:
        if row.get(count):
            words.append(f"{PLURALS[row['kind']]} {outcome(row, count)}")
    return "; ".join(words)


def _oriented(cells: pd.DataFrame) -> str:
    """How far other judges, prompts or runs are from the printed numbers."""
    words = []
    oriented = cells[cells["verdict"] == ORIENTATION]
    for method, of_method in oriented.groupby("method", sort=False):
        gap = of_method["difference"].abs().median()
        words.append(f"{method} {len(of_method)}, {gap:.2g} away at the median")
    if not words:
        return ""
    return f"For orientation, without a verdict: {'; '.join(words)}."


def verdicts_again(cells: pd.DataFrame) -> pd.Series:
    """The verdict of each saved cell, worked out again from its row alone; `missing`
    and `extra` as they stand.
    """
    verdicts = []
    for cell in cells.itertuples(index=False):
        again = cell.verdict
        if again not in (MISSING, EXTRA):
            again = verdict(
                cell.ours,
                cell.printed,
                cell.route,
                own_sd=cell.own_sd,
                habit=cell.habit,
                constructed=cell.verdict == CONSTRUCTION,
            )
        verdicts.append(again)
    return pd.Series(verdicts, cells.index, dtype=str)
