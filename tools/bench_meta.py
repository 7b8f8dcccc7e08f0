"""Speed of the resampling kernels beside nlpstats and beside scipy in a loop: same
data, same resamples, same results.

`measure()` returns a flat dict; run as a script to print it. Times are processor
seconds of one thread.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from itertools import cycle, product
from typing import Any

import numpy as np
from scipy import stats

from nlgeval_lib import meta
from nlgeval_lib.meta import comparison, draws, levels

SYSTEMS = 16
INPUTS = 100
NAMES = {"pearson": "pearson", "spearman": "spearman", "kendall-b": "kendall"}
LEVELS = {"input": "input", "dataset": "global", "system": "system"}
CASES = (("input", "kendall-b"), ("dataset", "spearman"))
BY_SCIPY = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall-b": stats.kendalltau,
}
METHODS = ("bootstrap", "permutation")
# systems, inputs of WMT22's English-Chinese
WMT = (14, 1875)
LONG = 1_000_000


def data(
    kind: str = "continuous",
    systems: int = SYSTEMS,
    inputs: int = INPUTS,
    seed: int = 0,
) -> tuple[Any, ...]:
    """Two judges and ratings `[system, input]`.

    kind: continuous, all values distinct; mixed, distinct scores and ratings in thirds
    from 1 to 5, as a metric against the mean of three raters; ordinal, scores from 1 to
    5 too, as an LLM judge gives.
    """
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(systems, 1)) + rng.normal(size=(systems, inputs))
    ratings = np.clip(
        np.round((quality + rng.normal(size=quality.shape) + 3) * 3) / 3, 1, 5
    )
    first, second = (
        quality + noise * rng.normal(size=quality.shape) for noise in (1.0, 1.3)
    )
    if kind == "ordinal":
        first, second = (np.clip(np.round(side + 3), 1, 5) for side in (first, second))
    if kind == "continuous":
        ratings = ratings + 0.01 * rng.normal(size=ratings.shape)
    return first, second, ratings


def measure(resamples: int = 4000, slow_resamples: int = 20) -> dict[str, float]:
    """Seconds a resample and ratios, for bootstrap and permutation, and the large
    cases.

    resamples: how many the kernels do; slow_resamples: how many of the same ones
    nlpstats and scipy do.
    Raises: AssertionError when any of the three disagree.
    """
    out: dict[str, float] = {}
    for kind in ("continuous", "mixed", "ordinal"):
        for level, coef in CASES:
            for method in METHODS:
                sides = data(kind)
                name = f"{method}/{level}/{coef}/{kind}"
                numbers = resamples, slow_resamples
                out |= _cell(name, sides, method, level, coef, numbers)
    out |= _growth()
    out |= _ten_thousand()
    out |= _wmt()
    out |= _wmt_beside_nlpstats()
    out |= _long_lists()
    return out | _soft_accuracy()


def _cell(
    name: str,
    sides: tuple[Any, ...],
    method: str,
    level: str,
    coef: str,
    numbers: tuple[int, int],
) -> dict[str, float]:
    """Microseconds a resample and both ratios."""
    ours, theirs, loop = _three(sides, method, level, coef, *numbers)
    return {
        f"{name}/us": ours * 1e6,
        f"{name}/times_nlpstats": theirs / ours,
        f"{name}/times_scipy": loop / ours,
    }


def _clock(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _best(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The fastest of some runs: what else the machine does only ever adds."""
    return min((_clock(work) for _ in range(repeats)), key=lambda timed: timed[0])


def _by_unit(chunks: Iterable[draws.Draws]) -> dict[str, Any]:
    """Weights of all resamples of systems and inputs: (n, units) each."""
    chunks = list(chunks)
    names = ("systems", "inputs")
    return {
        name: np.concatenate([getattr(chunk, name).T for chunk in chunks]).astype(int)
        for name in names
    }


