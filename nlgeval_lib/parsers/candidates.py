"""The middle stages: the numbers of a text, their cues and their vetoes.

A cue presents a number as a verdict, and a veto takes it back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nlgeval_lib.parsers import tables
from nlgeval_lib.parsers.normalise import OTHER, TAG
from nlgeval_lib.parsers.tables import (
    ALONE,
    ASPECT,
    END_OF_NUMBER,
    ENDS,
    FINAL,
    FORM,
    LABEL,
    PHRASE,
)
from nlgeval_lib.parsers.text import DIGITS, WORD, after_last, number_of, places


@dataclass(slots=True)
class Candidate:
    """A number from `start` to `end` of the normalised text that may be the score.

    Its cue presents it as a verdict, its veto takes it back.
    """

    value: float
    start: int
    end: int
    used: int  # where what belongs to it ends
    token: str
    # what follows: of, range, series, percent, stars, points, half, sum
    kind: str = ""
    strength: int = 0
    cue: str = ""
    label: str = ""  # under which name
    veto: str = ""
    blocks: bool = False  # the veto also rules out candidates with a weaker cue
    rescaled: bool = False  # given on another scale, or in per cent
    based: bool = False  # "out of high" stands beside it
    enumerated: bool = False  # "Score 2: ...", as in a rubric

    def present(self, strength: int, cue: str, label: str = "") -> None:
        """The text presents this number as a verdict of that strength."""
        self.strength = strength
        self.cue = cue
        self.label = label

    def spoil(self, veto: str, blocks: bool = False, rescaled: bool = False) -> None:
        """The number is no verdict, and why."""
        self.veto = veto
        self.blocks = blocks
        self.rescaled = rescaled


CUT = "the text ends in the middle of the score"
# of a text with more numbers the first and the last are read: time stays bounded
READ_AT_EACH_END = 400
_NAMED = re.compile(r"[a-z](?<!score)(?<!rating)(?<!grade)(?<!mark)-\Z")
_PRONOUN = re.compile(r"\b(?:this|that|the|each|every|any|which|another|no) \Z")
_MOVED_FROM = re.compile(
    r"\b"
    r"(?:lower|reduc|drop|rais|mov|chang|revis|adjust|bring|brought|increas|decreas)"
    r"\w*[a-z ]{0,20} from"
    r"(?: an?)?\s*\Z"
)
_HALF = re.compile(r"(?:[ -]and[ -]a[ -]half| point five)\b| ?½|(?: and)? 1/2(?![\d/])")
_N = rf"(?:{DIGITS}|{WORD})(?![a-z0-9])"
_RIGHT = re.compile(
    rf"""(?P<date>[ \t]*/[ \t]*\d+[ \t]*/[ \t]*\d|-\d+-\d|:\d)
       | (?P<of>[ \t]*(?:stars?\b|points?\b|pts\b|marks?\b|★)?[ \t]*[(\[]?[ \t]*
           (?:/|\\/|out[ ]of|of[ ]a[ ]possible|von[ ]|sur[ ]|de[ ]
           |av[ ]|van[ ]|из|من
           |of(?=[ \t]+(?:\d|{WORD}\b|the[ ]{_N}[ ](?:possible|available))))
           [ \t]*(?:a[ \t]+|the[ \t]+)?
           (?:(?:possible|maximum|total|max|perfect)[ \t]+
           (?:possible[ \t]+)?(?:score[ \t]+)?(?:of[ \t]+)?)?
           (?P<base>{_N})(?:[ ]available\b)?)
       | (?P<range>[ \t]*(?:-|~|->|=>|\bto\b|\bthrough\b|\.\.+)[ \t]*
           (?P<upto>{_N}){END_OF_NUMBER})
       | (?P<series>(?![,;](?:[ ]and)?[ ](?:an?[ ])?{_N}[ ](?:is|seems|feels)\b)
           [ \t]*(?:,[ \t]*(?:and|or)\b|,|;|/|\||&|\(?\bor\b|\band\b
             |\bvs\b\.?|\bversus\b|[ ](?=\d))
           [ \t]*(?:(?:maybe|perhaps|possibly|even)[ ]+)?(?:an?[ ])?(?P<then>{_N})
           (?:{END_OF_NUMBER}|(?=[ \t]+[(\[]?\d)))
       | (?P<percent>[ ]?(?:%|percent\b|per[ ]cent\b))
       | (?P<stars>[ \t-]*(?:stars?\b|つ星|星|★))
       | (?P<points>[ \t-]*(?:points?\b|pts\b|marks?\b|分|点|點|점
           |баллов|балла|punkte?\b|puntos\b))
       | (?P<sum>\+|[ \t]*(?:[x×*+=]|\bplus\b|\bminus\b|\btimes\b)[ \t]*\d)""",
    re.X,
)
# "4 of the facts", "3 minor errors": parts and things that are counted
_COUNTED = re.compile(
    r" "
    r"(?:(?P<part>(?:out )?of (?:the|its|these|those|them|all|my|our|his|her|their)\b"
    r"(?! (?:possible|total|maximum|available|max|best)\b)(?! (?:rubric|scale)\b)"
    r"(?! \d+(?: (?:possible|points|stars|marks)\b|[ \t]*(?:[.!,;)\n]|\Z))))"
    r"|"
    r"(?:(?:[a-z-]+(?:al|ed|ing|ous|ive|ic|or|able|ible)|key|main|small|big|wrong|false"
    r"|more|other) ){0,2}"
    r"(?:errors?|mistakes?|issues?|problems?|typos?|sentences?|words?|facts?"
    r"|paragraphs?|examples?|omissions?|inconsistenc(?:y|ies)|contradictions?"
    r"|repetitions?|statements?|claims?|events?|people|persons|times|reasons?"
    r"|points (?:are|were|is|was|have|has|not)"
    r"|(?:key|main) (?:points|aspects|ideas|details))\b"
    r"(?![ \t]*[:(]))"
)
# after these signs nothing can belong to the number, except after ".."
_ENDS = frozenset(("", *"\n.!?)]\"'"))
_CUT_OFF = re.compile(r"(?:-|[ \t]*(?:/|out(?: of(?: a)?)?))\s*\Z")
_MORE = re.compile(
    r"\+"
    rf"|[ \t]*(?:-|~|->|=>|\bto\b|\bor\b)[ \t]*(?P<then>{_N})\s*(?:/|out of)\s*"
    rf"(?P<base>{_N})"
)
_OTHER_AFTER = re.compile(rf"[ \t,(\[]*{OTHER}")
_ROUNDED = re.compile(
    r"[ \t,;(-]{0,4}"
    r"(?:(?:which|and|or|i|we|i'd|would|can|be|is|it|this|so|then) ){0,4}round"
    r"(?:s|ed|ing)?\b(?: (?:it|this|up|down|off|here|to|a)\b){0,4}\s?:?\s?"
    rf"(?P<to>{_N})"
)


def numbers(text: str, low: float, high: float) -> list[Candidate]:
    """Every number of a normalised text that may be a score.

    Numbers that are part of a word, an amount, a date or a count are not among them.
    """
    spans = places(text)
    if len(spans) > 2 * READ_AT_EACH_END:
        spans = spans[:READ_AT_EACH_END] + spans[-READ_AT_EACH_END:]
    pool = []
    read_to = -1
    for start, end in spans:
        if start < read_to:
            continue
        candidate, read_to = _number(text, start, end, low, high)
        if candidate:
            pool.append(candidate)
    return pool


def _number(
    text: str, start: int, end: int, low: float, high: float
) -> tuple[Candidate | None, int]:
    """One number, and where reading goes on.

    The number is None where it cannot be a score.
    """
    token = text[start:end]
    value = number_of(token)
    if value is None or math.isinf(value):
        return None, end
    kind = ""
    half = _HALF.match(text, end) if text[end : end + 1] in " ½-" else None
    if half:
        kind = "half"
        value = value + 0.5
        end = half.end()
    used = end
    right = None
    if text[end : end + 1] not in _ENDS or text[end + 1 : end + 2] == ".":
        right = _RIGHT.match(text, end)
    if right:
        kind = right.lastgroup or ""
        used = right.end()
    sign = text[start - 1 : start]
    if kind == "date" or (sign == "/" and not right):
        return None, used
    if _part_of_words(text, start, end, kind) or _counted(text, start, end, right):
        return None, end
    start_with_sign, value = _signed(text, start, token, value)
    candidate = Candidate(value, start_with_sign, end, used, token, kind)
    if _bounded(text, start, used):
        candidate.spoil("an approximate or bounded number")
    else:
        _follow(candidate, text, right, low, high)
    return candidate, used


def _part_of_words(text: str, start: int, end: int, kind: str) -> bool:
    """Whether the words around a number make it something other than a number."""
    following = text[end : end + 2]
    if following[:1].isalnum() and kind not in ("stars", "points", "of"):
        return True
    # "one-sided", "3-year", "4-ish"
    hyphen = following[:1] == "-" and following[1:].isalpha()
    if hyphen and not kind and start > 0:
        return True
    pronoun = text[start:end] == "one"
    if pronoun and _PRONOUN.search(text, max(0, start - 9), start):
        return True
    return _NAMED.search(text[max(0, start - 9) : start]) is not None


def _signed(text: str, start: int, token: str, value: float) -> tuple[int, float]:
    """Where a number starts and what it is, with the sign or point before it."""
    sign = text[start - 1 : start]
    outer = text[max(0, start - 9) : start][-2:-1]
    if sign == "-" and not (outer.isalpha() or (outer and outer in "->")):
        return start - 1, -value
    if sign == "+" and not outer.isalnum():
        return start - 1, value
    if sign == "." and not (outer.isalnum() or outer == ".") and token.isdigit():
        return start - 1, float(f"0.{token[:15]}")
    return start, value


def _bounded(text: str, start: int, used: int) -> bool:
    """Whether a sign before a number makes it approximate or a bound."""
    sign = text[start - 1 : start]
    if not sign or sign not in "~<>≈≥≤":
        return False
    arrow = text[max(0, start - 9) : start].endswith(("->", "=>"))
    bracketed = sign == "<" and text.startswith(">", used)
    return not (arrow or bracketed)


def _counted(text: str, start: int, end: int, right: re.Match | None) -> bool:
    """Whether a number counts something, or is where a score moved from."""
    if right:
        if not right["range"] or "to" not in right.group():
            return False
        return _MOVED_FROM.search(text, max(0, start - 60), start) is not None
    count = _COUNTED.match(text, end)
    if count is None:
        return False
    return count["part"] is not None or not ENDS.match(text, end)


def _follow(
    candidate: Candidate, text: str, right: re.Match | None, low: float, high: float
) -> None:
    """Make of the number what follows it: a share of the scale, or a veto."""
    second = None
    if right and candidate.kind in ("range", "series"):
        second = number_of(right["upto"] or right["then"])
    percent = candidate.kind == "percent"
    used = candidate.used
    if _CUT_OFF.match(text, candidate.end):
        candidate.spoil(CUT, blocks=True)
    elif _OTHER_AFTER.match(text, candidate.end):
        candidate.spoil(
            "the score is given on another scale", blocks=True, rescaled=True
        )
    elif candidate.kind == "of" and right:
        _follow_base(candidate, text, right["base"], high)
    elif second is not None and right:
        _follow_second(candidate, right, second, (low, high))
    elif percent and (low, high) == (0.0, 1.0):
        candidate.value /= 100.0
    elif percent and (low, high) != (0.0, 100.0):
        candidate.spoil("the score is a percentage", blocks=True, rescaled=True)
    elif candidate.kind == "sum":
        candidate.spoil("a sum, not a number", blocks=True)
    elif candidate.value % 1.0 and "round" in text[used : used + 30]:
        rounded = _ROUNDED.match(text, used)
        if rounded and number_of(rounded["to"]) != candidate.value:
            veto = f"the number is rounded to {rounded['to'][:9]}"
            candidate.spoil(veto, blocks=True)


def _follow_base(candidate: Candidate, text: str, base: str, high: float) -> None:
    """`4 out of 5`: the base must be the upper end, and the number the only one."""
    candidate.based = number_of(base) == high
    if not candidate.based:
        veto = f"the score is given on a scale up to {base[:20]}"
        candidate.spoil(veto, blocks=True, rescaled=True)
        return
    more = _MORE.match(text, candidate.used)
    if more is None:
        return
    same_scale = not more["base"] or number_of(more["base"]) == high
    if same_scale and not (more["base"] and number_of(more["then"]) == candidate.value):
        candidate.spoil("more than one number at once", blocks=True)


def _follow_second(
    candidate: Candidate, right: re.Match, second: float, scale: tuple[float, float]
) -> None:
    """`1 to 5`, `3 or 4`: two numbers are the scale, a result, or a doubt."""
    if (candidate.value, second) == scale:
        candidate.spoil("the scale itself")
        return
    falls = candidate.kind == "range" and second <= candidate.value
    if falls and ">" not in right.group():
        candidate.spoil("a result or a difference, not a score")
        return
    span = right.string[candidate.start : right.end()].strip()
    candidate.spoil(f"more than one number at once: {span[:40]!r}", blocks=True)


CueRow = tuple[tables.Cue, re.Pattern, re.Pattern]


class Tables:
    """The tables ready to search: cues by the word before the number, and vetoes.

    Vetoes are grouped by the scope in which they are searched.
    """

    def __init__(
        self,
        rows: Mapping[tables.Cue, str] = tables.CUES,
        vetoes: Mapping[str, tables.Rows] = tables.VETOES,
    ):
        self.by_last: dict[str, list[CueRow]] = {}
        for row, lead in rows.items():
            cue_row = (
                row,
                re.compile(rf"(?:{lead})\s*\Z"),
                re.compile(tables.AFTER.get(row.name, "")),
            )
            for last in row.last.split() or [""]:
                self.by_last.setdefault(last, []).append(cue_row)
        self.rows: dict[str, list[tuple[str, re.Pattern]]] = {}
        self.any: dict[str, re.Pattern] = {}
        for scope, patterns in vetoes.items():
            # a search for what begins with \W is fast
            opens = r"\W" if scope in tables.AT_A_WORD else ""
            self.rows[scope] = []
            for (name, _), pattern in patterns.items():
                self.rows[scope].append((name, re.compile(f"{opens}(?:{pattern})")))
            any_of_them = f"{opens}(?:{'|'.join(patterns.values())})"
            self.any[scope] = re.compile(any_of_them if patterns else r"(?!)")
        beyond: list[str] = []
        for scope in tables.AT_A_WORD[1:]:
            beyond.extend(vetoes[scope].values())
        self.beyond_clause = re.compile(rf"\W(?:{'|'.join(beyond)})")

    def veto(self, scope: str, text: str) -> str:
        """The name of the row of `scope` that is in `text`, empty where none is.

        Rows of "after", "would" and "opening" must stand at the start of `text`.
        """
        look = re.Pattern.search
        if scope in ("after", "would", "opening"):
            look = re.Pattern.match
        if not look(self.any[scope], text):
            return ""
        excuse = tables.UNLESS.get(scope)
        for name, pattern in self.rows[scope]:
            match = look(pattern, text)
            if match is None:
                continue
            search_from = 0 if scope == "standard" else match.end()
            if excuse is None or not excuse.search(text, search_from):
                return name
        return ""


TABLES = Tables()


def candidates(text: str, low: float, high: float) -> list[Candidate]:
    """Every number of a normalised text that may be a score, with its cue and veto."""
    pool = numbers(text, low, high)
    for candidate in pool:
        _present(candidate, text)
        if candidate.cue == "bracketed" and len(pool) > 1:
            candidate.strength = 0  # one of several numbers in prose
        if candidate.strength and not candidate.veto:
            doubt(candidate, text)
    return pool


# --- cues
_OPENERS = " \t\n\"'([{<~"
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_SEPARATOR = re.compile(r"[\n.!?;,|{}()\[\]:=\"]")
_LINE_LEFT = re.compile(r"[\s<>=#\"'(\[|-]*\Z")
_ITEM_LEFT = re.compile(r"[\s>#*|\"'(\[{-]*(?:\d{1,2}[.)][ >#-]*)?\Z")
_LINE_RIGHT = re.compile(r"[^\w\n/+%&=<>?-]*(?:\n|\Z)")
_LIST_ITEM = re.compile(r"[.)][ \t]+[\w\"'(]")
_OWN_LINE = re.compile(r"[ \t]*(?:[.,;)\]\"'\x02]*[ \t]*(?:\n|\Z)|-|:|\(|,[ \t]*[a-z])")
_EXPLAINED = re.compile(r"\s?(?:\([^)\n]{0,60}\)\s?)?(?::|-|=|->)\s?[a-z\"'(]")
_HEADING = re.compile(
    r"[\s>#-]*(?:\d{1,2}[.)]\s*)?(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*(?P<sign>:|\Z)\s*"
)


def _present(candidate: Candidate, text: str) -> None:
    """Set what presents the number: a label, a phrase, its form or its place."""
    window = text[max(0, candidate.start - 200) : candidate.start]
    core = window.rstrip(_OPENERS)
    if core.endswith("out of"):
        return
    used = candidate.used
    ends = text[used : used + 1] in tables.END_SIGNS
    ends = ends or tables.ENDS.match(text, used) is not None
    lead, article = _unfilled(core)
    if lead.endswith((":", "=", "|", "-", "->")):
        if not tables.HEDGES.isdisjoint(core[len(lead) :].split()):
            return
        new_line = "\n" in window[len(core) :] and lead[-1] in ":="
        if new_line and not _OWN_LINE.match(text, used):
            return
        ends = ends or candidate.kind in ("of", "stars", "points")
        if ends or (lead is core and candidate.token[0].isdigit()):
            _label(candidate, text, lead, ends)
    elif ends or candidate.kind in ("of", "range", "series", "half", "sum"):
        _phrase(candidate, text, lead, article)
    if not candidate.strength:
        _form(candidate, text, window, core)


def _unfilled(core: str) -> tuple[str, bool]:
    """The text without the words at its end that may join a cue and a number.

    The second value tells whether one of these words was an article.
    """
    article = False
    for _ in range(6):
        head, _, word = core.rpartition(" ")
        if word not in tables.FILL:
            break
        article = article or word in ("a", "an")
        core = head.rstrip()
    return core, article


@dataclass(frozen=True, slots=True)
class _Label:
    """The words before a sign such as ":"; `start` is their place in the window."""

    name: str
    words: list[str]  # from three words before the last noun such as "score" on
    noun: bool  # whether there is such a noun
    start: int
    line_start: bool  # whether the label begins its line
    sign: str


def _label_before(core: str) -> _Label:
    """The label that ends a text."""
    head = core.rstrip(":=|-> ").rstrip(" \t\n\"')]*")
    separator = _SEPARATOR.search(head[::-1])
    start = len(head) - separator.start() if separator else 0
    name = head[start:].strip(" \t\"'>#-")
    line = head[head.rfind("\n", 0, start) + 1 : start]
    words = _WORD.findall(name)
    nouns = [place for place, word in enumerate(words) if word in tables.NOUNS]
    if nouns:
        words = words[max(0, nouns[-1] - 3) :]
    line_start = _ITEM_LEFT.match(line) is not None
    return _Label(name, words, bool(nouns), start, line_start, core[-1])


def _label(candidate: Candidate, text: str, core: str, ends: bool) -> None:
    """`Label: 4`: a score by its own name, a final one, or one under another label."""
    label = _label_before(core)
    words = label.words
    if not words:
        alone = not label.name and label.line_start and ends
        if alone and _LINE_RIGHT.match(text, candidate.end):
            candidate.present(ALONE, "alone")
        return
    if words == ["full", "marks"] and ends:
        candidate.present(ALONE, "alone")
        return
    ranked = not tables.RANKS.isdisjoint(words)
    odd = tables.NOT_A_SCORE & {word.removesuffix("'s") for word in words}
    never = odd & tables.NEVER_A_SCORE
    contest = label.noun and words[-2:-1] and words[-2] in tables.CONTESTS
    odd_label = odd and (never or not ranked or not label.noun)
    if len(words) > 12 or contest or odd_label:
        if never:
            candidate.spoil("the label names something else")
        return
    _present_label(candidate, text, label, ends)


def _present_label(candidate: Candidate, text: str, label: _Label, ends: bool) -> None:
    """Present a number by the words of its label, which name nothing odd."""
    words = label.words
    letter = len(words) > 1 and words[-1] == "a"  # "Score A", "Response A"
    asked = " ".join(word for word in words if word not in tables.NOT_ASKED)
    if letter:
        asked += " a"
    foreign = tables.FOREIGN.search(label.name) is not None
    score = label.noun or foreign
    ranked = not tables.RANKS.isdisjoint(words)
    if label.line_start and tables.AWARDED.issuperset(words):
        candidate.present(FINAL, "final label")
    elif ranked and (score or _ranks_alone(label)):
        total = "total" in words and words[-1] in ("points", "marks")
        name = asked.strip() if score else " ".join(words)
        candidate.present(LABEL if total else FINAL, "final label", name)
    elif label.noun and asked and not foreign:
        candidate.present(ASPECT, "label of an aspect", asked.strip())
    elif score:
        alone = ends and _LINE_RIGHT.match(text, candidate.used)
        if label.name not in ("note", "nota") or candidate.based or alone:
            candidate.present(LABEL, "label")
            at = max(0, candidate.start - 200) + label.start
            _under_heading(candidate, text, at, label.line_start)
    elif ends and _is_label(candidate, text, label):
        unnamed = tables.NO_ASPECT.issuperset(words) and not letter
        name = "" if unnamed else " ".join(words)
        candidate.present(ASPECT, "label of an aspect", name)


def _ranks_alone(label: _Label) -> bool:
    """Whether a label such as "Overall" names the final score without a noun."""
    words = label.words
    if len(words) > 4 or words[1:] == ["total"]:
        return False
    return label.line_start or words != ["in", "total"]


def _is_label(candidate: Candidate, text: str, label: _Label) -> bool:
    """Whether the words before a sign name an aspect.

    They do not in code, in arithmetic, and where they introduce a list.
    """
    words = label.words
    line_start = label.line_start
    if sum(map(len, words)) < 3 or words == ["out", "of"]:
        return False
    if len(words) > (6 if line_start else 3):
        return False
    new_line = "\n" in text[max(0, candidate.start - 3) : candidate.start]
    if new_line and text.startswith(":", candidate.used):
        return False  # "Reasons:\n1: fluent"
    if label.sign in "=-":
        quality = label.sign == "-" or tables.QUALITY_NAME.fullmatch(label.name)
        if not line_start or not quality:
            return False  # "count = 4", "len(x) - 1"
    if not line_start and not tables.NEUTRAL.isdisjoint(words):
        return False
    if not _LIST_ITEM.match(text, candidate.end):
        return True
    next_item = f"\n{candidate.value + 1:g}"  # "Reasons: 1. It is fluent"
    return next_item not in text[candidate.end : candidate.end + 4000]


def _under_heading(candidate: Candidate, text: str, at: int, line_start: bool) -> None:
    """A score under a heading is the score of what the heading names.

    The heading is the line above, or the start of the score's own line.
    """
    above = text[max(0, at - 1500) : at]
    if line_start:
        above = above.rstrip("\n\t >#-")
    line = above[above.rfind("\n") + 1 :]
    heading = _HEADING.match(line)
    if not heading or (len(line) == len(above) and at > 1500):
        return
    if line_start and heading.end() < len(line):
        return
    words = _WORD.findall(heading["name"])
    example = heading["sign"] and {"example", "sample", "template"} & {*words}
    if example and not re.search(r"\d", heading["name"]):
        candidate.spoil("the number is an example or instruction")
        return
    if line[heading.end() :][:1].isdigit():  # "Pros: 2. Cons: 4. Score: 3"
        return
    if not tables.NOUNS.isdisjoint(words) or "was" in words:
        return
    if not tables.NO_ASPECT.issuperset(words):
        candidate.present(ASPECT, "label of an aspect", " ".join(words))


def _phrase(candidate: Candidate, text: str, lead: str, article: bool) -> None:
    """`a score of 4`, `Score 4`, `I rate it a 4`: the first cue row that fits."""
    sentence = f" {after_last(tables.SENTENCE, lead)}"
    for row, pattern, following in _rows_for(sentence, article):
        match = pattern.search(sentence)
        if match and following.match(text, candidate.used):
            _present_phrase(candidate, text, row, match)
            break
    if candidate.strength == PHRASE:
        aspect = _aspect_after(text, candidate.used)
        candidate.label = aspect or candidate.label


_GETS = re.compile(
    r"\W"
    r"(?P<verb>has|had|have|gets?|got|receive[sd]?|earn(?:s|ed)?|achieve[sd]?|holds?)"
    r"(?: (?:an?|the))?(?: [a-z]+)? \Z"
)
_WORD_BEFORE = re.compile(r"([^\W\d_][\w'-]*) \Z")


def _rows_for(sentence: str, article: bool) -> Iterator[CueRow]:
    """The rows of the table of cues for the last word of a sentence."""
    yield from TABLES.by_last.get(
        sentence.rstrip(",").rpartition(" ")[2].rpartition("\n")[2], ()
    )
    if article:
        yield from TABLES.by_last.get("a", ())
    if tables.QUALITY_LAST.search(sentence[-60:]):
        yield from TABLES.by_last.get("quality", ())
    yield from TABLES.by_last.get("", ())


def _present_phrase(
    candidate: Candidate, text: str, row: tables.Cue, match: re.Match
) -> None:
    """Present a number by a row of cues that fits the sentence before it."""
    sentence = match.string
    groups = match.groupdict()
    if "noun" in groups:
        explained = _EXPLAINED.match(text, candidate.used) is not None
        candidate.enumerated = not candidate.kind and explained
        _noun(candidate, sentence, match, row.name)
    else:
        candidate.present(row.strength, row.name, groups.get("quality") or "")
    verb = groups.get("verb")
    if verb and not _own(sentence, match.start("verb"), verb):
        candidate.spoil("the number is the score of something else")
    if not candidate.label:  # "In terms of clarity it scores"
        led = tables.QUALITY_FIRST.match(sentence)
        candidate.label = led[1] if led else ""
    if candidate.label:
        return
    # "I would rate the fluency a 4", "the fluency gets"
    at = match.start() - 1
    if verb:
        at = match.start("verb") - 1
    elif "noun" in groups:
        at = match.start("noun") - 1
    quality = tables.QUALITY.search(sentence, at) or tables.QUALITY_LAST.search(
        f" {sentence[max(0, at - 40) : at + 1]}"
    )
    if quality and quality[1] not in tables.NEUTRAL:
        candidate.label = quality[1]


def _noun(candidate: Candidate, sentence: str, match: re.Match, cue: str) -> None:
    """`the score of the summary is 4`, `a coherence score of 4`, `Score 4`.

    The score of a game is none.
    """
    at = match.start("noun")
    groups = match.groupdict()
    middle_text = groups.get("mid") or ""
    middle = _WORD.findall(middle_text)
    neighbour = _WORD_BEFORE.search(sentence[max(0, at - 40) : at])
    word = neighbour[1] if neighbour else ""
    odd = {word, *middle} & tables.NOT_A_SCORE - tables.WHAT_IS_SCORED
    if odd or not tables.CONTESTS.isdisjoint([word, *middle[-1:]]):
        return
    gets = _GETS.search(sentence[:at])
    if gets and not _own(sentence, gets.start("verb"), gets["verb"]):
        candidate.spoil("the number is the score of something else")
        return
    aspect = _aspect_after(middle_text, 0, search=True)
    named = word not in tables.NOT_ASKED and not word.endswith(("ly", "ing", "ed"))
    if not aspect and named:
        aspect = word
    if not tables.RANKS.isdisjoint({word, *middle}):
        candidate.present(FINAL, cue)
    elif "mid" not in groups:
        candidate.present(ASPECT if aspect else LABEL, cue, aspect)
    elif groups["link"] in ("of", "as", "at"):
        candidate.present(PHRASE, cue, aspect)
    else:
        candidate.present(LABEL, cue, aspect)


# "the story's heroine", "the gymnast in the source text"
_NOT_THE_HEAD = re.compile(
    r"\b[a-z]+'s (?=[a-z]+ \Z)"
    r"|(?<=[a-z]) (?:in|from) (?:the|this|that) [a-z]+(?: [a-z]+)? \Z"
)


_VERBS_OF_JUDGES = frozenset(
    ("worth", "call", "consider", "deem", "put", "place", "peg", "find")
)


def _own(sentence: str, at: int, verb: str) -> bool:
    """Whether the judge or what is judged is the subject of a verb.

    It is in `The response gets`, not in `The team gets`.
    """
    if verb.endswith("ing") or verb in _VERBS_OF_JUDGES:
        return True
    subject = _NOT_THE_HEAD.sub(" ", re.split(r"[,:(]", sentence[:at])[-1])
    words = [word.partition("'")[0] for word in _WORD.findall(subject)[-7:]]
    while words and _no_subject(words[-1]):
        words.pop()
    if not words or words[-1] in tables.OWN or not tables.JUDGED.isdisjoint(words):
        return True
    return tables.QUALITY_NAME.fullmatch(words[-1]) is not None


def _no_subject(word: str) -> bool:
    """Whether a word stands between a subject and its verb."""
    return word in tables.AUXILIARIES or word in tables.FILL or word.endswith("ly")


def _aspect_after(text: str, at: int, search: bool = False) -> str:
    """The aspect in `for coherence`, `in terms of style`; empty where none is named."""
    look = tables.ASPECT_AFTER.search if search else tables.ASPECT_AFTER.match
    match = look(text, at)
    if match is None:
        return ""
    word = match["word"]
    return "" if word in tables.NO_ASPECT or word.endswith("ing") else word


def _form(candidate: Candidate, text: str, window: str, core: str) -> None:
    """A number that only its form or its place makes a verdict."""
    used = candidate.used
    line = window[window.rfind("\n") + 1 :]
    first = len(window) == candidate.start and not window.strip(_OPENERS + ">#-|.")
    begins_line = first or (len(line) < 40 and _LINE_LEFT.match(line))
    lead = tables.AFTER_LEAD.match(text, used) if first else None
    scored = candidate.kind in ("of", "stars")
    counted = scored and tables.COUNT_BEFORE.search(window)
    if begins_line and _LINE_RIGHT.match(text, used):
        candidate.present(ALONE, "alone")
    elif lead:
        candidate.present(FORM if scored else ALONE, "leading")
        if lead["list"] and not candidate.kind and candidate.value == 1.0:
            candidate.spoil("a leading '1.' may be the number of a list")
    elif scored and _in_heading(text, used, line):
        # "Depth (2/5): it barely ..."
        _label(candidate, text, f"{window.rstrip(' (')}:", True)
    elif scored and tables.ENDS.match(text, used) and not counted:
        _fraction(candidate, text, line)
    else:
        _in_place(candidate, text, window, core)


# --- vetoes
SPLIT = "several aspects are scored at once"
_ASKED = re.compile(r"[^.!?\n,;:()\"\d]{0,25}\(?\?")  # "A 4?", "Assigning a 4 here?"


def _in_heading(text: str, used: int, line: str) -> bool:
    """Whether a number in brackets ends a heading with a colon."""
    if not text.startswith("):", used):
        return False
    return _HEADING.fullmatch(line.rstrip(" (")) is not None


def _fraction(candidate: Candidate, text: str, line: str) -> None:
    """`4/5`, `4 stars` in a sentence, unless it counts parts or another's stars."""
    clause = _SEPARATOR.split(line.rstrip(_OPENERS))[-1].split()
    if clause and (clause[-1] in tables.NOT_A_SCORE or clause[-1] == "turn"):
        return  # "This is part 4/5"
    stars = candidate.kind == "stars" or text.startswith(" star", candidate.used)
    words = {word.partition("'")[0] for word in clause}
    if stars and len(clause) > 2 and tables.OWN.isdisjoint(words):
        return  # "the customer left 2 stars"
    aspect = _aspect_after(text, candidate.used)
    candidate.present(ASPECT if aspect else FORM, "form", aspect)


def _in_place(candidate: Candidate, text: str, window: str, core: str) -> None:
    """Digits in brackets, or at the end of a text that leads to them."""
    if not candidate.token[0].isdigit():
        return
    used = candidate.used
    if window.endswith((" (", "\n(")) and tables.CLOSED.match(text, used):
        candidate.present(ALONE, "bracketed")
        return
    if window[-1:] == "(" or candidate.kind or not tables.TEXT_END.match(text, used):
        return
    if tables.CLOSING.search(core) or tables.SHORT_ANSWER.match(window):
        candidate.present(ALONE, "closing")


def doubt(candidate: Candidate, text: str) -> None:
    """Spoil a number that its clause, its sentence or what follows takes back."""
    if candidate.cue == "a 4 than a 3":
        return
    used = candidate.end
    if candidate.kind in ("of", "stars", "points"):
        used = candidate.used
    following = text[used : used + 160]
    if TAG in following[:2]:
        following = following.lstrip(f"{TAG} ")
    if _ASKED.match(following):
        candidate.spoil("the number is in question")
        return
    if tables.SPLIT_AFTER.match(text, used):
        candidate.spoil(SPLIT, blocks=True)
        return
    flaw = TABLES.veto("after", following)
    if not flaw and candidate.kind == "points":
        flaw = TABLES.veto("after", text[candidate.end : used + 80])
    if not flaw and candidate.strength != ALONE:
        window = text[max(0, candidate.start - 300) : candidate.start]
        if not candidate.based and _of_other_scale(window):
            veto = "the score is given on another scale"
            candidate.spoil(veto, blocks=True, rescaled=True)
            return
        flaw = _flaw(after_last(tables.SENTENCE, window), following)
    if flaw:
        candidate.spoil(f"the number is {flaw}")


def _of_other_scale(window: str) -> bool:
    """Whether the sentence of a number or the one before it names another scale."""
    if OTHER not in window:
        return False
    sentence = after_last(tables.SENTENCE, window)
    if OTHER in sentence:
        return True
    earlier = window[: len(window) - len(sentence)].rstrip(" .\n")
    return earlier.endswith(OTHER)


def _flaw(sentence: str, following: str) -> str:
    """Why a sentence does not give the number at its end as a score, or empty."""
    if sentence.rstrip(_OPENERS).endswith((":", "=", "|")):
        flaw = TABLES.veto("label", sentence)
    elif tables.QUESTION.match(sentence) and re.match(r"[^.!?\n]{0,120}\?", following):
        flaw = "in a question"
    else:
        flaw = _taken_back(sentence, following)
    if flaw or "'" not in sentence:
        return flaw
    quoted = tables.QUOTED_LEFT.search(sentence)
    if quoted and tables.QUOTED_RIGHT.match(following):
        return "in a quotation"
    return ""


def _taken_back(sentence: str, following: str) -> str:
    """The veto in a sentence before its number, or right after it; empty without."""
    if sentence.count(",") > 1:
        sentence = tables.ASIDE.sub("", sentence)
    sentence = f" {sentence}"
    clause = f" {after_last(tables.CLAUSE, sentence)}"
    flaw = TABLES.veto("clause", clause) or TABLES.veto("opening", sentence)
    if flaw:
        return flaw
    if TABLES.beyond_clause.search(sentence):
        turns = (turn.start() for turn in tables.TURN.finditer(sentence))
        turned = sentence[max(turns, default=0) :]
        flaw = (
            TABLES.veto("standard", clause)
            or TABLES.veto("turn", turned)
            or TABLES.veto("reported", sentence)
        )
    would = "would be" in clause or ("would" in clause and "i would" not in clause)
    if not flaw and would:
        flaw = TABLES.veto("would", following)
    return flaw
