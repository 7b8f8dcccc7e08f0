"""How often do the intervals of `estimate` and `pass_rates` hold the truth,
and what is the judge worth, in worlds whose truth is known? The long run.

    python -m tools.estimate_coverage [--sims 1000] [--seed 0]

Prints a row a world and design; writes nothing. About five minutes of one core. The
test runs the same worlds with fewer simulations.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from judgecard import recorded_judges
from judgecard.estimates import Estimates, estimate
from judgecard.pass_rates import pass_rates
from nlgeval_lib import datasets

# how many systems a world by a law has
SYSTEMS = 5
# scores or ratings, `[system, input]`; of truths, a number a system
Scores = np.ndarray
Rng = np.random.Generator


class Design(NamedTuple):
    """What is labelled.

    by: "output", drawn anew for each system, or "input", the same inputs for all
        systems.
    labels: how many outputs a system.
    inputs: how many there are of which labels are drawn.
    """

    by: str
    labels: int
    inputs: int


DESIGNS = (
    Design("input", 30, 300),
    Design("output", 30, 300),
    Design("input", 100, 300),
)
BEYOND = 200_000  # inputs that stand for the population


@dataclass(frozen=True)
class World:
    """Quality of outputs by a law, what people say of it, and what the judge says.

    rate: ratings of quality.
    judge: scores of quality, with a generator.
    heavy: whether the outputs' effects have heavy tails (t with 3 degrees of freedom).
    topics: how many there are in a data set, which the judge sees in its own way; 0 for
        none.
    """

    rate: Callable[[Scores], Scores]
    judge: Callable[[Scores, Rng], Scores]
    heavy: bool = False
    topics: int = 0
    note = "by a law"

    def draw(self, inputs: int, rng: Rng) -> tuple[Scores, Scores]:
        """Scores and ratings of new inputs, `[system, input]`.

        rng: drawn from; the order of the draws decides the numbers.
        """
        # quality is the sum of what system, input and output add
        of_systems = np.linspace(-0.6, 0.6, SYSTEMS)[:, None]
        shape = (SYSTEMS, inputs)
        if self.heavy:
            of_outputs = rng.standard_t(3, size=shape)
        else:
            of_outputs = rng.normal(size=shape)
        of_inputs = 0.7 * rng.normal(size=(1, inputs))
        quality = of_systems + of_inputs + of_outputs
        judged = quality
        if self.topics:
            # People and judge like a topic independently of each other: the judge's
            # errors are alike within a topic.
            for_people, for_judge = rng.normal(size=(2, 1, self.topics))
            topics = self.topics_of(inputs)
            judged = quality + for_judge[:, topics]
            quality = quality + for_people[:, topics]
        scores = self.judge(judged, rng)
        return scores, self.rate(quality)

    def topics_of(self, inputs: int) -> np.ndarray:
        """The topic of each input: numbers from 0, inputs of one topic side by side."""
        return np.arange(inputs) * self.topics // inputs


@dataclass(frozen=True)
class OfData:
    """The inputs of a rated data set with a judge's scores of all outputs, drawn with
    replacement: nothing of scores and ratings is by a law.

    dataset: its name in the library.
    aspect: the rated aspect.
    judge: a column of the set's file, or the name of a recorded judge in `recording`.
    recording: empty where the judge is a column.
    """

    dataset: str
    aspect: str
    judge: str
    recording: str = ""
    topics = 0
    note = "from data"

    def draw(self, inputs: int, rng: Rng) -> tuple[Scores, Scores]:
        """Scores and ratings of inputs that are drawn, `[system, input]`."""
        scores, ratings = pool(self)
        drawn = rng.integers(0, ratings.shape[1], inputs)
        return scores[:, drawn], ratings[:, drawn]


@functools.cache
def pool(world: OfData) -> tuple[Scores, Scores]:
    """All scores and ratings of a data set, `[system, input]` each, of inputs that lack
    none.
    """
    numbers = datasets.load_numbers(world.dataset)
    of_aspect = numbers[numbers["aspect"] == world.aspect]
    ratings = of_aspect.pivot_table("human", "system_id", "input_id")
    if world.recording:
        scores = _recorded(world, numbers)
    else:
        scores = of_aspect.pivot_table(world.judge, "system_id", "input_id")
    scores = scores.reindex_like(ratings)
    complete = (ratings.notna() & scores.notna()).all()
    ratings = ratings.loc[:, complete]
    scores = scores.loc[:, complete]
    return scores.to_numpy(), ratings.to_numpy()


def _recorded(world: OfData, numbers: pd.DataFrame) -> pd.DataFrame:
    """The scores of a recorded judge, `[system, input]`."""
    items = datasets.items(numbers)
    recorded = recorded_judges.scores(items, world.recording)
    of_judge = recorded[world.judge][world.aspect]
    scores = items[["system_id", "input_id"]].reset_index(drop=True)
    scores["score"] = np.asarray(of_judge, dtype=float)
    return scores.pivot_table("score", "system_id", "input_id")


def _as_it_is(quality: Scores) -> Scores:
    """People who see quality itself."""
    return quality


def _on_scale(values: Scores) -> Scores:
    """Whole scores from 1 to 5."""
    return np.clip(np.round(values), 1, 5)


def _noisy(quality: Scores, rng: Rng) -> Scores:
    """A judge who sees quality with noise."""
    return quality + rng.normal(size=quality.shape)


def _favours_one(quality: Scores, rng: Rng) -> Scores:
    """A judge on a scale of its own that scores the first system high."""
    scores = 50 + 10 * _noisy(quality, rng)
    noise = rng.normal(size=scores[0].shape)
    scores[0] = 70 + 3 * noise
    return scores


def _knows_nothing(quality: Scores, rng: Rng) -> Scores:
    """A judge who scores by chance."""
    return rng.normal(size=quality.shape)


def _passes(quality: Scores, rng: Rng) -> Scores:
    """A judge who says pass (1) or fail (0)."""
    return (_noisy(quality, rng) > -0.5).astype(float)


WORLDS: dict[str, World | OfData] = {
    "normal": World(_as_it_is, _noisy),
    "five classes": World(
        lambda quality: _on_scale(3.5 + quality),
        lambda quality, rng: _on_scale(3.8 + 0.8 * _noisy(quality, rng)),
    ),
    "ceiling": World(
        lambda quality: _on_scale(5.2 + quality),
        lambda quality, rng: _on_scale(5 + _noisy(quality, rng)),
    ),
    "heavy tails": World(_as_it_is, _noisy, heavy=True),
    "favours a system": World(_as_it_is, _favours_one),
    "knows nothing": World(_as_it_is, _knows_nothing),
    "ten topics": World(_as_it_is, _noisy, topics=10),
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


def labelled(ratings: Scores, by: str, labels: int, rng: Rng) -> Scores:
    """The ratings of outputs drawn at random, NaN elsewhere.

    ratings: of all outputs, `[system, input]`.
    by: "output" or "input", as `Design` has it.
    """
    known_ratings = np.full_like(ratings, np.nan)
    systems, inputs = ratings.shape
    chosen = rng.choice(inputs, labels, replace=False)
    for system in range(systems):
        if by == "output":
            chosen = rng.choice(inputs, labels, replace=False)
        known_ratings[system, chosen] = ratings[system, chosen]
    return known_ratings


def measure(
    name: str, by: str, labels: int, inputs: int, sims: int, seed: int
) -> dict[str, float]:
    """Coverage of means and differences with the judge, of means by labels and by the
    judge alone; and what a label is worth (medians).

    seed: of the truth of a world by a law; the next one is of the simulations.
    Returns: by title, shares from 0 to 1 and worths; of a world with topics also the
        coverage where `estimate` knows them.
    """
    world = WORLDS[name]
    truth = _truth(world, seed)
    rng = np.random.default_rng(seed + 1)
    rows = []
    for _ in range(sims):
        scores, ratings = world.draw(inputs, rng)
        known_ratings = labelled(ratings, by, labels, rng)
        estimates = estimate(scores, known_ratings)
        row = dict(_coverage(estimates, scores, truth))
        if isinstance(world, World) and world.topics:
            topics = world.topics_of(inputs)
            estimates = estimate(scores, known_ratings, input_groups=topics)
            grouped = dict(_coverage(estimates, scores, truth))
            row["means by topic"] = grouped["means"]
            row["differences by topic"] = grouped["differences"]
        rows.append(row)
    table = pd.DataFrame(rows)
    worth = ["worth of means", "worth of differences"]
    coverage = table.drop(columns=worth).mean()
    return {**coverage, **table[worth].median()}


def _truth(world: World | OfData, seed: int) -> Scores:
    """The mean rating of each system over all inputs and topics there could be."""
    if isinstance(world, OfData):
        _, ratings = pool(world)
        return ratings.mean(axis=1)
    if world.topics:
        # a topic an input: the truth is not that of ten topics alone
        world = replace(world, topics=BEYOND)
    rng = np.random.default_rng(seed)
    _, ratings = world.draw(BEYOND, rng)
    return ratings.mean(axis=1)


def _coverage(
    estimates: Estimates, scores: Scores, truth: Scores
) -> Iterator[tuple[str, float]]:
    """What one simulation says, by name: shares of intervals that hold the truth, and
    what a label is worth.
    """
    means = estimates.to_frame()
    yield "means", _held(means["low"], means["high"], truth)
    yield "labels alone", _held(means["low_alone"], means["high_alone"], truth)
    # The judge's mean score with its usual interval, as if scores were ratings.
    _, inputs = scores.shape
    center = scores.mean(axis=1)
    error = scores.std(axis=1, ddof=1) / np.sqrt(inputs)
    low = center - 1.96 * error
    high = center + 1.96 * error
    yield "judge alone", _held(low, high, truth)
    # Every pair of systems, in the order of `differences_frame`.
    first, second = np.triu_indices(len(truth), 1)
    gaps = truth[first] - truth[second]
    differences = estimates.differences_frame()
    yield "differences", _held(differences["low"], differences["high"], gaps)
    yield "worth of means", estimates.worth_means
    yield "worth of differences", estimates.worth_differences


def _held(low: Any, high: Any, truth: Scores) -> float:
    """The share of intervals that hold the truth, from 0 to 1."""
    above = np.asarray(low) <= truth
    below = np.asarray(high) >= truth
    return float(np.mean(above & below))


def measure_pass_rates(labels: int, inputs: int, sims: int, seed: int) -> float:
    """Coverage of corrected pass rates where the judge errs alike with all systems, and
    the last system has no label.

    labels: how many inputs are labelled, the same for all systems.
    """
    rates = np.linspace(0.4, 0.9, SYSTEMS)
    rng = np.random.default_rng(seed)
    shares = []
    for _ in range(sims):
        passed = rng.random((SYSTEMS, inputs)) < rates[:, None]
        # the judge is right in .9 of what passes and in .75 of what fails, whatever the
        # system
        accuracy = np.where(passed, 0.9, 0.75)
        correct = rng.random(passed.shape) < accuracy
        verdicts = passed == correct
        known_ratings = labelled(passed.astype(float), "input", labels, rng)
        known_ratings[-1] = np.nan
        table = pass_rates(verdicts, known_ratings).to_frame()
        shares.append(_held(table["low"], table["high"], rates))
    return float(np.mean(shares))


def main(argv: Sequence[str] | None = None) -> None:
    """Print the coverage in every world and design, then that of pass rates."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sims", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    sims = options.sims
    seed = options.seed
    rows = []
    for name, design in product(WORLDS, DESIGNS):
        row: dict[str, Any] = {"world": name, "made": WORLDS[name].note}
        row |= design._asdict()
        row |= measure(name, *design, sims, seed)
        rows.append(row)
    table = pd.DataFrame(rows).round(3)
    print(table.to_markdown(index=False))
    for labels in (20, 60):
        coverage = measure_pass_rates(labels, 300, sims, seed)
        print(f"pass rates, {labels} labels a system: {coverage:.3f}")


if __name__ == "__main__":
    main()
