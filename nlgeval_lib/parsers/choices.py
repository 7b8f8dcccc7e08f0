"""A verdict of a few words: the better of two responses, yes or no, an option."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nlgeval_lib.parsers.normalise import made_plain, objects, without_example
from nlgeval_lib.parsers.text import Parsed, after_last, check_text, readable, why
from nlgeval_lib.parsers.vetoes import CLAUSE, CORRECTION, SENTENCE, WITHDRAWN
from nlgeval_lib.records import Status

_NOUN = (
    r"(?:response|answer|output|option|choice|assistant|model|summary|letter|category"
    r"|level)"
)
_NOUN_FIRST = re.compile(rf"\A{_NOUN} ")
_LABEL = (
    r"(?:(?:final\s|overall\s)?(?:verdict|winner|preference|result|decision|conclusion"
    r"|judge?ment|selection|score|rating|grade|answer|choice|option|category|evaluation"
    r"|assessment|better|best|preferred|final)"
    r"(?:[\s_](?:response|one|output|assistant|model"
    r"|summary))?)"
)
_HEDGES = (
    r"(?:(?:the|a|clearly|slightly|much|overall|far|significantly|marginally|my|final"
    r"|more)\s){0,4}"
)
# Forms of a verdict in the order in which they count. {X} is an option with the noun
# and the marks that may stand around it, {O} an option without what follows it.
_FORMS = {
    "tag": [r"\[\[{X}\s?\]\]", r"\[(?:result|verdict)\]\s{0,9}:?{X}"],
    "pair": [],
    "label": [
        rf"\b{_LABEL}[\"'\s]{{0,9}}"
        r"(?:(?:[:=]|->|\b(?:is|should be|would be)\b)\s?){1,2}"
        r"(?:therefore\s)?{X}"
    ],
    "phrase": [
        r"\bi(?:\s(?:would|will)|'d|'ll)?\s(?:prefer|choose|pick|select|say|go with"
        r"|rate it(?: as)?){X}",
        r"\bchang(?:e|ing)\s(?:my|the)\s[a-z]+\sto{X}",
        rf"{{O}}\s{{1,3}}(?:is|seems)\s{_HEDGES}"
        r"(?:better|best|correct|superior|stronger|preferable|preferred|winner|choice)\b",
        r"{O}\s{1,3}(?:outperforms|beats|wins"
        rf"|(?:does|gives|provides|is)\s{_HEDGES}"
        r"(?:better|best|superior)\s(?:job|response|answer|output|summary|one))\b",
    ],
    "alone": [
        r"\A[^\w+]*{X}(?=[\"')\]]{0,3}\s{0,3}(?:[.,;!-](?:\s|\Z)|\n|\Z)){E}",
        r"^[^\w\n+]{0,20}{X}[^\w+]*\Z",
    ],
}
# of two responses: "[[A>>B]]", and what makes them equal
_OF_TWO = {
    "pair": [
        rf"(?:\[\[|^)[^\w\n]{{0,9}}(?:{_NOUN}\s)?(?P<x>[ab])\s?>{{1,3}}\s?"
        rf"(?:{_NOUN}\s)?[ab][^\w\n]{{0,9}}(?:\]\]|$)",
        r"\[\[a\s?(?P<x>=)\s?b\]\]",
    ],
    "phrase": [
        r"\b(?:both|they|the two)\s(?:[a-z]+\s)?(?:are|seem)\s(?:(?!not)[a-z]+\s)?"
        r"(?P<x>equal(?:ly)?|tied|comparable)\b",
        r"\b(?:perform(?:ed)?|do|are|were)\s(?P<x>equally)\s(?:well|good|strong)\b",
        r"\bit(?:'s|\sis)\sa\s(?P<x>tie|draw)\b",
    ],
}
_TIE = ("TIE", "TIE")
# what takes a statement back: before it in its clause or sentence, or right after it
_DENIED = re.compile(
    r"\b(?:not|never|cannot|[a-z]+n't|neither|nor|rather than|instead of|unlike|whether"
    r"|(?:would|could|'d) have|might|could be|wrong to|inclined|tempted|refus\w+|either"
    r"|please|choose between|example|e\.g|(?:judge|grader|expert|reviewer|gpt\S*)\s"
    r"(?:[a-z]+\s)?(?:chose|rated|graded|gave|picked|prefer\w*|sa(?:id|ys)))\b"
    r"|\bor\W{0,4}\Z|\b(?:sa(?:id|ys?)|wrote|writes?|claims?)\W{0,3}\"\W?\Z"
)
_IF = re.compile(
    r"(?<!even )\b(?:(?:if|unless|whether|when)\b(?! i had\b)|initially|at first"
    r"|suppose|about to|i'd have|in that case|first (?:impression|thought|instinct)"
    r"|(?:in terms of|regarding|as for)\b)"
)
_CONDITION = re.compile(r"[\s\"'\])>*.,]{0,5}(?:if|provided|when|unless|or)\b")
# a verdict in one respect is none of the whole: "A is better in style"
_RESPECT = re.compile(
    r"\s(?:(?:on|at|in|in terms of|regarding)\s(?!(?:all|every|most|general|that|my)\b)"
    r"|[a-z]+(?<!suit)(?:ed|ten)\b)"
)
# the judge thinks again: what it says after that stands
_AGAIN = re.compile(CORRECTION)


@dataclass(frozen=True, slots=True)
class Choice(Parsed):
    """A verdict: `choice` is the word, `value` what it counts, `matched` the text."""

    choice: str = ""
    matched: str = ""


# an option as it is written -> its name and value
Meaning = Mapping[str, tuple[str, Any]]
_TWO: Meaning = {"a": ("A", "A"), "b": ("B", "B")}
_YES_OR_NO: Meaning = {
    **dict.fromkeys(("yes", "true", "pass", "passed", "correct"), ("yes", 1.0)),
    **dict.fromkeys(
        ("no", "nope", "false", "fail", "failed", "incorrect"), ("no", 0.0)
    ),
}
# "response 1", "the first answer", "better answer: 2"
_PLACED = re.compile(
    rf"\b(?P<noun>{_NOUN}|candidate|reply|translation)[ _]#?(?P<digit>[12])\b(?![.,]\d)"
    rf"|\b(?:the )?(?P<place>first|second) (?:{_NOUN}|one)\b"
    r"|(?P<lead>(?<![a-z])(?:better|best|preferred|winner|verdict|choice|output|answer)"
    r"(?:[ _](?:response|answer|output|one|is))?\"?: ?\"?)(?P<bare>[12])"
    r"(?=\W{0,9}(?:\Z|\n)|\"?,)"
    r"|\A\W{0,9}(?P<only>[12])\W{0,9}\Z"
    r"|\bthe (?P<last>former|latter)\b",
    re.I,
)


def preference(text: str | None, tie: bool = False) -> Choice:
    """Which of two responses a text finds better: A, B, or TIE where `tie` allows it.

    The verdict counts in `[[A]]` or after `[RESULT]`, else in JSON, under a label, in a
    phrase, or alone at the start or end. Missing are two different verdicts of a kind,
    a tie that is not allowed, and a verdict that is denied or conditional.
    """
    if isinstance(text, str):
        text = _PLACED.sub(_lettered, text)
    read = _read(text, "preference", _TWO, "no response is named as the better one")
    if read.value == "TIE" and not tie:
        reason = "a tie, which is not among the verdicts"
        read = replace(read, value=None, status=Status.OUT_OF_RANGE, reason=reason)
    return replace(read, choice="")  # the value says it


def _lettered(match: re.Match) -> str:
    """A response that is named by its place, as "Response A" or "Response B"."""
    place = next(filter(None, match.group("digit", "place", "bare", "only", "last")))
    letter = "A" if place[0] in "1fF" else "B"
    return f"{match['lead'] or ''}{match['noun'] or 'Response'} {letter}"


def yes_no(text: str | None) -> Parsed:
    """Whether a text answers yes (1.0) or no (0.0), passes or fails, is correct or not:
    in JSON, under a label, as the first word or alone on the last line.
    """
    nothing = "the text answers neither yes nor no"
    read = _read(text, "yes_no", _YES_OR_NO, nothing)
    return read if read.ok else replace(read, value=math.nan)


def multiple_choice(
    text: str | None, choices: Sequence[str] | Mapping[str, float]
) -> Choice:
    """Which of the options a text chooses, read as `preference` reads its verdict.

    choices: the options' names; or names with the number that each counts.
    Returns: `value` is the number, or with plain names the option; or is missing.
    Raises: ValueError for fewer than two options, blank or equal ones; TypeError.
    Source: Shen et al. 2023, Large Language Models are Not Yet Human-Level Evaluators
    (forms mcq, altmcq).
    """
    if isinstance(choices, str):
        raise TypeError(
            f"choices must be a sequence or a mapping, got {choices[:60]!r}; "
            f"use tuple({choices[:60]!r})"
        )
    numbered = isinstance(choices, Mapping)
    values: dict[str, Any] = {}
    for name in choices:
        values[name] = choices[name] if isinstance(choices, Mapping) else name
    names = [name for name in values if isinstance(name, str) and name.strip()]
    meaning = {name.strip().lower(): (name, values[name]) for name in names}
    finite = not numbered or all(map(math.isfinite, values.values()))
    if len(meaning) < max(2, len(choices)) or not finite:
        raise ValueError(
            "choices must be two or more different names such as 'A', or such names "
            f"with a finite number each, got {choices!r}"
        )
    nothing = f"none of {', '.join(choices)} is chosen"
    read = _read(text, "multiple_choice", meaning, nothing)
    return replace(read, value=math.nan) if numbered and not read.ok else read


@functools.lru_cache(maxsize=64)
def _forms(names: tuple[str, ...], two: bool) -> dict[str, list[re.Pattern]]:
    """The patterns of each rule for options of these names; `two`: of two responses."""
    plain = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    option = (
        rf"(?P<x>{plain}{'|c(?=]])|(?:a )?tie|draw|tied' if two else ''})(?!\w|'\w)"
    )
    # "A or B", "A: 4" choose nothing
    single = (
        rf"(?![\]\"')]{{0,3}}\s?(?:or|and|/|,|&|(?<!\s)\|(?!\s)|>)\s?(?:{_NOUN}\s)?"
        rf"[\[\"'(]{{0,2}}(?:{plain})\b|\s?[:=]?\s?\d)"
    )
    lead = rf"(?:the\s)?(?:{_NOUN}\s{{0,3}})?[\"'(\[<]{{0,3}}"
    parts = {
        "{X}": rf"[\s\"'(\[<]{{0,9}}{lead}{option}{single}",
        "{O}": rf"(?<![\w']){lead}{option}[\"')\]]{{0,2}}",
        # not where options are repeated below
        "{E}": rf"(?![\s\S]*(?:\n|[.;] )\W{{0,9}}{lead}(?:{plain})\s?[.:)])",
    }
    patterns: dict[str, list[re.Pattern]] = {}
    for rule, forms in _FORMS.items():
        patterns[rule] = []
        for form in [*forms, *(_OF_TWO.get(rule, ()) if two else ())]:
            for mark, part in parts.items():
                form = form.replace(mark, part)
            patterns[rule].append(re.compile(form, re.M))
    return patterns


def _read(text: str | None, parser: str, meaning: Meaning, nothing: str) -> Choice:
    """What a text says; where the judge thinks again, what it says after that."""
    content = check_text(text, parser)
    if content is None:
        return Choice(None, Status.EMPTY, "no text", "empty")
    source = without_example(readable(content))
    answer = made_plain(source).rstrip()
    again = list(_AGAIN.finditer(answer.lower()))
    for start in [*(match.end() for match in again[:-4:-1]), 0]:
        stated = [] if start else _in_json(source, meaning)
        verdict = _verdict(answer[start:], stated, meaning)
        if verdict is not None and (verdict.ok or not start):
            return verdict
    status, reason = why(answer.lower()) or (Status.UNPARSED, nothing)
    return Choice(None, status, reason, "none")


def _in_json(text: str, meaning: Meaning) -> list[str]:
    """The options that the JSON of a text states: {"winner": "A"}, {"pass": true}."""
    labelled: list[str] = []
    unlabelled: list[str] = []
    for item, _, _ in objects(text):
        for key, value in getattr(item, "pairs", ()):
            name = _NOUN_FIRST.sub("", str(value).lower().strip(" []"))
            if name in meaning or (meaning is _TWO and name == "tie"):
                is_label = re.search(rf"(?:\A|_){_LABEL}\Z", str(key).lower())
                (labelled if is_label else unlabelled).append(name)
    return labelled or unlabelled


def _verdict(answer: str, stated: list[str], meaning: Meaning) -> Choice | None:
    """What JSON states, else the first form that stands anywhere, or None."""
    if stated:
        return _chosen(dict(meaning.get(name, _TIE) for name in stated), "json", "")
    body = answer.lower()
    for rule, patterns in _forms(tuple(meaning), meaning is _TWO).items():
        standing = []
        for pattern in patterns:
            matches = list(pattern.finditer(body))
            for match in matches[:100] + matches[100:][-100:]:
                if _is_written(match, answer) and _stands(match):
                    standing.append(match)
        if all(_RESPECT.match(body, match.end()) for match in standing):
            continue  # there is none, or none of the whole
        if WITHDRAWN.search(body, max(match.end() for match in standing)):
            return Choice(None, Status.UNPARSED, "what follows takes it back", rule)
        verdicts = dict(meaning.get(match["x"], _TIE) for match in standing)
        return _chosen(verdicts, rule, standing[-1].group().strip())
    return None


def _chosen(verdicts: dict[str, Any], rule: str, matched: str) -> Choice:
    """The one verdict; none where there are several."""
    if len(verdicts) > 1:
        reason = f"different verdicts: {', '.join(sorted(verdicts))}"
        return Choice(None, Status.UNPARSED, reason, rule)
    [(choice, value)] = verdicts.items()
    return Choice(value, Status.OK, "", rule, choice, matched)


def _is_written(match: re.Match, answer: str) -> bool:
    """Whether a letter is no article, and "correct" is not said of what is judged."""
    start, end = match.span("x")
    if match["x"] in ("correct", "incorrect") and " is " in match.group():
        return False
    article = answer[start:end] == "a" and match.end() < len(answer)
    return not article or answer[start - 1 : start] in ("(", "[")


def _stands(match: re.Match) -> bool:
    """Whether no negation, condition or quotation takes a match back."""
    text = match.string
    window = text[max(0, match.start() - 200) : match.start()]
    sentence = after_last(SENTENCE, window)
    if _DENIED.search(after_last(CLAUSE, sentence)) or _IF.search(sentence):
        return False
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    outside, _, _ = line.rpartition('"')
    opened = match.group().count('"') % 2 and text[match.end() :][:1] != '"'
    quoted = opened or (line.count('"') % 2 and not outside.rstrip().endswith('":'))
    return not quoted and not _CONDITION.match(text, match.end())
