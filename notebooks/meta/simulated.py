"""Scores and ratings from worlds with a known truth, and what tests and intervals of
`statistics` make of them.

A data set is system effect + input effect + rest, for two judges and the ratings
together; the covariances are those of SummEval (GPT-4o-mini and Gemini Flash made
exchangeable, experts' mean).

The long run (`make levels`, tools/levels.py) calls `measure` for every world, size,
level and coefficient; the notebook `inference_levels` beside this shows its rows,
`committed`. In `measure`, `draw` makes data sets by the covariances of `components`,
and `truth` is what an interval has to hold. A new world is a line in `WORLDS` and its
covariances in `components`.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nlgeval_lib import files, statistics

Floats = npt.NDArray[np.float64]
LEVEL = 0.05  # at which tests reject
CONFIDENCE = 0.95  # of intervals
# world -> what it is
WORLDS = {
    "con": "consistency; judges exchangeable, r .56",
    "coh": "coherence; judges exchangeable, r .47",
    "struct": "equal r .25; the first judge tracks systems, the second outputs",
    "struct-strong": "the same at r .33: the first judge's r over systems is .90",
    "ord": "con, cut to 5 values (judges) and 8 (ratings, 83 % in the top class)",
    "heavy": "con, the systems' effects t with 3 degrees of freedom",
    "con-power": "con, .6 of the second judge with noise of its kind: r .56 and .34",
    "coh-power": "coh, the same",
}
# Measured as they are, in all simulations; williams and fisher cost nothing.
DEFAULT = ("auto", "exact-systems", "williams", "fisher")
# The most for other methods, which are many fits each.
FEW = {"sims": 200, "n_perm": 99, "n_boot": 200}
# of the long run's table; `measure` says what they are
COLUMNS = ["world", "size", "level", "coef", "method", "what", "rate", "se", "width"]
COLUMNS += ["one_system", "one_system_covered", "sims", "seed"]


def symmetric(judge: float, between: float, human: float, rating: float) -> Floats:
    """Covariance of (judge, judge, ratings), the judges alike.

    judge, rating: variances of a judge and of the ratings.
    between: covariance of the judges with each other.
    human: covariance of a judge with the ratings.
    """
    return np.array(
        [[judge, between, human], [between, judge, human], [human, human, rating]]
    )


# Between systems, between inputs, left over; each side has a total variance of 1.
SUMMEVAL = {
    "con": (
        symmetric(0.385, 0.373, 0.349, 0.348),
        symmetric(0.098, 0.053, 0.009, 0.013),
        symmetric(0.516, 0.288, 0.201, 0.639),
    ),
    "coh": (
        symmetric(0.258, 0.254, 0.217, 0.307),
        symmetric(0.168, 0.098, 0.038, 0.106),
        symmetric(0.574, 0.315, 0.216, 0.587),
    ),
}


def components(world: str) -> list[Floats]:
    """Covariances between systems, between inputs and left over, each [3, 3] over
    judge, judge, ratings.

    world: one of `WORLDS`.
    """
    base = "coh" if world.startswith("coh") else "con"
    parts = [part.copy() for part in SUMMEVAL[base]]
    # Noise in the second judge: it keeps its variance and shares .6 with the others.
    if world.endswith("-power"):
        for part in parts:
            part[1, [0, 2]] *= 0.6
            part[[0, 2], 1] *= 0.6
    # The first judge follows the ratings between systems alone, the second in what is
    # left over alone.
    if world.startswith("struct"):
        covariance = 0.33 if world == "struct-strong" else 0.25
        for part, judge in zip(parts, (0, None, 1), strict=True):
            part[:] = np.diag(np.diag(part))
            if judge is not None:
                part[judge, 2] = covariance
                part[2, judge] = covariance
    return parts


def draw(
    world: str, size: tuple[int, ...], rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """One data set of a world: first judge, second judge and ratings.

    world: one of `WORLDS`.
    size: (systems, inputs), or (rows,).
    rng: what draws it.
    Returns: three matrices `[system, input]`, or three flat vectors.
    """
    # An effect of a system is the same for all inputs, and the other way round.
    shapes: list[tuple[int, ...]] = [size, size, size]
    if len(size) == 2:
        systems, inputs = size
        shapes = [(systems, 1), (1, inputs), size]
    data = np.zeros((*size, 3))  # the last axis: judge, judge, ratings
    for number, part in enumerate(components(world)):
        shape = shapes[number]
        # A root of the covariance; a tiny negative eigenvalue is 0.
        values, vectors = np.linalg.eigh(part)
        root = vectors * np.sqrt(np.clip(values, 0, None))
        effect = rng.normal(size=(*shape, 3)) @ root.T
        if world == "heavy" and number == 0:
            effect /= np.sqrt(rng.chisquare(3, (*shape, 1)))  # t of the same variance
        data += effect
    first, second, ratings = np.moveaxis(data, -1, 0)
    if world == "ord":
        judged = (-1.5, -0.5, 0.5, 1.5)
        rated = (-2.2, -1.9, -1.65, -1.4, -1.25, -1.1, -0.954)
        first = np.digitize(first, judged).astype(float)
        second = np.digitize(second, judged).astype(float)
        ratings = np.digitize(ratings, rated).astype(float)
    return first, second, ratings


@functools.cache
def truth(world: str, coef: str, level: str = "dataset", inputs: int = 100) -> float:
    """The first judge's coefficient over all systems and inputs there could be.

    It is closed where the worlds are normal, else the mean of 12 data sets of 1,000
    systems.

    coef: "pearson", "spearman" or a Kendall's tau.
    level: "dataset", "input" or "system".
    inputs: of each system; at system level they are part of what is measured.
    """
    if world == "ord" or (world == "heavy" and coef != "pearson"):
        rng = np.random.default_rng(99)
        values = []
        for _ in range(12):
            first, _, ratings = draw(world, (1000, inputs), rng)
            values.append(statistics.correlate(first, ratings, coef, level).value)
        return float(np.mean(values))
    # How much of each part a level sees: within an input the input's effect is the
    # same; a system's mean has what is left over of `inputs` outputs.
    weights = {"dataset": (1, 1, 1), "input": (1, 0, 1), "system": (1, 0, 1 / inputs)}
    weighted = []
    for weight, part in zip(weights[level], components(world), strict=True):
        weighted.append(weight * part)
    covariance = np.sum(weighted, axis=0)
    r = covariance[0, 2] / math.sqrt(covariance[0, 0] * covariance[2, 2])
    # Of a normal law rank coefficients follow from r.
    if coef == "pearson":
        return r
    if coef == "spearman":
        return 6 / math.pi * math.asin(r / 2)
    return 2 / math.pi * math.asin(r)


def measure(
    world: str,
    size: str,
    level: str,
    coef: str,
    tests: Sequence[str],
    cis: Sequence[str] = (),
    sims: int = 600,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """How often does each test reject at .05, and each interval of 95 % hold the truth?
    A row a method.

    A p or an interval that is not defined rejects and holds nothing.

    world: one of `WORLDS`.
    size: "16x100", systems and inputs, or "60", rows.
    level, coef: as for `statistics.correlate`.
    tests: as `units=` of `statistics.compare`; "williams" too.
    cis: as `ci=` of `statistics.correlate`.
    sims: simulations; `FEW` of the methods that take long.
    seed: of all that is drawn.
    Returns: rows of `COLUMNS`. what: level (equal judges), power, or coverage. The
    columns that are measured are those of `_Rate`.
    """
    shape = tuple(map(int, size.split("x")))
    rng = np.random.default_rng([seed, *shape, list(WORLDS).index(world)])
    # Intervals are of the first judge, which these worlds leave as it is.
    if world.endswith("-power"):
        cis = ()
    rejected: dict[str, list[bool]] = defaultdict(list)
    intervals: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for number in range(sims):
        first, second, ratings = draw(world, shape, rng)
        # Methods that take long are left out after the first simulations.
        methods = DEFAULT if number >= FEW["sims"] else (*tests, *cis)
        for name in set(tests) & set(methods):
            p = _p_value(name, first, second, ratings, coef, level, number)
            rejected[name].append(p <= LEVEL)
        for name in set(cis) & set(methods):
            interval = _interval(name, first, ratings, coef, level, number)
            intervals[name].append(interval)
    inputs = shape[-1] if level == "system" else 100
    rates = _rejection_rates(world, level, rejected)
    rates |= _coverage_rates(world, level, coef, inputs, intervals)
    rows = []
    for (name, measured), rate in sorted(rates.items()):
        row = [world, size, level, coef, name, measured, *rate, seed]
        rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def _interval(
    name: str, judge: Floats, ratings: Floats, coef: str, level: str, seed: int
) -> tuple[float, float, float]:
    """One interval of a judge's correlation: low, high, and what `_hangs_on_one` says.

    name: as in `cis` of `measure`. seed: of resamples.
    """
    n_boot = 1000 if name == "auto" else FEW["n_boot"]
    result = statistics.correlate(
        judge,
        ratings,
        coef,
        level,
        ci=name,
        n_boot=n_boot,
        seed=seed,
        confidence=CONFIDENCE,
    )
    return result.low, result.high, _hangs_on_one(result)


def _rejection_rates(
    world: str, level: str, rejected: dict[str, list[bool]]
) -> dict[tuple[str, str], _Rate]:
    """(test, what its rejections measure) -> how often it rejects.

    rejected: test -> whether it does, a boolean a simulation.
    """
    measured = _rejection(world, level)
    rates = {}
    for name, outcomes in rejected.items():
        rates[name, measured] = _rate(outcomes)
    return rates


def _coverage_rates(
    world: str,
    level: str,
    coef: str,
    inputs: int,
    intervals: dict[str, list[tuple[float, float, float]]],
) -> dict[tuple[str, str], _Rate]:
    """(interval, "coverage") -> how often it holds the truth.

    intervals: method -> of each simulation low, high and what `_hangs_on_one` says.
    """
    # Without intervals the truth, which may take long, is not asked for.
    if not intervals:
        return {}
    target = truth(world, coef, level, inputs)
    rates = {}
    for name, of_method in intervals.items():
        rates[name, "coverage"] = _coverage(of_method, target)
    return rates


def _rejection(world: str, level: str) -> str:
    """What a test's rejections measure: its power where the judges differ in truth,
    else its level.
    """
    if world.endswith("-power"):
        return "power"
    # Of two judges that correlate alike over outputs, one alone follows systems.
    if level == "system" and world.startswith("struct"):
        return "power"
    return "level"


class _Rate(NamedTuple):
    """The columns of a row that are measured; the middle three of intervals alone, else
    NaN.

    rate: the share of simulations in which a test rejects, or an interval holds the
    truth.
    se: of the rate, by the number of simulations.
    width: the mean.
    one_system: the share with one system of more than half of the variance.
    one_system_covered: the share of all that are such and hold the truth.
    sims: simulations.
    """

    rate: float
    se: float
    width: float
    one_system: float
    one_system_covered: float
    sims: int


def _rate(outcomes: Sequence[bool] | npt.NDArray[np.bool_]) -> _Rate:
    """The share of simulations with the outcome, and its standard error."""
    n = len(outcomes)
    rate = float(np.mean(outcomes))
    # Of a share, by the binomial law.
    se = math.sqrt(rate * (1 - rate) / n)
    return _Rate(rate, se, math.nan, math.nan, math.nan, n)


def _coverage(intervals: Sequence[tuple[float, float, float]], target: float) -> _Rate:
    """How often the intervals hold the target, and how wide they are.

    intervals: of each simulation low, high and what `_hangs_on_one` says.
    target: the truth.
    """
    low, high, one_system = np.array(intervals).T
    # An interval that is not defined (NaN) holds nothing.
    covered = (low <= target) & (target <= high)
    return _rate(covered)._replace(
        width=float(np.mean(high - low)),
        one_system=np.mean(one_system),
        one_system_covered=np.mean(one_system * covered),
    )


def _hangs_on_one(interval: statistics.Correlation) -> float:
    """Does one system make more than half of the jackknife variance over systems? 1 or
    0; NaN for another interval.
    """
    replicates = interval.replicates
    if not isinstance(replicates, tuple) or replicates[1].units == "rows":
        return math.nan
    # The value without each system in turn.
    values = replicates[0].without("systems")
    squares = (values - np.nanmean(values)) ** 2
    return float(np.nanmax(squares) > np.nansum(squares) / 2)


def _p_value(
    name: str,
    first: Floats,
    second: Floats,
    ratings: Floats,
    coef: str,
    level: str,
    seed: int,
) -> float:
    """The p-value of one test that the judges correlate alike with the ratings.

    name: as in `tests` of `measure`. seed: of permutations.
    """
    if name == "williams":
        of_first = statistics.correlate(first, ratings, coef, level)
        of_second = statistics.correlate(second, ratings, coef, level)
        between = statistics.correlate(first, second, coef, level)
        values = (of_first.value, of_second.value, between.value)
        return statistics.williams(*values, of_first.n_units, coef=coef).p
    n_perm = 1000 if name in DEFAULT else FEW["n_perm"]
    return statistics.compare(first, second, ratings, coef, level, name, n_perm, seed).p


def committed() -> Any:
    """The long run's rows, made by `make levels`: a frame of `COLUMNS`."""
    import pandas as pd

    path = files.data() / "simulated" / "meta_inference.csv"
    return pd.read_csv(path, dtype={"size": str})
