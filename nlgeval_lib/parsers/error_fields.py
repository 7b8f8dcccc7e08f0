"""The labelled fields of a listed error ("Severity 2: Major"), as TIGERScore and InstructScore write them."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, field

from nlgeval_lib.parsers.loose_json import Record
from nlgeval_lib.parsers.quick import any_case, remembering_short
from nlgeval_lib.parsers.text import DIGITS, WORD, number_of, readable

_NAMES = {
    "location": "error location|location of (?:the )?error|location|error span|span|error text",
    "aspect": "error aspect|aspect|error type|type of error|error category|error dimension|category|dimension|type",
    "explanation": "error explanation|explanation (?:for|of) (?:the )?error|explanation|reason|description",
    "severity": "error severity|severity of (?:the )?error|severity level|severity|major/minor",
    "reduction": (
        "score reductions?|reduction of (?:the )?score|reduction|score deduction|deduction|score penalty|penalty score"
        "|penalty|points deducted"
    ),
}
_ANY = "|".join(sorted((name for names in _NAMES.values() for name in names.split("|")), key=len, reverse=True))
ANY_NAME = re.sub(" (?![(?])", "[ _]", _ANY)
LABEL = re.compile(
    rf"^[>*#•\- \t]{{0,24}}(?:\(?(?:\d{{1,2}}|[a-h])[.)][^\S\n]{{0,9}})?[*_]{{0,3}}"
    rf"(?P<name>{ANY_NAME})[^\S\n]*\#?(?P<number>\d{{1,3}})?[*_]{{0,3}}[^\S\n]*[:：]",
    re.I | re.M,
)
_LABEL_END = re.compile(r"[*_]{0,3}[^\S\n]*")
_MARKUP = ("*", "_")
ERROR_HEAD = re.compile(
    r"^[>*#•\- \t]{0,24}[*_]{0,3}error[^\S\n]*\#?(?P<number>\d{1,3})[*_]{0,3}[^\S\n]*(?::|\.|-|$)[*_]{0,3}",
    re.I | re.M,
)
_AMOUNT = re.compile(
    r"[\s\"'`(\[*_]*(?:(?:a |an )?(?:score )?(?:reduction|deduction|penalty) of |"
    r"(?:deduct(?:ed|s)?|minus|subtract(?:ed|s)?) )?"
    rf"(?P<sign>[+-]?)\s*(?P<number>\.\d{{1,4}}|{DIGITS}|{WORD})(?P<half> and a half\b| ?½| 1/2(?![\d/]))?(?![\w%])"
    r"(?P<rest>[^\n]*)",
    re.I,
)
_RANGE = re.compile(
    rf"\s*(?:-|->|=>|to|or|and|/(?!\s*5(?:\.0)?(?![\d.]))|,)\s*"
    rf"(?:(?:reduced|lowered|raised|changed) to )?(?:{DIGITS}|{WORD})\b|\s+\d",
    re.I,
)
_SEVERITY = re.compile(r"\b(critical|major|minor|neutral|trivial|none)\b", re.I)
_QUALIFIED = re.compile(
    r"\d|\b(?:major|minor)\b[^.\n]*\b(?:or|and|/)\b[^.\n]*\b(?:major|minor)\b|major\s*/\s*minor", re.I
)


@dataclass(frozen=True, slots=True)
class ErrorItem:
    """One error: where, of what aspect, why, how severe, and by how much it lowers the score.

    `reduction` is the stated amount without its sign, NaN where none can be read; `penalty` is what the score takes,
    0 or less. `in_range` says whether the reduction lies in the range that the prompt asks for, .5 to 5.
    """

    location: str = ""
    aspect: str = ""
    explanation: str = ""
    severity: str = ""
    reduction: float = math.nan
    number: int | None = None

    @property
    def penalty(self) -> float:
        """What the error takes from the score: 0 or less, NaN where it is not stated."""
        return 0.0 - self.reduction

    @property
    def in_range(self) -> bool:
        """Whether the reduction lies between .5 and 5. Source: TIGERScore, Table 9."""
        return 0.5 <= self.reduction <= 5.0

    @property
    def complete(self) -> bool:
        """Whether something besides the amount is stated."""
        return bool(self.location or self.aspect or self.explanation or self.severity)


@dataclass(slots=True)
class Draft:
    """An error while it is read: its fields, and which of them came twice with different content."""

    number: int | None = None
    fields: dict[str, str] = field(default_factory=dict)
    clashes: set[str] = field(default_factory=set)

    def item(self) -> ErrorItem:
        """The error that the fields make."""
        clash = "reduction" in self.clashes
        return ErrorItem(
            location=self.fields.get("location", ""),
            aspect=self.fields.get("aspect", ""),
            explanation=self.fields.get("explanation", ""),
            severity=severity(self.fields.get("severity", "")) if "severity" not in self.clashes else "",
            reduction=math.nan if clash else amount(self.fields.get("reduction", "")),
            number=self.number,
        )


# start and end in the text, the field that is opened (empty for a heading "Error 2"), its number
Label = tuple[int, int, str, int | None]
_SHORT = 60  # characters of a line's start


def labels(text: str) -> list[Label]:
    """Every label (`LABEL`) and heading (`ERROR_HEAD`) of a text, in order; both begin their line.

    A label ends with its line's first colon, and texts write the same few again and again: what stands up to the colon
    is read once.
    """
    wide = "：" in text
    found = []
    at = 0
    while True:
        line_end = text.find("\n", at)
        stop = line_end if line_end >= 0 else len(text)
        colon = text.find(":", at, stop)
        if wide:
            colon = min((place for place in (colon, text.find("：", at, stop)) if place >= 0), default=-1)
        opened = None
        if colon >= 0:
            opened = (_opened if colon - at < _SHORT else _opened.__wrapped__)(text[at : colon + 1])
        if opened:
            end = colon + 1  # blanks after it go with those around the content
            if text.startswith(_MARKUP, end):
                end = _LABEL_END.match(text, end).end()
            found.append((at, end, *opened))
        else:
            head = ERROR_HEAD.match(text, at)
            if head:
                found.append((at, head.end(), "", int(head["number"])))
        if line_end < 0:
            return found
        at = line_end + 1


@functools.lru_cache(maxsize=4096)
def _opened(start_of_line: str) -> tuple[str, int | None] | None:
    """The field that a line opens up to its first colon, and its number; None where it opens none."""
    match = LABEL.fullmatch(start_of_line)
    if not match:
        return None
    return field_of(match["name"]) or "", int(match["number"]) if match["number"] else None


def field_of(name: str) -> str | None:
    """The field that a label names, None where it is none."""
    plain = re.sub(r"[\s_-]+", " ", any_case(name)).strip()
    return next((kind for kind, names in _NAMES.items() if re.fullmatch(names, plain)), None)


def drafts(text: str, places: list[Label]) -> list[Draft]:
    """The errors that the labels of a text (see `labels`) make up, in order."""
    found: list[Draft] = []
    current = None
    ends = [*(label[0] for label in places[1:]), len(text)]
    for (_, start, kind, number), end in zip(places, ends, strict=False):
        if current is None or _begins(current, kind, number):
            current = Draft(number)
            found.append(current)
        if kind:
            content = text[start:end].strip().strip("*_").strip()
            if kind not in current.fields:
                current.fields[kind] = content
            elif current.fields[kind] != content:
                current.clashes.add(kind)
            if current.number is None:
                current.number = number
    return [draft for draft in found if draft.fields]


def _begins(current: Draft, kind: str, number: int | None) -> bool:
    """Whether a label opens the next error."""
    if not kind:
        return True
    if number is not None and current.number is not None:
        # the same number again: a restarted list where the error was finished, else the field twice
        return number != current.number or (kind == "location" and "reduction" in current.fields)
    return kind in current.fields


def from_record(record: Record, number: int | None = None) -> ErrorItem | None:
    """The error in a JSON object, None where none of its keys names a field."""
    draft = Draft(number)
    for key, value in record.items():
        kind = field_of(str(key))
        if kind is None or isinstance(value, (dict, list)):
            continue
        if key in record.clashes:
            draft.clashes.add(kind)
        if value is not None:
            draft.fields.setdefault(kind, f"{value:g}" if isinstance(value, float) else str(value).strip())
    return draft.item() if draft.fields else None


@remembering_short(40)
def severity(text: str) -> str:
    """The severity that a field names, with a capital; empty where it names none or leaves both open."""
    if _QUALIFIED.search(text):
        return ""
    match = _SEVERITY.search(text)
    return match.group(1).capitalize() if match else ""


@remembering_short(40)
def amount(text: str) -> float:
    """The amount without its sign that a field begins with; NaN where it is none or a range."""
    match = _AMOUNT.match(readable(text))
    if not match or _RANGE.match(match["rest"]):
        return math.nan
    token = match["number"].lower()
    value = number_of(f"0{token}" if token[0] == "." else token)
    return math.nan if value is None or math.isinf(value) else value + 0.5 * bool(match["half"])
