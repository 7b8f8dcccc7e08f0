"""Markdown tables as lines: the scores of a table under their names, and the entries of a table as a list."""

from __future__ import annotations

import re
from collections.abc import Callable

_TABLE = re.compile(
    r"^[ \t]*(?P<head>\|?[^\n|]*\|[^\n]*)\n[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t:-]*)*\n"
    r"(?P<rows>(?:[^\n|]*\|[^\n]*(?:\n|\Z))+)",
    re.M,
)
_SCORE = re.compile(r"(?:[a-z]+ )?(?:score|rating|grade|mark)s?\s*(?P<scale>[(\[][^()\[\]]*[)\]])?")
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")


def scores_as_lines(text: str) -> str:
    """Readable lower case text whose tables with a score in each row, or in each column, are lines `name: score`."""
    return _each(text, _scores)


def rows_as_list(text: str) -> str:
    """Readable text whose tables are lists `- name: what the next column says`."""
    return _each(text, _entries)


def rows_as_fields(text: str, known: Callable[[str], bool]) -> str:
    """Readable text whose tables with two `known` names or more in their head are lines `name: cell`, row by row."""

    def lines(head: list[str], rows: list[list[str]]) -> list[str]:
        places = [place for place, name in enumerate(head) if known(_bare(name))]
        if len(places) < 2:
            return []
        return [f"{_bare(head[place])}: {row[place]}" for row in rows for place in places if place < len(row)]

    return _each(text, lines)


def _each(text: str, lines: Callable[[list[str], list[list[str]]], list[str]]) -> str:
    """The text with each table that `lines` makes lines of (from its head and its rows) replaced by them."""
    if "|" not in text or "--" not in text:
        return text

    def one(table: re.Match) -> str:
        found = lines(_cells(table["head"]), [_cells(row) for row in table["rows"].strip("\n").split("\n")])
        return "\n" + "\n".join(found) + "\n" if found else table.group()

    return _TABLE.sub(one, text)


def _scores(head: list[str], rows: list[list[str]]) -> list[str]:
    places = [place for place, name in enumerate(head) if _SCORE.fullmatch(_bare(name))]
    if len(places) == 1 and all(len(row) > places[0] for row in rows):
        return [_line(head, row, places[0]) for row in rows]
    if not places and len(rows) == 1 and len(rows[0]) == len(head) and all(map(_LETTER.search, head)):
        return [f"{name}: {cell}" for name, cell in zip(head, rows[0], strict=True) if _DIGIT.search(cell)]
    return []


def _entries(head: list[str], rows: list[list[str]]) -> list[str]:
    named = [row[next((at for at, cell in enumerate(row) if _LETTER.search(cell)), len(row)) :] for row in rows]
    return [f"- {_bare(row[0])}: {row[1]}" for row in named if len(row) > 1]


def _line(head: list[str], row: list[str], place: int) -> str:
    names = [cell for at, cell in enumerate(row) if at != place and _LETTER.search(cell)]
    scale = _SCORE.fullmatch(_bare(head[place]))["scale"] or ""
    name = _bare(names[0]) if place and names else "score"
    return f"{name} {scale}: {row[place]}"


def _cells(line: str) -> list[str]:
    line = line.strip()
    return [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]


def _bare(cell: str) -> str:
    return cell.strip(" *_`")
