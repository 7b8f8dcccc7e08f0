"""The simple rules kept for comparison: they read what they are known to read, wrong as it may be."""

from __future__ import annotations

import pytest

from nlgeval_lib import parsers
from nlgeval_lib.parsers import naive
from nlgeval_lib.records import Status


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("Score: 4", 4, 4), ("In 2014 they won 3-1. Score: 4.5", 2014, 4.5), ("no number", None, None), ("4 of 5", 4, 5)],
)
def test_first_and_last_number(text, first, last):
    for rule, expected in ((naive.first_number, first), (naive.last_number, last)):
        read = rule(text)
        assert (read.value == expected) if expected is not None else read.status is Status.UNPARSED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Analysis: it has 2 facts.\nRating: 3", 3),
        ("Rating: 1\nThen Rating: 2", 2),
        ("2.5", 2),
        ("0.5", 0),
        ("On a scale of 1-3: 2", 2),
        ("1. Naturalness: 3", 1),
        ("12", 1),
        ("In the 60s", 6),
        ("Yes", None),
        ("Rating:", None),
    ],
)
def test_decoder_of_a_closer_look(text, expected):
    read = naive.authors_acloserlook(text)
    assert (read.value == expected) if expected is not None else not read.ok


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("It flows. Score: 4.", "rts", 4),
        ("It flows. Score: 4.5", "rts", 4.5),
        ("Score: four", "rts", 4),
        ("therefore scoring a 2 out of 5.", "rts", 2),
        ("The final score was 3-1 for them. I give it 5", "rts", 3),
        ("it scores a three.", "rts", 3),
        ("The summary is a 4 out of 5 in relevance", "rts", 5),
        ("no digit here", "rts", None),
        ("Three stars. Good.", "stareval", 3),
        ("4.5 stars", "stareval", 4.5),
        ("the stars", "stareval", None),
        ("inf stars", "stareval", None),
        (" D ", "mcq", 4),
        ("D.", "mcq", None),
    ],
)
def test_decoder_of_llm_summeval(text, form, expected):
    read = naive.authors_llm_summeval(text, form)
    assert (read.value == expected) if expected is not None else not read.ok


def test_rules_are_named_and_say_so():
    assert set(naive.RULES) == {
        "first number",
        "last number",
        "authors (A Closer Look)",
        "authors (LLM summeval)",
    }
    for name, rule in naive.RULES.items():
        assert rule("Score: 4").value == 4.0
        assert rule("Score: 4").rule == name
        assert rule("").status is Status.EMPTY
        assert rule(None).status is Status.EMPTY
        with pytest.raises(TypeError):
            rule(4)


def test_unknown_form():
    with pytest.raises(ValueError, match="rts, stareval, mcq"):
        naive.authors_llm_summeval("4", "star")


def test_where_the_simple_rules_go_wrong():
    text = "They won 3-1 in 2014. Score: 2/5. It would have been a 4 with 1 more source."
    assert parsers.rating(text, 1, 5).value == 2.0
    assert naive.first_number(text).value == 3.0
    assert naive.last_number(text).value == 1.0
