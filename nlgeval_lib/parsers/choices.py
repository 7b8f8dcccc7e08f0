"""A verdict that is one of a few words.

These are the better of two responses, yes or no, and one of several options.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nlgeval_lib.parsers.normalise import made_plain, without_example
from nlgeval_lib.parsers.text import Parsed, after_last, check_text, readable, why
from nlgeval_lib.parsers.vetoes import CLAUSE, CORRECTION, SENTENCE, WITHDRAWN
from nlgeval_lib.records import Status

# --- forms
# {X} is an option with what may stand around it, {S} one at the start of a sentence
_NOUN = (
    r"(?:response|answer|output|option|choice|assistant|model|letter|category|level)"
)
_LABEL = (
    r"(?:verdict|winner|preference|result|decision|conclusion|judge?ment|selection"
    r"|score|rating|grade|better|preferred|answer|choice|option|letter|category"
    r"|level|best|overall|evaluation|assessment"
    r"|(?:better|best|preferred|selected|chosen|winning)[\s_]"
    r"(?:response|one|output|assistant|model))"
)
_HEDGE = (
    r"(?:(?:overall|clear(?:ly)?|slightly|much|far|the|therefore|thus|still|also"
    r"|considered|marginally|significantly|a|bit|somewhat|definitely|generally)\s)"
)
_NAMED = rf"(?:the\s)?(?:(?:first|second|better|preferred|winning)\s)?{_NOUN}"
_LINK = (
    r"\s{0,9}"
    r"(?::|=|->|=>|-|\b(?:is|are|would\sbe|should\sbe|must\sbe)\b){1,3}\s{0,9}"
    r"(?:(?:therefore|thus|hence)\s)?"
)
# in the order in which they count; two different verdicts of one rule are none
# rule -> for whom (all, letters, letters that are options, two responses, yes or no) ->
# patterns
_FORMS = {
    "tag": {
        "all": [
            r"\[\[{X}\s{0,9}\]\]",
            (
                r"(?<!\[)\[{1,3}\s{0,9}"
                r"(?:result|(?:final )?verdict)\s{0,9}\]{1,3}\s{0,9}:?{X}"
            ),
            r"\[x\]{X}",
        ],
        "two": [
            (
                rf"(?:\[\[|^)[^\w\n]{{0,9}}(?:{_NOUN}\s)?(?P<x>[ab])\s?>{{1,3}}\s?"
                rf"(?:{_NOUN}\s)?[ab][^\w\n]{{0,9}}(?:\]\]|$)"
            ),
            r"(?:\[\[|^)[^\w\n]{0,9}a\s?(?P<x>=)\s?b[^\w\n]{0,9}(?:\]\]|$)",
        ],
    },
    "json": {"all": [rf"[\"'](?:\w{{1,20}}_)?{_LABEL}[\"']\s{{0,9}}:{{X}}"]},
    "label": {
        "all": [rf"\b{_LABEL}{_LINK}{{X}}"],
        "two": [r"(?:\branking\b[^\n]{0,40}\n\s{0,3}1[.)]|\brank\s1:)\s{X}"],
    },
    "phrase": {
        "all": [
            (
                r"\b(?:i|we)"
                r"(?:\s(?:would|will|am|therefore|thus|hence|finally|still)|'d|'ll|'m)?"
                r"\s"
                r"(?:prefer|choose|pick|select|favou?r|say|settle\son|vote\sfor"
                r"|go(?:ing)?\s(?:with|for)"
                r"|(?:rate|call)\s(?:it|this|the)(?:\s[a-z]{3,12})?(?:\sas)?"
                r"|(?:can\sonly\s)?give\s(?:(?:it|this)\s)?an?)\s{X}"
            ),
            r"\b(?:vote|point|edge|nod|win|preference)\s(?:goes|belongs)\sto\s{X}",
            (
                r"\b"
                r"(?:in\sfavou?r\sof|falls\sunder|corresponds\sto"
                r"|chang(?:e|ing)\s(?:my|the)\s[a-z]{1,9}\sto)\s{X}"
            ),
        ],
        "letters": [
            r"\bit(?:'s|\sis|\swas)\s(?:therefore\s)?(?:an?\s(?=\W{0,3}[a-z]\W))?{X}",
            r"{S}\sit\sis(?=\s?(?:[.,!]|\Z))",
            (
                r"{S}\s{1,3}(?:is|was|would\sbe|comes\sout|seems|remains)\s"
                rf"{_HEDGE}{{0,6}}"
                r"(?:(?:better|best|correct|right|superior|stronger|preferable"
                r"|preferred|winner"
                r"|ahead)\b"
                r"|on\stop\b"
                r"|(?:my\s)?(?:final\s|overall\s)?(?:choice|pick|preference)\b)"
            ),
        ],
        "two": [
            (
                rf"{{S}}\s{{1,3}}{_HEDGE}{{0,3}}"
                r"(?:outperforms|beats|surpasses|wins|outshines"
                r"|takes\sthis\sone|has\sthe\sedge"
                r"|(?:gets|has)\smy\svote|(?:does|did)\s(?:a|the)\sbetter\sjob"
                r"|(?:provide|give|offer|deliver|write)s"
                r"\s(?:a|the)\s(?:clearly\s|overall\s)?"
                r"(?:better|best|stronger|superior)\s(?:overall\s)?"
                rf"(?:{_NOUN}|one|reply|summary))\b"
            ),
            (
                rf"{_NOUN}\s[ab](?:'s\s{_NOUN})?\s(?:is|was|seems)\s{_HEDGE}{{0,6}}"
                r"(?:(?:worse|weaker|inferior)\s(?:than|to)|not\sas\sgood\sas)\s{X}"
            ),
            (
                rf"\b(?:both|they|the\stwo)\s(?:{_NOUN}s\s)?(?:are|were|seem)\s"
                r"(?:(?:roughly|about|almost|nearly|overall|of)\s)?"
                r"(?P<x>equal(?:ly)?|tied|on\spar|comparable)\b"
            ),
            (
                r"\b(?:perform(?:ed|s)?|did|do|are|were|they're)\s(?P<x>equally)\s"
                r"(?:well|good|strong)\b"
            ),
            rf"\bneither\s(?:{_NOUN}\s)?is\s{_HEDGE}?(?P<x>better)\b",
        ],
    },
    "alone": {
        "all": [
            (
                r"\A[^\w+]*(?:(?:absolutely|definitely|certainly|clearly),?\s)?"
                r"(?:{N}\s(?=[^\n:]{1,40}$))?{O}{F}(?!\+){E}"
            ),
            r"^[^\w\n+]{0,20}(?:{N}\s)?{O}[^\w+]*\Z",
            (
                rf"^[#*\s]{{0,9}}(?:(?:final|overall)\s)?{_LABEL}"
                r"[*\s]{0,9}\n[^\w\n+]{0,9}"
                r"(?:{N}\s)?{O}{F}"
            ),
        ],
        "letters": [r"(?:\b(?:so|thus|hence|therefore),?|[.!?])\s{O}[.!]?\Z"],
        "options": [r"\A[^\w+]*{N}\s{O}:[^\n]{1,60}\Z"],
        "yes or no": [
            (
                r"(?:[.!?]\s(?:(?:so|but),?\s)?|,\sbut\s){O}"
                r"(?=[,.!]|\Z)[^\n.!?]{0,60}[.!]?\Z"
            )
        ],
    },
    "closing": {
        "all": [
            r"(?:[:?]|->)[^\w\n+]{1,9}(?:{N}\s)?{O}(?=[^\w\n]{0,9}(?:\n|\Z|[.;]\s))"
        ]
    },
}
_PROSE = {  # "a" is an article too, and "no" a determiner
    "a": (
        r"(?=\s{0,3}"
        r"(?:[^\w\s]|\Z"
        r"|"
        r"(?:is|was|as|because|since|over|with|by|for|if|when|here|on|in|this|to|due"
        r"|given|again|overall|despite|at|from)\b)"
        r"|\n)"
    ),
    "no": (
        r"(?!\s(?:doubt|matter|wonder|one|idea|way|problem|worries)\b)"
        r"(?![^\n]{0,200}\b(?:so|thus|therefore|hence),? yes\b)"
    ),
}

# --- what takes a statement back: in its clause before it, or right after it
_TAKEN_BACK = re.compile(
    r"\b"
    r"(?:not|never|cannot|[a-z]+n't|neither|nor|rather than|instead of|unlike|if"
    r"|unless|whether|would have|could have|might|could be|in that case|wrong to"
    r"|inclined|tempted|refus\w+|either|please|choose between|example|e\.g)\b"
    r"|\bor\W{0,4}\Z|\bon [a-z]{3,20}\s?\Z"
    r"|\b(?:sa(?:id|ys?)|wrote|writes?|claim(?:s|ed)?)\W{0,3}\"\W?\Z"
    r"|\b"
    r"(?:judge|grader|annotator|expert|reviewer|rater|gpt-?\d\S*|claude|gemini)s?\s"
    r"(?:[a-z]+\s){0,2}"
    r"(?:chose|rated|graded|gave|gives|picked|prefer\w*|sa(?:id|ys)|wrote|writes?"
    r"|thinks?|considers?)\b"
)
_IF = re.compile(
    r"(?<!even )\b"
    r"(?:(?:if|unless|whether|when)\b(?! (?:i|we) (?:had|have|must|were)\b)|initially"
    r"|at first|about to|i'd have|suppose|first (?:impression|thought|instinct)"
    r"|(?:one|some) (?:may|might|could) argue)\b"
)
# "A is better in style": a verdict in one respect is none of the whole
_RESPECT = re.compile(
    r"\s"
    r"(?:[a-z]+(?<!suit)(?:ed|ten)\b"
    r"|(?:on|at|in|in terms of|regarding|with (?:respect|regard) to)\s"
    r"(?!(?:all|every|most|both|general|that|balance|total|my|this)\b))"
)
_IN_RESPECT = re.compile(
    r"\W*"
    r"(?:in terms of|regarding|as (?:for|to)|with (?:respect|regard) to"
    r"|on (?!balance|reflection)[a-z]+,)\s"
)
_CONDITION = re.compile(
    r"[\s\"'\])>*.,]{0,5}"
    r"(?:if|provided|when|unless|in case|or|for an? (?:tie|draw))\b"
    r"(?! (?:i|we) (?:had|have|must) to\b)"
)
# the judge thinks again: what it says after that stands
_AGAIN = re.compile(
    rf"(?P<again>{CORRECTION})|\Wedit:"
    r"|\W(?:revised|corrected|updated) (?:final )?[a-z]+(?=\s?:| is\b)"
)
_TIE = ("TIE", "TIE")
MANY = 100  # of more matches than twice this the first and the last are read


def _stands(match: re.Match, rule: str) -> bool:
    """Whether nothing takes a match back.

    A negation in its clause, a condition after it or a quotation around it would.
    """
    text = match.string
    window = text[max(0, match.start() - 200) : match.start()]
    sentence = after_last(SENTENCE, window)
    if _TAKEN_BACK.search(after_last(CLAUSE, sentence)) or _IF.search(sentence):
        return False
    if _CONDITION.match(text, match.end()) or _quoted(match, rule):
        return False
    return rule != "phrase" or not _IN_RESPECT.match(sentence)


def _quoted(match: re.Match, rule: str) -> bool:
    """Whether a match stands among other words in quotation marks.

    Those are the judged text's, except in a JSON string.
    """
    text = match.string
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    if line.count('"') % 2 == 0:
        return False
    outside, _, inside = line.rpartition('"')
    if outside.rstrip().endswith('":'):
        return False
    quotation = inside + text[match.start() :].split('"', 1)[0]
    return rule == "phrase" or len(quotation) > len(match.group()) + 3


@dataclass(frozen=True, slots=True)
class Choice(Parsed):
    """A verdict out of a few words.

    `choice` is the word, `value` what it counts, `matched` the text that says it.
    """

    choice: str = ""
    matched: str = ""


def preference(text: str | None, tie: bool = False) -> Choice:
    """Which of two responses, A or B (or first and second, 1 and 2), a text finds
    better; TIE where `tie` allows it.

    The verdict counts after `[RESULT]` or in `[[A]]`, else in JSON, under a label
    ("Better response: B"), in a phrase ("Response A is clearly better"), or alone at
    the start or end. Missing are two different verdicts of one kind, a tie that is not
    allowed, and a verdict that its clause denies or makes conditional.
    Raises: TypeError where `text` is neither str nor None.
    """
    meaning = {"a": ("A", "A"), "b": ("B", "B")}
    if isinstance(text, str):
        text = _PLACED.sub(_placed, text)
    read = _read(
        text, "preference", meaning, "two", "no response is named as the better one"
    )
    alone = _NAMED_ALONE.fullmatch((text or "").strip())
    if read.value is None and alone:
        value = "A" if alone["which"] in "aA1" else "B"
        read = Choice(value, Status.OK, rule="bare", matched=alone.group())
    if read.value == "TIE" and not tie:
        reason = "a tie, which is not among the verdicts"
        read = replace(read, value=None, status=Status.OUT_OF_RANGE, reason=reason)
    return replace(read, choice="")  # the value says it


# a whole text that only names an output: "Output (a)", "2.", "Response B"; bounded, so
# that a long run of marks costs nothing
_NAMED_ALONE = re.compile(
    r"\W{0,9}(?:(?:output|response|answer|option|choice|assistant|model|summary)\s{0,3})?"
    r"[\[(*\"']{0,6}(?P<which>a|b|1|2)[\])*\"'.]{0,9}",
    re.IGNORECASE,
)
# "response 1", "the first answer", "better answer: 2"
_JUDGED = "response|answer|output|assistant|model|candidate|reply|summary|translation"
_PLACED = re.compile(
    rf"\b(?P<noun>{_JUDGED})[ _]#?(?P<digit>[12])\b(?![.,]\d)"
    rf"|\b(?:the )?(?P<place>first|1st|second|2nd) (?:{_JUDGED}|one)\b"
    r"|"
    r"(?P<lead>\b(?:better|best|preferred|winner|verdict|choice|output|answer)\b"
    r"(?: (?:response|answer|output|one|is))?: )"
    r"(?P<bare>[12])(?:st|nd)?(?=\W{0,9}(?:\Z|\n))"
    r"|\bthe (?P<last>former|latter)\b",
    re.I,
)


def _placed(match: re.Match) -> str:
    """A response that is named by its place, as "Response A" or "Response B"."""
    place = match["digit"] or match["place"] or match["bare"] or match["last"]
    letter = "A" if place[0] in "1fF" else "B"
    return f"{match['lead'] or ''}{match['noun'] or 'Response'} {letter}"


_YES_OR_NO = {
    "yes": ("yes", 1.0),
    "true": ("yes", 1.0),
    "no": ("no", 0.0),
    "nope": ("no", 0.0),
    "false": ("no", 0.0),
}


def yes_no(text: str | None) -> Parsed:
    """Whether a text answers yes (1.0) or no (0.0).

    The answer counts under a label ("Answer: no"), else as the first word or alone on
    the last line. Different answers, and "yes and no", make it missing.
    Raises: TypeError where `text` is neither str nor None.
    """
    nothing = "the text answers neither yes nor no"
    return _read(text, "yes_no", _YES_OR_NO, "yes or no", nothing, math.nan)


def multiple_choice(
    text: str | None, choices: Sequence[str] | Mapping[str, float]
) -> Choice:
    """Which of the options a text chooses.

    An option counts in brackets ([[B]]), in JSON, after a label ("Answer: B"), in a
    phrase ("I choose option B"), or alone as the whole text, its first word before a
    mark, or its last line. Options that are merely repeated from the prompt do not
    count, two different choices make it missing.

    choices: the options' names, each a letter or some words; or names with the number
    that each counts.
    Returns: `Choice`; `value` is the number of the option, or with plain names the
    option; NaN or None where missing.
    Raises: ValueError for fewer than two options, blank or equal ones; TypeError where
    `text` is neither str nor None or `choices` is a string.
    Source: Shen et al. 2023, Large Language Models are Not Yet Human-Level Evaluators
    (forms mcq, altmcq).
    """
    if isinstance(choices, str):
        raise TypeError(
            f"choices must be a sequence or a mapping, got {choices[:60]!r}; "
            f"use tuple({choices[:60]!r})"
        )
    counts: dict[str, Any]
    missing = None
    if isinstance(choices, Mapping):
        counts = dict(choices)
        missing = math.nan
    else:
        counts = {name: name for name in choices}
    meaning: dict[str, tuple[str, Any]] = {}
    for name, value in counts.items():
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a choice must be a name such as 'A', got {name!r}")
        if isinstance(choices, Mapping) and not _finite(value):
            raise ValueError(
                f"the number of choice {name!r} must be finite, got {value!r}"
            )
        meaning[name.strip().lower()] = (name, value)
    if len(meaning) < max(2, len(choices)):
        raise ValueError(
            f"choices must be two or more different names, got {list(choices)!r}"
        )
    nothing = f"none of {', '.join(counts)} is chosen"
    return _read(text, "multiple_choice", meaning, "letters", nothing, missing)


def _finite(value: object) -> bool:
    """Whether a value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)


