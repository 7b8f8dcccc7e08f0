"""acc_eq with thresholds, pairwise accuracy and its soft version, against loops over
pairs.
"""

from __future__ import annotations

from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from meta_oracles import judged, summeval_judge

from nlgeval_lib import meta


def loop_acc(x, y, epsilon: float) -> float:
    """Mean over inputs of the share of pairs ordered alike or tied alike."""
    shares = []
    for a, b in zip(x.T, y.T, strict=True):
        here = np.flatnonzero(~(np.isnan(a) | np.isnan(b)))
        pairs = list(combinations(here, 2))
        if not pairs:
            continue
        right = 0
        for i, j in pairs:
            order = 0 if abs(a[i] - a[j]) <= epsilon else np.sign(a[i] - a[j])
            right += order == np.sign(b[i] - b[j])
        shares.append(right / len(pairs))
    return float(np.mean(shares))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    epsilon=st.sampled_from([0.0, 0.3, 1.0, 2.5]),
    kind=st.sampled_from(["gaps", "ordinal"]),
)
def test_acc_eq_equals_a_loop(seed, epsilon, kind):
    x, y = judged(5, 6, seed, kind)
    assert meta.acc_eq(x, y, epsilon).value == pytest.approx(
        loop_acc(x, y, epsilon), abs=1e-12
    )
    if epsilon == 0:
        assert meta.acc_eq(x, y).value == pytest.approx(
            meta.correlate(x, y, "acc-eq", "input").value, abs=1e-12
        )
        flat = meta.acc_eq(x, y, level="dataset").value
        assert flat == pytest.approx(meta.correlate(x, y, "acc-eq").value, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000), kind=st.sampled_from(["gaps", "ordinal", "continuous"])
)
def test_calibration_finds_the_best_threshold(seed, kind):
    x, y = judged(4, 5, seed, kind)
    if kind == "continuous":
        y = np.round(y)
    result = meta.calibrate_ties(x, y)
    gaps = {0.0} | {
        abs(a - b)
        for column in x.T
        for a, b in combinations(column[~np.isnan(column)], 2)
    }
    values = {gap: loop_acc(x, y, gap) for gap in gaps}
    assert result.value == pytest.approx(max(values.values()), abs=1e-12)
    assert result.epsilon == pytest.approx(
        min(gap for gap, v in values.items() if v >= max(values.values()) - 1e-9)
    )
    assert result.value >= meta.acc_eq(x, y).value - 1e-12


def test_held_out_thresholds_come_from_other_inputs():
    rng = np.random.default_rng(0)
    x, y = judged(6, 60, 0)
    y = np.round(y)
    inside = meta.calibrate_ties(x, y)
    outside = meta.held_out_acc_eq(x, y, folds=5, seed=1)
    assert outside.value <= inside.value + 1e-12 and len(outside.epsilons) == 5
    assert outside == meta.held_out_acc_eq(x, y, folds=5, seed=1)
    part = np.random.default_rng(1).permutation(60) % 5
    expected = []
    for fold in range(5):
        epsilon = meta.calibrate_ties(x[:, part != fold], y[:, part != fold]).epsilon
        expected.append(
            meta.acc_eq(x[:, part == fold], y[:, part == fold], epsilon).value
        )
    assert outside.value == pytest.approx(np.mean(expected))
    noise = rng.normal(size=x.shape)
    assert (
        meta.held_out_acc_eq(noise, y, folds=5).value
        < meta.calibrate_ties(noise, y).value + 1e-12
    )
    assert "eps:held-out(" in outside.signature() and "/5|seed:1" in outside.signature()


def test_the_constant_judge_on_record(needs):
    """A constant judge has .673 on SummEval consistency, above the recorded judges
    before calibration.
    """
    values = []
    for judge in (
        "gemini_flash",
        "gemini_pro",
        "gpt-4o",
        "llama-31",
        "gpt-4o-mini",
        "mistral-v03",
    ):
        x, y = summeval_judge(needs, judge, "consistency")
        values.append(round(meta.acc_eq(x, y).value, 3))
    assert round(meta.acc_eq(meta.baselines.constant(y.shape), y).value, 3) == 0.673
    assert (min(values), max(values)) == (0.54, 0.661)


