"""A completion as a record of the store: its key, its JSON and its checksum.

A record is JSON that begins with its key, and has a checksum: the CRC-32 of all but its first character. A line of an
exported file is `{"crc":"1f0c9a3e","key":"<64 hex digits>","text":"...", ...}`: the record with its checksum before it.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.records import Completion

_KEY = re.compile(r"[0-9a-f]{64}\Z")

Row = tuple[bytes, int, str, str | None, str | None]  # key, crc, record, model, revision


class StoreError(OSError):
    """The store cannot be read or written. The message names the file and the way out."""


def canonical(value: Any) -> str:
    """JSON with sorted keys, no blanks and only ASCII: equal values give equal text on every machine.

    Raises: TypeError, ValueError where `value` is not JSON (NaN and inf are not).
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def request_key(body: Mapping[str, Any]) -> str:
    """The sha256 of what is asked (model, revision, prompt or messages, sampling), as 64 hex digits."""
    return hashlib.sha256(canonical(body).encode()).hexdigest()


def draw_keys(body: Mapping[str, Any], draws: Sequence[int]) -> list[str]:
    """The keys of some draws of one request: sha256 of the canonical JSON of the body with `"draw": i`."""
    rest = canonical(body)[1:]  # "draw" sorts before every other name of the body
    return [hashlib.sha256(f'{{"draw":{draw},{rest}'.encode()).hexdigest() for draw in draws]


def checksum(record: bytes) -> int:
    """The CRC-32 of all but the first character of a record."""
    return zlib.crc32(memoryview(record or b" ")[1:])


def row(body: dict[str, Any], model: str | None = None, revision: str | None = None) -> Row:
    """The row of a record. Half characters, which UTF-8 cannot hold, are kept as JSON escapes."""
    record = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if record != files.whole(record):
        record = json.dumps(body, separators=(",", ":"))
    who = (model and files.whole(model), revision and files.whole(revision))
    return bytes.fromhex(body["key"]), checksum(record.encode()), record, *who


def completion_row(c: Completion) -> Row:
    """The row of a completion; what has its usual value is left out. Raises: ValueError."""
    if c.finish_reason == "error" or c.error:
        raise ValueError(f"completion {c.key[:12]} failed ({c.error}): only finished completions are stored")
    if not isinstance(c.key, str) or not _KEY.match(c.key):
        raise ValueError(f"key {c.key!r}: a key is 64 lower-case hex digits, as draw_keys() gives them")
    body: dict[str, Any] = {"key": c.key, "text": c.text, "finish_reason": c.finish_reason}
    for name in ("prompt_tokens", "completion_tokens", "model", "revision"):
        if value := getattr(c, name):
            body[name] = value
    if c.logprobs is not None:
        body["logprobs"] = [dict(position) for position in c.logprobs]
    return row(body, c.model, c.revision)


def completion(key: bytes, crc: int, record: bytes) -> Completion:
    """The completion of a record. Raises: ValueError for a damaged one; StoreError for one of a newer version."""
    if checksum(record) != crc:
        raise ValueError("its checksum does not match")
    found = json.loads(record)
    if found["key"] != key.hex():
        raise ValueError(f"it is that of {found['key'][:12]}")
    if "logprobs" in found:
        found["logprobs"] = tuple(found["logprobs"])
    try:
        return Completion(**found)
    except TypeError as error:
        raise StoreError(f"the record {key.hex()[:12]} is of a newer version ({error}): update") from None


def row_of(line: bytes) -> Row:
    """The row of a line of an exported file. Raises: ValueError, KeyError, TypeError for a damaged one."""
    record, crc = b"{" + line[18:].rstrip(b"\r\n"), int(line[8:16], 16)
    if line[:8] != b'{"crc":"' or checksum(record) != crc:
        raise ValueError("its checksum does not match")
    body = json.loads(record)
    who = (None, None) if "request" in body else (body.get("model", ""), body.get("revision", ""))
    return row(body, *who)
