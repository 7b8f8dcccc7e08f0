"""What judges make of answers, one case a line in `tests/cases/judge_answers.jsonl`.

options, sample: of the evaluator and of what is judged. say: the judge's answers, each after a text of the prompt that
it answers (the first that fits is taken; a list: one text a draw); cut: they end at the token limit. Wanted: value
(null: missing), status, reason (a pattern), some of the details, and asked: for each request in order what its prompt
has, or with a "!" before it has not; raises: a pattern of the error. logprobs: a row a token of the answer, each token
that could stand there with its probability.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib import evaluators
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import GEval
from nlgeval_lib.evaluators.prometheus import Rubric
from nlgeval_lib.records import Completion, Sample

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases" / "judge_answers.jsonl").open(encoding="utf-8")]
SAMPLE: dict[str, Any] = {
    "output": "Der Hund schläft.",
    "instruction": "Translate.",
    "source": "The cat sleeps.",
    "context": "A fact.",
    "references": ("Die Katze schläft.",),
    "rubric": Rubric("Is it polite?", ("Rude.", "Cold.", "Neutral.", "Kind.", "Warm.")).text(),
    "aspect": "overall",
    "extra": {"analysis": "Error location 1: Hund"},
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['evaluator']}: {case['id']}")
def test_answers_give_the_value_or_the_reason(case: dict[str, Any]) -> None:
    def answer(request: Any, draw: int) -> Any:
        found = next(text for mark, text in case["say"] if mark in request.text())
        text = found if isinstance(found, str) else found[draw]
        rows = [{token: math.log(p) for token, p in row.items()} for row in case.get("logprobs", ())]
        return Completion("", text, "length" if case.get("cut") else "stop", logprobs=tuple(rows) or None)

    engine = ScriptedEngine(answer)
    judge = evaluators.get(case["evaluator"])(**case.get("options", {}), engine=engine)
    sample = Sample("s", **{**SAMPLE, **case.get("sample", {})})
    if "raises" in case:
        with pytest.raises(ValueError, match=case["raises"]):
            judge.judge([sample])
        return
    scored = judge.score([sample]).iloc[0]
    assert scored["value"] == pytest.approx(case["value"] if case["value"] is not None else float("nan"), nan_ok=True)
    if case["value"] is None:
        assert scored["status"] == case["status"]
        assert re.search(case.get("reason", "."), scored["reason"])
    details = json.loads(json.dumps(scored["details"], default=str), parse_float=lambda text: round(float(text), 9))
    assert {name: details[name] for name in case.get("details", {})} == case.get("details", {})
    prompts = list(dict.fromkeys(ask.request.text() for ask in engine.asked))
    for prompt, marks in zip(prompts, case.get("asked", [[]] * len(prompts)), strict=True):
        assert [mark for mark in marks if (mark.lstrip("!") in prompt) == mark.startswith("!")] == []


# -- g-Eval weighted by probabilities ----------------------------------------------------------------------------------


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_weighted_lies_on_the_scale_and_agrees_with_the_direct_sum(weights):
    total = sum(weights) * 1.25
    row = {str(number): weight / total for number, weight in enumerate(weights, 1)}
    logprobs = ({token: math.log(p) for token, p in row.items()},)
    judgment = GEval(method="weighted").read(
        Completion("k", "1", logprobs=logprobs), Sample("s", "Paris.", instruction="Name it.")
    )
    assert 1 <= judgment.value <= 4
    assert judgment.value == pytest.approx(sum(n * w for n, w in enumerate(weights, 1)) / sum(weights))
