"""How often the intervals of `meta.estimate` and `meta.pass_rates` hold the truth, and
what the judge is worth, in worlds whose truth is known: the long run.

    python -m tools.estimate_coverage [--sims 1000] [--seed 0]

Prints a row a world and design. About five minutes of one core. The test runs the same
worlds with fewer simulations.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, meta
from nlgeval_lib.study import recorded_judges

SYSTEMS = 5
Scores = np.ndarray
# labels a system, inputs; "input": the same inputs for all systems
DESIGNS = (("input", 30, 300), ("output", 30, 300), ("input", 100, 300))
BEYOND = 200_000  # inputs that stand for the population


@dataclass(frozen=True)
class World:
    """Quality of outputs, what people say of it, and what the judge says.

    rate: ratings of quality. judge: scores of quality, with a generator. topics: how
    many there are in a data set, which the judge sees in its own way; 0 for none.
    """

    rate: Callable[[Scores], Scores]
    judge: Callable[[Scores, np.random.Generator], Scores]
    heavy: bool = False
    topics: int = 0
    note = "by a law"

    def draw(self, inputs: int, rng: np.random.Generator) -> tuple[Scores, Scores]:
        """Scores and ratings of new inputs, `[system, input]`."""
        level = np.linspace(-0.6, 0.6, SYSTEMS)[:, None]
        shape = (SYSTEMS, inputs)
        if self.heavy:
            noise = rng.standard_t(3, size=shape)
        else:
            noise = rng.normal(size=shape)
        quality = level + 0.7 * rng.normal(size=(1, inputs)) + noise
        judged = quality
        if self.topics:
            own, seen = rng.normal(size=(2, 1, self.topics))
            topics = self.topics_of(inputs)
            judged = quality + seen[:, topics]
            quality = quality + own[:, topics]
        return self.judge(judged, rng), self.rate(quality)

    def topics_of(self, inputs: int) -> np.ndarray:
        """The topic of each input."""
        return np.arange(inputs) * self.topics // inputs


@dataclass(frozen=True)
class OfData:
    """The inputs of a rated data set with a judge's scores of all outputs, drawn with
    replacement: nothing of scores and ratings is by a law.

    judge: a column of the set's file, or the name of a recorded judge in `recording`.
    """

    dataset: str
    aspect: str
    judge: str
    recording: str = ""
    topics = 0
    note = "from data"

    def draw(self, inputs: int, rng: np.random.Generator) -> tuple[Scores, Scores]:
        """Scores and ratings of inputs that are drawn, `[system, input]`."""
        scores, ratings = _pool(self)
        drawn = rng.integers(0, ratings.shape[1], inputs)
        return scores[:, drawn], ratings[:, drawn]


@functools.cache
def _pool(world: OfData) -> tuple[Scores, Scores]:
    """All scores and ratings of a data set, of inputs that lack none."""
    frame = datasets.of_numbers(world.dataset)
    if world.recording:
        items = datasets.items(frame)
        recorded = recorded_judges.scores(items, world.recording)
        places = items[["system_id", "input_id"]].reset_index(drop=True)
        places["score"] = np.asarray(recorded[world.judge][world.aspect], dtype=float)
        of_judge = places.pivot_table("score", "system_id", "input_id")
    frame = frame[frame["aspect"] == world.aspect]
    ratings = frame.pivot_table("human", "system_id", "input_id")
    if not world.recording:
        of_judge = frame.pivot_table(world.judge, "system_id", "input_id")
    of_judge = of_judge.reindex_like(ratings)
    complete = (ratings.notna() & of_judge.notna()).all()
    return of_judge.loc[:, complete].to_numpy(), ratings.loc[:, complete].to_numpy()


def _on_scale(values: Scores) -> Scores:
    return np.clip(np.round(values), 1, 5)


def _noisy(quality: Scores, rng: np.random.Generator) -> Scores:
    return quality + rng.normal(size=quality.shape)


def _favours_one(quality: Scores, rng: np.random.Generator) -> Scores:
    scores = 50 + 10 * _noisy(quality, rng)
    scores[0] = 70 + 3 * rng.normal(size=scores[0].shape)
    return scores


def _passes(quality: Scores, rng: np.random.Generator) -> Scores:
    return (_noisy(quality, rng) > -0.5).astype(float)


WORLDS: dict[str, World | OfData] = {
    "normal": World(lambda quality: quality, _noisy),
    "five classes": World(
        lambda quality: _on_scale(3.5 + quality),
        lambda quality, rng: _on_scale(3.8 + 0.8 * _noisy(quality, rng)),
    ),
    "ceiling": World(
        lambda quality: _on_scale(5.2 + quality),
        lambda quality, rng: _on_scale(5 + _noisy(quality, rng)),
    ),
    "heavy tails": World(lambda quality: quality, _noisy, heavy=True),
    "favours a system": World(lambda quality: quality, _favours_one),
    "knows nothing": World(
        lambda quality: quality, lambda quality, rng: rng.normal(size=quality.shape)
    ),
    "ten topics": World(lambda quality: quality, _noisy, topics=10),
    "pass or fail": World(lambda quality: (quality > -0.8).astype(float), _passes),
    "SummEval, consistency": OfData(
        "summeval", "consistency", "gpt-4o", "alttest_summeval"
    ),
    "SummEval, coherence": OfData(
        "summeval", "coherence", "gpt-4o", "alttest_summeval"
    ),
    "Topical-Chat, overall": OfData("topical_chat", "overall", "unieval"),
    "OpenMEVA, ChatGPT": OfData("openmeva", "overall", "stored_chatgpt"),
    "OpenMEVA, BARTScore": OfData("openmeva", "overall", "stored_bartscore"),
    "SFRES, quality": OfData("sfres", "quality", "unieval"),
}


def labelled(
    ratings: Scores,
    by: str,
    labels: int,
    rng: np.random.Generator,
) -> Scores:
    """The ratings of outputs drawn at random, NaN elsewhere."""
    kept = np.full_like(ratings, np.nan)
    inputs = ratings.shape[1]
    chosen = rng.choice(inputs, labels, replace=False)
    for system in range(len(ratings)):
        if by == "output":
            chosen = rng.choice(inputs, labels, replace=False)
        kept[system, chosen] = ratings[system, chosen]
    return kept


def measure(
    name: str,
    by: str,
    labels: int,
    inputs: int,
    sims: int,
    seed: int,
) -> dict[str, float]:
    """Coverage of means and differences with the judge, of means by labels and by the
    judge alone; and what a label is worth (medians).
    """
    world = WORLDS[name]
    truth = _truth(world, seed)
    rng = np.random.default_rng(seed + 1)
    rows = []
    for _ in range(sims):
        scores, ratings = world.draw(inputs, rng)
        known = labelled(
            ratings,
            by,
            labels,
            rng,
        )
        found = meta.estimate(scores, known)
        row = dict(_coverage(found, scores, truth))
        if world.topics:
            together = world.topics_of(inputs)
            found = meta.estimate(scores, known, input_groups=together)
            grouped = dict(_coverage(found, scores, truth))
            row["means by topic"] = grouped["means"]
            row["differences by topic"] = grouped["differences"]
        rows.append(row)
    table = pd.DataFrame(rows)
    worth = ["worth of means", "worth of differences"]
    return {**table.drop(columns=worth).mean(), **table[worth].median()}


def _truth(world: World | OfData, seed: int) -> Scores:
    """The mean rating of each system over all inputs and topics there could be."""
    if isinstance(world, OfData):
        return _pool(world)[1].mean(axis=1)
    beyond = replace(world, topics=BEYOND if world.topics else 0)
    _, ratings = beyond.draw(BEYOND, np.random.default_rng(seed))
    return ratings.mean(axis=1)


def _coverage(
    found: meta.Estimates, scores: Scores, truth: Scores
) -> Iterator[tuple[str, float]]:
    """What one simulation says, by name."""
    means = found.to_frame()
    yield "means", _held(means["low"], means["high"], truth)
    yield "labels alone", _held(means["low_alone"], means["high_alone"], truth)
    center = scores.mean(axis=1)
    error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    low = center - 1.96 * error
    high = center + 1.96 * error
    yield "judge alone", _held(low, high, truth)
    first, second = np.triu_indices(len(truth), 1)
    gaps = truth[first] - truth[second]
    pairs = found.differences_frame()
    yield "differences", _held(pairs["low"], pairs["high"], gaps)
    yield "worth of means", found.worth_means
    yield "worth of differences", found.worth_differences


def _held(low: Any, high: Any, truth: Scores) -> float:
    """The share of intervals that hold the truth."""
    above = np.asarray(low) <= truth
    below = np.asarray(high) >= truth
    return float(np.mean(above & below))


def measure_pass_rates(
    labels: int,
    inputs: int,
    sims: int,
    seed: int,
) -> float:
    """Coverage of corrected pass rates where the judge errs alike with all systems, and
    the last system has no label.
    """
    rates = np.linspace(0.4, 0.9, SYSTEMS)
    rng = np.random.default_rng(seed)
    held = []
    for _ in range(sims):
        passed = rng.random((SYSTEMS, inputs)) < rates[:, None]
        accuracy = np.where(passed, 0.9, 0.75)
        right = rng.random(passed.shape) < accuracy
        kept = labelled(
            passed.astype(float),
            "input",
            labels,
            rng,
        )
        kept[-1] = np.nan
        table = meta.pass_rates(passed == right, kept).to_frame()
        held.append(_held(table["low"], table["high"], rates))
    return float(np.mean(held))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sims", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    sims = options.sims
    seed = options.seed
    rows = []
    for name, (by, labels, inputs) in product(WORLDS, DESIGNS):
        measured = measure(
            name,
            by,
            labels,
            inputs,
            sims,
            seed,
        )
        place = {
            "world": name,
            "made": WORLDS[name].note,
            "by": by,
            "labels": labels,
            "inputs": inputs,
        }
        rows.append(place | measured)
    table = pd.DataFrame(rows).round(3)
    print(table.to_markdown(index=False))
    for labels in (20, 60):
        coverage = measure_pass_rates(
            labels,
            300,
            sims,
            seed,
        )
        print(f"pass rates, {labels} labels a system: {coverage:.3f}")


if __name__ == "__main__":
    main()
