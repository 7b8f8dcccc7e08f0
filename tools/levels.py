"""Level, coverage and power of the paired tests and intervals of `meta` in simulated worlds with a known truth.

    python tools/levels.py --sims 500 --sizes 16x100 6x60 --coefs pearson kendall-b --tests jack-both perm-both

A data set is system effect + input effect + rest, for two judges and the ratings together; the covariances are those
of SummEval (GPT-4o-mini and Gemini Flash made exchangeable, experts' mean). Prints CSV: a line a cell, with the Monte
Carlo error beside each rate. Everything follows from `--seed`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import meta

LEVEL, CONFIDENCE = 0.05, 0.95
EQUAL, BETTER = ("con", "coh", "struct", "struct-strong", "ord"), ("con-power", "coh-power")
WORLDS = {
    "con": "consistency; judges exchangeable, r .56",
    "coh": "coherence; judges exchangeable, r .47",
    "struct": "equal r .25; the first judge tracks systems, the second outputs",
    "struct-strong": "the same at r .33: the first judge's r over systems is .90",
    "ord": "con, cut to 5 values (judges) and 8 (ratings, 83 % in the top class)",
    "con-power": "con, .6 of the second judge with noise of its kind: r .56 and .34",
    "coh-power": "coh, the same",
}


def symmetric(own: float, between: float, human: float, rating: float) -> np.ndarray:
    """Covariance of (judge, judge, ratings), the judges alike."""
    return np.array([[own, between, human], [between, own, human], [human, human, rating]])


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


def components(world: str) -> list[np.ndarray]:
    """Covariances between systems, between inputs and left over."""
    parts = [part.copy() for part in SUMMEVAL["coh" if world.startswith("coh") else "con"]]
    if world.endswith("-power"):
        for part in parts:
            part[1, [0, 2]] *= 0.6
            part[[0, 2], 1] *= 0.6
    if world.startswith("struct"):
        for part, tracks in zip(parts, (0, None, 1), strict=True):
            part[:] = np.diag(np.diag(part))
            if tracks is not None:
                part[tracks, 2] = part[2, tracks] = 0.33 if world == "struct-strong" else 0.25
    return parts


def draw(world: str, systems: int, inputs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First judge, second judge and ratings, each `[system, input]`."""
    data = np.zeros((systems, inputs, 3))
    for part, shape in zip(components(world), ((systems, 1), (1, inputs), (systems, inputs)), strict=True):
        values, vectors = np.linalg.eigh(part)
        data += rng.normal(size=(*shape, 3)) @ (vectors * np.sqrt(np.clip(values, 0, None))).T
    first, second, ratings = np.moveaxis(data, -1, 0)
    if world == "ord":
        first, second = (np.digitize(side, (-1.5, -0.5, 0.5, 1.5)).astype(float) for side in (first, second))
        ratings = np.digitize(ratings, (-2.2, -1.9, -1.65, -1.4, -1.25, -1.1, -0.954)).astype(float)
    return first, second, ratings


def truth(world: str, coef: str) -> float:
    """The coefficient of the first judge over all systems and inputs there could be, at dataset level."""
    if world == "ord":
        rng = np.random.default_rng(99)
        return float(np.mean([meta.correlate(*draw(world, 400, 400, rng)[::2], coef).value for _ in range(12)]))
    r = sum(part[0, 2] for part in components(world)) / math.prod(
        math.sqrt(sum(part[side, side] for part in components(world))) for side in (0, 2)
    )
    return {"pearson": r, "spearman": 6 / math.pi * math.asin(r / 2)}.get(coef, 2 / math.pi * math.asin(r))


def measure(
    world: str,
    size: tuple[int, int],
    coef: str,
    level: str,
    tests: Sequence[str],
    cis: Sequence[str] = (),
    sims: int = 500,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Rejections of each test at .05 and, at dataset level, coverage of each interval at 95 %: a row a method.

    A p or an interval that is not defined rejects nothing and covers nothing.
    """
    rng = np.random.default_rng([seed, *size, (*EQUAL, *BETTER).index(world)])
    target = truth(world, coef) if level == "dataset" and cis else math.nan
    hits: dict[str, list[bool]] = {name: [] for name in (*tests, *cis)}
    widths: dict[str, list[float]] = {name: [] for name in cis}
    for number in range(sims):
        first, second, ratings = draw(world, *size, rng)
        for name in tests:
            found = meta.compare(first, second, ratings, coef, level, name, n_perm=199, seed=number)
            hits[name].append(found.p <= LEVEL)
        for name in cis if target == target else ():
            ends = meta.correlate(first, ratings, coef, level, ci=name.removeprefix("ci:"), n_boot=400, seed=number)
            hits[name].append(ends.low <= target <= ends.high)
            widths[name].append(ends.high - ends.low)
    cell = {"world": world, "systems": size[0], "inputs": size[1], "coef": coef, "level": level}
    differ = world in BETTER or (level == "system" and world.startswith("struct"))
    rows = []
    for name, found in hits.items():
        if found:
            rate = float(np.mean(found))
            what = "covered" if name in cis else "power" if differ else "rejected"
            error = math.sqrt(rate * (1 - rate) / len(found))
            width = float(np.mean(widths[name])) if name in widths else math.nan
            rows.append({**cell, "method": name, "what": what, "rate": rate, "se": error, "width": width})
    return [row | {"sims": sims, "seed": seed} for row in rows]


def main(argv: Sequence[str] | None = None) -> None:
    worlds = "\n".join(f"  {name}: {what}" for name, what in WORLDS.items())
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\n{worlds}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", nargs="*", default=[*EQUAL, *BETTER], choices=[*EQUAL, *BETTER])
    parser.add_argument("--sizes", nargs="*", default=["16x100", "12x100", "8x200", "6x60"])
    parser.add_argument("--coefs", nargs="*", default=["pearson", "kendall-b"])
    parser.add_argument("--levels", nargs="*", default=["dataset"])
    parser.add_argument("--tests", nargs="*", default=["jack-both"])
    parser.add_argument("--cis", nargs="*", default=["ci:jack-both"], help="names of intervals after ci:")
    parser.add_argument("--sims", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(argv)
    rows = []
    for world, size, coef, level in itertools.product(asked.worlds, asked.sizes, asked.coefs, asked.levels):
        systems, inputs = map(int, size.split("x"))
        cis = [] if world in BETTER else asked.cis
        rows += measure(world, (systems, inputs), coef, level, asked.tests, cis, asked.sims, asked.seed)
        print(*rows[-1].values(), sep=",", file=sys.stderr)
    print(pd.DataFrame(rows).round(4).to_csv(index=False), end="")


if __name__ == "__main__":
    main()
