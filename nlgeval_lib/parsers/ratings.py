"""Ratings and feedback: candidates, their cues, what takes them back, and one rule for the verdict."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nlgeval_lib.parsers import cues
from nlgeval_lib.parsers.cues import ALONE, ASPECT, FINAL, FORM, LABEL, PHRASE, Cue, Veto
from nlgeval_lib.parsers.normalise import OTHER, TAG, lines, without_scale
from nlgeval_lib.parsers.text import (
    DECLINED,
    DIGITS,
    WORD,
    WORDS,
    Parsed,
    check_scale,
    check_text,
    number_of,
    readable,
    shown,
    why,
)
from nlgeval_lib.records import Status

RULES = ("none", "alone", "form", "aspect", "phrase", "label", "final")  # by strength


@dataclass(frozen=True, slots=True)
class Rating(Parsed):
    """A score on the scale `low` to `high`; `matched` is the place of the text that carried it (lower case)."""

    low: float = math.nan
    high: float = math.nan
    label: str = ""
    matched: str = ""


@dataclass(slots=True)
class Candidate:
    """A number in its place: `start` to `end` of the normalised text; `used` is where what belongs to it ends.

    `kind` says what follows it (of, range, series, percent, stars, points, half, sum), `cue` and `strength` what
    presents it, `label` under which name, `veto` why it is no verdict. A veto that `blocks` leaves weaker ones no say.
    `fate` is what became of it in the end.
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
    fate: str = ""

    def present(self, strength: int, cue: str, label: str = "") -> None:
        """The text presents this number as a verdict of that strength."""
        self.strength, self.cue, self.label = strength, cue, label

    def spoil(self, veto: str, blocks: bool = False, rescaled: bool = False) -> None:
        """The number is no verdict, and why."""
        self.veto, self.blocks, self.rescaled = veto, blocks, rescaled


CUT = "the text ends in the middle of the score"
SPLIT = "several aspects are scored at once"


class Tables:
    """The tables of `cues`, ready to search."""

    def __init__(self, rows: Sequence[Cue] = cues.CUES, vetoes: Sequence[Veto] = cues.VETOES) -> None:
        self.vetoes = vetoes
        self.by_last: dict[str, list[tuple[Cue, re.Pattern, re.Pattern | None]]] = {}
        for row in rows:
            ready = (row, re.compile(rf"{row.before}\s*\Z"), re.compile(row.after) if row.after else None)
            for last in row.last.split() or [""]:
                self.by_last.setdefault(last, []).append(ready)
        self.by_where: dict[str, re.Pattern] = {}
        for where in {veto.where for veto in vetoes}:
            ways = [f"(?P<v{place}>{veto.pattern})" for place, veto in enumerate(vetoes) if veto.where == where]
            self.by_where[where] = re.compile("|".join(ways))

    def veto(self, where: str, text: str, at: int = -1, unless: re.Pattern | None = None) -> str:
        """The name of the row of `where` that is found in `text` (right at `at`); `unless` must not come after it."""
        pattern = self.by_where.get(where)
        if pattern is None:
            return ""
        if at >= 0:
            match = pattern.match(text, at)
        else:
            match = pattern.search(text)
            if match and unless is not None and unless.search(text, match.end()):
                match = None
        return self.vetoes[int(match.lastgroup[1:])].name if match and match.lastgroup else ""


TABLES = Tables()

# --- candidates -----------------------------------------------------------------------------------------------------
_NUMBER = re.compile(rf"{DIGITS}|\b{WORD}\b")
_DIGITS = re.compile(DIGITS)
_LETTERS = bytes(code if chr(code).isalpha() and code < 128 else 32 for code in range(256))
_SPELLED = frozenset(word.encode() for word in (*WORDS, "hundred"))
# of a text with more numbers the first and the last are read: time stays bounded
READ_AT_EACH_END = 400
_ONE_OF = re.compile(
    r"\s+(?:of|another|thing|the|could|can|may|might|must|has|would|should)\b(?!\s+(?:\d|three|four|five|seven|ten))"
)
_PRONOUN = re.compile(r"\b(?:this|that|the|each|every|any|which|another|no) \Z")
_CUT_OFF = re.compile(r"(?:-|[ \t]*(?:/|out(?: of(?: a)?)?))\s*\Z")
_MORE = re.compile(
    rf"\+|[ \t]*(?:-|~|->|=>|\bto\b|\bor\b)[ \t]*(?P<then>{DIGITS}|{WORD})\s*(?:/|out of)\s*(?P<base>{DIGITS}|{WORD})\b"
)
_HALF = re.compile(r"(?:[ -]and[ -]a[ -]half| point five)\b| ?½|(?: and)? 1/2(?![\d/])")
_ENDS = re.compile(cues.ENDS)
_OTHER_AFTER = re.compile(rf"[ \t,(\[]*{OTHER}")
_KINDS = {"base": "of", "upto": "range", "then": "series"}
_MOVED_FROM = re.compile(
    r"\b(?:lower|reduc|drop|rais|mov|chang|revis|adjust|bring|brought|increas|decreas)\w*[a-z ]{0,20} "
    r"from(?: an?)?\s*\Z"
)


def candidates(text: str, low: float, high: float) -> list[Candidate]:
    """Every number of a normalised text that may be a score, with its cue and veto."""
    words = text.encode("ascii", "replace").translate(_LETTERS).split()
    found = list((_DIGITS if _SPELLED.isdisjoint(words) else _NUMBER).finditer(text))
    if len(found) > 2 * READ_AT_EACH_END:
        found = found[:READ_AT_EACH_END] + found[-READ_AT_EACH_END:]
    read, taken = [], -1
    for match in found:
        if match.start() >= taken:
            candidate, taken = _candidate(text, match, low, high)
            if candidate is not None:
                read.append(candidate)
    for candidate in read:
        if candidate.cue == "bracketed" and len(found) > 1:
            candidate.strength = 0  # one of several numbers in prose
    return read


