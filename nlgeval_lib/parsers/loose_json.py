"""JSON as models write it: in fences and prose, single quotes, trailing commas, bare words, cut off at the end.

A library for repairing JSON would not do: which keys came twice with different values, and whether the text was cut
off, decide whether a score may be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 40
MAX_FAILURES = 50  # so many starts that are no JSON, and the text is none
MAX_OBJECTS = 500

_TOKEN = re.compile(
    r"""[\s,]*+(?://[^\n]*\n[\s,]*+)*+
    (?: (?P<mark>[{}\[\]:])
      | "(?P<double>(?:[^"\\]|\\.)*+)(?P<end>"?)
      | '(?P<single>(?:[^'\\]|\\.|(?<=\w)'(?=\w))*+)(?P<end2>'?)
      | (?P<bare>[^\s,:{}\[\]"']+)
    )""",
    re.X | re.S,
)
_OPENING = re.compile(r"[{\[]")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NUMBER = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?")
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "nan": None}


class Record(dict):
    """A JSON object that remembers its pairs, which keys came twice with different values, and whether it was cut."""

    clashes: frozenset[str] = frozenset()
    cut: bool = False
    pairs: tuple[tuple[str, Any], ...] = ()


def objects(text: str) -> Iterator[tuple[Record | list, int, int]]:
    """Every outermost object or array of `text` with its start and end, in order, of many the first 500."""
    at = failures = read = 0
    while failures < MAX_FAILURES and read < MAX_OBJECTS:
        opening = _OPENING.search(text, at)
        if not opening:
            return
        value, at = _read(text, opening.start())
        if value is None:
            failures += 1
        else:
            read += 1
            yield value, opening.start(), at


def _record(pairs: list[tuple[str, Any]]) -> Record:
    record = Record(pairs)
    record.pairs = tuple(pairs)
    if len(record) < len(pairs):
        record.clashes = frozenset(key for key, value in pairs if record[key] != value)
    return record


_STRICT = json.JSONDecoder(strict=False, object_pairs_hook=_record, parse_constant=lambda name: None, parse_int=float)


def _read(text: str, start: int) -> tuple[Record | list | None, int]:
    try:
        return _STRICT.raw_decode(text, start)
    except (ValueError, RecursionError):
        reader = _Reader(text, start)
    try:
        value = reader.value(0)
    except ValueError:
        value = None
    return value, max(reader.at, start + 1)


class _Reader:
    """One value from `start`; stops at its end or at the end of the text. What is no JSON is a ValueError."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.at, self.cut = text, start, False

    def token(self) -> tuple[str, Any]:
        match = _TOKEN.match(self.text, self.at)
        if not match:
            self.cut, self.at = True, len(self.text)
            return "end", None
        self.at = match.end()
        if match["mark"]:
            return match["mark"], None
        if match["bare"] is not None:
            return "bare", match["bare"]
        self.cut = self.cut or not (match["end"] or match["end2"])
        return "string", _unescape(match["double"] if match["double"] is not None else match["single"])

    def value(self, depth: int) -> Any:
        kind, content = self.token()
        if depth > MAX_DEPTH or kind in "}]:":
            raise ValueError
        if kind == "{":
            return self._object(depth)
        if kind == "[":
            return self._array(depth)
        return _bare(content) if kind == "bare" else content

    def _object(self, depth: int) -> Record:
        pairs: list[tuple[str, Any]] = []
        while not self.cut:
            kind, key = self.token()
            if kind in ("end", "}"):
                break
            if kind in "{[]:":
                raise ValueError
            while kind == "bare" and self.text[self.at : self.at + 40].lstrip()[:1] not in ("", ":"):
                kind, more = self.token()
                if kind != "bare":
                    raise ValueError
                key = f"{key} {more}"
            colon = self.cut or self.token()[0]
            if self.cut:
                break
            if colon != ":":
                raise ValueError
            value = self.value(depth + 1)
            if not self.cut or value is not None:
                pairs.append((key, value))
        record = _record(pairs)
        record.cut = self.cut
        return record

    def _array(self, depth: int) -> list:
        items = []
        while not self.cut:
            before = self.at
            if self.token()[0] in ("end", "]"):
                break
            self.at, self.cut = before, False
            value = self.value(depth + 1)
            if not self.cut or value is not None:
                items.append(value)
        return items


def _bare(word: str) -> Any:
    low = word.lower().rstrip(".")
    if low in _LITERALS:
        return _LITERALS[low]
    return float(word) if _NUMBER.fullmatch(word) else word


def _unescape(content: str) -> str:
    if "\\" not in content:
        return content
    return _ESCAPE.sub(
        lambda one: chr(int(one[1][1:], 16)) if len(one[1]) == 5 else _ESCAPED.get(one[1], one[1]), content
    )
