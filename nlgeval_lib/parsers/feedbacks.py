"""Feedback with a score behind a mark: "... [RESULT] 4"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nlgeval_lib.parsers.normalise import normalised
from nlgeval_lib.parsers.ratings import Rating, rating
from nlgeval_lib.parsers.ratings import read as read_rating
from nlgeval_lib.parsers.text import WORD, Parsed, check_scale, check_text, readable, shown, why
from nlgeval_lib.records import Status

MODES = ("verbalizer", "strict")


@dataclass(frozen=True, slots=True)
class Feedback(Parsed):
    """A score with the feedback that leads to it; `feedback` is kept also where the score is missing."""

    feedback: str = ""
    low: float = math.nan
    high: float = math.nan
    mode: str = "verbalizer"


_RESULT = {
    "strict": re.compile(r"\[RESULT\]", re.I),
    "verbalizer": re.compile(
        r"\[\s{0,5}(?:(?:final|overall)\s)?(?:results?|scores?|ratings?|grade|"
        r"verdict)\s{0,5}[:=]?\s{0,5}(?P<inner>[^\[\]\n]{0,40})\]",
        re.I,
    ),
}
_STRICT_SCORE = re.compile(
    r"[ \t]{0,9}\n?[ \t]{0,9}\(?(?P<score>\d{1,6})\)?[ \t]{0,9}\.?[ \t]{0,9}(?=\n|\Z|</s>)", re.ASCII
)
_HOLDS_NUMBER = re.compile(rf"\d|\b{WORD}\b", re.I)
# the format line of the prompt, repeated: "[RESULT] (an integer number between 1 and 5)"
_FORMAT = re.compile(
    r"\s?[\"'(<\[{]{0,3}\s?(?:an?|the|your|write|insert|integer|score|number|\d+\s?(?:-|to)\s?\d+)\b", re.I
)
# a model that does not stop begins the next prompt
_NEXT_PROMPT = re.compile(
    r"#{2,}\s?(?:task description|the instruction|instruction|response to evaluate|reference answer|score rubrics?|"
    r"feedback|human|user)|\[/?INST\]|<\|?(?:im_start|im_end|user|endoftext)\|?>",
    re.I,
)
_SAID = re.compile(r"[\s(*:=-]*(?:\w+:\s*)?(?:\d+(?:\.\d+)?(?:\s*(?:/|out of)\s*\d+)?)?[)\s.*]*")
_HEADS = re.compile(r"[Ff](?<!\w[Ff])(?:eedback|EEDBACK)\s?:")
_HEAD = re.compile(r"\A[\s\"'*#]*feedback\s?:?[\s*]*", re.I)
_QUOTED_ON = re.compile(r"[^\n\w\"']{0,6}(?:\d[\d./]{0,5}\s?)?(?P<quote>[\"'])[,.]?[ ]+[a-z]", re.I)


def feedback(text: str | None, low: float = 1, high: float = 5, mode: str = "verbalizer") -> Feedback:
    """The score and the feedback in a text of the form "... [RESULT] 4".

    The last verdict counts: the last `[RESULT]` that is not the prompt's format line, up to where a next prompt begins.
    `mode="strict"` reads `[RESULT]` and an integer that ends its line, nothing else. `mode="verbalizer"` also reads
    "[Score 5]", "[RESULT] 4 out of 5", and without any mark the last "Score: 4", "So the overall score is 4" or "I rate
    it 4/5". Numbers in the feedback never win over a mark.

    Returns: `Feedback`; `value` on the scale low to high.
    Raises: ValueError for a bad scale or mode; TypeError where `text` is neither str nor None.
    Source: Prometheus, section 3.2 and appendix J (format), Table 9 (verbaliser).
    """
    low, high = check_scale(low, high)
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    content = check_text(text, "feedback")
    if content is None:
        return Feedback(math.nan, Status.EMPTY, "no text", "empty", "", low, high, mode)
    source = readable(content)
    read, start, end = None, len(source), len(source)
    marks = list(_RESULT[mode].finditer(source))
    for mark in marks[:100] + marks[max(100, len(marks) - 100) :]:
        if read is not None and read.ok and _NEXT_PROMPT.search(source, end, mark.start()):
            break
        said, said_end = (_strict if mode == "strict" else _marked)(source, mark, low, high)
        if said is None or (said.rule == "cut" and mode != "strict" and read is not None and read.ok):
            continue  # the prompt's format line, a quotation; or begun again and cut off
        read, start, end = said, mark.start(), said_end
    if read is None and mode == "verbalizer":
        read = _unmarked(source, low, high)
    if read is None:
        status, reason = why(source.lower()) or (Status.UNPARSED, "no [RESULT] with a score")
        read = Rating(math.nan, status, reason, "none")
    return Feedback(read.value, read.status, read.reason, read.rule, _words(source, start, end), low, high, mode)


def _strict(source: str, mark: re.Match, low: float, high: float) -> tuple[Rating | None, int]:
    if _FORMAT.match(source, mark.end()):
        return None, 0
    score = _STRICT_SCORE.match(source, mark.end())
    if score:
        value = float(score["score"])
        ok = low <= value <= high
        reason = "" if ok else f"{shown(value)} is outside {shown(low)} to {shown(high)}"
        status = Status.OK if ok else Status.OUT_OF_RANGE
        return Rating(value if ok else math.nan, status, reason, "result"), score.end()
    if source[mark.end() :].strip():
        return Rating(math.nan, Status.UNPARSED, "no integer alone after [RESULT]", "result"), len(source)
    return Rating(math.nan, Status.TRUNCATED, "the text ends after [RESULT]", "cut"), len(source)


def _marked(source: str, mark: re.Match, low: float, high: float) -> tuple[Rating | None, int]:
    inside = _HOLDS_NUMBER.search(mark["inner"]) is not None
    said = mark["inner"] if inside else source[mark.end() : mark.end() + 160]
    opening = source[max(0, mark.start() - 2) : mark.start()].strip()[-1:]
    quoted = _QUOTED_ON.match(source, mark.end())
    if quoted and quoted["quote"] == opening and source[: mark.start() - 1].strip("\"' \n"):
        return None, 0
    if not inside and _FORMAT.match(said) and not _HOLDS_NUMBER.search(normalised(said.split("\n", 1)[0], low, high)):
        return None, 0
    if not said.strip():
        return Rating(math.nan, Status.TRUNCATED, "the text ends after its mark", "cut"), len(source)
    stop = _NEXT_PROMPT.search(said)
    said = (said[: stop.start()] if stop else said).replace("</s>", " ").strip()
    read = rating(f"score: {said}", low, high)
    end = mark.end() if inside else _SAID.match(source, mark.end()).end()  # type: ignore[union-attr]  # matches nothing too
    return Rating(read.value, read.status, read.reason, f"result:{read.rule}"), end


def _unmarked(source: str, low: float, high: float) -> Rating | None:
    """Without any mark: the last explicit verdict, else a phrase or n/high."""
    read = read_rating(source, low, high, None)[0]
    if read.ok and read.rule not in ("final", "label", "phrase", "form"):
        return None  # a number that only stands alone, or under another label
    return Rating(read.value, read.status, read.reason, f"verbalizer:{read.rule}")


def _words(source: str, start: int, end: int) -> str:
    """The feedback itself: before the verdict, or after it where nothing is before."""
    if start == len(source) and source.lstrip().startswith(("{", "```")):
        said = re.search(
            r'"(?:feedback|reason|explanation|rationale|analysis)"\s?:\s?"((?:[^"\\]|\\.)*)"', source, re.I
        )
        if said:
            return said[1].strip()
    heads = list(_HEADS.finditer(source, 0, start))
    before = _bare(source[heads[-1].end() if heads else 0 : start])
    return before if before.strip(" \t\n#*-\"'") else _bare(source[end:])


def _bare(text: str) -> str:
    head = _HEAD.match(text)
    return text[head.end() if head else 0 :].strip()
