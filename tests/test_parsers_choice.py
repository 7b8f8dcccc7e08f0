"""Verdicts that are a word: which response is better, yes and no."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib.parsers.choices import preference, yes_no
from nlgeval_lib.records import Status


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Feedback: A is fine but B is more exact. [RESULT] B", "B"),
        ("[RESULT] Response A", "A"),
        ("[RESULT] (A)", "A"),
        ('[RESULT] "A"</s>', "A"),
        ("[RESULT] A because it answers the question", "A"),
        ("Both are good. [RESULT] TIE", "TIE"),
        ("**Verdict:** B", "B"),
        ("Better response: A.", "A"),
        ("So the overall winner is B.", "B"),
        ("Response A is clearly better than Response B.", "A"),
        ("Response B is not better than A. [RESULT] A", "A"),
        ("I would prefer Response B", "B"),
        ("[[B]]", "B"),
        ("B", "B"),
        ("The two differ little.\nA", "A"),
        ("It is a draw\nTie", "TIE"),
        ("[[C]]", "TIE"),
        ("[[A>>B]]", "A"),
        ("[[B>A]]", "B"),
        ("[[A=B]]", "TIE"),
        ("B is better than A.", "B"),
        ("Overall, B is the better response.", "B"),
        ("They are equal.", "TIE"),
        ("\\boxed{B}", "B"),
        ("Response A is worse than Response B.", "B"),
        ("Response A is inferior to B.", "B"),
        ("Response B outperforms Response A.", "B"),
        ("I would choose B over A.", "B"),
        ("Both responses are equally good.", "TIE"),
        ("It's a tie.", "TIE"),
        ("Neither is better.", "TIE"),
        ('{"winner": "A", "reason": "B is off"}', "A"),
        ('{"better_response": "B"}', "B"),
        ("Final answer: B", "B"),
        ("<think>Response B is better</think>\n[RESULT] A", "A"),
    ],
)
def test_preference_that_is_there(text, value):
    found = preference(text, tie=True)
    assert found.value == value and found.ok and found.matched


@pytest.mark.parametrize(
    "text",
    [
        "Response A is better. However Response B is better in style.",
        "If response A is better, then B is worse.",
        "[RESULT] A or B",
        "[RESULT] A\n[RESULT] B",
        "[RESULT] apple",
        "Result: a strong response",
        "[RESULT] Neither",
        'Write one of "A" or "B" in this form: [RESULT] (your verdict)',
        "Response A is good. Response B is bad.",
        "A response should be good",
        "Response A is not worse than Response B.",
        "<think>Response B is better",
        "It is not a tie.",
        "A is better in style, but B is better overall.",
        "A+",
        "Both are bad.",
        "If B is better, say so.",
        "Both responses are not equally good.",
    ],
)
def test_preference_in_doubt_is_missing(text):
    found = preference(text, tie=True)
    assert found.value is None and found.status is not Status.OK and found.reason


def test_a_tie_that_is_not_among_the_verdicts():
    assert preference("[RESULT] tie").status is Status.OUT_OF_RANGE
    assert preference("").status is preference(None).status is Status.EMPTY
    assert preference("I'm sorry, but I cannot judge these.").status is Status.REFUSED


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Yes, it does.", 1),
        ("No.", 0),
        ("**No**, the analysis is sound.", 0),
        ("No hallucinations are present.", 0),
        ("The analysis is fine.\n\nAnswer: No", 0),
        ("The answer is yes.", 1),
        ("Some thoughts first.\nno", 0),
        ("[RESULT] yes", 1),
        ("No, at first sight; but the answer is yes", 1),
        ('{"answer": "no"}', 0),
        ("<think>No? Or yes?</think>\nYes", 1),
    ],
)
def test_yes_no_that_is_there(text, value):
    assert yes_no(text).value == value


@pytest.mark.parametrize(
    "text",
    ["no doubt it includes errors", "Yes and no", "yes\nno", "Not at all", "Nobody knows", "", "I cannot assess it."],
)
def test_yes_no_in_doubt_is_missing(text):
    found = yes_no(text)
    assert math.isnan(found.value) and found.reason


@given(st.text())
def test_any_text(text):
    assert preference(text, tie=True).value in ("A", "B", "TIE", None)
    assert yes_no(text).value in (0.0, 1.0) or yes_no(text).reason


@pytest.mark.parametrize("wrong", [3, b"yes", ["yes"]])
def test_what_is_no_text(wrong):
    for parser in (preference, yes_no):
        with pytest.raises(TypeError, match=parser.__name__):
            parser(wrong)
