"""One printed result from other printed numbers: averages, totals, differences,
percents, repeats.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nlgeval_lib.papers.tables import KEY

from .cells import (
    ANY,
    CONTRADICTS,
    HOLDS,
    SAID,
    Finding,
    Quantity,
    Tables,
    above,
    joined,
    place,
    same,
)

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
    made = {"mean": Quantity.mean, "total": Quantity.total}[kind]
    cells.known(axis, [result, *parts])
    for (_, statistic), line in cells.lines(axis):
        if only in ("", statistic) and line.keys() >= {result, *parts}:
            value = made(cells[line[name]] for name in parts)
            yield cells.check(line[result], f"{kind} of {len(parts)} {axis}s", value)


def least_contradicted(found: Mapping[str, Sequence[Finding]]) -> str:
    """The first of the readings of a whole table that contradict least."""
    return min(
        found, key=lambda name: sum(one.verdict == CONTRADICTS for one in found[name])
    )


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
    give is told in the note.
    """
    cells = tables[table]
    found: dict[str, list[Finding]] = {name: [] for name in readings}
    for name, (result, others) in itertools.product(readings, results.items()):
        for key in cells.pick(result):
            ours, theirs = (
                cells.best(group, key[1], statistic)
                for group in (readings[name], others)
            )
            found[name].append(
                cells.check(key, f"{name} - best of {len(others)} rows", ours - theirs)
            )
    for at, one in enumerate(found[least_contradicted(found)]):
        values = {name: other[at].numbers[0] for name, other in found.items()}
        others = [
            f"{name} gives {value:.6g}"
            for name, value in values.items()
            if value != one.numbers[0]
        ]
        yield dataclasses.replace(one, note=joined(one.note, *others))


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
    lines = {
        key: (key[1], statistics[key[2]])
        for key in cells.pick(result)
        if key[2] in statistics
    }
    found: dict[str, list[Finding]] = {row: [] for row in new}
    for row, (key, line) in itertools.product(new, lines.items()):
        value = (cells[row, *line] / cells[old, *line] - 1) * 100
        found[row].append(
            cells.check(key, f"percent change from {old} to {row}", value)
        )
    chosen = least_contradicted(found)
    yield from found[chosen]
    if len(new) == 1:
        return
    best = set()
    for name in (*statistics.values(), "all"):
        those = [line for line in lines.values() if name in ("all", line[1])]
        means = {row: Quantity.mean(cells[row, *line] for line in those) for row in new}
        first = max(means, key=lambda row: means[row].face)
        best.add(first)
    told = ", ".join(
        f"{row.rpartition(' | ')[2]} {float(one.face):.4f}"
        for row, one in means.items()
    )
    said = HOLDS if chosen in best else CONTRADICTS
    yield Finding(
        result, "of the best overall row", chosen, means[first], said, f"means {told}"
    )


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
    one = tables[table]
    two = tables[source]
    for key in one.pick(**only):
        there = tuple(
            (rename or {}).get(axis, {}).get(name, name)
            for axis, name in zip(KEY, key, strict=True)
        )
        if there in two:
            yield one.finding(
                key, f"same as {source}", two[there], same(one[key], two[there])
            )


def equal(
    tables: Tables, table: str, of: Sequence[Any], factors: Sequence[int] = ()
) -> Iterator[Finding]:
    """Whether the same figure or word, printed in several places, is the same: each
    after the first against the first.

    `of`: a pick each; one that names several cells stands for each of them. `factors`:
    by place, for other signs.
    """
    places = []
    for source, *names in of:
        rows = names[0] if names and isinstance(names[0], list) else [*names, ANY][:1]
        for row in rows:  # in the given order, not in the printed one
            cells, keys = tables.pick((source, row, *names[1:]), words=True)
            places += [(cells, key) for key in keys]
    factors = list(factors) or [1] * len(places)
    cells, key = places[0]
    words = (
        f"same as {place(key[0]) if cells.name == SAID else place(cells.name, *key)}"
    )
    numeric = all(one in there for there, one in places)
    for (there, one), factor in zip(places[1:], factors[1:], strict=True):
        if numeric:
            first = cells[key] * factors[0]
            yield there.finding(
                one, words, first / factor, same(there[one] * factor, first)
            )
        else:
            said = HOLDS if there.all[one] == cells.all[key] else CONTRADICTS
            yield there.finding(one, words, None, said, f"there: {cells.all[key]}")


