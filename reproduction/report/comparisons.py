"""Compared cells as a table: printed beside ours; and what printed tables contradict.

Everything that comes from data is escaped. Meaning never hangs on colour alone: each
cell carries a mark. `_wide` repeats the rows and columns of a printed table, `_long` has
a line a cell; equal notes are numbered once (`_Notes`) and stand below the table.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from nlgeval_lib.tables import Cell, Drawn, Table, esc, head, in_forms, joined, show
from reproduction import papers

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
# Different notes below a table at most; with more, they are said by kind.
MOST_NOTES = 8


# The distinct notes and their numbers, for marks in the cells and lines below.
_Notes = dict[str, int]


def comparison(
    cells: pd.DataFrame,
    caption: str = "",
    notes: Sequence[str] = (),
    layout: str = "auto",
) -> Table:
    """Printed beside ours, with marks, notes and a legend; rows of which nothing was
    computed here are folded.

    cells: as `papers.compare` returns them, of one or more printed tables.
    caption: above the first table; with several, before each one's name.
    notes: further sentences below all tables. layout: "wide", "long" or "auto".
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
    has_several = cells["table"].nunique() > 1
    for (_, table), printed in cells.groupby(["paper", "table"], sort=False):
        title = caption
        if has_several:
            title = f"{caption} {titled(table)}".strip()
        for block in _blocks(printed):
            open_cells, folded_cells = _own_first(block)
            drawn = _drawn(open_cells, layout, numbered)
            parts.append(in_forms(drawn, title))
            if len(folded_cells):
                # What is folded has no notes (`_noted`), so it numbers none.
                folded_drawn = _drawn(folded_cells, layout, {})
                parts.append(_folded(folded_cells, folded_drawn))
            marks |= {_mark_of(cell) for cell in open_cells.itertuples(index=False)}
            title = ""  # of a printed table in several blocks only the first is titled
    meanings = [f"{mark} {MARKS[mark]}".strip() for mark in MARKS if mark in marks]
    below = [f"Ours, with the paper's number in brackets. {'; '.join(meanings)}."]
    for note_text, number in numbered.items():
        below.append(f"{_raised(number)} {note_text}")
    return joined(parts, [*below, *notes], "\n\n", _details(cells))


def titled(table: str) -> str:
    """A printed table's id as readers name it: `Table 4` for `table_04`.

    Example:
    >>> titled("figure_03_left")
    'Figure 3 left'
    """
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
    is_own = block["kind"] == papers.OWN
    ours = block["ours"].where(block["route"] != "published")
    # A row with one computed number is shown whole.
    has_ours = ours.groupby(block["row"]).transform(lambda values: values.notna().any())
    is_open = has_ours | is_own
    if not is_open.any() or is_open.all():
        order = (~is_own).sort_values(kind="stable").index
        return block.loc[order], block.iloc[:0]
    shown_cells = pd.concat([block[is_own], block[has_ours & ~is_own]])
    return shown_cells, block[~is_open]


def _drawn(block: pd.DataFrame, layout: str, numbered: _Notes) -> Drawn:
    """The cells in the layout that is asked for, or that fits them."""
    if layout == "wide" or (layout == "auto" and _fits_wide(block)):
        return _wide(block, numbered)
    return _long(block, numbered)


def _folded(block: pd.DataFrame, drawn: Drawn) -> Table:
    """The printed rows of which nothing is computed here, opened by a click."""
    rows = list(dict.fromkeys(block["row"]))
    unit = "row" if len(rows) == 1 else "rows"
    title = f"{len(rows)} printed {unit} of which no score was computed here"
    table = in_forms(drawn, "")
    summary = f"<summary>{esc(title)}</summary>"
    return Table(
        f'<details class="nlgeval-empty">{summary}{table.html}</details>',
        f"{title}\n{table.text}",
        f"<details>{summary}\n\n{table.markdown}\n\n</details>",
    )


