"""How fast is the completion store in one process: milliseconds to open it, and
completions a second of writing and looking up?

`measure()` returns a section of results/bench.json; run as a script to print it.
"""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from nlgeval_lib.engines.base import draw_keys
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion

# part of what a completion's key is made of
SAMPLING = {"temperature": 1.0, "max_tokens": 256}


def measure(completions: int = 50_000, repeats: int = 3) -> dict[str, Any]:
    """Writes and look-ups a second, one by one and many at once, and the time to open a
    store.

    completions: how many are written and looked up in a round.
    """
    to_store = [_completion(number) for number in range(completions)]
    keys = [completion.key for completion in to_store]
    # looked up in another order than they were written, always the same
    random.Random(0).shuffle(keys)

    def rate(call: Callable[[], Any]) -> int:
        seconds = sorted(_seconds(call) for _ in range(repeats))
        return round(completions / seconds[repeats // 2])

    def put() -> None:
        with _fresh_store() as store:
            for completion in to_store:
                store.put(completion)

    def put_many() -> None:
        with _fresh_store() as store:
            store.put_many(to_store)

    results: dict[str, Any] = {
        "put a second": rate(put),
        "put_many a second": rate(put_many),
    }
    with _fresh_store() as store:
        store.put_many(to_store)
        store.close()

        def get() -> None:
            for key in keys:
                store.get(key)

        # A store that was closed is opened by the next look-up.
        opening = _seconds(lambda: store.get(keys[0]))
        results["opened and one found, milliseconds"] = round(1000 * opening, 1)
        results["get a second"] = rate(get)
        results["get_many a second"] = rate(lambda: store.get_many(keys))
    return results


def _completion(number: int) -> Completion:
    """A judge's answer to a prompt of its own."""
    fields = {
        "model": "judge",
        "revision": "1",
        "prompt": f"prompt {number}",
        "sampling": SAMPLING,
    }
    (key,) = draw_keys(fields, [0])
    score = number % 5 + 1
    return Completion(
        key=key,
        text=f"The answer names two facts and misses one. Score: {score}",
        model="judge",
        revision="1",
    )


@contextlib.contextmanager
def _fresh_store() -> Iterator[Store]:
    """An empty store in a folder that goes with it."""
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
        yield store


def _seconds(call: Callable[[], Any]) -> float:
    """Wall seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
