"""Slow and obvious versions of what nlgeval_lib.statistics computes, for the tests to hold
it against.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import warnings

import numpy as np
from scipy import stats

from nlgeval_lib.statistics import draws

COEFFICIENTS = ("pearson", "spearman", "kendall-a", "kendall-b", "kendall-c", "acc-eq")
LEVELS = ("dataset", "input", "system")


@functools.cache
def pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second member of every pair of n items."""
    return np.triu_indices(n, 1)


def coefficient(x, y, coef: str) -> float:
    """One coefficient of two flat vectors: products summed, or pairs counted.

    It is `by_scipy` at the speed that loops need.
    """
    x = np.asarray(x, float)
    y = np.asarray(y, float)
    if len(x) < 2:
        return float("nan")
    if coef == "acc-eq":
        return float((signs(x) == signs(y)).mean())
    if (x == x[0]).all() or (y == y[0]).all():
        return float("nan")
    if coef in ("pearson", "spearman"):
        if coef == "spearman":
            x, y = stats.rankdata(x), stats.rankdata(y)
        x, y = unit(x), unit(y)
        return float(x @ y)
    sign_x, sign_y = signs(x), signs(y)
    surplus = float(sign_x @ sign_y)
    if coef == "kendall-a":
        return surplus / len(sign_x)
    if coef == "kendall-b":
        untied = np.count_nonzero(sign_x) * np.count_nonzero(sign_y)
        return surplus / math.sqrt(untied)
    classes = min(len(np.unique(x)), len(np.unique(y)))
    return 2 * surplus * classes / (len(x) ** 2 * (classes - 1))


def by_scipy(x, y, coef: str) -> float:
    """The same by scipy, where it has the coefficient."""
    if len(x) < 2 or coef in ("kendall-a", "acc-eq"):
        return coefficient(x, y, coef)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if coef == "pearson":
            return float(stats.pearsonr(x, y).statistic)
        if coef == "spearman":
            return float(stats.spearmanr(x, y).statistic)
        return float(stats.kendalltau(x, y, variant=coef[-1]).statistic)


def signs(values: np.ndarray) -> np.ndarray:
    """Which of every pair is larger: 1, 0 or -1."""
    first, second = pairs(len(values))
    return np.sign(values[first] - values[second])


def unit(values: np.ndarray) -> np.ndarray:
    """Centred, and of length 1; no square overflows."""
    centred = values - values.mean()
    centred /= abs(centred).max()
    return centred / np.linalg.norm(centred)


def at_level(x, y, coef: str, level: str) -> float:
    """The coefficient of two matrices `[system, input]` at a level, items with NaN
    left out.
    """
    return of_items(
        *(side.ravel() for side in (x, y, *np.indices(x.shape))), coef, level
    )


def of_items(x, y, system, column, coef: str, level: str) -> float:
    """The coefficient at a level of items one by one: score, rating, and the numbers
    of system and input.
    """
    here = ~(np.isnan(x) | np.isnan(y))
    x, y, system, column = (side[here] for side in (x, y, system, column))
    if level == "dataset":
        return coefficient(x, y, coef)
    if level == "system":
        means = np.array(
            [(x[system == s].mean(), y[system == s].mean()) for s in np.unique(system)]
        ).reshape(-1, 2)
        # means of thirds that are equal differ in the last bit: equal again, where ties
        # matter
        return coefficient(*(means if coef == "pearson" else means.round(10)).T, coef)
    values = np.array(
        [coefficient(x[column == i], y[column == i], coef) for i in np.unique(column)]
    )
    return (
        float(np.mean(values[~np.isnan(values)]))
        if not np.isnan(values).all()
        else float("nan")
    )


