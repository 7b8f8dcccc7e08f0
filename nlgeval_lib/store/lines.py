"""One record, one line: JSON that begins with its checksum and its key, so that an index needs no JSON parser.

    {"crc":"1f0c9a3e","key":"<64 hex digits>","text":"...", ...}\n

The checksum is CRC-32 of everything after the comma that follows it, without the newline.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from nlgeval_lib.schema import Completion

CRC_AT, KEY_AT, BODY_AT = 8, 25, 91
_HEAD, _FROM = b'{"crc":"', 18
_REQUEST = b'"request":'
# json.dumps and json.loads build or inspect too much for each call: these are what they come down to
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_dump_ascii = json.JSONEncoder(separators=(",", ":")).encode
_load = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class NewerRecord(ValueError):
    """A whole record with fields that this version does not have."""


@dataclass(frozen=True, slots=True)
class Line:
    """Where a record lies in a block of bytes. `key` is empty where the line is damaged."""

    start: int
    length: int
    key: str
    is_request: bool
    problem: str = ""


def encode(key: str, body: dict[str, Any]) -> bytes:
    """The line of a record. Lone surrogates, which UTF-8 cannot hold, are kept as JSON escapes."""
    try:
        rest = f'"key":"{key}",{_dump(body)[1:]}'.encode()
    except UnicodeEncodeError:
        rest = f'"key":"{key}",{_dump_ascii(body)[1:]}'.encode()
    return b'{"crc":"%08x",%b\n' % (zlib.crc32(rest), rest)


def decode(line: bytes) -> dict[str, Any]:
    """The record of a line. Raises: ValueError where the checksum or the JSON is wrong."""
    if line[-1:] == b"\n":
        line = line[:-1]
    problem = _problem(line)
    if problem:
        raise ValueError(problem)
    return parse(line)


def parse(line: bytes) -> dict[str, Any]:
    """The record of a line whose checksum was checked before. Raises: ValueError where it is not JSON."""
    try:
        return _load(line.decode(), 0)[0]
    except StopIteration:
        raise ValueError("not JSON") from None


def _problem(line: bytes) -> str:
    """Why a line cannot be trusted; empty if it can."""
    if not line.startswith(_HEAD) or line[_FROM - 2 : _FROM] != b'",' or len(line) < BODY_AT:
        return "not a record"
    if b"%08x" % zlib.crc32(memoryview(line)[_FROM:]) != line[CRC_AT : CRC_AT + 8]:
        return "checksum does not match"
    return ""


def scan(block: bytes) -> Iterator[Line]:
    """The records of a block that begins at a line's start; what follows the last newline is left out."""
    start = 0
    while (end := block.find(b"\n", start)) >= 0:
        line = block[start:end]
        problem = _problem(line)
        if problem:
            yield Line(start, end + 1 - start, "", False, problem)
        else:
            key = line[KEY_AT : KEY_AT + 64].decode()
            yield Line(start, end + 1 - start, key, line.startswith(_REQUEST, BODY_AT))
        start = end + 1


def of_completion(c: Completion) -> dict[str, Any]:
    """A completion's record, without what has its usual value."""
    body: dict[str, Any] = {"text": c.text, "finish_reason": c.finish_reason}
    if c.prompt_tokens:
        body["prompt_tokens"] = c.prompt_tokens
    if c.completion_tokens:
        body["completion_tokens"] = c.completion_tokens
    if c.model:
        body["model"] = c.model
    if c.revision:
        body["revision"] = c.revision
    if c.logprobs is not None:
        body["logprobs"] = [dict(position) for position in c.logprobs]
    return body


def to_completion(record: dict[str, Any]) -> Completion:
    """The completion of a record. Raises: NewerRecord; ValueError without a text."""
    if "text" not in record:
        raise ValueError(f"the record {record['key'][:12]} has no text")
    if not record.keys() <= _KNOWN:
        unknown = ", ".join(sorted(record.keys() - _KNOWN))
        raise NewerRecord(
            f"the record {record['key'][:12]} has {unknown}, which this version does not know: "
            "a newer one wrote it; update, or use another store"
        )
    made, get = object.__new__(Completion), record.get
    if get("logprobs") is not None:
        record["logprobs"] = tuple(record["logprobs"])
    for name, default, put in _FIELDS:  # the dataclass, being frozen, looks each field up by name to set it
        put(made, get(name, default))
    return made


_KNOWN = {"crc", *(field.name for field in fields(Completion))}
_FIELDS = tuple((field.name, field.default, getattr(Completion, field.name).__set__) for field in fields(Completion))
