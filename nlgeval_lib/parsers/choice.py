"""A verdict that is one of a few words: which of two responses is better, or yes and no."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nlgeval_lib.parsers import silence
from nlgeval_lib.parsers.base import Parsed, check_text
from nlgeval_lib.parsers.text import readable, without_markup, without_tex
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Choice(Parsed):
    """A verdict out of a few words: `value` is the word, None without one; `matched` the place that carried it."""

    matched: str = ""


_NAME = r"(?:the\s+)?(?:(?:first|second|better|preferred|winning)\s+)?(?:response|answer|output|option|assistant|model)"
# "a" is an article too: as a verdict it ends its clause
_END = (
    r"(?!\s*(?:or|and|/|,|&)\s*(?:response\s*)?[\"'(]*[ab]\b)"
    r"(?=\s*(?:[^\w\s]|\Z|\n|(?:is|was|as|because|since|over|with|by|for)\b))"
)
_SIDE = rf"[\s\"'(\[<]{{0,9}}(?:{_NAME}\s{{0,9}})?[\"'(\[<]{{0,3}}(?P<side>[ab])\b(?!['\w]){_END}"
_TIE = r"[\s\"'(\[<]{0,9}(?:it(?:'s| is)\s+)?(?:a\s+)?(?P<tie>tie|draw|tied|equal)\b"
_EITHER = rf"(?:{_SIDE}|{_TIE})"
_LINK = r"\s{0,9}(?::|=|->|=>|-|\bis\b|\bare\b){1,3}\s{0,9}"
_HEDGE = (
    r"(?:overall|clearly|slightly|much|far|the|therefore|thus|still|also|considered|marginally|significantly|a|bit|"
    r"somewhat|definitely|generally)"
)
_RULES = (
    (
        "tag",
        re.compile(rf"(?<!\[)\[{{1,3}}\s{{0,9}}(?:result|verdict|final verdict)\s{{0,9}}\]{{1,3}}\s{{0,9}}:?{_EITHER}"),
    ),
    (
        "tag",
        re.compile(rf"\[\[(?:{_EITHER}|(?P<c>c)|(?P<side2>[ab])\s?>>?\s?[ab]|a\s?=\s?b)\s{{0,9}}\]\]"),
    ),  # [[C]]: MT Bench's tie
    (
        "label",
        re.compile(
            r"\b(?:verdict|winner|choice|preference|result|decision|(?:final\s+)?answer|better|preferred|(?:better|preferred)[\s_]+"
            rf"(?:response|answer|one|option|output))[\"']?{_LINK}{_EITHER}"
        ),
    ),
    (
        "phrase",
        re.compile(
            rf"{_NAME}\s*[\"'(]*(?P<side>[ab])[\"')]*\s+(?:is|was|would\s+be|comes\s+out|seems|remains)\s+(?:{_HEDGE}\s+){{0,6}}"
            r"(?:better|best|superior|stronger|preferable|preferred|winner|ahead|on\s+top)\b"
            rf"|{_NAME}\s*[\"'(]*(?P<side3>[ab])[\"')]*\s+(?:{_HEDGE}\s+){{0,3}}(?:outperforms|beats|surpasses|wins|outshines)\b"
            rf"|{_NAME}\s*[\"'(]*[ab][\"')]*\s+(?:is|was|seems)\s+(?:{_HEDGE}\s+){{0,6}}(?:worse|weaker|inferior)\s+(?:than|to)\s+"
            rf"(?:{_NAME}\s*)?[\"'(]*(?P<side4>[ab])\b(?!['\w])"
            r"|\b(?:i|we)\s+(?:would\s+|'d\s+)?(?:prefer|choose|pick|select|favou?r)\s+[\"'(]*(?P<side5>[ab])[\"')]*\s+(?:over|to)\b"
            r"|(?<![\w'])[\"'(]*(?P<side6>[ab])[\"')]*\s+is\s+"
            rf"(?:{_HEDGE}\s+){{0,6}}(?:better|best|superior|stronger|preferable|preferred|winner)\b"
            r"|\b(?:both|they|the\s+two)\s+(?:(?:responses|answers|outputs|options|assistants|models)\s+)?(?:are|were|seem)\s+"
            r"(?:(?:roughly|about|almost|nearly|overall)\s+)?(?P<tie>equal(?:ly)?|tied|on\s+par|comparable)\b"
            r"|\bit(?:'s|\s+is|\s+was)\s+(?:therefore\s+)?a\s+(?P<tie2>tie|draw)\b"
            rf"|\bneither\s+(?:{_NAME}\s+)?is\s+(?:{_HEDGE}\s+)?(?P<tie3>better)\b"
            rf"|\b(?:i|we)\s+(?:would\s+|'d\s+)?(?:prefer|choose|pick|select|favou?r|go\s+with)\s+{_NAME}\s*[\"'(]*(?P<side2>[ab])\b"
        ),
    ),
)
_BEFORE = re.compile(r"\b(?:not|n't|if|unless|whether|were|neither|nor|no|either|hardly|who)\b[^.!?\n]{0,40}\Z")
_ALONE = re.compile(rf"\W*(?:{_NAME}\s+)?\W*(?:(?P<side>[ab])(?![+-])|(?P<tie>tie|draw))\W*(?:is\s+better\W*)?")
_BOXED = re.compile(r"\\boxed\s{0,3}\{([^{}\n]{1,40})\}")

_YES_NO = r"(?P<word>yes|no|true|false)"
_LEAD = re.compile(
    rf"[\s\"'(\[*#>-]*{_YES_NO}\b(?!\s{{1,9}}(?:and\s+no|and\s+yes|or\s+no|doubt|question|wonder|matter|one|longer))"
)
_YES_LABEL = re.compile(
    rf"(?:\b(?:answer|verdict|result|conclusion|decision|judge?ment|response)\"?{_LINK}|\[\s{{0,9}}result\s{{0,9}}\]\s{{0,9}}:?\s{{0,9}}"
    rf"|\bthe\s+answer\s+(?:here\s+)?is\s+)[\"'(\[]*{_YES_NO}\b"
)
_LINE = re.compile(rf"\W*{_YES_NO}\W*")
_BOTH = re.compile(r"\byes\W{0,3}(?:and|or|/)\W{0,3}no\b|\bno\W{0,3}(?:and|or|/)\W{0,3}yes\b")


def preference(text: str | None, tie: bool = False) -> Choice:
    """Which of the responses A and B a text prefers: "A" or "B", or "TIE" where `tie` allows it.

    The verdict counts after `[RESULT]`, else under a label ("Better response: B"), else in a phrase ("Response A is
    clearly better"), else alone as the text or its last line. Two different verdicts of one kind make it missing, and
    so does a tie that is not allowed.
    Raises: TypeError where `text` is neither str nor None.
    """
    content = check_text(text, "preference")
    if content is None:
        return Choice(None, Status.EMPTY, "no text", "empty")
    body = _BOXED.sub(r"\n\1\n", without_markup(without_tex(readable(content)))).lower()
    for rule, pattern in _RULES:
        found = list(_sides(body, pattern))
        if found:
            return _one(found, rule, tie)
    lines = [line for line in body.split("\n") if line.strip()]
    for line in dict.fromkeys((*lines[-1:], *lines[:1])):
        match = _ALONE.fullmatch(line) if len(line) <= 200 else None
        if match:
            return _one([(_side(match), match.group())], "alone", tie)
    status, reason = silence.why(body) or (Status.UNPARSED, "no response is named as the better one")
    return Choice(None, status, reason, "none")


def yes_no(text: str | None) -> Parsed:
    """Whether a text answers yes (1.0) or no (0.0).

    The answer counts under a label ("Answer: no"), else as the first word or alone on the last line. Different
    answers, and "yes and no", make it missing.
    Raises: TypeError where `text` is neither str nor None.
    """
    content = check_text(text, "yes_no")
    if content is None:
        return Parsed(float("nan"), Status.EMPTY, "no text", "empty")
    body = _BOXED.sub(r"\n\1\n", without_markup(without_tex(readable(content)))).lower()
    if _BOTH.search(body):
        return Parsed(float("nan"), Status.UNPARSED, "the text says yes and no", "both")
    answers = {match["word"] for match in _YES_LABEL.finditer(body)}
    rule = "label"
    if not answers:
        lines = [line for line in body.split("\n") if line.strip()]
        found = (_LEAD.match(body), _LINE.fullmatch(lines[-1]) if lines else None)
        answers, rule = {match["word"] for match in found if match}, "first" if found[0] else "last"
    said = {word in ("yes", "true") for word in answers}
    if len(said) > 1:
        return Parsed(float("nan"), Status.UNPARSED, "the text answers both yes and no", rule)
    if said:
        return Parsed(float(said.pop()), Status.OK, "", rule)
    status, reason = silence.why(body) or (Status.UNPARSED, "the text answers neither yes nor no")
    return Parsed(float("nan"), status, reason, "none")


def _sides(body: str, pattern: re.Pattern) -> Iterable[tuple[str, str]]:
    """Each verdict of a pattern with its place, but those that a word before it takes back."""
    for match in pattern.finditer(body):
        if not _BEFORE.search(body, max(0, match.start() - 60), match.start()):
            yield _side(match), match.group()


def _side(match: re.Match) -> str:
    groups = match.groupdict()
    side = next(
        (groups[name] for name in ("side", "side2", "side3", "side4", "side5", "side6") if groups.get(name)), None
    )
    return side.upper() if side else "TIE"


def _one(found: list[tuple[str, str]], rule: str, tie: bool) -> Choice:
    sides = sorted({side for side, _ in found})
    if len(sides) > 1:
        return Choice(None, Status.UNPARSED, f"different verdicts: {', '.join(sides)}", rule)
    if sides[0] == "TIE" and not tie:
        return Choice(None, Status.OUT_OF_RANGE, "a tie, which is not among the verdicts", rule, found[-1][1].strip())
    return Choice(sides[0], Status.OK, "", rule, found[-1][1].strip())
