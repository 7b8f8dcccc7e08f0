"""Do intervals at system level hold the truth, with judges that people recorded?

python -m tools.recorded_levels [--worlds 100]

Systems and inputs of a rated set are drawn with the scores that a recorded judge gave
them; truth is the coefficient of the whole set. Prints, for Pearson at system level,
the share of worlds whose interval holds it, and the median width. Needs the data; takes
minutes, and writes nothing.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

from judgecard import judged
from nlgeval_lib import files, statistics

INTERVALS = ("fisher", "wide-both", "jack-both")
# a card of data/cards/cards.csv, and the aspect, "" for the only one
JUDGES = (
    ("summeval-gpt-4o", "coherence"),
    ("summeval-gpt-4o", "consistency"),
    ("summeval-mistral-v03", "relevance"),
    ("wmt22-zhen-gpt4-da-refa", ""),
    ("topical-chat-gpt-3-5-turbo-0613-rate-explain", "naturalness"),
)
# how many systems are drawn, and whether one may be drawn twice
DRAWS = ((6, True), (12, True), (8, False))
INPUTS = 100  # drawn at most, with replacement
Scores = np.ndarray  # X[system, input]


def of_card(name: str, aspect: str) -> tuple[Scores, Scores]:
    """The scores of a recorded judge and the ratings of people."""
    cards = pd.read_csv(files.data() / "cards" / "cards.csv", keep_default_na=False)
    row = cards.set_index("card").loc[name]
    frame = judged.recorded(row["dataset"], row["recording"], row["judge"], row["form"])
    rows = frame.frame
    if aspect:
        rows = rows[rows["aspect"] == aspect]
    places = {"index": "system_id", "columns": "input_id"}
    scores = rows.pivot_table(values="value", **places)
    ratings = rows.pivot_table(values="human", **places)
    return scores.to_numpy(), ratings.to_numpy()


def correlation(scores: Scores, ratings: Scores, ci: str | None) -> Any:
    """Pearson's coefficient at system level, with this interval."""
    return statistics.correlate(scores, ratings, "pearson", "system", ci=ci)


def measure(
    scores: Scores, ratings: Scores, systems: int, again: bool, worlds: int
) -> dict[str, str]:
    """Interval -> its coverage and median width, in words.

    systems: drawn in each world. again: whether one may be drawn twice.
    """
    truth = correlation(scores, ratings, None).value
    n_systems, n_inputs = scores.shape
    rng = np.random.default_rng(1)
    holds: dict[str, list[bool]] = {ci: [] for ci in INTERVALS}
    widths: dict[str, list[float]] = {ci: [] for ci in INTERVALS}
    for _ in range(worlds):
        rows = rng.choice(n_systems, systems, replace=again)
        columns = rng.choice(n_inputs, min(INPUTS, n_inputs))
        world = np.ix_(rows, columns)
        for ci in INTERVALS:
            made = correlation(scores[world], ratings[world], ci)
            if np.isnan(made.low):
                continue
            holds[ci].append(made.low <= truth <= made.high)
            widths[ci].append(made.high - made.low)
    return {
        ci: f"{np.mean(holds[ci]):.2f} (width {np.median(widths[ci]):.2f})"
        for ci in INTERVALS
    }


def main() -> None:
    """Print a line a judge and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=100)
    options = parser.parse_args()
    for name, aspect in JUDGES:
        scores, ratings = of_card(name, aspect)
        for systems, again in DRAWS:
            if systems > len(scores):
                continue
            found = measure(scores, ratings, systems, again, options.worlds)
            drawn = "some twice" if again else "each once"
            print(f"{name} {aspect}, {systems} systems, {drawn}: {found}", flush=True)


if __name__ == "__main__":
    main()
