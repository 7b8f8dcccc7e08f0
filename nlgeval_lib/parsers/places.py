"""Where in its text a parser read the verdict."""

from __future__ import annotations

import re

from nlgeval_lib.parsers.text import Parsed

_MARK = re.compile(r"\[RESULT\]", re.I)
_BASE = re.compile(r"\d\s?(?:/|out of)\s?\Z")


def place_of(text: str, reading: Parsed) -> tuple[int, int] | None:
    """Start and end of the number or word that a reading took from a text; None where
    it stands there otherwise ("four" for 4), or none of several is surely the one.
    """
    word = getattr(reading, "choice", "")
    if not word:
        word = f"{reading.value:g}"
    alone = rf"(?<![\w.,-])(?P<verdict>{re.escape(word.lower())})(?!\w|[.,]\d)"
    lower = text.lower()
    matched = getattr(reading, "matched", "")
    inside = list(re.finditer(alone, matched))
    # not the base of "4/4" or "4 out of 4"
    verdicts = [
        number for number in inside if not _BASE.search(matched[: number.start()])
    ]
    if verdicts or inside:
        at = (verdicts or inside)[-1].start("verdict")
        for pattern in _patterns(matched, at, alone, len(word)):
            places = list(re.finditer(pattern, lower))
            if places:
                return places[-1].span("verdict")
    start = 0
    for mark in _MARK.finditer(text):
        start = mark.end()
    places = list(re.finditer(alone, lower[start:]))
    if len(places) == 1 or (start and places):
        first, last = places[0].span("verdict")
        return start + first, start + last
    return None


def _patterns(matched: str, at: int, alone: str, length: int) -> list[str]:
    """The verdict with what stands around it, from the most words to one."""
    lead = matched[:at].split()
    tail = r"\s+".join(map(re.escape, matched[at + length :].split()))
    patterns = []
    for following in dict.fromkeys((rf"\s*{tail}", "")):
        for first in range(len(lead)):
            before = r"\s+".join(map(re.escape, lead[first:]))
            patterns.append(rf"{before}[\s*_\"'(]*{alone}{following}")
    return patterns