# for each kind of options, the groups of forms that fit
_GROUPS = {
    "letters": ("all", "letters", "options"),
    "two": ("all", "letters", "two"),
    "yes or no": ("all", "yes or no"),
}


@functools.lru_cache(maxsize=64)
def _forms(names: tuple[str, ...], whose: str) -> dict[str, list[re.Pattern]]:
    """The patterns of each rule for options of these names.

    whose: yes or no, letters, or two (of which may be a tie).
    """
    parts = _parts(names, whose)
    patterns: dict[str, list[re.Pattern]] = {}
    for rule, forms in _FORMS.items():
        patterns[rule] = []
        for group in _GROUPS[whose]:
            for form in forms.get(group, ()):
                for mark, part in parts.items():
                    form = form.replace(mark, part)
                patterns[rule].append(re.compile(form, re.M))
    return patterns


def _parts(names: tuple[str, ...], whose: str) -> dict[str, str]:
    """What stands for each mark of a form, such as {X}."""
    longest_first = sorted(names, key=len, reverse=True)
    plain = "|".join(map(re.escape, longest_first))
    word = "|".join(re.escape(name) + _PROSE.get(name, "") for name in longest_first)
    tie_article = ""
    if whose == "two":
        tie_article = r"(?:an?\s(?=tie|draw))?"
        word += r"|c(?=\s?\]\])|tie|draw|tied|equal"
    # "A or B", "A: 4" choose nothing
    alternative = (
        r"(?![\]\"']{0,3}\s?(?:or|and|nor|/|,|&|(?<!\s)\|(?!\s))\s?"
        rf"(?:{_NOUN}\s)?[\[\"'(]{{0,2}}(?:{plain})\b"
        r"|\s?[:=-]?\s?\d)"
    )
    option = (
        rf"{tie_article}(?P<x>{word})(?:'s(?=\s{_NOUN}\b|[.,;!]|\Z))?"
        rf"(?!\w|'\w){alternative}"
    )
    # not where options are repeated below, nor "Yes, I read it. Is it good? No."
    below = (
        rf"(?![\s\S]*(?:\n|[.;] )\W{{0,9}}(?:{_NAMED}\s)?(?:{plain})\s{{0,3}}(?:[.:)]"
    )
    if whose == "yes or no":
        follow = ""
        end = rf"{below}))(?![\s\S]*[:?]\s\W{{0,3}}(?:{plain})\W*\Z)"
    else:
        signs = ".:,;)" if whose == "letters" else ".,;"
        signs += r"\]\n-" if whose == "letters" else r"\n-"
        follow = rf"(?=[\"')\]]{{0,3}}\s{{0,3}}(?:[{signs}]|\Z))"
        end = rf"{below}|$))"
    return {
        "{X}": rf"[\s\"'(\[<>]{{0,20}}(?:{_NAMED}\s{{0,9}})?[\"'(\[<]{{0,3}}{option}",
        "{S}": (
            rf"(?<![\w'])(?:{_NAMED}\s?)?[\"'(]{{0,2}}(?P<x>{plain})"
            rf"(?:'s\s{_NOUN})?[\"')]{{0,2}}"
        ),
        "{N}": _NAMED,
        "{O}": option,
        "{F}": follow,
        "{E}": end,
    }


