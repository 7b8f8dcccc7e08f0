"""Any frame as a table (`show`): HTML with a text form for terminals and one for
Markdown. Everything that comes from data is escaped.
"""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nlgeval_lib.files import printable
from nlgeval_lib.tables import fitting

if TYPE_CHECKING:
    import pandas as pd

_SHEET = Path(__file__).parent / "table.css"
STYLE = f"<style>\n{_SHEET.read_text(encoding='utf-8')}</style>"
# The title of what is folded below a table.
DETAILS = "Every reason in full, and how each number was computed"


@dataclass(frozen=True, slots=True)
class Table:
    """A table that a notebook shows as HTML, a terminal as text, a code host as
    Markdown.

    html: the table with its notes, details and style. text: without the details.
    markdown: the table alone. details: what a page folds away.
    caption, lines: what stands above it, how many rows it has. Only `show` fills them.
    """

    html: str
    text: str
    markdown: str = ""
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    caption: str = ""
    lines: int = 0

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


class Cell(NamedTuple):
    """One cell in both forms."""

    text: str  # for a terminal
    html: str  # with its element, <td> or <th>; empty where a cell to the left spans it


class Drawn(NamedTuple):
    """The parts of a table, before it gets its forms.

    top: its head as HTML, one or more <tr>. names: how many first columns name the
    rows.
    groups: the group of each further column, for where a wide table may be broken.
    """

    heads: list[str]
    top: str
    body: list[list[Cell]]
    names: int = 0
    groups: Sequence[str] = ()


def esc(value: Any) -> str:
    """`value` as text that HTML shows and never runs; None as empty text."""
    return html.escape("" if value is None else str(value), quote=True)


def for_markdown(text: str) -> str:
    r"""The text on one line with what Markdown or HTML would read as a mark escaped.

    Example:
    >>> print(for_markdown("a|b *c*"))
    a\|b \*c\*
    """
    escaped = html.escape(printable(text), quote=False)
    return re.sub(r"([\\`*\[\]|~])", r"\\\1", escaped)


def show(
    frame: pd.DataFrame,
    caption: str = "",
    digits: int = 3,
    notes: Iterable[str] = (),
    classes: Callable[[str, Any], str | None] = lambda column, value: None,
    rows: int = 200,
) -> Table:
    """Any frame in the project's style: floats with `digits` decimals, a dash for what
    is missing, no index.

    p-values (columns `p`, `p_...`, `p (...`) below .001 are shown as "< .001", and a
    whole number in a column `n` without decimals.

    classes: the shade of a cell by its column and value: equal, follows, near, off,
    far, missing, or None.
    rows: at most so many are shown, and a note says how many are not.
    """
    names = [str(column) for column in frame.columns]
    heads = []
    for name in names:
        words = name.replace("_", " ")
        heads.append(_HEADS.get(name, words))
    body = []
    for values in frame.iloc[:rows].itertuples(index=False, name=None):
        line = []
        for name, value in zip(names, values, strict=True):
            readable = _readable(name, value)
            line.append(_plain_cell(readable, digits, classes(name, readable)))
        body.append(line)
    below = [*notes]
    if len(frame) > rows:
        below.append(f"{len(frame) - rows} further rows are not shown.")
    drawn = Drawn(heads, head(heads), body, _naming(frame))
    table = joined([in_forms(drawn, caption)], below)
    return dataclasses.replace(table, caption=caption, lines=len(body))


def _readable(name: str, value: Any) -> Any:
    """A p-value that is not shown as 0, or a count; every other value stays."""
    if name == "p" or name.startswith(("p_", "p (")):
        return "< .001" if isinstance(value, float) and value < 0.001 else value
    # Counts are floats in a column with a gap: pandas has no missing whole number.
    if name == "n" and isinstance(value, float) and value.is_integer():
        return f"{value:,.0f}"
    return value


# What a column is called above a table where it is not its own name.
_HEADS = {"p_holm": "p (Holm)", "p_bh": "p (BH)"}


def _naming(frame: pd.DataFrame) -> int:
    """How many of the first columns, three at most, name the rows: those of words."""
    import pandas as pd

    number = 0
    for name in frame.columns[:3]:
        if pd.api.types.is_numeric_dtype(frame[name]):
            break
        number += 1
    most = max(0, len(frame.columns) - 1)
    return min(number, most)


def _plain_cell(value: Any, digits: int, shade: str | None) -> Cell:
    """A value of any frame; texts, long ones and words, are set apart from numbers."""
    import numpy as np
    import pandas as pd

    form = ""
    if isinstance(value, str):
        form = "text" if len(value) > 24 else "word"
    text = str(value)
    if pd.api.types.is_scalar(value) and pd.isna(value):
        text = "–"
    elif isinstance(value, float | np.floating):
        text = f"{value:,.{digits}f}"
    kinds = " ".join(filter(None, [form, shade]))
    attribute = f' class="{kinds}"' if kinds else ""
    return Cell(text, f"<td{attribute}>{esc(text)}</td>")


def head(names: Iterable[str]) -> str:
    """A head of one line as HTML."""
    cells = [f"<th>{esc(name)}</th>" for name in names]
    return f"<tr>{''.join(cells)}</tr>"


def in_forms(drawn: Drawn, caption: str) -> Table:
    """One table without its notes, in its three forms."""
    rows = ""
    # Texts of data may hold control characters, which would drive a terminal.
    grid = [list(map(printable, drawn.heads))]
    for line in drawn.body:
        cells = "".join(cell.html for cell in line)
        rows += f"<tr>{cells}</tr>"
        grid.append([printable(cell.text) for cell in line])
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    aligned = []
    for texts in grid:
        padded = map(str.ljust, texts, widths)
        aligned.append("  ".join(padded).rstrip())
    names, *lines = [list(map(for_markdown, line)) for line in grid]
    markdown = fitting.markdown(names, lines, drawn.names, drawn.groups)
    title = ""
    if caption:
        title = f"<caption>{esc(caption)}</caption>"
        aligned.insert(0, caption)
        markdown = f"**{for_markdown(caption)}**\n\n{markdown}"
    inner = f"{title}<thead>{drawn.top}</thead><tbody>{rows}</tbody>"
    table = f'<div class="nlgeval-box"><table class="nlgeval">{inner}</table></div>'
    return Table(table, "\n".join(aligned), markdown)


def joined(
    parts: Sequence[Table],
    notes: Sequence[str],
    between: str = "\n",
    details: Sequence[str] = (),
) -> Table:
    """Tables, sentences below all of them, and details that HTML folds away; between:
    what parts the tables' texts for a terminal.
    """
    joined_html = STYLE + "".join(part.html for part in parts)
    if notes:
        foot = "".join(f"<div>{esc(note)}</div>" for note in notes)
        joined_html += f'<div class="nlgeval-notes">{foot}</div>'
    if details:
        items = "".join(f"<div>{esc(line)}</div>" for line in details)
        folded = f"<details><summary>{DETAILS}</summary>{items}"
        joined_html += f'<div class="nlgeval-notes">{folded}</details></div>'
    text = between.join(part.text for part in parts)
    markdown = "\n\n".join(part.markdown for part in parts)
    text = "\n".join(filter(None, [text, *notes]))
    return Table(joined_html, text, markdown, tuple(notes), tuple(details))
