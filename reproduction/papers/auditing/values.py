"""One printed result from other printed numbers: averages, totals, differences,
percents, repeats.

In every rule `tables` are those of the paper and `table` is the name of the one that is
checked.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reproduction.papers.printed_tables import KEY

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
    """Whether a printed mean or total is that of its parts, line by line.

    result: the name of the mean or total on the axis.
    parts: the names of what it is of; lines without all of them are left out.
    kind: "mean" or "total".
    axis: "column" (the parts are columns of a row) or "row".
    only: the statistic that is checked; empty for all.
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
    """The first of the readings of a whole table that contradict least.

    readings: name -> findings.
    """

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

    results: row of a difference -> the rows whose best is taken off.
    readings: name -> the rows whose best it is taken off from.
    """
    cells = tables[table]
    findings_of: dict[str, list[Finding]] = {}
    for name, rows in readings.items():
        findings_of[name] = []
        for result, rivals in results.items():
            relation = f"{name} - best of {len(rivals)} rows"
            for key in cells.pick(result):
                _, column, _ = key
                best = cells.best(rows, column, statistic)
                best_rival = cells.best(rivals, column, statistic)
                finding = cells.check(key, relation, best - best_rival)
                findings_of[name].append(finding)
    chosen = least_contradicted(findings_of)
    for position, finding in enumerate(findings_of[chosen]):
        notes = [finding.note]
        for name, of_reading in findings_of.items():
            value, _, _ = of_reading[position].numbers
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
    """Whether a row is the change from one row to another, in percent of the first.

    Of several `new` rows the one that contradicts least is taken, and it must have the
    best mean of one of the statistics, or of all.

    statistics: statistic of the result -> statistic of the rows.
    """
    cells = tables[table]
    cells.known("row", [result, old, *new])
    # cell of the result -> column and statistic of the rows that it is of
    lines = {}
    for key in cells.pick(result):
        _, column, statistic = key
        if statistic in statistics:
            lines[key] = (column, statistics[statistic])
    findings_of: dict[str, list[Finding]] = {}
    for row in new:
        findings_of[row] = []
        for key, line in lines.items():
            change = (cells[row, *line] / cells[old, *line] - 1) * 100
            relation = f"percent change from {old} to {row}"
            findings_of[row].append(cells.check(key, relation, change))
    chosen = least_contradicted(findings_of)
    yield from findings_of[chosen]
    if len(new) > 1:
        # HD-Eval, captions of Tables 6 and 7: the gain of the best row overall.
        means_over = (*statistics.values(), "all")
        yield _of_best_row(cells, result, chosen, new, list(lines.values()), means_over)


def _of_best_row(
    cells: Cells,
    result: str,
    chosen: str,
    rows: Sequence[str],
    lines: Sequence[Key],
    means_over: Sequence[str],
) -> Finding:
    """Whether the chosen one of the rows is the best by one of several means."""
    best = set()
    for name in means_over:
        compared = [line for line in lines if name in ("all", line[1])]
        means = _means(cells, rows, compared)
        first = max(rows, key=lambda row: means[row].face)
        best.add(first)
    # The last means are those over all statistics.
    texts = []
    for row, mean in means.items():
        name = row.rpartition(" | ")[2]
        texts.append(f"{name} {float(mean.face):.4f}")
    return Finding(
        place=result,
        relation="of the best overall row",
        printed=chosen,
        value=means[first],
        verdict=HOLDS if chosen in best else CONTRADICTS,
        note=f"means {', '.join(texts)}",
    )


def _means(
    cells: Cells, rows: Sequence[str], lines: Sequence[Key]
) -> dict[str, Quantity]:
    """The mean of each row over some lines."""
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

    rename: axis -> {name here: name there}.
    only: row, column or statistic here, to check some cells alone.
    """
    cells = tables[table]
    source_cells = tables[source]
    renamed = rename or {}
    for key in cells.pick(**only):
        source_names = []
        for axis, name in zip(KEY, key, strict=True):
            names_there = renamed.get(axis, {})
            source_names.append(names_there.get(name, name))
        source_key = tuple(source_names)
        if source_key in source_cells:
            printed = source_cells[source_key]
            judged = same(cells[key], printed)
            yield cells.finding(key, f"same as {source}", printed, judged)


