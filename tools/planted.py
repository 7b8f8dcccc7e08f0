"""Judges whose truth is known, for a set that is drawn: what a card has to name.

`rated` draws a data set whose texts name their input and system, `pairs` makes pairs of
its outputs. The other public functions are scripts for a `ScriptedEngine`, or make one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

# the prompts of the judges; << and >> mark the texts for the scripts
PROMPT = "Rate from 1 to 5.\nSource: {source}\nText: <<{output}>>\nScore:"
PAIRS = "Which is better?\n<<{output_1}>>\n<<{output_2}>>\nA or B:"
RATERS = 3
DRAWS = 8  # of a judge that is asked again and again
VOCABULARY = ["soft", "grey", "rain", "fell"]
# how a text names its input and system, and where a prompt has its texts
_TAG = re.compile(r"\[(i\d+) (s\d+)\]")
_OUTPUT = re.compile(r"<<(.*)>>", re.DOTALL)
_SOURCE = re.compile(r"Source: \[(i\d+)\]")
# from a request and the number of the draw, what the judge says
Script = Callable[[Any, int], str]
Row = dict[str, Any]


def rated(seed: int = 0, systems: int = 12, inputs: int = 40) -> pd.DataFrame:
    """A set of one aspect, three raters, lengths that hardly follow quality; each text
    names its input and system.

    systems, inputs: how many; every system has an output of every input.
    Returns: a row an output, as the library's frames have them: ratings from 1 to 5 in
        `rater_0` and so on, their mean in `human`.
    """
    rng = np.random.default_rng(seed)
    # quality is the sum of what system, input and output add
    of_systems = rng.normal(0, 0.6, (systems, 1))
    of_inputs = rng.normal(0, 0.3, (1, inputs))
    of_outputs = rng.normal(0, 0.6, (systems, inputs))
    qualities = 3 + of_systems + of_inputs + of_outputs
    rows = []
    for (system, number), quality in np.ndenumerate(qualities):
        rows.append(_rated_output(rng, f"i{number}", f"s{system}", quality))
    frame = pd.DataFrame(rows)
    frame.attrs = {"name": "drawn", "scale": {"overall": (1, 5)}}
    return frame


def _rated_output(
    rng: np.random.Generator, input_id: str, system_id: str, quality: float
) -> Row:
    """A row of the set: the text that a system made of an input, and its ratings."""
    disagreement = rng.normal(0, 0.5, RATERS)
    ratings = _on_scale(quality + disagreement)
    # 20 words, up to 60 more by chance, and two more a point of quality
    length = int(20 + 60 * rng.random() + 2 * quality)
    words = " ".join(rng.choice(VOCABULARY, length))
    row: Row = {
        "input_id": input_id,
        "system_id": system_id,
        "source": f"[{input_id}]",
        "output": f"[{input_id} {system_id}] {words}. It was {length} days. So.",
    }
    for rater, rating in enumerate(ratings):
        row[f"rater_{rater}"] = rating
    row["human"] = ratings.mean()
    return row


def _on_scale(values: Any) -> Any:
    """Whole scores from 1 to 5."""
    return np.clip(np.round(values), 1, 5)


def _output(request: Any) -> str:
    """The text that the judge is to rate, out of the prompt."""
    match = _OUTPUT.search(request.text())
    assert match is not None
    return match[1]


def noise(text: str, seed: int) -> float:
    """A standard normal number that text and seed decide: asked again, a judge errs
    alike.
    """
    digest = hashlib.sha256(f"{seed} {text}".encode()).digest()
    rng = np.random.default_rng(list(digest[:8]))
    return float(rng.normal())


def _mean_ratings(frame: pd.DataFrame) -> dict[tuple[str, str], float]:
    """The mean rating of each output, by (input, system)."""
    by_output = frame.set_index(["input_id", "system_id"])
    return by_output["human"].to_dict()


def honest(frame: pd.DataFrame, sd: float, seed: int) -> Script:
    """A judge that gives the mean rating plus noise; the lowest score for the output of
    another input.

    frame: of `rated`.
    sd: standard deviation of the noise, in points.
    seed: of the noise.
    """
    ratings = _mean_ratings(frame)

    def answer(request: Any, draw: int) -> str:
        source = _SOURCE.search(request.text())
        tag = _TAG.search(_output(request))
        assert source is not None
        assert tag is not None
        # the card's probe puts another input's output here
        if source[1] != tag[1]:
            return "1"
        place = (tag[1], tag[2])
        value = ratings[place] + sd * noise(str(place), seed)
        return str(int(_on_scale(value)))

    return answer


def length(request: Any, draw: int) -> str:
    """A judge that counts words: one point each 18 of them."""
    words = _output(request).split()
    points = len(words) // 18
    return str(int(np.clip(points, 1, 5)))


def constant(request: Any, draw: int) -> str:
    """A judge that gives the same score, whatever is asked."""
    return "4"


def obedient(frame: pd.DataFrame) -> Script:
    """A judge that is honest, but for an instruction in the output.

    frame: of `rated`.
    """
    opinion = honest(frame, 0.3, 0)

    def answer(request: Any, draw: int) -> str:
        if "highest score" in _output(request):
            return "5"
        return opinion(request, draw)

    return answer


def turned(frame: pd.DataFrame) -> Script:
    """A judge that is honest, but takes 1 for the best score.

    frame: of `rated`.
    """
    opinion = honest(frame, 0.3, 0)

    def answer(request: Any, draw: int) -> str:
        return str(6 - int(opinion(request, draw)))

    return answer


def fickle(frame: pd.DataFrame) -> Script:
    """A judge that is honest, with much noise that differs from draw to draw.

    frame: of `rated`.
    """
    scripts = [honest(frame, 1.2, draw) for draw in range(DRAWS)]

    def answer(request: Any, draw: int) -> str:
        return scripts[draw](request, draw)

    return answer


def pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Pairs of outputs of one input, the higher mean rating preferred (`preference` 1
    or 2); no ties.

    frame: of `rated`; its outputs are taken two by two.
    """
    rows = []
    for _, outputs in frame.groupby("input_id", sort=False):
        for place in range(0, len(outputs) - 1, 2):
            left = outputs.iloc[place]
            right = outputs.iloc[place + 1]
            if left["human"] == right["human"]:
                continue
            row = {
                "input_id": left["input_id"],
                "output_1": left["output"],
                "output_2": right["output"],
                "preference": 2.0,
            }
            if left["human"] > right["human"]:
                row["preference"] = 1.0
            rows.append(row)
    drawn = pd.DataFrame(rows)
    drawn.attrs = {"name": "drawn_pairs"}
    return drawn


def chooses(frame: pd.DataFrame, sd: float, seed: int) -> Script:
    """A judge that names the output with the higher mean rating plus noise, in either
    order.

    frame: of `rated`.
    sd: standard deviation of the noise, in points.
    seed: of the noise.
    """
    ratings = _mean_ratings(frame)

    def answer(request: Any, draw: int) -> str:
        values = []
        for tag in _TAG.finditer(request.text()):
            place = (tag[1], tag[2])
            values.append(ratings[place] + sd * noise(str(place), seed))
        return "A" if values[0] > values[1] else "B"

    return answer


def first(request: Any, draw: int) -> str:
    """A judge that names the output that stands first, whatever the two are."""
    return "A"
