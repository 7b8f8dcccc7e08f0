"""Speed of the completion store, one process: opening it, and rates a second of
writing and looking up.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from typing import Any

from nlgeval_lib.engines.base import draw_keys
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion

SAMPLING = {"temperature": 1.0, "max_tokens": 256}


def measure(completions: int = 50_000, repeats: int = 3) -> dict[str, Any]:
    """Writes and look-ups a second: the median of `repeats` rounds."""
    return _store(completions, repeats)


def _rate(count: int, call: Callable[[], Any], repeats: int) -> int:
    """Things a second, the median of several calls."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return round(count / sorted(seconds)[repeats // 2])


def _store(count: int, repeats: int) -> dict[str, Any]:
    made = [
        Completion(
            key=draw_keys(
                {
                    "model": "judge",
                    "revision": "1",
                    "prompt": f"prompt {i}",
                    "sampling": SAMPLING,
                },
                [0],
            )[0],
            text=f"The answer names two facts and misses one. Score: {i % 5 + 1}",
            model="judge",
            revision="1",
        )
        for i in range(count)
    ]
    keys = [one.key for one in made]
    random.Random(0).shuffle(keys)

    def one_by_one() -> None:
        with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
            for completion in made:
                store.put(completion)

    def together() -> None:
        with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
            store.put_many(made)

    out: dict[str, Any] = {
        "put a second": _rate(count, one_by_one, repeats),
        "put_many a second": _rate(count, together, repeats),
    }
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
        store.put_many(made)
        store.close()
        began = time.perf_counter()
        store.get(keys[0])
        out["opened and one found, milliseconds"] = round(
            1000 * (time.perf_counter() - began), 1
        )
        out["get a second"] = _rate(
            count, lambda: [store.get(key) for key in keys], repeats
        )
        out["get_many a second"] = _rate(count, lambda: store.get_many(keys), repeats)
    return out


if __name__ == "__main__":
    import json

    print(json.dumps(measure(), indent=2))
