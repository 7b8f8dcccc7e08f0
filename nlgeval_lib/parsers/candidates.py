"""The middle stages: every number of a text, what presents it as a verdict (cues), what takes it back (vetoes)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from nlgeval_lib.parsers import tables
from nlgeval_lib.parsers.normalise import OTHER, TAG
from nlgeval_lib.parsers.tables import ALONE, ASPECT, END_OF_NUMBER, ENDS, FINAL, FORM, LABEL, PHRASE
from nlgeval_lib.parsers.text import DIGITS, WORD, after_last, number_of, places


@dataclass(slots=True)
class Candidate:
    """A number from `start` to `end` of the normalised text, and what presents it as a verdict or takes it back."""

    value: float
    start: int
    end: int
    used: int  # where what belongs to it ends
    token: str
    kind: str = ""  # what follows: of, range, series, percent, stars, points, half, sum
    strength: int = 0
    cue: str = ""
    label: str = ""  # under which name
    veto: str = ""
    blocks: bool = False  # the veto leaves weaker ones no say
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
           |of(?=[ \t]+(?:\d|{WORD}\b|the[ ]{_N}[ ](?:possible|available))))
           [ \t]*(?:a[ \t]+|the[ \t]+)?
           (?:(?:possible|maximum|total|max|perfect)[ \t]+(?:possible[ \t]+)?(?:score[ \t]+)?(?:of[ \t]+)?)?
           (?P<base>{_N})(?:[ ]available\b)?)
       | (?P<range>[ \t]*(?:-|~|->|=>|\bto\b|\bthrough\b|\.\.+)[ \t]*(?P<upto>{_N}){END_OF_NUMBER})
       | (?P<series>(?![,;](?:[ ]and)?[ ](?:an?[ ])?{_N}[ ](?:is|seems|feels)\b)
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
    r"available|max|best)\b)(?! (?:rubric|scale)\b)(?! \d+(?: (?:possible|points|stars|marks)\b|[ \t]*(?:[.!,;)\n]|"
    r"\Z))))|(?:(?:[a-z-]+(?:al|ed|ing|ous|ive|ic|or|able|ible)|key|main|small|big|wrong|false|more|"
    r"other) ){0,2}(?:errors?|mistakes?|issues?|problems?|typos?|sentences?|words?|facts?|paragraphs?|examples?|"
    r"omissions?|inconsistenc(?:y|ies)|contradictions?|repetitions?|statements?|claims?|events?|people|persons|times|"
    r"reasons?|points (?:are|were|is|was|have|has|not)|(?:key|main) (?:points|aspects|ideas|details))\b(?![ \t]*[:(]))"
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
            read += [one] if one else []
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
    if kind == "date" or (sign == "/" and not right):
        return None, used
    glued = after[:1].isalnum() and kind not in ("stars", "points", "of")
    hyphened = after[:1] == "-" and not kind and start > 0 and after[1:].isalpha()  # "one-sided", "3-year", "4-ish"
    pronoun = token == "one" and _PRONOUN.search(text, max(0, start - 9), start)
    if glued or hyphened or pronoun or _NAMED.search(before) or _counted(text, start, end, right):
        return None, end
    outer = before[-2:-1]
    if sign == "-" and not (outer.isalpha() or (outer and outer in "->")):
        start, value = start - 1, -value
    elif sign == "+" and not outer.isalnum():
        start -= 1
    elif sign == "." and not (outer.isalnum() or outer == ".") and token.isdigit():
        start, value = start - 1, float(f"0.{token[:15]}")
    one = Candidate(value, start, end, used, token, kind)
    arrow = before.endswith(("->", "=>")) or (sign == "<" and text.startswith(">", used))
    if sign and sign in "~<>≈≥≤" and not arrow:
        one.spoil("an approximate or bounded number")
    else:
        _follow(one, text, right, low, high)
    return one, used


def _counted(text: str, start: int, end: int, right: re.Match | None) -> bool:
    """Whether a number counts something, or is where a score moved from."""
    if right:
        moved = right["range"] and "to" in right.group() and _MOVED_FROM.search(text, max(0, start - 60), start)
        return bool(moved)
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


class Tables:
    """The tables ready to search: cues by the word before the number, vetoes by scope."""

    def __init__(self, rows: Mapping[tables.Cue, str] = tables.CUES, taken: Mapping[str, tables.Rows] = tables.VETOES):
        self.by_last: dict[str, list[tuple[tables.Cue, re.Pattern, re.Pattern]]] = {}
        for row, before in rows.items():
            ready = (row, re.compile(rf"(?:{before})\s*\Z"), re.compile(tables.AFTER.get(row.name, "")))
            for last in row.last.split() or [""]:
                self.by_last.setdefault(last, []).append(ready)
        self.rows, self.any = {}, {}
        for scope, ways in taken.items():
            opens = r"\W" if scope in tables.AT_A_WORD else ""  # a search for what begins with \W is fast
            self.rows[scope] = [(name, re.compile(f"{opens}(?:{way})")) for (name, _), way in ways.items()]
            self.any[scope] = re.compile(f"{opens}(?:{'|'.join(ways.values())})" if ways else r"(?!)")
        beyond = (way for scope in tables.AT_A_WORD[1:] for way in taken[scope].values())
        self.beyond_clause = re.compile(rf"\W(?:{'|'.join(beyond)})")

    def veto(self, scope: str, text: str) -> str:
        """The name of the row of `scope` that is found in `text` (of "after": at its start); empty where none is."""
        look = re.Pattern.match if scope in ("after", "would", "opening") else re.Pattern.search
        if look(self.any[scope], text):
            for name, pattern in self.rows[scope]:
                found, excused = look(pattern, text), tables.UNLESS.get(scope)
                if found and not (excused and excused.search(text, 0 if scope == "standard" else found.end())):
                    return name
        return ""


TABLES = Tables()


def candidates(text: str, low: float, high: float) -> list[Candidate]:
    """Every number of a normalised text that may be a score, with its cue and veto."""
    found = numbers(text, low, high)
    for one in found:
        _present(one, text)
        if one.cue == "bracketed" and len(found) > 1:
            one.strength = 0  # one of several numbers in prose
        if one.strength and not one.veto:
            doubt(one, text)
    return found


# --- cues -----------------------------------------------------------------------------------------------------------
_OPENERS = " \t\n\"'([{<~"
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_SEPARATOR = re.compile(r"[\n.!?;,|{}()\[\]:=\"]")
_LINE_LEFT = re.compile(r"[\s<>=#\"'(\[|-]*\Z")
_ITEM_LEFT = re.compile(r"[\s>#*|\"'(\[{-]*(?:\d{1,2}[.)][ >#-]*)?\Z")
_LINE_RIGHT = re.compile(r"[^\w\n/+%&=<>?-]*(?:\n|\Z)")
_LIST_ITEM = re.compile(r"[.)][ \t]+[\w\"'(]")
_OWN_LINE = re.compile(r"[ \t]*(?:[.,;)\]\"'\x02]*[ \t]*(?:\n|\Z)|-|:|\(|,[ \t]*[a-z])")
_EXPLAINED = re.compile(r"\s?(?:\([^)\n]{0,60}\)\s?)?(?::|-|=|->)\s?[a-z\"'(]")
_HEADING = re.compile(r"[\s>#-]*(?:\d{1,2}[.)]\s*)?(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*(?P<sign>:|\Z)\s*")


def _present(one: Candidate, text: str) -> None:
    """Set what presents the number: a label, a phrase of the table, its form or its place."""
    window = text[max(0, one.start - 200) : one.start]
    core = window.rstrip(_OPENERS)
    new_line = "\n" in window[len(core) :]
    ends = text[one.used : one.used + 1] in tables.END_SIGNS or tables.ENDS.match(text, one.used) is not None
    if core.endswith("out of"):
        return
    left, article = _unfilled(core)
    if left.endswith((":", "=", "|", "-", "->")):
        unsure = not tables.HEDGES.isdisjoint(core[len(left) :].split())
        if unsure or (new_line and left[-1] in ":=" and not _OWN_LINE.match(text, one.used)):
            return
        ends = ends or one.kind in ("of", "stars", "points")
        if ends or (left is core and one.token[0].isdigit()):
            _label(one, text, left, ends)
    elif ends or one.kind in ("of", "range", "series", "half", "sum"):
        _phrase(one, text, left, article)
    if not one.strength:
        _form(one, text, window, core)


def _unfilled(core: str) -> tuple[str, bool]:
    """The text without the words at its end that may stand between a cue and a number; whether one was an article."""
    article = False
    for _ in range(6):
        head, _, word = core.rpartition(" ")
        if word not in tables.FILL:
            break
        article = article or word in ("a", "an")
        core = head.rstrip()
    return core, article


def _label(one: Candidate, text: str, core: str, ends: bool) -> None:
    """`Label: 4`: a score by its own name, a final one, or one under another label."""
    head = core.rstrip(":=|-> ").rstrip(" \t\n\"')]*")
    separator = _SEPARATOR.search(head[::-1])
    cut = len(head) - separator.start() if separator else 0
    name = head[cut:].strip(" \t\"'>#-")
    line_start = _ITEM_LEFT.match(head[head.rfind("\n", 0, cut) + 1 : cut]) is not None
    words = _WORD.findall(name)
    nouns = [place for place, word in enumerate(words) if word in tables.NOUNS]
    words = words[max(0, nouns[-1] - 3) :] if nouns else words
    if not words:
        if not name and line_start and ends and _LINE_RIGHT.match(text, one.end):
            one.present(ALONE, "alone")
        return
    ranked, odd = not tables.RANKS.isdisjoint(words), tables.NOT_A_SCORE & {word.removesuffix("'s") for word in words}
    contest = nouns and words[-2:-1] and words[-2] in tables.CONTESTS
    if words == ["full", "marks"] and ends:
        return one.present(ALONE, "alone")
    if len(words) > 12 or contest or (odd and not (ranked and nouns and not odd & tables.NEVER_A_SCORE)):
        return one.spoil("the label names something else") if odd & tables.NEVER_A_SCORE else None
    letter = words[1:] and words[-1] == "a"  # "Score A", "Response A"
    asked = " ".join(word for word in words if word not in tables.NOT_ASKED) + " a" * bool(letter)
    foreign = tables.FOREIGN.search(name) is not None
    if line_start and tables.AWARDED.issuperset(words):
        one.present(FINAL, "final label")
    elif ranked and (
        nouns or foreign or (len(words) <= 4 and (line_start or words != ["in", "total"]) and words[1:] != ["total"])
    ):
        total = "total" in words and words[-1] in ("points", "marks")
        one.present(LABEL if total else FINAL, "final label", asked.strip() if nouns or foreign else " ".join(words))
    elif (nouns or foreign) and asked and not foreign:
        one.present(ASPECT, "label of an aspect", asked.strip())
    elif nouns or foreign:
        if name not in ("note", "nota") or one.based or (ends and _LINE_RIGHT.match(text, one.used)):
            one.present(LABEL, "label")
            _under_heading(one, text, max(0, one.start - 200) + cut, line_start)
    elif ends and _is_label(one, text, core[-1], name, words, line_start):
        says_nothing = tables.NO_ASPECT.issuperset(words) and not letter
        one.present(ASPECT, "label of an aspect", "" if says_nothing else " ".join(words))


def _is_label(one: Candidate, text: str, sign: str, name: str, words: list[str], line_start: bool) -> bool:
    """Whether words before a sign name an aspect, and are not code, arithmetic or the lead-in of a list."""
    if sum(map(len, words)) < 3 or words == ["out", "of"] or len(words) > (6 if line_start else 3):
        return False
    if text.startswith(":", one.used) and "\n" in text[max(0, one.start - 3) : one.start]:
        return False  # "Reasons:\n1: fluent"
    if sign in "=-" and not (line_start and (sign == "-" or tables.QUALITY_NAME.fullmatch(name))):
        return False  # "count = 4", "len(x) - 1"
    if not line_start and not tables.NEUTRAL.isdisjoint(words):
        return False
    next_item = f"\n{one.value + 1:g}"  # "Reasons: 1. It is fluent"
    return not (_LIST_ITEM.match(text, one.end) and next_item in text[one.end : one.end + 4000])


def _under_heading(one: Candidate, text: str, at: int, line_start: bool) -> None:
    """A score under a heading of its own (a line above, or the start of its line) is that of what the heading names."""
    before = text[max(0, at - 1500) : at]
    above = before.rstrip("\n\t >#-") if line_start else before
    line = above[above.rfind("\n") + 1 :]
    heading = _HEADING.match(line)
    if not heading or (len(line) == len(above) and at > 1500) or (line_start and heading.end() < len(line)):
        return
    words = _WORD.findall(heading["name"])
    if heading["sign"] and {"example", "sample", "template"} & {*words} and not re.search(r"\d", heading["name"]):
        return one.spoil("the number is an example or instruction")
    if line[heading.end() :][:1].isdigit():  # "Pros: 2. Cons: 4. Score: 3"
        return
    if tables.NOUNS.isdisjoint(words) and "was" not in words and not tables.NO_ASPECT.issuperset(words):
        one.present(ASPECT, "label of an aspect", " ".join(words))


def _phrase(one: Candidate, text: str, left: str, article: bool) -> None:
    """`a score of 4`, `Score 4`, `I rate it a 4`: the first row of the table of cues that fits."""
    sentence = f" {after_last(tables.SENTENCE, left)}"
    last = sentence.rstrip(",").rpartition(" ")[2].rpartition("\n")[2]
    quality = tables.QUALITY_LAST.search(sentence[-60:])
    by_last = TABLES.by_last
    keys = (last, "a" if article else None, "quality" if quality else None, "")
    for row, pattern, after in (ready for key in keys if key is not None for ready in by_last.get(key, ())):
        found = pattern.search(sentence)
        if not found or not after.match(text, one.used):
            continue
        groups = found.groupdict()
        if "noun" in groups:
            one.enumerated = not one.kind and _EXPLAINED.match(text, one.used) is not None
            _noun(one, sentence, found, row.name)
        else:
            one.present(row.strength, row.name, groups.get("quality") or "")
        verb = groups.get("verb")
        if verb and not _own(sentence, found.start("verb"), verb):
            one.spoil("the number is the score of something else")
        led = tables.QUALITY_FIRST.match(sentence)  # "In terms of clarity it scores"
        one.label = one.label or (led[1] if led else "")
        if not one.label:  # "I would rate the fluency a 4", "the fluency gets"
            at = found.start("verb" if verb else "noun" if "noun" in groups else 0) - 1
            named = tables.QUALITY.search(sentence, at) or tables.QUALITY_LAST.search(
                f" {sentence[max(0, at - 40) : at + 1]}"
            )
            one.label = named[1] if named and named[1] not in tables.NEUTRAL else ""
        break
    if one.strength == PHRASE:
        one.label = _aspect_after(text, one.used) or one.label


_GETS = re.compile(
    r"\W(?P<verb>has|had|have|gets?|got|receive[sd]?|earn(?:s|ed)?|achieve[sd]?|holds?)(?: (?:an?|the))?(?: [a-z]+)? \Z"
)
_WORD_BEFORE = re.compile(r"([^\W\d_][\w'-]*) \Z")


def _noun(one: Candidate, sentence: str, found: re.Match, cue: str) -> None:
    """`the score of the summary is 4`, `a coherence score of 4`, `Score 4`; not the score of a game."""
    at, groups = found.start("noun"), found.groupdict()
    left = _WORD_BEFORE.search(sentence[max(0, at - 40) : at])
    before = left[1] if left else ""
    mid = _WORD.findall(groups.get("mid") or "")
    odd = {before, *mid} & tables.NOT_A_SCORE - tables.WHAT_IS_SCORED
    if odd or before in tables.CONTESTS or (mid and mid[-1] in tables.CONTESTS):
        return
    gets = _GETS.search(sentence[:at])
    if gets and not _own(sentence, gets.start("verb"), gets["verb"]):
        return one.spoil("the number is the score of something else")
    aspect = "" if before in tables.NOT_ASKED or before.endswith(("ly", "ing", "ed")) else before
    aspect = _aspect_after(groups.get("mid") or "", 0, search=True) or aspect
    if not tables.RANKS.isdisjoint({before, *mid}):
        one.present(FINAL, cue)
    elif "mid" not in groups:
        one.present(ASPECT if aspect else LABEL, cue, aspect)
    else:
        one.present(PHRASE if groups["link"] in ("of", "as", "at") else LABEL, cue, aspect)


# "the story's heroine", "the gymnast in the source text"
_NOT_THE_HEAD = re.compile(r"\b[a-z]+'s (?=[a-z]+ \Z)|(?<=[a-z]) (?:in|from) (?:the|this|that) [a-z]+(?: [a-z]+)? \Z")


def _own(sentence: str, at: int, verb: str) -> bool:
    """Whether the judge or what is judged is the subject of a verb: `The response gets`, not `The team gets`."""
    if verb.endswith("ing") or verb in ("worth", "call", "consider", "deem", "put", "place", "peg", "find"):
        return True
    said = _NOT_THE_HEAD.sub(" ", re.split(r"[,:(]", sentence[:at])[-1])
    words = [word.partition("'")[0] for word in _WORD.findall(said)[-7:]]
    while words and (words[-1] in tables.AUXILIARIES or words[-1] in tables.FILL or words[-1].endswith("ly")):
        words.pop()
    named = not words or words[-1] in tables.OWN or not tables.JUDGED.isdisjoint(words)
    return named or tables.QUALITY_NAME.fullmatch(words[-1]) is not None


def _aspect_after(text: str, at: int, search: bool = False) -> str:
    """The aspect in `for coherence`, `in terms of style`; empty where none is named."""
    after = tables.ASPECT_AFTER.search(text, at) if search else tables.ASPECT_AFTER.match(text, at)
    word = after["word"] if after else ""
    return "" if word in tables.NO_ASPECT or word.endswith("ing") else word


def _form(one: Candidate, text: str, window: str, core: str) -> None:
    """A number that only its form or its place makes a verdict."""
    line = window[window.rfind("\n") + 1 :]
    first = len(window) == one.start and not window.strip(_OPENERS + ">#-|.")
    lead = tables.AFTER_LEAD.match(text, one.used) if first else None
    scored = one.kind in ("of", "stars")
    digits = one.token[0].isdigit()
    closes = digits and window[-1:] != "(" and not one.kind and tables.TEXT_END.match(text, one.used)
    if (first or (len(line) < 40 and _LINE_LEFT.match(line))) and _LINE_RIGHT.match(text, one.used):
        one.present(ALONE, "alone")
    elif lead:
        one.present(FORM if scored else ALONE, "leading")
        if lead["list"] and not one.kind and one.value == 1.0:
            one.spoil("a leading '1.' may be the number of a list")
    elif scored and text.startswith("):", one.used) and _HEADING.fullmatch(line.rstrip(" (")):
        _label(one, text, f"{window.rstrip(' (')}:", True)  # "Depth (2/5): it barely ..."
    elif scored and tables.ENDS.match(text, one.used) and not tables.COUNT_BEFORE.search(window):
        clause = _SEPARATOR.split(line.rstrip(_OPENERS))[-1].split()
        part = clause and (clause[-1] in tables.NOT_A_SCORE or clause[-1] == "turn")  # "This is part 4/5"
        stars = one.kind == "stars" or text.startswith(" star", one.used)
        words = {word.partition("'")[0] for word in clause}
        others = stars and len(clause) > 2 and tables.OWN.isdisjoint(words)  # "the customer left 2 stars"
        if not part and not others:
            aspect = _aspect_after(text, one.used)
            one.present(ASPECT if aspect else FORM, "form", aspect)
    elif digits and window.endswith((" (", "\n(")) and tables.CLOSED.match(text, one.used):
        one.present(ALONE, "bracketed")
    elif closes and (tables.CLOSING.search(core) or tables.SHORT_ANSWER.match(window)):
        one.present(ALONE, "closing")


# --- vetoes ---------------------------------------------------------------------------------------------------------
SPLIT = "several aspects are scored at once"
_ASKED = re.compile(r"[^.!?\n,;:()\"\d]{0,25}\(?\?")  # "A 4?", "Assigning a 4 here?"


def doubt(one: Candidate, text: str) -> None:
    """Spoil a number that its clause, its sentence or what follows takes back."""
    used = one.used if one.kind in ("of", "stars", "points") else one.end
    after = text[used : used + 160]
    after = after.lstrip(f"{TAG} ") if TAG in after[:2] else after
    window = text[max(0, one.start - 300) : one.start]
    sentence = after_last(tables.SENTENCE, window)
    if one.cue == "a 4 than a 3":
        return None
    if _ASKED.match(after):
        return one.spoil("the number is in question")
    if tables.SPLIT_AFTER.match(text, used):
        return one.spoil(SPLIT, blocks=True)
    flaw = TABLES.veto("after", after) or (one.kind == "points" and TABLES.veto("after", text[one.end : used + 80]))
    if flaw or one.strength == ALONE:
        return one.spoil(f"the number is {flaw}") if flaw else None
    if OTHER in window and not one.based:
        last_said = window[: len(window) - len(sentence)].rstrip(" .\n")
        if OTHER in sentence or last_said.endswith(OTHER):
            return one.spoil("the score is given on another scale", blocks=True, rescaled=True)
    if sentence.rstrip(_OPENERS).endswith((":", "=", "|")):
        flaw = TABLES.veto("label", sentence)
    elif tables.QUESTION.match(sentence) and re.match(r"[^.!?\n]{0,120}\?", after):
        flaw = "in a question"
    else:
        flaw = _taken_back(sentence, after)
    if not flaw and "'" in sentence and tables.QUOTED_LEFT.search(sentence) and tables.QUOTED_RIGHT.match(after):
        flaw = "in a quotation"
    return one.spoil(f"the number is {flaw}") if flaw else None


def _taken_back(sentence: str, after: str) -> str:
    sentence = f" {tables.ASIDE.sub('', sentence) if sentence.count(',') > 1 else sentence}"
    clause = f" {after_last(tables.CLAUSE, sentence)}"
    if flaw := TABLES.veto("clause", clause) or TABLES.veto("opening", sentence):
        return flaw
    if TABLES.beyond_clause.search(sentence):
        turned = sentence[max((found.start() for found in tables.TURN.finditer(sentence)), default=0) :]
        flaw = TABLES.veto("standard", clause) or TABLES.veto("turn", turned) or TABLES.veto("reported", sentence)
    would = "would be" in clause or ("would" in clause and "i would" not in clause)
    return flaw or (TABLES.veto("would", after) if would else "")
