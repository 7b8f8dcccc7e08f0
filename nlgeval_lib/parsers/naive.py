"""Simple rules that are often used, and two published ones, for comparison: what they would have read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from nlgeval_lib.parsers.text import Parsed, check_text
from nlgeval_lib.records import Status

_WORDS = ("one", "two", "three", "four", "five")
_WORD, _DIGIT = re.compile("|".join(_WORDS)), re.compile(r"[1-5](?:\.[1-5])?")
_LABELLED = [re.compile(rf"score:\s*({said})") for said in (r"[1-5](?:\.\d)?", _WORD.pattern)]
_CUE = re.compile(r"score|scoring")
# in a sentence after a cue: what shows that it holds a score, and the score itself
_SAID = ((re.compile("[1-5]"), _DIGIT), (re.compile(rf"\s(?:{_WORD.pattern})(?=[\s.,])"), _WORD))
_OF_WORD = re.compile(rf"score of ({_WORD.pattern})[\s.,]")
_LAST = re.compile(r"[1-5](?:\.\d\s)?(?:out of [1-5])?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)


def first_number(text: str | None) -> Parsed:
    """The first number of a text, wherever it stands. Raises: TypeError where `text` is neither str nor None."""
    return _read(text, "first number", lambda said: next(iter(_NUMBER.findall(said)), None))


def last_number(text: str | None) -> Parsed:
    """The last number of a text, wherever it stands. Raises: TypeError where `text` is neither str nor None."""
    return _read(text, "last number", lambda said: next(iter(_NUMBER.findall(said)[::-1]), None))


def authors_acloserlook(text: str | None) -> Parsed:
    """What Chiang and Lee's decoder reads: the first digit after the last "rating:", with "1-3" taken out.

    A decimal is cut to its first digit (2.5 becomes 2). Where there is no digit, Table 2 of their paper leaves the
    sample out; their Table 3 counts it as 0.
    Raises: TypeError where `text` is neither str nor None.
    Source: Chiang and Lee 2023, repository d223302/A-Closer-Look-To-LLM-Evaluation, meta_eval_summeval.py.
    """

    def rule(said: str) -> str | None:
        digit = re.search("[0-9]", said.lower().replace("1-3", " ").rpartition("rating:")[2])
        return digit and digit.group()

    return _read(text, "authors (A Closer Look)", rule)


def authors_llm_summeval(text: str | None, form: str = "rts") -> Parsed:
    """What Shen et al.'s decoder reads, on their scale of 1 to 5.

    form: `rts` (reason then score) tries in turn "score:" and a digit or word, the first digit or word after "score" or
    "scoring" in the same sentence, and the last digit from 1 to 5; `stareval` the word before "star"; `mcq` the whole
    text as a letter from A to E.
    Raises: ValueError for an unknown form; TypeError where `text` is neither str nor None.
    Source: Shen et al. 2023, repository DAMO-NLP-SG/LLM_summeval, utils.py.
    """
    rules: dict[str, Callable[[str], str | None]] = {"rts": _rts, "stareval": _stars, "mcq": _letter}
    if form not in rules:
        raise ValueError(f"form must be one of {', '.join(rules)}, got {form!r}")
    return _read(text, "authors (LLM summeval)", rules[form])


def _rts(text: str) -> str | None:
    said = text.lower()
    for pattern in _LABELLED:
        if match := pattern.search(said):
            return match[1]
    for trace, score in _SAID:
        at = 0
        while cue := _CUE.search(said, at):
            at = said.find(".", cue.end())
            at = len(said) if at < 0 else at
            if trace.search(said, cue.end() + 1, at + 1):  # the first after the cue counts, wherever it is
                return score.findall(said, cue.start())[0]
    match = _OF_WORD.search(said)
    last = _LAST.findall(said)
    return match[1] if match else _DIGIT.findall(last[-1])[0] if last else None


def _stars(text: str) -> str | None:
    match = re.search(r"\S\sstar", text.lower())
    return text.lower()[: match.start() + 1].rsplit(maxsplit=1)[-1] if match else None


def _letter(text: str) -> str | None:
    place = "ABCDE".find(text.strip())
    return str(place + 1) if place >= 0 and len(text.strip()) == 1 else None


def _read(text: str | None, name: str, rule: Callable[[str], str | None]) -> Parsed:
    """What the rule finds in the text as it is: digits, or a number word up to five."""
    answer = check_text(text, f"naive ({name})")
    if text is None or answer is None:
        return Parsed(math.nan, Status.EMPTY, "no text", name)
    found = rule(text)
    try:
        value = float(_WORDS.index(found) + 1 if found in _WORDS else found or "nan")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        return Parsed(math.nan, Status.UNPARSED, "the rule finds no number", name)
    return Parsed(value, Status.OK, "", name)