def _three(
    sides: tuple[Any, ...], method: str, level: str, coef: str, n: int, few: int
) -> tuple[float, float, float]:
    first, second, y = sides
    if method == "bootstrap":
        counts = _by_unit(draws.resamples(y.shape, "both", few, 0))
        index = {
            u: [np.repeat(np.arange(len(row)), row) for row in rows]
            for u, rows in counts.items()
        }

        def ours(b: int = n) -> Any:
            plan = levels.plan(first, y, coef, level)
            return np.concatenate(
                [plan.values(chunk) for chunk in draws.resamples(y.shape, "both", b, 0)]
            )

        pairs = [
            ((first[s][:, i], y[s][:, i]),)
            for s, i in zip(index["systems"], index["inputs"], strict=True)
        ]
        theirs = _nlpstats_bootstrap(first, y, level, coef, index)
    else:
        one, two = (comparison.standardised(side) for side in (first, second))
        masks = _by_unit(draws.resamples(y.shape, "both", few, 0, swap=True))

        def ours(b: int = n) -> Any:
            plan = levels.Swapped(one, two, y, coef, level)
            return np.concatenate(
                [
                    np.subtract(*plan.values(chunk))
                    for chunk in draws.resamples(y.shape, "both", b, 0, swap=True)
                ]
            )

        swap = [
            (s[:, None] ^ i[None]).astype(bool)
            for s, i in zip(masks["systems"], masks["inputs"], strict=True)
        ]
        pairs = [((np.where(m, two, one), y), (np.where(m, one, two), y)) for m in swap]
        theirs = _nlpstats_permutation(first, second, y, level, coef, masks)
    ours(64)
    ours_s, values = _best(ours)
    loop_s, by_scipy = _best(lambda: [_scipy(pair, level, coef) for pair in pairs])
    theirs_s, by_nlpstats = _best(theirs)
    np.testing.assert_allclose(values[:few], by_scipy, rtol=0, atol=1e-10)
    np.testing.assert_allclose(values[:few], by_nlpstats, rtol=0, atol=1e-10)
    return ours_s / n, theirs_s / few, loop_s / few


def _scipy(pair: tuple[tuple[Any, Any], ...], level: str, coef: str) -> float:
    """The coefficient of one pair of sides by scipy, or the difference of two."""
    function = BY_SCIPY[coef]
    values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x, y in pair:
            if level == "dataset":
                columns = [(x.ravel(), y.ravel())]
            elif level == "system":
                columns = [(x.mean(axis=1), y.mean(axis=1))]
            else:
                columns = list(zip(x.T, y.T, strict=True))
            by_list = [function(*column).statistic for column in columns]
            values.append(np.nanmean(by_list))
    return values[0] - values[1] if len(values) == 2 else values[0]


def _nlpstats_bootstrap(
    x: Any, y: Any, level: str, coef: str, index: dict[str, Any]
) -> Callable[[], Any]:
    from nlpstats.correlations import bootstrap

    rows = [
        row
        for pair in zip(index["systems"], index["inputs"], strict=True)
        for row in pair
    ]
    drawn = cycle(rows)
    n = len(index["systems"])
    return lambda: _with_numpy(
        "choice",
        lambda *_, **__: next(drawn),
        lambda: (
            bootstrap(x, y, LEVELS[level], NAMES[coef], "both", n_resamples=n).samples
        ),
    )


def _nlpstats_permutation(
    first: Any, second: Any, y: Any, level: str, coef: str, masks: Any
) -> Callable[[], Any]:
    from nlpstats.correlations import permutation_test

    rows = [
        row.astype(float)
        for pair in zip(masks["systems"], masks["inputs"], strict=True)
        for row in pair
    ]
    drawn = cycle(rows)
    n = len(masks["systems"])
    return lambda: _with_numpy(
        "rand",
        lambda *shape: next(drawn).reshape(shape),
        lambda: (
            permutation_test(
                first, second, y, LEVELS[level], NAMES[coef], "both", n_resamples=n
            ).samples
        ),
    )


def _with_numpy(
    name: str, stand_in: Callable[..., Any], work: Callable[[], Any]
) -> Any:
    """The work with one function of numpy.random replaced, so that nlpstats draws
    what we drew.
    """
    real = getattr(np.random, name)
    setattr(np.random, name, stand_in)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()
    finally:
        setattr(np.random, name, real)


def _seconds(x: Any, y: Any, coef: str, level: str, n: int, repeats: int = 1) -> float:
    """Seconds for n resamples of both, the best of some repeats."""

    def work() -> Any:
        plan = levels.plan(x, y, coef, level)
        return [plan.values(chunk) for chunk in draws.resamples(y.shape, "both", n, 0)]

    return min(_clock(work)[0] for _ in range(repeats))


