"""The keys of completions are those of the day they were frozen: a key that moves
orphans what anybody has stored.
"""

from __future__ import annotations

import pytest
from cli_tools import cases

from nlgeval_lib.engines import Ask, Request, Sampling, ScriptedEngine


@pytest.mark.parametrize(
    "case", cases("completion_keys"), ids=lambda case: case["asks"][0][0][:8]
)
def test_keys_and_seeds_are_frozen(case):
    messages = tuple(case["messages"]) if "messages" in case else None
    request = Request(case.get("prompt"), messages)
    sampling = Sampling(**case["sampling"])
    engine = ScriptedEngine([], model=case["model"], revision=case["revision"])
    keys = request.keys(engine, sampling)
    assert [
        [key, Ask.from_draw(request, draw, key, sampling).seed]
        for draw, key in enumerate(keys)
    ] == case["asks"]