def _candidate(text: str, match: re.Match, low: float, high: float) -> tuple[Candidate | None, int]:
    """One number, None where it is part of a word, an amount, a date or another number; and up to where it was read."""
    start, end = match.span()
    token = match.group()
    value = number_of(token)
    before = text[start - 1] if start else "\n"
    after = text[end : end + 1] or "\n"
    if value is None or math.isinf(value) or before.isalnum() or before in "$€£¥#@^%_" or after == "_":
        return None, end
    half = _HALF.match(text, end) if after in " ½-" else None
    if half:
        value, end = value + 0.5, half.end()
        after = text[end : end + 1] or "\n"
    right = cues.RIGHT.match(text, end) if after != "\n" else None
    kind = _KINDS.get(right.lastgroup or "", right.lastgroup or "") if right else "half" if half else ""
    used = right.end() if right else end
    if kind == "date":
        return None, used
    counted = cues.PART_OR_COUNT.match(text, end) if after == " " and right is None else None
    moved = kind == "range" and right and "to" in right.group() and _MOVED_FROM.search(text, max(0, start - 60), start)
    if (
        moved
        or (counted and (counted["part"] or not _ENDS.match(text, end)))
        or (after.isalnum() and kind not in ("stars", "points", "of"))
        or text.startswith("-ish", end)
        or (token == "one" and (_ONE_OF.match(text, end) or _PRONOUN.search(text, max(0, start - 9), start)))
        or (after == "-" and not kind and start and text[end + 1 : end + 2].isalpha())  # "one-sided", "3-year"
    ):
        return None, end
    outer = text[start - 2] if start > 1 else "\n"
    if (before == "-" and outer.isdigit()) or (before in ":/" and (outer.isdigit() or before == "/")):
        return None, used if kind in ("of", "range") else end
    if (
        before == "-"
        and outer.isalpha()
        and not re.search(r"(?:score|rating|grade|mark)-\Z", text[max(0, start - 9) : start])
    ):
        return None, end  # "gpt-4"
    if before == "-" and outer not in "->" and not outer.isalpha():
        start, value = start - 1, -value
    elif before == "+" and not outer.isalnum():
        start -= 1
    elif before == "." and not (outer.isalnum() or outer == ".") and token.isdigit():
        start, value = start - 1, float(f"0.{token[:15]}")
    one = Candidate(value, start, end, used, token, kind)
    arrow = text.startswith(("->", "=>"), start - 2) or (before == "<" and text.startswith(">", used))
    if before in "~<>≈≥≤" and not arrow:
        one.spoil("an approximate or bounded number")
    if not one.veto:
        _follow(one, text, right, low, high)
    _present(one, text)
    if one.strength and not one.veto:
        _doubt(one, text)
    return one, used


def _follow(one: Candidate, text: str, right: re.Match | None, low: float, high: float) -> None:
    """Make of the number what follows it: a share of the scale, or a veto."""
    kind = one.kind
    second = number_of(right["upto"] or right["then"]) if right and kind in ("range", "series") else None
    if _CUT_OFF.match(text, one.end):
        one.spoil(CUT, blocks=True)
    elif _OTHER_AFTER.match(text, one.end):
        one.spoil("the score is given on another scale", blocks=True, rescaled=True)
    elif kind == "of" and right:
        one.based = number_of(right["base"]) == high
        more = _MORE.match(text, one.used)
        if not one.based:
            one.spoil(f"the score is given on a scale up to {right['base'][:20]}", blocks=True, rescaled=True)
        elif more and (not more["base"] or (number_of(more["base"]) == high and number_of(more["then"]) != one.value)):
            one.spoil("more than one number at once", blocks=True)
    elif second is not None and right:
        if (one.value, second) == (low, high):
            one.spoil("the scale itself")
        elif kind == "range" and second <= one.value and ">" not in right.group():
            one.spoil("a result or a difference, not a score")
        else:
            one.spoil(f"more than one number at once: {text[one.start : right.end()].strip()[:40]!r}", blocks=True)
    elif kind == "percent":
        if (low, high) == (0.0, 1.0):
            one.value /= 100.0
        elif (low, high) != (0.0, 100.0):
            one.spoil("the score is a percentage", blocks=True, rescaled=True)
    elif kind == "sum":
        one.spoil("a sum, not a number", blocks=True)
    elif kind == "stars" and high > 10:
        one.spoil("the score is given in stars", blocks=True)
    if not one.veto and one.value % 1.0 and "round" in text[one.used : one.used + 30]:
        rounded = cues.ROUNDED.match(text, one.used)
        if rounded and number_of(rounded["to"]) != one.value:
            one.spoil(f"the number is rounded to {rounded['to'][:9]}", blocks=True)


# --- cues -----------------------------------------------------------------------------------------------------------
_OPENERS = " \t\n\"'([{<~"
_BACK = 200
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_LAST = re.compile(r"([^\s,]+?)[,]?\Z")
_LIST_ITEM = re.compile(r"[.)][ \t]+[\w\"'(]")
_VALUE_WORDS = re.compile(r"(?::|=)[ ]?[a-z]+(?:[ ][a-z]+){0,2}[ ]?(?:\(|[ ]-[ ])\s?\Z")
_SEPARATOR = re.compile(r"[\n.!?;,|{}()\[\]:=\"]")
_LINE_LEFT = re.compile(r"[\s>#\"'(\[|-]*\Z")
_LINE_RIGHT = re.compile(r"[^\w\n/+%&=<>?-]*(?:\n|\Z)")
_OWN_LINE = re.compile(r"[ \t]*(?:[.,;)\]\"'\x02]*[ \t]*(?:\n|\Z)|-|:|\(|,[ \t]*[a-z])")
_NEAR_AWARD = re.compile(
    r"(?:\A|[\n,;/|(-])[ >*-]{0,9}(?:(?:points?|marks?|score) )?(?:earned|awarded|obtained|achieved|"
    r"received|granted|given)\b[a-z ]{0,9}[:=|]"
)
_AWARDED = re.compile(
    r"(?:(?:points?|marks?|score) )?(?:earned|awarded|obtained|achieved|received|granted|given)(?: "
    r"(?:points?|marks?|score))?"
)
_POSSIBLE = re.compile(
    r"(?:total|full|possible|available) (?:possible |available )?(?:points?|marks?)|(?:points?|"
    r"marks?) (?:possible|available|total)"
)
_TOP_AWARDED = re.compile(
    r"\b(?:deserv|earn|receiv|get|got|giv|gave|award|achiev|assign|merit|warrant)\w*\s+(?:it\s+|"
    r"this\s+)?(?:(?:the|a)\s+)?\Z"
)
_AFTER_LEAD = re.compile(r"\t|[ \t]*(?:(?P<mark>[.:,;)\]|-]|->|\()|\n|\Z|(?:because|since|due to)\b)")
_TEXT_END = re.compile(r"[\s.!)\]\"'}|\x02]*\Z")
_ABBREVIATED = re.compile(r"\b(?:no|nr|fig|p|pp|vol|ch|sec|art|eq|approx|ca|est|avg|vs)\.\s*\Z")
_SENTENCE_END = re.compile(r"(?<!\d)[.!?][\"')]*\s*-?\Z")
_SHORT_ANSWER = re.compile(
    r"\A\W*(?:yes|no(?!\.)|good|bad|ok|okay|fair|poor|dull|excellent|somewhat(?: [a-z]+)?|interesting)\W+\Z"
)
_COUNT_BEFORE = re.compile(
    r"\b(?:cover(?:s|ed)?|mention\w*|includ\w+|captur\w+|contain\w*|answer(?:s|ed)|correct(?:ly)?|"
    r"address\w*|solve[sd]?|"
    r"miss\w*|omit\w*|on|since|until|dated|by|only|of the|about|at|roughly|around|nearly|and|from|won|lost|beat|in|"
    r"identif\w+|match\w*|has|have|had|are|were|for|least|than|reach\w*)\s*\Z"
)