def notes_of(cells: pd.DataFrame) -> pd.Series:
    """What is said of each cell below the table, "" for nothing: at most MOST_NOTES
    different notes. Where there would be more, a missing cell's note is the kind of its
    gap, and the rarest notes become one that leads to the CSV file.
    """
    texts = [note(cell) for cell in cells.itertuples(index=False)]
    notes = pd.Series(texts, cells.index)
    if notes[notes != ""].nunique() <= MOST_NOTES:
        return notes
    # First fewer words for gaps: their kind, without the models that were not run.
    missing = cells["verdict"] == "missing"
    kinds = cells["reason"].map(papers.gap_of)
    kinds = kinds.map({**_PLAIN_GAPS, papers.OTHER_GAP: "not computed"})
    notes = notes.mask(missing, kinds)
    # Then one note for all that are still too many, the rarest.
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
# The model in a reason: one that was not asked, or one whose weights are not here.
_MODEL = re.compile(
    r"no completions of (?P<run>\S+)|computed with (?P<weights>\S+) here"
)
# Reasons that `statistics` writes: what limits an interval, and what a left-out unit moves.
_FEW = re.compile(r"(\d+) (systems|inputs): .*")
_LEFT_OUT = re.compile(
    r"without (.+?): (-?\d\.\d+), (outside the interval|no longer significant)"
)


def plain_reason(reason: str) -> str:
    """A reason of `statistics` in a reader's words; any other text stays as it is.

    Example:
    >>> plain_reason("4 systems: t with 3 degrees of freedom")
    'The interval is limited by 4 systems.'
    """
    reason = _FEW.sub(r"The interval is limited by \1 \2.", reason)
    return _LEFT_OUT.sub(_without, reason)


def _without(found: re.Match[str]) -> str:
    """What a left-out unit moves, in a reader's words; its name may be any word."""
    units, value, consequence = found.groups()
    quoted = units.replace(" and ", '" and "')
    return f'Without "{quoted}" it would be {value}, which is {consequence}.'


def plain_gap(reason: str) -> str:
    """Why a number is missing, in a reader's words; a reason of no known kind stays.

    Example:
    >>> plain_gap("no completions of gpt-4")
    'not run: needs gpt-4'
    """
    kind = papers.gap_of(reason)
    model = _MODEL.search(reason)
    if model and model["run"]:
        return f"not run: needs {model['run']}"
    if model and model["weights"]:
        return f"not computed: needs the weights of {model['weights']}"
    return _PLAIN_GAPS.get(kind) or reason or "no reason"


def note(cell: Any) -> str:
    """The first clause of a cell's reason; a number that is equal, or that the paper
    does not print, needs none.
    """
    if cell.verdict == "missing":
        return plain_gap(cell.reason).partition("; ")[0]
    if cell.verdict in ("extra", "equal"):
        return ""
    return cell.reason.partition("; ")[0]


def _mark_of(cell: Any) -> str:
    """The mark of MARKS that a cell bears; empty for a number beside nothing printed,
    and "differs" for one that bears no mark.
    """
    if cell.verdict == "missing":
        return "()"
    if cell.verdict == "extra":
        return ""
    mark, _ = _look(cell)
    return mark or "differs"


def _details(cells: pd.DataFrame) -> tuple[str, ...]:
    """The whole reasons with how many cells have each, and the signatures."""
    lines = []
    reasons = cells.loc[cells["reason"] != "", "reason"]
    for reason, count in reasons.value_counts().items():
        unit = "cells" if count > 1 else "cell"
        lines.append(f"{count} {unit}: {reason}")
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
    # Equal counts: no row stands in two blocks.
    if rows == printed["row"].nunique():
        return blocks
    return [printed]


