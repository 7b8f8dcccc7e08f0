"""Simple rules that are often used, and two published ones, for comparison: what they would have read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from nlgeval_lib.parsers.text import Parsed, check_text
from nlgeval_lib.records import Status

_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_WORDS = ("one", "two", "three", "four", "five")
_ANY_WORD = re.compile("|".join(_WORDS))


def first_number(text: str | None) -> Parsed:
    """The first number of a text, wherever it stands. Raises: TypeError where `text` is neither str nor None."""
    match = _NUMBER.search(_given(text, "first_number"))
    return _result(text, float(match.group()) if match else None, "first number")


def last_number(text: str | None) -> Parsed:
    """The last number of a text, wherever it stands. Raises: TypeError where `text` is neither str nor None."""
    found = _NUMBER.findall(_given(text, "last_number"))
    return _result(text, float(found[-1]) if found else None, "last number")


def authors_acloserlook(text: str | None) -> Parsed:
    """What Chiang and Lee's decoder reads: the first digit after the last "rating:", with "1-3" taken out.

    A decimal is cut to its first digit (2.5 becomes 2). Where there is no digit, Table 2 of their paper leaves the
    sample out; their Table 3 counts it as 0.
    Raises: TypeError where `text` is neither str nor None.
    Source: Chiang and Lee 2023, repository d223302/A-Closer-Look-To-LLM-Evaluation, meta_eval_summeval.py.
    """
    said = _given(text, "authors_acloserlook").lower().replace("1-3", " ").rpartition("rating:")[2]
    digit = re.search("[0-9]", said)
    return _result(text, float(digit.group()) if digit else None, "authors (A Closer Look)")


_SCORE_DIGIT = re.compile(r"score:\s*([1-5](?:\.\d)?)")
_SCORE_WORD = re.compile(rf"score:\s*({'|'.join(_WORDS)})")
_CUE = re.compile(r"score|scoring")
_DIGIT = re.compile(r"[1-5](?:\.[1-5])?")
_WORD_ALONE = re.compile(rf"\s(?:{'|'.join(_WORDS)})(?=[\s.,])")
_OF_WORD = re.compile(rf"score of ({'|'.join(_WORDS)})[\s.,]")
_LAST = re.compile(r"[1-5](?:\.\d\s)?(?:out of [1-5])?")
_BEFORE_STAR = re.compile(r"\S\sstar")
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
    rule: Callable[[str], float | None] = {"rts": _rts, "stareval": _stars, "mcq": _letter}[form]
    return _result(text, rule(_given(text, "authors_llm_summeval")), "authors (LLM summeval)")


def _letter(text: str) -> float | None:
    return _LETTERS.get(text.strip())


def _rts(text: str) -> float | None:
    said = text.lower()
    match = _SCORE_DIGIT.search(said)
    if match:
        return float(match.group(1))
    match = _SCORE_WORD.search(said)
    if match:
        return _word(match.group(1))
    for start, end, stop in _sentences(said):
        digit = re.search("[1-5]", said[end + 1 : stop])
        if digit:  # somewhere after the cue: the first after it counts, with a decimal only where the sentence ends
            return float(_DIGIT.findall(said, start)[0])
    for start, end, stop in _sentences(said):
        if _WORD_ALONE.search(said, end + 1, stop + 1):
            return _word(_ANY_WORD.findall(said, start)[0])
    match = _OF_WORD.search(said)
    if match:
        return _word(match.group(1))
    found = _LAST.findall(said)
    return float(_DIGIT.findall(found[-1])[0]) if found else None


def _sentences(said: str) -> Iterator[tuple[int, int, int]]:
    """The first cue up to each full stop: its start, its end, and the place of the stop."""
    at = 0
    while cue := _CUE.search(said, at):
        stop = said.find(".", cue.end())
        stop = len(said) if stop < 0 else stop
        yield cue.start(), cue.end(), stop
        at = stop


def _stars(text: str) -> float | None:
    said = text.lower()
    match = _BEFORE_STAR.search(said)
    if not match:
        return None
    word = said[: match.start() + 1].rsplit(maxsplit=1)[-1]
    if word in _WORDS:
        return _word(word)
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _word(word: str) -> float:
    return _WORDS.index(word) + 1.0


def _given(text: str | None, rule: str) -> str:
    """The text as it is, "" for none. Raises: TypeError."""
    return text or "" if check_text(text, f"naive.{rule}") is not None else ""


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
