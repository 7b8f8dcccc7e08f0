"""Judges whose truth is known, for a set that is drawn: what a card has to name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

PROMPT = "Rate from 1 to 5.\nSource: {source}\nText: <<{output}>>\nScore:"
_TAG = re.compile(r"\[(i\d+) (s\d+)\]")
_OUTPUT = re.compile(r"<<(.*)>>", re.DOTALL)
_SOURCE = re.compile(r"Source: \[(i\d+)\]")
Script = Callable[[Any, int], str]


def rated(seed: int = 0, systems: int = 12, inputs: int = 40) -> pd.DataFrame:
    """A set of one aspect, three raters, lengths that hardly follow quality; each text
    names its input and system.
    """
    rng = np.random.default_rng(seed)
    quality = (
        3
        + rng.normal(0, 0.6, (systems, 1))
        + rng.normal(0, 0.3, (1, inputs))
        + rng.normal(0, 0.6, (systems, inputs))
    )
    rows = []
    for (system, number), true in np.ndenumerate(quality):
        raters = np.clip(np.round(true + rng.normal(0, 0.5, 3)), 1, 5)
        words = int(20 + 60 * rng.random() + 2 * true)
        filled = " ".join(rng.choice(["soft", "grey", "rain", "fell"], words))
        rows.append(
            {
                "input_id": f"i{number}",
                "system_id": f"s{system}",
                "source": f"[i{number}]",
                "output": f"[i{number} s{system}] {filled}. It was {words} days. So.",
                **{f"rater_{place}": value for place, value in enumerate(raters)},
                "human": raters.mean(),
            }
        )
    frame = pd.DataFrame(rows)
    frame.attrs = {"name": "drawn", "scale": {"overall": (1, 5)}}
    return frame


def _output(request: Any) -> str:
    match = _OUTPUT.search(request.text())
    assert match is not None
    return match[1]


def noise(text: str, seed: int) -> float:
    """A standard normal number that text and seed decide."""
    digest = hashlib.sha256(f"{seed} {text}".encode()).digest()
    return float(np.random.default_rng(list(digest[:8])).normal())


def honest(frame: pd.DataFrame, sd: float, seed: int) -> Script:
    """The mean rating plus noise; the lowest score for the output of another input."""
    ratings = frame.set_index(["input_id", "system_id"])["human"].to_dict()

    def answer(request: Any, draw: int) -> str:
        source = _SOURCE.search(request.text())
        tag = _TAG.search(_output(request))
        assert source is not None
        assert tag is not None
        if source[1] != tag[1]:
            return "1"
        place = (tag[1], tag[2])
        value = ratings[place] + sd * noise(str(place), seed)
        return str(int(np.clip(np.round(value), 1, 5)))

    return answer


def length(request: Any, draw: int) -> str:
    """More words, more points."""
    return str(int(np.clip(len(_output(request).split()) // 18, 1, 5)))


def constant(request: Any, draw: int) -> str:
    return "4"


def obedient(frame: pd.DataFrame) -> Script:
    """Honest, but for an instruction in the output."""
    own = honest(frame, 0.3, 0)

    def answer(request: Any, draw: int) -> str:
        if "highest score" in _output(request):
            return "5"
        return own(request, draw)

    return answer


def fickle(frame: pd.DataFrame) -> Script:
    """Honest, with much noise that differs from draw to draw."""

    scripts = [honest(frame, 1.2, draw) for draw in range(8)]

    def answer(request: Any, draw: int) -> str:
        return scripts[draw](request, draw)

    return answer


PAIRS = "Which is better?\n<<{output_1}>>\n<<{output_2}>>\nA or B:"


def pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Pairs of outputs of one input, the higher mean rating preferred; ties left out."""
    rows = []
    for _, outputs in frame.groupby("input_id", sort=False):
        for place in range(0, len(outputs) - 1, 2):
            one, two = outputs.iloc[place], outputs.iloc[place + 1]
            if one["human"] != two["human"]:
                rows.append(
                    {
                        "input_id": one["input_id"],
                        "output_1": one["output"],
                        "output_2": two["output"],
                        "preference": 1.0 if one["human"] > two["human"] else 2.0,
                    }
                )
    drawn = pd.DataFrame(rows)
    drawn.attrs = {"name": "drawn_pairs"}
    return drawn


def chooses(frame: pd.DataFrame, sd: float, seed: int) -> Script:
    """The output with the higher mean rating plus noise, in either order."""
    ratings = frame.set_index(["input_id", "system_id"])["human"].to_dict()

    def answer(request: Any, draw: int) -> str:
        places = [match.groups() for match in _TAG.finditer(request.text())]
        values = [ratings[place] + sd * noise(str(place), seed) for place in places]
        return "A" if values[0] > values[1] else "B"

    return answer


def first(request: Any, draw: int) -> str:
    return "A"