def test_accuracy_on_pairs_of_systems():
    """Means of scores 2, 3, 9, 2, of ratings 1, 2, 3, 2: of the pairs 01 02 03 12 13
    23, 03 and 13 are told apart.
    """
    x = np.array([[1.0, 3], [2, 4], [9, 9], [2, 2]])
    y = np.array([[1.0, 1], [2, 2], [3, 3], [2, 2]])
    assert meta.correlate(x, y, "acc-eq", "system").value == pytest.approx(4 / 6)


def soft_accuracy_by_a_loop(x, y, signs):
    """The mean over pairs of systems of 1 - |p - p|, and each p counted one by one."""
    terms = []
    for i, j in combinations(range(len(x)), 2):
        p = []
        for side in (x, y):
            gap = np.nan_to_num(side[i] - side[j])
            as_high = sum(row @ gap >= gap.sum() - 1e-12 for row in signs)
            p.append((as_high + 1) / (len(signs) + 1))
        terms.append(1 - abs(p[0] - p[1]))
    return np.mean(terms)


def drawn_signs(inputs, n_perm, seed):
    """What the seed draws: a bit an input, in words of 32 inputs."""
    rows = -(-inputs // 32) * 4
    drawn = np.frombuffer(np.random.default_rng(seed).bytes(rows * n_perm), np.uint8)
    bits = np.unpackbits(drawn.reshape(rows, 1, n_perm), axis=1, bitorder="little")
    return bits.reshape(rows * 8, n_perm)[:inputs].T * 2.0 - 1


@pytest.mark.parametrize("inputs", [12, 45])
@pytest.mark.parametrize("kind", ["continuous", "ordinal", "gaps"])
def test_soft_pairwise_accuracy_equals_a_loop(kind, inputs):
    x, y = judged(4, inputs, 0, kind)
    y[np.isnan(x)], x[np.isnan(y)] = np.nan, np.nan
    expected = soft_accuracy_by_a_loop(x, y, drawn_signs(inputs, 200, 3))
    result = meta.soft_pairwise_accuracy(x, y, n_perm=200, seed=3)
    assert result.value == pytest.approx(expected, abs=1e-12)
    assert meta.soft_pairwise_accuracy(y, y, n_perm=50).value == 1.0
    assert "coef:soft-pairwise-acc|perm:200|seed:3" in result.signature()


def test_soft_pairwise_accuracy_without_numba_is_the_same(monkeypatch):
    from nlgeval_lib.meta import _kernels

    x, y = judged(5, 40, 1, "ordinal")
    compiled = meta.soft_pairwise_accuracy(x, y).value
    monkeypatch.setattr(_kernels, "numba", None)
    assert meta.soft_pairwise_accuracy(x, y).value == compiled


def soft_judges(noise, seed, systems=8, inputs=40):
    """Ratings, and two judges of which the second has so much more noise."""
    rng = np.random.default_rng(seed)
    quality = 0.5 * rng.normal(size=(systems, 1)) + rng.normal(size=(systems, inputs))
    first = quality + rng.normal(size=quality.shape)
    second = quality + (1 + noise) * rng.normal(size=quality.shape)
    return first, second, quality


@pytest.mark.parametrize("units", ["rows", "inputs"])
def test_a_difference_in_soft_accuracy_by_exchanges(units):
    first, second, y = soft_judges(5.0, 0)
    options = {"units": units, "n_exchanges": 99, "n_perm": 200}
    result = meta.compare_soft_accuracy(first, second, y, **options)
    turned = meta.compare_soft_accuracy(second, first, y, **options)
    same = meta.compare_soft_accuracy(first, 2 * first + 3, y, **options)
    assert result.p <= 0.05
    assert turned.difference == -result.difference
    assert same.difference == 0
    assert same.p == 1
    expected = meta.soft_pairwise_accuracy(first, y, n_perm=200).value
    assert result.first == pytest.approx(expected, abs=1e-12)
    assert f"test:perm-{units}" in result.signature()


def test_equal_judges_are_seldom_told_apart_by_soft_accuracy():
    rejected = 0
    for seed in range(60):
        sides = soft_judges(0.0, seed, systems=5, inputs=24)
        found = meta.compare_soft_accuracy(*sides, n_exchanges=59, n_perm=60)
        rejected += found.p <= 0.05
    assert rejected <= 9  # 3 are expected; 10 or more have a chance of .001
