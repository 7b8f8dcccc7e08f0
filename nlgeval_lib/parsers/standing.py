"""How plainly a text presents a number as its verdict, from the words before it and its place."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from nlgeval_lib.parsers import cues, vocabulary
from nlgeval_lib.parsers.mention import Mention, Strength
from nlgeval_lib.parsers.scales import OTHER

_BACK = 110
_NEAR = 300
_OVERALLS = (" overall", " stars overall", " points overall", " in total", " all in all")
_OPENERS = " \t\n\"'([{<~"
_ENDS = re.compile(cues.ENDS)
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_HEAD_CUT = re.compile(r".*[\n.!?;,|{}()\[\]:=\"]", re.S)  # up to the last one
_LIST_NUMBER = re.compile(r"(?:^|\n)[\s>#*-]*\d{1,2}\Z")
_LIST_ITEM = re.compile(r"[.)][ \t]+[\w\"'(]")
_LINE_LEFT = re.compile(r"[\s>#\"'(\[|-]*\Z")
_LINE_RIGHT = re.compile(r"[^\w\n/+%&=<>?-]*(?:\n|\Z)")
_OWN_LINE = re.compile(r"[ \t]*(?:[.,;)\]\"']*[ \t]*(?:\n|\Z)|-|:|\(|,[ \t]*[a-z])")
_HEADING_ABOVE = re.compile(
    r"(?:\A|\n)[\s>#-]*(?:\d{1,2}[.)]\s*)?(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*(?::[ \t]*|(?<!\w)\s*)\n[\s>#-]*\Z"
)
_ITEM_HEAD = re.compile(r"[\s>#-]*(?:\d{1,2}[.)]\s*)?(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*:")
_BELOW_HEADING = " \t\n>#-"
_HEAD_BACK = 1500
_LIST_AHEAD = 4000
_AFTER_LEAD = re.compile(r"(?P<tab>\t)|[ \t]*(?P<mark>[.:,;)\]-]|->|\(|\n|\Z|(?:because|since|due to)\b)")
_TEXT_END = re.compile(r"[\s.!)\]\"'}|]*\Z")
_IN_BRACKETS = re.compile(r"\s*\)\s*(?:[.!,;\n]|\Z)")
_SENTENCE_END = re.compile(r"(?<!\d)[.!?][\"')]*\s*-?\Z")
_ABBREVIATED = re.compile(r"\b(?:no|nr|fig|p|pp|vol|ch|sec|art|eq|approx|ca|est|avg|vs)\.\s*\Z")
_VALUE_WORDS = re.compile(r"(?::|=)[ ]*[a-z]+(?:[ ][a-z]+){0,2}[ ]*(?:\(|[ ]-[ ])\s*\Z")
_SHORT_ANSWER = re.compile(
    r"\A\W*(?:yes|no|good|bad|ok|okay|fair|poor|dull|excellent|somewhat(?: [a-z]+)?|interesting)\W+\Z"
)
# "Total points: 5, earned: 2"
_POSSIBLE = re.compile(
    r"(?:total|full|possible|available) (?:possible |available )?(?:points?|marks?)|"
    r"(?:points?|marks?) (?:possible|available|total)"
)
_POSSIBLE_ENDS = ("points", "point", "marks", "mark", "possible", "available", "total")
_NAME_AWARDED = (
    r"(?:(?:points?|marks?|score) )?(?:earned|awarded|obtained|achieved|received|granted|given)"
    r"(?: (?:points?|marks?|score))?"
)
_AWARDED_NAME = re.compile(_NAME_AWARDED)
_AWARDED = re.compile(rf"(?:\A|[\n,;/|(-])[ >*-]{{0,9}}{_NAME_AWARDED}[ \t*]{{0,9}}[:=|]")
_COUNTED = ("of", "stars", "points")
_PROSE_FINE = {"level", "number", "article", "sentence", "best", "paragraph"}
_NOT_ASKED = vocabulary.NOUNS | vocabulary.NEUTRAL | vocabulary.RANKS
_NO_NAMES = vocabulary.NEUTRAL | vocabulary.SECTION_PARTS
_TOPS = {"max", "maximum", "highest", "best", "lowest", "minimum", "possible"}


def assess(mention: Mention, text: str) -> None:
    """Set strength, rule and label of a mention from what stands before it and where it stands.

    Strength stays None where nothing makes the number a verdict.
    """
    window = text[max(0, mention.start - _BACK) : mention.start]
    core = window.rstrip(_OPENERS)
    gap = window[len(core) :]
    if "\n" in gap and not mention.kind and _LIST_ITEM.match(text, mention.used):
        return  # the number of a list's item
    ends = text[mention.used : mention.used + 1] in cues.END_SIGNS or _ENDS.match(text, mention.used) is not None
    if core.endswith("-") and not core.endswith("--") and _LINE_LEFT.match(core[core.rfind("\n") + 1 :]):
        core = core[:-1].rstrip(_OPENERS)  # a bullet
    glued = core.endswith("-") and not core.endswith("--") and window.endswith("-")
    if glued:
        core = core[:-1]
    worded = _VALUE_WORDS.search(window) if window.rstrip()[-1:] in "(-" else None  # "Rating: good (4)"
    if worded:
        core = window[: worded.start() + 1]
    dressed = cues.DRESSED.search(core) if core[-1:].isalpha() else None
    if dressed:
        core = core[: dressed.start() + 1]  # "Score: a solid 3"
    if "\n" in gap and core[-1:] in ":=" and not _OWN_LINE.match(text, mention.used):
        return
    if not glued and (core.endswith((":", "=", "|", "->", "=>")) or (core.endswith("-") and window[-1:] in " ([")):
        ends = ends or mention.kind in _COUNTED
        if ends or mention.token[0].isdigit() or mention.token[0] == ".":
            _label(mention, text, core, ends)
    elif ends or mention.kind in ("of", "range", "series", "half", "sum"):
        _phrase(mention, text, core)
    if mention.strength is None:
        _form(mention, text, window, core)
    overall = mention.strength is not None and text.startswith(_OVERALLS, mention.used)
    if overall and cues.OVERALL_AFTER.match(text, mention.used):
        mention.present(Strength.FINAL, "final")


def _label(mention: Mention, text: str, core: str, ends: bool) -> None:
    """`Label: 4`: a score by its own name, a final one, or one under another label."""
    head = core.rstrip(":=|->").rstrip(" \t\n\"')]*")
    if core[-1:] == "|":
        head = head.rstrip("|-: \t")
    found = _HEAD_CUT.match(head)
    cut = found.end() if found else 0
    name = head[cut:].strip(" \t\"'>#-")
    if not cut and len(core) < mention.start and len(head) > 90:
        name = name[name.find(" ") + 1 :]
    line = head[head.rfind("\n", 0, cut) + 1 : cut]
    line_start = not line.strip(" \t|>#-{\"'") or (
        head[cut - 2 : cut - 1].isdigit() and bool(_LIST_NUMBER.search(head[: max(0, cut - 1)]))
    )
    label = _named(name)
    if not label.words:
        if not name and line_start and ends and _LINE_RIGHT.match(text, mention.end):
            mention.present(Strength.ALONE, "alone")
        return
    if OTHER in name:
        mention.spoil("the label names another scale", blocks=True)
        mention.rescaled = True
    if name.endswith(_POSSIBLE_ENDS) and _POSSIBLE.fullmatch(name) and _awarded_near(text, mention.start):
        mention.spoil("the top of the scale")
        return
    if line_start and not label.noun and _AWARDED_NAME.fullmatch(name):
        mention.present(Strength.LABEL, "label")
        return
    if label.of_something_else and not _top_awarded(label.words, name):
        if not vocabulary.NEVER_A_SCORE.isdisjoint(label.words):
            mention.spoil("the label names something else")
        return
    words, asked = label.words, label.asked
    if label.noun or label.foreign:
        if label.ranked:
            mention.present(Strength.FINAL, "final", asked)
        elif asked and not label.foreign:
            mention.present(Strength.ASPECT, "aspect", asked)
        else:
            mention.present(Strength.LABEL, "label")
            _under(mention, _heading(head[:cut], line_start, text, mention.start))
    elif label.ranked and len(words) <= 4:
        mention.present(Strength.FINAL, "final", " ".join(words))
    elif _is_label(mention, text, core[-1:], name, words, line_start) and ends:
        says_nothing = _NO_NAMES.issuperset(words) and words[-1] != "a"
        mention.present(Strength.ASPECT, "aspect", "" if says_nothing else " ".join(words))


def _awarded_near(text: str, at: int) -> bool:
    """Whether a label such as `Earned:` stands near; looked for nearby only, so that the time stays bounded."""
    return _AWARDED.search(text, max(0, at - _NEAR), at + _NEAR) is not None


def _top_awarded(words: tuple[str, ...], name: str) -> bool:
    """`I assign the lowest score: 1` is a score, `Lowest score: 1` is an end of the scale."""
    odd = vocabulary.NOT_A_SCORE.intersection(words)
    top = max(map(name.rfind, odd), default=-1)
    return odd <= _TOPS and cues.TOP_AWARDED.search(name[:top]) is not None


@dataclass(frozen=True, slots=True)
class _Name:
    """What the words of a label say: the last ones with a noun for a score, and which of them ask for an aspect."""

    words: tuple[str, ...]
    noun: bool
    ranked: bool
    foreign: bool
    of_something_else: bool
    asked: str


@functools.lru_cache(maxsize=4096)
def _named(name: str) -> _Name:
    words = _WORD.findall(name)
    nouns = [place for place, word in enumerate(words) if word in vocabulary.NOUNS]
    if nouns:
        words = words[max(0, nouns[-1] - 3) :]
    ranked = not vocabulary.RANKS.isdisjoint(words)
    contest = bool(nouns) and not vocabulary.CONTESTS.isdisjoint(words[-2:-1])
    other = len(words) > 12 or contest or (not vocabulary.NOT_A_SCORE.isdisjoint(words) and not (ranked and nouns))
    asked = " ".join(word for word in words if word not in _NOT_ASKED)
    if words[1:] and words[-1] == "a":
        asked = f"{asked} a".strip()  # "Score A", "Response A": a letter
    return _Name(tuple(words), bool(nouns), ranked, vocabulary.FOREIGN.search(name) is not None, other, asked)


def _is_label(mention: Mention, text: str, sign: str, name: str, words: tuple[str, ...], line_start: bool) -> bool:
    """Whether words before a sign name an aspect, and are not code, arithmetic or the lead-in of a list."""
    if sum(map(len, words)) < 3 or len(words) > (6 if line_start else 3):
        return False
    if text[mention.used : mention.used + 1] == ":" and "\n" in text[max(0, mention.start - 3) : mention.start]:
        return False  # "Reasons:\n1: fluent"
    if sign in "=-" and not (line_start and (sign == "-" or vocabulary.QUALITY_NAME.fullmatch(name))):
        return False  # "count = 4", "len(x) - 1"
    if not line_start and not vocabulary.NEUTRAL.isdisjoint(words):
        return False
    if not _LIST_ITEM.match(text, mention.end):
        return True
    following = re.compile(rf"\n\s*{int(mention.value) + 1}[.)]\s")
    return following.search(text, mention.end, mention.end + _LIST_AHEAD) is None


def _heading(before: str, line_start: bool, text: str, start: int) -> str:
    """The heading on the line right above a label's line, or that opens its line; empty where there is none."""
    if line_start:
        last = before.rstrip(_BELOW_HEADING)[-1:]
        match = _HEADING_ABOVE.search(before) if last and last not in ".!?)" else None
    else:
        line = text.rfind("\n", max(0, start - _HEAD_BACK), start) + 1
        match = _ITEM_HEAD.match(text, line, start) if line or start < _HEAD_BACK else None
    return match["name"].strip() if match else ""


