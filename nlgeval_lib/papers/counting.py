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
    found: dict[str, Any] = {"printed": len(cells[_CELL].drop_duplicates())}
    for name in ROUTES:
        part = compared(cells, name)
        found[name] = len(part)
        found[f"{name}_equal"] = int((part["verdict"] == EQUAL).sum())
        found[f"{name}_spread"] = int((part["verdict"] == SPREAD).sum())
        found[f"{name}_shuffled"] = round(float(shuffled(part).sum()), 2)
    for name in (ORIENTATION, CONSTRUCTION, MISSING):
        found[name] = int((cells["verdict"] == name).sum())
    return {name: found[name] for name in COUNTS}


def by_kind(cells: pd.DataFrame) -> pd.DataFrame:
    """The counts of each kind, the own method first: `kind`, COUNTS, and of the
    recomputed equal ones how many are each sort of evidence.
    """
    return _tallied(cells, "kind", ROW_KINDS)


def by_method(cells: pd.DataFrame) -> pd.DataFrame:
    """The counts of each method, in the order of their kinds: `method`, COUNTS and
    the sorts of evidence.
    """
    named = cells[cells["verdict"] != EXTRA]
    names = []
    for kind in ROW_KINDS:
        names += list(dict.fromkeys(named.loc[named["kind"] == kind, "method"]))
    return _tallied(cells, "method", list(dict.fromkeys(names)))


def _tallied(cells: pd.DataFrame, column: str, names: Iterable[str]) -> pd.DataFrame:
    rows = []
    for name in names:
        part = cells[(cells[column] == name) & (cells["verdict"] != EXTRA)]
        if part.empty:
            continue
        tested = compared(part, "recomputed")
        sorts = tested.loc[tested["verdict"] == EQUAL, "evidence"].value_counts()
        evidence = {sort: int(sorts.get(sort, 0)) for sort in EVIDENCE}
        rows.append({column: name} | counts(part) | evidence)
    return pd.DataFrame(rows, columns=[column, *COUNTS, *EVIDENCE])


# -- what shuffled numbers would reach


def shuffled(cells: pd.DataFrame) -> pd.Series:
    """The share of the printed numbers of its table, statistic and sort of column with
    which each cell would be equal, or within the judge's own spread.

    The sum over cells is what a count would be on average, were the printed numbers
    dealt out anew.
    """
    rates = []
    twice = {name: TWICE in habits_of(name) for name in set(cells["paper"])}
    pools: dict[tuple[str, str, str, bool], list[Number]] = {}
    for one in cells.itertuples():
        place = (one.paper, one.table, one.statistic, is_average(one.row, one.column))
        if place not in pools:
            pools[place] = _pool(*place)
        pool = pools[place]
        rates.append(
            _share(float(one.ours), pool, one.route, one.own_sd, twice[one.paper])
        )
    return pd.Series(rates, cells.index, dtype=float)


def _pool(paper: str, table: str, statistic: str, average: bool) -> list[Number]:
    """The printed numbers that could stand in a cell's place."""
    frame = load(paper, table)
    frame = frame[frame["number"].notna() & (frame["statistic"] == statistic)]
    pairs = zip(frame["row"], frame["column"], strict=True)
    alike = [is_average(row, column) == average for row, column in pairs]
    return [parse(text) for text in frame.loc[alike, "printed"]]


