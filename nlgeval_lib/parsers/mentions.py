"""The numbers of a text, each with its sign and what follows it: a base, a range, a unit."""

from __future__ import annotations

import functools
import re

from nlgeval_lib.parsers import cues, doubts, standing
from nlgeval_lib.parsers.mention import CUT, SPLIT, Mention
from nlgeval_lib.parsers.quick import spelled, starting
from nlgeval_lib.parsers.scales import OTHER
from nlgeval_lib.parsers.text import DIGITS, TENS, WORD, WORDS, digit_span, number_of, words_of

_NUMBER = re.compile(rf"{DIGITS}|\b{WORD}\b")
_DIGITS = re.compile(DIGITS)
# of a text with more numbers the first and the last are read: time stays bounded
READ_AT_EACH_END = 1500
# number words that stand beside others: "twenty-one", "a hundred"
_COMPOUNDED = spelled(" ".join(("hundred", *TENS)))
_SPELLED = spelled(" ".join(WORDS))
_ONE_OF = re.compile(
    r"\s+(?:of|another|thing|the|could|can|may|might|must|has|would|should)\b(?!\s+(?:\d|three|four|five|seven|ten))"
)
_CUT_OFF = re.compile(r"(?:-|[ \t]*(?:/|out(?: of(?: a)?)?))\s*\Z")
_CUT_SIGNS = "- \t/o"  # what it begins with
_OTHER_AFTER = re.compile(rf"[ \t,(\[]*{OTHER}")
# "3/5 - 4/5", "3/5+"
_MORE = re.compile(
    rf"\+|[ \t]*(?:-|~|->|=>|\bto\b|\bor\b)[ \t]*(?P<then>{DIGITS}|{WORD})\s*(?:/|out of)\s*(?P<base>{DIGITS}|{WORD})\b"
)
_HALVES = (" and a half", " point five", "½", " ½", " 1/2", "-and-a-half", " and 1/2")
_HALF = re.compile(r"(?:[ -]and[ -]a[ -]half| point five)\b| ?½|(?: and)? 1/2(?![\d/])")
_ENDS = re.compile(cues.ENDS)
_PRONOUN = re.compile(r"\b(?:this|that|the|each|every|any|which|another|no) \Z")
_FRACTION = re.compile(r"\d{1,15}")
_KINDS = {"base": "of", "upto": "range", "then": "series"}
_GLUED = frozenset(("stars", "points", "of"))  # may follow without a blank


def find(text: str, low: float, high: float, found: list[re.Match] | None = None) -> list[Mention]:
    """The numbers of `text` (readable, lower case, own scale taken off), in order, each with its strength or flaw.

    `found` is what `numbers` finds in the text, where that is known.
    """
    mentions = []
    taken = -1
    seen = 0
    found = numbers(text, words_of(text)) if found is None else found
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


def numbers(text: str, words: set[bytes] | None) -> list[re.Match]:
    """The numbers of a text with these `words` (see `text.words_of`), in digits and in letters, in order."""
    if words is None:
        return list(_NUMBER.finditer(text))
    if _SPELLED.isdisjoint(words):
        return _digits(text)
    spelled = _SPELLED.intersection(words)
    if not _COMPOUNDED.isdisjoint(spelled):
        return list(_NUMBER.finditer(text))
    return sorted((*_digits(text), *_single_words(spelled).finditer(text)), key=re.Match.start)


def _digits(text: str) -> list[re.Match]:
    return list(_DIGITS.finditer(text, *digit_span(text)))


@functools.lru_cache(maxsize=256)
def _single_words(words: frozenset[bytes]) -> re.Pattern:
    longest_first = sorted((word.decode() for word in words), key=len, reverse=True)
    return re.compile(rf"{starting(*longest_first)}\b")