def equal(
    tables: Tables, table: str, of: Sequence[Any], factors: Sequence[int] = ()
) -> Iterator[Finding]:
    """Whether the same figure or word, printed in several places, is the same: each
    after the first against the first.

    of: a pick each; one that names several cells stands for each of them.
    factors: by place, for other signs; none: 1 each.
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
    # All others are held against the first.
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
    """What the cells of some picks give.

    kind: `total`, `product`: of all; `difference`, `percent`, `loss`: of the best of
    the first pick and that of the second; `share`: the sum of the first in percent of
    that of the second; `rows`, `columns`, `cells`: how many have a number; `names`: how
    many different ones stand in cells of comma-separated names.
    of: picks, each (table, row, column, statistic) or an exact number.
    without: names that are left out of a count of rows, columns or cells.
    mean: take the mean of a pick in place of its best.
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
    # Of all cells together.
    if kind == "total":
        return Quantity.total(itertools.chain(*groups))
    if kind == "product":
        return math.prod(itertools.chain(*groups), start=Quantity.exactly(1))
    if kind == "share":
        return Quantity.total(groups[0]) / Quantity.total(groups[1]) * 100
    # Of one number a group.
    of_group = Quantity.mean if mean else Quantity.largest
    first, second = map(of_group, groups)
    if kind == "difference":
        return first - second
    percent = {"percent": 100, "loss": -100}[kind]
    return (first / second - 1) * percent


def _distinct(
    tables: Tables, kind: str, of: Sequence[Any], without: Sequence[str]
) -> int:
    """How many different rows, columns, cells or names some picks have; arguments as
    for `value`.
    """
    distinct: set[Any] = set()
    for pick in of:
        cells, keys = tables.pick(pick, words=kind == "names")
        for key in keys:
            if kind == "names":
                names = cells.all[key].split(",")
                distinct |= set(map(str.strip, names))
            elif not {*key} & {*without}:
                counted_names = key[PARTS[kind]]
                distinct.add((cells.name, *counted_names))
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
    """Whether printed numbers are what other cells give.

    readings: name -> options of `value`; None: `options` are.
    compare: "=", or ">" where the text says "over" the printed number.
    words: the relation in words; empty: the kinds of the readings.
    """
    readings = readings or {"": options}
    values = {name: value(tables, **reading) for name, reading in readings.items()}
    words = words or " or ".join(reading["kind"] for reading in readings.values())
    cells, keys = tables.pick(printed)
    for key in keys:
        if compare == "=":
            # A single reading has no name.
            yield cells.check(key, words, values.get("", values))
        else:
            best = Quantity.largest(values.values())
            judged = above(best - cells[key].face)
            yield cells.finding(key, f"{words} is over it", best, judged)


def different(
    tables: Tables, table: str, of: Sequence[Any], says: str
) -> Iterator[Finding]:
    """Whether different worked examples, or runs, have cells of their own: no two of
    the picked ones are equal.
    """
    compared: list[Finding] = []
    first_of_text: dict[str, Finding] = {}
    for pick in of:
        cells, keys = tables.pick(pick, words=True)
        for key in keys:
            finding = cells.finding(key, says, None, CONTRADICTS)
            compared.append(finding)
            first = first_of_text.setdefault(finding.printed, finding)
            if first is not finding:
                yield dataclasses.replace(finding, note=f"the same in {first.place}")
    if len(first_of_text) == len(compared):
        texts = f"{len(compared)} texts"
        yield dataclasses.replace(compared[0], printed=texts, verdict=HOLDS)
