"""The picture of a card's first screen, as SVG that is drawn of its numbers alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from judgecard import glance, verdict
from judgecard.written import Numbers, at, cell
from nlgeval_lib import files, tables

_WIDTH = 700
_LEFT = 190  # of the axis
_RIGHT = 560  # of the axis; the number stands beyond it
_LINE = 26
_LONGEST = 26  # characters of a name
# what is said of an aspect -> the colour of its line, and the word beside it
_COLOURS = {
    glance.PRAISES: "#1b6e3c",
    verdict.UNPROVEN: "#8a5a00",
    verdict.FAILS: "#b3261e",
}
_WORDS = {verdict.UNPROVEN: "not proved", verdict.FAILS: "not for this"}


@dataclass(frozen=True)
class _Line:
    """One line of the picture.

    kind: what the verdict says: "praises", "unproven", "fails", or "" for nothing.
    plain, rater: what needs no judge, and one rater; None where it is not known.
    """

    name: str
    cell: Numbers
    kind: str
    plain: float | None = None
    rater: float | None = None


def draw(card: Numbers) -> str:
    """The picture as an SVG element, also a file's whole content; "" where no number
    has a value.

    card: what `card.json` holds. All texts of it are escaped.
    """
    lines = [line for line in _lines(card) if line.cell.get("value") is not None]
    if not lines:
        return ""
    ends = [0.0, 1.0]
    for line in lines:
        for number in (line.cell["value"], line.cell.get("low"), line.plain):
            if number is not None:
                ends.append(float(number))
    start = math.floor(min(ends) * 10) / 10
    height = _LINE * len(lines) + 62
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img" font-family="sans-serif" '
        'font-size="13">',
        f"<title>{_text(_in_words(lines))}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    bottom = _LINE * len(lines) + 8
    for tick in sorted({start, 0.0, 0.5, 1.0}):
        x = _x(tick, start)
        parts.append(
            f'<path d="M{x:.1f} 4V{bottom}" stroke="#c8c8c8"/>'
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" '
            f'fill="#444444">{tick:g}</text>'
        )
    for number, line in enumerate(lines):
        parts += _drawn(line, _LINE * number + 18, start)
    parts.append(
        f'<text x="8" y="{height - 8}" fill="#444444">● with 95 % interval: this judge '
        "and people. ▏ without a judge: output length, the longer option. "
        "◇ one rater.</text></svg>"
    )
    return "".join(parts)


def _lines(card: Numbers) -> Iterator[_Line]:
    """A line an aspect of each set, and one for each set of pairs."""
    findings = card["verdict"]["findings"]
    several = len(card["sets"]) > 1
    for name, numbers in card["sets"].items():
        of_set = [finding for finding in findings if finding["set"] == name]
        if numbers["kind"] == "pairs":
            plain = at(numbers, "longer.value")
            kind = glance.kind(of_set, "")
            yield _Line(name, numbers["accuracy"], kind, plain)
            continue
        for aspect, measured in numbers["aspects"].items():
            yield _Line(
                name=f"{name}, {aspect}" if several else aspect,
                cell=at(measured, "dataset.kendall") or {},
                kind=glance.kind(of_set, aspect),
                plain=at(measured, "length.rating.value"),
                rater=at(measured, "raters.dataset.rater.value"),
            )


def _x(number: float, start: float) -> float:
    """Where a number stands, from the left edge."""
    share = (number - start) / (1.0 - start)
    return _LEFT + min(max(share, 0.0), 1.0) * (_RIGHT - _LEFT)


def _drawn(line: _Line, y: int, start: float) -> Iterator[str]:
    """The elements of one line at a height."""
    colour = _COLOURS.get(line.kind, "#555555")
    name = line.name
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 1]}…"
    yield f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{_text(name)}</text>'
    low = line.cell.get("low")
    high = line.cell.get("high")
    if low is not None and high is not None:
        yield (
            f'<path d="M{_x(low, start):.1f} {y}H{_x(high, start):.1f}" '
            f'stroke="{colour}" stroke-width="3"/>'
        )
    x = _x(line.cell["value"], start)
    # hollow where it is not praised: the picture can be read without its colours
    fill = colour if line.kind == glance.PRAISES else "#ffffff"
    yield (
        f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{fill}" stroke="{colour}" '
        'stroke-width="2"/>'
    )
    if line.plain is not None:
        x = _x(line.plain, start)
        yield f'<path d="M{x:.1f} {y - 8}v16" stroke="#333333" stroke-width="2"/>'
    if line.rater is not None:
        x = _x(line.rater, start)
        yield (
            f'<path d="M{x:.1f} {y - 5}l5 5l-5 5l-5 -5z" fill="none" stroke="#333333"/>'
        )
    words = _WORDS.get(line.kind, f"{line.cell['value']:.2f}")
    yield f'<text x="{_RIGHT + 12}" y="{y + 4}" fill="{colour}">{words}</text>'


def _in_words(lines: list[_Line]) -> str:
    """What the picture shows, for those who do not see it."""
    texts = [f"{line.name} {cell(line.cell)}" for line in lines]
    return f"Agreement with people: {'; '.join(texts)}"


def _text(value: Any) -> str:
    """A text as XML has it: escaped, without what no XML can hold."""
    return tables.esc(files.printable(str(value)))
