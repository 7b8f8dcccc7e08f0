"""The page of examples says what the library does, about all of it; an interval or a
test is named alike everywhere.
"""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest
from meta_oracles import judged

from nlgeval_lib import meta

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "statistics.md").read_text(
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
    public = [name for name in meta.__all__ if inspect.isfunction(getattr(meta, name))]
    assert (
        len(public) > 25
        and [name for name in public if f"meta.{name}(" not in PAGE] == []
    )


@pytest.mark.parametrize(
    "word", [None, True, "auto", "jack-both", "boot-inputs", "wide-systems"]
)
def test_an_interval_and_a_test_mean_the_same_everywhere(word):
    x, y = judged(8, 12, 0)
    other = judged(8, 12, 3)[0]
    how = dict(ci=word, n_boot=50, seed=1, confidence=0.9)
    alone = meta.correlate(x, y, **how)
    table = meta.league({"x": x, "other": other}, y, units="jack-systems", **how)
    test = meta.compare(x, other, y, units="jack-systems", **how)
    assert table.correlations[0] == alone
    assert table.comparisons[0] == meta.compare(
        x, other, y, units="jack-systems", seed=1
    )
    assert [one.interval.name for one in (test, table.correlations[0])] == [
        alone.interval.name
    ] * 2
    assert ("|conf:0.9" in test.signature()) == bool(word)
