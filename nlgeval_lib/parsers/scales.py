"""Scales printed in a text ("Score (1-5):", "on a scale of 1 to 5"): our own is taken off, another one is marked."""

from __future__ import annotations

import re
import string

from nlgeval_lib.parsers.quick import Gated, starting
from nlgeval_lib.parsers.text import DIGITS, WORD, WORDS, digit_span, number_of

# Stands where the scale of a label was another than the one asked for: "Score (1-10): 7" on 1 to 5.
OTHER = "\x01"

_TOKEN = rf"(?:{DIGITS}|\b{WORD}\b)"
_N = rf"(-?{_TOKEN})"
_TO = r"\s*(?:-|to|and|or|through|~|\.\.+|,|/|\|)\s*"
_UNIT = r"(?:\s*(?:stars?|points?))?"
_LEAD = r"(?:\b(?:on|in|using|with|per|by|at)\s+)?(?:\b(?:a|an|the|our|this)\s+)?"
_PAIR = re.compile(r"\d\s*(?:-|to\b|and\b|or\b|through\b|~|\.\.|,|/|\|)\s*-?\d")

_SCALE_CORE = rf"""{starting("scale", "range")}s?\s*
         (?:of|from|is|:|=|being|between|ranging\s+from|goes\s+from|,)?\s*[(\[]?\s*(?:from\s+|between\s+)?
         {_N}{_UNIT}{_TO}{_N}{_UNIT}\s*[)\]]?"""
_SCALE_AHEAD = re.compile(_SCALE_CORE, re.X)
_SCALE = re.compile(
    rf"{_LEAD}(?:\b(?:likert|rating|scoring|numeric(?:al)?|score)[ -])?{_SCALE_CORE}",
    re.X,
)
_SUFFIX = re.compile(rf"{_LEAD}{_N}\s*(?:-|to)\s*{_N}(?:[ -](?:point|likert|rating|star|score))*[ -](?:scale|range)\b")
_NAME = re.compile(r"[ -](?:scale|range)\b")
_BEFORE_NAME = (*string.digits, *WORDS, "point", "likert", "rating", "star", "score")
_POINT_END = r"(?:points?|stars?)\s+(?:likert\s+|rating\s+)?(?:scale|system)\b"
_POINT_AHEAD = Gated(("point", "star"), _POINT_END)
_POINT = re.compile(rf"{_LEAD}\b({_TOKEN})[ -]{_POINT_END}")
_BRACKET = re.compile(
    rf"""[(\[{{]\s*
         (?:(?:rated|scored?|rate|range|ranging|from|between|out\s+of|values?|integer|an|number|please|numeric|scores?|only|
            :|on|a)[\s:]+){{0,4}}
         {_N}{_UNIT}{_TO}(?:(?:{DIGITS}){_TO}(?:or\s+)?){{0,9}}(?:or\s+)?{_N}{_UNIT}
         (?:\s*(?:inclusive|only|scale|,?\s*(?:where|with|higher|integer)[^()\[\]\n]{{0,80}}))?\s*[)\]}}]""",
    re.X,
)
# patterns that begin with plain characters are found several times faster
_FROM, _BETWEEN = (
    re.compile(rf"{starting(word)}\s+{_N}{_UNIT}\s*(?:-|to|and)\s*{_N}{_UNIT}\b") for word in ("from", "between")
)
_LIST = re.compile(rf"\b({DIGITS})(?:\s*,\s*(?:{DIGITS})){{1,9}}\s*,?\s*or\s+({DIGITS})\b")
_BEFORE_VALUE = r"[\s\"*]*(?::|=|->|-(?=\s)|is\b)"
# in brackets between a label and its colon: "(1 = worst, 5 = best)", "(out of 5)"
_NOTE = re.compile(rf"[(\[](?P<note>[^()\[\]\n]{{1,90}})[)\]](?={_BEFORE_VALUE})")
_TOP = re.compile(r"out of|max|/|\bof\b(?! (?:the|all|these|those))|points?|stars?")
_BASE, _SLASH = (re.compile(rf"{sign}\s*({_TOKEN})(?={_BEFORE_VALUE})") for sign in (r"out\s+of", "/"))
# the top of the scale before the score: 5点中4点, 5점 만점에 4점, 满分5分
_EASTERN = re.compile(
    r"(\d{1,3})\s*(?:点満点中?|点中|分中|分满分|점\s*만점(?:에|\s*중)?)|满分\s*(?:为|是|:)?\s*(\d{1,3})\s*分"
)
# "Out of 10, I give it a 4"
_OUT_OF = re.compile(rf"out\s+of\s+({_TOKEN})\s*,")
_ANY = re.compile(rf"{DIGITS}|\b{WORD}\b")