def _fits_wide(block: pd.DataFrame) -> bool:
    """Whether the printed rows and columns are few and full enough to be repeated:
    at most 16 columns, and two of five places filled.
    """
    columns = len(block[["column", "statistic"]].drop_duplicates())
    # In this order: 0.4 times the product rounds otherwise, and a table at the edge
    # would change its layout.
    least = 0.4 * block["row"].nunique() * columns
    return columns <= 16 and len(block) >= least


def _wide(block: pd.DataFrame, numbered: _Notes) -> Drawn:
    """The printed table's own rows and columns, with its groups of both."""
    columns = block[["column", "statistic"]].drop_duplicates()
    keys = list(columns.itertuples(index=False, name=None))
    has_several = block["statistic"].nunique() > 1
    heads = []
    for column, statistic in keys:
        head = column.split(" | ")
        if has_several:
            head.append(statistic)
        heads.append(head)
    labels = {row: row.split(" | ") for row in block["row"]}
    width = max(map(len, labels.values()))
    # One statistic for all columns is named once, over the rows' names.
    corner = "" if has_several else keys[0][1]
    names = [""] * (width - 1) + [corner]
    for head in heads:
        names.append(" ".join(filter(None, head)).replace("_", " "))
    groups = [head[0] for head in heads]
    return Drawn(
        names,
        _grouped_head(heads, corner, width),
        _wide_lines(block, keys, labels, numbered),
        width,
        groups,
    )


def _wide_lines(
    block: pd.DataFrame,
    keys: Sequence[tuple[str, str]],
    labels: dict[str, list[str]],
    numbered: _Notes,
) -> list[list[Cell]]:
    """The lines of a wide table."""
    width = max(map(len, labels.values()))
    cells: dict[tuple[str, ...], list[Any]] = {}
    for cell in block.itertuples(index=False):
        place = (cell.row, cell.column, cell.statistic)
        cells.setdefault(place, []).append(cell)
    body = []
    line_above: list[str] = []
    for row, label in labels.items():
        beside = [cells.get((row, *key), ()) for key in keys]
        # A note that all cells of a row share stands once, at the row's name.
        number = _row_note(beside, numbered)
        line = _row_names(label, line_above, width, number)
        for values in beside:
            line.append(_beside(values, numbered, not number))
        body.append(line)
        line_above = label
    return body


def _row_note(row: Sequence[Sequence[Any]], numbered: _Notes) -> int:
    """The number of the one note that several cells of a row have; 0 where there is
    none, or each cell bears its own.
    """
    notes = [cells[0].note for cells in row if cells]
    if len(notes) < 2 or not notes[0]:
        return 0
    if len(set(notes)) > 1:
        return 0
    return _note_number(notes[0], numbered)


def _grouped_head(heads: list[list[str]], corner: str, width: int) -> str:
    """The head of a wide table: a line a level, equal groups as one cell."""
    depth = max(map(len, heads))
    # Every column's name stands on the lowest level, whatever groups it has above.
    filled = []
    for names in heads:
        *its_groups, name = names
        gap = [""] * (depth - len(names))
        filled.append([*its_groups, *gap, name])
    top = ""
    for level in range(1, depth + 1):
        over_names = corner if level == depth else ""
        spans = [(over_names, width)]
        # Neighbours with the same groups down to this level become one cell.
        paths = [head[:level] for head in filled]
        for path, group in itertools.groupby(paths):
            spans.append((path[-1], len(list(group))))
        line = [f'<th colspan="{size}">{esc(name)}</th>' for name, size in spans]
        top += f"<tr>{''.join(line)}</tr>"
    return top


def _row_names(
    label: list[str], line_above: list[str], width: int, number: int = 0
) -> list[Cell]:
    """The groups of a row and its name with the number of its note, `width` cells; a
    group that the line above is in already stays empty.
    """
    cells = []
    *groups, name = label
    for level, group in enumerate(groups, 1):
        text = "" if label[:level] == line_above[:level] else group
        cells.append(Cell(text, f"<th>{esc(text)}</th>"))
    span = width - len(groups)
    if number:
        name = f"{name} {_raised(number)}"
    cells.append(Cell(name, f'<th colspan="{span}">{esc(name)}</th>'))
    return cells + [Cell("", "")] * (width - len(label))


