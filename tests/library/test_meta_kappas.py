"""Kappas against scikit-learn and their definition; intervals over systems and inputs;
the alternative annotator test.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from nlgeval_lib import statistics
from nlgeval_lib.statistics import replacement


def pair(seed=0, classes=4, items=80, gaps=0.1):
    """Two raters who agree in part, NaN where one is silent."""
    rng = np.random.default_rng(seed)
    first = rng.integers(1, classes + 1, items).astype(float)
    other = rng.integers(1, classes + 1, items)
    second = np.where(rng.random(items) < 0.5, first, other)
    second[rng.random(items) < gaps] = np.nan
    return first, second


def pairs_of_raters():
    return [pair(seed, classes) for seed, classes in enumerate((2, 3, 5, 9))]


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@pytest.mark.parametrize("first, second", pairs_of_raters())
def test_cohens_kappa_is_scikit_learns(first, second, weights):
    there = ~np.isnan(second)
    name = None if weights == "none" else weights
    expected = metrics.cohen_kappa_score(first[there], second[there], weights=name)
    assert statistics.kappa(first, second, weights).value == pytest.approx(expected)


def test_linear_weights_go_by_the_values_not_their_order():
    first = np.array([1, 1, 3, 9, 9.0])
    second = np.array([1, 3, 3, 9, 1.0])
    gaps = np.abs(first - second).mean()
    chance = np.abs(first[:, None] - second[None, :]).mean()
    result = statistics.kappa(first, second, "linear")
    assert result.value == pytest.approx(1 - gaps / chance)


# -- intervals


def ratings(systems, inputs, rng, raters=3):
    quality = rng.normal(size=(systems, 1)) + rng.normal(size=(1, inputs))
    noise = rng.normal(size=(raters, systems, inputs))
    return np.clip(np.round(3 + 0.9 * quality + 0.7 * noise), 1, 5)


def test_an_interval_over_systems_and_inputs_holds_where_a_flat_one_does_not():
    rng = np.random.default_rng(0)
    large = [
        statistics.krippendorff_alpha(ratings(60, 60, rng)).value for _ in range(40)
    ]
    truth = np.mean(large)
    held = {"both": 0, "flat": 0}
    for _ in range(120):
        table = ratings(6, 10, rng)
        forms = {"both": table, "flat": table.reshape(3, -1)}
        for form, given in forms.items():
            result = statistics.krippendorff_alpha(given, ci="auto")
            held[form] += result.low <= truth <= result.high
    assert held["both"] / 120 >= 0.9 > 0.85 > held["flat"] / 120


def test_every_measure_takes_the_same_intervals():
    rng = np.random.default_rng(1)
    table = ratings(6, 12, rng)
    results = {
        "alpha": lambda **how: statistics.krippendorff_alpha(table, "ordinal", **how),
        "icc": lambda **how: statistics.icc(table, "2,1", **how),
        "kappa": lambda **how: statistics.kappa(table[0], table[1], "linear", **how),
    }
    for name, measure in results.items():
        auto = measure(ci="auto")
        assert auto.interval.name == "jack-both", name
        narrow = measure(ci="jack-inputs", confidence=0.8)
        assert auto.low < narrow.low < narrow.value < narrow.high < auto.high, name
        assert "|conf:0.8" in narrow.signature()
        assert measure(ci="boot-both", n_boot=50).interval.replicates.shape == (50,)
        for wrong in ({"ci": "nonsense"}, {"ci": "auto", "confidence": 95}):
            with pytest.raises(ValueError, match=r"nonsense|confidence"):
                measure(**wrong)


def test_an_icc_has_the_f_interval_at_any_confidence():
    flat = ratings(6, 12, np.random.default_rng(2)).reshape(3, -1)
    wide = statistics.icc(flat)
    narrow = statistics.icc(flat, confidence=0.8)
    assert wide.interval.name == narrow.interval.name == "f"
    assert wide.low < narrow.low < narrow.high < wide.high


# -- the alternative annotator test


def panel(rng, systems=8, inputs=20):
    """Three raters of whom nearly all ratings are 4, and a judge."""
    quality = rng.normal(size=(4, systems, inputs)) + rng.normal(size=(systems, inputs))
    return np.clip(np.round(4.3 + 0.35 * quality), 1, 5)


def test_a_constant_that_passes_is_named():
    scores = panel(np.random.default_rng(0))
    result = statistics.alt_test(scores[3], scores[:3])
    assert result.passed and result.constant_rate == 1.0 and result.constant == 4
    assert "always 4 passes, too" in result.reason
    wide = np.random.default_rng(1).normal(size=(8, 20))
    careful = wide + 0.3 * np.random.default_rng(2).normal(size=(4, 8, 20))
    how = {"units": "items", "epsilon": 0.3}
    result = statistics.alt_test(careful[3], careful[:3], **how)
    assert result.passed and not result.reason and result.constant_rate == 0


def test_over_systems_and_inputs_fewer_true_nulls_are_rejected(monkeypatch):
    """Raters who prefer systems, and a judge who is one of them."""
    # the constant judge beside it moves no p
    monkeypatch.setattr(replacement, "MOST_CONSTANTS", 1)
    rng = np.random.default_rng(0)
    rejected = {"items": 0, "jack-both": 0}
    for _ in range(60):
        prefers = 0.8 * rng.normal(size=(4, 8, 1))
        quality = rng.normal(size=(8, 1)) + rng.normal(size=(8, 15))
        scores = quality + prefers + 0.7 * rng.normal(size=(4, 8, 15))
        for units in rejected:
            test = statistics.alt_test(scores[3], scores[:3], epsilon=0, units=units)
            rejected[units] += any(p <= 0.05 for p in test.p)
    assert rejected["jack-both"] < rejected["items"] / 2


def test_a_flat_list_has_no_systems_to_leave_out():
    scores = panel(np.random.default_rng(0)).reshape(4, -1)
    assert statistics.alt_test(scores[3], scores[:3]).units == "items"
    with pytest.raises(ValueError, match="system, input"):
        statistics.alt_test(scores[3], scores[:3], units="jack-both")