def _present(one: Candidate, text: str) -> None:
    """Set what presents the number: a label, a phrase of the table, its form or its place."""
    window = text[max(0, one.start - _BACK) : one.start]
    core = window.rstrip(_OPENERS)
    gap = window[len(core) :]
    if "\n" in gap and not one.kind and _LIST_ITEM.match(text, one.used):
        return  # the number of a list's item
    ends = text[one.used : one.used + 1] in cues.END_SIGNS or _ENDS.match(text, one.used) is not None
    if core.endswith("-") and not core.endswith("--"):
        line = core[core.rfind("\n") + 1 : -1]
        if window.endswith("-") and line[-1:].isalpha():
            core, gap = core[:-1], "-"  # "score-4"
        elif _LINE_LEFT.match(line):
            core = core[:-1].rstrip(_OPENERS)  # a bullet
    worded = _VALUE_WORDS.search(window) if window.rstrip()[-1:] in "(-" else None  # "Rating: good (4)"
    if worded:
        core = window[: worded.start() + 1]
    left, article = _unfilled(core) if core[-1:].isalpha() else (core, False)
    if left[-1:] in tuple(":=") and left is not core and not cues.ADJECTIVES.issuperset(core[len(left) :].split()):
        return  # "Score: the 4"
    signed = left.endswith((":", "=", "|", "->")) or (left.endswith("-") and gap[:1] in (" ", "(", "["))
    if signed and gap != "-":
        if "\n" in gap and left[-1] in ":=" and not _OWN_LINE.match(text, one.used):
            return
        ends = ends or one.kind in ("of", "stars", "points")
        if ends or (left is core and one.token[0].isdigit()):
            _label(one, text, left, ends)
    elif ends or one.kind in ("of", "range", "series", "half", "sum"):
        _phrase(one, text, core, left, article)
    if not one.strength:
        _form(one, text, window, core)
    if one.strength and cues.OVERALL_AFTER.match(text, one.used):
        one.present(FINAL, "overall")


def _unfilled(core: str) -> tuple[str, bool]:
    """The text without the words at its end that may stand between a cue and a number; whether one was an article."""
    article = False
    for _ in range(6):
        head, _, word = core.rpartition(" ")
        if word not in cues.FILL:
            break
        article = article or word in ("a", "an")
        core = head.rstrip()
    return core, article


def _label(one: Candidate, text: str, core: str, ends: bool) -> None:
    """`Label: 4`: a score by its own name, a final one, or one under another label."""
    head = core.rstrip(":=|->").rstrip(" \t\n\"')]*")
    if core[-1] == "|":
        head = head.rstrip("|-: \t")
    cut = max((found.end() for found in _SEPARATOR.finditer(head)), default=0)
    name = head[cut:].strip(" \t\"'>#-")
    line = head[head.rfind("\n", 0, cut) + 1 : cut]
    line_start = not line.strip(" \t|>#-{\"'") or re.fullmatch(r"[\s>#*-]*\d{1,2}[.)]", line) is not None
    words = _WORD.findall(name)
    nouns = [place for place, word in enumerate(words) if word in cues.NOUNS]
    if nouns and len(words) > 4:
        words = words[max(0, nouns[-1] - 3) :]
    if not words:
        if not name and line_start and ends and _LINE_RIGHT.match(text, one.end):
            one.present(ALONE, "alone")
        return
    foreign = cues.FOREIGN.search(name) is not None
    ranked, odd = not cues.RANKS.isdisjoint(words), cues.NOT_A_SCORE.intersection(words)
    if OTHER in name:
        one.spoil("the label names another scale", blocks=True, rescaled=True)
    if _POSSIBLE.fullmatch(name) and _NEAR_AWARD.search(text, max(0, one.start - 300), one.start + 300):
        return one.spoil("the top of the scale")
    if line_start and not nouns and _AWARDED.fullmatch(name):
        return one.present(LABEL, "label")
    contest = bool(nouns) and words[-2:-1] and words[-2] in cues.CONTESTS
    if len(words) > 12 or contest or (odd and not (ranked and nouns and not odd & cues.NEVER_A_SCORE)):
        top = odd <= cues.TOPS and odd and _TOP_AWARDED.search(name[: max(map(name.rfind, odd))])
        if not top:
            return one.spoil("the label names something else") if odd & cues.NEVER_A_SCORE else None
    asked = " ".join(word for word in words if word not in _NOT_ASKED)
    if words[1:] and words[-1] == "a":
        asked = f"{asked} a".strip()  # "Score A", "Response A": a letter
    if nouns or foreign:
        if ranked:
            one.present(FINAL, "final label", asked)
        elif asked and not foreign:
            one.present(ASPECT, "label of an aspect", asked)
        elif name in ("note", "nota") and not (one.based or (ends and _LINE_RIGHT.match(text, one.used))):
            return
        else:
            one.present(LABEL, "label")
            _under(one, _heading(text, core, head[:cut], line_start, one.start))
    elif ranked and len(words) <= 4:
        one.present(FINAL, "final label", " ".join(words))
    elif ends and _is_label(one, text, core[-1], name, words, line_start):
        says_nothing = _NO_NAMES.issuperset(words) and words[-1] != "a"
        one.present(ASPECT, "label of an aspect", "" if says_nothing else " ".join(words))


_NOT_ASKED = cues.NOUNS | cues.NEUTRAL | cues.RANKS
_NO_NAMES = cues.NEUTRAL | cues.PARTS


def _is_label(one: Candidate, text: str, sign: str, name: str, words: list[str], line_start: bool) -> bool:
    """Whether words before a sign name an aspect, and are not code, arithmetic or the lead-in of a list."""
    if sum(map(len, words)) < 3 or len(words) > (6 if line_start else 3):
        return False
    if text.startswith(":", one.used) and "\n" in text[max(0, one.start - 3) : one.start]:
        return False  # "Reasons:\n1: fluent"
    if sign in "=-" and not (line_start and (sign == "-" or cues.QUALITY_NAME.fullmatch(name))):
        return False  # "count = 4", "len(x) - 1"
    if not line_start and not cues.NEUTRAL.isdisjoint(words):
        return False
    return not (_LIST_ITEM.match(text, one.end) and f"\n{one.value + 1:g}" in text[one.end : one.end + 4000])


