"""Text made readable: one form of digits, quotes, dashes and blanks; numbers and number words; markup taken off."""

from __future__ import annotations

import functools
import re
import string
import unicodedata

from nlgeval_lib.parsers.quick import has_any

# A longer text is read at both ends: verdicts stand at the start or at the end, and the time stays bounded.
READ_AT_EACH_END = 50_000

_FIXED = {
    **dict.fromkeys("“”„‟«»〝〞＂「」『』", '"'),
    **dict.fromkeys("‘’‚‛′＇", "'"),
    **dict.fromkeys("‐‑‒–−﹣－", "-"),
    **dict.fromkeys("—―", " - "),
    **dict.fromkeys("⁄∕", "/"),
    "٫": ".",
    **dict.fromkeys("٬、，", ","),
    **dict.fromkeys("【〔", "["),
    **dict.fromkeys("】〕", "]"),
    "。": ". ",
    "∶": ":",
    **dict.fromkeys("•‣▪◦●∙⁃", "-"),
    "⭐": "★",
    "→": "->",
    "⇒": "=>",
    "\u2028": "\n",
    "\u2029": "\n",
}


class _Readable(dict):
    """A table for str.translate that works out each character once."""

    def __missing__(self, code: int) -> int | str | None:
        char = chr(code)
        digit = unicodedata.decimal(char, None)
        kind = unicodedata.category(char)
        if digit is not None:
            out: int | str | None = str(digit)
        elif 0xFF01 <= code <= 0xFF5E:
            out = chr(code - 0xFEE0)
        elif kind == "Zs":
            out = " "
        elif kind == "Cf" or (kind == "Mn" and 0xFE00 <= code <= 0xFE0F):
            out = None
        elif kind == "Cc" and char not in "\t\n\r":
            out = " "
        else:
            out = code
        self[code] = out
        return out


_TABLE = _Readable({ord(char): out for char, out in _FIXED.items()})
# ASCII control characters become blanks; translating bytes is several times faster than a pattern
_ASCII = bytes(ord(" ") if (code < 32 and chr(code) not in "\t\n\r") or code == 127 else code for code in range(256))
_SHORT = 1000
_BLANKS = re.compile(r"[ \t\n][ \t\n]{8,}")  # readable text has no other blanks
_RUN = re.compile(r"([^\w\s])\1{9,}")
_ASCII_RUNS = tuple(10 * sign for sign in string.punctuation)
_ENTITIES = {"nbsp": " ", "lt": "<", "gt": ">", "amp": "&", "quot": '"', "#39": "'"}
_ENTITY = re.compile(f"&({'|'.join(_ENTITIES)});")
_ESCAPED_NEWLINE = re.compile(r"\\n(?![a-z])")


# what a judge thinks before it answers, and a prompt that is repeated before the answer
_REASONING = re.compile(
    r"<(?P<close>/?)(?:think|thinking|thoughts?|scratchpad)\s{0,3}>|<\|(?:start|end)_thinking\|>", re.I
)
_PROMPT = re.compile(r"\s*(?:<s>\s*)?\[INST\].*?\[/INST\]", re.S)
_ONLY_REASONING = "answer:"  # an answer that never came


def answer(text: str) -> str:
    """The text without its reasoning in tags (<think>) and without a prompt repeated before it ([INST]).

    Reasoning whose tag is not closed goes on to the end. Of a text that is nothing else "answer:" is left, which every
    parser takes for cut off.
    """
    text = _unreasoned(text)
    return _PROMPT.sub("", text, count=1) if _PROMPT.match(text) else text


def _unreasoned(text: str) -> str:
    kept, at, inside, any_mark = [], 0, False, False
    for mark in _REASONING.finditer(text):
        any_mark = True
        closes = bool(mark["close"]) or mark.group().lower() == "<|end_thinking|>"
        if closes and not inside:
            kept.clear()  # the reasoning began with the text
        elif not closes and not inside:
            kept.append(text[at : mark.start()])
        inside, at = not closes, mark.end()
    if not any_mark:
        return text
    if not inside:
        kept.append(text[at:])
    left = "\n".join(kept)
    return _ONLY_REASONING if not left or left.isspace() else left


def clipped(text: str) -> str:
    """The text, or of a very long one its start and its end."""
    if len(text) <= 2 * READ_AT_EACH_END:
        return text
    return text[:READ_AT_EACH_END] + "\n" + text[-READ_AT_EACH_END:]


def readable(text: str) -> str:
    """The same text with every decimal digit as 0-9 and one form of quotes, dashes, blanks and line ends.

    Superscripts, circled digits and fractions such as ½ are no decimal digits and stay as they are.
    """
    text = clipped(text)
    if text.isascii():
        text = text.encode("ascii").translate(_ASCII).decode("ascii")
    else:
        text = text.translate(_TABLE)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "&" in text and ";" in text:
        text = _ENTITY.sub(lambda entity: _ENTITIES[entity.group(1)], text)
    if "\\" in text:
        text = _ESCAPED_NEWLINE.sub("\n", text)
    if len(text) > _SHORT:
        # long runs say nothing, and what looks back over them would take quadratic time
        text = _BLANKS.sub(lambda run: "\n\n" if "\n" in run.group() else "  ", text)
        if not text.isascii() or has_any(text, _ASCII_RUNS):
            text = _RUN.sub(r"\1\1\1", text)
    return text


