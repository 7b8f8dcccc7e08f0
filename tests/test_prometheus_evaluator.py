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
from nlgeval_lib.records import Sample

RUBRIC = Rubric("Is it polite?", ("Rude.", "Cold.", "Neutral.", "Kind.", "Warm."))


def sample(name: str = "s1", output: str = "Hello.", **fields) -> Sample:
    fields = {"instruction": "Greet.", "references": ("Good day.",), "rubric": RUBRIC.text(), **fields}
    return Sample(name, output, **fields)


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


# --- wrapping and sampling


@pytest.mark.parametrize(
    ("model", "start"),
    [
        ("prometheus-eval/prometheus-7b-v1.0", "[INST] <<SYS>>\nYou are a fair evaluator language model.\n<</SYS>>"),
        ("kaist-ai/prometheus-13b-v1.0", "[INST] <<SYS>>\nYou are a fair evaluator"),
        ("prometheus-eval/prometheus-7b-v2.0", "[INST] ###Task Description:"),
        ("meta-llama/Llama-2-13b-chat-hf", "[INST] ###Task Description:"),
    ],
)
def test_wrapping_follows_the_checkpoint(model, start):
    engine = ScriptedEngine(["so. [RESULT] 3"] * 3, model=model)
    judge = Prometheus()
    judge.judge([sample()], engine=engine)
    text = engine.asked[0].request.prompt
    assert text.startswith(start) and text.endswith("###Feedback:  [/INST]")
    assert f"chat:{family(model).label}" in judge.signature(engine) and "chat:messages" in judge.signature()
    assert judge.plan([sample()], engine=engine)[0].requests[0].prompt == text


# --- the verdict


def test_structured_completions_carry_a_verdict_of_the_scale():
    form = Prometheus(structured=True, sampling={"max_tokens": 40}).shaped().regex
    longest = "x" * 27 + "[RESULT] 5"
    assert re.fullmatch(form, longest) and len(longest) <= 40 and not re.fullmatch(form, "x" + longest)
    assert not re.fullmatch(form, "x [RESULT] 6")
    judge = Prometheus(structured=True, feedback=False, rubric=False, low=0, high=2)
    assert judge.form() == {"regex": r"\[RESULT\] (0|1|2)"}
    assert Prometheus(structured=True, low=1, high=10).form()["regex"].endswith("|9|10)")
