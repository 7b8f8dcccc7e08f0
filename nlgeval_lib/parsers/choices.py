"""A verdict that is one of a few words: the better of two responses, yes or no, one of several options."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nlgeval_lib.parsers.normalise import made_plain, without_example
from nlgeval_lib.parsers.tables import CLAUSE, CORRECTION, SENTENCE, WITHDRAWN
from nlgeval_lib.parsers.text import Parsed, after_last, check_text, readable, why
from nlgeval_lib.records import Status

# --- forms: {X} is an option with what may stand around it, {S} may stand before one in a sentence -------------------
_NOUN = r"(?:response|answer|output|option|choice|assistant|model|letter|category|level)"
_LABEL = (
    r"(?:verdict|winner|preference|result|decision|conclusion|judge?ment|selection|score|rating|grade|better|preferred|"
    r"answer|choice|option|letter|category|level|best|overall|evaluation|assessment|"
    r"(?:better|best|preferred|selected|chosen|winning)[\s_](?:response|one|output|assistant|model))"
)
_HEDGE = (
    r"(?:(?:overall|clear(?:ly)?|slightly|much|far|the|therefore|thus|still|also|considered|marginally|significantly|a|"
    r"bit|somewhat|definitely|generally)\s)"
)
_NAMED = rf"(?:the\s)?(?:(?:first|second|better|preferred|winning)\s)?{_NOUN}"
_LINK = (
    r"\s{0,9}(?::|=|->|=>|-|\b(?:is|are|would\sbe|should\sbe|must\sbe)\b){1,3}\s{0,9}(?:(?:therefore|thus|hence)\s)?"
)
# in the order in which they count; two different verdicts of one rule are none
_FORMS = {  # rule -> for whom (all, letters, letters that are options, two responses, yes or no) -> patterns
    "tag": {
        "all": [
            r"\[\[{X}\s{0,9}\]\]",
            r"(?<!\[)\[{1,3}\s{0,9}(?:result|(?:final )?verdict)\s{0,9}\]{1,3}\s{0,9}:?{X}",
            r"\[x\]{X}",
        ],
        "two": [
            rf"(?:\[\[|^)[^\w\n]{{0,9}}(?:{_NOUN}\s)?(?P<x>[ab])\s?>{{1,3}}\s?(?:{_NOUN}\s)?[ab][^\w\n]{{0,9}}(?:\]\]|"
            r"$)",
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
            r"\b(?:i|we)(?:\s(?:would|will|am|therefore|thus|hence|finally|still)|'d|'ll|'m)?\s(?:prefer|choose|pick|"
            r"select|favou?r|say|settle\son|vote\sfor|go(?:ing)?\s(?:with|for)|"
            r"(?:rate|call)\s(?:it|this|the)(?:\s[a-z]{3,12})?(?:\sas)?|(?:can\sonly\s)?give\s(?:(?:it|this)\s)?an?)\s{X}",
            r"\b(?:vote|point|edge|nod|win|preference)\s(?:goes|belongs)\sto\s{X}",
            r"\b(?:in\sfavou?r\sof|falls\sunder|corresponds\sto|chang(?:e|ing)\s(?:my|the)\s[a-z]{1,9}\sto)\s{X}",
        ],
        "letters": [
            r"\bit(?:'s|\sis|\swas)\s(?:therefore\s)?(?:an?\s(?=\W{0,3}[a-z]\W))?{X}",
            r"{S}\sit\sis(?=\s?(?:[.,!]|\Z))",
            rf"{{S}}\s{{1,3}}(?:is|was|would\sbe|comes\sout|seems|remains)\s{_HEDGE}{{0,6}}"
            r"(?:(?:better|best|correct|right|superior|stronger|preferable|preferred|winner|ahead)\b|on\stop\b|"
            r"(?:my\s)?(?:final\s|overall\s)?(?:choice|pick|preference)\b)",
        ],
        "two": [
            rf"{{S}}\s{{1,3}}{_HEDGE}{{0,3}}(?:outperforms|beats|surpasses|wins|outshines|takes\sthis\sone|"
            r"has\sthe\sedge|(?:gets|has)\smy\svote|(?:does|did)\s(?:a|the)\sbetter\sjob|(?:provide|give|offer|deliver|"
            rf"write)s\s(?:a|the)\s(?:clearly\s|overall\s)?(?:better|best|stronger|superior)\s(?:overall\s)?(?:{_NOUN}|"
            r"one|reply|summary))\b",
            rf"{_NOUN}\s[ab](?:'s\s{_NOUN})?\s(?:is|was|seems)\s{_HEDGE}{{0,6}}"
            r"(?:(?:worse|weaker|inferior)\s(?:than|to)|not\sas\sgood\sas)\s{X}",
            rf"\b(?:both|they|the\stwo)\s(?:{_NOUN}s\s)?(?:are|were|seem)\s(?:(?:roughly|about|almost|nearly|overall|"
            r"of)\s)?(?P<x>equal(?:ly)?|tied|on\spar|comparable)\b",
            r"\b(?:perform(?:ed|s)?|did|do|are|were|they're)\s(?P<x>equally)\s(?:well|good|strong)\b",
            rf"\bneither\s(?:{_NOUN}\s)?is\s{_HEDGE}?(?P<x>better)\b",
        ],
    },
    "alone": {
        "all": [
            r"\A[^\w+]*(?:(?:absolutely|definitely|certainly|clearly),?\s)?(?:{N}\s(?=[^\n:]{1,40}$))?{O}{F}(?!\+){E}",
            r"^[^\w\n+]{0,20}(?:{N}\s)?{O}[^\w+]*\Z",
            rf"^[#*\s]{{0,9}}(?:(?:final|overall)\s)?{_LABEL}[*\s]{{0,9}}\n[^\w\n+]{{0,9}}(?:{{N}}\s)?{{O}}{{F}}",
        ],
        "letters": [r"(?:\b(?:so|thus|hence|therefore),?|[.!?])\s{O}[.!]?\Z"],
        "options": [r"\A[^\w+]*{N}\s{O}:[^\n]{1,60}\Z"],
        "yes or no": [r"(?:[.!?]\s(?:(?:so|but),?\s)?|,\sbut\s){O}(?=[,.!]|\Z)[^\n.!?]{0,60}[.!]?\Z"],
    },
    "closing": {"all": [r"(?:[:?]|->)[^\w\n+]{1,9}(?:{N}\s)?{O}(?=[^\w\n]{0,9}(?:\n|\Z|[.;]\s))"]},
}
_PROSE = {  # "a" is an article too, and "no" a determiner
    "a": r"(?=\s{0,3}(?:[^\w\s]|\Z|(?:is|was|as|because|since|over|with|by|for|if|when|here|on|in|this|to|due|given|"
    r"again|overall|despite|at|from)\b)|\n)",
    "no": r"(?!\s(?:doubt|matter|wonder|one|idea|way|problem|worries)\b)"
    r"(?![^\n]{0,200}\b(?:so|thus|therefore|hence),? yes\b)",
}

# --- what takes a statement back: in its clause before it, or right after it -----------------------------------------
_TAKEN_BACK = re.compile(
    r"\b(?:not|never|cannot|[a-z]+n't|neither|nor|rather than|instead of|unlike|if|unless|whether|would have|"
    r"could have|might|could be|in that case|wrong to|inclined|tempted|refus\w+|either|please|choose between|example|"
    r"e\.g)\b|\bor\W{0,4}\Z|\bon [a-z]{3,20}\s?\Z|\b(?:sa(?:id|ys?)|wrote|writes?|claim(?:s|ed)?)\W{0,3}\"\W?\Z|"
    r"\b(?:judge|grader|annotator|expert|reviewer|rater|gpt-?\d\S*|claude|gemini)s?\s(?:[a-z]+\s){0,2}(?:chose|rated|"
    r"graded|gave|gives|picked|prefer\w*|sa(?:id|ys)|wrote|writes?|thinks?|considers?)\b"
)
_IF = re.compile(
    r"(?<!even )\b(?:(?:if|unless|whether|when)\b(?! (?:i|we) (?:had|have|must|were)\b)|initially|at first|about to|"
    r"i'd have|suppose|first (?:impression|thought|instinct)|(?:one|some) (?:may|might|could) argue)\b"
)
# "A is better in style": a verdict in one respect is none of the whole
_RESPECT = re.compile(
    r"\s(?:[a-z]+(?<!suit)(?:ed|ten)\b|(?:on|at|in|in terms of|regarding|with (?:respect|regard) to)\s"
    r"(?!(?:all|every|most|both|general|that|balance|total|my|this)\b))"
)
_IN_RESPECT = re.compile(
    r"\W*(?:in terms of|regarding|as (?:for|to)|with (?:respect|regard) to|on (?!balance|reflection)[a-z]+,)\s"
)
_CONDITION = re.compile(
    r"[\s\"'\])>*.,]{0,5}(?:if|provided|when|unless|in case|or|for an? (?:tie|draw))\b"
    r"(?! (?:i|we) (?:had|have|must) to\b)"
)
# the judge thinks again: what it says after that stands
_AGAIN = re.compile(rf"{CORRECTION.pattern}|\Wedit:|\W(?:revised|corrected|updated) (?:final )?[a-z]+(?=\s?:| is\b)")
_TIE = ("TIE", "TIE")
MANY = 100  # of more matches than twice this the first and the last are read


def _stands(match: re.Match, rule: str) -> bool:
    """Whether nothing takes a match back: a negation in its clause, a condition after it, a quotation around it."""
    text = match.string
    window = text[max(0, match.start() - 200) : match.start()]
    sentence = after_last(SENTENCE, window)
    flaw = (
        _TAKEN_BACK.search(after_last(CLAUSE, sentence)) or _IF.search(sentence) or _CONDITION.match(text, match.end())
    )
    return not (flaw or _quoted(match, rule) or (rule == "phrase" and _IN_RESPECT.match(sentence)))


def _quoted(match: re.Match, rule: str) -> bool:
    """Whether it stands among other words in quotation marks: those are the judged text's, but for a JSON string."""
    text = match.string
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    if line.count('"') % 2 == 0 or line[: line.rindex('"')].rstrip().endswith('":'):
        return False
    said = line[line.rindex('"') + 1 :] + text[match.start() :].split('"', 1)[0]
    return rule == "phrase" or len(said) > len(match.group()) + 3


