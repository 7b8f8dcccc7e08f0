"""Worlds that no normal law made: the effects of systems and outputs as rated data sets
have them, heavy tails, broken systems, families, topics; and what the defaults of
`meta` make of them.

Two judges correlate alike with the ratings, and see different parts: the first follows
systems (or topics), the second outputs. A twin sees what the first does.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from nlgeval_lib import datasets, files, meta
from nlgeval_lib.meta import jackknife
from nlgeval_lib.meta.levels import plan

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
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
COLUMNS = ["world", "size", "level", "coef", "method", "what", "rate", "se", "width"]
COLUMNS += ["one_system", "leaves", "sims", "seed"]


class World(NamedTuple):
    """What a world is: its effects from a data set's aspect, or by a law; how many
    systems a family has, and inputs a topic.
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
        return self.systems, self.inputs


def _worlds() -> dict[str, World]:
    """The worlds of the table beside this file, by name."""
    path = Path(__file__).with_suffix(".csv")
    table = pd.read_csv(
        path,
        index_col="world",
        keep_default_na=False,
    )
    worlds = {}
    for row in table.itertuples():
        name, *fields = row
        worlds[name] = World(*fields)
    return worlds


WORLDS = _worlds()


class Judged(NamedTuple):
    """Scores and ratings, `[system, input]` each."""

    first: Floats
    twin: Floats
    second: Floats
    ratings: Floats


@functools.cache
def effects(dataset: str, aspect: str) -> tuple[Floats, Floats, Floats, Floats]:
    """A data set's effects of systems (about the mean of all), of inputs, what is left
    over of each output (NaN where there is none), and the values that ratings have.
    """
    frame = datasets.of_numbers(dataset)
    frame = frame[frame["aspect"] == aspect]
    table = frame.pivot_table(
        "human",
        "system_id",
        "input_id",
        sort=False,
    ).to_numpy()
    inputs = np.nanmean(table, axis=0) - np.nanmean(table)
    systems = np.nanmean(table, axis=1)
    return (
        systems,
        inputs,
        table - systems[:, None] - inputs,
        np.unique(table[~np.isnan(table)]),
    )


def draw(
    name: str, size: tuple[int, int], rng: Rng, load: float, of_systems: Rng
) -> Judged:
    """Both judges, the twin and the ratings.

    load: how far the second judge follows outputs, in [0, 1]. of_systems: what draws
    the systems and what judges make of them; one that begins anew draws the same.
    """
    world = WORLDS[name]
    make = _of_data if world.data else _of_law
    ratings, followed, outputs = make(world, size, rng, of_systems)
    absent = np.isnan(ratings)
    sides = []
    for follows, sees in ((FOLLOWS, 0.0), (FOLLOWS, 0.0), (0.0, load)):
        systems = _of_systems(world, size[0], of_systems)[:, None]
        inputs = _of_inputs(world, size[1], rng)[None]
        rest = _mixed(sees, outputs, rng.normal(size=size))
        if world.topic > 1:
            parts = _mixed(follows, followed, inputs), systems, rest
        else:
            parts = _mixed(follows, followed, systems), inputs, rest
        sides.append(np.where(absent, np.nan, _weighted(JUDGE, parts)))
    return Judged(*sides, ratings)


def _weighted(shares: Sequence[float], parts: Sequence[Floats]) -> Floats:
    """The sum of three effects of variance 1, each with its share of the variance."""
    first, second, third = [math.sqrt(share) for share in shares]
    return first * parts[0] + second * parts[1] + third * parts[2]


def _mixed(
    share: float,
    effect: Floats,
    own: Floats,
) -> Floats:
    """An effect of variance 1 that correlates by `share` with the first."""
    return share * effect + math.sqrt(1 - share**2) * own


