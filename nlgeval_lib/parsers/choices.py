"""A verdict that is one of a few words: the better of two responses, yes or no, one of several options."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.parsers.normalise import made_plain
from nlgeval_lib.parsers.text import Parsed, check_text, readable, why
from nlgeval_lib.parsers.vetoes import CLAUSE, SENTENCE
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Choice(Parsed):
    """A verdict out of a few words: `value` is the word, None without one; `matched` the place that carried it."""

    matched: str = ""


@dataclass(frozen=True, slots=True)
class Pick(Parsed):
    """A chosen option: `value` is what the option counts (NaN where missing), or the option itself (then None)."""

    choice: str = ""


# --- what takes a choice back: in its clause before it, or right after it --------------------------------------------
_TAKEN_BACK = re.compile(
    r"\b(?:not|never|cannot|[a-z]+n't|neither|nor|rather than|instead of|unlike|if|unless|whether|"
    r"would have|could have|"
    r"might|refus\w+|either|please|choose between|example|e\.g)\b",
    re.I,
)
_CONDITION = re.compile(r"[\s\"'\])>*.]{0,5}(?:if|when|unless|in case|or)\b(?! (?:i|we) (?:had|have|must) to\b)", re.I)
_QUOTE_END = re.compile(r"[^\n\"]{0,80}\"")


MANY = 100  # of more matches than twice this the first and the last are read


def _stands(match: re.Match, conditions: bool = True) -> bool:
    """Whether nothing takes a match back: a negation in its clause, a condition after it, a quotation around it."""
    text = match.string
    window = text[max(0, match.start() - 200) : match.start()]
    sentence = window[max((end.end() for end in SENTENCE.finditer(window)), default=0) :]
    clause = sentence[max((end.end() for end in CLAUSE.finditer(sentence)), default=0) :]
    if _TAKEN_BACK.search(clause) or re.search(r"(?<!even )\b(?:if|unless|whether|when)\b", sentence, re.I):
        return False
    if conditions and _CONDITION.match(text, match.end()):
        return False
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    opened = line.count('"') % 2 == 1 and re.search(r'"[^"]*[a-z]{3}[^"]*\Z|\w+ "\Z', line) is not None
    return not (opened and _QUOTE_END.match(text, match.end()) and re.search(r"\bform|\bwrites?|\bsays?|\bsaid", line))


_NAME = r"(?:the\s)?(?:(?:first|second|better|preferred|winning)\s)?(?:response|answer|output|option|assistant|model)"
# "a" is an article too: as a verdict it ends its clause
_END = (
    r"(?!\s?(?:or|and|/|,|&)\s?(?:response\s)?[\"'(]{0,2}[ab]\b)"
    r"(?=\s?(?:[^\w\s]|\Z|\n|(?:is|was|as|because|since|over|with|by|for|if|when)\b))"
)
_SIDE = rf"[\s\"'(\[<]{{0,9}}(?:{_NAME}\s{{0,9}})?[\"'(\[<]{{0,3}}(?P<{{0}}>[ab])\b(?!['\w]){_END}"
_TIE = r"[\s\"'(\[<]{{0,9}}(?:it(?:'s| is)\s)?(?:a\s)?(?P<tie{0}>tie|draw|tied|equal)\b"
_LINK = r"\s{0,9}(?::|=|->|=>|-|\bis\b|\bare\b){1,3}\s{0,9}"
_HEDGE = (
    r"(?:(?:overall|clearly|slightly|much|far|the|therefore|thus|still|also|considered|marginally|significantly|a|bit|"
    r"somewhat|definitely|generally)\s)"
)
_BEST = r"(?:better|best|superior|stronger|preferable|preferred|winner)\b"
_PREFER = r"\b(?:i|we)(?:\swould|'d)?\s(?:prefer|choose|pick|select|favou?r|go\swith|vote\sfor)\s"


def _either(name: str) -> str:
    return f"(?:{_SIDE.replace('{0}', name).replace('{{', '{').replace('}}', '}')}|{_TIE.format(name)})"


_RULES = (
    (
        "tag",
        re.compile(
            rf"(?<!\[)\[{{1,3}}\s{{0,9}}(?:result|verdict|final "
            rf"verdict)\s{{0,9}}\]{{1,3}}\s{{0,9}}:?{_either('s1')}"
        ),
    ),
    (
        "tag",
        re.compile(rf"\[\[(?:{_either('s1')}|(?P<tiec>c)|(?P<s2>[ab])\s?>>?\s?[ab]|(?P<tiee>a)\s?=\s?b)\s{{0,9}}\]\]"),
    ),
    (
        "label",
        re.compile(
            r"\b(?:verdict|winner|choice|preference|result|decision|(?:final\s)?answer|better|preferred|"
            r"(?:better|preferred)[\s_]"
            rf"(?:response|answer|one|option|output))[\"']?{_LINK}{_either('s1')}"
        ),
    ),
    (
        "phrase",
        re.compile(
            rf"{_NAME}\s?[\"'(]{{0,2}}(?P<s1>[ab])[\"')]{{0,2}}\s(?:is|was|would\sbe|comes\sout|seems|"
            rf"remains)\s{_HEDGE}{{0,6}}(?:{_BEST}|ahead\b|on\stop\b)"
            rf"|{_NAME}\s?[\"'(]{{0,2}}(?P<s2>[ab])[\"')]{{0,2}}\s{_HEDGE}{{0,3}}(?:outperforms|beats|"
            rf"surpasses|wins|outshines)\b"
            rf"|{_NAME}\s?[\"'(]{{0,2}}[ab][\"')]{{0,2}}\s(?:is|was|seems)\s{_HEDGE}{{0,6}}(?:worse|weaker|"
            rf"inferior)\s(?:than|to)\s(?:{_NAME}\s?)?[\"'(]{{0,2}}(?P<s3>[ab])\b(?!['\w])"
            rf"|(?<![\w'])[\"'(]{{0,2}}(?P<s4>[ab])[\"')]{{0,2}}\sis\s{_HEDGE}{{0,6}}{_BEST}"
            rf"|{_PREFER}[\"'(]{{0,2}}(?P<s5>[ab])[\"')]{{0,2}}\s(?:over|to)\b|"
            rf"{_PREFER}{_NAME}\s?[\"'(]{{0,2}}(?P<s6>[ab])\b"
            r"|\b(?:both|they|the\stwo)\s(?:(?:responses|answers|outputs|options|assistants|models)\s)?(?:are|"
            r"were|seem)\s"
            r"(?:(?:roughly|about|almost|nearly|overall)\s)?(?P<tie1>equal(?:ly)?|tied|on\spar|comparable)\b"
            rf"|\bit(?:'s|\sis|\swas)\s(?:therefore\s)?a\s(?P<tie2>tie|draw)\b|"
            rf"\bneither\s(?:{_NAME}\s)?is\s{_HEDGE}?(?P<tie3>better)\b"
        ),
    ),
)
_ALONE = re.compile(
    rf"[^\w+]*(?:{_NAME}\s?)?[\"'(\[]{{0,2}}(?:(?P<s1>[ab])|(?P<tie1>tie|draw|tied|equal))[\"')\].!]{{0,3}}[^\w+]*"
)


def preference(text: str | None, tie: bool = False) -> Choice:
    """Which of two responses, A or B, a text finds better; TIE where it finds neither and `tie` allows it.

    The verdict counts after `[RESULT]`, else under a label ("Better response: B"), else in a phrase ("Response A is
    clearly better"), else alone as the text or its last line. Two different verdicts of one kind make it missing, and
    so does a tie that is not allowed, and a verdict that its clause denies or makes conditional does not count.
    Raises: TypeError where `text` is neither str nor None.
    """
    content = check_text(text, "preference")
    if content is None:
        return Choice(None, Status.EMPTY, "no text", "empty")
    body = made_plain(readable(content)).lower()
    found: list[re.Match] = []
    rule = ""
    for name, pattern in _RULES:
        matches = list(pattern.finditer(body))
        found = [match for match in matches[:MANY] + matches[MANY:][-MANY:] if _stands(match)]
        if found:
            rule = name
            break
    else:
        lines = [line for line in body.split("\n") if line.strip()]
        ends = [
            _ALONE.fullmatch(line) if len(line) <= 200 else None for line in dict.fromkeys((*lines[-1:], *lines[:1]))
        ]
        found, rule = [match for match in ends if match][:1], "alone"
    if not found:
        status, reason = why(body) or (Status.UNPARSED, "no response is named as the better one")
        return Choice(None, status, reason, "none")
    sides = sorted({_side(match) for match in found})
    if len(sides) > 1:
        return Choice(None, Status.UNPARSED, f"different verdicts: {', '.join(sides)}", rule)
    if sides[0] == "TIE" and not tie:
        return Choice(
            None, Status.OUT_OF_RANGE, "a tie, which is not among the verdicts", rule, found[-1].group().strip()
        )
    return Choice(sides[0], Status.OK, "", rule, found[-1].group().strip())


def _side(match: re.Match) -> str:
    return next((side.upper() for name, side in match.groupdict().items() if side and name[0] == "s"), "TIE")


_YES = r"(?P<word>yes|no|true|false)\b"
_BOTH = re.compile(r"\b(?:yes and no|yes or no|both yes|neither yes)\b")
_YES_LABEL = re.compile(
    rf"(?:\b(?:answer|verdict|result|conclusion|judge?ment|decision)[\"']?{_LINK}|"
    rf"\[result\]\s{{0,9}}:?)[\s\"'(\[]{{0,9}}{_YES}"
)
_LEAD = re.compile(rf"\W*{_YES}(?!\s(?:doubt|matter|wonder|one)\b)")
_LINE = re.compile(rf"\W*{_YES}\W*")


def yes_no(text: str | None) -> Parsed:
    """Whether a text answers yes (1.0) or no (0.0).

    The answer counts under a label ("Answer: no"), else as the first word or alone on the last line. Different
    answers, and "yes and no", make it missing.
    Raises: TypeError where `text` is neither str nor None.
    """
    content = check_text(text, "yes_no")
    if content is None:
        return Parsed(math.nan, Status.EMPTY, "no text", "empty")
    body = made_plain(readable(content)).lower()
    if _BOTH.search(body):
        return Parsed(math.nan, Status.UNPARSED, "the text says yes and no", "both")
    answers, rule = {match["word"] for match in _YES_LABEL.finditer(body)}, "label"
    if not answers:
        lines = [line for line in body.split("\n") if line.strip()]
        ends = (_LEAD.match(body), _LINE.fullmatch(lines[-1]) if lines else None)
        answers, rule = {match["word"] for match in ends if match}, "first" if ends[0] else "last"
    said = {word in ("yes", "true") for word in answers}
    if len(said) > 1:
        return Parsed(math.nan, Status.UNPARSED, "the text answers both yes and no", rule)
    if said:
        return Parsed(float(said.pop()), Status.OK, "", rule)
    status, reason = why(body) or (Status.UNPARSED, "the text answers neither yes nor no")
    return Parsed(math.nan, status, reason, "none")


_KEYS = ("answer", "choice", "option", "verdict", "result", "selection", "final_answer", "score", "rating", "grade")


def multiple_choice(text: str | None, choices: Sequence[str] | Mapping[str, float]) -> Pick:
    """Which of the options a text chooses.

    An option counts in brackets ([[B]]), in JSON, after a label ("Answer: B"), in a phrase ("I choose option B"), or
    alone as the whole text, its first word before a mark, or its last line. In prose it counts only as it is written.
    Options that are merely repeated from the prompt do not count, two different choices make it missing.

    choices: the options' names, each a letter or some words; or names with the number that each counts.
    Returns: `Pick`; `value` is the number of the option, or with plain names the option.
    Raises: ValueError for fewer than two options, blank or equal ones; TypeError where `text` is neither str nor None
    or `choices` is a string.
    Source: Shen et al. 2023, Large Language Models are Not Yet Human-Level Evaluators (forms mcq, altmcq).
    """
    names = _checked(choices)
    none = math.nan if isinstance(choices, Mapping) else None
    content = check_text(text, "multiple_choice")
    if content is None:
        return Pick(none, Status.EMPTY, "no text", "empty")
    body = made_plain(readable(content))
    for rule, found in _chosen(body, names):
        if len(found) > 1:
            return Pick(none, Status.UNPARSED, f"different choices: {', '.join(sorted(found))}", rule)
        if found:
            choice = found.pop()
            return Pick(choices[choice] if isinstance(choices, Mapping) else choice, Status.OK, "", rule, choice)
    status, reason = why(body.lower()) or (Status.UNPARSED, f"none of {', '.join(names)} is chosen")
    return Pick(none, status, reason, "none")


def _checked(choices: Sequence[str] | Mapping[str, float]) -> tuple[str, ...]:
    if isinstance(choices, str):
        raise TypeError(f"choices must be a sequence or a mapping, got {choices[:60]!r}; use tuple({choices[:60]!r})")
    names = tuple(choices)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a choice must be a name such as 'A', got {name!r}")
    if len(names) < 2 or len({name.strip().casefold() for name in names}) < len(names):
        raise ValueError(f"choices must be two or more different names, got {list(names)!r}")
    for name, value in choices.items() if isinstance(choices, Mapping) else ():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"the number of choice {name!r} must be finite, got {value!r}")
    return names


@functools.lru_cache(maxsize=64)
def _patterns(names: tuple[str, ...]) -> dict[str, re.Pattern]:
    any_name = "|".join(re.escape(name.strip()) for name in sorted(names, key=len, reverse=True))
    one = rf"[\s\"'(\[<]{{0,5}}(?P<name>{any_name})(?![\w'])"
    option = r"(?:option|choice|answer|letter|category|level)"
    return {
        "tag": re.compile(rf"\[\[{one}\s{{0,5}}\]\]", re.I),
        "label": re.compile(
            rf"\b(?:answer|choice|option|verdict|selection|result|score|rating|grade)\b(?:\sis)?\s{{0,5}}(?::|"
            rf"=|->|-)\s{{0,5}}{one}"
            r"(?![ \t]+(?:or|and)\b)",
            re.I,
        ),
        "phrase": re.compile(
            rf"\b(?i:(?:(?:final|correct|best|my)\s)?{option}(?:\s(?:would\sbe|is|should\sbe))?|choose|pick|"
            rf"select|go\swith)"
            rf"\s(?:(?i:{option})\s)?{one}(?=\s?(?:[^\w\s]|\Z|\n|(?:because|since|as|is|for|with|if|when|,)\b))"
        ),
        "alone": re.compile(rf"\W*(?:(?i:{option})\s)?(?P<name>(?i:{any_name}))\W*"),
        "first": re.compile(rf"\W*(?P<name>{any_name})\s{{0,3}}(?:[.:,;)\]\n-]|\Z)"),
        "item": re.compile(rf"^\W{{0,9}}(?P<name>{any_name})\s{{0,3}}[.:)]", re.M),
    }


def _chosen(body: str, names: tuple[str, ...]) -> Iterable[tuple[str, set[str]]]:
    """(rule, options) in the order in which rules count."""
    proper = {name.strip().casefold(): name for name in names}
    patterns = _patterns(names)
    lines = [line for line in body.split("\n") if line.strip()]

    def of(matches: Iterable[re.Match | None]) -> set[str]:
        return {proper[match["name"].casefold()] for match in matches if match}

    if "{" in body:
        records = [item for item, _, _ in objects(body) if isinstance(item, Record)]
        said = {
            value.strip().casefold()
            for one in records
            for key, value in one.items()
            if str(key).lower() in _KEYS and isinstance(value, str)
        }
        yield "json", {proper[value] for value in said if value in proper}

    def standing(rule: str) -> set[str]:
        matches = list(patterns[rule].finditer(body))
        return of(match for match in matches[:MANY] + matches[MANY:][-MANY:] if _stands(match))

    yield "tag", standing("tag")
    yield "alone", of([patterns["alone"].fullmatch(body.strip())] if len(body.strip()) <= 200 else [])
    for rule in ("label", "phrase"):
        yield rule, standing(rule)
    listed = {match["name"] for match in patterns["item"].finditer(body)}
    first = patterns["first"].match(body) if len(listed) < 2 else None
    yield "first", of([first] if first and _stands(first) else [])
    yield "last", of([patterns["alone"].fullmatch(line) for line in lines[-1:] if len(line) <= 200])
