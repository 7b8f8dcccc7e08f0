"""What a text says of its tables in words: ahead, always, most, best, falling; bold and
underline; copied rows.

In every rule `tables` are those of the paper and `table` is the name of the one that is
checked.
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
SCALE = 10**8  # of whole numbers that stand for printed ones


class Neighbours(NamedTuple):
    """Two cells that follow each other in a row of a table: column and statistic of
    each, their numbers and units of the last digit (0 for exact ones), times `SCALE`.
    """

    table: str
    keys: tuple[Key, Key]
    columns: tuple[Key, Key]
    faces: tuple[int, ...]
    units: tuple[int, ...]


Pair = tuple[Neighbours, Neighbours]  # the later, and one before it


class Lead(NamedTuple):
    """Where one is said to be above another.

    where: the place in words.
    line: column and statistic, or ("mean",).
    ours, theirs: the two numbers; theirs is 0 where one is said to be above 0.
    gap: by how much ours is above theirs, less what is needed.
    """

    where: str
    line: tuple[str, ...]
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
    most: float | None = None,
    ties: bool = False,
    minus: Mapping[str, str] | None = None,
) -> list[Lead]:
    """By how much are rows above others, or above 0? A lead a place.

    rows: each of them against the best of `over`.
    best: the best of these against the best of `over`.
    over: rows that are to be below; none: 0.
    least: what is taken off the gap: how far ahead one has to be; a negative one lets
    it be behind.
    most: instead, how far ahead one may be at most: the gap is what is left to it.
    ties: a gap of 0 is ahead.
    minus: row -> row whose number is taken off its own first.
    Raises: ValueError for a name that the table has not, and where no column has all
    rows.
    """
    pairs = _pairs_of_rows(rows, best, over, falling)
    for ours, rivals in pairs:
        cells.known("row", ours + rivals)
    # columns and statistics that the picks leave, each once, in printed order
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
            if most is not None:
                gap = Quantity.exactly(most) - (first - second)
            # Whoever counts ties as ahead needs any number above 0.
            if ties and gap.face == 0:
                gap = dataclasses.replace(gap, face=Fraction(1))
            lead = Lead(place(name, *line), line, first, second, gap)
            all_leads.append(lead)
    return all_leads


def _pairs_of_rows(
    rows: Sequence[str],
    best: Sequence[str],
    over: Sequence[str],
    falling: Sequence[Sequence[str]],
) -> list[tuple[list[str], list[str]]]:
    """The rows that are compared: ours, and their rivals; of both the best counts."""
    pairs = [([row], list(over)) for row in rows]
    if best:
        pairs.append((list(best), list(over)))
    for chain in falling:
        pairs += [([upper], [lower]) for upper, lower in itertools.pairwise(chain)]
    return pairs


def _sides(
    cells: Cells,
    ours: list[str],
    rivals: list[str],
    lines: Iterable[Key],
    minus: Mapping[str, str],
) -> dict[Key, tuple[Quantity, Quantity]]:
    """The best of our rows and the best of rivals, by column and statistic; 0 in the
    place of no rivals.
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
    """Whether rows are above others in as many columns as a sentence says.

    how_many: "all", "most", or the pick of a printed number.
    readings: name -> options of `leads` over the common ones; the best verdict counts,
    and the note names the others.
    options: those of `leads`.
    """
    results: dict[str, tuple[Finding, str]] = {}
    for reading, own_options in (readings or {"": {}}).items():
        all_options = options | dict(own_options)
        of_reading = leads(tables[table], **all_options)
        count = _ahead_in(of_reading)
        note = _not_ahead(of_reading)
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


def _ahead_in(leads: Sequence[Lead]) -> Quantity:
    """In how many places one is ahead; rounding leaves the smallest gaps open."""
    gaps = [lead.gap for lead in leads]
    return Quantity(
        face=Fraction(sum(gap.face > 0 for gap in gaps)),
        low=Fraction(sum(gap.low > 0 for gap in gaps)),
        high=Fraction(sum(gap.high > 0 for gap in gaps)),
    )