def _under(mention: Mention, heading: str) -> None:
    """A score under a heading of its own is the score of what the heading names."""
    if not heading:
        return
    words = _WORD.findall(heading)
    if not vocabulary.SAYS.isdisjoint(words):
        return  # "The summary says: ..."
    if not vocabulary.RANKS.isdisjoint(words):
        mention.present(Strength.FINAL, "final", heading)
    elif vocabulary.NOUNS.isdisjoint(words) and not _NO_NAMES.issuperset(words):
        mention.present(Strength.ASPECT, "aspect", " ".join(words))


def _phrase(mention: Mention, text: str, core: str) -> None:
    """`a score of 4`, `Score 4`, `I rate it a 4`."""
    word, article = cues.before_fill(core)
    said = core.rstrip()
    linked = cues.NOUN_LINK.search(core) if word.endswith(cues.LINKS) else None
    direct = cues.NOUN_DIRECT.search(core) if not linked and said.endswith(cues.NOUNS) else None
    if linked or direct:
        mention.enumerated = not mention.kind and cues.ENUMERATED_AFTER.match(text, mention.used) is not None
    if linked:
        _linked(mention, core, linked)
    elif direct:
        before = _word_before(core, direct.start())
        if before in vocabulary.RANKS:
            mention.present(Strength.FINAL, "final")
        elif not before or before in vocabulary.NEUTRAL:
            mention.present(Strength.LABEL, "label")
        elif before not in vocabulary.NOT_A_SCORE:
            mention.present(Strength.ASPECT, "aspect", before)
    elif cues.OVERALL.search(core):
        mention.present(Strength.FINAL, "final")
    elif (
        ((article or word in cues.VERB_ENDS) and cues.VERB.search(core) and not cues.scored_by_another(core))
        or (word.endswith(cues.VERB_DIRECT_ENDS) and cues.VERB_DIRECT.search(core) and not cues.scored_by_another(core))
        or (article and (cues.COPULA.search(core) or cues.FITTING.match(text, mention.used)))
        or cues.NAMED_AFTER.match(text, mention.used)
        or cues.VERB_OBJECT.search(core)
        or (word in cues.OWN_GIFT_ENDS and cues.OWN_GIFT.search(core))
        or (word == "to" and _moved(core))
        or (
            word.endswith(cues.VERB_BARE_ENDS)
            and cues.CLAUSE_ENDS.match(text, mention.used)
            and cues.VERB_BARE.search(core)
            and _of_the_judged(core)
        )
    ):
        mention.present(Strength.PHRASE, "phrase")
    else:
        quality = cues.QUALITY.search(core) if word.endswith(cues.QUALITY_ENDS) else None
        if not quality and text[max(0, mention.start - 40) : mention.start].rstrip().endswith("("):
            quality = cues.QUALITY_BRACKET.search(text, max(0, mention.start - 40), mention.start)
        if quality:
            mention.present(Strength.ASPECT, "aspect", quality["quality"])
    if mention.strength is Strength.PHRASE and not mention.label:
        subject = cues.QUALITY_SUBJECT.search(core) if word in cues.SUBJECT_ENDS else None
        mention.label = _aspect_after(text, mention.used) or (subject["quality"] if subject else "")