def take_off(text: str, low: float, high: float, several: bool = True) -> str:
    """`text` (readable, lower case) without mentions of the scale low to high.

    A label's scale other than that leaves the mark `OTHER`; anything else between two numbers stays. `several` may be
    False where the text holds no two numbers that could be the ends of a scale.
    """
    if OTHER in text:
        text = text.replace(OTHER, " ")

    def ours(match: re.Match) -> bool | None:
        ends = (_value(match.group(1)), _value(match.group(2)))
        return None if None in ends else ends in ((low, high), (high, low))

    def scale(match: re.Match) -> str:
        same = ours(match)
        return match.group() if same is None else " " if same else f" {OTHER} "

    def span(match: re.Match) -> str:
        return " " if ours(match) else match.group()

    def bracket(match: re.Match) -> str:
        verdict = match.group().count("/") == 1  # "(1/5)"
        return " " if not verdict and ours(match) else match.group()

    def note(match: re.Match) -> str:
        values = {number_of(token) for token in _ANY.findall(match["note"])}
        if not values or (len(values) == 1 and not _TOP.search(match["note"])):
            return match.group()
        return " " if high in values and (low in values or len(values) == 1) else f" {OTHER} "

    def points(match: re.Match) -> str:
        value = number_of(match.group(1))
        return " " if value == high or (low == 0 and value == high + 1) else f" {OTHER} "

    def top(match: re.Match) -> str:
        after_word = match.string[: match.start()].rstrip()[-1:].isalpha()
        return match.group() if not after_word else " " if number_of(match.group(1)) == high else f" {OTHER} "

    def eastern(match: re.Match) -> str:
        return " " if number_of(match.group(1) or match.group(2)) == high else f" {OTHER} "

    def opening(match: re.Match) -> str:
        if match.string[: match.start()].rstrip(" \t")[-1:] not in ("", ".", "!", "?", "\n"):
            return match.group()
        return " " if number_of(match.group(1)) == high else f" {OTHER} "

    if not text.isascii():
        text = _EASTERN.sub(eastern, text)
    if "(" in text or "[" in text or "{" in text:
        text = _NOTE.sub(note, text)
        if several and _PAIR.search(text, *digit_span(text)):
            text = _BRACKET.sub(bracket, text)
    if "scale" in text or "range" in text:
        if several and _SCALE_AHEAD.search(text):
            text = _SCALE.sub(scale, text)
        if several and _suffixed(text):
            text = _SUFFIX.sub(scale, text)
        if _POINT_AHEAD.search(text):
            text = _POINT.sub(points, text)
    if several and "from " in text:
        text = _FROM.sub(span, text)
    if several and "between " in text:
        text = _BETWEEN.sub(span, text)
    if several and " or " in text and _PAIR.search(text, *digit_span(text)):
        text = _LIST.sub(span, text)
    if "out of" in text:
        text = _BASE.sub(top, _OUT_OF.sub(opening, text))
    if "/" in text:
        text = _SLASH.sub(top, text)
    return text


def _suffixed(text: str) -> bool:
    """Whether something stands before the name of a scale that `_SUFFIX` could end with; true of all non-ASCII."""
    return not text.isascii() or any(text.endswith(_BEFORE_NAME, 0, name.start()) for name in _NAME.finditer(text))


def _value(token: str) -> float | None:
    value = number_of(token.removeprefix("-"))
    return -value if value is not None and token.startswith("-") else value