def _not_ahead(leads: Sequence[Lead]) -> str:
    """Where one is not ahead, and by how much, as a note; empty where it is."""
    behind = []
    for lead in leads:
        if lead.gap.face <= 0:
            behind.append(f"{lead.where} {float(lead.gap.face):+.4g}")
    if not behind:
        return ""
    return f"not ahead: {', '.join(behind)}"


def marks(
    tables: Tables,
    table: str,
    mark: str,
    rank: int = 1,
    axis: str = "row",
    groups: Sequence[Sequence[str]] = (),
    unsure: Sequence[str] = (),
) -> Iterator[Finding]:
    """Whether the marked cell of each line is its best or second, equal numbers sharing
    a rank.

    A line without a mark tells nothing.

    mark: "bold" or "underline", as `marks.csv` has it.
    rank: 1 for the best, 2 for the second.
    axis: "row" compares the rows of a column, "column" the columns along a row.
    groups: names that are compared with each other (none: all).
    """
    cells = tables[table]
    marked = tables.marked(table, mark)
    ordinal = "best" if rank == 1 else "second"
    for group in groups or [cells.names(axis)]:
        cells.known(axis, group)
        for names, line in cells.lines(axis):
            in_line = {name: line[name] for name in group if name in line}
            keys = in_line.values()
            # A line needs two different numbers to have a best one.
            faces = sorted({cells[key].face for key in keys}, reverse=True)
            if len(faces) < max(2, rank):
                continue
            face = faces[rank - 1]
            best = [key for key in keys if cells[key].face == face]
            marked_texts = [cells.text[key] for key in keys if key in marked]
            wrong = {}
            for name, key in in_line.items():
                if key in marked and key not in best:
                    wrong[name] = cells.text[key]
            judged, note = _judged_marks(marked_texts, wrong, unsure)
            compared = f"{len(keys)}, {group[0]} to {group[-1]}"
            yield Finding(
                place=place(*names),
                relation=f"{mark} is the {ordinal} of {compared}",
                printed=", ".join(marked_texts) or "none",
                value=cells[best[0]],
                verdict=judged,
                note=note,
            )


def _judged_marks(
    marked: Sequence[str], wrong: Mapping[str, str], unsure: Sequence[str]
) -> tuple[str, str]:
    """The verdict on the marked cells of a line, and a note."""
    if not marked:
        return UNTOLD, "no mark in the text of the paper, which may have lost it"
    if not wrong:
        return HOLDS, ""
    note = ", ".join(f"{text} ({name}) is marked" for name, text in wrong.items())
    if wrong.keys() <= set(unsure):
        return UNTOLD, f"{note}; a coloured cell"
    return CONTRADICTS, note


def copied(
    tables: Tables, table: str, also: Sequence[str] = (), constant: Sequence[str] = ()
) -> Iterator[Finding]:
    """Whether rows have numbers of their own: no two neighbouring cells as elsewhere,
    in the same columns and in others.

    Chance is counted in the table: pairs of neighbours near each other there (within
    `NEAR` units in both cells, not equal), over the ways to be near. Of equal ones all
    but the first count; what chance hardly explains (`RARE`) contradicts.

    also: other tables that are compared with it; only columns of the same name are the
    same ones.
    constant: rows of one number by construction, which are left out.
    """
    tables[table].known("row", constant)
    runs = []
    for run in _neighbours(tables, (*also, table)):
        row, _, _ = run.keys[0]
        if row not in constant:
            runs.append(run)
    pairs_in_columns: list[Pair] = []
    pairs_across: list[Pair] = []
    for later, earlier in _pairs(runs):
        # Two rows of other tables are another relation's.
        if table not in (later.table, earlier.table):
            continue
        if later.columns == earlier.columns:
            pairs_in_columns.append((later, earlier))
        # Neighbours that share a cell repeat nothing but that.
        elif not {*later.keys} & {*earlier.keys}:
            pairs_across.append((later, earlier))
    yield from _copies(tables, table, "the same columns", pairs_in_columns)
    yield from _copies(tables, table, "other columns", pairs_across)


