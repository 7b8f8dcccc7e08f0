"""G-Eval: the prompt, the three ways of reading a score, and what happens where there is none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib import prompts
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import GEval
from nlgeval_lib.records import Completion, Sample

SAMPLE = Sample("s1", "Paris.", instruction="Name the capital of France.")


def test_plain_score_through_an_engine():
    engine = ScriptedEngine(lambda request, draw: "2" if "Paris" in request.text() else "no idea")
    judge = GEval(engine=engine)
    frame = judge.score([SAMPLE, Sample("s2", "Rome.", instruction="Name the capital of France.")])
    assert frame["value"].tolist()[0] == 2 and math.isnan(frame["value"].iloc[1])
    assert frame["status"].tolist() == ["ok", "unparsed"] and frame["reason"].iloc[1]
    [ask, _] = engine.asked
    assert ask.request.messages[-1]["content"] == prompts.render(
        "semscore/g_eval", instruction=SAMPLE.instruction, output=SAMPLE.output
    )
    assert frame.attrs["signature"].startswith(
        "geval|method:plain|scale:1-4|prompt:723390ca|chat:messages|engine:scripted"
    )


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_weighted_lies_on_the_scale_and_agrees_with_the_direct_sum(weights):
    total = sum(weights) * 1.25
    row = {str(number): weight / total for number, weight in enumerate(weights, 1)}
    logprobs = ({token: math.log(p) for token, p in row.items()},)
    judgment = GEval(method="weighted").read(Completion("k", "1", logprobs=logprobs), SAMPLE)
    assert 1 <= judgment.value <= 4
    assert judgment.value == pytest.approx(sum(n * w for n, w in enumerate(weights, 1)) / sum(weights))
