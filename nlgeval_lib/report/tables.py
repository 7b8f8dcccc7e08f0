"""Tables for a notebook: printed beside ours, and plain frames, as HTML with a text
form for terminals.

Everything that comes from data is escaped. Meaning never hangs on colour alone: each
cell carries a mark.
"""

from __future__ import annotations

import dataclasses
import html
import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nlgeval_lib import papers
from nlgeval_lib.files import printable
from nlgeval_lib.report import fitting

_SHEET = Path(__file__).parent / "site" / "table.css"
STYLE = f"<style>\n{_SHEET.read_text(encoding='utf-8')}</style>"
# What each mark of a comparison means, in the order in which a legend lists them.
MARKS = {
    "=": "equal to the last printed digit, or by the way in which the paper rounds",
    "≙": "follows from other printed numbers",
    "∈": "no farther from the printed number than two runs of one judge lie apart",
    "∉": "farther from it than two runs of one judge lie apart",
    "?": "not known how far two runs lie apart",
    "○": "another judge, prompt or run: no verdict",
    "≡": "equal by construction, not counted",
    "()": "printed, and nothing computed here",
    "": "a number alone: not in the paper",
}
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_NOTES = 8
# What is folded below a table.
DETAILS = "Every reason in full, and how each number was computed"


@dataclass(frozen=True, slots=True)
class Table:
    """A table that a notebook shows as HTML, a terminal as text, a code host as
    Markdown with the notes apart.

    notes: sentences below it. details: what a page folds away, such as the whole
    reasons and signatures. caption: what stands above it. lines: how many rows it has.
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


class _Cell(NamedTuple):
    text: str  # for a terminal
    html: str


class _Drawn(NamedTuple):
    """The parts of a table: its column names for a terminal, its head as HTML, and the
    lines below them.

    names: how many columns name the rows. groups: those of the further columns.
    """

    heads: list[str]
    top: str
    body: list[list[_Cell]]
    names: int = 0
    groups: Sequence[str] = ()


# The distinct notes and their numbers, for marks in the cells and lines below.
_Notes = dict[str, int]


def esc(value: Any) -> str:
    """`value` as text that HTML shows and never runs."""
    return html.escape("" if value is None else str(value), quote=True)


def for_markdown(text: str) -> str:
    """The text on one line with what Markdown or HTML would read as a mark escaped."""
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

    classes: the shade of a cell by its column and value: equal, follows, near, off,
    far, missing, or None. rows: at most so many are shown, and a note says how many are
    not.
    """
    names = [str(column) for column in frame.columns]
    heads = [_HEADS.get(name, name.replace("_", " ")) for name in names]
    body = []
    for values in frame.iloc[:rows].itertuples(index=False, name=None):
        line = []
        for name, value in zip(names, values, strict=True):
            if name == "p" or name.startswith(("p_", "p (")):
                value = _p_text(value)
            elif name == "n" and isinstance(value, float) and value.is_integer():
                value = f"{value:,.0f}"  # a column with a gap holds no whole numbers
            line.append(
                _plain_cell(
                    value,
                    digits,
                    classes(name, value),
                )
            )
        body.append(line)
    below = [*notes]
    if len(frame) > rows:
        below.append(f"{len(frame) - rows} further rows are not shown.")
    drawn = _Drawn(
        heads,
        _head(heads),
        body,
        _naming(frame),
    )
    table = joined([_table(drawn, caption)], below)
    return dataclasses.replace(
        table,
        caption=caption,
        lines=len(body),
    )


# What a column is called above a table.
_HEADS = {"p_holm": "p (Holm)", "p_bh": "p (BH)"}


def _naming(frame: pd.DataFrame) -> int:
    """How many of the first columns, three at most, name the rows: those of words."""
    number = 0
    for name in frame.columns[:3]:
        if pd.api.types.is_numeric_dtype(frame[name]):
            break
        number += 1
    return max(0, min(number, len(frame.columns) - 1))


def _p_text(p: Any) -> Any:
    """A p-value that is not shown as 0; what is not below .001 stays."""
    return "< .001" if isinstance(p, float) and p < 0.001 else p