def _long(block: pd.DataFrame, numbered: _Notes) -> Drawn:
    """A line a cell, for tables whose places are mostly empty."""
    names = ["row", "column", "statistic", "printed", "ours", "n", "interval"]
    body = []
    for cell in block.itertuples(index=False):
        line = []
        for text in (cell.row, cell.column, cell.statistic):
            line.append(Cell(text, f'<td class="text">{esc(text)}</td>'))
        line.append(_bare(cell.printed))
        line.append(_cell(cell, numbered, below=False))
        n = "" if pd.isna(cell.n) else str(cell.n)
        line.append(_bare(n))
        line.append(_bare(_interval(cell)))
        body.append(line)
    return Drawn(names, head(names), body, 2)


def _bare(text: str) -> Cell:
    """A text without mark, shade or note."""
    return Cell(text, f"<td>{esc(text)}</td>")


def _beside(cells: Sequence[Any], numbered: _Notes, noted: bool = True) -> Cell:
    """All that we have for a printed number: what was derived or recorded, and below
    it the run. noted: whether it bears the number of its note.
    """
    if not cells:
        return _bare("")
    first, *others = cells
    text, cell_html = _cell(first, numbered, noted=noted)
    cell_html = cell_html.removesuffix("</td>")
    for cell in others:
        mark, _ = _look(cell)
        line = f"{cell.route}: {_ours(cell)} {mark}"
        text += f"; {line}"
        cell_html += f"<br><small>{esc(line)}</small>"
    return Cell(text, f"{cell_html}</td>")


def _cell(cell: Any, numbered: _Notes, below: bool = True, noted: bool = True) -> Cell:
    """Ours with its mark, the printed number in brackets where it is another, and the
    number of its reason.
    """
    number = ""
    if noted and cell.note:
        number = f"\u00a0{_raised(_note_number(cell.note, numbered))}"
    if cell.verdict == "missing":
        text = f"({cell.printed}){number}" if below else f"–{number}"
        attributes = f'class="missing" title="{esc(cell.reason)}"'
        return Cell(text, f"<td {attributes}>{esc(text)}</td>")
    ours = _ours(cell)
    mark, shade = _look(cell)
    attributes = f'class="{shade}" title="{esc(_hint(cell))}"'
    text = f"{ours}\u00a0{mark}".rstrip() + number
    inner = esc(text)
    is_same = _bare_number(ours) == _bare_number(cell.printed)
    if below and cell.printed and not is_same:
        text += f" ({cell.printed})"
        inner += f"<br><small>({esc(cell.printed)})</small>"
    return Cell(text, f"<td {attributes}>{inner}</td>")


def _hint(cell: Any) -> str:
    """What a browser says of a cell that the pointer rests on."""
    gap = ""
    if not pd.isna(cell.difference):
        gap = f"ours less printed {cell.difference:.3g}"
    n = "" if pd.isna(cell.n) else f"n {cell.n}"
    hints = [gap, cell.signature, n, _interval(cell), cell.route, cell.reason]
    return "; ".join(filter(None, hints))


def _bare_number(text: str) -> str:
    """A number without what only helps to read it: `1,234` and `1234` are one."""
    return text.replace(",", "").replace("−", "-").lstrip("+")


def _raised(number: int) -> str:
    """The number of a note, as a cell and the note bear it."""
    return str(number).translate(_SUPERSCRIPTS)


def _note_number(note: str, numbered: _Notes) -> int:
    """The number of a note, the next one where it is met first."""
    return numbered.setdefault(note, len(numbered) + 1)


