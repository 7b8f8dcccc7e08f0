"""The compiled kernels give what the code before them gave: every level, coefficient and unit, with ties and gaps."""

from __future__ import annotations

import numpy as np
import pytest
from meta_before import draws as draws_before
from meta_before import levels as levels_before
from meta_before import swaps as swaps_before
from meta_oracles import COEFFICIENTS, LEVELS, judged

from nlgeval_lib.meta import draws, levels

SIZES = [(4, 5), (7, 11), (16, 40), (70, 3), (3, 300)]


def same(found, expected) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("units", draws.UNITS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["continuous", "ordinal", "gaps"])
def test_resamples_and_exchanges_are_those_of_the_code_before(kind, level, units):
    for seed, (systems, inputs) in enumerate(SIZES):
        x, y = judged(systems, inputs, seed, kind)
        z = judged(systems, inputs, seed + 50, kind)[0]
        gone = np.isnan(x) | np.isnan(y) | np.isnan(z)
        x, z, y = (np.where(gone, np.nan, side) for side in (x, z, y))
        for coef in COEFFICIENTS:
            before, after = levels_before.plan(x, y, coef, level), levels.plan(x, y, coef, level)
            pairs = [
                [np.concatenate([plan.values(one) for one in made.bootstrap(x.shape, units, 30, seed)])
                 for plan, made in ((after, draws), (before, draws_before))],
                [np.concatenate([plan.values(one) for _, one in made.left_out(x.shape, units)])
                 for plan, made in ((after, draws), (before, draws_before))],
            ]  # fmt: skip
            for found, expected in pairs:
                same(found, expected)
            if level == "input" and systems > 63:
                continue  # the ranks of more than 127 pooled systems ran over there
            before, after = swaps_before.plan(x, z, y, coef, level), levels.Swapped(x, z, y, coef, level)
            found = [after.values(one) for one in draws.swaps(x.shape, units, 30, seed)]
            expected = [before.values(one) for one in draws_before.swaps(x.shape, units, 30, seed)]
            for side in (0, 1):
                same(np.concatenate([one[side] for one in found]), np.concatenate([one[side] for one in expected]))
