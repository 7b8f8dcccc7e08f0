"""What determines a completion, and its hash."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_KEY = re.compile(r"[0-9a-f]{64}\Z")


def canonical(value: Any) -> str:
    """JSON with sorted keys, no blanks and only ASCII: equal values give equal text on every machine.

    Raises: TypeError, ValueError where `value` is not JSON (NaN and inf are not).
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def request_body(
    *,
    model: str,
    revision: str,
    prompt: str | None = None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    sampling: Mapping[str, Any],
) -> dict[str, Any]:
    """What is asked, without the draw: model, revision, the rendered prompt or the messages, sampling settings.

    Raises: ValueError unless exactly one of `prompt` and `messages` is given.
    """
    if (prompt is None) == (messages is None):
        raise ValueError("give either prompt or messages, not both and not neither")
    asked = {"prompt": prompt} if messages is None else {"messages": [dict(m) for m in messages]}
    return {"model": model, "revision": revision, **asked, "sampling": dict(sampling)}


def request_key(body: Mapping[str, Any]) -> str:
    """The sha256 of a `request_body`, as 64 hex digits."""
    return hashlib.sha256(canonical(body).encode()).hexdigest()


def draw_keys(body: Mapping[str, Any], draws: Sequence[int]) -> list[str]:
    """The keys of some draws of one request: sha256 of the canonical JSON of the body with `"draw": i`.

    Raises: ValueError for a negative draw.
    """
    if any(draw < 0 for draw in draws):
        raise ValueError(f"draws {list(draws)}: a draw index is 0 or more")
    rest = canonical(body)[1:]  # "draw" sorts before every other name of the body
    return [hashlib.sha256(f'{{"draw":{draw},{rest}'.encode()).hexdigest() for draw in draws]


def completion_key(
    *,
    model: str,
    revision: str,
    prompt: str | None = None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    sampling: Mapping[str, Any],
    draw: int = 0,
) -> str:
    """The key of one completion, as 64 hex digits."""
    body = request_body(model=model, revision=revision, prompt=prompt, messages=messages, sampling=sampling)
    return draw_keys(body, [draw])[0]


def check_key(key: str) -> str:
    """`key` itself. Raises: ValueError unless it is 64 lower-case hex digits."""
    if not isinstance(key, str) or not _KEY.match(key):
        raise ValueError(f"key {key!r}: a key is the 64 lower-case hex digits that completion_key() gives")
    return key
