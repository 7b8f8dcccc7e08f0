"""How many recorded texts a second do the parsers read, in one process? The target is
20,000.

Every set is read as it was recorded, where a judge that was sampled says the same short
thing again and again, and with each text once. All sets take turns in every round, and
the medians of the rounds are given: texts a second by the clock, and by processor time,
which says the same on a busy machine.

`measure()` returns a section of results/bench.json; run as a script to print it.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd

from judgecard import recordings
from nlgeval_lib import datasets, parsers

TARGET = 20_000
Reader = Callable[[str], Any]


def _texts(frame: pd.DataFrame) -> list[str]:
    """The texts as they stand in the recording."""
    return frame["text"].tolist()


def _marked(frame: pd.DataFrame) -> list[str]:
    """Feedback with its score behind the mark, as Prometheus writes it; the recording
    keeps the score in a column of its own.
    """
    texts = []
    for text, value in zip(frame["text"], frame["value"], strict=True):
        texts.append(f"{text} [RESULT] {value:g}")
    return texts


class Set(NamedTuple):
    """A recording, how its texts are read, and which texts they are.

    parser: the parser's name, for the title.
    recording: its name in the library.
    read: reads one text.
    choose: takes the texts from the recording's frame.
    """

    parser: str
    recording: str
    read: Reader
    choose: Callable[[pd.DataFrame], list[str]] = _texts


SETS = (
    Set("rating", "acloserlook", lambda text: parsers.rating(text, 1, 3)),
    Set("rating", "llm_summeval", lambda text: parsers.rating(text, 1, 5)),
    Set("error_analysis", "tigerscore_outputs", parsers.error_analysis),
    Set("error_analysis", "instructscore_wmt22", parsers.error_analysis),
    Set("feedback", "prometheus_gpt4", parsers.feedback, _marked),
    Set("feedback without a mark", "prometheus_gpt4", parsers.feedback),
)


class Job:
    """The texts of a set, and how fast they were read in each round.

    title: of the set.
    kind: "as recorded" or "no text twice".
    read: reads one text.
    by_clock, by_processor: texts a second of each round so far.
    """

    def __init__(
        self,
        title: str,
        kind: str,
        read: Reader,
        texts: list[str],
    ) -> None:
        self.title = title
        self.kind = kind
        self.read = read
        self.texts = texts
        self.by_clock: list[float] = []
        self.by_processor: list[float] = []

    def run(self) -> None:
        """Read all texts once, and note how many that is a second."""
        clock = time.perf_counter()
        processor = time.process_time()
        for text in self.texts:
            self.read(text)
        clock_seconds = time.perf_counter() - clock
        processor_seconds = time.process_time() - processor
        self.by_clock.append(len(self.texts) / clock_seconds)
        self.by_processor.append(len(self.texts) / processor_seconds)

    def result(self) -> dict[str, int]:
        """The size of the set, and the medians of the rounds."""
        characters = statistics.fmean(map(len, self.texts))
        by_clock = statistics.median(self.by_clock)
        by_processor = statistics.median(self.by_processor)
        return {
            "texts": len(self.texts),
            "characters each": round(characters),
            "texts a second": round(by_clock),
            "texts a second of processor time": round(by_processor),
        }


def measure(texts: int = 20_000, rounds: int = 5) -> dict[str, Any]:
    """Texts a second of every parser, by set and kind; the reason in place of a
    recording that is not available.

    texts: how many of a set are read at most, drawn at random.
    """
    results: dict[str, Any] = {
        "target": f"{TARGET} texts a second",
        "rounds": rounds,
    }
    jobs: list[Job] = []
    for recorded in SETS:
        title = f"{recorded.parser}, {recorded.recording}"
        available, reason = datasets.available(recorded.recording)
        if not available:
            results[title] = reason
            continue
        results[title] = {}
        frame = recordings.load(recorded.recording)
        chosen = recorded.choose(frame)
        # a fixed order: every run reads the same texts of a long recording
        random.Random(0).shuffle(chosen)
        chosen = chosen[:texts]
        distinct = list(dict.fromkeys(chosen))
        jobs.append(Job(title, "as recorded", recorded.read, chosen))
        jobs.append(Job(title, "no text twice", recorded.read, distinct))
    for _ in range(rounds):
        for job in jobs:
            job.run()
    for job in jobs:
        results[job.title][job.kind] = job.result()
    return results


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
