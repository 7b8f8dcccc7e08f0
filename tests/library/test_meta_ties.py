"""acc_eq with thresholds, pairwise accuracy, against loops over
pairs.
"""

from __future__ import annotations

from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from meta_oracles import judged, summeval_judge

from nlgeval_lib import statistics


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
    assert statistics.acc_eq(x, y, epsilon).value == pytest.approx(
        loop_acc(x, y, epsilon), abs=1e-12
    )
    if epsilon == 0:
        assert statistics.acc_eq(x, y).value == pytest.approx(
            statistics.correlate(x, y, "acc-eq", "input").value, abs=1e-12
        )
        flat = statistics.acc_eq(x, y, level="dataset").value
        assert flat == pytest.approx(
            statistics.correlate(x, y, "acc-eq").value, abs=1e-12
        )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000), kind=st.sampled_from(["gaps", "ordinal", "continuous"])
)
def test_calibration_finds_the_best_threshold(seed, kind):
    x, y = judged(4, 5, seed, kind)
    if kind == "continuous":
        y = np.round(y)
    result = statistics.calibrate_ties(x, y)
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
    assert result.value >= statistics.acc_eq(x, y).value - 1e-12


def test_held_out_thresholds_come_from_other_inputs():
    rng = np.random.default_rng(0)
    x, y = judged(6, 60, 0)
    y = np.round(y)
    inside = statistics.calibrate_ties(x, y)
    outside = statistics.held_out_acc_eq(x, y, folds=5, seed=1)
    assert outside.value <= inside.value + 1e-12 and len(outside.epsilons) == 5
    assert outside == statistics.held_out_acc_eq(x, y, folds=5, seed=1)
    part = np.random.default_rng(1).permutation(60) % 5
    expected = []
    for fold in range(5):
        epsilon = statistics.calibrate_ties(
            x[:, part != fold], y[:, part != fold]
        ).epsilon
        expected.append(
            statistics.acc_eq(x[:, part == fold], y[:, part == fold], epsilon).value
        )
    assert outside.value == pytest.approx(np.mean(expected))
    noise = rng.normal(size=x.shape)
    assert (
        statistics.held_out_acc_eq(noise, y, folds=5).value
        < statistics.calibrate_ties(noise, y).value + 1e-12
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
        values.append(round(statistics.acc_eq(x, y).value, 3))
    assert (
        round(statistics.acc_eq(statistics.baselines.constant(y.shape), y).value, 3)
        == 0.673
    )
    assert (min(values), max(values)) == (0.54, 0.661)


def test_accuracy_on_pairs_of_systems():
    """Means of scores 2, 3, 9, 2, of ratings 1, 2, 3, 2: of the pairs 01 02 03 12 13
    23, 03 and 13 are told apart.
    """
    x = np.array([[1.0, 3], [2, 4], [9, 9], [2, 2]])
    y = np.array([[1.0, 1], [2, 2], [3, 3], [2, 2]])
    assert statistics.correlate(x, y, "acc-eq", "system").value == pytest.approx(4 / 6)