_HEADING = re.compile(
    r"(?:\A|\n)[\s>#-]*(?:\d{1,2}[.)]\s*)?(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*(?::[ \t]*|(?<!\w)\s*)\n[\s>#-]*\Z"
)
_ITEM = re.compile(r"[\s>#-]*(?:\d{1,2}[.)]\s*)?(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*:")


def _heading(text: str, core: str, before: str, line_start: bool, start: int) -> str:
    """The heading on the line right above a label's line, or that opens its line; empty where there is none."""
    if line_start:
        match = (
            _HEADING.search(before[-90:]) if before.rstrip(" \t\n>#-")[-1:] not in ("", ".", "!", "?", ")") else None
        )
    else:
        line = text.rfind("\n", max(0, start - 1500), start) + 1
        match = _ITEM.match(text, line, start) if line or start < 1500 else None
    return match["name"].strip() if match else ""


def _under(one: Candidate, heading: str) -> None:
    """A score under a heading of its own is the score of what the heading names."""
    words = _WORD.findall(heading)
    if not words or not cues.SAYS.isdisjoint(words):
        return
    if not cues.RANKS.isdisjoint(words):
        one.present(FINAL, "final label", heading)
    elif cues.NOUNS.isdisjoint(words) and not _NO_NAMES.issuperset(words):
        one.present(ASPECT, "label of an aspect", " ".join(words))


def _phrase(one: Candidate, text: str, core: str, left: str, article: bool) -> None:
    """`a score of 4`, `Score 4`, `I rate it a 4`: the first row of the table of cues that fits."""
    sentence = left[_sentence_start(left) :]
    last = _LAST.search(sentence)
    word = last[1] if last else ""
    by_last = TABLES.by_last
    for row, before, after in (
        *by_last.get(word, ()),
        *(by_last.get("a", ()) if article else ()),
        *by_last.get("", ()),
    ):
        found = before.search(sentence)
        if not found or (after is not None and not after.match(text, one.used)) or not (row.before or after):
            continue
        groups = found.groupdict()
        aspect = groups.get("quality") or ""
        if row.name in ("score is", "score"):
            one.enumerated = (
                not one.kind
                and re.match(r"\s?(?:\([^)\n]{0,60}\)\s?)?(?::|-|=|->)\s?[a-z\"'(]", text[one.used : one.used + 80])
                is not None
            )
        if row.name == "score is":
            _noun_link(one, sentence, found, row)
            break
        if row.name == "score":
            word = (groups["word"] or "").strip()
            if word in cues.RANKS:
                one.present(FINAL, row.name)
            elif not word or word in cues.NEUTRAL:
                one.present(LABEL, row.name)
            elif word not in cues.NOT_A_SCORE and word not in cues.CONTESTS:
                one.present(ASPECT, row.name, word)
            break
        one.present(row.strength, row.name, "" if aspect in cues.NEUTRAL else aspect)
        if groups.get("verb") and not _own(sentence, found.start("verb"), groups["verb"]):
            graded = one.kind == "of" and cues.QUALITY_NAME.fullmatch(_aspect_after(text, one.used))
            if not graded:  # 4 out of 5 for fluency is the judge's, whoever is the subject
                one.spoil("the number is the score of something else")
        break
    if one.strength == PHRASE and not one.label:
        rated = cues.QUALITY_RATED.search(sentence)
        named = (rated["of"] or rated["subject"]) if rated else ""
        one.label = _aspect_after(text, one.used) or ("" if named in cues.NEUTRAL else named)
    if not one.strength and text[one.start - 1 : one.start] == "(":
        quality = re.search(rf"({cues._QUALITY})\s?\(\Z", text[max(0, one.start - 40) : one.start])
        if quality:
            one.present(ASPECT, "quality in brackets", quality[1])


def _noun_link(one: Candidate, sentence: str, found: re.Match, row: Cue) -> None:
    """`the score of the summary is 4`, `a coherence score of 4`; not the score of a game."""
    before = (re.findall(r"([a-z][a-z'-]*)\s+\Z", sentence[: found.start()][-40:]) or [""])[-1]
    mid = _WORD.findall(found["mid"])
    words = {before, *mid}
    if before in cues.CONTESTS or (mid and mid[-1] in cues.CONTESTS):
        return None
    odd = words & cues.NOT_A_SCORE - {
        "level",
        "number",
        "article",
        "sentence",
        "best",
        "paragraph",
        "for",
        "would",
        "output",
    }
    if odd and not (odd <= cues.TOPS and _TOP_AWARDED.search(sentence[: found.start()].rstrip().removesuffix(before))):
        return None
    if cues.RANKS & words:
        return one.present(FINAL, row.name)
    aspect = _aspect_after(found["mid"], 0, search=True) or ("" if before in cues.NEUTRAL | cues.NOUNS else before)
    aspect = "" if aspect.endswith(("ly", "ing", "ed")) else aspect
    one.present(PHRASE if found["link"] in ("of", "as", "at") else LABEL, row.name, aspect)
    return None


def _own(sentence: str, at: int, verb: str) -> bool:
    """Whether the judge or what is judged is the subject of a verb: `The response gets`, not `The team gets`."""
    if verb.endswith("ing") or verb in ("worth", "call", "consider", "deem", "put", "place", "peg", "find"):
        return True
    clause = sentence[:at]
    words = _WORD.findall(clause[max((found.end() for found in re.finditer(r"[,:(]", clause)), default=0) :])[-7:]
    while words and (words[-1] in cues.AUXILIARIES or words[-1] in cues.FILL or words[-1].endswith("ly")):
        words.pop()
    return (
        not words
        or words[-1].partition("'")[0] in cues.OWN
        or not cues.JUDGED.isdisjoint(word.partition("'")[0] for word in words)
        or cues.QUALITY_NAME.fullmatch(words[-1]) is not None
    )


def _aspect_after(text: str, at: int, search: bool = False) -> str:
    """The aspect in `for coherence`, `in terms of style`; empty where none is named."""
    after = cues.ASPECT_AFTER.search(text, at) if search else cues.ASPECT_AFTER.match(text, at)
    return after["word"] if after and after["word"] not in cues.NO_ASPECT and not after["word"].endswith("ing") else ""


