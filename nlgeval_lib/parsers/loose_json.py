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
      | (?: "(?P<double>(?:[^"\\]|\\(?:.|\Z))*+)"?
          | '(?P<single>(?:[^'\\]|\\(?:.|\Z)|(?<=\w)'(?=\w))*+)'?
          | (?P<bare>[^\s,:{}\[\]"']+(?:[ ]+(?!//)[^\s,:{}\[\]"']+)*+)
        ) (?P<colon>\s*+:)?
    )""",
    re.X | re.S,
)
_NUMBER = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?")
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "nan": None}


class Record(dict):
    """A JSON object that remembers its pairs, which keys came twice with different values, and whether it was cut."""

    def __init__(self, pairs: list[tuple[str, Any]], cut: bool = False) -> None:
        super().__init__(pairs)
        self.pairs = tuple(pairs)
        self.clashes = frozenset(key for key, value in pairs if self[key] != value)
        self.cut = cut


def objects(text: str) -> Iterator[tuple[Record | list, int, int]]:
    """Every outermost object or array of `text` with its start and end, in order, of many the first 500."""
    at = failures = read = 0
    while failures < MAX_FAILURES and read < MAX_OBJECTS and (opening := re.compile(r"[{\[]").search(text, at)):
        value, at = _read(text, opening.start())
        if value is None:
            failures += 1
        else:
            read += 1
            yield value, opening.start(), at


def _read(text: str, at: int) -> tuple[Record | list | None, int]:
    """The object or array that opens here, and where it, or the text, ends; None where it is no JSON."""
    levels: list[tuple[str, list[str], list[Any]]] = []  # what is open: the bracket, keys, values

    def closed(cut: bool) -> Record | list:
        bracket, keys, values = levels.pop()
        made = Record(list(zip(keys, values, strict=False)), cut) if bracket == "{" else values
        if levels:
            levels[-1][2].append(made)
        return made

    while token := _TOKEN.match(text, at):
        at = token.end()
        mark = token["mark"] or ""
        bracket, keys, values = levels[-1] if levels else ("", [], [])
        awaited = bracket == "{" and len(keys) > len(values)  # a value, after its key
        if mark and mark in "}]:":
            if awaited or bracket + mark not in ("{}", "[]"):
                return None, at
            made = closed(False)
            if not levels:
                return made, at
        elif token["colon"] and bracket == "{" and not awaited:
            keys.append(_text(token))
        elif token["colon"] or (bracket == "{" and not awaited) or len(levels) > MAX_DEPTH:
            if mark or _TOKEN.match(text, at):
                return None, at
            break  # half a key at the end
        elif mark:
            levels.append((mark, [], []))
        else:
            values.append(_literal(token["bare"]) if token["bare"] else _text(token))
    while len(levels) > 1:
        closed(True)
    return closed(True), len(text)


def _literal(word: str) -> Any:
    if word.lower() in _LITERALS:
        return _LITERALS[word.lower()]
    return float(word) if _NUMBER.fullmatch(word) else word


def _text(token: re.Match) -> str:
    if token["bare"]:
        return token["bare"]
    content = token["double"] if token["double"] is not None else token["single"].replace("\\'", "'")
    try:
        return json.loads(f'"{content}"', strict=False) if "\\" in content else content
    except ValueError:
        return re.sub(r"\\(.)", r"\1", content, flags=re.S)