def value(
    tables: Tables,
    kind: str,
    of: Sequence[Any],
    without: Sequence[str] = (),
    mean: bool = False,
) -> Quantity:
    """What the cells of some picks give: a pick is (table, row, column, statistic), or
    an exact number.

    `total`, `product`: of all; `difference`, `percent`, `loss`: of the best (`mean`: the mean) of the first pick and of
    the second; `share`: the sum of the first in percent of that of the second; `rows`, `columns`, `cells`: how many
    with a number, those of `without` left out; `names`: how many different ones stand in cells of comma-separated
    names.
    """
    if kind in (*PARTS, "names"):
        picked = [
            (cells, key)
            for pick in of
            for cells, keys in [tables.pick(pick, kind == "names")]
            for key in keys
        ]
        if kind == "names":
            return Quantity.exactly(
                len(
                    {
                        name.strip()
                        for cells, key in picked
                        for name in cells.all[key].split(",")
                    }
                )
            )
        return Quantity.exactly(
            len(
                {
                    (cells.name, *key[PARTS[kind]])
                    for cells, key in picked
                    if not {*key} & {*without}
                }
            )
        )
    groups = []
    for pick in of:
        number = isinstance(pick, int | float)
        cells, keys = (None, []) if number else tables.pick(pick)
        groups.append(
            [Quantity.exactly(pick)] if cells is None else [cells[key] for key in keys]
        )
    if kind == "total":
        return Quantity.total(itertools.chain(*groups))
    if kind == "product":
        return math.prod(itertools.chain(*groups), start=Quantity.exactly(1))
    if kind == "share":
        return Quantity.total(groups[0]) / Quantity.total(groups[1]) * 100
    new, old = map(Quantity.mean if mean else Quantity.largest, groups)
    return (
        new - old
        if kind == "difference"
        else (new / old - 1) * {"percent": 100, "loss": -100}[kind]
    )


def follows(
    tables: Tables,
    table: str,
    printed: Sequence[Any],
    readings: Mapping[str, Mapping[str, Any]] | None = None,
    compare: str = "=",
    words: str = "",
    **how: Any,
) -> Iterator[Finding]:
    """Whether printed numbers are what other cells give; `how`, or each of `readings`,
    are options of `value`.

    `compare`: "=", or ">" where the text says "over" the printed number.
    """
    options = readings or {"": how}
    values = {name: value(tables, **one) for name, one in options.items()}
    words = words or " or ".join(one["kind"] for one in options.values())
    cells, keys = tables.pick(printed)
    for key in keys:
        if compare == "=":
            yield cells.check(key, words, values.get("", values))
        else:
            best = Quantity.largest(values.values())
            yield cells.finding(
                key, f"{words} is over it", best, above(best - cells[key].face)
            )


def different(
    tables: Tables, table: str, of: Sequence[Any], says: str
) -> Iterator[Finding]:
    """Whether worked examples that are told apart have texts of their own: no two of
    the picked cells are equal.
    """
    cells, keys = tables.pick(of, words=True)
    found = [cells.finding(key, says, None, CONTRADICTS) for key in keys]
    seen: dict[str, Finding] = {}
    for one in found:
        if (first := seen.setdefault(one.printed, one)) is not one:
            yield dataclasses.replace(one, note=f"the same in {first.place}")
    if len(seen) == len(keys):
        yield dataclasses.replace(found[0], printed=f"{len(keys)} texts", verdict=HOLDS)