@dataclass(frozen=True, slots=True)
class Choice(Parsed):
    """A verdict out of a few words: `choice` is the word, `value` what it counts, `matched` where it stands."""

    choice: str = ""
    matched: str = ""


def preference(text: str | None, tie: bool = False) -> Choice:
    """Which of two responses, A or B (or first and second, 1 and 2), a text finds better; TIE where `tie` allows it.

    The verdict counts after `[RESULT]` or in `[[A]]`, else in JSON, under a label ("Better response: B"), in a phrase
    ("Response A is clearly better"), or alone at the start or end. Missing are two different verdicts of one kind, a
    tie that is not allowed, and a verdict that its clause denies or makes conditional.
    Raises: TypeError where `text` is neither str nor None.
    """
    meaning = {"a": ("A", "A"), "b": ("B", "B")}
    if isinstance(text, str):
        text = _PLACED.sub(_placed, text)
    read = _read(text, "preference", meaning, "two", "no response is named as the better one")
    if read.value == "TIE" and not tie:
        reason = "a tie, which is not among the verdicts"
        read = replace(read, value=None, status=Status.OUT_OF_RANGE, reason=reason)
    return replace(read, choice="")  # the value says it


# "response 1", "the first answer", "better answer: 2"
_JUDGED = "response|answer|output|assistant|model|candidate|reply|summary|translation"
_PLACED = re.compile(
    rf"\b(?P<noun>{_JUDGED})[ _]#?(?P<digit>[12])\b(?![.,]\d)|\b(?:the )?(?P<place>first|1st|second|2nd) (?:{_JUDGED}|"
    r"one)\b|(?P<lead>\b(?:better|best|preferred|winner|verdict|choice|output|answer)\b(?: (?:response|answer|output|"
    r"one|is))?: )(?P<bare>[12])(?:st|nd)?(?=\W{0,9}(?:\Z|\n))|\bthe (?P<last>former|latter)\b",
    re.I,
)


