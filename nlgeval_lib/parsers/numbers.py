"""Numbers in their places: every number of a normalised text, and what follows it makes of it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nlgeval_lib.parsers.cues import END_OF_NUMBER, ENDS
from nlgeval_lib.parsers.normalise import OTHER
from nlgeval_lib.parsers.text import DIGITS, WORD, number_of, places


@dataclass(slots=True)
class Candidate:
    """A number in its place: `start` to `end` of the normalised text; `used` is where what belongs to it ends.

    `kind` says what follows it (of, range, series, percent, stars, points, half, sum), `cue` and `strength` what
    presents it, `label` under which name, `veto` why it is no verdict. A veto that `blocks` leaves weaker ones no say.
    """

    value: float
    start: int
    end: int
    used: int
    token: str
    kind: str = ""
    strength: int = 0
    cue: str = ""
    label: str = ""
    veto: str = ""
    blocks: bool = False
    rescaled: bool = False  # given on another scale, or in per cent
    based: bool = False  # "out of high" stands beside it
    enumerated: bool = False  # "Score 2: ...", as in a rubric

    def present(self, strength: int, cue: str, label: str = "") -> None:
        """The text presents this number as a verdict of that strength."""
        self.strength, self.cue, self.label = strength, cue, label

    def spoil(self, veto: str, blocks: bool = False, rescaled: bool = False) -> None:
        """The number is no verdict, and why."""
        self.veto, self.blocks, self.rescaled = veto, blocks, rescaled


CUT = "the text ends in the middle of the score"
READ_AT_EACH_END = 400  # of a text with more numbers the first and the last are read: time stays bounded
_NAMED = re.compile(r"[a-z](?<!score)(?<!rating)(?<!grade)(?<!mark)-\Z")
_PRONOUN = re.compile(r"\b(?:this|that|the|each|every|any|which|another|no) \Z")
_ONE_WHO = re.compile(r" (?:the|this|that|it|i|which|who|could|can|might|may|should|must|has|says)\b")
_MOVED_FROM = re.compile(
    r"\b(?:lower|reduc|drop|rais|mov|chang|revis|adjust|bring|brought|increas|decreas)\w*[a-z ]{0,20} from(?: "
    r"an?)?\s*\Z"
)
_HALF = re.compile(r"(?:[ -]and[ -]a[ -]half| point five)\b| ?½|(?: and)? 1/2(?![\d/])")
_N = rf"(?:{DIGITS}|{WORD})(?![a-z0-9])"
_RIGHT = re.compile(
    rf"""(?P<date>[ \t]*/[ \t]*\d+[ \t]*/[ \t]*\d|-\d+-\d|:\d)
       | (?P<of>[ \t]*(?:stars?\b|points?\b|pts\b|marks?\b|★)?[ \t]*[(\[]?[ \t]*
           (?:/|\\/|out[ ]of|of[ ]a[ ]possible|von[ ]|sur[ ]|de[ ]|av[ ]|van[ ]|из|من
           |of(?=[ \t]+(?:\d|the[ ]\d+[ ](?:possible|available))))
           [ \t]*(?:a[ \t]+|the[ \t]+)?
           (?:(?:possible|maximum|total|max|perfect)[ \t]+(?:possible[ \t]+)?(?:score[ \t]+)?(?:of[ \t]+)?)?
           (?P<base>{_N}))
       | (?P<range>[ \t]*(?:-|~|->|=>|\bto\b|\bthrough\b|\.\.+)[ \t]*(?P<upto>{_N}){END_OF_NUMBER})
       | (?P<series>(?![,;][ ]{_N}[ ](?:is|seems|feels)\b)
           [ \t]*(?:,[ \t]*(?:and|or)\b|,|;|/|\||&|\(?\bor\b|\band\b|\bvs\b\.?|\bversus\b|[ ](?=\d))
           [ \t]*(?:(?:maybe|perhaps|possibly|even)[ ]+)?(?:an?[ ])?(?P<then>{_N})
           (?:{END_OF_NUMBER}|(?=[ \t]+[(\[]?\d)))
       | (?P<percent>[ ]?(?:%|percent\b|per[ ]cent\b))
       | (?P<stars>[ \t-]*(?:stars?\b|つ星|星|★))
       | (?P<points>[ \t-]*(?:points?\b|pts\b|marks?\b|分|点|點|점|баллов|балла|punkte?\b|puntos\b))
       | (?P<sum>\+|[ \t]*(?:[x×*+=]|\bplus\b|\bminus\b|\btimes\b)[ \t]*\d)""",
    re.X,
)
# "4 of the facts", "3 minor errors": parts and things that are counted
_COUNTED = re.compile(
    r" (?:(?P<part>(?:out )?of (?:the|its|these|those|them|all|my|our|his|her|their)\b(?! (?:possible|total|maximum|"
    r"available|max|best)\b)(?! \d+(?: (?:possible|points|stars|marks)\b|[ \t]*(?:[.!,;)\n]|\Z))))|(?:(?:[a-z-]+(?:al|"
    r"ed|ing|ous|ive|ic|or|able|ible)|key|main|small|big|wrong|false|more|other) ){0,2}(?:errors?|mistakes?|issues?|"
    r"problems?|typos?|sentences?|words?|facts?|paragraphs?|examples?|omissions?|inconsistenc(?:y|ies)|contradictions?|"
    r"repetitions?|statements?|claims?|events?|people|persons|times|reasons?|points (?:are|were|is|was|have|has|not)|"
    r"(?:key|main) (?:points|aspects|ideas|details))\b(?![ \t]*[:(]))"
)
_ENDS = frozenset(("", *"\n.!?)]\"'"))  # of these nothing goes on with the number but ".."
_CUT_OFF = re.compile(r"(?:-|[ \t]*(?:/|out(?: of(?: a)?)?))\s*\Z")
_MORE = re.compile(rf"\+|[ \t]*(?:-|~|->|=>|\bto\b|\bor\b)[ \t]*(?P<then>{_N})\s*(?:/|out of)\s*(?P<base>{_N})")
_OTHER_AFTER = re.compile(rf"[ \t,(\[]*{OTHER}")
_ROUNDED = re.compile(
    r"[ \t,;(-]{0,4}(?:(?:which|and|or|i|we|i'd|would|can|be|is|it|this|so|then) ){0,4}round(?:s|ed|ing)?\b"
    rf"(?: (?:it|this|up|down|off|here|to|a)\b){{0,4}}\s?:?\s?(?P<to>{_N})"
)


def numbers(text: str, low: float, high: float) -> list[Candidate]:
    """Every number of a normalised text that is no part of a word, an amount, a date or a count."""
    found = places(text)
    if len(found) > 2 * READ_AT_EACH_END:
        found = found[:READ_AT_EACH_END] + found[-READ_AT_EACH_END:]
    read, taken = [], -1
    for start, end in found:
        if start >= taken:
            one, taken = _number(text, start, end, low, high)
            if one is not None:
                read.append(one)
    return read


def _number(text: str, start: int, end: int, low: float, high: float) -> tuple[Candidate | None, int]:
    """One number, None where it is none that could be a score; and up to where it was read."""
    token, value = text[start:end], number_of(text[start:end])
    half = _HALF.match(text, end) if text[end : end + 1] in " ½-" else None
    if value is None or math.isinf(value):
        return None, end
    if half:
        value, end = value + 0.5, half.end()
    ends = text[end : end + 1] in _ENDS and text[end + 1 : end + 2] != "."
    right = None if ends else _RIGHT.match(text, end)
    kind = right.lastgroup or "" if right else "half" if half else ""
    used = right.end() if right else end
    sign, before, after = text[start - 1 : start], text[max(0, start - 9) : start], text[end : end + 2]
    glued = after[:1].isalnum() and kind not in ("stars", "points", "of")
    hyphened = after[:1] == "-" and not kind and start > 0 and after[1:].isalpha()  # "one-sided", "3-year", "4-ish"
    if kind == "date" or (sign == "/" and not right):
        return None, used
    if glued or hyphened or _NAMED.search(before) or _counted(text, token, start, end, right):
        return None, end
    outer = before[-2:-1]
    if sign == "-" and not (outer.isalpha() or (outer and outer in "->")):
        start, value = start - 1, -value
    elif sign == "." and not (outer.isalnum() or outer == ".") and token.isdigit():
        start, value = start - 1, float(f"0.{token[:15]}")
    one = Candidate(value, start, end, used, token, kind)
    arrow = before.endswith(("->", "=>")) or (sign == "<" and text.startswith(">", used))
    if sign and sign in "~<>≈≥≤" and not arrow:
        one.spoil("an approximate or bounded number")
    else:
        _follow(one, text, right, low, high)
    return one, used


def _counted(text: str, token: str, start: int, end: int, right: re.Match | None) -> bool:
    """Whether a number counts something, is the pronoun "one", or where a score moved from."""
    if token == "one" and (_PRONOUN.search(text, max(0, start - 9), start) or _ONE_WHO.match(text, end)):
        return True
    if right is not None:
        to = right["range"] is not None and "to" in right.group()
        return to and _MOVED_FROM.search(text, max(0, start - 60), start) is not None
    counted = _COUNTED.match(text, end)
    return counted is not None and (counted["part"] is not None or not ENDS.match(text, end))


def _follow(one: Candidate, text: str, right: re.Match | None, low: float, high: float) -> None:
    """Make of the number what follows it: a share of the scale, or a veto."""
    second = number_of(right["upto"] or right["then"]) if right and one.kind in ("range", "series") else None
    if _CUT_OFF.match(text, one.end):
        one.spoil(CUT, blocks=True)
    elif _OTHER_AFTER.match(text, one.end):
        one.spoil("the score is given on another scale", blocks=True, rescaled=True)
    elif one.kind == "of" and right:
        one.based = number_of(right["base"]) == high
        more = _MORE.match(text, one.used)
        if not one.based:
            one.spoil(f"the score is given on a scale up to {right['base'][:20]}", blocks=True, rescaled=True)
        elif more and (not more["base"] or (number_of(more["base"]) == high and number_of(more["then"]) != one.value)):
            one.spoil("more than one number at once", blocks=True)
    elif second is not None and right:
        if (one.value, second) == (low, high):
            one.spoil("the scale itself")
        elif one.kind == "range" and second <= one.value and ">" not in right.group():
            one.spoil("a result or a difference, not a score")
        else:
            one.spoil(f"more than one number at once: {text[one.start : right.end()].strip()[:40]!r}", blocks=True)
    elif one.kind == "percent" and (low, high) == (0.0, 1.0):
        one.value /= 100.0
    elif one.kind == "percent" and (low, high) != (0.0, 100.0):
        one.spoil("the score is a percentage", blocks=True, rescaled=True)
    elif one.kind == "sum":
        one.spoil("a sum, not a number", blocks=True)
    elif one.value % 1.0 and "round" in text[one.used : one.used + 30]:
        rounded = _ROUNDED.match(text, one.used)
        if rounded and number_of(rounded["to"]) != one.value:
            one.spoil(f"the number is rounded to {rounded['to'][:9]}", blocks=True)
