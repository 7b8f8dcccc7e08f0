"""What outputs ask of texts, written down while they run (one file a call of `add`):
from this the scores of `data/numbers` are made.
"""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Mapping
from pathlib import Path

FOLDER = "NLGEVAL_COLLECT"  # the folder to write to; not set: nothing is written

# an item, the digests of its texts -> its value, and the reason where it has none
Scores = Mapping[tuple[bytes, ...], tuple[float, str]]


def wanted() -> bool:
    """Whether what is asked of texts is to be written down, by the environment."""
    return bool(os.environ.get(FOLDER))


def add(rule: str, scores: Scores) -> None:
    """Write down, under a rule: an item, the digests of its texts -> (value, reason)."""
    path = Path(os.environ[FOLDER], f"{uuid.uuid4().hex}.pickle")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        pickle.dump((rule, dict(scores)), file)


def read(folder: Path) -> dict[str, dict[tuple[bytes, ...], tuple[float, str]]]:
    """All that was written down into a folder: rule -> item -> (value, reason). Raises:
    ValueError where one item was given different values.
    """
    by_rule: dict[str, dict[tuple[bytes, ...], tuple[float, str]]] = {}
    for path in sorted(folder.glob("*.pickle")):
        with open(path, "rb") as file:
            rule, scores = pickle.load(file)  # our own file of the same run
        of_rule = by_rule.setdefault(rule, {})
        for item, score in scores.items():
            first = of_rule.setdefault(item, score)
            # as texts, so that NaN is equal to NaN
            if repr(first) != repr(score):
                raise ValueError(f"{rule}: {first} and {score} for one item")
    return by_rule