def _of_systems(
    world: World,
    number: int,
    rng: Rng,
    law: str = "normal",
) -> Floats:
    """Effects of systems of variance 1; those of a family share most of theirs."""
    if world.family > 1:
        families = np.repeat(rng.normal(size=-(-number // world.family)), world.family)
        return _mixed(
            math.sqrt(SHARED),
            families[:number],
            rng.normal(size=number),
        )
    effect = rng.normal(size=number)
    if law == "t3":
        effect /= np.sqrt(rng.chisquare(3, number))
    elif law == "broken":
        share = 1 / 8
        effect -= BROKEN * ((rng.random(number) < share) - share)
        effect /= math.sqrt(1 + BROKEN**2 * share * (1 - share))
    return effect


def _of_inputs(
    world: World,
    number: int,
    rng: Rng,
) -> Floats:
    """Effects of inputs of variance 1; those of a topic are one."""
    topics = rng.normal(size=-(-number // world.topic))
    return np.repeat(topics, world.topic)[:number]


def _of_law(
    world: World, size: tuple[int, int], rng: Rng, of_systems: Rng
) -> tuple[Floats, Floats, Floats]:
    """Ratings by a law, the effects that the first judge follows, and the second's."""
    systems = _of_systems(
        world,
        size[0],
        of_systems,
        world.law,
    )[:, None]
    inputs = _of_inputs(
        world,
        size[1],
        rng,
    )[None]
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
    over is of the same system. Ratings are those nearest on the scale; as the parts are
    drawn apart, fewer are at its top (SummEval's consistency: about .55 for .83).
    """
    systems, inputs, outputs, values = effects(world.data, world.aspect)
    if of_systems is rng:
        drawn = rng.integers(0, len(systems), size[0])
    else:
        # Of systems that stay, two may not be one and the same.
        drawn = of_systems.permutation(len(systems))[: size[0]]
    places = rng.integers(
        0,
        len(inputs),
        size,
    )
    left_over = outputs[drawn[:, None], places]
    ratings = (
        systems[drawn][:, None]
        + inputs[
            rng.integers(
                0,
                len(inputs),
                size[1],
            )
        ]
    )
    ratings = ratings + left_over
    on_scale = _nearest(ratings, values)
    followed = (systems[drawn] - systems.mean()) / systems.std()
    return (
        np.where(
            np.isnan(left_over),
            np.nan,
            on_scale,
        ),
        followed[:, None],
        np.nan_to_num(left_over) / np.nanstd(outputs),
    )


def _nearest(ratings: Floats, values: Floats) -> Floats:
    """The value of the scale that is nearest to each rating."""
    above = np.searchsorted(values, ratings)
    above = np.clip(above, 1, len(values) - 1)
    to_lower = ratings - values[above - 1]
    to_higher = values[above] - ratings
    return np.where(to_lower < to_higher, values[above - 1], values[above])


# -- the truth


@functools.cache
def truth(
    name: str,
    coef: str,
    level: str,
    alike: bool = True,
) -> tuple[float, float]:
    """The first judge's coefficient over all systems and inputs there could be, and the
    load with which the second has the same.

    alike: False where the load is not asked for.
    """
    target = float(
        np.mean(
            _large(
                name,
                coef,
                level,
                0.0,
                0,
            )
        )
    )
    low, high = 0.0, 1.0
    for _ in range(10 if alike else 0):
        load = (low + high) / 2
        if (
            np.mean(
                _large(
                    name,
                    coef,
                    level,
                    load,
                    2,
                )
            )
            < target
        ):
            low = load
        else:
            high = load
    return target, (low + high) / 2


def _large(
    name: str,
    coef: str,
    level: str,
    load: float,
    judge: int,
) -> list[float]:
    """The coefficient in six large data sets, which are the same at every call."""
    systems, inputs = 1200, 80
    if level == "system":
        inputs = WORLDS[name].size[1]
    if WORLDS[name].topic > 1:
        systems, inputs = 50, 2000
    values = []
    for number in range(6):
        rng = np.random.default_rng([9, number])
        judged = draw(
            name,
            (systems, inputs),
            rng,
            load,
            rng,
        )
        values.append(
            plan(
                judged[judge],
                judged.ratings,
                coef,
                level,
            ).value
        )
    return values


def truth_of_these(
    name: str,
    coef: str,
    level: str,
    systems: int,
    seed: int,
) -> float:
    """The first judge's coefficient over all inputs, for the systems of a seed."""
    inputs = 4000
    if level == "system":
        inputs = 1000
    values = []
    for number in range(4):
        rng = np.random.default_rng([8, number])
        of_systems = np.random.default_rng(seed)
        judged = draw(
            name,
            (systems, inputs),
            rng,
            0.0,
            of_systems,
        )
        values.append(
            plan(
                judged.first,
                judged.ratings,
                coef,
                level,
            ).value
        )
    return float(np.mean(values))


# -- the measurement


def measure(
    name: str, level: str, coef: str, sims: int = 300, seed: int = 0
) -> list[dict[str, Any]]:
    """How often does each default reject at .05, and hold the truth? A row a method.

    "auto" and, over systems and inputs, "careful"; "grouped" knows families or topics;
    "these" (by topic, where there are some) holds for the systems at hand. At system level the test compares
    the first judge with its twin, else with the second judge. one_system: the share of
    data sets in which one system makes more than half of the variance; leaves: in which
    the value without the most influential leaves the interval.
    """
    world = WORLDS[name]
    seeds = [seed, *world.size, list(WORLDS).index(name)]
    rng = np.random.default_rng(seeds)
    outcomes: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
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
        rate, *others = np.mean(listed, axis=0).tolist()
        se = math.sqrt(rate * (1 - rate) / len(listed))
        values = (name, cell, level, coef, method, what, rate, se)
        row = (*values, *others, len(listed), seed)
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
        of_systems = np.random.default_rng(seed)
        judged = draw(name, world.size, rng, 0.0, of_systems)
        judge = meta.correlate(
            judged.first,
            judged.ratings,
            coef,
            level,
            input_groups=_together(world).get("input_groups"),
        )
        these = judge.these_systems
        assert these is not None
        held = these.low <= target + SAME and target - SAME <= these.high
        width = these.high - these.low
        outcomes.append((float(held), width, math.nan, math.nan))
    return outcomes


def _outcomes(
    world: World, judged: Judged, coef: str, level: str, target: float
) -> dict[tuple[str, str], Outcome]:
    """Of one data set: what each method does."""
    rival = judged.twin if level == "system" else judged.second
    sides = judged.first, rival, judged.ratings
    outcomes = {}
    for method, groups in {"auto": {}, "grouped": _together(world)}.items():
        if method == "grouped" and not groups:
            continue
        compared = meta.compare(
            *sides,
            coef,
            level,
            "auto",
            **groups,
        )
        judge = meta.correlate(
            judged.first, judged.ratings, coef, level, ci="auto", **groups
        )
        outcomes[method, "level"] = _rejected(compared.p)
        outcomes[method, "coverage"] = _held(judge, target)
        if method == "auto" and compared.spread is not None:
            careful = replace(compared.spread, careful=True)
            p, _ = jackknife.p_value(compared.difference, careful)
            outcomes["careful", "level"] = _rejected(p)
            careful = replace(judge.replicates[1], careful=True)
            ends = jackknife.interval(judge.value, careful)
            judge = replace(judge, interval=ends)
            outcomes["careful", "coverage"] = _held(judge, target)
    return outcomes


def _together(world: World) -> dict[str, Any]:
    """The families and topics of a world, as arguments of `meta`."""
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


def _held(judge: meta.Correlation, target: float) -> Outcome:
    """Of an interval: whether it holds the target, its width, and what influence says
    of it.
    """
    influence = judge.influence
    one_system = leaves = math.nan
    if influence is not None:
        one_system = float(influence.share > 0.5)
        leaves = float(influence.outside)
    held = judge.low <= target <= judge.high
    return float(held), judge.high - judge.low, one_system, leaves


def committed(seed: int = FIRST) -> Any:
    """The long run's rows of a seed, made by `make levels`: a frame of `COLUMNS`."""
    path = files.data() / "simulated" / "data_worlds.csv"
    runs = pd.read_csv(path, dtype={"size": str})
    return runs[runs["seed"] == seed].reset_index(drop=True)


def summary(seed: int = FIRST) -> Any:
    """The worst rate of each method over levels and coefficients: a row a world, a
    column a method and what was measured.
    """
    runs = committed(seed)
    columns = {}
    for what, worst in (("level", "max"), ("coverage", "min")):
        part = runs[runs["what"] == what]
        table = part.groupby(["world", "method"], sort=False)["rate"].agg(worst)
        for method, rates in table.unstack("method").items():
            columns[f"{method}, {what}"] = rates
    order = ["auto", "careful", "grouped", "these"]
    names = [
        f"{method}, {what}"
        for method in order
        for what in ("level", "coverage")
        if f"{method}, {what}" in columns
    ]
    return pd.DataFrame(columns).reindex(list(WORLDS))[names]


def page_lines() -> list[str]:
    """The table of `docs/statistics.md`: the worst rate of each method in each world,
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
    for world in WORLDS:
        for name in first.columns:
            rates = first.at[world, name], fresh.at[world, name]
            if _beyond(name, rates[0]) == _beyond(name, rates[1]):
                continue
            cells = [world, name, *(_shown(name, rate) for rate in rates)]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def cells_beyond(what: str, method: str) -> tuple[int, int, int, int]:
    """How many cells of a method there are; beyond their bar with the first seed, with
    the fresh one, and with both.
    """
    verdicts = []
    for seed in (FIRST, FRESH):
        runs = committed(seed)
        part = runs[(runs["what"] == what) & (runs["method"] == method)]
        rates = part.set_index(["world", "level", "coef"])["rate"]
        verdicts.append(rates.map(functools.partial(_beyond, what)))
    first, fresh = verdicts
    both = first & fresh
    return len(first), int(first.sum()), int(fresh.sum()), int(both.sum())


def _beyond(name: str, rate: float) -> bool:
    """Whether a rate is beyond its bar; the name ends in what was measured."""
    return rate > 0.10 if name.endswith("level") else rate < 0.90


def _shown(name: str, rate: float) -> str:
    """A rate, bold beyond its bar."""
    text = "" if math.isnan(rate) else f"{rate:.3f}".lstrip("0")
    return f"**{text}**" if _beyond(name, rate) else text