def _copies(
    tables: Tables, table: str, where: str, pairs: Sequence[Pair]
) -> Iterator[Finding]:
    """What `copied` finds among pairs of neighbours: those that are equal, or one
    finding that none is.
    """
    from scipy import special  # scipy.stats takes seconds to import

    near = 0
    repeated: dict[Neighbours, Neighbours] = {}
    for later, earlier in pairs:
        distance = _distance(later, earlier)
        near += 0 < distance <= NEAR
        if distance == 0:
            repeated.setdefault(later, earlier)
    # Two cells can differ from two others by NEAR units or fewer in (2 NEAR + 1)^2
    # ways; one of these is to be equal. With one pair more chance is never put at 0.
    ways_to_be_near = (2 * NEAR + 1) ** 2 - 1
    expected = (near + 1) / ways_to_be_near
    chance = (
        f"{len(pairs)} pairs of neighbours; {expected:.2g} equal by chance expected"
    )
    if not repeated:
        relation = f"no two neighbouring numbers twice in {where}"
        yield Finding("all rows", relation, "none", None, HOLDS, chance)
        return
    # By Poisson's law: the probability of so many or more.
    number = len(repeated)
    p_value = special.pdtrc(number - 1, expected)
    judged = CONTRADICTS if p_value < RARE else UNTOLD
    among = f"{number} such among {chance}, p = {p_value:.1g}"
    for later, earlier in repeated.items():
        cells = tables[later.table]
        row, column, _ = later.keys[0]
        yield Finding(
            place=place(row, column),
            relation=f"two neighbouring numbers that stand once in {where}",
            printed=", ".join(cells.text[key] for key in later.keys),
            value=None,
            verdict=judged,
            note=f"as in {_source(later, earlier, table)}; {among}",
        )


def _source(later: Neighbours, earlier: Neighbours, table: str) -> str:
    """Where equal neighbours stood before, in words."""
    row, column, _ = earlier.keys[0]
    other_table = "" if earlier.table == table else earlier.table
    other_column = "" if earlier.columns == later.columns else column
    return place(other_table, row, other_column)


def _neighbours(tables: Tables, names: Iterable[str]) -> list[Neighbours]:
    """Every two cells that follow each other in a row of some tables."""
    runs = []
    for name in names:
        cells = tables[name]
        for keys in itertools.pairwise(cells.text):
            first, second = keys
            if first[0] != second[0]:
                continue
            numbers = (cells[first], cells[second])
            run = Neighbours(
                table=name,
                keys=keys,
                columns=(first[1:], second[1:]),
                faces=tuple(_scaled(number.face) for number in numbers),
                units=tuple(_scaled(number.high - number.low) for number in numbers),
            )
            runs.append(run)
    return runs


def _scaled(number: Fraction) -> int:
    """A printed number, or the unit of its last digit, as a whole number."""
    return int(number * SCALE)


def _pairs(runs: Sequence[Neighbours]) -> Iterator[Pair]:
    """Every one with each that stands before it."""
    for position, later in enumerate(runs):
        for earlier in runs[:position]:
            yield later, earlier


def _distance(later: Neighbours, earlier: Neighbours) -> float:
    """How far the cells of two neighbours are apart, in units of the last digit: the
    larger of the two distances.
    """
    first_gap = abs(later.faces[0] - earlier.faces[0])
    second_gap = abs(later.faces[1] - earlier.faces[1])
    first_unit, second_unit = later.units
    # Whole counts have no digit that was rounded off.
    return max(first_gap / (first_unit or SCALE), second_gap / (second_unit or SCALE))


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

    dataset: by name; empty where no public data have it.
    take: "outputs"; "distinct COLUMN"; "columns PREFIX"; "mean COLUMN".
    where: column -> how its value ends in the rows that count.
    data: `data(name, **options)` gives a long frame, or None.
    Raises: ValueError where no row counts.
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