def _look(cell: Any) -> tuple[str, str]:
    """What a cell is, in one sign, none where it differs; and its shade."""
    last_digit = float(papers.parse(cell.printed).unit)
    steps = abs(cell.difference) / last_digit
    if steps <= 5:
        shade = "near"
    elif steps <= 50:
        shade = "off"
    else:
        shade = "far"
    if cell.verdict == "equal":
        if cell.route == "published":
            return "≙", "follows"
        return "=", "equal"
    looks = {
        "extra": ("", "extra"),
        "construction": ("≡", "construction"),
        papers.comparison.SPREAD: ("∈", "near"),
        papers.comparison.APART: ("∉", shade),
        papers.comparison.UNKNOWN: ("?", shade),
        papers.comparison.ORIENTATION: ("○", "orientation"),
    }
    return looks.get(cell.verdict, ("", shade))


def _ours(cell: Any) -> str:
    """Our number as the paper would print it: its decimals, and no nought before the
    point where the paper prints none. A whole number beside nothing printed is a count.
    """
    is_count = not cell.printed and float(cell.ours).is_integer()
    number = papers.parse(cell.printed)
    decimals = 3 if number.value is None else max(0, number.decimals)
    if is_count:
        decimals = 0
    text = f"{cell.ours:,.{decimals}f}"
    starts_with_point = cell.printed.lstrip("+-−").startswith(".")
    if starts_with_point and abs(cell.ours) < 1:
        return text.replace("0.", ".", 1)
    return text


def _interval(cell: Any) -> str:
    """The interval of a cell; empty where it has none."""
    if pd.isna(cell.ci_low) or pd.isna(cell.ci_high):
        return ""
    return f"[{cell.ci_low:.3f}, {cell.ci_high:.3f}]"


def summary(cells: pd.DataFrame) -> str:
    """What was tested, kind by kind, the largest difference among what is not equal, and
    the routes of our numbers, in sentences.
    """
    sentences = [papers.in_words(cells)]
    compared = cells["verdict"].isin(papers.COMPARED)
    unequal = cells[compared & (cells["verdict"] != "equal")]
    if len(unequal):
        largest = unequal["difference"].abs().max()
        sentences.append(f"Largest difference of what was compared: {largest:.4g}.")
    with_number = cells[cells["ours"].notna()]
    routes = set(with_number["route"]) - {""}
    if routes:
        sentences.append(f"Route: {', '.join(sorted(routes))}.")
    return " ".join(sentences)


# ---- what the printed tables contradict


def audit(
    all_relations: pd.DataFrame, names: Sequence[str]
) -> tuple[Table, dict[str, Any]]:
    """The contradictions of these printed tables (`papers.audit`) to show, and by table
    what to save: {"checked": how many relations, "contradictions": a text each, "untold":
    how many cannot be decided, where there are any}.
    """
    from reproduction.papers.auditing import CONTRADICTS, UNTOLD

    facts: dict[str, Any] = {}
    notes = []
    rows = []
    for name in names:
        relations = all_relations[all_relations["table"] == name]
        wrong = relations[relations["verdict"] == CONTRADICTS]
        untold = relations[relations["verdict"] == UNTOLD]
        # Below the table: what was checked, then each relation that stays undecided.
        lines = [_checked(relations, wrong)]
        for relation in untold.itertuples():
            text = f"{relation.place}: {relation.relation} ({relation.note})"
            lines.append(f"cannot be told: {text}")
        prefix = f"{name}: " if len(names) > 1 else ""
        notes += [prefix + line for line in lines]
        # In the table: a row a contradiction.
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
    # Columns that would say the same in every row, or nothing, are left out.
    if len(names) == 1:
        frame = frame.drop(columns="table")
    if not frame["note"].any():
        frame = frame.drop(columns="note")
    title = "Printed numbers that contradict each other"
    return show(frame, title, notes=notes), facts


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
    """A recomputed number for readers: six significant digits, ten of a large one;
    empty for NaN.
    """
    if math.isnan(value):
        return ""
    if abs(value) >= 1000:
        return f"{value:,.10g}"
    return f"{value:.6g}"