def _form(one: Candidate, text: str, window: str, core: str) -> None:
    """A number that only its form or its place makes a verdict."""
    line = window[window.rfind("\n") + 1 :]
    first = len(window) == one.start and not window.strip(_OPENERS + ">#-|.")
    if (first or (len(line) < 40 and _LINE_LEFT.match(line))) and _LINE_RIGHT.match(text, one.used):
        return one.present(ALONE, "alone")
    mark = _AFTER_LEAD.match(text, one.used) if first else None
    if mark:
        one.present(FORM if one.kind in ("of", "stars") else ALONE, "leading")
        if (mark["mark"] or ":") in ".)" and not one.kind and one.value == 1.0:
            one.spoil("a leading '1.' may be the number of a list")
    elif one.kind in ("of", "stars"):
        last = window.rstrip().rpartition(" ")[2]
        judging = last in ("rated", "scored", "graded", "awarded", "received", "earned", "achieved", "judged")
        if (not last.endswith("ed") or judging) and _ENDS.match(text, one.used) and not _COUNT_BEFORE.search(window):
            aspect = _aspect_after(text, one.used)
            one.present(ASPECT if aspect else FORM, "form", aspect)
    elif one.token[0].isalpha():
        return
    elif window[-1:] == "(":
        if (
            not window[-2:-1].strip()
            and "," not in one.token
            and re.match(r"\s?\)\s?(?:[.!,;\n]|\Z)", text[one.used : one.used + 4])
        ):
            one.present(ALONE, "bracketed")
    elif not one.kind and _TEXT_END.match(text, one.used):
        words = re.split(r"[.!?\n]", window)[-1].split()
        praised = bool(words) and words[-1] in cues.ADJECTIVES and cues.ADJECTIVES.issuperset(words)
        if praised or (_SENTENCE_END.search(core) and not _ABBREVIATED.search(core)) or _SHORT_ANSWER.match(window):
            one.present(ALONE, "closing")


# --- vetoes ---------------------------------------------------------------------------------------------------------
_SINGLE_QUOTED = re.compile(r"(?<!\w)'(?=[a-z])(?:[^'\n]|(?<=\w)'(?=\w)){0,100}\Z")
_SINGLE_CLOSED = re.compile(r"(?:[^'\n]|(?<=\w)'(?=\w)){0,60}'(?!\w)")
_ASIDE = re.compile(r"(?<=not|n't|uld|ill|ver| to),[^,.!?\n]{1,60},")


def _sentence_start(window: str) -> int:
    at = 0
    for end in cues.SENTENCE.finditer(window):
        if window[end.start() - 2 : end.start()] not in (".g", ".e"):
            at = end.end()
    return at


def _doubt(one: Candidate, text: str) -> None:
    """Spoil a number that its clause, its sentence or what follows takes back."""
    used = one.used if one.kind in ("of", "stars", "points") else one.end
    after = text[used : used + 160]
    if re.match(r"[ \t]?\(?\?", after):
        return one.spoil("the number is in question")
    if cues.SPLIT_AFTER.match(text, used):
        return one.spoil(SPLIT, blocks=True)
    flaw = TABLES.veto("after", after.lstrip(TAG + " ") if after.startswith((TAG, f" {TAG}")) else after, 0)
    flaw = flaw or (TABLES.veto("after", text[one.end : used + 80], 0) if one.kind == "points" else "")
    if flaw:
        return one.spoil(f"the number is {flaw}")
    if one.strength == ALONE:
        return None
    window = text[max(0, one.start - 300) : one.start]
    cut = _sentence_start(window)
    sentence = window[cut:]
    if (OTHER in sentence or window[:cut].rstrip(" .\n").endswith(OTHER)) and not one.based:
        return one.spoil("the score is given on another scale", blocks=True, rescaled=True)
    labelled = sentence.rstrip(_OPENERS)[-1:] in tuple(":=|")
    if labelled:
        flaw = TABLES.veto("label", sentence)
    else:
        if cues.QUESTION.match(sentence) and re.match(r"[^.!?\n]{0,120}\?", after):
            return one.spoil("the number stands in a question")
        flaw = _taken_back(sentence, after)
    if flaw:
        return one.spoil(f"the number is {flaw}")
    if "'" in sentence and "'" in after and _SINGLE_QUOTED.search(sentence) and _SINGLE_CLOSED.match(after):
        return one.spoil("the number stands in a quotation")
    return None


def _taken_back(sentence: str, after: str) -> str:
    sentence = _ASIDE.sub("", sentence)
    turn = max((found.start() for found in cues.TURN.finditer(sentence)), default=0)
    turned = sentence[turn:]
    clause = sentence[max((found.end() for found in cues.CLAUSE.finditer(sentence)), default=0) :]
    flaw = (
        TABLES.veto("clause", clause)
        or TABLES.veto("sentence", turned)
        or TABLES.veto("reported", sentence, unless=cues.ONESELF)
        or TABLES.veto("considered", sentence, unless=cues.SETTLED)
    )
    if not flaw and ("would be" in clause or ("would" in clause and "i would" not in clause)):
        flaw = TABLES.veto("would", after, 0)
    return flaw


# --- the verdict ----------------------------------------------------------------------------------------------------
_STANDINGS = ((FINAL,), (LABEL, PHRASE), (ASPECT,), (FORM,), (ALONE,))
_STARS = re.compile(r"★+☆+")
_LIST_LINE = re.compile(r"\n\s?\d{1,2}[.)]\s")
_POINT_LINE = re.compile(r"\n\s?(?P<number>\d{1,2})\s?[:=-]\s")
_NUMBERED_START = re.compile(r"[\s*>#-]{0,9}\d{1,2}\s?(?P<sign>[.):=-])\s")


def rating(text: str | None, low: float, high: float, label: str | None = None) -> Rating:
    """The score that `text` gives on the scale from `low` to `high`.

    A number counts only where the text presents it as a verdict: in JSON or a tag, after a label ("Score: 4"), in a
    phrase ("a score of 4", "I rate it 4"), as n/high or n out of high, in stars, or alone on a line. Numbers that are
    negated, hypothetical, part of a range, a date, a result or a rubric, or on another scale, do not. Two different
    verdicts, or any doubt, make it missing. Nothing is clipped or rescaled (but 80% is .8 on 0 to 1).

    `label` asks for the score under that name ("Coherence") where the text scores several; a score under another name
    is then never taken.

    Returns: `Rating`; status unparsed, out_of_range, refused, truncated or empty where there is no value.
    Raises: ValueError for a bad scale or a blank label; TypeError where `text` is neither str nor None.
    """
    return _read(text, low, high, label)[0]


