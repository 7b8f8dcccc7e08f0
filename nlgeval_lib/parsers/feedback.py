"""Prometheus' output: feedback, then `[RESULT]` and a score; strictly, or with the verbaliser of its Table 9."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nlgeval_lib.parsers import silence
from nlgeval_lib.parsers.base import Parsed, check_scale, check_text, number
from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.parsers.mention import Mention, Strength
from nlgeval_lib.parsers.mentions import find
from nlgeval_lib.parsers.quick import AnyCase, starting
from nlgeval_lib.parsers.rating import of_readable, prepare, quoted_mark, rating
from nlgeval_lib.parsers.text import readable
from nlgeval_lib.records import Status

MODES = ("verbalizer", "strict")


@dataclass(frozen=True, slots=True)
class Feedback(Parsed):
    """A score with the feedback that leads to it; `feedback` is kept also where the score is missing."""

    feedback: str = ""
    low: float = math.nan
    high: float = math.nan
    mode: str = "verbalizer"


_STRICT_MARK = re.compile(r"\[RESULT\]", re.I)
_STRICT_SCORE = re.compile(r"[ \t]*\n?[ \t]*\(?(?P<score>\d{1,6})\)?[ \t]*\.?[ \t]*(?=\n|\Z|</s>)", re.ASCII)
_MARK = re.compile(
    r"\[\s{0,5}(?:(?:final|overall)\s)?(?:results?|scores?|ratings?|grade|verdict)\s{0,5}[:=]?\s{0,5}"
    r"(?P<inner>[^\[\]\n]{0,40}?)\s{0,5}\]",
    re.I,
)
_DIGIT_OR_WORD = re.compile(r"\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten)\b", re.I)
# the format line of the prompt, repeated: "[RESULT] (an integer number between 1 and 5)"
_FORMAT = re.compile(
    r"\s*[\"'(<\[{]*\s*(?:an?|the|your|write|insert|integer|score|number|\d+\s*(?:-|to)\s*\d+)\b", re.I
)
# a model that does not stop begins the next prompt
_NEXT_PROMPT = re.compile(
    r"#{2,}\s*(?:task description|the instruction|instruction|response to evaluate|reference answer|score rubrics?|"
    r"feedback|human|user)|\[/?INST\]|<\|?(?:im_start|im_end|user|endoftext)\|?>",
    re.I,
)
_SIGN = re.compile(r"\A\s*[*_]{0,3}\s*(?:[:=]|-(?!\d))\s*")  # "[RESULT]: 4", "[RESULT] - 4"
_SCALE_FIRST = re.compile(r"\W{0,3}[(\[]\s*-?\d+\s*(?:-|to)\s*\d+\s*[)\]]")  # "[RESULT] (1-5): 4"
_SAID = re.compile(r"[\s(*:=-]*(?:\w+:\s*)?(?:\d+(?:\.\d+)?(?:\s*(?:/|out of)\s*\d+)?)?[)\s.*]*")
_HEAD = re.compile(r"\A[\s\"'*#]*feedback\s*:?[\s*]*", re.I)
_FEEDBACK_MARK = AnyCase(rf"{starting('feedback')}\s*:")
_TAIL = 160
_MANY = 100  # of more marks than twice this the first and the last are read


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
    verdict = _strict(source, low, high) if mode == "strict" else _marked(source, low, high)
    if verdict is None and mode == "verbalizer":
        verdict = _unmarked(source, low, high)
    if verdict is None:
        status, reason = silence.why(source.lower()) or (Status.UNPARSED, "no [RESULT] with a score")
        verdict = (math.nan, status, reason, "none", len(source), len(source))
    value, status, reason, rule, start, end = verdict
    return Feedback(value, status, reason, rule, _words(source, start, end), low, high, mode)


_Verdict = tuple[float, Status, str, str, int, int]


def _judge(value: float, rule: str, low: float, high: float, start: int, end: int) -> _Verdict:
    if low <= value <= high:
        return value + 0.0, Status.OK, "", rule, start, end
    reason = f"{number(value)} is outside {number(low)} to {number(high)}"
    return math.nan, Status.OUT_OF_RANGE, reason, rule, start, end


def _strict(source: str, low: float, high: float) -> _Verdict | None:
    last = None
    for mark in _STRICT_MARK.finditer(source):
        if last is not None and last[1] is Status.OK and _NEXT_PROMPT.search(source, last[5], mark.start()):
            break
        if _FORMAT.match(source, mark.end()):
            continue
        score = _STRICT_SCORE.match(source, mark.end())
        if score:
            last = _judge(float(score["score"]), "result", low, high, mark.start(), score.end())
        elif source[mark.end() :].strip():
            last = (math.nan, Status.UNPARSED, "no integer alone after [RESULT]", "result", mark.start(), len(source))
        else:
            last = (math.nan, Status.TRUNCATED, "the text ends after [RESULT]", "result", mark.start(), len(source))
    return last


def _marked(source: str, low: float, high: float) -> _Verdict | None:
    last = None
    marks = list(_MARK.finditer(source))
    for mark in marks[:_MANY] + marks[max(_MANY, len(marks) - _MANY) :]:
        if last is not None and last[1] is Status.OK and _NEXT_PROMPT.search(source, last[5], mark.start()):
            break
        inner = mark["inner"]
        in_mark = _DIGIT_OR_WORD.search(inner) is not None
        if in_mark:
            said, end = inner, mark.end()
        else:
            said, end = source[mark.end() : mark.end() + _TAIL], mark.end()
            if _FORMAT.match(said) and not _DIGIT_OR_WORD.search(_after_format(said, low, high)):
                continue
        if not said.strip() and last is not None and last[1] is Status.OK:
            break  # begun again and cut off
        if not said.strip():
            last = (math.nan, Status.TRUNCATED, "the text ends after its mark", "result", mark.start(), len(source))
            continue
        if quoted_mark(mark):
            continue
        said = _SIGN.sub("", _until_next(said), count=1)
        read = rating(f"score {said}" if _SCALE_FIRST.match(said) else f"score: {said}", low, high)
        end = _SAID.match(source, end).end() if not in_mark else end
        last = (read.value, read.status, read.reason, f"result:{read.rule}", mark.start(), end)
    return last


def _after_format(said: str, low: float, high: float) -> str:
    return prepare(said.split("\n", 1)[0], low, high)[1]


def _until_next(said: str) -> str:
    """What follows a mark, up to where something else begins."""
    stop = _NEXT_PROMPT.search(said)
    return (said[: stop.start()] if stop else said).replace("</s>", " ").strip()


def _unmarked(source: str, low: float, high: float) -> _Verdict | None:
    """Without any mark: the last explicit verdict, else a phrase or n/high."""
    end = len(source)
    read = of_readable(source, low, high)
    if read.ok and read.rule in ("final", "label", "phrase", "form", "json"):
        return read.value, read.status, "", f"verbalizer:{read.rule}", end, end
    if read.rule == "conflict":
        explicit = [m for m in find(prepare(source, low, high)[1], low, high) if _is_explicit(m)]
        if explicit:
            return _judge(explicit[-1].value, "verbalizer:last", low, high, end, end)
    if read.ok:  # a number that only stands alone, or under another label
        return None
    return read.value, read.status, read.reason, f"verbalizer:{read.rule}", end, end


def _is_explicit(mention: Mention) -> bool:
    return (
        mention.strength is not None
        and mention.strength >= Strength.LABEL
        and not mention.flaw
        and not mention.enumerated
        and not mention.label
    )


def _words(source: str, start: int, end: int) -> str:
    """The feedback itself: before the verdict, or after it where nothing is before."""
    if start == len(source) and source.lstrip().startswith(("{", "```")):
        for item, _, _ in objects(source):
            if isinstance(item, Record):
                for name in ("feedback", "reason", "explanation", "rationale", "analysis"):
                    if isinstance(item.get(name), str):
                        return item[name].strip()
    before = source[:start]
    if "feedback" in before.lower() or not before.isascii():
        marks = list(_FEEDBACK_MARK.finditer(before))
        before = before[marks[-1].end() :] if marks else before
    before = _HEAD.sub("", before, count=1).strip()
    if before.strip(" \t\n#*-\"'"):
        return before
    return _HEAD.sub("", source[end:], count=1).strip()
