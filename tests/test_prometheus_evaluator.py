"""Prometheus: prompts as published, feedback and score, ablations."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import Prometheus
from nlgeval_lib.evaluators.prometheus import Rubric, family
from nlgeval_lib.records import Completion, Sample, Status

RUBRIC = Rubric("Is it polite?", ("Rude.", "Cold.", "Neutral.", "Kind.", "Warm."))


def sample(name: str = "s1", output: str = "Hello.", **fields) -> Sample:
    fields = {"instruction": "Greet.", "references": ("Good day.",), "rubric": RUBRIC.text(), **fields}
    return Sample(name, output, **fields)


def says(*scores) -> ScriptedEngine:
    """An engine whose draw i gives the i-th score, and no score where that is None."""

    def script(request, draw):
        score = scores[draw % len(scores)]
        return "Feedback: it is what it is." + ("" if score is None else f" [RESULT] {score}")

    return ScriptedEngine(script)


# --- rubrics

line = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\n\r"), max_size=20)


@given(line.filter(lambda text: "]" not in text), st.lists(line, min_size=2, max_size=7), st.integers(-3, 9))
def test_rubrics_survive_their_text(criteria, descriptions, low):
    rubric = Rubric(criteria, tuple(descriptions), low)
    again = Rubric.parse(rubric.text())
    assert again == rubric and again.scale == (low, low + len(descriptions) - 1)


@given(st.text(max_size=60))
def test_a_rubric_that_is_read_is_read_whole(text):
    for candidate in (f"[{text}]\nScore 0: {text}\nScore 1: x{text}", f"[c]\nScore 1: {text}\nScore 2: y"):
        assert Rubric.parse(candidate).text() == candidate


def test_rubrics_that_are_none():
    for text, message in (
        ("Is it polite?", r"the form is '\[criteria\]'"),
        ("[c]\nScore 1: a", "1 score descriptions"),
    ):
        with pytest.raises(ValueError, match=message):
            Rubric.parse(text)


# --- prompts


@pytest.mark.parametrize(("name", "count"), [("vicuna_bench", 320), ("mt_bench", 320), ("hhh", 442)])
def test_prompts_equal_the_public_ones_byte_for_byte(data, name, count):
    frame = data(name)
    judge = Prometheus(reference=name != "hhh")
    rendered = [judge.render(one) for one in judge.given(frame)]
    assert rendered == frame["prompt"].tolist() and len(rendered) == count


@pytest.mark.parametrize(("reference", "rubric", "feedback"), list(itertools.product([True, False], repeat=3)))
def test_every_ablation_shows_what_it_should_and_nothing_else(reference, rubric, feedback):
    judge = Prometheus(reference=reference, rubric=rubric, feedback=feedback)
    text = judge.render(sample())
    assert ("Good day." in text) == ("###Reference Answer (Score 5):" in text) == reference
    assert (RUBRIC.text() in text) == ("###Score Rubrics:" in text) == rubric
    assert text.endswith("###Feedback: " if feedback else "###Score: ") and ("feedback that" in text) == feedback
    assert text.count("Hello.") == text.count("Greet.") == 1
    shown = {"output": True, "instruction": True, "references": reference, "rubric": rubric}
    assert set(judge.needs) == {field for field, needed in shown.items() if needed}
    switches = {"ref": reference, "rubric": rubric, "feedback": feedback}
    assert all(f"|{name}:{'yes' if on else 'no'}" in judge.signature() for name, on in switches.items())


def test_any_score_range():
    scale = Rubric("Depth", tuple(f"level {score}" for score in range(11)), low=0)
    judge = Prometheus(rubric=scale, engine=says(0, 10, 7))
    text = judge.render(sample(rubric=""))
    assert "an integer between 0 and 10" in text and "###Reference Answer (Score 10):" in text
    assert text.count("Score 10: level 10") == 1
    [judgment] = judge.judge([sample(rubric="")])
    assert judgment.value == pytest.approx(17 / 3)
    [out] = Prometheus(engine=says(7)).judge([sample()])
    assert out.status is Status.OUT_OF_RANGE


def test_each_sample_is_graded_on_the_scale_of_its_own_rubric():
    ten = Rubric("c", tuple("abcdefghij"))
    engine = says(7)
    own, five = Prometheus(engine=engine).judge([sample("a", rubric=ten.text()), sample("b")])
    assert own.value == 7 and five.status is Status.OUT_OF_RANGE
    with pytest.raises(ValueError, match="sample 'a': its rubric goes from 1 to 10, asked is 1 to 5"):
        Prometheus(low=1, high=5, engine=engine).judge([sample("a", rubric=ten.text())])
    with pytest.raises(ValueError, match="sample 'a': rubric 'be nice'"):
        Prometheus(engine=engine).judge([sample("a", rubric="be nice")])


# --- wrapping and sampling


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (
            "prometheus-eval/prometheus-7b-v1.0",
            "[INST] <<SYS>>\nYou are a fair evaluator language model.\n<</SYS>>\n\n",
        ),
        ("kaist-ai/prometheus-13b-v1.0", "[INST] <<SYS>>\nYou are a fair evaluator"),
        ("prometheus-eval/prometheus-7b-v2.0", "[INST] ###Task Description:"),
        ("meta-llama/Llama-2-13b-chat-hf", "[INST] ###Task Description:"),
    ],
)
def test_wrapping_follows_the_checkpoint(model, start):
    engine = says(3)
    engine.model = model
    judge = Prometheus()
    judge.judge([sample()], engine=engine)
    text = engine.asked[0].request.prompt
    assert text.startswith(start) and text.endswith("###Feedback:  [/INST]")
    assert f"chat:{family(model).label}" in judge.signature(engine) and "chat:messages" in judge.signature()
    assert judge.plan([sample()], engine=engine)[0].requests[0].prompt == text


# --- the verdict


@pytest.mark.parametrize("text", ["Nice. [RESULT] 4", "Feedback: Nice.\n[RESULT] 4", "Nice [RESULT]4"])
@pytest.mark.parametrize("loose", ["Nice. [SCORE 4]", "Nice.\nScore: 4 out of 5", "So the overall score is 4."])
def test_the_form_is_read_strictly_and_by_the_verbalizer_what_is_near_it(text, loose):
    strict, near = (Prometheus(verbalizer=on) for on in (False, True))
    assert [judge.parse(Completion("k", text), sample()).value for judge in (strict, near)] == [4, 4]
    assert near.parse(Completion("k", loose), sample()).value == 4
    missing = strict.parse(Completion("k", loose), sample())
    assert missing.status is not Status.OK and missing.reason


def test_structured_completions_carry_a_verdict_of_the_scale():
    form = Prometheus(structured=True, sampling={"max_tokens": 40}).shaped().regex
    longest = "x" * 27 + "[RESULT] 5"
    assert re.fullmatch(form, longest) and len(longest) <= 40 and not re.fullmatch(form, "x" + longest)
    assert not re.fullmatch(form, "x [RESULT] 6")
    judge = Prometheus(structured=True, feedback=False, rubric=False, low=0, high=2)
    assert judge.form() == {"regex": r"\[RESULT\] (0|1|2)"}
    ten = sample("a", rubric=Rubric("c", tuple("abcdefghij")).text())
    with pytest.raises(ValueError, match="sample 'a': its rubric goes from 1 to 10, asked is 1 to 5"):
        Prometheus(structured=True, engine=says(3)).judge([ten])
    judge = Prometheus(structured=True, low=1, high=10, engine=says(7))
    assert judge.judge([ten])[0].value == 7 and judge.form()["regex"].endswith("|9|10)")