def trace(text: str | None, low: float, high: float, label: str | None = None) -> list[str]:
    """How `rating` reads a text, a line each: the normalised text, every candidate with its fate, the verdict."""
    read, body, found = _read(text, low, high, label)
    told = [
        f"text     {line}"
        for line in body.replace(OTHER, "(another scale)").replace(TAG, "").split("\n")
        if line.strip()
    ]
    for one in found:
        cue = f"{RULES[one.strength]} ({one.cue}{f', {one.label}' if one.label else ''})" if one.strength else "no cue"
        fate = one.veto or one.fate or ("won" if read.ok and one.value == read.value else "weaker than another")
        told.append(
            f"number   {one.token!r} at {one.start}: {cue}; "
            f"{fate if one.strength or one.veto else 'not presented as a score'}"
        )
    return [*told, f"verdict  {shown(read.value) if read.ok else read.status.value}: {read.reason or read.rule}"]


def _read(text: str | None, low: float, high: float, label: str | None) -> tuple[Rating, str, list[Candidate]]:
    low, high = check_scale(low, high)
    if label is not None and not (isinstance(label, str) and label.strip()):
        raise ValueError(f"label must be a name such as 'Coherence' or None, got {label!r}")
    content = check_text(text, "rating")
    if content is None:
        return Rating(math.nan, Status.EMPTY, "no text", "empty", low, high, label or ""), "", []
    body = normalised(content, low, high)
    found = candidates(body, low, high)
    return under(body, found, low, high, label or "") if label else _decide(body, found, low, high), body, found


_BLANKS = re.compile(r"[ \t]{2,}")


def normalised(content: str, low: float, high: float) -> str:
    """The first stage: lower case, one form of every sign, plain lines, without the scale."""
    return _one_blank(without_scale(_one_blank(lines(readable(content).lower())), low, high))


def _one_blank(text: str) -> str:
    return _BLANKS.sub(" ", text) if "  " in text or "\t" in text else text


def _decide(body: str, found: Iterable[Candidate], low: float, high: float, label: str = "") -> Rating:
    """The strongest cue that has a verdict, of it the last number; different ones are a conflict."""

    def missing(status: Status, reason: str, rule: str) -> Rating:
        return Rating(math.nan, status, reason, rule, low, high, label)

    shown_ones = [one for one in found if one.strength]
    if len(shown_ones) == 1 and not shown_ones[0].veto and shown_ones[0].cue != "leading":
        return _settled(shown_ones[0], body, low, high, label)
    shown_ones = _without_echo(shown_ones, body)
    live = [one for one in shown_ones if not one.veto]
    said = {one.value for one in live if one.strength >= PHRASE}
    # a verdict that is said again where the text is cut off stands
    blocked = [one for one in shown_ones if one.blocks and not (one.veto == CUT and one.value in said)]
    if any(low <= one.value <= high for one in live):
        live = [one for one in live if low <= one.value <= high or one.strength >= LABEL]
    for standing in _STANDINGS if shown_ones else ():
        verdicts = [one for one in live if one.strength in standing]
        stops = [one for one in blocked if one.strength in standing]
        if any(not one.label for one in verdicts):
            verdicts = [one for one in verdicts if not one.label]
        values = sorted({one.value for one in verdicts})
        if standing == (ASPECT,) and values and not label:
            # "4/5 ... 3/5 for style", "4 ... Response: 2": one aspect is no more than another number of its own
            values = sorted(
                {one.value for one in live if one.strength <= FORM and low <= one.value <= high}.union(values)
            )
        if len(values) > 1:
            return missing(Status.UNPARSED, _several(verdicts, values), "conflict")
        if stops and not (values and all(one.rescaled for one in stops)):
            if all(one.rescaled for one in stops) and any(one.based for one in live):
                live = [one for one in live if one.based]  # "8/10, that is 4/5"
                continue
            return missing(Status.TRUNCATED if stops[0].veto == CUT else Status.UNPARSED, stops[0].veto, "doubt")
        if values:
            return _settled(verdicts[-1], body, low, high, label)
    status, reason = why(body) or (Status.UNPARSED, "")
    vetoed = [one for one in shown_ones if one.veto]
    reason = reason or (
        max(vetoed, key=lambda one: one.strength).veto if vetoed else "no number is presented as the score"
    )
    return missing(status, reason, "none" if status is Status.UNPARSED else "silence")


def _settled(best: Candidate, body: str, low: float, high: float, label: str) -> Rating:
    """The verdict, unless the text declines to give one, or corrects it."""

    def missing(status: Status, reason: str, rule: str) -> Rating:
        best.fate = reason
        return Rating(math.nan, status, reason, rule, low, high, label)

    declined = DECLINED.search(body[: min(best.start, 200)]) if best.strength < PHRASE and best.start > 12 else None
    if declined and not re.search(
        r"\b(?:but|however|nonetheless|nevertheless|still|though|if|so|yet|instead|based)\b",
        body[declined.end() : best.start],
    ):
        return missing(Status.REFUSED, "the judge declined or says that it cannot rate", "silence")
    for row in _STARS.findall(body) if "☆" in body else ():
        if len(row) == high and abs(row.count("★") - best.value) >= 1.0:
            return missing(
                Status.UNPARSED, f"different verdicts: {shown(best.value)}, {row.count('★')} stars", "conflict"
            )
    for place in cues.CORRECTION.finditer(body, best.end, best.end + 20_000):
        for other in candidates(place["rest"], low, high):
            if low <= other.value <= high and other.value != best.value:
                return missing(
                    Status.UNPARSED, f"the judge corrects {shown(best.value)} to {shown(other.value)}", "conflict"
                )
    rule = best.cue if best.cue in ("alone", "leading", "closing", "bracketed") else RULES[best.strength]
    best.fate = "won"
    matched = body[max(0, best.start - 30) : best.end + 8].replace(TAG, "").strip()
    if low <= best.value <= high:
        return Rating(best.value + 0.0, Status.OK, "", rule, low, high, label, matched)
    reason = f"{shown(best.value)} is outside {shown(low)} to {shown(high)}"
    return Rating(math.nan, Status.OUT_OF_RANGE, reason, rule, low, high, label, matched)


def _without_echo(found: list[Candidate], body: str) -> list[Candidate]:
    """Without the scale points of a repeated rubric and the numbers of a list."""
    if len({one.value for one in found if one.enumerated}) > 1:
        found = [one for one in found if not one.enumerated]
    lead = next((one for one in found if one.cue == "leading"), None)
    start = _NUMBERED_START.match(body) if lead is not None else None
    if lead is not None and start:
        line_end = body.find("\n", lead.end)
        if start["sign"] in ".)":
            echo = bool(_LIST_LINE.search(body)) or any(
                one.strength == ASPECT and (line_end < 0 or one.start < line_end) for one in found
            )
        else:
            echo = any(abs(float(line["number"]) - lead.value) == 1 for line in _POINT_LINE.finditer(body))
        if echo:
            found = [one for one in found if one is not lead]
    return found


