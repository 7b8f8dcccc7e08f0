"""Scores and ratings from worlds with a known truth, and what tests and intervals of
`meta` make of them.

A data set is system effect + input effect + rest, for two judges and the ratings
together; the covariances are those of SummEval (GPT-4o-mini and Gemini Flash made
exchangeable, experts' mean).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nlgeval_lib import files, meta

Floats = npt.NDArray[np.float64]
LEVEL = 0.05
CONFIDENCE = 0.95
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
DEFAULT = (
    "auto",
    "williams",
    "fisher",
)  # measured as they are, in all simulations; williams and fisher cost nothing
FEW = {
    "sims": 200,
    "n_perm": 99,
    "n_boot": 200,
}  # the most for other methods, which are many fits each
COLUMNS = ["world", "size", "level", "coef", "method", "what", "rate", "se", "width"]
COLUMNS += ["one_system", "one_system_covered", "sims", "seed"]


def symmetric(own: float, between: float, human: float, rating: float) -> Floats:
    """Covariance of (judge, judge, ratings), the judges alike."""
    return np.array(
        [[own, between, human], [between, own, human], [human, human, rating]]
    )


# between systems, between inputs, left over; the total variance of each side is 1
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
    """Covariances between systems, between inputs and left over."""
    parts = [
        part.copy() for part in SUMMEVAL["coh" if world.startswith("coh") else "con"]
    ]
    if world.endswith("-power"):
        for part in parts:
            part[1, [0, 2]] *= 0.6
            part[[0, 2], 1] *= 0.6
    if world.startswith("struct"):
        for part, tracks in zip(parts, (0, None, 1), strict=True):
            part[:] = np.diag(np.diag(part))
            if tracks is not None:
                part[tracks, 2] = part[2, tracks] = (
                    0.33 if world == "struct-strong" else 0.25
                )
    return parts


def draw(
    world: str, size: tuple[int, ...], rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """First judge, second judge and ratings, each `[system, input]`, or flat where
    the size is a number of rows.
    """
    shapes = (size,) * 3 if len(size) == 1 else ((size[0], 1), (1, size[1]), size)
    data = np.zeros((*size, 3))
    for number, (part, shape) in enumerate(zip(components(world), shapes, strict=True)):
        values, vectors = np.linalg.eigh(part)
        effect = (
            rng.normal(size=(*shape, 3))
            @ (vectors * np.sqrt(np.clip(values, 0, None))).T
        )
        if world == "heavy" and number == 0:
            effect /= np.sqrt(rng.chisquare(3, (*shape, 1)))  # t of the same variance
        data += effect
    first, second, ratings = np.moveaxis(data, -1, 0)
    if world == "ord":
        first, second = (
            np.digitize(side, (-1.5, -0.5, 0.5, 1.5)).astype(float)
            for side in (first, second)
        )
        ratings = np.digitize(
            ratings, (-2.2, -1.9, -1.65, -1.4, -1.25, -1.1, -0.954)
        ).astype(float)
    return first, second, ratings


@functools.cache
def truth(world: str, coef: str, level: str = "dataset", inputs: int = 100) -> float:
    """The coefficient of the first judge over all systems and inputs there could be; at
    system level over all systems, with as many inputs each.

    Closed where the worlds are normal, else the mean of 12 data sets of 1,000 systems.
    """
    if world == "ord" or (world == "heavy" and coef != "pearson"):
        rng = np.random.default_rng(99)
        drawn = (draw(world, (1000, inputs), rng) for _ in range(12))
        return float(
            np.mean(
                [
                    meta.correlate(first, ratings, coef, level).value
                    for first, _, ratings in drawn
                ]
            )
        )
    weights = {"dataset": (1, 1, 1), "input": (1, 0, 1), "system": (1, 0, 1 / inputs)}[
        level
    ]
    whole = np.sum(
        [
            weight * part
            for weight, part in zip(weights, components(world), strict=True)
        ],
        axis=0,
    )
    r = whole[0, 2] / math.sqrt(whole[0, 0] * whole[2, 2])
    return {"pearson": r, "spearman": 6 / math.pi * math.asin(r / 2)}.get(
        coef, 2 / math.pi * math.asin(r)
    )


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
    A row a method, of `COLUMNS`.

    size: "16x100", systems and inputs, or "60", rows. tests, cis: as `units=` and
    `ci=`; "williams" too. what: level (equal judges), power, or coverage. se: of the
    rate, by the number of simulations. width: mean of the interval.
    one_system: share of jackknife intervals to which one system gives more than half of
    the variance over systems;
    one_system_covered: share that are such and hold the truth. sims: how many; `FEW` of
    the methods that take long. A p or an interval that is not defined rejects and holds
    nothing.
    """
    shape = tuple(map(int, size.split("x")))
    rng = np.random.default_rng([seed, *shape, list(WORLDS).index(world)])
    cis = () if world.endswith("-power") else cis
    target = (
        truth(world, coef, level, shape[-1] if level == "system" else 100)
        if cis
        else math.nan
    )
    hits: dict[tuple[str, str], list[bool]] = {}
    ends: dict[str, list[tuple[float, float]]] = {}
    differ = world.endswith("-power") or (
        level == "system" and world.startswith("struct")
    )
    for number in range(sims):
        first, second, ratings = draw(world, shape, rng)
        wanted = DEFAULT if number >= FEW["sims"] else (*tests, *cis)
        for name in set(tests) & set(wanted):
            p = _p_value(name, first, second, ratings, coef, level, number)
            hits.setdefault((name, "power" if differ else "level"), []).append(
                p <= LEVEL
            )
        for name in set(cis) & set(wanted):
            n_boot = 1000 if name == "auto" else FEW["n_boot"]
            found = meta.correlate(
                first, ratings, coef, level, "drop", name, n_boot, number, CONFIDENCE
            )
            hits.setdefault((name, "coverage"), []).append(
                bool(found.low <= target <= found.high)
            )
            ends.setdefault(name, []).append(
                (found.high - found.low, _hangs_on_one(found))
            )
    rows = []
    for (name, what), hit in sorted(hits.items()):
        rate = float(np.mean(hit))
        n = len(hit)
        row = [
            world,
            size,
            level,
            coef,
            name,
            what,
            rate,
            math.sqrt(rate * (1 - rate) / n),
        ]
        width = math.nan
        one = math.nan
        held = math.nan
        if what == "coverage":
            widths, ones = np.array(ends[name]).T
            width = np.mean(widths)
            one = np.mean(ones)
            held = np.mean(ones * hit)
        rows.append(dict(zip(COLUMNS, [*row, width, one, held, n, seed], strict=True)))
    return rows


def _hangs_on_one(found: meta.Correlation) -> float:
    """Does one system make more than half of the jackknife variance over systems?
    NaN for another interval.
    """
    if not isinstance(found.replicates, tuple) or found.replicates[1].units == "rows":
        return math.nan
    values = found.replicates[0].without("systems")
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
    if name == "williams":
        pairs = (first, ratings), (second, ratings), (first, second)
        found = [meta.correlate(*pair, coef, level) for pair in pairs]
        return meta.williams(
            *(one.value for one in found), found[0].n_units, coef=coef
        ).p
    n_perm = 1000 if name == "auto" else FEW["n_perm"]
    return meta.compare(first, second, ratings, coef, level, name, n_perm, seed).p


def committed() -> Any:
    """The long run's rows, made by `make levels`: a frame of `COLUMNS`."""
    import pandas as pd

    return pd.read_csv(
        files.data() / "simulated" / "meta_inference.csv", dtype={"size": str}
    )
