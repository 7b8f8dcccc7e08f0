"""What a text says of its tables in words: ahead, always, most, best, falling; bold
and underline; copied rows.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

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
# a table, and two cells that follow each other in one of its rows
Neighbours = tuple[str, tuple[Key, Key]]


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
    pairs = [([row], list(over)) for row in rows]
    if best:
        pairs.append((list(best), list(over)))
    for chain in falling:
        pairs += [([upper], [lower]) for upper, lower in itertools.pairwise(chain)]
    for ours, rivals in pairs:
        cells.known("row", ours + rivals)
    lines = dict.fromkeys(key[1:] for key in cells.pick("*", columns, statistics))
    all_leads: list[Lead] = []
    for ours, rivals in pairs:
        name = ours[0] if len(ours) == 1 else "best"
        if falling:
            name = f"{ours[0]} over {rivals[0]}"
        sides = _sides(cells, ours, rivals, lines, minus or {})
        if mean:
            firsts, seconds = zip(*sides.values(), strict=True)
            sides = {("mean",): (Quantity.mean(firsts), Quantity.mean(seconds))}
        for line, (first, second) in sides.items():
            gap = first - second - least
            if ties and gap.face == 0:
                gap = dataclasses.replace(gap, face=Fraction(1))
            all_leads.append(Lead(place(name, *line), line, first, second, gap))
    return all_leads


def _sides(
    cells: Cells,
    ours: list[str],
    rivals: list[str],
    lines: Iterable[Key],
    minus: Mapping[str, str],
) -> dict[Key, tuple[Quantity, Quantity]]:
    """The best of our rows and the best of rivals, by column and statistic.

    Raises: ValueError where no column has all of them.
    """

    def number(row: str, line: Key) -> Quantity:
        less = cells[minus[row], *line] if minus.get(row) else 0
        return cells[row, *line] - less

    def largest(rows: list[str], line: Key) -> Quantity:
        if not rows:
            return Quantity.exactly(0)
        return Quantity.largest(number(row, line) for row in rows)

    sides = {}
    for line in lines:
        if all((row, *line) in cells for row in ours + rivals):
            sides[line] = (largest(ours, line), largest(rivals, line))
    if not sides:
        raise ValueError(f"no column has {ours} and {rivals}")
    return sides


def ahead(
    tables: Tables,
    table: str,
    says: str,
    place: str = "",
    how_many: Any = "all",
    readings: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Any,
) -> Iterator[Finding]:
    """Whether rows are above others (`options`: those of `leads`) in how many columns:
    "all", "most", or the pick of a number.

    Of several `readings` the best verdict counts, and the note names the others.
    """
    results: dict[str, tuple[Finding, str]] = {}
    for reading, own_options in (readings or {"": {}}).items():
        of_reading = leads(tables[table], **(options | dict(own_options)))
        gaps = [lead.gap for lead in of_reading]
        count = Quantity(
            Fraction(sum(gap.face > 0 for gap in gaps)),
            Fraction(sum(gap.low > 0 for gap in gaps)),
            Fraction(sum(gap.high > 0 for gap in gaps)),
        )
        behind = [
            f"{lead.where} {float(lead.gap.face):+.4g}"
            for lead in of_reading
            if lead.gap.face <= 0
        ]
        note = f"not ahead: {', '.join(behind)}" if behind else ""
        if isinstance(how_many, str):
            columns = len(of_reading)
            enough = columns if how_many == "all" else columns // 2 + 1
            judged = above(count - (enough - 1))
            printed = f"{how_many} of {columns}"
            finding = Finding(place, says, printed, count, judged, note)
        else:
            cells, key = tables.one(how_many)
            finding = cells.check(key, says, count)
        results[reading] = (finding, note)
    best = min(results, key=lambda name: VERDICTS.index(results[name][0].verdict))
    finding, note = results.pop(best)
    notes = [f"read as {best}" if best else "", note]
    for reading, (_, behind_note) in results.items():
        notes.append(f"read as {reading}: {behind_note or 'ahead'}")
    yield dataclasses.replace(finding, note=joined(*notes))


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
            in_line = {name: line[name] for name in group if name in line}
            keys = in_line.values()
            faces = sorted({cells[key].face for key in keys}, reverse=True)
            if len(faces) < max(2, rank):
                continue
            face = faces[rank - 1]
            best = [key for key in keys if cells[key].face == face]
            marked_texts = []
            wrong = {}
            for name, key in in_line.items():
                if key in marked:
                    marked_texts.append(cells.text[key])
                    if key not in best:
                        wrong[name] = cells.text[key]
            judged, note = _judged_marks(marked_texts, wrong, unsure)
            ordinal = "best" if rank == 1 else "second"
            yield Finding(
                place(*names),
                f"{mark} is the {ordinal} of {len(keys)}, {group[0]} to {group[-1]}",
                ", ".join(marked_texts) or "none",
                cells[best[0]],
                judged,
                note,
            )


def _judged_marks(
    marked: Sequence[str], wrong: Mapping[str, str], unsure: Sequence[str]
) -> tuple[str, str]:
    """The verdict on the marked cells of a line, and a note.

    wrong: the name and text of those that should have no mark.
    """
    if not marked:
        return UNTOLD, "no mark in the text of the paper, which may have lost it"
    if not wrong:
        return HOLDS, ""
    note = ", ".join(f"{text} ({name}) is marked" for name, text in wrong.items())
    if wrong.keys() <= set(unsure):
        return UNTOLD, f"{note}; a coloured cell"
    return CONTRADICTS, note


def copied(tables: Tables, table: str, also: Sequence[str] = ()) -> Iterator[Finding]:
    """Whether rows have numbers of their own: no two neighbouring cells as in another
    row of the same columns.

    `also`: other tables with columns of that name. Chance is counted in the table:
    pairs of rows near each other there (within `NEAR` units in both cells, not equal),
    over the ways to be near. Of equal ones all but the first count.
    """
    from scipy import special  # scipy.stats takes seconds to import

    near = 0
    pairs = 0
    repeated: dict[Neighbours, Neighbours] = {}  # neighbours -> the first equal ones
    for runs in _neighbours(tables, (*also, table)).values():
        for later, earlier in _pairs(runs):
            if table not in (later[0], earlier[0]):
                continue
            pairs += 1
            distances = _distances(tables, later, earlier)
            near += 0 < max(distances) <= NEAR
            if not any(distances):
                repeated.setdefault(later, earlier)
    expected = (near + 1) / ((2 * NEAR + 1) ** 2 - 1)
    chance = f"{pairs} pairs of neighbours; {expected:.2g} equal by chance expected"
    if not repeated:
        relation = "no two neighbouring numbers twice"
        yield Finding("all rows", relation, "none", None, HOLDS, chance)
        return
    # By Poisson's law: the probability of so many or more.
    number = len(repeated)
    p_value = special.pdtrc(number - 1, expected)
    judged = CONTRADICTS if p_value < RARE else UNTOLD
    for (name, keys), (earlier_name, earlier_keys) in repeated.items():
        cells = tables[name]
        earlier_table = "" if earlier_name == table else earlier_name
        earlier_row = place(earlier_table, earlier_keys[0][0])
        yield Finding(
            place(*keys[0][:2]),
            "has numbers of its own",
            ", ".join(cells.text[key] for key in keys),
            None,
            judged,
            f"as in {earlier_row}; {number} such among {chance}, p = {p_value:.1g}",
        )


def _neighbours(
    tables: Tables, names: Iterable[str]
) -> dict[tuple[Key, Key], list[Neighbours]]:
    """Every two cells that follow each other in a row, by their columns."""
    by_columns: dict[tuple[Key, Key], list[Neighbours]] = {}
    for name in names:
        for first, second in itertools.pairwise(tables[name].text):
            if first[0] == second[0]:
                columns = (first[1:], second[1:])
                by_columns.setdefault(columns, []).append((name, (first, second)))
    return by_columns


def _pairs(runs: Sequence[Neighbours]) -> Iterator[tuple[Neighbours, Neighbours]]:
    """Every one with each that stands before it."""
    for position, later in enumerate(runs):
        for earlier in runs[:position]:
            yield later, earlier


def _distances(
    tables: Tables, later: Neighbours, earlier: Neighbours
) -> list[Fraction]:
    """How far the cells of two neighbours are apart, in units of the last digit."""
    distances = []
    for key, earlier_key in zip(later[1], earlier[1], strict=True):
        number = tables[later[0]][key]
        unit = number.high - number.low or 1
        gap = number.face - tables[earlier[0]][earlier_key].face
        distances.append(abs(gap) / unit)
    return distances


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
    frame: pd.DataFrame | None = None
    if data and dataset:
        frame = data(dataset, **(options or {}))
    if frame is None:
        reason = f"{dataset} is not at hand" if dataset else take
        note = f"not checked here: {reason}"
        yield cells.finding(key, "as in the data", None, UNTOLD, note)
        return
    endings = dict(where or {})
    for column, ending in endings.items():
        frame = frame[frame[column].astype(str).str.endswith(ending)]
    if frame.empty:
        raise ValueError(f"{dataset} has no row with {endings}")
    quantity = Quantity.exactly(_taken(frame, take))
    yield cells.check(key, f"{take} of {dataset}", quantity)


def _taken(frame: pd.DataFrame, take: str) -> int | Fraction:
    """The count or mean of a long frame that `take` names."""
    count, _, column = take.partition(" ")
    if count == "outputs":
        return len(frame.drop_duplicates(["input_id", "system_id"]))
    if count == "columns":
        return sum(name.startswith(column) for name in frame.columns)
    if count == "distinct":
        return int(frame[column].nunique())
    return Fraction(frame[column].mean()).limit_denominator(1000)


def not_printed(
    tables: Tables, table: str, says: str, place: str, why: str
) -> Iterator[Finding]:
    """A sentence that the printed numbers can neither show nor exclude."""
    yield Finding(place, says, "", None, UNTOLD, why)
