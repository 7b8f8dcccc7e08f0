"""Tables for a notebook: printed beside ours, and plain frames, as HTML with a text
form for terminals.

Everything that comes from data is escaped. Meaning never hangs on colour alone: each
cell carries a mark.
"""

from __future__ import annotations

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

from nlgeval_lib import files, papers
from nlgeval_lib.files import printable
from nlgeval_lib.papers.audit import CONTRADICTS, UNTOLD

_SHEET = Path(__file__).parent / "site" / "table.css"
STYLE = f"<style>\n{_SHEET.read_text(encoding='utf-8')}</style>"
LEGEND = (
    "Each cell: ours, and below it the printed number. = equal (within 0.51 of the "
    "last printed digit), recomputed; ≙ equal, follows from other printed numbers; of "
    "a run of the paper's judge, ∈ no farther from the printed number than two runs "
    "of one judge lie apart, ∉ farther, ? not known how far they lie apart; a signed "
    "number is our difference; ○ for orientation (another judge, prompt or run), with "
    "the difference and no verdict; ≡ equal by construction (not counted); – missing. "
    "Small figures: reasons."
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that a notebook shows as HTML, a terminal as text, a code host as
    Markdown with the notes apart.
    """

    html: str
    text: str
    markdown: str = ""
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


class _Cell(NamedTuple):
    text: str  # for a terminal
    html: str


def esc(value: Any) -> str:
    """`value` as text that HTML shows and never runs."""
    return html.escape("" if value is None else str(value), quote=True)


def for_markdown(text: str) -> str:
    """The text on one line with what Markdown or HTML would read as a mark escaped."""
    return re.sub(r"([\\`*\[\]|~])", r"\\\1", html.escape(printable(text), quote=False))


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
    more = (
        [f"{len(frame) - rows} further rows are not shown."]
        if len(frame) > rows
        else []
    )
    names = [str(column) for column in frame.columns]
    body: list[list[_Cell]] = []
    for values in frame.iloc[:rows].itertuples(index=False, name=None):
        body.append([])
        for name, value in zip(names, values, strict=True):
            missing = pd.api.types.is_scalar(value) and pd.isna(value)
            number = isinstance(value, float | np.floating)
            text = "–" if missing else f"{value:,.{digits}f}" if number else str(value)
            form = (
                ("text" if len(value) > 24 else "word")
                if isinstance(value, str)
                else ""
            )
            kinds = " ".join(filter(None, [form, classes(name, value)]))
            body[-1].append(
                _Cell(
                    text,
                    f'<td class="{kinds}">{esc(text)}</td>'
                    if kinds
                    else f"<td>{esc(text)}</td>",
                )
            )
    return joined([_drawn(names, _head(names), body, caption)], [*notes, *more])


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
    reasons: _Reasons = {}
    parts = []
    for (paper, table), printed in cells.groupby(["paper", "table"], sort=False):
        title = (
            caption
            if cells["table"].nunique() == 1
            else f"{caption} {paper} {table}".strip()
        )
        # the statistics of a table apart where no row has two of them: differences
        # below coefficients, say
        blocks = [block for _, block in printed.groupby("statistic", sort=False)]
        apart = printed["row"].nunique() == sum(
            block["row"].nunique() for block in blocks
        )
        for part in blocks if apart else [printed]:
            columns = len(part[["column", "statistic"]].drop_duplicates())
            fits = columns <= 16 and len(part) >= 0.4 * part["row"].nunique() * columns
            wide = layout == "wide" or (layout == "auto" and fits)
            parts.append(_drawn(*(_wide if wide else _long)(part, reasons), title))
            title = ""
    numbered = [f"({number}) {reason}" for reason, number in reasons.items()]
    found = [text for text in dict.fromkeys(cells["signature"]) if text]
    signatures = [f"signature: {text}" for text in found[:4]]
    signatures += (
        [f"and {len(found) - 4} further signatures, in the CSV file"]
        if len(found) > 4
        else []
    )
    return joined(
        parts, [LEGEND, summary(cells), *numbered, *signatures, *notes], "\n\n"
    )


_Reasons = dict[
    str, int
]  # the distinct reasons and their numbers, for marks in the cells and lines below
_Lines = tuple[
    list[str], str, list[list[_Cell]]
]  # heads as texts, heads as HTML, and the lines below them


def _wide(part: pd.DataFrame, reasons: _Reasons) -> _Lines:
    keys = list(
        part[["column", "statistic"]]
        .drop_duplicates()
        .itertuples(index=False, name=None)
    )
    several = part["statistic"].nunique() > 1
    heads = [
        [*column.split(" | "), *[statistic] * several] for column, statistic in keys
    ]
    labels = {row: row.split(" | ") for row in part["row"]}
    depth = max(map(len, heads))
    width = max(map(len, labels.values()))
    heads = [head[:-1] + [""] * (depth - len(head)) + head[-1:] for head in heads]
    at: dict[tuple[str, ...], list[Any]] = {}
    for one in part.itertuples(index=False):
        at.setdefault((one.row, one.column, one.statistic), []).append(one)
    corners = [*[""] * (depth - 1), "" if several else keys[0][1]]
    top = ""
    for level, corner in enumerate(corners, 1):
        groups = [
            [*same] for _, same in itertools.groupby(head[:level] for head in heads)
        ]
        spans = [(corner, width), *((same[0][-1], len(same)) for same in groups)]
        top += (
            "<tr>"
            + "".join(f'<th colspan="{size}">{esc(name)}</th>' for name, size in spans)
            + "</tr>"
        )
    body = []
    before: list[str] = []
    for row, label in labels.items():
        *above, name = label
        shown = [
            group if label[: i + 1] != before[: i + 1] else ""
            for i, group in enumerate(above)
        ]
        before = label
        names = [_Cell(group, f"<th>{esc(group)}</th>") for group in shown]
        names.append(
            _Cell(name, f'<th colspan="{width - len(above)}">{esc(name)}</th>')
        )
        names += [_Cell("", "")] * (width - len(label))
        body.append(
            [*names, *[_beside(at.get((row, *key), ()), reasons) for key in keys]]
        )
    return (
        [
            *[""] * (width - 1),
            corners[-1],
            *[" ".join(filter(None, head)) for head in heads],
        ],
        top,
        body,
    )


def _long(part: pd.DataFrame, reasons: _Reasons) -> _Lines:
    names = ["row", "column", "statistic", "printed", "ours", "n", "interval", "route"]
    body = []
    for one in part.itertuples(index=False):
        texts = [
            _Cell(text, f'<td class="text">{esc(text)}</td>')
            for text in (one.row, one.column, one.statistic)
        ]
        ends = ["" if pd.isna(one.n) else str(one.n), _interval(one), one.route]
        first, *rest = [
            _Cell(text, f"<td>{esc(text)}</td>") for text in (one.printed, *ends)
        ]
        body.append([*texts, first, _cell(one, reasons, below=False), *rest])
    return names, _head(names), body


def _beside(ones: Sequence[Any], reasons: _Reasons) -> _Cell:
    """All that we have for a printed number: what was derived or recorded, and below
    it the run.
    """
    if not ones:
        return _Cell("", "<td></td>")
    first = _cell(ones[0], reasons)
    more = [f"{one.route}: {_ours(one)} {_look(one)[0]}" for one in ones[1:]]
    ends = "".join(f"<br><small>{esc(text)}</small>" for text in more)
    return _Cell(
        "; ".join([first.text, *more]),
        first.html.removesuffix("</td>") + f"{ends}</td>",
    )


def _cell(one: Any, reasons: _Reasons, below: bool = True) -> _Cell:
    """Ours with its mark; `below`: and the printed number below it."""
    small = f"<br><small>{esc(one.printed)}</small>" if below else ""
    said = f" ({one.printed})" if below and one.printed else ""
    why = ""
    if one.reason or one.verdict == "missing":
        why = str(reasons.setdefault(one.reason or "no reason given", len(reasons) + 1))
    if one.verdict == "missing":
        shown = f'<td class="missing" title="{esc(one.reason)}">– <sup>{why}</sup>{small}</td>'
        return _Cell(f"- [{why}]{said}", shown)
    hints = [
        one.signature,
        f"n {one.n}" if not pd.isna(one.n) else "",
        _interval(one),
        one.route,
        one.reason,
    ]
    title, ours, (mark, kind) = (
        esc("; ".join(filter(None, hints))),
        _ours(one),
        _look(one),
    )
    signed = f" <small>{esc(mark)}</small>" if len(mark) > 1 else f" {mark}".rstrip()
    raised = f" <sup>{why}</sup>" if why else ""
    shown = (
        f'<td class="{kind}" title="{title}">{esc(ours)}{signed}{raised}{small}</td>'
    )
    return _Cell(f"{ours} {mark}".rstrip() + (f" [{why}]" if why else "") + said, shown)


def _look(one: Any) -> tuple[str, str]:
    """What a cell is, in one sign, or by how much it differs; and its shade."""
    steps = abs(one.difference) / float(papers.parse(one.printed).unit)
    size = "near" if steps <= 5 else "off" if steps <= 50 else "far"
    gap = (
        f"{one.difference:+.{_decimals(one) + 1}f}".rstrip("0").rstrip(".")
        if one.difference
        else "0"
    )
    looks = {
        "equal": ("≙", "follows") if one.route == "published" else ("=", "equal"),
        "extra": ("", "extra"),
    }
    looks |= {
        "construction": ("≡", "construction"),
        papers.comparison.SPREAD: ("∈", "near"),
        papers.comparison.APART: ("∉", size),
        papers.comparison.UNKNOWN: (f"{gap}?", size),
    }
    if one.verdict == papers.comparison.ORIENTATION:
        return f"○{gap}", "orientation"
    return looks.get(one.verdict, (gap, size))


def _decimals(one: Any) -> int:
    number = papers.parse(one.printed)
    return 3 if number.value is None else max(0, number.decimals)


def _ours(one: Any) -> str:
    whole = not one.printed and float(one.ours).is_integer()
    text = f"{one.ours:,.{0 if whole else _decimals(one)}f}"
    bare = one.printed.lstrip("+-−").startswith(".") and abs(one.ours) < 1
    return text.replace("0.", ".", 1) if bare else text


def _interval(one: Any) -> str:
    if pd.isna(one.ci_low) or pd.isna(one.ci_high):
        return ""
    return f"[{one.ci_low:.3f}, {one.ci_high:.3f}]"


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
    return f"<tr>{''.join(f'<th>{esc(name)}</th>' for name in names)}</tr>"


def _drawn(heads: list[str], top: str, body: list[list[_Cell]], caption: str) -> Table:
    """One table without its notes."""
    title = f"<caption>{esc(caption)}</caption>" if caption else ""
    rows = "".join(f"<tr>{''.join(cell.html for cell in row)}</tr>" for row in body)
    inner = f"{title}<thead>{top}</thead><tbody>{rows}</tbody>"
    grid = [
        [printable(text) for text in line]
        for line in (heads, *[[cell.text for cell in row] for row in body])
    ]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    aligned = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in grid]
    text = "\n".join([caption, *aligned] if caption else aligned)
    head, *lines = [[for_markdown(text) for text in line] for line in grid]
    named = [f"**{for_markdown(caption)}**", ""] if caption else []
    markdown = "\n".join([*named, files.markdown_table(head, lines)])
    return Table(
        f'<div class="nlgeval-box"><table class="nlgeval">{inner}</table></div>',
        text,
        markdown,
    )


def joined(parts: Sequence[Table], notes: Sequence[str], between: str = "\n") -> Table:
    """Tables, and sentences below them."""
    foot = "".join(f"<div>{esc(note)}</div>" for note in notes)
    below = f'<div class="nlgeval-notes">{foot}</div>' if notes else ""
    text = between.join(part.text for part in parts)
    shown = STYLE + "".join(part.html for part in parts) + below
    markdown = "\n\n".join(part.markdown for part in parts)
    return Table(shown, "\n".join(filter(None, [text, *notes])), markdown, tuple(notes))


# ---- what the printed tables contradict


def audit(found: pd.DataFrame, names: Sequence[str]) -> tuple[Table, dict[str, Any]]:
    """The contradictions of these tables (`papers.audit`) to show, and {table: what
    was checked and found} to save.
    """
    facts: dict[str, Any] = {}
    said = []
    rows = []
    for name in names:
        part = found[found["table"] == name]
        wrong, untold = (
            part[part["verdict"] == verdict] for verdict in (CONTRADICTS, UNTOLD)
        )
        separate = wrong["finding"].nunique()
        joint = f" ({separate} separate findings)" if separate < len(wrong) else ""
        what = f"{len(wrong)} contradict{joint}" if len(wrong) else "nothing found"
        what += f": {len(part)} relations among the printed numbers checked"
        told = [
            what
            if len(part)
            else "no relation among its printed numbers is known to check"
        ]
        told += [
            f"cannot be told: {one.place}: {one.relation} ({one.note})"
            for one in untold.itertuples()
        ]
        said += [f"{name}: {line}" if len(names) > 1 else line for line in told]
        facts[name] = {"checked": len(part), "contradictions": []} | (
            {"untold": len(untold)} if len(untold) else {}
        )
        for one in wrong.itertuples():
            low, high, recomputed = map(
                _written, (one.allowed_low, one.allowed_high, one.recomputed)
            )
            allows = low if low == high else f"{low} to {high}"
            shown = {
                "recomputed": recomputed,
                "rounding allows": allows,
                "note": one.note,
            }
            rows.append(
                {
                    name: getattr(one, name)
                    for name in ("table", "place", "relation", "printed")
                }
                | shown
            )
            more = (f", recomputed {recomputed}" if recomputed else "") + (
                f" ({one.note})" if one.note else ""
            )
            facts[name]["contradictions"].append(
                f"{one.place}: {one.relation}: printed {one.printed}{more}"
            )
    if not rows:
        return joined([], said), facts
    frame = pd.DataFrame(rows)
    frame = frame.drop(
        columns=["table"] * (len(names) == 1) + ["note"] * (not frame["note"].any())
    )
    return show(frame, "Printed numbers that contradict each other", notes=said), facts


def _written(value: float) -> str:
    return (
        ""
        if math.isnan(value)
        else f"{value:,.10g}"
        if abs(value) >= 1000
        else f"{value:.6g}"
    )