def _plain_cell(value: Any, digits: int, shade: str | None) -> _Cell:
    """A value of any frame; texts, long ones and words, are set apart from numbers."""
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
    return _Cell(text, f"<td{attribute}>{esc(text)}</td>")


def comparison(
    cells: pd.DataFrame,
    caption: str = "",
    notes: Sequence[str] = (),
    layout: str = "auto",
) -> Table:
    """Printed beside ours: `cells` as `papers.compare` returns them, one or more
    tables.

    layout: "wide" repeats the printed table's rows and columns, "long" has a line a
    cell, "auto" chooses.
    Raises: ValueError for an empty frame or an unknown layout.
    """
    if layout not in ("auto", "wide", "long"):
        raise ValueError(f"layout {layout!r}; one of 'auto', 'wide', 'long'")
    if cells.empty:
        raise ValueError("there is no cell to show: compare first")
    cells = _noted(cells)
    numbered: _Notes = {}
    marks: set[str] = set()
    parts = []
    for (_, table), printed in cells.groupby(["paper", "table"], sort=False):
        title = caption
        if cells["table"].nunique() > 1:
            title = f"{caption} {titled(table)}".strip()
        for block in _blocks(printed):
            shown, empty = _own_first(block)
            parts.append(_table(_drawn(shown, layout, numbered), title))
            if len(empty):
                parts.append(_folded(empty, _drawn(empty, layout, {})))
            marks |= {_mark_of(cell) for cell in shown.itertuples(index=False)}
            title = ""
    meanings = []
    for mark, text in MARKS.items():
        if mark in marks:
            meanings.append(f"{mark} {text}".strip())
    below = [f"Ours, with the paper's number in brackets. {'; '.join(meanings)}."]
    below += [f"{_raised(number)} {note}" for note, number in numbered.items()]
    return joined(
        parts,
        [*below, *notes],
        "\n\n",
        _details(cells),
    )


def titled(table: str) -> str:
    """A printed table's id as readers name it: `Table 4` for `table_04`."""
    kind, _, number = table.partition("_")
    return f"{kind.capitalize()} {number.lstrip('0').replace('_', ' ')}".strip()