def _moved(core: str) -> bool:
    """`the score drops to`, `I lowered it to`; not `the team reduced the score to`."""
    found = cues.MOVED_TO.search(core)
    return found is not None and (found.group().startswith(("score", "rating", "grade")) or _of_the_judged(core))


def _of_the_judged(core: str) -> bool:
    """Whether a sentence up to its verb is about what is judged: `The response gets`, not `The team gets`."""
    sentence = core[max(map(core.rfind, ".!?\n:;")) + 1 :]
    return len(sentence.split()) < 3 or cues.JUDGED_SUBJECT.search(sentence) is not None


def _word_before(text: str, at: int) -> str:
    match = cues.WORD_BEFORE.search(text, max(0, at - 40), at)
    return match["word"] if match else ""


def _linked(mention: Mention, core: str, found: re.Match) -> None:
    """`the score of the summary is 4`, `a coherence score of 4`."""
    before = _word_before(core, found.start())
    words = {*_WORD.findall(before), *_WORD.findall(found["mid"])}
    if before in vocabulary.CONTESTS or not vocabulary.CONTESTS.isdisjoint(found["mid"].split()[-1:]):
        return
    odd = words & vocabulary.NOT_A_SCORE - _PROSE_FINE
    lead = core[: found.start()].rstrip().removesuffix(before)
    if odd and not (odd <= _TOPS and cues.TOP_AWARDED.search(lead)):
        return
    if vocabulary.RANKS & words:
        mention.present(Strength.FINAL, "final")
        return
    aspect = "" if before in vocabulary.NEUTRAL | vocabulary.NOUNS else before
    aspect = _aspect_after(found["mid"], 0, search=True) or aspect
    if aspect.endswith(("ly", "ing", "ed")):
        aspect = ""
    if found["link"] in ("of", "as", "at"):
        mention.present(Strength.PHRASE, "phrase", aspect)
    else:
        mention.present(Strength.LABEL, "label", aspect)


