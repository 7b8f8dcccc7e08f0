"""The picture of a card's first screen, as SVG that is drawn of its numbers alone: a
line an aspect (or set of pairs) with the value and its interval, what output length or
the longer option reaches, and what one rater does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from judgecard import glance, verdict, web
from judgecard.written import Numbers, at, cell
from nlgeval_lib import files

_LEFT = 190  # of the axis, in pixels
_RIGHT = 560  # of the axis; the number stands beyond it
_LINE = 26
_LONGEST = 26  # characters of a name
# what is said of an aspect -> the colour of its line, and the word beside it
_COLOURS = {
    verdict.PRAISES: "#1b6e3c",
    verdict.UNPROVEN: "#8a5a00",
    verdict.FAILS: "#b3261e",
}
_WORDS = {verdict.UNPROVEN: "not proved", verdict.FAILS: "not for this"}


def draw(card: Numbers) -> str:
    """The picture as an SVG element, also a file's whole content; "" where no number
    has a value.
    """
    lines = [line for line in _lines(card) if line["cell"].get("value") is not None]
    if not lines:
        return ""
    ends = [0.0, 1.0]
    for line in lines:
        for number in (line["cell"]["value"], line["cell"].get("low"), line["plain"]):
            if number is not None:
                ends.append(float(number))
    start = math.floor(min(ends) * 10) / 10
    texts = [f"{line['name']} {cell(line['cell'])}" for line in lines]
    words = f"Agreement with people: {'; '.join(texts)}"
    ticks = [(f"{tick:g}", _x(tick, start)) for tick in sorted({start, 0.0, 0.5, 1.0})]
    bottom = _LINE * len(lines) + 8
    return web.render(
        "glance.html",
        words=files.printable(words),
        ticks=ticks,
        lines=[_placed(line, start) for line in lines],
        bottom=bottom,
        height=bottom + 54,
    )


def _lines(card: Numbers) -> Iterator[dict[str, Any]]:
    """A line an aspect of each set, and one for each set of pairs."""
    several = len(card["sets"]) > 1
    for name, numbers in card["sets"].items():
        of_set = verdict.of_set(card, name)
        if numbers["kind"] == "pairs":
            yield {
                "name": name,
                "cell": numbers["accuracy"],
                "kind": glance.kind(of_set, ""),
                "plain": at(numbers, "longer.value"),
                "rater": None,
            }
            continue
        for aspect, measured in numbers["aspects"].items():
            yield {
                "name": f"{name}, {aspect}" if several else aspect,
                "cell": at(measured, "dataset.kendall") or {},
                "kind": glance.kind(of_set, aspect),
                "plain": at(measured, "length.rating.value"),
                "rater": at(measured, "raters.dataset.rater.value"),
            }


def _placed(line: dict[str, Any], start: float) -> dict[str, Any]:
    """A line with its places from the left edge, its colours and its words."""
    name = files.printable(line["name"])
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 1]}…"
    numbers = line["cell"]
    has_interval = numbers.get("low") is not None and numbers.get("high") is not None
    colour = _COLOURS.get(line["kind"], "#555555")
    # hollow where it is not praised: the picture can be read without its colours
    fill = colour if line["kind"] == verdict.PRAISES else "#ffffff"
    return {
        "name": name,
        "colour": colour,
        "fill": fill,
        "value": _x(numbers["value"], start),
        "low": _x(numbers["low"], start) if has_interval else "",
        "high": _x(numbers["high"], start) if has_interval else "",
        "plain": _x(line["plain"], start),
        "rater": _x(line["rater"], start),
        "words": _WORDS.get(line["kind"], f"{numbers['value']:.2f}"),
    }


def _x(number: float | None, start: float) -> str:
    """Where a number stands, from the left edge; "" for none."""
    if number is None:
        return ""
    share = (number - start) / (1.0 - start)
    return f"{_LEFT + min(max(share, 0.0), 1.0) * (_RIGHT - _LEFT):.1f}"
