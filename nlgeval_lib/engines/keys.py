"""Under which key a completion is stored: a hash of all that determines it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


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