def _several(verdicts: list[Candidate], values: list[float]) -> str:
    labelled = sorted({f"{one.label} {shown(one.value)}" for one in verdicts if one.label})
    if len(labelled) > 1:
        return f"scores under several labels and none overall: {', '.join(labelled[:6])[:120]}"
    return f"different verdicts: {', '.join(map(shown, values[:6]))}"


# --- under a label --------------------------------------------------------------------------------------------------
_SECTION = re.compile(
    r"(?:\A|\n)[\s>#*-]*(?:\d{1,2}[.)]\s*)?(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*(?:\([^)\n]{0,40}\)\s*)?[*\"]*\s*"
    r"(?::|-(?=\s)|(?=\n|\Z))"
)
_INNER = (cues.NOUNS | cues.PARTS | cues.RANKS) - {"conversation", "history", "fact", "document", "source"}


def under(body: str, found: list[Candidate], low: float, high: float, label: str, strict: bool = False) -> Rating:
    """The score of a normalised text under `label`; a number under another label is never taken.

    Numbers right at the label come first, then the section that it heads; where the label is nowhere, what the text
    scores without any label, but that not where `strict`.
    """

    def missing(reason: str) -> Rating:
        return Rating(math.nan, Status.UNPARSED, reason, "aspect", low, high, label)

    words, before, after = _around(label)
    own = []
    for one in found:
        window = body[max(0, one.start - 110) : one.start]
        if before.search(window) or after.match(body, one.end) or _same(one.label, words):
            own.append(one)
    if any(not one.veto or one.blocks for one in own):
        for one in own:
            if not one.strength and not one.veto:
                one.present(ASPECT, "at the label")
                _doubt(one, body)
            if one.veto == SPLIT:
                one.spoil("")
            one.strength = FINAL if not one.veto else one.strength or ASPECT
        return _decide(body, own, low, high, label)
    start, section = _section(body, words)
    if section is not None and re.search(rf"{DIGITS}|\b{WORD}\b|\bn/?a\b", section):
        part = _decide(section, candidates(section, low, high), low, high)
        reason = part.reason and f"under {label!r}: {part.reason}"
        return Rating(part.value, part.status, reason, f"section:{part.rule}", low, high, label, part.matched)
    if section is not None:
        found = [one for one in found if one.end <= start]  # "Rating: 3. Coherence: it flows well."
    others = [
        one
        for one in found
        if one.strength in (ASPECT, PHRASE, LABEL)
        and not cues.NEUTRAL.issuperset(one.label.split())
        and not (one.strength == PHRASE and one.label.endswith(words[-1]))  # "a score of 2 for irrelevance"
    ]
    rest = [one for one in found if one not in others]
    if others and not any(one.strength >= PHRASE and not one.veto for one in rest):
        named = ", ".join(sorted({one.label for one in others})[:6])[:100]
        return missing(f"no score labelled {label!r}; scored are: {named}")
    return missing(f"nothing is labelled {label!r}") if strict else _decide(body, rest, low, high, label)


@functools.lru_cache(maxsize=1024)
def _around(label: str) -> tuple[list[str], re.Pattern, re.Pattern]:
    """The words of a label, and the patterns for a label right before and right after a number."""
    words = re.findall(r"[^\W_]+", readable(label).lower())
    name = r"[\W_]+".join(map(re.escape, words))
    before = re.compile(
        rf"\b{name}\b(?:[ _](?:score|rating|quality|level|grade))*[\s\"'*)\]]{{0,5}}(?:\([^()\n]{{0,40}}\))?"
        r"\s?(?::|=|\||,|-|->|=>|is|was|of|at|gets|receives|scores|as)?\s{0,4}(?:a|an|about)?[\s\"'*(\[]{0,5}\Z"
    )
    after = re.compile(
        r"\s?(?:(?:/|out of)\s?\d+)?\s?(?:stars?|points?)?\s?(?:for|in|on|regarding|in terms of)\s"
        rf"(?:the\s|its\s){{0,2}}{name}\b"
    )
    return words, before, after


def _same(label: str, words: list[str]) -> bool:
    have = re.findall(r"[^\W_]+", label)
    return bool(have) and set(words) <= set(have) and set(have) - set(words) <= _NOT_ASKED


def _section(text: str, words: list[str]) -> tuple[int, str | None]:
    """Where the label stands as a heading, and the text from there to the next heading."""
    found = start = None
    for heading in _SECTION.finditer(text) if all(word in text for word in words) else ():
        have = re.findall(r"[^\W_]+", heading["name"])
        if start is None:
            if have[: len(words)] == words and set(have[len(words) :]) <= {"score", "rating", "quality"}:
                found, start = heading.start(), heading.end()
        elif not set(have) & _INNER and len(have) <= 5:
            return found or 0, text[start : heading.start()]
    return (0, None) if start is None else (found or 0, text[start:])


# --- feedback -------------------------------------------------------------------------------------------------------
MODES = ("verbalizer", "strict")


@dataclass(frozen=True, slots=True)
class Feedback(Parsed):
    """A score with the feedback that leads to it; `feedback` is kept also where the score is missing."""

    feedback: str = ""
    low: float = math.nan
    high: float = math.nan
    mode: str = "verbalizer"


_RESULT = {
    "strict": re.compile(r"\[RESULT\]", re.I),
    "verbalizer": re.compile(
        r"\[\s{0,5}(?:(?:final|overall)\s)?(?:results?|scores?|ratings?|grade|"
        r"verdict)\s{0,5}[:=]?\s{0,5}(?P<inner>[^\[\]\n]{0,40})\]",
        re.I,
    ),
}
_STRICT_SCORE = re.compile(
    r"[ \t]{0,9}\n?[ \t]{0,9}\(?(?P<score>\d{1,6})\)?[ \t]{0,9}\.?[ \t]{0,9}(?=\n|\Z|</s>)", re.ASCII
)
_HOLDS_NUMBER = re.compile(rf"\d|\b{WORD}\b", re.I)
# the format line of the prompt, repeated: "[RESULT] (an integer number between 1 and 5)"
_FORMAT = re.compile(
    r"\s?[\"'(<\[{]{0,3}\s?(?:an?|the|your|write|insert|integer|score|number|\d+\s?(?:-|to)\s?\d+)\b", re.I
)
# a model that does not stop begins the next prompt
_NEXT_PROMPT = re.compile(
    r"#{2,}\s?(?:task description|the instruction|instruction|response to evaluate|reference answer|score rubrics?|"
    r"feedback|human|user)|\[/?INST\]|<\|?(?:im_start|im_end|user|endoftext)\|?>",
    re.I,
)
_SIGN = re.compile(r"\A\s{0,3}[*_]{0,3}\s?(?:[:=]|-(?!\d))\s?")
_SAID = re.compile(r"[\s(*:=-]*(?:\w+:\s*)?(?:\d+(?:\.\d+)?(?:\s*(?:/|out of)\s*\d+)?)?[)\s.*]*")
_HEAD = re.compile(r"\A[\s\"'*#]*feedback\s?:?[\s*]*", re.I)
_QUOTED_ON = re.compile(r"[^\n\w\"']{0,6}(?:\d[\d./]{0,5}\s?)?(?P<quote>[\"'])[,.]?[ ]+[a-z]", re.I)


