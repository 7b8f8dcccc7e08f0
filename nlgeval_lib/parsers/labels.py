"""The score under one name among several: which numbers of a text belong to a label."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from nlgeval_lib.parsers import cues, vocabulary
from nlgeval_lib.parsers.mention import SPLIT, Mention, Strength
from nlgeval_lib.parsers.text import DIGITS, WORD, readable

_HEADING = re.compile(
    r"(?:\A|\n)[\s>#*-]*(?:\d{1,2}[.)]\s*)?(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*(?:\([^)\n]{0,40}\)\s*)?[*\"]*\s*"
    r"(?::|-(?=\s)|(?=\n|\Z))"
)
_ANY_NUMBER = re.compile(rf"{DIGITS}|\b{WORD}\b|\bn/?a\b")
_UNDER_A_LABEL = (Strength.ASPECT, Strength.PHRASE, Strength.LABEL)
# lines that belong to the section they stand in
_INNER = frozenset(
    [
        "score",
        "rating",
        "grade",
        "mark",
        "reason",
        "reasons",
        "reasoning",
        "explanation",
        "rationale",
        "justification",
        "analysis",
        "comment",
        "comments",
        "feedback",
        "evidence",
        "evaluation",
        "assessment",
        "verdict",
        "result",
        "note",
        "notes",
        "example",
        "stars",
        "points",
        "final",
        "overall",
    ]
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The numbers left for a label, or the section under it, or the reason why only other labels have scores."""

    mentions: list[Mention]
    section: str | None = None
    only_others: str = ""
    named: bool = False  # the numbers stand at the label


def choose(text: str, mentions: list[Mention], label: str) -> Choice:
    """What of `text` (readable, lower case) bears on `label`.

    Numbers right at the label come first, then the section that it heads; where the label is nowhere, what the text
    scores without any label. A number under another label is never taken.
    """
    words, before, after = _around(label)
    own = []
    for mention in mentions:
        window = text[max(0, mention.start - 110) : mention.start]
        if mention.strength is Strength.PHRASE and not mention.label:
            rated = cues.QUALITY_OBJECT.search(window)
            mention.label = rated["quality"] if rated and rated["quality"] not in vocabulary.NEUTRAL else ""
        at_label = all(word in window for word in words) and before.search(window)
        if at_label or after.match(text, mention.end) or _same(mention.label, words):
            if mention.strength is None or mention.strength is Strength.ALONE:
                mention.strength, mention.rule = Strength.ASPECT, "aspect"
            own.append(mention)
    if any(not mention.flaw or mention.blocks for mention in own):
        return Choice([_lifted(mention) for mention in own], named=True)
    start, section = _section(text, words)
    if section is not None and _ANY_NUMBER.search(section):
        return Choice([], section)
    if section is not None:
        mentions = [mention for mention in mentions if mention.end <= start]  # "Rating: 3. Coherence: it flows well."
    others = [
        m for m in mentions if m.strength in (Strength.ASPECT, Strength.PHRASE, Strength.LABEL) and _foreign(m.label)
    ]
    rest = [mention for mention in mentions if mention not in others]
    if others and not any(m.strength is not None and m.strength >= Strength.PHRASE and not m.flaw for m in rest):
        named = ", ".join(sorted({m.label for m in others})[:6])[:100]
        return Choice([], None, f"no score labelled {label!r}; scored are: {named}")
    return Choice(rest)


@functools.lru_cache(maxsize=1024)
def _around(label: str) -> tuple[list[str], re.Pattern, re.Pattern]:
    """The words of a label, and the patterns for a label right before and right after a number."""
    words = re.findall(r"[^\W_]+", readable(label).lower())
    name = r"[\W_]+".join(map(re.escape, words))
    before = re.compile(
        rf"\b{name}\b(?:[ _]+(?:score|rating|quality|level|grade))*[\s\"'*)\]]*(?:\([^()\n]{{0,40}}\))?"
        r"\s*(?::|=|\||,|-|->|=>|is|was|of|at|gets|receives|scores|as)?\s*(?:a|an|about)?[\s\"'*(\[]*\Z"
    )
    after = re.compile(
        r"\s*(?:(?:/|out of)\s*\d+)?\s*(?:stars?|points?)?\s*(?:for|in|on|regarding|in terms of)\s+"
        rf"(?:the\s+|its\s+)*{name}\b"
    )
    return words, before, after


def _foreign(label: str) -> bool:
    return bool(label) and not vocabulary.NEUTRAL.issuperset(label.split())


def _lifted(mention: Mention) -> Mention:
    """At the label that was asked for a number is as good as a final one."""
    if mention.flaw == SPLIT:
        mention.flaw, mention.blocks = "", False
    if not mention.flaw:
        mention.strength = Strength.FINAL
    return mention


def _same(label: str, words: list[str]) -> bool:
    have = re.findall(r"[^\W_]+", label)
    rest = [word for word in have if word not in words]
    return (
        bool(have)
        and all(word in have for word in words)
        and all(word in vocabulary.NEUTRAL or word in vocabulary.NOUNS or word in vocabulary.RANKS for word in rest)
    )


def _section(text: str, words: list[str]) -> tuple[int, str | None]:
    """Where the label stands as a heading, and the text from there to the next heading."""
    if not all(word in text for word in words):
        return 0, None
    found = start = None
    for heading in _HEADING.finditer(text):
        have = re.findall(r"[^\W_]+", heading["name"])
        if start is None:
            rest = set(have[len(words) :])
            if have[: len(words)] == words and rest <= {"score", "rating", "quality"}:
                found, start = heading.start(), heading.end()
        elif not set(have) & _INNER and len(have) <= 5:
            return found, text[start : heading.start()]
    return (0, None) if start is None else (found, text[start:])