def _read(text: str, match: re.Match, low: float, high: float) -> tuple[Mention | None, int]:
    """One number, None where it is part of a word, an amount, a date or another number; and up to where it was read."""
    start, end = match.span()
    token = match.group()
    value = number_of(token)
    before = text[start - 1] if start else "\n"
    after = text[end] if end < len(text) else "\n"
    if value is None or before.isalnum() or before in "$€£¥#@^%_" or after == "_":
        return None, end
    half = after in " ½-" and text.startswith(_HALVES, end) and _HALF.match(text, end)
    if half:  # "three and a half", "3½"
        value += 0.5
        end = half.end()
        after = text[end] if end < len(text) else "\n"
    right = cues.RIGHT.match(text, end) if after != "\n" else None
    kind = _KINDS.get(right.lastgroup, right.lastgroup) if right else ""
    used = right.end() if right else end
    if half and not kind:
        kind = "half"
    if kind == "date":
        return None, used
    if after == " " and right is None:
        counted = cues.PART_OR_COUNT.match(text, end)
        if counted and (counted["part"] or not _ENDS.match(text, end)):
            return None, end  # "4 of the facts", "3 errors"
    if kind == "range" and "to" in right.group() and cues.MOVED_FROM.search(text, max(0, start - 60), start):
        return None, end  # "lowered from 5 to 3"
    if (
        (after.isalnum() and kind not in _GLUED)
        or text.startswith("-ish", end)
        or (token == "one" and (_ONE_OF.match(text, end) or _PRONOUN.search(text, max(0, start - 9), start)))
        or (after == "-" and not kind and start and text[end + 1 : end + 2].isalpha())  # "one-sided", "3-year"
    ):
        return None, end
    signed = _sign(text, start, value, before) if before in "-+.:/" else (start, value)
    if signed is None:
        return None, used if kind in ("of", "range") else end
    mention = Mention(token, signed[1], signed[0], end, used, kind)
    bracketed = before == "<" and text[used : used + 1] == ">"
    if before in "~<>" and not bracketed and not text.startswith(("->", "=>"), start - 2):
        mention.spoil("an approximate or bounded number")
    _follow(mention, text, right, low, high)
    standing.assess(mention, text)
    if mention.strength is not None and not mention.flaw:
        after = used if kind == "of" else end
        if text[after : after + 1] != "\n" and cues.SPLIT_AFTER.match(text, after):
            mention.spoil(SPLIT, blocks=True)
        else:
            doubts.weigh(mention, text)
    return mention, used


def _sign(text: str, start: int, value: float, before: str) -> tuple[int, float] | None:
    """Where the number starts with its sign, and its value; None where it belongs to what stands before it."""
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


def _several(text: str, mention: Mention, high: float) -> bool:
    """Whether another score on the same scale, or a plus sign, follows right after `4/5`."""
    more = _MORE.match(text, mention.used)
    if not more or not more["base"]:
        return more is not None
    return number_of(more["base"]) == high and number_of(more["then"]) != mention.value


def _follow(mention: Mention, text: str, right: re.Match | None, low: float, high: float) -> None:
    """Make of the number what follows it: half a point more, a share of the scale, or a flaw."""
    if text[mention.end : mention.end + 1] in _CUT_SIGNS and _CUT_OFF.match(text, mention.end):
        mention.spoil(CUT, blocks=True)
    elif right is None:
        if OTHER in text and _OTHER_AFTER.match(text, mention.end):
            mention.spoil("the score is given on another scale", blocks=True)
    elif mention.kind == "of":
        mention.based = number_of(right["base"]) == high
        if not mention.based:
            mention.spoil(f"the score is given on a scale up to {right['base'][:20]}", blocks=True)
        elif _several(text, mention, high):
            mention.spoil("more than one number at once", blocks=True)
    elif mention.kind in ("range", "series"):
        second = number_of(right["upto"] or right["then"])
        if (mention.value, second) == (low, high):
            mention.spoil("the scale itself")
        elif mention.kind == "range" and second is not None and second <= mention.value and ">" not in right.group():
            mention.spoil("a result or a difference, not a score")
        else:
            both = text[mention.start : right.end()].strip()[:40]
            mention.spoil(f"more than one number at once: {both!r}", blocks=True)
    elif mention.kind == "percent" and (low, high) == (0.0, 1.0):
        mention.value /= 100.0
    elif mention.kind == "percent" and (low, high) != (0.0, 100.0):
        mention.spoil("the score is a percentage", blocks=True)
    elif mention.kind == "sum":
        mention.spoil("a sum, not a number", blocks=True)
    elif mention.kind == "stars" and high > 10:
        mention.spoil("the score is given in stars", blocks=True)
    elif mention.kind == "points" and cues.POINTS_OFF.match(text, mention.end):
        mention.spoil("the number is a deduction or a starting point")
    mention.rescaled = mention.blocks and ("scale" in mention.flaw or "percentage" in mention.flaw)
    if not mention.flaw and cues.RUBRIC_AFTER.match(text, mention.used):
        mention.spoil("a scale point is explained")
    elif mention.flaw:
        return
    elif text.startswith(cues.BOUND_SIGNS, mention.used):
        if cues.BOUND_AFTER.match(text, mention.used):
            mention.spoil("the number is negated or a bound")
    elif mention.value % 1.0 and "round" in text[mention.used : mention.used + 30]:
        rounded = cues.ROUNDED_AFTER.match(text, mention.used)
        if rounded and number_of(rounded["to"]) != mention.value:
            mention.spoil(f"the number is rounded to {rounded['to'][:9]}", blocks=True)