def _placed(match: re.Match) -> str:
    first = (match["digit"] or match["place"] or match["bare"] or match["last"])[0] in "1fF"
    return f"{match['lead'] or ''}{match['noun'] or 'Response'} {'A' if first else 'B'}"


def yes_no(text: str | None) -> Parsed:
    """Whether a text answers yes (1.0) or no (0.0).

    The answer counts under a label ("Answer: no"), else as the first word or alone on the last line. Different
    answers, and "yes and no", make it missing.
    Raises: TypeError where `text` is neither str nor None.
    """
    said = {
        name: ("yes", 1.0) if name in ("yes", "true") else ("no", 0.0)
        for name in ("yes", "true", "no", "nope", "false")
    }
    return _read(text, "yes_no", said, "yes or no", "the text answers neither yes nor no", math.nan)


def multiple_choice(text: str | None, choices: Sequence[str] | Mapping[str, float]) -> Choice:
    """Which of the options a text chooses.

    An option counts in brackets ([[B]]), in JSON, after a label ("Answer: B"), in a phrase ("I choose option B"), or
    alone as the whole text, its first word before a mark, or its last line. Options that are merely repeated from the
    prompt do not count, two different choices make it missing.

    choices: the options' names, each a letter or some words; or names with the number that each counts.
    Returns: `Choice`; `value` is the number of the option, or with plain names the option; NaN or None where missing.
    Raises: ValueError for fewer than two options, blank or equal ones; TypeError where `text` is neither str nor None
    or `choices` is a string.
    Source: Shen et al. 2023, Large Language Models are Not Yet Human-Level Evaluators (forms mcq, altmcq).
    """
    if isinstance(choices, str):
        raise TypeError(f"choices must be a sequence or a mapping, got {choices[:60]!r}; use tuple({choices[:60]!r})")
    numbered = isinstance(choices, Mapping)
    counts: dict[str, Any] = dict(choices) if isinstance(choices, Mapping) else {name: name for name in choices}
    for name, value in counts.items():
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a choice must be a name such as 'A', got {name!r}")
        if numbered and (isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value)):
            raise ValueError(f"the number of choice {name!r} must be finite, got {value!r}")
    proper = {name.strip().lower(): (name, value) for name, value in counts.items()}
    if len(proper) < max(2, len(choices)):
        raise ValueError(f"choices must be two or more different names, got {list(choices)!r}")
    nothing = f"none of {', '.join(counts)} is chosen"
    return _read(text, "multiple_choice", proper, "letters", nothing, math.nan if numbered else None)