def _share(
    ours: float, numbers: list[Number], route: str, own_sd: Any, twice: bool
) -> float:
    values = np.array([float(number) for number in numbers])
    rooms = np.array([float(TOLERANCE * number.unit) for number in numbers])
    gaps = np.abs(ours - values)
    good = gaps <= rooms + 1e-12
    if twice:
        units = np.array([float(number.unit) for number in numbers])
        finer = np.floor(ours / (units / 10) + 0.5 + 1e-9) * units / 10
        rounded = np.floor(finer / units + 0.5 + 1e-9) * units
        good |= np.abs(rounded - values) < units / 10
    if route == "run" and own_sd is not None and own_sd == own_sd:
        good |= gaps <= rooms + reach(float(own_sd))
    return float(good.mean()) if len(good) else 0.0


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
    sentences = [own_in_words(cells)]
    methods = by_method(cells[cells["kind"] != OWN])
    for one in methods[methods["recomputed"] > 0].to_dict("records"):
        sentences.append(f"{one['method']}: {outcome(one, 'recomputed')}.")
    untested = by_kind(cells[cells["kind"] != OWN]).query("recomputed == 0")
    if len(untested):
        parts = [
            f"{PLURALS[one.kind]} ({one.printed})" for one in untested.itertuples()
        ]
        sentences.append(f"Not tested: {', '.join(parts)}.")
    sentences.append(_by_kind_in_words(cells, "consistent"))
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
    own = cells[cells["kind"] == OWN]
    if own.empty:
        return f"No number here is of {own_method(paper)[0]} itself."
    needs = []
    for table in dict.fromkeys(own["table"]):
        needs.append(own_method(paper, table)[1])
    found = counts(own)
    name = own_method(paper)[0]
    if not found["recomputed"]:
        wanted = " or ".join(dict.fromkeys(needs))
        return (
            f"{name}'s own rows: not tested (0 of {found['printed']}; needs {wanted})."
        )
    tested = f"{found['recomputed']} of {found['printed']} tested"
    return f"{name}'s own rows: {tested}; {outcome(found, 'recomputed')}."


def outcome(found: Mapping[str, Any], count: str) -> str:
    """One count in words: `30 of 30 equal (shuffled: 1.2)`.

    found: a mapping with COUNTS. Where shuffled numbers come near, it is said that the
    count is no support.
    """
    equal = found.get(f"{count}_equal", 0)
    near = found.get(f"{count}_spread", 0)
    expected = found.get(f"{count}_shuffled", 0)
    words = f"{int(equal):,} of {int(found[count]):,} equal"
    if near:
        words += f", {int(near):,} {SPREAD}"
    if equal + near == 0:
        return words
    words += f" (shuffled: {expected:.3g})"
    if not supports(equal + near, expected):
        words += ", no support: shuffled numbers come near it"
    return words


def _by_kind_in_words(cells: pd.DataFrame, count: str) -> str:
    """One count, kind by kind, as a sentence."""
    words = kinds_in_words(by_kind(cells).to_dict("records"), count)
    return f"Consistent with other printed numbers: {words}." if words else ""


def kinds_in_words(rows: Iterable[Mapping[str, Any]], count: str) -> str:
    """One count, kind by kind: `lexical metrics 30 of 30 equal (shuffled: 1.1)`; empty
    where nothing is in it.

    rows: as `by_kind` gives them, each a mapping. count: "recomputed" or "consistent".
    """
    parts = []
    for one in rows:
        if one.get(count):
            parts.append(f"{PLURALS[one['kind']]} {outcome(one, count)}")
    return "; ".join(parts)


def _oriented(cells: pd.DataFrame) -> str:
    """How far other judges, prompts or runs are from the printed numbers."""
    parts = []
    here = cells[cells["verdict"] == ORIENTATION]
    for method, part in here.groupby("method", sort=False):
        gaps = part["difference"].abs()
        parts.append(f"{method} {len(part)}, {gaps.median():.2g} away at the median")
    if not parts:
        return ""
    return f"For orientation, without a verdict: {'; '.join(parts)}."


def _recheck(one: Any) -> str:
    """The verdict of a saved row, worked out again."""
    constructed = one.verdict == CONSTRUCTION
    return verdict(
        one.ours,
        one.printed,
        one.route,
        own_sd=one.own_sd,
        habit=one.habit,
        constructed=constructed,
    )


def verdicts_again(cells: pd.DataFrame) -> pd.Series:
    """The verdict of each saved cell, worked out again from its row alone; `missing`
    and `extra` as they stand.
    """
    found = []
    for one in cells.itertuples(index=False):
        fixed = one.verdict in (MISSING, EXTRA)
        found.append(one.verdict if fixed else _recheck(one))
    return pd.Series(found, cells.index, dtype=str)
