"""JSON as models write it: in fences and prose, single quotes, trailing commas, bare words, cut off at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 40
MAX_FAILURES = 50  # so many starts that are no JSON, and the text is none

_TOKEN = re.compile(
    r"""[\s,]*(?://[^\n]*\n[\s,]*)*
    (?: (?P<mark>[{}\[\]:])
      | "(?P<double>(?:[^"\\]|\\.)*)(?P<end>"?)
      | '(?P<single>(?:[^'\\]|\\.|(?<=\w)'(?=\w))*)(?P<end2>'?)
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
    """A JSON object that remembers which keys came twice with different values, and whether it was cut off."""

    clashes: frozenset[str] = frozenset()
    cut: bool = False


def objects(text: str) -> Iterator[tuple[Record | list, int, int]]:
    """Every outermost object or array of `text` with its start and end, in order; linear in the text's length."""
    at = failures = 0
    while failures < MAX_FAILURES:
        opening = _OPENING.search(text, at)
        if not opening:
            return
        value, at = _read(text, opening.start())
        if value is None:
            failures += 1
        else:
            yield value, opening.start(), at


def _record(pairs: list[tuple[str, Any]]) -> Record:
    record = Record(pairs)
    if len(record) < len(pairs):
        seen: dict[str, Any] = {}
        clashes = set()
        for key, value in pairs:
            if key in seen and seen[key] != value:
                clashes.add(key)
            seen.setdefault(key, value)
        record.clashes = frozenset(clashes)
    return record


_STRICT = json.JSONDecoder(strict=False, object_pairs_hook=_record, parse_constant=lambda name: None, parse_int=float)


def _read(text: str, start: int) -> tuple[Record | list | None, int]:
    try:
        value, end = _STRICT.raw_decode(text, start)
        return value, end
    except (ValueError, RecursionError):
        pass
    reader = _Reader(text, start)
    try:
        value = reader.value(0)
    except _Unreadable:
        return None, max(reader.at, start + 1)
    return value, max(reader.at, start + 1)


class _Unreadable(Exception):
    """Not JSON, however loosely read."""


class _Reader:
    """One value from `start`; stops at its end or at the end of the text."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.at = text, start
        self.cut = False

    def token(self) -> tuple[str, Any]:
        match = _TOKEN.match(self.text, self.at)
        if not match:
            self.cut = True
            self.at = len(self.text)
            return "end", None
        self.at = match.end()
        if match["mark"]:
            return "mark", match["mark"]
        if match["bare"] is not None:
            return "bare", match["bare"]
        self.cut = self.cut or not (match["end"] or match["end2"])
        return "string", _unescape(match["double"] if match["double"] is not None else match["single"])

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise _Unreadable
        kind, content = self.token()
        if kind == "string":
            return content
        if kind == "bare":
            return _bare(content)
        if kind == "mark" and content == "{":
            return self._object(depth)
        if kind == "mark" and content == "[":
            return self._array(depth)
        if kind == "end":
            return None
        raise _Unreadable

    def _object(self, depth: int) -> Record:
        pairs: list[tuple[str, Any]] = []
        while not self.cut:
            kind, key = self.token()
            if kind == "end" or (kind == "mark" and key == "}"):
                break
            if kind == "mark":
                raise _Unreadable
            while kind == "bare" and not self._colon_next():
                more_kind, more = self.token()
                if more_kind != "bare":
                    raise _Unreadable
                key = f"{key} {more}"
            if self.cut:
                break
            kind, colon = self.token()
            if self.cut:
                break
            if colon != ":" or kind != "mark":
                raise _Unreadable
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
            kind, mark = self.token()
            if kind == "end" or (kind == "mark" and mark == "]"):
                break
            self.at, self.cut = before, False
            value = self.value(depth + 1)
            if not self.cut or value is not None:
                items.append(value)
        return items

    def _colon_next(self) -> bool:
        rest = self.text[self.at : self.at + 40].lstrip()
        return not rest or rest[0] == ":"


def _bare(word: str) -> Any:
    low = word.lower().rstrip(".")
    if low in _LITERALS:
        return _LITERALS[low]
    return float(word) if _NUMBER.fullmatch(word) else word


def _unescape(content: str) -> str:
    if "\\" not in content:
        return content

    def one(match: re.Match) -> str:
        code = match.group(1)
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return _ESCAPED.get(code, code)

    return _ESCAPE.sub(one, content)