def _noted(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells with the column `note`: empty in rows that are folded."""
    is_shown = pd.Series(False, cells.index)
    for _, printed in cells.groupby(["paper", "table"], sort=False):
        for block in _blocks(printed):
            is_shown[_own_first(block)[0].index] = True
    notes = pd.Series("", cells.index)
    notes[is_shown] = notes_of(cells[is_shown])
    return cells.assign(note=notes)


def _own_first(block: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The cells to show, the own method's rows first, and those of the other rows of
    which nothing was computed but what follows from printed numbers.
    """
    is_own = block["kind"] == papers.OWN if "kind" in block else block["row"].isna()
    ours = block["ours"].where(block["route"] != "published")
    has_ours = ours.groupby(block["row"]).transform(lambda values: values.notna().any())
    if not (has_ours | is_own).any() or not (~has_ours & ~is_own).any():
        order = (~is_own).sort_values(kind="stable").index
        return block.loc[order], block.iloc[:0]
    shown = pd.concat([block[is_own], block[has_ours & ~is_own]])
    return shown, block[~has_ours & ~is_own]


def _drawn(block: pd.DataFrame, layout: str, numbered: _Notes) -> _Drawn:
    if layout == "wide" or (layout == "auto" and _fits_wide(block)):
        return _wide(block, numbered)
    return _long(block, numbered)


def _folded(block: pd.DataFrame, drawn: _Drawn) -> Table:
    """The printed rows of which nothing is computed here, opened by a click."""
    rows = list(dict.fromkeys(block["row"]))
    unit = "row" if len(rows) == 1 else "rows"
    title = f"{len(rows)} printed {unit} of which no score was computed here"
    table = _table(drawn, "")
    summary = f"<summary>{esc(title)}</summary>"
    return Table(
        f'<details class="nlgeval-empty">{summary}{table.html}</details>',
        f"{title}\n{table.text}",
        f"<details>{summary}\n\n{table.markdown}\n\n</details>",
    )


def notes_of(cells: pd.DataFrame) -> pd.Series:
    """What is said of each cell below the table, in a few words: at most MOST_NOTES
    different notes, one a reason.
    """
    notes = pd.Series(list(map(note, cells.itertuples(index=False))), cells.index)
    if notes[notes != ""].nunique() <= MOST_NOTES:
        return notes
    missing = cells["verdict"] == "missing"
    kinds = cells["reason"].map(papers.gap_of)
    kinds = kinds.map({**_PLAIN_GAPS, papers.OTHER_GAP: "not computed"})
    notes = notes.mask(missing, kinds)
    counts = notes[notes != ""].value_counts()
    rare = counts.index[MOST_NOTES - 1 :]
    return notes.mask(notes.isin(rare), "another reason: see below, or the CSV file")


# How a reader meets a gap where the models are not named.
_PLAIN_GAPS = {
    papers.NOT_PUBLISHED: "not published",
    papers.ELSEWHERE: "published, but the file cannot be reached from here",
    papers.NEEDS_RUN: "not run: needs a model that is not here",
    papers.NEEDS_WEIGHTS: "not computed: needs weights that are not here",
}
_MODEL = re.compile(
    r"no completions of (?P<run>\S+)|computed with (?P<weights>\S+) here"
)


_FEW = re.compile(r"(\d+) (systems|inputs): .*")
_LEFT_OUT = re.compile(
    r"without (.+?): (-?\d\.\d+), (outside the interval|no longer significant)"
)


def plain_reason(reason: str) -> str:
    """A reason of `meta` in a reader's words: few systems make an interval wide, one
    or two units move the estimate.
    """
    reason = _FEW.sub(r"The interval is limited by \1 \2.", reason)
    return _LEFT_OUT.sub(r"Without \1 it would be \2, which is \3.", reason)


def plain_gap(reason: str) -> str:
    """Why a number is missing, in a reader's words: which model was not run."""
    kind = papers.gap_of(reason)
    model = _MODEL.search(reason)
    if model and model["run"]:
        return f"not run: needs {model['run']}"
    if model and model["weights"]:
        return f"not computed: needs the weights of {model['weights']}"
    return _PLAIN_GAPS.get(kind) or reason or "no reason"


def note(cell: Any) -> str:
    """The note of one cell; a number that is equal needs none, but where it took a
    rounding to make it so.
    """
    if cell.verdict == "missing":
        return plain_gap(cell.reason).partition("; ")[0]
    if cell.verdict == "extra":
        return ""
    if cell.verdict == "equal":
        return ""
    return cell.reason.partition("; ")[0]


def _mark_of(cell: Any) -> str:
    """The mark of MARKS that a cell bears; empty for a number beside nothing printed."""
    if cell.verdict == "missing":
        return "()"
    return "" if cell.verdict == "extra" else _look(cell)[0] or "differs"


def _details(cells: pd.DataFrame) -> tuple[str, ...]:
    """The whole reasons with how many cells have each, and the signatures."""
    lines = []
    for reason, count in (
        cells.loc[cells["reason"] != "", "reason"].value_counts().items()
    ):
        lines.append(f"{count} cells: {reason}" if count > 1 else f"1 cell: {reason}")
    signatures = list(filter(None, cells["signature"].unique()))
    lines += [f"signature: {text}" for text in signatures[:4]]
    if len(signatures) > 4:
        lines.append(f"and {len(signatures) - 4} further signatures, in the CSV file")
    return tuple(lines)


def _blocks(printed: pd.DataFrame) -> list[pd.DataFrame]:
    """The cells of a printed table by statistic where no row has two of them, such as
    differences below coefficients; else all of them together.
    """
    blocks = [block for _, block in printed.groupby("statistic", sort=False)]
    rows = sum(block["row"].nunique() for block in blocks)
    return blocks if rows == printed["row"].nunique() else [printed]


def _fits_wide(block: pd.DataFrame) -> bool:
    """Whether the printed rows and columns are few and full enough to be repeated."""
    columns = len(block[["column", "statistic"]].drop_duplicates())
    return columns <= 16 and len(block) >= 0.4 * block["row"].nunique() * columns


def _wide(block: pd.DataFrame, numbered: _Notes) -> _Drawn:
    """The printed table's own rows and columns, with its groups of both."""
    columns = block[["column", "statistic"]].drop_duplicates()
    keys = list(columns.itertuples(index=False, name=None))
    several = block["statistic"].nunique() > 1
    heads = []
    for column, statistic in keys:
        head = column.split(" | ")
        if several:
            head.append(statistic)
        heads.append(head)
    labels = {row: row.split(" | ") for row in block["row"]}
    width = max(map(len, labels.values()))
    corner = "" if several else keys[0][1]
    cells: dict[tuple[str, ...], list[Any]] = {}
    for cell in block.itertuples(index=False):
        cells.setdefault((cell.row, cell.column, cell.statistic), []).append(cell)
    body = []
    line_above: list[str] = []
    for row, label in labels.items():
        beside = [cells.get((row, *key), ()) for key in keys]
        number = _row_note(beside, numbered)
        line = _row_names(
            label,
            line_above,
            width,
            number,
        )
        line_above = label
        for values in beside:
            line.append(
                _beside(
                    values,
                    {} if number else numbered,
                    not number,
                )
            )
        body.append(line)
    names = [""] * (width - 1) + [corner]
    for head in heads:
        names.append(" ".join(filter(None, head)).replace("_", " "))
    groups = [head[0] for head in heads]
    return _Drawn(
        names,
        _grouped_head(heads, corner, width),
        body,
        width,
        groups,
    )


def _row_note(row: Sequence[Sequence[Any]], numbered: _Notes) -> int:
    """The number of the one note that several cells of a row have; 0 where there is
    none, or each cell bears its own.
    """
    notes = [cells[0].note for cells in row if cells]
    if len(notes) < 2 or len(set(notes)) > 1 or not notes[0]:
        return 0
    return _note_number(notes[0], numbered)


def _grouped_head(heads: list[list[str]], corner: str, width: int) -> str:
    """The head of a wide table: a line a level, equal groups as one cell.

    corner: what stands below all levels over the rows' names, `width` columns of them.
    """
    depth = max(map(len, heads))
    filled = []
    for head in heads:
        filled.append(head[:-1] + [""] * (depth - len(head)) + head[-1:])
    top = ""
    for level in range(1, depth + 1):
        spans = [(corner if level == depth else "", width)]
        for path, group in itertools.groupby(head[:level] for head in filled):
            spans.append((path[-1], len(list(group))))
        line = [f'<th colspan="{size}">{esc(name)}</th>' for name, size in spans]
        top += f"<tr>{''.join(line)}</tr>"
    return top


def _row_names(
    label: list[str], line_above: list[str], width: int, number: int = 0
) -> list[_Cell]:
    """The groups of a row and its name with the number of its note, `width` cells; a
    group that the line above is in already stays empty.
    """
    cells = []
    *groups, name = label
    for level, group in enumerate(groups, 1):
        text = "" if label[:level] == line_above[:level] else group
        cells.append(_Cell(text, f"<th>{esc(text)}</th>"))
    span = width - len(groups)
    if number:
        name = f"{name} {_raised(number)}"
    cells.append(_Cell(name, f'<th colspan="{span}">{esc(name)}</th>'))
    return cells + [_Cell("", "")] * (width - len(label))


def _long(block: pd.DataFrame, numbered: _Notes) -> _Drawn:
    """A line a cell."""
    names = [
        "row",
        "column",
        "statistic",
        "printed",
        "ours",
        "n",
        "interval",
    ]
    body = []
    for cell in block.itertuples(index=False):
        line = []
        for text in (cell.row, cell.column, cell.statistic):
            line.append(_Cell(text, f'<td class="text">{esc(text)}</td>'))
        line.append(_bare(cell.printed))
        line.append(_cell(cell, numbered, below=False))
        line.append(_bare("" if pd.isna(cell.n) else str(cell.n)))
        line.append(_bare(_interval(cell)))
        body.append(line)
    return _Drawn(names, _head(names), body, 2)


def _bare(text: str) -> _Cell:
    return _Cell(text, f"<td>{esc(text)}</td>")


def _beside(cells: Sequence[Any], numbered: _Notes, noted: bool = True) -> _Cell:
    """All that we have for a printed number: what was derived or recorded, and below
    it the run. noted: whether it bears the number of its note.
    """
    if not cells:
        return _bare("")
    text, shown_html = _cell(cells[0], numbered, noted=noted)
    shown_html = shown_html.removesuffix("</td>")
    for cell in cells[1:]:
        line = f"{cell.route}: {_ours(cell)} {_look(cell)[0]}"
        text += f"; {line}"
        shown_html += f"<br><small>{esc(line)}</small>"
    return _Cell(text, f"{shown_html}</td>")


def _cell(cell: Any, numbered: _Notes, below: bool = True, noted: bool = True) -> _Cell:
    """Ours with its mark, the printed number in brackets where it is another, and the
    number of its reason.

    below: with the printed number. noted: with the number of the reason.
    """
    number = ""
    if noted and cell.note:
        number = f"\u00a0{_raised(_note_number(cell.note, numbered))}"
    if cell.verdict == "missing":
        text = f"({cell.printed}){number}" if below else f"–{number}"
        attributes = f'class="missing" title="{esc(cell.reason)}"'
        return _Cell(text, f"<td {attributes}>{esc(text)}</td>")
    ours = _ours(cell)
    mark, shade = _look(cell)
    n = "" if pd.isna(cell.n) else f"n {cell.n}"
    gap = "" if pd.isna(cell.difference) else f"ours less printed {cell.difference:.3g}"
    hints = [
        gap,
        cell.signature,
        n,
        _interval(cell),
        cell.route,
        cell.reason,
    ]
    attributes = f'class="{shade}" title="{esc("; ".join(filter(None, hints)))}"'
    text = f"{ours}\u00a0{mark}".rstrip() + number
    inner = esc(text)
    if below and cell.printed and _bare_number(ours) != _bare_number(cell.printed):
        text += f" ({cell.printed})"
        inner += f"<br><small>({esc(cell.printed)})</small>"
    return _Cell(text, f"<td {attributes}>{inner}</td>")


def _bare_number(text: str) -> str:
    """A number without what only helps to read it."""
    return text.replace(",", "").replace("−", "-").lstrip("+")


def _raised(number: int) -> str:
    """The number of a note, as a cell and the note bear it."""
    return str(number).translate(_SUPERSCRIPTS)


def _note_number(note: str, numbered: _Notes) -> int:
    """The number of a note, the next one where it is met first."""
    return numbered.setdefault(note, len(numbered) + 1)


def _look(cell: Any) -> tuple[str, str]:
    """What a cell is, in one sign, none where it differs; and its shade."""
    steps = abs(cell.difference) / float(papers.parse(cell.printed).unit)
    if steps <= 5:
        shade = "near"
    elif steps <= 50:
        shade = "off"
    else:
        shade = "far"
    if cell.verdict == "equal":
        return ("≙", "follows") if cell.route == "published" else ("=", "equal")
    looks = {
        "extra": ("", "extra"),
        "construction": ("≡", "construction"),
        papers.comparison.SPREAD: ("∈", "near"),
        papers.comparison.APART: ("∉", shade),
        papers.comparison.UNKNOWN: ("?", shade),
        papers.comparison.ORIENTATION: ("○", "orientation"),
    }
    return looks.get(cell.verdict, ("", shade))


def _decimals(cell: Any) -> int:
    """The decimals of the printed number; 3 where no number is printed."""
    number = papers.parse(cell.printed)
    return 3 if number.value is None else max(0, number.decimals)


def _ours(cell: Any) -> str:
    """Our number as the paper would print it."""
    is_count = not cell.printed and float(cell.ours).is_integer()
    decimals = 0 if is_count else _decimals(cell)
    text = f"{cell.ours:,.{decimals}f}"
    starts_with_point = cell.printed.lstrip("+-−").startswith(".")
    if starts_with_point and abs(cell.ours) < 1:
        return text.replace("0.", ".", 1)
    return text


def _interval(cell: Any) -> str:
    if pd.isna(cell.ci_low) or pd.isna(cell.ci_high):
        return ""
    return f"[{cell.ci_low:.3f}, {cell.ci_high:.3f}]"


def summary(cells: pd.DataFrame) -> str:
    """What was tested of the paper's own method and what became of the others, kind
    by kind, in sentences.
    """
    sentences = [papers.in_words(cells)]
    compared = cells["verdict"].isin(papers.COMPARED)
    unequal = cells[compared & (cells["verdict"] != "equal")]
    if len(unequal):
        largest = unequal["difference"].abs().max()
        sentences.append(f"Largest difference of what was compared: {largest:.4g}.")
    routes = set(cells.loc[cells["ours"].notna(), "route"]) - {""}
    if routes:
        sentences.append(f"Route: {', '.join(sorted(routes))}.")
    return " ".join(sentences)


def _head(names: Iterable[str]) -> str:
    cells = [f"<th>{esc(name)}</th>" for name in names]
    return f"<tr>{''.join(cells)}</tr>"


def _table(drawn: _Drawn, caption: str) -> Table:
    """One table without its notes, in its three forms."""
    rows = ""
    grid = [[printable(head) for head in drawn.heads]]
    for line in drawn.body:
        cells = "".join(cell.html for cell in line)
        rows += f"<tr>{cells}</tr>"
        grid.append([printable(cell.text) for cell in line])
    widths = []
    for column in zip(*grid, strict=True):
        widths.append(max(map(len, column)))
    aligned = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in grid]
    head, *lines = [list(map(for_markdown, line)) for line in grid]
    markdown = fitting.markdown(
        head,
        lines,
        drawn.names,
        drawn.groups,
    )
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
    """Tables, sentences below them, and details that HTML folds away."""
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
    return Table(
        joined_html,
        text,
        markdown,
        tuple(notes),
        tuple(details),
    )


