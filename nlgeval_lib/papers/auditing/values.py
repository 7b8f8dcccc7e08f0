"""One printed result from other printed numbers: averages, totals, differences,
percents, repeats.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nlgeval_lib.papers.printed_tables import KEY

from .cells import (
    ANY,
    CONTRADICTS,
    HOLDS,
    SAID,
    Cells,
    Finding,
    Key,
    Quantity,
    Tables,
    above,
    joined,
    place,
    same,
)

# kind -> the names of a key by which cells are counted
PARTS = {"rows": slice(0, 1), "columns": slice(1, 2), "cells": slice(0, 3)}


def summaries(
    tables: Tables,
    table: str,
    result: str,
    parts: Sequence[str],
    kind: str = "mean",
    axis: str = "column",
    only: str = "",
) -> Iterator[Finding]:
    """Whether a printed mean or total is that of its parts, for every line (of
    statistic `only`) with all of them.
    """
    cells = tables[table]
    summary = {"mean": Quantity.mean, "total": Quantity.total}[kind]
    cells.known(axis, [result, *parts])
    relation = f"{kind} of {len(parts)} {axis}s"
    for (_, statistic), line in cells.lines(axis):
        if only in ("", statistic) and line.keys() >= {result, *parts}:
            value = summary(cells[line[name]] for name in parts)
            yield cells.check(line[result], relation, value)


def least_contradicted(readings: Mapping[str, Sequence[Finding]]) -> str:
    """The first of the readings of a whole table that contradict least."""

    def contradictions(name: str) -> int:
        return sum(finding.verdict == CONTRADICTS for finding in readings[name])

    return min(readings, key=contradictions)


def differences(
    tables: Tables,
    table: str,
    results: Mapping[str, Sequence[str]],
    readings: Mapping[str, Sequence[str]],
    statistic: str,
) -> Iterator[Finding]:
    """Whether each row of `results` is the best of a reading's rows less the best of
    its own, column by column.

    One reading holds for the whole table: the one that contradicts least. What others
    give stands in the note.
    """
    cells = tables[table]
    found_by: dict[str, list[Finding]] = {}
    for name, rows in readings.items():
        found_by[name] = []
        for result, rivals in results.items():
            relation = f"{name} - best of {len(rivals)} rows"
            for key in cells.pick(result):
                best = cells.best(rows, key[1], statistic)
                best_rival = cells.best(rivals, key[1], statistic)
                finding = cells.check(key, relation, best - best_rival)
                found_by[name].append(finding)
    for position, finding in enumerate(found_by[least_contradicted(found_by)]):
        notes = [finding.note]
        for name, of_reading in found_by.items():
            value = of_reading[position].numbers[0]
            if value != finding.numbers[0]:
                notes.append(f"{name} gives {value:.6g}")
        yield dataclasses.replace(finding, note=joined(*notes))


def percent_changes(
    tables: Tables,
    table: str,
    result: str,
    new: Sequence[str],
    old: str,
    statistics: Mapping[str, str],
) -> Iterator[Finding]:
    """Whether the row `result` is the change from the row `old` to a row of `new` in
    percent of the old value.

    Of several `new` rows the one that contradicts least is taken, and it must have the
    best mean of one of the statistics, or of all. `statistics`: statistic of the result
    -> statistic of the rows.
    """
    cells = tables[table]
    cells.known("row", [result, old, *new])
    lines = {}
    for key in cells.pick(result):
        _, column, statistic = key
        if statistic in statistics:
            lines[key] = (column, statistics[statistic])
    found_by: dict[str, list[Finding]] = {}
    for row in new:
        found_by[row] = []
        for key, line in lines.items():
            change = (cells[row, *line] / cells[old, *line] - 1) * 100
            relation = f"percent change from {old} to {row}"
            found_by[row].append(cells.check(key, relation, change))
    chosen = least_contradicted(found_by)
    yield from found_by[chosen]
    if len(new) == 1:
        return
    best = set()
    for name in (*statistics.values(), "all"):
        compared = [line for line in lines.values() if name in ("all", line[1])]
        means = _means(cells, new, compared)
        first = max(new, key=lambda row: means[row].face)
        best.add(first)
    texts = []
    for row, mean in means.items():
        texts.append(f"{row.rpartition(' | ')[2]} {float(mean.face):.4f}")
    yield Finding(
        result,
        "of the best overall row",
        chosen,
        means[first],
        HOLDS if chosen in best else CONTRADICTS,
        f"means {', '.join(texts)}",
    )


def _means(
    cells: Cells, rows: Sequence[str], lines: Sequence[Key]
) -> dict[str, Quantity]:
    """The mean of each row over some columns, each with a statistic."""
    means = {}
    for row in rows:
        means[row] = Quantity.mean(cells[row, *line] for line in lines)
    return means


def repeats(
    tables: Tables,
    table: str,
    source: str,
    rename: Mapping[str, Mapping[str, str]] | None = None,
    **only: Any,
) -> Iterator[Finding]:
    """Whether the cells that two tables print are the same.

    `rename`: axis -> {name here: name there}; `only`: row, column, statistic here.
    """
    cells = tables[table]
    source_cells = tables[source]
    renamed = rename or {}
    for key in cells.pick(**only):
        source_key = tuple(
            renamed.get(axis, {}).get(name, name)
            for axis, name in zip(KEY, key, strict=True)
        )
        if source_key in source_cells:
            printed = source_cells[source_key]
            judged = same(cells[key], printed)
            yield cells.finding(key, f"same as {source}", printed, judged)


def equal(
    tables: Tables, table: str, of: Sequence[Any], factors: Sequence[int] = ()
) -> Iterator[Finding]:
    """Whether the same figure or word, printed in several places, is the same: each
    after the first against the first.

    `of`: a pick each; one that names several cells stands for each of them. `factors`:
    by place, for other signs.
    """
    places: list[tuple[Cells, Key]] = []
    for source, *names in of:
        row, *further_names = names or [ANY]
        # Several rows come in the order of the relation, not in the printed one.
        for name in row if isinstance(row, list) else [row]:
            pick = (source, name, *further_names)
            cells, keys = tables.pick(pick, words=True)
            places += [(cells, key) for key in keys]
    factors = list(factors) or [1] * len(places)
    first_cells, first_key = places[0]
    first_text = first_cells.all[first_key]
    name = place(first_cells.name, *first_key)
    if first_cells.name == SAID:
        name = place(first_key[0])
    relation = f"same as {name}"
    numeric = all(key in cells for cells, key in places)
    for (cells, key), factor in zip(places[1:], factors[1:], strict=True):
        if numeric:
            first = first_cells[first_key] * factors[0]
            judged = same(cells[key] * factor, first)
            yield cells.finding(key, relation, first / factor, judged)
        else:
            judged = HOLDS if cells.all[key] == first_text else CONTRADICTS
            note = f"there: {first_text}"
            yield cells.finding(key, relation, None, judged, note)


def value(
    tables: Tables,
    kind: str,
    of: Sequence[Any],
    without: Sequence[str] = (),
    mean: bool = False,
) -> Quantity:
    """What the cells of some picks give: a pick is (table, row, column, statistic), or
    an exact number.

    `total`, `product`: of all; `difference`, `percent`, `loss`: of the best (`mean`:
    the mean) of the first pick and of the second; `share`: the sum of the first in
    percent of that of the second; `rows`, `columns`, `cells`: how many with a number,
    those of `without` left out; `names`: how many different ones stand in cells of
    comma-separated names.
    """
    if kind in (*PARTS, "names"):
        return Quantity.exactly(_distinct(tables, kind, of, without))
    groups = []
    for pick in of:
        if isinstance(pick, int | float):
            groups.append([Quantity.exactly(pick)])
        else:
            cells, keys = tables.pick(pick)
            groups.append([cells[key] for key in keys])
    if kind == "total":
        return Quantity.total(itertools.chain(*groups))
    if kind == "product":
        return math.prod(itertools.chain(*groups), start=Quantity.exactly(1))
    if kind == "share":
        return Quantity.total(groups[0]) / Quantity.total(groups[1]) * 100
    of_group = Quantity.mean if mean else Quantity.largest
    first, second = map(of_group, groups)
    if kind == "difference":
        return first - second
    return (first / second - 1) * {"percent": 100, "loss": -100}[kind]


def _distinct(
    tables: Tables, kind: str, of: Sequence[Any], without: Sequence[str]
) -> int:
    """How many different rows, columns, cells or names some picks have."""
    distinct: set[Any] = set()
    for pick in of:
        cells, keys = tables.pick(pick, words=kind == "names")
        for key in keys:
            if kind == "names":
                distinct |= set(map(str.strip, cells.all[key].split(",")))
            elif not {*key} & {*without}:
                distinct.add((cells.name, *key[PARTS[kind]]))
    return len(distinct)


def follows(
    tables: Tables,
    table: str,
    printed: Sequence[Any],
    readings: Mapping[str, Mapping[str, Any]] | None = None,
    compare: str = "=",
    words: str = "",
    **options: Any,
) -> Iterator[Finding]:
    """Whether printed numbers are what other cells give; `options`, or each of
    `readings`, are those of `value`.

    `compare`: "=", or ">" where the text says "over" the printed number.
    """
    readings = readings or {"": options}
    values = {name: value(tables, **reading) for name, reading in readings.items()}
    words = words or " or ".join(reading["kind"] for reading in readings.values())
    cells, keys = tables.pick(printed)
    for key in keys:
        if compare == "=":
            yield cells.check(key, words, values.get("", values))
        else:
            best = Quantity.largest(values.values())
            judged = above(best - cells[key].face)
            yield cells.finding(key, f"{words} is over it", best, judged)


def different(
    tables: Tables, table: str, of: Sequence[Any], says: str
) -> Iterator[Finding]:
    """Whether different worked examples have texts of their own: no two of
    the picked cells are equal.
    """
    cells, keys = tables.pick(of, words=True)
    first_of_text: dict[str, Finding] = {}
    for key in keys:
        finding = cells.finding(key, says, None, CONTRADICTS)
        first = first_of_text.setdefault(finding.printed, finding)
        if first is not finding:
            yield dataclasses.replace(finding, note=f"the same in {first.place}")
    if len(first_of_text) == len(keys):
        first = first_of_text[cells.all[keys[0]]]
        yield dataclasses.replace(first, printed=f"{len(keys)} texts", verdict=HOLDS)
