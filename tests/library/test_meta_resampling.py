"""The kernels equal loops over copied-out items, whatever the level, the units, the
ties and the gaps.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import subprocess
import sys
import tracemalloc

import hypothesis.strategies as st
import meta_oracles
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from meta_oracles import COEFFICIENTS, LEVELS, at_level, coefficient, indices, judged
from scipy import special, stats

from nlgeval_lib import statistics
from nlgeval_lib.statistics import _kernels, classical, draws, levels


@pytest.mark.parametrize("units", draws.UNITS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["continuous", "ordinal", "gaps"])
def test_value_and_every_resample_equal_a_loop(kind, level, units):
    for seed, (systems, inputs) in enumerate([(4, 5), (7, 11), (70, 6)]):
        x, y = judged(systems, inputs, seed, kind)
        index = indices(x.shape, units, 6, seed)
        for coef in COEFFICIENTS:
            found = statistics.correlate(
                x, y, coef, level, ci=f"boot-{units}", n_boot=6, seed=seed
            )
            assert found.value == pytest.approx(
                at_level(x, y, coef, level), abs=1e-12, nan_ok=True
            )
            expected = [
                meta_oracles.redrawn(x, y, index, b, coef, level) for b in range(6)
            ]
            np.testing.assert_allclose(
                found.replicates, expected, rtol=0, atol=1e-11, err_msg=coef
            )


def weighted(x, y, coef: str, weights) -> np.ndarray:
    """The coefficient of a flat list under each column of whole-number weights."""
    return levels.plan(x, y, coef, "dataset").values(
        draws.Draws(rows=np.ascontiguousarray(weights, dtype=np.float32))
    )


@settings(max_examples=80, deadline=None)
@given(
    items=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 4)),
        min_size=2,
        max_size=60,
    ),
    coef=st.sampled_from(COEFFICIENTS),
)
def test_weights_mean_copies(items, coef):
    x, y, weight = np.array(items).T
    copies = np.repeat(x, weight), np.repeat(y, weight)
    value = weighted(x.astype(float), y.astype(float), coef, weight[:, None])[0]
    expected = coefficient(*copies, coef) if len(copies[0]) > 1 else float("nan")
    assert (math.isnan(value) and math.isnan(expected)) or abs(value - expected) < 1e-12


def test_counts_stay_exact_where_narrow_integers_end():
    rng = np.random.default_rng(0)
    for n in (2**13, 2**14 + 5, 40_000):
        x = rng.normal(size=n)
        y = np.round(rng.normal(size=n), 1)
        for coef, oracle in (
            ("kendall-b", stats.kendalltau),
            ("spearman", stats.spearmanr),
        ):
            assert statistics.correlate(x, y, coef).value == pytest.approx(
                oracle(x, y).statistic, abs=1e-13
            )


# sums of squares pass 2**32 between the second and third
@pytest.mark.parametrize("items", [2300, 2344, 2345, 5000])
def test_spearman_stays_exact_where_32_bits_end(items):
    rng = np.random.default_rng(items)
    x = rng.permutation(items).astype(float)
    heavy = np.zeros(items, dtype=int)
    heavy[rng.integers(0, items, 5)] = items // 5  # all the weight on five items
    weights = np.stack(
        [
            np.ones(items, dtype=int),
            np.bincount(rng.integers(0, items, items), minlength=items),
            heavy,
        ]
    )
    for y in (
        -x,
        x,
        rng.normal(size=items),
        np.floor(-x / 3),
        np.round(rng.normal(size=items), 1),
    ):
        found = weighted(x, y, "spearman", weights.T)
        expected = [
            coefficient(np.repeat(x, w), np.repeat(y, w), "spearman") for w in weights
        ]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_pearson_of_a_resample_without_the_outlier_keeps_its_digits():
    x = np.array([1e9, 1.0, 2, 3, 4])
    y = np.array([1.0, 2, 3, 1, 5])
    weights = np.array([[0, 2, 1, 1, 1]], dtype=np.int16).T
    expected = coefficient([1, 1, 2, 3, 4], [2, 2, 3, 1, 5], "pearson")
    assert weighted(x, y, "pearson", weights)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("units", draws.UNITS)
def test_draws_do_not_depend_on_the_chunks(units, monkeypatch):
    def drawn(size):
        monkeypatch.setattr(draws, "chunk_size", lambda items: size)
        return indices((5, 7), units, 23, 3) | {
            "swaps": meta_oracles.swap_masks((5, 7), units, 23, 3)
        }

    np.testing.assert_equal(drawn(100), drawn(4))


def test_interval_ends_are_quantiles_and_undefined_resamples_are_counted():
    x = np.array([[1.0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 2]])
    y = np.arange(12.0).reshape(3, 4)
    result = statistics.correlate(x, y, "pearson", ci="boot-inputs", n_boot=400)
    good = result.replicates[~np.isnan(result.replicates)]
    assert result.interval.n_undefined == 400 - len(good) > 60
    assert (result.low, result.high) == pytest.approx(
        tuple(np.quantile(good, [0.025, 0.975])), abs=1e-12
    )
    assert f"undefined in {result.interval.n_undefined} of 400" in result.reason
    rare = np.zeros((3, 8))
    rare[0, 0] = 1
    mostly = statistics.correlate(
        rare, np.arange(24.0).reshape(3, 8), "pearson", ci="boot-both", n_boot=200
    )
    assert (
        math.isnan(mostly.low)
        and "no interval" in mostly.reason
        and not math.isnan(mostly.value)
    )


def test_nlpstats_gives_the_same_replicates(monkeypatch):
    nlpstats = pytest.importorskip("nlpstats.correlations")
    x, y = judged(6, 9, 1, "ordinal")
    # halves add up exactly, so that nlpstats sees ties of means too
    y = np.round(y * 2) / 2
    for units, level, their_level, coef, name in meta_oracles.nlpstats_cases():
        drawn = indices(x.shape, units, 10, 4).values()
        rows = itertools.chain.from_iterable(zip(*drawn, strict=True))
        monkeypatch.setattr(np.random, "choice", lambda *_, rows=rows, **__: next(rows))
        theirs = nlpstats.bootstrap(x, y, their_level, name, units, n_resamples=10)
        ours = statistics.correlate(
            x, y, coef, level, ci=f"boot-{units}", n_boot=10, seed=4
        )
        np.testing.assert_allclose(ours.replicates, theirs.samples, rtol=0, atol=1e-11)
        assert (ours.low, ours.high) == pytest.approx(
            (theirs.lower, theirs.upper), abs=1e-11
        )


def test_the_library_is_there_before_what_compiles_its_loops():
    heavy = "('numba', 'scipy.stats', 'statsmodels')"
    code = "import sys, nlgeval_lib.statistics"
    code += f"; print([name for name in {heavy} if name in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_loops_are_compiled_where_nothing_can_be_kept(monkeypatch):
    """An install that cannot be written to, and no home: numba refuses to cache."""
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(cache=True)(lambda a: a)
    assert _kernels.kept(lambda a: a + 1)(1) == 2


def test_without_numba_the_loops_give_the_same_and_say_that_they_are_slow(monkeypatch):
    x, y = judged(5, 7, 3, "ordinal")
    x[0, :3] = np.nan
    cases = [
        (coef, level)
        for coef in COEFFICIENTS
        for level in ("dataset", "input", "system")
    ]
    ours = [
        statistics.correlate(x, y, coef, level, ci="boot-both", n_boot=7)
        for coef, level in cases
    ]
    tested = [
        statistics.compare(x, x[::-1], y, "kendall-b", level, n_perm=7)
        for level in ("input", "system")
    ]
    monkeypatch.setitem(sys.modules, "numba", None)
    spec = importlib.util.spec_from_file_location("plain", _kernels.__file__)
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    plain.SLOW = 0
    monkeypatch.setattr(statistics, "_kernels", plain)
    with pytest.warns(
        UserWarning, match=r"numba is not installed.*nlgeval-lib\[stats\]"
    ) as said:
        for (coef, level), one in zip(cases, ours, strict=True):
            again = statistics.correlate(x, y, coef, level, ci="boot-both", n_boot=7)
            np.testing.assert_allclose(
                again.replicates, one.replicates, rtol=0, atol=1e-12
            )
            assert (again.value, again.low, again.high) == pytest.approx(
                (one.value, one.low, one.high), nan_ok=True
            )
        for level, one in zip(("input", "system"), tested, strict=True):
            again = statistics.compare(x, x[::-1], y, "kendall-b", level, n_perm=7)
            assert (again.p, again.difference) == pytest.approx(
                (one.p, one.difference), nan_ok=True
            )
    assert len({str(one.message) for one in said}) == 1


def test_without_scipy_normal_quantiles_are_of_arrays(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    name = "nlgeval_lib.statistics.bare"
    spec = importlib.util.spec_from_file_location(name, classical.__file__)
    bare = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, bare)
    spec.loader.exec_module(bare)
    assert bare.special is not special
    shares = np.array([1e-300, 0.025, 0.5, 0.9])
    assert bare.special.ndtri(shares) == pytest.approx(special.ndtri(shares), abs=1e-9)


@pytest.mark.parametrize("df", [0.5, 1, 2.7, 7.5, 30, 350.5, 1e6])
def test_without_scipy_t_and_the_normal_are_the_same(df):
    for t in (-60, -4, -1.96, -0.1, 0, 0.7, 2.5):
        assert classical._below(df, t) == pytest.approx(special.stdtr(df, t), rel=1e-11)
    for p in (0.001, 0.025, 0.2, 0.5, 0.8, 0.975, 0.9995):
        assert classical._quantile(df, p) == pytest.approx(
            special.stdtrit(df, p), rel=1e-11, abs=1e-12
        )
    assert math.isnan(classical._quantile(0, 0.975)) and math.isnan(
        classical._below(math.nan, 1)
    )


def test_memory_stays_small_on_a_large_test_set():
    x, y = judged(14, 1875, 0)
    tracemalloc.start()
    for level, coef in (
        ("dataset", "kendall-b"),
        ("dataset", "spearman"),
        ("input", "kendall-b"),
    ):
        assert (
            statistics.correlate(x, y, coef, level, ci="boot-both", n_boot=60).low < 1
        )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 * 2**20
