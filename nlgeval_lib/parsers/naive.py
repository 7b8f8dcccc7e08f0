"""Simple rules that are often used, and two published ones, for comparison: what they would have read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from nlgeval_lib.parsers.base import Parsed, check_text
from nlgeval_lib.schema import Status

_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_WORDS = ("one", "two", "three", "four", "five")
_ANY_WORD = re.compile("|".join(_WORDS))


def first_number(text: str | None) -> Parsed:
    """The first number of a text, wherever it stands. Raises: TypeError where `text` is neither str nor None."""
    match = _NUMBER.search(text) if check_text(text, "naive.first_number") is not None else None
    return _result(text, float(match.group()) if match else None, "first number")


def last_number(text: str | None) -> Parsed:
    """The last number of a text, wherever it stands. Raises: TypeError where `text` is neither str nor None."""
    found = _NUMBER.findall(text) if check_text(text, "naive.last_number") is not None else []
    return _result(text, float(found[-1]) if found else None, "last number")


def authors_acloserlook(text: str | None) -> Parsed:
    """What Chiang and Lee's decoder reads: the first digit after the last "rating:", with "1-3" taken out.

    A decimal is cut to its first digit (2.5 becomes 2). Where there is no digit, Table 2 of their paper leaves the
    sample out; their Table 3 counts it as 0.
    Raises: TypeError where `text` is neither str nor None.
    Source: Chiang and Lee 2023, repository d223302/A-Closer-Look-To-LLM-Evaluation, meta_eval_summeval.py.
    """
    value = None
    if check_text(text, "naive.authors_acloserlook") is not None:
        said = text.lower().replace("1-3", " ").rpartition("rating:")[2]
        digit = re.search("[0-9]", said)
        value = float(digit.group()) if digit else None
    return _result(text, value, "authors (A Closer Look)")


_SCORE_DIGIT = re.compile(r"score:\s*([1-5](?:\.\d)?)")
_SCORE_WORD = re.compile(rf"score:\s*({'|'.join(_WORDS)})")
_NEAR_DIGIT = re.compile(r"(?:score|scoring)[^.]+[1-5](?:\.\d)?")
_NEAR_WORD = re.compile(rf"(?:score|scoring)[^.]+\s(?:{'|'.join(_WORDS)})[\s.,]")
_OF_WORD = re.compile(rf"score of ({'|'.join(_WORDS)})[\s.,]")
_LAST = re.compile(r"[1-5](?:\.\d\s)?(?:out of [1-5])?")
_VALUE = re.compile(r"[1-5](?:\.[1-5])?")
_STAR = re.compile(r"(\S+)\sstar")
_LETTERS = MappingProxyType({letter: float(place) for place, letter in enumerate("ABCDE", 1)})
FORMS = ("rts", "stareval", "mcq")


def authors_llm_summeval(text: str | None, form: str = "rts") -> Parsed:
    """What Shen et al.'s decoder reads, on their scale of 1 to 5.

    form: `rts` (reason then score) tries in turn "score:" and a digit or word, the first digit or word after "score" or
    "scoring" in the same sentence, and the last digit from 1 to 5; `stareval` the word before "star"; `mcq` the whole
    text as a letter from A to E.
    Raises: ValueError for an unknown form; TypeError where `text` is neither str nor None.
    Source: Shen et al. 2023, repository DAMO-NLP-SG/LLM_summeval, utils.py.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    value = None
    if check_text(text, "naive.authors_llm_summeval") is not None:
        value = {"rts": _rts, "stareval": _stars, "mcq": lambda said: _LETTERS.get(said.strip())}[form](text)
    return _result(text, value, "authors (LLM summeval)")


def _rts(text: str) -> float | None:
    said = text.lower()
    for pattern, word in ((_SCORE_DIGIT, False), (_SCORE_WORD, True)):
        match = pattern.search(said)
        if match:
            return _word(match.group(1)) if word else float(match.group(1))
    match = _NEAR_DIGIT.search(said)
    if match:
        return float(_VALUE.search(match.group()).group())
    for pattern in (_NEAR_WORD, _OF_WORD):
        match = pattern.search(said)
        if match:
            return _word(_ANY_WORD.search(match.group()).group())
    found = _LAST.findall(said)
    return float(_VALUE.search(found[-1]).group()) if found else None


def _stars(text: str) -> float | None:
    match = _STAR.search(text.lower())
    if not match:
        return None
    if match.group(1) in _WORDS:
        return _word(match.group(1))
    try:
        value = float(match.group(1))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _word(word: str) -> float:
    return _WORDS.index(word) + 1.0


def _result(text: str | None, value: float | None, rule: str) -> Parsed:
    if text is None or not text.strip():
        return Parsed(math.nan, Status.EMPTY, "no text", rule)
    if value is None or not math.isfinite(value):
        return Parsed(math.nan, Status.UNPARSED, "the rule finds no number", rule)
    return Parsed(value, Status.OK, "", rule)


RULES: Mapping[str, Callable[[str | None], Parsed]] = MappingProxyType(
    {
        "first number": first_number,
        "last number": last_number,
        "authors (A Closer Look)": authors_acloserlook,
        "authors (LLM summeval)": authors_llm_summeval,
    }
)