@functools.lru_cache(maxsize=64)
def _forms(names: tuple[str, ...], whose: str) -> dict[str, list[re.Pattern]]:
    """The patterns of each rule for options of these names; whose: yes or no, letters, two (of which may be a tie)."""
    longest_first = sorted(names, key=len, reverse=True)
    plain = "|".join(map(re.escape, longest_first))
    one = "|".join(re.escape(name) + _PROSE.get(name, "") for name in longest_first)
    tie = (r"(?:an?\s(?=tie|draw))?", r"|c(?=\s?\]\])|tie|draw|tied|equal") if whose == "two" else ("", "")
    # "A or B", "A: 4" choose nothing
    taken = (
        rf"(?![\]\"']{{0,3}}\s?(?:or|and|nor|/|,|&|(?<!\s)\|(?!\s))\s?(?:{_NOUN}\s)?[\[\"'(]{{0,2}}(?:{plain})\b|"
        r"\s?[:=-]?\s?\d)"
    )
    option = rf"{tie[0]}(?P<x>{one}{tie[1]})(?:'s(?=\s{_NOUN}\b|[.,;!]|\Z))?(?!\w|'\w){taken}"
    # not where options are repeated below, nor "Yes, I read it. Is it good? No."
    below = rf"(?![\s\S]*(?:\n|[.;] )\W{{0,9}}(?:{_NAMED}\s)?(?:{plain})\s{{0,3}}(?:[.:)]"
    only = {
        "yes or no": ("", rf"{below}))(?![\s\S]*[:?]\s\W{{0,3}}(?:{plain})\W*\Z)"),
        "letters": (r"(?=[\"')\]]{0,3}\s{0,3}(?:[.:,;)\]\n-]|\Z))", rf"{below}|$))"),
        "two": (r"(?=[\"')\]]{0,3}\s{0,3}(?:[.,;\n-]|\Z))", rf"{below}|$))"),
    }[whose]
    parts = {
        "{X}": rf"[\s\"'(\[<>]{{0,20}}(?:{_NAMED}\s{{0,9}})?[\"'(\[<]{{0,3}}{option}",
        "{S}": rf"(?<![\w'])(?:{_NAMED}\s?)?[\"'(]{{0,2}}(?P<x>{plain})(?:'s\s{_NOUN})?[\"')]{{0,2}}",
        **{"{N}": _NAMED, "{O}": option, "{F}": only[0], "{E}": only[1]},
    }
    used = {"letters": ("all", "letters", "options"), "two": ("all", "letters", "two")}.get(whose, ("all", whose))
    made: dict[str, list[re.Pattern]] = {}
    for rule, forms in _FORMS.items():
        made[rule] = []
        for form in (form for of in used for form in forms.get(of, ())):
            for mark, part in parts.items():
                form = form.replace(mark, part)
            made[rule].append(re.compile(form, re.M))
    return made


