"""The base of the LLM evaluators: samples, chat formats, draws, stages, planning."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli_tools import cases
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib import evaluators
from nlgeval_lib.engines import Request, Sampling, ScriptedEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import GEval, LLMScore, LLMScoreCoT, Prometheus, TigerScore
from nlgeval_lib.evaluators.base import samples
from nlgeval_lib.evaluators.judge import ChatFormat, Judge, combine
from nlgeval_lib.evaluators.prometheus import Rubric
from nlgeval_lib.evaluators.stages import Stage
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.records import Completion, Judgment, Sample, Status


class Terse(Judge):
    """One prompt, one number."""

    name = "terse"
    needs = ("output", "source")

    def render(self, sample):
        return f"{sample.source} -> {sample.output}"

    def parse(self, completion, sample=None):
        return rating(completion.text, 1, 5).judgment(prompted=bool(sample))


class TwoSteps(Terse):
    """Asks for a remark on each output first, and scores it with the remark in the
    prompt.
    """

    name = "two-steps"

    def stages(self, samples):
        first = [self.chat.request(f"remark on {sample.output}") for sample in samples]
        remarks = yield Stage("remarks", first, self.sampling, "a remark")
        second = [
            self.chat.request(f"score, given: {draws[0].text}") for draws in remarks
        ]
        answers = yield Stage("score", second, self.sampling)
        return [
            self.judged(draws, sample)
            for draws, sample in zip(answers, samples, strict=True)
        ]


FRAME = pd.DataFrame(
    {
        "source": ["s0", "s1", "s2"],
        "output": ["good", "", "bad"],
        "human": [5.0, 1.0, 2.0],
    },
    index=[10, 11, 12],
)


def by_output(request: Request, draw: int) -> str:
    return {"good": "Score: 5", "bad": "no idea"}.get(
        request.text().partition("-> ")[2], "2"
    )


def test_samples_take_the_usual_columns_and_no_rating():
    ids = {
        "input_id": ["a", "b"],
        "system_id": ["x", "y"],
        "aspect": "fluency",
        "human": [1, 2],
    }
    texts = {
        "input": ["in", "in2"],
        "output": ["o", "o2"],
        "references": [("r", "r2"), []],
        "fact": ["f", "g"],
    }
    frame = pd.DataFrame({**ids, **texts})
    first, second = samples(frame, needs=["source", "fact"])
    assert first == Sample(
        "a/x/fluency",
        "o",
        source="in",
        references=("r", "r2"),
        aspect="fluency",
        extra={"fact": "f"},
    )
    assert second.references == ()
    assert samples(frame.drop(columns="references").assign(reference="r"))[
        0
    ].references == ("r",)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("source", None, r"row 1 \(index 11\): source is empty; terse needs it"),
        ("source", math.nan, "source is empty"),
        ("source", "", "source is empty"),
        ("output", None, r"row 1 \(index 11\): output is NoneType"),
        ("output", 3.5, "output is float '3.5'; a text is needed"),
        ("source", ["a"], "source is list"),
    ],
)
def test_a_missing_text_is_named_by_row_and_column(column, value, said):
    frame = FRAME.astype(object)
    frame.at[11, column] = value
    with pytest.raises(ValueError, match=said):
        Terse(engine=ScriptedEngine(by_output)).score(frame)


def test_a_missing_column_is_named():
    with pytest.raises(
        ValueError,
        match="terse needs a column 'source' or 'input'; the frame has output",
    ):
        Terse(engine=ScriptedEngine([])).score(FRAME[["output"]])
    with pytest.raises(ValueError, match="output more than once"):
        samples(pd.concat([FRAME, FRAME], axis=1)[["output"]])
    with pytest.raises(
        ValueError, match=r"sample 'q': source is empty; terse needs it"
    ):
        Terse(engine=ScriptedEngine([])).score([Sample("q", "text")])


def test_chat_formats():
    assert ChatFormat().request("p", "i") == Request.chat("p", id="i")
    assert ChatFormat("messages", "be fair").request("p").messages[0] == {
        "role": "system",
        "content": "be fair",
    }
    assert ChatFormat("raw").request("p").prompt == "p"
    prometheus = ChatFormat.named("prometheus-v1")
    assert prometheus.request("{prompt}").prompt == (
        "[INST] <<SYS>>\nYou are a fair evaluator language model.\n<</SYS>>\n\n{prompt} [/INST]"
    )
    assert ChatFormat("llama2").text("p") == "[INST] p [/INST]"
    assert ChatFormat("mistral", "s").text("p") == "[INST] s\n\np [/INST]"
    assert prometheus.label == "llama2+system" and ChatFormat().label == "messages"


OK = Judgment(4.0)
LOST = Judgment.missing(Status.UNPARSED, "no number")
FAILED = Judgment.missing(Status.FAILED, "no answer")


def test_draws_are_averaged_by_the_missing_policy():
    found = combine([OK, LOST, Judgment(1.0)])
    assert (
        found.value == 2.5
        and found.details["n"] == 3
        and found.details["n_missing"] == 1
    )
    assert found.details["statuses"] == ("ok", "unparsed", "ok")
    assert combine([Judgment(2.0, details={"feedback": "f"})]).details == {
        "feedback": "f",
        "n": 1,
        "n_missing": 0,
    }
    found = combine([FAILED, LOST, LOST])  # the most frequent reason
    assert (
        found.status is Status.UNPARSED
        and found.reason == "3 of 3 draws missing: no number"
    )
    assert combine([]).status is Status.FAILED
    assert math.isnan(combine([OK, LOST], "all").value)
    assert combine([OK, OK], "all").value == 4
    assert combine([OK, LOST], "fill:0").value == 2
    assert combine([LOST], "fill:1").value == 1
    assert combine([OK, FAILED], "fill:0").value == 4  # no completion is no answer
    assert math.isnan(combine([FAILED], "fill:0").value)


@given(
    st.lists(st.one_of(st.none(), st.floats(1, 5)), min_size=1, max_size=8),
    st.sampled_from(["drop", "all", "fill:1"]),
)
def test_combined_values_stay_between_the_draws(values, policy):
    found = combine(
        [LOST if value is None else Judgment(value) for value in values], policy
    )
    read = [value for value in values if value is not None]
    assert found.details["n_missing"] == len(values) - len(read)
    if found.status is Status.OK:
        least = min(
            [*read, *([1.0] if policy == "fill:1" and len(read) < len(values) else [])]
        )
        assert least - 1e-9 <= found.value <= max([*read, 1.0]) + 1e-9
    else:
        assert found.reason and (not read or policy == "all")


JUDGES = [
    *(GEval(), GEval(method="weighted"), GEval(flip=True)),
    *(Prometheus(), Prometheus(verbalizer=True), Prometheus(feedback=False)),
    *(TigerScore(), TigerScore(decoder="authors"), TigerScore(task="Summ")),
    *(LLMScore("story"), LLMScoreCoT("story")),
]


@given(st.text(max_size=300))
def test_any_completion_gives_a_value_of_the_scale_or_a_reason(text):
    rubric = "[c]\n" + "\n".join(f"Score {score}: x" for score in range(1, 6))
    sample = Sample(
        "s", "o", "i", "in", references=("r",), rubric=rubric, aspect="overall"
    )
    for judge in JUDGES:
        judgment = judge.read(Completion("k", text, logprobs=({text: -0.1},)), sample)
        low, high = (
            (-math.inf, 0)
            if judge.name == "tigerscore"
            else (1, 4 if judge.name == "geval" else 5)
        )
        assert (
            low <= judgment.value <= high
            if judgment.status is Status.OK
            else judgment.reason
        )


def test_a_frame_is_scored_row_by_row():
    scores = Terse(engine=ScriptedEngine(by_output)).score(FRAME)
    assert scores.index.tolist() == [10, 11, 12]
    assert scores.columns.tolist() == ["value", "status", "reason", "details"]
    np.testing.assert_array_equal(scores["value"], [5, 2, math.nan])
    assert (
        scores["status"].tolist() == ["ok", "ok", "unparsed"]
        and scores["reason"].iloc[2]
    )
    assert scores.attrs["details"] == {
        "n": 3,
        "n_ok": 2,
        "coverage": 2 / 3,
        "unparsed": 1,
    }
    assert scores["details"].iloc[0]["prompted"] is True
    listed = Terse(engine=ScriptedEngine(by_output)).score(
        [Sample("q", "good", source="s")]
    )
    assert listed.index.tolist() == ["q"] and listed["value"].tolist() == [5]
    assert Terse(engine=ScriptedEngine([])).score(FRAME.head(0)).empty
    with pytest.raises(ValueError, match="terse: no engine; pass engine="):
        Terse(sampling=Sampling(max_tokens=7)).score(FRAME)


def test_failed_cut_and_empty_completions_are_told_apart():
    def script(request, draw):
        if "good" in request.text():
            raise RuntimeError("out of memory")
        text = "" if "bad" in request.text() else "The summary is"
        return Completion(key="", text=text, finish_reason="length" if text else "stop")

    scores = Terse(engine=ScriptedEngine(script)).score(FRAME)
    assert scores["status"].tolist() == ["failed", "truncated", "empty"]
    assert "out of memory" in scores["reason"].iloc[0]


def test_a_plan_asks_nothing_and_says_what_is_an_estimate(tmp_path):
    engine = ScriptedEngine(
        lambda request, draw: "nice" if "remark" in request.text() else "3"
    )
    store = Store(tmp_path)
    judge = TwoSteps(engine=engine, store=store)
    stages = judge.plan(FRAME)
    assert [(s.name, s.exact, s.completions) for s in stages] == [
        ("remarks", True, 3),
        ("score", False, 3),
    ]
    assert stages[1].requests[0].text() == "score, given: a remark" and not engine.asked
    judge.score(FRAME)
    stages = judge.plan(FRAME)  # what the store has makes the later stage exact
    assert [s.exact for s in stages] == [True, True]
    assert stages[1].requests[0].text() == "score, given: nice"


POLITE: dict[str, Any] = {
    "output": "Der Hund schläft.",
    "instruction": "Translate.",
    "source": "The cat sleeps.",
    "context": "A fact.",
    "references": ("Die Katze schläft.",),
    "rubric": Rubric(
        "Is it polite?", ("Rude.", "Cold.", "Neutral.", "Kind.", "Warm.")
    ).text(),
    "aspect": "overall",
    "extra": {"analysis": "Error location 1: Hund"},
}


@pytest.mark.parametrize(
    "case",
    cases("judge_answers"),
    ids=lambda case: f"{case['evaluator']}: {case['id']}",
)
def test_answers_give_the_value_or_the_reason(case: dict[str, Any]) -> None:
    def answer(request: Any, draw: int) -> Any:
        found = next(text for mark, text in case["say"] if mark in request.text())
        text = found if isinstance(found, str) else found[draw]
        rows = [
            {token: math.log(p) for token, p in row.items()}
            for row in case.get("logprobs", ())
        ]
        return Completion(
            "",
            text,
            "length" if case.get("cut") else "stop",
            logprobs=tuple(rows) or None,
        )

    engine = ScriptedEngine(answer)
    judge = evaluators.get(case["evaluator"])(**case.get("options", {}), engine=engine)
    sample = Sample("s", **{**POLITE, **case.get("sample", {})})
    if "raises" in case:
        with pytest.raises(ValueError, match=case["raises"]):
            judge.judge([sample])
        return
    scored = judge.score([sample]).iloc[0]
    assert scored["value"] == pytest.approx(
        case["value"] if case["value"] is not None else float("nan"), nan_ok=True
    )
    if case["value"] is None:
        assert scored["status"] == case["status"]
        assert re.search(case.get("reason", "."), scored["reason"])
    details = json.loads(
        json.dumps(scored["details"], default=str),
        parse_float=lambda text: round(float(text), 9),
    )
    assert {name: details[name] for name in case.get("details", {})} == case.get(
        "details", {}
    )
    prompts = list(dict.fromkeys(ask.request.text() for ask in engine.asked))
    for prompt, marks in zip(
        prompts, case.get("asked", [[]] * len(prompts)), strict=True
    ):
        assert [
            mark
            for mark in marks
            if (mark.lstrip("!") in prompt) == mark.startswith("!")
        ] == []


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_weighted_lies_on_the_scale_and_agrees_with_the_direct_sum(weights):
    total = sum(weights) * 1.25
    row = {str(number): weight / total for number, weight in enumerate(weights, 1)}
    logprobs = ({token: math.log(p) for token, p in row.items()},)
    judgment = GEval(method="weighted").read(
        Completion("k", "1", logprobs=logprobs),
        Sample("s", "Paris.", instruction="Name it."),
    )
    assert 1 <= judgment.value <= 4
    assert judgment.value == pytest.approx(
        sum(n * w for n, w in enumerate(weights, 1)) / sum(weights)
    )
