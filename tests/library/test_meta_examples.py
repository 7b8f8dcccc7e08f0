"""The page of examples says what the library does, about all of it; an interval or a
test is named alike everywhere.
"""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from meta_oracles import fields, judged

from nlgeval_lib import statistics

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "statistics.md").read_text(
    encoding="utf-8"
)


def test_the_examples_are_true():
    text = re.sub(r"^```.*$", "", PAGE, flags=re.M)
    found = doctest.DocTestParser().get_doctest(
        text, {}, "docs/statistics.md", "docs/statistics.md", 0
    )
    assert len(found.examples) > 30
    assert doctest.DocTestRunner().run(found).failed == 0


def test_every_public_function_has_an_example():
    public = [
        name
        for name in statistics.__all__
        if inspect.isfunction(getattr(statistics, name))
    ]
    assert (
        len(public) > 25
        and [name for name in public if f"statistics.{name}(" not in PAGE] == []
    )


@pytest.mark.parametrize(
    "word", [None, True, "auto", "jack-both", "boot-inputs", "wide-systems"]
)
def test_an_interval_and_a_test_mean_the_same_everywhere(word):
    x, y = judged(8, 12, 0)
    other = judged(8, 12, 3)[0]
    how = dict(ci=word, n_boot=50, seed=1, confidence=0.9)
    alone = statistics.correlate(x, y, **how)
    table = statistics.league({"x": x, "other": other}, y, units="jack-systems", **how)
    test = statistics.compare(x, other, y, units="jack-systems", **how)
    assert fields(table.correlations[0]) == fields(alone)
    pair = statistics.compare(x, other, y, units="jack-systems", seed=1)
    assert fields(table.comparisons[0]) == fields(pair)
    assert [one.interval.name for one in (test, table.correlations[0])] == [
        alone.interval.name
    ] * 2
    assert ("|conf:0.9" in test.signature()) == bool(word)


def test_a_result_shows_its_answer():
    """What stands in a notebook's cell is the answer, not only how it was computed."""
    rng = np.random.default_rng(0)
    ratings = np.clip(np.round(3 + rng.normal(size=(3, 60))), 1, 5)
    judge = np.round(ratings.mean(axis=0))
    shown = repr(statistics.alt_test(judge, ratings))
    assert shown.startswith("AltTest(passed=True, winning_rate=1, advantage=1, ")
    assert "raters=3, n=60" in shown
    assert "distinct=5, entropy=1" in repr(statistics.scale_use(ratings[0], 1, 5))
    samples = statistics.mean_of_samples([[1.0, np.nan], [3.0, np.nan]])
    assert repr(samples).startswith("Samples(mean=2, n=2, n_empty=1, 'samples:")
    judges = {"good": judge, "poor": rng.normal(size=60)}
    league = statistics.league(judges, ratings.mean(axis=0))
    assert repr(league).startswith("League(best=good, judges=2, n=60, ")
    assert repr(league.corrected).startswith("Corrected(rejected=1, n=1, ")