Meaning = Mapping[str, tuple[str, Any]]  # an option as it is written -> its name and value


def _read(
    text: str | None, parser: str, meaning: Meaning, whose: str, nothing: str, none: float | None = None
) -> Choice:
    """What a text says, where the judge thinks again what it says after that."""
    content = check_text(text, parser)
    if content is None:
        return Choice(none, Status.EMPTY, "no text", "empty")
    written, forms = made_plain(without_example(readable(content))).rstrip(), _forms(tuple(meaning), whose)
    for again in [*_AGAIN.finditer(written.lower())][:-4:-1]:
        later = _said(written[again.start("rest" if again["rest"] is not None else 0) :], forms, meaning, none)
        if later is not None and later.ok:
            return later
    status, reason = why(written.lower()) or (Status.UNPARSED, nothing)
    return _said(written, forms, meaning, none) or Choice(none, status, reason, "none")


def _said(written: str, forms: Mapping[str, list[re.Pattern]], meaning: Meaning, none: float | None) -> Choice | None:
    """What the first form that stands anywhere in a readable text says, None where none does."""
    body = written.lower()

    def counts(match: re.Match, rule: str) -> bool:
        """Whether it stands; a letter in prose counts only as it is written."""
        name = meaning.get(match["x"], _TIE)[0]
        prose = rule == "phrase" or (rule == "alone" and match.end() < len(body))
        small = prose and len(name) == 1 and written[match.start("x") : match.end("x")] != name
        return not (small and written[match.start("x") - 1] not in "([") and _stands(match, rule)

    for rule, patterns in forms.items():
        found = []
        for pattern in patterns:
            matches = list(pattern.finditer(body))
            found += [match for match in matches[:MANY] + matches[MANY:][-MANY:] if counts(match, rule)]
        said = dict(meaning.get(match["x"], _TIE) for match in found)
        if len(said) > 1:
            return Choice(none, Status.UNPARSED, f"different verdicts: {', '.join(sorted(said))}", rule)
        if found and WITHDRAWN.search(body, max(match.end() for match in found)):
            return Choice(none, Status.UNPARSED, "what follows takes it back", rule)
        if all(_RESPECT.match(body, match.end()) for match in found):
            continue
        if rule != "closing" or not re.search(r"\w", body[found[-1].end() :]):
            (choice, value), *_ = said.items()
            return Choice(value, Status.OK, "", rule, choice, found[-1].group().strip())
    return None