# ---- what the printed tables contradict


def audit(
    all_relations: pd.DataFrame, names: Sequence[str]
) -> tuple[Table, dict[str, Any]]:
    """The contradictions of these tables (`papers.audit`) to show, and {table: what
    was checked and found} to save.
    """
    from nlgeval_lib.papers.auditing import CONTRADICTS, UNTOLD

    facts: dict[str, Any] = {}
    notes = []
    rows = []
    for name in names:
        relations = all_relations[all_relations["table"] == name]
        wrong = relations[relations["verdict"] == CONTRADICTS]
        untold = relations[relations["verdict"] == UNTOLD]
        lines = [_checked(relations, wrong)]
        for relation in untold.itertuples():
            text = f"{relation.place}: {relation.relation} ({relation.note})"
            lines.append(f"cannot be told: {text}")
        prefix = f"{name}: " if len(names) > 1 else ""
        notes += [prefix + line for line in lines]
        contradictions = []
        for relation in wrong.itertuples():
            row, text = _contradiction(relation)
            rows.append(row)
            contradictions.append(text)
        facts[name] = {"checked": len(relations), "contradictions": contradictions}
        if len(untold):
            facts[name]["untold"] = len(untold)
    if not rows:
        return joined([], notes), facts
    frame = pd.DataFrame(rows)
    if len(names) == 1:
        frame = frame.drop(columns="table")
    if not frame["note"].any():
        frame = frame.drop(columns="note")
    return show(
        frame,
        "Printed numbers that contradict each other",
        notes=notes,
    ), facts


