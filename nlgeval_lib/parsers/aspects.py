"""Lists of named aspects with their definitions, and the scores of named aspects: CoAScore's two kinds of answers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from nlgeval_lib.parsers import json_rating, silence
from nlgeval_lib.parsers.base import Parsed, check_scale, check_text
from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.parsers.outline import Entry, by_lines, entries, tidy
from nlgeval_lib.parsers.rating import labelled
from nlgeval_lib.parsers.text import clipped, readable
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Aspect:
    """A named aspect; the definition is empty where the list gives none."""

    name: str
    definition: str = ""


@dataclass(frozen=True, slots=True)
class AspectList(Parsed):
    """Aspects in the order of the text, each name once: `value` is the tuple of them, None without any."""

    duplicates: int = 0
    truncated: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The aspects' names."""
        return tuple(aspect.name for aspect in self.value or ())

    @property
    def count(self) -> int:
        """How many aspects the list has."""
        return len(self.value or ())


@dataclass(frozen=True, slots=True)
class AspectScores(Parsed):
    """Scores by aspect: `value` is their mean where every aspect has one.

    `scores` has every aspect that was asked for, NaN where missing; `reasons` says why; `extra` names what the text
    scored besides.
    """

    scores: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    reasons: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    extra: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The aspects without a score."""
        return tuple(self.reasons)


_DEFINITIONS = ("definition", "description", "explanation", "meaning", "question", "details")
_NAMES = ("name", "aspect", "criterion", "criteria", "title", "metric", "dimension", "label")
_INLINE = re.compile(r"(?:\A|(?<=[.?!;]\s))(?P<name>[A-Z][A-Za-z][A-Za-z /&'-]{0,48}?):\s")
_COMMAS = re.compile(r"\s*(?:,|;|/|\band\b|&)\s*", re.I)
_LEAD = re.compile(
    r"\A(?:[^:\n]{0,160}:\s*|[\w' -]{0,80}\b(?:aspects|criteria|dimensions|metrics|factors)\b"
    r"[\w' ]{0,40}?\b(?:are|include)\s+)"
)
_KEY_NUMBER = re.compile(r"(?:(?:aspect|criterion|dimension|metric|factor)[ _]?)?\d{1,3}", re.I)


def aspects(text: str | None) -> AspectList:
    """The aspects that a text lists, with their definitions.

    Reads numbered, bulleted and bold lists, lines and running text of the form "Name: definition", JSON lists and
    objects, and comma lists. A name that comes again (in any case) counts once. Sentences around the list are left out.
    Raises: TypeError where `text` is neither str nor None.
    Source: CoAScore, section 3.2.1 and Table 9 (relevant aspect generation).
    """
    content = check_text(text, "aspects")
    if content is None:
        return AspectList(None, Status.EMPTY, "no text", "empty")
    body = by_lines(content)
    found, rule = _from_json(content), "json"
    if not found:
        found, rule = _leaves(entries(body)), "list"
    if len(found) < 2:
        inline = _inline(body)
        found, rule = (inline, "inline") if len(inline) > max(1, len(found)) else (found, rule)
    why = silence.why(body.lower())
    if not found and (why is None or why[0] is not Status.REFUSED):
        found, rule = _comma_list(body), "commas"
    unique: dict[str, Aspect] = {}
    for aspect in found:
        unique.setdefault(aspect.name.casefold(), aspect)
    if not unique:
        status, reason = why or (Status.UNPARSED, "no list of names")
        return AspectList(None, status, reason, "none")
    cut = why is not None and why[0] is Status.TRUNCATED
    return AspectList(tuple(unique.values()), Status.OK, "", rule, len(found) - len(unique), cut)


def _leaves(roots: Sequence[Entry]) -> list[Aspect]:
    found = []
    for entry in roots:
        if entry.children and all(child.children or child.text for child in entry.children):
            found += _leaves(entry.children)
        else:
            text = " ".join([entry.text, *(f"{child.name} {child.text}".strip() for child in entry.children)])
            found.append(Aspect(entry.name, text.strip()))
    return found


def _inline(body: str) -> list[Aspect]:
    """`Name: definition. Name: definition.` in running text."""
    flat = re.sub(r"\s+", " ", body).strip()
    places = list(_INLINE.finditer(flat))
    ends = [*(place.start() for place in places[1:]), len(flat)][: len(places)]
    pairs = zip(places, ends, strict=True)
    return [Aspect(tidy(place["name"]), flat[place.end() : end].strip()) for place, end in pairs]


def _comma_list(body: str) -> list[Aspect]:
    """`Relevance, coherence and fluency`: three names or more of at most four words."""
    line = _LEAD.sub("", body.strip(), count=1)
    if len(line) > 600 or "\n" in line.strip():
        return []
    names = [tidy(part) for part in _COMMAS.split(line.strip().rstrip("."))]
    names = [name for name in names if name]
    if len(names) < 2 or any(len(name.split()) > 4 or re.search(r"[.!?\d]", name) for name in names):
        return []
    return [Aspect(name) for name in names]


def _from_json(content: str) -> list[Aspect]:
    content = clipped(content).strip()
    for item, start, end in objects(content):
        if 3 * (end - start) < len(content):
            continue
        found = _of_json(item)
        if found:
            return found
    return []


def _of_json(item: Any) -> list[Aspect]:
    if isinstance(item, Record):
        if item and all(_KEY_NUMBER.fullmatch(str(key)) and isinstance(value, Record) for key, value in item.items()):
            return _of_json(list(item.values()))  # {"1": {"name": "Relevance", ...}, ...}
        lists = [value for value in item.values() if isinstance(value, list) or _is_nested(value)]
        if lists and len(item) <= 2:
            return _of_json(lists[0])
        if all(str(key).isdigit() and isinstance(value, str) for key, value in item.items()):
            return _of_json(list(item.values()))  # {"1": "Relevance", ...}
        return [Aspect(tidy(str(key)), _text(value)) for key, value in item.items() if tidy(str(key))]
    found = []
    for entry in item if isinstance(item, list) else ():
        if isinstance(entry, str) and tidy(entry):
            name, _, definition = entry.partition(":")
            found.append(Aspect(tidy(name), definition.strip()))
        elif isinstance(entry, Record):
            keys = {str(key).lower(): value for key, value in entry.items()}
            name = next((keys[key] for key in _NAMES if isinstance(keys.get(key), str)), None)
            if name is None and len(entry) == 1:
                found += _of_json(entry)
            elif name:
                found.append(Aspect(tidy(name), _text(entry)))
    return found


def _is_nested(value: Any) -> bool:
    return isinstance(value, Record) and all(isinstance(inner, (str, Record)) for inner in value.values())


def _text(value: Any) -> str:
    if isinstance(value, Record):
        keys = {str(key).lower(): inner for key, inner in value.items()}
        value = next((keys[key] for key in _DEFINITIONS if isinstance(keys.get(key), str)), "")
    return value.strip() if isinstance(value, str) else ""


def aspect_scores(text: str | None, aspects: Sequence[str], low: float, high: float) -> AspectScores:
    """The score of each of the named aspects on the scale low to high.

    Reads JSON (also with single quotes, trailing commas, in a fence, cut off) by its keys, and lines and phrases by
    their labels. An aspect that is not scored, scored twice differently, or off the scale is missing by itself, with a
    reason; the whole is ok only where none is missing. Names are compared without case, blanks and punctuation.

    Raises: ValueError for a bad scale, no aspects, a blank or a repeated name; TypeError where `text` is neither str
    nor None or `aspects` is a string.
    Source: CoAScore, section 3.2.2 and Table 10 (relevant aspect scoring).
    """
    low, high = check_scale(low, high)
    names = _checked(aspects)
    content = check_text(text, "aspect_scores")
    if content is None:
        views = _views(dict.fromkeys(names, math.nan), dict.fromkeys(names, "no text"))
        return AspectScores(math.nan, Status.EMPTY, "no text", "empty", *views)
    records = json_rating.records(readable(content).lower()) if "{" in content else []
    scores, reasons, statuses = {}, {}, []
    for name in names:
        value, status, reason = _score(content, records, name, low, high)
        scores[name] = value
        if status is not Status.OK:
            reasons[name] = reason
            statuses.append(status)
    known = {json_rating.normal(name) for name in names} | {"", "scores", "ratings", "rating", "aspects"}
    extra = tuple(name for name in json_rating.names(records) if name not in known)
    rule = "json" if records else "labels"
    if not reasons:
        mean = math.fsum(scores.values()) / len(scores)
        return AspectScores(mean, Status.OK, "", rule, *_views(scores, reasons), extra)
    if len(reasons) == len(names):
        status, reason = silence.why(readable(content).lower()) or (statuses[0], next(iter(reasons.values())))
        return AspectScores(math.nan, status, reason, rule, *_views(scores, reasons), extra)
    reason = f"no score for {len(reasons)} of {len(names)}: {', '.join(list(reasons)[:8])}"
    return AspectScores(math.nan, statuses[0], reason, rule, *_views(scores, reasons), extra)


def _views(scores: dict[str, float], reasons: dict[str, str]) -> tuple[Mapping[str, float], Mapping[str, str]]:
    return MappingProxyType(scores), MappingProxyType(reasons)


def _checked(aspects: Sequence[str]) -> tuple[str, ...]:
    if isinstance(aspects, str):
        raise TypeError(f"aspects must be a sequence of names, got the string {aspects[:60]!r}")
    names = tuple(aspects)
    if not names:
        raise ValueError("aspects must name at least one aspect")
    for name in names:
        if not isinstance(name, str) or not json_rating.normal(name):
            raise ValueError(f"an aspect must be a name such as 'Coherence', got {name!r}")
    if len({json_rating.normal(name) for name in names}) < len(names):
        raise ValueError(f"aspects must differ from each other, got {list(names)!r}")
    return names


def _score(content: str, records: list[Record], name: str, low: float, high: float) -> tuple[float, Status, str]:
    if not records:
        read = labelled(content, low, high, name)
        return read.value, read.status, read.reason
    values = [
        value for record in records for value in json_rating.of_label(record, json_rating.normal(name), low, high)
    ]
    if not values:
        if any(record.cut for record in records):
            return math.nan, Status.TRUNCATED, "the JSON is cut off before it"
        return math.nan, Status.UNPARSED, "no key of that name"
    value, reason = json_rating.one(values, "scored more than once")
    if reason:
        return math.nan, Status.UNPARSED, reason
    if not low <= value <= high:
        return math.nan, Status.OUT_OF_RANGE, f"{value:g} is outside {low:g} to {high:g}"
    return value + 0.0, Status.OK, ""