def _growth() -> dict[str, float]:
    """How time grows for Kendall: with 4 times the resamples (linear: 4), with 4
    times the items (n log n: 4.8).
    """
    x, _, y = data()
    small, large = (_seconds(x, y, "kendall-b", "dataset", n, 3) for n in (1000, 4000))
    wide = data(inputs=4 * INPUTS)
    items = _seconds(wide[0], wide[2], "kendall-b", "dataset", 1000, 3)
    return {"growth/resamples_x4": large / small, "growth/items_x4": items / small}


def _ten_thousand() -> dict[str, float]:
    """Seconds for 10,000 resamples of both at 16 x 100."""
    x, _, y = data()
    cases = [
        (level, coef)
        for level in levels.LEVELS
        for coef in ("pearson", "spearman", "kendall-b")
    ]
    return {
        f"ten_thousand/{level}/{coef}/s": _seconds(x, y, coef, level, 10_000)
        for level, coef in cases
    }


def _wmt() -> dict[str, float]:
    """Seconds for 1,000 resamples of both on 14 systems x 1,875 inputs, and the
    process's peak memory in GiB.
    """
    x, _, y = data("continuous", *WMT)
    y = -np.round(np.abs(y - 5) * 4) / 2  # like MQM: few distinct values, none above 0
    cases = (
        ("input", "kendall-b"),
        ("dataset", "spearman"),
        ("dataset", "kendall-b"),
        ("system", "kendall-b"),
    )
    out = {
        f"wmt_size/{level}/{coef}/s": _seconds(x, y, coef, level, 1000)
        for level, coef in cases
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return out | {
        "wmt_size/peak_gib": peak / (2**30 if sys.platform == "darwin" else 2**20)
    }


def _wmt_beside_nlpstats(
    resamples: int = 500, slow_resamples: int = 2
) -> dict[str, float]:
    """The same as for 16 x 100 at WMT's size: every level, coefficient and method."""
    first, second, y = data("mixed", *WMT)
    out: dict[str, float] = {}
    for method, level, coef in product(METHODS, LEVELS, BY_SCIPY):
        name = f"wmt_size/{method}/{level}/{coef}"
        numbers = resamples, slow_resamples
        out |= _cell(name, (first, second, y), method, level, coef, numbers)
    return out


def _long_lists() -> dict[str, float]:
    """Seconds for one coefficient of a million items, and how many times scipy's
    speed that is.

    Raises: AssertionError when the two disagree.
    """
    by_scipy = BY_SCIPY | {"kendall-c": partial(stats.kendalltau, variant="c")}
    out: dict[str, float] = {}
    for kind in ("continuous", "mixed", "ordinal"):
        first, _, y = data(kind, 1, LONG)
        x = first.ravel()
        y = y.ravel()
        for coef, function in by_scipy.items():
            ours, value = _best(partial(_one_value, x, y, coef), 5)
            theirs, expected = _best(partial(function, x, y), 5)
            np.testing.assert_allclose(value, expected.statistic, rtol=0, atol=1e-9)
            out[f"million/{coef}/{kind}/s"] = ours
            out[f"million/{coef}/{kind}/times_scipy"] = theirs / ours
    return out


def _one_value(x: Any, y: Any, coef: str) -> float:
    return meta.correlate(x, y, coef).value


def _soft_accuracy() -> dict[str, float]:
    """Milliseconds for one soft pairwise accuracy of 1,000 exchanges, and seconds for
    a test of a difference in it.
    """
    out: dict[str, float] = {}
    for systems, inputs in ((SYSTEMS, INPUTS), WMT):
        first, second, y = data("mixed", systems, inputs)
        name = f"soft_accuracy/{systems}x{inputs}"
        # Compiles the loops.
        meta.soft_pairwise_accuracy(first, y)
        own, _ = _best(partial(meta.soft_pairwise_accuracy, first, y), 10)
        test, _ = _best(partial(meta.compare_soft_accuracy, first, second, y), 1)
        out |= {f"{name}/ms": own * 1e3, f"{name}/test/s": test}
    return out


if __name__ == "__main__":
    print(
        json.dumps(
            {name: float(f"{value:.4g}") for name, value in measure().items()}, indent=1
        )
    )
