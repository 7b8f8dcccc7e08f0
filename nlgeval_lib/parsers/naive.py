"""Simple rules that are often used, and two published ones, for comparison."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable

from nlgeval_lib.parsers.text import Parsed, check_text
from nlgeval_lib.records import Status

_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_WORD = re.compile("|".join(_WORDS))
_LETTERS = {"A": 1, "B": 2, "C": 3, "D": 4, "E": 5}
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
_BEFORE_STAR = re.compile(r"(?<!\S)(\S+)\sstar")


def first_number(text: str | None) -> Parsed:
    """The first number of a text, wherever it stands."""
    return _read(text, "first number", lambda answer: _NUMBER.findall(answer)[:1])


def last_number(text: str | None) -> Parsed:
    """The last number of a text, wherever it stands."""
    return _read(text, "last number", lambda answer: _NUMBER.findall(answer)[-1:])


def authors_acloserlook(text: str | None) -> Parsed:
    """What Chiang and Lee's decoder reads: the first digit after the last "rating:",
    "1-3" taken out. Without one their Table 2 drops the sample, Table 3 counts 0.

    Source: Chiang and Lee 2023, repository d223302/A-Closer-Look-To-LLM-Evaluation.
    """
    return _read(text, "authors (A Closer Look)", _after_rating)


def authors_llm_summeval(text: str | None, form: str = "rts") -> Parsed:
    """What Shen et al.'s decoder reads, on their scale of 1 to 5.

    form: `rts` tries "score:" and a digit or word, the first digit or word after
    "score" in its sentence, and the last digit; `stareval` the word before "star";
    `mcq` the whole text as a letter from A to E. Raises: ValueError for another.
    Source: Shen et al. 2023, repository DAMO-NLP-SG/LLM_summeval, utils.py.
    """
    if form not in _FORMS:
        raise ValueError(f"form must be one of {', '.join(_FORMS)}, got {form!r}")
    return _read(text, "authors (LLM summeval)", _FORMS[form])


def _read(text: str | None, name: str, rule: Callable[[str], list]) -> Parsed:
    """The first of what a rule finds in the text as it is: digits, or a word."""
    if check_text(text, f"naive ({name})") is None or text is None:
        return Parsed(math.nan, Status.EMPTY, "no text", name)
    value = math.nan
    for token in rule(text)[:1]:
        with contextlib.suppress(ValueError):
            value = float(_WORDS.get(token, token))
    if not math.isfinite(value):
        return Parsed(math.nan, Status.UNPARSED, "the rule finds no number", name)
    return Parsed(value, Status.OK, "", name)


def _after_rating(text: str) -> list[str]:
    _, _, tail = text.lower().replace("1-3", " ").rpartition("rating:")
    return re.findall("[0-9]", tail)


def _reason_then_score(text: str) -> list[str]:
    lower = text.lower()
    for pattern in _LABELLED:
        labelled = pattern.findall(lower)
        if labelled:
            return labelled
    for trace, score in _IN_SENTENCE:
        scores = _in_sentence(lower, trace, score)
        if scores:
            return scores
    of_word = _OF_WORD.findall(lower)
    return of_word or _DIGIT.findall("".join(_LAST.findall(lower)[-1:]))


def _in_sentence(text: str, trace: re.Pattern, score: re.Pattern) -> list[str]:
    """The scores after the first cue whose sentence holds a trace of a score."""
    cue = _CUE.search(text)
    while cue:
        end = text.find(".", cue.end())
        if end < 0:
            end = len(text)
        if trace.search(text, cue.end() + 1, end + 1):
            # the first after the cue counts, wherever it is
            return score.findall(text, cue.start())
        cue = _CUE.search(text, end)
    return []


_FORMS: dict[str, Callable[[str], list]] = {
    "rts": _reason_then_score,
    "stareval": lambda text: _BEFORE_STAR.findall(text.lower()),
    "mcq": lambda text: [_LETTERS.get(text.strip(), "")],
}
