"""Error analyses in other layouts, a table or all fields in one line, as the lines of labels that are read."""

from __future__ import annotations

import re

from nlgeval_lib.parsers import tables
from nlgeval_lib.parsers.error_fields import ANY_NAME, field_of
from nlgeval_lib.parsers.text import readable

# a label in the middle of a line, after what ends the field before it
_INSIDE = re.compile(
    rf"(?<=\S)[ \t]{{0,3}}(?:[;,|][ \t]{{1,3}}|[ \t]{{1,3}})"
    rf"(?=[*_]{{0,3}}(?:{ANY_NAME})[ \t]?\#?\d{{0,3}}[*_]{{0,3}}[ \t]?:)",
    re.I,
)
_HEADER = re.compile(r"^[^\n]{0,80}?\berrors?, with a total score reduction of\b", re.I | re.M)
_HEADER_WORDS = "with a total score reduction"


def as_lines(text: str) -> str:
    """The text with every row of a table of errors, and every label inside a line, as lines `label: content`."""
    if "|" in text:
        text = tables.rows_as_fields(readable(text), lambda name: field_of(name) is not None)
    return _INSIDE.sub("\n", text)


def analyses(text: str) -> list[str]:
    """The parts of a text that begin with a header each, where there are several; else the whole text."""
    if text.count(_HEADER_WORDS) < 2:
        return [text]
    starts = [match.start() for match in _HEADER.finditer(text)]
    ends = [*starts[1:], len(text)]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=False)]
    return parts if len(parts) > 1 else [text]