_WORD_SIGNS = bytes(code if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))


def words_of(text: str) -> set[bytes] | None:
    """The words of ASCII text, cut at every other sign; None for other text, which may hold any word."""
    return set(text.encode("ascii").translate(_WORD_SIGNS).split()) if text.isascii() else None


def digit_span(text: str) -> tuple[int, int]:
    """From the first to behind the last digit of ASCII text, (0, 0) without one; the whole of any other text."""
    if not text.isascii():
        return 0, len(text)
    marked = text.encode("ascii").translate(_ONLY_DIGITS)
    first = marked.find(1)
    return (first, marked.rfind(1) + 1) if first >= 0 else (0, 0)


_ONLY_DIGITS = bytes(chr(code).isdigit() and code < 128 for code in range(256))
_EMPHASIS = re.compile(r"[*`]+")
_UNDERLINED = re.compile(r"(?<!\w)_{1,3}|_{1,3}(?!\w)")
_HTML = re.compile(r"</?[a-z][^<>\n]{0,60}>", re.I)
_CHAT = re.compile(r"<\|[a-z_]{2,20}\|>", re.I)
_TEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathbf|mathrm|emph)\s*\{([^{}\n]{0,200})\}")
_TEX_FRACTION = re.compile(r"\\[dt]?frac\s*\{(\d{1,3})\}\s*\{(\d{1,3})\}")
_TEX_MATH = re.compile(r"\$\s*(-?\d{1,3}(?:\.\d+)?(?:\s*/\s*\d{1,3})?)\s*\$|\\\(\s*([^\\\n]{1,20}?)\s*\\\)")


def without_tex(text: str) -> str:
    r"""Readable text without the usual LaTeX dress of a number: \text{}, \frac{}{}, $ $."""
    text = _TEX_TEXT.sub(r"\1", text)
    text = _TEX_FRACTION.sub(r"\1/\2", text)
    return _TEX_MATH.sub(lambda match: f" {match.group(1) or match.group(2)} ", text)


def without_markup(text: str) -> str:
    """Readable text without markdown emphasis, HTML tags and the marks of chat turns."""
    if "*" in text or "`" in text:
        text = _EMPHASIS.sub(" ", text)
    if "_" in text:
        text = _UNDERLINED.sub(" ", text)
    if "<" in text:
        text = _HTML.sub(" ", text)
        if "<|" in text:
            text = _CHAT.sub("\n", text)
    return text


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_UNITS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
WORDS = {word: float(value) for value, word in enumerate(_UNITS)}
WORDS |= {word: 10.0 * place for place, word in enumerate(TENS, 2)}
WORDS["hundred"] = 100.0
# longest first, so that "fourteen" is not read as "four"
WORD = (
    rf"(?:(?:{'|'.join(TENS)})(?:[ -](?:{'|'.join(_UNITS[1:10])}))?|(?:one |a )?hundred"
    rf"|{'|'.join(sorted(_UNITS, key=len, reverse=True))})"
)
DIGITS = r"\d+(?:[.,]\d+)*"

_ONE_DOT = re.compile(r"\d+\.\d+")
_DECIMAL_COMMA = re.compile(r"\d+,\d{1,2}")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_THOUSANDS_DOT = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+")


def number_of(token: str) -> float | None:
    """The number that a token of digits or a number word stands for, None where it is none (1.2.3).

    A comma before one or two digits is a decimal comma, before groups of three a thousands separator.
    """
    return _known(token) if len(token) <= _SHORT_TOKEN else _number_of(token)


_SHORT_TOKEN = 20


@functools.lru_cache(maxsize=4096)
def _known(token: str) -> float | None:
    return _number_of(token)


def _number_of(token: str) -> float | None:
    if token.isascii() and token.isdigit():
        return float(token) if len(token) <= 18 else float("inf")
    if token[:1].isalpha():
        return _word_value(token)
    if len(token) > 40:
        return None
    if _ONE_DOT.fullmatch(token):
        return float(token)
    if _THOUSANDS.fullmatch(token):
        return float(token.replace(",", ""))
    if _DECIMAL_COMMA.fullmatch(token):
        return float(token.replace(",", "."))
    if _THOUSANDS_DOT.fullmatch(token):
        return float(token.replace(".", "").replace(",", "."))
    return None


def _word_value(token: str) -> float | None:
    total = 0.0
    for part in re.split(r"[ -]", token):
        if part == "a":
            continue
        if part not in WORDS:
            return None
        value = WORDS[part]
        total = max(total, 1.0) * value if value == 100.0 else total + value
    return total
