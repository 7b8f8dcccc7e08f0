"""How fast are the resampling kernels of `statistics` beside nlpstats and beside scipy in a
loop: same data, same resamples, same results?

`measure()` returns a flat dict, a section of results/bench.json; run as a script to
print it. Times are processor seconds of one thread; of the command, of both clocks.

A `Case` is what is resampled. `_bootstrap` and `_permutation` draw its resamples once
and give `Rivals`: our kernels, nlpstats and scipy on just these; `_beside_rivals` times
them and compares their values. The functions of the last part time our kernels alone,
at other sizes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, cycle, product
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from nlgeval_lib import statistics
from nlgeval_lib.statistics import comparison, draws, levels

# the usual size of a data set: 16 systems, 100 inputs
SYSTEMS = 16
INPUTS = 100
KINDS = ("continuous", "mixed", "ordinal")
# our names -> those of nlpstats
NAMES = {"pearson": "pearson", "spearman": "spearman", "kendall-b": "kendall"}
LEVELS = {"input": "input", "dataset": "global", "system": "system"}
# level and coefficient of the main comparison
CASES = (("input", "kendall-b"), ("dataset", "spearman"))
BY_SCIPY = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall-b": stats.kendalltau,
}
METHODS = ("bootstrap", "permutation")
# systems, inputs of WMT22's English-Chinese
WMT = (14, 1875)
# items of a long list
LONG = 1_000_000
# rows of the files that the command reads
ROWS = (25_000, 100_000, 400_000, 1_000_000)
# the command, then its processor seconds and its peak memory in GiB
META = """
import resource, sys
from nlgeval_lib.cli import main
try:
    main()
finally:
    units = 2**30 if sys.platform == "darwin" else 2**20
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, used.ru_maxrss / units, file=sys.stderr)
"""

Array = np.ndarray
Figures = dict[str, float]  # by name
# scores of two judges, and ratings
Sides = tuple[Array, Array, Array]
ScoresAndRatings = tuple[Array, Array]


class Case(NamedTuple):
    """What is resampled.

    method: bootstrap or permutation.
    level: dataset, system or input.
    coef: the coefficient, by our name.
    """

    method: str
    level: str
    coef: str


def data(
    kind: str = "continuous",
    systems: int = SYSTEMS,
    inputs: int = INPUTS,
    seed: int = 0,
) -> Sides:
    """Scores of two judges, and ratings, `[system, input]` each: a shared quality plus
    noise, more of it for the second judge.

    kind: continuous, all values distinct; mixed, distinct scores and ratings in thirds
        from 1 to 5, as a metric against the mean of three raters; ordinal, scores from
        1 to 5 too, as an LLM judge gives; hundredths, both rounded to two decimals.
    """
    rng = np.random.default_rng(seed)
    shape = (systems, inputs)
    quality = rng.normal(size=(systems, 1)) + rng.normal(size=shape)
    opinions = quality + rng.normal(size=shape) + 3
    # the mean of three raters' whole ratings is a multiple of a third
    in_thirds = np.round(opinions * 3) / 3
    ratings = np.clip(in_thirds, 1, 5)
    first = quality + 1.0 * rng.normal(size=shape)
    second = quality + 1.3 * rng.normal(size=shape)
    if kind == "ordinal":
        first = np.clip(np.round(first + 3), 1, 5)
        second = np.clip(np.round(second + 3), 1, 5)
    # a little noise makes all ratings distinct
    if kind in ("continuous", "hundredths"):
        ratings = ratings + 0.01 * rng.normal(size=shape)
    if kind == "hundredths":
        return np.round(first, 2), np.round(second, 2), np.round(ratings, 2)
    return first, second, ratings


def measure(resamples: int = 4000, slow_resamples: int = 20) -> Figures:
    """Seconds a resample and ratios, for bootstrap and permutation, and the large
    cases.

    slow_resamples: how many of the same ones nlpstats and scipy do.
    Returns: figures by a name of its parts, such as
        `bootstrap/input/kendall-b/mixed/us`.
    Raises: AssertionError when any of the three disagree.
    """
    results: Figures = {}
    for kind in KINDS:
        sides = data(kind)
        for (level, coef), method in product(CASES, METHODS):
            case = Case(method, level, coef)
            name = f"{method}/{level}/{coef}/{kind}"
            results |= _beside_rivals(name, sides, case, resamples, slow_resamples)
    results |= _growth()
    results |= _ten_thousand()
    results |= _wmt()
    results |= _wmt_beside_nlpstats()
    results |= _long_lists()
    results |= _command()
    return results


def _clock(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of some work, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _best(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The fastest of some runs, its seconds and its result: what else the machine does
    only ever adds.
    """
    runs = [_clock(work) for _ in range(repeats)]
    return min(runs, key=itemgetter(0))


