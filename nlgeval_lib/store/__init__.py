"""Raw completions on disk, keyed by what determines them. See `Store`."""

from __future__ import annotations

from nlgeval_lib.store.census import census
from nlgeval_lib.store.core import Store, StoreError
from nlgeval_lib.store.keys import canonical, completion_key, draw_keys, request_body, request_key
from nlgeval_lib.store.maintenance import Damage, Report, compact, verify

__all__ = [
    "Damage",
    "Report",
    "Store",
    "StoreError",
    "canonical",
    "census",
    "compact",
    "completion_key",
    "draw_keys",
    "request_body",
    "request_key",
    "verify",
]
