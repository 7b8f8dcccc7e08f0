"""Tables in Markdown that fit the page of a code host: one that is too wide is shown as
several, each with the columns that name its rows.
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
_WIDTHS = {"I": 6, **dict.fromkeys("().,:;'|[]ijlt ", 5), **dict.fromkeys("mw", 13)}
_CAPITAL = 11.5
_OTHER = 8.9
_BOLD = 1.07  # how much wider


def least_width(cells: Sequence[str]) -> float:
    """The pixels that a column needs: its longest word and the space beside it. The
    head, which is first, is bold.
    """
    widest = 0.0
    factor = _BOLD
    for cell in cells:
        for word in re.split(r"[ -]", cell.replace("\\", "")):
            width = 0.0
            for character in word:
                usual = _CAPITAL if character.isupper() else _OTHER
                width += _WIDTHS.get(character, usual)
            widest = max(widest, factor * width)
        factor = 1.0  # only the head is bold
    return widest + _SPACE


def markdown(
    head: Sequence[str],
    lines: Sequence[Sequence[str]],
    names: int = 1,
    groups: Sequence[str] = (),
) -> str:
    """The table in Markdown, in several parts where it is too wide, each without the
    rows that are empty in it.

    head, lines: texts that are escaped already.
    names: how many of the first columns name the rows and stand in every part.
    groups: of the further columns; those of one group are in one part where they fit.
    """
    lines = _whole_names(lines, names)
    columns = list(zip(head, *lines, strict=True))
    widths = [least_width(column) for column in columns]
    parts = []
    for chosen in _parts(widths, names, groups):
        in_part = [*range(names), *chosen]
        rows = []
        for line in lines:
            if any(line[column] for column in chosen):
                rows.append([line[column] for column in in_part])
        heads = [head[column] for column in in_part]
        parts.append(files.markdown_table(heads, rows))
    return "\n\n".join(parts)


def _whole_names(lines: Sequence[Sequence[str]], names: int) -> list[list[str]]:
    """The lines, an empty name left of a line's last one filled from the line above."""
    filled_lines: list[list[str]] = []
    for line in lines:
        filled = list(line)
        # Only left of its name: what is empty right of it is spanned by the name.
        with_name = [column for column in range(names) if line[column]]
        for column in range(max(with_name, default=0)):
            if not line[column] and filled_lines:
                filled[column] = filled_lines[-1][column]
        filled_lines.append(filled)
    return filled_lines


def _parts(
    widths: Sequence[float], names: int, groups: Sequence[str]
) -> list[list[int]]:
    """The columns of each part, by number, without those that name the rows."""
    columns = list(range(names, len(widths)))
    # Long names leave a third of the window all the same.
    beside_names = WINDOW - _sum(widths, range(names))
    room = max(beside_names, WINDOW / 3)
    total = _sum(widths, columns)
    if total <= room:
        return [columns]
    # Parts of about equal width, as few as will do.
    fewest = math.ceil(total / room)
    target = total / fewest
    parts: list[list[int]] = [[]]
    for unit in _units(columns, widths, groups, room):
        width = _sum(widths, unit)
        filled = _sum(widths, parts[-1])
        is_full = filled + width > room or filled >= target
        if parts[-1] and is_full:
            parts.append([])
        parts[-1] += unit
    return parts


def _sum(widths: Sequence[float], columns: Iterable[int]) -> float:
    """The pixels of these columns, rounded alike by all versions of Python."""
    return math.fsum(widths[column] for column in columns)


def _units(
    columns: Sequence[int], widths: Sequence[float], groups: Sequence[str], room: float
) -> list[list[int]]:
    """The columns that are not parted: those of a group as far as they fit."""
    units: list[list[int]] = []
    for place, column in enumerate(columns):
        is_same_group = place and groups and groups[place] == groups[place - 1]
        if is_same_group and _sum(widths, [*units[-1], column]) <= room:
            units[-1].append(column)
        else:
            units.append([column])
    return units
