"""What every parser returns; how a text is made readable; why a text has no value."""

from __future__ import annotations

import functools
import html
import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.parsers import reasoning
from nlgeval_lib.records import Judgment, Status


@dataclass(frozen=True, slots=True)
class Parsed:
    """One reading of one text: a value, or (NaN, None) the reason why there is none."""

    value: Any
    status: Status
    reason: str = ""
    rule: str = ""

    @property
    def ok(self) -> bool:
        """Whether a value was read."""
        return self.status is Status.OK

    def judgment(self, **details: Any) -> Judgment:
        """This reading as a `Judgment`. Raises: TypeError where it is no number."""
        value = math.nan if self.value is None else self.value
        if not isinstance(value, (int, float)):
            raise TypeError(
                f"{type(self).__name__}.value is {value!r}, not a number; "
                "take its fields instead"
            )
        details = {"rule": self.rule, **details}
        return Judgment(float(value), self.status, self.reason, details)


def check_text(text: object, parser: str) -> str | None:
    """The answer in `text`; None where nothing was written (None, blanks)."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise TypeError(
            f"parsers.{parser} reads a str or None, "
            f"got {type(text).__name__}: {str(text)[:60]!r}"
        )
    if not text or text.isspace():
        return None
    if reasoning.may_be_marked(text) or text.startswith(("[INST]", " [INST]")):
        return answer(text)
    return text


@functools.lru_cache(typed=True)
def check_scale(low: Any, high: Any) -> tuple[float, float]:
    """Both ends of a scale as floats. Raises: ValueError."""
    for name, end in (("low", low), ("high", high)):
        number = isinstance(end, (int, float)) and not isinstance(end, bool)
        if not number or not math.isfinite(end):
            raise ValueError(f"{name} must be a finite number, got {end!r}")
    if not low < high:
        raise ValueError(f"a scale needs low < high, got low={low!r}, high={high!r}")
    return float(low), float(high)


# the prompt, which is sometimes repeated before the answer
_PROMPT = re.compile(r"\s*+(?:<s>)?\s*+\[INST\].*?\[/INST\]", re.S)


def answer(text: str) -> str:
    """The text without reasoning and prompt; "answer:" (cut off) if nothing is left."""
    text = reasoning.split(text)[1]
    prompt = _PROMPT.match(text)
    if prompt:
        text = text[prompt.end() :]
    return text if text.strip() else "answer:"


# A longer text is read at both ends: verdicts stand at the start or at the end, and the
# time stays bounded.
READ_AT_EACH_END = 50_000
_SIGNS = {
    '"': "“”„‟«»〝〞＂「」『』",
    "'": "‘’‚‛′＇",
    "-": "‐‑‒–−﹣－•‣▪◦●∙⁃",
    " - ": "—―",
    "/": "⁄∕",
    ",": "٬、，",
    "[": "【〔",
    "]": "】〕",
    "\n": "\u2028\u2029",
    ".": "٫",
    ". ": "。",
    ":": "∶",
    "★": "⭐",
    "->": "→➜➔➡",
    "=>": "⇒",
}


class _Readable(dict):
    """A table for str.translate that works out each character once."""

    def __missing__(self, code: int) -> int | str | None:
        char = chr(code)
        kind = unicodedata.category(char)
        sign: int | str | None = code
        if unicodedata.decimal(char, None) is not None:
            sign = str(unicodedata.decimal(char))
        elif 0xFF01 <= code <= 0xFF5E:
            sign = chr(code - 0xFEE0)
        elif kind == "Zs" or (kind == "Cc" and char not in "\t\n\r"):
            sign = " "
        elif kind in ("Cf", "Me") or (kind == "Mn" and 0xFE00 <= code <= 0xFE0F):
            sign = None
        self[code] = sign
        return sign


_TABLE = _Readable()
for _sign, _chars in _SIGNS.items():
    _TABLE.update(dict.fromkeys(map(ord, _chars), _sign))
_ASCII = bytes((9, 10, *range(32, 127)))
_LONG_RUN = re.compile(r"[ \t\n][ \t\n]{8,}|(?P<sign>[^\w\s])(?P=sign){9,}")
_SHORT = 4000


def with_lines(text: str) -> str:
    """The text with one form of line ends; of a very long one, both ends."""
    if len(text) > 2 * READ_AT_EACH_END:
        text = text[:READ_AT_EACH_END] + "\n" + text[-READ_AT_EACH_END:]
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\\n" in text:
        text = re.sub(r"\\n(?![a-z])", "\n", text)
    return text


def readable(text: str) -> str:
    """The same text with one form of digits, quotes, dashes, blanks and line ends."""
    text = with_lines(text)
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii() or text.encode().translate(None, _ASCII):
        text = text.translate(_TABLE)
    if len(text) > _SHORT:
        # long runs say nothing, and looking back over them would take quadratic time
        text = _LONG_RUN.sub(_shortened, text)
    return text


def _shortened(run: re.Match) -> str:
    if run["sign"]:
        return 3 * run["sign"]
    return "\n\n" if "\n" in run[0] else "  "


def words(text: str) -> frozenset[str]:
    """The words of a list written as text."""
    return frozenset(text.split())


_UNIT_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TEN_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = _UNIT_NAMES.split()
_TENS = _TEN_NAMES.split()
WORDS = {unit: float(value) for value, unit in enumerate(_UNITS)}
WORDS |= {ten: 10.0 * value for value, ten in enumerate(_TENS, 2)}
# longest first, so that "fourteen" is not read as "four"; one flat list, which is
# searched faster than nested ones
_TO_NINETY_NINE = (rf"{ten}(?:[ -](?:{'|'.join(_UNITS[1:10])}))?" for ten in _TENS)
_UP_TO = sorted((*_UNITS, "hundred", "one hundred", "a hundred"), key=len, reverse=True)
WORD = rf"(?:{'|'.join((*_TO_NINETY_NINE, *_UP_TO))})"
DIGITS = r"\d+(?>(?:[.,]\d+)*)"
_DIGITS = re.compile(
    r"""
    [0-9]                     # a digit comes first, so that a search is fast
    (?<![\w$€£¥#@^%]\d)       # not in a word or an amount
    (?<!\d[.,:-]\d)           # not in a date, nor "gpt-4"
    [0-9]*(?>(?:[.,][0-9]+)*)
    (?!_)
    """,
    re.X,
)
_WORDS = re.compile(rf"\W({WORD})\b(?!-ish)")  # in a text with a blank before it


@functools.lru_cache(maxsize=4)
def places(text: str) -> list[tuple[int, int]]:
    """Start and end of every number, in digits or a word, of a lower case text."""
    spans = [match.span() for match in _DIGITS.finditer(text)]
    for match in _WORDS.finditer(f" {text}"):
        spans.append((match.start(1) - 1, match.end() - 1))
    return sorted(spans)


_DECIMAL_COMMA = re.compile(r"\d+,\d{1,2}")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


@functools.lru_cache(maxsize=4096)
def number_of(token: str) -> float | None:
    """The number of a token, or None (1.2.3); 1,5 is 1.5 and 1,500 is 1500."""
    if len(token) > 40:
        return None
    if token.isdigit() or token.replace(".", "", 1).isdigit():
        return float(token)
    if token[:1].isalpha():
        if "hundred" in token:
            return 100.0
        return sum(WORDS[word] for word in re.split(r"[ -]", token))
    if _THOUSANDS.fullmatch(token):
        return float(token.replace(",", ""))
    if _DECIMAL_COMMA.fullmatch(token):
        return float(token.replace(",", "."))
    return None


def shown(value: float) -> str:
    """A number as people write it: 4, 3.5."""
    return f"{value:g}"


def after_last(pattern: re.Pattern, text: str) -> str:
    """The text from where the last match of a pattern ends; all of it without one."""
    ends = (match.end() for match in pattern.finditer(text))
    return text[max(ends, default=0) :]


# --- what of a text that was cut at the token limit can be read
# "Score: 4" may have gone on as "4.5" or "4/10", and "Flu" as any word; a number before
# it may count what the word names ("scored four goals")
_LAST_WORD = re.compile(
    rf"(?:(?<!\w)(?:{WORD}|{DIGITS})[^\S\n]+)*\S*[^\S\n]*\Z", re.IGNORECASE
)
# a line that is nothing but the mark of a list is no score
_LIST_MARK = re.compile(r"(?:\A|\n)[ \t>*-]*\(?\d{1,3}[.):]?\s*\Z")


def finished_lines(text: str) -> str:
    """A cut list without its last item; of one line, without its last word."""
    lines, line_break, last = text.rpartition("\n")
    return f"{lines}{line_break}" if line_break else finished(last)


def finished(text: str) -> str:
    """A cut text without its last word and without a last line that marks a list."""
    text = _LAST_WORD.sub("", text)
    return _LIST_MARK.sub("\n", text)


# --- why a text has no value
_JUDGE = r"(?:rated?|scored?|evaluated?|assess(?:ed)?|judged?|graded?)"
_WILL_NOT = (
    r"(?:"
    # "I'm sorry", "I am unable"
    r"(?:'m| am|'re| are) (?:sorry|afraid|unable|not able|not in a position)\b"
    # "I cannot give a score", "I do not have an opinion"
    r"|"
    r" (?:can ?not|can't|could not|couldn't|am unable to|won't|will not|refuse to|"
    r"decline to|must decline|do not have|don't have)\b"
    r"[^.\n]{0,60}"
    r"\b(?:rat(?:e|ing)|scor(?:e|ing)|evaluat\w+|assess\w*|judge|judgment|grade|"
    r"assign|determine|comply|assist|help|opinions?|access|compare)\b"
    r")"
)
# "(impossible to) be fairly rated", "(not able to) give a score"
_TO_JUDGE = (
    rf" (?:be )?(?:accurately |properly |fairly |reliably )?(?:{_JUDGE}|"
    r"(?:provide|give) an? (?:score|rating)|assign an?)\b"
)
# "Score: n/a"
_NO_SCORE = (
    r"\W{1,4}(?:n/?a|none|not applicable|not available|null|unknown|unable|cannot)\b"
)


def _each(heads: str, tail: str) -> str:
    """Alternatives that each begin with a letter, which a search tells apart fast."""
    return "|".join(f"{head}{tail}" for head in heads.split(","))


_IMPOSSIBLE = (
    "can ?not,can't,could not,unable to,impossible to,not possible to,not able to"
)
_UNABLE = f"{_each('i,we', _WILL_NOT)}|{_each(_IMPOSSIBLE, _TO_JUDGE)}"
# both are searched in a text with a blank before it: what begins with \W is found fast
DECLINED = re.compile(rf"\W(?:{_UNABLE})")
_REFUSED = re.compile(
    r"\W(?:"
    # "As an AI language model, I"
    r"as an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"[^.\n]{0,80}\b(?:i|we)\b"
    # "Sorry, but I", "I apologize"
    r"|sorry,? (?:but )?i\b|i apologi[sz]e\b"
    rf"|{_each('score,rating,grade,verdict,result,answer', _NO_SCORE)}"
    rf"|{_UNABLE})"
)
_NOTHING = re.compile(r"\W*(?:n/?a|not applicable|none|null|unknown)\W*\Z")
# asking back, or missing what is to be judged: only where the text says little else
_ASKS_BACK = re.compile(
    r"\b(?:insufficient|not enough) (?:information|context|data)\b"
    # "Please provide the summary."
    r"|\b(?:please|could you|can you) (?:provide|share|specify|clarify|supply)\b"
    # "No response was provided."
    r"|\b(?:no|without an?) (?:response|summary|output|text|fact|conversation|context|"
    r"translation|answer)\b[^.\n]{0,30}\b(?:provided|given|supplied|available)\b"
)
_AT_CUE = re.compile(
    r"(?:"
    # "The rating is", "Fluency:"
    r"\b(?:score|rating|grade|verdict|result|answer|stars?|mark|evaluation|coherence|"
    r"consistency|fluency|relevance)\b[^\n.!?]{0,40}?(?::|=|\bis|\bof|\bas|\bat)"
    r"|\[result\]|\[\["
    # "I rate this summary as a"
    r"|\b(?:give|rate|score|assign|deserves|receives|earns|gets|earning|receiving)"
    r"(?: (?:it|this|the [a-z]+))?(?: (?:a|an|as|as a))?"
    r")[\s\"'(\[]*\Z"
)
_OPEN_END = re.compile(
    r"(?:[,(\[\-]|\b(?:the|a|an|of|to|and|or|in|on|for|with|that|which|is|are|was|by|"
    r"as|at|from|but|because|its|it's|their|this|not|does|has|have|be|been|also|more|"
    r"than|about|into|between|while|such|very|doesn't|i|would|it|lacks|provides|"
    r"includes|contains|shows|makes|needs))\s*\Z"
)


def why(text: str) -> tuple[Status, str] | None:
    """Why a text (readable, lower case) has no value; None where nothing tells."""
    opening = f" {text[:400]}"
    refusal = _NOTHING.match(opening) or _REFUSED.search(opening)
    if not refusal and len(text) < 300:
        refusal = _ASKS_BACK.search(opening)
    # quoted words are the judged text's
    if refusal and opening.count('"', 0, refusal.start() + 1) % 2 == 0:
        return Status.REFUSED, "the judge declined or says that it cannot rate"
    tail = text[-200:].rstrip()
    if not tail or not (tail[-1].isalnum() or tail[-1] in ":=]\"'[(,-"):
        return None
    if _AT_CUE.search(tail):
        return Status.TRUNCATED, "the text ends where its score should follow"
    open_end = len(text) > 20 and _OPEN_END.search(tail)
    if open_end or (len(text) > 300 and tail[-1].isalnum()):
        return Status.TRUNCATED, "the text ends in the middle of a sentence"
    return None
