"""Tables for a notebook: printed beside ours, and plain frames, as HTML with a text form for terminals.

Everything that comes from data is escaped. Meaning never hangs on colour alone: each cell carries a mark.
"""

from __future__ import annotations

import html
import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

STYLE = """<style>
.nlgeval-box{overflow-x:auto}
.nlgeval-box table.nlgeval{border-collapse:collapse;font:13px/1.35 system-ui,sans-serif;color:#1a1a1a;background:#fff;
margin:.4em 0}
.nlgeval-box .nlgeval caption{caption-side:top;text-align:left;font-weight:600;padding:.3em .2em;color:#1a1a1a;
background:#fff}
.nlgeval-box .nlgeval th,.nlgeval-box .nlgeval td{border:1px solid #d0d0d0;padding:.25em .55em;text-align:right;
vertical-align:top;font-variant-numeric:tabular-nums;white-space:nowrap;color:#1a1a1a;background:#fff}
.nlgeval-box .nlgeval th{background:#f3f3f3;font-weight:600;text-align:left}
.nlgeval-box .nlgeval thead th{text-align:center}
.nlgeval-box .nlgeval tbody th{white-space:normal;max-width:17em}
.nlgeval-box .nlgeval tbody th:first-child{position:sticky;left:0}
.nlgeval-box .nlgeval td.text{text-align:left;white-space:normal;min-width:12em;max-width:36em}
.nlgeval-box .nlgeval td.word{text-align:left}.nlgeval-box .nlgeval td.equal{background:#b5d7f0}
.nlgeval-box .nlgeval td.follows{background:#e4f1fb}.nlgeval-box .nlgeval td.construction{background:#ececec}
.nlgeval-box .nlgeval td.orientation{background:#f1eaf4}
.nlgeval-box .nlgeval td.near{background:#fdf0d5}.nlgeval-box .nlgeval td.off{background:#f9d79b}
.nlgeval-box .nlgeval td.far{background:#f2b45a}
.nlgeval-box .nlgeval td.missing{background:repeating-linear-gradient(45deg,
#f6f6f6,#f6f6f6 5px,#e6e6e6 5px,#e6e6e6 10px)}
.nlgeval-box .nlgeval small{color:#4a4a4a}.nlgeval-box .nlgeval sup{line-height:0}
.nlgeval-notes{font:12px/1.45 system-ui,sans-serif;margin:.2em 0 1em;max-width:60em}
</style>"""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
LEGEND = (
    "Each cell: ours, and below it the printed number. = equal (within 0.51 of the last printed digit), recomputed; "
    "≙ equal, follows from other printed numbers; a signed number is our difference; ○ for orientation (another judge, "
    "prompt or run: not compared); ≡ equal by construction (not counted); – missing. Small figures: reasons."
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that a notebook shows as HTML and a terminal as text."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


class _Cell(NamedTuple):
    """One cell, for a terminal and for a page."""

    text: str
    html: str


def esc(value: Any) -> str:
    """`value` as text that HTML shows and never runs."""
    return html.escape("" if value is None else str(value), quote=True)


def printable(text: str) -> str:
    """The text with control characters, which could steer a terminal or break a line, spelt out; blanks stay."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def show(
    frame: pd.DataFrame,
    caption: str = "",
    digits: int = 3,
    notes: Iterable[str] = (),
    classes: Callable[[str, Any], str | None] = lambda column, value: None,
    rows: int = 200,
) -> Table:
    """Any frame in the project's style: floats with `digits` decimals, a dash for what is missing, no index.

    classes: the shade of a cell by its column and value: equal, follows, near, off, far, missing, or None. rows: at
    most so many are shown, and a note says how many are not.
    """
    notes = list(notes)
    if len(frame) > rows:
        notes.append(f"{len(frame) - rows} further rows are not shown.")
        frame = frame.iloc[:rows]
    names = [str(column) for column in frame.columns]
    body = [
        [_td(_plain(value, digits), value, classes(name, value)) for name, value in zip(names, values, strict=True)]
        for values in frame.itertuples(index=False, name=None)
    ]
    return _joined([_drawn(names, _head(names), body, caption)], notes)


def comparison(cells: pd.DataFrame, caption: str = "", notes: Sequence[str] = (), layout: str = "auto") -> Table:
    """Printed beside ours: `cells` as `papers.compare` returns them, one or more tables.

    layout: "wide" repeats the printed table's rows and columns, "long" has a line a cell, "auto" chooses.
    Raises: ValueError for an empty frame or an unknown layout.
    """
    if layout not in ("auto", "wide", "long"):
        raise ValueError(f"layout {layout!r}; one of 'auto', 'wide', 'long'")
    if cells.empty:
        raise ValueError("there is no cell to show: compare first")
    reasons = _Reasons()
    parts = []
    for (paper, table), part in cells.groupby(["paper", "table"], sort=False):
        wide = layout == "wide" or (layout == "auto" and _fits(part))
        title = caption if cells["table"].nunique() == 1 else f"{caption} {paper} {table}".strip()
        parts.append(_drawn(*(_wide if wide else _long)(part, reasons), title))
    return _joined(parts, [LEGEND, summary(cells), *reasons.lines(), *_signatures(cells), *notes], "\n\n")


def lines(said: Sequence[str]) -> Table:
    """Sentences in the style of the notes below a table."""
    return _joined([], said)


class _Reasons:
    """Numbers the distinct reasons, for marks in the cells and lines below."""

    def __init__(self) -> None:
        self._found: dict[str, int] = {}

    def mark(self, reason: str) -> str:
        return str(self._found.setdefault(reason or "no reason given", len(self._found) + 1))

    def lines(self) -> list[str]:
        return [f"({number}) {reason}" for reason, number in self._found.items()]


def _fits(part: pd.DataFrame) -> bool:
    columns = part[["column", "statistic"]].drop_duplicates()
    rows = part["row"].nunique()
    return len(columns) <= 16 and len(part) >= 0.4 * rows * len(columns)


_Lines = tuple[list[str], str, list[list[_Cell]]]  # heads as texts, heads as HTML, and the lines below them


def _wide(part: pd.DataFrame, reasons: _Reasons) -> _Lines:
    keys = list(part[["column", "statistic"]].drop_duplicates().itertuples(index=False, name=None))
    several = len({statistic for _, statistic in keys}) > 1
    heads = [[*column.split(" | "), *([statistic] if several else [])] for column, statistic in keys]
    labels = {row: row.split(" | ") for row in part["row"]}
    depth, width = max(map(len, heads)), max(map(len, labels.values()))
    heads = [head[:-1] + [""] * (depth - len(head)) + head[-1:] for head in heads]
    at = {(one.row, one.column, one.statistic): one for one in part.itertuples(index=False)}
    statistic = "" if several else keys[0][1]
    top = []
    for level in range(depth):
        corner = f'<th colspan="{width}">{esc(statistic if level == depth - 1 else "")}</th>'
        top.append(f"<tr>{corner}{_spans([head[: level + 1] for head in heads])}</tr>")
    body = []
    before: list[str] = []
    for row, label in labels.items():
        last = len(label) - 1
        shown = [name if label[: i + 1] != before[: i + 1] or i == last else "" for i, name in enumerate(label)]
        before = label
        names = [_Cell(name, f"<th>{esc(name)}</th>") for name in shown[:-1]]
        names.append(_Cell(shown[-1], f'<th colspan="{width - last}">{esc(shown[-1])}</th>'))
        names += [_Cell("", "")] * (width - len(shown))
        body.append([*names, *[_cell(at.get((row, *key)), reasons) for key in keys]])
    texts = [*[""] * (width - 1), statistic, *[" ".join(filter(None, head)) for head in heads]]
    return texts, "".join(top), body


def _spans(heads: list[list[str]]) -> str:
    groups = [list(same) for _, same in itertools.groupby(heads)]
    return "".join(f'<th colspan="{len(same)}">{esc(same[0][-1])}</th>' for same in groups)


def _long(part: pd.DataFrame, reasons: _Reasons) -> _Lines:
    names = ["row", "column", "statistic", "printed", "ours", "n", "interval", "route"]
    body = []
    for one in part.itertuples(index=False):
        texts = [_Cell(text, f'<td class="text">{esc(text)}</td>') for text in (one.row, one.column, one.statistic)]
        ends = ["" if pd.isna(one.n) else str(one.n), _interval(one), one.route]
        first, *rest = [_Cell(text, f"<td>{esc(text)}</td>") for text in (one.printed, *ends)]
        body.append([*texts, first, _cell(one, reasons, printed=False), *rest])
    return names, _head(names), body


def _cell(one: Any, reasons: _Reasons, printed: bool = True) -> _Cell:
    """Ours with its mark; where `printed`, the printed number below it."""
    if one is None:
        return _Cell("", "<td></td>")
    below = f"<br><small>{esc(one.printed)}</small>" if printed else ""
    said = f" ({one.printed})" if printed and one.printed else ""
    why = reasons.mark(one.reason) if one.reason or one.verdict == "missing" else ""
    if one.verdict == "missing":
        shown = f'<td class="missing" title="{esc(one.reason)}">– <sup>{why}</sup>{below}</td>'
        return _Cell(f"- [{why}]{said}", shown)
    hints = [one.signature, f"n {one.n}" if not pd.isna(one.n) else "", _interval(one), one.route, one.reason]
    title = esc("; ".join(filter(None, hints)))
    mark = _mark(one)
    signed = f" <small>{esc(mark)}</small>" if len(mark) > 1 else f" {mark}".rstrip()
    raised = f" <sup>{why}</sup>" if why else ""
    shown = f'<td class="{_kind(one)}" title="{title}">{esc(_ours(one))}{signed}{raised}{below}</td>'
    return _Cell(f"{_ours(one)} {mark}".rstrip() + (f" [{why}]" if why else "") + said, shown)


def _mark(one: Any) -> str:
    """What a cell is, in one sign, or by how much it differs."""
    equal = "≙" if one.route == "published" else "="
    return {"equal": equal, "construction": "≡", "orientation": "○", "extra": ""}.get(one.verdict, _gap(one))


def _kind(one: Any) -> str:
    if one.verdict != "differs":
        return "follows" if one.verdict == "equal" and one.route == "published" else one.verdict
    from nlgeval_lib.papers import parse

    steps = abs(one.difference) / float(parse(one.printed).unit)
    return "near" if steps <= 5 else "off" if steps <= 50 else "far"


def _decimals(one: Any) -> int:
    from nlgeval_lib.papers import parse

    number = parse(one.printed)
    return 3 if number.value is None else max(0, number.decimals)


def _ours(one: Any) -> str:
    decimals = _decimals(one)
    if not one.printed and float(one.ours).is_integer():
        decimals = 0
    text = f"{one.ours:,.{decimals}f}"
    return text.replace("0.", ".", 1) if _bare(one.printed) and abs(one.ours) < 1 else text


def _gap(one: Any) -> str:
    return f"{one.difference:+.{_decimals(one) + 1}f}".rstrip("0").rstrip(".") if one.difference else "0"


def _bare(printed: str) -> bool:
    return printed.lstrip("+-−").startswith(".")


def _interval(one: Any) -> str:
    if pd.isna(one.ci_low) or pd.isna(one.ci_high):
        return ""
    return f"[{one.ci_low:.3f}, {one.ci_high:.3f}]"


def summary(cells: pd.DataFrame) -> str:
    """What became of the printed numbers, in one sentence: three counts, of cells that were compared and are equal."""
    from nlgeval_lib import papers

    counts = papers.counts(cells)
    said = [f"{counts['printed']} printed numbers", papers.in_words(counts)]
    compared = cells[cells["verdict"].isin(("equal", "differs"))]
    if (compared["verdict"] == "differs").any():
        said.append(f"largest difference {compared['difference'].abs().max():.4g}")
    if routes := sorted({route for route in cells.loc[cells["ours"].notna(), "route"] if route}):
        said.append(f"route: {', '.join(routes)}")
    return "; ".join(said) + "."


def _signatures(cells: pd.DataFrame) -> list[str]:
    found = list(dict.fromkeys(text for text in cells["signature"] if text))
    lines = [f"signature: {text}" for text in found[:4]]
    return lines + ([f"and {len(found) - 4} further signatures, in the CSV file"] if len(found) > 4 else [])


def _plain(value: Any, digits: int) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float) or (hasattr(value, "dtype") and getattr(value.dtype, "kind", "") == "f"):
        return "–" if math.isnan(value) else f"{value:,.{digits}f}"
    return str(value)


def _td(text: str, value: Any, shade: str | None) -> _Cell:
    form = ("text" if len(value) > 24 else "word") if isinstance(value, str) else ""
    kinds = " ".join(filter(None, [form, shade]))
    return _Cell(text, f'<td class="{kinds}">{esc(text)}</td>' if kinds else f"<td>{esc(text)}</td>")


def _head(names: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<th>{esc(name)}</th>' for name in names)}</tr>"


def _drawn(heads: list[str], top: str, body: list[list[_Cell]], caption: str) -> Table:
    """One table without its notes."""
    title = f"<caption>{esc(caption)}</caption>" if caption else ""
    rows = "".join(f"<tr>{''.join(cell.html for cell in row)}</tr>" for row in body)
    inner = f"{title}<thead>{top}</thead><tbody>{rows}</tbody>"
    grid = [[printable(text) for text in line] for line in (heads, *[[cell.text for cell in row] for row in body])]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    aligned = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in grid]
    text = "\n".join([caption, *aligned] if caption else aligned)
    return Table(f'<div class="nlgeval-box"><table class="nlgeval">{inner}</table></div>', text)


def _joined(parts: Sequence[Table], notes: Sequence[str], between: str = "\n") -> Table:
    """Tables, and sentences below them."""
    foot = "".join(f"<div>{esc(note)}</div>" for note in notes)
    below = f'<div class="nlgeval-notes">{foot}</div>' if notes else ""
    text = between.join(part.text for part in parts)
    return Table(STYLE + "".join(part.html for part in parts) + below, "\n".join(filter(None, [text, *notes])))