def feedback(text: str | None, low: float = 1, high: float = 5, mode: str = "verbalizer") -> Feedback:
    """The score and the feedback in a text of the form "... [RESULT] 4".

    The last verdict counts: the last `[RESULT]` that is not the prompt's format line, up to where a next prompt begins.
    `mode="strict"` reads `[RESULT]` and an integer that ends its line, nothing else. `mode="verbalizer"` also reads
    "[Score 5]", "[RESULT] 4 out of 5", and without any mark the last "Score: 4", "So the overall score is 4" or "I rate
    it 4/5". Numbers in the feedback never win over a mark.

    Returns: `Feedback`; `value` on the scale low to high.
    Raises: ValueError for a bad scale or mode; TypeError where `text` is neither str nor None.
    Source: Prometheus, section 3.2 and appendix J (format), Table 9 (verbaliser).
    """
    low, high = check_scale(low, high)
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    content = check_text(text, "feedback")
    if content is None:
        return Feedback(math.nan, Status.EMPTY, "no text", "empty", "", low, high, mode)
    source = readable(content)
    read, start, end = None, len(source), len(source)
    marks = list(_RESULT[mode].finditer(source))
    for mark in marks[:100] + marks[max(100, len(marks) - 100) :]:
        if read is not None and read.ok and _NEXT_PROMPT.search(source, end, mark.start()):
            break
        said, said_end = (_strict if mode == "strict" else _marked)(source, mark, low, high)
        if said is None or (said.rule == "cut" and mode != "strict" and read is not None and read.ok):
            continue  # the prompt's format line, a quotation; or begun again and cut off
        read, start, end = said, mark.start(), said_end
    if read is None and mode == "verbalizer":
        read = _unmarked(source, low, high)
    if read is None:
        status, reason = why(source.lower()) or (Status.UNPARSED, "no [RESULT] with a score")
        read = Rating(math.nan, status, reason, "none")
    return Feedback(read.value, read.status, read.reason, read.rule, _words(source, start, end), low, high, mode)


def _strict(source: str, mark: re.Match, low: float, high: float) -> tuple[Rating | None, int]:
    if _FORMAT.match(source, mark.end()):
        return None, 0
    score = _STRICT_SCORE.match(source, mark.end())
    if score:
        value = float(score["score"])
        ok = low <= value <= high
        reason = "" if ok else f"{shown(value)} is outside {shown(low)} to {shown(high)}"
        return Rating(
            value if ok else math.nan, Status.OK if ok else Status.OUT_OF_RANGE, reason, "result"
        ), score.end()
    if source[mark.end() :].strip():
        return Rating(math.nan, Status.UNPARSED, "no integer alone after [RESULT]", "result"), len(source)
    return Rating(math.nan, Status.TRUNCATED, "the text ends after [RESULT]", "cut"), len(source)


def _marked(source: str, mark: re.Match, low: float, high: float) -> tuple[Rating | None, int]:
    inside = _HOLDS_NUMBER.search(mark["inner"]) is not None
    said = mark["inner"] if inside else source[mark.end() : mark.end() + 160]
    opening = source[max(0, mark.start() - 2) : mark.start()].strip()[-1:]
    quoted = _QUOTED_ON.match(source, mark.end())
    if (
        opening
        and opening in "\"'"
        and quoted
        and quoted["quote"] == opening
        and source[: mark.start() - 1].strip("\"' \n")
    ):
        return None, 0
    if not inside and _FORMAT.match(said) and not _HOLDS_NUMBER.search(normalised(said.split("\n", 1)[0], low, high)):
        return None, 0
    if not said.strip():
        return Rating(math.nan, Status.TRUNCATED, "the text ends after its mark", "cut"), len(source)
    stop = _NEXT_PROMPT.search(said)
    said = _SIGN.sub("", (said[: stop.start()] if stop else said).replace("</s>", " ").strip(), count=1)
    scale_first = re.match(r"\W{0,3}[(\[]\s?-?\d+\s?(?:-|to)\s?\d+\s?[)\]]", said)
    read = rating(f"score {said}" if scale_first else f"score: {said}", low, high)
    end = mark.end() if inside else _SAID.match(source, mark.end()).end()  # type: ignore[union-attr]  # matches nothing too
    return Rating(read.value, read.status, read.reason, f"result:{read.rule}"), end


def _unmarked(source: str, low: float, high: float) -> Rating | None:
    """Without any mark: the last explicit verdict, else a phrase or n/high."""
    read, _, found = _read(source, low, high, None)
    if read.rule == "conflict" and "{" not in source:
        explicit = [one for one in found if one.strength >= LABEL and not (one.veto or one.enumerated or one.label)]
        if explicit and low <= explicit[-1].value <= high:
            return Rating(explicit[-1].value, Status.OK, "", "verbalizer:last")
    if read.ok and read.rule not in ("final", "label", "phrase", "form"):
        return None  # a number that only stands alone, or under another label
    return Rating(read.value, read.status, read.reason, f"verbalizer:{read.rule}")


def _words(source: str, start: int, end: int) -> str:
    """The feedback itself: before the verdict, or after it where nothing is before."""
    if start == len(source) and source.lstrip().startswith(("{", "```")):
        said = re.search(
            r'"(?:feedback|reason|explanation|rationale|analysis)"\s?:\s?"((?:[^"\\]|\\.)*)"', source, re.I
        )
        if said:
            return said[1].strip()
    parts = re.split(r"(?i)\bfeedback\s?:", source[:start])
    before = _HEAD.sub("", parts[-1], count=1).strip()
    return before if before.strip(" \t\n#*-\"'") else _HEAD.sub("", source[end:], count=1).strip()