# -- the kernels, nlpstats and scipy on the same resamples


def _beside_rivals(
    name: str,
    sides: Sides,
    case: Case,
    resamples: int,
    slow_resamples: int,
) -> Figures:
    """Microseconds a resample of our kernels (`us`), and how many times as fast as
    nlpstats and scipy they are; all three must give the same values.
    """
    prepare = _bootstrap if case.method == "bootstrap" else _permutation
    rivals = prepare(sides, case, slow_resamples)
    rivals.kernels(64)  # compiles them
    kernels, values = _best(partial(rivals.kernels, resamples))
    scipy, by_scipy = _best(partial(_by_scipy, rivals.resampled, case))
    nlpstats, by_nlpstats = _best(rivals.nlpstats)
    comparable = values[:slow_resamples]
    np.testing.assert_allclose(comparable, by_scipy, rtol=0, atol=1e-10)
    np.testing.assert_allclose(comparable, by_nlpstats, rtol=0, atol=1e-10)
    a_resample = kernels / resamples
    return {
        f"{name}/us": a_resample * 1e6,
        f"{name}/times_nlpstats": nlpstats / slow_resamples / a_resample,
        f"{name}/times_scipy": scipy / slow_resamples / a_resample,
    }


class Rivals(NamedTuple):
    """What is timed on the same resamples.

    kernels: the values of so many resamples by ours.
    nlpstats: the values of the few by nlpstats.
    resampled: for scipy, the scores and ratings of each of the few; of a permutation,
        those of both judges.
    """

    kernels: Callable[[int], Array]
    nlpstats: Callable[[], Array]
    resampled: Sequence[tuple[ScoresAndRatings, ...]]


def _bootstrap(
    sides: Sides,
    case: Case,
    count: int,
) -> Rivals:
    """Systems and inputs drawn with replacement, for one judge's coefficient."""
    scores, _, ratings = sides
    resamples = partial(draws.resamples, ratings.shape, "both")

    def kernels(number: int) -> Array:
        plan = levels.plan(scores, ratings, case.coef, case.level)
        chunks = resamples(number, 0)
        return np.concatenate([plan.values(chunk) for chunk in chunks])

    # Our draws are weights; the others take the drawn rows and columns themselves.
    of_systems, of_inputs = _weights(resamples(count, 0))
    systems = [_repeated(weights) for weights in of_systems]
    inputs = [_repeated(weights) for weights in of_inputs]
    resampled = []
    for rows, columns in zip(systems, inputs, strict=True):
        of_judge = (scores[rows][:, columns], ratings[rows][:, columns])
        resampled.append((of_judge,))
    nlpstats = _nlpstats_bootstrap(scores, ratings, case, systems, inputs)
    return Rivals(kernels, nlpstats, resampled)


def _permutation(
    sides: Sides,
    case: Case,
    count: int,
) -> Rivals:
    """The judges' scores exchanged, for the difference of their coefficients."""
    first, second, ratings = sides
    left = comparison.standardised(first)
    right = comparison.standardised(second)
    resamples = partial(draws.resamples, ratings.shape, "both", swap=True)

    def kernels(number: int) -> Array:
        plan = levels.Swapped(left, right, ratings, case.coef, case.level)
        differences = []
        for chunk in resamples(number, 0):
            of_left, of_right = plan.values(chunk)
            differences.append(np.subtract(of_left, of_right))
        return np.concatenate(differences)

    systems, inputs = _weights(resamples(count, 0))
    resampled = []
    for of_systems, of_inputs in zip(systems, inputs, strict=True):
        # Where both a system and an input are exchanged, the score is back in its
        # place.
        swap = (of_systems[:, None] ^ of_inputs[None]).astype(bool)
        swapped_left = np.where(swap, right, left)
        swapped_right = np.where(swap, left, right)
        resampled.append(((swapped_left, ratings), (swapped_right, ratings)))
    nlpstats = _nlpstats_permutation(sides, case, systems, inputs)
    return Rivals(kernels, nlpstats, resampled)


