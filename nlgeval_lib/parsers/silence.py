"""Why a text holds no value: the judge declined, or the text was cut off."""

from __future__ import annotations

import re

from nlgeval_lib.parsers.quick import Gated, spelled, starting
from nlgeval_lib.parsers.text import words_of
from nlgeval_lib.records import Status

_JUDGE = r"(?:rated?|scored?|evaluated?|assess(?:ed)?|judged?|graded?)"
_UNABLE = ("can not", "cannot", "can't", "could not", "possible to", "able to")
# "I cannot rate it", "it is impossible to rate"
_DECLINED = (
    Gated(
        ("i ", "i'", "we ", "we'"),
        rf"{starting('i', 'we')}(?:(?:'m| am|'re| are) (?:sorry|afraid|unable|not able|not in a position)\b|"
        r" (?:can ?not|can't|could not|couldn't|am unable to|won't|will not|don't feel able to|refuse to|"
        r"decline to|must decline|do not have|don't have)\b[^.\n]{0,60}\b(?:rate|rating|score|scoring|evaluat\w+|"
        r"assess\w*|judge|judgment|grade|assign|determine|comply|assist|help|opinions?|access|compare)\b)",
        words="i we",
    ),
    Gated(
        _UNABLE,
        r"\b(?:can ?not|can't|could not|unable to|impossible to|not possible to|not able to) (?:be )?"
        rf"(?:accurately |properly |fairly |reliably )?(?:{_JUDGE}|(?:provide|give) an? (?:score|rating)|assign an?)\b",
        words="not cannot t unable impossible",
    ),
)
_REFUSALS = (
    Gated(
        ("as a ai", "as an ai", "artificial", "language model"),
        r"\bas an? (?:ai|artificial intelligence|large language model|language model)\b[^.\n]{0,80}\b(?:i|we)\b",
        words="ai artificial language",
    ),
    Gated("sorry", r"\bsorry,? (?:but )?i\b", words="sorry"),
    Gated("i apologi", r"\bi apologi[sz]e\b", words="apologise apologize"),
    *_DECLINED,
    Gated(
        ("score", "rating", "grade", "verdict", "result", "answer"),
        rf"{starting('score', 'rating', 'grade', 'verdict', 'result', 'answer')}\W{{1,4}}"
        r"(?:n/?a|none|not applicable|not available|null|unknown|unable|cannot)\b",
        words="n na none applicable available null unknown unable cannot",
    ),
)
_DECLINING = spelled("not cannot t unable impossible refuse decline")
_TURNED = re.compile(r"\b(?:but|however|nonetheless|nevertheless|still|though|if|so|yet|instead|based)\b")
_NOTHING = re.compile(r"\W*(?:n/?a|not applicable|none|null|unknown)\W*\Z")
# asking back, or missing what is to be judged: only where the text says little else
_ASKS_BACK = re.compile(
    r"\b(?:insufficient|not enough) (?:information|context|data)\b|"
    r"\b(?:please|could you|can you) (?:provide|share|specify|clarify|supply)\b|"
    r"\b(?:no|without an?) (?:response|summary|output|text|fact|conversation|context|translation|answer)\b"
    r"[^.\n]{0,30}\b(?:provided|given|supplied|available)\b"
)
_AT_CUE = re.compile(
    r"(?:\b(?:score|rating|grade|verdict|result|answer|stars?|mark|evaluation|coherence|consistency|fluency|relevance)\b"
    r"[^\n.!?]{0,40}?(?::|=|\bis|\bof|\bas|\bat)|\[result\]|\[\[|\ba (?:score|rating) of(?: an?)?|"
    r"\b(?:give|rate|score|assign|deserves|receives|earns|gets|earning|receiving)"
    r"(?: (?:it|this|the [a-z]+))?(?: (?:a|an|as|as a))?)[\s\"'(\[]*\Z"
)
_OPEN_END = re.compile(
    r"(?:[,(\[\-]|\b(?:the|a|an|of|to|and|or|in|on|for|with|that|which|is|are|was|by|as|at|from|but|because|its|it's|"
    r"their|this|not|does|has|have|be|been|also|more|than|about|into|between|while|such|very|doesn't|i|would|"
    r"lacks|provides|includes|contains|shows|makes|needs|because (?:it|they|she|he|we)))\s*\Z"
)
# after a letter or a digit, a text without an end ends in one of these
_OPEN_SIGNS = ":=]\"'[(,-"
_OPENING = 400
_LONG = 300


def why(text: str, words: set[bytes] | None = None) -> tuple[Status, str] | None:
    """The status and reason of a text (readable, lower case) without a value, None where neither fits.

    `words` are those of the text (see `text.words_of`), where they are known.
    """
    opening = text[:_OPENING]
    at = _refused(opening, words_of(opening) if words is None else words)
    if at < 0 and len(text) < _LONG:
        asks = _ASKS_BACK.search(opening)
        at = asks.start() if asks else -1
    # quoted words are the judged text's
    if at >= 0 and opening.count('"', 0, at) % 2 == 0:
        return Status.REFUSED, "the judge declined or says that it cannot rate"
    tail = text[-200:].rstrip()
    last = tail[-1:]
    if not (last.isalnum() or last in _OPEN_SIGNS):
        return None
    if _AT_CUE.search(tail):
        return Status.TRUNCATED, "the text ends where its score should follow"
    if (len(text) > 20 and _OPEN_END.search(tail)) or (len(text) > _LONG and last.isalnum()):
        return Status.TRUNCATED, "the text ends in the middle of a sentence"
    return None


def declined(opening: str, words: set[bytes] | None) -> bool:
    """Whether a text (readable, lower case, of these `words`) declines to rate and nothing turns that round."""
    last = -1
    if words is not None and _DECLINING.isdisjoint(words):
        return False
    for refusal in _DECLINED:
        for match in refusal.finditer(opening):
            last = max(last, match.end())
    return last >= 0 and not _TURNED.search(opening, last)


def _refused(opening: str, words: set[bytes] | None) -> int:
    """Where a refusal begins, the first one; -1 without one."""
    if _NOTHING.match(opening):
        return 0
    first = -1
    for refusal in _REFUSALS:
        match = refusal.search(opening, words)
        if match and (first < 0 or match.start() < first):
            first = match.start()
    return first
