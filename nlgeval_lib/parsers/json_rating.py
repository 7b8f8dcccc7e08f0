"""The score in JSON that a judge wrote, by the names of its keys."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.parsers.mentions import find
from nlgeval_lib.parsers.scales import take_off
from nlgeval_lib.parsers.text import DIGITS, number_of

_FINAL = re.compile(
    r"(?:final|overall|total)(?:[_ -]?(?:score|rating|grade|quality|evaluation|verdict|mark|assessment))?"
)
_SCORE = re.compile(
    r"(?:the[_ ])?(?:score|rating|grade|mark|stars?|value|result|verdict|points)(?:[_ ]?(?:value|number))?"
)
_NO_SCORE = re.compile(
    r"(?:human|expert|gold|reference|expected|target|previous|original|initial)s?(?:[_ ]?(?:score|rating|grade))?|"
    r"reason\w*|explanation|rationale|justification|comments?|feedback|confidence|certainty|weight|count|num(?:ber)?|id|index|idx|max\w*|min\w*|scale|length|words?|version|year|page|step"
)
_SCALE = re.compile(r"out[_ ]?of|(?:rating[_ ])?scale|range|max(?:imum)?(?:[_ ]?(?:score|rating|grade|points))?")
_NUMBERS = re.compile(DIGITS)
_ASPECT = re.compile(r"[^\W\d_][\w /&'-]{2,48}")
_NAME = ("aspect", "name", "criterion", "criteria", "metric", "dimension", "label", "category", "attribute")
_TAIL = re.compile(r"[_ ]+(?:score|rating|grade)$")


@dataclass(frozen=True, slots=True)
class Found:
    """A score in JSON, or the reason why it is none, and the text around the JSON."""

    value: float
    reason: str
    around: str


def read(text: str, label: str, low: float, high: float) -> Found | None:
    """The score in the JSON of `text` (readable, lower case); None where the JSON holds none."""
    found = []
    around, at = [], 0
    for item, start, end in objects(text):
        # a lone number in a snippet of JSON in the middle of prose is no score
        whole = 2 * (end - start) >= len(text.strip())
        inside = [(record, whole) for record in _outermost(item)]
        if inside:
            around.append(text[at:start])
            at = end
        found += inside
    rest = "\n".join([*around, text[at:]])
    if any(_on_another_scale(record, high) for record, _ in found):
        return Found(math.nan, "the JSON names another scale", rest)
    values = [value for record, _ in found for value in of_label(record, normal(label), low, high)] if label else []
    if values:
        return Found(*one(values, f"{label!r} is scored more than once"), rest)
    values = [value for record, whole in found for value in _plain(record, low, high, bool(label) or not whole)]
    if not values:
        return None
    if len(set(values)) > 1 and len(found) == 1:
        several = sorted(set(values), key=lambda value: (math.isnan(value), value))  # NaN has no place of its own
        reason = f"JSON holds several scores and none overall: {several[:6]}"
        return Found(math.nan, reason, rest)
    return Found(*one(values, "JSON holds different scores"), rest)


def _on_another_scale(record: Record, high: float) -> bool:
    """Whether a key such as "out_of" or "scale" names a scale that does not end at `high`."""
    for name, value in record.items():
        if isinstance(name, str) and _SCALE.fullmatch(name.strip()) and isinstance(value, (str, float)):
            numbers = [number_of(number) for number in _NUMBERS.findall(str(value))]
            if numbers and high not in numbers:
                return True
    return False


def records(text: str) -> list[Record]:
    """The outermost JSON objects of `text` (readable, lower case)."""
    return [record for item, _, _ in objects(text) for record in _outermost(item)]


def _outermost(item: Record | list) -> list[Record]:
    return [record for record in (item if isinstance(item, list) else [item]) if isinstance(record, Record)]


def names(found: list[Record]) -> list[str]:
    """The normal form of every key that has a number or a number with something beside it."""
    scored = []
    for record in found:
        for name, value in record.items():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if number or (isinstance(value, Record) and names([value])):
                scored.append(normal(str(name)))
    return list(dict.fromkeys(scored))


def one(values: list[float], reason: str) -> tuple[float, str]:
    """The value that all readable ones are, else NaN and the reason."""
    if any(math.isnan(value) for value in values):
        readable = [value for value in values if not math.isnan(value)]
        if not readable:
            return math.nan, "the score in JSON is no single number"
        values = readable
    return (values[0], "") if len(set(values)) == 1 else (math.nan, reason)


def normal(name: str) -> str:
    """The normal form of a name: lower case words without punctuation and a final "score"."""
    return " ".join(re.findall(r"\w+", _TAIL.sub("", name.lower().replace("_", " ").strip())))


def of_label(record: Record, label: str, low: float, high: float, depth: int = 0) -> list[float]:
    """Every score that a record has under a label (in its normal form), at any depth."""
    values = []
    if any(isinstance(record.get(name), str) and normal(record[name]) == label for name in _NAME):
        values += _plain(record, low, high, named=True)
    for key, value in record.items():
        if not isinstance(key, str):
            continue
        if normal(key) == label:
            if key in record.clashes:
                values.append(math.nan)
            elif isinstance(value, Record):
                values += _plain(value, low, high, named=True)
            else:
                values += _scalar(value, low, high, named=True) or [math.nan]
        elif depth < 6:
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, Record):
                    values += of_label(inner, label, low, high, depth + 1)
    return values


def _plain(record: Record, low: float, high: float, named: bool, depth: int = 0) -> list[float]:
    """The overall score of a record, else its score, else its only number; that not where `named`."""
    for names in (_FINAL, _SCORE):
        values = []
        for key, value in record.items():
            if isinstance(key, str) and names.fullmatch(key.strip()):
                inner = _plain(value, low, high, named, depth + 1) if isinstance(value, Record) else None
                values += inner if inner is not None else _scalar(value, low, high, named=True)
                if key in record.clashes:
                    values.append(math.nan)
                    return [math.nan]
        if values:
            return values
    values = []
    for key, value in record.items():
        if isinstance(value, Record):
            if depth < 6 and not named:
                values += _plain(value, low, high, named, depth + 1)
        elif (
            not named
            and isinstance(key, str)
            and _ASPECT.fullmatch(key.strip())
            and not _NO_SCORE.fullmatch(key.strip())
        ):
            values += _scalar(value, low, high, named=False)
    return values


def _scalar(value: Any, low: float, high: float, named: bool) -> list[float]:
    """The number that a JSON value is; a string only under a score's name or where it is nothing else."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [float(value)]
    if not isinstance(value, str) or not value.strip():
        return []
    text = f"score: {value[:200]}" if named else value[:200]
    marks = [m for m in find(take_off(text, low, high), low, high) if m.strength is not None]
    if not named and not (marks and marks[0].rule == "alone"):
        return []
    if not marks:
        return []
    return [math.nan if marks[0].flaw else marks[0].value]
