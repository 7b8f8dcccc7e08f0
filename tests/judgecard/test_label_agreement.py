"""A judge's classes beside people's: scikit-learn's numbers, and the best constant."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from judgecard.label_agreement import accuracy


def test_measures_are_scikit_learns():
    rng = np.random.default_rng(3)
    human = rng.integers(1, 4, 80).astype(float)
    judge = np.where(rng.random(80) < 0.5, human, rng.integers(1, 4, 80))
    human[:5] = np.nan
    found, constant = accuracy(judge, human, "jack-rows")
    given = judge[5:], human[5:]
    assert found.value == pytest.approx(metrics.accuracy_score(*given))
    assert constant == pytest.approx(
        np.unique(human[5:], return_counts=True)[1].max() / 75
    )
    assert found.n == 75 and found.low < found.value < found.high


def test_an_interval_is_over_systems_and_inputs():
    rng = np.random.default_rng(4)
    human = rng.integers(0, 2, (8, 20)).astype(float)
    judge = np.where(rng.random(human.shape) < 0.7, human, 1 - human)
    found, _ = accuracy(judge, human, "auto")
    assert found.interval.name == "jack-both"


def test_a_judge_no_better_than_a_constant_is_named():
    human = np.array([1.0] * 18 + [0, 0])
    judge = np.array([1.0] * 16 + [0, 0, 1, 0])
    found, constant = accuracy(judge, human, None)
    assert constant == 0.9
    assert found.reason.startswith("always 1 is right in 0.900")
    assert not accuracy(human, human, None)[0].reason
    with pytest.raises(ValueError, match="no common item"):
        accuracy(human, np.full(20, np.nan), None)