def _weights(chunks: Iterable[draws.Draws]) -> tuple[Array, Array]:
    """Weights of all resamples of systems, and of inputs: whole numbers, (resamples,
    units) each.
    """
    systems = []
    inputs = []
    for chunk in chunks:
        assert chunk.systems is not None
        assert chunk.inputs is not None
        systems.append(chunk.systems.T)
        inputs.append(chunk.inputs.T)
    of_systems = np.concatenate(systems)
    of_inputs = np.concatenate(inputs)
    return of_systems.astype(int), of_inputs.astype(int)


def _repeated(weights: Array) -> Array:
    """The indices of what is drawn, each as often as its weight says."""
    return np.repeat(np.arange(len(weights)), weights)


def _by_scipy(
    resampled: Iterable[tuple[ScoresAndRatings, ...]], case: Case
) -> list[float]:
    """The coefficient of each resample by scipy; of two judges, the first one's minus
    the second one's.
    """
    values = []
    for judges in resampled:
        coefficients = [_coefficient_by_scipy(*judge, case) for judge in judges]
        value = coefficients[0]
        if len(coefficients) == 2:
            value -= coefficients[1]
        values.append(value)
    return values


def _coefficient_by_scipy(
    scores: Array,
    ratings: Array,
    case: Case,
) -> float:
    """One coefficient at a level; by input, the mean over those that have one."""
    if case.level == "dataset":
        lists = [(scores.ravel(), ratings.ravel())]
    elif case.level == "system":
        lists = [(scores.mean(axis=1), ratings.mean(axis=1))]
    else:
        lists = list(zip(scores.T, ratings.T, strict=True))
    coefficient = BY_SCIPY[case.coef]
    with warnings.catch_warnings():
        # an input whose scores are all equal has no coefficient, and scipy warns of
        # each
        warnings.simplefilter("ignore")
        by_list = [coefficient(*pair).statistic for pair in lists]
        return np.nanmean(by_list)


def _nlpstats_bootstrap(
    scores: Array,
    ratings: Array,
    case: Case,
    systems: Sequence[Array],
    inputs: Sequence[Array],
) -> Callable[[], Array]:
    """nlpstats' bootstrap with the systems and inputs that we drew, ready to run."""
    from nlpstats.correlations import bootstrap

    drawn = cycle(_in_turn(systems, inputs))
    run = partial(
        bootstrap,
        scores,
        ratings,
        LEVELS[case.level],
        NAMES[case.coef],
        "both",
        n_resamples=len(systems),
    )
    return partial(_with_numpy, "choice", lambda *_, **__: next(drawn), run)


def _nlpstats_permutation(
    sides: Sides,
    case: Case,
    systems: Array,
    inputs: Array,
) -> Callable[[], Array]:
    """nlpstats' permutation test with the exchanges that we drew, ready to run."""
    from nlpstats.correlations import permutation_test

    masks = _in_turn(systems.astype(float), inputs.astype(float))
    drawn = cycle(masks)
    run = partial(
        permutation_test,
        *sides,
        LEVELS[case.level],
        NAMES[case.coef],
        "both",
        n_resamples=len(systems),
    )
    return partial(_with_numpy, "rand", lambda *shape: next(drawn).reshape(shape), run)


def _in_turn(systems: Iterable[Array], inputs: Iterable[Array]) -> list[Array]:
    """What nlpstats asks numpy for: of each resample the systems, then the inputs."""
    return list(chain.from_iterable(zip(systems, inputs, strict=True)))


def _with_numpy(
    name: str,
    stand_in: Callable[..., Any],
    work: Callable[[], Any],
) -> Array:
    """The samples of some work with one function of numpy.random replaced, so that
    nlpstats draws what we drew.
    """
    real = getattr(np.random, name)
    setattr(np.random, name, stand_in)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work().samples
    finally:
        setattr(np.random, name, real)


# -- the kernels alone


def _seconds(
    scores: Array,
    ratings: Array,
    coef: str,
    level: str,
    resamples: int,
    repeats: int = 1,
) -> float:
    """Processor seconds for so many resamples of systems and inputs, the best of some
    repeats.
    """

    def work() -> None:
        plan = levels.plan(scores, ratings, coef, level)
        for chunk in draws.resamples(ratings.shape, "both", resamples, 0):
            plan.values(chunk)

    best, _ = _best(work, repeats)
    return best


def _growth() -> Figures:
    """How time grows for Kendall: with 4 times the resamples (linear: 4), with 4 times
    the items (n log n: 4.8).
    """
    scores, _, ratings = data()
    small = _seconds(scores, ratings, "kendall-b", "dataset", 1000, 3)
    large = _seconds(scores, ratings, "kendall-b", "dataset", 4000, 3)
    scores, _, ratings = data(inputs=4 * INPUTS)
    wide = _seconds(scores, ratings, "kendall-b", "dataset", 1000, 3)
    return {"growth/resamples_x4": large / small, "growth/items_x4": wide / small}


