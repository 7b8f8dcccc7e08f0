"""The numbers of a text, each with its sign and what follows it: a base, a range, a unit."""

from __future__ import annotations

import re

from nlgeval_lib.parsers import cues, doubts, standing
from nlgeval_lib.parsers.mention import CUT, SPLIT, Mention
from nlgeval_lib.parsers.scales import OTHER
from nlgeval_lib.parsers.text import DIGITS, WORD, number_of

_NUMBER = re.compile(rf"{DIGITS}|\b{WORD}\b")
_DIGITS = re.compile(DIGITS)
# of a text with more numbers the first and the last are read: time stays bounded
READ_AT_EACH_END = 1500
# the two number words that are often part of another word ("tone", "often")
_FREQUENT = re.compile(r"one\b(?<![a-z]one)|ten\b(?<![a-z]ten)")
_ONE_OF = re.compile(
    r"\s+(?:of|another|thing|the|could|can|may|might|must|has|would|should)\b(?!\s+(?:\d|three|four|five|seven|ten))"
)
_CUT_OFF = re.compile(r"(?:-|[ \t]*(?:/|out of))\s*\Z")
_OTHER_AFTER = re.compile(rf"[ \t,(\[]*{OTHER}")
_FRACTION = re.compile(r"\d{1,15}")
_KINDS = {"base": "of", "upto": "range", "then": "series"}
_GLUED = frozenset(("stars", "points", "of"))  # may follow without a blank


def find(text: str, low: float, high: float) -> list[Mention]:
    """The numbers of `text` (readable, lower case, own scale taken off), in order, each with its strength or flaw."""
    mentions = []
    taken = -1
    seen = 0
    wordy = _has_rare_word(text) or _FREQUENT.search(text)
    found = list((_NUMBER if wordy else _DIGITS).finditer(text))
    if len(found) > 2 * READ_AT_EACH_END:
        found = found[:READ_AT_EACH_END] + found[-READ_AT_EACH_END:]
    for match in found:
        if match.start() < taken:
            continue
        seen += 1
        mention, taken = _read(text, match, low, high)
        if mention is not None:
            mentions.append(mention)
    for mention in mentions:
        if mention.rule == "bracketed" and seen > 1:
            mention.strength = None  # one of several numbers in prose
    return mentions


def _has_rare_word(text: str) -> bool:
    # spelled out, as this is several times faster than a loop or a pattern
    return (
        "two" in text or "three" in text or "four" in text or "five" in text or "six" in text or "seven" in text
        or "eight" in text or "nine" in text or "zero" in text or "eleven" in text or "twelve" in text
        or "twenty" in text or "thirt" in text or "fift" in text or "hundred" in text
    )  # fmt: skip


def _read(text: str, match: re.Match, low: float, high: float) -> tuple[Mention | None, int]:
    """One number, None where it is part of a word, an amount, a date or another number; and up to where it was read."""
    start, end = match.span()
    token = match.group()
    value = number_of(token)
    before = text[start - 1] if start else "\n"
    after = text[end] if end < len(text) else "\n"
    if value is None or before.isalnum() or before in "$€£¥#@^%_" or after == "_":
        return None, end
    right = cues.RIGHT.match(text, end)
    kind = _KINDS.get(right.lastgroup, right.lastgroup) if right else ""
    used = right.end() if right else end
    if kind == "date":
        return None, used
    if (
        (after.isalnum() and kind not in _GLUED)
        or (token == "one" and _ONE_OF.match(text, end))
        or (after == "-" and not kind and start and text[end + 1 : end + 2].isalpha())  # "one-sided", "3-year"
    ):
        return None, end
    signed = _sign(text, start, value, before)
    if signed is None:
        return None, used if kind in ("of", "range") else end
    mention = Mention(token, signed[1], signed[0], end, used, kind)
    bracketed = before == "<" and text[used : used + 1] == ">"
    if before in "~<>" and not bracketed and not text.startswith(("->", "=>"), start - 2):
        mention.spoil("an approximate or bounded number")
    _follow(mention, text, right, low, high)
    standing.assess(mention, text)
    if mention.strength is not None and not mention.flaw:
        if cues.SPLIT_AFTER.match(text, used if kind == "of" else end):
            mention.spoil(SPLIT, blocks=True)
        else:
            doubts.weigh(mention, text)
    return mention, used


def _sign(text: str, start: int, value: float, before: str) -> tuple[int, float] | None:
    """Where the number starts with its sign, and its value; None where it belongs to what stands before it."""
    if before not in "-+.:/":
        return start, value
    outer = text[start - 2] if start > 1 else "\n"
    if before == "-":
        if outer in "->":
            return start, value
        if outer.isalpha():  # "gpt-4" is none, "score-4" is one
            return (start, value) if cues.NOUN_DIRECT.search(text[max(0, start - 40) : start - 1]) else None
        return None if outer.isdigit() else (start - 1, -value)
    if before == "+":
        return None if outer.isalnum() else (start - 1, value)
    if before == ".":
        if outer.isalnum() or outer == ".":
            return start, value
        fraction = _FRACTION.match(text, start)
        return (start - 1, float(f"0.{fraction.group()}")) if fraction else (start, value)
    return None if outer.isdigit() or before == "/" else (start, value)


def _follow(mention: Mention, text: str, right: re.Match | None, low: float, high: float) -> None:
    """Make of the number what follows it: half a point more, a share of the scale, or a flaw."""
    if _CUT_OFF.match(text, mention.end):
        mention.spoil(CUT, blocks=True)
    elif right is None:
        if _OTHER_AFTER.match(text, mention.end):
            mention.spoil("the score is given on another scale", blocks=True)
    elif mention.kind == "of":
        mention.based = number_of(right["base"]) == high
        if not mention.based:
            mention.spoil(f"the score is given on a scale up to {right['base'][:20]}", blocks=True)
    elif mention.kind in ("range", "series"):
        second = number_of(right["upto"] or right["then"])
        if (mention.value, second) == (low, high):
            mention.spoil("the scale itself")
        elif mention.kind == "range" and second is not None and second <= mention.value:
            mention.spoil("a result or a difference, not a score")
        else:
            both = text[mention.start : right.end()].strip()[:40]
            mention.spoil(f"more than one number at once: {both!r}", blocks=True)
    elif mention.kind == "half":
        mention.value += 0.5
    elif mention.kind == "percent" and (low, high) == (0.0, 1.0):
        mention.value /= 100.0
    elif mention.kind == "percent" and (low, high) != (0.0, 100.0):
        mention.spoil("the score is a percentage", blocks=True)
    elif mention.kind == "sum":
        mention.spoil("a sum, not a number", blocks=True)
    elif mention.kind == "stars" and high > 10:
        mention.spoil("the score is given in stars", blocks=True)
    mention.rescaled = mention.blocks and ("scale" in mention.flaw or "percentage" in mention.flaw)
    if not mention.flaw and cues.RUBRIC_AFTER.match(text, mention.used):
        mention.spoil("a scale point is explained")