def redrawn(x, y, index: dict, b: int, coef: str, level: str) -> float:
    """The coefficient of resample b, with the drawn items copied out one by one."""
    if "rows" in index:
        take = index["rows"][b]
        return of_items(
            x.ravel()[take], y.ravel()[take], *np.divmod(take, x.shape[1]), coef, level
        )
    rows = index["systems"][b] if "systems" in index else np.arange(x.shape[0])
    columns = index["inputs"][b] if "inputs" in index else np.arange(x.shape[1])
    return at_level(x[rows][:, columns], y[rows][:, columns], coef, level)


def judged(
    systems: int, inputs: int, seed: int, kind: str = "continuous", noise: float = 1.0
):
    """A judge and ratings `[system, input]`; ordinal has many ties, gaps has missing
    values on both sides too.
    """
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(systems, 1)) + rng.normal(size=(systems, inputs))
    x = quality + noise * rng.normal(size=quality.shape)
    y = quality + rng.normal(size=quality.shape)
    if kind != "continuous":
        x = np.clip(np.round(x), -2, 2) + 3
        y = np.round(y * 1.5) / 3
    if kind == "gaps":
        x[rng.random(x.shape) < 0.15] = np.nan
        y[rng.random(y.shape) < 0.1] = np.nan
    return x, y


def alttest_summeval(needs):
    """Each expert's, and each recorded judge's, scores by key: two dictionaries."""
    import json

    from nlgeval_lib import datasets

    needs("alttest_summeval")
    paths = [
        next(p for p in datasets.files("alttest_summeval") if f"_{side}_" in p)
        for side in ("human", "llm")
    ]
    return [json.loads(datasets.fetch.path(path).read_text()) for path in paths]


def summeval_judge(needs, judge: str, aspect: str):
    """Scores of a recorded judge and mean expert ratings as `X[system, input]`."""
    human, llm = alttest_summeval(needs)
    keys = [key.split("__") for key in human["e0"] if key.endswith(f"__{aspect}")]
    documents, systems = (
        list(dict.fromkeys(key[place] for key in keys)) for place in (0, 1)
    )

    def matrix(scores):
        return np.array(
            [[float(scores[f"{d}__{s}__{aspect}"]) for d in documents] for s in systems]
        )

    return matrix(llm[judge]), np.mean(
        [matrix(scores) for scores in human.values()], axis=0
    )


def nlpstats_cases():
    """What nlpstats can do too: units, level, their word for it, coefficient, their
    word for it.
    """
    their_levels = {"dataset": "global", "input": "input", "system": "system"}
    names = {"pearson": "pearson", "spearman": "spearman", "kendall-b": "kendall"}
    both = itertools.product(
        ("systems", "inputs", "both"), their_levels.items(), names.items()
    )
    return [(units, *level, *coef) for units, level, coef in both]


def by_unit(chunks) -> dict:
    """Weights of all resamples by the name of the unit: (n, units)."""
    chunks = list(chunks)
    units = [
        unit
        for unit in ("systems", "inputs", "rows")
        if getattr(chunks[0], unit) is not None
    ]
    return {
        unit: np.concatenate([getattr(chunk, unit).T for chunk in chunks]).astype(
            np.int8
        )
        for unit in units
    }


def indices(shape, units: str, n: int, seed: int) -> dict:
    """The bootstrap's resamples as the numbers of the drawn units: {"systems": (n,
    systems), ...}.
    """
    counts = by_unit(draws.resamples(shape, units, n, seed))
    return {
        unit: np.stack([np.repeat(np.arange(len(row)), row) for row in rows])
        for unit, rows in counts.items()
    }


def swap_masks(shape, units: str, n: int, seed: int) -> dict:
    """The permutations whole: {"systems": (n, systems), ...}."""
    return by_unit(draws.resamples(shape, units, n, seed, swap=True))


def fields(result):
    """What is compared of a result, in a tuple: a NaN is the same as itself there."""
    values = []
    for field in dataclasses.fields(result):
        if field.compare:
            value = getattr(result, field.name)
            nested = dataclasses.is_dataclass(value)
            values.append(fields(value) if nested else value)
    return tuple(values)
