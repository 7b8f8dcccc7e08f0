"""Worlds that no normal law made: the effects of systems and outputs as rated data sets
have them, heavy tails, broken systems, families, topics; and what the defaults of
`statistics` make of them.

Two judges correlate alike with the ratings, and see different parts: the first follows
systems (or topics), the second outputs. A twin sees what the first does.

The worlds are rows of `data_worlds.csv` beside this file: a new one is a row there. The
long run (`make levels`, tools/levels.py) calls `measure` for each world, level and
coefficient; the notebook `inference_levels` beside this and `docs/statistics.md` show
its rows: `committed`, `summary`, `page_lines`, `again_lines`, `cells_beyond`. In
`measure`, `draw` makes data sets, and `truth` says what an interval has to hold and how
far the second judge has to follow outputs to equal the first.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from nlgeval_lib import datasets, files, statistics
from nlgeval_lib.statistics import jackknife
from nlgeval_lib.statistics.levels import plan

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
# what came of one data set, as 0 or 1 but for the width; NaN where it does not apply:
# held or rejected, width, one system carries it, leaves the interval without
Outcome = tuple[float, float, float, float]
# shares of a judge's variance between systems, between inputs and left over, and of the
# ratings', as SummEval's consistency has them
JUDGE = (0.385, 0.098, 0.517)
RATINGS = (0.348, 0.013, 0.639)
# of the topics' world: between topics, between systems and left over
BY_TOPIC = (0.3, 0.1, 0.6)
FOLLOWS = 0.65  # the first judge's correlation with the effects that it follows
SHARED = 0.8  # the share of a system's effect that is its family's
BROKEN = 6.0  # how far a broken system lies below the others, in their SDs
SAME = 1e-9  # values of ranks that differ by rounding are one
# seeds of the run by which the rules were made, and of one that they had not seen
FIRST = 0
FRESH = 1
# of the long run's table; `measure` says what they are
COLUMNS = ["world", "size", "level", "coef", "method", "what", "rate", "se", "width"]
COLUMNS += ["one_system", "leaves", "sims", "seed"]


class World(NamedTuple):
    """What a world is.

    what: in words.
    systems, inputs: the size of its data sets.
    data, aspect: the data set that its effects are drawn from; empty for a law.
    law: of the systems' effects: "normal", "t3" (t with 3 degrees of freedom), "broken"
    (one in eight far below); empty with a data set.
    family: systems of a family, 1 for none.
    topic: inputs of a topic, 1 for none.
    """

    what: str
    systems: int
    inputs: int
    data: str
    aspect: str
    law: str
    family: int
    topic: int

    @property
    def size(self) -> tuple[int, int]:
        """Systems and inputs."""
        return self.systems, self.inputs


def _worlds() -> dict[str, World]:
    """The worlds of the table beside this file, by name."""
    path = Path(__file__).with_suffix(".csv")
    table = pd.read_csv(path, index_col="world", keep_default_na=False)
    worlds = {}
    for row in table.itertuples():
        name, *fields = row
        worlds[name] = World(*fields)
    return worlds


WORLDS = _worlds()


class Judged(NamedTuple):
    """One data set: scores and ratings, `[system, input]` each, NaN where there is no
    output.

    first, second: the two judges.
    twin: a judge that sees what the first does.
    ratings: on the data set's scale, or of variance 1 by a law.
    """

    first: Floats
    twin: Floats
    second: Floats
    ratings: Floats


@functools.cache
def effects(dataset: str, aspect: str) -> tuple[Floats, Floats, Floats, Floats]:
    """The effects that the ratings of a data set are the sum of.

    aspect: of its ratings.
    Returns: effects of systems (about the mean of all), of inputs (about 0), what is
    left over of each output `[system, input]` (NaN where there is none), and the values
    that ratings have, sorted.
    """
    frame = datasets.load_numbers(dataset)
    frame = frame[frame["aspect"] == aspect]
    wide = frame.pivot_table("human", "system_id", "input_id", sort=False)
    ratings = wide.to_numpy()  # [system, input]
    inputs = np.nanmean(ratings, axis=0) - np.nanmean(ratings)
    systems = np.nanmean(ratings, axis=1)
    left_over = ratings - systems[:, None] - inputs
    values = np.unique(ratings[~np.isnan(ratings)])
    return systems, inputs, left_over, values


def draw(
    name: str, size: tuple[int, int], rng: Rng, load: float, of_systems: Rng
) -> Judged:
    """Both judges, the twin and the ratings.

    name: of the world.
    size: (systems, inputs).
    rng: draws all but the systems.
    load: how far the second judge follows outputs, in [0, 1].
    of_systems: what draws the systems and what judges make of them; one that begins
    anew draws the same.
    """
    world = WORLDS[name]
    make = _of_data if world.data else _of_law
    ratings, followed, outputs = make(world, size, rng, of_systems)
    absent = np.isnan(ratings)
    judges = []
    # The first judge and its twin follow systems (or topics), the second outputs.
    for follows, sees in ((FOLLOWS, 0.0), (FOLLOWS, 0.0), (0.0, load)):
        systems = _of_systems(world, size[0], of_systems)[:, None]
        inputs = _of_inputs(world, size[1], rng)[None]
        left_over = _mixed(sees, outputs, rng.normal(size=size))
        # What has the largest share of a judge's variance but for what is left over:
        # topics where there are some, else systems.
        if world.topic > 1:
            parts = _mixed(follows, followed, inputs), systems, left_over
        else:
            parts = _mixed(follows, followed, systems), inputs, left_over
        scores = _weighted(JUDGE, parts)
        judges.append(np.where(absent, np.nan, scores))
    return Judged(*judges, ratings)


def _weighted(shares: Sequence[float], parts: Sequence[Floats]) -> Floats:
    """The sum of three effects of variance 1, each with its share of the variance."""
    first, second, third = [math.sqrt(share) for share in shares]
    return first * parts[0] + second * parts[1] + third * parts[2]


def _mixed(share: float, effect: Floats, noise: Floats) -> Floats:
    """An effect of variance 1 that correlates by `share` with the first.

    effect, noise: of variance 1, independent of each other.
    """
    return share * effect + math.sqrt(1 - share**2) * noise


def _of_systems(world: World, number: int, rng: Rng, law: str = "normal") -> Floats:
    """Effects of systems of variance 1; those of a family share most of theirs.

    law: "normal", "t3" or "broken"; families are normal whatever it is.
    """
    if world.family > 1:
        n_families = -(-number // world.family)
        families = np.repeat(rng.normal(size=n_families), world.family)
        return _mixed(math.sqrt(SHARED), families[:number], rng.normal(size=number))
    effect = rng.normal(size=number)
    if law == "t3":
        # A t of 3 degrees of freedom over the root of 3, so that its variance is 1.
        effect /= np.sqrt(rng.chisquare(3, number))
    elif law == "broken":
        share = 1 / 8
        is_broken = rng.random(number) < share
        effect -= BROKEN * (is_broken - share)
        effect /= math.sqrt(1 + BROKEN**2 * share * (1 - share))
    return effect


def _of_inputs(world: World, number: int, rng: Rng) -> Floats:
    """Effects of inputs of variance 1; those of a topic are one."""
    n_topics = -(-number // world.topic)
    topics = rng.normal(size=n_topics)
    return np.repeat(topics, world.topic)[:number]


def _of_law(
    world: World, size: tuple[int, int], rng: Rng, of_systems: Rng
) -> tuple[Floats, Floats, Floats]:
    """Ratings by a law `[system, input]`, the effects that the first judge follows, and
    the second's; arguments as for `draw`.
    """
    systems = _of_systems(world, size[0], of_systems, world.law)[:, None]
    inputs = _of_inputs(world, size[1], rng)[None]
    outputs = rng.normal(size=size)
    if world.topic > 1:
        ratings = _weighted(BY_TOPIC, (inputs, systems, outputs))
        return ratings, inputs, outputs
    ratings = _weighted(RATINGS, (systems, inputs, outputs))
    return ratings, systems, outputs


def _of_data(
    world: World, size: tuple[int, int], rng: Rng, of_systems: Rng
) -> tuple[Floats, Floats, Floats]:
    """The same with the effects of a data set, drawn with replacement; what is left
    over is of the same system.

    Ratings are those nearest on the scale; as the parts are drawn apart, fewer are at
    its top (SummEval's consistency: about .55 for .83).
    """
    systems, inputs, outputs, values = effects(world.data, world.aspect)
    if of_systems is rng:
        drawn = rng.integers(0, len(systems), size[0])
    else:
        # Of systems that stay, two may not be one and the same.
        drawn = of_systems.permutation(len(systems))[: size[0]]
    # What is left over comes from any output of the same system.
    places = rng.integers(0, len(inputs), size)
    left_over = outputs[drawn[:, None], places]
    drawn_inputs = rng.integers(0, len(inputs), size[1])
    ratings = systems[drawn][:, None] + inputs[drawn_inputs]
    ratings = ratings + left_over
    on_scale = _nearest(ratings, values)
    # An output that the data set has not has no rating here either.
    rated = np.where(np.isnan(left_over), np.nan, on_scale)
    # Both effects that judges follow are of variance 1.
    followed = (systems[drawn] - systems.mean()) / systems.std()
    of_outputs = np.nan_to_num(left_over) / np.nanstd(outputs)
    return rated, followed[:, None], of_outputs


def _nearest(ratings: Floats, values: Floats) -> Floats:
    """The value of the scale that is nearest to each rating."""
    # The two values that each rating lies between; beyond the ends, the two last.
    above = np.searchsorted(values, ratings)
    above = np.clip(above, 1, len(values) - 1)
    lower = values[above - 1]
    higher = values[above]
    return np.where(ratings - lower < higher - ratings, lower, higher)


# -- the truth


@functools.cache
def truth(name: str, coef: str, level: str, alike: bool = True) -> tuple[float, float]:
    """The first judge's coefficient over all systems and inputs there could be, and the
    load with which the second has the same.

    name: of the world.
    coef, level: as for `statistics.correlate`.
    alike: False where the load is not asked for; it is then .5, without meaning.
    """
    target = float(np.mean(_large(name, coef, level, 0.0, "first")))
    # The second judge's coefficient grows with its load: ten halvings.
    low = 0.0
    high = 1.0
    for _ in range(10 if alike else 0):
        load = (low + high) / 2
        second = np.mean(_large(name, coef, level, load, "second"))
        if second < target:
            low = load
        else:
            high = load
    return target, (low + high) / 2


def _large(name: str, coef: str, level: str, load: float, judge: str) -> list[float]:
    """The coefficient in six large data sets, which are the same at every call.

    judge: "first" or "second".
    """
    systems = 1200
    inputs = 80
    # At system level the number of inputs belongs to what is measured.
    if level == "system":
        inputs = WORLDS[name].size[1]
    # A topic counts once, so that many of them are needed.
    if WORLDS[name].topic > 1:
        systems = 50
        inputs = 2000
    values = []
    for number in range(6):
        rng = np.random.default_rng([9, number])
        judged = draw(name, (systems, inputs), rng, load, rng)
        scores = getattr(judged, judge)
        values.append(plan(scores, judged.ratings, coef, level).value)
    return values


def truth_of_these(name: str, coef: str, level: str, systems: int, seed: int) -> float:
    """The first judge's coefficient over all inputs, for the systems of a seed.

    name: of the world.
    systems: how many.
    seed: what draws them.
    """
    inputs = 1000 if level == "system" else 4000
    values = []
    for number in range(4):
        rng = np.random.default_rng([8, number])
        # Begun anew, so that it draws the same systems.
        of_systems = np.random.default_rng(seed)
        judged = draw(name, (systems, inputs), rng, 0.0, of_systems)
        values.append(plan(judged.first, judged.ratings, coef, level).value)
    return float(np.mean(values))


# -- the measurement


def measure(
    name: str, level: str, coef: str, sims: int = 300, seed: int = 0
) -> list[dict[str, Any]]:
    """How often does each default reject at .05, and hold the truth? A row a method.

    At system level the test compares the first judge with its twin, else with the
    second judge.

    name: of the world.
    level, coef: as for `statistics.correlate`.
    sims: data sets.
    seed: of all that is drawn.
    Returns: rows of `COLUMNS`. method: "auto" and, over systems and inputs, "careful";
    "grouped" knows families or topics; "these" (by topic, where there are some) holds
    for the systems at hand. what: "level" or "coverage". one_system: the share of data
    sets in which one system makes more than half of the variance; leaves: in which the
    value without the most influential leaves the interval.
    """
    world = WORLDS[name]
    seeds = [seed, *world.size, list(WORLDS).index(name)]
    rng = np.random.default_rng(seeds)
    outcomes: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    # Two systems allow an answer for these systems alone.
    if world.systems > 2:
        target, load = truth(name, coef, level, level != "system")
        for _ in range(sims):
            judged = draw(name, world.size, rng, load, rng)
            tried = _outcomes(world, judged, coef, level, target)
            for key, outcome in tried.items():
                outcomes[key].append(outcome)
    outcomes["these", "coverage"] = _of_these(name, coef, level, sims, seed)
    cell = f"{world.systems}x{world.inputs}"
    rows = []
    for (method, what), listed in sorted(outcomes.items()):
        rate, *further_means = np.mean(listed, axis=0).tolist()
        se = math.sqrt(rate * (1 - rate) / len(listed))
        values = (name, cell, level, coef, method, what, rate, se)
        row = (*values, *further_means, len(listed), seed)
        rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def _of_these(name: str, coef: str, level: str, sims: int, seed: int) -> list[Outcome]:
    """Of data sets with one and the same systems: whether the answer for these systems
    holds the truth.
    """
    world = WORLDS[name]
    target = truth_of_these(name, coef, level, world.systems, seed)
    rng = np.random.default_rng([seed, list(WORLDS).index(name), 1])
    outcomes = []
    for _ in range(sims):
        # Begun anew, so that each data set has the same systems.
        of_systems = np.random.default_rng(seed)
        judged = draw(name, world.size, rng, 0.0, of_systems)
        topics = _together(world).get("input_groups")
        judge = statistics.correlate(
            judged.first, judged.ratings, coef, level, input_groups=topics
        )
        these = judge.these_systems
        assert these is not None
        holds = these.low <= target + SAME and target - SAME <= these.high
        width = these.high - these.low
        outcomes.append((float(holds), width, math.nan, math.nan))
    return outcomes


def _outcomes(
    world: World, judged: Judged, coef: str, level: str, target: float
) -> dict[tuple[str, str], Outcome]:
    """Of one data set: (method, "level" or "coverage") -> what the method does.

    target: the truth.
    """
    rival = judged.twin if level == "system" else judged.second
    sides = judged.first, rival, judged.ratings
    outcomes = {}
    for method, groups in {"auto": {}, "grouped": _together(world)}.items():
        if method == "grouped" and not groups:
            continue
        compared = statistics.compare(*sides, coef, level, "auto", **groups)
        judge = statistics.correlate(
            judged.first, judged.ratings, coef, level, ci="auto", **groups
        )
        outcomes[method, "level"] = _rejected(compared.p)
        outcomes[method, "coverage"] = _held(judge, target)
        # The same numbers judged by the careful degrees of freedom: nothing is drawn
        # or computed anew.
        if method == "auto" and level != "system":
            careful = replace(compared.spread, careful=True)
            p, _ = jackknife.p_value(compared.difference, careful)
            outcomes["careful", "level"] = _rejected(p)
            careful = replace(judge.replicates[1], careful=True)
            ends = jackknife.interval(judge.value, careful)
            judge = replace(judge, interval=ends)
            outcomes["careful", "coverage"] = _held(judge, target)
    return outcomes


def _together(world: World) -> dict[str, Any]:
    """The families and topics of a world, as arguments of `statistics`; empty without any."""
    systems, inputs = world.size
    together: dict[str, Any] = {}
    if world.family > 1:
        together["system_groups"] = np.arange(systems) // world.family
    if world.topic > 1:
        together["input_groups"] = np.arange(inputs) // world.topic
    return together


def _rejected(p: float) -> Outcome:
    """Of a test: whether it rejects; the rest is of intervals."""
    return float(p <= 0.05), math.nan, math.nan, math.nan


def _held(judge: statistics.Correlation, target: float) -> Outcome:
    """Of an interval: whether it holds the target, its width, and what influence says
    of it.
    """
    influence = judge.influence
    one_system = math.nan
    leaves = math.nan
    if influence is not None:
        one_system = float(influence.share > 0.5)
        leaves = float(influence.outside)
    holds = judge.low <= target <= judge.high
    return float(holds), judge.high - judge.low, one_system, leaves


def committed(seed: int = FIRST) -> Any:
    """The long run's rows of a seed, made by `make levels`: a frame of `COLUMNS`."""
    path = files.data() / "simulated" / "data_worlds.csv"
    runs = pd.read_csv(path, dtype={"size": str})
    return runs[runs["seed"] == seed].reset_index(drop=True)


def summary(seed: int = FIRST) -> Any:
    """The worst rate of each method over levels and coefficients: the highest level,
    the lowest coverage.

    seed: of the run, `FIRST` or `FRESH`.
    Returns: a row a world, a column a method and what was measured.
    """
    runs = committed(seed)
    columns = {}
    for what, worst in (("level", "max"), ("coverage", "min")):
        measured = runs[runs["what"] == what]
        of_method = measured.groupby(["world", "method"], sort=False)
        worst_rates = of_method["rate"].agg(worst).unstack("method")
        for method, rates in worst_rates.items():
            columns[f"{method}, {what}"] = rates
    # The columns that there are, in a fixed order.
    methods = ("auto", "careful", "grouped", "these")
    names = []
    for method, what in itertools.product(methods, ("level", "coverage")):
        name = f"{method}, {what}"
        if name in columns:
            names.append(name)
    return pd.DataFrame(columns).reindex(list(WORLDS))[names]


def page_lines() -> list[str]:
    """The table of `docs/statistics.md`, a line a world: the worst rate of each method,
    bold beyond its bar.
    """
    table = summary()
    lines = []
    for world, rates in table.iterrows():
        cells = [str(world), WORLDS[str(world)].what]
        cells += [_shown(str(name), rate) for name, rate in rates.items()]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def again_lines() -> list[str]:
    """What the fresh seed says otherwise: a line a world and method whose worst rate
    is beyond its bar with one seed only.
    """
    first = summary(FIRST)
    fresh = summary(FRESH)
    lines = []
    for world, name in itertools.product(WORLDS, first.columns):
        first_rate = first.at[world, name]
        fresh_rate = fresh.at[world, name]
        if _beyond(name, first_rate) == _beyond(name, fresh_rate):
            continue
        cells = [world, name, _shown(name, first_rate), _shown(name, fresh_rate)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def cells_beyond(what: str, method: str) -> tuple[int, int, int, int]:
    """How many cells of a method are beyond their bar.

    what: "level" or "coverage".
    method: as in the rows of `measure`.
    Returns: how many cells there are; beyond their bar with the first seed, with the
    fresh one, and with both.
    """
    verdicts = []
    for seed in (FIRST, FRESH):
        runs = committed(seed)
        of_method = runs[(runs["what"] == what) & (runs["method"] == method)]
        # The index lets cells of both seeds meet.
        rates = of_method.set_index(["world", "level", "coef"])["rate"]
        verdicts.append(rates.map(functools.partial(_beyond, what)))
    first, fresh = verdicts
    both = first & fresh
    return len(first), int(first.sum()), int(fresh.sum()), int(both.sum())


def _beyond(name: str, rate: float) -> bool:
    """Whether a rate is beyond its bar: a level above .10, a coverage below .90.

    name: ends in what was measured.
    """
    if name.endswith("level"):
        return rate > 0.10
    return rate < 0.90


def _shown(name: str, rate: float) -> str:
    """A rate, bold beyond its bar."""
    text = ""
    if not math.isnan(rate):
        text = f"{rate:.3f}".lstrip("0")
    if _beyond(name, rate):
        return f"**{text}**"
    return text
