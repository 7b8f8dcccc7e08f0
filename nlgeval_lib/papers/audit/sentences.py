"""What a text says of its tables in words: ahead, always, most, best, falling; bold
and underline; copied rows.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from nlgeval_lib.papers.tables import KEY

from .cells import (
    CONTRADICTS,
    HOLDS,
    UNTOLD,
    VERDICTS,
    Cells,
    Finding,
    Key,
    Quantity,
    Tables,
    above,
    joined,
    place,
)

NEAR = 10  # units of the last digit within which two numbers are near each other
RARE = 0.001  # a repetition less likely than this is no accident


class Lead(NamedTuple):
    """Where one is said to be above another: the two numbers, and by how much more
    than is needed.
    """

    where: str
    line: tuple[str, ...]  # column and statistic
    ours: Quantity
    theirs: Quantity
    gap: Quantity


def leads(
    cells: Cells,
    rows: Sequence[str] = (),
    best: Sequence[str] = (),
    over: Sequence[str] = (),
    falling: Sequence[Sequence[str]] = (),
    columns: Any = "*",
    statistics: Any = "*",
    mean: bool = False,
    least: float = 0,
    ties: bool = False,
    minus: Mapping[str, str] | None = None,
) -> list[Lead]:
    """By how much each of `rows`, or the `best` of some, is above the best of `over`,
    or above 0, a place each.

    `falling`: chains of rows, each over the next. `mean`: over the columns instead of
    each. `least`: what is taken off; `ties`: a gap of 0 is ahead. `minus`: row -> row
    whose number is taken off its own first.
    """

    def largest(side: list[str], line: Key) -> Quantity:
        less = {
            row: cells[other, *line] if (other := (minus or {}).get(row)) else 0
            for row in side
        }
        return (
            Quantity.largest(cells[row, *line] - less[row] for row in side)
            if side
            else Quantity.exactly(0)
        )

    pairs = [
        (side, list(over)) for side in [*([one] for one in rows), list(best)] if side
    ]
    pairs += [([a], [b]) for chain in falling for a, b in itertools.pairwise(chain)]
    cells.known("row", [name for pair in pairs for side in pair for name in side])
    lines = dict.fromkeys(key[1:] for key in cells.pick("*", columns, statistics))
    found: list[Lead] = []
    for ours, theirs in pairs:
        who = (
            f"{ours[0]} over {theirs[0]}"
            if falling
            else ours[0]
            if len(ours) == 1
            else "best"
        )
        shared = [
            line
            for line in lines
            if all((name, *line) in cells for name in (*ours, *theirs))
        ]
        if not shared:
            raise ValueError(f"no column has {ours} and {theirs}")
        sides = {line: (largest(ours, line), largest(theirs, line)) for line in shared}
        if mean:
            firsts, seconds = zip(*sides.values(), strict=True)
            sides = {("mean",): (Quantity.mean(firsts), Quantity.mean(seconds))}
        found += [
            Lead(place(who, *line), line, a, b, a - b - least)
            for line, (a, b) in sides.items()
        ]
    if ties:
        return [
            one._replace(
                gap=dataclasses.replace(one.gap, face=one.gap.face or Fraction(1))
            )
            for one in found
        ]
    return found


def ahead(
    tables: Tables,
    table: str,
    says: str,
    place: str = "",
    how_many: Any = "all",
    readings: Mapping[str, Mapping[str, Any]] | None = None,
    **what: Any,
) -> Iterator[Finding]:
    """Whether rows are above others (`what`: see `leads`) in how many columns: "all",
    "most", or the pick of a number.

    Of several `readings` the best verdict counts, and the others are told.
    """
    results = {}
    for name, options in (readings or {"": {}}).items():
        found = leads(tables[table], **(what | dict(options)))
        ends = zip(
            *((one.gap.face > 0, one.gap.low > 0, one.gap.high > 0) for one in found),
            strict=True,
        )
        count = Quantity(*(Fraction(sum(end)) for end in ends))
        behind = ", ".join(
            f"{one.where} {float(one.gap.face):+.4g}"
            for one in found
            if one.gap.face <= 0
        )
        note = f"not ahead: {behind}" if behind else ""
        if isinstance(how_many, str):
            need = len(found) if how_many == "all" else len(found) // 2 + 1
            one = Finding(
                place,
                says,
                f"{how_many} of {len(found)}",
                count,
                above(count - (need - 1)),
                note,
            )
        else:
            cells, key = tables.one(how_many)
            one = cells.check(key, says, count)
        results[name] = one, note
    name = min(results, key=lambda name: VERDICTS.index(results[name][0].verdict))
    best, note = results.pop(name)
    others = [
        f"read as {other}: {more or 'ahead'}" for other, (_, more) in results.items()
    ]
    yield dataclasses.replace(
        best, note=joined(name and f"read as {name}", note, *others)
    )


def marks(
    tables: Tables,
    table: str,
    mark: str,
    rank: int = 1,
    axis: str = "row",
    groups: Sequence[Sequence[str]] = (),
    unsure: Sequence[str] = (),
) -> Iterator[Finding]:
    """Whether the marked cell of each column is its best (`rank` 1) or second (2),
    equal numbers sharing a rank.

    `groups`: rows that are compared with each other (none: all); with `axis` "column"
    columns along a row. `unsure`: rows whose mark may stand for something else. A line
    without a mark tells nothing.
    """
    cells = tables[table]
    marked = tables.marked(table, mark)
    for group in groups or [cells.names(axis)]:
        cells.known(axis, group)
        for names, line in cells.lines(axis):
            keys = [line[name] for name in group if name in line]
            faces = sorted({cells[key].face for key in keys}, reverse=True)
            if len(faces) < max(2, rank):
                continue
            right = [key for key in keys if cells[key].face == faces[rank - 1]]
            here = [key for key in keys if key in marked]
            wrong = {
                key[KEY.index(axis)]: cells.text[key]
                for key in here
                if key not in right
            }
            said = HOLDS if here else UNTOLD
            note = (
                ""
                if here
                else "no mark in the text of the paper, which may have lost it"
            )
            if wrong:
                said = UNTOLD if {*wrong} <= {*unsure} else CONTRADICTS
                note = ", ".join(
                    f"{text} ({name}) is marked" for name, text in wrong.items()
                )
                note += "; a coloured cell" if said == UNTOLD else ""
            words = f"{mark} is the {('best', 'second')[rank - 1]} of {len(keys)}, {group[0]} to {group[-1]}"
            shown = ", ".join(cells.text[key] for key in here) or "none"
            yield Finding(place(*names), words, shown, cells[right[0]], said, note)


def copied(tables: Tables, table: str, also: Sequence[str] = ()) -> Iterator[Finding]:
    """Whether rows have numbers of their own: no two neighbouring cells as in another
    row of the same columns.

    `also`: other tables with columns of that name. Chance is counted in the table:
    pairs of rows near each other there (within `NEAR` units in both cells, not equal),
    over the ways to be near. Of equal ones all but the first count.
    """
    from scipy import special  # scipy.stats takes seconds to import

    runs: dict[
        Any, list[tuple[str, tuple[Key, Key]]]
    ] = {}  # neighbours by their columns
    for name in (*also, table):
        for keys in itertools.pairwise(tables[name].text):
            if keys[0][0] == keys[1][0]:
                runs.setdefault(tuple(key[1:] for key in keys), []).append((name, keys))
    near = 0
    pairs = 0
    first: dict[
        tuple[str, tuple[Key, Key]], tuple[str, tuple[Key, Key]]
    ] = {}  # where equal ones stand before
    for places in runs.values():
        values = [[tables[name][key] for key in keys] for name, keys in places]
        for at, before in itertools.product(range(len(places)), repeat=2):
            if before >= at or table not in (places[at][0], places[before][0]):
                continue
            both = zip(values[at], values[before], strict=True)
            units = [abs(a.face - b.face) / (a.high - a.low or 1) for a, b in both]
            pairs = pairs + 1
            near = near + (0 < max(units) <= NEAR)
            if not any(units):
                first.setdefault(places[at], places[before])
    expected = (near + 1) / ((2 * NEAR + 1) ** 2 - 1)
    words = f"{pairs} pairs of neighbours; {expected:.2g} equal by chance expected"
    if not first:
        yield Finding(
            "all rows", "no two neighbouring numbers twice", "none", None, HOLDS, words
        )
    likely = (
        special.pdtrc(len(first) - 1, expected) if first else 1.0
    )  # Poisson: so many or more
    for (name, keys), (other, theirs) in first.items():
        text = ", ".join(tables[name].text[key] for key in keys)
        there = place(other if other != table else "", theirs[0][0])
        note = f"as in {there}; {len(first)} such among {words}, p = {likely:.1g}"
        said = CONTRADICTS if likely < RARE else UNTOLD
        yield Finding(
            place(*keys[0][:2]), "has numbers of its own", text, None, said, note
        )


def in_data(
    tables: Tables,
    table: str,
    cell: Sequence[Any],
    dataset: str,
    take: str,
    where: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    data: Any = None,
) -> Iterator[Finding]:
    """Whether printed counts or ratings are those of the public data.

    `data(name, **options)` gives a long frame, or None. `take`: "outputs"; "distinct
    COLUMN"; "columns PREFIX"; "mean COLUMN". `where`: column -> how its value ends in
    the rows that count.
    """
    cells, key = tables.one(cell)
    frame: pd.DataFrame | None = (
        data(dataset, **(options or {})) if data and dataset else None
    )
    if frame is None:
        why = "not checked here: " + (f"{dataset} is not at hand" if dataset else take)
        yield cells.finding(key, "as in the data", None, UNTOLD, why)
        return
    for column, wanted in (where or {}).items():
        frame = frame[frame[column].astype(str).str.endswith(wanted)]
    if frame.empty:
        raise ValueError(f"{dataset} has no row with {dict(where or {})}")
    what, _, column = take.partition(" ")
    if what == "outputs":
        count: Any = len(frame.drop_duplicates(["input_id", "system_id"]))
    elif what == "columns":
        count = sum(name.startswith(column) for name in frame.columns)
    else:
        values = frame[column]
        count = (
            values.nunique()
            if what == "distinct"
            else Fraction(values.mean()).limit_denominator(1000)
        )
    yield cells.check(key, f"{take} of {dataset}", Quantity.exactly(count))


def not_printed(
    tables: Tables, table: str, says: str, place: str, why: str
) -> Iterator[Finding]:
    """A sentence that the printed numbers can neither show nor exclude."""
    yield Finding(place, says, "", None, UNTOLD, why)
