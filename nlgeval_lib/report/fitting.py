"""Tables in Markdown that fit the page of a code host: one that would be wider than the
window is shown as several, each with the columns that name its rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from nlgeval_lib import files

# Pixels of a code host's page, and of the space beside a cell.
WINDOW = 840
_SPACE = 28
# Pixels of a character in the font of a code host; a head is bold, and wider.
_WIDTHS = {"I": 6} | dict.fromkeys("().,:;'|[]ijlt ", 5) | dict.fromkeys("mw", 13)
_CAPITAL = 11.5
_OTHER = 8.9
_BOLD = 1.07


def least_width(cells: Sequence[str]) -> float:
    """The pixels that a column needs, its head first: its longest word, as cells break
    at blanks and hyphens.
    """
    widest = 0.0
    for place, cell in enumerate(cells):
        bold = 1.0 if place else _BOLD
        for word in re.split(r"[ -]", cell.replace("\\", "")):
            widest = max(widest, bold * _pixels(word))
    return widest + _SPACE


def _pixels(word: str) -> float:
    width = 0.0
    for character in word:
        usual = _CAPITAL if character.isupper() else _OTHER
        width += _WIDTHS.get(character, usual)
    return width


def markdown(
    head: Sequence[str],
    lines: Sequence[Sequence[str]],
    names: int = 1,
    groups: Sequence[str] = (),
) -> str:
    """The table in Markdown, in several parts where it is too wide.

    names: how many of the first columns name the rows and stand in every part. groups:
    of the further columns, the group of each; columns of one group are in one part
    where they fit.
    """
    lines = _whole_names(lines, names)
    columns = list(zip(head, *lines, strict=True))
    widths = [least_width(column) for column in columns]
    parts = []
    for chosen in _parts(widths, names, groups):
        kept = [*range(names), *chosen]
        part = []
        for line in lines:
            if any(line[column] for column in chosen):
                part.append([line[column] for column in kept])
        parts.append(files.markdown_table([head[column] for column in kept], part))
    return "\n\n".join(parts)


def _whole_names(lines: Sequence[Sequence[str]], names: int) -> list[list[str]]:
    """The lines with the groups of each row's name: an empty one left of its name is
    that of the line above.
    """
    whole: list[list[str]] = []
    for line in lines:
        filled = list(line)
        named = [column for column in range(names) if line[column]]
        for column in range(max(named, default=0)):
            if not line[column] and whole:
                filled[column] = whole[-1][column]
        whole.append(filled)
    return whole


def _parts(
    widths: Sequence[float], names: int, groups: Sequence[str]
) -> list[list[int]]:
    """The columns of each part, without those that name the rows."""
    columns = list(range(names, len(widths)))
    room = max(WINDOW - _sum(widths, range(names)), WINDOW / 3)
    total = _sum(widths, columns)
    if total <= room:
        return [columns]
    target = total / math.ceil(total / room)
    parts: list[list[int]] = [[]]
    for unit in _units(columns, widths, groups, room):
        wide = _sum(widths, unit)
        taken = _sum(widths, parts[-1])
        if parts[-1] and (taken + wide > room or taken >= target):
            parts.append([])
        parts[-1] += unit
    return parts


def _sum(widths: Sequence[float], columns: Iterable[int]) -> float:
    """The pixels of these columns. `sum` rounds otherwise from Python 3.12 on, and a
    table must break at the same column on all versions.
    """
    return math.fsum(widths[column] for column in columns)


def _units(
    columns: Sequence[int], widths: Sequence[float], groups: Sequence[str], room: float
) -> list[list[int]]:
    """The columns that are not parted: those of a group as far as they fit."""
    units: list[list[int]] = []
    for place, column in enumerate(columns):
        same = place and groups and groups[place] == groups[place - 1]
        if same and _sum(widths, [*units[-1], column]) <= room:
            units[-1].append(column)
        else:
            units.append([column])
    return units
