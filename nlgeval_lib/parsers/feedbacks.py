"""Feedback with a score behind a mark such as [RESULT], as Prometheus writes it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nlgeval_lib.parsers.normalise import normalised
from nlgeval_lib.parsers.ratings import Rating, rating, read_text, within
from nlgeval_lib.parsers.text import (
    WORD,
    Parsed,
    check_scale,
    check_text,
    readable,
    why,
)
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Feedback(Parsed):
    """A score with the feedback that leads to it, kept also without a score."""

    feedback: str = ""


_MARKS = {  # by mode
    "verbalizer": re.compile(
        r"\[\s{0,5}(?:(?:final|overall)\s)?"
        r"(?:results?|scores?|ratings?|grade|verdict)\s{0,5}[:=]?\s{0,5}"
        r"(?P<inner>[^\[\]\n]{0,40})\]",
        re.I,
    ),
    "strict": re.compile(r"\[RESULT\]", re.I),
}
_MARKS["brackets"] = _MARKS["verbalizer"]
# the score alone in brackets at the end, with the prompt's words about it or without
_LAST_BRACKETS = re.compile(
    r"\[\s?(?P<score>\d{1,6})\s?\](?:\s?\([^()\n\d]{0,40}\d+ (?:and|to) \d+\))?[\s.]*\Z"
)
_STRICT_SCORE = re.compile(
    r"[ \t]{0,9}\n?[ \t]{0,9}\(?"
    r"(?P<score>\d{1,6})\)?[ \t]{0,9}\.?[ \t]{0,9}(?=\n|\Z|</s>)",
    re.ASCII,
)
_HOLDS_NUMBER = re.compile(rf"\d|\b{WORD}\b", re.I)
# the format line of the prompt, repeated: "[RESULT] (an integer number between 1 and
# 5)"
_FORMAT = re.compile(
    r"\s?[\"'(<\[{]{0,3}\s?"
    r"(?:an?|the|your|write|insert|integer|score|number|\d+\s?(?:-|to)\s?\d+)\b",
    re.I,
)
# a model that does not stop begins the next prompt
_NEXT_PROMPT = re.compile(
    r"#{2,}\s?"
    r"(?:task description|the instruction|instruction|response to evaluate"
    r"|reference answer|score rubrics?|feedback|human|user)"
    r"|\[/?INST\]|<\|?(?:im_start|im_end|user|endoftext)\|?>",
    re.I,
)
_HEADS = re.compile(r"eedback(?<=\b[Ff]eedback)\s?:")
_HEAD = re.compile(r"\A[\s\"'*#]*feedback\s?:?[\s*]*", re.I)
_IN_JSON = re.compile(
    r'"(?:feedback|reason|explanation|rationale|analysis)"\s?:\s?"((?:[^"\\]|\\.)*)"',
    re.I,
)
_QUOTED_ON = re.compile(
    r"[^\n\w\"']{0,6}(?:\d[\d./]{0,5}\s?)?(?P<quote>[\"'])[,.]?[ ]+[a-z]", re.I
)


def feedback(
    text: str | None, low: float = 1, high: float = 5, mode: str = "verbalizer"
) -> Feedback:
    """The score and the feedback in a text of the form "... [RESULT] 4".

    The last `[RESULT]` that is not the prompt's format line counts, up to where a next
    prompt begins; numbers in the feedback never win over it. `mode="strict"` reads an
    integer that ends its line; `"verbalizer"` also "[Score 5]", "[RESULT] 4 out of 5",
    and without any mark the last "Score: 4" or "I rate it 4/5"; `"brackets"`, before
    those without a mark, a bare "[4]" at the end.
    Raises: ValueError for a bad scale or mode.
    Source: Prometheus, section 3.2 and appendix J (format), Table 9 (verbaliser).
    """
    low, high = check_scale(low, high)
    if mode not in _MARKS:
        raise ValueError(f"mode must be one of {', '.join(_MARKS)}, got {mode!r}")
    content = check_text(text, "feedback")
    if content is None:
        return Feedback(math.nan, Status.EMPTY, "no text", "empty")
    source = readable(content)
    read, start, end = _last_mark(source, low, high, mode)
    prefix = ""
    last = _LAST_BRACKETS.search(source) if mode == "brackets" else None
    if last and not (read and read.ok):
        read = within(float(last["score"]), "brackets", low, high)
        start, end = last.span()
    if read is None and mode != "strict":
        verdict, *_ = read_text(source, low, high, None)
        # not a number that only stands alone
        if not verdict.ok or verdict.rule in ("final", "label", "phrase", "form"):
            read = verdict
            prefix = "verbalizer:"
    if read is None:
        silence = why(source.lower())
        status, reason = silence or (Status.UNPARSED, "no [RESULT] with a score")
        read = Rating(math.nan, status, reason, "none")
    rule = f"{prefix}{read.rule}"
    feedback_text = _feedback_text(source, start, end)
    return Feedback(read.value, read.status, read.reason, rule, feedback_text)


def _last_mark(
    source: str, low: float, high: float, mode: str
) -> tuple[Rating | None, int, int]:
    """The verdict behind the last mark that has one, or None, its start and end."""
    read_mark = _strict if mode == "strict" else _marked
    read = None
    start = len(source)
    end = len(source)
    marks = list(_MARKS[mode].finditer(source))
    for mark in marks[:100] + marks[100:][-100:]:
        scored = read is not None and read.ok
        if scored and _NEXT_PROMPT.search(source, end, mark.start()):
            break
        verdict, verdict_end = read_mark(source, mark, low, high)
        if verdict is None:
            continue  # the format line of a prompt
        begun_again = scored and verdict.rule == "cut" and mode != "strict"
        if not begun_again:
            read = verdict
            start = mark.start()
            end = verdict_end
    return read, start, end


def _strict(
    source: str, mark: re.Match, low: float, high: float
) -> tuple[Rating | None, int]:
    """The integer behind [RESULT] and where it ends; None for a format line."""
    if _FORMAT.match(source, mark.end()):
        return None, 0
    score = _STRICT_SCORE.match(source, mark.end())
    if score:
        return within(float(score["score"]), "result", low, high), score.end()
    missing = (Status.TRUNCATED, "the text ends after [RESULT]", "cut")
    if source[mark.end() :].strip():
        missing = (Status.UNPARSED, "no integer alone after [RESULT]", "result")
    return Rating(math.nan, *missing), len(source)


def _marked(
    source: str, mark: re.Match, low: float, high: float
) -> tuple[Rating | None, int]:
    """The score in or behind a mark and where it ends; None where it is no verdict."""
    inside = _HOLDS_NUMBER.search(mark["inner"]) is not None
    content = mark["inner"] if inside else source[mark.end() : mark.end() + 160]
    if _quoted(source, mark) or (not inside and _is_format(content, low, high)):
        return None, 0
    if not content.strip():
        missing = (Status.TRUNCATED, "the text ends after its mark", "cut")
        return Rating(math.nan, *missing), len(source)
    content = _NEXT_PROMPT.split(content, maxsplit=1)[0].replace("</s>", " ")
    content = content.strip().lstrip("\"': =>")
    read = rating(f"score: {content}", low, high)
    end = mark.end()
    if not inside:
        score = _SCORE_TEXT.match(source, end)
        end = score.end() if score else end
    return Rating(read.value, read.status, read.reason, f"result:{read.rule}"), end


def _quoted(source: str, mark: re.Match) -> bool:
    """Whether a mark stands in quotation marks in the middle of a sentence."""
    quoted_on = _QUOTED_ON.match(source, mark.end())
    opening = source[max(0, mark.start() - 2) : mark.start()].strip()[-1:]
    if not quoted_on or quoted_on["quote"] != opening:
        return False
    return source[: mark.start() - 1].strip("\"' \n") != ""


def _is_format(content: str, low: float, high: float) -> bool:
    """Whether what follows a mark is the prompt's format line, without a number."""
    if not _FORMAT.match(content):
        return False
    line = content.split("\n", 1)[0]
    return not _HOLDS_NUMBER.search(normalised(line, low, high))


_SCORE_TEXT = re.compile(
    r"[\s(*:=-]*(?:\w+:\s*)?(?:\d+(?:\.\d+)?(?:\s*(?:/|out of)\s*\d+)?)?[)\s.*]*"
)


def _feedback_text(source: str, start: int, end: int) -> str:
    """The feedback before the verdict, or after it where nothing is before."""
    if start == len(source) and source.lstrip().startswith(("{", "```")):
        in_json = _IN_JSON.search(source)
        if in_json:
            return in_json[1].strip()
    head_ends = [head.end() for head in _HEADS.finditer(source, 0, start)]
    first = head_ends[-1] if head_ends else 0
    lead = _HEAD.sub("", source[first:start]).strip()
    if lead.strip(" \t\n#*-\"'"):
        return lead
    return _HEAD.sub("", source[end:]).strip()