def _ten_thousand() -> Figures:
    """Seconds for 10,000 resamples of both at 16 x 100."""
    scores, _, ratings = data()
    results: Figures = {}
    for level, coef in product(levels.LEVELS, BY_SCIPY):
        name = f"ten_thousand/{level}/{coef}/s"
        results[name] = _seconds(scores, ratings, coef, level, 10_000)
    return results


def _wmt() -> Figures:
    """Seconds for 1,000 resamples of both on 14 systems x 1,875 inputs, and the
    process's peak memory in GiB.
    """
    scores, _, ratings = data("continuous", *WMT)
    # like MQM: few distinct values, none above 0
    ratings = -np.round(np.abs(ratings - 5) * 4) / 2
    cases = (
        ("input", "kendall-b"),
        ("dataset", "spearman"),
        ("dataset", "kendall-b"),
        ("system", "kendall-b"),
    )
    results = {}
    for level, coef in cases:
        name = f"wmt_size/{level}/{coef}/s"
        results[name] = _seconds(scores, ratings, coef, level, 1000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, Linux KiB
    units_a_gib = 2**30 if sys.platform == "darwin" else 2**20
    results["wmt_size/peak_gib"] = peak / units_a_gib
    return results


def _wmt_beside_nlpstats(
    resamples: int = 500,
    slow_resamples: int = 2,
) -> Figures:
    """The same as for 16 x 100 at WMT's size, with fewer resamples: every level,
    coefficient and method.
    """
    sides = data("mixed", *WMT)
    results: Figures = {}
    for method, level, coef in product(METHODS, LEVELS, BY_SCIPY):
        case = Case(method, level, coef)
        name = f"wmt_size/{method}/{level}/{coef}"
        results |= _beside_rivals(name, sides, case, resamples, slow_resamples)
    return results


def _long_lists() -> Figures:
    """Seconds for one coefficient of a million items, and how many times scipy's
    speed that is.
    """
    by_scipy = BY_SCIPY | {"kendall-c": partial(stats.kendalltau, variant="c")}
    results: Figures = {}
    for kind in (*KINDS, "hundredths"):
        scores, _, ratings = data(kind, 1, LONG)
        scores = scores.ravel()
        ratings = ratings.ravel()
        for coef, function in by_scipy.items():
            ours, value = _best(partial(_one_value, scores, ratings, coef), 5)
            scipy, expected = _best(partial(function, scores, ratings), 5)
            np.testing.assert_allclose(value, expected.statistic, rtol=0, atol=1e-9)
            results[f"million/{coef}/{kind}/s"] = ours
            results[f"million/{coef}/{kind}/times_scipy"] = scipy / ours
    return results


def _command() -> Figures:
    """Wall and processor seconds and peak memory in GiB of `nlgeval meta` with its
    default intervals, coefficients and baselines, a process a size: so many rows, of 4
    systems each.
    """
    results: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in ROWS:
            scores, _, ratings = data("mixed", 4, rows // 4)
            path = Path(folder, f"{rows}.csv")
            _write_rows(path, scores, ratings)
            began = time.perf_counter()
            command = [sys.executable, "-c", META, "meta", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            name = f"meta, default intervals/{rows} rows of 4 systems"
            results[f"{name}/s"] = time.perf_counter() - began
            processor, peak = done.stderr.split()[-2:]
            results[f"{name}/processor_s"] = float(processor)
            results[f"{name}/peak_gib"] = float(peak)
    return results


def _write_rows(path: Path, scores: Array, ratings: Array) -> None:
    """A file with a row an output, as `nlgeval meta` reads it."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("input_id,system_id,value,human\n")
        for place in range(scores.shape[1]):
            for system in range(len(scores)):
                score = scores[system, place]
                rating = ratings[system, place]
                file.write(f"{place},s{system},{score:.6f},{rating:.4f}\n")


def _one_value(
    scores: Array,
    ratings: Array,
    coef: str,
) -> float:
    """One of our coefficients, of two flat lists."""
    return statistics.correlate(scores, ratings, coef).value


def main() -> None:
    """Print every figure with four digits."""
    rounded = {}
    for name, value in measure().items():
        rounded[name] = float(f"{value:.4g}")
    print(json.dumps(rounded, indent=1))


if __name__ == "__main__":
    main()
