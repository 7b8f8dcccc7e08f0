"""The reproduction report: how near recomputed numbers are to the printed ones."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from reproduction import papers
from reproduction.papers import agreement
from reproduction.report import reproduction, scoreboard


@given(st.floats(0.01, 100), st.floats(0.01, 100))
def test_cv_star_is_the_unbiased_standard_deviation_over_the_mean(printed, ours):
    values = np.array([printed, ours])
    c4 = math.sqrt(2) * special.gamma(1) / special.gamma(0.5)
    unbiased = values.std(ddof=1) / c4
    expected = 100 * (1 + 1 / (4 * 2)) * unbiased / values.mean()
    assert agreement.cv_star(printed, ours) == pytest.approx(expected)


def test_what_has_no_coefficient_is_counted_apart():
    cells = pd.DataFrame(
        {"printed": [1.0, 2.0, 3.0, -1.0], "ours": [1.0, 2.2, 3.0, 1.0]}
    )
    near = agreement.nearness(cells)
    assert (near.n, near.undefined) == (3, 1)
    assert near.near == pytest.approx(2 / 3)
    assert near.r == pytest.approx(stats.pearsonr(cells["printed"], cells["ours"])[0])
    alone = agreement.nearness(cells.iloc[:1])
    assert math.isnan(alone.r) and alone.median == 0


def test_the_report_counts_what_the_scoreboard_counts():
    """Its rows have as many numbers, and equal ones, as the scoreboard has of each
    paper and kind.
    """
    cells = scoreboard.cells()
    numbers = reproduction.recomputed(cells)
    counted = scoreboard.kinds().set_index(["paper", "kind"])["recomputed"]
    for (paper, kind), count in counted.items():
        in_report = (numbers["paper"] == paper) & (numbers["kind"] == kind)
        assert in_report.sum() == count
    report = reproduction.markdown(
        cells, scoreboard.claims("claims"), scoreboard.TITLES
    )
    for paper, title in scoreboard.TITLES.items():
        if paper in papers.PAPERS:
            assert f"- {title}: " in report
