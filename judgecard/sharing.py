"""A card for others: a badge for a README, and one file to send."""

from __future__ import annotations

from collections import Counter
from typing import Any

from judgecard import glance, page, verdict
from judgecard.cards import Card
from judgecard.web import smaller
from judgecard.written import Numbers
from nlgeval_lib import files, tables
from nlgeval_lib.scoring.cells import InputError

MOST_BYTES = 1_000_000
_LABEL = "judge card"
# shields.io's names of colours -> what they are here
_COLOURS = {
    "green": "#1b6e3c",
    "yellow": "#8a5a00",
    "red": "#b3261e",
    "lightgrey": "#6b6b6b",
}
_LETTER = 6.6  # pixels of a letter, about
_PADDING = 10


def badge(card: Numbers) -> dict[str, Any]:
    """The badge as shields.io's endpoint takes it: of how many aspects the judge is
    proved to follow people, and for how many it must not be used.

    Source: https://shields.io/badges/endpoint-badge (schemaVersion 1).
    """
    counts = Counter(glance.kinds(card))
    praised = counts[verdict.PRAISES]
    message = f"follows people: {praised} of {counts.total()}"
    if counts[verdict.FAILS]:
        message += f", not for {counts[verdict.FAILS]}"
    color = "yellow"
    if counts[verdict.FAILS]:
        color = "red"
    elif not praised:
        color = "lightgrey"  # nothing is proved, no fault is named
    elif praised == counts.total():
        color = "green"
    return {"schemaVersion": 1, "label": _LABEL, "message": message, "color": color}


def badge_svg(card: Numbers) -> str:
    """The badge as an SVG file, for where no server may be asked."""
    parts = badge(card)
    label = tables.esc(parts["label"])
    message = tables.esc(parts["message"])
    left = len(parts["label"]) * _LETTER + _PADDING
    right = len(parts["message"]) * _LETTER + _PADDING
    width = left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="20" '
        'role="img" font-family="Verdana,sans-serif" font-size="11" fill="#ffffff">'
        f"<title>{label}: {message}</title>"
        f'<rect width="{width:.0f}" height="20" rx="3" fill="#444444"/>'
        f'<rect x="{left:.0f}" width="{right:.0f}" height="20" rx="3" '
        f'fill="{_COLOURS[parts["color"]]}"/>'
        f'<text x="{left / 2:.0f}" y="14" text-anchor="middle">{label}</text>'
        f'<text x="{left + right / 2:.0f}" y="14" text-anchor="middle">{message}</text>'
        "</svg>\n"
    )


def one_file(card: Card) -> bytes:
    """The card as one page that needs no other file, of less than `MOST_BYTES`: its
    figures are inside, in few colours, as far as there is room.

    Raises: InputError where the tables alone are too large.
    """
    numbers = dict(card.numbers)
    # no page of single outputs is beside it
    sets = {}
    for name, of_set in numbers["sets"].items():
        sets[name] = {part: of_set[part] for part in of_set if part != "explorer"}
    numbers["sets"] = sets
    figures: dict[str, bytes] = {}
    content = _encoded(numbers, figures)
    if len(content) >= MOST_BYTES:
        raise InputError(
            f"the card's tables are {len(content):,} bytes, and {MOST_BYTES:,} is the "
            "most for one file; make a card of fewer aspects: --aspect"
        )
    for name, forms in card.pictures().items():
        with_it = {**figures, name: smaller(forms["png"])}
        larger = _encoded(numbers, with_it)
        if len(larger) < MOST_BYTES:
            figures = with_it
            content = larger
    return content


def _encoded(numbers: Numbers, figures: dict[str, bytes]) -> bytes:
    """The page as a file has it; half characters are spelt out."""
    return page.html(numbers, figures).encode("utf-8", "backslashreplace")


def markdown(name: str, card: Numbers) -> str:
    """The line for a README that shows the badge's file."""
    message = tables.for_markdown(files.printable(badge(card)["message"]))
    return f"![{_LABEL}: {message}]({name})"
