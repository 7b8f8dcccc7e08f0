"""Speed of the parsers on recorded texts, one process; the target is 20,000 texts a
second.

Every set is read as it was recorded, where a judge that was sampled says the same short
thing again and again, and with each text once. All sets take turns in every round, and
the medians of the rounds are given: texts a second by the clock, and by processor time,
which says the same on a busy machine.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import pandas as pd

from nlgeval_lib import datasets, parsers

TARGET = 20_000
Reader = Callable[[str], Any]


def _texts(frame: pd.DataFrame) -> list[str]:
    return frame["text"].tolist()


def _marked(frame: pd.DataFrame) -> list[str]:
    """Feedback with its score behind the mark, as Prometheus writes it; the
    recording keeps the score apart.
    """
    return [
        f"{text} [RESULT] {value:g}"
        for text, value in frame[["text", "value"]].itertuples(index=False)
    ]


# parser, recording, how it is read, which texts of the recording
SETS: tuple[tuple[str, str, Reader, Callable[[pd.DataFrame], list[str]]], ...] = (
    ("rating", "acloserlook", lambda text: parsers.rating(text, 1, 3), _texts),
    ("rating", "llm_summeval", lambda text: parsers.rating(text, 1, 5), _texts),
    ("error_analysis", "tigerscore_outputs", parsers.error_analysis, _texts),
    ("error_analysis", "instructscore_wmt22", parsers.error_analysis, _texts),
    ("feedback", "prometheus_gpt4", parsers.feedback, _marked),
    ("feedback without a mark", "prometheus_gpt4", parsers.feedback, _texts),
)


def measure(texts: int = 20_000, rounds: int = 5) -> dict[str, Any]:
    """Texts a second of every parser: at most `texts` of a set, the median of
    `rounds`.
    """
    found: dict[str, Any] = {"target": f"{TARGET} texts a second", "rounds": rounds}
    jobs: list[tuple[str, str, Reader, list[str]]] = []
    for parser, name, read, choose in SETS:
        title = f"{parser}, {name}"
        here, reason = datasets.available(name)
        if not here:
            found[title] = reason
            continue
        chosen = choose(datasets.recordings.load(name))
        random.Random(0).shuffle(chosen)
        chosen = chosen[:texts]
        once = list(dict.fromkeys(chosen))
        found[title] = {}
        jobs += [
            (title, "as recorded", read, chosen),
            (title, "no text twice", read, once),
        ]
    took: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for title, kind, read, chosen in jobs:
            took.setdefault((title, kind), []).append(_rates(read, chosen))
    for title, kind, _, chosen in jobs:
        by_clock, by_processor = zip(*took[title, kind], strict=True)
        found[title][kind] = {
            "texts": len(chosen),
            "characters each": round(statistics.fmean(map(len, chosen))),
            "texts a second": round(statistics.median(by_clock)),
            "texts a second of processor time": round(statistics.median(by_processor)),
        }
    return found


def _rates(read: Reader, texts: list[str]) -> tuple[float, float]:
    """Texts a second by the clock and by processor time."""
    clock = time.perf_counter()
    processor = time.process_time()
    for text in texts:
        read(text)
    return len(texts) / (time.perf_counter() - clock), len(texts) / (
        time.process_time() - processor
    )


if __name__ == "__main__":
    import json

    print(json.dumps(measure(), indent=2))
