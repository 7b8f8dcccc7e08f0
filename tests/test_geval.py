"""G-Eval: the prompt, the three ways of reading a score, and what happens where there is none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib import prompts
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import GEval
from nlgeval_lib.records import Completion, Sample, Status

SAMPLE = Sample("s1", "Paris.", instruction="Name the capital of France.")


def spelled(*rows: dict[str, float], text: str | None = None) -> Completion:
    """A completion with probabilities: the first token of each row is the one that was written."""
    text = "".join(next(iter(row)) for row in rows) if text is None else text
    return Completion("k", text, logprobs=tuple({token: math.log(p) for token, p in row.items()} for row in rows))


def weighted(completion: Completion, **options):
    return GEval(method="weighted", **options).read(completion, SAMPLE)


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


# --- weighted by probability


def test_weighted_is_the_mean_under_the_probabilities():
    judgment = weighted(spelled({"2": 0.5, "1": 0.25, " 4": 0.15, "x": 0.1}))
    assert judgment.value == pytest.approx((2 * 0.5 + 0.25 + 4 * 0.15) / 0.9)
    assert judgment.details["mass"] == pytest.approx(0.9) and judgment.details["stated"] == 2
    assert judgment.details["probabilities"] == pytest.approx({"1": 0.25, "2": 0.5, "4": 0.15})


def test_forms_of_one_number_add_up():
    judgment = weighted(spelled({"3": 0.4, " 3": 0.2, "\n3": 0.1, "4": 0.3}))
    assert judgment.value == pytest.approx((3 * 0.7 + 4 * 0.3) / 1.0)


def test_the_number_is_found_after_other_tokens():
    rows = [{"Qual": 0.9, "2": 0.1}, {"ity": 0.9, "3": 0.1}, {":": 1.0}, {" ": 0.6, " 4": 0.4}, {"3": 0.8, "4": 0.2}]
    assert weighted(spelled(*rows)).value == pytest.approx(3.2)
    alternative_first = [dict(reversed(row.items())) for row in rows]  # the store may keep another order
    assert weighted(spelled(*alternative_first, text="Quality: 3")).value == pytest.approx(3.2)


def test_weighted_without_probabilities_is_missing_with_the_reason():
    judgment = weighted(Completion("k", "2"))
    assert judgment.status is Status.UNAVAILABLE and "no log-probabilities" in judgment.reason
    judgment = weighted(spelled({"2": 0.9}, text="3"))
    assert judgment.status is Status.UNPARSED and "do not show" in judgment.reason
    assert weighted(spelled({"two": 0.9, "2": 0.1}, text="two")).status is Status.UNPARSED


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_weighted_lies_on_the_scale_and_agrees_with_the_direct_sum(weights):
    total = sum(weights) * 1.25
    row = {str(number): weight / total for number, weight in enumerate(weights, 1)}
    judgment = weighted(spelled(row))
    assert 1 <= judgment.value <= 4
    assert judgment.value == pytest.approx(sum(n * w for n, w in enumerate(weights, 1)) / sum(weights))


# --- other prompts, other scales
