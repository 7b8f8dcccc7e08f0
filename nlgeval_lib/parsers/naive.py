"""Simple rules that are often used, and two published ones, for comparison."""

from __future__ import annotations

import math
import re

from nlgeval_lib.parsers.text import Parsed, check_text
from nlgeval_lib.records import Status

_WORDS = ("one", "two", "three", "four", "five")
_WORD = re.compile("|".join(_WORDS))
_DIGIT = re.compile(r"[1-5](?:\.[1-5])?")
_LABELLED = [
    re.compile(r"score:\s*([1-5](?:\.\d)?)"),
    re.compile(rf"score:\s*({_WORD.pattern})"),
]
_CUE = re.compile(r"score|scoring")
# in a sentence after a cue: what shows that it holds a score, and the score itself
_IN_SENTENCE = (
    (re.compile("[1-5]"), _DIGIT),
    (re.compile(rf"\s(?:{_WORD.pattern})(?=[\s.,])"), _WORD),
)
_OF_WORD = re.compile(rf"score of ({_WORD.pattern})[\s.,]")
_LAST = re.compile(r"[1-5](?:\.\d\s)?(?:out of [1-5])?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)


def first_number(text: str | None) -> Parsed:
    """The first number of a text, wherever it stands."""
    return _read(text, "first number", "first")


def last_number(text: str | None) -> Parsed:
    """The last number of a text, wherever it stands."""
    return _read(text, "last number", "last")


def authors_acloserlook(text: str | None) -> Parsed:
    """What Chiang and Lee's decoder reads: the first digit after the last "rating:",
    "1-3" taken out. Without one their Table 2 drops the sample, Table 3 counts 0.

    Source: Chiang and Lee 2023, repository d223302/A-Closer-Look-To-LLM-Evaluation,
    meta_eval_summeval.py.
    """
    return _read(text, "authors (A Closer Look)", "rating")


def authors_llm_summeval(text: str | None, form: str = "rts") -> Parsed:
    """What Shen et al.'s decoder reads, on their scale of 1 to 5.

    form: `rts` tries "score:" and a digit or word, the first digit or word after
    "score" in its sentence, and the last digit; `stareval` the word before "star";
    `mcq` the whole text as a letter from A to E. Raises: ValueError for another.
    Source: Shen et al. 2023, repository DAMO-NLP-SG/LLM_summeval, utils.py.
    """
    forms = ("rts", "stareval", "mcq")
    if form not in forms:
        raise ValueError(f"form must be one of {', '.join(forms)}, got {form!r}")
    return _read(text, "authors (LLM summeval)", form)


def _read(text: str | None, name: str, rule: str) -> Parsed:
    """What the rule finds in the text as it is: digits, or a number word up to five."""
    answer = check_text(text, f"naive ({name})")
    if text is None or answer is None:
        return Parsed(math.nan, Status.EMPTY, "no text", name)
    token = _found(text, rule)
    if token in _WORDS:
        return Parsed(_WORDS.index(token) + 1.0, Status.OK, "", name)
    try:
        value = float(token or "nan")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        return Parsed(math.nan, Status.UNPARSED, "the rule finds no number", name)
    return Parsed(value, Status.OK, "", name)


def _found(text: str, rule: str) -> str | None:
    """The number, in digits or a word, that a rule finds."""
    lower = text.lower()
    numbers = _NUMBER.findall(text)
    if rule in ("first", "last"):
        return numbers[0 if rule == "first" else -1] if numbers else None
    if rule == "rating":
        _, _, tail = lower.replace("1-3", " ").rpartition("rating:")
        digit = re.search("[0-9]", tail)
        return digit.group() if digit else None
    if rule == "mcq":
        letter = text.strip()
        place = "ABCDE".find(letter)
        return str(place + 1) if place >= 0 and len(letter) == 1 else None
    if rule == "stareval":
        star = re.search(r"\S\sstar", lower)
        return lower[: star.start() + 1].rsplit(maxsplit=1)[-1] if star else None
    return _reason_then_score(lower)


def _reason_then_score(lower: str) -> str | None:
    for pattern in _LABELLED:
        match = pattern.search(lower)
        if match:
            return match[1]
    for trace, score in _IN_SENTENCE:
        in_sentence = _in_sentence(lower, trace, score)
        if in_sentence:
            return in_sentence
    match = _OF_WORD.search(lower)
    if match:
        return match[1]
    scores = _LAST.findall(lower)
    return _DIGIT.findall(scores[-1])[0] if scores else None


def _in_sentence(text: str, trace: re.Pattern, score: re.Pattern) -> str | None:
    """The first score after a cue whose sentence holds a trace of a score."""
    cue = _CUE.search(text)
    while cue:
        end = text.find(".", cue.end())
        if end < 0:
            end = len(text)
        if trace.search(text, cue.end() + 1, end + 1):
            # the first after the cue counts, wherever it is
            return score.findall(text, cue.start())[0]
        cue = _CUE.search(text, end)
    return None