# an option as it is written -> its name and value
Meaning = Mapping[str, tuple[str, Any]]


def _read(
    text: str | None,
    parser: str,
    meaning: Meaning,
    whose: str,
    nothing: str,
    missing: float | None = None,
) -> Choice:
    """What a text says; where the judge thinks again, what it says after that."""
    content = check_text(text, parser)
    if content is None:
        return Choice(missing, Status.EMPTY, "no text", "empty")
    answer = made_plain(without_example(readable(content))).rstrip()
    forms = _forms(tuple(meaning), whose)
    corrections = list(_AGAIN.finditer(answer.lower()))
    for again in reversed(corrections[-3:]):
        start = again.end() if again["again"] else again.start()
        verdict = _verdict(answer[start:], forms, meaning, missing)
        if verdict is not None and verdict.ok:
            return verdict
    verdict = _verdict(answer, forms, meaning, missing)
    if verdict:
        return verdict
    status, reason = why(answer.lower()) or (Status.UNPARSED, nothing)
    return Choice(missing, status, reason, "none")


def _verdict(
    answer: str,
    forms: Mapping[str, list[re.Pattern]],
    meaning: Meaning,
    missing: float | None,
) -> Choice | None:
    """What the first form that stands anywhere in a readable text says.

    None where no form does.
    """
    body = answer.lower()
    for rule, patterns in forms.items():
        matches = []
        for pattern in patterns:
            for match in _first_and_last(pattern, body):
                if _counts(match, rule, answer, meaning) and _stands(match, rule):
                    matches.append(match)
        verdicts = dict(meaning.get(match["x"], _TIE) for match in matches)
        if len(verdicts) > 1:
            reason = f"different verdicts: {', '.join(sorted(verdicts))}"
            return Choice(missing, Status.UNPARSED, reason, rule)
        if matches:
            end = max(match.end() for match in matches)
            if WITHDRAWN.search(body, end):
                reason = "what follows takes it back"
                return Choice(missing, Status.UNPARSED, reason, rule)
        if all(_RESPECT.match(body, match.end()) for match in matches):
            continue  # there is none, or none of the whole
        last = matches[-1]
        if rule != "closing" or not re.search(r"\w", body[last.end() :]):
            [(choice, value)] = verdicts.items()
            return Choice(value, Status.OK, "", rule, choice, last.group().strip())
    return None


def _first_and_last(pattern: re.Pattern, body: str) -> list[re.Match]:
    """The matches of a pattern; of many, the first and the last."""
    matches = list(pattern.finditer(body))
    return matches[:MANY] + matches[MANY:][-MANY:]


def _counts(match: re.Match, rule: str, answer: str, meaning: Meaning) -> bool:
    """Whether a match can be an option: a letter in prose only as it is written."""
    name = meaning.get(match["x"], _TIE)[0]
    prose = rule == "phrase" or (rule == "alone" and match.end() < len(match.string))
    if not prose or len(name) != 1:
        return True
    start = match.start("x")
    return answer[start : match.end("x")] == name or answer[start - 1] in "(["