def _checked(relations: pd.DataFrame, wrong: pd.DataFrame) -> str:
    """How many relations of one table were checked, and how many contradict."""
    if relations.empty:
        return "no relation among its printed numbers is known to check"
    result = "nothing found"
    if len(wrong):
        result = f"{len(wrong)} contradict"
        separate = wrong["finding"].nunique()
        if separate < len(wrong):
            result += f" ({separate} separate findings)"
    return f"{result}: {len(relations)} relations among the printed numbers checked"


def _contradiction(relation: Any) -> tuple[dict[str, str], str]:
    """A relation that does not hold, as a row to show and a text to save."""
    low = _written(relation.allowed_low)
    high = _written(relation.allowed_high)
    recomputed = _written(relation.recomputed)
    row = {
        "table": relation.table,
        "place": relation.place,
        "relation": relation.relation,
        "printed": relation.printed,
        "recomputed": recomputed,
        "rounding allows": low if low == high else f"{low} to {high}",
        "note": relation.note,
    }
    text = f"{relation.place}: {relation.relation}: printed {relation.printed}"
    if recomputed:
        text += f", recomputed {recomputed}"
    if relation.note:
        text += f" ({relation.note})"
    return row, text


def _written(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:,.10g}" if abs(value) >= 1000 else f"{value:.6g}"