def _aspect_after(text: str, at: int, search: bool = False) -> str:
    """The aspect in `for coherence`, `in terms of style`; empty where none is named."""
    after = cues.ASPECT_AFTER.search(text, at) if search else cues.ASPECT_AFTER.match(text, at)
    if not after or after["word"] in vocabulary.NO_ASPECT or after["word"].endswith("ing"):
        return ""
    return after["word"]


def _form(mention: Mention, text: str, window: str, core: str) -> None:
    """A number that only its form or its place makes a verdict."""
    line = window[window.rfind("\n") + 1 :]
    first = len(window) == mention.start and not window.strip(_OPENERS + ">#-|.")
    if (first or (len(line) < 40 and _LINE_LEFT.match(line))) and _LINE_RIGHT.match(text, mention.used):
        mention.present(Strength.ALONE, "alone")
        return
    mark = _AFTER_LEAD.match(text, mention.used) if first else None
    if mark:
        mention.present(Strength.FORM if mention.kind in ("of", "stars") else Strength.ALONE, "leading")
        if (mark["mark"] or ":") in ".)" and not mention.kind and mention.value == 1.0:
            mention.spoil("a leading '1.' may be the number of a list")
    elif mention.kind in ("of", "stars"):
        last = window.rstrip().rpartition(" ")[2]
        happened = last.endswith("ed") and last not in cues.JUDGING  # "reached 4 out of 5"
        if not happened and _ENDS.match(text, mention.used) and not cues.COUNT_VERB_BEFORE.search(window):
            aspect = _aspect_after(text, mention.used)
            mention.present(Strength.ASPECT if aspect else Strength.FORM, "aspect" if aspect else "form", aspect)
    elif mention.token[0].isalpha():
        return
    elif window[-1:] == "(":
        if not window[-2:-1].strip() and "," not in mention.token and _IN_BRACKETS.match(text, mention.used):
            mention.present(Strength.ALONE, "bracketed")
    elif not mention.kind and _TEXT_END.match(text, mention.used) and (_closes(window, core) or _praised(window)):
        mention.present(Strength.ALONE, "closing")


def _praised(window: str) -> bool:
    """Whether a sentence is nothing but adjectives before its number: `A strong 4!`."""
    last = max(map(window.rfind, ".!?\n"))
    words = window[last + 1 :].split()
    return bool(words) and words[-1] in cues.ADJECTIVES and cues.ADJECTIVES.issuperset(words)


def _closes(window: str, core: str) -> bool:
    """Whether a number after this text is the last thing said, after a sentence or a short answer."""
    return not _ABBREVIATED.search(core) and bool(_SENTENCE_END.search(core) or _SHORT_ANSWER.match(window))
