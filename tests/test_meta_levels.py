"""What "auto" chooses holds its level and covers in worlds that resemble SummEval; the field's practice does not."""

from __future__ import annotations

import numpy as np
import pytest

from tools import levels

SIMS = 300  # the Monte Carlo error at .10 is .017


@pytest.mark.parametrize("coef", ["pearson", "kendall-b"])
@pytest.mark.parametrize("world", ["con", "struct", "ord"])
def test_the_level_is_at_most_10_and_coverage_at_least_90_percent(world, coef):
    sims = SIMS if coef == "pearson" else SIMS // 2
    rows = levels.measure(world, (16, 60), coef, "dataset", ["auto"], ["ci:auto"], sims)
    rates = {row["what"]: row["rate"] for row in rows}
    assert rates["rejected"] <= 0.10 and rates["covered"] >= 0.90


def test_these_worlds_tell_a_valid_test_from_others():
    rows = levels.measure("struct", (16, 60), "pearson", "dataset", ["perm-both", "jack-rows"], ["ci:boot-rows"], 60)
    rates = {row["method"]: row["rate"] for row in rows}
    assert rates["perm-both"] > 0.25 and rates["jack-rows"] > 0.25 and rates["ci:boot-rows"] < 0.75


@pytest.mark.parametrize("world", ["con", "coh", "struct"])
def test_the_worlds_have_the_truth_that_they_state(world):
    rng = np.random.default_rng(0)
    first, second, ratings = levels.draw(world, 1500, 600, rng)
    target = levels.truth(world, "pearson")
    for judge in (first, second):
        assert np.corrcoef(judge.ravel(), ratings.ravel())[0, 1] == pytest.approx(target, abs=0.03)
    assert first.std() == pytest.approx(1, abs=0.05)
